// Mixture of experts: tokens in the order of their experts, and back.
#include "kernels/moe.h"
#include "kernels/needed.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;
namespace moe = sim::moe;

// So many rows, or with 0 and less all but so many; never more than there are.
static int64_t rows_kept(int64_t asked, const at::Tensor& indices) {
  const int64_t all = indices.numel();
  return std::clamp<int64_t>(asked > 0 ? asked : all + asked, 0, all);
}

// Before what their shapes are compared with.
static void there(std::initializer_list<at::Tensor> needed) {
  for (const at::Tensor& each : needed) SIM_NEEDED(each.defined(), "an argument that is needed is null");
}
// On an Ascend950 CANN's own check asks for these, and for no padding; before it the operator does.
static void not_padded(bool padded, std::initializer_list<at::Tensor> needed = {}) {
  if (!product_is("Ascend950")) return moe::not_padded(padded);
  if (padded) throw c10::TypeError({__func__, __FILE__, uint32_t(__LINE__)}, "padded_mode is not simulated");
  there(needed);
}
// There, where no probabilities are given, each token has as many experts as there are indices for it.
static at::Tensor or_equal_probs(const at::Tensor& probs, const at::Tensor& sorted, int64_t tokens) {
  const bool several = !probs.defined() && tokens > 0 && sorted.numel() > tokens && sorted.numel() % tokens == 0;
  return several && product_is("Ascend950") ? moe::equal_probs(sorted, tokens) : probs;
}
// Of tokens of INT8 an Ascend950 gives as many places as there is room for, else the operator fills all.
static void places_like(const at::Tensor& sorted, const at::Tensor& tokens, const at::Tensor& indices) {
  const bool cut = product_is("Ascend950") && tokens.scalar_type() == at::kChar && sorted.dim() == 1;
  if (!cut || sorted.numel() > indices.numel()) shape(sorted, {indices.numel()});
}
static Tensors cut_to(Tensors made, const at::Tensor& sorted) {
  made[1] = made[1].narrow(0, 0, sorted.numel());
  return made;
}
ACLNN(MoeTokenPermute, (In, tokens, In, indices, int64_t, kept, bool, padded, Out, permuted, Out, sorted),
      (there({indices}), not_padded(padded, {sorted}), moe::choices(indices, tokens, rows_kept(kept, indices)),
       shape(permuted, {rows_kept(kept, indices), tokens.size(1)}), places_like(sorted, tokens, indices)),
      write_each({permuted, sorted},
                 cut_to(moe::permute_range(tokens, indices, {}, 0, rows_kept(kept, indices)), sorted)))
ACLNN(MoeTokenPermuteGrad, (In, grad, In, sorted, int64_t, topk, bool, padded, Out, out),
      (there({sorted}), not_padded(padded), moe::rows_of_tokens("permutedOutputGrad", grad),
       shape(out, {moe::tokens_of(sorted, topk), grad.size(1)})),
      write_each({out}, moe::permute_range_backward(grad, sorted, {}, topk, 0)))
ACLNN(MoeTokenUnpermute, (In, permuted, In, sorted, In, probs, bool, padded, Ints, restore, Out, out),
      (there({sorted}), not_padded(padded), moe::rows_of_tokens("permutedTokens", permuted),
       moe::fit(sorted, or_equal_probs(probs, sorted, out.size(0)), out.size(0)),
       shape(out, {out.size(0), permuted.size(1)})),
      write_each({out}, {moe::unpermute(permuted, sorted, or_equal_probs(probs, sorted, out.size(0)))}))
ACLNN(MoeTokenUnpermuteGrad,
      (In, permuted, In, grad, In, sorted, In, probs, bool, padded, Ints, restore, Out, grad_permuted, Out, grad_probs),
      (there({grad, sorted}), not_padded(padded, {permuted, grad_probs}),
       moe::rows_of_tokens("unpermutedTokensGrad", grad),
       moe::fit(sorted, or_equal_probs(probs, sorted, grad.size(0)), grad.size(0)),
       moe::gradients_like(permuted, grad, probs, grad_permuted, grad_probs)),
      const at::Tensor each = or_equal_probs(probs, sorted, grad.size(0));
      const Tensors result = moe::unpermute_backward(grad, sorted, permuted, each, grad_permuted.size(0));
      write(grad_permuted, result[0].to(grad_permuted.scalar_type()));
      if (probs.defined()) write_asked(grad_probs, result[1]))

