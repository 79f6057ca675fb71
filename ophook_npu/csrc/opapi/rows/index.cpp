// Indexing, gathering and scattering; windows and slices; places in sorted sequences.
#include "kernels/index.h"
#include "kernels/mx_fused.h"
#include "kernels/scatter.h"
#include "kernels/shape.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;

namespace {

// A dimension that is not indexed arrives as an empty tensor.
Tensors indices_of(Tensors given) {
  for (at::Tensor& index : given)
    if (index.defined() && index.dim() == 1 && index.numel() == 0) index = at::Tensor();
  return given;
}

// None where masks are among the indices: only their values know. What is empty is not looked at.
std::optional<Dims> indexed_sizes(const at::Tensor& self, const Tensors& indices) {
  if (!self.dim() && indices.size() == 1) return std::nullopt;  // its values say how many are taken
  SIM_CHECK(int64_t(indices.size()) <= self.dim(), indices.size(), " indices for a tensor of shape ", self.sizes());
  Dims places, others;
  size_t begin = 0, given = 0;  // the first indexed dimension, and how many there are
  bool together = true;
  for (size_t i = 0; i < size_t(self.dim()); ++i) {
    if (i >= indices.size() || !indices[i].defined()) {
      others.push_back(self.size(int64_t(i)));
      continue;
    }
    if (indices[i].scalar_type() == at::kBool || indices[i].scalar_type() == at::kByte) return std::nullopt;
    if (!given) begin = i;
    together = together && i == begin + given++;
    places = kernels::broadcast_sizes(places, indices[i].sizes());
  }
  others.insert(others.begin() + int64_t(together ? begin : 0), places.begin(), places.end());
  return others;
}
void indexed_like(const at::Tensor& out, const at::Tensor& self, const Tensors& indices) {
  if (!out.numel()) return;
  const auto sizes = indexed_sizes(self, indices);
  if (!sizes) return;
  // Where the first dimensions have an index each, CANN computes in the shape of the output, whatever that is.
  const bool leading = std::all_of(indices.begin(), indices.end(), [](const auto& one) { return one.defined(); });
  leading ? sim::counted("the output", out, *sizes) : holds(out, *sizes);
}
// Values are broadcast to what is put.
void put_like(const at::Tensor& self, const Tensors& indices, const at::Tensor& values) {
  const auto sizes = self.numel() ? indexed_sizes(self, indices) : std::nullopt;
  SIM_CHECK(!sizes || kernels::broadcast_sizes(*sizes, values.sizes()) == *sizes, "values ", values.sizes(),
            " for places of shape ", at::IntArrayRef(*sizes));
}

// As many elements as could be selected.
void room_for_all(const at::Tensor& out, const at::Tensor& self, const at::Tensor& mask) {
  shape(out, {int64_t(c10::multiply_integers(kernels::broadcast_sizes(self.sizes(), mask.sizes())))});
}

void in_a_row(const at::Tensor& self, int64_t dim, const at::Tensor& indices) {
  wrap(dim, self);
  SIM_CHECK(indices.dim() <= 1, "indices of shape ", indices.sizes(), "; one dimension at most");
}

void selected(const at::Tensor& out, const at::Tensor& self, int64_t dim, const at::Tensor& indices) {
  in_a_row(self, dim, indices);
  holds(out, self.dim() ? kernels::taken_sizes(self, dim, {indices.numel()}) : Dims{});
}

void in_bags(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets, bool include_last,
             bool by_maximum, const at::Tensor& out, const at::Tensor& bags, const at::Tensor& sizes,
             const at::Tensor& winners) {
  SIM_CHECK(weight.dim() == 2 && offsets.dim() == 1, "a weight of shape ", weight.sizes(), " and offsets of shape ",
            offsets.sizes(), "; 2 dimensions and 1 expected");
  const int64_t given = offsets.size(0), count = given - include_last;
  shape(out, {count, weight.size(1)});
  const auto one_of = [](const at::Tensor& output, std::initializer_list<Dims> shapes) {
    SIM_CHECK(!output.defined() || output.numel() == 0 ||
                  std::any_of(shapes.begin(), shapes.end(), [&](const Dims& each) { return output.sizes() == each; }),
              "an output has shape ", output.sizes(), ", expected ", *shapes.begin());
  };
  one_of(bags, {{indices.numel()}, {indices.dim() ? indices.size(0) : 1}}), one_of(sizes, {{count}, {given}});
  if (by_maximum) one_of(winners, {{count, weight.size(1)}});
  else one_of(winners, {{count}, {given}, {count, weight.size(1)}});
}

void one_hot_like(const at::Tensor& out, const at::Tensor& self, int64_t classes, int64_t axis) {
  SIM_CHECK(self.numel() ? classes >= 0 : classes > 0, "numClasses is ", classes,
            "; allowed: ", self.numel() ? "0 or more" : "1 or more for an empty tensor");
  Dims sizes = self.sizes().vec();
  sizes.insert(sizes.begin() + c10::maybe_wrap_dim(axis, self.dim() + 1), classes);
  holds(out, sizes);
}

// A window for each step along dim, whose numbers are the last dimension.
void unfolded_like(const at::Tensor& grad, Dims sizes, int64_t dim, int64_t size, int64_t step) {
  const size_t at = size_t(c10::maybe_wrap_dim(dim, int64_t(sizes.size())));
  SIM_CHECK(size <= sizes[at], "size ", size, " of a dimension of ", sizes[at]);
  sizes[at] = (sizes[at] - size) / step + 1;
  sizes.push_back(size);
  shape(grad, sizes);
}

// A slice of source along dim for each index; one number stands for one slice.
void slices_like(const at::Tensor& self, int64_t dim, const at::Tensor& indices, const at::Tensor& source) {
  wrap(dim, self);
  if (!source.dim()) {
    SIM_CHECK(indices.numel() == 1, "source is one number, index has ", indices.numel());
    return;
  }
  SIM_CHECK(source.size(self.dim() ? dim : 0) == indices.numel(), "an index for each slice of ", source.sizes(),
            " along dimension ", dim, " expected, got ", indices.numel());
  if (!self.dim()) return;
  Dims sizes = self.sizes().vec();
  sizes[size_t(wrap(dim, self))] = indices.numel();
  shape(source, sizes);
}

// FLOAT16 goes with scales of FLOAT, and BFLOAT16 with its own.
void quant_scattered(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates,
                     const at::Tensor& scales, const at::Tensor& zero_points, int64_t axis, int64_t quant_axis,
                     int64_t reduction) {
  SIM_CHECK_DTYPE((updates.scalar_type() == at::kHalf ? at::kFloat : at::kBFloat16) == scales.scalar_type(),
                  "updates are ", updates.scalar_type(), " and quantScales ", scales.scalar_type());
  SIM_CHECK(reduction == 1, "reduction ", reduction, "; allowed: 1 (update)");
  SIM_CHECK(quant_axis == -1 || quant_axis == self.dim() - 1, "quant_axis ", quant_axis,
            " is not simulated; allowed: the last");
  SIM_CHECK(indices.size(0) == updates.size(0) && (indices.dim() == 1 || (indices.dim() == 2 && indices.size(1) == 2)),
            "an index for each of ", updates.size(0), " batches expected, or two, got ", indices.sizes());
  kernels::rows_within(self, updates, axis);
  sim::counted("quantScales", scales, {updates.size(-1)}),
      sim::counted("quantZeroPoints", zero_points, {updates.size(-1)});
}

// An output of the bags is filled where both the caller and ATen have it.
void write_bags(const at::Tensor& out, const at::Tensor& bags, const at::Tensor& sizes, const at::Tensor& winners,
                const kernels::EmbeddingBag& found) {
  write(out, found.result);
  for (const auto& [to, from] : {std::pair{bags, found.bags}, {sizes, found.sizes}, {winners, found.winners}})
    if (to.defined() && from.defined() && to.numel() == from.numel()) write_asked(to, from);
}

// A row of source for each index; a tensor without dimensions has one.
void added_rows(const at::Tensor& self, int64_t dim, const at::Tensor& indices, const at::Tensor& source) {
  const size_t along = size_t(wrap(dim, self));
  SIM_CHECK(indices.dim() <= 1, "index has shape ", indices.sizes(), ", one dimension expected");
  if (!self.dim()) return;
  Dims sizes = self.sizes().vec();
  sizes[along] = indices.numel();
  const bool single = !source.dim() && c10::multiply_integers(sizes) == 1;  // as of an index without dimensions
  SIM_CHECK(single || source.sizes() == sizes, "source has shape ", source.sizes(), ", expected ",
            at::IntArrayRef(sizes));
}

// The places that indices name are there: those beside dim, and in source, of which only so much is read.
void scattered_like(const at::Tensor& self, int64_t dim, const at::Tensor& indices, const at::Tensor& source = {}) {
  const int64_t along = wrap(dim, self);
  if (!indices.numel()) return;
  const auto fits = [&](const at::Tensor& other, bool everywhere) {
    bool held = std::max<int64_t>(other.dim(), 1) == std::max<int64_t>(indices.dim(), 1);
    for (int64_t i = 0; held && i < std::min(other.dim(), indices.dim()); ++i)
      held = (i == along && !everywhere) || indices.size(i) <= other.size(i);
    SIM_CHECK(held, "indices of shape ", indices.sizes(), " for a tensor of shape ", other.sizes(), " and dimension ",
              dim);
  };
  fits(self, false);
  if (source.defined()) fits(source, true);
}

void positive(const Dims& steps) {
  for (int64_t step : steps) SIM_CHECK(step > 0, "step ", step, "; allowed: 1 and more");
}

void sliced(const at::Tensor& self, const Dims& axes, const Dims& steps) {
  SIM_CHECK(self.dim(), "a tensor without dimensions has no slices");
  positive(steps);
  Dims seen;
  for (int64_t axis : axes) {
    const int64_t dim = wrap(axis, self);
    SIM_CHECK(std::find(seen.begin(), seen.end(), dim) == seen.end(), "axis ", axis, " is there twice");
    seen.push_back(dim);
  }
}

void filled_at(const at::Tensor& self, int64_t dim, const Dims& indices) {
  const int64_t along = wrap(dim, self), size = self.dim() ? self.size(along) : 1;
  if (!self.numel()) return;
  for (int64_t index : indices)
    SIM_CHECK(index >= -size && index < size, "index ", index, " of a dimension of size ", size);
}

// An empty tensor has no element that an index could name.
void from_some(const at::Tensor& self, const at::Tensor& indices) {
  SIM_CHECK(self.numel() || !indices.numel(), "indices of shape ", indices.sizes(), " for a tensor of shape ",
            self.sizes());
}

void one_for_each(const at::Tensor& indices, const at::Tensor& source) {
  SIM_CHECK(source.numel() == indices.numel(), "source ", source.sizes(), " for indices ", indices.sizes());
}

// Atlas A2 and A3 have no other reduction than the sum of FLOAT with what is there.
void reduced_as(const at::Tensor& self, int64_t reduction, bool include_self) {
  kernels::reduced_mode(reduction);
  const bool limited = product_is("Ascend910B") || product_is("Ascend910_93");
  SIM_CHECK(!limited || (self.scalar_type() == at::kFloat && reduction == 1 && include_self), "reduction ", reduction,
            " of ", self.scalar_type(), include_self ? "" : " without self",
            "; allowed on Atlas A2 and A3: 1 (sum) of FLOAT with self");
}

}  // namespace

