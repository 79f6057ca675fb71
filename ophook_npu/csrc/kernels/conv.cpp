#include "kernels/conv.h"

namespace sim::kernels {

at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const Convolution& how) {
  return at::convolution(wide(x), wide(weight), optional(wide(bias)), how.stride, how.padding, how.dilation,
                         how.transposed, how.output_padding, how.groups);
}

ConvolutionGradients convolution_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                          const Dims& bias_sizes, const Convolution& how, std::array<bool, 3> wanted) {
  const auto of_bias = bias_sizes.empty() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(bias_sizes);
  auto [to_x, to_weight, to_bias] =
      at::convolution_backward(wide(grad), wide(x), wide(weight), of_bias, how.stride, how.padding, how.dilation,
                               how.transposed, how.output_padding, how.groups, wanted);
  return {to_x, to_weight, to_bias};
}

at::Tensor convolution_backward_input(const at::Tensor& grad, at::IntArrayRef sizes, const at::Tensor& weight,
                                      const Convolution& how) {
  return convolution_backward(grad, at::zeros(sizes), weight, {}, how, {true, false, false}).x;
}

at::Tensor convolution_backward_weight(const at::Tensor& grad, const at::Tensor& x, at::IntArrayRef sizes,
                                       const Convolution& how) {
  return convolution_backward(grad, x, at::zeros(sizes), {}, how, {false, true, false}).weight;
}

}  // namespace sim::kernels
