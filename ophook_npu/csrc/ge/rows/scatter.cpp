// Updates put to places that indices name, in place or in a copy; segments; and what is found in lists.
#include "ge/rows/rows.h"
#include "kernels/index.h"
#include "kernels/scatter.h"
#include "kernels/segments.h"

namespace sim::ge_table {
namespace {

void require_indices(const Call& call, size_t input) { require_type(call, input, {kInt32, kInt64}); }
// What is updated, indices and updates; a rule of rows or of slices says how they lie.
void put_types(const Shaper& s) {
  require_indices(s, 1);
  if (s.dtype(2) != s.dtype(0))
    throw Refused("its updates " + s.describe(2) + " are not of the type of " + s.describe(0));
}
// A row of updates for each of the indices.
void put_rows_rule(Shaper& s) {
  put_types(s);
  Shape wanted = s.shape(1);
  const Shape var = s.shape(0);
  if (var && var->empty()) throw Refused("it puts rows, var is " + s.describe(0));
  if (wanted && var) wanted->insert(wanted->end(), var->begin() + 1, var->end());
  if (var && !may_be(s.shape(2), wanted))
    throw Refused("updates " + s.describe(2) + " for slices of " + s.describe(0) + " by indices " + s.describe(1));
  same(s);
}
// The last dimension of the indices names a slice.
Shape updates_for(const Call& call, const Shape& x, size_t indices) {
  const Shape by = call.shape(indices);
  if (!x || !by || by->empty() || !by->back().known()) return std::nullopt;
  const auto depth = by->back().size();
  if (depth > rank_of(x)) throw Refused(call.describe(indices) + " names more dimensions than there are");
  Sizes out(by->begin(), by->end() - 1);
  out.insert(out.end(), x->begin() + depth, x->end());
  return out;
}
void put_slices_rule(Shaper& s) {
  put_types(s);
  require_shape(s, 2, updates_for(s, s.shape(0), 1), "has to be the slices that the indices name");
  same(s);
}
void combine_slices_rule(Shaper& s) {
  require_type(s, 0, {kHalf, kFloat, kInt32, kInt8, kUint8});
  put_slices_rule(s);
}
void scatter_nd(Shaper& s) {
  const Shape whole = shape_from(s, 2);
  require_indices(s, 0);
  require_shape(s, 1, updates_for(s, whole, 0), "has to be the slices that the indices name");
  Dim room = 1;
  for (const Dim& dim : whole.value_or(Sizes{unknown})) room = room * dim;
  if (room == Dim(0) && numbers_in(s, 0) != Dim(0)) throw Refused("updates " + s.describe(1) + " for an empty result");
  s.out(s.dtype(1), whole);
}

void segments_rule(Shaper& s, const Dim& segments) {
  require_indices(s, 1);
  s.match(pattern<"*i *rest, *i -> *rest">);
  Shape out = s.shape(0);
  const Shape ids = s.shape(1);
  if (!out || !ids) return s.out(s.dtype(0), std::nullopt);
  out->erase(out->begin(), out->begin() + rank_of(ids));
  out->insert(out->begin(), segments);
  s.out(s.dtype(0), out);
}
void segments_by_input(Shaper& s) { one_number(s, 2, 3), segments_rule(s, at_or_unknown(s.values(2), 0)); }
void segments_by_attr(Shaper& s) {
  require_type(s, 1, {kInt32});
  segments_rule(s, s.integer("num_segments"));
}
at::Tensor segments(const Args& a, kernels::Segment how) {
  return kernels::unsorted_segments(a[0], a[1], a.knows("num_segments") ? a.integer("num_segments") : a.need(2).at(0),
                                    how);
}

// ---- what is found: only the values tell how much -------------------------------------------------------------------
void list(const Shaper& s, size_t input) {
  require_type(s, input, {kFloat, kHalf, kInt8, kInt16, kUint8, kInt32, kInt64, kDouble});
  if (const Shape shape = s.shape(input); shape && shape->size() != 1)
    throw Refused("it takes lists, input " + std::to_string(input) + " is " + s.describe(input));
}
void list_difference_rule(Shaper& s) {
  list(s, 0), list(s, 1), require_same_dtype(s, 0, 2);
  const Shape found =
      s.there(0) && s.there(1) ? sized_as(kernels::list_difference(s[0], s[1]).places) : known({unknown});
  s.out(0, s.dtype(0), found), s.out(1, int32_t(s.integer("out_idx")), found);
}
void hits_rule(Shaper& s) {
  require_type(s, 0, {kInt64}), require_type(s, 1, {kInt64});
  s.match(pattern<"_ k, n -> n">);
  const Shape classes = s.shape(0);
  if (classes && (*classes)[1] != Dim(s.integer("num_true")))
    throw Refused(c10::str("num_true=", s.integer("num_true"), " for ", s.describe(0)));
  const Shape found = s.there(0) && s.there(1) ? sized_as(kernels::accidental_hits(s[0], s[1]).rows) : known({unknown});
  s.out(0, kInt32, found), s.out(1, kInt64, found), s.out(2, kFloat, found);
}
void top_rule(Shaper& s) {
  require_type(s, 0, {kFloat}), require_indices(s, 1);
  s.match(pattern<"n _, n -> n">);
  one_number(s, 2, 3);
  s.out(kBool, s.shape(1));
}
void lookup_rule(Shaper& s) {
  for (const size_t i : {1, 2}) require_type(s, i, {kInt8, kInt16, kInt32, kInt64});
  one_number(s, 2, 3);
  s.out(pattern<"_ *rest, *i, *_ -> *i *rest">);
}

}  // namespace

void combines_rows(Shaper& s) {
  require_type(s, 0, {kHalf, kFloat, kInt32, kInt8, kUint8});
  put_rows_rule(s);
}

// By rows of the first dimension, in place; by slices in place, and in a copy.
#define TO_VAR " -> var | use_locking:Bool=false"
#define IN_PLACE "var indices updates" TO_VAR
#define COPIED "x indices updates -> y"
const Family scatter_rows = {
    ROW(ScatterUpdate, IN_PLACE, put_rows_rule, kernels::scattered_slices(a[0], a[1].unsqueeze(-1), a[2])),
    ROW(ScatterSub, IN_PLACE, combines_rows, kernels::subtracted_slices(a[0], a[1].unsqueeze(-1), a[2])),
    ROW(ScatterMul, IN_PLACE, combines_rows, kernels::combined_rows(a[0], a[1], a[2], kernels::Combined::product)),
    ROW(ScatterDiv, IN_PLACE, combines_rows, kernels::combined_rows(a[0], a[1], a[2], kernels::Combined::quotient)),
    ROW(ScatterMax, IN_PLACE, combines_rows, kernels::combined_rows(a[0], a[1], a[2], kernels::Combined::most)),
    ROW(ScatterMin, IN_PLACE, combines_rows, kernels::combined_rows(a[0], a[1], a[2], kernels::Combined::least)),
    ROW(ScatterNdUpdate, IN_PLACE, put_slices_rule, kernels::scattered_slices(a[0], a[1], a[2])),
    ROW(ScatterNdAdd, IN_PLACE, put_slices_rule, kernels::added_slices(a[0], a[1], a[2])),
    ROW(ScatterNdMax, IN_PLACE, put_slices_rule, kernels::combined_slices(a[0], a[1], a[2], kernels::Combined::most)),
    ROW(ScatterNdMin, IN_PLACE, put_slices_rule, kernels::combined_slices(a[0], a[1], a[2], kernels::Combined::least)),
    ROW(ScatterNdSub, IN_PLACE, combine_slices_rule, kernels::subtracted_slices(a[0], a[1], a[2])),
    ROW(TensorScatterUpdate, COPIED, put_slices_rule, kernels::scattered_slices(a[0], a[1], a[2])),
    ROW(TensorScatterAdd, COPIED, combine_slices_rule, kernels::added_slices(a[0], a[1], a[2])),
    ROW(TensorScatterSub, COPIED, combine_slices_rule, kernels::subtracted_slices(a[0], a[1], a[2])),
    ROW(ScatterNonAliasingAdd, COPIED, put_slices_rule, kernels::added_slices(a[0], a[1], a[2])),
    ROW(TensorScatterMax, "input indices updates -> output", put_slices_rule,
        kernels::combined_slices(a[0], a[1], a[2], kernels::Combined::most)),
    ROW(TensorScatterMin, "input indices updates -> output", put_slices_rule,
        kernels::combined_slices(a[0], a[1], a[2], kernels::Combined::least)),
    ROW(ScatterNd, "indices x shape -> y", scatter_nd, kernels::slices_of_zeros(a.need(2), a[0], a[1])),

#define SEGMENTS(type, with_attribute, more, how)                                                           \
  ROW(type, "x segment_ids num_segments -> y" more, segments_by_input, segments(a, kernels::Segment::how)), \
      ROW(with_attribute, "x segment_ids -> y | num_segments:Int", segments_by_attr,                        \
          segments(a, kernels::Segment::how))
    SEGMENTS(UnsortedSegmentSum, UnsortedSegmentSumD, " | is_preprocessed:Bool=false", sum),
    SEGMENTS(UnsortedSegmentProd, UnsortedSegmentProdD, "", product),
    SEGMENTS(UnsortedSegmentMax, UnsortedSegmentMaxD, "", most),
    SEGMENTS(UnsortedSegmentMin, UnsortedSegmentMinD, "", least),

    FITTED(ListDiff, "x y -> out idx | out_idx:Type=3", list_difference_rule, kernels::list_difference(a[0], a[1])),
    FITTED(ComputeAccidentalHits,
           "true_classes sampled_candidates -> indices ids weights | num_true:Int seed:Int=0 seed2:Int=0", hits_rule,
           kernels::accidental_hits(a[0], a[1])),
    ROW(InTopK, "x1 x2 k -> y", top_rule, kernels::in_top_k(a[0], a[1], a.need(2).at(0))),
    ROW(InTopKV2, "predictions targets k -> precision", top_rule, kernels::in_top_k(a[0], a[1], a.need(2).at(0))),
    // MindSpore declares it; the AI CPU kernel is CANN's.
    ROW(EmbeddingLookup, "param indices offset -> output", lookup_rule,
        kernels::looked_up(a[0], a[1], int64_t(*a.number(2)))),
};

}  // namespace sim::ge_table
