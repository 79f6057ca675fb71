// Activations and their backwards.
#include "opapi/aclnn.h"

#include "kernels/activations.h"

using namespace sim::aclnn;

at::Tensor sim::aclnn::fast_gelu(const at::Tensor& self) { return at::mul(wide(self), at::sigmoid(at::mul(wide(self), 1.702))); }

void sim::aclnn::known_activation(const std::string& name) {
  const bool known = name == "relu" || name == "gelu" || name == "gelu_tanh" || name == "fastgelu" || name == "silu";
  SIM_CHECK(known, "activation ", name, " is not simulated; allowed: relu, gelu, gelu_tanh, fastgelu, silu");
}

at::Tensor sim::aclnn::activated(const at::Tensor& self, const std::string& name) {
  known_activation(name);
  if (name == "relu") return at::relu(self);
  if (name == "silu") return at::silu(self);
  return name == "fastgelu" ? fast_gelu(self) : at::gelu(self, name == "gelu_tanh" ? "tanh" : "none");
}

namespace {

at::Tensor log_sigmoid_backward(const at::Tensor& grad, const at::Tensor& self) {
  return at::mul(wide(grad), at::sigmoid(at::neg(wide(self))));
}

// One weight for each channel (dimension 1), or one for all.
at::Tensor per_channel(const at::Tensor& weight, const at::Tensor& self) {
  if (weight.numel() == 1 || self.dim() < 2) return weight.reshape({-1});
  Dims sizes(self.dim(), 1);
  sizes[1] = weight.numel();
  return weight.reshape(sizes);
}

void prelu_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& weight, const at::Tensor& grad_self,
                    const at::Tensor& grad_weight) {
  auto fitted = per_channel(weight, self);
  auto [to_self, to_weight] = at::_prelu_kernel_backward(grad, self, fitted.expand_as(self));
  write(grad_self, to_self);
  if (fitted.numel() == 1) return write(grad_weight, to_weight.sum().reshape(grad_weight.sizes()));
  Dims others;
  for (int64_t i = 0; i < self.dim(); ++i)
    if (i != 1) others.push_back(i);
  write(grad_weight, to_weight.sum(others).reshape(grad_weight.sizes()));
}

const char* approximation(int64_t mode) { return mode == 1 ? "tanh" : "none"; }

void half_of(const at::Tensor& out, const at::Tensor& self, int64_t dim) {
  SIM_CHECK(self.dim() && self.size(dim) % 2 == 0, "dimension ", dim, " of ", self.sizes(), " has an odd size");
  Dims sizes = self.sizes().vec();
  sizes[wrap(dim, self)] /= 2;
  shape(out, sizes);
}

std::pair<at::Tensor, at::Tensor> halves(const at::Tensor& self, int64_t dim) {
  Tensors parts = at::chunk(wide(self), 2, dim);
  return {parts[0], parts[1]};
}

at::Tensor swiglu(const at::Tensor& self, int64_t dim) {
  auto [gate, value] = halves(self, dim);
  return at::mul(at::silu(gate), value);
}

at::Tensor swiglu_backward(const at::Tensor& grad, const at::Tensor& self, int64_t dim) {
  auto [gate, value] = halves(self, dim);
  auto to = wide(grad);
  return at::cat({at::silu_backward(at::mul(to, value), gate), at::mul(to, at::silu(gate))}, dim);
}

void geglu(const at::Tensor& self, int64_t dim, int64_t mode, bool left, const at::Tensor& out, const at::Tensor& out_gelu) {
  auto [first, second] = halves(self, dim);
  auto gelu = at::gelu(left ? first : second, approximation(mode));
  write(out, at::mul(gelu, left ? second : first));
  write(out_gelu, gelu);
}

at::Tensor geglu_backward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& gelu, int64_t dim, int64_t mode, bool left) {
  auto [first, second] = halves(self, dim);
  auto to = wide(grad);
  auto to_gate = at::gelu_backward(at::mul(to, left ? second : first), left ? first : second, approximation(mode));
  auto to_value = at::mul(to, wide(gelu));
  return left ? at::cat({to_gate, to_value}, dim) : at::cat({to_value, to_gate}, dim);
}

at::Tensor fast_gelu_backward(const at::Tensor& grad, const at::Tensor& self) {
  return at::silu_backward(wide(grad), at::mul(wide(self), 1.702));
}

at::Tensor gelu_mul(const at::Tensor& self, const std::string& approximate) {
  auto [gate, value] = halves(self, -1);
  return at::mul(at::gelu(gate, approximate), value);
}

// The mask is true where a score is left out.
at::Tensor masked_softmax(const at::Tensor& self, const at::Tensor& mask, double scale, bool triangle) {
  auto scores = at::mul(wide(self), scale);
  auto hidden = triangle ? at::ones_like(scores, at::kBool).triu(1) : mask.to(at::kBool);
  return at::softmax(scores.masked_fill(hidden, -10000.0), -1);
}

