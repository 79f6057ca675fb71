// Convolution.
#include "kernels/conv.h"
#include "kernels/deformable.h"
#include "kernels/members.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;

namespace {

// CANN also takes two numbers for each dimension, before and behind: what both sides have …
Dims both_sides(const Dims& padding, const at::Tensor& weight) {
  const size_t dims = size_t(weight.dim()) - 2;
  if (padding.size() != 2 * dims || dims == 0) return padding;
  Dims once;
  for (size_t i = 0; i < dims; ++i) once.push_back(std::min(padding[2 * i], padding[2 * i + 1]));
  return once;
}
// … and what one side has more, as at::constant_pad_nd takes it: the last dimension first. Empty where they are equal.
Dims one_side(const Dims& padding, const at::Tensor& weight, bool transposed = false) {
  const size_t dims = size_t(weight.dim()) - 2;
  Dims more;
  if (padding.size() != 2 * dims) return more;
  bool uneven = false;
  for (size_t i = dims; i-- > 0;) {
    const int64_t before = padding[2 * i], behind = padding[2 * i + 1], least = std::min(before, behind);
    more.push_back(before - least), more.push_back(behind - least);
    uneven |= before != behind;
  }
  SIM_CHECK(!uneven || !transposed, "padding ", at::IntArrayRef(padding),
            " with unequal sides is not simulated for a transposed convolution");
  return uneven ? more : Dims{};
}
Dims padded_sizes_of(const at::Tensor& x, const Dims& more) {
  Dims sizes = x.sizes().vec();
  for (size_t i = 0; i < more.size() && i / 2 < sizes.size(); ++i) sizes[sizes.size() - 1 - i / 2] += more[i];
  return sizes;
}

void has_window(const at::Tensor& weight) {
  const auto window = weight.sizes().slice(std::min<size_t>(2, size_t(weight.dim())));
  SIM_CHECK(product_is("Ascend950") || c10::multiply_integers(window) != 0, "a weight of shape ", weight.sizes(),
            "; a window of 0 is allowed on Ascend950 alone");
}

void convolved(const at::Tensor& out, const at::Tensor& self, const at::Tensor& weight, const at::Tensor& bias,
               const kernels::Convolution& how, const Dims& more = {}) {
  has_window(weight);
  shape(out, kernels::convolution_sizes(padded_sizes_of(self, more), weight.sizes(), how));
  shape(bias, {kernels::convolution_channels(weight.sizes(), how)});
}

// A gradient that is not asked for may be null, and of any shape.
void convolution_gradients(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& weight,
                           const kernels::Convolution& how, const Dims& more, const Checked<bool>& mask,
                           std::initializer_list<at::Tensor> gradients) {
  SIM_CHECK(mask.size() == 3, "three flags expected, got ", mask.size());
  has_window(weight);
  shape(grad, kernels::convolution_sizes(padded_sizes_of(self, more), weight.sizes(), how));
  const int64_t channels = kernels::convolution_channels(weight.sizes(), how);
  const Shape expected[] = {self.sizes(), weight.sizes(), channels};
  for (size_t i = 0; i < 3; ++i) {
    const at::Tensor& gradient = gradients.begin()[i];
    SIM_CHECK(gradient.defined() || !mask[i], "gradient ", i, " is asked for and null");
    if (mask[i]) shape(gradient, expected[i]);
  }
}

// Of (time, batch, channels) and (window, channels in, channels out).
void convolved_over_time(const at::Tensor& out, const at::Tensor& self, const at::Tensor& weight,
                         const at::Tensor& bias, int64_t pad) {
  SIM_CHECK(self.dim() == 3 && weight.dim() == 3 && self.size(2) == weight.size(1), "an input of shape ", self.sizes(),
            " and a weight of shape ", weight.sizes(), " do not belong together");
  shape(out, {self.size(0) + 2 * pad - weight.size(0) + 1, self.size(1), weight.size(2)});
  shape(bias, {weight.size(2)});
}

void write_conv_gradients(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const Dims& more,
                          const kernels::ConvolutionGradients& result) {
  write_each({x, weight, bias}, {kernels::unpadded(result.x, more), result.weight, result.bias});
}

std::array<bool, 3> conv_wanted(const Checked<bool>& mask) { return {mask[0], mask[1], mask[2]}; }

}  // namespace

#define CONVOLVED \
  {NAMED(stride), .padding = both_sides(padding, weight), NAMED(dilation, transposed, output_padding, groups)}
#define DEFORMED {NAMED(kernel, stride, padding, dilation, groups, offset_groups)}
ACLNN(Convolution,
      (In, self, In, weight, In, bias, Ints, stride, Ints, padding, Ints, dilation, bool, transposed, Ints,
       output_padding, int64_t, groups, Out, out, Cube, mode),
      convolved(out, self, weight, bias, CONVOLVED, one_side(padding, weight, transposed)),
      write(out, kernels::convolution(kernels::padded(self, one_side(padding, weight)), weight, bias, CONVOLVED)))
