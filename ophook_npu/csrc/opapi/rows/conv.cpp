// Convolution and pooling.
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

// CANN also takes two numbers for each dimension, before and behind.
Dims both_sides(const Dims& padding, const at::Tensor& weight) {
  const size_t dims = size_t(weight.dim()) - 2;
  if (padding.size() != 2 * dims || dims == 0) return padding;
  Dims once;
  for (size_t i = 0; i < dims; ++i) {
    SIM_CHECK(padding[2 * i] == padding[2 * i + 1], "padding ", at::IntArrayRef(padding),
              " with unequal sides is not simulated");
    once.push_back(padding[2 * i]);
  }
  return once;
}

void backward_arguments(const Checked<bool>& mask, const Dims& padding, const at::Tensor& weight) {
  SIM_CHECK(mask.size() == 3, "three flags expected, got ", mask.size());
  both_sides(padding, weight);
}

// A gradient that is left out may be null.
void there_if_asked(const Checked<bool>& mask, std::initializer_list<at::Tensor> gradients) {
  size_t position = 0;
  for (const at::Tensor& gradient : gradients) {
    SIM_CHECK(gradient.defined() || !mask[position], "gradient ", position, " is asked for and null");
    ++position;
  }
}

void convolution_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& weight,
                          const Dims& bias_sizes, at::IntArrayRef stride, at::IntArrayRef padding,
                          at::IntArrayRef dilation, bool transposed, at::IntArrayRef output_padding, int64_t groups,
                          const Checked<bool>& mask, const at::Tensor& grad_self, const at::Tensor& grad_weight,
                          const at::Tensor& grad_bias) {
  auto [to_self, to_weight, to_bias] = at::convolution_backward(
      grad, self, weight, bias_sizes.empty() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(bias_sizes), stride,
      padding, dilation, transposed, output_padding, groups, {mask[0], mask[1], mask[2]});
  if (mask[0]) write(grad_self, to_self);
  if (mask[1]) write(grad_weight, to_weight);
  if (mask[2]) write(grad_bias, to_bias);
}

void conv_tbc_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& weight, const at::Tensor& bias,
                       int64_t pad, const at::Tensor& grad_self, const at::Tensor& grad_weight,
                       const at::Tensor& grad_bias) {
  write({grad_self, grad_weight, grad_bias}, at::conv_tbc_backward(grad, self, weight, bias, pad));
}

// The device's mask of winners has a layout of its own, which only the backward reads; here that finds the winners
// again.
void max_pool_mask(const at::Tensor& self, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
                   at::IntArrayRef dilation, bool ceil_mode, const at::Tensor& out, const at::Tensor& mask) {
  write(out, at::max_pool2d(self, kernel, stride, padding, dilation, ceil_mode));
  mask.zero_();
}

at::Tensor max_pool_mask_backward(const at::Tensor& grad, const at::Tensor& self, at::IntArrayRef kernel,
                                  at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                                  bool ceil_mode) {
  auto winners = std::get<1>(at::max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil_mode));
  return at::max_pool2d_with_indices_backward(wide(grad), wide(self), kernel, stride, padding, dilation, ceil_mode,
                                              winners);
}

at::Tensor indices(const at::Tensor& given) { return given.to(at::kLong); }
std::optional<int64_t> divisor(int64_t value) { return value ? std::optional<int64_t>(value) : std::nullopt; }

void one_step(const Dims& dilation) {
  for (const int64_t each : dilation) SIM_CHECK(each == 1, "dilations ", dilation, "; allowed: 1");
}

// Padded by itself at each side, {top, left, bottom, right}. The last window of a side is left out where it would begin
// in the padding.
at::Tensor max_pool_padded(const at::Tensor& self, const Dims& kernel, const Dims& stride, const Dims& padding,
                           bool ceil_mode) {
  auto both = [](const Dims& values, size_t i, int64_t otherwise) {
    return values.empty() ? otherwise : values[values.size() > 1 ? i : 0];
  };
  Dims pads, sizes, steps;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t size = self.size(int64_t(i) - 2), window = both(kernel, i, 1), step = both(stride, i, 1);
    const int64_t before = both(padding, i, 0), after = padding.size() == 4 ? padding[i + 2] : before;
    const int64_t room = size + before + after - window;
    SIM_CHECK(room >= 0 && window > 0 && step > 0, "a window of ", window, " by steps of ", step, " in ", size, " + ",
              before, " + ", after);
    int64_t count = (ceil_mode ? divided(room + step - 1, step) : divided(room, step)) + 1;
    if (ceil_mode && (count - 1) * step >= size + before) --count;
    pads.insert(pads.begin(), {before, (count - 1) * step + window - size - before});
    sizes.push_back(window), steps.push_back(step);
  }
  return at::max_pool2d(at::constant_pad_nd(self, pads, -std::numeric_limits<double>::infinity()), sizes, steps);
}

}  // namespace

