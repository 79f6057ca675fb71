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
attention::Inputs attended_by(const Args& a) {
  return {.query = a[0],
          .key = a[1],
          .value = a[2],
          .layout = a.text("input_layout"),
          .heads = a.integer("num_heads"),
          .pse = a[3],
          .mask = a[4]};
}

void prompt_rule(Shaper& s) {
  refuse_fed(s, 7, 12, "quantized attention");
  require_same_dtype(s, 0, 3);
  s.out(s.dtype(0), attended(s, s.shape(2), s.integer("num_heads"), key_heads_of(s)));
}

at::Tensor prompt(const Args& a) {
  const attention::Settings how{.scale = a.real("scale_value"),
                                .before = a.integer("pre_tokens"),
                                .after = a.integer("next_tokens"),
                                .sparse_mode = a.integer("sparse_mode")};
  attention::whole(optional_values(a, 5), optional_values(a, 6));
  const attention::Inputs in = attended_by(a);
  attention::check(in, how, a.output(0));
  attention::key_heads_fit(in, key_heads_of(a));
  attention::forward(in, how, {.out = a.output(0)});
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
  const attention::Inputs in = attended_by(a);
  attention::check_one_token(in, key_heads_of(a), a.output(0));
  attention::one_token(in, optional_values(a, 5), a.real("scale_value"), a.output(0));
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
  const std::string layout = s.text("input_layout");
  if (layout != "BSH" && layout != "BSND" && layout != "BNSD")
    throw Refused("layout " + layout + " is not simulated for this operator");
  require_same_dtype(s, 0, 3);
  s.out(0, s.dtype(0), attended(s, s.shape(2), s.integer("num_heads"), key_heads_of(s)));
  s.out(1, kFloat, known({0}));
}

Results any_inference(const Args& a) {
  const std::string layout = a.text("input_layout");
  const int64_t heads = a.integer("num_heads"), key_heads = key_heads_of(a);
  const attention::Settings how{.scale = a.real("scale"),
                                .before = a.integer("pre_tokens"),
                                .after = a.integer("next_tokens"),
                                .sparse_mode = a.integer("sparse_mode")};
  const Dims query_lengths = optional_values(a, 5), key_lengths = optional_values(a, 6);
  inference::check_inference(a[0], {a[1]}, {a[2]}, layout, query_lengths, key_lengths, {}, a[4], heads, key_heads, how);
  inference::attend_sequences(a[0], a[1], a[2], {}, {}, a[3], a[4], layout, query_lengths, key_lengths, {}, heads,
                              key_heads, how, a.output(0), {});
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
