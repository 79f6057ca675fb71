// Parts of a tensor: slices, gathering and scattering by index.
#include "ge/rows/rows.h"
#include "kernels/index.h"
#include "kernels/scatter.h"
#include "kernels/shape.h"

namespace sim::ge_table {
namespace {

// ---- slicing ----------------------------------------------------------------------------------------------------
// Inputs axes and strides may be absent.
kernels::StridedSlice strided_slice_of(const Call& call, bool with_axes) {
  const size_t strides = with_axes ? 4 : 3;
  return {.begin = call.need(1),
          .end = call.need(2),
          .strides = call.has(strides) ? call.need(strides) : Dims{},
          .begin_mask = call.integer("begin_mask"),
          .end_mask = call.integer("end_mask"),
          .ellipsis_mask = call.integer("ellipsis_mask"),
          .new_axis_mask = call.integer("new_axis_mask"),
          .shrink_mask = call.integer("shrink_axis_mask"),
          .axes = with_axes && call.has(3) ? call.need(3) : Dims{}};
}

// The shape of a slice of a tensor of so many elements, of its rank alone where a boundary is not known.
Shape slice_shape(const Shaper& s, const Shape& shape, bool with_axes) {
  bool known = s.values(1) && s.values(2);
  for (size_t i = 3; i <= 3u + with_axes; ++i) known = known && (!s.has(i) || s.values(i));
  if (!shape || !known) {
    const bool same_rank = !s.integer("shrink_axis_mask") && !s.integer("new_axis_mask");
    return same_rank ? all_unknown(shape) : std::nullopt;
  }
  Dims sizes;
  for (const Dim& dim : *shape) sizes.push_back(dim.known() ? dim.size() : static_cast<int64_t>(ge_unknown_dim));
  Sizes out;
  for (const kernels::Cut& one : kernels::cuts_of(strided_slice_of(s, with_axes), sizes))
    if (!one.dropped) out.push_back(one.count == ge_unknown_dim ? unknown : Dim(one.count));
  return out;
}

void strided(Shaper& s, bool with_axes) { s.out(s.dtype(0), slice_shape(s, s.shape(0), with_axes)); }
void strided_slice(Shaper& s) { strided(s, false); }
void strided_slice_grad(Shaper& s) {
  const Shape whole = shape_from(s, 0);
  require_shape(s, 4, slice_shape(s, whole, false), "has to have the shape of the slice");
  s.out(s.dtype(4), whole);
}
void strided_slice_assign(Shaper& s) {
  require_type(s, 4, {s.dtype(0)});
  require_shape(s, 4, slice_shape(s, s.shape(0), false), "has to have the shape of the slice");
  same(s);
}
void strided_slice_v2(Shaper& s) { strided(s, true); }

at::Tensor cut(const Args& a, bool with_axes) {
  return kernels::cut(a[0], kernels::cuts_of(strided_slice_of(a, with_axes), a[0].sizes()));
}

void slice_rule(Shaper& s) {
  Shape shape = s.shape(0);
  Values offsets = s.values(1), sizes = s.values(2);
  if (shape && offsets && sizes) {
    if (offsets->size() != shape->size() || sizes->size() != shape->size())
      throw Refused("it takes an offset and a size for each dimension of " + s.describe(0));
    for (size_t i = 0; i < shape->size(); ++i) {
      const int64_t size = sizes->at(i), from = offsets->at(i);
      if (from < 0 || (*shape)[i] < from || (size >= 0 && (*shape)[i] < from + size))
        throw Refused(c10::str("offset ", from, " and size ", size, " of dimension ", i, " of ", s.describe(0)));
      (*shape)[i] = size >= 0 ? Dim(size) : (*shape)[i] - offsets->at(i);
    }
  } else {
    shape = all_unknown(shape);
  }
  s.out(s.dtype(0), shape);
}

// ---- indexing ---------------------------------------------------------------------------------------------------
void gather_along(Shaper& s, const Values& axis) {
  Shape data = s.shape(0), indices = s.shape(1);
  const int64_t batch = s.knows("batch_dims") ? s.integer("batch_dims") : 0;
  if (batch < 0) throw Refused("a negative batch_dims is not simulated");
  Shape out;
  if (data && indices && axis) {
    int64_t at = wrap(axis->at(0), rank_of(data));
    if (data->empty()) throw Refused("it gathers along an axis, its input x is " + s.describe(0));
    if (batch > at || batch > rank_of(indices))
      throw Refused(c10::str("batch_dims=", batch, " for axis ", at, " and indices ", s.describe(1)));
    out = data;
    out->erase(at);
    out->insert(out->begin() + at, indices->begin() + batch, indices->end());
  }
  s.out(s.dtype(0), out);
}
void gather(Shaper& s) { gather_along(s, Dims{0}); }
void gather_v2(Shaper& s) { gather_along(s, s.values(2)); }

// Refuses where `of`, but for the axis, has more of a dimension than `within`.
void lies_within(const Call& s, size_t of, size_t within, int64_t axis) {
  const Shape a = s.shape(of), b = s.shape(within);
  if (!a || !b) return;
  bool fits = a->size() == b->size();
  for (size_t i = 0; fits && i < a->size(); ++i) fits = int64_t(i) == axis || !((*a)[i] > (*b)[i]);
  if (!fits) throw Refused(s.describe(of) + " does not lie within " + s.describe(within));
}
int64_t axis_of(const Call& s, const char* attr) {
  const Shape shape = s.shape(0);
  return shape ? wrap(s.integer(attr), rank_of(shape)) : 0;
}

void gather_elements(Shaper& s) {
  lies_within(s, 1, 0, axis_of(s, "dim"));
  s.out(s.dtype(0), s.shape(1));
}
void gather_elements_grad(Shaper& s) {
  lies_within(s, 1, 0, axis_of(s, "dim"));
  require_shape(s, 2, s.shape(1), "has to have the shape of the index");
  same(s);
}
// As kernels::scattered numbers them.
int64_t scatter_reduction(const Call& a) {
  const std::string name = a.text("reduction");
  if (name != "none" && name != "add") throw Refused("reduction '" + name + "' is not simulated");
  return name == "add";
}
void scatter_elements(Shaper& s) {
  const int64_t axis = axis_of(s, "axis");
  lies_within(s, 1, 0, axis), lies_within(s, 1, 2, -1);
  scatter_reduction(s);
  same(s);
}
// Of a row for each index along the axis; without it, of one number.
void along_indices(Shaper& s, const char* attr, bool kept) {
  const int64_t axis = axis_of(s, attr);
  one_number(s, 3, 4);
  same(s);
  Shape expected = s.shape(0);
  const Shape indices = s.shape(1), updates = s.shape(2);
  if (!expected || !indices || !updates) return;
  if (!kept) expected->erase(axis);
  else if (indices->size() == 1 && !expected->empty()) (*expected)[size_t(axis)] = (*indices)[0];
  if (!may_be(updates, expected) || (!kept && !may_be(indices, expected)))
    throw Refused("updates " + s.describe(2) + " and indices " + s.describe(1) + " do not fit " + s.describe(0));
}
void added_along(Shaper& s) { along_indices(s, "axis", true); }
void put_along(Shaper& s) { along_indices(s, "dimension", false); }

// indices_mask says which dimensions are indexed; those after the mask's end are not. As in ATen, the broadcast indices
// stand where the first indexed dimension was, or in front where indexed dimensions are not neighbours.
Shape indexed_sizes(const Call& s, Dims mask, size_t indices) {
  Shape x = s.shape(0), index = known({});
  for (size_t i = indices; i < s.count(); ++i) index = broadcast_shapes(index, s.shape(i), s);
  if (!x || !index) return std::nullopt;
  if (mask.size() > x->size())
    throw Refused("a mask of " + std::to_string(mask.size()) + " dimensions for " + s.describe(0));
  mask.resize(x->size(), 0);
  Sizes out;
  size_t first = 0, last = 0, indexed = 0;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (!mask[i]) {
      out.push_back((*x)[i]);
    } else {
      if (!indexed++) first = i;
      last = i;
    }
  }
  if (indexed + indices != s.count())
    throw Refused("its mask names " + std::to_string(indexed) + " dimensions for " +
                  std::to_string(s.count() - indices) + " indices");
  bool neighbours = indexed == 0 || last - first + 1 == indexed;
  out.insert(out.begin() + static_cast<int64_t>(neighbours ? first : 0), index->begin(), index->end());
  return out;
}
void index_by_tensor(Shaper& s) { s.out(s.dtype(0), indexed_sizes(s, s.integers("indices_mask"), 1)); }

void embedding_grad(Shaper& s) {
  const Matched found = s.match(pattern<"*i d, *i -> *i d">);
  s.out(s.dtype(0), known({s.integer("num_weights"), found[0]}));
}

void one_hot(Shaper& s) {
  Shape shape = s.shape(0);
  one_number(s, 2, 4);
  if (shape) {
    int64_t axis = wrap(s.integer("axis"), rank_of(shape) + 1);
    shape->insert(shape->begin() + axis, at_or_unknown(s.values(1), 0));
  }
  s.out(s.dtype(2), shape);
}
// ---- a view of the input's elements, which lie one behind the other ------------------------------------------------
void strided_view_rule(Shaper& s) {
  s.match(pattern<"*_, n, n, *_ -> n">);
  one_number(s, 3, 4);
  s.out(s.dtype(0), shape_from(s, 1));
}
void view_copy_rule(Shaper& s) {
  s.match(pattern<"*_, n, n, *_, *_, n, n, *_ -> n">);
  one_number(s, 3, 4), one_number(s, 7, 8);
  same(s);
}
// Of an input and the three behind it.
kernels::View view_of(const Args& a, size_t of) {
  const Dims offset = a.need(of + 3);
  if (offset.size() != 1) throw Refused("a storage offset is one number");
  return {a.need(of + 1), a.need(of + 2), offset[0]};
}

// In place nothing but the view is touched: where it begins behind dst's first element, dst is described as longer
// than what is left of it.
at::Tensor with_view(const Args& a) {
  at::Tensor out = a.output(0);
  if (out.data_ptr() != a[0].data_ptr()) out.copy_(a[0]);
  kernels::replace_view(out, view_of(a, 0), a[4], view_of(a, 4));
  return out;
}

// A mask has a 1 for each dimension that one of the inputs behind takes; those after its end are not indexed.
Tensors indices_behind(const Args& a, const Dims& mask, size_t next) {
  Tensors indices;
  for (const int64_t taken : mask) indices.push_back(taken ? a[next++].to(at::kLong) : at::Tensor());
  return indices;
}
at::Tensor with_values(const Args& a) {
  const Tensors indices = indices_behind(a, a.need(2), 4);
  at::Tensor out = a.output(0);
  if (out.data_ptr() != a[0].data_ptr()) out.copy_(a[0]);
  kernels::put_indexed(out, indices, a[1], a.flag("accumulate"));
  return out;
}

void index_sizes_rule(Shaper& s) {
  const Shape told = shape_from(s, 2);
  if (const Values mask = s.values(1); mask && !may_be(indexed_sizes(s, *mask, 3), told))
    throw Refused(s.describe(0) + " by these indices is not what indexed_strides say");
  s.out(s.dtype(0), told);
}
void index_put_rule(Shaper& s) {
  if (const Values mask = s.values(2)) {
    const Shape room = indexed_sizes(s, *mask, 4);
    if (!may_be(broadcast_shapes(room, s.shape(1), s), room))
      throw Refused("values " + s.describe(1) + " for what the indices name of " + s.describe(0));
  }
  same(s);
}

// ---- what is found: only the values tell how much -------------------------------------------------------------------
// Where they are there, as they are to a graph that waited for them, they do so.
void nonzero_rule(Shaper& s) {
  if (!s.there(0)) return s.out(int32_t(s.integer("dtype")), std::nullopt);
  s.out(int32_t(s.integer("dtype")), sized_as(kernels::places_of_nonzero(s[0], s.flag("transpose"))));
}

void where_rule(Shaper& s) { s.out(kInt64, s.shape(0) ? known({unknown, Dim(rank_of(s.shape(0)))}) : std::nullopt); }

// The slices along an axis, each once: where the first of them stood, how many they are and which of them each is.
void unique_slices_rule(Shaper& s) {
  const Values axis = s.values(1);
  std::optional<kernels::Slices> found;
  if (axis && s.there(0)) found = kernels::unique_slices(s[0], axis->at(0));
  s.out(0, s.dtype(0), found ? sized_as(found->slices) : std::nullopt);
  s.out(1, kInt64, found ? sized_as(found->first) : std::nullopt);
  s.out(2, kInt64, found ? sized_as(found->counts) : std::nullopt);
  s.out(3, kInt64, found ? sized_as(found->inverse) : std::nullopt);
}

void masked_scatter(Shaper& s) {
  within_first(s, 1, 2);
  same(s);
}
void search_rule(Shaper& s) {
  if (const Shape sorted = s.shape(0); sorted && sorted->size() != 1) s.match(pattern<"*rows _, *rows _ -> *rows">);
  s.out(static_cast<int32_t>(s.integer("dtype")), s.shape(1));
}

void bucket_rule(Shaper& s) {
  require_type(s, 0, {kInt32, kInt64, kDouble, kFloat});
  const auto type = static_cast<int32_t>(s.integer("dtype"));
  if (type != kInt32 && type != kInt64) throw Refused("dtype is neither int32 nor int64");
  s.out(type, s.shape(0));
}

}  // namespace

