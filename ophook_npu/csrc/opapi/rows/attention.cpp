// Fused attention and rotary position embedding.
#include "kernels/attention.h"
#include "kernels/pattern.h"
#include "kernels/rotary.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;
using namespace sim::attention;

// The page lists the last two modes for an Ascend950, and gives their formulas for all; no check or tiling refuses
// them.
static void turned(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, int64_t mode) {
  rotary_mode(mode, true);
  turnable(x, mode);
  into(x, {cos}), like(sin, cos);
  SIM_CHECK(cos.dim() == x.dim() && cos.size(-1) == x.size(-1), "angles ", cos.sizes(), " for ", x.sizes());
}

static void turned_mode(const std::string& mode) {
  SIM_CHECK(mode == "half" || mode == "interleave", "rotary mode ", mode, " is not simulated");
}

// Parameters that the versions have in one order …
#define HEAD_INPUTS In, query, In, key, In, value
#define ROPE_INPUTS In, query, In, query_rope, In, key, In, key_rope, In, value
#define MASK_INPUTS In, pse, In, drop_mask, In, padding, In, mask
#define FORWARD_IN In, max, In, sum, In, softmax, In, out
#define LENGTHS Ints, query_ends, Ints, key_ends
#define STARTS Ints, query_start, Ints, key_start
#define WINDOW double, scale, double, keep, int64_t, before, int64_t, after, int64_t, heads, Text, layout
#define MODES_OF_ATTENTION int64_t, precision, int64_t, sparse_mode
#define FORWARD_OUT Out, max, Out, sum, Out, softmax, Out, out
#define BACKWARD Out, grad_query, Out, grad_key, Out, grad_value, Out, grad_pse
#define ROPE_BACKWARD \
  Out, grad_query, Out, grad_query_rope, Out, grad_key, Out, grad_key_rope, Out, grad_value, Out, grad_pse
// … and what they are to the kernels.
#define KEPT NAMED(scale, keep, before, after, sparse_mode, prefix)
#define BY_LAYOUT .by_rows = by_rows(softmax_layout)
#define ROPE NAMED(query_rope, key_rope)
#define QKV NAMED(query, key, value, layout, heads)
#define MASKS NAMED(drop_mask, mask)
#define ENDS NAMED(query_ends, key_ends)
#define MASKED (Inputs{QKV, .pse = pse, MASKS})
#define BY_SEQUENCE (Inputs{QKV, MASKS, ENDS})
#define DRAWN (Inputs{QKV, .pse = pse, MASKS, ENDS, NAMED(seed, offset)})
#define WRITTEN (Outputs{NAMED(max, sum, out)})
#define GRADIENTS .query = grad_query, .key = grad_key, .value = grad_value
#define WITH_PSE GRADIENTS, .pse = grad_pse
#define ROPE_GRADIENTS .query_rope = grad_query_rope, .key_rope = grad_key_rope
// backward: what the forward gave
#define GIVEN NAMED(max, sum, out)
#define ENCODED NAMED(pse_type, query_start, key_start)
#define SETTINGS_V4 (Settings{KEPT, ENCODED, BY_LAYOUT, .sink = sink, ROPE})
#define GRAD_V4 (Settings{KEPT, ENCODED, BY_LAYOUT, GIVEN, .sink = sink, ROPE})

#define SCORE(version, settings, ...)                                          \
  ACLNN(FlashAttentionScore##version, (HEAD_INPUTS, __VA_ARGS__, FORWARD_OUT), \
        check_forward(MASKED, Settings settings, WRITTEN), forward(MASKED, Settings settings, WRITTEN))
SCORE(, ({KEPT}), MASK_INPUTS, Ints, prefix, WINDOW, MODES_OF_ATTENTION)
SCORE(V2, ({KEPT, ENCODED}), MASK_INPUTS, Ints, prefix, STARTS, WINDOW, MODES_OF_ATTENTION, int64_t, pse_type)
SCORE(V3, ({KEPT, ENCODED, .sink = sink}), MASK_INPUTS, In, sink, Ints, prefix, STARTS, WINDOW, MODES_OF_ATTENTION,
      int64_t, pse_type)
