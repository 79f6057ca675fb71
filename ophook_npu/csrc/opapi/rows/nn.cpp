// Activations and their backwards.
#include "kernels/activation.h"
#include "kernels/transformer.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;

namespace {

const char* approximation(int64_t mode) { return mode == 1 ? "tanh" : "none"; }

// oneDNN, which ATen uses for a gelu's gradient, does not broadcast.
at::Tensor spread(const at::Tensor& x, const at::Tensor& out) {
  return x.sizes() == out.sizes() ? x : x.expand_as(out).contiguous();
}

void in_order(const at::Scalar& min, const at::Scalar& max) {
  SIM_CHECK(!(min.toDouble() > max.toDouble()), "min ", min, " is above max ", max);
}

void not_zero(const at::Scalar& alpha) { SIM_CHECK(alpha.toDouble() != 0, "alpha may not be 0"); }

// One for each channel, or for all.
void a_slope_each(const at::Tensor& self, const at::Tensor& weight) {
  const int64_t channels = self.dim() > 1 ? self.size(1) : 1;
  SIM_CHECK(weight.numel() == 1 || weight.numel() == channels, "a weight of shape ", weight.sizes(), " for ", channels,
            " channels");
}

// The mask has self's last two sizes, and may be one for all batches or heads.
void masked_rows(const at::Tensor& self, const at::Tensor& mask) {
  const int64_t most = product_is("Ascend950") ? 8192 : 4096;
  SIM_CHECK(self.size(-1) <= most, "rows of ", self.size(-1), " elements; allowed: at most ", most);
  for (int64_t i = 0; mask.defined() && i < self.dim(); ++i)
    SIM_CHECK(mask.size(i) == self.size(i) || (i < 2 && mask.size(i) == 1), "a mask of shape ", mask.sizes(), " for ",
              self.sizes());
}

// Of several slopes CANN asks for a list, whatever dimensions they have; of one for its shape.
void slopes_like(const at::Tensor& out, const at::Tensor& weight) {
  if (weight.numel() == 1) like(out, weight);
  else shape(out, {weight.numel()});
}

void write_prelu(const at::Tensor& out, const at::Tensor& out_weight, const kernels::PreluGradients& result) {
  write(out, result.x);
  write(out_weight, result.weight.reshape(out_weight.sizes()));
}

}  // namespace

