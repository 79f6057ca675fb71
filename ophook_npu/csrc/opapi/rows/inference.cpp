// Inference of language models: attention of sequences of different lengths, padded or one behind the other, with keys
// that lie in pages; the pages themselves; the choice among the next tokens.

#include "kernels/inference.h"
#include "kernels/rotary.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
using namespace sim::attention;
using namespace sim::inference;

static void write_sampled(const Sampled& values, const Sampled& outs) {
  write_each({outs.token, outs.logits, outs.index, outs.probability},
             {values.token, values.logits, values.index, values.probability});
}

#define INFERENCE \
  Settings { NAMED(scale, before, after, sparse_mode) }
#define OF_RESULT NAMED(of_scores, of_weights, of_product, of_result, result_offset)
#define OF_KEYS OF_RESULT, NAMED(both, both_offset)
#define OF_EACH                                                                                            \
  OF_KEYS, .key = key_scale, .key_offset = key_offset, .value = value_scale, .value_offset = value_offset, \
      .mode = antiquant_mode, NAMED(key_mode, value_mode)
#define OF_HEADS NAMED(layout, heads, key_heads)
// Keys and values in lists, without and with lengths of queries; then what newer forms have beside.
#define IN_LISTS NAMED(query, keys, values), OF_HEADS
#define LISTED IN_LISTS, NAMED(pse, mask)
#define TOKEN LISTED, .key_lengths = lengths, .pages = pages
#define OF_SCALE .how = {.scale = scale}, .quantized = {OF_KEYS}
// A position encoding is reserved in the first two forms: it is not read.
#define EARLY_TOKEN IN_LISTS, .mask = mask, .key_lengths = lengths
#define ONE_TENSOR .query = query, .keys = {key}, .values = {value}, OF_HEADS
#define PROMPT ONE_TENSOR, NAMED(pse, mask, query_lengths, key_lengths), .how = INFERENCE, .quantized = {OF_RESULT}
#define EARLY_PROMPT ONE_TENSOR, .mask = mask, .query_lengths = lengths, .how = {NAMED(scale, before, after)}
#define SOME_EACH LISTED, NAMED(query_lengths, key_lengths, pages, query_padding, key_padding)
#define WITH_PREFIX SOME_EACH, NAMED(key_prefix, value_prefix, prefix)
#define WITH_ROPE WITH_PREFIX, NAMED(query_rope, key_rope)
#define WITH_SINK NAMED(scale, before, after, sparse_mode, sink)
ACLNN(PromptFlashAttentionV3,
      (In, query, In, key, In, value, In, pse, In, mask, Ints, query_lengths, Ints, key_lengths, In, of_scores, In,
       of_weights, In, of_product, In, of_result, In, result_offset, int64_t, heads, double, scale, int64_t, before,
       int64_t, after, Text, layout, int64_t, key_heads, int64_t, sparse_mode, int64_t, precision, Out, out),
      check_inference({PROMPT}, out), attend_sequences({PROMPT}, out))
ACLNN(IncreFlashAttentionV4,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, lengths, In, of_scores, In, of_weights, In,
       of_product, In, of_result, In, result_offset, In, both, In, both_offset, In, pages, In, padding, int64_t, heads,
       double, scale, Text, layout, int64_t, key_heads, int64_t, block_size, int64_t, precision, Out, out),
      (one_query(query, layout), check_inference({TOKEN, .key_padding = padding, OF_SCALE}, out)),
      attend_sequences({TOKEN, .key_padding = padding, OF_SCALE}, out))
