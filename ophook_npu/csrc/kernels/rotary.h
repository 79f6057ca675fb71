// Rotary position embedding: x cos + rotated(x) sin.
#pragma once

#include <string>

#include "kernels/tensors.h"

namespace sim::attention {

// What turns: halves; neighbours; the halves of each half; or neighbours that become halves, which then turn.
enum RotaryMode : int64_t { kHalves = 0, kNeighbours = 1, kQuarters = 2, kNeighboursApart = 3 };
void rotary_mode(int64_t mode, bool more = false);  // more: the last two as well
void turnable(const at::Tensor& x, int64_t mode);
at::Tensor rotary(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, int64_t mode);
// With a matrix that turns x in place of the mode.
at::Tensor rotary_by(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, int64_t mode,
                     const at::Tensor& turn);
at::Tensor interleaved_rotary(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin);
// Without x the gradients of the angles are not asked for.
void rotary_backward_like(const at::Tensor& grad, const at::Tensor& cos, const at::Tensor& sin, const at::Tensor& x,
                          const at::Tensor& grad_cos, const at::Tensor& grad_sin);
void rotary_backward(const at::Tensor& grad, const at::Tensor& cos, const at::Tensor& sin, const at::Tensor& x,
                     int64_t mode, const at::Tensor& grad_x, const at::Tensor& grad_cos, const at::Tensor& grad_sin);
void rotate_both_like(const at::Tensor& query, const at::Tensor& key, const at::Tensor& cos, const at::Tensor& sin,
                      int64_t layout, bool ascend950);
void rotate_both(const at::Tensor& query, const at::Tensor& key, const at::Tensor& cos, const at::Tensor& sin,
                 const std::string& mode);

}  // namespace sim::attention
