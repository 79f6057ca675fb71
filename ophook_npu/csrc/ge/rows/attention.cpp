// Fused attention for training, and attention with its projections.
#include "kernels/multi_head.h"
#include "ge/rows/rows.h"

namespace sim::ge_table {
namespace {

// Like the queries, with the values' depth, as far as they are known: where heads are no dimension, both have one
// width.
void attended_rule(Shaper& s) {
  Shape out = s.shape(0);
  if (const Shape value = s.shape(2); out && value && (out->size() == 4 || s.text("input_layout") == "TND"))
    out->back() = value->back();
  s.out(3, s.dtype(0), out);
}

// ---- attention with its projections --------------------------------------------------------------------------------
kernels::Heads heads_of(const Call& call) {
  return {.count = call.integer("attn_head_num"),
          .size = call.integer("attn_dim_per_head"),
          .sources = call.integer("src_len"),
          .targets = call.integer("tgt_len"),
          .keep_probability = call.real("keep_prob"),
          .wide_softmax = call.flag("softmax_use_float")};
}
kernels::Heads checked_heads(const Call& call) {
  const auto how = heads_of(call);
  for (const int64_t number : {how.count, how.size, how.sources, how.targets})
    if (number < 16 || number % 16 != 0)
      throw Refused(c10::str("attn_head_num, attn_dim_per_head, src_len and tgt_len are multiples of 16, not ",
                             how.count, ", ", how.size, ", ", how.sources, " and ", how.targets));
  if (call.dtype(0) != kHalf) throw Refused("its inputs are float16, not " + call.describe(0));
  return how;
}
// op-plugin leaves out what it does not have, so that what comes behind takes its place: a mask that of a bias.
bool has_biases(const Call& call) {
  const bool first = call.has(8);
  for (size_t i = 8; i < 12; ++i)
    if (call.has(i) != first || (first && call.dtype(i) == kUint8))
      throw Refused("its four biases are all given, or none, and then no dropout_mask_input");
  return first;
}
void multi_head_rule(Shaper& s) {
  const auto how = checked_heads(s);
  if (has_biases(s)) require_same_dtype(s, 0, 12);
  else require_same_dtype(s, 0, 8);
  const int64_t width = how.count * how.size;
  const Matched rows = s.match(pattern<"q =w, k w, k w, w w, w w, w w, *_, w w -> q">, {width});
  if (rows[0] % how.targets != 0 || rows[2] % how.sources != 0 || rows[0] / how.targets != rows[2] / how.sources)
    throw Refused("rows of " + s.describe(0) + " and " + s.describe(1) + " are no batches of tgt_len and src_len");
  const Dim batch = s.shape(0) && !s.shape(0)->empty() ? (*s.shape(0))[0] / how.targets : unknown;
  const Shape targets = known({batch, how.count, how.targets, how.size}),
              sources = known({batch, how.count, how.sources, how.size}),
              scores = known({batch, how.count, how.targets, how.sources});
  if (!may_be(broadcast_shapes(scores, s.shape(6), s), scores))
    throw Refused("a mask " + s.describe(6) + " for scores of " + s.describe(0));
  s.out(0, kHalf, known({batch * how.targets, width}));
  s.out(1, kUint8, known({batch * (how.count * how.targets * how.sources / 8)}));
  s.out(2, kHalf, targets);
  for (size_t i : {3, 4}) s.out(i, kHalf, sources);
  s.out(5, how.wide_softmax ? kFloat : kHalf, scores);
  s.out(6, kHalf, scores);
  s.out(7, kHalf, known({batch * how.targets, width}));
}
kernels::MultiHead projected(const Args& a, size_t out_weight) {
  return {.query = a[0],
          .key = a[1],
          .value = a[2],
          .query_weight = a[3],
          .key_weight = a[4],
          .value_weight = a[5],
          .out_weight = a[out_weight]};
}
Results multi_head(const Args& a) {
  kernels::MultiHead of = projected(a, 7);
  if (has_biases(a)) of.query_bias = a[8], of.key_bias = a[9], of.value_bias = a[10], of.out_bias = a[11];
  const auto out = kernels::multi_head_attention(of, a[6], a[12], heads_of(a));
  return {out.y, out.kept, out.query, out.key, out.value, out.probabilities, out.dropped, out.context};
}
void multi_head_grad_rule(Shaper& s) {
  const auto how = checked_heads(s);
  const int64_t width = how.count * how.size;
  const Matched rows = s.match(
      pattern<"q =w, k w, k w, w w, w w, w w, w w, b =h =t =d, b h =s d, b h s d, b h t s, b h t s, q w, q w -> q">,
      {width, how.count, how.targets, how.size, how.sources});
  if (rows[0] % how.targets != 0 || rows[2] % how.sources != 0)
    throw Refused("rows of " + s.describe(0) + " and " + s.describe(1) + " are no multiples of tgt_len and src_len");
  const Shape weight = known({width, width}), bias = known({1, width});
  for (size_t i : {0, 1, 2, 3}) s.out(i, kHalf, weight);
  for (size_t i : {0, 1, 2}) s.out(4 + i, kHalf, s.shape(i));
  for (size_t i : {7, 8, 9, 10}) s.out(i, kHalf, bias);
  if (how.keep_probability != 1 && !s.has(14)) throw Refused("a keep_prob below 1 needs a dropout_mask");
}
Results multi_head_grad(const Args& a) {
  const auto out = kernels::multi_head_attention_backward(projected(a, 6),
                                                          {.kept = a[14],
                                                           .query = a[7],
                                                           .key = a[8],
                                                           .value = a[9],
                                                           .probabilities = a[10],
                                                           .dropped = a[11],
                                                           .context = a[12]},
                                                          a[13], heads_of(a));
  return {out.query_weight, out.key_weight, out.value_weight, out.out_weight, out.query,   out.key,
          out.value,        out.query_bias, out.key_bias,     out.value_bias, out.out_bias};
}

}  // namespace

#define HEADS "attn_head_num:Int attn_dim_per_head:Int src_len:Int tgt_len:Int keep_prob:Float softmax_use_float:Bool"
#define FLASH(all)                                                                          \
  "scale_value:Float=1.0 keep_prob:Float=1.0 pre_tockens:Int=" all " next_tockens:Int=" all \
  " head_num:Int input_layout:String inner_precise:Int=1 sparse_mode:Int=0"
#define OF_FLASH "preTokens=pre_tockens nextTokens=next_tockens pseType=1 seed=0 offset=0 outDtype=0"
const Family attention_rows = {
    {"FlashAttentionScore",
     "query key value real_shift? drop_mask? padding_mask? atten_mask? prefix? actual_seq_qlen? actual_seq_kvlen? "
     "q_start_idx? kv_start_idx? -> softmax_max softmax_sum softmax_out attention_out | " FLASH("2147483647"),
     "aclnnFlashAttentionScoreV4 " OF_FLASH, attended_rule},
    {"FlashAttentionScoreGrad",
     "query key value dy pse_shift? drop_mask? padding_mask? atten_mask? softmax_max? softmax_sum? softmax_in? "
     "attention_in? prefix? actual_seq_qlen? actual_seq_kvlen? q_start_idx? kv_start_idx? -> dq dk dv dpse | " FLASH(
         "65536"),
     "aclnnFlashAttentionScoreGradV4 keyIn=key " OF_FLASH},

    {"MultiHeadAttention",
     "query key value query_weight key_weight value_weight attn_mask out_proj_weight query_bias? key_bias? value_bias? "
     "out_proj_bias? dropout_mask_input? -> y dropout_mask query_res key_res value_res attn_scores attn_res context "
     "| " HEADS,
     multi_head_rule, multi_head},
    {"MultiHeadAttentionGrad",
     "query key value query_weight key_weight value_weight out_proj_weight query_res key_res value_res attn_scores "
     "attn_res context y_grad dropout_mask? -> query_weight_grad key_weight_grad value_weight_grad "
     "out_proj_weight_grad query_grad key_grad value_grad query_bias_grad key_bias_grad value_bias_grad "
     "out_proj_bias_grad | " HEADS " bias_grad_mask:ListBool={}",
     multi_head_grad_rule, multi_head_grad},
};

}  // namespace sim::ge_table
