// Products of matrices, factorizations, and norms of slices.
#pragma once

#include "kernels/pattern.h"
#include "kernels/tensors.h"

namespace sim::kernels {

// Whether this processor has instructions for products of BFloat16, which oneDNN and ATen take; they add up in Float.
bool multiplies_brain();
// Products of Half and BFloat16 add up in Float, as a device's cube unit does, and are rounded once.
void product_into(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b);
// beta self + alpha a b; self may be out. With three dimensions a product for each of the batch.
void sum_into(const at::Tensor& out, const at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
              const at::Scalar& beta, const at::Scalar& alpha);
// x y + bias, where a flag says which of the matrices is turned first; an absent bias adds nothing.
at::Tensor product_of(const at::Tensor& x, const at::Tensor& y, const at::Tensor& bias, bool turn_x, bool turn_y);
// A batch of one goes with any batch.
at::Tensor batch_product(const at::Tensor& x, const at::Tensor& y);
// alpha a b + beta c
SIM_API at::Tensor general_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, double alpha,
                                   double beta, bool turn_a, bool turn_b);
// The same with numbers of one element, of the type of c and the result; the product is rounded to it first.
struct ScaledProduct {
  at::Tensor a, b, c, alpha, beta;
  bool turn_a, turn_b;
};
at::Tensor scaled_product(const ScaledProduct& of);
// Of batches whose dimensions are reordered before and after.
at::Tensor permuted_product(const at::Tensor& x, const at::Tensor& y, at::IntArrayRef perm_x, at::IntArrayRef perm_y,
                            at::IntArrayRef perm_out);
// An operation after x y + bias: "" and "16cast32" leave it, "add" and "mul" take a third matrix, "relu", "gelu_tanh"
// and "gelu_erf" take nothing more. The product is rounded to the type of x first, as op-plugin's test has it, but for
// a cast to float, and for cubeMathType 4.
void product_then_like(const at::Tensor& x, const at::Tensor& y, const at::Tensor& bias, const at::Tensor& third,
                       const std::string& then, int64_t mode, const at::Tensor& out);
at::Tensor product_then(const at::Tensor& x, const at::Tensor& y, const at::Tensor& bias, const at::Tensor& third,
                        const std::string& then, int64_t mode);
// Each row of x times two matrices of the set that its index names, in one layer, added to `size` columns of y from
// `offset` on. a: (sets, layers, rank, columns of x), or undefined where x has the rank; b: (sets, layers, size, rank).
struct Lora {
  at::Tensor y, x, b, indices, a;
  int64_t layer, offset, size;
};
void lora_like(const Lora& of, const at::Tensor& out);
// x high + scale (x low), in float.
at::Tensor split_product(const at::Tensor& x, const at::Tensor& high, const at::Tensor& low, double scale);
at::Tensor with_lora(const Lora& of, double scale);
struct Qr {
  at::Tensor q, r;
};
Qr qr(const at::Tensor& x, int64_t mode);  // CANN's numbers: 0 reduced, 1 complete, 2 without q
struct Svd {
  at::Tensor s, u, v;
};
Svd svd(const at::Tensor& x, bool full, bool vectors);
// A distance of each row of x from each of y.
void distances_like(const at::Tensor& x, const at::Tensor& y, const at::Tensor& out);
// Slices along dim whose norm is above max are scaled to it.
// 1 where the norm of a slice is no more than `max`.
at::Tensor renorm_factors(const at::Tensor& x, double p, int64_t dim, double max);
at::Tensor renormalized(const at::Tensor& x, const at::Scalar& p, int64_t dim, const at::Scalar& max);

// Of one batch and many, the one counts for each.
at::Tensor plus_batches(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b, const at::Scalar& beta,
                        const at::Scalar& alpha);
// Of operands of several types, in the type of all of them.
// Where a dimension of self lies in the shape of both, which has so many.
int64_t crossing(const at::Tensor& self, int64_t dims, int64_t dim);
at::Tensor crossed(const at::Tensor& self, const at::Tensor& other, int64_t dim);
at::Tensor vector_sum(const at::Tensor& self, const at::Tensor& matrix, const at::Tensor& vector,
                      const at::Scalar& beta, const at::Scalar& alpha);

// Of matrices, each by itself, in double.
at::Tensor determinant(const at::Tensor& matrices);

}  // namespace sim::kernels
