// Normalisation over batches, groups and rows, forward and backward.
#include "opapi/aclnn.h"
#include "ge/rows/rows.h"

namespace sim::ge_table {
namespace {

using aclnn::wide;

// ---- over a batch: statistics for each channel, dimension 1 ------------------------------------------------------
Dims all_but_channels(const at::Tensor& x) {
  Dims out;
  for (int64_t i = 0; i < x.dim(); ++i)
    if (i != 1) out.push_back(i);
  return out;
}

at::Tensor for_channels(const at::Tensor& values, const at::Tensor& x) {
  Dims shape(static_cast<size_t>(x.dim()), 1);
  shape.at(1) = values.numel();
  return wide(values).reshape(shape);
}

// The output "save_rstd" of BatchNormV3 is the batch's variance on the SoCs up to Ascend910, its inverse root behind them.
bool saves_variance() {
  const sim_soc* soc = sim_current_soc();
  return !soc || std::string(soc->name).rfind("Ascend950", 0) != 0;
}

at::Tensor normalize(const Args& a) {
  return at::batch_norm(wide(a[0]), wide(a[1]), wide(a[2]), wide(a[3]), wide(a[4]), false, 0, a.real("epsilon", 1e-5), false);
}

void batch_norm_rule(Shaper& s) {
  Shape x = s.shape(0);
  if (x && x->size() < 2) throw Refused("its input has a channel dimension, it is " + s.describe(0));
  s.out(0, s.dtype(0), x);
  s.out(1, s.dtype(3), s.shape(3));
  s.out(2, s.dtype(4), s.shape(4));
  for (size_t i : {3, 4}) s.out(i, kFloat, s.shape(1));
}

Results batch_norm(const Args& a) {
  const at::Tensor x = wide(a[0]);
  at::Tensor mean = wide(a[3]).clone(), variance = wide(a[4]).clone();
  const bool training = a.flag("is_training", true);
  auto [y, saved_mean, rstd] = at::native_batch_norm(x, wide(a[1]), wide(a[2]), mean, variance, training, a.real("momentum", 0.1), a.real("epsilon", 1e-5));
  if (!training) return {y, mean, variance, at::zeros_like(a.output(3)), at::zeros_like(a.output(4))};
  if (saves_variance()) rstd = at::var(x, all_but_channels(x), false);
  return {y, mean, variance, saved_mean, rstd};
}

void batch_norm_grad_rule(Shaper& s) {
  const Shape grad = s.shape(0), x = s.shape(1);
  if (x && (x->size() < 2 || (*x)[1] == 0 || (grad && grad->size() != x->size())))
    throw Refused("its input has channels in dimension 1 and the shape of its gradient, it is " + s.describe(1));
  for (size_t i = 0; x && grad && i < x->size(); ++i)
    if ((*x)[i] >= 0 && (*grad)[i] >= 0 && (*x)[i] != (*grad)[i]) throw Refused("its gradient " + s.describe(0) + " does not fit " + s.describe(1));
  for (size_t i = 2; x && i < 7; ++i)
    if (const Shape each = s.shape(i); each && (each->size() != 1 || ((*x)[1] >= 0 && (*each)[0] >= 0 && (*each)[0] != (*x)[1])))
      throw Refused("it has one number for each channel of " + s.describe(1) + ", not " + s.describe(i));
  s.out(0, s.dtype(1), s.shape(1));
  for (size_t i : {1, 2}) s.out(i, s.dtype(2), s.shape(2));
}

Results batch_norm_grad(const Args& a) {
  const double epsilon = a.real("epsilon", 1e-5);
  const at::Tensor rstd = saves_variance() ? at::rsqrt(wide(a[6]) + epsilon) : wide(a[6]);
  auto [x, weight, bias] = at::native_batch_norm_backward(wide(a[0]), wide(a[1]), wide(a[2]), wide(a[3]), wide(a[4]), wide(a[5]), rstd,
                                                          a.flag("is_training", true), epsilon, {true, true, true});
  return {x, weight, bias};
}

// The gradient in two operators: the sums for weight and bias, then the input's from them.
at::Tensor inverse_root(const Args& a, size_t variance) { return at::rsqrt(wide(a[variance]) + a.real("epsilon", 1e-4)); }
at::Tensor normalized(const Args& a, size_t x, size_t mean, size_t variance) {
  return (wide(a[x]) - for_channels(a[mean], a[x])) * for_channels(inverse_root(a, variance), a[x]);
}

void sums_rule(Shaper& s) {
  for (size_t i : {0, 1}) s.out(i, kFloat, s.shape(2));
}

Results sums(const Args& a) {
  const at::Tensor grad = wide(a[0]);
  return {(grad * normalized(a, 1, 2, 3)).sum(all_but_channels(grad)), grad.sum(all_but_channels(grad))};
}

at::Tensor from_sums(const Args& a) {
  const at::Tensor grad = wide(a[0]), x = a[1];
  const double count = static_cast<double>(grad.numel()) / static_cast<double>(std::max<int64_t>(grad.size(1), 1));
  const at::Tensor mean_grad = (for_channels(a[3], x) + normalized(a, 1, 5, 6) * for_channels(a[2], x)) / count;
  return (grad - mean_grad) * for_channels(a[4], x) * for_channels(inverse_root(a, 6), x);
}

// ---- over groups of channels --------------------------------------------------------------------------------------
void group_norm_rule(Shaper& s) {
  const Shape x = s.shape(0);
  const int64_t groups = s.integer("num_groups", 0);
  if (x && x->size() < 2) throw Refused("its input has a channel dimension, it is " + s.describe(0));
  if (groups < 1 || (x && (*x)[1] >= 0 && (*x)[1] % groups)) throw Refused(s.describe(0) + " has no " + std::to_string(groups) + " groups of channels");
  s.out(0, s.dtype(0), x);
  for (size_t i : {1, 2}) s.out(i, s.dtype(0), x ? known({(*x)[0], groups}) : std::nullopt);
}

struct Groups {
  at::Tensor y, mean, rstd;
};
Groups over_groups(const Args& a) {
  const at::Tensor x = wide(a[0]).contiguous(), weight = wide(a[1]), bias = wide(a[2]);
  const int64_t batch = x.size(0), channels = x.size(1);
  auto [y, mean, rstd] = at::native_group_norm(x, aclnn::optional(weight), aclnn::optional(bias), batch, channels, x.numel() / std::max<int64_t>(batch * channels, 1),
                                               a.integer("num_groups", 1), a.real("eps", 1e-4));
  return {y, mean, rstd};
}

Results group_norm_variance(const Args& a) {
  auto [y, mean, rstd] = over_groups(a);
  const at::Tensor x = wide(a[0]).reshape({a[0].size(0), a.integer("num_groups", 1), -1});
  return {y, mean, at::var(x, at::IntArrayRef{-1}, false)};
}
Results group_norm_rstd(const Args& a) {
  auto [y, mean, rstd] = over_groups(a);
  return {y, mean, rstd};
}
Results group_norm_silu(const Args& a) {
  auto [y, mean, rstd] = over_groups(a);
  return {at::silu(y), mean, rstd};
}

void group_norm_grad_rule(Shaper& s) {
  s.out(0, s.dtype(3), s.shape(3));
  for (size_t i : {1, 2}) s.out(i, s.dtype(4), s.shape(4));
}
Results group_norm_grad(const Args& a) {
  const at::Tensor x = wide(a[3]).contiguous();
  const int64_t batch = x.size(0), channels = x.size(1), groups = a.integer("num_groups", 1);
  auto [dx, dgamma, dbeta] = at::native_group_norm_backward(wide(a[0]).contiguous(), x, wide(a[1]).reshape({batch, groups}), wide(a[2]).reshape({batch, groups}),
                                                            wide(a[4]), batch, channels, x.numel() / std::max<int64_t>(batch * channels, 1), groups, {true, true, true});
  return {dx, dgamma, dbeta};
}

// ---- by the root mean square of the last dimensions, those of gamma ------------------------------------------------
Shape rstd_shape(const Shaper& s, size_t x, size_t gamma) {
  Shape shape = s.shape(x);
  const Shape weight = s.shape(gamma);
  if (!shape || !weight) return std::nullopt;
  if (weight->size() > shape->size()) throw Refused("its gamma " + s.describe(gamma) + " has more dimensions than " + s.describe(x));
  for (size_t i = 0; i < weight->size(); ++i) {
    int64_t& dim = (*shape)[shape->size() - weight->size() + i];
    if (dim >= 0 && (*weight)[i] >= 0 && dim != (*weight)[i]) throw Refused("its gamma " + s.describe(gamma) + " does not fit " + s.describe(x));
    dim = 1;
  }
  return shape;
}

Dims last_dims(const at::Tensor& gamma) {
  Dims out;
  for (int64_t i = 1; i <= gamma.dim(); ++i) out.push_back(-i);
  return out;
}

struct Rows {
  at::Tensor y, rstd;
};
Rows over_rows(const at::Tensor& x, const at::Tensor& gamma, double epsilon) {
  at::Tensor rstd = at::rsqrt(x.square().mean(last_dims(gamma), true) + epsilon);
  return {x * rstd * wide(gamma), rstd};
}

void rms_norm_rule(Shaper& s) {
  s.out(0, s.dtype(0), s.shape(0));
  s.out(1, kFloat, rstd_shape(s, 0, 1));
}
Results rms_norm(const Args& a) {
  auto [y, rstd] = over_rows(wide(a[0]), a[1], a.real("epsilon", 1e-6));
  return {y, rstd};
}

void rms_norm_grad_rule(Shaper& s) {
  s.out(0, s.dtype(0), s.shape(0));
  s.out(1, kFloat, s.shape(3));
}
Results rms_norm_grad(const Args& a) {
  const at::Tensor grad = wide(a[0]), x = wide(a[1]), rstd = wide(a[2]), to_row = grad * wide(a[3]), row = x * rstd;
  at::Tensor dx = (to_row - row * (to_row * row).mean(last_dims(a[3]), true)) * rstd;
  Dims outer;
  for (int64_t i = 0; i < x.dim() - a[3].dim(); ++i) outer.push_back(i);
  return {dx, outer.empty() ? grad * row : (grad * row).sum(outer)};
}

// x1 x2 gamma: the sum is an output as well. AddRmsNormCast also gives y in float.
void add_rms_norm_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  const Shape sum = broadcast_shapes(s.shape(0), s.shape(1), s);
  const bool cast = s.outputs() == 4;
  if (cast) s.out(0, kFloat, sum);
  s.out(cast, s.dtype(0), sum);
  s.out(cast + 1, kFloat, rstd_shape(s, 0, 2));
  s.out(cast + 2, s.dtype(0), sum);
}
Results add_rms_norm(const Args& a) {
  const at::Tensor sum = wide(a[0]) + wide(a[1]);
  auto [y, rstd] = over_rows(sum, a[2], a.real("epsilon", 1e-6));
  return {y, rstd, sum};
}
Results add_rms_norm_cast(const Args& a) {
  Results out = add_rms_norm(a);
  const at::Tensor y = out[0].to(a.out_dtype(1));
  return {y, y, out[1], out[2]};
}

}  // namespace

