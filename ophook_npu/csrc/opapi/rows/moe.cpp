// Mixture of experts: tokens in the order of their experts, and back. sorted_indices says for each of tokens x topk
// choices, in the order of the tokens, which row of the permuted tokens it is; a row behind the last was dropped.
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void not_padded(bool padded) { SIM_CHECK(!padded, "padded_mode is not simulated"); }

void matrix(const char* name, const at::Tensor& tensor) {
  SIM_CHECK(tensor.dim() == 2, name, " must have 2 dimensions, it has shape ", tensor.sizes());
}

void choices(const at::Tensor& indices, const at::Tensor& tokens, int64_t kept) {
  matrix("tokens", tokens);
  SIM_CHECK(indices.dim() == 1 || indices.dim() == 2, "indices (tokens) or (tokens, topk) expected, got ",
            indices.sizes());
  SIM_CHECK(indices.size(0) == tokens.size(0), indices.size(0), " rows of indices for ", tokens.size(0), " tokens");
  SIM_CHECK(kept >= 0 && kept <= indices.numel(), "num_out_tokens ", kept, " of ", indices.numel());
}

void fit(const at::Tensor& sorted, const at::Tensor& probs, int64_t tokens) {
  const int64_t topk = probs.defined() ? probs.numel() / std::max<int64_t>(tokens, 1) : 1;
  SIM_CHECK(sorted.numel() == tokens * topk, sorted.numel(), " sorted_indices for ", tokens, " tokens of ", topk,
            " experts");
}

int64_t topk_of(const at::Tensor& probs) { return probs.defined() && probs.dim() == 2 ? probs.size(1) : 1; }

