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
#define ROPE_GRADIENTS .query_rope = grad_query_rope, .key_rope = grad_key_rope
// backward: what the forward gave
#define GIVEN NAMED(max, sum, out)

#define ENCODED NAMED(pse_type, query_start, key_start)

#define SETTINGS (Settings{KEPT})
#define SETTINGS_V2 (Settings{KEPT, ENCODED})
#define SETTINGS_V3 (Settings{KEPT, ENCODED, .sink = sink})
#define SETTINGS_V4 (Settings{KEPT, ENCODED, BY_LAYOUT, .sink = sink, ROPE})
#define SETTINGS_ROPE (Settings{KEPT, ENCODED, ROPE})
#define VARLEN (Settings{KEPT, BY_LAYOUT})
#define GRAD (Settings{KEPT, GIVEN})
#define GRAD_V2 (Settings{KEPT, ENCODED, GIVEN})
#define GRAD_V3 (Settings{KEPT, ENCODED, GIVEN, .sink = sink})
#define GRAD_V4 (Settings{KEPT, ENCODED, BY_LAYOUT, GIVEN, .sink = sink, ROPE})
#define GRAD_ROPE (Settings{KEPT, ENCODED, GIVEN, ROPE})
#define VARLEN_GRAD (Settings{KEPT, BY_LAYOUT, GIVEN})

ACLNN(FlashAttentionScore,
      (In, query, In, key, In, value, In, pse, In, drop_mask, In, padding, In, mask, Ints, prefix, double, scale,
       double, keep, int64_t, before, int64_t, after, int64_t, heads, Text, layout, int64_t, precision, int64_t,
       sparse_mode, Out, max, Out, sum, Out, softmax, Out, out),
      check_forward(MASKED, SETTINGS, WRITTEN), forward(MASKED, SETTINGS, WRITTEN))
ACLNN(FlashAttentionScoreV2,
      (In, query, In, key, In, value, In, pse, In, drop_mask, In, padding, In, mask, Ints, prefix, Ints, query_start,
       Ints, key_start, double, scale, double, keep, int64_t, before, int64_t, after, int64_t, heads, Text, layout,
       int64_t, precision, int64_t, sparse_mode, int64_t, pse_type, Out, max, Out, sum, Out, softmax, Out, out),
      check_forward(MASKED, SETTINGS_V2, WRITTEN), forward(MASKED, SETTINGS_V2, WRITTEN))
ACLNN(FlashAttentionScoreV3,
      (In, query, In, key, In, value, In, pse, In, drop_mask, In, padding, In, mask, In, sink, Ints, prefix, Ints,
       query_start, Ints, key_start, double, scale, double, keep, int64_t, before, int64_t, after, int64_t, heads, Text,
       layout, int64_t, precision, int64_t, sparse_mode, int64_t, pse_type, Out, max, Out, sum, Out, softmax, Out, out),
      check_forward(MASKED, SETTINGS_V3, WRITTEN), forward(MASKED, SETTINGS_V3, WRITTEN))
ACLNN(FlashAttentionScoreV4,
      (In, query, In, key, In, value, In, pse, In, drop_mask, In, padding, In, mask, In, query_rope, In, key_rope, In,
       a, In, b, In, c, In, sink, Ints, prefix, Ints, query_ends, Ints, key_ends, Ints, query_start, Ints, key_start,
       double, scale, double, keep, int64_t, before, int64_t, after, int64_t, heads, Text, layout, int64_t, precision,
       int64_t, sparse_mode, int64_t, out_dtype, int64_t, pse_type, Text, softmax_layout, int64_t, seed, int64_t,
       offset, Out, max, Out, sum, Out, softmax, Out, out),
      (refuse_if_given({a, b, c}, "quantized input"), check_forward(DRAWN, SETTINGS_V4, WRITTEN, layout == "TND"),
       check_pse(pse, layout)),
      forward_any(DRAWN, SETTINGS_V4, WRITTEN))
