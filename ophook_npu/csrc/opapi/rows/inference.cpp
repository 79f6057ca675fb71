// Inference of language models: attention of sequences of different lengths, padded or one behind the other, with keys
// that lie in pages; the pages themselves; the choice among the next tokens.

#include "kernels/inference.h"
#include "kernels/rotary.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
using namespace sim::attention;
using namespace sim::inference;

static void one_query(const at::Tensor& query, const std::string& layout) {
  const int64_t dim = layout == "BNSD" ? 2 : 1;
  SIM_CHECK(query.dim() > dim && query.size(dim) == 1, "a query ", query.sizes(), " in layout ", layout,
            "; one token each expected");
}

static void of_floats(const at::Tensor& query, const at::Tensor& out) {
  SIM_CHECK_DTYPE(query.scalar_type() != at::kChar && out.scalar_type() != at::kChar,
                  "quantized attention, which needs scales, is not simulated");
}

static void write_sampled(const Sampled& values, const Sampled& outs) {
  write_each({outs.token, outs.logits, outs.index, outs.probability},
             {values.token, values.logits, values.index, values.probability});
}

#define INFERENCE \
  Settings { .scale = scale, .before = before, .after = after, .sparse_mode = sparse_mode }
#define RESULT_FIELDS                                                                                 \
  .of_scores = of_scores, .of_weights = of_weights, .of_product = of_product, .of_result = of_result, \
  .result_offset = result_offset
#define KEYS_FIELDS RESULT_FIELDS, .both = both, .both_offset = both_offset
#define QUANTIZED_FIELDS                                                                                       \
  KEYS_FIELDS, .key = key_scale, .key_offset = key_offset, .value = value_scale, .value_offset = value_offset, \
      .mode = antiquant_mode, .key_mode = key_mode, .value_mode = value_mode
#define OF_RESULT (Quantized{RESULT_FIELDS})
#define OF_KEYS (Quantized{KEYS_FIELDS})
#define QUANTIZED (Quantized{QUANTIZED_FIELDS})
#define QUANTIZED_QUERY (Quantized{QUANTIZED_FIELDS, .query = query_scale, .query_mode = query_mode})
#define INFERENCE_WITH_SINK \
  Settings { .scale = scale, .before = before, .after = after, .sparse_mode = sparse_mode, .sink = sink }
#define ATTENDED_KEYS \
  (Inputs{.query = query, .key = key, .value = value, .layout = layout, .heads = heads, .pse = pse, .mask = mask})
#define ONE_OF_EACH \
  (Inputs{          \
      .query = query, .key = keys[0], .value = values[0], .layout = layout, .heads = heads, .pse = pse, .mask = mask})
// inference, without quantization and paging; PromptFlashAttention also without lengths of single sequences
ACLNN(PromptFlashAttentionV3,
      (In, query, In, key, In, value, In, pse, In, mask, Ints, query_lengths, Ints, key_lengths, In, a, In, b, In, c,
       In, d, In, e, int64_t, heads, double, scale, int64_t, before, int64_t, after, Text, layout, int64_t, key_heads,
       int64_t, sparse_mode, int64_t, precision, Out, out),
      (refuse_if_given({a, b, c, d, e}, "quantized attention"), of_floats(query, out),
       whole(query_lengths, key_lengths), check(ATTENDED_KEYS, INFERENCE, out),
       key_heads_fit(ATTENDED_KEYS, key_heads)),
      forward(ATTENDED_KEYS, INFERENCE, {.out = out}))
ACLNN(IncreFlashAttentionV4,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, lengths, In, a, In, b, In, c, In, d, In, e, In, f,
       In, g, In, block_table, In, padding, int64_t, heads, double, scale, Text, layout, int64_t, key_heads, int64_t,
       block_size, int64_t, precision, Out, out),
      (refuse_if_given({a, b, c, d, e, f, g}, "quantized attention"), of_floats(query, out),
       refuse_if_given({block_table, padding}, "paged attention"), one_of_each(keys, values),
       check_one_token(ONE_OF_EACH, key_heads, out)),
      one_token(ONE_OF_EACH, lengths, scale, out))

ACLNN(FusedInferAttentionScoreV2,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, query_lengths, Ints, key_lengths, In, of_scores,
       In, of_weights, In, of_product, In, of_result, In, result_offset, In, both, In, both_offset, In, pages, In,
       query_padding, In, key_padding, In, key_scale, In, key_offset, In, value_scale, In, value_offset, In, key_prefix,
       In, value_prefix, Ints, prefix, int64_t, heads, double, scale, int64_t, before, int64_t, after, Text, layout,
       int64_t, key_heads, int64_t, sparse_mode, int64_t, precision, int64_t, block_size, int64_t, antiquant_mode, bool,
       log_sum_too, int64_t, key_mode, int64_t, value_mode, Out, out, Out, log_sum),
      (log_sum_like(log_sum, log_sum_too, query, layout, heads),
       refuse_if_given({pse, query_padding, key_padding, key_prefix, value_prefix},
                       "pse_shift, padding on the left or a shared prefix"),
       check_inference(query, keys, values, layout, query_lengths, key_lengths, pages, mask, heads, key_heads,
                       INFERENCE, out, QUANTIZED)),
      attend_sequences(query, keys[0], values[0], {}, {}, {}, mask, layout, query_lengths, key_lengths, pages, heads,
                       key_heads, INFERENCE, out, log_sum_too ? log_sum : at::Tensor(), QUANTIZED))
