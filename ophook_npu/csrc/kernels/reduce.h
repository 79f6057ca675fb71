// Reductions where ATen's own is not enough: products of half types are rounded once, at the end.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

at::Tensor product(const at::Tensor& x, at::ScalarType result);
at::Tensor product(const at::Tensor& x, int64_t dim, bool keep_dim, at::ScalarType result);
at::Tensor running_product(const at::Tensor& x, int64_t dim, at::ScalarType result);
struct Deviation {
  at::Tensor std, mean;
};
Deviation deviation(const at::Tensor& x, const Dims& dims, int64_t correction,
                    bool keep_dims);  // over all where none is named

}  // namespace sim::kernels