ACLNN(FlashAttentionScoreV4,
      (HEAD_INPUTS, MASK_INPUTS, In, query_rope, In, key_rope, In, a, In, b, In, c, In, sink, Ints, prefix, LENGTHS,
       STARTS, WINDOW, MODES_OF_ATTENTION, int64_t, out_dtype, int64_t, pse_type, Text, softmax_layout, int64_t, seed,
       int64_t, offset, FORWARD_OUT),
      (refuse_if_given({a, b, c}, "quantized input"), check_forward(DRAWN, SETTINGS_V4, WRITTEN, layout == "TND"),
       check_pse(pse, layout)),
      forward_any(DRAWN, SETTINGS_V4, WRITTEN))
#define SCORE_GRAD(version, settings, gradients, ...)                                                    \
  ACLNN(FlashAttentionScoreGrad##version, (HEAD_INPUTS, In, grad, MASK_INPUTS, FORWARD_IN, __VA_ARGS__), \
        check_backward(MASKED, Settings settings, grad, Gradients gradients),                            \
        backward(MASKED, Settings settings, grad, Gradients gradients))
SCORE_GRAD(, ({KEPT, GIVEN}), ({WITH_PSE}), Ints, prefix, WINDOW, MODES_OF_ATTENTION, BACKWARD)
SCORE_GRAD(V2, ({KEPT, ENCODED, GIVEN}), ({WITH_PSE}), Ints, prefix, STARTS, WINDOW, MODES_OF_ATTENTION, int64_t,
           pse_type, BACKWARD)
SCORE_GRAD(V3, ({KEPT, ENCODED, GIVEN, .sink = sink}), ({WITH_PSE, .sink = grad_sink}), In, sink, Ints, prefix, STARTS,
           WINDOW, MODES_OF_ATTENTION, int64_t, pse_type, BACKWARD, Out, grad_sink)
ACLNN(FlashAttentionScoreGradV4,
      (HEAD_INPUTS, In, grad, MASK_INPUTS, FORWARD_IN, In, sink, In, query_rope, In, key_rope, In, a, In, b, In, c, In,
       d, In, e, Ints, prefix, LENGTHS, STARTS, WINDOW, Text, softmax_layout, MODES_OF_ATTENTION, int64_t, pse_type,
       int64_t, seed, int64_t, offset, int64_t, out_dtype, Out, grad_query, Out, grad_key, Out, grad_value, Out,
       grad_query_rope, Out, grad_key_rope, Out, grad_pse, Out, grad_sink),
      (refuse_if_given({a, b, c, d, e}, "quantized input"),
       check_backward(DRAWN, GRAD_V4, grad, {WITH_PSE, .sink = grad_sink, ROPE_GRADIENTS}, layout == "TND"),
       check_pse(pse, layout)),
      backward_any(DRAWN, GRAD_V4, grad, {WITH_PSE, .sink = grad_sink, ROPE_GRADIENTS}))

// Of sequences of different lengths, one behind the other.
#define VARLEN(name, attend, settings, ...)                             \
  ACLNN(FlashAttention##name, (__VA_ARGS__),                            \
        (refuse_if_given({pse}, "a position encoding in layout TND"),   \
         check_forward(BY_SEQUENCE, Settings settings, WRITTEN, true)), \
        attend(BY_SEQUENCE, Settings settings, WRITTEN))
VARLEN(VarLenScore, forward_by_sequence, ({KEPT}), HEAD_INPUTS, MASK_INPUTS, Ints, prefix, LENGTHS, WINDOW,
       MODES_OF_ATTENTION, FORWARD_OUT)
VARLEN(VarLenScoreV2, forward_by_sequence, ({KEPT, ENCODED}), HEAD_INPUTS, MASK_INPUTS, Ints, prefix, LENGTHS, STARTS,
       WINDOW, MODES_OF_ATTENTION, int64_t, pse_type, FORWARD_OUT)
