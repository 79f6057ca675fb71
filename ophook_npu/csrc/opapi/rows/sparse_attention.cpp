// Attention to chosen keys, the gated delta rule, and what latent attention keeps of its tokens.

#include "kernels/sparse_attention.h"

#include "kernels/delta_rule.h"
#include "kernels/latent_cache.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;
namespace sparse = sim::sparse_attention;
namespace delta = sim::delta_rule;
namespace latent = sim::latent_cache;

static void write_attention(const at::Tensor& out, const at::Tensor& largest, const at::Tensor& sum, bool asked,
                            const sparse::Attention& made) {
  write(out, made.out);
  if (asked) write(largest, made.largest), write(sum, made.sum);
}

static void with_rope_like(const at::Tensor& grad, const at::Tensor& rope) {
  if (rope.defined()) like(grad, rope);
}

// Keys that are the values too have one gradient, and no other is asked for.
static void gradient_of_values_like(const at::Tensor& grad, const at::Tensor& value) {
  if (value.defined()) like(grad, value);
  else SIM_CHECK(!grad.defined(), "dValueOut is there, and value is null");
}
static Tensors of_keys_and_values(Tensors gradients, const at::Tensor& value) {
  return value.defined() ? gradients : sparse::of_one(std::move(gradients));
}

static void write_product(const at::Tensor& query, std::initializer_list<at::Tensor> kept, const Tensors& made) {
  write(query, made[0]);
  write_each(kept, made);
}

// ---- chosen keys ---------------------------------------------------------------------------------------------------
#define KEYS (sparse::Layout{.query = layout_query, .key = layout_key, NAMED(query_lengths, key_lengths, pages, mode)})
ACLNN(LightningIndexer,
      (In, query, In, key, In, weights, In, query_lengths, In, key_lengths, In, pages, Text, layout_query, Text,
       layout_key, int64_t, count, int64_t, mode, int64_t, before, int64_t, after, bool, values_asked, Out, out, Out,
       values),
      (sparse::layout_like(KEYS, query, key, before, after),
       sparse::chosen_like(query, key, weights, count, values_asked, out)),
      write(out, sparse::chosen_keys(KEYS, query, key, weights, count)))
#define TO_CHOSEN(version, inputs, ...)                                                                               \
  ACLNN(                                                                                                              \
      SparseFlashAttention##version,                                                                                  \
      (In, query, In, key, In, value, In, chosen, In, pages, In, query_lengths, In, key_lengths, In, query_rope, In,  \
       key_rope, ##__VA_ARGS__, double, scale, int64_t, block, Text, layout_query, Text, layout_key, int64_t, mode,   \
       int64_t, before, int64_t, after, int64_t, attention_mode, bool, sums_asked, Out, out, Out, largest, Out, sum), \
      (sparse::layout_like(KEYS, query, key, before, after),                                                          \
       sparse::attention_like(sparse::Inputs inputs, block, attention_mode, out),                                     \
       sums_asked ? sparse::statistics_like(KEYS, sparse::Inputs inputs, largest, sum) : when_run()),                 \
      write_attention(out, largest, sum, sums_asked, sparse::attend(KEYS, sparse::Inputs inputs, scale, block)))
TO_CHOSEN(, ({query, key, value, chosen, query_rope, key_rope}))
TO_CHOSEN(V2, ({query, key, value, chosen, query_rope, key_rope, sinks}), In, sinks)

#define SCALES (sparse::Scales{.query = query_scale, .key = key_scale, NAMED(query_mode, key_mode)})
ACLNN(QuantLightningIndexer,
      (In, query, In, key, In, weights, In, query_scale, In, key_scale, In, query_lengths, In, key_lengths, In, pages,
       int64_t, query_mode, int64_t, key_mode, Text, layout_query, Text, layout_key, int64_t, count, int64_t, mode,
       int64_t, before, int64_t, after, Out, out),
      (sparse::layout_like(KEYS, query, key, before, after, {at::kChar, at::kFloat8_e4m3fn, at::kFloat},
                           {query.scalar_type()}),
       sparse::scaled_like(query, key, SCALES), sparse::chosen_like(query, key, weights, count, false, out)),
      write(out, sparse::chosen_scaled_keys(KEYS, query, key, weights, SCALES, count)))
