// Inference of language models: attention of sequences of different lengths, padded or one behind the other, with keys
// that lie in pages; the pages themselves; the choice among the next tokens.
#pragma once

#include "kernels/attention.h"

namespace sim::inference {

void check_inference(const at::Tensor& query, const Tensors& keys, const Tensors& values, const std::string& layout,
                     const Dims& query_lengths, const Dims& key_lengths, const at::Tensor& pages,
                     const at::Tensor& mask, int64_t heads, int64_t key_heads, const attention::Settings& how);
void attend_sequences(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                      const at::Tensor& query_rope, const at::Tensor& key_rope, const at::Tensor& pse,
                      const at::Tensor& mask, const std::string& layout, const Dims& query_lengths,
                      const Dims& key_lengths, const at::Tensor& pages, int64_t heads, int64_t key_heads,
                      const attention::Settings& how, const at::Tensor& out, const at::Tensor& log_sum);

// ---- pages ---------------------------------------------------------------------------------------------------------
void check_paging(const at::Tensor& key, const at::Tensor& cache, const at::Tensor& slots, const std::string& mode);
void into_pages(const at::Tensor& cache, const at::Tensor& slots, const at::Tensor& rows);

// ---- logits: the k largest, and of these the most probable that together reach p; the others become -inf -----------
void check_logits(const at::Tensor& logits, const at::Tensor& p, const at::Tensor& k, const at::Tensor& out);
at::Tensor likely(const at::Tensor& logits, const at::Tensor& p, const at::Tensor& k);

}  // namespace sim::inference
