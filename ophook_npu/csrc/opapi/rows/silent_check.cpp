// Faults of the device that show in nothing but the numbers.

#include "kernels/silent_check.h"

#include "opapi/aclnn.h"

using namespace sim::aclnn;
namespace silent = sim::silent;

ACLNN(SilentCheck,
      (In, value, Ref, gradient, Ref, history, Ref, step, int32_t, min_steps, float, error, float, error_jump, float,
       warning, float, warning_jump, int32_t, detect, Out, result),
      silent::ranged_like({value, step, result, detect}, history, {error, warning}, {error_jump, warning_jump}),
      silent::check_range({value, step, result, detect}, history, min_steps, {error, warning},
                          {error_jump, warning_jump}))
// No page says what `largest` is for, and callers pass the value twice. The view of the gradient is known without the
// lists that repeat it.
ACLNN(SilentCheckV2,
      (In, value, In, largest, Ref, mean, Ref, gradient, Ref, step, Ints, sizes, Ints, strides, Ints, offset, float,
       error, float, warning, float, rate, int32_t, detect, Out, result),
      silent::averaged_like({value, step, result, detect}, {mean, rate}, gradient, sizes, {error, warning}),
      silent::check_average({value, step, result, detect}, {mean, rate}, gradient, {error, warning}))