ACLNN(FlashAttentionScoreGrad,
      (In, query, In, key, In, value, In, grad, In, pse, In, drop_mask, In, padding, In, mask, In, max, In, sum, In,
       softmax, In, out, Ints, prefix, double, scale, double, keep, int64_t, before, int64_t, after, int64_t, heads,
       Text, layout, int64_t, precision, int64_t, sparse_mode, Out, grad_query, Out, grad_key, Out, grad_value, Out,
       grad_pse),
      check_backward(MASKED, GRAD, grad, {GRADIENTS, .pse = grad_pse}),
      backward(MASKED, GRAD, grad, {GRADIENTS, .pse = grad_pse}))
ACLNN(FlashAttentionScoreGradV2,
      (In, query, In, key, In, value, In, grad, In, pse, In, drop_mask, In, padding, In, mask, In, max, In, sum, In,
       softmax, In, out, Ints, prefix, Ints, query_start, Ints, key_start, double, scale, double, keep, int64_t, before,
       int64_t, after, int64_t, heads, Text, layout, int64_t, precision, int64_t, sparse_mode, int64_t, pse_type, Out,
       grad_query, Out, grad_key, Out, grad_value, Out, grad_pse),
      check_backward(MASKED, GRAD_V2, grad, {GRADIENTS, .pse = grad_pse}),
      backward(MASKED, GRAD_V2, grad, {GRADIENTS, .pse = grad_pse}))
ACLNN(FlashAttentionScoreGradV3,
      (In, query, In, key, In, value, In, grad, In, pse, In, drop_mask, In, padding, In, mask, In, max, In, sum, In,
       softmax, In, out, In, sink, Ints, prefix, Ints, query_start, Ints, key_start, double, scale, double, keep,
       int64_t, before, int64_t, after, int64_t, heads, Text, layout, int64_t, precision, int64_t, sparse_mode, int64_t,
       pse_type, Out, grad_query, Out, grad_key, Out, grad_value, Out, grad_pse, Out, grad_sink),
      check_backward(MASKED, GRAD_V3, grad, {GRADIENTS, .pse = grad_pse, .sink = grad_sink}),
      backward(MASKED, GRAD_V3, grad, {GRADIENTS, .pse = grad_pse, .sink = grad_sink}))
ACLNN(FlashAttentionScoreGradV4,
      (In, query, In, key, In, value, In, grad, In, pse, In, drop_mask, In, padding, In, mask, In, max, In, sum, In,
       softmax, In, out, In, sink, In, query_rope, In, key_rope, In, a, In, b, In, c, In, d, In, e, Ints, prefix, Ints,
       query_ends, Ints, key_ends, Ints, query_start, Ints, key_start, double, scale, double, keep, int64_t, before,
       int64_t, after, int64_t, heads, Text, layout, Text, softmax_layout, int64_t, precision, int64_t, sparse_mode,
       int64_t, pse_type, int64_t, seed, int64_t, offset, int64_t, out_dtype, Out, grad_query, Out, grad_key, Out,
       grad_value, Out, grad_query_rope, Out, grad_key_rope, Out, grad_pse, Out, grad_sink),
      (refuse_if_given({a, b, c, d, e}, "quantized input"),
       check_backward(DRAWN, GRAD_V4, grad, {GRADIENTS, .pse = grad_pse, .sink = grad_sink, ROPE_GRADIENTS},
                      layout == "TND"),
       check_pse(pse, layout)),
      backward_any(DRAWN, GRAD_V4, grad, {GRADIENTS, .pse = grad_pse, .sink = grad_sink, ROPE_GRADIENTS}))

ACLNN(FlashAttentionVarLenScore,
      (In, query, In, key, In, value, In, pse, In, drop_mask, In, padding, In, mask, Ints, prefix, Ints, query_ends,
       Ints, key_ends, double, scale, double, keep, int64_t, before, int64_t, after, int64_t, heads, Text, layout,
       int64_t, precision, int64_t, sparse_mode, Out, max, Out, sum, Out, softmax, Out, out),
      (refuse_if_given({pse}, "a position encoding in layout TND"),
       check_forward(BY_SEQUENCE, SETTINGS, WRITTEN, true)),
      forward_by_sequence(BY_SEQUENCE, SETTINGS, WRITTEN))
