// Sampling between the points of a plane where the program says: deformable convolution and deformable attention.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

struct DeformableConvolution {
  Dims kernel, stride, padding,
      dilation;  // (rows, columns); (1, 1, rows, columns); (top, bottom, left, right); as stride
  int64_t groups, offset_groups;
};
// Throws c10::Error where the shapes do not fit: x (n, c, h, w), weight (c', c / groups, rows, columns), offset
// (n, 3 · offset_groups · rows · columns, h', w').
void check_deformable(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& offset, const at::Tensor& bias,
                      const DeformableConvolution& how, const at::Tensor& out, const at::Tensor& samples);
struct Deformed {
  at::Tensor out, samples;  // (n, c', h', w') and (n, c, h' · rows, w' · columns)
};
Deformed deformable_convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& offset,
                                const at::Tensor& bias, const DeformableConvolution& how);

// The samples alone, of channels that lie last: x (n, h, w, c), offset (n, h', w', 3 · offset_groups · rows · columns),
// samples (n, h' · rows, w' · columns, c).
at::Tensor deformed_samples(const at::Tensor& x, const at::Tensor& offset, const DeformableConvolution& how);
struct SampleGradients {
  at::Tensor x, offset;
};
SampleGradients deformed_samples_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& offset,
                                          const DeformableConvolution& how);

struct DeformedGradients {
  at::Tensor x, weight, offset, bias;
};
// `samples`: what the forward gave.
DeformedGradients deformable_convolution_backward(const at::Tensor& x, const at::Tensor& grad,
                                                  const at::Tensor& samples, const at::Tensor& weight,
                                                  const at::Tensor& offset, const DeformableConvolution& how);

// value (n, keys, heads, channels); shapes (levels, 2): height and width; starts (levels); where (n, queries, heads,
// levels, points, 2): x and y between 0 and 1; weight (n, queries, heads, levels, points)
struct DeformableAttention {
  at::Tensor value, shapes, starts, where, weight;
};
void check_deformable(const DeformableAttention& of, const at::Tensor& out);
at::Tensor deformable_attention(const DeformableAttention& of);  // (n, queries, heads · channels)
struct DeformableGradients {
  at::Tensor value, where, weight;
};
DeformableGradients deformable_attention_backward(const DeformableAttention& of, const at::Tensor& grad);

}  // namespace sim::kernels