ACLNN(FusedInferAttentionScoreV2,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, query_lengths, Ints, key_lengths, In, of_scores,
       In, of_weights, In, of_product, In, of_result, In, result_offset, In, both, In, both_offset, In, pages, In,
       query_padding, In, key_padding, In, key_scale, In, key_offset, In, value_scale, In, value_offset, In, key_prefix,
       In, value_prefix, Ints, prefix, int64_t, heads, double, scale, int64_t, before, int64_t, after, Text, layout,
       int64_t, key_heads, int64_t, sparse_mode, int64_t, precision, int64_t, block_size, int64_t, antiquant_mode, bool,
       log_sum_too, int64_t, key_mode, int64_t, value_mode, Out, out, Out, log_sum),
      (log_sum_like(log_sum, log_sum_too, query, layout, heads),
       check_inference({WITH_PREFIX, .how = INFERENCE, .quantized = {OF_EACH}}, out)),
      attend_sequences({WITH_PREFIX, .how = INFERENCE, .quantized = {OF_EACH}}, out,
                       log_sum_too ? log_sum : at::Tensor()))
ACLNN(FusedInferAttentionScoreV3,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, query_lengths, Ints, key_lengths, In, of_scores,
       In, of_weights, In, of_product, In, of_result, In, result_offset, In, both, In, both_offset, In, pages, In,
       query_padding, In, key_padding, In, key_scale, In, key_offset, In, value_scale, In, value_offset, In, key_prefix,
       In, value_prefix, Ints, prefix, In, query_rope, In, key_rope, In, rope_scale, int64_t, heads, double, scale,
       int64_t, before, int64_t, after, Text, layout, int64_t, key_heads, int64_t, sparse_mode, int64_t, precision,
       int64_t, block_size, int64_t, antiquant_mode, bool, log_sum_too, int64_t, key_mode, int64_t, value_mode, Out,
       out, Out, log_sum),
      (log_sum_like(log_sum, log_sum_too, query, layout, heads), refuse_if_given({rope_scale}, "keyRopeAntiquantScale"),
       check_inference({WITH_ROPE, .how = INFERENCE, .quantized = {OF_EACH}}, out)),
      attend_sequences({WITH_ROPE, .how = INFERENCE, .quantized = {OF_EACH}}, out,
                       log_sum_too ? log_sum : at::Tensor()))
MAX_WORKSPACE(aclnnFusedInferAttentionScoreV3)
// The earlier forms: whole prompts, and one token at a time. What one of them does not say is as where it is not given.
ACLNN(FusedInferAttentionScore,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, query_lengths, Ints, key_lengths, In, of_scores,
       In, of_weights, In, of_product, In, of_result, In, result_offset, In, both, In, both_offset, In, pages, In,
       query_padding, In, key_padding, int64_t, heads, double, scale, int64_t, before, int64_t, after, Text, layout,
       int64_t, key_heads, int64_t, sparse_mode, int64_t, precision, int64_t, block_size, int64_t, antiquant_mode, bool,
       log_sum_too, Out, out, Out, log_sum),
      (log_sum_like(log_sum, log_sum_too, query, layout, heads), refuse_unless_zero(antiquant_mode, "antiquantMode"),
       check_inference({SOME_EACH, .how = INFERENCE, .quantized = {OF_KEYS}}, out)),
      attend_sequences({SOME_EACH, .how = INFERENCE, .quantized = {OF_KEYS}}, out,
                       log_sum_too ? log_sum : at::Tensor()))
ACLNN(PromptFlashAttention,
      (In, query, In, key, In, value, In, pse, In, mask, Ints, lengths, int64_t, heads, double, scale, int64_t, before,
       int64_t, after, Text, layout, int64_t, key_heads, Out, out),
      check_inference({EARLY_PROMPT}, out), attend_sequences({EARLY_PROMPT}, out))
ACLNN(PromptFlashAttentionV2,
      (In, query, In, key, In, value, In, pse, In, mask, Ints, query_lengths, Ints, key_lengths, In, of_scores, In,
       of_weights, In, of_product, In, of_result, In, result_offset, int64_t, heads, double, scale, int64_t, before,
       int64_t, after, Text, layout, int64_t, key_heads, int64_t, sparse_mode, Out, out),
      check_inference({PROMPT}, out), attend_sequences({PROMPT}, out))
ACLNN(IncreFlashAttention,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, lengths, int64_t, heads, double, scale, Text,
       layout, int64_t, key_heads, Out, out),
      (one_query(query, layout), check_inference({EARLY_TOKEN, .how = {.scale = scale}}, out)),
      attend_sequences({EARLY_TOKEN, .how = {.scale = scale}}, out))
