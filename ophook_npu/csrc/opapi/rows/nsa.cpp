// Native sparse attention. Its selected attention's forward stands in transformer.cpp.
#include "kernels/nsa.h"

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
      nsa::compressed_like(x, weight, ends, layout, {size, stride}, kind, grad),
      write_each({grad_x, grad_weight}, nsa::compressed_backward(grad, x, weight, ends, {size, stride})))
#define CACHING (nsa::Caching{NAMED(x, weight, slots, lengths, pages), .windows = {size, stride}, .cache = cache})
ACLNN(NsaCompressWithCache,
      (In, x, In, weight, In, slots, Ints, lengths, In, pages, Text, layout, int64_t, size, int64_t, stride, int64_t,
       kind, int64_t, page_size, Ref, cache),
      nsa::cached_like(CACHING, layout, kind), nsa::compress_into(CACHING))
#define CHOICE (nsa::Choice{.windows = {size, stride}, NAMED(block, count)})
#define COMPRESSED \
  (nsa::Compressed{NAMED(query, key, value, mask, always, ends, key_ends, block_ends), .choice = CHOICE})
#define CHOSEN (nsa::Chosen{NAMED(top, sum, out, chosen)})
ACLNN(NsaCompressAttention,
      (In, query, In, key, In, value, In, mask, In, always, Ints, ends, Ints, key_ends, Ints, block_ends, double, scale,
       int64_t, heads, Text, layout, int64_t, sparse_mode, int64_t, size, int64_t, stride, int64_t, block, int64_t,
       count, Out, top, Out, sum, Out, out, Out, chosen),
      nsa::compressed_attention_like(COMPRESSED, heads, layout, sparse_mode, CHOSEN),
      nsa::compressed_attention(COMPRESSED, scale, CHOSEN))
#define ONE_TOKEN (nsa::OneToken{NAMED(query, key, value, pages, lengths, key_heads)})
ACLNN(NsaCompressAttentionInfer,
      (In, query, In, key, In, value, In, mask, In, pages, Ints, query_lengths, Ints, lengths, Ints, selected_lengths,
       In, always, int64_t, heads, int64_t, key_heads, int64_t, block, int64_t, count, int64_t, size, int64_t, stride,
       double, scale, Text, layout, int64_t, page_size, int64_t, sparse_mode, Out, out, Out, chosen),
      (nsa::one_token_like(ONE_TOKEN, query_lengths, heads, layout, out),
       nsa::check_choice_of_one(ONE_TOKEN, mask, always, CHOICE, chosen)),
      nsa::compressed_attention_of_one(ONE_TOKEN, scale, CHOICE, out, chosen))
#define SELECTED                                                                                      \
  (sim::transformer::Selection{NAMED(query, key, value, chosen, ends, key_ends), .block_size = block, \
                               .sparse_mode = mask.defined() && mask.numel() ? sparse_mode : 0})
#define FORWARD (sim::transformer::Attended{NAMED(top, sum, out)})
#define TO_SELECTED (nsa::Gradients{.query = grad_query, .key = grad_key, .value = grad_value})
ACLNN(NsaSelectedAttentionGrad,
      (In, query, In, key, In, value, In, out, In, grad, In, top, In, sum, In, chosen, Ints, ends, Ints, key_ends, In,
       mask, double, scale, int64_t, block, int64_t, count, int64_t, heads, Text, layout, int64_t, sparse_mode, Out,
       grad_query, Out, grad_key, Out, grad_value),
      (sim::transformer::selected(SELECTED, mask, layout, count, out),
       nsa::backward_like(SELECTED, FORWARD, grad, TO_SELECTED)),
      nsa::attend_backward(SELECTED, FORWARD, grad, scale, TO_SELECTED))
ACLNN(NsaSelectedAttentionInfer,
      (In, query, In, key, In, value, In, chosen, In, mask, In, pages, Ints, query_lengths, Ints, lengths, Text, layout,
       int64_t, heads, int64_t, key_heads, int64_t, block, int64_t, count, int64_t, page_size, double, scale, int64_t,
       sparse_mode, Out, out),
      (nsa::one_token_like(ONE_TOKEN, query_lengths, heads, layout, out),
       nsa::chosen_of_one_like(ONE_TOKEN, chosen, count, block)),
      nsa::attend_of_one(ONE_TOKEN, chosen, scale, block, out))