ACLNN(Convolution,
      (In, self, In, weight, In, bias, Ints, stride, Ints, padding, Ints, dilation, bool, transposed, Ints,
       output_padding, int64_t, groups, Out, out, Cube, mode),
      both_sides(padding, weight),
      write(out, at::convolution(self, weight, optional(bias), stride, both_sides(padding, weight), dilation,
                                 transposed, output_padding, groups)))
ACLNN(ConvolutionBackward,
      (In, grad, In, self, In, weight, Ints, bias_sizes, Ints, stride, Ints, padding, Ints, dilation, bool, transposed,
       Ints, output_padding, int64_t, groups, Bools, mask, Cube, mode, Out, out, Out, out_weight, Out, out_bias),
      (backward_arguments(mask, padding, weight), there_if_asked(mask, {out, out_weight, out_bias})),
      convolution_backward(grad, self, weight, bias_sizes, stride, both_sides(padding, weight), dilation, transposed,
                           output_padding, groups, mask, out, out_weight, out_bias))
ACLNN(ConvDepthwise2d,
      (In, self, In, weight, Ints, kernel, In, bias, Ints, stride, Ints, padding, Ints, dilation, Out, out, Cube, mode),
      when_run(), write(out, at::conv2d(self, weight, optional(bias), stride, padding, dilation, self.size(-3))))
ACLNN(ConvTbc, (In, self, In, weight, In, bias, int64_t, pad, Out, out, Cube, mode), when_run(),
      write(out, at::conv_tbc(self, weight, bias, pad)))
ACLNN(ConvTbcBackward,
      (In, grad, In, self, In, weight, In, bias, int64_t, pad, Cube, mode, Out, out, Out, out_weight, Out, out_bias),
      like(out, self), conv_tbc_backward(grad, self, weight, bias, pad, out, out_weight, out_bias))

// maximum
ACLNN(MaxPool2dWithMask,
      (In, self, Ints, kernel, Ints, stride, Ints, padding, Ints, dilation, bool, ceil_mode, Out, out, Out, mask),
      when_run(), max_pool_mask(self, kernel, stride, padding, dilation, ceil_mode, out, mask))
ACLNN(MaxPool2dWithMaskBackward,
      (In, grad, In, self, In, mask, Ints, kernel, Ints, stride, Ints, padding, Ints, dilation, bool, ceil_mode, Out,
       out),
      like(out, self), write(out, max_pool_mask_backward(grad, self, kernel, stride, padding, dilation, ceil_mode)))
ACLNN(MaxPool2dWithIndices,
      (In, self, Ints, kernel, Ints, stride, Ints, padding, Ints, dilation, bool, ceil_mode, Out, out, Out, found),
      like(found, out),
      write({out, found}, at::max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil_mode)))
ACLNN(MaxPool2dWithIndicesBackward,
      (In, grad, In, self, In, found, Ints, kernel, Ints, stride, Ints, padding, Ints, dilation, bool, ceil_mode, Out,
       out),
      like(out, self),
      write(out, at::max_pool2d_with_indices_backward(wide(grad), wide(self), kernel, stride, padding, dilation,
                                                      ceil_mode, indices(found))))
ACLNN(MaxPool3dWithArgmax,
      (In, self, Ints, kernel, Ints, stride, Ints, padding, Ints, dilation, bool, ceil_mode, Out, out, Out, found),
      like(found, out),
      write({out, found}, at::max_pool3d_with_indices(wide(self), kernel, stride, padding, dilation, ceil_mode)))