#define PACKED (sparse::Packing{NAMED(key_mode, value_mode, attention_mode, scales_together, tile, rope)})
ACLNN(KvQuantSparseFlashAttention,
      (In, query, In, key, In, value, In, chosen, In, key_scale, In, value_scale, In, pages, In, query_lengths, In,
       key_lengths, double, scale, int64_t, key_mode, int64_t, value_mode, int64_t, block, Text, layout_query, Text,
       layout_key, int64_t, mode, int64_t, before, int64_t, after, int64_t, attention_mode, int64_t, scales_together,
       int64_t, tile, int64_t, rope, Out, out),
      (sparse::layout_like(KEYS, query, key, before, after, {at::kHalf, at::kBFloat16}, {at::kChar}, false),
       sparse::packed_like({query, key, value, chosen, {}, {}}, PACKED, block, out)),
      write(out, sparse::attend_packed(KEYS, {query, key, value, chosen, {}, {}}, scale, block)))

// ---- their gradients
// -------------------------------------------------------------------------------------------------
#define OWN_KEYS \
  (sparse::Layout{.query = layout, .key = layout, NAMED(query_lengths, key_lengths), .pages = {}, .mode = mode})
#define LISTED_KEYS                                                   \
  (sparse::Layout{.query = layout,                                    \
                  .key = layout,                                      \
                  .query_lengths = sparse::as_lengths(query_lengths), \
                  .key_lengths = sparse::as_lengths(key_lengths),     \
                  .pages = {},                                        \
                  .mode = mode})
#define OWN_INPUTS {query, key, value.defined() ? value : key, chosen, query_rope, key_rope}
ACLNN(SparseFlashAttentionGrad,
      (In, query, In, key, In, value, In, chosen, In, grad, In, out, In, largest, In, sum, In, query_lengths, In,
       key_lengths, In, query_rope, In, key_rope, double, scale, int64_t, block, Text, layout, int64_t, mode, int64_t,
       before, int64_t, after, bool, deterministic, Out, grad_query, Out, grad_key, Out, grad_value, Out,
       grad_query_rope, Out, grad_key_rope),
      (sparse::layout_like(OWN_KEYS, query, key, before, after), sparse::attention_like(OWN_INPUTS, block, 0, out),
       like(grad, out), sparse::statistics_like(OWN_KEYS, OWN_INPUTS, largest, sum), like(grad_query, query),
       like(grad_key, key), gradient_of_values_like(grad_value, value), with_rope_like(grad_query_rope, query_rope),
       with_rope_like(grad_key_rope, key_rope)),
      write_each({grad_query, grad_key, grad_value, grad_query_rope, grad_key_rope},
                 of_keys_and_values(
                     sparse::attend_backward(OWN_KEYS, OWN_INPUTS, grad, out, largest, sum, scale, block), value)))
ACLNN(LightningIndexerGrad,
      (In, query, In, key, In, grad, In, chosen, In, weights, In, query_lengths, In, key_lengths, int64_t, heads, Text,
       layout, int64_t, mode, int64_t, before, int64_t, after, bool, deterministic, Out, grad_query, Out, grad_key, Out,
       grad_weights),
      (sparse::layout_like(OWN_KEYS, query, key, before, after),
       sparse::scores_backward_like(query, key, weights, grad, chosen, {grad_query, grad_key, grad_weights})),
      write_each({grad_query, grad_key, grad_weights},
                 sparse::scores_backward(OWN_KEYS, query, key, weights, grad, chosen)))