VARLEN(VarLenScoreV3, forward_any, ({KEPT, ENCODED, ROPE}), ROPE_INPUTS, MASK_INPUTS, Ints, prefix, LENGTHS, STARTS,
       WINDOW, MODES_OF_ATTENTION, int64_t, pse_type, FORWARD_OUT)
VARLEN(VarLenScoreV4, forward_by_sequence, ({KEPT, BY_LAYOUT}), HEAD_INPUTS, MASK_INPUTS, Ints, prefix, LENGTHS, WINDOW,
       MODES_OF_ATTENTION, Text, softmax_layout, FORWARD_OUT)
VARLEN(VarLenScoreV5, forward_any, ({KEPT, ENCODED, BY_LAYOUT, .sink = sink, ROPE}), ROPE_INPUTS, MASK_INPUTS, In, sink,
       Ints, prefix, LENGTHS, STARTS, WINDOW, MODES_OF_ATTENTION, int64_t, pse_type, Text, softmax_layout, FORWARD_OUT)
MAX_WORKSPACE(aclnnFlashAttentionVarLenScoreV5)
#define UNPADDING(version, attend, settings, gradients, ...)                               \
  ACLNN(FlashAttentionUnpaddingScoreGrad##version, (__VA_ARGS__),                          \
        (refuse_if_given({pse}, "a position encoding in layout TND"),                      \
         check_backward(BY_SEQUENCE, Settings settings, grad, Gradients gradients, true)), \
        attend(BY_SEQUENCE, Settings settings, grad, Gradients gradients))
UNPADDING(, backward_by_sequence, ({KEPT, GIVEN}), ({WITH_PSE}), HEAD_INPUTS, In, grad, MASK_INPUTS, FORWARD_IN, Ints,
          prefix, LENGTHS, WINDOW, MODES_OF_ATTENTION, BACKWARD)
UNPADDING(V2, backward_by_sequence, ({KEPT, ENCODED, GIVEN}), ({WITH_PSE}), HEAD_INPUTS, In, grad, MASK_INPUTS,
          FORWARD_IN, Ints, prefix, LENGTHS, STARTS, WINDOW, MODES_OF_ATTENTION, int64_t, pse_type, BACKWARD)
UNPADDING(V3, backward_any, ({KEPT, ENCODED, GIVEN, ROPE}), ({WITH_PSE, ROPE_GRADIENTS}), ROPE_INPUTS, In, grad,
          MASK_INPUTS, FORWARD_IN, Ints, prefix, LENGTHS, STARTS, WINDOW, MODES_OF_ATTENTION, int64_t, pse_type,
          ROPE_BACKWARD)
UNPADDING(V4, backward_by_sequence, ({KEPT, BY_LAYOUT, GIVEN}), ({WITH_PSE}), HEAD_INPUTS, In, grad, MASK_INPUTS,
          FORWARD_IN, Ints, prefix, LENGTHS, WINDOW, MODES_OF_ATTENTION, BACKWARD, Text, softmax_layout)
UNPADDING(V5, backward_any, ({KEPT, ENCODED, BY_LAYOUT, GIVEN, .sink = sink, ROPE}),
          ({WITH_PSE, .sink = grad_sink, ROPE_GRADIENTS}), ROPE_INPUTS, In, grad, MASK_INPUTS, FORWARD_IN, In, sink,
          Ints, prefix, LENGTHS, STARTS, WINDOW, MODES_OF_ATTENTION, int64_t, pse_type, Text, softmax_layout,
          ROPE_BACKWARD, Out, grad_sink)
MAX_WORKSPACE(aclnnFlashAttentionUnpaddingScoreGradV5)

