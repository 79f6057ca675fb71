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
  from_left,   // the first query sees the first key, each query after it one key more
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
  at::Tensor query_rope = {}, key_rope = {};      // further columns of query and key, in tensors of their own
  at::Tensor key_factor = {}, value_factor = {};  // int8 tensors: a number for each head
  double mask_factor = 1;
};

// value undefined: the first columns of the keys, as many as out has. log_sum: (tokens, heads, 1), or undefined.
SIM_API void attend_packed(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const Packed& how,
                           const at::Tensor& out, const at::Tensor& log_sum);

// The values are the keys without their rope.
SIM_API void attend_latent(const at::Tensor& query, const at::Tensor& cache, const Packed& how, const at::Tensor& out,
                           const at::Tensor& log_sum);
// One part of the keys. log_sum: (heads, tokens); before and before_sum: the result of other parts, or undefined.
SIM_API void attend_part(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const Packed& how,
                         const at::Tensor& before, const at::Tensor& before_sum, const at::Tensor& out,
                         const at::Tensor& log_sum);

// A row for each slot that is not negative, if there are rows. cache: (pages, rows, …), or in `tiles` of 32 bytes
// (pages, columns / tile, rows, tile).
SIM_API void into_slots(const at::Tensor& cache, const at::Tensor& slots, const at::Tensor& rows, bool tiles);

// The other way, for sequences of these lengths: their running sum from 0, or one length each. starts: from which row
// on, at a page's begin.
SIM_API void from_slots(const at::Tensor& cache, const at::Tensor& table, const at::Tensor& lengths, bool running,
                        const at::Tensor& starts, bool tiles, const at::Tensor& out);
// Pages in tiles as (pages, rows, 1, columns).
SIM_API at::Tensor untiled(const at::Tensor& cache);

}  // namespace sim::inference
