// Tokens to the devices of their experts, and the results back. What is reserved or belongs to a second group (TP) has
// one allowed value each.

#include "kernels/expert_exchange.h"

#include "opapi/aclnn.h"
#include "opapi/devices.h"

using namespace sim::aclnn;
namespace experts = sim::expert_exchange;

static void come_back(const at::Tensor& tp, const at::Tensor& x_scale, const at::Tensor& w_scale,
                      const at::Tensor& list, int64_t dtype, int64_t list_type) {
  SIM_CHECK(!tp.defined() || tp.numel() <= 1, "tpSendCounts of ", tp.numel(), " devices are not simulated");
  refuse_if_given({x_scale}, "activationScale");
  refuse_if_given({w_scale}, "weightScale");
  refuse_if_given({list}, "groupList");
  refuse_unless_zero(dtype, "outDtype");
  refuse_unless_zero(list_type, "groupListType");
}

#define TOKENS In, x, In, ids, In, scales, In, mask, In, weights
#define PLACES                                                                                                     \
  Text, ep, int64_t, ranks, int64_t, rank, int64_t, count, Text, tp, int64_t, tp_ranks, int64_t, tp_rank, int64_t, \
      shard, int64_t, shared, int64_t, shared_ranks
#define RECEIVED Out, rows, Out, row_scale, Out, sources, Out, counts, Out, ends, Out, tp_ends, Out, row_weights
#define TOKENS_HERE {NAMED(x), .experts = ids, .active = mask}
#define SENDING(rows_first) \
  {.tokens = TOKENS_HERE, NAMED(scales, weights, quantization), .counts_kind = kind, .by_row = rows_first}
#define RESULTS_THERE {NAMED(rows, row_scale, sources), .expert_counts = counts, NAMED(ends), .weights = row_weights}
#define DISPATCH(name, layout, by_row, algorithm, more_checks, ...)                                               \
  ACLNN(name, (__VA_ARGS__),                                                                                      \
        (more_checks, experts::layout_like(layout, sim::HcclDevices(ep), tp_ranks, shard, algorithm),             \
         experts::tokens_like(layout, TOKENS_HERE, algorithm),                                                    \
         experts::dispatch_like(layout, SENDING(by_row), global_tokens, RESULTS_THERE), sim::idle(tp_ends, {1})), \
        sim::HcclDevices devices(ep);                                                                             \
        experts::dispatch(devices, layout, SENDING(by_row), RESULTS_THERE))
#define DEVICES_OF_EXPERTS NAMED(ranks, rank), .experts = count, NAMED(shared, shared_ranks)
#define ROUTED (experts::Layout{DEVICES_OF_EXPERTS})
#define ROUTED_AND_SPECIAL (experts::Layout{DEVICES_OF_EXPERTS, NAMED(zeros, copies, constants)})

// ---- there ---------------------------------------------------------------------------------------------------------
DISPATCH(MoeDistributeDispatch, ROUTED, false, "", when_run(), TOKENS, PLACES, int64_t, quantization, int64_t,
         global_tokens, int64_t, kind, RECEIVED)
DISPATCH(MoeDistributeDispatchV2, ROUTED, true, algorithm, when_run(), TOKENS, PLACES, int64_t, quantization, int64_t,
         global_tokens, int64_t, kind, Text, algorithm, RECEIVED)
DISPATCH(MoeDistributeDispatchV3, ROUTED_AND_SPECIAL, true, algorithm, refuse_if_given({elastic}, "elasticInfo"),
         TOKENS, In, elastic, PLACES, int64_t, quantization, int64_t, global_tokens, int64_t, kind, Text, algorithm,
         int64_t, zeros, int64_t, copies, int64_t, constants, RECEIVED)

DISPATCH(MoeDistributeDispatchV4, ROUTED_AND_SPECIAL, true, algorithm,
         (refuse_if_given({elastic}, "elasticInfo"), refuse_if_given({times}, "performanceInfo")), TOKENS, In, elastic,
         In, times, PLACES, int64_t, quantization, int64_t, global_tokens, int64_t, kind, Text, algorithm, int64_t,
         zeros, int64_t, copies, int64_t, constants, RECEIVED)

// ---- and back ------------------------------------------------------------------------------------------------------
#define RETURNED                                                                                                       \
  In, x, In, ids, In, sources, In, ends, In, weights, In, tp_counts, In, mask, In, x_scale, In, w_scale, In, list, In, \
      row_weights
#define RETURNED_TO int64_t, global_tokens, int64_t, dtype, int64_t, quantization, int64_t, list_type
#define RETURNING(shared_expert, without_network, rows_first) \
  {.tokens = TOKENS_HERE,                                     \
   NAMED(sources, ends, weights),                             \
   .shared = shared_expert,                                   \
   .special = without_network,                                \
   .by_row = rows_first}
