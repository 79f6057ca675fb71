// Attention of sequences that lie one behind the other, (tokens, heads, depth), as Ascend Transformer Boost has it:
// what a query sees is a mask that is added, or a rule.
#pragma once

#include "kernels/tensors.h"

namespace sim::inference {

enum class Seen {
  all,
  added,       // mask: (queries, keys) for all; (1 or sequences or heads, queries, keys); or both before these two
  by_token,    // mask: (tokens, keys)
  causal,      // the last query sees all keys, each query before it one key less
  alibi,       // causal, and slopes[head] * (distance to the key) is added
  alibi_root,  // the same with the distance's square root
};

struct Packed {
  int64_t heads = 0, key_heads = 0;
  double scale = 1;
  Dims queries = {};      // of each sequence; empty: one
  Dims keys = {};         // of each sequence
  at::Tensor pages = {};  // (sequences, pages): key and value lie in pages (number, rows, heads, depth)
  Seen seen = Seen::all;
  at::Tensor mask = {}, slopes = {};
  double mask_factor = 1;
};

// value undefined: the first columns of the keys, as many as out has. log_sum: (tokens, heads, 1), or undefined.
SIM_API void attend_packed(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const Packed& how,
                           const at::Tensor& out, const at::Tensor& log_sum);

// A row for each slot that is not negative, if there are rows. cache: (pages, rows, …), or in `tiles` of 32 bytes
// (pages, columns / tile, rows, tile).
SIM_API void into_slots(const at::Tensor& cache, const at::Tensor& slots, const at::Tensor& rows, bool tiles);

}  // namespace sim::inference
