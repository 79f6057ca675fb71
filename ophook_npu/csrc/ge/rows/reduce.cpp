// Reductions, softmax, normalisation, losses, sorting.
#include <array>

#include "ge/rows/rows.h"
#include "kernels/activation.h"
#include "kernels/loss.h"
#include "kernels/norm.h"
#include "kernels/reduce.h"

namespace sim::ge_table {
namespace {

Shape reduced(const Shape& shape, const Values& axes, bool keep) {
  if (!shape) return std::nullopt;
  auto rank = static_cast<int64_t>(shape->size());
  if (!axes) return keep ? all_unknown(shape) : std::nullopt;
  Checked<bool> gone(shape->size(), false);  // no axes: nothing is reduced
  for (int64_t axis : *axes)
    if (rank) gone[static_cast<size_t>(wrap(axis, rank))] = true;
    else wrap(axis, rank);
  Sizes out;
  for (size_t i = 0; i < shape->size(); ++i) {
    if (!gone[i]) out.push_back((*shape)[i]);
    else if (keep) out.push_back(1);
  }
  return out;
}

void reduce(Shaper& s) { s.out(s.dtype(0), reduced(s.shape(0), s.values(1), s.flag("keep_dims"))); }
void reduce_bool(Shaper& s) {
  if (s.dtype(0) != kBool) throw Refused("its input must be bool, it is " + s.describe(0));
  reduce(s);
}

// Without axes nothing is reduced.
template <typename F>
at::Tensor over_axes(const Args& a, F reduce_axes) {
  Dims axes = a.need(1);
  return axes.empty() || a[0].dim() == 0 ? a[0] : reduce_axes(a[0], axes, a.flag("keep_dims"));
}

// ---- axes as an attribute; none means all ------------------------------------------------------------------------
Dims all_or(const Call& call, const char* attr, const Shape& shape) {
  Dims axes = call.integers(attr);
  const int64_t rank = axes.empty() && shape ? rank_of(shape) : 0;
  for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}
void reduce_attr(Shaper& s) { s.out(s.dtype(0), reduced(s.shape(0), s.integers("axes"), s.flag("keep_dims"))); }
void mean_cast(Shaper& s) {
  const auto dtype = static_cast<int32_t>(s.integer("dtype"));
  s.out(dtype == ge_absent ? s.dtype(0) : dtype, reduced(s.shape(0), s.values(1), s.flag("keep_dims")));
}
void norm_attr(Shaper& s) {
  s.out(s.dtype(0), s.shape(0) ? reduced(s.shape(0), all_or(s, "axes", s.shape(0)), s.flag("keepdim")) : std::nullopt);
}
void std_rule(Shaper& s) {
  const Shape out = s.shape(0) ? reduced(s.shape(0), all_or(s, "dim", s.shape(0)), s.flag("keepdim")) : std::nullopt;
  for (size_t i = 0; i < s.outputs(); ++i) s.out(i, s.dtype(0), out);
}
kernels::Deviation deviation(const Args& a) {
  return kernels::deviation(a[0], a.integers("dim"), a.integer("correction"), a.flag("keepdim"));
}
Results deviation_and_mean(const Args& a) {
  auto [std, mean] = deviation(a);
  return {std, mean};
}
at::Tensor deviation_from(const Args& a) {
  a.only("invert", 0.0);
  return deviation(a).std;
}

void plain_scan(Shaper& s) {
  s.only("exclusive", 0.0);
  s.only("reverse", 0.0);
  same(s);
}

void arg_reduce(Shaper& s) {
  auto dtype = static_cast<int32_t>(s.integer("dtype"));
  s.out(dtype, reduced(s.shape(0), s.values(1), false));
}

void arg_with_value(Shaper& s) {
  Shape shape = reduced(s.shape(0), Dims{s.integer("dimension")}, s.flag("keep_dims"));
  s.out(0, kInt32, shape);
  s.out(1, s.dtype(0), shape);
}

// ATen tells the value first.
Results place_and_value(const std::tuple<at::Tensor, at::Tensor>& found) {
  return {std::get<1>(found), std::get<0>(found)};
}
Results value_and_place(const std::tuple<at::Tensor, at::Tensor>& found) {
  return {std::get<0>(found), std::get<1>(found)};
}

void softmax_shape(Shaper& s) {
  Shape shape = s.shape(0);
  for (int64_t axis : s.integers("axes"))
    if (shape) wrap(axis, static_cast<int64_t>(shape->size()));
  s.out(s.knows("half_to_float") && s.flag("half_to_float") ? static_cast<int32_t>(kFloat) : s.dtype(0), shape);
}

int64_t only_axis(const Args& a, const char* attr = "axes") {
  Dims axes = a.integers(attr);
  if (axes.size() != 1) throw Refused("softmax over " + std::to_string(axes.size()) + " axes is not simulated");
  return axes[0];
}

// y like x; mean and rstd over the normalised dimensions, which stay as 1.
void layer_norm_shape(Shaper& s) {
  s.out(0, s.dtype(0), s.shape(0));
  Shape stat = s.shape(0), normalized = s.shape(1);
  if (stat && normalized && normalized->size() == 1 && (*normalized)[0].known()) {
    auto count = static_cast<size_t>((*normalized)[0].size());
    if (count > stat->size())
      throw Refused("it normalises " + std::to_string(count) + " dimensions of " + s.describe(0));
    std::fill(stat->last(count), stat->end(), 1);
  } else {
    stat = std::nullopt;
  }
  s.out(1, kFloat, stat);
  s.out(2, kFloat, stat);
}

Results layer_norm(const Args& a) {
  auto [y, mean, rstd] = kernels::layer_norm(a[0], a.need(1), a[2], a[3], a.real("epsilon"));
  return {y, mean, rstd};
}

void layer_norm_grad_shape(Shaper& s) {
  s.out(0, s.dtype(1), s.shape(1));
  s.out(1, s.dtype(4), s.shape(4));
  s.out(2, s.dtype(4), s.shape(4));
}

Results layer_norm_grad(const Args& a) {
  auto [x, gamma, beta] = kernels::layer_norm_backward(a[0], a[1], a[4].sizes(), a[3], a[2], a[4], a[4]);
  return {x, gamma, beta};
}

void sort_shape(Shaper& s) {
  s.out(0, s.dtype(0), s.shape(0));
  s.out(1, kInt32, s.shape(0));
}

void topk_shape(Shaper& s) {
  Shape shape = s.shape(0);
  Values k = s.values(1);
  if (shape && !shape->empty()) {
    int64_t axis = wrap(s.integer("dim"), static_cast<int64_t>(shape->size()));
    (*shape)[static_cast<size_t>(axis)] = at_or_unknown(k, 0);
  }
  s.out(0, s.dtype(0), shape);
  s.out(1, kInt32, shape);
}

// ---- losses -----------------------------------------------------------------------------------------------------
int64_t reduction_of(const Call& call) {
  std::string name = call.text("reduction");
  for (int64_t i = 0; i < 3; ++i)
    if (name == std::array<const char*, 3>{"none", "mean", "sum"}[static_cast<size_t>(i)]) return i;
  throw Refused("reduction '" + name + "' is none of none, mean and sum");
}

void loss_shape(Shaper& s) {
  broadcast(s);
  if (reduction_of(s) != 0) s.out(s.dtype(0), Dims{});
}

void nll_shape(Shaper& s) {
  s.out(0, s.dtype(0), reduction_of(s) == 0 ? s.shape(1) : Shape(Dims{}));
  s.out(1, s.dtype(0), Dims{});
}

Results nll(const Args& a) {
  auto [loss, total] = kernels::nll(a[0], a[1], a[2], reduction_of(a), a.integer("ignore_index"));
  return {loss, total};
}

at::Tensor nll_grad(const Args& a) {
  return kernels::nll_backward(a[1], a[0], a[2], a[3], reduction_of(a), a.integer("ignore_index"), a[4]);
}

}  // namespace

#define REDUCE "x axes -> y | keep_dims:Bool=false"
#define REDUCE_MEAN REDUCE " noop_with_empty_axes:Bool=true"
#define OVER_AXES(...) \
  over_axes(a, [](const at::Tensor& x, [[maybe_unused]] const Dims& axes, bool keep) { return __VA_ARGS__; })
const Family reduce_rows = {
    ROW(ReduceSum, REDUCE, reduce, OVER_AXES(at::sum(x, axes, keep, x.scalar_type()))),
    ROW(ReduceMean, REDUCE_MEAN, reduce, OVER_AXES(at::mean(x, axes, keep))),
    ROW(ReduceMeanWithCast, REDUCE_MEAN " dtype:Type=28", mean_cast, OVER_AXES(at::mean(x, axes, keep))),
    ROW(ReduceMax, REDUCE, reduce, OVER_AXES(at::amax(x, axes, keep))),
    ROW(ReduceMin, REDUCE, reduce, OVER_AXES(at::amin(x, axes, keep))),
    ROW(ReduceProd, REDUCE, reduce, OVER_AXES(kernels::product(x, axes, keep))),
    ROW(ReduceProdD, "x -> y | axes:ListInt keep_dims:Bool=false", reduce_attr,
        kernels::product(a[0], a.integers("axes"), a.flag("keep_dims"))),
    ROW(ReduceAny, REDUCE, reduce_bool, OVER_AXES(at::any(x, axes, keep))),
    ROW(ReduceAll, REDUCE, reduce_bool, OVER_AXES(at::all(x, axes, keep))),
    ROW(ReduceLogSumExp, REDUCE, reduce, OVER_AXES(at::logsumexp(x, axes, keep))),
    {"ReduceStdV2", "x -> std mean | dim:ListInt={} correction:Int=1 keepdim:Bool=false is_mean_out:Bool=true",
     std_rule, deviation_and_mean},
    ROW(ReduceStdWithMean,
        "x mean -> y | dim:ListInt={} unbiased:Bool=true keepdim:Bool=false invert:Bool=false epsilon:Float=0.001 "
        "correction:Int=1",
        std_rule, deviation_from(a)),
    ROW(LpNormV2, "x -> y | p:Float=2.0 axes:ListInt={} keepdim:Bool=false epsilon:Float=0.0", norm_attr,
        kernels::norm(a[0], norm_order(a), all_or(a, "axes", a.shape(0)), a.flag("keepdim"), a.real("epsilon"))),
    ROW(ArgMaxV2, "x dimension -> y | dtype:Type=9", arg_reduce, at::argmax(a[0], a.need(1).at(0))),
    ROW(ArgMin, "x dimension -> y | dtype:Type=9", arg_reduce, at::argmin(a[0], a.need(1).at(0))),
    {"ArgMaxWithValue", "x -> indice values | dimension:Int keep_dims:Bool=false", arg_with_value,
     [](const Args& a) { return place_and_value(at::max(a[0], a.integer("dimension"), a.flag("keep_dims"))); }},
    {"ArgMinWithValue", "x -> indice values | dimension:Int keep_dims:Bool=false", arg_with_value,
     [](const Args& a) { return place_and_value(at::min(a[0], a.integer("dimension"), a.flag("keep_dims"))); }},
    ROW(SoftmaxV2, "x -> y | axes:ListInt={-1} half_to_float:Bool=false", softmax_shape,
        at::softmax(a[0], only_axis(a), a.out_dtype())),
    ROW(LogSoftmaxV2, "logits -> logsoftmax | axes:ListInt={-1}", softmax_shape, at::log_softmax(a[0], only_axis(a))),
    ROW(SoftmaxGrad, "softmax grad_softmax -> grad_x | axes:ListInt={-1}", same,
        kernels::softmax_backward(a[1], a[0], only_axis(a))),
    ROW(LogSoftmaxGrad, "grad x -> y | axis:ListInt={-1}", same,
        kernels::log_softmax_backward(a[0], a[1], only_axis(a, "axis"))),
    {"LayerNormV4", "x normalized_shape gamma? beta? -> y mean rstd | epsilon:Float=0.00001", layer_norm_shape,
     layer_norm},
    {"LayerNormGradV3", "dy x rstd mean gamma -> pd_x pd_gamma pd_beta", layer_norm_grad_shape, layer_norm_grad},
    ROW(MseLoss, "predict label -> y | reduction:String=mean", loss_shape, kernels::mse(a[0], a[1], reduction_of(a))),
    ROW(MseLossGrad, "predict label dout -> y | reduction:String=mean", same,
        kernels::mse_backward(a[2], a[0], a[1], reduction_of(a))),
    {"NLLLoss", "x target weight? -> y total_weight | reduction:String=mean ignore_index:Int=-100", nll_shape, nll},
    ROW(NLLLossGrad, "x y_grad target weight? total_weight -> x_grad | reduction:String=mean ignore_index:Int=-100",
        same, nll_grad(a)),
    {"Sort", "x -> y1 y2 | axis:Int=-1 descending:Bool=false stable:Bool=false", sort_shape,
     [](const Args& a) {
       return value_and_place(at::sort(a[0], a.flag("stable"), a.integer("axis"), a.flag("descending")));
     }},
    {"TopKV2", "x k -> values indices | sorted:Bool=true dim:Int=-1 largest:Bool=true sort_policy:Int=0", topk_shape,
     [](const Args& a) {
       return value_and_place(at::topk(a[0], a.need(1).at(0), a.integer("dim"), a.flag("largest"), a.flag("sorted")));
     }},
    ROW(SortV2, "x -> y | axis:Int=-1 descending:Bool=false", same,
        std::get<0>(at::sort(a[0], a.integer("axis"), a.flag("descending")))),
    ROW(Cumprod, "x axis -> y | exclusive:Bool=false reverse:Bool=false", plain_scan,
        kernels::running_product(a[0], a.need(1).at(0), a[0].scalar_type())),
    ROW(Cumsum, "x axis -> y | exclusive:Bool=false reverse:Bool=false", plain_scan,
        at::cumsum(a[0], a.need(1).at(0), a[0].scalar_type())),
};

}  // namespace sim::ge_table