void permute(const at::Tensor& tokens, const at::Tensor& indices, int64_t kept, const at::Tensor& permuted,
             const at::Tensor& sorted) {
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

at::Tensor sum_of_experts(const at::Tensor& rows, int64_t topk) {
  return rows.reshape({-1, topk, rows.size(1)}).sum(1);
}

void unpermute(const at::Tensor& permuted, const at::Tensor& sorted, const at::Tensor& probs, const at::Tensor& out) {
  auto rows = in_order(permuted, sorted);
  if (probs.defined()) rows = at::mul(rows, wide(probs).reshape({-1, 1}));
  write(out, sum_of_experts(rows, topk_of(probs)).to(out.scalar_type()));
}

void unpermute_backward(const at::Tensor& permuted, const at::Tensor& grad, const at::Tensor& sorted,
                        const at::Tensor& probs, const at::Tensor& grad_permuted, const at::Tensor& grad_probs) {
  auto rows = sorted.to(at::kLong), kept = rows.lt(grad_permuted.size(0));
  auto each = wide(grad).repeat_interleave(topk_of(probs), 0);  // of every choice
  if (probs.defined())
    write_asked(grad_probs, at::mul(in_order(permuted, sorted), each).sum(1).to(grad_probs.scalar_type()));
  if (probs.defined()) each = at::mul(each, wide(probs).reshape({-1, 1}));
  auto out = at::zeros(grad_permuted.sizes(), each.options());
  auto places = kept.nonzero().squeeze(1);
  write(grad_permuted,
        out.index_copy_(0, rows.index_select(0, places), each.index_select(0, places)).to(grad_permuted.scalar_type()));
}

// ---- by a map (tokens, experts) of who goes where
// ------------------------------------------------------------------------ Padded, every expert has the same number of
// rows, its own tokens first; else it has a row for each of its tokens.
at::Tensor tokens_of_experts(const at::Tensor& map, int64_t rows, bool padded) {
  auto by_expert = map.to(at::kBool).t();
  if (!padded) return by_expert.nonzero().select(1, 1);
  return at::argsort(by_expert.to(at::kByte), true, 1, true).narrow(1, 0, divided(rows, map.size(1))).flatten();
}

// The place in (tokens, experts), flattened, of each row.
at::Tensor places_in_map(const at::Tensor& tokens, const at::Tensor& map, bool padded) {
  const int64_t experts = map.size(1);
  auto expert = padded ? at::arange(experts, at::kLong).repeat_interleave(divided(tokens.numel(), experts))
                       : map.to(at::kBool).t().nonzero().select(1, 0);
  return tokens.mul(experts).add(expert);
}

void mapped(const at::Tensor& map, int64_t rows, bool padded) {
  matrix("routing_map", map);
  const int64_t parts = map.size(padded ? 1 : 0);
  SIM_CHECK(parts && rows % parts == 0, rows, " rows for ", parts, padded ? " experts" : " tokens");
}

// What phase 1 cannot see.
void as_many(const at::Tensor& tokens, int64_t rows) {
  SIM_CHECK(tokens.numel() == rows, "routing_map has ", tokens.numel(), " choices for ", rows, " rows");
}

void permute_by_map(const at::Tensor& tokens, const at::Tensor& map, const at::Tensor& probs, bool padded,
                    const at::Tensor& permuted, const at::Tensor& out_probs, const at::Tensor& sorted) {
  auto from = tokens_of_experts(map, permuted.size(0), padded);
  as_many(from, permuted.size(0));
  write(permuted, tokens.index_select(0, from));
  if (probs.defined()) write(out_probs, probs.flatten().index_select(0, places_in_map(from, map, padded)));
  write(sorted, (padded ? from : at::argsort(from, true, 0, false)).to(sorted.scalar_type()));
}

void permute_by_map_backward(const at::Tensor& grad, const at::Tensor& grad_probs, const at::Tensor& map, bool padded,
                             const at::Tensor& out, const at::Tensor& out_probs) {
  auto from = tokens_of_experts(map, grad.size(0), padded);
  as_many(from, grad.size(0));
  write(out, at::zeros(out.sizes(), wide(grad).options()).index_add_(0, from, wide(grad)).to(out.scalar_type()));
  if (!grad_probs.defined()) return;
  auto all = at::zeros({map.numel()}, wide(grad_probs).options())
                 .index_add_(0, places_in_map(from, map, padded), wide(grad_probs));
  write(out_probs, all.reshape(map.sizes()).to(out_probs.scalar_type()));
}

// Padded, sorted_indices names the token of each row; else, token by token, the rows of its choices.
void unpermute_by_map(const at::Tensor& permuted, const at::Tensor& sorted, const at::Tensor& map,
                      const at::Tensor& probs, bool padded, const at::Tensor& out, const at::Tensor& rows_by_token,
                      const at::Tensor& tokens, const at::Tensor& out_probs) {
  auto order = sorted.to(at::kLong);
  auto value = wide(permuted);
  if (padded) {
    if (probs.defined()) {
      auto each = probs.flatten().index_select(0, places_in_map(order, probs, true));
      value = at::mul(value, wide(each).unsqueeze(1));
      write(out_probs, each);
    }
    auto rows = at::argsort(order, true, 0, false);
    write(rows_by_token, rows.to(rows_by_token.scalar_type()));
    write(tokens, order.index_select(0, rows).to(tokens.scalar_type()));
    value = at::zeros(out.sizes(), value.options()).index_add_(0, order, value);
  } else {
    value = value.index_select(0, order);
    if (probs.defined()) {
      auto each = probs.masked_select(map.to(at::kBool));
      as_many(each, permuted.size(0));
      value = at::mul(value, wide(each).unsqueeze(1));
      write(out_probs, each);
    }
    value = sum_of_experts(value, divided(permuted.size(0), out.size(0)));
  }
  write(out, value.to(out.scalar_type()));
}

void unpermute_by_map_backward(const at::Tensor& grad, const at::Tensor& rows, const at::Tensor& tokens,
                               const at::Tensor& map, const at::Tensor& permuted, const at::Tensor& probs, bool padded,
                               const at::Tensor& out, const at::Tensor& out_probs) {
  const int64_t count = out.size(0);
  auto row = rows.to(at::kLong);  // of each choice, token by token
  auto token = padded ? tokens.to(at::kLong) : at::arange(count, at::kLong).div(divided(count, grad.size(0)), "floor");
  auto each = wide(grad).index_select(0, token);
  if (probs.defined()) {
    auto place = padded ? token.mul(probs.size(1)).add(row.div(divided(count, probs.size(1)), "floor"))
                        : map.to(at::kBool).flatten().nonzero().squeeze(1);
    as_many(place, count);
    auto to_probs = at::mul(each, wide(permuted).index_select(0, row)).sum(1);
    auto all = at::zeros({probs.numel()}, to_probs.options()).index_add_(0, place, to_probs);
    write(out_probs, all.reshape(probs.sizes()).to(out_probs.scalar_type()));
    each = at::mul(each, wide(probs).flatten().index_select(0, place).unsqueeze(1));
  }
  write(out, at::zeros(out.sizes(), each.options()).index_copy_(0, row, each).to(out.scalar_type()));
}

}  // namespace

