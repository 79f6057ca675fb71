#include "kernels/moe.h"

namespace sim::moe {

void rows_of_tokens(const char* name, const at::Tensor& tensor) {
  SIM_CHECK(tensor.dim() == 2, name, " must have 2 dimensions, it has shape ", tensor.sizes());
}

at::Tensor equal_probs(const at::Tensor& sorted, int64_t tokens) { return at::ones({tokens, sorted.numel() / tokens}); }

static void places_like(const at::Tensor& sorted) {
  SIM_CHECK(sorted.dim() == 1, "sortedIndices (choices) expected, got ", sorted.sizes());
}

int64_t tokens_of(const at::Tensor& sorted, int64_t topk) {
  places_like(sorted);
  SIM_CHECK(remainder_of(sorted.numel(), topk) == 0, "sortedIndices ", sorted.sizes(), " for ", topk,
            " experts of each token");
  return sorted.numel() / topk;
}

void not_padded(bool padded) { SIM_CHECK(!padded, "padded_mode is not simulated"); }

void choices(const at::Tensor& indices, const at::Tensor& tokens, int64_t kept) {
  rows_of_tokens("tokens", tokens);
  SIM_CHECK(indices.dim() == 1 || indices.dim() == 2, "indices (tokens) or (tokens, topk) expected, got ",
            indices.sizes());
  SIM_CHECK(indices.size(0) == tokens.size(0), indices.size(0), " rows of indices for ", tokens.size(0), " tokens");
  SIM_CHECK(kept >= 0 && kept <= indices.numel(), "num_out_tokens ", kept, " of ", indices.numel());
}

void fit(const at::Tensor& sorted, const at::Tensor& probs, int64_t tokens) {
  places_like(sorted);
  const int64_t topk = probs.defined() ? probs.numel() / std::max<int64_t>(tokens, 1) : 1;
  SIM_CHECK(sorted.numel() == tokens * topk, sorted.numel(), " sorted_indices for ", tokens, " tokens of ", topk,
            " experts");
}

static int64_t topk_of(const at::Tensor& probs) { return probs.defined() && probs.dim() == 2 ? probs.size(1) : 1; }

static at::Tensor sum_of_experts(const at::Tensor& rows, int64_t topk) {
  return rows.reshape({divided(rows.size(0), topk), topk, rows.size(1)}).sum(1);
}

at::Tensor unpermute(const at::Tensor& permuted, const at::Tensor& sorted, const at::Tensor& probs) {
  return unpermute_range(permuted, sorted, probs, topk_of(probs), 0);
}

Tensors unpermute_backward(const at::Tensor& grad, const at::Tensor& sorted, const at::Tensor& permuted,
                           const at::Tensor& probs, int64_t rows) {
  return unpermute_range_backward(grad, sorted, permuted, probs, topk_of(probs), 0, rows);
}

// ---- by a map (tokens, experts) of who goes where ------------------------------------------------------------------
// Padded, every expert has the same number of rows, its own tokens first; else it has a row for each of its tokens.
static at::Tensor tokens_of_experts(const at::Tensor& map, int64_t rows, bool padded) {
  auto by_expert = map.to(at::kBool).t();
  if (!padded) return by_expert.nonzero().select(1, 1);
  return at::argsort(by_expert.to(at::kByte), true, 1, true).narrow(1, 0, divided(rows, map.size(1))).flatten();
}

// The place in (tokens, experts), flattened, of each row.
static at::Tensor places_in_map(const at::Tensor& tokens, const at::Tensor& map, bool padded) {
  const int64_t experts = map.size(1);
  auto expert = padded ? at::arange(experts, at::kLong).repeat_interleave(divided(tokens.numel(), experts))
                       : map.to(at::kBool).t().nonzero().select(1, 0);
  return tokens.mul(experts).add(expert);
}

void mapped(const at::Tensor& map, int64_t rows, bool padded) {
  rows_of_tokens("routing_map", map);
  const int64_t parts = map.size(padded ? 1 : 0);
  SIM_CHECK(parts && rows % parts == 0, rows, " rows for ", parts, padded ? " experts" : " tokens");
}

void map_like(const at::Tensor& map, const at::Tensor& probs, int64_t rows, bool padded) {
  if (map.defined()) mapped(map, rows, padded);
  if (map.defined() && probs.defined()) like(map, probs);
}

void permuted_like(const at::Tensor& tokens, const at::Tensor& map, const at::Tensor& probs, int64_t kept, bool padded,
                   const at::Tensor& permuted, const at::Tensor& out_probs, const at::Tensor& sorted) {
  rows_of_tokens("routing_map", map);
  const int64_t parts = map.size(padded ? 1 : 0), rows = divided(kept, parts) * parts;
  shape(permuted, {rows, tokens.size(1)}), shape(sorted, {rows});
  if (probs.defined()) shape(out_probs, {rows});
}

void gradients_like(const at::Tensor& permuted, const at::Tensor& grad, const at::Tensor& probs,
                    const at::Tensor& grad_permuted, const at::Tensor& grad_probs) {
  rows_of_tokens("permutedTokensGradOut", grad_permuted);
  shape(grad_permuted, {given(permuted) ? permuted.size(0) : grad_permuted.size(0), grad.size(1)});
  SIM_CHECK(!probs.defined() || given(permuted), "probs have a gradient by the permuted tokens, which are not given");
  if (probs.defined() && given(grad_probs)) like(grad_probs, probs);
}

// What phase 1 cannot see.
static void as_many(const at::Tensor& tokens, int64_t rows) {
  SIM_CHECK(tokens.numel() == rows, "routing_map has ", tokens.numel(), " choices for ", rows, " rows");
}

Tensors permute_by_map(const at::Tensor& tokens, const at::Tensor& map, const at::Tensor& probs, bool padded,
                       int64_t rows) {
  auto from = tokens_of_experts(map, rows, padded);
  as_many(from, rows);
  return {tokens.index_select(0, from), padded ? from : at::argsort(from, true, 0, false),
          probs.defined() ? probs.flatten().index_select(0, places_in_map(from, map, padded)) : at::Tensor()};
}

Tensors permute_by_map_backward(const at::Tensor& grad, const at::Tensor& grad_probs, const at::Tensor& map,
                                bool padded, at::IntArrayRef sizes) {
  auto from = tokens_of_experts(map, grad.size(0), padded);
  as_many(from, grad.size(0));
  auto out = at::zeros(sizes, wide(grad).options()).index_add_(0, from, wide(grad));
  if (!grad_probs.defined()) return {out, {}};
  auto all = at::zeros({map.numel()}, wide(grad_probs).options())
                 .index_add_(0, places_in_map(from, map, padded), wide(grad_probs));
  return {out, all.reshape(map.sizes())};
}

// Padded, sorted_indices names the token of each row; else, token by token, the rows of its choices.
Tensors unpermute_by_map(const at::Tensor& permuted, const at::Tensor& sorted, const at::Tensor& map,
                         const at::Tensor& probs, bool padded, at::IntArrayRef sizes) {
  at::Tensor rows, of_rows, kept_probs;
  auto order = sorted.to(at::kLong);
  auto value = wide(permuted);
  if (padded) {
    if (probs.defined()) {
      auto each = probs.flatten().index_select(0, places_in_map(order, probs, true));
      value = at::mul(value, wide(each).unsqueeze(1));
      kept_probs = each;
    }
    rows = at::argsort(order, true, 0, false);
    of_rows = order.index_select(0, rows);
    value = at::zeros(sizes, value.options()).index_add_(0, order, value);
  } else {
    value = value.index_select(0, order);
    if (probs.defined()) {
      auto each = probs.masked_select(map.to(at::kBool));
      as_many(each, permuted.size(0));
      value = at::mul(value, wide(each).unsqueeze(1));
      kept_probs = each;
    }
    value = sum_of_experts(value, divided(permuted.size(0), sizes[0]));
  }
  return {value, rows, of_rows, kept_probs};
}

Tensors unpermute_by_map_backward(const at::Tensor& grad, const at::Tensor& rows, const at::Tensor& tokens,
                                  const at::Tensor& map, const at::Tensor& permuted, const at::Tensor& probs,
                                  bool padded) {
  const int64_t count = rows.numel();
  at::Tensor of_probs;
  auto row = rows.to(at::kLong);  // of each choice, token by token
  auto token = padded ? tokens.to(at::kLong) : at::arange(count, at::kLong).div(divided(count, grad.size(0)), "floor");
  auto each = wide(grad).index_select(0, token);
  if (probs.defined()) {
    auto place = padded ? token.mul(probs.size(1)).add(row.div(divided(count, probs.size(1)), "floor"))
                        : map.to(at::kBool).flatten().nonzero().squeeze(1);
    as_many(place, count);
    auto to_probs = at::mul(each, wide(permuted).index_select(0, row)).sum(1);
    auto all = at::zeros({probs.numel()}, to_probs.options()).index_add_(0, place, to_probs);
    of_probs = all.reshape(probs.sizes());
    each = at::mul(each, wide(probs).flatten().index_select(0, place).unsqueeze(1));
  }
  return {at::zeros({count, grad.size(1)}, each.options()).index_copy_(0, row, each), of_probs};
}

// ---- where only some of the rows are here ---------------------------------------------------------------------------
int64_t first_of(const Dims& range) { return range.empty() ? 0 : range[0]; }

int64_t rows_of_range(const Dims& range, int64_t otherwise) {
  if (range.empty()) return otherwise;
  SIM_CHECK(range.size() == 2 && range[0] >= 0 && range[1] >= range[0], "range ", at::IntArrayRef(range),
            "; the first row and the one behind the last expected");
  return range[1] - range[0];
}

int64_t choices_each(const at::Tensor& probs, int64_t topk) { return probs.defined() ? probs.size(-1) : topk; }

void weighed(const at::Tensor& probs, int64_t tokens, int64_t topk) {
  if (probs.defined()) shape(probs, {tokens, topk});
}

// The rows in the order of the tokens; zeros for those that were dropped or are elsewhere.
static at::Tensor rows_here(const at::Tensor& all, const at::Tensor& sorted, int64_t first) {
  const at::Tensor places = sorted.to(at::kLong).sub(first);
  const at::Tensor here = at::logical_and(places.ge(0), places.lt(all.size(0)));
  if (!all.size(0)) return at::zeros({places.numel(), all.size(1)}, wide(all).options());
  const at::Tensor picked = wide(all.index_select(0, places.masked_fill(here.logical_not(), 0)));
  return here.all().item<bool>() ? picked : picked.mul_(here.unsqueeze(1));
}
static at::Tensor to_here(const at::Tensor& each, const at::Tensor& sorted, int64_t first, int64_t rows) {
  const at::Tensor places = sorted.to(at::kLong).sub(first);
  const at::Tensor here = at::logical_and(places.ge(0), places.lt(rows)).nonzero().squeeze(1);
  return at::zeros({rows, each.size(1)}, each.options())
      .index_copy_(0, places.index_select(0, here), each.index_select(0, here));
}

Tensors permute_range(const at::Tensor& tokens, const at::Tensor& indices, const at::Tensor& probs, int64_t first,
                      int64_t rows) {
  const int64_t topk = indices.dim() == 2 ? indices.size(1) : 1;
  const at::Tensor order = at::argsort(indices.flatten(), true, 0, false), here = order.narrow(0, first, rows);
  return {tokens.index_select(0, here.div(topk, "floor")), at::argsort(order, true, 0, false),
          probs.defined() ? probs.flatten().index_select(0, here) : at::Tensor()};
}

Tensors permute_range_backward(const at::Tensor& grad, const at::Tensor& sorted, const at::Tensor& grad_probs,
                               int64_t topk, int64_t first) {
  const at::Tensor of_probs = grad_probs.defined() ? rows_here(grad_probs.reshape({-1, 1}), sorted, first) : grad_probs;
  return {sum_of_experts(rows_here(grad, sorted, first), topk),
          of_probs.defined() ? of_probs.reshape({-1, topk}) : of_probs};
}

at::Tensor unpermute_range(const at::Tensor& permuted, const at::Tensor& sorted, const at::Tensor& probs, int64_t topk,
                           int64_t first) {
  at::Tensor rows = rows_here(permuted, sorted, first);
  if (probs.defined()) rows.mul_(wide(probs).reshape({-1, 1}));  // in place: such tensors are large
  return sum_of_experts(rows, topk);
}

Tensors unpermute_range_backward(const at::Tensor& grad, const at::Tensor& sorted, const at::Tensor& permuted,
                                 const at::Tensor& probs, int64_t topk, int64_t first, int64_t rows) {
  at::Tensor each = wide(grad).repeat_interleave(topk, 0), of_probs;
  if (probs.defined()) {
    of_probs = rows_here(permuted, sorted, first).mul_(each).sum(1).reshape(probs.sizes());
    each.mul_(wide(probs).reshape({-1, 1}));
  }
  return {to_here(each, sorted, first, rows), of_probs};
}

}  // namespace sim::moe
