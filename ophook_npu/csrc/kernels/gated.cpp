#include "kernels/gated.h"

namespace sim::kernels {
namespace {

struct Halves {
  at::Tensor gate, value;
};

// All dimensions from `dim` on as one, (rows, …); from the first on they are one row.
at::Tensor merged(const at::Tensor& x, int64_t dim) {
  const at::Tensor rows = wide(x).flatten(wrap(dim, x));
  return rows.dim() == 1 ? rows.unsqueeze(0) : rows.flatten(0, -2);
}

Halves halves_of(const at::Tensor& rows, bool interleaved) {
  if (interleaved) {
    auto pairs = rows.unflatten(-1, {divided(rows.size(-1), 2), 2});
    return {pairs.select(-1, 0), pairs.select(-1, 1)};
  }
  const int64_t half = divided(rows.size(-1), 2);
  return {rows.narrow(-1, 0, half), rows.narrow(-1, half, half)};
}

at::Tensor joined(const at::Tensor& gate, const at::Tensor& value, bool interleaved) {
  return interleaved ? at::stack({gate, value}, -1).flatten(-2) : at::concat({gate, value}, -1);
}

int64_t valid_rows(const at::Tensor& group_index, int64_t rows) {
  return group_index.defined() ? std::min(group_index.sum().item<int64_t>(), rows) : rows;
}

Halves situ_halves(const at::Tensor& x, const SituGlu& how) {
  Tensors parts = wide(x).chunk(2, how.dim);
  return {parts[how.left ? 0 : 1], parts[how.left ? 1 : 0]};
}

}  // namespace

at::Tensor clipped_swiglu(const at::Tensor& x, const at::Tensor& group_index, const ClippedSwiglu& how) {
  auto rows = merged(x, how.dim);
  auto [gate, value] = halves_of(rows.narrow(0, 0, valid_rows(group_index, rows.size(0))), how.interleaved);
  value = value.clamp(-how.limit, how.limit);
  if (how.late) return gate.mul(gate.sigmoid()).clamp_max(how.limit).mul(value);
  gate = gate.clamp_max(how.limit);
  return gate.mul(gate.mul(how.alpha).sigmoid()).mul(value.add(how.bias));
}

void token_weights(const at::Tensor& x, const at::Tensor& weight, double limit) {
  SIM_CHECK(limit == -1 || limit > 0, "clampLimit ", limit, "; allowed: -1 (none), and above 0");
  SIM_CHECK(!weight.defined() || weight.numel() * x.size(-1) == x.numel(), "weights of shape ", weight.sizes(),
            " for x ", x.sizes());
}

at::Tensor swiglu_of_tokens(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& group_index,
                            double limit) {
  const double bound = limit == -1 ? std::numeric_limits<double>::infinity() : limit;
  const at::Tensor result = clipped_swiglu(x, group_index, {-1, 1, bound, 0, false});
  return weight.defined() ? result.mul(weight.reshape({-1, 1}).narrow(0, 0, result.size(0))) : result;
}

at::Tensor clipped_swiglu_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& group_index,
                                   const ClippedSwiglu& how) {
  auto rows = merged(x, how.dim);
  const int64_t valid = valid_rows(group_index, rows.size(0));
  const auto [gate, value] = halves_of(rows.narrow(0, 0, valid), how.interleaved);
  auto slope = merged(grad, how.dim).narrow(0, 0, valid);
  auto clipped = gate.clamp_max(how.limit), bounded = value.clamp(-how.limit, how.limit);
  auto sigmoid = clipped.mul(how.alpha).sigmoid();
  auto to_gate = slope.mul(bounded.add(how.bias)).mul(sigmoid);
  to_gate = to_gate.mul(clipped.mul(how.alpha).mul(sigmoid.neg().add(1)).add(1)).mul(gate.le(how.limit));
  auto to_value = slope.mul(clipped).mul(sigmoid).mul(value.ge(-how.limit)).mul(value.le(how.limit));
  auto result = at::zeros_like(rows);
  result.narrow(0, 0, valid).copy_(joined(to_gate, to_value, how.interleaved));
  return result.reshape(x.sizes());
}

at::Tensor situ_glu(const at::Tensor& x, const SituGlu& how) {
  const auto [gate, value] = situ_halves(x, how);
  auto bounded = how.linear_beta > 0 ? value.div(how.linear_beta).tanh().mul(how.linear_beta) : value;
  return gate.div(how.beta).tanh().mul(how.beta).mul(gate.sigmoid()).mul(bounded);
}

at::Tensor situ_glu_backward(const at::Tensor& grad, const at::Tensor& x, const SituGlu& how) {
  const auto [gate, value] = situ_halves(x, how);
  const bool bounds = how.linear_beta > 0;
  auto tanh = gate.div(how.beta).tanh(), sigmoid = gate.sigmoid();
  auto value_tanh = bounds ? value.div(how.linear_beta).tanh() : at::Tensor();
  auto bounded = bounds ? value_tanh.mul(how.linear_beta) : value;
  auto inner = tanh.square().neg().add(1).add(tanh.mul(sigmoid.neg().add(1)).mul(how.beta));
  auto to_gate = wide(grad).mul(bounded).mul(sigmoid).mul(inner);
  auto to_value = wide(grad).mul(tanh.mul(how.beta).mul(sigmoid));
  if (bounds) to_value = to_value.mul(value_tanh.square().neg().add(1));
  return how.left ? at::concat({to_gate, to_value}, how.dim) : at::concat({to_value, to_gate}, how.dim);
}

at::Tensor fatrelu_mul(const at::Tensor& x, const at::Tensor& threshold) {
  const auto [gate, value] = halves_of(wide(x), false);
  return gate.masked_fill(gate.lt(wide(threshold).reshape({})), 0).mul(value);
}

at::Tensor for_rows(const at::Tensor& values, const at::Tensor& x) {
  return values.dim() == x.dim() ? wide(values) : wide(values).unsqueeze(-2);
}

at::Tensor modulate(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift) {
  auto result = scale.defined() ? wide(x).mul(for_rows(scale, x).add(1)) : wide(x);
  return shift.defined() ? result.add(for_rows(shift, x)) : result;
}

ModulateGradients modulate_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& scale) {
  auto slope = wide(grad);
  return {scale.defined() ? slope.mul(for_rows(scale, x)) : slope, slope.mul(wide(x)).sum(1), slope.sum(1)};
}

LossAndGradient softmax_cross_entropy_of_classes(const at::Tensor& features, const at::Tensor& classes) {
  const at::Tensor x = wide(features), of = indices_below(x.size(1), classes).unsqueeze(1);
  const at::Tensor chances = at::log_softmax(x, 1), ones = at::ones(of.sizes(), x.options());
  return {chances.gather(1, of).neg().squeeze(1), at::exp(chances).scatter_add(1, of, ones.neg())};
}

LossAndGradient softmax_cross_entropy(const at::Tensor& features, const at::Tensor& labels) {
  auto logarithms = at::log_softmax(wide(features), -1);
  return {logarithms.mul(wide(labels)).sum(-1).neg(), logarithms.exp().sub(wide(labels))};
}

}  // namespace sim::kernels
