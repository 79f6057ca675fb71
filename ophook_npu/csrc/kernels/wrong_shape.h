// An output of another shape than the result: told from other violations, because CANN does not look at it in a call
// that an empty tensor has ended already.
#pragma once

#include "kernels/check.h"

namespace sim {

struct SIM_API WrongShape : Violation {
  using Violation::Violation;
};

}  // namespace sim