// An activation and its in-place form.
#define ACTIVATION(Op, fn)                                                         \
  ACLNN(Op, (In, self, Out, out), function_of(out, self), at::fn##_out(out, self)) \
  ACLNN(Inplace##Op, (Ref, self), when_run(), at::fn##_(self))

// The device takes integers as well: 0, or 1 from 3 on.
ACLNN(Hardsigmoid, (In, self, Out, out), promoted(out, {self}), write(out, kernels::hard_sigmoid(self)))
ACLNN(InplaceHardsigmoid, (Ref, self), when_run(), write(self, kernels::hard_sigmoid(self)))
ACTIVATION(Hardswish, hardswish)
ACTIVATION(Mish, mish)
ACTIVATION(Sigmoid, sigmoid)
ACTIVATION(Tanh, tanh)

ACLNN(Relu, (In, self, Out, out), kept(out, self), at::relu_out(out, self))
ACLNN(Silu, (In, self, Out, out), , write(out, kernels::swish(self, 1)))
// The page gives the form by tanh; GeluV2 is the one that is asked for either.
ACLNN(Gelu, (In, self, Out, out), , kernels::gelu_into(out, self, "tanh"))
ACLNN(GeluV2, (In, self, int64_t, approximate, Out, out), , kernels::gelu_into(out, self, approximation(approximate)))
ACLNN(FastGelu, (In, self, Out, out), , write(out, kernels::fast_gelu(self)))
ACLNN(Threshold, (In, self, Num, threshold, Num, value, Out, out), promoted(out, {self}),
      at::threshold_out(out, self, threshold, value))
ACLNN(LeakyRelu, (In, self, Num, slope, Out, out), , write(out, at::leaky_relu(self, slope)))
// Without beta it is 1.
ACLNN(Swish, (In, self, MaybeNum, beta, Out, out), , write(out, kernels::swish(self, beta ? beta->toDouble() : 1)))
ACLNN(SwishBackward, (In, grad, In, self, MaybeNum, beta, Out, out), ,
      write(out, kernels::swish_backward(grad, self, beta ? beta->toDouble() : 1)))
ACLNN(Selu, (In, self, Out, out), promoted(out, {self}), write(out, at::selu(self)))
ACLNN(InplaceSelu, (Ref, self), when_run(), at::selu_(self))
ACLNN(SeluBackward, (In, grad, In, result, Out, out), promoted(out, {grad, result}),
      write(out, kernels::selu_backward(grad, result)))
ACLNN(Shrink, (In, self, Num, lambda, Num, bias, Out, out), , write(out, kernels::shrunk(self, lambda, bias)))
ACLNN(SquaredRelu, (In, self, Out, out), , write(out, kernels::squared_relu(self)))
ACLNN(Heaviside, (In, self, In, values, Out, out), , write(out, at::heaviside(self, values)))
ACLNN(Elu, (In, self, Num, alpha, Num, scale, Num, input_scale, Out, out), ,
      write(out, at::elu(self, alpha, scale, input_scale)))
ACLNN(Celu, (In, self, Num, alpha, Out, out), not_zero(alpha), write(out, at::celu(self, alpha)))
ACLNN(Hardtanh, (In, self, Num, min, Num, max, Out, out), in_order(min, max), at::hardtanh_out(out, self, min, max))
ACLNN(Hardshrink, (In, self, Num, lambda, Out, out), , at::hardshrink_out(out, self, lambda))
ACLNN(Softshrink, (In, self, Num, lambda, Out, out), like(out, self), at::softshrink_out(out, self, lambda))
ACLNN(Softplus, (In, self, Num, beta, Num, threshold, Out, out), , write(out, at::softplus(self, beta, threshold)))
ACLNN(LogSigmoid, (In, self, Out, out), , write(out, at::log_sigmoid(self)))
ACLNN(LogSigmoidForward, (In, self, Out, out, Out, buffer), , write(out, at::log_sigmoid(self)))
ACLNN(Prelu, (In, self, In, weight, Out, out), a_slope_each(self, weight), write(out, kernels::prelu(self, weight)))
ACLNN(Softmax, (In, self, int64_t, dim, Out, out), wrap(dim, self), kernels::softmax_into(out, self, dim))
ACLNN(LogSoftmax, (In, self, int64_t, dim, Out, out), wrap(dim, self), kernels::log_softmax_into(out, self, dim))
ACLNN(ScaledMaskedSoftmax, (In, self, In, mask, double, scale, bool, triangle, Out, out), masked_rows(self, mask),
      write(out, kernels::masked_softmax(self, mask, scale, triangle)))

// in place
ACLNN(InplaceRelu, (Ref, self), when_run(), self.relu_())
ACLNN(InplaceLeakyRelu, (Ref, self, Num, slope), when_run(), at::leaky_relu_(self, slope))
ACLNN(InplaceElu, (Ref, self, Num, alpha, Num, scale, Num, input_scale), when_run(),
      at::elu_(self, alpha, scale, input_scale))
ACLNN(InplaceCelu, (Ref, self, Num, alpha), not_zero(alpha), at::celu_(self, alpha))
ACLNN(InplaceHardtanh, (Ref, self, Num, min, Num, max), in_order(min, max), at::hardtanh_(self, min, max))
ACLNN(InplaceThreshold, (Ref, self, Num, threshold, Num, value), when_run(), at::threshold_(self, threshold, value))

// backward
ACLNN(ThresholdBackward, (In, grad, In, self, Num, threshold, Out, out), promoted(out, {grad, self}),
      at::threshold_backward_out(out, grad, self, threshold))
ACLNN(TanhBackward, (In, grad, In, output, Out, out), promoted(out, {grad, output}),
      at::tanh_backward_out(out, grad, output))
ACLNN(SigmoidBackward, (In, grad, In, output, Out, out), promoted(out, {grad, output}),
      at::sigmoid_backward_out(out, grad, output))
ACLNN(SiluBackward, (In, grad, In, self, Out, out), , write(out, kernels::swish_backward(grad, self, 1)))
// Of the two forms on its page that of Gelu, whose gradient it is.
ACLNN(GeluBackward, (In, grad, In, self, Out, out), ,
      kernels::gelu_backward_into(out, spread(grad, out), spread(self, out), "tanh"))
ACLNN(GeluBackwardV2, (In, grad, In, self, Text, approximate, Out, out), kernels::of_gelu(approximate),
      kernels::gelu_backward_into(out, spread(grad, out), spread(self, out), approximate))
ACLNN(FastGeluBackward, (In, grad, In, self, Out, out), , write(out, kernels::fast_gelu_backward(grad, self)))
ACLNN(LeakyReluBackward, (In, grad, In, self, Num, slope, bool, is_result, Out, out), ,
      at::leaky_relu_backward_out(out, grad, self, slope, is_result))
ACLNN(EluBackward, (In, grad, Num, alpha, Num, scale, Num, input_scale, bool, is_result, In, self, Out, out),
      (like(grad, self), like(out, self));
      SIM_CHECK(!is_result || alpha.toDouble() >= 0, "alpha is negative, which the result does not go back from"),
      at::elu_backward_out(out, grad, alpha, scale, input_scale, is_result, self))
ACLNN(HardsigmoidBackward, (In, grad, In, self, Out, out), , write(out, kernels::hard_sigmoid_backward(grad, self)))
ACLNN(HardswishBackward, (In, grad, In, self, Out, out), , write(out, at::hardswish_backward(grad, self)))
ACLNN(HardswishBackwardV2, (In, grad, In, self, Out, out), , write(out, at::hardswish_backward(grad, self)))
ACLNN(HardtanhBackward, (In, grad, In, self, Num, min, Num, max, Out, out), ,
      at::hardtanh_backward_out(out, grad, self, min, max))
ACLNN(HardshrinkBackward, (In, grad, In, self, Num, lambda, Out, out), ,
      at::hardshrink_backward_out(out, grad, self, lambda))
ACLNN(SoftshrinkBackward, (In, grad, In, self, Num, lambda, Out, out), ,
      at::softshrink_backward_out(out, grad, self, lambda))
ACLNN(SoftplusBackward, (In, grad, In, self, Num, beta, Num, threshold, Out, out), ,
      at::softplus_backward_out(out, grad, self, beta, threshold))
ACLNN(LogSigmoidBackward, (In, grad, In, self, In, buffer, Out, out), ,
      write(out, kernels::log_sigmoid_backward(grad, self)))
ACLNN(MishBackward, (In, grad, In, self, Out, out), , write(out, at::mish_backward(grad, self)))
ACLNN(PreluBackward, (In, grad, In, self, In, weight, Out, out, Out, out_weight),
      (slopes_like(out_weight, weight), into(self, {grad})),
      write_prelu(out, out_weight, kernels::prelu_backward(grad, self, weight)))
ACLNN(SoftmaxBackward, (In, grad, In, output, int64_t, dim, Out, out), wrap(dim, output),
      kernels::softmax_backward_into(out, grad, output, dim))
ACLNN(LogSoftmaxBackward, (In, grad, In, output, int64_t, dim, Out, out), wrap(dim, output),
      write(out, kernels::log_softmax_backward(grad, output, dim)))
ACLNN(ScaledMaskedSoftmaxBackward, (In, grad, In, output, In, mask, double, scale, bool, triangle, Out, out),
      masked_rows(output, mask), write(out, kernels::masked_softmax_backward(grad, output, mask, scale, triangle)))
ACLNN(MaskedSoftmaxWithRelPosBias, (In, self, In, mask, In, bias, double, scale, int64_t, precision, Out, out),
      sim::transformer::biased_like(self, mask, bias),
      write(out, sim::transformer::biased_softmax(self, mask, bias, scale).to(out.scalar_type())))
