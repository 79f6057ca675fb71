// Attention and feed-forward workers: what they do with a context in device memory, and with each other's windows.
#include "kernels/worker_schedule.h"

#include "core/order_api.h"
#include "opapi/aclnn.h"
#include "opapi/devices.h"

using namespace sim::aclnn;

static kernels::Patience patience() { return kernels::Patience(ophook_hccl_patience()); }

// ---- waiting for what others write ---------------------------------------------------------------------------------
ACLNN(InplaceAttentionWorkerScheduler, (Ref, context), kernels::context_like(context),
      kernels::await_results(context, patience());
      sim_order_awaited())
ACLNN(InplaceFfnWorkerScheduler, (Ref, context, int32_t, group_size, int32_t, mode), kernels::context_like(context),
      kernels::await_tokens(context, group_size, patience());
      sim_order_awaited())

// ---- what came -----------------------------------------------------------------------------------------------------
ACLNN(AttentionWorkerCombine,
      (In, context, In, scales, In, layer, int64_t, hidden, int64_t, dtype, int64_t, schedule, Out, out, Out, next),
      kernels::combined_like(context, scales, layer, hidden, schedule, out, next),
      kernels::combine(context, scales, layer, out, next))
#define BATCH (kernels::Batch{NAMED(rows, groups, sessions, micro_batches, tokens, choices, scale, count)})
ACLNN(FfnWorkerBatching,
      (In, context, int64_t, experts, Ints, most, int64_t, dtype, int64_t, schedule, int64_t, layers, Out, rows, Out,
       groups, Out, sessions, Out, micro_batches, Out, tokens, Out, choices, Out, scale, Out, count),
      kernels::batch_like(context, experts, most, dtype, schedule, layers, BATCH),
      kernels::batch(context, schedule != 0, patience(), BATCH))

// ---- writing into others' windows ----------------------------------------------------------------------------------
#define TOKENS_TO_SEND \
  (kernels::Outgoing{NAMED(x, session, micro_batch, layer), .experts = ids, NAMED(places, scales, active)})
ACLNN(AttentionToFFN,
      (In, x, In, session, In, micro_batch, In, layer, In, ids, In, places, In, scales, In, active, Text, group,
       int64_t, ranks, Ints, info, Ints, data, Ints, returning, int64_t, experts, int64_t, quantization, int64_t, sync,
       int64_t, start),
      // Of both the page says that they are there, not what they change.
      (refuse_unless_zero(sync, "syncFlag"), refuse_unless_zero(start, "ffnStartRankId"),
       kernels::to_experts_like(sim::HcclDevices(group), TOKENS_TO_SEND, ranks, {info, data}, returning, experts,
                                quantization)),
      sim::HcclDevices devices(group);
      kernels::to_experts(devices, TOKENS_TO_SEND, {info, data}, experts, quantization))
#define RESULTS (kernels::Results{NAMED(x, sessions, micro_batches, tokens, choices, count), .ranks = table})
ACLNN(FFNToAttention,
      (In, x, In, sessions, In, micro_batches, In, tokens, In, choices, In, count, In, table, Text, group, int64_t,
       ranks, Ints, info, Ints, data),
      kernels::to_attention_like(sim::HcclDevices(group), RESULTS, ranks, {info, data}),
      sim::HcclDevices devices(group);
      kernels::to_attention(devices, RESULTS, {info, data}))
