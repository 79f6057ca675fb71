#include "kernels/matmul.h"

namespace sim::kernels {

static at::Tensor turned(const at::Tensor& x, bool turn) { return turn ? x.transpose(-1, -2) : x; }

at::Tensor product_of(const at::Tensor& x, const at::Tensor& y, const at::Tensor& bias, bool turn_x, bool turn_y) {
  const at::Tensor a = turned(x, turn_x), b = turned(y, turn_y);
  if (!bias.defined()) return batch_product(a, b);
  if (a.dim() == 2 && b.dim() == 2) return at::addmm(bias.to(a.scalar_type()), a, b);
  const at::Tensor out = at::matmul(a, b);
  return at::add(out, bias.to(out.scalar_type()));
}

at::Tensor batch_product(const at::Tensor& x, const at::Tensor& y) {
  return x.dim() == 3 && y.dim() == 3 && x.size(0) == y.size(0) ? at::bmm(x, y) : at::matmul(x, y);
}

at::Tensor general_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, double alpha, double beta,
                           bool turn_a, bool turn_b) {
  auto result = at::matmul(wide(turned(a, turn_a)), wide(turned(b, turn_b))).mul(alpha);
  return beta == 0 ? result : result.add(wide(c), beta);
}

at::Tensor permuted_product(const at::Tensor& x, const at::Tensor& y, const at::Tensor& bias, at::IntArrayRef perm_x,
                            at::IntArrayRef perm_y, at::IntArrayRef perm_out) {
  auto result = at::bmm(wide(x.permute(perm_x)), wide(y.permute(perm_y)));
  if (bias.defined()) result = at::add(result, bias);
  return result.permute(perm_out);
}

Qr qr(const at::Tensor& x, int64_t mode) {
  static constexpr const char* kModes[] = {"reduced", "complete", "r"};
  auto [q, r] = at::linalg_qr(wide(x), kModes[mode]);
  return {mode == 2 ? at::Tensor() : q, r};
}

Svd svd(const at::Tensor& x, bool full, bool vectors) {
  if (!vectors) return {at::linalg_svdvals(x), {}, {}};
  auto [u, s, vh] = at::linalg_svd(x, full);
  return {s, u, vh.mH()};
}

// ATen renormalizes by positive norms only.
at::Tensor renormalized(const at::Tensor& x, const at::Scalar& p, int64_t dim, const at::Scalar& max) {
  if (p.toDouble() > 0) return at::renorm(x, p, dim, max);
  auto norm = at::linalg_vector_norm(wide(x), p, all_but(x, wrap(dim, x)), true);
  auto factor = at::mul(at::reciprocal(at::add(norm, 1e-7)), max).masked_fill(at::le(norm, max), 1);
  return at::mul(wide(x), factor);
}

}  // namespace sim::kernels
