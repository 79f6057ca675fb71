// Small fused steps of transformers that no other table has a place for.
#include "kernels/transformer.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
using namespace sim::transformer;

ACLNN(RingAttentionUpdate,
      (In, before, In, before_top, In, before_sum, In, now, In, now_top, In, now_sum, In, lengths, Text, layout, Out,
       out, Out, out_top, Out, out_sum),
      (ring_parts(before, before_top, layout, layout), like(now, before), like(out, before),
       like(before_sum, before_top), like(now_top, before_top), like(now_sum, before_top), like(out_top, before_top),
       like(out_sum, before_top)),
      ring_update(before, before_top, before_sum, now, now_top, now_sum, layout == "SBH", out, out_top, out_sum))
ACLNN(RingAttentionUpdateV2,
      (In, before, In, before_top, In, before_sum, In, now, In, now_top, In, now_sum, In, lengths, Text, layout, Text,
       softmax_layout, Out, out, Out, out_top, Out, out_sum),
      (ring_parts(before, before_top, layout, softmax_layout), like(now, before), like(out, before),
       like(before_sum, before_top), like(now_top, before_top), like(now_sum, before_top), like(out_top, before_top),
       like(out_sum, before_top)),
      ring_update(before, before_top, before_sum, now, now_top, now_sum, layout == "SBH", out, out_top, out_sum))
ACLNN(NsaSelectedAttention,
      (In, query, In, key, In, value, In, chosen, In, mask, Ints, ends, Ints, key_ends, double, scale, int64_t, heads,
       Text, layout, int64_t, sparse_mode, int64_t, block_size, int64_t, blocks, Out, top, Out, sum, Out, out),
      (selected(query, key, value, chosen, mask, layout, ends, key_ends, block_size, blocks, out),
       statistics_like(query, top, sum)),
      attend_selected(query, key, value, chosen, ends, key_ends, scale, block_size, top, sum, out))
ACLNN(TransformBiasRescaleQkv, (In, qkv, In, bias, int64_t, heads, Out, q, Out, k, Out, v),
      three_parts(qkv, bias, heads, {q, k, v}),
      write({q, k, v}, at::_transform_bias_rescale_qkv(wide(qkv), wide(bias), heads)))
