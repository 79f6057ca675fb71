// Mixture of experts: tokens in the order of their experts, and back.
#include "kernels/moe.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
namespace moe = sim::moe;

// So many rows, or with 0 and less all but so many; never more than there are.
static int64_t rows_kept(int64_t asked, const at::Tensor& indices) {
  const int64_t all = indices.numel();
  return std::clamp<int64_t>(asked > 0 ? asked : all + asked, 0, all);
}

ACLNN(MoeTokenPermute, (In, tokens, In, indices, int64_t, kept, bool, padded, Out, permuted, Out, sorted),
      (moe::not_padded(padded), moe::choices(indices, tokens, rows_kept(kept, indices)),
       shape(permuted, {rows_kept(kept, indices), tokens.size(1)}), shape(sorted, {indices.numel()})),
      write_each({permuted, sorted}, moe::permute(tokens, indices, rows_kept(kept, indices))))
ACLNN(MoeTokenPermuteGrad, (In, grad, In, sorted, int64_t, topk, bool, padded, Out, out),
      (moe::not_padded(padded), moe::rows_of_tokens("permutedOutputGrad", grad),
       shape(out, {divided(sorted.numel(), topk), grad.size(1)})),
      write_each({out}, {moe::sum_of_experts(moe::in_order(grad, sorted), topk)}))
ACLNN(MoeTokenUnpermute, (In, permuted, In, sorted, In, probs, bool, padded, Ints, restore, Out, out),
      (moe::not_padded(padded), moe::rows_of_tokens("permutedTokens", permuted), moe::fit(sorted, probs, out.size(0)),
       shape(out, {out.size(0), permuted.size(1)})),
      write_each({out}, {moe::unpermute(permuted, sorted, probs)}))
ACLNN(MoeTokenUnpermuteGrad,
      (In, permuted, In, grad, In, sorted, In, probs, bool, padded, Ints, restore, Out, grad_permuted, Out, grad_probs),
      (moe::not_padded(padded), moe::rows_of_tokens("unpermutedTokensGrad", grad),
       moe::fit(sorted, probs, grad.size(0)), moe::gradients_like(permuted, grad, probs, grad_permuted, grad_probs)),
      const Tensors result = moe::unpermute_backward(permuted, grad, sorted, probs, grad_permuted.sizes());
      write(grad_permuted, result[0].to(grad_permuted.scalar_type())); write_asked(grad_probs, result[1]))

ACLNN(MoeTokenPermuteWithRoutingMap,
      (In, tokens, In, map, In, probs, int64_t, kept, bool, padded, Out, permuted, Out, out_probs, Out, sorted),
      (moe::rows_of_tokens("tokens", tokens), moe::mapped(map, permuted.size(0), padded),
       moe::permuted_like(tokens, map, probs, kept, padded, permuted, out_probs, sorted)),
      write_each({permuted, sorted, out_probs}, moe::permute_by_map(tokens, map, probs, padded, permuted.size(0))))
ACLNN(MoeTokenPermuteWithRoutingMapGrad,
      (In, grad, In, grad_probs, In, sorted, In, map, int64_t, experts, int64_t, tokens, bool, padded, Out, out, Out,
       out_probs),
      (moe::rows_of_tokens("permutedTokenOutputGrad", grad), moe::mapped(map, grad.size(0), padded),
       shape(out, {tokens, grad.size(1)}), grad_probs.defined() ? shape(out_probs, {tokens, experts}) : when_run()),
      write_each({out, out_probs}, moe::permute_by_map_backward(grad, grad_probs, map, padded, out.sizes())))
ACLNN(MoeTokenUnpermuteWithRoutingMap,
      (In, permuted, In, sorted, In, map, In, probs, bool, padded, Ints, restore, Out, out, Out, rows, Out, tokens, Out,
       out_probs),
      (moe::rows_of_tokens("permutedTokens", permuted), shape(sorted, {permuted.size(0)}), shape(out, restore),
       like(rows, sorted), like(tokens, sorted), probs.defined() ? like(out_probs, sorted) : when_run()),
      write_each({out, rows, tokens, out_probs},
                 moe::unpermute_by_map(permuted, sorted, map, probs, padded, out.sizes())))
ACLNN(MoeTokenUnpermuteWithRoutingMapGrad,
      (In, grad, In, rows, In, tokens, In, map, In, permuted, In, probs, bool, padded, Ints, restore, Out, out, Out,
       out_probs),
      (moe::rows_of_tokens("unpermutedTokensGrad", grad), shape(out, {rows.numel(), grad.size(1)}),
       probs.defined() && sim::given(out_probs) ? like(out_probs, probs) : when_run()),
      write_each({out, out_probs}, moe::unpermute_by_map_backward(grad, rows, tokens, map, permuted, probs, padded)))
