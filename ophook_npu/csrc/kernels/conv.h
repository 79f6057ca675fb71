// Convolutions over lines, planes and volumes, (batch, channels, …), in float whatever the data's type.
#pragma once

#include <array>

#include "kernels/tensors.h"

namespace sim::kernels {

struct Convolution {
  Dims stride, padding, dilation;
  bool transposed;
  Dims output_padding;
  int64_t groups;
};
// Of the result. A list with one number has it for every dimension.
Dims convolution_sizes(at::IntArrayRef x, at::IntArrayRef weight, const Convolution& how);
int64_t convolution_channels(at::IntArrayRef weight, const Convolution& how);
at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const Convolution& how);
struct ConvolutionGradients {
  at::Tensor x, weight, bias;  // undefined where not wanted
};
ConvolutionGradients convolution_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                          const Dims& bias_sizes, const Convolution& how, std::array<bool, 3> wanted);
// The same without one of the two, of which only the shape is read.
at::Tensor convolution_backward_input(const at::Tensor& grad, at::IntArrayRef sizes, const at::Tensor& weight,
                                      const Convolution& how);
// Of one that was padded by `more` first, as padded() has it.
at::Tensor convolution_backward_input_padded(const at::Tensor& grad, at::IntArrayRef sizes, const at::Tensor& weight,
                                             const Convolution& how, const Dims& more);
at::Tensor convolution_backward_weight(const at::Tensor& grad, const at::Tensor& x, at::IntArrayRef sizes,
                                       const Convolution& how);

// Of int8, exact, times a scale for each channel of the result, as the device encodes it or in float. A bias of whole
// numbers is added before, another one after.
void check_quantized(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale, const at::Tensor& offset,
                     bool transposed, int64_t padded_with, const std::string& rounding);
at::Tensor quantized_convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                 const at::Tensor& scale, const Convolution& how);

// Padded with zeros as at::constant_pad_nd has it, or cut off again; x itself where `more` is empty.
at::Tensor padded(const at::Tensor& x, const Dims& more);
at::Tensor unpadded(const at::Tensor& x, Dims more);

}  // namespace sim::kernels
