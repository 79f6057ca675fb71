// Fused attention and rotary position embedding: what language models use.
#include "kernels/attention.h"
#include "kernels/rotary.h"
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
  const std::string layout = layout_of(s);
  const Pattern& rows = layout == "TND"    ? pattern<"t _ _ -> t =heads 8">
                        : layout == "BNSD" ? pattern<"b _ q _ -> b =heads q 8">
                        : layout == "BSND" ? pattern<"b q _ _ -> b =heads q 8">
                        : layout == "SBH"  ? pattern<"q b _ -> b =heads q 8">
                                           : pattern<"b q _ -> b =heads q 8">;
  return s.match(rows, {s.integer("head_num")}).result(1);
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

attention::Inputs trained(const Args& a, size_t pse, size_t ends) {
  return {.query = a[0],
          .key = a[1],
          .value = a[2],
          .layout = layout_of(a),
          .heads = a.integer("head_num"),
          .pse = a[pse],
          .drop_mask = a[pse + 1],
          .mask = a[pse + 3],
          .query_ends = optional_values(a, ends),
          .key_ends = optional_values(a, ends + 1)};
}

Results flash(const Args& a) {
  const Settings how = settings(a, 7);
  const attention::Inputs in = trained(a, 3, 8);
  attention::check_any(in, how, a.output(3));
  attention::forward_any(in, how, {.max = a.output(0), .sum = a.output(1), .out = a.output(3)});
  return {a.output(0), a.output(1), a.output(2), a.output(3)};
}

void flash_grad_rule(Shaper& s) {
  for (size_t i = 0; i < 3; ++i) s.out(i, s.dtype(i), s.shape(i));
  s.out(3, s.dtype(0), s.has(4) ? s.shape(4) : known({0}));
}

Results flash_grad(const Args& a) {
  Settings how = settings(a, 12);
  how.max = a[8], how.sum = a[9], how.out = a[11];
  const attention::Inputs in = trained(a, 4, 13);
  attention::check_any(in, how, a[3]);
  attention::backward_any(in, how, a[3],
                          {.query = a.output(0), .key = a.output(1), .value = a.output(2), .pse = a.output(3)});
  return {a.output(0), a.output(1), a.output(2), a.output(3)};
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

};

}  // namespace sim::ge_table
