// Attention to the keys that were chosen for each query: the choice, the attention, and results of several devices
// together. Sequences are padded (BSND), one after the other (TND), or their keys lie in pages (PA_BSND).
#pragma once

#include <string>

#include "kernels/tensors.h"

namespace sim::sparse_attention {

// Where sequences begin and end. Lengths of TND are summed up; an undefined tensor of them says that all are full.
struct Layout {
  const std::string& query;
  const std::string& key;
  const at::Tensor& query_lengths;
  const at::Tensor& key_lengths;
  const at::Tensor& pages;  // of each sequence, in order
  int64_t mode;             // kAll, kCausal: the last query sees the last key
};
enum Mode : int64_t { kAll = 0, kCausal = 3 };

void layout_like(const Layout& layout, const at::Tensor& query, const at::Tensor& key, int64_t before, int64_t after);

// ---- the choice ----------------------------------------------------------------------------------------------------
void chosen_like(const Layout& layout, const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights,
                 int64_t count, bool values_asked, const at::Tensor& out);
// For each query the keys with the largest sum over heads of relu(query key) weight, best first; -1 after the last.
at::Tensor chosen_keys(const Layout& layout, const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights,
                       int64_t count);

// ---- attention -----------------------------------------------------------------------------------------------------
struct Inputs {
  const at::Tensor &query, &key, &value, &chosen, &query_rope, &key_rope;
  at::Tensor sinks{};  // a number for each head that takes part in the softmax only
};
void attention_like(const Layout& layout, const Inputs& in, int64_t block, int64_t mode, const at::Tensor& out);
struct Attention {
  at::Tensor out, largest, sum;  // of the scores: (…, heads of keys, queries, heads of each)
};
// `block` keys go with each choice.
Attention attend(const Layout& layout, const Inputs& in, double scale, int64_t block);

// ---- parts of one softmax ------------------------------------------------------------------------------------------
void parts_like(const Tensors& log_sums, const Tensors& parts, int64_t kind, const at::Tensor& out,
                const at::Tensor& log_sum);
// The result over all keys, and the logarithm of its sum.
Tensors joined(const Tensors& log_sums, const Tensors& parts);

}  // namespace sim::sparse_attention