ACLNN(IncreFlashAttentionV2,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, lengths, In, of_scores, In, of_weights, In,
       of_product, In, of_result, In, result_offset, int64_t, heads, double, scale, Text, layout, int64_t, key_heads,
       Out, out),
      (one_query(query, layout),
       check_inference({EARLY_TOKEN, .how = {.scale = scale}, .quantized = {OF_RESULT}}, out)),
      attend_sequences({EARLY_TOKEN, .how = {.scale = scale}, .quantized = {OF_RESULT}}, out))
ACLNN(IncreFlashAttentionV3,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, lengths, In, of_scores, In, of_weights, In,
       of_product, In, of_result, In, result_offset, In, both, In, both_offset, In, pages, int64_t, heads, double,
       scale, Text, layout, int64_t, key_heads, int64_t, block_size, int64_t, precision, Out, out),
      (one_query(query, layout), check_inference({TOKEN, OF_SCALE}, out)), attend_sequences({TOKEN, OF_SCALE}, out))
ACLNN(FusedInferAttentionScoreV4,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, query_lengths, Ints, key_lengths, In, of_scores,
       In, of_weights, In, of_product, In, of_result, In, result_offset, In, both, In, both_offset, In, pages, In,
       query_padding, In, key_padding, In, key_scale, In, key_offset, In, value_scale, In, value_offset, In, key_prefix,
       In, value_prefix, Ints, prefix, In, query_rope, In, key_rope, In, rope_scale, In, query_scale, In, sink, int64_t,
       heads, double, scale, int64_t, before, int64_t, after, Text, layout, int64_t, key_heads, int64_t, sparse_mode,
       int64_t, precision, int64_t, block_size, int64_t, antiquant_mode, bool, log_sum_too, int64_t, key_mode, int64_t,
       value_mode, int64_t, query_mode, Out, out, Out, log_sum),
      (log_sum_like(log_sum, log_sum_too, query, layout, heads),
       refuse_if_given({rope_scale, query_scale}, "keyRopeAntiquantScale and dequantScaleQuery"),
       check_inference({WITH_ROPE, .how = {WITH_SINK}, .quantized = {OF_EACH}}, out)),
      attend_sequences({WITH_ROPE, .how = {WITH_SINK}, .quantized = {OF_EACH}}, out,
                       log_sum_too ? log_sum : at::Tensor()))
MAX_WORKSPACE(aclnnFusedInferAttentionScoreV4)
ACLNN(FusedInferAttentionScoreV5,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, query_lengths, Ints, key_lengths, In, of_scores,
       In, of_weights, In, of_product, In, of_result, In, result_offset, In, both, In, both_offset, In, pages, In,
       query_padding, In, key_padding, In, key_scale, In, key_offset, In, value_scale, In, value_offset, In, key_prefix,
       In, value_prefix, Ints, prefix, In, query_rope, In, key_rope, In, rope_scale, In, query_scale, In, sink, Ints,
       query_start, Ints, key_start, int64_t, heads, double, scale, int64_t, before, int64_t, after, Text, layout,
       int64_t, key_heads, int64_t, sparse_mode, int64_t, precision, int64_t, block_size, int64_t, antiquant_mode, bool,
       log_sum_too, int64_t, key_mode, int64_t, value_mode, int64_t, query_mode, int64_t, pse_type, Out, out, Out,
       log_sum),
      (log_sum_like(log_sum, log_sum_too, query, layout, heads), refuse_if_given({rope_scale}, "keyRopeAntiquantScale"),
       refuse_unless_zero(pse_type, "pseType"), without_rope(query_scale, query_rope),
       check_inference({WITH_ROPE, .how = {WITH_SINK},
                        .quantized = {OF_EACH, .query = query_scale, .query_mode = query_mode}},
                       out)),
      attend_sequences({WITH_ROPE, .how = {WITH_SINK},
                        .quantized = {OF_EACH, .query = query_scale, .query_mode = query_mode}},
                       out, log_sum_too ? log_sum : at::Tensor()))
