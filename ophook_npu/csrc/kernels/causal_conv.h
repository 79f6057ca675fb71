// Convolutions along a sequence, each channel by itself, that see what came before and nothing after.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// x (s, b, h), weight (3, h), mask (b, s) or undefined: what it leaves out of the result is 0.
at::Tensor masked_causal_conv(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& mask);
struct CausalGradients {
  at::Tensor x, weight;
};
CausalGradients masked_causal_conv_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                            const at::Tensor& mask);

// Sequences, one behind the other in x (tokens, h) from `starts` on, or each of one length in x (b, length, h). What
// came before them lies in `states` (lines, length, h), and is replaced. `lines`: of each sequence its line (b), or the
// line of each block of `block` tokens (b, blocks), for prefixes that are kept; then first_block, last_block and
// initial_block say which of them count.
struct CachedConvolution {
  at::Tensor weight, states, starts, lines, accepted, computed, first_block, last_block, initial_block;
  int64_t skipped;  // the line of sequences that are left out
  bool residual;
  int64_t block;
  int64_t mode;  // 1: where fewer than two tokens were computed before, the first of the result are 0
};
void cached_causal_like(const at::Tensor& x, const CachedConvolution& how, const at::Tensor& out);
// Into `out`, which may be x: sequences that are left out stay as they are there.
void cached_causal_conv(const at::Tensor& x, const CachedConvolution& how, const at::Tensor& out);

}  // namespace sim::kernels
