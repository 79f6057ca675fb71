#include "kernels/latent_cache.h"

#include "kernels/rotary.h"

namespace sim::latent_cache {

static constexpr int64_t kNormal = 512, kRope = 64;

static bool by_page(const std::string& mode) { return mode == "PA_BLK_BNSD" || mode == "PA_BLK_NZ"; }
static bool fractal(const std::string& mode) { return mode == "PA_NZ" || mode == "PA_BLK_NZ"; }

void cached_like(const Tokens& in, const Caches& caches, const std::string& mode) {
  SIM_CHECK(mode == "Norm" || mode == "PA" || mode == "PA_BNSD" || by_page(mode) || fractal(mode), "cache_mode '", mode,
            "'; allowed: Norm, PA, PA_BNSD, PA_NZ, PA_BLK_BNSD, PA_BLK_NZ");
  of_dtype("kv", in.kv, {at::kHalf, at::kBFloat16});
  SIM_CHECK(in.kv.dim() == 4 && in.kv.size(1) == 1 && in.kv.size(3) == kNormal + kRope, "kv (sequences, 1, tokens, ",
            kNormal + kRope, ") expected, got ", in.kv.sizes());
  const int64_t sequences = in.kv.size(0), tokens = in.kv.size(2);
  shape(in.gamma, {kNormal});
  for (const at::Tensor& angle : {in.cos, in.sin}) shape(angle, {sequences, 1, tokens, kRope});
  of_dtype("index", in.index, {at::kLong});
  SIM_CHECK(!caches.rope_offset.defined() && !caches.normal_offset.defined(), "offsets of caches are not simulated");
  for (const auto& [cache, scale, width] :
       {std::tuple(caches.rope, caches.rope_scale, kRope), std::tuple(caches.normal, caches.normal_scale, kNormal)}) {
    SIM_CHECK(cache.dim() == 4 && cache.size(3) == width && cache.is_contiguous(), "a cache (…, ", width,
              ") expected, got ", cache.sizes());
    SIM_CHECK(mode == "Norm" ? cache.size(0) == sequences && cache.size(1) == 1 : cache.size(2) == 1, "a cache of ",
              mode, " expected, got ", cache.sizes());
    of_dtype("a cache", cache, {scale.defined() ? at::kChar : in.kv.scalar_type()});
    if (scale.defined()) of_dtype("a scale", scale, {at::kFloat}), shape(scale, {width});
  }
  SIM_CHECK(caches.rope_scale.defined() == caches.normal_scale.defined(), "the scales of both caches go together");
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

static void put(const Tokens& in, const at::Tensor& cache, const at::Tensor& scale, const at::Tensor& part,
                const std::string& mode) {
  const at::Tensor rows = rows_of(in, cache, mode), kept = rows.ge(0).nonzero().squeeze(1);
  const at::Tensor to = rows.index_select(0, kept);
  at::Tensor value = part.reshape({-1, part.size(-1)}).index_select(0, kept);
  if (scale.defined()) value = value.mul(scale).round().clamp(-128, 127);
  value = value.to(cache.scalar_type());
  if (!fractal(mode)) {
    cache.view({-1, cache.size(3)}).index_copy_(0, to, value);
    return;
  }
  const int64_t wide_by = scale.defined() ? 32 : 16;  // numbers that lie side by side
  const int64_t size = cache.size(1);
  cache.view({cache.size(0), -1, size, wide_by})
      .transpose(1, 2)
      .index_put_({to.div(size, "floor"), to.remainder(size)}, value.reshape({value.size(0), -1, wide_by}));
}

Tensors cache(const Tokens& in, const Caches& caches, double eps, const std::string& mode) {
  const at::Tensor kv = wide(in.kv), first = kv.narrow(-1, 0, kNormal);
  const at::Tensor normal = first.mul(first.square().mean(-1, true).add(eps).rsqrt()).mul(wide(in.gamma));
  const at::Tensor rope = attention::interleaved_rotary(kv.narrow(-1, kNormal, kRope), in.cos, in.sin);
  put(in, caches.rope, caches.rope_scale, rope, mode);
  put(in, caches.normal, caches.normal_scale, normal, mode);
  return {rope, normal};
}

void rotated_like(const at::Tensor& positions, const at::Tensor& x, const at::Tensor& cos_sin, const Dims& sections,
                  int64_t depth, const at::Tensor& out) {
  SIM_CHECK(positions.dim() == 1 || (positions.dim() == 2 && positions.size(0) == 3),
            "positions (tokens) or (3, tokens) expected, got ", positions.sizes());
  of_dtype("positions", positions, {at::kInt, at::kLong});
  of_dtype("query and key", x, {at::kFloat, at::kHalf, at::kBFloat16});
  SIM_CHECK(depth > 0 && x.dim() == 2 && x.size(0) == positions.size(-1) && remainder_of(x.size(1), depth) == 0,
            "query and key (", positions.size(-1), ", heads * ", depth, ") expected, got ", x.sizes());
  SIM_CHECK(cos_sin.dim() == 2 && cos_sin.size(1) <= depth, "cosSinCache (positions, ", depth,
            " or less) expected, got ", cos_sin.sizes());
  const int64_t step = x.scalar_type() == at::kFloat ? 16 : 32;
  SIM_CHECK(cos_sin.size(1) % step == 0, "rotary_dim ", cos_sin.size(1), "; a multiple of ", step, " is allowed");
  if (positions.dim() == 2)
    SIM_CHECK(sections.size() == 3 && 2 * (sections[0] + sections[1] + sections[2]) == cos_sin.size(1),
              "mropeSection of three that add up to ", cos_sin.size(1) / 2, " expected");
  same_dtype({x, out, cos_sin});
  like(out, x);
}

at::Tensor rotated(const at::Tensor& positions, const at::Tensor& x, const at::Tensor& cos_sin, const Dims& sections,
                   int64_t depth, bool halves) {
  const int64_t angles = cos_sin.size(1) / 2, tokens = positions.size(-1);
  const auto table = [&](int64_t start) {
    const at::Tensor all = wide(cos_sin).narrow(1, start, angles).index_select(0, positions.flatten().to(at::kLong));
    if (positions.dim() == 1) return all;
    const at::Tensor three = all.reshape({3, tokens, angles});
    return at::cat({three[0].narrow(1, 0, sections[0]), three[1].narrow(1, sections[0], sections[1]),
                    three[2].narrow(1, sections[0] + sections[1], sections[2])},
                   1);
  };
  const auto spread = [&](const at::Tensor& each) {
    return (halves ? at::cat({each, each}, 1) : each.repeat_interleave(2, 1)).unsqueeze(1);
  };
  const at::Tensor heads = wide(x).reshape({tokens, -1, depth}), turned = heads.narrow(2, 0, 2 * angles);
  return at::cat({attention::rotary(turned, spread(table(0)), spread(table(angles)), halves ? 0 : 1),
                  heads.narrow(2, 2 * angles, depth - 2 * angles)},
                 2)
      .reshape(x.sizes());
}

}  // namespace sim::latent_cache
