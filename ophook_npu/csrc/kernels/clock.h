// Time that a stream spends without computing.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

void cycles_like(const Dims& cycles);
void wait(const Dims& cycles);  // one number, at the rate that the page names for an Ascend950

}  // namespace sim::kernels
