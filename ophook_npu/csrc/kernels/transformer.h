// Small fused steps of transformers that no other table has a place for.
#pragma once

#include "kernels/tensors.h"

namespace sim::transformer {

// ---- attention over a ring of devices: two parts of the keys, each with the maximum and the sum of its softmax -----
void ring_parts(const at::Tensor& out, const at::Tensor& top, const std::string& layout,
                const std::string& softmax_layout);
void ring_update(const at::Tensor& before, const at::Tensor& before_top, const at::Tensor& before_sum,
                 const at::Tensor& now, const at::Tensor& now_top, const at::Tensor& now_sum, bool sbh,
                 const at::Tensor& out, const at::Tensor& out_top, const at::Tensor& out_sum);
// qkv (B, T, 3 * heads * depth) and its bias; all three parts of a head have the same depth.
void three_parts(const at::Tensor& qkv, const at::Tensor& bias, int64_t heads, std::initializer_list<at::Tensor> parts);
at::Tensor biased_softmax(const at::Tensor& self, const at::Tensor& mask, const at::Tensor& bias, double scale);

// ---- attention to the blocks of keys that were selected for each token: (tokens, key heads, blocks) ----------------
void statistics_like(const at::Tensor& query, const at::Tensor& top, const at::Tensor& sum);
void selected(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& chosen,
              const at::Tensor& mask, const std::string& layout, const Dims& ends, const Dims& key_ends,
              int64_t block_size, int64_t blocks, const at::Tensor& out);
void attend_selected(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& chosen,
                     const Dims& ends, const Dims& key_ends, double scale, int64_t block_size, const at::Tensor& top,
                     const at::Tensor& sum, const at::Tensor& out);

}  // namespace sim::transformer