ACLNN(DenseLightningIndexerSoftmaxLse,
      (In, query, In, key, In, weights, Ints, query_lengths, Ints, key_lengths, Text, layout, int64_t, mode, int64_t,
       before, int64_t, after, Out, largest, Out, sum),
      (sparse::layout_like(LISTED_KEYS, query, key, before, after),
       sparse::indexer_like(LISTED_KEYS, {query, key, weights}),
       sparse::log_sums_like(LISTED_KEYS, {query, key, weights}, largest, sum)),
      write_each({largest, sum}, sparse::log_sums(LISTED_KEYS, {query, key, weights})))
#define INDEXER (sparse::Indexer{.query = query_index, .key = key_index, .weights = weights})
#define ATTENDED (sparse::Attended{NAMED(query, key, query_rope, key_rope, largest, sum, scale)})
ACLNN(DenseLightningIndexerGradKLLoss,
      (In, query, In, key, In, query_index, In, key_index, In, weights, In, largest, In, sum, In, largest_index, In,
       sum_index, In, query_rope, In, key_rope, Ints, query_lengths, Ints, key_lengths, double, scale, Text, layout,
       int64_t, mode, int64_t, before, int64_t, after, Out, grad_query, Out, grad_key, Out, grad_weights, Out, loss),
      (sparse::layout_like(LISTED_KEYS, query_index, key_index, before, after),
       sparse::loss_like(LISTED_KEYS, INDEXER, ATTENDED, {}, {grad_query, grad_key, grad_weights}, loss),
       sparse::log_sums_like(LISTED_KEYS, INDEXER, largest_index, sum_index)),
      write_each({grad_query, grad_key, grad_weights, loss},
                 sparse::loss_backward(LISTED_KEYS, INDEXER, ATTENDED, {}, largest_index, sum_index)))
ACLNN(SparseLightningIndexerGradKLLoss,
      (In, query, In, key, In, query_index, In, key_index, In, weights, In, chosen, In, largest, In, sum, In,
       query_rope, In, key_rope, Ints, query_lengths, Ints, key_lengths, double, scale, Text, layout, int64_t, mode,
       int64_t, before, int64_t, after, bool, deterministic, Out, grad_query, Out, grad_key, Out, grad_weights, Out,
       loss),
      (sparse::layout_like(LISTED_KEYS, query_index, key_index, before, after),
       sparse::loss_like(LISTED_KEYS, INDEXER, ATTENDED, chosen, {grad_query, grad_key, grad_weights}, loss)),
      write_each({grad_query, grad_key, grad_weights, loss},
                 sparse::loss_backward(LISTED_KEYS, INDEXER, ATTENDED, chosen, {}, {})))

// ---- parts of one softmax ------------------------------------------------------------------------------------------
ACLNN(AttentionUpdate, (List, log_sums, List, parts, int64_t, kind, Out, out, Out, log_sum),
      sparse::parts_like(log_sums, parts, kind, product_is("Ascend950") ? 16 : 128, out, log_sum),
      write_each({out, kind == 1 ? log_sum : at::Tensor()}, sparse::joined(log_sums, parts)))

// ---- the gated delta rule ------------------------------------------------------------------------------------------
ACLNN(RecurrentGatedDeltaRule,
      (In, query, In, key, In, value, In, beta, Ref, state, In, lengths, In, places, In, gate, In, gate_of_keys, In,
       accepted, float, scale, Out, out),
      delta::tokens_like({query, key, value, beta, lengths, gate, gate_of_keys}, {state, places, accepted}, true, out),
      write(out, delta::run({query, key, value, beta, lengths, gate, gate_of_keys, scale}, {state, places, accepted})))
ACLNN(ChunkGatedDeltaRule,
      (In, query, In, key, In, value, In, beta, In, state, In, lengths, In, gate, float, scale, Out, out, Out, last),
      (like(last, state), delta::tokens_like({query, key, value, beta, lengths, gate}, {state}, false, out)),
      write(last, state);
      write(out, delta::run({query, key, value, beta, lengths, gate, {}, scale}, {last})))

