// Reductions, sorting, running sums.
#include "ge/rows/rows.h"
#include "kernels/reduce.h"
#include "kernels/segments.h"
#include "kernels/sizes.h"

namespace sim::ge_table {
namespace {

Shape reduced(const Shaper& s, const Values& axes, bool keep) {
  const Shape shape = s.shape(0);
  if (!shape) return std::nullopt;
  if (!axes) return keep ? all_unknown(shape) : std::nullopt;
  return reduced_sizes(*shape, named(*axes, shape, s), keep);  // no axes: nothing is reduced
}

void reduce(Shaper& s) { s.out(s.dtype(0), reduced(s, s.values(1), s.flag("keep_dims"))); }
void reduce_bool(Shaper& s) {
  if (s.dtype(0) != kBool) throw Refused("its input must be bool, it is " + s.describe(0));
  reduce(s);
}

// Without axes nothing is reduced.
template <typename F>
at::Tensor over_axes(const Args& a, F reduce_axes) {
  const Dims axes = a.need(1);
  return axes.empty() || a[0].dim() == 0 ? a[0] : reduce_axes(a[0], axes, a.flag("keep_dims"));
}

// ---- axes as an attribute; none means all ------------------------------------------------------------------------
Dims all_or(const Call& call, const char* attr, const Shape& shape) {
  Dims axes = call.integers(attr);
  const int64_t rank = axes.empty() && shape ? rank_of(shape) : 0;
  for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}
void mean_cast(Shaper& s) {
  const auto dtype = static_cast<int32_t>(s.integer("dtype"));
  s.out(dtype == ge_absent ? s.dtype(0) : dtype, reduced(s, s.values(1), s.flag("keep_dims")));
}
void norm_attr(Shaper& s) {
  s.out(s.dtype(0), s.shape(0) ? reduced(s, all_or(s, "axes", s.shape(0)), s.flag("keepdim")) : std::nullopt);
}
void std_rule(Shaper& s) {
  const Shape out = s.shape(0) ? reduced(s, all_or(s, "dim", s.shape(0)), s.flag("keepdim")) : std::nullopt;
  for (size_t i = 0; i < s.outputs(); ++i) s.out(i, s.dtype(0), out);
}
void one_for_all(Shaper& s) {
  floating(s);
  s.out(s.dtype(0), Dims{});
}
void counted_rule(Shaper& s) {
  const Shape weights = s.shape(2);
  s.match(weights && weights->size() == 1 && weights->back() == 0 ? pattern<"n, *_, _ -> n">
                                                                  : pattern<"n, *_, n -> n">);
  s.out(s.dtype(2), known({at_or_unknown(s.values(1), 0)}));
}
void confusion_rule(Shaper& s) {
  constexpr std::pair<const char*, int32_t> named_types[] = {
      {"float32", kFloat}, {"int32", kInt32}, {"float16", kHalf}, {"int8", kInt8}, {"uint8", kUint8}};
  const int64_t classes = s.integer("num_classes");
  const std::string name = s.text("dtype");
  if (classes < 1) throw Refused(c10::str("num_classes=", classes, "; allowed: above 0"));
  s.match(pattern<"n, n, n? -> n">);
  for (const auto& [text, dtype] : named_types)
    if (name == text) return s.out(dtype, Dims{classes, classes});
  throw Refused("dtype='" + name + "'; allowed: float32, int32, float16, int8, uint8");
}
void fixed_width_rule(Shaper& s) {
  const Values bins = s.values(2);
  if (bins && (bins->size() != 1 || bins->at(0) < 1))
    throw Refused(c10::str("nbins=", *bins, "; allowed: one above 0"));
  if (const int64_t type = s.integer("dtype"); type != kInt32) throw Refused(c10::str("dtype=", type, "; allowed: 3"));
  require_shape(s, 1, known({2}), "has to be the least and the greatest number");
  s.out(kInt32, known({at_or_unknown(bins, 0)}));
}
void variance_rule(Shaper& s) {
  s.only("if_std", 0.0);
  within_first(s, 1, 2);
  std_rule(s);
}
kernels::Deviation deviation(const Args& a) {
  const int64_t correction = a.knows("correction") ? a.integer("correction") : a.flag("unbiased");
  return kernels::deviation(a[0], a.integers("dim"), correction, a.flag("keepdim"));
}
at::Tensor deviation_from(const Args& a) {
  a.only("invert", 0.0);
  return deviation(a).std;
}

kernels::Scan scan_of(const Call& call) { return {call.flag("exclusive"), call.flag("reverse")}; }
void scan(Shaper& s) {
  if (const Values axis = s.values(1); axis && s.shape(0)) wrap(axis->at(0), rank_of(s.shape(0)));
  same(s);
}
void logsumexp_scan(Shaper& s) {
  require_type(s, 0, {kFloat, kHalf, kDouble});
  scan(s);
}

void squares_rule(Shaper& s) {
  require_type(s, 0, {kHalf, kFloat});
  s.out(s.dtype(0), reduced(s, s.integers("axis"), s.flag("keep_dims")));
  if (s.outputs() > 1) s.out(1, s.dtype(0), s.shape(0));
}
at::Tensor squares(const Args& a) { return kernels::squares_along(a[0], a.integers("axis"), a.flag("keep_dims")); }
void arg_reduce(Shaper& s) {
  auto dtype = static_cast<int32_t>(s.integer("dtype"));
  s.out(dtype, reduced(s, s.values(1), false));
}

void arg_with_value(Shaper& s) {
  Shape shape = reduced(s, Dims{s.integer("dimension")}, s.flag("keep_dims"));
  s.out(0, kInt32, shape);
  s.out(1, s.dtype(0), shape);
}

// ATen tells the value first.
Results place_and_value(const std::tuple<at::Tensor, at::Tensor>& found) {
  return {std::get<1>(found), std::get<0>(found)};
}
void sort_shape(Shaper& s) {
  along_axis(s);
  s.out(0, s.dtype(0), s.shape(0));
  s.out(1, kInt32, s.shape(0));
}

void topk_shape(Shaper& s) {
  Shape shape = s.shape(0);
  Values k = s.values(1);
  if (shape && !shape->empty()) {
    int64_t axis = wrap(s.integer("dim"), static_cast<int64_t>(shape->size()));
    Dim& size = (*shape)[static_cast<size_t>(axis)];
    if (k && !k->empty() && Dim(k->at(0)) > size)
      throw Refused(c10::str("the first ", k->at(0), " along dimension ", axis, " of ", s.describe(0)));
    size = at_or_unknown(k, 0);
  }
  s.out(0, s.dtype(0), shape);
  s.out(1, kInt32, shape);
}

// ---- each value once, in the order in which they come: only the values tell how many ------------------------------
void distinct_types(const Shaper& s) {
  require_type(s, 0, {kFloat, kHalf, kInt8, kInt16, kUint8, kInt32, kInt64, kDouble});
  if (const Shape shape = s.shape(0); shape && shape->size() != 1)
    throw Refused("it takes a list, its input is " + s.describe(0));
}
void distinct_rule(Shaper& s) {
  distinct_types(s);
  const auto index = int32_t(s.integer("out_idx"));
  const bool known_values = s.there(0);
  const Shape found = known_values ? sized_as(kernels::distinct(s[0]).values) : known({unknown});
  s.out(0, s.dtype(0), found), s.out(1, index, s.shape(0));
  if (s.outputs() > 2) s.out(2, index, found);
}
void padded_distinct_rule(Shaper& s) {
  require_type(s, 0, {kFloat, kInt32, kInt64});
  require_type(s, 1, {kFloat, kInt32, kInt64}), one_number(s, 1, 2);
  distinct_types(s);
  s.out(0, s.dtype(0), s.shape(0)), s.out(1, s.dtype(0) == kInt64 ? kInt64 : kInt32, s.shape(0));
}

}  // namespace

#define REDUCE "x axes -> y | keep_dims:Bool=false"
#define REDUCE_MEAN REDUCE " noop_with_empty_axes:Bool=true"
#define OVER_AXES(...) \
  over_axes(a, [](const at::Tensor& x, [[maybe_unused]] const Dims& axes, bool keep) { return __VA_ARGS__; })
const Family reduce_rows = {
    ROW(ReduceSum, REDUCE, reduce, OVER_AXES(at::sum(x, axes, keep, x.scalar_type()))),
    ROW(ReduceMean, REDUCE_MEAN, reduce, OVER_AXES(kernels::average_of(x, axes, keep))),
    ROW(ReduceMeanWithCast, REDUCE_MEAN " dtype:Type=28", mean_cast, OVER_AXES(kernels::average_of(x, axes, keep))),
    ROW(ReduceMax, REDUCE, reduce, OVER_AXES(at::amax(x, axes, keep))),
    ROW(ReduceMin, REDUCE, reduce, OVER_AXES(at::amin(x, axes, keep))),
    ROW(ReduceProd, REDUCE, reduce, OVER_AXES(kernels::product(x, axes, keep))),
    ROW(ReduceAny, REDUCE, reduce_bool, OVER_AXES(at::any(x, axes, keep))),
    ROW(ReduceAll, REDUCE, reduce_bool, OVER_AXES(at::all(x, axes, keep))),
    ROW(ReduceLogSumExp, REDUCE, reduce, OVER_AXES(at::logsumexp(x, axes, keep))),
    ROW(ReduceLogSum, REDUCE, reduce, OVER_AXES(kernels::log_of_sum(x, axes, keep))),
    ROW(EuclideanNorm, REDUCE, reduce, OVER_AXES(at::linalg_vector_norm(wide(x), 2, axes, keep))),
    ROW(SquareSumV1, "x -> y | axis:ListInt keep_dims:Bool=false", squares_rule, squares(a)),
    ROW(SquareSumV2, "x -> y1 y2 | axis:ListInt keep_dims:Bool=false", squares_rule, squares(a), at::square(a[0])),
    EACH_OF(ReduceStdV2, "x -> std mean | dim:ListInt={} correction:Int=1 keepdim:Bool=false is_mean_out:Bool=true",
            std_rule, deviation(a)),
    EACH_OF(ReduceStd, "x -> y1 y2 | dim:ListInt={} unbiased:Bool=true keepdim:Bool=false", std_rule, deviation(a)),
    ROW(ReduceStdWithMean,
        "x mean -> y | dim:ListInt={} unbiased:Bool=true keepdim:Bool=false invert:Bool=false epsilon:Float=0.001 "
        "correction:Int=1",
        std_rule, deviation_from(a)),
    ROW(Bincount, "array size weights -> bins", counted_rule, at::bincount(a[0], optional(a[2]), a.need(1).at(0))),
    ROW(ReduceStdV2Update,
        "x mean -> output_var | dim:ListInt if_std:Bool=false unbiased:Bool=true keepdim:Bool=false correction:Int=1",
        variance_rule,
        kernels::variance_from(a[0], a[1], all_or(a, "dim", a.shape(0)),
                               a.flag("unbiased") ? a.integer("correction") : 0, a.flag("keepdim"))),
    ROW(LpNorm, "x -> y | p:Int=2 axes:ListInt={} keepdim:Bool=false epsilon:Float=0.000000000001", norm_attr,
        kernels::norm(a[0], norm_order(a), all_or(a, "axes", a.shape(0)), a.flag("keepdim"), a.real("epsilon"))),
    ROW(LpNormV2, "x -> y | p:Float=2.0 axes:ListInt={} keepdim:Bool=false epsilon:Float=0.0", norm_attr,
        kernels::norm(a[0], norm_order(a), all_or(a, "axes", a.shape(0)), a.flag("keepdim"), a.real("epsilon"))),
    ROW(L2Loss, "x -> y", one_for_all, kernels::half_of_squares(a[0])),
    ROW(L2Normalize, "x -> y | axis:ListInt={} eps:Float=0.0001", floating,
        kernels::l2_normalized(a[0], all_or(a, "axis", a.shape(0)), a.real("eps"))),
    ROW(L2NormalizeGrad, "x y dy -> dx | dim:ListInt={} eps:Float=0.0001", (pattern<"*x, *x, *x -> *x">),
        kernels::l2_normalized_backward(a[2], a[0], a[1], all_or(a, "dim", a.shape(0)), a.real("eps"))),
    // in two halves: the sum of powers, then the root
    ROW(LpNormReduceV2, "x -> y | p:Float=2.0 axes:ListInt={} keepdim:Bool=false epsilon:Float=0.0", norm_attr,
        kernels::power_sum(a[0], norm_order(a), a.integers("axes"), a.flag("keepdim"))),
    ROW(LpNormUpdateV2, "x -> y | p:Float=2.0 epsilon:Float=0.0", same,
        kernels::norm_of_power_sum(a[0], norm_order(a), a.real("epsilon"))),
    ROW(ArgMaxV2, "x dimension -> y | dtype:Type=9", arg_reduce, at::argmax(a[0], a.need(1).at(0))),
    ROW(ArgMin, "x dimension -> y | dtype:Type=9", arg_reduce, at::argmin(a[0], a.need(1).at(0))),
    {"ArgMaxWithValue", "x -> indice values | dimension:Int keep_dims:Bool=false", arg_with_value,
     [](const Args& a) { return place_and_value(at::max(a[0], a.integer("dimension"), a.flag("keep_dims"))); }},
    {"ArgMinWithValue", "x -> indice values | dimension:Int keep_dims:Bool=false", arg_with_value,
     [](const Args& a) { return place_and_value(at::min(a[0], a.integer("dimension"), a.flag("keep_dims"))); }},
    FITTED(Unique, "x -> y idx | out_idx:Type=3", distinct_rule, kernels::distinct(a[0])),
    FITTED(UniqueWithCounts, "x -> y idx count | out_idx:Type", distinct_rule, kernels::distinct(a[0])),
    EACH_OF(UniqueWithPad, "x pad_num -> y idx", padded_distinct_rule, kernels::padded_distinct(a[0], a[1])),
    EACH_OF(Sort, "x -> y1 y2 | axis:Int=-1 descending:Bool=false stable:Bool=false", sort_shape,
            at::sort(a[0], a.flag("stable"), a.integer("axis"), a.flag("descending"))),
    EACH_OF(TopKV2, "x k -> values indices | sorted:Bool=true dim:Int=-1 largest:Bool=true sort_policy:Int=0",
            topk_shape, at::topk(a[0], a.need(1).at(0), a.integer("dim"), a.flag("largest"), a.flag("sorted"))),
    EACH_OF(TopK, "x k -> values indices | sorted:Bool=true largest:Bool=true dim:Int=-1", topk_shape,
            kernels::first_of_sorted(a[0], a.need(1).at(0), a.integer("dim"), a.flag("largest"))),
    ROW(SortV2, "x -> y | axis:Int=-1 descending:Bool=false", along_axis,
        std::get<0>(at::sort(a[0], a.integer("axis"), a.flag("descending")))),
    ROW(Cumprod, "x axis -> y | exclusive:Bool=false reverse:Bool=false", scan,
        kernels::running_product(a[0], a.need(1).at(0), a[0].scalar_type(), scan_of(a))),
    ROW(Cumsum, "x axis -> y | exclusive:Bool=false reverse:Bool=false", scan,
        kernels::running_sum(a[0], a.need(1).at(0), scan_of(a))),
    ROW(CumulativeLogsumexp, "x axis -> y | exclusive:Bool=false reverse:Bool=false", logsumexp_scan,
        kernels::running_logsumexp(a[0], a.need(1).at(0), scan_of(a))),
    ROW(ConfusionMatrix, "labels predictions weights? -> y | num_classes:Int dtype:String", confusion_rule,
        kernels::confusion(a[0], a[1], a[2], a.output(0).size(0))),
    ROW(HistogramFixedWidth, "x range nbins -> y | dtype:Int=3", fixed_width_rule,
        kernels::histogram_between(a[0], a[1], a.need(2).at(0))),
};

}  // namespace sim::ge_table
