// What the first phases of all divisions ask.
#pragma once

#include "kernels/arithmetic.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

namespace sim::aclnn {

// By the product, the quotient of two whole numbers is a whole number, or one of float, which none of theirs can hold.
inline void divided(const at::Tensor& out, std::initializer_list<at::Tensor> in, int mode = 0) {
  const bool rounds = kernels::rounding(mode).has_value();
  for (const at::Tensor& each : in)
    if (rounds) not_complex(each);
  promoted(out, in, !rounds && product_is("Ascend950"));
}

}  // namespace sim::aclnn
