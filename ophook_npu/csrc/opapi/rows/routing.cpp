// Mixture of experts: which experts each token goes to, its rows in the order of the experts, and their results
// together.
#include "kernels/routing.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
namespace routing = sim::routing;

#define GATING {NAMED(k, groups_kept, groups, mode, renorm, norm, factor, eps)}
ACLNN(MoeGatingTopK,
      (In, x, In, bias, int64_t, k, int64_t, groups_kept, int64_t, groups, int64_t, mode, int64_t, renorm, int64_t,
       norm, bool, norm_asked, double, factor, double, eps, Out, out, Out, experts, Out, norms),
      (routing::gating(x, bias, GATING), routing::chosen_like(x, k, {out, experts}),
       norm_asked ? like(norms, x) : when_run()),
      write_each({out, experts, norm_asked ? norms : at::Tensor()}, routing::gating_top_k(x, bias, GATING)))
ACLNN(MoeGatingTopKV2,
      (In, x, In, bias, In, numbers, In, table, int64_t, k, int64_t, groups_kept, int64_t, groups, int64_t, mode,
       int64_t, renorm, int64_t, norm, bool, norm_asked, double, factor, double, eps, Out, out, Out, experts, Out,
       norms),
      (routing::gating(x, bias, GATING), routing::looked_up_like(x, numbers, table, k),
       routing::chosen_like(x, k, {out, experts}), norm_asked ? like(norms, x) : when_run()),
      write_each({out, experts, norm_asked ? norms : at::Tensor()},
                 numbers.defined() ? routing::gating_looked_up(x, numbers, table, GATING)
                                   : routing::gating_top_k(x, bias, GATING)))
ACLNN(MoeGatingTopKBackward,
      (In, all, In, grad, In, chosen, int64_t, renorm, int64_t, norm, double, factor, double, eps, Out, out),
      routing::gating_backward_like(all, grad, chosen, renorm, norm, out),
      write(out, routing::gating_backward(all, grad, chosen, factor, eps)))
ACLNN(MoeGatingTopKSoftmax, (In, x, In, finished, int64_t, k, Out, out, Out, experts, Out, rows),
      routing::chosen_like(x, k, {out, experts, rows}),
      (write_each({out, experts}, routing::gating_softmax(x, finished, k, false)),
       write_each({rows}, {rows.defined() ? routing::numbers_of_choices(rows.sizes()) : at::Tensor()})))
ACLNN(MoeGatingTopKSoftmaxV2,
      (In, x, In, finished, int64_t, k, int64_t, renorm, bool, all_asked, Out, out, Out, experts, Out, all),
      (routing::chosen_like(x, k, {out, experts}),
       renorm == 0 && all_asked && sim::given(all) ? like(all, x) : when_run()),
      write_each({out, experts, renorm == 0 && all_asked && all.numel() ? all : at::Tensor()},
                 routing::gating_softmax(x, finished, k, renorm == 1)))
ACLNN(MoeComputeExpertTokens, (In, sorted, int64_t, experts, Out, out), shape(out, {experts}),
      write_each({out}, {routing::ends_of_experts(sorted, experts)}))

#define ROUTED_LIKE                                                                                                 \
  (routing::routed(x, expert_idx), like(row_idx, expert_idx),                                                       \
   shape(rows, {std::min(active, x.size(0)) * expert_idx.size(1), x.size(1)}), shape(places, {expert_idx.numel()}), \
   shape(experts, {expert_idx.numel()}))
ACLNN(MoeInitRouting, (In, x, In, row_idx, In, expert_idx, int64_t, active, Out, rows, Out, places, Out, experts),
      ROUTED_LIKE, write_each({rows, places, experts}, routing::init_routing(x, row_idx, expert_idx, active)))
ACLNN(MoeInitRoutingQuant,
      (In, x, In, row_idx, In, expert_idx, int64_t, active, double, scale, double, offset, Out, rows, Out, places, Out,
       experts),
      ROUTED_LIKE,
      write_each({rows, places, experts},
                 routing::init_routing(routing::in_steps(x, scale, offset), row_idx, expert_idx, active)))
// Without a number of experts the values decide how many there are.
#define COUNTS_LIKE                                                                                         \
  experts && counts_kind && !pad ? routing::counts_like(counts_kind - 1, experts, {}, counts) : when_run(), \
      experts && before_asked && pad ? routing::counts_like(1, experts, {}, before) : when_run()
#define CHOICES NAMED(x, expert_idx, active, capacity, experts, pad)
ACLNN(MoeInitRoutingV2,
      (In, x, In, expert_idx, int64_t, active, int64_t, capacity, int64_t, experts, int64_t, pad, int64_t, counts_kind,
       bool, before_asked, Out, rows, Out, places, Out, counts, Out, before),
      (routing::route_like({CHOICES}, {NAMED(rows, places)}), COUNTS_LIKE),
      routing::init_routing_v2({CHOICES}, counts_kind, before_asked, {NAMED(rows, places)}, counts, before))
