// Products of matrices, factorizations, and norms of slices.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// x y + bias, where a flag says which of the matrices is turned first; an absent bias adds nothing.
at::Tensor product_of(const at::Tensor& x, const at::Tensor& y, const at::Tensor& bias, bool turn_x, bool turn_y);
// A batch of one goes with any batch.
at::Tensor batch_product(const at::Tensor& x, const at::Tensor& y);
// alpha a b + beta c
SIM_API at::Tensor general_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, double alpha,
                                   double beta, bool turn_a, bool turn_b);
// Of batches whose dimensions are reordered before and after.
at::Tensor permuted_product(const at::Tensor& x, const at::Tensor& y, const at::Tensor& bias, at::IntArrayRef perm_x,
                            at::IntArrayRef perm_y, at::IntArrayRef perm_out);
struct Qr {
  at::Tensor q, r;
};
Qr qr(const at::Tensor& x, int64_t mode);  // CANN's numbers: 0 reduced, 1 complete, 2 without q
struct Svd {
  at::Tensor s, u, v;
};
Svd svd(const at::Tensor& x, bool full, bool vectors);
// Slices along dim whose norm is above max are scaled to it.
at::Tensor renormalized(const at::Tensor& x, const at::Scalar& p, int64_t dim, const at::Scalar& max);

}  // namespace sim::kernels
