// Native sparse attention: windows of keys compressed into one each, attention to these, and the blocks of keys that it
// chooses; the selected attention's backward and its form of one token. (Forward: kernels/transformer.h.)
#pragma once

#include <string>

#include "kernels/transformer.h"

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
struct Caching {
  at::Tensor x, weight, slots;
  Dims lengths;
  at::Tensor pages;
  Windows windows;
  at::Tensor cache;
};
void cached_like(const Caching& of, const std::string& layout, int64_t kind);
void compress_into(const Caching& of);

// ---- attention to what was compressed, and the blocks of keys that count most ---------------------------------------
struct Choice {
  Windows windows;
  int64_t block, count;  // keys of a block, blocks to choose
};
struct Compressed {
  at::Tensor query, key, value, mask, always;  // `always`: the blocks that are chosen whatever their weight
  Dims ends, key_ends, block_ends;
  Choice choice;
};
struct Chosen {
  at::Tensor top, sum, out, chosen;
};
void compressed_attention_like(const Compressed& of, int64_t heads, const std::string& layout, int64_t sparse_mode,
                               const Chosen& to);
void compressed_attention(const Compressed& of, double scale, const Chosen& to);
// Of one token each, with keys in pages (pages, rows, heads * depth).
struct OneToken {
  at::Tensor query, key, value, pages;
  Dims lengths;
  int64_t key_heads;
};
void one_token_like(const OneToken& of, const Dims& query_lengths, int64_t heads, const std::string& layout,
                    const at::Tensor& out);
void compressed_attention_of_one(const OneToken& of, double scale, const Choice& choice, const at::Tensor& out,
                                 const at::Tensor& chosen);
void check_choice_of_one(const OneToken& of, const at::Tensor& mask, const at::Tensor& always, const Choice& choice,
                         const at::Tensor& chosen);

// ---- attention to blocks that were chosen ---------------------------------------------------------------------------
struct Gradients {
  at::Tensor query, key, value;
};
void backward_like(const transformer::Selection& of, const transformer::Attended& forward, const at::Tensor& grad,
                   const Gradients& to);
void attend_backward(const transformer::Selection& of, const transformer::Attended& forward, const at::Tensor& grad_out,
                     double scale, const Gradients& to);
void chosen_of_one_like(const OneToken& of, const at::Tensor& chosen, int64_t count, int64_t block_size);
void attend_of_one(const OneToken& of, const at::Tensor& chosen, double scale, int64_t block_size,
                   const at::Tensor& out);

}  // namespace sim::nsa
