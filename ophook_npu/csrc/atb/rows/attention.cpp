// Attention of packed sequences, with keys that lie one behind the other or in pages.
#include "atb/operation.h"
#include "kernels/packed.h"

using namespace sim::atblib;
using sim::inference::Packed, sim::inference::Seen;

// Half types are masked by 1, which the device multiplies with this; float16 masks are added as they are.
constexpr double kBfloat16Mask = -3e38;

ATB_ROW(PagedAttention, "PagedAttentionOperation",
        (In, query, In, key_cache, In, value_cache, In, pages, Ints, keys, In, mask, In, key_factor, In, value_factor,
         Ints, queries, int64_t, heads, int64_t, key_heads, double, scale, int64_t, seen, Cube, cube, Out, out),
        when_run(),
        sim::inference::attend_packed(query, key_cache, value_cache,
                                      {NAMED(heads, key_heads, scale, queries, keys, pages), .seen = Seen(seen),
                                       NAMED(mask, key_factor, value_factor)},
                                      out, {}))

ATB_ROW(SelfAttention, "SelfAttentionOperation",
        (In, query, In, key, In, value, In, pages, In, mask, In, slopes, Ints, queries, Ints, keys, int64_t, heads,
         int64_t, key_heads, double, scale, int64_t, seen, double, mask_factor, Cube, cube, Out, out),
        when_run(),
        sim::inference::attend_packed(query, key, value,
                                      {NAMED(heads, key_heads, scale, queries, keys, pages), .seen = Seen(seen),
                                       NAMED(mask, slopes, mask_factor)},
                                      out, {}))

static void heads(int32_t count, int32_t keys) {
  ATB_CHECK(count > 0, ERROR_INVALID_PARAM, "headNum ", count, "; allowed: above 0");
  ATB_CHECK(keys >= 0 && (keys == 0 || count % keys == 0), ERROR_INVALID_PARAM, "kvHeadNum ", keys,
            "; allowed: 0 or a divisor of headNum, ", count);
}

// The types of float16 tensors, and the same of bfloat16.
static std::string half_types(const std::string& column) {
  std::string other = column;
  for (char& letter : other)
    if (letter == 'h') letter = 'b';
  return column + " " + other;
}

// Caches of pages: (pages, rows, heads, depth).
static void paged(Arguments& a, int64_t key_heads, bool has_value) {
  ATB_CHECK(a.rank(1) == 4, ERROR_INVALID_TENSOR_DIM_NUM, "the key cache has ", a.rank(1), " dimensions; allowed: 4");
  ATB_CHECK(a.rank(0) == 3, ERROR_INVALID_TENSOR_DIM_NUM, "query has ", a.rank(0), " dimensions; allowed: 3");
  const int64_t depth = a.size(1, 3);
  ATB_CHECK(a.size(1, 2) == key_heads, ERROR_INVALID_TENSOR_DIM, "the key cache has ", a.size(1, 2),
            " heads; kvHeadNum: ", key_heads);
  ATB_CHECK(depth == a.size(0, 2), ERROR_INVALID_TENSOR_DIM, "a head of the key cache has ", depth,
            " columns, one of the query ", a.size(0, 2));
  ATB_CHECK(depth <= 576, ERROR_INVALID_TENSOR_DIM, "a head has ", depth, " columns; allowed: up to 576");
  if (!has_value) return;
  ATB_CHECK(a.rank(2) == 4, ERROR_INVALID_TENSOR_DIM_NUM, "the value cache has ", a.rank(2), " dimensions; allowed: 4");
  for (size_t dim : {0, 1, 2})
    ATB_CHECK(a.size(1, dim) == a.size(2, dim), ERROR_INVALID_TENSOR_DIM, "the key cache has ", a.size(1, dim),
              " in dimension ", dim, ", the value cache ", a.size(2, dim));
  ATB_CHECK(a.size(2, 3) <= 576, ERROR_INVALID_TENSOR_DIM, "a value has ", a.size(2, 3),
            " columns; allowed: up to 576");
  ATB_CHECK((depth <= 256 && a.size(2, 3) <= 256) || a.size(1, 1) <= 128, ERROR_INVALID_TENSOR_DIM, "pages of ",
            a.size(1, 1), " rows; allowed where a head has more than 256 columns: up to 128");
}

