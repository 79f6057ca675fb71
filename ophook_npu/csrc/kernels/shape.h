// The same elements in another shape or order: slices, parts, tensors joined, transposed and padded.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

struct Slice {
  int64_t dim, begin, end, step;
};
// `dropped`: dimensions of one element that go, the last first.
at::Tensor sliced(const at::Tensor& x, const std::vector<Slice>& slices, const Dims& dropped = {});
// Along each dimension from the place that `begin` names, as long as `sizes` says.
at::Tensor cut_out(const at::Tensor& x, const Dims& begin, at::IntArrayRef sizes);
Tensors split(const at::Tensor& x, at::IntArrayRef sizes, int64_t dim);
at::Tensor joined(const Tensors& parts, int64_t dim);  // tensors without dimensions as vectors of one element
at::Tensor chunks_joined(const Tensors& tensors, int64_t dim, int64_t chunks);
// A transposition and a reshape, in either order.
at::Tensor confusion_transposed(const at::Tensor& x, at::IntArrayRef perm, at::IntArrayRef sizes, bool transpose_first);
// A view of the elements, which lie one behind the other.
at::Tensor strided_view(const at::Tensor& x, const Dims& sizes, const Dims& strides, int64_t offset);
// `pads` has two numbers for each dimension, the first one first.
at::Tensor padded(const at::Tensor& x, const Dims& pads, const at::Scalar& value);
at::Tensor reflected(const at::Tensor& x, const Dims& pads);
at::Tensor repeat_interleave_backward(const at::Tensor& grad, const at::Tensor& repeats, int64_t dim);

}  // namespace sim::kernels