ACLNN(MaxPool3dWithArgmaxBackward,
      (In, grad, In, self, In, found, Ints, kernel, Ints, stride, Ints, padding, Ints, dilation, bool, ceil_mode, Out,
       out),
      like(out, self),
      write(out, at::max_pool3d_with_indices_backward(wide(grad), wide(self), kernel, stride, padding, dilation,
                                                      ceil_mode, indices(found))))
ACLNN(AdaptiveMaxPool2d, (In, self, Ints, size, Out, out, Out, found), like(found, out),
      write({out, found}, at::adaptive_max_pool2d(wide(self), size)))
ACLNN(AdaptiveMaxPool2dBackward, (In, grad, In, self, In, found, Out, out), like(out, self),
      write(out, at::adaptive_max_pool2d_backward(wide(grad), wide(self), indices(found))))
ACLNN(AdaptiveMaxPool3d, (In, self, Ints, size, Out, out, Out, found), like(found, out),
      write({out, found}, at::adaptive_max_pool3d(wide(self), size)))
ACLNN(AdaptiveMaxPool3dBackward, (In, grad, In, self, In, found, Out, out), like(out, self),
      write(out, at::adaptive_max_pool3d_backward(wide(grad), wide(self), indices(found))))
ACLNN(MaxUnpool2d, (In, self, In, found, Ints, size, Out, out), like(found, self),
      write(out, at::max_unpool2d(wide(self), indices(found), size)))
ACLNN(MaxUnpool3d, (In, self, In, found, Ints, size, Ints, stride, Ints, padding, Out, out), like(found, self),
      write(out, at::max_unpool3d(wide(self), indices(found), size, stride, padding)))

ACLNN(MaxPool,
      (In, self, Ints, kernel, Ints, stride, int64_t, auto_pad, Ints, padding, Ints, dilation, int64_t, ceil_mode, Out,
       out),
      SIM_CHECK(auto_pad == 0, "autoPad ", auto_pad, "; allowed: 0 (NOTSET)");
      one_step(dilation);
      same_dtype({self, out}), write(out, max_pool_padded(self, kernel, stride, padding, ceil_mode)))

// average
ACLNN(AvgPool2d,
      (In, self, Ints, kernel, Ints, stride, Ints, padding, bool, ceil_mode, bool, count_pad, int64_t, by, Cube, mode,
       Out, out),
      when_run(), write(out, at::avg_pool2d(self, kernel, stride, padding, ceil_mode, count_pad, divisor(by))))
ACLNN(AvgPool2dBackward,
      (In, grad, In, self, Ints, kernel, Ints, stride, Ints, padding, bool, ceil_mode, bool, count_pad, int64_t, by,
       Cube, mode, Out, out),
      like(out, self),
      write(out, at::avg_pool2d_backward(wide(grad), wide(self), kernel, stride, padding, ceil_mode, count_pad,
                                         divisor(by))))
ACLNN(AvgPool3d,
      (In, self, Ints, kernel, Ints, stride, Ints, padding, bool, ceil_mode, bool, count_pad, int64_t, by, Out, out),
      when_run(), write(out, at::avg_pool3d(wide(self), kernel, stride, padding, ceil_mode, count_pad, divisor(by))))
ACLNN(AvgPool3dBackward,
      (In, grad, In, self, Ints, kernel, Ints, stride, Ints, padding, bool, ceil_mode, bool, count_pad, int64_t, by,
       Out, out),
      like(out, self),
      write(out, at::avg_pool3d_backward(wide(grad), wide(self), kernel, stride, padding, ceil_mode, count_pad,
                                         divisor(by))))
ACLNN(AdaptiveAvgPool2d, (In, self, Ints, size, Out, out), when_run(), write(out, at::adaptive_avg_pool2d(self, size)))
ACLNN(AdaptiveAvgPool2dBackward, (In, grad, In, self, Out, out), like(out, self),
      write(out, at::_adaptive_avg_pool2d_backward(wide(grad), wide(self))))
ACLNN(AdaptiveAvgPool3d, (In, self, Ints, size, Out, out), when_run(),
      write(out, at::adaptive_avg_pool3d(wide(self), size)))
ACLNN(AdaptiveAvgPool3dBackward, (In, grad, In, self, Out, out), like(out, self),
      write(out, at::_adaptive_avg_pool3d_backward(wide(grad), wide(self))))