static void like_query(Arguments& a, int64_t depth) {
  const auto& out = a.out_desc(0).shape;
  ATB_CHECK(out.dimNum == 3 && out.dims[0] == a.size(0, 0) && out.dims[1] == a.size(0, 1) && out.dims[2] == depth,
            ERROR_INVALID_TENSOR_DIM, "an output (", a.size(0, 0), ", ", a.size(0, 1), ", ", depth, ") expected");
}

static void lengths_fit(Ints counts, const char* name, int64_t tokens) {
  for (int64_t each : counts->values) ATB_CHECK(each >= 0, ERROR_INVALID_PARAM, name, " has a negative length, ", each);
  ATB_CHECK(tokens < 0 || total(counts) <= tokens, ERROR_INVALID_PARAM, name, " adds up to ", total(counts),
            "; there are ", tokens, " tokens");
}

// The same where a page may be (rows, heads * depth), and the query has its heads in one dimension or two.
static void paged_prefix(Arguments& a, int64_t key_heads) {
  for (size_t i : {1, 2})
    ATB_CHECK(a.rank(i) == 3 || a.rank(i) == 4, ERROR_INVALID_TENSOR_DIM_NUM, "input ", i, " has ", a.rank(i),
              " dimensions; allowed: 3 or 4");
  ATB_CHECK(a.rank(0) == 2 || a.rank(0) == 3, ERROR_INVALID_TENSOR_DIM_NUM, "query has ", a.rank(0),
            " dimensions; allowed: 2 or 3");
  for (size_t i : {1, 2})
    ATB_CHECK(a.rank(i) == 4 ? a.size(i, 2) == key_heads : a.size(i, 2) % key_heads == 0, ERROR_INVALID_TENSOR_DIM,
              "input ", i, " has no ", key_heads, " heads");
}

// No sequence is longer than its pages.
static void pages_fit(Arguments& a, Ints keys, size_t pages) {
  ATB_CHECK(a.rank(pages) == 2 && a.size(pages, 0) >= int64_t(keys->values.size()), ERROR_INVALID_TENSOR_DIM,
            "a block table with a row for each of ", keys->values.size(), " sequences expected");
  for (int64_t each : keys->values)
    ATB_CHECK(each <= a.size(pages, 1) * a.size(1, 1), ERROR_INVALID_PARAM, "a sequence of ", each, " keys in ",
              a.size(pages, 1), " pages of ", a.size(1, 1));
}

