// What normalizations are given and what they give. Statistics are computed in float, whatever the data's type, as the
// device does.
#pragma once

#include <array>

#include "kernels/tensors.h"

namespace sim::kernels {

struct Normal {
  at::Tensor y, mean, rstd;
};
struct Statistics {
  at::Tensor mean, rstd;
};
struct Affine {
  at::Tensor weight, bias;
};
struct NormalGradients {
  at::Tensor x, weight, bias;
};
using Wanted = std::array<bool, 3>;  // which of the gradients
constexpr Wanted kAllGradients{true, true, true};

}  // namespace sim::kernels