// index, gather
ACLNN(Index, (In, self, List, indices, Out, out), indexed_like(out, self, indices_of(indices)),
      out.numel() ? write(out, indexed(self, indices_of(indices)).reshape(out.sizes())) : void())
ACLNN(IndexPutImpl, (Ref, self, List, indices, In, values, bool, accumulate, bool, unsafe),
      put_like(self, indices_of(indices), values), kernels::put_indexed(self, indices_of(indices), values, accumulate))
ACLNN(IndexSelect, (In, self, int64_t, dim, In, indices, Out, out), selected(out, self, dim, indices),
      write(out, at::index_select(self, dim, indices)))
ACLNN(GatherV2, (In, self, int64_t, dim, In, indices, Out, out),
      holds(out, kernels::taken_sizes(self, dim, kernels::one_at_least(indices))),
      write(out, kernels::taken(self, dim, indices).reshape(out.sizes())))
ACLNN(GatherV3, (In, self, int64_t, dim, In, indices, int64_t, batch_dims, int64_t, mode, Out, out),
      SIM_CHECK(batch_dims == 0, "batch_dims ", batch_dims, " is not simulated; allowed: 0");
      holds(out, kernels::taken_sizes(self, dim, indices.sizes())), write(out, kernels::taken(self, dim, indices)))
