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

void attend_packed(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const Packed& how,
                   const at::Tensor& out, const at::Tensor& log_sum) {
  const bool paged = attention::given(how.pages), causal = how.seen >= Seen::causal;
  const int64_t tokens = query.size(0), key_heads = how.key_heads ? how.key_heads : how.heads;
  auto heads = query.reshape({tokens, how.heads, -1}), result = out.view({tokens, how.heads, -1});
  auto keys = paged ? key : key.reshape({key.size(0), key_heads, -1});
  auto values = !value.defined() ? keys.narrow(-1, 0, result.size(-1))
                : paged          ? value
                                 : value.reshape({value.size(0), key_heads, -1});
  if (paged) keys = keys.flatten(2), values = values.flatten(2);
  const auto mark = at::ones({1, 1}, at::kBool);  // sparse mode 3 looks whether there is a mask, and not at it
  result.zero_();
  int64_t first = 0, first_key = 0;
  for (int64_t item = 0; item < int64_t(how.keys.size()); ++item) {
    const int64_t count = how.queries.empty() ? 1 : how.queries[size_t(item)], own = how.keys[size_t(item)];
    if (count && own) {
      auto part = [&](const at::Tensor& all) { return paged ? all : all.narrow(0, first_key, own); };
      attend_sequences(
          heads.narrow(0, first, count), part(keys), part(values), {}, {}, added_of(how, item, first, count, own),
          causal ? mark : at::Tensor(), "TND", {count}, {own}, paged ? how.pages.narrow(0, item, 1) : at::Tensor(),
          how.heads, key_heads, {.scale = how.scale, .sparse_mode = causal ? 3 : 0, .pse_type = 0},
          result.narrow(0, first, count), log_sum.defined() ? log_sum.narrow(0, first, count) : at::Tensor());
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
  c10::List<std::optional<at::Tensor>> at_slots{at::floor_divide(places, by_row.size(1)),
                                                at::remainder(places, by_row.size(1))};
  at::index_put_(by_row, at_slots, own);
}

}  // namespace sim::inference
