#include "kernels/atb.h"

namespace sim::kernels {

void rotate_heads(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, int64_t pieces,
                  const at::Tensor& out) {
  const int64_t tokens = cos.size(0), depth = cos.size(1);
  auto heads = wide(x).reshape({tokens, -1, depth});
  auto pairs = heads.unflatten(-1, {divided(pieces, 2), 2, divided(depth, pieces)});
  auto turned = at::stack({at::neg(pairs.select(-2, 1)), pairs.select(-2, 0)}, -2).reshape(heads.sizes());
  auto result = at::add(at::mul(heads, wide(cos).unsqueeze(1)), at::mul(turned, wide(sin).unsqueeze(1)));
  write(out, result.reshape(out.sizes()));
}

at::Tensor keep_groups(const at::Tensor& x, int64_t groups, int64_t kept, int64_t n) {
  auto grouped = wide(x).unflatten(1, {groups, divided(x.size(1), groups)});
  auto value = std::get<0>(at::topk(grouped, n, -1)).sum(-1);
  auto order = std::get<1>(at::sort(value, /*stable=*/true, -1, /*descending=*/true));
  auto dropped = order.narrow(1, kept, groups - kept);
  auto keep = at::ones_like(value).scatter_(1, dropped, 0);
  return at::mul(grouped, keep.unsqueeze(-1)).flatten(1);
}

std::tuple<at::Tensor, at::Tensor> add_top_k(const at::Tensor& x, const at::Tensor& added, const at::Tensor& copies,
                                             const at::Tensor& table, const TopK& how) {
  auto weight = at::sigmoid(wide(x));
  auto kept = keep_groups(at::add(weight, wide(added)), how.groups, how.groups_kept, how.n);
  auto chosen = std::get<1>(at::sort(kept, /*stable=*/true, -1, /*descending=*/true)).narrow(1, 0, how.k);
  auto own = weight.gather(1, chosen);
  if (how.norm) own = at::mul(at::div(own, own.sum(-1, true)), how.factor);
  if (!copies.defined()) return {own, chosen};
  auto token = at::arange(x.size(0), at::kLong).unsqueeze(1);
  auto turn = at::remainder(token, indexed(copies.to(at::kLong).clamp_min(1), {chosen}));
  return {own, indexed(table.to(at::kLong), {chosen, turn})};
}

}  // namespace sim::kernels
