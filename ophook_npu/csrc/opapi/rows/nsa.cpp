// Native sparse attention. Its selected attention's forward stands in transformer.cpp.
#include "kernels/nsa.h"

#include "kernels/transformer.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
namespace nsa = sim::nsa;

ACLNN(NsaCompress,
      (In, x, In, weight, Ints, ends, Text, layout, int64_t, size, int64_t, stride, int64_t, kind, Out, out),
      nsa::compressed_like(x, weight, ends, layout, {size, stride}, kind, out),
      write(out, nsa::compressed(x, weight, ends, {size, stride})))
ACLNN(NsaCompressGrad,
      (In, grad, In, x, In, weight, Ints, ends, int64_t, size, int64_t, stride, int64_t, kind, Text, layout, Out,
       grad_x, Out, grad_weight),
      (nsa::compressed_like(x, weight, ends, layout, {size, stride}, kind, grad), like(grad_x, x),
       like(grad_weight, weight)),
      write_each({grad_x, grad_weight}, nsa::compressed_backward(grad, x, weight, ends, {size, stride})))
ACLNN(NsaCompressWithCache,
      (In, x, In, weight, In, slots, Ints, lengths, In, pages, Text, layout, int64_t, size, int64_t, stride, int64_t,
       kind, int64_t, page_size, Ref, cache),
      nsa::cached_like(x, weight, slots, lengths, pages, layout, {size, stride}, kind, cache),
      nsa::compress_into(x, weight, slots, lengths, pages, {size, stride}, cache))
#define CHOICE (nsa::Choice{.windows = {size, stride}, .block = block, .count = count})
ACLNN(NsaCompressAttention,
      (In, query, In, key, In, value, In, mask, In, always, Ints, ends, Ints, key_ends, Ints, block_ends, double, scale,
       int64_t, heads, Text, layout, int64_t, sparse_mode, int64_t, size, int64_t, stride, int64_t, block, int64_t,
       count, Out, top, Out, sum, Out, out, Out, chosen),
      nsa::compressed_attention_like(query, key, value, mask, always, ends, key_ends, block_ends, heads, layout,
                                     sparse_mode, CHOICE, top, sum, out, chosen),
      nsa::compressed_attention(query, key, value, mask, always, ends, key_ends, block_ends, scale, CHOICE, top, sum,
                                out, chosen))
ACLNN(NsaCompressAttentionInfer,
      (In, query, In, key, In, value, In, mask, In, pages, Ints, query_lengths, Ints, lengths, Ints, selected_lengths,
       In, always, int64_t, heads, int64_t, key_heads, int64_t, block, int64_t, count, int64_t, size, int64_t, stride,
       double, scale, Text, layout, int64_t, page_size, int64_t, sparse_mode, Out, out, Out, chosen),
      (nsa::one_token_like(query, pages, query_lengths, lengths, heads, key_heads, layout, value, out),
       nsa::check_choice_of_one(query, key_heads, key, lengths, mask, always, CHOICE, chosen)),
      nsa::compressed_attention_of_one(query, key, value, pages, lengths, key_heads, scale, CHOICE, out, chosen))
ACLNN(NsaSelectedAttentionGrad,
      (In, query, In, key, In, value, In, out, In, grad, In, top, In, sum, In, chosen, Ints, ends, Ints, key_ends, In,
       mask, double, scale, int64_t, block, int64_t, count, int64_t, heads, Text, layout, int64_t, sparse_mode, Out,
       grad_query, Out, grad_key, Out, grad_value),
      (sim::transformer::selected(query, key, value, chosen, mask, layout, ends, key_ends, block, count, out),
       nsa::backward_like({out, grad, top, sum}, query, value), like(grad_query, query), like(grad_key, key),
       like(grad_value, value)),
      nsa::attend_backward({out, grad, top, sum}, query, key, value, chosen, ends, key_ends, scale, block, grad_query,
                           grad_key, grad_value))
ACLNN(NsaSelectedAttentionInfer,
      (In, query, In, key, In, value, In, chosen, In, mask, In, pages, Ints, query_lengths, Ints, lengths, Text, layout,
       int64_t, heads, int64_t, key_heads, int64_t, block, int64_t, count, int64_t, page_size, double, scale, int64_t,
       sparse_mode, Out, out),
      nsa::one_token_like(query, pages, query_lengths, lengths, heads, key_heads, layout, value, out),
      nsa::attend_of_one(query, key, value, chosen, pages, lengths, key_heads, scale, block, out))
