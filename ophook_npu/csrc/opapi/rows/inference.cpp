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
// Parameters that the forms have in one order.
#define OF_ONE_TENSOR In, query, In, key, In, value, In, pse, In, mask
#define OF_LISTS In, query, List, keys, List, values, In, pse, In, mask
#define BOTH_LENGTHS Ints, query_lengths, Ints, key_lengths
#define RESULT_SCALES In, of_scores, In, of_weights, In, of_product, In, of_result, In, result_offset
#define PAGED_KEYS In, both, In, both_offset, In, pages
#define SCALED_KEYS In, key_scale, In, key_offset, In, value_scale, In, value_offset
#define PREFIXES In, key_prefix, In, value_prefix, Ints, prefix
#define ROTATED In, query_rope, In, key_rope, In, rope_scale
#define HEADS_IN_WINDOW int64_t, heads, double, scale, int64_t, before, int64_t, after, Text, layout, int64_t, key_heads
#define HEADS_OF_TOKEN int64_t, heads, double, scale, Text, layout, int64_t, key_heads
#define FUSED_MODES                                                                                              \
  HEADS_IN_WINDOW, int64_t, sparse_mode, int64_t, precision, int64_t, block_size, int64_t, antiquant_mode, bool, \
      log_sum_too
#define KEY_MODES int64_t, key_mode, int64_t, value_mode

// Whole prompts, and one token at a time. What an earlier form does not say is as where it is not given.
#define WHOLE_PROMPT(version, given, ...)                                                                     \
  ACLNN(PromptFlashAttention##version, (OF_ONE_TENSOR, __VA_ARGS__, Out, out), check_inference({given}, out), \
        attend_sequences({given}, out))
WHOLE_PROMPT(, EARLY_PROMPT, Ints, lengths, HEADS_IN_WINDOW)
WHOLE_PROMPT(V2, PROMPT, BOTH_LENGTHS, RESULT_SCALES, HEADS_IN_WINDOW, int64_t, sparse_mode)
WHOLE_PROMPT(V3, PROMPT, BOTH_LENGTHS, RESULT_SCALES, HEADS_IN_WINDOW, int64_t, sparse_mode, int64_t, precision)
#define NEXT_TOKEN(version, given, ...)                                                 \
  ACLNN(IncreFlashAttention##version, (OF_LISTS, Ints, lengths, __VA_ARGS__, Out, out), \
        (one_query(query, layout), check_inference(Sequences given, out)), attend_sequences(Sequences given, out))
NEXT_TOKEN(, ({EARLY_TOKEN, .how = {.scale = scale}}), HEADS_OF_TOKEN)
NEXT_TOKEN(V2, ({EARLY_TOKEN, .how = {.scale = scale}, .quantized = {OF_RESULT}}), RESULT_SCALES, HEADS_OF_TOKEN)
NEXT_TOKEN(V3, ({TOKEN, OF_SCALE}), RESULT_SCALES, PAGED_KEYS, HEADS_OF_TOKEN, int64_t, block_size, int64_t, precision)
NEXT_TOKEN(V4, ({TOKEN, .key_padding = padding, OF_SCALE}), RESULT_SCALES, PAGED_KEYS, In, padding, HEADS_OF_TOKEN,
           int64_t, block_size, int64_t, precision)
#define EITHER(version, given, more_checks, ...)                                                                      \
  ACLNN(                                                                                                              \
      FusedInferAttentionScore##version,                                                                              \
      (OF_LISTS, BOTH_LENGTHS, RESULT_SCALES, PAGED_KEYS, In, query_padding, In, key_padding, __VA_ARGS__, Out, out,  \
       Out, log_sum),                                                                                                 \
      (log_sum_like(log_sum, log_sum_too, query, layout, heads), more_checks, check_inference(Sequences given, out)), \
      attend_sequences(Sequences given, out, log_sum_too ? log_sum : at::Tensor()))
EITHER(, ({SOME_EACH, .how = INFERENCE, .quantized = {OF_KEYS}}), refuse_unless_zero(antiquant_mode, "antiquantMode"),
       FUSED_MODES)
EITHER(V2, ({WITH_PREFIX, .how = INFERENCE, .quantized = {OF_EACH}}), when_run(), SCALED_KEYS, PREFIXES, FUSED_MODES,
       KEY_MODES)
EITHER(V3, ({WITH_ROPE, .how = INFERENCE, .quantized = {OF_EACH}}),
       refuse_if_given({rope_scale}, "keyRopeAntiquantScale"), SCALED_KEYS, PREFIXES, ROTATED, FUSED_MODES, KEY_MODES)
MAX_WORKSPACE(aclnnFusedInferAttentionScoreV3)
EITHER(V4, ({WITH_ROPE, .how = {WITH_SINK}, .quantized = {OF_EACH}}),
       refuse_if_given({rope_scale, query_scale}, "keyRopeAntiquantScale and dequantScaleQuery"), SCALED_KEYS, PREFIXES,
       ROTATED, In, query_scale, In, sink, FUSED_MODES, KEY_MODES, int64_t, query_mode)
MAX_WORKSPACE(aclnnFusedInferAttentionScoreV4)
EITHER(V5, ({WITH_ROPE, .how = {WITH_SINK}, .quantized = {OF_EACH, .query = query_scale, .query_mode = query_mode}}),
       (refuse_if_given({rope_scale}, "keyRopeAntiquantScale"), refuse_unless_zero(pse_type, "pseType"),
        without_rope(query_scale, query_rope)),
       SCALED_KEYS, PREFIXES, ROTATED, In, query_scale, In, sink, Ints, query_start, Ints, key_start, FUSED_MODES,
       KEY_MODES, int64_t, query_mode, int64_t, pse_type)
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