ACLNN(Gather, (In, self, int64_t, dim, In, indices, Out, out), (like(out, indices), scattered_like(self, dim, indices)),
      write(out, kernels::gathered(self, dim, indices)))
ACLNN(Take, (In, self, In, indices, Out, out), (kept(out, self), from_some(self, indices)),
      write(out, at::take(self, indices.to(at::kLong))))
ACLNN(GatherNd, (In, self, In, indices, bool, from_the_end, Out, out), shape(out, kernels::slices_sizes(self, indices)),
      write(out, kernels::slices_taken(self, indices, from_the_end)))
ACLNN(MaskedSelect, (In, self, In, mask, Resized, out), room_for_all(out.memory, self, mask),
      fit(out, at::masked_select(self, mask.to(at::kBool))))
ACLNN(Nonzero, (In, self, Resized, out), when_run(), fit(out, at::nonzero(self)))
ACLNN(NonzeroV2, (In, self, Resized, out), when_run(), fit(out, at::nonzero(self).t()))

// scatter
ACLNN(IndexAdd, (In, self, int64_t, dim, In, indices, In, source, Num, alpha, Out, out),
      (same_dtype({self, source, out}), added_rows(self, dim, indices, source)),
      write(out, at::index_add(self, dim, indices, source, alpha)))
