// Mixture of experts: tokens in the order of their experts, and back. sorted_indices says for each of tokens x topk
// choices, in the order of the tokens, which row of the permuted tokens it is; a row behind the last was dropped.
#include "opapi/aclnn.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>

using namespace sim::aclnn;

namespace {

void not_padded(bool padded) { TORCH_CHECK(!padded, "padded_mode is not simulated"); }

void matrix(const char* name, const at::Tensor& tensor) {
  TORCH_CHECK(tensor.dim() == 2, name, " must have 2 dimensions, it has shape ", tensor.sizes());
}

void choices(const at::Tensor& indices, const at::Tensor& tokens, int64_t kept) {
  matrix("tokens", tokens);
  TORCH_CHECK(indices.dim() == 1 || indices.dim() == 2, "indices (tokens) or (tokens, topk) expected, got ", indices.sizes());
  TORCH_CHECK(indices.size(0) == tokens.size(0), indices.size(0), " rows of indices for ", tokens.size(0), " tokens");
  TORCH_CHECK(kept >= 0 && kept <= indices.numel(), "num_out_tokens ", kept, " of ", indices.numel());
}

void fit(const at::Tensor& sorted, const at::Tensor& probs, int64_t tokens) {
  const int64_t topk = probs.defined() ? probs.numel() / std::max<int64_t>(tokens, 1) : 1;
  TORCH_CHECK(sorted.numel() == tokens * topk, sorted.numel(), " sorted_indices for ", tokens, " tokens of ", topk, " experts");
}

int64_t topk_of(const at::Tensor& probs) { return probs.defined() && probs.dim() == 2 ? probs.size(1) : 1; }

void permute(const at::Tensor& tokens, const at::Tensor& indices, int64_t kept, const at::Tensor& permuted, const at::Tensor& sorted) {
  const int64_t topk = indices.dim() == 2 ? indices.size(1) : 1;
  auto order = at::argsort(indices.flatten(), true, 0, false);
  write(permuted, tokens.index_select(0, order.narrow(0, 0, kept).div(topk, "floor")));
  write(sorted, at::argsort(order, true, 0, false).to(sorted.scalar_type()));
}

// Rows of `permuted` in the order of the tokens; zeros for those that were dropped.
at::Tensor in_order(const at::Tensor& permuted, const at::Tensor& sorted) {
  auto rows = sorted.to(at::kLong);
  auto there = rows.lt(permuted.size(0));
  return at::mul(wide(permuted).index_select(0, rows.masked_fill(there.logical_not(), 0)), there.unsqueeze(1));
}

at::Tensor sum_of_experts(const at::Tensor& rows, int64_t topk) { return rows.reshape({-1, topk, rows.size(1)}).sum(1); }

void unpermute(const at::Tensor& permuted, const at::Tensor& sorted, const at::Tensor& probs, const at::Tensor& out) {
  auto rows = in_order(permuted, sorted);
  if (probs.defined()) rows = at::mul(rows, wide(probs).reshape({-1, 1}));
  write(out, sum_of_experts(rows, topk_of(probs)).to(out.scalar_type()));
}

void unpermute_backward(const at::Tensor& permuted, const at::Tensor& grad, const at::Tensor& sorted, const at::Tensor& probs,
                        const at::Tensor& grad_permuted, const at::Tensor& grad_probs) {
  auto rows = sorted.to(at::kLong), kept = rows.lt(grad_permuted.size(0));
  auto each = wide(grad).repeat_interleave(topk_of(probs), 0);  // of every choice
  if (probs.defined()) write_asked(grad_probs, at::mul(in_order(permuted, sorted), each).sum(1).to(grad_probs.scalar_type()));
  if (probs.defined()) each = at::mul(each, wide(probs).reshape({-1, 1}));
  auto out = at::zeros(grad_permuted.sizes(), each.options());
  auto places = kept.nonzero().squeeze(1);
  write(grad_permuted, out.index_copy_(0, rows.index_select(0, places), each.index_select(0, places)).to(grad_permuted.scalar_type()));
}

}  // namespace

// clang-format off
ACLNN(MoeTokenPermute,       (In,tokens, In,indices, int64_t,kept, bool,padded, Out,permuted, Out,sorted),
      (not_padded(padded), choices(indices, tokens, kept), shape(permuted, {kept, tokens.size(1)}), shape(sorted, {indices.numel()})), permute(tokens, indices, kept, permuted, sorted))
ACLNN(MoeTokenPermuteGrad,   (In,grad, In,sorted, int64_t,topk, bool,padded, Out,out),
      (not_padded(padded), matrix("permutedOutputGrad", grad), shape(out, {sorted.numel() / topk, grad.size(1)})), write(out, sum_of_experts(in_order(grad, sorted), topk).to(out.scalar_type())))
ACLNN(MoeTokenUnpermute,     (In,permuted, In,sorted, In,probs, bool,padded, Ints,restore, Out,out),
      (not_padded(padded), matrix("permutedTokens", permuted), fit(sorted, probs, out.size(0))), unpermute(permuted, sorted, probs, out))
ACLNN(MoeTokenUnpermuteGrad, (In,permuted, In,grad, In,sorted, In,probs, bool,padded, Ints,restore, Out,grad_permuted, Out,grad_probs),
      (not_padded(padded), matrix("unpermutedTokensGrad", grad), fit(sorted, probs, grad.size(0))), unpermute_backward(permuted, grad, sorted, probs, grad_permuted, grad_probs))
