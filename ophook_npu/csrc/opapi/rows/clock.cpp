#include "kernels/clock.h"

#include "opapi/aclnn.h"

using namespace sim::aclnn;

ACLNN(Sleep, (Ints, cycles), kernels::cycles_like(cycles), kernels::wait(cycles))