ACLNN(ConvolutionBackward,
      (In, grad, In, self, In, weight, Ints, bias_sizes, Ints, stride, Ints, padding, Ints, dilation, bool, transposed,
       Ints, output_padding, int64_t, groups, Bools, mask, Cube, mode, Out, out, Out, out_weight, Out, out_bias),
      convolution_gradients(grad, self, weight, CONVOLVED, one_side(padding, weight, transposed), mask,
                            {out, out_weight, out_bias}),
      write_conv_gradients(out, out_weight, out_bias, one_side(padding, weight),
                           kernels::convolution_backward(grad, kernels::padded(self, one_side(padding, weight)), weight,
                                                         bias_sizes, CONVOLVED, conv_wanted(mask))))
ACLNN(ConvDepthwise2d,
      (In, self, In, weight, Ints, kernel, In, bias, Ints, stride, Ints, padding, Ints, dilation, Out, out, Cube, mode),
      convolved(out, self, weight, bias, {stride, padding, dilation, false, {}, self.dim() > 1 ? self.size(1) : 1}),
      write(out, at::conv2d(self, weight, optional(bias), stride, padding, dilation, self.size(-3))))
ACLNN(ConvTbc, (In, self, In, weight, In, bias, int64_t, pad, Out, out, Cube, mode),
      convolved_over_time(out, self, weight, bias, pad), write(out, at::conv_tbc(self, weight, bias, pad)))
ACLNN(ConvTbcBackward,
      (In, grad, In, self, In, weight, In, bias, int64_t, pad, Cube, mode, Out, out, Out, out_weight, Out, out_bias),
      (like(out, self), like(out_weight, weight), like(out_bias, bias),
       convolved_over_time(grad, self, weight, bias, pad)),
      write({out, out_weight, out_bias}, at::conv_tbc_backward(grad, self, weight, bias, pad)))
ACLNN(QuantConvolution,
      (In, self, In, weight, In, bias, In, scale, In, offset, Ints, stride, Ints, padding, Ints, dilation, bool,
       transposed, Ints, output_padding, int64_t, groups, int32_t, offset_x, Text, mode, Out, out),
      (kernels::check_quantized(self, weight, scale, offset, transposed, offset_x, mode),
       convolved(out, self, weight, bias, {stride, both_sides(padding, weight), dilation, false, {}, groups},
                 one_side(padding, weight))),
      write(out, kernels::quantized_convolution(kernels::padded(self, one_side(padding, weight)), weight, bias, scale,
                                                {stride, both_sides(padding, weight), dilation, false, {}, groups})))
ACLNN(DeformableConv2d,
      (In, self, In, weight, In, offset, In, bias, Ints, kernel, Ints, stride, Ints, padding, Ints, dilation, int64_t,
       groups, int64_t, offset_groups, bool, modulated, Out, out, Out, samples),
      SIM_CHECK(modulated, "modulated has to be true");
      kernels::check_deformable(self, weight, offset, bias, DEFORMED, out, samples),
      kernels::write_members({out, samples}, kernels::deformable_convolution(self, weight, offset, bias, DEFORMED)))
ACLNN(DeformableConv2dBackward,
      (In, self, In, grad, In, samples, In, weight, In, offset, Ints, kernel, Ints, stride, Ints, padding, Ints,
       dilation, int64_t, groups, int64_t, offset_groups, bool, modulated, Out, to_x, Out, to_weight, Out, to_offset,
       Out, to_bias),
      SIM_CHECK(modulated, "modulated has to be true");
      kernels::check_deformable(self, weight, offset, to_bias, DEFORMED, grad, samples); like(to_x, self);
      like(to_weight, weight);
      like(to_offset, offset),
      kernels::write_members({to_x, to_weight, to_offset, to_bias},
                             kernels::deformable_convolution_backward(self, grad, samples, weight, offset,
                                                                      {kernel, stride, padding, dilation, groups,
                                                                       offset_groups})))
ACLNN(MultiScaleDeformableAttnFunction, (In, value, In, shapes, In, starts, In, where, In, weight, Out, out),
      kernels::check_deformable({value, shapes, starts, where, weight}, out),
      write(out, kernels::deformable_attention({value, shapes, starts, where, weight})))
ACLNN(MultiScaleDeformableAttentionGrad,
      (In, value, In, shapes, In, starts, In, where, In, weight, In, grad, Out, to_value, Out, to_where, Out,
       to_weight),
      kernels::check_deformable({value, shapes, starts, where, weight}, grad),
      kernels::write_members({to_value, to_where, to_weight},
                             kernels::deformable_attention_backward({value, shapes, starts, where, weight}, grad)))
