// Small fused steps of transformers that no other table has a place for.
#pragma once

#include "kernels/tensors.h"

namespace sim::transformer {

// ---- attention over a ring of devices: two parts of the keys, each with the maximum and the sum of its softmax -----
struct RingPart {
  at::Tensor out, top, sum;
};
void ring_parts(const RingPart& before, const RingPart& now, const std::string& layout,
                const std::string& softmax_layout, const RingPart& to);
void ring_update(const RingPart& before, const RingPart& now, bool sbh, const RingPart& to);
// qkv (B, T, 3 * heads * depth) and its bias; all three parts of a head have the same depth.
void three_parts(const at::Tensor& qkv, const at::Tensor& bias, int64_t heads, std::initializer_list<at::Tensor> parts);
SIM_API void biased_like(const at::Tensor& self, const at::Tensor& mask, const at::Tensor& bias);
at::Tensor biased_softmax(const at::Tensor& self, const at::Tensor& mask, const at::Tensor& bias, double scale);

// ---- attention to the blocks of keys that were selected for each token: (tokens, key heads, blocks) ----------------
struct Selection {
  at::Tensor query, key, value, chosen;
  Dims ends, key_ends;
  int64_t block_size;
  int64_t sparse_mode;  // 2: with a mask a query sees no key behind its own place, whatever it holds
};
struct Attended {
  at::Tensor top, sum, out;
};
void selected(const Selection& of, const at::Tensor& mask, const std::string& layout, int64_t blocks,
              const at::Tensor& out);
void statistics_like(const at::Tensor& query, const Attended& out);
// A token's query (heads, each, depth), the keys and values selected for it, where those lie among all: (heads, keys)
// each, and its scores for them, lowest where it sees none.
struct Seen {
  at::Tensor query, key, value, rows, heads, scores;
};
Seen seen_by(int64_t token, const Selection& of, double scale);
void attend_selected(const Selection& of, double scale, const Attended& to);

}  // namespace sim::transformer
