// Attention with a mask of blocks, and Floyd's.
#include "kernels/block_attention.h"

#include "opapi/aclnn.h"

using namespace sim::aclnn;
namespace blocked = sim::block_attention;

#define BLOCKS                                                                     \
  (blocked::Blocks{NAMED(query, key, value), .mask = blocks, .shape = block_shape, \
                   NAMED(lengths, key_lengths, layout, scale)})
static void of_two(const Dims& block_shape) {
  SIM_CHECK(block_shape.empty() || block_shape.size() == 2, "blockShape ", block_shape, "; two numbers are expected");
}
ACLNN(BlockSparseAttention,
      (In, query, In, key, In, value, In, blocks, In, mask, Ints, block_shape, Ints, lengths, Ints, key_lengths, In,
       pages, Text, layout, Text, key_layout, int64_t, key_heads, int64_t, mask_kind, double, scale, int64_t, precision,
       int64_t, block_size, int64_t, before, int64_t, after, int64_t, log_sum_asked, Out, out, Out, log_sum),
      (refuse_if_given({mask, pages}, "attenMask or blockTable"), of_two(block_shape),
       blocked::check(BLOCKS, key_layout, key_heads, mask_kind, out),
       log_sum_asked ? blocked::log_sum_like(query, log_sum) : when_run()),
      blocked::attend(BLOCKS, out, log_sum_asked ? log_sum : at::Tensor()))
ACLNN(BlockSparseAttentionGrad,
      (In, grad, In, query, In, key, In, value, In, out, In, log_sum, In, blocks, In, mask, Ints, block_shape, Ints,
       lengths, Ints, key_lengths, Text, layout, Text, key_layout, int64_t, key_heads, int64_t, mask_kind, double,
       scale, int64_t, before, int64_t, after, Out, grad_query, Out, grad_key, Out, grad_value),
      (refuse_if_given({mask}, "attenMask"), blocked::check(BLOCKS, key_layout, key_heads, mask_kind, out),
       blocked::log_sum_like(query, log_sum)),
      blocked::backward(BLOCKS, grad, out, log_sum, {.query = grad_query, .key = grad_key, .value = grad_value}))

#define PAIRS (blocked::Pairs{NAMED(query, first_key, first_value, second_key, second_value, mask, scale)})
static void write_floyd(const at::Tensor& top, const at::Tensor& sum, const at::Tensor& out, const Tensors& made) {
  write_each({top, sum, out}, {made[0].expand_as(top), made[1].expand_as(sum), made[2]});
}
ACLNN(FusedFloydAttention,
      (In, query, In, first_key, In, first_value, In, second_key, In, second_value, In, mask, double, scale, Out, top,
       Out, sum, Out, out),
      (blocked::check(PAIRS, out), blocked::statistics_like(PAIRS, top, sum)),
      write_floyd(top, sum, out, blocked::attend(PAIRS)))
ACLNN(FusedFloydAttentionGrad,
      (In, query, In, first_key, In, first_value, In, second_key, In, second_value, In, grad, In, mask, In, top, In,
       sum, In, out, double, scale, Out, grad_query, Out, grad_first_key, Out, grad_first_value, Out, grad_second_key,
       Out, grad_second_value),
      (blocked::check(PAIRS, out), like(grad, out), blocked::statistics_like(PAIRS, top, sum), like(grad_query, query),
       like(grad_first_key, first_key), like(grad_first_value, first_value), like(grad_second_key, second_key),
       like(grad_second_value, second_value)),
      write_each({grad_query, grad_first_key, grad_first_value, grad_second_key, grad_second_value},
                 blocked::backward(PAIRS, grad, top, sum, out)))
