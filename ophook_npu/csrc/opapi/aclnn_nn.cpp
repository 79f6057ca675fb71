// Activations, losses and their backwards.
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void loss_shape(const at::Tensor& out, const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
  if (reduction == at::Reduction::None) broadcast(out, {self, target});
  else shape(out, {});
}

}  // namespace

// clang-format off
ACLNN(Relu,              (In,self, Out,out),                                    like(out, self),                at::relu_out(out, self))
ACLNN(InplaceRelu,       (Ref,self),                                            when_run(),                     self.relu_())
ACLNN(ThresholdBackward, (In,grad, In,self, Num,threshold, Out,out),            like(out, self),                at::threshold_backward_out(out, grad, self, threshold))
ACLNN(Tanh,              (In,self, Out,out),                                    like(out, self),                at::tanh_out(out, self))
ACLNN(TanhBackward,      (In,grad, In,output, Out,out),                         like(out, output),              at::tanh_backward_out(out, grad, output))
ACLNN(Sigmoid,           (In,self, Out,out),                                    like(out, self),                at::sigmoid_out(out, self))
ACLNN(SigmoidBackward,   (In,grad, In,output, Out,out),                         like(out, output),              at::sigmoid_backward_out(out, grad, output))
ACLNN(Silu,              (In,self, Out,out),                                    like(out, self),                at::silu_out(out, self))
ACLNN(SiluBackward,      (In,grad, In,self, Out,out),                           like(out, self),                at::silu_backward_out(out, grad, self))
ACLNN(Gelu,              (In,self, Out,out),                                    like(out, self),                at::gelu_out(out, self))
ACLNN(GeluBackward,      (In,grad, In,self, Out,out),                           like(out, self),                at::gelu_backward_out(out, grad, self))
ACLNN(Softmax,           (In,self, int64_t,dim, Out,out),                       like(out, self),                at::_softmax_out(out, self, dim, false))
ACLNN(SoftmaxBackward,   (In,grad, In,output, int64_t,dim, Out,out),            like(out, output),              at::_softmax_backward_data_out(out, grad, output, dim, output.scalar_type()))
ACLNN(LogSoftmax,        (In,self, int64_t,dim, Out,out),                       like(out, self),                at::_log_softmax_out(out, self, dim, false))
ACLNN(LogSoftmaxBackward,(In,grad, In,output, int64_t,dim, Out,out),            like(out, output),              at::_log_softmax_backward_data_out(out, grad, output, dim, output.scalar_type()))
ACLNN(MseLoss,           (In,self, In,target, int64_t,reduction, Out,out),      loss_shape(out, self, target, reduction), write(out, at::mse_loss(self, target, reduction)))
ACLNN(MseLossBackward,   (In,grad, In,self, In,target, int64_t,reduction, Out,out), broadcast(out, {self, target}), at::mse_loss_backward_out(out, grad, self, target, reduction))
// clang-format on