struct PagedAttentionRules {
  using Param = infer::PagedAttentionParam;
  static constexpr const char* name = "PagedAttentionOperation";
  static std::string types(const Param& p) {
    if (p.quantType == p.TYPE_QUANT_QKV_ONLINE) {
      const char* masked = p.maskType == p.UNDEFINED ? "" : p.outDataType == ACL_BF16 ? "b" : "h";
      return std::string("cccii") + masked + "ff>" + (p.outDataType == ACL_BF16 ? "b" : "h");
    }
    return half_types(std::string(p.mlaVHeadSize > 0 ? "hh" : "hhh") + "ii" + (p.maskType != p.UNDEFINED ? "h" : "") +
                      (p.calcType == p.CALC_TYPE_SPEC ? "i" : "") + ">h");
  }
  static void parameters(const Param& p) {
    heads(p.headNum, p.kvHeadNum);
    ATB_CHECK(p.mlaVHeadSize <= 576, ERROR_INVALID_PARAM, "mlaVHeadSize ", p.mlaVHeadSize, "; allowed: 0 to 576");
    ATB_CHECK(p.mlaVHeadSize == 0 || p.kvHeadNum == 1, ERROR_INVALID_PARAM, "mlaVHeadSize with kvHeadNum ", p.kvHeadNum,
              "; allowed: 1");
    ATB_CHECK(p.mlaVHeadSize == 0 || p.maskType != p.MASK_TYPE_ALIBI, ERROR_INVALID_PARAM,
              "mlaVHeadSize and an alibi mask; allowed: one of them");
    const bool int8 = p.quantType == p.TYPE_QUANT_QKV_ONLINE;
    ATB_SIMULATED(p.quantType == p.TYPE_QUANT_UNDEFINED || int8, "quantType ", int(p.quantType));
    ATB_CHECK(!int8 || p.outDataType == ACL_FLOAT16 || p.outDataType == ACL_BF16, ERROR_INVALID_PARAM, "outDataType ",
              int(p.outDataType), "; allowed with quantization: float16 (1) and bfloat16 (27)");
    ATB_CHECK(!int8 || p.calcType == p.CALC_TYPE_UNDEFINED, ERROR_INVALID_PARAM, "calcType ", int(p.calcType),
              "; allowed with quantization: 0");
    ATB_SIMULATED(!int8 || p.mlaVHeadSize == 0, "quantization with mlaVHeadSize");
    ATB_SIMULATED(!p.batchRunStatusEnable, "batchRunStatusEnable");
    ATB_SIMULATED(p.compressType == p.COMPRESS_TYPE_UNDEFINED, "compressType ", int(p.compressType));
    ATB_SIMULATED(p.scaleType == p.SCALE_TYPE_TOR, "scaleType ", int(p.scaleType));
    ATB_SIMULATED(p.inputLayout == infer::TYPE_BSND, "inputLayout ", int(p.inputLayout));
    ATB_SIMULATED(p.maskType != p.MASK_TYPE_MASK_FREE, "maskType ", int(p.maskType));
  }
  static void shapes(const Param& p, const Descs& in, Descs& out) {
    out[0] = in[0];
    if (p.quantType == p.TYPE_QUANT_QKV_ONLINE) out[0].dtype = p.outDataType;
    out[0].shape.dims[2] = p.mlaVHeadSize ? p.mlaVHeadSize : in[2].shape.dims[3];
  }
  static int prepare(const Param& p, Arguments& a) {
    const bool has_value = p.mlaVHeadSize == 0, several = p.calcType == p.CALC_TYPE_SPEC;
    const bool masked = p.maskType != p.UNDEFINED;
    const bool int8 = p.quantType == p.TYPE_QUANT_QKV_ONLINE;
    const size_t pages = has_value ? 3 : 2, factors = pages + 2 + masked;
    paged(a, p.kvHeadNum ? p.kvHeadNum : p.headNum, has_value);
    ATB_CHECK(a.size(0, 1) == p.headNum, ERROR_INVALID_TENSOR_DIM, "query has ", a.size(0, 1),
              " heads; headNum: ", p.headNum);
    like_query(a, has_value ? a.size(2, 3) : p.mlaVHeadSize);
    const Ints keys = a.host(pages + 1, "context_lens");
    const Ints queries = several ? a.host(pages + 2 + masked, "q_seq_lens") : a.none();
    lengths_fit(keys, "context_lens", -1);
    pages_fit(a, keys, pages);
    if (several) {
      lengths_fit(queries, "q_seq_lens", a.size(0, 0));
      ATB_CHECK(queries->values.size() == keys->values.size(), ERROR_INVALID_TENSOR_DIM, queries->values.size(),
                " lengths of queries, ", keys->values.size(), " of keys");
    } else {
      ATB_CHECK(int64_t(keys->values.size()) == a.size(0, 0), ERROR_INVALID_TENSOR_DIM, "context_lens has ",
                keys->values.size(), " lengths for ", a.size(0, 0), " tokens");
    }
    const Seen seen = !masked                                   ? Seen::all
                      : p.maskType == p.MASK_TYPE_NORM_COMPRESS ? Seen::causal
                      : p.maskType == p.MASK_TYPE_SPEC          ? Seen::by_token
                                                                : Seen::added;
    for (size_t i : {factors, factors + 1})
      if (int8)
        ATB_CHECK(a.rank(i) == 1 && a.size(i, 0) == p.headNum, ERROR_INVALID_TENSOR_DIM, "a descale for each of ",
                  p.headNum, " heads expected");
    if (seen == Seen::by_token)
      ATB_CHECK(a.rank(pages + 2) == 2 && a.size(pages + 2, 0) == a.size(0, 0), ERROR_INVALID_TENSOR_DIM,
                "a mask with a row for each of ", a.size(0, 0), " tokens expected");
    return PagedAttention_prepare(a, a.in(0), a.raw(1), has_value ? a.raw(2) : nullptr, a.in(pages), keys,
                                  masked ? a.in(pages + 2) : nullptr, int8 ? a.in(factors) : nullptr,
                                  int8 ? a.in(factors + 1) : nullptr, queries, p.headNum,
                                  p.kvHeadNum ? p.kvHeadNum : p.headNum, p.qkScale, int64_t(seen), 0, a.out(0));
  }
};
ATB_OPERATION(PagedAttentionRules)