// training with numbers of HIFLOAT8; preTokens, nextTokens and sparseMode are kept for later, as the mask is
#define SETTINGS_HIFLOAT8 (Settings{NAMED(scale, weight_scale)})
#define GRAD_HIFLOAT8 (Settings{.scale = scale, GIVEN, NAMED(weight_scale, gradient_scale)})
#define BLOCK_SCALES .query = query_scale, .key = key_scale, .value = value_scale
#define FORWARD_BLOCKS (BlockScales{BLOCK_SCALES, .of_query = 128, .of_key = 256, .of_value = 512})
#define GRAD_BLOCKS (BlockScales{BLOCK_SCALES, .grad = grad_scale, .of_query = 512, .of_key = 512, .of_value = 512})
ACLNN(QuantFlashAttentionScore,
      (In, query, In, key, In, value, In, mask, In, query_scale, In, key_scale, In, value_scale, In, weight_scale,
       double, scale, int64_t, before, int64_t, after, int64_t, heads, Text, layout, int64_t, sparse_mode, Out, max,
       Out, sum, Out, softmax, Out, out),
      (refuse_if_given({mask}, "attenMaskOptional"), refuse_unless_zero(sparse_mode, "sparseMode"),
       check_by_blocks({QKV}, FORWARD_BLOCKS, SETTINGS_HIFLOAT8, WRITTEN)),
      forward_by_blocks({QKV}, FORWARD_BLOCKS, SETTINGS_HIFLOAT8, WRITTEN))
ACLNN(QuantFlashAttentionScoreGrad,
      (In, query, In, key, In, value, In, grad, In, mask, In, max, In, sum, In, out, In, query_scale, In, key_scale, In,
       value_scale, In, grad_scale, In, gradient_scale, In, weight_scale, double, scale, int64_t, before, int64_t,
       after, int64_t, heads, Text, layout, int64_t, sparse_mode, int64_t, out_dtype, Out, grad_query, Out, grad_key,
       Out, grad_value),
      (refuse_if_given({mask}, "attenMaskOptional"), refuse_unless_zero(sparse_mode, "sparseMode"),
       check_backward_by_blocks({QKV}, GRAD_BLOCKS, GRAD_HIFLOAT8, grad, out_dtype, {GRADIENTS})),
      backward_by_blocks({QKV}, GRAD_BLOCKS, GRAD_HIFLOAT8, grad, {GRADIENTS}))

ACLNN(RotaryPositionEmbedding, (In, x, In, cos, In, sin, int64_t, mode, Out, out),
      (turned(x, cos, sin, mode), like(out, x)), write(out, rotary(x, cos, sin, mode)))
ACLNN(RotaryPositionEmbeddingV2, (In, x, In, cos, In, sin, int64_t, mode, In, turn, Out, out),
      (turned(x, cos, sin, mode), like(out, x), turn.defined() ? shape(turn, {x.size(-1), x.size(-1)}) : when_run()),
      write(out, rotary_by(x, cos, sin, mode, turn)))
ACLNN(RotaryPositionEmbeddingGrad,
      (In, grad, In, cos, In, sin, In, x, int64_t, mode, Out, out, Out, out_cos, Out, out_sin),
      (turned(grad, cos, sin, mode), like(out, grad), rotary_backward_like(grad, cos, sin, x, out_cos, out_sin)),
      rotary_backward(grad, cos, sin, x, mode, out, out_cos, out_sin))
ACLNN(ApplyRotaryPosEmb, (Ref, query, Ref, key, In, cos, In, sin, int64_t, layout),
      rotate_both_like(query, key, cos, sin, layout, product_is("Ascend950")),
      rotate_both(query, key, cos, sin, "half"))
ACLNN(ApplyRotaryPosEmbV2, (Ref, query, Ref, key, In, cos, In, sin, int64_t, layout, Text, mode),
      (rotate_both_like(query, key, cos, sin, layout, product_is("Ascend950")), turned_mode(mode)),
      rotate_both(query, key, cos, sin, mode))
ACLNN(InterleaveRope, (In, x, In, cos, In, sin, Out, out), like(sin, cos), write(out, interleaved_rotary(x, cos, sin)))
