// Elements taken from and put to places that other tensors name, beyond what ATen has in one call.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// Ranges one behind the other: the i-th begins at input_offset[permute[i]], and is as long as output_offset says.
at::Tensor expanded_ranges(const at::Tensor& permute, const at::Tensor& input_offset, const at::Tensor& output_offset,
                           int64_t size);
// put_ and max_unpool, which ATen refuses where its user asked for deterministic algorithms: that is not about a
// device.
void put(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& source, bool accumulate);
at::Tensor max_unpool(const at::Tensor& x, const at::Tensor& indices, at::IntArrayRef sizes);
// The gradient of max_unpool over the last `dims` dimensions.
at::Tensor max_unpool_backward(const at::Tensor& grad, const at::Tensor& indices, int64_t dims);
// The slices that the last dimension of indices names; one from the end only where that is asked for.
Dims slices_sizes(const at::Tensor& x, const at::Tensor& indices);
at::Tensor slices_taken(const at::Tensor& x, const at::Tensor& indices, bool from_the_end);
// Slices that the last dimension of indices names, or rows of the first dimension, combined with updates
// (indices.sizes, rest of self.sizes), one after the other.
enum class Combined { product, quotient, most, least };
at::Tensor combined_slices(const at::Tensor& x, const at::Tensor& indices, const at::Tensor& updates, Combined how);
void rows_like(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates);
at::Tensor combined_rows(const at::Tensor& x, const at::Tensor& indices, const at::Tensor& updates, Combined how);
// x with updates[i] at the place that the last dimension of indices names, and the same in place.
void slices_like(const at::Tensor& x, const at::Tensor& indices, const at::Tensor& updates);
at::Tensor added_slices(const at::Tensor& x, const at::Tensor& indices, const at::Tensor& updates);
at::Tensor slices_of_zeros(at::IntArrayRef sizes, const at::Tensor& indices, const at::Tensor& updates);
// The gradient of a gather from x along a dimension.
at::Tensor gathered_backward(const at::Tensor& grad, const at::Tensor& x, int64_t dim, const at::Tensor& indices);
at::Tensor subtracted_slices(const at::Tensor& x, const at::Tensor& indices, const at::Tensor& updates);
at::Tensor scattered_slices(const at::Tensor& x, const at::Tensor& indices, const at::Tensor& updates);
void put_slices(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates);
// updates added to slices of `self`: each index names one (the updates' shape tells), or a row of the last dimension.
void add_slices_like(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates);
void add_slices(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates);

// Values (n, …) at the coordinates `indices` (n, dimensions) of a sparse tensor: those of one place, as `places` (n)
// numbers them, are added up.
void coalesced_like(const at::Tensor& places, const at::Tensor& indices, const at::Tensor& values,
                    const at::Tensor& new_indices, const at::Tensor& new_values);
void coalesced(const at::Tensor& places, const at::Tensor& indices, const at::Tensor& values,
               const at::Tensor& new_indices, const at::Tensor& new_values);

// Updates are rows of self, or a part of them along dim.
void rows_within(const at::Tensor& self, const at::Tensor& updates, int64_t dim);
// The same, where nothing may be empty.
void put_rows_like(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates, int64_t dim);
// Row b of updates goes to batch b of self, along dim, from the position that indices names.
void put_rows(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates, int64_t dim);
void put_quantized_rows(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& updates,
                        const at::Tensor& scales, const at::Tensor& zero_points, int64_t dim);
// Row i of updates goes to the i-th tensor of the list; indices tell where it begins along dim, or where and how much
// of it, and a mask which tensors.
void put_rows(const Tensors& list, const at::Tensor& indices, const at::Tensor& updates, const at::Tensor& mask,
              int64_t dim);

// (b, c, m): what (b, c, n) gives to the three places of each, (b, n, 3), by their weights. A last dimension of 1 may
// follow.
void three_points_like(const at::Tensor& grad, const at::Tensor& places, const at::Tensor& weight, int64_t m,
                       const at::Tensor& out);
at::Tensor three_points_backward(const at::Tensor& grad, const at::Tensor& places, const at::Tensor& weight, int64_t m);

struct ChamferGradients {
  at::Tensor first, second;
};
// Of the squared distances of each point to the nearest of the other set, (batch, points, 2).
ChamferGradients chamfer_backward(const at::Tensor& first, const at::Tensor& second, const at::Tensor& nearest_second,
                                  const at::Tensor& nearest_first, const at::Tensor& grad_first,
                                  const at::Tensor& grad_second);

}  // namespace sim::kernels
