// Attention to chosen keys, the gated delta rule, and what latent attention keeps of its tokens.

#include "kernels/sparse_attention.h"

#include "kernels/delta_rule.h"
#include "kernels/latent_cache.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
namespace sparse = sim::sparse_attention;
namespace delta = sim::delta_rule;
namespace latent = sim::latent_cache;

static void write_attention(const at::Tensor& out, const at::Tensor& largest, const at::Tensor& sum, bool asked,
                            const sparse::Attention& made) {
  write(out, made.out);
  if (asked) write(largest, made.largest), write(sum, made.sum);
}

static void write_product(const at::Tensor& query, std::initializer_list<at::Tensor> kept, const Tensors& made) {
  write(query, made[0]);
  write_each(kept, made);
}

// ---- chosen keys ---------------------------------------------------------------------------------------------------
#define KEYS (sparse::Layout{layout_query, layout_key, query_lengths, key_lengths, pages, mode})
ACLNN(LightningIndexer,
      (In, query, In, key, In, weights, In, query_lengths, In, key_lengths, In, pages, Text, layout_query, Text,
       layout_key, int64_t, count, int64_t, mode, int64_t, before, int64_t, after, bool, values_asked, Out, out, Out,
       values),
      (sparse::layout_like(KEYS, query, key, before, after),
       sparse::chosen_like(KEYS, query, key, weights, count, values_asked, out)),
      write(out, sparse::chosen_keys(KEYS, query, key, weights, count)))
ACLNN(SparseFlashAttention,
      (In, query, In, key, In, value, In, chosen, In, pages, In, query_lengths, In, key_lengths, In, query_rope, In,
       key_rope, double, scale, int64_t, block, Text, layout_query, Text, layout_key, int64_t, mode, int64_t, before,
       int64_t, after, int64_t, attention_mode, bool, sums_asked, Out, out, Out, largest, Out, sum),
      (sparse::layout_like(KEYS, query, key, before, after),
       sparse::attention_like(KEYS, {query, key, value, chosen, query_rope, key_rope}, block, attention_mode, out)),
      write_attention(out, largest, sum, sums_asked,
                      sparse::attend(KEYS, {query, key, value, chosen, query_rope, key_rope}, scale, block)))
ACLNN(SparseFlashAttentionV2,
      (In, query, In, key, In, value, In, chosen, In, pages, In, query_lengths, In, key_lengths, In, query_rope, In,
       key_rope, In, sinks, double, scale, int64_t, block, Text, layout_query, Text, layout_key, int64_t, mode, int64_t,
       before, int64_t, after, int64_t, attention_mode, bool, sums_asked, Out, out, Out, largest, Out, sum),
      (sparse::layout_like(KEYS, query, key, before, after),
       sparse::attention_like(KEYS, {query, key, value, chosen, query_rope, key_rope, sinks}, block, attention_mode,
                              out)),
      write_attention(out, largest, sum, sums_asked,
                      sparse::attend(KEYS, {query, key, value, chosen, query_rope, key_rope, sinks}, scale, block)))

// ---- parts of one softmax ------------------------------------------------------------------------------------------
ACLNN(AttentionUpdate, (List, log_sums, List, parts, int64_t, kind, Out, out, Out, log_sum),
      sparse::parts_like(log_sums, parts, kind, out, log_sum),
      write_each({out, kind == 1 ? log_sum : at::Tensor()}, sparse::joined(log_sums, parts)))

// ---- the gated delta rule ------------------------------------------------------------------------------------------
ACLNN(RecurrentGatedDeltaRule,
      (In, query, In, key, In, value, In, beta, Ref, state, In, lengths, In, places, In, gate, In, gate_of_keys, In,
       accepted, float, scale, Out, out),
      delta::tokens_like({query, key, value, beta, lengths, gate, gate_of_keys}, {state, places, accepted}, true, out),
      write(out, delta::run({query, key, value, beta, lengths, gate, gate_of_keys, scale}, {state, places, accepted})))