ACLNN(MoeTokenPermute, (In, tokens, In, indices, int64_t, kept, bool, padded, Out, permuted, Out, sorted),
      (not_padded(padded), choices(indices, tokens, kept), shape(permuted, {kept, tokens.size(1)}),
       shape(sorted, {indices.numel()})),
      permute(tokens, indices, kept, permuted, sorted))
ACLNN(MoeTokenPermuteGrad, (In, grad, In, sorted, int64_t, topk, bool, padded, Out, out),
      (not_padded(padded), matrix("permutedOutputGrad", grad),
       shape(out, {divided(sorted.numel(), topk), grad.size(1)})),
      write(out, sum_of_experts(in_order(grad, sorted), topk).to(out.scalar_type())))
ACLNN(MoeTokenUnpermute, (In, permuted, In, sorted, In, probs, bool, padded, Ints, restore, Out, out),
      (not_padded(padded), matrix("permutedTokens", permuted), fit(sorted, probs, out.size(0))),
      unpermute(permuted, sorted, probs, out))
ACLNN(MoeTokenUnpermuteGrad,
      (In, permuted, In, grad, In, sorted, In, probs, bool, padded, Ints, restore, Out, grad_permuted, Out, grad_probs),
      (not_padded(padded), matrix("unpermutedTokensGrad", grad), fit(sorted, probs, grad.size(0))),
      unpermute_backward(permuted, grad, sorted, probs, grad_permuted, grad_probs))

ACLNN(MoeTokenPermuteWithRoutingMap,
      (In, tokens, In, map, In, probs, int64_t, kept, bool, padded, Out, permuted, Out, out_probs, Out, sorted),
      (matrix("tokens", tokens), mapped(map, permuted.size(0), padded)),
      permute_by_map(tokens, map, probs, padded, permuted, out_probs, sorted))
ACLNN(MoeTokenPermuteWithRoutingMapGrad,
      (In, grad, In, grad_probs, In, sorted, In, map, int64_t, experts, int64_t, tokens, bool, padded, Out, out, Out,
       out_probs),
      (matrix("permutedTokenOutputGrad", grad), mapped(map, grad.size(0), padded), shape(out, {tokens, grad.size(1)})),
      permute_by_map_backward(grad, grad_probs, map, padded, out, out_probs))
ACLNN(MoeTokenUnpermuteWithRoutingMap,
      (In, permuted, In, sorted, In, map, In, probs, bool, padded, Ints, restore, Out, out, Out, rows, Out, tokens, Out,
       out_probs),
      (matrix("permutedTokens", permuted), shape(sorted, {permuted.size(0)}), shape(out, restore)),
      unpermute_by_map(permuted, sorted, map, probs, padded, out, rows, tokens, out_probs))
ACLNN(MoeTokenUnpermuteWithRoutingMapGrad,
      (In, grad, In, rows, In, tokens, In, map, In, permuted, In, probs, bool, padded, Ints, restore, Out, out, Out,
       out_probs),
      (matrix("unpermutedTokensGrad", grad), shape(out, {rows.numel(), grad.size(1)})),
      unpermute_by_map_backward(grad, rows, tokens, map, permuted, probs, padded, out, out_probs))
