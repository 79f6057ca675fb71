// Fused attention, rotary position embedding and gated units: what language models use.
#include "kernels/activation.h"
#include "kernels/attention.h"
#include "kernels/gated.h"
#include "kernels/inference.h"
#include "kernels/rotary.h"
#include "kernels/transformer.h"
#include "ge/rows/rows.h"

namespace sim::ge_table {
namespace {

using attention::Settings;

// ---- attention for training --------------------------------------------------------------------------------------
// query key value …: the tensors behind them differ forward and backward, `prefix` says where those with lengths begin.
Settings settings(const Call& s, size_t prefix) {
  Settings how{.scale = s.real("scale_value"),
               .keep = s.real("keep_prob"),
               .before = s.integer("pre_tockens"),
               .after = s.integer("next_tockens"),
               .sparse_mode = s.integer("sparse_mode")};
  if (s.has(prefix)) how.prefix = s.need(prefix);
  return how;
}
std::string layout_of(const Call& s) { return s.text("input_layout"); }

// (batch, heads, queries, keys) as far as they are known.
Shape rows_of(const Shaper& s) {
  const Shape query = s.shape(0);
  const std::string layout = layout_of(s);
  const int64_t heads = s.integer("head_num");
  if (!query) return std::nullopt;
  if (layout == "TND") {
    if (query->size() != 3) throw Refused("layout TND has 3 dimensions, its query is " + s.describe(0));
    return known({(*query)[0], heads, 8});
  }
  const size_t rank = layout == "BNSD" || layout == "BSND" ? 4 : 3;
  if (query->size() != rank)
    throw Refused("layout " + layout + " has " + std::to_string(rank) + " dimensions, its query is " + s.describe(0));
  if (layout == "BNSD") return known({(*query)[0], heads, (*query)[2], 8});
  if (layout == "SBH") return known({(*query)[1], heads, (*query)[0], 8});
  return known({(*query)[0], heads, (*query)[1], 8});
}

// The result is shaped like the query, except for its depth: that is the value's.
Shape attended(const Shaper& s, const Shape& value, int64_t heads, int64_t value_heads) {
  Shape out = s.shape(0);
  if (!out || !value) return out;
  const Dim depth = value->back();
  if (out->size() == 4 || layout_of(s) == "TND") out->back() = depth;
  else out->back() = value_heads < 1 ? unknown : depth / value_heads * heads;
  return out;
}

void flash_rule(Shaper& s) {
  require_same_dtype(s, 0, 3);
  const Shape rows = rows_of(s);
  s.out(0, kFloat, rows);
  s.out(1, kFloat, rows);
  s.out(2, s.dtype(0), known({0}));  // the device writes its softmax to memory of its own
  Shape out = s.shape(0);
  if (const Shape value = s.shape(2); out && value && (out->size() == 4 || layout_of(s) == "TND"))
    out->back() = value->back();
  s.out(3, s.dtype(0), out);
}

Dims lengths(const Call& call, size_t input) { return call.has(input) ? call.need(input) : Dims(); }

Results flash(const Args& a) {
  const Settings how = settings(a, 7);
  attention::check_any(a[0], a[1], a[2], a[3], layout_of(a), a.integer("head_num"), how, a.output(3));
  attention::forward_any(a[0], a[1], a[2], a[3], a[4], a[6], layout_of(a), a.integer("head_num"), how, lengths(a, 8),
                         lengths(a, 9), 0, 0, a.output(0), a.output(1), a.output(3));
  return {a.output(0), a.output(1), a.output(2), a.output(3)};
}

void flash_grad_rule(Shaper& s) {
  for (size_t i = 0; i < 3; ++i) s.out(i, s.dtype(i), s.shape(i));
  s.out(3, s.dtype(0), s.has(4) ? s.shape(4) : known({0}));
}

Results flash_grad(const Args& a) {
  Settings how = settings(a, 12);
  how.max = a[8], how.sum = a[9], how.out = a[11];
  attention::check_any(a[0], a[1], a[2], a[4], layout_of(a), a.integer("head_num"), how, a[3]);
  attention::backward_any(a[0], a[1], a[2], a[3], a[4], a[5], a[7], layout_of(a), a.integer("head_num"), how,
                          lengths(a, 13), lengths(a, 14), 0, 0, a.output(0), a.output(1), a.output(2), a.output(3));
  return {a.output(0), a.output(1), a.output(2), a.output(3)};
}

// ---- attention for inference -------------------------------------------------------------------------------------
void refuse_fed(const Call& s, size_t from, size_t to, const char* what) {
  for (size_t i = from; i < to; ++i)
    if (s.has(i)) throw Refused(std::string(what) + " is not simulated");
}
int64_t key_heads_of(const Call& s) {
  const int64_t given = s.integer("num_key_value_heads");
  return given ? given : s.integer("num_heads");
}

void prompt_rule(Shaper& s) {
  refuse_fed(s, 7, 12, "quantized attention");
  require_same_dtype(s, 0, 3);
  s.out(s.dtype(0), attended(s, s.shape(2), s.integer("num_heads"), key_heads_of(s)));
}

at::Tensor prompt(const Args& a) {
  const std::string layout = layout_of(a);
  const int64_t heads = a.integer("num_heads");
  const Settings how{.scale = a.real("scale_value"),
                     .before = a.integer("pre_tokens"),
                     .after = a.integer("next_tokens"),
                     .sparse_mode = a.integer("sparse_mode")};
  attention::whole(lengths(a, 5), lengths(a, 6));
  attention::check(a[0], a[1], a[2], layout, heads, how, a.output(0));
  attention::key_heads_fit(a[0], a[1], a[2], layout, heads, key_heads_of(a));
  attention::forward(a[0], a[1], a[2], a[3], {}, a[4], layout, heads, how, {}, {}, a.output(0));
  return a.output(0);
}

// Keys and values are lists; one of each is simulated, so the inputs have fixed places.
void increment_rule(Shaper& s) {
  if (s.count() != 15) throw Refused("a list of keys is not simulated");
  refuse_fed(s, 6, 13, "quantized attention");
  refuse_fed(s, 13, 15, "paged attention");
  require_same_dtype(s, 0, 3);
  s.out(s.dtype(0), attended(s, s.shape(2), s.integer("num_heads"), key_heads_of(s)));
}

at::Tensor increment(const Args& a) {
  const std::string layout = layout_of(a);
  const int64_t heads = a.integer("num_heads");
  attention::check_one_token(a[0], {a[1]}, {a[2]}, layout, heads, key_heads_of(a), a.output(0));
  attention::one_token(a[0], {a[1]}, {a[2]}, a[3], a[4], lengths(a, 5), layout, heads, a.real("scale_value"),
                       a.output(0));
  return a.output(0);
}

// Both in one. A batch of length n sees its first n keys.
void any_inference_rule(Shaper& s) {
  if (s.count() != 31) throw Refused("a list of keys is not simulated");
  refuse_fed(s, 7, 14, "quantized attention");
  refuse_fed(s, 14, 15, "paged attention");
  refuse_fed(s, 15, 17, "padding on the left");
  refuse_fed(s, 17, 21, "quantized attention");
  refuse_fed(s, 21, 24, "a shared prefix");
  refuse_fed(s, 24, 27, "a rotary part of its own");
  refuse_fed(s, 27, 31, "its newest input");
  s.only("softmax_lse_flag", 0.0);
  s.only("query_quant_mode", 0.0);
  const std::string layout = layout_of(s);
  if (layout != "BSH" && layout != "BSND" && layout != "BNSD")
    throw Refused("layout " + layout + " is not simulated for this operator");
  require_same_dtype(s, 0, 3);
  s.out(0, s.dtype(0), attended(s, s.shape(2), s.integer("num_heads"), key_heads_of(s)));
  s.out(1, kFloat, known({0}));
}

Results any_inference(const Args& a) {
  const std::string layout = layout_of(a);
  const int64_t heads = a.integer("num_heads"), key_heads = key_heads_of(a);
  const Settings how{.scale = a.real("scale"),
                     .before = a.integer("pre_tokens"),
                     .after = a.integer("next_tokens"),
                     .sparse_mode = a.integer("sparse_mode")};
  const Dims query_lengths = lengths(a, 5), key_lengths = lengths(a, 6);
  inference::check_inference(a[0], {a[1]}, {a[2]}, layout, query_lengths, key_lengths, {}, a[4], heads, key_heads, how);
  inference::attend_sequences(a[0], a[1], a[2], {}, {}, a[3], a[4], layout, query_lengths, key_lengths, {}, heads,
                              key_heads, how, a.output(0), {});
  return {a.output(0), a.output(1)};
}

// ---- rotary position embedding -----------------------------------------------------------------------------------
int64_t rotary_mode_of(const Call& call) { return call.knows("mode") ? call.integer("mode") : 0; }
void rotary_rule(Shaper& s) {
  if (s.count() > 3 && s.has(3)) throw Refused("a rotation matrix is not simulated");
  attention::rotary_mode(rotary_mode_of(s));
  const Shape x = s.shape(0);
  if (x && !x->empty() && x->back() % 2 != 0)
    throw Refused("its input's last dimension is even, it is " + s.describe(0));
  same(s);
}

void rotary_grad_rule(Shaper& s, size_t x, size_t cos, size_t sin) {
  s.out(0, s.dtype(x), s.shape(x));
  s.out(1, s.dtype(cos), s.shape(cos));
  s.out(2, s.dtype(sin), s.shape(sin));
}
void rotary_mul_grad_rule(Shaper& s) { rotary_grad_rule(s, 0, 1, 2); }
void rotary_embedding_grad_rule(Shaper& s) {
  attention::rotary_mode(s.integer("mode"));
  rotary_grad_rule(s, 0, 1, 2);
}

Results rotary_grad(const Args& a, size_t grad, size_t x) {
  if (!a.has(x)) {  // only the gradient of the rotated tensor is asked for
    a.output(1).zero_();
    a.output(2).zero_();
  }
  attention::rotary_backward(a[grad], a[1], a[2], a[x], rotary_mode_of(a), a.output(0), a.output(1), a.output(2));
  return {a.output(0), a.output(1), a.output(2)};
}

void both_rule(Shaper& s) {
  const std::string mode = s.text("rotary_mode");
  if (mode != "half" && mode != "interleave") throw Refused("rotary_mode='" + mode + "' is not simulated");
  for (size_t i : {0, 1}) s.out(i, s.dtype(i), s.shape(i));
}
Results rotate_both(const Args& a) {
  const int64_t mode = a.text("rotary_mode") == "interleave";
  return {attention::rotary(a[0], a[2], a[3], mode), attention::rotary(a[1], a[2], a[3], mode)};
}

// ---- gated units -------------------------------------------------------------------------------------------------
void halved(Shaper& s) {
  Shape shape = s.shape(0);
  if (shape) {
    Dim& dim = (*shape)[static_cast<size_t>(wrap(s.integer("dim"), rank_of(shape)))];
    if (dim % 2 != 0) throw Refused("it halves an even dimension, its input is " + s.describe(0));
    dim = dim / 2;
  }
  s.out(s.dtype(0), shape);
}
void clipped_rule(Shaper& s) {
  if (s.has(1)) throw Refused("group_index is not simulated");
  halved(s);
}
at::Tensor clipped(const Args& a) {
  return kernels::clipped_swiglu(
      a[0], {}, {a.integer("dim"), a.real("alpha"), a.real("limit"), a.real("bias"), a.flag("interleaved")});
}
void like_second(Shaper& s) { s.out(s.dtype(1), s.shape(1)); }

// y = x * gelu(gate) and the gelu; the gate is the second half, or the first with activate_left.
void geglu_rule(Shaper& s) {
  halved(s);
  Shape shape = s.shape(0);
  if (shape) {
    Dim& dim = (*shape)[static_cast<size_t>(wrap(s.integer("dim"), rank_of(shape)))];
    dim = dim / 2;
  }
  s.out(1, s.dtype(0), shape);
}
Results geglu(const Args& a) {
  auto [y, gelu] = kernels::geglu(a[0], a.integer("dim"), a.integer("approximate"), a.flag("activate_left"));
  return {y, gelu};
}

}  // namespace

#define FLASH(all)                                                                          \
  "scale_value:Float=1.0 keep_prob:Float=1.0 pre_tockens:Int=" all " next_tockens:Int=" all \
  " head_num:Int input_layout:String inner_precise:Int=1 sparse_mode:Int=0"
const Family attention_rows = {
    {"FlashAttentionScore",
     "query key value real_shift? drop_mask? padding_mask? atten_mask? prefix? actual_seq_qlen? actual_seq_kvlen? "
     "q_start_idx? kv_start_idx? -> softmax_max softmax_sum softmax_out attention_out | " FLASH("2147483647"),
     flash_rule, flash},
    {"FlashAttentionScoreGrad",
     "query key value dy pse_shift? drop_mask? padding_mask? atten_mask? softmax_max? softmax_sum? softmax_in? "
     "attention_in? prefix? actual_seq_qlen? actual_seq_kvlen? q_start_idx? kv_start_idx? -> dq dk dv dpse | " FLASH(
         "65536"),
     flash_grad_rule, flash_grad},
    ROW(PromptFlashAttention,
        "query key value pse_shift? atten_mask? actual_seq_lengths? actual_seq_lengths_kv? deq_scale1? quant_scale1? "
        "deq_scale2? quant_scale2? quant_offset2? -> attention_out | num_heads:Int scale_value:Float=1.0 "
        "pre_tokens:Int=214748647 next_tokens:Int=0 input_layout:String=BSH num_key_value_heads:Int=1 "
        "sparse_mode:Int=0 inner_precise:Int=1",
        prompt_rule, prompt(a)),
    ROW(IncreFlashAttention,
        "query key* value* pse_shift? atten_mask? actual_seq_lengths? dequant_scale1? quant_scale1? dequant_scale2? "
        "quant_scale2? quant_offset2? antiquant_scale? antiquant_offset? block_table? kv_padding_size? -> "
        "attention_out | num_heads:Int scale_value:Float=1.0 input_layout:String=BSH num_key_value_heads:Int=1 "
        "block_size:Int=0 inner_precise:Int=1",
        increment_rule, increment(a)),

    {"FusedInferAttentionScore",
     "query key* value* pse_shift? atten_mask? actual_seq_lengths? actual_seq_lengths_kv? dequant_scale1? "
     "quant_scale1? dequant_scale2? quant_scale2? quant_offset2? antiquant_scale? antiquant_offset? block_table? "
     "query_padding_size? kv_padding_size? key_antiquant_scale? key_antiquant_offset? value_antiquant_scale? "
     "value_antiquant_offset? key_shared_prefix? value_shared_prefix? actual_shared_prefix_len? query_rope? key_rope? "
     "key_rope_antiquant_scale? dequant_scale_query? learnable_sink? q_start_idx? kv_start_idx? -> attention_out "
     "softmax_lse | num_heads:Int scale:Float=1.0 pre_tokens:Int=2147483647 next_tokens:Int=2147483647 "
     "input_layout:String=BSH num_key_value_heads:Int=0 sparse_mode:Int=0 inner_precise:Int=0 block_size:Int=0 "
     "antiquant_mode:Int=0 softmax_lse_flag:Bool=false key_antiquant_mode:Int=0 value_antiquant_mode:Int=0 "
     "query_quant_mode:Int=0 pse_type:Int=0 out_dtype:Int=0",
     any_inference_rule, any_inference},

    ROW(RotaryMul, "x r1 r2 -> y", rotary_rule, attention::rotary(a[0], a[1], a[2], 0)),
    ROW(RotaryPositionEmbedding, "x cos sin rotate? -> y | mode:Int=0", rotary_rule,
        attention::rotary(a[0], a[1], a[2], a.integer("mode"))),
    {"RotaryMulGrad", "x r1 r2 dy -> dx dr1 dr2 | need_backward:Bool=true", rotary_mul_grad_rule,
     [](const Args& a) { return rotary_grad(a, 3, 0); }},
    {"RotaryPositionEmbeddingGrad", "dy cos sin x? -> dx dcos dsin | mode:Int=0", rotary_embedding_grad_rule,
     [](const Args& a) { return rotary_grad(a, 0, 3); }},
    {"ApplyRotaryPosEmb", "query key cos sin -> query key | layout:Int=1 rotary_mode:String=half", both_rule,
     rotate_both},
    ROW(InterleaveRope, "x cos sin -> y", rotary_rule, attention::interleaved_rotary(a[0], a[1], a[2])),

    ROW(MaskedSoftmaxWithRelPosBias,
        "x atten_mask? relative_pos_bias -> y | scale_value:Float=1.0 inner_precision_mode:Int=0", same,
        transformer::biased_softmax(a[0], a[1], a[2], a.real("scale_value"))),

    ROW(SwiGlu, "x -> y | dim:Int=-1", halved, kernels::swiglu(a[0], a.integer("dim"))),
    ROW(SwiGluGrad, "y_grad x -> y | dim:Int=-1", like_second, kernels::swiglu_backward(a[0], a[1], a.integer("dim"))),
    ROW(ClippedSwiglu,
        "x group_index? -> y | dim:Int=-1 alpha:Float=1.702 limit:Float=7.0 bias:Float=1.0 interleaved:Bool=true",
        clipped_rule, clipped(a)),
    ROW(GLU, "x -> y | dim:Int=-1", halved, kernels::glu(a[0], a.integer("dim"))),
    ROW(GLUGrad, "y_grad x -> x_grad | dim:Int=-1", like_second, kernels::glu_backward(a[0], a[1], a.integer("dim"))),
    {"GeGluV2", "x -> y gelu | dim:Int=-1 approximate:Int=1 activate_left:Bool=false", geglu_rule, geglu},
};

}  // namespace sim::ge_table
