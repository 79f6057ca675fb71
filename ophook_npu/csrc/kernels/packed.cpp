#include "kernels/packed.h"

#include "kernels/inference.h"

namespace sim::inference {

// What is added to the scaled scores of one sequence, (1, 1 or heads, queries, keys); undefined where nothing is.
static at::Tensor added_of(const Packed& how, int64_t item, int64_t first, int64_t queries, int64_t keys) {
  const bool root = how.seen == Seen::alibi_root;
  if (root || how.seen == Seen::alibi) {
    auto row = at::arange(keys - queries, keys, at::kFloat).unsqueeze(1);
    auto distance = at::sub(row, at::arange(keys, at::kFloat)).clamp_min(0);
    return at::mul(root ? distance.sqrt() : distance, wide(how.slopes).reshape({1, how.heads, 1, 1}));
  }
  if (how.seen == Seen::by_token)
    return wide(how.mask.narrow(0, first, queries).narrow(1, 0, keys)).unsqueeze(0).unsqueeze(0);
  if (how.seen != Seen::added) return {};
  auto own = how.mask;
  if (own.dim() == 4) own = own[own.size(0) == 1 ? 0 : item];
  else if (own.dim() == 3 && own.size(0) == int64_t(how.keys.size())) own = own.narrow(0, item, 1);
  else if (own.dim() == 2) own = own.unsqueeze(0);
  return at::mul(wide(own.narrow(1, 0, queries).narrow(2, 0, keys)), how.mask_factor).unsqueeze(0);
}

// int8 keys, queries and values: scores are int8 products, scaled by head, and so are the probabilities' with values.
static void attend_int8(const attention::Inputs& of, const at::Tensor& query_rope, const at::Tensor& key_rope,
                        const Packed& how, const at::Tensor& out, const at::Tensor& log_sum) {
  const auto by_head = [](const at::Tensor& x) { return x.to(at::kFloat).transpose(0, 1); };  // (heads, tokens, depth)
  const auto for_queries = [&](const at::Tensor& x) {
    auto all = by_head(x);
    return all.repeat_interleave(divided(how.heads, all.size(0)), 0);
  };
  auto scores = at::matmul(by_head(of.query), for_queries(of.key).transpose(1, 2));
  scores = at::mul(scores, how.key_factor.reshape({-1, 1, 1}));
  if (query_rope.defined())
    scores = at::add(scores, at::matmul(by_head(query_rope), for_queries(key_rope).transpose(1, 2)));
  scores = at::mul(scores, how.scale);
  if (of.pse.defined()) scores = at::add(scores, of.pse[0]);
  auto top = scores.amax(-1, true);
  auto weight = at::exp(at::sub(scores, top));
  auto sum = weight.sum(-1, true);
  auto product = at::matmul(at::round(at::mul(weight, 127)), for_queries(of.value));
  auto factor = at::div(how.value_factor.reshape({-1, 1, 1}), 127);
  write(out, at::div(at::mul(product, factor), sum).transpose(0, 1));
  if (log_sum.defined()) write(log_sum, sum.log().add(top).transpose(0, 1));
}

void attend_packed(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const Packed& how,
                   const at::Tensor& out, const at::Tensor& log_sum) {
  const bool paged = given(how.pages), causal = how.seen >= Seen::causal;
  const int64_t sparse_mode = how.seen == Seen::from_left ? 2 : causal ? 3 : 0;
  const int64_t tokens = query.size(0), key_heads = how.key_heads ? how.key_heads : how.heads;
  auto heads = query.reshape({tokens, how.heads, -1}), result = out.view({tokens, how.heads, -1});
  auto keys = paged ? key : key.reshape({key.size(0), key_heads, -1});
  auto values = !value.defined() ? keys.narrow(-1, 0, result.size(-1))
                : paged          ? value
                                 : value.reshape({value.size(0), key_heads, -1});
  auto key_rope = how.key_rope;
  if (paged) {
    keys = keys.flatten(2), values = values.flatten(2);
    if (key_rope.defined()) key_rope = key_rope.flatten(2);
  }
  const auto mark = at::ones({1, 1}, at::kBool);  // sparse modes look whether there is a mask, and not at it
  result.zero_();
  int64_t first = 0, first_key = 0;
  for (int64_t item = 0; item < int64_t(how.keys.size()); ++item) {
    const int64_t count = how.queries.empty() ? 1 : how.queries[size_t(item)], own = how.keys[size_t(item)];
    if (count && own) {
      auto part = [&](const at::Tensor& all) { return paged || !all.defined() ? all : all.narrow(0, first_key, own); };
      auto added = added_of(how, item, first, count, own);
      auto sums = log_sum.defined() ? log_sum.narrow(0, first, count) : at::Tensor();
      auto turned = how.query_rope.defined() ? how.query_rope.narrow(0, first, count) : at::Tensor();
      if (how.key_factor.defined()) {
        auto rows = [&](const at::Tensor& cache) {
          if (!cache.defined()) return cache;
          return cache.index_select(0, how.pages[item].to(at::kLong)).flatten(0, 1).narrow(0, 0, own);
        };
        attend_int8({.query = heads.narrow(0, first, count), .key = rows(key), .value = rows(value), .pse = added},
                    turned, rows(how.key_rope), how, result.narrow(0, first, count), sums);
      } else {
        attend_sequences({.query = heads.narrow(0, first, count),
                          .keys = {part(keys)},
                          .values = {part(values)},
                          .layout = "TND",
                          .heads = how.heads,
                          .key_heads = key_heads,
                          .pse = added,
                          .mask = causal ? mark : at::Tensor(),
                          .query_lengths = {count},
                          .key_lengths = {own},
                          .pages = paged ? how.pages.narrow(0, item, 1) : at::Tensor(),
                          .query_rope = turned,
                          .key_rope = part(key_rope),
                          .how = {.scale = how.scale, .sparse_mode = sparse_mode}},
                         result.narrow(0, first, count), sums);
      }
    }
    first += count;
    first_key += own;
  }
}

void into_slots(const at::Tensor& cache, const at::Tensor& slots, const at::Tensor& rows, bool tiles) {
  if (!rows.defined()) return;
  auto kept = at::nonzero(slots.ge(0)).squeeze(1);
  auto places = slots.index_select(0, kept).to(at::kLong);
  auto by_row = tiles ? cache.transpose(1, 2) : cache;  // (pages, rows, …)
  auto own = rows.index_select(0, kept).reshape({kept.size(0), by_row.size(2), by_row.size(3)});
  put_at(by_row, {at::floor_divide(places, by_row.size(1)), at::remainder(places, by_row.size(1))}, own);
}

at::Tensor untiled(const at::Tensor& cache) { return cache.transpose(1, 2).flatten(2).unsqueeze(2); }

void from_slots(const at::Tensor& cache, const at::Tensor& table, const at::Tensor& lengths, bool running,
                const at::Tensor& starts, bool tiles, const at::Tensor& out) {
  auto by_row = tiles ? cache.transpose(1, 2) : cache;
  const int64_t rows = by_row.size(1);
  const auto numbers = [](const at::Tensor& x) { return x.to(at::kLong).contiguous(); };
  auto counts = numbers(running ? at::diff(lengths) : lengths);
  int64_t first = 0;
  for (int64_t item = 0; item < counts.size(0); ++item) {
    const int64_t count = counts[item].item<int64_t>(), pages = divided(count + rows - 1, rows);
    if (!count) continue;
    const int64_t page = starts.defined() ? divided(starts[item].item<int64_t>(), rows) : 0;
    auto used = by_row.index_select(0, numbers(table[item].narrow(0, page, pages)));
    auto own = out.narrow(0, first, count);
    write(own, used.flatten(0, 1).narrow(0, 0, count).reshape(own.sizes()));
    first += count;
  }
}

void attend_latent(const at::Tensor& query, const at::Tensor& cache, const Packed& how, const at::Tensor& out,
                   const at::Tensor& log_sum) {
  attend_packed(query, cache, cache, how, out, log_sum);
}

void attend_part(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const Packed& how,
                 const at::Tensor& before, const at::Tensor& before_sum, const at::Tensor& out,
                 const at::Tensor& log_sum) {
  auto result = at::empty(out.sizes(), at::kFloat), own = at::empty({query.size(0), how.heads, 1}, at::kFloat);
  attend_packed(query, key, value, how, result, own);
  auto sums = own.squeeze(-1).transpose(0, 1);
  if (!before.defined()) return write(out, result), write(log_sum, sums);
  auto all = at::logaddexp(wide(before_sum), sums);
  const auto share = [&](const at::Tensor& sum) { return at::exp(at::sub(sum, all)).transpose(0, 1).unsqueeze(-1); };
  write(out, at::add(at::mul(wide(before), share(wide(before_sum))), at::mul(result, share(sums))));
  write(log_sum, all);
}

}  // namespace sim::inference