#define GROUP_NORM(epsilon) "num_groups:Int data_format:String=NHWC eps:Float=" epsilon " is_training:Bool=true"
const Family norm_rows = {
      ROW(BNInfer, "x scale offset mean variance -> y | epsilon:Float", same, normalize(a))
      {"BatchNormV3",     "x weight bias running_mean running_var -> y running_mean running_var save_mean save_rstd | epsilon:Float=0.00001 momentum:Float=0.1 is_training:Bool=true", batch_norm_rule, batch_norm},
      {"BatchNormGradV3", "dy x weight running_mean running_var save_mean save_rstd -> dx dweight dbias | is_training:Bool=true epsilon:Float=0.00001", batch_norm_grad_rule, batch_norm_grad},
      {"BNTrainingUpdateGrad",   "grads x batch_mean batch_variance -> diff_scale diff_offset | epsilon:Float=0.0001", sums_rule, sums},
      {"BN3DTrainingUpdateGrad", "grads x batch_mean batch_variance -> diff_scale diff_offset | epsilon:Float=0.0001", sums_rule, sums},
      ROW(BNTrainingReduceGrad, "grads x diff_scale diff_offset scale batch_mean batch_variance -> y | epsilon:Float=0.0001", same, from_sums(a))
      ROW(BNInferGrad, "grads scale batch_variance -> x_backprop | epsilon:Float=0.0001", same, wide(a[0]) * for_channels(wide(a[1]) * inverse_root(a, 2), a[0]))

      {"GroupNorm",     "x gamma beta -> y mean variance | " GROUP_NORM("0.0001"), group_norm_rule, group_norm_variance},
      {"GroupNormV2",   "x gamma beta -> y mean rstd | " GROUP_NORM("0.00001"), group_norm_rule, group_norm_rstd},
      {"GroupNormSilu", "x gamma? beta? -> y mean variance | num_groups:Int eps:Float=0.0001", group_norm_rule, group_norm_silu},
      {"GroupNormGrad", "dy mean rstd x gamma -> dx dgamma dbeta | num_groups:Int data_format:String=NCHW dx_is_require:Bool=true dgamma_is_require:Bool=true dbeta_is_require:Bool=true", group_norm_grad_rule, group_norm_grad},

      {"RmsNorm",        "x gamma -> y rstd | epsilon:Float=0.000001", rms_norm_rule, rms_norm},
      {"RmsNormGrad",    "dy x rstd gamma -> dx dgamma", rms_norm_grad_rule, rms_norm_grad},
      {"AddRmsNorm",     "x1 x2 gamma -> y rstd x | epsilon:Float=0.000001", add_rms_norm_rule, add_rms_norm},
      {"AddRmsNormCast", "x1 x2 gamma -> y1 y2 rstd x | epsilon:Float=0.000001", add_rms_norm_rule, add_rms_norm_cast},
};

}  // namespace sim::ge_table