// Of experts that are spread over devices: only the rows first <= row < last are here.
ACLNN(MoeTokenPermuteWithEp,
      (In, tokens, In, indices, In, probs, Ints, range, int64_t, kept, bool, padded, Out, permuted, Out, sorted, Out,
       out_probs),
      (moe::not_padded(padded), moe::choices(indices, tokens, moe::rows_of_range(range, rows_kept(kept, indices))),
       shape(permuted, {moe::rows_of_range(range, rows_kept(kept, indices)), tokens.size(1)}),
       shape(sorted, {indices.numel()}), probs.defined() ? shape(out_probs, {permuted.size(0)}) : when_run()),
      write_each({permuted, sorted, out_probs},
                 moe::permute_range(tokens, indices, probs, moe::first_of(range), permuted.size(0))))
ACLNN(MoeTokenPermuteWithEpGrad,
      (In, grad, In, sorted, In, grad_probs, int64_t, topk, Ints, range, bool, padded, Out, out, Out, out_probs),
      (moe::not_padded(padded), moe::rows_of_tokens("permutedTokensOutputGrad", grad),
       shape(out, {moe::tokens_of(sorted, topk), grad.size(1)}),
       grad_probs.defined() ? shape(out_probs, {moe::tokens_of(sorted, topk), topk}) : when_run()),
      write_each({out, out_probs}, moe::permute_range_backward(grad, sorted, grad_probs, topk, moe::first_of(range))))
ACLNN(MoeTokenUnpermuteWithEp,
      (In, permuted, In, sorted, In, probs, int64_t, topk, Ints, range, bool, padded, Ints, restore, Out, out),
      (moe::not_padded(padded), moe::rows_of_tokens("permutedTokens", permuted),
       shape(out, {moe::tokens_of(sorted, topk), permuted.size(1)}),
       moe::weighed(probs, moe::tokens_of(sorted, topk), topk)),
      write_each({out}, {moe::unpermute_range(permuted, sorted, probs, topk, moe::first_of(range))}))
ACLNN(MoeTokenUnpermuteWithEpGrad,
      (In, grad, In, sorted, In, permuted, In, probs, bool, padded, Ints, restore, Ints, range, int64_t, topk, Out, out,
       Out, out_probs),
      (moe::not_padded(padded), moe::rows_of_tokens("unpermutedTokensGrad", grad),
       shape(out, {moe::rows_of_range(range, sorted.numel()), grad.size(1)}),
       moe::weighed(probs, grad.size(0), moe::choices_each(probs, topk)),
       shape(sorted, {grad.size(0) * moe::choices_each(probs, topk)}),
       probs.defined() ? (like(out_probs, probs), moe::rows_of_tokens("permutedTokensOptional", permuted))
                       : when_run()),
      write_each({out, out_probs},
                 moe::unpermute_range_backward(grad, sorted, permuted, probs, moe::choices_each(probs, topk),
                                               moe::first_of(range), out.size(0))))
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
// The number of tokens comes from one of these.
static void restored(const Dims& restore, const at::Tensor& permuted, const at::Tensor& probs) {
  SIM_NEEDED(!restore.empty() || probs.defined(), "restoreShape and probs are null");
  SIM_CHECK(restore.empty() || (restore.size() == 2 && restore[1] == permuted.size(1)), "restoreShape ",
            at::IntArrayRef(restore), " for permutedTokens ", permuted.sizes());
}
ACLNN(MoeTokenUnpermuteWithRoutingMap,
      (In, permuted, In, sorted, In, map, In, probs, bool, padded, Ints, restore, Out, out, Out, rows, Out, tokens, Out,
       out_probs),
      (restored(restore, permuted, probs), moe::map_like(map, probs, permuted.size(0), padded),
       shape(out, restore.empty() ? Dims{probs.size(0), permuted.size(1)} : restore),
       probs.defined() ? like(out_probs, sorted) : when_run()),
      write_each({out, rows, tokens, out_probs},
                 moe::unpermute_by_map(permuted, sorted, map, probs, padded, out.sizes())))
ACLNN(MoeTokenUnpermuteWithRoutingMapGrad,
      (In, grad, In, rows, In, tokens, In, map, In, permuted, In, probs, bool, padded, Ints, restore, Out, out, Out,
       out_probs),
      (moe::map_like(map, probs, rows.size(0), padded),
       probs.defined() && sim::given(out_probs) ? like(out_probs, probs) : when_run()),
      write_each({out, out_probs}, moe::unpermute_by_map_backward(grad, rows, tokens, map, permuted, probs, padded)))