ACLNN(FlashAttentionVarLenScoreV2,
      (In, query, In, key, In, value, In, pse, In, drop_mask, In, padding, In, mask, Ints, prefix, Ints, query_ends,
       Ints, key_ends, Ints, query_start, Ints, key_start, double, scale, double, keep, int64_t, before, int64_t, after,
       int64_t, heads, Text, layout, int64_t, precision, int64_t, sparse_mode, int64_t, pse_type, Out, max, Out, sum,
       Out, softmax, Out, out),
      (refuse_if_given({pse}, "a position encoding in layout TND"),
       check_forward(BY_SEQUENCE, SETTINGS_V2, WRITTEN, true)),
      forward_by_sequence(BY_SEQUENCE, SETTINGS_V2, WRITTEN))
ACLNN(FlashAttentionVarLenScoreV3,
      (In, query, In, query_rope, In, key, In, key_rope, In, value, In, pse, In, drop_mask, In, padding, In, mask, Ints,
       prefix, Ints, query_ends, Ints, key_ends, Ints, query_start, Ints, key_start, double, scale, double, keep,
       int64_t, before, int64_t, after, int64_t, heads, Text, layout, int64_t, precision, int64_t, sparse_mode, int64_t,
       pse_type, Out, max, Out, sum, Out, softmax, Out, out),
      (refuse_if_given({pse}, "a position encoding in layout TND"),
       check_forward(BY_SEQUENCE, SETTINGS_ROPE, WRITTEN, true)),
      forward_any(BY_SEQUENCE, SETTINGS_ROPE, WRITTEN))
ACLNN(FlashAttentionVarLenScoreV4,
      (In, query, In, key, In, value, In, pse, In, drop_mask, In, padding, In, mask, Ints, prefix, Ints, query_ends,
       Ints, key_ends, double, scale, double, keep, int64_t, before, int64_t, after, int64_t, heads, Text, layout,
       int64_t, precision, int64_t, sparse_mode, Text, softmax_layout, Out, max, Out, sum, Out, softmax, Out, out),
      (refuse_if_given({pse}, "a position encoding in layout TND"), check_forward(BY_SEQUENCE, VARLEN, WRITTEN, true)),
      forward_by_sequence(BY_SEQUENCE, VARLEN, WRITTEN))
ACLNN(FlashAttentionUnpaddingScoreGrad,
      (In, query, In, key, In, value, In, grad, In, pse, In, drop_mask, In, padding, In, mask, In, max, In, sum, In,
       softmax, In, out, Ints, prefix, Ints, query_ends, Ints, key_ends, double, scale, double, keep, int64_t, before,
       int64_t, after, int64_t, heads, Text, layout, int64_t, precision, int64_t, sparse_mode, Out, grad_query, Out,
       grad_key, Out, grad_value, Out, grad_pse),
      (refuse_if_given({pse}, "a position encoding in layout TND"),
       check_backward(BY_SEQUENCE, GRAD, grad, {GRADIENTS, .pse = grad_pse}, true)),
      backward_by_sequence(BY_SEQUENCE, GRAD, grad, {GRADIENTS}))
ACLNN(FlashAttentionUnpaddingScoreGradV2,
      (In, query, In, key, In, value, In, grad, In, pse, In, drop_mask, In, padding, In, mask, In, max, In, sum, In,
       softmax, In, out, Ints, prefix, Ints, query_ends, Ints, key_ends, Ints, query_start, Ints, key_start, double,
       scale, double, keep, int64_t, before, int64_t, after, int64_t, heads, Text, layout, int64_t, precision, int64_t,
       sparse_mode, int64_t, pse_type, Out, grad_query, Out, grad_key, Out, grad_value, Out, grad_pse),
      (refuse_if_given({pse}, "a position encoding in layout TND"),
       check_backward(BY_SEQUENCE, GRAD_V2, grad, {GRADIENTS, .pse = grad_pse}, true)),
      backward_by_sequence(BY_SEQUENCE, GRAD_V2, grad, {GRADIENTS}))
