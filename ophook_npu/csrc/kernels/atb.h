// What operations of Ascend Transformer Boost compute that no aclnn function does.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// x: (tokens, heads * depth), or with the tokens or the heads in two dimensions; cos and sin: (tokens, depth). A head
// is cut into pieces, and each two of them turn: (a, b) becomes (-b, a).
SIM_API void rotate_heads(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, int64_t pieces,
                          const at::Tensor& out);
// x: (tokens, experts). The groups of experts that are not among the best become 0; a group counts as the sum of its n
// largest.
SIM_API at::Tensor keep_groups(const at::Tensor& x, int64_t groups, int64_t kept, int64_t n);
// The k best experts by sigmoid(x) + added among the best groups: their sigmoids, and their numbers, or those of their
// copies, which the tokens take in turn (copies: (experts), table: (experts, copies), or undefined).
struct TopK {
  int64_t groups, groups_kept, n, k;
  bool norm;
  double factor;
};
SIM_API std::tuple<at::Tensor, at::Tensor> add_top_k(const at::Tensor& x, const at::Tensor& added,
                                                     const at::Tensor& copies, const at::Tensor& table,
                                                     const TopK& how);

}  // namespace sim::kernels
