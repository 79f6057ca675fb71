// The same elements in another shape or order: slices, parts, tensors joined, transposed and padded.
#pragma once

#include <string>

#include "kernels/tensors.h"

namespace sim::kernels {

// A strided slice as operators describe it: entry i of the three lists, and bit i of each mask, belong together.
struct StridedSlice {
  Dims begin, end, strides;  // strides may be empty: all 1
  int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;
  Dims axes = {};  // empty: the entries are of the dimensions in order
};
// A dimension of the result, or one of x that is dropped.
struct Cut {
  int64_t dim;                 // of x; -1: a new one of size 1
  int64_t begin, step, count;  // count -1: the dimension's size is not known, which is -1 as well
  bool dropped;
};
std::vector<Cut> cuts_of(const StridedSlice& slice, at::IntArrayRef sizes);
Dims sizes_of(const std::vector<Cut>& cuts);
at::Tensor cut(const at::Tensor& x, const std::vector<Cut>& cuts);
at::Tensor put_into(const at::Tensor& x, const at::Tensor& part, const std::vector<Cut>& cuts);    // x elsewhere
at::Tensor put_back(const at::Tensor& part, at::IntArrayRef sizes, const std::vector<Cut>& cuts);  // zeros around it
// Along each dimension from the place that `begin` names, as long as `sizes` says.
at::Tensor cut_out(const at::Tensor& x, const Dims& begin, at::IntArrayRef sizes);
// The slices of some dimensions; empty axes: of all in order.
std::vector<Cut> cuts_along(const at::Tensor& x, const Dims& begin, const Dims& end, const Dims& steps,
                            const Dims& axes);
// Axes by their letters, as NHWC, in another order: places of axes, and what is said of each of them. Of `x` with less
// numbers than letters, these are of the axes of space.
void same_axes(const std::string& from, const std::string& to);  // refuses others
at::Tensor axes_moved(const at::Tensor& x, const std::string& from, const std::string& to);
at::Tensor of_axes_moved(const at::Tensor& x, const std::string& from, const std::string& to);
// Blocks of the axes behind the first become samples, padded before, or samples become blocks, cut off behind them:
// `sides` has two numbers for each of these axes.
at::Tensor space_to_batch(const at::Tensor& x, const Dims& blocks, const Dims& sides);
at::Tensor batch_to_space(const at::Tensor& x, const Dims& blocks, const Dims& sides);
Dims flat_sizes(const at::Tensor& x, int64_t axis);  // of the matrix with the dimensions before `axis` as rows
// How long parts of this length are along a dimension, of which the last may be shorter.
Dims even_parts(const at::Tensor& x, int64_t length, int64_t dim);
Tensors split(const at::Tensor& x, at::IntArrayRef sizes, int64_t dim);
at::Tensor joined(const Tensors& parts, int64_t dim);  // tensors without dimensions as vectors of one element
at::Tensor chunks_joined(const Tensors& tensors, int64_t dim, int64_t chunks);
// A transposition and a reshape, in either order.
at::Tensor confusion_transposed(const at::Tensor& x, at::IntArrayRef perm, at::IntArrayRef sizes, bool transpose_first);
// Images (n, c, h, w), or with their channels last: squares of `block` pixels from as many channels, and back. The
// place in the square counts before the channel, or behind it where `channel_first`.
struct Blocks {
  int64_t size;
  bool channel_first, channels_last;
};
at::Tensor depth_to_space(const at::Tensor& x, const Blocks& blocks);
at::Tensor space_to_depth(const at::Tensor& x, const Blocks& blocks);
// Of each sequence the first `lengths` elements from behind.
at::Tensor sequences_reversed(const at::Tensor& x, const at::Tensor& lengths, int64_t dim, int64_t batch_dim);
// `pads` has two numbers for each dimension, the first one first.
at::Tensor padded(const at::Tensor& x, const Dims& pads, const at::Scalar& value);
// The same with copies of x's elements, in one of the modes "reflect", "symmetric", "edge" and "circular".
at::Tensor padded_in_mode(const at::Tensor& x, const Dims& pads, const std::string& mode);
// What torch tells of paddings, the last dimension first, as the two above take them.
Dims from_the_front(const Dims& pads, int64_t dims);
// The gradient of a padding in one of these modes or "constant".
at::Tensor padded_backward(const at::Tensor& grad, const Dims& pads, const std::string& mode);
// A view of the elements, which lie one behind the other.
struct View {
  Dims sizes, strides;
  int64_t offset;
};
at::Tensor strided_view(const at::Tensor& x, const View& view);
// x with the elements of one view of it replaced by those of a view of `source` of the same sizes.
void replace_view(const at::Tensor& x, const View& where, const at::Tensor& source, const View& what);
// One number of repeats is that of each place, which the result's number of elements tells, too.
at::Tensor repeat_interleave_backward(const at::Tensor& grad, const at::Tensor& repeats, int64_t dim,
                                      at::IntArrayRef result);
// Each of x along dim, or of all its numbers, as often as repeats say, and the places of these; refuses what does not
// sum up to `size`, for which ATen would make room.
at::Tensor repeated(const at::Tensor& x, const at::Tensor& repeats, std::optional<int64_t> dim, int64_t size);
at::Tensor repeated_places(const at::Tensor& repeats, int64_t size);

}  // namespace sim::kernels
