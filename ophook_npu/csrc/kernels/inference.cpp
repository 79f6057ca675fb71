#include "kernels/inference.h"

#include "kernels/mx_quant.h"
#include "kernels/quant.h"

namespace sim::inference {

using namespace sim::attention;

// The layouts of the queries and of the result, which the device names together.
struct Layouts {
  std::string in, out;
};

static bool packed_sequences(const std::string& layout) { return layout == "TND" || layout == "NTD"; }

static Layouts layouts_of(const std::string& name) {
  const auto bar = name.find('_');
  Layouts result{name.substr(0, bar), bar == std::string::npos ? name : name.substr(bar + 1)};
  const auto batches = [](const std::string& each) { return each == "BSH" || each == "BSND" || each == "BNSD"; };
  const bool known = batches(result.in)            ? batches(result.out) || result.out == "NBSD"
                     : packed_sequences(result.in) ? packed_sequences(result.out)
                                                   : name == "NSD";
  SIM_CHECK(known, "layout ", name, " is not simulated");
  return result;
}

// A sequence as (heads, length, depth), from row `start` on: of batch `item`, or of all where sequences lie one behind
// the other.
static at::Tensor sequence(const at::Tensor& x, const std::string& layout, int64_t heads, int64_t item, int64_t start,
                           int64_t length) {
  if (layout == "TND") return x.narrow(0, start, length).transpose(0, 1);
  if (layout == "NTD" || layout == "NSD") return x.narrow(1, start, length);  // the second: of one sequence
  if (layout == "BNSD") return x[item].narrow(1, start, length);
  if (layout == "NBSD") return x.select(1, item).narrow(1, start, length);
  if (layout == "BSND") return x[item].narrow(0, start, length).transpose(0, 1);
  return x[item].narrow(0, start, length).unflatten(-1, {heads, -1}).transpose(0, 1);
}

// Pages are (rows, heads * depth), (heads, rows, depth) or (heads, parts of a depth, rows, numbers of a part).
static at::Tensor from_pages(const at::Tensor& cache, const at::Tensor& pages, int64_t heads, int64_t length) {
  const int64_t rows = cache.size(-2);
  auto used = cache.index_select(0, pages.narrow(0, 0, divided(length + rows - 1, rows)).to(at::kLong));
  if (cache.dim() == 5) used = used.transpose(2, 3).flatten(3);
  if (used.dim() == 4) return used.transpose(0, 1).flatten(1, 2).narrow(1, 0, length);
  return used.flatten(0, 1).narrow(0, 0, length).unflatten(-1, {heads, -1}).transpose(0, 1);
}

// Rows or columns of one sequence.
struct Part {
  int64_t first, count;
};

// The part of a mask, or of a position encoding, for one sequence, as (1, 1 or heads, queries, keys). A mask of two
// dimensions is for all sequences, or has a row for each that has one query.
static at::Tensor mask_of(const at::Tensor& mask, int64_t item, int64_t batch, const Part& of_queries,
                          const Part& of_keys) {
  auto part = mask;
  if (part.dim() == 2 && of_queries.count == 1 && part.size(0) == batch) part = part.unsqueeze(1);
  if (part.dim() == 2) part = part.unsqueeze(0);
  part = part[part.size(0) == 1 ? 0 : item];
  if (part.dim() == 2) part = part.unsqueeze(0);
  return part.narrow(1, of_queries.first, of_queries.count).narrow(2, of_keys.first, of_keys.count).unsqueeze(0);
}

// Without lengths every sequence is whole; one behind the other they arrive as their running sum.
static int64_t length_of(const Dims& lengths, bool running, int64_t item, int64_t all) {
  if (lengths.empty()) return all;
  if (running) return lengths[item] - (item ? lengths[item - 1] : 0);
  return lengths.size() == 1 ? lengths[0] : lengths.at(item);
}

// In sparse mode 0 the pages leave what lies outside of the band undefined; CANN's kernels skip tiles that lie outside
// as a whole and apply the mask alone to the others. A row of keys that is no longer than a tile is in one.
static void check_band(const at::Tensor& mask, const Settings& how, int64_t queries, int64_t keys) {
  constexpr int64_t kTile = 1024;
  if ((how.before >= queries && how.after >= keys) || keys <= kTile) return;
  const auto row = at::arange(queries, at::kLong).unsqueeze(1), column = at::arange(keys, at::kLong);
  const auto outside = at::logical_or(at::gt(column, row.add(how.after)), at::lt(column, row.sub(how.before)));
  SIM_CHECK(!at::logical_and(outside, mask.to(at::kBool).logical_not()).any().item<bool>(),
            "the mask shows keys outside of pre_tokens ", how.before, " and next_tokens ", how.after, ", and of ", keys,
            " keys a device computes only some of these: not simulated");
}

// Batches, heads, tokens and depth of a query; tokens one behind the other are of one batch.
struct QuerySizes {
  int64_t batch, heads, tokens, depth;
};
static QuerySizes sizes_of(const at::Tensor& query, const std::string& in, int64_t heads) {
  const int64_t rank = in == "BSND" || in == "BNSD" ? 4 : 3;
  SIM_CHECK(query.dim() == rank, "a query in ", in, " has ", rank, " dimensions, this one is ", query.sizes());
  const auto size = [&](int64_t dim) { return query.size(dim); };
  if (in == "BSH") return {size(0), heads, size(1), divided(size(2), heads)};
  if (in == "BSND") return {size(0), size(2), size(1), size(3)};
  if (in == "BNSD") return {size(0), size(1), size(2), size(3)};
  if (in == "TND") return {1, size(1), size(0), size(2)};
  return {1, size(0), size(1), size(2)};  // NTD, NSD
}

static int64_t numbers_in(const at::Tensor& stored) {
  return stored.scalar_type() == at::kInt ? 8 : mx::of_pairs(stored) ? 2 : 1;
}

// Of the numbers of one head, whether they lie in pages or not.
static int64_t depth_of_stored(const at::Tensor& stored, bool joined, int64_t heads) {
  return numbers_in(stored) * (stored.dim() == 5 ? stored.size(2) * stored.size(4)
                               : joined          ? divided(stored.size(-1), heads)
                                                 : stored.size(-1));
}

// The queries' sizes with the depth of the values, in the layout of results.
static void result_like(const at::Tensor& out, const QuerySizes& of, const std::string& to, int64_t depth) {
  const auto& [batch, heads, tokens, own] = of;
  if (to == "BSH") shape(out, {batch, tokens, heads * depth});
  else if (to == "BSND") shape(out, {batch, tokens, heads, depth});
  else if (to == "BNSD") shape(out, {batch, heads, tokens, depth});
  else if (to == "NBSD") shape(out, {heads, batch, tokens, depth});
  else if (to == "TND") shape(out, {tokens, heads, depth});
  else shape(out, {heads, tokens, depth});
}

void log_sum_like(const at::Tensor& log_sum, bool asked, const at::Tensor& query, const std::string& layout,
                  int64_t heads) {
  if (!asked) return;
  of_dtype("softmaxLse", log_sum, {at::kFloat});
  const auto in = layouts_of(layout).in;
  const auto of = sizes_of(query, in, heads);
  if (packed_sequences(in)) shape(log_sum, {of.tokens, of.heads, 1});
  else shape(log_sum, {of.batch, of.heads, of.tokens, 1});
}

// Keys and values of fewer bits than the query.
static void check_antiquant(const at::Tensor& query, const at::Tensor& key, const at::Tensor& pages,
                            const Quantized& how) {
  of_dtype("query", query, {at::kHalf, at::kBFloat16});
  of_dtype("key", key,
           {at::kChar, at::kInt, at::ScalarType::Float8_e4m3fn, at::ScalarType::Float8_e5m2, at::kFloat, kFloat4});
  const bool own = given(how.key);
  for (int64_t mode : own ? Dims{how.key_mode, how.value_mode} : Dims{how.mode}) {
    SIM_CHECK(mode >= kByDepth && mode <= (own ? kByGroup : kByHeadAndToken), "antiquant mode ", mode,
              " is not simulated; allowed: 0 (channel), 1 (token), 2 (head), 3 (head and token)",
              own ? ", 4 (token, in pages), 5 (head and token, in pages), 6 (token and group)" : "");
    SIM_CHECK((mode != kInPages && mode != kInPagesByHead) || given(pages), "antiquant mode ", mode,
              " needs block_table");
    SIM_CHECK(mx::of_pairs(key) == (mode == kByGroup), "FLOAT4_E2M1 and antiquant mode 6 go together");
    SIM_CHECK(!mx::is_hifloat8(key) || mode == kByDepth, "antiquant mode ", mode,
              " for HIFLOAT8; allowed: 0 (channel)");
  }
  if (mx::of_pairs(key))
    of_dtype("keyAntiquantScale", how.key, {at::kFloat8_e8m0fnu}),
        of_dtype("valueAntiquantScale", how.value, {at::kFloat8_e8m0fnu});
  if (!mx::of_whole_numbers(key))
    refuse_if_given({how.both_offset, how.key_offset}, "an offset of floating-point keys");
}

// Query, keys and values of FLOAT8.
static void check_float8(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                         const at::Tensor& pages, const std::string& layout, const at::Tensor& out,
                         const Quantized& how) {
  SIM_CHECK(layout == "NTD_TND" && given(pages) && key.dim() == 4, "a query with dequantScaleQuery in layout ", layout,
            " and keys of shape ", key.sizes(), " are not simulated; allowed: NTD_TND, and keys in pages (B, N, S, D)");
  SIM_CHECK(how.query_mode == kByHeadAndToken && how.key_mode == kByHeadAndToken && how.value_mode == kByHead,
            "queryQuantMode ", how.query_mode, ", keyAntiquantMode ", how.key_mode, " and valueAntiquantMode ",
            how.value_mode, " are not simulated with dequantScaleQuery; allowed: 3, 3 and 2");
  of_dtype("query", query, {at::kFloat8_e4m3fn}), of_dtype("key", key, {at::kFloat8_e4m3fn});
  of_dtype("attentionOut", out, {at::kHalf, at::kBFloat16});
  SIM_CHECK(query.size(2) == 128 && value.sizes() == key.sizes(), "query ", query.sizes(), ", key ", key.sizes(),
            " and value ", value.sizes(), "; allowed: depth 128");
  refuse_if_given({how.of_scores, how.of_product, how.both, how.both_offset, how.key_offset, how.value_offset,
                   how.of_result, how.result_offset},
                  "another scale or an offset with dequantScaleQuery");
  float_of("dequantScaleQuery", how.query, query.sizes().slice(0, 2));
  float_of("keyAntiquantScale", how.key, key.sizes().slice(0, 3));
  float_of("valueAntiquantScale", how.value, {key.size(1)});
  float_of("quantScale1", how.of_weights, {1});
}

void without_rope(const at::Tensor& query_scale, const at::Tensor& query_rope) {
  SIM_CHECK(!given(query_scale) || !given(query_rope), "dequantScaleQuery with queryRope is not simulated");
}

// What goes together of keys and values of fewer bits, or of all of int8, and of a result of 8 bits.
static void check_quantized(const at::Tensor& query, const at::Tensor& key, const at::Tensor& pages,
                            const std::string& layout, const at::Tensor& out, const Quantized& how) {
  const bool all = given(how.of_scores), keys = given(how.both) || given(how.key);
  SIM_CHECK(given(how.of_weights) == all && given(how.of_product) == all,
            "deqScale1, quantScale1 and deqScale2 go together");
  SIM_CHECK(given(how.key) == given(how.value) && given(how.key_offset) == given(how.value_offset),
            "scale and offset of key and value go together");
  SIM_CHECK(!given(how.result_offset) || given(how.of_result), "quantOffset2 needs quantScale2");
  SIM_CHECK(!(all || keys) || !packed_sequences(layout) || (keys && layout == "TND" && !mx::of_whole_numbers(key)),
            "quantized queries, or keys of whole numbers, one behind the other are not simulated");
  if (all) {
    for (const at::Tensor& each : {how.of_scores, how.of_weights, how.of_product})
      SIM_CHECK(each.numel() == 1, "deqScale1, quantScale1 and deqScale2 have one number each, got ", each.sizes());
    of_dtype("query", query, {at::kChar}), of_dtype("key", key, {at::kChar});
    SIM_CHECK(!keys, "antiquant scales with a query of int8");
  } else if (keys) {
    check_antiquant(query, key, pages, how);
  } else {
    same_dtype({query, key});
    SIM_CHECK(query.scalar_type() != at::kChar, "a query of int8 needs deqScale1, quantScale1 and deqScale2");
  }
  if (!out.defined()) return;
  const bool of_8_bits = out.element_size() == 1 || (given(how.of_result) && mx::is_hifloat8(out));
  SIM_CHECK(of_8_bits == given(how.of_result), "quantScale2 goes with a result of 8 bits, and without it none");
  if (of_8_bits)
    of_dtype("attentionOut", out, {at::kChar, at::ScalarType::Float8_e4m3fn, at::ScalarType::Float8_e5m2, at::kFloat});
}

// One for all numbers of a result of 8 bits, or one for each of each head.
static void check_result_scales(const Quantized& how, int64_t heads, int64_t depth) {
  if (!given(how.of_result)) return;
  SIM_CHECK(how.of_result.numel() == 1 || how.of_result.numel() == heads * depth, "quantScale2 has shape ",
            how.of_result.sizes(), "; allowed: one number, or ", heads, " x ", depth);
  if (given(how.result_offset)) like(how.result_offset, how.of_result);
}

// Of which sequence keys are: its number, that of all, and its pages, where there are any.
struct Own {
  int64_t item, batch;
  at::Tensor pages;
};

// A key's scale or offset as (heads, keys, depth), or what broadcasts to that, for one sequence of such keys.
static at::Tensor for_keys(const at::Tensor& all, int64_t mode, const Own& of, const at::Tensor& kept) {
  const int64_t heads = kept.size(0), keys = kept.size(1);
  const auto x = all.to(at::kFloat);
  if (mode == kByGroup) {
    const auto own = x.reshape({of.batch, heads, -1, kept.size(2) / 32})[of.item].narrow(1, 0, keys);
    return mx::spread(own, 2, 32, kept.size(2));
  }
  if (mode == kInPages) return from_pages(x.unsqueeze(1).unsqueeze(-1), of.pages, 1, keys);
  if (mode == kInPagesByHead) return from_pages(x.unsqueeze(-1), of.pages, heads, keys);
  if (x.numel() == 1) return x.reshape({1, 1, 1});
  if (mode == kByToken) return x.reshape({of.batch, -1})[of.item].narrow(0, 0, keys).reshape({1, keys, 1});
  if (mode == kByHeadAndToken) return x.reshape({of.batch, heads, -1})[of.item].narrow(1, 0, keys).unsqueeze(-1);
  return x.reshape({heads, 1, -1});
}

// The keys, or the values, of one sequence as the numbers that they stand for. That the offset is added before the
// scale is that of aclnnAscendAntiQuant: the pages of attention name both and give no formula.
static at::Tensor restored(const at::Tensor& kept, const Quantized& how, bool value, const Own& of) {
  if (!given(how.both) && !given(how.key)) return kept.scalar_type() == at::kChar ? kept.to(at::kFloat) : kept;
  const auto half = [&](const at::Tensor& both) { return given(both) ? both[int64_t(value)] : both; };
  const bool own = given(how.key);
  const auto scale = own ? (value ? how.value : how.key) : half(how.both);
  const auto offset = own ? (value ? how.value_offset : how.key_offset) : half(how.both_offset);
  int64_t mode = own ? (value ? how.value_mode : how.key_mode) : how.mode;
  auto x = kept.to(at::kFloat);
  if (given(how.query) && mode == kByHeadAndToken) mode = kInPagesByHead;
  if (given(offset)) x = x.add(for_keys(offset, mode, of, kept));
  return x.mul(for_keys(scale, mode, of, kept));
}

// (1, heads, queries, depth), for an `out` of 8 bits in its data type.
static at::Tensor as_result(const at::Tensor& x, const Quantized& how, const at::Tensor& out) {
  auto result = given(how.of_product) ? x.mul(quant::scale_of(how.of_product).reshape({})) : x;
  if (!given(how.of_result)) return result;
  const auto spread = [&](const at::Tensor& scale) {
    return scale.numel() == 1 ? wide(scale).reshape({}) : wide(scale).reshape({1, x.size(1), 1, -1});
  };
  result = result.mul(spread(how.of_result));  // the pages give no formula: a factor, as in AscendQuant
  if (given(how.result_offset)) result = result.add(spread(how.result_offset));
  return mx::stepped(result, out);
}

void one_query(const at::Tensor& query, const std::string& layout) {
  const int64_t dim = layout == "BNSD" ? 2 : 1;
  SIM_CHECK(query.dim() > dim && query.size(dim) == 1, "a query ", query.sizes(), " in layout ", layout,
            "; one token each expected");
}

static int64_t batch_of(const Sequences& of, const std::string& in) {
  return packed_sequences(in) ? int64_t(of.query_lengths.size()) : in == "NSD" ? 1 : of.query.size(0);
}

// Where the sequences of a batch lie: rows for layouts of batches, and NSD.
static int64_t row_of(const std::string& in) { return in == "BNSD" ? 2 : 1; }

// The rows before a sequence that ends `padding` rows before its batch does; a negative padding is 0.
static int64_t padded(const at::Tensor& padding, const Dims& lengths, int64_t all, int64_t length) {
  if (!given(padding) || lengths.empty()) return 0;
  const int64_t behind = std::max<int64_t>(padding.reshape(-1)[0].item<int64_t>(), 0);
  return std::max<int64_t>(all - length - behind, 0);
}

static bool on_the_left(const Sequences& of) { return given(of.query_padding) || given(of.key_padding); }

// The same sizes but for those of some dimensions.
static void same_but(const char* name, const at::Tensor& x, const at::Tensor& of, std::initializer_list<int64_t> dims) {
  auto expected = of.sizes().vec();
  if (x.dim() == of.dim())
    for (int64_t dim : dims) expected[size_t(wrap(dim, x))] = x.size(dim);
  SIM_CHECK(x.sizes() == at::IntArrayRef(expected), name, " has shape ", x.sizes(),
            "; allowed: ", at::IntArrayRef(expected));
}
// The same but for the depth, whether it lies in pages or not.
static void same_but_depth(const char* name, const at::Tensor& x, const at::Tensor& of) {
  of.dim() == 5 ? same_but(name, x, of, {2, -1}) : same_but(name, x, of, {-1});
}

// Padding on the left, a prefix that sequences share and keys in a list need sequences that lie in batches.
static void check_places(const Sequences& of, const std::string& in, int64_t batch) {
  const bool list = of.keys.size() > 1;
  const bool left = on_the_left(of), prefix = given(of.key_prefix);
  SIM_CHECK(prefix == given(of.value_prefix), "keySharedPrefix and valueSharedPrefix go together");
  SIM_CHECK(of.keys.size() == of.values.size(), of.keys.size(), " keys and ", of.values.size(), " values");
  SIM_CHECK(left + prefix + list + given(of.pages) <= 1,
            "block_table, padding on the left, a shared prefix and a list of keys exclude each other");
  if (!left && !prefix && !list) return;
  SIM_CHECK(!packed_sequences(in) && in != "NSD", "layout ", of.layout,
            " takes neither padding on the left, nor a shared prefix, nor a list of keys");
  for (const auto& padding : {of.query_padding, of.key_padding})
    SIM_CHECK(!given(padding) || padding.numel() == 1, "a padding has one number, got ", padding.sizes());
  SIM_CHECK(!given(of.quantized.of_scores) || !prefix, "a shared prefix with a query of int8");
  // Scales of single tokens have no page that says which of them are the prefix's.
  SIM_CHECK(!(prefix || list || left) || !(given(of.quantized.key) || given(of.quantized.both)),
            "antiquant scales with padding on the left, a shared prefix or a list of keys are not simulated");
  SIM_CHECK(!(prefix || list) || !given(of.key_rope), "key_rope with a shared prefix or a list of keys");
  if (list) {
    SIM_CHECK(int64_t(of.keys.size()) == batch, of.keys.size(), " keys for ", batch, " sequences");
    for (size_t i = 0; i < of.keys.size(); ++i) {
      SIM_CHECK(of.keys[i].dim() == of.query.dim() && of.keys[i].size(0) == 1, "key ", i, " has shape ",
                of.keys[i].sizes(), " for a query ", of.query.sizes());
      same_but("key", of.keys[i], of.keys[0], {row_of(in)});
      same_but_depth("value", of.values[i], of.keys[i]), same_but("value", of.values[i], of.values[0], {row_of(in)});
    }
  }
  if (!prefix) return;
  const int64_t row = row_of(in);
  same_dtype({of.keys[0], of.key_prefix, of.value_prefix});
  for (const auto& [name, before, own] : {std::tuple{"keySharedPrefix", of.key_prefix, of.keys[0]},
                                          std::tuple{"valueSharedPrefix", of.value_prefix, of.values[0]}}) {
    auto expected = own.sizes().vec();
    expected[0] = 1, expected[row] = of.key_prefix.size(row);
    SIM_CHECK(before.sizes() == at::IntArrayRef(expected), name, " has shape ", before.sizes(),
              "; allowed: ", at::IntArrayRef(expected));
  }
  SIM_CHECK(of.prefix.empty() || (of.prefix.size() == 1 && of.prefix[0] <= of.key_prefix.size(row)),
            "actualSharedPrefixLen ", at::IntArrayRef(of.prefix), " for a prefix of ", of.key_prefix.size(row),
            " tokens");
}

// The tokens before those of each sequence.
static int64_t prefix_of(const Sequences& of, int64_t row) {
  return !given(of.key_prefix) ? 0 : of.prefix.empty() ? of.key_prefix.size(row) : of.prefix[0];
}

static int64_t longest_of(const Dims& lengths, bool running, int64_t all, int64_t batch) {
  int64_t longest = 0;
  for (int64_t i = 0; i < batch; ++i) longest = std::max(longest, length_of(lengths, running, i, all));
  return longest;
}

// One length for all sequences, or one for each; those behind the batch's are not read. `most`: of a sequence, or of
// all that lie one behind the other.
static void check_lengths(const char* name, const Dims& lengths, bool running, int64_t batch,
                          const std::function<int64_t(int64_t)>& most) {
  if (lengths.empty()) return;
  const auto count = int64_t(lengths.size());
  SIM_CHECK(running ? count == batch : count == 1 || count >= batch, count, " lengths for ", batch, " sequences");
  for (int64_t i = 0; i < std::min(count, batch); ++i)
    SIM_CHECK(lengths[i] >= (running && i ? lengths[i - 1] : 0) && lengths[i] <= most(i), name, "[", i, "] is ",
              lengths[i], "; allowed: ", running && i ? lengths[i - 1] : 0, " to ", most(i));
}

static void check_lengths(const Sequences& of, const std::string& in, int64_t batch) {
  const bool running = packed_sequences(in), paged = given(of.pages);
  const int64_t row = in == "TND" ? 0 : row_of(in), queries = of.query.size(row);
  if (running || queries != 1)  // one query is taken whatever its length says
    check_lengths("actual_seq_lengths", of.query_lengths, running, batch, [&](int64_t) { return queries; });
  check_lengths("actual_seq_lengths_kv", of.key_lengths, running && !paged, batch, [&](int64_t i) {
    if (paged) return std::numeric_limits<int64_t>::max();
    return of.keys[of.keys.size() > 1 ? i : 0].size(row);
  });
}

// A mask, or a position encoding, has a place for each query and each key of a batch; one query of each sequence may
// have the sequences as rows.
static void check_cover(const char* name, const at::Tensor& x, const Sequences& of, const std::string& in,
                        int64_t batch) {
  if (!given(x)) return;
  const int64_t row = row_of(in);
  const bool running = packed_sequences(in), paged = given(of.pages);
  int64_t keys = 0;
  if (!paged && !running)
    for (const at::Tensor& key : of.keys) keys = std::max(keys, key.size(row));
  if (!on_the_left(of)) keys = longest_of(of.key_lengths, running && !paged, keys, batch);
  keys += prefix_of(of, row);
  const int64_t all = running ? 0 : of.query.size(row);
  const int64_t queries = on_the_left(of) || all == 1 ? all : longest_of(of.query_lengths, running, all, batch);
  const bool by_batch = x.dim() == 2 && queries == 1 && x.size(0) == batch;
  SIM_CHECK(x.dim() >= 2 && x.dim() <= 4 && x.size(-1) >= keys && (by_batch || x.size(-2) >= queries), name,
            " has shape ", x.sizes(), " for ", queries, " queries and ", keys, " keys");
  SIM_CHECK(x.dim() == 2 || x.size(0) == 1 || x.size(0) == batch, name, " has shape ", x.sizes(), " for ", batch,
            " sequences");
}

// Of each batch, with as many heads: values, and what stands beside queries and keys.
static void check_heads(const Sequences& of, const std::string& in, bool joined, int64_t key_heads) {
  const at::Tensor &key = of.keys[0], &value = of.values[0];
  if (!given(of.query)) return;
  if (!given(of.pages) && of.keys.size() == 1 && !packed_sequences(in) && in != "NSD")
    SIM_CHECK(key.size(0) == of.query.size(0), "query ", of.query.sizes(), " and key ", key.sizes(),
              ", which are of one batch");
  if (given(value)) same_but_depth("value", value, key);
  const auto depth_of = [](const at::Tensor& x, int64_t heads) {
    SIM_CHECK(x.size(-1) % heads == 0, "rows of ", x.size(-1), " numbers for ", heads, " heads");
    return x.size(-1) / heads;
  };
  const int64_t parts = in == "BSH" ? of.heads : 1;
  depth_of(of.query, parts);
  if (joined) depth_of(key, key_heads), depth_of(value, key_heads);
  SIM_CHECK(given(of.query_rope) == given(of.key_rope), "query_rope and key_rope go together");
  if (!given(of.query_rope)) return;
  same_but("query_rope", of.query_rope, of.query, {-1}), same_but_depth("key_rope", of.key_rope, key);
  if (joined) depth_of(of.key_rope, key_heads);
  const int64_t depth = depth_of(of.query_rope, parts), key_depth = depth_of_stored(of.key_rope, joined, key_heads);
  SIM_CHECK(depth == key_depth, "query_rope of depth ", depth, " and key_rope of depth ", key_depth);
}

void check_inference(const Sequences& of, const at::Tensor& out) {
  const auto [in, to] = layouts_of(of.layout);
  const auto& [query, how, quantized] = std::tie(of.query, of.how, of.quantized);
  const bool running = packed_sequences(in), paged = given(of.pages);
  SIM_CHECK(!of.keys.empty() && !of.values.empty(), "the list of keys is empty");
  const at::Tensor &key = of.keys[0], &value = of.values[0];
  for (const auto* each : {&of.keys, &of.values})
    for (const at::Tensor& one : *each) same_dtype({key, one});
  const int64_t heads = of.heads, key_heads = of.key_heads ? of.key_heads : heads, batch = batch_of(of, in);
  SIM_CHECK(heads > 0 && heads % key_heads == 0, heads, " heads of queries, ", of.key_heads, " of keys");
  const bool joined = paged ? key.dim() == 3 : in == "BSH";
  if (paged) SIM_CHECK(key.dim() >= 3 && key.dim() <= 5, "pages of shape ", key.sizes(), " are not simulated");
  else SIM_CHECK(key.dim() == query.dim(), "query ", query.sizes(), " and key ", key.sizes());
  check_places(of, in, batch);
  if (given(quantized.query)) check_float8(query, key, value, of.pages, of.layout, out, quantized);
  else check_quantized(query, key, of.pages, in, out, quantized);
  const auto of_query = sizes_of(query, in, heads);
  const int64_t depth = of_query.depth;
  SIM_CHECK(depth > 0, "a query ", query.sizes(), " of depth 0");
  SIM_CHECK(of_query.heads == heads, "numHeads is ", heads, ", the query ", query.sizes(), " in layout ", of.layout,
            " has ", of_query.heads);
  const int64_t found = joined                                 ? key.size(-1) * numbers_in(key) / depth
                        : paged || in == "BNSD" || in == "TND" ? key.size(1)
                                                               : key.size(in == "BSND" ? 2 : 0);
  SIM_CHECK(found == key_heads, "numKeyValueHeads is ", of.key_heads, ", the key has ", found,
            " heads of the query's depth");
  const int64_t key_depth = depth_of_stored(key, joined, key_heads);
  SIM_CHECK(depth == key_depth, "a query of depth ", depth, " and a key of depth ", key_depth);
  check_heads(of, in, joined, key_heads);
  if (given(query) && given(value)) {
    const int64_t value_depth = depth_of_stored(value, joined, key_heads);
    result_like(out, of_query, to, value_depth), check_result_scales(of.quantized, heads, value_depth);
  }
  SIM_CHECK(!running || !of.query_lengths.empty(), "layout ", of.layout, " needs actual_seq_lengths");
  if (given(how.sink)) {
    of_dtype("learnable_sink", how.sink, {at::kBFloat16});
    shape(how.sink, {heads});
  }
  check_lengths(of, in, batch);
  SIM_CHECK(how.sparse_mode >= 0 && how.sparse_mode <= 4, "sparse mode ", how.sparse_mode, " is not simulated");
  if (how.sparse_mode < 2) check_cover("attenMask", of.mask, of, in, batch);
  check_cover("pseShift", of.pse, of, in, batch);
  SIM_CHECK(!given(of.pse) || (of.pse.dim() == 4 && of.pse.size(1) == heads), "pseShift has shape ", of.pse.sizes(),
            "; allowed: (B or 1, ", heads, ", queries, keys)");
  if (!paged) {
    SIM_CHECK(!running || !of.key_lengths.empty(), "layout ", of.layout, " needs actual_seq_lengths_kv");
    return;
  }
  SIM_CHECK(of.pages.dim() == 2 && of.pages.size(0) == batch, "block_table ", of.pages.sizes(), " for ", batch,
            " sequences");
  SIM_CHECK(!of.key_lengths.empty(), "paged keys need actual_seq_lengths_kv");
  const int64_t longest = longest_of(of.key_lengths, false, 0, batch), rows = key.size(-2);
  SIM_CHECK(of.pages.size(1) * rows >= longest, "block_table ", of.pages.sizes(), " of pages of ", rows,
            " rows, and a sequence of ", longest);
}

void attend_sequences(const Sequences& of, const at::Tensor& out, const at::Tensor& log_sum) {
  const auto [in, to] = layouts_of(of.layout);
  const bool running = packed_sequences(in), paged = given(of.pages), fixed_mask = of.how.sparse_mode >= 2;
  const bool list = of.keys.size() > 1;
  const Quantized& quantized = of.quantized;
  const auto numbers = [](const at::Tensor& x) {
    return mx::of_pairs(x) ? mx::numbers_of(x) : quant::whole_numbers(x);
  };
  Tensors all_keys, all_values;
  for (const at::Tensor& x : of.keys) all_keys.push_back(numbers(x));
  for (const at::Tensor& x : of.values) all_values.push_back(numbers(x));
  auto how = of.how;
  how.pse_type = 0;
  if (given(quantized.of_scores)) {
    how.scale *= quant::scale_of(quantized.of_scores).item<double>();
    how.weight_steps = number_of(quantized.of_weights).toDouble();
  }
  if (given(quantized.query)) how.weight_scale = quantized.of_weights, how.small = at::kFloat8_e4m3fn;
  const bool band = how.sparse_mode == 0 && given(of.mask) && !on_the_left(of);
  const int64_t heads = of.heads, key_heads = of.key_heads ? of.key_heads : heads;
  const int64_t batch = batch_of(of, in), row = row_of(in);
  const int64_t before = prefix_of(of, row);
  out.zero_();
  if (given(log_sum)) log_sum.zero_();
  int64_t first = 0, first_key = 0;
  for (int64_t item = 0; item < batch; ++item) {
    const at::Tensor &key = all_keys[list ? item : 0], &value = all_values[list ? item : 0];
    const int64_t query_rows = running ? 0 : of.query.size(row), key_rows = running || paged ? 0 : key.size(row);
    const int64_t queries = query_rows == 1 ? 1 : length_of(of.query_lengths, running, item, query_rows);
    const int64_t keys = length_of(of.key_lengths, running && !paged, item, key_rows);
    const int64_t from = query_rows == 1 ? 0 : padded(of.query_padding, of.query_lengths, query_rows, queries);
    const int64_t from_key = padded(of.key_padding, of.key_lengths, key_rows, keys);
    auto own = [&](const at::Tensor& all) { return sequence(all, in, heads, item, first + from, queries); };
    auto kept = [&](const at::Tensor& all) {
      return paged ? from_pages(all, of.pages[item], key_heads, keys)
                   : sequence(all, in, key_heads, list ? 0 : item, first_key + from_key, keys);
    };
    auto behind = [&](const at::Tensor& prefix, const at::Tensor& x) {
      return before ? at::concat({sequence(prefix, in, key_heads, 0, 0, before).to(x.scalar_type()), x}, 1) : x;
    };
    if (queries && keys + before) {
      const Own place{item, batch, paged ? of.pages[item] : of.pages};
      auto q = own(of.query), k = behind(of.key_prefix, restored(kept(key), quantized, false, place));
      const auto v = behind(of.value_prefix, restored(kept(value), quantized, true, place));
      if (q.scalar_type() == at::kChar) q = q.to(at::kFloat);
      if (given(quantized.query)) q = q.to(at::kFloat).mul(quantized.query.narrow(1, first, queries).unsqueeze(-1));
      if (given(of.query_rope)) q = at::concat({q, own(of.query_rope)}, -1), k = at::concat({k, kept(of.key_rope)}, -1);
      // What lies to the left of a sequence has rows and columns of the mask and of the position encoding as well.
      const Part rows{from, queries}, columns{from_key, before + keys};
      auto part = given(of.mask) && !fixed_mask ? mask_of(of.mask, item, batch, rows, columns) : of.mask;
      if (band && query_rows != 1) check_band(part, how, queries, before + keys);
      auto shift = given(of.pse) ? mask_of(of.pse, item, batch, rows, columns) : of.pse;
      auto top = at::empty({1, heads, queries, 1}, at::kFloat), sum = at::empty_like(top);
      auto result = at::empty({1, heads, queries, v.size(-1)}, at::kFloat);
      forward({.query = q.unsqueeze(0),
               .key = k.unsqueeze(0),
               .value = v.unsqueeze(0),
               .layout = "BNSD",
               .heads = heads,
               .pse = shift,
               .mask = part},
              how, {.max = top, .sum = sum, .out = result});
      write(sequence(out, to, heads, item, first + from, queries), as_result(result, quantized, out)[0]);
      if (given(log_sum)) {
        const auto all = in == "NSD" ? log_sum.reshape({heads, -1, 1}) : log_sum;
        sequence(all,
                 running       ? "TND"
                 : in == "NSD" ? in
                               : "BNSD",
                 heads, item, first + from, queries)
            .copy_(sum.log().add(top)[0]);
      }
    }
    if (!running) continue;
    first += queries;
    if (!paged) first_key += keys;
  }
}

}  // namespace sim::inference