#define QUANTIZED {NAMED(x, expert_idx, scale, offset, active, capacity, experts, pad, quantization)}
#define TO_ROUTED {NAMED(rows, places), .scale = row_scale}
ACLNN(MoeInitRoutingQuantV2,
      (In, x, In, expert_idx, In, scale, In, offset, int64_t, active, int64_t, capacity, int64_t, experts, int64_t, pad,
       int64_t, counts_kind, bool, before_asked, int64_t, quantization, Out, rows, Out, places, Out, counts, Out,
       before, Out, row_scale),
      (routing::route_like(QUANTIZED, TO_ROUTED), COUNTS_LIKE),
      routing::init_routing_v2(QUANTIZED, counts_kind, before_asked, TO_ROUTED, counts, before))
ACLNN(MoeInitRoutingV3,
      (In, x, In, expert_idx, In, scale, In, offset, int64_t, active, int64_t, capacity, int64_t, experts, int64_t, pad,
       int64_t, kind, bool, counts_asked, int64_t, quantization, Ints, range, int64_t, by_row, Out, rows, Out, places,
       Out, counts, Out, row_scale),
      (routing::route_like(QUANTIZED, TO_ROUTED),
       counts_asked ? routing::counts_like(kind, experts, range, counts) : when_run()),
      routing::init_routing_v3(QUANTIZED, kind, counts_asked, range, by_row == 1, TO_ROUTED, counts))

#define OF_RESULTS NAMED(rows, places, skip1, skip2, bias, scales, experts)
ACLNN(MoeFinalizeRouting, (In, rows, In, skip1, In, skip2, In, bias, In, scales, In, places, In, experts, Out, out),
      routing::finalized_like({OF_RESULTS}, out), write_each({out}, {routing::finalize({OF_RESULTS})}))
ACLNN(MoeInitRoutingV2Grad, (In, grad, In, places, int64_t, k, int64_t, drop, int64_t, active, Out, out),
      routing::init_backward_like(grad, places, k, drop, active, out),
      write(out, routing::init_backward(grad, places, k)))
ACLNN(MoeFinalizeRoutingV2Grad,
      (In, grad, In, places, In, rows, In, scales, In, experts, In, bias, int64_t, drop, int64_t, active, int64_t,
       number, int64_t, capacity, Out, out, Out, out_scales),
      routing::finalize_backward_like(grad, {NAMED(places, rows, scales, experts, bias)}, out, out_scales),
      write_each({out, out_scales},
                 routing::finalize_backward(grad, {NAMED(places, rows, scales, experts, bias)}, out.sizes())))
ACLNN(MoeFinalizeRoutingV2,
      (In, rows, In, places, In, skip1, In, skip2, In, bias, In, scales, In, experts, int64_t, mode, Out, out),
      routing::finalized_like({OF_RESULTS, NAMED(mode)}, out),
      write_each({out}, {routing::finalize({OF_RESULTS, NAMED(mode)})}))
// What lies between the experts and the mode is null wherever torch_npu calls it.
ACLNN(MoeFinalizeRoutingV4,
      (In, rows, In, places, In, skip1, In, skip2, In, bias, In, scales, In, experts, In, special1, In, special2, In,
       special3, In, special4, int64_t, mode, Ints, range1, Ints, range2, Ints, range3, int64_t, k, Out, out),
      (refuse_if_given({special1, special2, special3, special4}, "a tensor behind expertIdx"),
       refuse_unless_zero(int64_t(range1.size() + range2.size() + range3.size()), "the size of a range of experts"),
       routing::finalized_like({OF_RESULTS, NAMED(mode, k)}, out)),
      write_each({out}, {routing::finalize({OF_RESULTS, NAMED(mode, k)})}))
#define BALANCE {NAMED(experts, table, scales, threshold, active, rank, ranks, mode)}
ACLNN(MoeUpdateExpert,
      (In, experts, In, table, In, scales, In, threshold, In, active, int64_t, rank, int64_t, ranks, int64_t, mode, Out,
       out, Out, out_active),
      routing::balanced_like(BALANCE, out, out_active), write(out, routing::balanced(BALANCE));
      if (scales.defined()) write(out_active, routing::kept_choices(BALANCE)))
ACLNN(MoeReRouting,
      (In, tokens, In, counts, In, scales, int64_t, kind, int64_t, index_kind, Out, out, Out, out_scales, Out, indices,
       Out, totals),
      routing::re_routed(tokens, counts, scales, kind, index_kind, {out, out_scales, indices, totals}),
      write_each({out, out_scales, indices, totals}, routing::re_route(tokens, counts, scales)))