ACLNN(FusedInferAttentionScoreV3,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, query_lengths, Ints, key_lengths, In, of_scores,
       In, of_weights, In, of_product, In, of_result, In, result_offset, In, both, In, both_offset, In, pages, In,
       query_padding, In, key_padding, In, key_scale, In, key_offset, In, value_scale, In, value_offset, In, key_prefix,
       In, value_prefix, Ints, prefix, In, query_rope, In, key_rope, In, rope_scale, int64_t, heads, double, scale,
       int64_t, before, int64_t, after, Text, layout, int64_t, key_heads, int64_t, sparse_mode, int64_t, precision,
       int64_t, block_size, int64_t, antiquant_mode, bool, log_sum_too, int64_t, key_mode, int64_t, value_mode, Out,
       out, Out, log_sum),
      (log_sum_like(log_sum, log_sum_too, query, layout, heads), refuse_if_given({rope_scale}, "keyRopeAntiquantScale"),
       refuse_if_given({pse, query_padding, key_padding, key_prefix, value_prefix},
                       "pse_shift, padding on the left or a shared prefix"),
       check_inference(query, keys, values, layout, query_lengths, key_lengths, pages, mask, heads, key_heads,
                       INFERENCE, out, QUANTIZED)),
      attend_sequences(query, keys[0], values[0], query_rope, key_rope, {}, mask, layout, query_lengths, key_lengths,
                       pages, heads, key_heads, INFERENCE, out, log_sum_too ? log_sum : at::Tensor(), QUANTIZED))
MAX_WORKSPACE(aclnnFusedInferAttentionScoreV3)
// The earlier forms: whole prompts, and one token at a time. What one of them does not say is as where it is not given.
ACLNN(FusedInferAttentionScore,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, query_lengths, Ints, key_lengths, In, of_scores,
       In, of_weights, In, of_product, In, of_result, In, result_offset, In, both, In, both_offset, In, pages, In,
       query_padding, In, key_padding, int64_t, heads, double, scale, int64_t, before, int64_t, after, Text, layout,
       int64_t, key_heads, int64_t, sparse_mode, int64_t, precision, int64_t, block_size, int64_t, antiquant_mode, bool,
       log_sum_too, Out, out, Out, log_sum),
      (log_sum_like(log_sum, log_sum_too, query, layout, heads),
       refuse_if_given({pse, query_padding, key_padding}, "pse_shift or padding on the left"),
       refuse_unless_zero(antiquant_mode, "antiquantMode"),
       check_inference(query, keys, values, layout, query_lengths, key_lengths, pages, mask, heads, key_heads,
                       INFERENCE, out, OF_KEYS)),
      attend_sequences(query, keys[0], values[0], {}, {}, {}, mask, layout, query_lengths, key_lengths, pages, heads,
                       key_heads, INFERENCE, out, log_sum_too ? log_sum : at::Tensor(), OF_KEYS))
ACLNN(PromptFlashAttention,
      (In, query, In, key, In, value, In, pse, In, mask, Ints, lengths, int64_t, heads, double, scale, int64_t, before,
       int64_t, after, Text, layout, int64_t, key_heads, Out, out),
      check_inference(query, {key}, {value}, layout, lengths, {}, {}, mask, heads, key_heads,
                      {.scale = scale, .before = before, .after = after}, out),
      attend_sequences(query, key, value, {}, {}, {}, mask, layout, lengths, {}, {}, heads, key_heads,
                       {.scale = scale, .before = before, .after = after}, out, {}))
ACLNN(PromptFlashAttentionV2,
      (In, query, In, key, In, value, In, pse, In, mask, Ints, query_lengths, Ints, key_lengths, In, of_scores, In,
       of_weights, In, of_product, In, of_result, In, result_offset, int64_t, heads, double, scale, int64_t, before,
       int64_t, after, Text, layout, int64_t, key_heads, int64_t, sparse_mode, Out, out),
      check_inference(query, {key}, {value}, layout, query_lengths, key_lengths, {}, mask, heads, key_heads, INFERENCE,
                      out, OF_RESULT),
      attend_sequences(query, key, value, {}, {}, pse, mask, layout, query_lengths, key_lengths, {}, heads, key_heads,
                       INFERENCE, out, {}, OF_RESULT))