#define COMBINE(name, layout, by_row, algorithm, shared_x, special, more_checks, ...)                              \
  ACLNN(name, (__VA_ARGS__),                                                                                       \
        (sim::communicator_named(ep), more_checks, come_back(tp_counts, x_scale, w_scale, list, dtype, list_type), \
         experts::layout_like(layout, sim::HcclDevices(ep), tp_ranks, shard, algorithm),                           \
         experts::combine_like(layout, RETURNING(shared_x, special, by_row), quantization, out)),                  \
        sim::HcclDevices devices(ep);                                                                              \
        write(out, experts::combine(devices, layout, RETURNING(shared_x, special, by_row))))
#define NO_SPECIAL (experts::Special{})
#define SPECIAL (experts::Special{.x = tokens, NAMED(alpha, beta, value)})
COMBINE(MoeDistributeCombine, ROUTED, false, "", at::Tensor(), NO_SPECIAL, refuse_if_given({mask}, "xActiveMask"),
        RETURNED, PLACES, RETURNED_TO, Out, out)
COMBINE(MoeDistributeCombineV2, ROUTED, true, algorithm, shared_x, NO_SPECIAL, when_run(), RETURNED, In, shared_x,
        PLACES, RETURNED_TO, Text, algorithm, Out, out)
COMBINE(MoeDistributeCombineV3, ROUTED_AND_SPECIAL, true, algorithm, shared_x, SPECIAL,
        refuse_if_given({elastic}, "elasticInfo"), RETURNED, In, shared_x, In, elastic, In, tokens, In, alpha, In, beta,
        In, value, PLACES, RETURNED_TO, Text, algorithm, int64_t, zeros, int64_t, copies, int64_t, constants, Out, out)
COMBINE(MoeDistributeCombineV4, ROUTED_AND_SPECIAL, true, algorithm, shared_x, SPECIAL,
        (refuse_if_given({elastic}, "elasticInfo"), refuse_if_given({times}, "performanceInfo")), RETURNED, In,
        shared_x, In, elastic, In, tokens, In, alpha, In, beta, In, value, In, times, PLACES, RETURNED_TO, Text,
        algorithm, int64_t, zeros, int64_t, copies, int64_t, constants, Out, out)

// ---- with a norm behind it -----------------------------------------------------------------------------------------
#define NORM_RETURNED                                                                                                \
  In, x, In, ids, In, sources, In, ends, In, weights, In, rest, In, gamma, In, tp_counts, In, mask, In, x_scale, In, \
      w_scale, In, list, In, row_weights, In, shared_x
#define NORM_RESULTS Out, out, Out, rstd, Out, sum
#define COMBINE_NORM(name, layout, special, more_checks, ...)                                                       \
  ACLNN(name, (__VA_ARGS__),                                                                                        \
        (more_checks, come_back(tp_counts, x_scale, w_scale, list, dtype, list_type),                               \
         experts::layout_like(layout, sim::HcclDevices(ep), tp_ranks, shard, algorithm),                            \
         experts::normalized_like(rest, gamma, ids.size(0), x.size(-1), out, rstd, sum),                            \
         experts::combine_like(layout, RETURNING(shared_x, special, true), quantization, sum.squeeze(1))),          \
        sim::HcclDevices devices(ep);                                                                               \
        write_each({out, rstd, sum},                                                                                \
                   experts::normalized(experts::combine(devices, layout, RETURNING(shared_x, special, true)), rest, \
                                       gamma, eps)))
COMBINE_NORM(MoeDistributeCombineAddRmsNorm, ROUTED, NO_SPECIAL, when_run(), NORM_RETURNED, PLACES, RETURNED_TO, Text,
             algorithm, float, eps, NORM_RESULTS)
COMBINE_NORM(MoeDistributeCombineAddRmsNormV2, ROUTED_AND_SPECIAL, SPECIAL, refuse_if_given({elastic}, "elasticInfo"),
             NORM_RETURNED, In, elastic, In, tokens, In, alpha, In, beta, In, value, PLACES, RETURNED_TO, Text,
             algorithm, float, eps, int64_t, zeros, int64_t, copies, int64_t, constants, NORM_RESULTS)

// ---- none goes on before all have come -----------------------------------------------------------------------------
ACLNN(DistributeBarrier, (Ref, x, Text, group, int64_t, ranks), experts::barrier_like(sim::HcclDevices(group), ranks),
      sim::HcclDevices devices(group);
      experts::wait_for_all(devices))
ACLNN(DistributeBarrierV2, (In, x, In, patience, In, elastic, Text, group, int64_t, ranks),
      (refuse_if_given({patience}, "timeOut"), refuse_if_given({elastic}, "elasticInfo"),
       experts::barrier_like(sim::HcclDevices(group), ranks)),
      sim::HcclDevices devices(group);
      experts::wait_for_all(devices))
