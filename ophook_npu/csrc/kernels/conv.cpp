#include "kernels/conv.h"

#include "kernels/matmul.h"
#include "kernels/quant.h"

namespace sim::kernels {

int64_t convolution_channels(at::IntArrayRef weight, const Convolution& how) {
  return how.transposed ? weight.at(1) * how.groups : weight.at(0);
}

Dims convolution_sizes(at::IntArrayRef x, at::IntArrayRef weight, const Convolution& how) {
  SIM_CHECK(weight.size() > 2 && x.size() == weight.size(), "an input of shape ", x, " and a weight of shape ", weight,
            " do not belong together");
  const size_t axes = x.size() - 2;
  for_dims("stride", how.stride, axes, 1), for_dims("dilation", how.dilation, axes, 1);
  for_dims("padding", how.padding, axes, 0), for_dims("outputPadding", how.output_padding, axes, 0);
  const int64_t channels = how.transposed ? weight[0] : weight[1] * how.groups;
  SIM_CHECK(x[1] == channels, "the input ", x, " has ", x[1], " channels, the weight ", weight, " in ", how.groups,
            " groups takes ", channels);
  SIM_CHECK(how.groups > 0 && weight[0] % how.groups == 0, "the weight ", weight, " has no ", how.groups, " groups");
  Dims sizes{x[0], convolution_channels(weight, how)};
  for (size_t i = 0; i + 2 < x.size(); ++i) {
    const int64_t size = x[i + 2], step = of_each(how.stride, i, 1), pads = 2 * of_each(how.padding, i, 0);
    const int64_t reach = of_each(how.dilation, i, 1) * (weight[i + 2] - 1) + 1;
    if (how.transposed) {
      sizes.push_back((size - 1) * step - pads + reach + of_each(how.output_padding, i, 0));
      continue;
    }
    SIM_CHECK(step > 0 && (size + pads >= reach || size == 0), "a kernel over ", reach, " elements by steps of ", step,
              " in ", size, " + ", pads);
    sizes.push_back(size + pads < reach ? 0 : (size + pads - reach) / step + 1);
  }
  return sizes;
}

static bool as_it_is(const at::Tensor& x, const at::Tensor& weight, const Convolution& how) {
  const bool brain = x.scalar_type() == at::kBFloat16 && weight.scalar_type() == at::kBFloat16;
  return multiplies_brain() && brain && !how.transposed && x.dim() == 4 && x.numel() >= 1 << 14;
}

at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const Convolution& how) {
  if (as_it_is(x, weight, how) && (!bias.defined() || bias.scalar_type() == x.scalar_type()))
    return at::convolution(x, weight, optional(bias), how.stride, how.padding, how.dilation, false, how.output_padding,
                           how.groups);
  return at::convolution(wide(x), wide(weight), optional(wide(bias)), how.stride, how.padding, how.dilation,
                         how.transposed, how.output_padding, how.groups);
}

ConvolutionGradients convolution_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                          const Dims& bias_sizes, const Convolution& how, std::array<bool, 3> wanted) {
  const auto of_bias = bias_sizes.empty() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(bias_sizes);
  auto [to_x, to_weight, to_bias] = at::convolution_backward(
      wide(grad), wide(x), wide(weight), of_bias, how.stride, how.padding, how.dilation, how.transposed,
      how.transposed ? how.output_padding : Dims(x.dim() - 2, 0), how.groups, wanted);
  return {to_x, to_weight, to_bias};
}

at::Tensor convolution_backward_input(const at::Tensor& grad, at::IntArrayRef sizes, const at::Tensor& weight,
                                      const Convolution& how) {
  return convolution_backward(grad, at::zeros(sizes), weight, {}, how, {true, false, false}).x;
}

at::Tensor convolution_backward_input_padded(const at::Tensor& grad, at::IntArrayRef sizes, const at::Tensor& weight,
                                             const Convolution& how, const Dims& more) {
  Dims whole = sizes.vec();
  for (size_t i = 0; i < more.size(); ++i) whole[sizes.size() - 1 - i / 2] += more[i];
  return unpadded(convolution_backward_input(grad, whole, weight, how), more);
}

at::Tensor convolution_backward_weight(const at::Tensor& grad, const at::Tensor& x, at::IntArrayRef sizes,
                                       const Convolution& how) {
  return convolution_backward(grad, x, at::zeros(sizes), {}, how, {false, true, false}).weight;
}

void check_quantized(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale, const at::Tensor& offset,
                     bool transposed, int64_t padded_with, const std::string& rounding) {
  of_dtype("input", x, {at::kChar, at::kFloat8_e4m3fn, at::kFloat});  // kFloat: HIFLOAT8
  of_dtype("weight", weight, {x.scalar_type()});
  SIM_CHECK(!offset.defined() && !transposed && padded_with == 0, "offset, transposed and offsetx ", padded_with,
            " are not simulated; allowed: null, false, 0");
  SIM_CHECK(rounding.empty() || rounding == "rint" || rounding == "round", "roundMode ", rounding,
            "; allowed: rint, round, null");
  shape(scale, {weight.size(0)});
}

at::Tensor quantized_convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                 const at::Tensor& scale, const Convolution& how) {
  const bool whole_bias = bias.defined() && bias.scalar_type() == at::kInt;
  auto sums = at::convolution(x.to(at::kDouble), weight.to(at::kDouble),
                              whole_bias ? std::optional(bias.to(at::kDouble)) : std::nullopt, how.stride, how.padding,
                              how.dilation, false, Dims(how.stride.size()), how.groups);
  auto result = sums.to(at::kFloat).mul(along(quant::scale_of(scale), x, 1));
  return bias.defined() && !whole_bias ? result.add(along(bias, x, 1)) : result;
}

at::Tensor padded(const at::Tensor& x, const Dims& more) { return more.empty() ? x : at::constant_pad_nd(x, more); }
at::Tensor unpadded(const at::Tensor& x, Dims more) {
  if (more.empty() || !x.defined()) return x;
  for (int64_t& each : more) each = -each;
  return at::constant_pad_nd(x, more);
}

}  // namespace sim::kernels
