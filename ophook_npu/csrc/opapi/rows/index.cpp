// Indexing, gathering and scattering; joining, repeating and reordering.
#include "kernels/quant.h"
#include "opapi/aclnn.h"

#include <ATen/core/List.h>

using namespace sim::aclnn;
using namespace sim::quant;

namespace {

// A dimension that is not indexed arrives as an empty tensor.
c10::List<std::optional<at::Tensor>> indices_of(const Tensors& given) {
  c10::List<std::optional<at::Tensor>> indices;
  for (const at::Tensor& index : given) {
    const bool absent = !index.defined() || (index.dim() == 1 && index.numel() == 0);
    indices.push_back(absent
                          ? std::nullopt
                          : std::optional<at::Tensor>(index.scalar_type() == at::kInt ? index.to(at::kLong) : index));
  }
  return indices;
}

void index(const at::Tensor& self, const Tensors& given, const at::Tensor& out) {
  if (out.numel()) write(out, at::index(self, indices_of(given)));
}

// Where every index is empty there is nothing to put.
void index_put(at::Tensor& self, const Tensors& given, const at::Tensor& values, bool accumulate) {
  auto indices = indices_of(given);
  for (const std::optional<at::Tensor>& index : indices) {
    if (!index) continue;
    self.index_put_(indices, values, accumulate);
    return;
  }
}

// The indices' dimensions stand where the one they index stood.
at::Tensor taken(const at::Tensor& self, int64_t dim, const at::Tensor& indices) {
  const int64_t at = wrap(dim, self);
  Dims sizes = self.sizes().vec();
  sizes.erase(at);
  sizes.insert(sizes.begin() + at, indices.sizes().begin(), indices.sizes().end());
  return at::index_select(self, at, indices.flatten().to(at::kLong)).reshape(sizes);
}

const char* reduction_name(int64_t code) {
  static constexpr const char* kNames[] = {"", "add", "multiply"};
  SIM_CHECK(code >= 0 && code <= 2, "reduction ", code, "; allowed: 0 (none), 1 (add), 2 (multiply)");
  return kNames[code];
}

at::Tensor scatter(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& source,
                   int64_t reduction) {
  if (reduction == 0) return at::scatter(self, dim, index.to(at::kLong), source);
  return at::scatter(self, dim, index.to(at::kLong), source, reduction_name(reduction));
}
at::Tensor scatter(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Scalar& value,
                   int64_t reduction) {
  if (reduction == 0) return at::scatter(self, dim, index.to(at::kLong), value);
  return at::scatter(self, dim, index.to(at::kLong), value, reduction_name(reduction));
}

at::Tensor scatter_reduce(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& source,
                          int64_t reduction, bool include_self) {
  static constexpr const char* kNames[] = {"", "sum", "prod", "amax", "amin", "mean"};
  SIM_CHECK(reduction >= 1 && reduction <= 5, "reduction ", reduction,
            "; allowed: 1 to 5 (sum, prod, amax, amin, mean)");
  return at::scatter_reduce(self, dim, index.to(at::kLong), source, kNames[reduction], include_self);
}

at::Tensor index_fill(const at::Tensor& self, int64_t dim, const Dims& index, const at::Scalar& value) {
  return at::index_fill(self, dim, at::tensor(index, at::kLong), value);
}

// updates[i] goes to self[indices[i]]
void scatter_nd(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates) {
  const int64_t depth = indices.size(-1);
  c10::List<std::optional<at::Tensor>> all;
  for (int64_t i = 0; i < depth; ++i) all.push_back(indices.select(-1, i).to(at::kLong));
  self.index_put_(all, updates);
}

// Row b of updates goes to batch b of self, along axis, from the position that indices names.
void scatter_update(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates, int64_t axis) {
  auto starts = indices.to(at::kLong).contiguous();
  for (int64_t batch = 0; batch < updates.size(0); ++batch) {
    auto rows = updates.select(0, batch);
    const int64_t along = wrap(axis, self) - 1;
    self.select(0, batch).narrow(along, starts.reshape({-1})[batch].item<int64_t>(), rows.size(along)).copy_(rows);
  }
}

void quant_scatter(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates,
                   const at::Tensor& scales, const at::Tensor& zero_points, int64_t axis) {
  auto steps = wide(updates).div(wide(scales));
  scatter_update(self, indices, saturated(zero_points.defined() ? steps.add(wide(zero_points)) : steps, self), axis);
}

void quant_scattered(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates, int64_t quant_axis,
                     int64_t reduction) {
  of_dtype("self", self, {at::kChar});
  SIM_CHECK(reduction == 1, "reduction ", reduction, "; allowed: 1 (update)");
  SIM_CHECK(quant_axis == -1 || quant_axis == self.dim() - 1, "quant_axis ", quant_axis,
            " is not simulated; allowed: the last");
  SIM_CHECK(indices.dim() == 1 && indices.numel() == updates.size(0), "an index for each of ", updates.size(0),
            " batches expected, got ", indices.sizes());
}

at::Tensor one_hot(const at::Tensor& self, int64_t classes, const at::Tensor& on, const at::Tensor& off, int64_t axis,
                   const at::Tensor& out) {
  auto labels = self.to(at::kLong);
  auto hot = at::eq(labels.unsqueeze(-1), at::arange(classes, at::kLong));
  auto result = at::where(hot, on.reshape({}).to(out.scalar_type()), off.reshape({}).to(out.scalar_type()));
  return axis < 0 ? result : result.movedim(-1, axis);
}

at::Tensor embedding_backward(const at::Tensor& grad, const at::Tensor& indices, uint64_t weights, uint64_t padding,
                              bool scaled) {
  return at::embedding_dense_backward(wide(grad), indices.to(at::kLong), int64_t(weights), int64_t(padding), scaled);
}

void embedding_bag(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets, bool scaled,
                   int64_t mode, const at::Tensor& factors, bool include_last, int64_t padding, const at::Tensor& out,
                   const at::Tensor& bags, const at::Tensor& sizes, const at::Tensor& winners) {
  auto [result, to_bags, bag_sizes, max_indices] =
      at::_embedding_bag(wide(weight), indices.to(at::kLong), offsets.to(at::kLong), scaled, mode, false,
                         optional(wide(factors)), include_last, padding);
  write(out, result);
  // Which of these ATen fills depends on its own choice of kernel: an output is filled where both have it.
  for (auto [to, from] : {std::pair{bags, to_bags}, {sizes, bag_sizes}, {winners, max_indices}})
    if (to.defined() && from.defined() && to.numel() == from.numel()) write_asked(to, from);
}

void embedding_renorm(at::Tensor& self, const at::Tensor& indices, double max, double p) {
  auto rows = wide(self);
  at::embedding_renorm_(rows, indices.to(at::kLong), max, p);
  if (!rows.is_same(self)) self.copy_(rows);
}

at::Tensor repeat_interleave_backward(const at::Tensor& grad, const at::Tensor& repeats, int64_t dim) {
  Dims sizes = grad.sizes().vec();
  sizes[wrap(dim, grad)] = repeats.size(0);
  auto owners = at::repeat_interleave(repeats.to(at::kLong));
  return at::zeros(sizes, wide(grad).scalar_type()).index_add_(dim, owners, wide(grad));
}

at::Tensor confusion_transpose(const at::Tensor& self, at::IntArrayRef perm, at::IntArrayRef sizes,
                               bool transpose_first) {
  return transpose_first ? self.permute(perm).reshape(sizes) : self.reshape(sizes).permute(perm);
}

void split(const at::Tensor& self, at::IntArrayRef sizes, int64_t dim, const Tensors& out) {
  Tensors parts = at::split_with_sizes(self, sizes, dim);
  for (size_t i = 0; i < out.size(); ++i) write(out[i], parts[i]);
}

at::Tensor chunk_cat(const Tensors& tensors, int64_t dim, int64_t chunks, const at::Tensor& out) {
  for (const at::Tensor& tensor : tensors)
    SIM_CHECK(tensor.dim() > wrap(dim, tensors.front()) && tensor.dim() > 0, "a tensor of shape ", tensor.sizes(),
              " has no dimension ", dim);
  return at::_chunk_cat(tensors, dim, chunks).to(out.scalar_type());
}

void masks_zero(std::initializer_list<int64_t> masks) {
  for (int64_t mask : masks)
    SIM_CHECK(mask == 0, "begin, end, ellipsis, new-axis and shrink-axis masks are not simulated");
}

at::Tensor strided_slice(at::Tensor self, const Dims& begin, const Dims& end, const Dims& strides) {
  for (size_t i = 0; i < begin.size(); ++i) self = self.slice(int64_t(i), begin[i], end[i], strides[i]);
  return self;
}

}  // namespace

