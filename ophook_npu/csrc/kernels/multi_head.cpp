#include "kernels/multi_head.h"

#include <cmath>

#include "kernels/random.h"

namespace sim::kernels {
namespace {

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  return at::matmul(wide(a), wide(b)).to(a.scalar_type());
}
at::Tensor projected(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor sum = at::matmul(wide(x), wide(weight).t());
  return (bias.defined() ? sum + wide(bias) : sum).to(x.scalar_type());
}
at::Tensor sum_of_rows(const at::Tensor& x) { return wide(x).sum(0, true).to(x.scalar_type()); }

at::Tensor by_head(const at::Tensor& rows, int64_t length, const Heads& how) {
  return rows.reshape({-1, length, how.count, how.size}).transpose(1, 2);
}
at::Tensor in_rows(const at::Tensor& heads) {
  return heads.transpose(1, 2).reshape({heads.size(0) * heads.size(2), -1});
}

at::Tensor scaled(const at::Tensor& x, const Heads& how) {
  return (wide(x) * (1 / std::sqrt(double(how.size)))).to(x.scalar_type());
}

at::Tensor after_dropout(const at::Tensor& x, const at::Tensor& kept, const Heads& how) {
  if (how.keep_probability == 1) return x;
  return dropped(x, unpack_bits(kept, 0, x.numel()), how.keep_probability).to(x.scalar_type());
}

}  // namespace

MultiHeadResult multi_head_attention(const MultiHead& of, const at::Tensor& mask, const at::Tensor& kept,
                                     const Heads& how) {
  MultiHeadResult out;
  const auto type = of.query.scalar_type();
  out.query = by_head(scaled(projected(of.query, of.query_weight, of.query_bias), how), how.targets, how);
  out.key = by_head(projected(of.key, of.key_weight, of.key_bias), how.sources, how);
  out.value = by_head(projected(of.value, of.value_weight, of.value_bias), how.sources, how);
  const at::Tensor scores = (wide(product(out.query, out.key.transpose(2, 3))) + wide(mask)).to(type);
  out.probabilities = at::softmax(wide(scores), -1);
  if (!how.wide_softmax) out.probabilities = out.probabilities.to(type);
  if (kept.defined() && how.keep_probability != 1) {
    out.kept = kept;
  } else {
    out.kept = at::empty({scores.numel() / 8}, at::kByte);
    pack_bits(out.kept, at::empty({scores.numel()}, at::kBool).bernoulli_(how.keep_probability, own_generator()));
  }
  out.dropped = after_dropout(out.probabilities.to(type), out.kept, how);
  out.context = in_rows(product(out.dropped, out.value));
  out.y = projected(out.context, of.out_weight, of.out_bias);
  return out;
}

MultiHeadGradients multi_head_attention_backward(const MultiHead& of, const MultiHeadResult& result,
                                                 const at::Tensor& grad, const Heads& how) {
  const auto type = of.query.scalar_type();
  const at::Tensor context = by_head(product(grad, of.out_weight), how.targets, how);
  const at::Tensor value = in_rows(product(result.dropped.transpose(2, 3), context));
  const at::Tensor by_probability = after_dropout(product(context, result.value.transpose(2, 3)), result.kept, how);
  const at::Tensor probability = wide(result.probabilities), weighted = wide(by_probability) * probability;
  const at::Tensor scores = (weighted - probability * weighted.sum(-1, true)).to(type);
  const at::Tensor key = in_rows(product(scores.transpose(2, 3), result.query));
  const at::Tensor query = scaled(in_rows(product(scores, result.key)), how);
  return {product(query.t(), of.query),
          product(key.t(), of.key),
          product(value.t(), of.value),
          product(grad.t(), result.context),
          product(query, of.query_weight),
          product(key, of.key_weight),
          product(value, of.value_weight),
          sum_of_rows(query),
          sum_of_rows(key),
          sum_of_rows(value),
          sum_of_rows(grad)};
}

}  // namespace sim::kernels