// ---- what latent attention keeps -----------------------------------------------------------------------------------
#define CACHED            \
  {.rope = rope_cache,    \
   .normal = cache,       \
   NAMED(rope_scale),     \
   .normal_scale = scale, \
   NAMED(rope_offset),    \
   .normal_offset = offset}
#define CACHE_KEYS(version, inputs, ...)                                                                             \
  ACLNN(KvRmsNormRopeCache##version,                                                                                 \
        (In, kv, In, gamma, In, cos, In, sin, In, index, Ref, rope_cache, Ref, cache, In, rope_scale, In, scale, In, \
         rope_offset, In, offset, ##__VA_ARGS__, double, eps, Text, mode, bool, kept_asked, Out, rope, Out, normal), \
        latent::cached_like(latent::Tokens inputs, CACHED, mode, kept_asked, rope, normal),                          \
        write_each({kept_asked ? rope : at::Tensor(), kept_asked ? normal : at::Tensor()},                           \
                   latent::cache(latent::Tokens inputs, CACHED, eps, mode)))
CACHE_KEYS(, ({kv, gamma, cos, sin, index}))
CACHE_KEYS(V2, ({kv, gamma, cos, sin, index, value}), In, value)
ACLNN(QkvRmsNormRopeCache,
      (In, all, In, query_gamma, In, key_gamma, In, cos, In, sin, In, index, Ref, query, Ref, key_cache, Ref,
       value_cache, In, key_scale, In, value_scale, In, key_offset, In, value_offset, Ints, sizes, Ints, heads, double,
       eps, Text, mode, Out, query_kept, Out, key_kept, Out, value_kept),
      latent::product_like({all, query_gamma, key_gamma, cos, sin, index, sizes, heads},
                           {key_cache, value_cache, key_scale, value_scale, key_offset, value_offset}, mode, query,
                           {query_kept, key_kept, value_kept}),
      write_product(query, {query_kept, key_kept, value_kept},
                    latent::cache_product({all, query_gamma, key_gamma, cos, sin, index, sizes, heads},
                                          {key_cache, value_cache, key_scale, value_scale, key_offset, value_offset},
                                          eps)))
ACLNN(DequantRopeQuantKvcache,
      (In, x, In, cos, In, sin, Ref, key_cache, Ref, value_cache, In, index, In, key_scale, In, value_scale, In,
       key_offset, In, value_offset, In, weight_scale, In, row_scale, In, bias, Ints, sizes, Text, quant_mode, Text,
       layout, bool, kept_asked, Text, mode, Out, query, Out, key, Out, value),
      latent::whole_like({x, cos, sin, index, weight_scale, row_scale, bias, sizes},
                         {key_cache, value_cache, key_scale, value_scale, key_offset, value_offset},
                         {quant_mode, layout, mode}, query, kept_asked, {key, value}),
      write_each({query, kept_asked ? key : at::Tensor(), kept_asked ? value : at::Tensor()},
                 latent::cache_whole({x, cos, sin, index, weight_scale, row_scale, bias, sizes},
                                     {key_cache, value_cache, key_scale, value_scale, key_offset, value_offset}, mode)))
#define ROTATE_BY_CACHE(version, in_turn, ...)                                                                        \
  ACLNN(RopeWithSinCosCache##version,                                                                                 \
        (In, positions, In, query, In, key, In, cos_sin, Ints, sections, int64_t, depth, bool, halves, ##__VA_ARGS__, \
         Out, query_out, Out, key_out),                                                                               \
        (latent::rotated_like(positions, query, cos_sin, sections, depth, in_turn == 1, query_out),                   \
         latent::rotated_like(positions, key, cos_sin, sections, depth, in_turn == 1, key_out)),                      \
        write(query_out, latent::rotated(positions, query, cos_sin, sections, depth, halves, in_turn == 1));          \
        write(key_out, latent::rotated(positions, key, cos_sin, sections, depth, halves, in_turn == 1)))
ROTATE_BY_CACHE(, 0)
ROTATE_BY_CACHE(V2, in_turn, int64_t, in_turn)
