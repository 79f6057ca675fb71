#include "kernels/latent_prolog.h"

#include "kernels/latent_cache.h"
#include "kernels/mx_quant.h"
#include "kernels/rotary.h"

namespace sim::latent_prolog {

constexpr int64_t kBlock = 32;

// Of 8 bits, with scales: INT8, FLOAT8_E4M3FN or HIFLOAT8, which is float here.
static bool small(const at::Tensor& x) { return x.scalar_type() != at::kBFloat16; }
static bool in_blocks(const at::Tensor& scale) { return given(scale) && scale.scalar_type() == at::kFloat8_e8m0fnu; }

void check_modes(int64_t weights, int64_t keys, int64_t queries, int64_t together, int64_t scales) {
  SIM_CHECK(weights >= 0 && weights <= 5, "weight_quant_mode ", weights, "; allowed: 0 to 5");
  SIM_CHECK(keys >= 0 && keys <= 2, "kv_cache_quant_mode ", keys, " is not simulated; allowed: 0, 1, 2");
  SIM_CHECK(queries == 0 || queries == 1, "query_quant_mode ", queries, "; allowed: 0, 1");
  refuse_unless_zero(together, "ckvkr_repo_mode");
  refuse_unless_zero(scales, "quant_scale_repo_mode");
}

// A weight in FRACTAL_NZ may be told as its tiles (columns / c0, rows / 16, 16, c0): the matrix that they are, without
// its numbers.
static at::Tensor as_matrix(const at::Tensor& weight) {
  if (weight.dim() != 4) return weight;
  return at::empty({weight.size(1) * weight.size(2), weight.size(0) * weight.size(3)},
                   weight.options().device(at::kMeta));
}

// A power of two for each 32 numbers along a row of x, and along a column of a weight: all products have them or none.
static void scales_like(const Inputs& in) {
  if (!in_blocks(in.x_scale)) return;
  SIM_CHECK(!given(in.smooth), "smooth_scales_cq does not go with scales of FLOAT8_E8M0");
  of_dtype("token_x", in.x, {at::kFloat8_e4m3fn});
  const int64_t width = in.x.size(-1), rank = in.gamma.size(0);
  SIM_CHECK(width % (2 * kBlock) == 0 && rank % (2 * kBlock) == 0, "token_x of ", width, " and a rank of ", rank,
            " columns; allowed with scales of FLOAT8_E8M0: multiples of 64");
  for (const auto& [scale, rows, columns] :
       {std::tuple(in.x_scale, in.x.numel() / width, width), std::tuple(in.down_scale, rank, width),
        std::tuple(in.up_scale, in.absorbed.size(0) * (in.absorbed.size(1) + in.sin.size(-1)), rank),
        std::tuple(in.key_down_scale, in.absorbed.size(2) + in.sin.size(-1), width)})
    of_dtype("a scale", scale, {at::kFloat8_e8m0fnu}), shape(scale, {rows, columns / kBlock});
}

void check(const Inputs& in, const Settings& how, const Outputs& out) {
  const at::Tensor down = as_matrix(in.down), up = as_matrix(in.up), key_down = as_matrix(in.key_down);
  SIM_CHECK(how.mode == "PA_BSND" || how.mode == "PA_NZ", "cache_mode '", how.mode, "'; allowed: PA_BSND, PA_NZ");
  SIM_CHECK((in.x.dim() == 2 || in.x.dim() == 3) && down.dim() == 2 && up.dim() == 2 && in.absorbed.dim() == 3 &&
                key_down.dim() == 2 && in.sin.dim() == in.x.dim(),
            "token_x (tokens, width) or (sequences, tokens, width), three weights of two dimensions, or of tiles, and "
            "weight_uk of three expected");
  const int64_t width = in.x.size(-1), rank = down.size(1), heads = in.absorbed.size(0), depth = in.absorbed.size(1);
  const int64_t key_rank = in.absorbed.size(2), rope = in.sin.size(-1);
  const at::IntArrayRef lead = in.x.sizes().slice(0, size_t(in.x.dim() - 1));
  const auto led = [&](std::initializer_list<int64_t> last) {
    at::DimVector sizes(lead);
    sizes.insert(sizes.end(), last.begin(), last.end());
    return sizes;
  };
  shape(down, {width, rank});
  shape(up, {rank, heads * (depth + rope)});
  shape(key_down, {width, key_rank + rope});
  shape(in.gamma, {rank});
  shape(in.key_gamma, {key_rank});
  for (const at::Tensor& angle : {in.sin, in.cos}) shape(angle, led({rope}));
  shape(in.index, lead);
  of_dtype("cache_index", in.index, {at::kLong});
  for (const at::Tensor& each : {in.absorbed, in.gamma, in.key_gamma, in.sin, in.cos, out.rope})
    of_dtype("weight_uk, rmsnorm_gamma, rope_sin, rope_cos and query_rope", each, {at::kBFloat16});
  for (const at::Tensor& each : {in.x, down, up, key_down, in.key_cache, in.rope_cache, out.query})
    of_dtype("token_x, the other weights, the caches and query", each,
             {at::kBFloat16, at::kChar, at::kFloat8_e4m3fn, at::kFloat});
  same_dtype({in.x, down, key_down});
  if (small(in.x)) same_dtype({in.x, up});
  if (small(in.x) && small(in.key_cache)) same_dtype({in.x, in.key_cache});
  if (small(out.query)) same_dtype({out.query, in.x, in.key_cache});
  for (const auto& [name, scale, needed] : {std::tuple("dequant_scale_x", in.x_scale, small(in.x)),
                                            std::tuple("dequant_scale_w_dq", in.down_scale, small(in.x)),
                                            std::tuple("dequant_scale_w_uq_qr", in.up_scale, small(up)),
                                            std::tuple("dequant_scale_w_dkv_kr", in.key_down_scale, small(in.x)),
                                            std::tuple("quant_scale_ckv", in.key_scale, small(in.key_cache)),
                                            std::tuple("quant_scale_ckr", in.rope_scale, small(in.rope_cache))})
    SIM_CHECK(given(scale) == needed, name,
              needed ? " is needed" : " goes with tensors of 8 bits, which are not there");
  SIM_CHECK(small(up) || !given(in.smooth), "smooth_scales_cq goes with weight_uq_qr of 8 bits");
  scales_like(in);
  for (const auto& [cache, size] : {std::tuple(in.key_cache, key_rank), std::tuple(in.rope_cache, rope)})
    SIM_CHECK(cache.dim() == 4 && cache.size(2) == 1 && cache.size(3) == size && cache.is_contiguous(),
              "a cache (pages, rows, 1, ", size, ") expected, got ", cache.sizes());
  shape(out.query, led({heads, key_rank}));
  shape(out.rope, led({heads, rope}));
  const int64_t tokens = c10::multiply_integers(lead);
  const auto count_like = [](const char* name, const at::Tensor& x, at::IntArrayRef sizes) {
    if (given(x)) counted(name, x, sizes);
  };
  if (small(out.query)) count_like("dequant_scale_q_nope", out.query_scale, {tokens, heads, 1});
  else idle(out.query_scale, {out.unused});
  count_like("query_norm", out.normal, led({rank}));
  if (small(up)) count_like("dequant_scale_q_norm", out.normal_scale, {tokens, in_blocks(in.x_scale) ? rank / 32 : 1});
  else idle(out.normal_scale, {out.unused});
}

// A matrix unit reads bfloat16, or whole numbers, whose sums are exact.
static at::Tensor product(const at::Tensor& x, const at::Tensor& x_scale, const at::Tensor& weight,
                          const at::Tensor& weight_scale) {
  if (!small(weight)) return at::matmul(wide(x.to(at::kBFloat16)), wide(weight));
  if (in_blocks(weight_scale)) {
    const auto scaled = [](const at::Tensor& rows, const at::Tensor& scale) {
      return rows.to(at::kFloat).mul(scale.to(at::kFloat).reshape({rows.size(0), -1}).repeat_interleave(kBlock, 1));
    };
    return at::matmul(scaled(x, x_scale), scaled(weight.t(), weight_scale).t());
  }
  return at::matmul(x.to(at::kDouble), weight.to(at::kDouble))
      .to(at::kFloat)
      .mul(x_scale.reshape({-1, 1}))
      .mul(weight_scale.reshape({1, -1}));
}

struct Rounded {
  at::Tensor number, scale;
};
// In the type of `like`, so that the largest of each row is the type's largest.
static Rounded rounded_rows(const at::Tensor& x, const at::Tensor& like) {
  const at::Tensor scale = x.abs().amax(-1, true).div(mx::largest_of(like));
  return {mx::stepped(x.div(scale).nan_to_num(0), like), scale};
}
// With a power of two for each 32 numbers of a row.
static Rounded rounded_blocks(const at::Tensor& x, const at::Tensor& like) {
  const at::Tensor number = at::empty(x.sizes(), like.options());
  const at::Tensor scale = at::empty({x.size(0), x.size(1) / (2 * kBlock), 2}, x.options().dtype(at::kFloat8_e8m0fnu));
  mx::quant(x, -1, {}, number, scale);
  return {number, scale};
}

void run(const Inputs& in, const Settings& how, const Outputs& out) {
  const int64_t heads = in.absorbed.size(0), depth = in.absorbed.size(1), key_rank = in.absorbed.size(2);
  const int64_t rope = in.sin.size(-1), width = in.x.size(-1);
  if (!in.x.numel()) return;
  const at::Tensor x = in.x.reshape({-1, width});
  const at::Tensor cos = in.cos.reshape({-1, rope}), sin = in.sin.reshape({-1, rope});
  const auto turned = [&](const at::Tensor& part) {
    return attention::interleaved_rotary(part, cos.unsqueeze(1), sin.unsqueeze(1));
  };

  const at::Tensor low =
      latent_cache::normalized(product(x, in.x_scale, in.down, in.down_scale), in.gamma, how.eps).mul(how.query_factor);
  Rounded normal{low, {}};
  if (in_blocks(in.x_scale)) normal = rounded_blocks(low, in.up);
  else if (small(in.up)) normal = rounded_rows(given(in.smooth) ? low.mul(in.smooth) : low, in.up);
  const at::Tensor high = product(normal.number, normal.scale, in.up, in.up_scale).reshape({-1, heads, depth + rope});
  at::Tensor query =
      at::matmul(wide(high.narrow(2, 0, depth).to(at::kBFloat16)).transpose(0, 1), wide(in.absorbed)).transpose(0, 1);
  at::Tensor query_rope = turned(high.narrow(2, depth, rope));
  if (small(out.query)) {
    const Rounded rounded = rounded_rows(wide(query.to(at::kBFloat16)), out.query);  // of each head
    query = rounded.number;
    // The attention takes both parts of a score by one scale: op-plugin's own test computes so.
    query_rope = wide(query_rope.to(at::kBFloat16)).mul(in.key_scale.flatten().select(0, 0)).div(rounded.scale);
    write(out.query_scale, rounded.scale.reshape(out.query_scale.sizes()));
  }
  write_each({out.query, out.rope, out.normal, out.normal_scale},
             {query.reshape(out.query.sizes()), query_rope.reshape(out.rope.sizes()),
              given(out.normal) ? normal.number.reshape(out.normal.sizes()) : at::Tensor(),
              given(out.normal_scale) && normal.scale.defined() ? normal.scale.reshape(out.normal_scale.sizes())
                                                                : at::Tensor()});

  const at::Tensor both = product(x, in.x_scale, in.key_down, in.key_down_scale), index = in.index.flatten();
  const at::Tensor key =
      latent_cache::normalized(both.narrow(1, 0, key_rank), in.key_gamma, how.key_eps).mul(how.key_factor);
  const at::Tensor key_rope = turned(both.narrow(1, key_rank, rope).unsqueeze(1)).squeeze(1);
  const bool parts = how.mode == "PA_NZ";
  if (in.key_cache.numel()) latent_cache::put_rows(in.key_cache, index, in.key_scale, key, parts);
  if (in.rope_cache.numel()) latent_cache::put_rows(in.rope_cache, index, in.rope_scale, key_rope, parts);
}

}  // namespace sim::latent_prolog
