// Attention with a mask of blocks, and Floyd's: from a pair of nodes (i, k) to all j between, by keys of (i, j) and of
// (j, k).
#pragma once

#include <string>

#include "kernels/tensors.h"

namespace sim::block_attention {

// ---- blocks (sequences, heads, blocks of queries, blocks of keys) that take part where they are not 0
// ----------------
struct Blocks {
  const at::Tensor &query, &key, &value, &mask;
  const Dims &shape, &lengths, &key_lengths;  // of a block; of each sequence, none: all are full
  const std::string& layout;                  // TND, BNSD
  double scale;
};
void check(const Blocks& blocks, const std::string& key_layout, int64_t key_heads, int64_t mask_kind,
           const at::Tensor& out);
// `log_sum` is undefined where it is not asked for.
// Of the weights of each head and token.
void log_sum_like(const at::Tensor& query, const at::Tensor& log_sum);
void attend(const Blocks& blocks, const at::Tensor& out, const at::Tensor& log_sum);
struct Gradients {
  at::Tensor query, key, value;
};
void backward(const Blocks& blocks, const at::Tensor& grad, const at::Tensor& out, const at::Tensor& log_sum,
              const Gradients& to);

// ---- Floyd's: query (batch, heads, i, k, depth), first (…, i, j, depth), second (…, j, k, depth) --------------------
struct Pairs {
  const at::Tensor &query, &first_key, &first_value, &second_key, &second_value, &mask;  // mask (batch, 1, i, 1, j)
  double scale;
};
void check(const Pairs& pairs, const at::Tensor& out);
// The maximum and the sum of the weights of each pair, eight times.
void statistics_like(const Pairs& in, const at::Tensor& top, const at::Tensor& sum);
Tensors attend(const Pairs& pairs);  // maximum and sum of the softmax, (…, 1); the result
Tensors backward(const Pairs& pairs, const at::Tensor& grad, const at::Tensor& top, const at::Tensor& sum,
                 const at::Tensor& out);

}  // namespace sim::block_attention