at::Tensor masked_softmax_backward(const at::Tensor& grad, const at::Tensor& output, const at::Tensor& mask, double scale, bool triangle) {
  auto result = at::_softmax_backward_data(wide(grad), wide(output), -1, at::kFloat).mul_(scale);
  return result.masked_fill_(triangle ? at::ones_like(result, at::kBool).triu(1) : mask.to(at::kBool), 0);
}

at::Tensor floating(const at::Tensor& x) { return at::isIntegralType(x.scalar_type(), true) ? x.to(at::kFloat) : x; }

}  // namespace

// clang-format off
// An activation and its in-place form.
#define ACTIVATION(Op, fn) \
  ACLNN(Op,          (In,self, Out,out), like(out, self), at::fn##_out(out, self)) \
  ACLNN(Inplace##Op, (Ref,self),         when_run(),      at::fn##_(self))

// The device takes integers as well: 0, or 1 from 3 on.
ACLNN(Hardsigmoid,        (In,self, Out,out),                                   like(out, self),      write(out, at::hardsigmoid(floating(self)).to(self.scalar_type())))
ACLNN(InplaceHardsigmoid, (Ref,self),                                           when_run(),           write(self, at::hardsigmoid(floating(self)).to(self.scalar_type())))
ACTIVATION(Hardswish, hardswish)
ACTIVATION(Mish, mish)
ACTIVATION(Sigmoid, sigmoid)
ACTIVATION(Tanh, tanh)

ACLNN(Relu,              (In,self, Out,out),                                    like(out, self),      at::relu_out(out, self))
ACLNN(Silu,              (In,self, Out,out),                                    like(out, self),      at::silu_out(out, self))
ACLNN(Gelu,              (In,self, Out,out),                                    like(out, self),      at::gelu_out(out, self))
ACLNN(GeluV2,            (In,self, int64_t,approximate, Out,out),               like(out, self),      at::gelu_out(out, self, approximation(approximate)))
ACLNN(FastGelu,          (In,self, Out,out),                                    like(out, self),      write(out, fast_gelu(self)))
ACLNN(Threshold,         (In,self, Num,threshold, Num,value, Out,out),          like(out, self),      at::threshold_out(out, self, threshold, value))
ACLNN(LeakyRelu,         (In,self, Num,slope, Out,out),                         like(out, self),      at::leaky_relu_out(out, self, slope))
ACLNN(Elu,               (In,self, Num,alpha, Num,scale, Num,input_scale, Out,out), like(out, self),  at::elu_out(out, self, alpha, scale, input_scale))
ACLNN(Celu,              (In,self, Num,alpha, Out,out),                         like(out, self),      write(out, at::celu(self, alpha)))
ACLNN(Hardtanh,          (In,self, Num,min, Num,max, Out,out),                  like(out, self),      at::hardtanh_out(out, self, min, max))
ACLNN(Hardshrink,        (In,self, Num,lambda, Out,out),                        like(out, self),      at::hardshrink_out(out, self, lambda))
ACLNN(Softshrink,        (In,self, Num,lambda, Out,out),                        like(out, self),      at::softshrink_out(out, self, lambda))
ACLNN(Softplus,          (In,self, Num,beta, Num,threshold, Out,out),           like(out, self),      at::softplus_out(out, self, beta, threshold))
ACLNN(LogSigmoid,        (In,self, Out,out),                                    like(out, self),      write(out, at::log_sigmoid(self)))
ACLNN(LogSigmoidForward, (In,self, Out,out, Out,buffer),                        like(out, self),      write(out, at::log_sigmoid(self)))
ACLNN(Prelu,             (In,self, In,weight, Out,out),                         like(out, self),      write(out, at::_prelu_kernel(self, weight.dim() == self.dim() ? weight : per_channel(weight, self))))
ACLNN(Glu,               (In,self, int64_t,dim, Out,out),                       half_of(out, self, dim), at::glu_out(out, self, dim))
ACLNN(SwiGlu,            (In,self, int64_t,dim, Out,out),                       half_of(out, self, dim), write(out, swiglu(self, dim)))
ACLNN(GeGluV3,           (In,self, int64_t,dim, int64_t,approximate, bool,left, Out,out, Out,out_gelu), half_of(out, self, dim), geglu(self, dim, approximate, left, out, out_gelu))
ACLNN(GeluMul,           (In,self, Text,approximate, Out,out),                  half_of(out, self, -1), write(out, gelu_mul(self, approximate)))
ACLNN(Softmax,           (In,self, int64_t,dim, Out,out),                       like(out, self),      write(out, at::softmax(self, dim, out.scalar_type())))
ACLNN(LogSoftmax,        (In,self, int64_t,dim, Out,out),                       like(out, self),      write(out, at::log_softmax(self, dim, out.scalar_type())))
ACLNN(ScaledMaskedSoftmax, (In,self, In,mask, double,scale, bool,triangle, Out,out), like(out, self), write(out, masked_softmax(self, mask, scale, triangle)))

// in place
ACLNN(InplaceRelu,       (Ref,self),                                            when_run(),           self.relu_())
ACLNN(InplaceLeakyRelu,  (Ref,self, Num,slope),                                 when_run(),           at::leaky_relu_(self, slope))
ACLNN(InplaceElu,        (Ref,self, Num,alpha, Num,scale, Num,input_scale),     when_run(),           at::elu_(self, alpha, scale, input_scale))
ACLNN(InplaceCelu,       (Ref,self, Num,alpha),                                 when_run(),           at::celu_(self, alpha))
ACLNN(InplaceHardtanh,   (Ref,self, Num,min, Num,max),                          when_run(),           at::hardtanh_(self, min, max))
ACLNN(InplaceThreshold,  (Ref,self, Num,threshold, Num,value),                  when_run(),           at::threshold_(self, threshold, value))

// backward
ACLNN(ThresholdBackward, (In,grad, In,self, Num,threshold, Out,out),            broadcast(out, {grad, self}), at::threshold_backward_out(out, grad, self, threshold))
ACLNN(TanhBackward,      (In,grad, In,output, Out,out),                         broadcast(out, {grad, output}), at::tanh_backward_out(out, grad, output))
ACLNN(SigmoidBackward,   (In,grad, In,output, Out,out),                         broadcast(out, {grad, output}), at::sigmoid_backward_out(out, grad, output))
ACLNN(SiluBackward,      (In,grad, In,self, Out,out),                           like(out, self),      at::silu_backward_out(out, grad, self))
ACLNN(GeluBackward,      (In,grad, In,self, Out,out),                           like(out, self),      at::gelu_backward_out(out, grad, self))
ACLNN(GeluBackwardV2,    (In,grad, In,self, Text,approximate, Out,out),         like(out, self),      at::gelu_backward_out(out, grad, self, approximate))
ACLNN(FastGeluBackward,  (In,grad, In,self, Out,out),                           like(out, self),      write(out, fast_gelu_backward(grad, self)))
ACLNN(LeakyReluBackward, (In,grad, In,self, Num,slope, bool,is_result, Out,out), like(out, self),     at::leaky_relu_backward_out(out, grad, self, slope, is_result))
ACLNN(EluBackward,       (In,grad, Num,alpha, Num,scale, Num,input_scale, bool,is_result, In,self, Out,out), like(out, self), at::elu_backward_out(out, grad, alpha, scale, input_scale, is_result, self))
ACLNN(HardsigmoidBackward, (In,grad, In,self, Out,out),                         like(out, self),      at::hardsigmoid_backward_out(out, grad, self))
ACLNN(HardswishBackward, (In,grad, In,self, Out,out),                           like(out, self),      write(out, at::hardswish_backward(grad, self)))
ACLNN(HardswishBackwardV2, (In,grad, In,self, Out,out),                         like(out, self),      write(out, at::hardswish_backward(grad, self)))
ACLNN(HardtanhBackward,  (In,grad, In,self, Num,min, Num,max, Out,out),         like(out, self),      at::hardtanh_backward_out(out, grad, self, min, max))
ACLNN(HardshrinkBackward,(In,grad, In,self, Num,lambda, Out,out),               like(out, self),      at::hardshrink_backward_out(out, grad, self, lambda))
ACLNN(SoftshrinkBackward,(In,grad, In,self, Num,lambda, Out,out),               like(out, self),      at::softshrink_backward_out(out, grad, self, lambda))
ACLNN(SoftplusBackward,  (In,grad, In,self, Num,beta, Num,threshold, Out,out),  like(out, self),      at::softplus_backward_out(out, grad, self, beta, threshold))
ACLNN(LogSigmoidBackward,(In,grad, In,self, In,buffer, Out,out),                like(out, self),      write(out, log_sigmoid_backward(grad, self)))
ACLNN(MishBackward,      (In,grad, In,self, Out,out),                           like(out, self),      write(out, at::mish_backward(grad, self)))
ACLNN(PreluBackward,     (In,grad, In,self, In,weight, Out,out, Out,out_weight), like(out, self),     prelu_backward(grad, self, weight, out, out_weight))
ACLNN(GluBackward,       (In,grad, In,self, int64_t,dim, Out,out),              like(out, self),      write(out, at::glu_backward(grad, self, dim)))
ACLNN(SwiGluGrad,        (In,grad, In,self, int64_t,dim, Out,out),              like(out, self),      write(out, swiglu_backward(grad, self, dim)))
ACLNN(GeGluV3Backward,   (In,grad, In,self, In,gelu, int64_t,dim, int64_t,approximate, bool,left, Out,out), like(out, self), write(out, geglu_backward(grad, self, gelu, dim, approximate, left)))
ACLNN(SoftmaxBackward,   (In,grad, In,output, int64_t,dim, Out,out),            (like(out, output), like(grad, output)), write(out, at::_softmax_backward_data(wide(grad), wide(output), dim, wide(output).scalar_type())))
ACLNN(LogSoftmaxBackward,(In,grad, In,output, int64_t,dim, Out,out),            (like(out, output), like(grad, output)), write(out, at::_log_softmax_backward_data(wide(grad), wide(output), dim, wide(output).scalar_type())))
ACLNN(ScaledMaskedSoftmaxBackward, (In,grad, In,output, In,mask, double,scale, bool,triangle, Out,out), like(out, output), write(out, masked_softmax_backward(grad, output, mask, scale, triangle)))
// clang-format on
