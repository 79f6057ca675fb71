// Mixture of experts: tokens in the order of their experts, and back. sorted_indices says for each of tokens x topk
// choices, in the order of the tokens, which row of the permuted tokens it is; a row behind the last was dropped.
#pragma once

#include "kernels/tensors.h"

namespace sim::moe {

// ---- what must hold ------------------------------------------------------------------------------------------------
void rows_of_tokens(const char* name, const at::Tensor& tensor);
// Of experts that count alike, as many for each token as there are indices for it.
at::Tensor equal_probs(const at::Tensor& sorted, int64_t tokens);
void not_padded(bool padded);
int64_t tokens_of(const at::Tensor& sorted, int64_t topk);                                 // of so many choices
void map_like(const at::Tensor& map, const at::Tensor& probs, int64_t rows, bool padded);  // both may be absent
void choices(const at::Tensor& indices, const at::Tensor& tokens, int64_t kept);
void fit(const at::Tensor& sorted, const at::Tensor& probs, int64_t tokens);
void mapped(const at::Tensor& map, int64_t rows, bool padded);
// Outputs for probabilities that are not there are not looked at.
void permuted_like(const at::Tensor& tokens, const at::Tensor& map, const at::Tensor& probs, int64_t kept, bool padded,
                   const at::Tensor& permuted, const at::Tensor& out_probs, const at::Tensor& sorted);
void gradients_like(const at::Tensor& permuted, const at::Tensor& grad, const at::Tensor& probs,
                    const at::Tensor& grad_permuted, const at::Tensor& grad_probs);

// ---- by the experts of each token ----------------------------------------------------------------------------------
at::Tensor unpermute(const at::Tensor& permuted, const at::Tensor& sorted, const at::Tensor& probs);
// Of the permuted tokens, so many rows, and of the probabilities; the latter undefined where there are none, here and
// below.
Tensors unpermute_backward(const at::Tensor& grad, const at::Tensor& sorted, const at::Tensor& permuted,
                           const at::Tensor& probs, int64_t rows);

// ---- the same where only some of the rows are here: those from `first` on -------------------------------------------
int64_t first_of(const Dims& range);
int64_t rows_of_range(const Dims& range, int64_t otherwise);
// How many experts each token has chosen: what CANN counts in the probabilities, where there are any.
int64_t choices_each(const at::Tensor& probs, int64_t topk);
void weighed(const at::Tensor& probs, int64_t tokens, int64_t topk);  // probs are (tokens, topk), or absent
// The permuted tokens, sorted_indices and, where there are some, the tokens' probabilities.
Tensors permute_range(const at::Tensor& tokens, const at::Tensor& indices, const at::Tensor& probs, int64_t first,
                      int64_t rows);
Tensors permute_range_backward(const at::Tensor& grad, const at::Tensor& sorted, const at::Tensor& grad_probs,
                               int64_t topk, int64_t first);
at::Tensor unpermute_range(const at::Tensor& permuted, const at::Tensor& sorted, const at::Tensor& probs, int64_t topk,
                           int64_t first);
Tensors unpermute_range_backward(const at::Tensor& grad, const at::Tensor& sorted, const at::Tensor& permuted,
                                 const at::Tensor& probs, int64_t topk, int64_t first, int64_t rows);
// ---- by a map (tokens, experts) of who goes where -------------------------------------------------------------------
// The permuted tokens, sorted_indices and the tokens' probabilities.
Tensors permute_by_map(const at::Tensor& tokens, const at::Tensor& map, const at::Tensor& probs, bool padded,
                       int64_t rows);
Tensors permute_by_map_backward(const at::Tensor& grad, const at::Tensor& grad_probs, const at::Tensor& map,
                                bool padded, at::IntArrayRef sizes);
// The tokens, of `sizes`; padded, the rows token by token and the token of each; the probabilities that counted.
Tensors unpermute_by_map(const at::Tensor& permuted, const at::Tensor& sorted, const at::Tensor& map,
                         const at::Tensor& probs, bool padded, at::IntArrayRef sizes);
Tensors unpermute_by_map_backward(const at::Tensor& grad, const at::Tensor& rows, const at::Tensor& tokens,
                                  const at::Tensor& map, const at::Tensor& permuted, const at::Tensor& probs,
                                  bool padded);

}  // namespace sim::moe