ACLNN(IndexAddV2, (In, self, int64_t, dim, In, indices, In, source, Num, alpha, int64_t, mode, Out, out),
      (same_dtype({self, source, out}), added_rows(self, dim, indices, source)),
      write(out, at::index_add(self, dim, indices, source, alpha)))
ACLNN(IndexCopy, (In, self, int64_t, dim, In, indices, In, source, Out, out), slices_like(self, dim, indices, source),
      write(out, at::index_copy(self, dim, indices.to(at::kLong), source)))
ACLNN(InplaceIndexCopy, (Ref, self, int64_t, dim, In, indices, In, source), slices_like(self, dim, indices, source),
      self.index_copy_(dim, indices.to(at::kLong), source))
ACLNN(IndexFill, (In, self, int64_t, dim, In, indices, Num, value, Out, out),
      (like(out, self), in_a_row(self, dim, indices)),
      write(out, at::index_fill(self, dim, indices.to(at::kLong), value)))
ACLNN(InplaceIndexFill, (Ref, self, int64_t, dim, In, indices, Num, value), in_a_row(self, dim, indices),
      self.index_fill_(dim, indices.to(at::kLong), value))
ACLNN(IndexFillTensor, (In, self, int64_t, dim, Ints, indices, Num, value, Out, out), filled_at(self, dim, indices),
      write(out, kernels::index_filled(self, dim, indices, value)))
