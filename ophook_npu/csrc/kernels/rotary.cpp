#include "kernels/rotary.h"

#include "kernels/attention.h"

namespace sim::attention {

at::Tensor rotated(const at::Tensor& x, int64_t mode) {
  if (mode == 0) {
    Tensors halves = at::chunk(x, 2, -1);
    return at::cat({at::neg(halves[1]), halves[0]}, -1);
  }
  auto pairs = x.unflatten(-1, {-1, 2});
  return at::stack({at::neg(pairs.select(-1, 1)), pairs.select(-1, 0)}, -1).flatten(-2);
}

// The rotation's transpose.
at::Tensor rotated_back(const at::Tensor& x, int64_t mode) { return at::neg(rotated(x, mode)); }

void rotary_mode(int64_t mode) {
  SIM_CHECK(mode == 0 || mode == 1, "rotary mode ", mode, "; simulated: 0 (half), 1 (interleave)");
}

at::Tensor rotary(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, int64_t mode) {
  return at::add(at::mul(wide(x), wide(cos)), at::mul(rotated(wide(x), mode), wide(sin)));
}

at::Tensor rotary_by(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, int64_t mode,
                     const at::Tensor& turn) {
  if (!turn.defined()) return rotary(x, cos, sin, mode);
  return at::add(at::mul(wide(x), wide(cos)), at::mul(at::matmul(wide(x), wide(turn)), wide(sin)));
}

// Neighbours become halves, which then turn.
at::Tensor interleaved_rotary(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  return rotary(x.unflatten(-1, {-1, 2}).transpose(-1, -2).flatten(-2), cos, sin, 0);
}

void rotary_backward_like(const at::Tensor& cos, const at::Tensor& sin, const at::Tensor& x, const at::Tensor& grad_cos,
                          const at::Tensor& grad_sin) {
  if (!given(x)) return;
  if (given(grad_cos)) like(grad_cos, cos);
  if (given(grad_sin)) like(grad_sin, sin);
}

void rotary_backward(const at::Tensor& grad, const at::Tensor& cos, const at::Tensor& sin, const at::Tensor& x,
                     int64_t mode, const at::Tensor& grad_x, const at::Tensor& grad_cos, const at::Tensor& grad_sin) {
  auto to = wide(grad);
  write(grad_x, at::add(at::mul(to, wide(cos)), rotated_back(at::mul(to, wide(sin)), mode)));
  if (!given(x)) return;
  write_asked(grad_cos, at::sum_to(at::mul(to, wide(x)), cos.sizes()));
  write_asked(grad_sin, at::sum_to(at::mul(to, rotated(wide(x), mode)), sin.sizes()));
}

void rotate_both(const at::Tensor& query, const at::Tensor& key, const at::Tensor& cos, const at::Tensor& sin,
                 const std::string& mode) {
  for (const at::Tensor& x : {query, key}) x.copy_(rotary(x, cos, sin, mode == "interleave"));
}

}  // namespace sim::attention
