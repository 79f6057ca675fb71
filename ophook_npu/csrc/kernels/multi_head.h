// Attention of many heads as one operator, from what is projected to what comes out. Numbers are rounded to the inputs'
// type after each step, as where each is an operator of its own.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

struct Heads {
  int64_t count, size, sources, targets;
  double keep_probability;
  bool wide_softmax;  // its result is float
};
// Query (batch · targets, width), key and value (batch · sources, width), weights (width, width), where width is
// count · size.
struct MultiHead {
  at::Tensor query, key, value;
  at::Tensor query_weight, key_weight, value_weight, out_weight;
  at::Tensor query_bias, key_bias, value_bias, out_bias;  // all or none
};
struct MultiHeadResult {
  at::Tensor y;
  at::Tensor kept;               // a bit for each probability
  at::Tensor query, key, value;  // projected, (batch, count, targets or sources, size); the query scaled
  at::Tensor probabilities, dropped;
  at::Tensor context;
};
// `mask` is added before the softmax. Where something is to be dropped and no `kept` is given, it is drawn; where
// nothing is, what is given is not looked at (the page of npu_multi_head_attention gives float16), and all bits are
// set.
MultiHeadResult multi_head_attention(const MultiHead& of, const at::Tensor& mask, const at::Tensor& kept,
                                     const Heads& how);

struct MultiHeadGradients {
  at::Tensor query_weight, key_weight, value_weight, out_weight, query, key, value;
  at::Tensor query_bias, key_bias, value_bias, out_bias;
};
MultiHeadGradients multi_head_attention_backward(const MultiHead& of, const MultiHeadResult& result,
                                                 const at::Tensor& grad, const Heads& how);

}  // namespace sim::kernels
