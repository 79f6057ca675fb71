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

// Of whole numbers, where the keys' depth holds also their scales, as `quantized`.
void layout_like(const Layout& layout, const at::Tensor& query, const at::Tensor& key, int64_t before, int64_t after,
                 std::initializer_list<at::ScalarType> query_types = {at::kHalf, at::kBFloat16},
                 std::initializer_list<at::ScalarType> key_types = {at::kHalf, at::kBFloat16}, bool same_depth = true);
// Lengths that the host has, as a tensor; without any, undefined.
at::Tensor as_lengths(const Dims& lengths);

// ---- the choice ----------------------------------------------------------------------------------------------------
void chosen_like(const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights, int64_t count,
                 bool values_asked, const at::Tensor& out);
// For each query the keys with the largest sum over heads of relu(query key) weight, best first; -1 after the last.
at::Tensor chosen_keys(const Layout& layout, const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights,
                       int64_t count);

// The same with whole numbers, each row of a head with a scale.
struct Scales {
  const at::Tensor &query, &key;
  int64_t query_mode, key_mode;
};
void scaled_like(const at::Tensor& query, const at::Tensor& key, const Scales& scales);
at::Tensor chosen_scaled_keys(const Layout& layout, const at::Tensor& query, const at::Tensor& key,
                              const at::Tensor& weights, const Scales& scales, int64_t count);

// ---- attention -----------------------------------------------------------------------------------------------------
struct Inputs {
  const at::Tensor &query, &key, &value, &chosen, &query_rope, &key_rope;
  at::Tensor sinks{};  // a number for each head that takes part in the softmax only
};
void attention_like(const Inputs& in, int64_t block, int64_t mode, const at::Tensor& out);
struct Attention {
  at::Tensor out, largest, sum;  // of the scores: (…, heads of keys, queries, heads of each)
};
void statistics_like(const Layout& layout, const Inputs& in, const at::Tensor& largest, const at::Tensor& sum);
// `block` keys go with each choice.
Attention attend(const Layout& layout, const Inputs& in, double scale, int64_t block);

// Keys of 512 whole numbers, 64 numbers of the query's type and 4 scales, one for each 128, side by side in bytes; the
// first are the values as well.
struct Packing {
  int64_t key_mode, value_mode, attention_mode, scales_together, tile, rope;
};
void packed_like(const Inputs& in, const Packing& packing, int64_t block, const at::Tensor& out);
at::Tensor attend_packed(const Layout& layout, const Inputs& in, double scale, int64_t block);

// ---- backward -------------------------------------------------------------------------------------------------------
// Of the attention: query, key, value, and the parts with the position where they are there.
Tensors attend_backward(const Layout& layout, const Inputs& in, const at::Tensor& grad, const at::Tensor& out,
                        const at::Tensor& largest, const at::Tensor& sum, double scale, int64_t block);
// The gradients of query, key, value and the others, where the keys are the values too: one for both.
Tensors of_one(Tensors gradients);
// What chooses keys, or its gradients.
struct Indexer {
  const at::Tensor &query, &key, &weights;
};
// Of the sums by which keys are chosen: query, key, weights; `grad` has a number for each key that was chosen.
void scores_backward_like(const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights,
                          const at::Tensor& grad, const at::Tensor& chosen, const Indexer& grads);
Tensors scores_backward(const Layout& layout, const at::Tensor& query, const at::Tensor& key, const at::Tensor& weights,
                        const at::Tensor& grad, const at::Tensor& chosen);

// ---- the choice learns from the attention: loss = sum p log(p / softmax(scores)), p the heads' mean
// ------------------
struct Attended {
  const at::Tensor &query, &key, &query_rope, &key_rope, &largest, &sum;
  double scale;
};
void indexer_like(const Layout& layout, const Indexer& index);
void log_sums_like(const Layout& layout, const Indexer& index, const at::Tensor& largest, const at::Tensor& sum);
// Maximum and sum of the scores' softmax over all keys in sight: (sequences, 1, queries) or (1, queries).
Tensors log_sums(const Layout& layout, const Indexer& index);
// The gradients of query, key and weights, and the loss. Over the keys that were chosen; without `chosen` over all in
// sight, with the maximum and the sum of the scores' softmax.
void loss_like(const Layout& layout, const Indexer& index, const Attended& attended, const at::Tensor& chosen,
               const Indexer& grads, const at::Tensor& loss);
Tensors loss_backward(const Layout& layout, const Indexer& index, const Attended& attended, const at::Tensor& chosen,
                      const at::Tensor& largest, const at::Tensor& sum);

// ---- parts of one softmax ------------------------------------------------------------------------------------------
void parts_like(const Tensors& log_sums, const Tensors& parts, int64_t kind, size_t most, const at::Tensor& out,
                const at::Tensor& log_sum);
// The result over all keys, and the logarithm of its sum.
Tensors joined(const Tensors& log_sums, const Tensors& parts);

}  // namespace sim::sparse_attention
