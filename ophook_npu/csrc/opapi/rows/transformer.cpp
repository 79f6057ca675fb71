// Small fused steps of transformers that no other table has a place for.
#include "kernels/transformer.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
using namespace sim::transformer;

#define RING_PARTS \
  {.out = before, .top = before_top, .sum = before_sum}, { .out = now, .top = now_top, .sum = now_sum }
#define RING_RESULT {.out = out, .top = out_top, .sum = out_sum}
ACLNN(RingAttentionUpdate,
      (In, before, In, before_top, In, before_sum, In, now, In, now_top, In, now_sum, In, lengths, Text, layout, Out,
       out, Out, out_top, Out, out_sum),
      ring_parts(RING_PARTS, layout, layout, RING_RESULT), ring_update(RING_PARTS, layout == "SBH", RING_RESULT))
ACLNN(RingAttentionUpdateV2,
      (In, before, In, before_top, In, before_sum, In, now, In, now_top, In, now_sum, In, lengths, Text, layout, Text,
       softmax_layout, Out, out, Out, out_top, Out, out_sum),
      ring_parts(RING_PARTS, layout, softmax_layout, RING_RESULT),
      ring_update(RING_PARTS, layout == "SBH", RING_RESULT))
#define SELECTION                                                          \
  (Selection{NAMED(query, key, value, chosen, ends, key_ends, block_size), \
             .sparse_mode = mask.defined() && mask.numel() ? sparse_mode : 0})
#define ATTENTION (Attended{NAMED(top, sum, out)})
ACLNN(NsaSelectedAttention,
      (In, query, In, key, In, value, In, chosen, In, mask, Ints, ends, Ints, key_ends, double, scale, int64_t, heads,
       Text, layout, int64_t, sparse_mode, int64_t, block_size, int64_t, blocks, Out, top, Out, sum, Out, out),
      (selected(SELECTION, mask, layout, blocks, out), statistics_like(query, ATTENTION)),
      attend_selected(SELECTION, scale, ATTENTION))
ACLNN(TransformBiasRescaleQkv, (In, qkv, In, bias, int64_t, heads, Out, q, Out, k, Out, v),
      three_parts(qkv, bias, heads, {q, k, v}),
      write({q, k, v}, at::_transform_bias_rescale_qkv(wide(qkv), wide(bias), heads)))
