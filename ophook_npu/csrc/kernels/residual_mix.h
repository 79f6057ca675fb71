// Hyper-connections (mHC): n residual streams x (…, n, d), of which a layer reads one mixture, and which mix with each
// other and with what the layer gives. In float; … is one dimension of tokens, or two.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// phi (2n or n² + 2n, n · d), alpha (2 or 3), bias as phi's rows, gamma (n, d) or undefined. The parts are pre, post,
// res; without the last, what would come of it is one zero.
struct Mixing {
  at::Tensor phi, alpha, bias, gamma;
  double norm_eps, eps;
  bool coarse = false;  // the product's factors have ten bits behind the point, as a matrix unit's HF32 has them
};
struct Mixed {
  at::Tensor in, post, res;                    // (…, d), (…, n), (…, n, n)
  at::Tensor inverse_norm, products, weights;  // (…), (…, rows of phi), (…, n)
};
void mixing_like(const at::Tensor& x, const Mixing& by, const Mixed& out);
void mix(const at::Tensor& x, const Mixing& by, const Mixed& out);

struct MixingGradients {
  at::Tensor x, phi, alpha, bias, gamma;
};
// `of` holds the gradients of in, post and res, and what the forward gave for the norm, the products and the weights;
// `post` is its result; `more`, where defined, is added to x's gradient.
void mixing_backward_like(const at::Tensor& x, const Mixing& by, const Mixed& of, const at::Tensor& post,
                          const at::Tensor& more, const MixingGradients& out);
void mixing_backward(const at::Tensor& x, const Mixing& by, const Mixed& of, const at::Tensor& post,
                     const at::Tensor& more, const MixingGradients& out);

// res (…, n, n) or undefined: the streams as they are; post (…, n); layer (…, d), what the layer gave.
struct Connection {
  at::Tensor x, res, layer, post;
};
at::Tensor connected(const Connection& of);
void connection_backward(const at::Tensor& grad, const Connection& of, const Connection& out);

// Rows and columns (…, n, n) divided by their sums in turn. `norms` (2 · iterations · tokens · n · 8) and `sums`
// (2 · iterations · tokens · 8), if asked for, keep the steps, as they lie on the device.
// exp(cost) with rows and columns scaled in turn until the columns' factors change by `least` on average, or less.
at::Tensor balanced(const at::Tensor& cost, double least);
void sinkhorn_like(const at::Tensor& x, int64_t iterations, const at::Tensor& out, const at::Tensor& norms,
                   const at::Tensor& sums);
void sinkhorn(const at::Tensor& x, double eps, int64_t iterations, const at::Tensor& out, const at::Tensor& norms,
              const at::Tensor& sums);
void sinkhorn_backward_like(const at::Tensor& grad, const at::Tensor& norms, const at::Tensor& sums,
                            const at::Tensor& out);
at::Tensor sinkhorn_backward(const at::Tensor& grad, const at::Tensor& norms, const at::Tensor& sums);

}  // namespace sim::kernels
