// Tensors made from shapes and values: filling, padding.
#include "ge/rows/rows.h"
#include "kernels/index.h"
#include "kernels/shape.h"

namespace sim::ge_table {
namespace {

void shape_of(Shaper& s) {
  Shape shape = s.shape(0);
  s.out(static_cast<int32_t>(s.integer("dtype")), known({shape ? Dim(rank_of(shape)) : unknown}));
}
void scalar_int(Shaper& s) { s.out(s.knows("dtype") ? static_cast<int32_t>(s.integer("dtype")) : kInt32, Dims{}); }

void fill(Shaper& s) {
  one_number(s, 1, 2);
  s.out(s.dtype(1), shape_from(s, 0));
}
// A float, whatever else the prototype allows: nothing says which type is asked for.
void filled_with_float(Shaper& s) { s.out(kFloat, shape_from(s, 0)); }
void broadcast_to(Shaper& s) {
  Shape target = shape_from(s, 1), from = s.shape(0);
  if (target && from && target->size() < from->size())
    throw Refused(s.describe(0) + " has more dimensions than its target shape");
  const size_t lead = target && from ? target->size() - from->size() : 0;
  for (size_t i = lead; target && i < target->size(); ++i)  // -1 keeps the input's dimension
    if ((*target)[i] == -1) (*target)[i] = from ? (*from)[i - lead] : unknown;
  broadcast_shapes(target, from, s);
  s.out(s.dtype(0), target);
}
// Both are broadcast: a 1 in the shape is the input's dimension, and so is one that it does not have.
void expand(Shaper& s) {
  Shape target = shape_from(s, 1);
  const Shape from = s.shape(0);
  if (!target || !from) return s.out(s.dtype(0), std::nullopt);
  while (target->size() < from->size()) target->insert(target->begin(), 1);
  const size_t lead = target->size() - from->size();
  for (size_t i = lead; i < target->size(); ++i)
    if ((*target)[i] == -1) (*target)[i] = (*from)[i - lead];
  s.out(s.dtype(0), broadcast_shapes(target, from, s));
}
void range(Shaper& s) {
  // Bounds of several types give the widest of them.
  int32_t dtype = s.dtype(0);
  for (size_t i = 1; i < 3; ++i)
    if (dtype == kInt32 || s.dtype(i) == kFloat) dtype = s.dtype(i);
  std::optional<double> start = s.number(0), limit = s.number(1), delta = s.number(2);
  Dim count;
  if (start && limit && delta) {
    if (*delta == 0) throw Refused("a step of 0");
    count = std::max<int64_t>(0, static_cast<int64_t>(std::ceil((*limit - *start) / *delta)));
  }
  s.out(dtype, known({count}));
}
// With paddings put at its sides, or, with a sign of -1, cut off.
void pad_by(Shaper& s, const Values& paddings, int64_t sign = 1) {
  Shape shape = s.shape(0);
  if (!shape || !paddings) return s.out(s.dtype(0), all_unknown(shape));
  if (paddings->size() != 2 * shape->size())
    throw Refused("it has " + std::to_string(paddings->size()) + " paddings for " + s.describe(0));
  for (size_t i = 0; i < shape->size(); ++i)
    (*shape)[i] = (*shape)[i] + sign * (paddings->at(2 * i) + paddings->at(2 * i + 1));
  s.out(s.dtype(0), shape);
}
// Two numbers a dimension, in front and behind; or, not `contiguous`, all of those in front and then all behind.
Values pairs_of(const Call& call, Values paddings) {
  if (!paddings || call.flag("paddings_contiguous")) return paddings;
  Dims pairs;
  const size_t rank = paddings->size() / 2;
  for (size_t i = 0; i < rank; ++i) pairs.insert(pairs.end(), {paddings->at(i), paddings->at(rank + i)});
  return pairs;
}
void pad_grad(Shaper& s) { pad_by(s, pairs_of(s, s.values(1)), -1); }
void pad(Shaper& s) { pad_by(s, s.values(1)); }
void mirror_pad(Shaper& s) {
  if (const std::string mode = s.text("mode"); mode != "REFLECT" && mode != "SYMMETRIC")
    throw Refused("mode '" + mode + "'; allowed: REFLECT, SYMMETRIC");
  pad(s);
}
void any_pad(Shaper& s) {
  one_number(s, 2, 3);
  const std::string mode = s.text("mode");
  if (mode != "constant" && mode != "reflect" && mode != "symmetric" && mode != "edge" && mode != "circular")
    throw Refused("mode '" + mode + "'; allowed: constant, reflect, symmetric, edge, circular");
  const Values paddings = pairs_of(s, s.values(1));
  if (paddings && mode != "constant" &&
      std::any_of(paddings->begin(), paddings->end(), [](int64_t size) { return size < 0; }))
    throw Refused("mode '" + mode + "' with a padding below 0, of " + s.describe(0));
  pad_by(s, paddings);
}
at::Tensor any_padded(const Args& a) {
  const Dims pads = *pairs_of(a, a.need(1));
  const std::string mode = a.text("mode");
  if (mode != "constant") return kernels::padded_in_mode(a[0], pads, mode);
  return kernels::padded(a[0], pads, a.has(2) ? a[2].item() : at::Scalar(0));
}

// torchair computes the gradient of a selection in such memory and relies on zeros.
void empty(Shaper& s) { s.out(static_cast<int32_t>(s.integer("dtype")), shape_from(s, 0)); }

void diagonal_rule(Shaper& s) {
  matrices(s);
  const Shape x = s.shape(0);
  for (size_t i = 1; x && x->size() > 2 && i < x->size(); ++i)
    if ((*x)[i] != (*x)[0]) throw Refused("of more than two dimensions all are as long, not " + s.describe(0));
}
void lin_space(Shaper& s) {
  one_number(s, 0, 3);
  const Values count = s.values(2);
  s.out(s.dtype(0), known({at_or_unknown(count, 0)}));
}

// Whether a number overflowed, for a device that saturates. This one has infinities and NaN instead, so nothing is ever
// told.
template <int32_t dtype>
void float_status(Shaper& s) {
  s.out(dtype, known({8}));
}
void no_results(Shaper&) {}

}  // namespace

const Family fill_rows = {
    // of the input these three read only the shape: its values need not be there
    ROW(Shape, "x -> y | dtype:Int=3", shape_of, at::tensor(a.sizes(0), at::kLong).to(a.out_dtype())),
    ROW(Size, "x -> y | dtype:Int=3", scalar_int, at::scalar_tensor(c10::multiply_integers(a.sizes(0)), a.out_dtype())),
    ROW(Rank, "x -> y", scalar_int, at::scalar_tensor(rank_of(a.shape(0)), a.out_dtype())),
    ROW(Empty, "shape -> y | dtype:Int=3 init:Bool=false", empty, at::zeros(a.need(0), a.out_dtype())),
    ROW(LinSpace, "start stop num -> output", lin_space,
        at::linspace(a[0].item(), a[1].item(), a.need(2).at(0), a.out_dtype())),
    ROW(MirrorPad, "x paddings -> y | mode:String", mirror_pad,
        kernels::padded_in_mode(a[0], a.need(1), a.text("mode") == "REFLECT" ? "reflect" : "symmetric")),
    ROW(Fill, "dims value -> y", fill, a[1].reshape({}).expand(a.output(0).sizes())),
    ROW(FillV2, "dims -> y | value:Float=0", filled_with_float, a.output(0).fill_(a.real("value"))),
    ROW(BroadcastTo, "x shape -> y", broadcast_to, a[0].expand(a.output(0).sizes())),
    ROW(Expand, "x shape -> y", expand, a[0].expand(a.output(0).sizes())),
    ROW(Range, "start limit delta -> y", range, at::arange(a[0].item(), a[1].item(), a[2].item(), a.out_dtype())),
    ROW(Pad, "x paddings -> y", pad, kernels::padded(a[0], a.need(1), 0)),
    ROW(MaskedFillRange, "x start end value -> y | axis:Int=-1", same,
        kernels::range_filled(a[0], a[1], a[2], a[3], a.integer("axis"))),
    ROW(PadV3, "x paddings constant_values? -> y | mode:String=constant paddings_contiguous:Bool=true", any_pad,
        any_padded(a)),
    ROW(NPUAllocFloatStatus, "-> data", float_status<kFloat>, a.output(0).zero_()),
    ROW(NPUGetFloatStatus, "addr -> data", float_status<kFloat>, a.output(0).zero_()),
    ROW(NPUClearFloatStatus, "addr -> data", float_status<kFloat>, a.output(0).zero_()),
    ROW(NPUGetFloatStatusV2, "-> data", float_status<kInt32>, a.output(0).zero_()),
    {"NPUClearFloatStatusV2", "->", no_results, [](const Args&) { return Results(); }},
    ROW(PadV3Grad, "x paddings -> y | mode:String=reflect paddings_contiguous:Bool=true", pad_grad,
        kernels::padded_backward(a[0], *pairs_of(a, a.need(1)), a.text("mode"))),
    // x counts from 0.
    ROW(RangeD, "x -> y | start:Float limit:Float delta:Float", same,
        at::add(at::scalar_tensor(a.real("start"), at::kDouble), a[0].to(at::kDouble), a.real("delta"))),
    ROW(FillDiagonal, "x -> y | fill_value:Float wrap:Bool=false", diagonal_rule,
        a[0].clone().fill_diagonal_(a.real("fill_value"), a.flag("wrap"))),
};

}  // namespace sim::ge_table