ACLNN(ChunkGatedDeltaRule,
      (In, query, In, key, In, value, In, beta, In, state, In, lengths, float, scale, In, gate, Out, out, Out, last),
      (like(last, state), delta::tokens_like({query, key, value, beta, lengths, gate}, {state}, false, out)),
      write(last, state);
      write(out, delta::run({query, key, value, beta, lengths, gate, {}, scale}, {last})))

// ---- what latent attention keeps -----------------------------------------------------------------------------------
ACLNN(KvRmsNormRopeCache,
      (In, kv, In, gamma, In, cos, In, sin, In, index, Ref, rope_cache, Ref, cache, In, rope_scale, In, scale, In,
       rope_offset, In, offset, double, eps, Text, mode, bool, kept_asked, Out, rope, Out, normal),
      latent::cached_like({kv, gamma, cos, sin, index}, {rope_cache, cache, rope_scale, scale, rope_offset, offset},
                          mode),
      write_each({kept_asked ? rope : at::Tensor(), kept_asked ? normal : at::Tensor()},
                 latent::cache({kv, gamma, cos, sin, index},
                               {rope_cache, cache, rope_scale, scale, rope_offset, offset}, eps, mode)))
ACLNN(KvRmsNormRopeCacheV2,
      (In, kv, In, gamma, In, cos, In, sin, In, index, Ref, rope_cache, Ref, cache, In, rope_scale, In, scale, In,
       rope_offset, In, offset, In, value, double, eps, Text, mode, bool, kept_asked, Out, rope, Out, normal),
      latent::cached_like({kv, gamma, cos, sin, index, value},
                          {rope_cache, cache, rope_scale, scale, rope_offset, offset}, mode),
      write_each({kept_asked ? rope : at::Tensor(), kept_asked ? normal : at::Tensor()},
                 latent::cache({kv, gamma, cos, sin, index, value},
                               {rope_cache, cache, rope_scale, scale, rope_offset, offset}, eps, mode)))
ACLNN(QkvRmsNormRopeCache,
      (In, all, In, query_gamma, In, key_gamma, In, cos, In, sin, In, index, Ref, query, Ref, key_cache, Ref,
       value_cache, In, key_scale, In, value_scale, In, key_offset, In, value_offset, Ints, sizes, Ints, heads, double,
       eps, Text, mode, Out, query_kept, Out, key_kept, Out, value_kept),
      latent::product_like({all, query_gamma, key_gamma, cos, sin, index, sizes, heads},
                           {key_cache, value_cache, key_scale, value_scale, key_offset, value_offset}, mode, query),
      write_product(query, {query_kept, key_kept, value_kept},
                    latent::cache_product({all, query_gamma, key_gamma, cos, sin, index, sizes, heads},
                                          {key_cache, value_cache, key_scale, value_scale, key_offset, value_offset},
                                          eps)))
ACLNN(RopeWithSinCosCache,
      (In, positions, In, query, In, key, In, cos_sin, Ints, sections, int64_t, depth, bool, halves, Out, query_out,
       Out, key_out),
      (latent::rotated_like(positions, query, cos_sin, sections, depth, 0, query_out),
       latent::rotated_like(positions, key, cos_sin, sections, depth, 0, key_out)),
      write(query_out, latent::rotated(positions, query, cos_sin, sections, depth, halves, false));
      write(key_out, latent::rotated(positions, key, cos_sin, sections, depth, halves, false)))
ACLNN(RopeWithSinCosCacheV2,
      (In, positions, In, query, In, key, In, cos_sin, Ints, sections, int64_t, depth, bool, halves, int64_t, in_turn,
       Out, query_out, Out, key_out),
      (latent::rotated_like(positions, query, cos_sin, sections, depth, in_turn, query_out),
       latent::rotated_like(positions, key, cos_sin, sections, depth, in_turn, key_out)),
      write(query_out, latent::rotated(positions, query, cos_sin, sections, depth, halves, in_turn == 1));
      write(key_out, latent::rotated(positions, key, cos_sin, sections, depth, halves, in_turn == 1)))