// index, gather
ACLNN(Index, (In, self, List, indices, Out, out), when_run(), index(self, indices, out))
ACLNN(IndexPutImpl, (Ref, self, List, indices, In, values, bool, accumulate, bool, unsafe), when_run(),
      index_put(self, indices, values, accumulate))
ACLNN(IndexSelect, (In, self, int64_t, dim, In, indices, Out, out), when_run(),
      write(out, at::index_select(self, dim, indices)))
ACLNN(GatherV2, (In, self, int64_t, dim, In, indices, Out, out), when_run(), write(out, taken(self, dim, indices)))
ACLNN(GatherV3, (In, self, int64_t, dim, In, indices, int64_t, batch_dims, int64_t, mode, Out, out),
      SIM_CHECK(batch_dims == 0, "batch_dims ", batch_dims, " is not simulated; allowed: 0"),
      write(out, taken(self, dim, indices)))
ACLNN(Gather, (In, self, int64_t, dim, In, indices, Out, out), like(out, indices),
      write(out, at::gather(self, dim, indices.to(at::kLong))))
ACLNN(Take, (In, self, In, indices, Out, out), like(out, indices), write(out, at::take(self, indices.to(at::kLong))))
ACLNN(MaskedSelect, (In, self, In, mask, Resized, out), when_run(),
      fit(out, at::masked_select(self, mask.to(at::kBool))))