ACLNN(FlashAttentionVarLenScoreV5,
      (In, query, In, query_rope, In, key, In, key_rope, In, value, In, pse, In, drop_mask, In, padding, In, mask, In,
       sink, Ints, prefix, Ints, query_ends, Ints, key_ends, Ints, query_start, Ints, key_start, double, scale, double,
       keep, int64_t, before, int64_t, after, int64_t, heads, Text, layout, int64_t, precision, int64_t, sparse_mode,
       int64_t, pse_type, Text, softmax_layout, Out, max, Out, sum, Out, softmax, Out, out),
      (refuse_if_given({pse}, "a position encoding in layout TND"),
       check_forward(BY_SEQUENCE, SETTINGS_V4, WRITTEN, true)),
      forward_any(BY_SEQUENCE, SETTINGS_V4, WRITTEN))
MAX_WORKSPACE(aclnnFlashAttentionVarLenScoreV5)
ACLNN(FlashAttentionUnpaddingScoreGradV3,
      (In, query, In, query_rope, In, key, In, key_rope, In, value, In, grad, In, pse, In, drop_mask, In, padding, In,
       mask, In, max, In, sum, In, softmax, In, out, Ints, prefix, Ints, query_ends, Ints, key_ends, Ints, query_start,
       Ints, key_start, double, scale, double, keep, int64_t, before, int64_t, after, int64_t, heads, Text, layout,
       int64_t, precision, int64_t, sparse_mode, int64_t, pse_type, Out, grad_query, Out, grad_query_rope, Out,
       grad_key, Out, grad_key_rope, Out, grad_value, Out, grad_pse),
      (refuse_if_given({pse}, "a position encoding in layout TND"),
       check_backward(BY_SEQUENCE, GRAD_ROPE, grad, {GRADIENTS, .pse = grad_pse, ROPE_GRADIENTS}, true)),
      backward_any(BY_SEQUENCE, GRAD_ROPE, grad, {GRADIENTS, ROPE_GRADIENTS}))
ACLNN(FlashAttentionUnpaddingScoreGradV4,
      (In, query, In, key, In, value, In, grad, In, pse, In, drop_mask, In, padding, In, mask, In, max, In, sum, In,
       softmax, In, out, Ints, prefix, Ints, query_ends, Ints, key_ends, double, scale, double, keep, int64_t, before,
       int64_t, after, int64_t, heads, Text, layout, int64_t, precision, int64_t, sparse_mode, Out, grad_query, Out,
       grad_key, Out, grad_value, Out, grad_pse, Text, softmax_layout),
      (refuse_if_given({pse}, "a position encoding in layout TND"),
       check_backward(BY_SEQUENCE, VARLEN_GRAD, grad, {GRADIENTS, .pse = grad_pse}, true)),
      backward_by_sequence(BY_SEQUENCE, VARLEN_GRAD, grad, {GRADIENTS}))
ACLNN(FlashAttentionUnpaddingScoreGradV5,
      (In, query, In, query_rope, In, key, In, key_rope, In, value, In, grad, In, pse, In, drop_mask, In, padding, In,
       mask, In, max, In, sum, In, softmax, In, out, In, sink, Ints, prefix, Ints, query_ends, Ints, key_ends, Ints,
       query_start, Ints, key_start, double, scale, double, keep, int64_t, before, int64_t, after, int64_t, heads, Text,
       layout, int64_t, precision, int64_t, sparse_mode, int64_t, pse_type, Text, softmax_layout, Out, grad_query, Out,
       grad_query_rope, Out, grad_key, Out, grad_key_rope, Out, grad_value, Out, grad_pse, Out, grad_sink),
      (refuse_if_given({pse}, "a position encoding in layout TND"),
       check_backward(BY_SEQUENCE, GRAD_V4, grad, {GRADIENTS, .pse = grad_pse, .sink = grad_sink, ROPE_GRADIENTS},
                      true)),
      backward_any(BY_SEQUENCE, GRAD_V4, grad, {GRADIENTS, .sink = grad_sink, ROPE_GRADIENTS}))
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