MAX_WORKSPACE(aclnnFusedInferAttentionScoreV5)
ACLNN(ScatterPaKvCache,
      (In, key, Ref, key_cache, In, slots, In, value, Ref, value_cache, In, lengths, In, offsets, In, sequence_lengths,
       Text, mode, Text, scatter_mode, Ints, strides, Ints, starts),
      (refuse_if_given({lengths, offsets, sequence_lengths}, "a compressed cache"),
       check_paging(key, key_cache, slots, {mode, scatter_mode, strides, starts}),
       check_paging(value, value_cache, slots, {mode, scatter_mode})),
      (into_pages(key_cache, slots, key, {mode, scatter_mode}),
       into_pages(value_cache, slots, value, {mode, scatter_mode})))
ACLNN(ScatterPaCache, (In, key, Ref, key_cache, In, slots, In, lengths, In, offsets, In, sequence_lengths, Text, mode),
      (refuse_if_given({lengths, offsets, sequence_lengths}, "a compressed cache"),
       check_paging(key, key_cache, slots, {mode, ""})),
      into_pages(key_cache, slots, key, {mode, ""}))
ACLNN(GatherPaKvCache,
      (In, key_cache, In, value_cache, In, pages, In, lengths, Ref, key, Ref, value, In, offsets, Text, mode, bool,
       running),
      (check_gathering(key_cache, pages, lengths, offsets, mode, running, key),
       check_gathering(value_cache, pages, lengths, offsets, mode, running, value)),
      (write(key, from_all_pages(key_cache, pages, lengths, offsets, mode, running, key)),
       write(value, from_all_pages(value_cache, pages, lengths, offsets, mode, running, value))))
ACLNN(ApplyTopKTopP, (In, logits, In, p, In, k, Out, out), , write(out, likely(logits, p, k)))
ACLNN(TopKTopPSample,
      (In, logits, In, k, In, p, In, q, double, eps, bool, logits_too, int64_t, guess, Out, token, Out, left),
      (check_sampling(logits, k, p, q, {}, {eps}), shape(token, {logits.size(0)}),
       logits_too ? like(left, logits) : when_run()),
      write_sampled(sampled(logits, k, p, q, {}, {eps}), {token, logits_too ? left : at::Tensor(), {}, {}}))
ACLNN(TopKTopPSampleV2,
      (In, logits, In, k, In, p, In, q, In, min_p, double, eps, bool, logits_too, int64_t, guess, int64_t, most, bool,
       normalize, bool, candidates, Out, token, Out, left, Out, index, Out, probability),
      (check_sampling(logits, k, p, q, min_p, {eps, most, normalize, candidates}),
       sampled_like(logits, candidates, logits_too, {token, left, index, probability})),
      write_sampled(sampled(logits, k, p, q, min_p, {eps, most, normalize, candidates}),
                    candidates ? Sampled{{}, {}, index, probability}
                               : Sampled{token, logits_too ? left : at::Tensor(), {}, {}}))
ACLNN(AdvanceStep,
      (Ref, tokens, In, sampled, Ref, positions, Ref, lengths, Ref, slots, In, pages, int64_t, sequences, int64_t,
       queries, int64_t, block),
      check_step({tokens, positions, lengths, slots}, sampled, pages, sequences, queries, block),
      advance({tokens, positions, lengths, slots}, sampled, pages, sequences, queries, block,
              sim_current_soc()->vector_cores))
ACLNN(AdvanceStepV2,
      (Ref, tokens, In, sampled, Ref, positions, Ref, lengths, Ref, slots, In, pages, In, guessed, In, accepted,
       int64_t, sequences, int64_t, queries, int64_t, block),
      check_guesses({tokens, positions, lengths, slots}, sampled, pages, guessed, accepted, sequences, queries, block),
      advance_by_guesses({tokens, positions, lengths, slots}, sampled, pages, guessed, accepted, block))