// What a query sees by the mask's type, and whether there is a mask, and slopes, among the inputs.
struct Sight {
  Seen seen;
  bool mask, slopes;
};
static Sight sight(infer::SelfAttentionParam::MaskType type) {
  using P = infer::SelfAttentionParam;
  switch (type) {
    case P::MASK_TYPE_UNDEFINED: return {Seen::all, false, false};
    case P::MASK_TYPE_NORM:
    case P::MASK_TYPE_ALIBI: return {Seen::added, true, false};
    case P::MASK_TYPE_NORM_COMPRESS: return {Seen::causal, true, false};
    case P::MASK_TYPE_CAUSAL_MASK: return {Seen::causal, false, false};
    case P::MASK_TYPE_ALIBI_COMPRESS: return {Seen::alibi, true, true};
    case P::MASK_TYPE_ALIBI_COMPRESS_SQRT: return {Seen::alibi_root, true, true};
    default: ATB_SIMULATED(false, "maskType ", int(type));
  }
}

struct SelfAttentionRules {
  using Param = infer::SelfAttentionParam;
  static constexpr const char* name = "SelfAttentionOperation";
  static std::string types(const Param& p) {
    const Sight what = sight(p.maskType);
    const bool prefix = p.calcType == p.PREFIX_ENCODER;
    return half_types(std::string("hhh") + (prefix ? "i" : "") + (what.mask ? "h" : "") + (prefix ? "ii" : "i") +
                      (what.slopes ? "f" : "") + ">h");
  }
  static void parameters(const Param& p) {
    heads(p.headNum, p.kvHeadNum);
    ATB_SIMULATED(p.calcType == p.PA_ENCODER || p.calcType == p.PREFIX_ENCODER, "calcType ", int(p.calcType));
    ATB_SIMULATED(p.quantType == p.TYPE_QUANT_UNQUANT, "quantType ", int(p.quantType));
    ATB_SIMULATED(p.clampType == p.CLAMP_TYPE_UNDEFINED, "clampType ", int(p.clampType));
    ATB_SIMULATED(!p.batchRunStatusEnable, "batchRunStatusEnable");
    ATB_SIMULATED(p.kvcacheCfg == p.K_CACHE_V_CACHE, "kvcacheCfg ", int(p.kvcacheCfg));
    ATB_SIMULATED(p.scaleType == p.SCALE_TYPE_TOR, "scaleType ", int(p.scaleType));
    ATB_SIMULATED(p.inputLayout == infer::TYPE_BSND, "inputLayout ", int(p.inputLayout));
    ATB_SIMULATED(p.mlaVHeadSize == 0, "mlaVHeadSize ", p.mlaVHeadSize);
    ATB_SIMULATED(p.windowSize == 0 && p.cacheType == p.CACHE_TYPE_NORM, "windowSize ", p.windowSize);
    sight(p.maskType);
  }
  static void shapes(const Param& p, const Descs& in, Descs& out) {
    out[0] = in[0];
    const auto& value = in[2].shape;
    const int64_t key_heads = p.kvHeadNum ? p.kvHeadNum : p.headNum;
    auto& own = out[0].shape;
    if (own.dimNum == 2) own.dims[1] = sim::divided(value.dims[1], key_heads) * p.headNum;
    else own.dims[own.dimNum - 1] = value.dims[value.dimNum - 1];
  }
  static int prepare(const Param& p, Arguments& a) {
    const Sight what = sight(p.maskType);
    const bool prefix = p.calcType == p.PREFIX_ENCODER;
    const int64_t key_heads = p.kvHeadNum ? p.kvHeadNum : p.headNum, tokens = a.size(0, 0);
    size_t next = prefix ? 4 : 3;
    const In mask = what.mask ? a.in(next++) : nullptr;
    Ints queries = a.host(next++, "seq_len");
    Ints keys = prefix ? a.host(next++, "context_lens") : queries;
    const In slopes = what.slopes ? a.in(next++) : nullptr;
    if (!prefix && a.rank(next - 1 - what.slopes) == 2) std::tie(queries, keys) = a.halves(queries);
    lengths_fit(queries, "seq_len", tokens);
    lengths_fit(keys, "context_lens", prefix ? -1 : a.size(1, 0));
    ATB_CHECK(queries->values.size() == keys->values.size(), ERROR_INVALID_TENSOR_DIM, queries->values.size(),
              " lengths of queries, ", keys->values.size(), " of keys");
    if (prefix) {
      paged_prefix(a, key_heads);
      pages_fit(a, keys, 3);
    } else {
      for (size_t i : {0, 1, 2})
        ATB_CHECK(a.rank(i) == 2 || a.rank(i) == 3, ERROR_INVALID_TENSOR_DIM_NUM, "input ", i, " has ", a.rank(i),
                  " dimensions; allowed: 2 or 3");
    }
    const bool factor = a.desc(0).dtype == ACL_BF16 && p.maskType == p.MASK_TYPE_NORM;
    return SelfAttention_prepare(a, a.in(0), prefix ? a.raw(1) : a.in(1), prefix ? a.raw(2) : a.in(2),
                                 prefix ? a.in(3) : nullptr, mask, slopes, queries, keys, p.headNum, key_heads,
                                 double(p.qScale) * p.qkScale, int64_t(what.seen), factor ? kBfloat16Mask : 1, 0,
                                 a.out(0));
  }
};
ATB_OPERATION(SelfAttentionRules)

