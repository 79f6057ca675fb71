// Native sparse attention: windows of keys compressed into one each, attention to these, and the blocks of keys that it
// chooses; the selected attention's backward and its form of one token. (Forward: kernels/transformer.h.)
#pragma once

#include <string>

#include "kernels/tensors.h"

namespace sim::nsa {

// A window of `size` tokens begins at each multiple of `stride`, within a sequence.
struct Windows {
  int64_t size, stride;
};

// ---- compression: x (tokens, heads, depth), weight (size, heads) ----------------------------------------------------
void compressed_like(const at::Tensor& x, const at::Tensor& weight, const Dims& ends, const std::string& layout,
                     const Windows& windows, int64_t kind, const at::Tensor& out);
at::Tensor compressed(const at::Tensor& x, const at::Tensor& weight, const Dims& ends, const Windows& windows);
Tensors compressed_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight, const Dims& ends,
                            const Windows& windows);
// The last window of each sequence that has just become whole, into its row of `cache`. The sequences lie in pages, or
// one behind the other.
void cached_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& slots, const Dims& lengths,
                 const at::Tensor& pages, const std::string& layout, const Windows& windows, int64_t kind,
                 const at::Tensor& cache);
void compress_into(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& slots, const Dims& lengths,
                   const at::Tensor& pages, const Windows& windows, const at::Tensor& cache);

// ---- attention to what was compressed, and the blocks of keys that count most
// ----------------------------------------
struct Choice {
  Windows windows;
  int64_t block, count;  // keys of a block, blocks to choose
};
void compressed_attention_like(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                               const at::Tensor& mask, const at::Tensor& always, const Dims& ends, const Dims& key_ends,
                               const Dims& block_ends, int64_t heads, const std::string& layout, int64_t sparse_mode,
                               const Choice& choice, const at::Tensor& top, const at::Tensor& sum,
                               const at::Tensor& out, const at::Tensor& chosen);
// `always`: the blocks that are chosen whatever their weight.
void compressed_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                          const at::Tensor& mask, const at::Tensor& always, const Dims& ends, const Dims& key_ends,
                          const Dims& block_ends, double scale, const Choice& choice, const at::Tensor& top,
                          const at::Tensor& sum, const at::Tensor& out, const at::Tensor& chosen);
// Of one token each, with keys in pages (pages, rows, heads * depth).
void one_token_like(const at::Tensor& query, const at::Tensor& pages, const Dims& query_lengths, const Dims& lengths,
                    int64_t heads, int64_t key_heads, const std::string& layout, const at::Tensor& value,
                    const at::Tensor& out);
void compressed_attention_of_one(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                 const at::Tensor& pages, const Dims& lengths, int64_t key_heads, double scale,
                                 const Choice& choice, const at::Tensor& out, const at::Tensor& chosen);
void check_choice_of_one(const at::Tensor& query, int64_t key_heads, const at::Tensor& key, const Dims& lengths,
                         const at::Tensor& mask, const at::Tensor& always, const Choice& choice,
                         const at::Tensor& chosen);

// ---- attention to blocks that were chosen
// ----------------------------------------------------------------------------
struct Forward {
  const at::Tensor &out, &grad, &top, &sum;
};
void backward_like(const Forward& forward, const at::Tensor& query, const at::Tensor& value);
void attend_backward(const Forward& forward, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const at::Tensor& chosen, const Dims& ends, const Dims& key_ends, double scale, int64_t block_size,
                     const at::Tensor& grad_query, const at::Tensor& grad_key, const at::Tensor& grad_value);
void attend_of_one(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& chosen,
                   const at::Tensor& pages, const Dims& lengths, int64_t key_heads, double scale, int64_t block_size,
                   const at::Tensor& out);

}  // namespace sim::nsa
