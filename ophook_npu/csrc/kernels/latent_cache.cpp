#include "kernels/latent_cache.h"

#include "kernels/pattern.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "kernels/block_quant.h"
#include "kernels/mx_quant.h"
#include "kernels/quant.h"
#include "kernels/rotary.h"

namespace sim::latent_cache {

static constexpr int64_t kNormal = 512, kRope = 64, kKey = 192, kValue = 128;

static bool by_page(const std::string& mode) { return mode == "PA_BLK_BNSD" || mode == "PA_BLK_NZ"; }
static bool fractal(const std::string& mode) { return mode == "PA_NZ" || mode == "PA_BLK_NZ"; }

void cached_like(const Tokens& in, const Caches& caches, const std::string& mode, bool asked, const at::Tensor& rope,
                 const at::Tensor& normal) {
  SIM_CHECK(mode == "Norm" || mode == "PA" || mode == "PA_BNSD" || by_page(mode) || fractal(mode), "cache_mode '", mode,
            "'; allowed: Norm, PA, PA_BNSD, PA_NZ, PA_BLK_BNSD, PA_BLK_NZ");
  const bool values = in.value.defined();
  const int64_t width_of_all = values ? kKey : kNormal + kRope;
  const auto [sequences, tokens, all, value, key] =
      shapes<"sequences 1 tokens =all, sequences 1 tokens =value?, =key?">(
          {width_of_all, kValue, values ? kKey : kNormal}, in.kv, in.value, in.gamma);
  if (values) same_dtype({in.kv, in.value});
  like(in.sin, in.cos);
  if (in.cos.dim() != 4 || in.cos.size(2) != 1) shape(in.cos, {sequences, 1, tokens, kRope});
  else shape(in.cos, {sequences, 1, 1, kRope});  // one angle for all tokens of a sequence
  of_dtype("index", in.index, {at::kLong});
  SIM_CHECK(!caches.rope_offset.defined() && !caches.normal_offset.defined(), "offsets of caches are not simulated");
  for (const auto& [cache, scale, width] :
       {std::tuple(caches.rope, caches.rope_scale, values ? kKey : kRope),
        std::tuple(caches.normal, caches.normal_scale, values ? kValue : kNormal)}) {
    SIM_CHECK(cache.dim() == 4 && cache.size(3) == width && cache.is_contiguous(), "a cache (…, ", width,
              ") expected, got ", cache.sizes());
    SIM_CHECK(mode == "Norm" ? cache.size(0) == sequences && cache.size(1) == 1 : cache.size(2) == 1, "a cache of ",
              mode, " expected, got ", cache.sizes());
    if (!scale.defined()) {
      of_dtype("a cache", cache, {in.kv.scalar_type()});
      continue;
    }
    mx::stepped_like(cache, cache.sizes());
    const at::IntArrayRef sizes = scale.sizes();
    SIM_CHECK(
        sizes == at::IntArrayRef({width}) || sizes == at::IntArrayRef({1, width}) || sizes == at::IntArrayRef({1}),
        "a scale of [", width, "], [1, ", width, "] or [1] expected, got ", sizes);
  }
  if (asked)
    shape(rope, {sequences, 1, tokens, values ? kKey : kRope}),
        shape(normal, {sequences, 1, tokens, values ? kValue : kNormal});
  const int64_t page = caches.rope.size(1);
  if (mode == "Norm") shape(in.index, {sequences, tokens});
  else shape(in.index, {sequences * (by_page(mode) ? divided(tokens + page - 1, page) : tokens)});
}

// The row of each token in a cache; below 0: nowhere.
static at::Tensor rows_of(const Tokens& in, const at::Tensor& cache, const std::string& mode) {
  const int64_t sequences = in.kv.size(0), tokens = in.kv.size(2);
  if (mode == "Norm") {
    const at::Tensor first = at::arange(sequences, at::kLong).mul(cache.size(2)).unsqueeze(1);
    SIM_CHECK(in.index.max().item<int64_t>() < cache.size(2), "index ", in.index.max().item<int64_t>(), " of ",
              cache.size(2), " rows");
    return at::where(in.index.lt(0), in.index, in.index.add(first)).flatten();
  }
  if (!by_page(mode)) return in.index;
  const int64_t size = cache.size(1);
  const at::Tensor token = at::arange(tokens, at::kLong);
  const at::Tensor start = in.index.reshape({sequences, -1}).index_select(1, token.div(size, "floor"));
  return at::where(start.lt(0), start, start.div(size, "floor").mul(size).add(token.remainder(size))).flatten();
}

// Numbers of a row lie side by side `width` at a time: pages (pages, parts of a row, rows, width).
static void put_parts(const at::Tensor& pages, const at::Tensor& to, const at::Tensor& value) {
  const int64_t rows = pages.size(2);
  put_at(pages.transpose(1, 2), {to.div(rows, "floor"), to.remainder(rows)},
         value.reshape({value.size(0), -1, pages.size(3)}));
}

void put_rows(const at::Tensor& cache, const at::Tensor& rows, const at::Tensor& scale, const at::Tensor& values,
              bool parts) {
  const at::Tensor kept = rows.ge(0).nonzero().squeeze(1), to = rows.index_select(0, kept);
  at::Tensor value = values.reshape({-1, values.size(-1)}).index_select(0, kept);
  value = given(scale) ? mx::stepped(value.mul(scale), cache) : value.to(cache.scalar_type());
  const bool bytes = c10::isFloat8Type(cache.scalar_type());  // ATen copies no FLOAT8 by an index
  const at::Tensor rows_in = bytes ? cache.view(at::kByte) : cache;
  if (bytes) value = value.view(at::kByte);
  if (!parts) {
    rows_in.view({-1, cache.size(3)}).index_copy_(0, to, value);
    return;
  }
  const int64_t wide_by = given(scale) ? 32 : 16;  // numbers that lie side by side
  put_parts(rows_in.view({cache.size(0), -1, cache.size(1), wide_by}), to, value);
}

static void put(const Tokens& in, const at::Tensor& cache, const at::Tensor& scale, const at::Tensor& part,
                const std::string& mode) {
  put_rows(cache, rows_of(in, cache, mode), scale, part, fractal(mode));
}

at::Tensor normalized(const at::Tensor& x, const at::Tensor& gamma, double eps) {
  return x.mul(x.square().mean(-1, true).add(eps).rsqrt()).mul(wide(gamma));
}

Tensors cache(const Tokens& in, const Caches& caches, double eps, const std::string& mode) {
  const at::Tensor kv = wide(in.kv);
  const auto turned = [&](const at::Tensor& part) { return attention::interleaved_rotary(part, in.cos, in.sin); };
  at::Tensor rope, normal;
  if (in.value.defined()) {
    const at::Tensor key = normalized(kv, in.gamma, eps);
    rope = at::concat({turned(key.narrow(-1, 0, kRope)), key.narrow(-1, kRope, kKey - kRope)}, -1);
    normal = wide(in.value);
  } else {
    rope = turned(kv.narrow(-1, kNormal, kRope));
    normal = normalized(kv.narrow(-1, 0, kNormal), in.gamma, eps);
  }
  put(in, caches.rope, caches.rope_scale, rope, mode);
  put(in, caches.normal, caches.normal_scale, normal, mode);
  return {rope, normal};
}

// ---- queries, keys and values of one product -----------------------------------------------------------------------
void product_like(const Product& in, const ProductCaches& caches, const std::string& mode, const at::Tensor& out,
                  std::initializer_list<at::Tensor> kept) {
  SIM_CHECK(mode == "PA_NZ", "cache_mode '", mode, "'; allowed: PA_NZ");
  SIM_CHECK(in.sizes.size() == 4 && in.heads.size() == 3, "qkv_size of four and head_nums of three expected");
  const int64_t tokens = in.sizes[0] * in.sizes[1], depth = in.sizes[3], queries = in.heads[0];
  SIM_CHECK(in.sizes[2] == queries + in.heads[1] + in.heads[2], "qkv_size has ", in.sizes[2], " heads, head_nums ",
            queries, ", ", in.heads[1], " and ", in.heads[2]);
  shape(in.all, {tokens, in.sizes[2] * depth});
  for (const at::Tensor& gamma : {in.query_gamma, in.key_gamma}) shape(gamma, {depth});
  for (const at::Tensor& angle : {in.cos, in.sin}) shape(angle, {tokens, depth});
  shape(in.index, {tokens});
  same_dtype({in.all, in.query_gamma, in.key_gamma, in.cos, in.sin, out});
  shape(out, {tokens, queries * depth});
  for (size_t i = 0; i < kept.size(); ++i) shape(kept.begin()[i], {tokens, in.heads[i] * depth});
  for (const auto& [cache, scale, offset, heads] :
       {std::tuple(caches.key, caches.key_scale, caches.key_offset, in.heads[1]),
        std::tuple(caches.value, caches.value_scale, caches.value_offset, in.heads[2])}) {
    SIM_CHECK(cache.dim() == 4 && cache.size(1) * cache.size(3) == heads * depth && cache.is_contiguous() &&
                  remainder_of(depth, cache.size(3)) == 0,
              "a cache (pages, ", heads * depth, " / width, rows, width) expected, got ", cache.sizes());
    of_dtype("a cache", cache, {scale.defined() ? at::kChar : in.all.scalar_type()});
    SIM_CHECK(scale.defined() || !offset.defined(), "an offset needs a scale");
    for (const at::Tensor& each : {scale, offset}) shape(each, {heads, depth});
  }
}

Tensors cache_product(const Product& in, const ProductCaches& caches, double eps) {
  const int64_t tokens = in.all.size(0), depth = in.sizes[3];
  const Tensors parts = wide(in.all).reshape({tokens, -1, depth}).split_with_sizes(in.heads, 1);
  const auto turned = [&](const at::Tensor& part, const at::Tensor& gamma) {
    return attention::rotary(normalized(part, gamma, eps), in.cos.unsqueeze(1), in.sin.unsqueeze(1), 0);
  };
  const Tensors made{turned(parts[0], in.query_gamma), turned(parts[1], in.key_gamma), parts[2]};
  const at::Tensor kept = in.index.ge(0).nonzero().squeeze(1), to = in.index.index_select(0, kept);
  for (const auto& [cache, scale, offset, part] :
       {std::tuple(caches.key, caches.key_scale, caches.key_offset, made[1]),
        std::tuple(caches.value, caches.value_scale, caches.value_offset, made[2])}) {
    at::Tensor value = part.index_select(0, kept);
    if (scale.defined()) value = value.div(scale);
    if (offset.defined()) value = value.add(offset);
    if (scale.defined()) value = value.round().clamp(-128, 127);
    put_parts(cache, to, value.to(cache.scalar_type()));
  }
  return {made[0].flatten(1), made[1].flatten(1), made[2].flatten(1)};
}

// ---- the same of a product of integers, rotated alone, into caches of int8 ------------------------------------------
static bool in_pages(const std::string& mode) { return mode == "page"; }

void whole_like(const Whole& in, const ProductCaches& caches, const Modes& modes, const at::Tensor& query, bool asked,
                std::initializer_list<at::Tensor> kept) {
  SIM_CHECK(modes.quant.empty() || modes.quant == "static", "quantMode '", modes.quant, "'; allowed: static");
  SIM_CHECK(modes.layout.empty() || modes.layout == "BSND", "layout '", modes.layout, "'; allowed: BSND");
  SIM_CHECK(modes.cache.empty() || modes.cache == "contiguous" || in_pages(modes.cache), "cacheMode '", modes.cache,
            "'; allowed: contiguous, page");
  of_dtype("x", in.x, {at::kHalf, at::kBFloat16, at::kInt});
  const bool whole = in.x.scalar_type() == at::kInt, steps = in.x.dim() == 3;
  SIM_CHECK(!whole || in.weight_scale.defined(), "x of int32 needs weightScale");
  SIM_CHECK(steps || in.x.dim() == 2, "x ([sequences,] tokens, all heads) expected, got ", in.x.sizes());
  const int64_t width = in.x.size(-1), tokens = divided(in.x.numel(), std::max<int64_t>(width, 1));
  SIM_CHECK(width <= 4096 && width % 64 == 0, "x of ", width, " columns; allowed: multiples of 64 up to 4096");
  SIM_CHECK(caches.key.dim() == 4, "caches (pages, rows, heads, depth) expected, got ", caches.key.sizes());
  const int64_t heads = caches.key.size(2), depth = caches.key.size(3), part = heads * depth;
  SIM_CHECK(in.sizes.size() == 3 && in.sizes[1] == part && in.sizes[2] == part && in.sizes[0] + 2 * part == width &&
                depth && in.sizes[0] % depth == 0,
            "sizeSplits ", at::IntArrayRef(in.sizes), " of x ", in.x.sizes(), " and caches ", caches.key.sizes());
  for (const auto& [cache, scale, offset] : {std::tuple(caches.key, caches.key_scale, caches.key_offset),
                                             std::tuple(caches.value, caches.value_scale, caches.value_offset)}) {
    like(cache, caches.key);
    SIM_CHECK(cache.is_contiguous(), "a cache of strides ", cache.strides(), " is not simulated");
    // The page has scaleK in the shape of indices, its example and torch_npu's tests in that of a head.
    for (const at::Tensor& each : {scale, offset}) {
      if (!each.defined()) continue;
      SIM_CHECK(each.numel() == part, "a scale or offset (", heads, ", ", depth, ") expected, got ", each.sizes());
    }
  }
  Dims rows = in.x.sizes().vec();
  rows.pop_back();
  Dims angles = rows, out = rows;
  if (steps) angles.push_back(1);
  angles.push_back(depth), out.insert(out.end(), {in.sizes[0] / depth, depth});
  for (const at::Tensor& angle : {in.cos, in.sin}) shape(angle, angles);
  shape(in.index, {in_pages(modes.cache) ? tokens : in.x.size(0)});
  SIM_CHECK(in_pages(modes.cache) || caches.key.size(0) >= in.x.size(0), in.x.size(0), " sequences for a cache of ",
            caches.key.size(0));
  same_dtype({whole ? in.cos : in.x, in.cos, in.sin, query});
  shape(query, out);
  out[out.size() - 2] = heads;
  if (asked)
    for (const at::Tensor& each : kept) shape(each, out);
  if (whole) shape(in.weight_scale, {width}), shape(in.row_scale, {tokens}), shape(in.bias, {width});
}

Tensors cache_whole(const Whole& in, const ProductCaches& caches, const std::string& mode) {
  const int64_t heads = caches.key.size(2), depth = caches.key.size(3), rows = caches.key.size(1);
  const int64_t width = in.x.size(-1), each = in.x.dim() == 3 ? in.x.size(1) : 1;  // tokens of a sequence
  const at::Tensor x = in.x.reshape({-1, width});
  const at::Tensor all =
      x.scalar_type() == at::kInt ? quant::with_bias_dequantized(x, in.weight_scale, in.row_scale, in.bias) : wide(x);
  const auto angle = [&](const at::Tensor& of) { return of.reshape({-1, 1, depth}); };
  Tensors parts = all.split_with_sizes(in.sizes, 1);
  for (at::Tensor& part : parts) part = part.reshape({part.size(0), -1, depth});
  for (const int i : {0, 1}) parts[i] = attention::rotary(parts[i], angle(in.cos), angle(in.sin), 0);
  at::Tensor to = in.index.to(at::kLong);
  const int64_t most = in_pages(mode) ? caches.key.size(0) * rows - 1 : rows - each;
  SIM_CHECK(!to.lt(0).logical_or(to.gt(most)).any().item<bool>(), "indices beyond 0 to ", most);
  if (!in_pages(mode))
    to = to.add(at::arange(to.size(0), at::kLong).mul(rows)).unsqueeze(1).add(at::arange(each, at::kLong)).flatten();
  for (const auto& [cache, scale, offset, part] :
       {std::tuple(caches.key, caches.key_scale, caches.key_offset, parts[1]),
        std::tuple(caches.value, caches.value_scale, caches.value_offset, parts[2])}) {
    at::Tensor value = part.mul(scale.reshape({heads, depth}));  // times it, as in torch_npu's tests
    if (given(offset)) value = value.add(offset.reshape({heads, depth}));
    cache.view({-1, heads, depth}).index_copy_(0, to, quant::saturated(value, cache));
  }
  Dims sizes = in.x.sizes().vec();
  sizes.back() = -1, sizes.push_back(depth);
  for (at::Tensor& part : parts) part = part.reshape(sizes);
  return parts;
}

// ---- rotation by a table -------------------------------------------------------------------------------------------
void rotated_like(const at::Tensor& positions, const at::Tensor& x, const at::Tensor& cos_sin, const Dims& sections,
                  int64_t depth, bool in_turn, const at::Tensor& out) {
  const int64_t of_each = positions.dim() == 2 ? positions.size(0) : 1;
  SIM_CHECK(positions.dim() == 1 || of_each == 3 || (of_each == 4 && !in_turn),
            "positions (tokens), (3, tokens) or, with cacheMode 0, (4, tokens) expected, got ", positions.sizes());
  SIM_CHECK(depth > 0 && x.size(0) == positions.size(-1) && remainder_of(x.size(1), depth) == 0, "query and key (",
            positions.size(-1), ", heads * ", depth, ") expected, got ", x.sizes());
  SIM_CHECK(cos_sin.size(1) <= depth, "cosSinCache (positions, ", depth, " or less) expected, got ", cos_sin.sizes());
  const int64_t step = x.scalar_type() == at::kFloat ? 16 : 32;
  SIM_CHECK(cos_sin.size(1) % step == 0, "rotary_dim ", cos_sin.size(1), "; a multiple of ", step, " is allowed");
  // CANN's check looks at the sections for positions of one dimension too, with which torch_npu passes memory that it
  // has not set where the caller gives none.
  static const std::array<Dims, 5> known{{{16, 24, 24}, {8, 12, 12}, {24, 20, 20}, {11, 11, 10}, {16, 16, 16, 16}}};
  if (positions.dim() == 2) {
    SIM_CHECK(int64_t(sections.size()) == of_each &&
                  2 * std::accumulate(sections.begin(), sections.end(), int64_t(0)) == cos_sin.size(1),
              "mropeSection of ", of_each, " that add up to ", cos_sin.size(1) / 2, " expected");
    SIM_CHECK(sections[0] <= 0 || std::find(known.begin(), known.end(), sections) != known.end(), "mropeSection ",
              at::IntArrayRef(sections), "; allowed: 16,24,24, 8,12,12, 24,20,20, 11,11,10 and 16,16,16,16");
  }
  like(out, x);
}

at::Tensor rotated(const at::Tensor& positions, const at::Tensor& x, const at::Tensor& cos_sin, const Dims& sections,
                   int64_t depth, bool halves, bool in_turn) {
  const int64_t angles = cos_sin.size(1) / 2, tokens = positions.size(-1);
  const auto table = [&](int64_t start) {
    const at::Tensor all = wide(cos_sin).narrow(1, start, angles).index_select(0, positions.flatten().to(at::kLong));
    if (positions.dim() == 1) return all;
    const at::Tensor each = all.reshape({positions.size(0), tokens, angles});
    if (in_turn) {
      at::Tensor first = each[0].clone();
      for (const int64_t other : {1, 2})
        for (int64_t angle = other; angle < std::min(3 * sections[1], angles); angle += 3)
          first.select(1, angle).copy_(each[other].select(1, angle));
      return first;
    }
    Tensors parts = each.split_with_sizes(sections, 2);
    for (size_t i = 0; i < parts.size(); ++i) parts[i] = parts[i][int64_t(i)];
    return at::concat(parts, 1);
  };
  const auto spread = [&](const at::Tensor& each) {
    return (halves ? at::concat({each, each}, 1) : each.repeat_interleave(2, 1)).unsqueeze(1);
  };
  const at::Tensor heads = wide(x).reshape({tokens, -1, depth}), turned = heads.narrow(2, 0, 2 * angles);
  return at::concat({attention::rotary(turned, spread(table(0)), spread(table(angles)), halves ? 0 : 1),
                     heads.narrow(2, 2 * angles, depth - 2 * angles)},
                    2)
      .reshape(x.sizes());
}

}  // namespace sim::latent_cache
