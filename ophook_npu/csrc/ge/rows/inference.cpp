// Fused attention for inference.
#include "ge/rows/rows.h"
#include "kernels/attention.h"
#include "kernels/inference.h"

namespace sim::ge_table {
namespace {

// The result is shaped like the query, except for its depth: that is the value's.
Shape attended(const Shaper& s, const Shape& value, int64_t heads, int64_t value_heads) {
  Shape out = s.shape(0);
  if (!out || !value) return out;
  const Dim depth = value->back();
  if (out->size() == 4 || s.text("input_layout") == "TND") out->back() = depth;
  else out->back() = value_heads < 1 ? unknown : depth / value_heads * heads;
  return out;
}

void refuse_fed(const Call& s, size_t from, size_t to, const char* what) {
  for (size_t i = from; i < to; ++i)
    if (s.has(i)) throw Refused(std::string(what) + " is not simulated");
}

int64_t key_heads_of(const Call& s) {
  const int64_t given = s.integer("num_key_value_heads");
  return given ? given : s.integer("num_heads");
}

// query key value pse mask
inference::Sequences attended_by(const Args& a, const char* scale) {
  return {.query = a[0],
          .keys = {a[1]},
          .values = {a[2]},
          .layout = a.text("input_layout"),
          .heads = a.integer("num_heads"),
          .key_heads = a.integer("num_key_value_heads"),
          .pse = a[3],
          .mask = a[4],
          .how = {.scale = a.real(scale)}};
}

// Scales of the scores, the weights and the product from input `first` on.
void with_scales(const Args& a, inference::Sequences& of, size_t first) {
  of.quantized.of_scores = a[first], of.quantized.of_weights = a[first + 1], of.quantized.of_product = a[first + 2];
}

void with_band(const Args& a, inference::Sequences& of) {
  of.how.before = a.integer("pre_tokens"), of.how.after = a.integer("next_tokens");
  of.how.sparse_mode = a.integer("sparse_mode");
}

void attended_out(Shaper& s, size_t scales, size_t pages) {
  // Values that lie in pages are as deep as the query is, without its rotary part.
  s.out(0, s.has(scales) ? kHalf : s.dtype(0),
        s.has(pages) ? s.shape(0) : attended(s, s.shape(2), s.integer("num_heads"), key_heads_of(s)));
}

void prompt_rule(Shaper& s) {
  refuse_fed(s, 10, 12, "a quantized result");
  require_same_dtype(s, 0, 3);
  attended_out(s, 7, s.count());
}

at::Tensor prompt(const Args& a) {
  inference::Sequences of = attended_by(a, "scale_value");
  with_band(a, of), with_scales(a, of, 7);
  of.query_lengths = optional_values(a, 5), of.key_lengths = optional_values(a, 6);
  inference::check_inference(of, a.output(0));
  inference::attend_sequences(of, a.output(0));
  return a.output(0);
}

// Keys and values are lists; one of each is simulated, so the inputs have fixed places.
void increment_rule(Shaper& s) {
  if (s.count() != 15) throw Refused("a list of keys is not simulated");
  refuse_fed(s, 9, 11, "a quantized result");
  if (!s.has(11)) require_same_dtype(s, 0, 3);
  attended_out(s, 6, 13);
}

at::Tensor increment(const Args& a) {
  inference::Sequences of = attended_by(a, "scale_value");
  with_scales(a, of, 6);
  of.key_lengths = optional_values(a, 5), of.pages = a[13], of.key_padding = a[14];
  of.quantized.both = a[11], of.quantized.both_offset = a[12];
  inference::one_query(of.query, of.layout);
  inference::check_inference(of, a.output(0));
  inference::attend_sequences(of, a.output(0));
  return a.output(0);
}

// Both in one. A batch of length n sees its first n keys.
void any_inference_rule(Shaper& s) {
  if (s.count() != 31) throw Refused("a list of keys is not simulated");
  refuse_fed(s, 10, 12, "a quantized result");
  refuse_fed(s, 26, 28, "a query or a rotary part with scales of its own");
  refuse_fed(s, 29, 31, "a start of queries and keys");
  s.only("query_quant_mode", 0.0);
  const std::string layout = s.text("input_layout");
  const bool lse = s.flag("softmax_lse_flag");
  if (layout != "BSH" && layout != "BSND" && layout != "BNSD" && layout != "TND")
    throw Refused("layout " + layout + " is not simulated for this operator");
  if (!s.has(12) && !s.has(17)) require_same_dtype(s, 0, 3);
  const Shape query = s.shape(0);
  attended_out(s, 7, 14);
  if (!lse) return s.out(1, kFloat, known({0}));
  if (!query) return s.out(1, kFloat, query);
  const Sizes& of = *query;
  if (layout == "BSH") s.out(1, kFloat, known({of[0], s.integer("num_heads"), of[1], 1}));
  else if (layout == "BSND") s.out(1, kFloat, known({of[0], of[2], of[1], 1}));
  else if (layout == "BNSD") s.out(1, kFloat, known({of[0], of[1], of[2], 1}));
  else s.out(1, kFloat, known({of[0], of[1], 1}));
}

Results any_inference(const Args& a) {
  inference::Sequences of = attended_by(a, "scale");
  with_band(a, of), with_scales(a, of, 7);
  of.query_lengths = optional_values(a, 5), of.key_lengths = optional_values(a, 6), of.pages = a[14];
  of.query_padding = a[15], of.key_padding = a[16];
  of.key_prefix = a[21], of.value_prefix = a[22], of.prefix = optional_values(a, 23);
  of.query_rope = a[24], of.key_rope = a[25], of.how.sink = a[28];
  of.quantized.both = a[12], of.quantized.both_offset = a[13];
  of.quantized.key = a[17], of.quantized.key_offset = a[18];
  of.quantized.value = a[19], of.quantized.value_offset = a[20];
  of.quantized.mode = a.integer("antiquant_mode");
  of.quantized.key_mode = a.integer("key_antiquant_mode"), of.quantized.value_mode = a.integer("value_antiquant_mode");
  inference::check_inference(of, a.output(0));
  inference::attend_sequences(of, a.output(0), a.flag("softmax_lse_flag") ? a.output(1) : at::Tensor());
  return {a.output(0), a.output(1)};
}

}  // namespace

const Family inference_rows = {
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
};

}  // namespace sim::ge_table