ATB_FUNCTION(AtbSelfAttentionPrefixEncoder,
             (In, query, In, key, In, value, In, block_tables, In, mask, In, seqlen, In, kv_seqlen, In, slopes, int32_t,
              mask_type, int32_t, heads, int32_t, key_heads, float, scale, Out, out)) {
  infer::SelfAttentionParam p;
  p.calcType = p.PREFIX_ENCODER;
  p.kernelType = p.KERNELTYPE_HIGH_PRECISION;
  p.isTriuMask = 1;
  p.maskType = infer::SelfAttentionParam::MaskType(mask_type);
  p.headNum = heads;
  p.kvHeadNum = key_heads;
  p.qkScale = scale;
  SelfAttentionRules::parameters(p);
  const Sight what = sight(p.maskType);
  VariantPack pack;
  for (In each : {query, key, value, block_tables}) pack.inTensors.push_back(on_device(each));
  if (what.mask) pack.inTensors.push_back(on_device(mask));
  for (In each : {seqlen, kv_seqlen}) pack.inTensors.push_back(on_host(each));
  if (what.slopes) pack.inTensors.push_back(on_device(slopes));
  pack.outTensors.push_back(on_device(out));
  return setup<SelfAttentionRules>(p, pack, a.workspace, a.executor);
}