ACLNN(IncreFlashAttention,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, lengths, int64_t, heads, double, scale, Text,
       layout, int64_t, key_heads, Out, out),
      (one_query(query, layout),
       check_inference(query, keys, values, layout, {}, lengths, {}, mask, heads, key_heads, {.scale = scale}, out)),
      attend_sequences(query, keys[0], values[0], {}, {}, {}, mask, layout, {}, lengths, {}, heads, key_heads,
                       {.scale = scale}, out, {}))
ACLNN(IncreFlashAttentionV2,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, lengths, In, of_scores, In, of_weights, In,
       of_product, In, of_result, In, result_offset, int64_t, heads, double, scale, Text, layout, int64_t, key_heads,
       Out, out),
      (one_query(query, layout), check_inference(query, keys, values, layout, {}, lengths, {}, mask, heads, key_heads,
                                                 {.scale = scale}, out, OF_RESULT)),
      attend_sequences(query, keys[0], values[0], {}, {}, {}, mask, layout, {}, lengths, {}, heads, key_heads,
                       {.scale = scale}, out, {}, OF_RESULT))
ACLNN(IncreFlashAttentionV3,
      (In, query, List, keys, List, values, In, pse, In, mask, Ints, lengths, In, of_scores, In, of_weights, In,
       of_product, In, of_result, In, result_offset, In, both, In, both_offset, In, pages, int64_t, heads, double,
       scale, Text, layout, int64_t, key_heads, int64_t, block_size, int64_t, precision, Out, out),
      (one_query(query, layout), check_inference(query, keys, values, layout, {}, lengths, pages, mask, heads,
                                                 key_heads, {.scale = scale}, out, OF_KEYS)),
      attend_sequences(query, keys[0], values[0], {}, {}, pse, mask, layout, {}, lengths, pages, heads, key_heads,
                       {.scale = scale}, out, {}, OF_KEYS))
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
       refuse_if_given({pse, query_padding, key_padding, key_prefix, value_prefix},
                       "pse_shift, padding on the left or a shared prefix"),
       check_inference(query, keys, values, layout, query_lengths, key_lengths, pages, mask, heads, key_heads,
                       INFERENCE_WITH_SINK, out, QUANTIZED)),
      attend_sequences(query, keys[0], values[0], query_rope, key_rope, {}, mask, layout, query_lengths, key_lengths,
                       pages, heads, key_heads, INFERENCE_WITH_SINK, out, log_sum_too ? log_sum : at::Tensor(),
                       QUANTIZED))
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
       without_rope(query_scale, query_rope),
       refuse_if_given({pse, query_padding, key_padding, key_prefix, value_prefix},
                       "pse_shift, padding on the left or a shared prefix"),
       check_inference(query, keys, values, layout, query_lengths, key_lengths, pages, mask, heads, key_heads,
                       INFERENCE_WITH_SINK, out, QUANTIZED_QUERY)),
      attend_sequences(query, keys[0], values[0], query_rope, key_rope, {}, mask, layout, query_lengths, key_lengths,
                       pages, heads, key_heads, INFERENCE_WITH_SINK, out, log_sum_too ? log_sum : at::Tensor(),
                       QUANTIZED_QUERY))
MAX_WORKSPACE(aclnnFusedInferAttentionScoreV5)
ACLNN(ScatterPaKvCache,
      (In, key, Ref, key_cache, In, slots, In, value, Ref, value_cache, In, lengths, In, offsets, In, sequence_lengths,
       Text, mode, Text, scatter_mode, Ints, strides, Ints, starts),
      (refuse_if_given({lengths, offsets, sequence_lengths}, "a compressed cache"),
       check_paging(key, key_cache, slots, mode), check_paging(value, value_cache, slots, mode)),
      (into_pages(key_cache, slots, key), into_pages(value_cache, slots, value)))
ACLNN(ScatterPaCache, (In, key, Ref, key_cache, In, slots, In, lengths, In, offsets, In, sequence_lengths, Text, mode),
      (refuse_if_given({lengths, offsets, sequence_lengths}, "a compressed cache"),
       check_paging(key, key_cache, slots, mode)),
      into_pages(key_cache, slots, key))
ACLNN(GatherPaKvCache,
      (In, key_cache, In, value_cache, In, pages, In, lengths, Ref, key, Ref, value, In, offsets, Text, mode, bool,
       running),
      (check_gathering(key_cache, pages, lengths, offsets, mode, running, key),
       check_gathering(value_cache, pages, lengths, offsets, mode, running, value)),
      (write(key, from_all_pages(key_cache, pages, lengths, offsets, mode, running, key)),
       write(value, from_all_pages(value_cache, pages, lengths, offsets, mode, running, value))))
ACLNN(ApplyTopKTopP, (In, logits, In, p, In, k, Out, out), check_logits(logits, p, k, out),
      write(out, likely(logits, p, k)))
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