#define STRIDED_MASKS "begin_mask:Int=0 end_mask:Int=0 ellipsis_mask:Int=0 new_axis_mask:Int=0 shrink_axis_mask:Int=0"
const Family index_rows = {
    ROW(StridedSlice, "x begin end strides -> y | " STRIDED_MASKS, strided_slice, cut(a, false)),
    ROW(StridedSliceV2, "x begin end axes? strides? -> y | " STRIDED_MASKS, strided_slice_v2, cut(a, true)),
    ROW(StridedSliceGrad, "shape begin end strides dy -> output | " STRIDED_MASKS, strided_slice_grad,
        kernels::put_back(a[4], a.need(0), kernels::cuts_of(strided_slice_of(a, false), a.need(0)))),
    ROW(StridedSliceAssign, "var begin end strides input_value -> var | " STRIDED_MASKS, strided_slice_assign,
        kernels::put_into(a[0], a[4], kernels::cuts_of(strided_slice_of(a, false), a[0].sizes()))),
    ROW(Slice, "x offsets size -> y", slice_rule, kernels::cut_out(a[0], a.need(1), a.output(0).sizes())),

    ROW(Gather,
        "x indices -> y | validate_indices:Bool=true batch_dims:Int=0 is_preprocessed:Bool=false "
        "negative_index_support:Bool=false",
        gather, kernels::taken(a[0], 0, a[1])),
    ROW(GatherV2, "x indices axis -> y | batch_dims:Int=0 is_preprocessed:Bool=false negative_index_support:Bool=false",
        gather_v2, kernels::taken(a[0], a.need(2).at(0), a[1], a.integer("batch_dims"))),
    ROW(GatherElements, "x index -> y | dim:Int=0", gather_elements, kernels::gathered(a[0], a.integer("dim"), a[1])),
    // MindSpore's, for a device's AI CPU: its package has the kernel for aarch64 alone.
    ROW(CustGatherDGradV2, "x index grad -> output | dim:Int", gather_elements_grad,
        kernels::gathered_backward(a[2], a[0], a.integer("dim"), a[1])),
    ROW(ScatterElements, "data indices updates -> y | axis:Int=0 reduction:String=none", scatter_elements,
        kernels::scattered_from_both_ends(a[0], a.integer("axis"), a[1], a[2], scatter_reduction(a))),
    ROW(IndexByTensor, "x indices* -> y | indices_mask:ListInt={}", index_by_tensor,
        indexed(a[0], indices_behind(a, a.integers("indices_mask"), 1))),
    ROW(EmbeddingDenseGrad, "grad indices -> y | num_weights:Int padding_idx:Int=-1 scale_grad_by_freq:Bool=false",
        embedding_grad,
        kernels::embedding_backward(a[0], a[1], a.integer("num_weights"), a.integer("padding_idx"),
                                    a.flag("scale_grad_by_freq"))),
    ROW(InplaceIndexAdd, "var indices updates alpha? -> var | axis:Int", added_along,
        at::index_add(a[0], a.integer("axis"), a[1].to(at::kLong), a[2], a.has(3) ? number_of(a[3]) : at::Scalar(1))),
    ROW(AsStrided, "x size stride storage_offset -> y", strided_view_rule, kernels::strided_view(a[0], view_of(a, 0))),
    ROW(ViewCopy, "dst dst_size dst_stride dst_storage_offset src src_size src_stride src_storage_offset -> dst",
        view_copy_rule, with_view(a)),
    ROW(SearchSorted, "sorted_sequence values sorter? -> out | dtype:Type=9 right:Bool=false", search_rule,
        at::searchsorted(a[0], a[1], a.out_dtype() == at::kInt, a.flag("right"), std::nullopt, optional(a[2]))),
    ROW(Bucketize, "x -> y | boundaries:ListFloat dtype:Type=3 right:Bool=true", bucket_rule,
        at::searchsorted(at::tensor(a.reals("boundaries")).to(at::kDouble), a[0].to(at::kDouble),
                         a.out_dtype() == at::kInt, a.flag("right"))),
    ROW(ScatterAdd, "var indices updates -> var | use_locking:Bool=false", combines_rows,
        kernels::added_slices(a[0], a[1].unsqueeze(-1), a[2])),
    FITTED(Where, "x -> y", where_rule, kernels::places_of_nonzero(a[0], false)),
    FITTED(NonZero, "x -> y | transpose:Bool=false dtype:Type=9", nonzero_rule,
           kernels::places_of_nonzero(a[0], a.flag("transpose"))),
    FITTED(UniqueWithCountsExt2,
           "x axis -> y idx count inverse | out_idx:Type=9 sorted:Bool=true return_inverse:Bool=true",
           unique_slices_rule, kernels::unique_slices(a[0], a.need(1).at(0))),
    // indexed_strides are the sizes of the result.
    ROW(Index, "x indexed_sizes indexed_strides indices* -> y", index_sizes_rule,
        indexed(a[0], indices_behind(a, a.need(1), 3))),
    ROW(IndexPutV2, "x value indexed_sizes indexed_strides indices* -> x | accumulate:Bool=false", index_put_rule,
        with_values(a)),
    ROW(MaskedScatter, "x mask updates -> y", masked_scatter, a[0].masked_scatter(a[1].to(at::kBool), a[2])),
    // assist1 is 0 and assist2 the value where it fills; elsewhere they are 1 and 0.
    ROW(IndexFillD, "x assist1 assist2 -> y | dim:Int", (pattern<"*x, *x, *x -> *x">), at::addcmul(a[2], a[0], a[1])),
    ROW(ArgMaxGrad, "var indices updates -> y | dimension:Int", put_along,
        at::scatter(a[0], a.integer("dimension"), a[1].to(at::kLong).unsqueeze(a.integer("dimension")),
                    a[2].unsqueeze(a.integer("dimension")))),
    {"Scatter", "var indices updates -> var | reduce:String axis:Int=0", "aclnnInplaceScatterUpdate data=var -reduce",
     [](Shaper& s) { s.only("reduce", "update"); }},
    ROW(OneHot, "x depth on_value off_value -> y | axis:Int=-1", one_hot,
        kernels::one_hot(a[0], a.need(1).at(0), a[2], a[3], a.integer("axis"))),
};

}  // namespace sim::ge_table
