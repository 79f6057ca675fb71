// The activations that fused operators name.
#pragma once

#include "opapi/aclnn.h"

namespace sim::aclnn {

at::Tensor fast_gelu(const at::Tensor& self);  // x * sigmoid(1.702 x)
// relu, gelu, gelu_tanh, fastgelu or silu; refuses others by name.
at::Tensor activated(const at::Tensor& self, const std::string& name);
void known_activation(const std::string& name);

}  // namespace sim::aclnn