ACLNN(InplaceIndexFillTensor, (Ref, self, int64_t, dim, Ints, indices, Num, value), filled_at(self, dim, indices),
      write(self, kernels::index_filled(self, dim, indices, value)))
ACLNN(InplacePut, (Ref, self, In, indices, In, source, bool, accumulate),
      (one_for_each(indices, source), from_some(self, indices)), kernels::put(self, indices, source, accumulate))
ACLNN(Scatter, (In, self, int64_t, dim, In, indices, In, source, int64_t, reduction, Out, out),
      scattered_like(self, dim, indices, source), write(out, kernels::scattered(self, dim, indices, source, reduction)))
ACLNN(ScatterValue, (In, self, int64_t, dim, In, indices, Num, value, int64_t, reduction, Out, out),
      (kept(out, self), scattered_like(self, dim, indices)),
      write(out, kernels::scattered(self, dim, indices, value, reduction)))
ACLNN(InplaceScatter, (Ref, self, int64_t, dim, In, indices, In, source, int64_t, reduction),
      (same_dtype({self, source}), scattered_like(self, dim, indices, source)),
      write(self, kernels::scattered(self, dim, indices, source, reduction)))
ACLNN(InplaceScatterValue, (Ref, self, int64_t, dim, In, indices, Num, value, int64_t, reduction),
      scattered_like(self, dim, indices), write(self, kernels::scattered(self, dim, indices, value, reduction)))
ACLNN(ScatterAdd, (In, self, int64_t, dim, In, indices, In, source, Out, out),
      scattered_like(self, dim, indices, source), write(out, kernels::scattered(self, dim, indices, source, 1)))
ACLNN(ScatterReduce,
      (In, self, int64_t, dim, In, indices, In, source, int64_t, reduction, bool, include_self, Out, out),
      (reduced_as(self, reduction, include_self), scattered_like(self, dim, indices, source)),
      write(out, kernels::scatter_reduced(self, dim, indices, source, reduction, include_self)))
ACLNN(InplaceScatterReduce, (Ref, self, int64_t, dim, In, indices, In, source, int64_t, reduction, bool, include_self),
      (same_dtype({self, source}), reduced_as(self, reduction, include_self),
       scattered_like(self, dim, indices, source)),
      write(self, kernels::scatter_reduced(self, dim, indices, source, reduction, include_self)))
ACLNN(InplaceQuantScatter,
      (Ref, self, In, indices, In, updates, In, scales, In, zero_points, int64_t, axis, int64_t, quant_axis, int64_t,
       reduction),
      quant_scattered(self, indices, updates, scales, zero_points, axis, quant_axis, reduction),
      kernels::put_quantized_rows(self, indices, updates, scales, zero_points, axis))
ACLNN(InplaceQuantScatterV2,
      (Ref, self, In, indices, In, updates, In, scales, In, zero_points, int64_t, axis, int64_t, quant_axis, int64_t,
       reduction, Text, mode),
      quant_scattered(self, indices, updates, scales, zero_points, axis, quant_axis, reduction);
      sim::mx::rint_alone(mode, self), kernels::put_quantized_rows(self, indices, updates, scales, zero_points, axis))
ACLNN(InplaceScatterUpdate, (Ref, self, In, indices, In, updates, int64_t, axis),
      kernels::put_rows_like(self, indices, updates, axis), kernels::put_rows(self, indices, updates, axis))

// embedding
ACLNN(Embedding, (In, weight, In, indices, Out, out), kept(out, weight), write(out, at::embedding(weight, indices)))
ACLNN(EmbeddingDenseBackward, (In, grad, In, indices, uint64_t, weights, uint64_t, padding, bool, scaled, Out, out),
      (kept(out, grad), shape(out, {int64_t(weights), grad.size(-1)}), one_for_each(indices, grad.select(-1, 0))),
      write(out, kernels::embedding_backward(grad, indices, int64_t(weights), int64_t(padding), scaled)))
