// Normalisation over batches, groups and rows, forward and backward.
#include "core/sim.h"
#include "ge/rows/rows.h"
#include "kernels/batch_norm.h"
#include "kernels/group_norm.h"
#include "kernels/norm.h"
#include "kernels/sizes.h"

namespace sim::ge_table {
namespace {

// ---- over a batch: statistics for each channel, dimension 1 ------------------------------------------------------
// The output "save_rstd" of BatchNormV3 is the batch's variance on the SoCs up to Ascend910, its inverse root behind
// them.
bool saves_variance() {
  const sim_soc* soc = sim_current_soc();
  return !soc || std::string(soc->name).rfind("Ascend950", 0) != 0;
}

kernels::BatchNormal batch_normal(const Args& a, bool training, double momentum) {
  return kernels::batch_norm(a[0], {.weight = a[1], .bias = a[2]}, {.mean = a[3], .var = a[4]}, training, momentum,
                             a.real("epsilon"));
}
at::Tensor normalize(const Args& a) { return batch_normal(a, false, 0).y; }

Results batch_norm(const Args& a) {
  const bool training = a.flag("is_training");
  auto [y, mean, variance, saved_mean, rstd] = batch_normal(a, training, a.real("momentum"));
  if (!training) return {y, mean, variance, a.output(3).zero_(), a.output(4).zero_()};
  return {y, mean, variance, saved_mean, saves_variance() ? kernels::batch_variance(a[0]) : rstd};
}

void batch_norm_grad_rule(Shaper& s) {
  const auto& shapes = pattern<"n c *space, n c *space, c, c, c, c, c -> n c *space :1, c :2, c :2">;
  if (s.match(shapes)[1] == 0) throw Refused("its input has no channels, it is " + s.describe(1));
  s.out(shapes);
}

Results batch_norm_grad(const Args& a) {
  const double epsilon = a.real("epsilon");
  const at::Tensor rstd = saves_variance() ? kernels::inverse_root(a[6], epsilon) : a[6];
  auto [x, weight, bias] = kernels::batch_norm_backward(a[0], a[1], a[2], {.mean = a[3], .var = a[4]},
                                                        {.mean = a[5], .rstd = rstd}, a.flag("is_training"), epsilon);
  return {x, weight, bias};
}

// The gradient in two operators: the sums for weight and bias, then the input's from them.
Results sums(const Args& a) {
  const auto found = kernels::batch_gradient_sums(a[0], a[1], a[2], kernels::inverse_root(a[3], a.real("epsilon")));
  return {found.weight, found.bias};
}

void channels_norm_rule(Shaper& s) {
  s.only("norm_region", "ACROSS_CHANNELS");
  const Shape x = s.shape(0);
  if (s.integer("depth_radius") < 0 || (x && x->size() < 2))
    throw Refused("a radius of " + std::to_string(s.integer("depth_radius")) + " over the channels of " +
                  s.describe(0));
  floating(s);
}

// ---- over groups of channels --------------------------------------------------------------------------------------
template <Text shapes>
void grouped_rule(Shaper& s) {
  const int64_t groups = s.integer("num_groups");
  if (groups < 1 || s.match(pattern<shapes>, {groups})[1] % groups != 0)
    throw Refused(s.describe(0) + " has no " + std::to_string(groups) + " groups of channels");
  s.out(pattern<shapes>, {groups});
}
constexpr auto& group_norm_rule = grouped_rule<"n c *s, c, c -> n c *s, n =groups, n groups">;
constexpr auto& group_norm_grad_rule = grouped_rule<"n c *s, n =groups, n groups, n c *s, c -> n c *s :3, c :4, c :4">;

kernels::Normal over_groups(const Args& a) {
  return kernels::group_norm(a[0], a[1], a[2], a.integer("num_groups"), a.real("eps"));
}

Results group_norm_variance(const Args& a) {
  auto [y, mean, rstd] = over_groups(a);
  return {y, mean, kernels::group_variance(a[0], a.integer("num_groups"))};
}

// Those of older types end at an axis, where gamma begins.
void norm_of_axis_rule(Shaper& s) {
  Shape shape = s.shape(0);
  s.out(0, s.dtype(0), shape);
  if (shape && s.integer("begin_params_axis") != s.integer("begin_norm_axis"))
    throw Refused("begin_params_axis is not simulated where it is not begin_norm_axis");
  const int64_t begin = shape ? wrap(s.integer("begin_norm_axis"), rank_of(shape)) : 0;
  for (const size_t weight : {1, 2}) {
    if (shape && !may_be(s.shape(weight), known({shape->begin() + begin, shape->end()})))
      throw Refused(s.describe(weight) + " does not fit " + s.describe(0) + " from that axis on");
  }
  for (int64_t i = begin; shape && i < rank_of(shape); ++i) (*shape)[size_t(i)] = 1;
  s.out(1, s.dtype(1), shape);
  s.out(2, s.dtype(1), shape);
}
at::IntArrayRef normalized(const at::Tensor& x, int64_t axis) { return x.sizes().slice(size_t(wrap(axis, x.dim()))); }
// Nothing tells it the epsilon of the norm: this keeps it from dividing by 0.
constexpr double kLeastVariance = 1e-12;
void norm_of_variance_grad_rule(Shaper& s) {
  s.out(pattern<"*x, *x, *m, *m, *w -> *x :1, *w :4, *w :4">);
  const Shape x = s.shape(1), gamma = s.shape(4), mean = s.shape(3);
  if (!x || !gamma || !mean) return;
  bool fits = gamma->size() <= x->size() && mean->size() == x->size();
  for (size_t i = 0; fits && i < x->size(); ++i) {
    const bool normalized = i + gamma->size() >= x->size();
    const Dim size = (*x)[i], other = normalized ? (*gamma)[i + gamma->size() - x->size()] : (*mean)[i];
    fits =
        (!size.known() || !other.known() || size == other) && (!normalized || !(*mean)[i].known() || (*mean)[i] == 1);
  }
  if (!fits)
    throw Refused("its statistics " + s.describe(3) + " and gamma " + s.describe(4) + " do not fit " + s.describe(1));
}

// A rank's count stands at each of its channels.
Results with_counts(const Args& a) {
  const auto found =
      kernels::gathered_statistics({.mean = a[0], .rstd = a[1]}, a[2].select(1, 0), {.mean = {}, .var = a[5].flatten()},
                                   a.real("momentum"), a.real("epsilon"));
  return {found.rstd.unsqueeze(0), found.running_var.reshape(a.output(1).sizes())};
}
void mean_of_counts_rule(Shaper& s) {
  Shape shape = s.shape(0);
  const Dims axes = s.integers("axes");
  if (!shape) return s.out(s.dtype(0), std::nullopt);
  within_first(s, 1, 3);
  if (axes.empty()) throw Refused("axes={} is not simulated");
  s.out(s.dtype(0), reduced_sizes(*shape, named(axes, shape, s), s.flag("keep_dims")));
}

// ---- of one batch on several ranks, from the sums of all -----------------------------------------------------------
Results synchronized_sums(const Args& a) {
  const auto [products, scaled] = kernels::centred_products({a[0], a[1]}, {a[2], a[3]});
  return {products.to(a.out_dtype()), scaled.to(a.out_dtype())};
}

}  // namespace

#define GROUP_NORM(epsilon) "num_groups:Int data_format:String=NHWC eps:Float=" epsilon " is_training:Bool=true"
const Family norm_rows = {
    ROW(BNInfer, "x scale offset mean variance -> y | epsilon:Float", (pattern<"n c *s, c, c, c, c -> n c *s">),
        normalize(a)),
    {"BatchNormV3",
     "x weight bias running_mean running_var -> y running_mean running_var save_mean save_rstd | epsilon:Float=0.00001 "
     "momentum:Float=0.1 is_training:Bool=true",
     pattern<"n c *s, c, c, c, c -> n c *s, c :3, c :4, c :float, c :float">, batch_norm},
    {"BatchNormGradV3",
     "dy x weight running_mean running_var save_mean save_rstd -> dx dweight dbias | is_training:Bool=true "
     "epsilon:Float=0.00001",
     batch_norm_grad_rule, batch_norm_grad},
// The parts of a training over images, and over volumes.
#define TRAINING(prefix)                                                                                               \
  EACH_OF(prefix##TrainingReduce, "x -> sum square_sum", pattern<"n c *s -> c :float, c :float">,                      \
          kernels::batch_sums(a[0])),                                                                                  \
      EACH_OF(                                                                                                         \
          prefix##TrainingUpdate,                                                                                      \
          "x sum square_sum scale offset mean variance -> y mean variance batch_mean batch_variance | factor:Float "   \
          "epsilon:Float",                                                                                             \
          pattern<"n c *s, c, c, c, c, c, c -> n c *s, c :5, c :6, c :float, c :float">,                               \
          kernels::batch_norm_of_sums(a[0], {a[1], a[2]}, {.weight = a[3], .bias = a[4]}, {.mean = a[5], .var = a[6]}, \
                                      a.real("factor"), a.real("epsilon"))),                                           \
      {#prefix "TrainingUpdateGrad",                                                                                   \
       "grads x batch_mean batch_variance -> diff_scale diff_offset | epsilon:Float=0.0001",                           \
       pattern<"n c *s, n c *s, c, c -> c :float, c :float">, sums},                                                   \
      ROW(prefix##TrainingReduceGrad,                                                                                  \
          "grads x diff_scale diff_offset scale batch_mean batch_variance -> y | epsilon:Float=0.0001",                \
          pattern<"n c *s, n c *s, c, c, c, c, c -> n c *s">,                                                          \
          kernels::batch_gradient_from_parameters(a[0], a[1], {.mean = a[5], .var = a[6]}, a[4],                       \
                                                  {.weight = a[2], .bias = a[3]}, a.real("epsilon")))
    TRAINING(BN),
    TRAINING(BN3D),
    ROW(BNInferGrad, "grads scale batch_variance -> x_backprop | epsilon:Float=0.0001",
        (pattern<"n c *s, c, c -> n c *s">), kernels::inference_backward(a[0], a[1], a[2], a.real("epsilon"))),

    ROW(SyncBatchNormBackwardElemt, "grad_output save_input mean invstd weight mean_dy mean_dy_xmu -> grad_input",
        (pattern<"*#x, *#x, *#x, *#x, *#x, *#x, *#x -> *#x">),
        kernels::batch_gradient_from_means(a[0], a[1], {a[2], a[3]}, a[4], {a[5], a[6]}).to(a.out_dtype())),
    {"SyncBatchNormBackwardReduce", "sum_dy sum_dy_dx_pad mean invert_std -> sum_dy_xmu y",
     pattern<"*x, *x, *x, *x -> *x, *x">, synchronized_sums},
    {"GroupNorm", "x gamma beta -> y mean variance | " GROUP_NORM("0.0001"), group_norm_rule, group_norm_variance},
    EACH_OF(GroupNormV2, "x gamma beta -> y mean rstd | " GROUP_NORM("0.00001"), group_norm_rule, over_groups(a)),
    EACH_OF(GroupNormGrad,
            "dy mean rstd x gamma -> dx dgamma dbeta | num_groups:Int data_format:String=NCHW dx_is_require:Bool=true "
            "dgamma_is_require:Bool=true dbeta_is_require:Bool=true",
            group_norm_grad_rule,
            kernels::group_norm_backward(a[0], a[3], {.mean = a[1], .rstd = a[2]}, a[4], a.integer("num_groups"))),

    EACH_OF(LayerNorm,
            "x gamma beta -> y mean variance | begin_norm_axis:Int=0 begin_params_axis:Int=0 epsilon:Float=0.0000001",
            norm_of_axis_rule,
            kernels::layer_norm_variance(a[0], normalized(a[0], a.integer("begin_norm_axis")), a[1], a[2],
                                         a.real("epsilon"))),
    EACH_OF(LayerNormV3,
            "x gamma beta -> y mean rstd | begin_norm_axis:Int=0 begin_params_axis:Int=0 epsilon:Float=0.00001",
            norm_of_axis_rule,
            kernels::layer_norm(a[0], normalized(a[0], a.integer("begin_norm_axis")), a[1], a[2], a.real("epsilon"))),
    EACH_OF(
        LayerNormGrad, "dy x variance mean gamma -> pd_x pd_gamma pd_beta", norm_of_variance_grad_rule,
        kernels::layer_norm_backward(a[0], a[1], a[4].sizes(),
                                     {.mean = a[3], .rstd = kernels::inverse_root(a[2], kLeastVariance)}, a[4], a[4])),
    ROW(LRN,
        "x -> y | depth_radius:Int=5 bias:Float=1.0 alpha:Float=1.0 beta:Float=0.5 "
        "norm_region:String=ACROSS_CHANNELS",
        channels_norm_rule,
        kernels::norm_of_channels(a[0], {a.integer("depth_radius"), a.real("bias"), a.real("alpha"), a.real("beta")})),
    ROW(ReduceMeanWithCount, "x count count_sum -> y | axes:ListInt keep_dims:Bool=false", mean_of_counts_rule,
        kernels::mean_of_counts(a[0], a[1], a[2], a.integers("axes"), a.flag("keep_dims"))),
    {"SyncBatchNormGatherStatsWithCounts",
     "mean_all invert_std_all count_all mean_broadcast count_sum running_var -> invert_std running_var | "
     "momentum:Float=0.1 epsilon:Float=0.001",
     pattern<"ranks c, ranks c, ranks c, *_, *_, 1 c -> 1 c, 1 c :5">, with_counts},
    ROW(SyncBNTrainingUpdate, "mean running_mean -> running_mean | momentum:Float=0.1", (pattern<"*m, *m -> *m :1">),
        at::lerp(wide(a[1]), wide(a[0]), a.real("momentum"))),
    EACH_OF(LayerNormGradV3, "dy x rstd mean gamma -> pd_x pd_gamma pd_beta",
            (pattern<"*b *n, *b *n, *b 1*n, *b 1*n, *n -> *b *n :1, *n :4, *n :4">),
            kernels::layer_norm_backward(a[0], a[1], a[4].sizes(), {.mean = a[3], .rstd = a[2]}, a[4], a[4])),
};

}  // namespace sim::ge_table
