// What workers do with a context in device memory. No page: op-plugin's tests say how it lies and what comes of it.
#include "kernels/worker_schedule.h"

#include "opapi/aclnn.h"

using namespace sim::aclnn;

ACLNN(AttentionWorkerCombine,
      (In, context, In, scales, In, layer, int64_t, hidden, int64_t, dtype, int64_t, schedule, Out, out, Out, next),
      kernels::combined_like(context, scales, layer, hidden, schedule, out, next),
      kernels::combine(context, scales, layer, out, next))