ACLNN(Nonzero, (In, self, Resized, out), when_run(), fit(out, at::nonzero(self)))
ACLNN(NonzeroV2, (In, self, Resized, out), when_run(), fit(out, at::nonzero(self).t()))

// scatter
ACLNN(IndexAdd, (In, self, int64_t, dim, In, indices, In, source, Num, alpha, Out, out), like(out, self),
      write(out, at::index_add(self, dim, indices, source, alpha)))
ACLNN(IndexAddV2, (In, self, int64_t, dim, In, indices, In, source, Num, alpha, int64_t, mode, Out, out),
      like(out, self), write(out, at::index_add(self, dim, indices, source, alpha)))
ACLNN(IndexCopy, (In, self, int64_t, dim, In, indices, In, source, Out, out), like(out, self),
      write(out, at::index_copy(self, dim, indices, source)))
ACLNN(InplaceIndexCopy, (Ref, self, int64_t, dim, In, indices, In, source), when_run(),
      self.index_copy_(dim, indices, source))
ACLNN(IndexFill, (In, self, int64_t, dim, In, indices, Num, value, Out, out), like(out, self),
      write(out, at::index_fill(self, dim, indices.to(at::kLong), value)))
ACLNN(InplaceIndexFill, (Ref, self, int64_t, dim, In, indices, Num, value), when_run(),
      self.index_fill_(dim, indices.to(at::kLong), value))
ACLNN(IndexFillTensor, (In, self, int64_t, dim, Ints, indices, Num, value, Out, out), like(out, self),
      write(out, index_fill(self, dim, indices, value)))
ACLNN(InplaceIndexFillTensor, (Ref, self, int64_t, dim, Ints, indices, Num, value), when_run(),
      write(self, index_fill(self, dim, indices, value)))
ACLNN(InplacePut, (Ref, self, In, indices, In, source, bool, accumulate), when_run(),
      self.put_(indices.to(at::kLong), source, accumulate))
ACLNN(Scatter, (In, self, int64_t, dim, In, indices, In, source, int64_t, reduction, Out, out),
      (reduction_name(reduction), like(out, self)), write(out, scatter(self, dim, indices, source, reduction)))
ACLNN(ScatterValue, (In, self, int64_t, dim, In, indices, Num, value, int64_t, reduction, Out, out),
      (reduction_name(reduction), like(out, self)), write(out, scatter(self, dim, indices, value, reduction)))
ACLNN(InplaceScatter, (Ref, self, int64_t, dim, In, indices, In, source, int64_t, reduction), reduction_name(reduction),
      write(self, scatter(self, dim, indices, source, reduction)))
ACLNN(InplaceScatterValue, (Ref, self, int64_t, dim, In, indices, Num, value, int64_t, reduction),
      reduction_name(reduction), write(self, scatter(self, dim, indices, value, reduction)))
ACLNN(ScatterAdd, (In, self, int64_t, dim, In, indices, In, source, Out, out), like(out, self),
      write(out, at::scatter_add(self, dim, indices.to(at::kLong), source)))
ACLNN(ScatterReduce,
      (In, self, int64_t, dim, In, indices, In, source, int64_t, reduction, bool, include_self, Out, out),
      like(out, self), write(out, scatter_reduce(self, dim, indices, source, reduction, include_self)))
ACLNN(InplaceScatterReduce, (Ref, self, int64_t, dim, In, indices, In, source, int64_t, reduction, bool, include_self),
      when_run(), write(self, scatter_reduce(self, dim, indices, source, reduction, include_self)))
ACLNN(ScatterNdUpdate, (Ref, self, In, indices, In, updates), when_run(), scatter_nd(self, indices, updates))
ACLNN(InplaceQuantScatter,
      (Ref, self, In, indices, In, updates, In, scales, In, zero_points, int64_t, axis, int64_t, quant_axis, int64_t,
       reduction),
      quant_scattered(self, indices, updates, quant_axis, reduction),
      quant_scatter(self, indices, updates, scales, zero_points, axis))
ACLNN(InplaceScatterUpdate, (Ref, self, In, indices, In, updates, int64_t, axis), when_run(),
      scatter_update(self, indices, updates, axis))