ACLNN(EmbeddingBag,
      (In, weight, In, indices, In, offsets, bool, scaled, int64_t, mode, bool, sparse, In, factors, bool, include_last,
       int64_t, padding, Out, out, Out, bags, Out, sizes, Out, winners),
      (kept(out, weight),
       in_bags(weight, indices, offsets, include_last, mode != 0 && mode != 1, out, bags, sizes, winners)),
      write_bags(out, bags, sizes, winners,
                 kernels::embedding_bag(weight, indices, offsets, scaled, mode, factors, include_last, padding)))
ACLNN(EmbeddingRenorm, (Ref, self, In, indices, double, max, double, p), when_run(),
      kernels::renorm_embedding(self, indices, max, p))
ACLNN(OneHot, (In, self, int64_t, classes, In, on, In, off, int64_t, axis, Out, out),
      (one_hot_like(out, self, classes, axis), a_number("onValue", on), a_number("offValue", off)),
      write(out, kernels::one_hot(self, classes, on, off, axis)))

ACLNN(Slice, (In, self, int64_t, dim, int64_t, start, int64_t, end, int64_t, step, Out, out),
      (sliced(self, {dim}, {step}),
       shape(out, kernels::sizes_of(kernels::cuts_along(self, {start}, {end}, {step}, {dim})))),
      write(out, kernels::cut(self, kernels::cuts_along(self, {start}, {end}, {step}, {dim}))))
ACLNN(SliceV2, (In, self, Ints, starts, Ints, ends, Ints, axes, Ints, steps, Out, out),
      (sliced(self, axes, steps), shape(out, kernels::sizes_of(kernels::cuts_along(self, starts, ends, steps, axes)))),
      write(out, kernels::cut(self, kernels::cuts_along(self, starts, ends, steps, axes))))
ACLNN(StridedSliceAssignV2, (Ref, self, In, value, Ints, begin, Ints, end, Ints, steps, Ints, axes),
      (positive(steps), same_dtype({self, value}),
       shape(value, kernels::sizes_of(kernels::cuts_along(self, begin, end, steps, axes)))),
      write(kernels::cut(self, kernels::cuts_along(self, begin, end, steps, axes)), value))
ACLNN(UnfoldGrad, (In, grad, Ints, sizes, int64_t, dim, int64_t, size, int64_t, step, Out, out),
      (shape(out, sizes), unfolded_like(grad, sizes, dim, size, step)),
      write(out, at::unfold_backward(wide(grad), sizes, dim, size, step)))
#define STRIDED_SLICE                                                                                    \
  (kernels::StridedSlice{NAMED(begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask), \
                         .shrink_mask = shrink_axis_mask})
ACLNN(StridedSlice,
      (In, self, Ints, begin, Ints, end, Ints, strides, int64_t, begin_mask, int64_t, end_mask, int64_t, ellipsis_mask,
       int64_t, new_axis_mask, int64_t, shrink_axis_mask, Out, out),
      kept(out, self);
      shape(out, kernels::sizes_of(kernels::cuts_of(STRIDED_SLICE, self.sizes()))),
      write(out, kernels::cut(self, kernels::cuts_of(STRIDED_SLICE, self.sizes()))))
// places in a sorted sequence
ACLNN(SearchSorted, (In, sequence, In, self, bool, int32, bool, right, In, sorter, Out, out), ,
      write(out,
            at::searchsorted(sequence.contiguous(), self.contiguous(), int32, right, std::nullopt, optional(sorter))))
ACLNN(SearchSorteds, (In, sequence, Num, self, bool, int32, bool, right, In, sorter, Out, out), one_element(out),
      write(out, at::searchsorted(sequence.contiguous(), self, int32, right, std::nullopt, optional(sorter))))
ACLNN(Bucketize, (In, self, In, boundaries, bool, int32, bool, right, Out, out), ,
      write(out, at::bucketize(self.contiguous(), boundaries.contiguous(), int32, right)))
