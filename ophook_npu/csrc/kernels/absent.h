// What a check throws where a tensor or a number that is needed is null: the aclnn interface has a code of its own for
// it.
#pragma once

#include <c10/util/Exception.h>

#include "core/sim.h"

namespace sim {

struct SIM_API Absent : c10::Error {
  using c10::Error::Error;
};
[[noreturn]] SIM_API void absent();

}  // namespace sim