// embedding
ACLNN(Embedding, (In, weight, In, indices, Out, out), when_run(), write(out, at::embedding(weight, indices)))
ACLNN(EmbeddingDenseBackward, (In, grad, In, indices, uint64_t, weights, uint64_t, padding, bool, scaled, Out, out),
      when_run(), write(out, embedding_backward(grad, indices, weights, padding, scaled)))
ACLNN(EmbeddingBag,
      (In, weight, In, indices, In, offsets, bool, scaled, int64_t, mode, bool, sparse, In, factors, bool, include_last,
       int64_t, padding, Out, out, Out, bags, Out, sizes, Out, winners),
      when_run(),
      embedding_bag(weight, indices, offsets, scaled, mode, factors, include_last, padding, out, bags, sizes, winners))
ACLNN(EmbeddingRenorm, (Ref, self, In, indices, double, max, double, p), when_run(),
      embedding_renorm(self, indices, max, p))
ACLNN(OneHot, (In, self, int64_t, classes, In, on, In, off, int64_t, axis, Out, out), when_run(),
      write(out, one_hot(self, classes, on, off, axis, out)))

// joining, repeating, reordering
ACLNN(Cat, (List, tensors, int64_t, dim, Out, out), when_run(), write(out, at::cat(tensors, dim)))
ACLNN(Stack, (List, tensors, int64_t, dim, Out, out), when_run(), write(out, at::stack(tensors, dim)))
ACLNN(ChunkCat, (List, tensors, int64_t, dim, int64_t, chunks, Out, out), when_run(),
      write(out, chunk_cat(tensors, dim, chunks, out)))
ACLNN(SplitWithSize, (In, self, Ints, sizes, int64_t, dim, List, out),
      SIM_CHECK(sizes.size() == out.size(), sizes.size(), " sizes and ", out.size(), " outputs"),
      split(self, sizes, dim, out))
ACLNN(Permute, (In, self, Ints, dims, Out, out), like(out, self.permute(dims)), write(out, self.permute(dims)))
ACLNN(Flip, (In, self, Ints, dims, Out, out), like(out, self), write(out, at::flip(self, dims)))
ACLNN(Roll, (In, self, Ints, shifts, Ints, dims, Out, out), like(out, self), write(out, at::roll(self, shifts, dims)))
ACLNN(Repeat, (In, self, Ints, repeats, Out, out), when_run(), write(out, self.repeat(repeats)))
ACLNN(RepeatInterleave, (In, self, In, repeats, int64_t, size, Out, out), when_run(),
      write(out, at::repeat_interleave(self, repeats.to(at::kLong))))
ACLNN(RepeatInterleaveWithDim, (In, self, In, repeats, int64_t, dim, int64_t, size, Out, out), when_run(),
      write(out, at::repeat_interleave(self, repeats.to(at::kLong), dim)))
ACLNN(RepeatInterleaveInt, (In, self, int64_t, repeats, int64_t, size, Out, out), when_run(),
      write(out, at::repeat_interleave(self, repeats)))
ACLNN(RepeatInterleaveIntWithDim, (In, self, int64_t, repeats, int64_t, dim, int64_t, size, Out, out), when_run(),
      write(out, at::repeat_interleave(self, repeats, dim)))
ACLNN(RepeatInterleaveTensor, (In, repeats, int64_t, size, Out, out), when_run(),
      write(out, at::repeat_interleave(repeats)))
ACLNN(RepeatInterleaveGrad, (In, grad, In, repeats, int64_t, dim, Out, out), when_run(),
      write(out, repeat_interleave_backward(grad, repeats, dim)))
ACLNN(Tril, (In, self, int64_t, diagonal, Out, out), like(out, self), at::tril_out(out, self, diagonal))
ACLNN(Triu, (In, self, int64_t, diagonal, Out, out), like(out, self), at::triu_out(out, self, diagonal))
ACLNN(InplaceTril, (Ref, self, int64_t, diagonal), when_run(), self.tril_(diagonal))
ACLNN(InplaceTriu, (Ref, self, int64_t, diagonal), when_run(), self.triu_(diagonal))
ACLNN(ConfusionTranspose, (In, self, Ints, perm, Ints, sizes, bool, transpose_first, Out, out), when_run(),
      write(out, confusion_transpose(self, perm, sizes, transpose_first)))
ACLNN(UnfoldGrad, (In, grad, Ints, sizes, int64_t, dim, int64_t, size, int64_t, step, Out, out), shape(out, sizes),
      write(out, at::unfold_backward(wide(grad), sizes, dim, size, step)))
ACLNN(StridedSlice,
      (In, self, Ints, begin, Ints, end, Ints, strides, int64_t, begin_mask, int64_t, end_mask, int64_t, ellipsis_mask,
       int64_t, new_axis_mask, int64_t, shrink_axis_mask, Out, out),
      masks_zero({begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask}),
      write(out, strided_slice(self, begin, end, strides)))
