#include "kernels/delta_rule.h"

#include "kernels/groups.h"
#include "kernels/pattern.h"

namespace sim::delta_rule {

void tokens_like(const Tokens& in, const States& states, bool short_sequences, const at::Tensor& out) {
  const auto [tokens, key_heads, depth, heads, width, rows, sequences] = shapes<
      "tokens keys depth, tokens keys depth, tokens heads width, rows heads width depth, sequences, "
      "tokens heads?, tokens heads?">(in.query, in.key, in.value, states.state, in.lengths, in.beta, in.gate);
  SIM_CHECK(remainder_of(heads, key_heads) == 0, heads, " heads of values for ", key_heads, " of keys");
  SIM_CHECK(heads <= 256 && key_heads <= 256 && width <= 512 && depth <= 512, "value ", in.value.sizes(), " and key ",
            in.key.sizes(), "; allowed: 256 heads and depths of 512 at most");
  SIM_CHECK(states.places.defined() || rows == sequences, "states of ", sequences, " sequences expected, got ",
            states.state.sizes());
  if (in.gate_of_keys.defined())
    of_dtype("gk", in.gate_of_keys, {at::kFloat}), shape(in.gate_of_keys, {tokens, heads, depth});
  if (states.places.defined()) shape(states.places, {tokens});
  if (states.accepted.defined()) shape(states.accepted, {in.lengths.size(0)});
  SIM_CHECK(!short_sequences || states.places.defined(), "ssm_state_indices are not there");
  like(out, in.value);
}

at::Tensor run(const Tokens& in, const States& states) {
  const int64_t heads = in.value.size(1), each = divided(heads, in.key.size(1)), tokens = in.value.size(0);
  const at::Tensor query = wide(in.query).mul(in.scale).repeat_interleave(each, 1);
  const at::Tensor key = wide(in.key).repeat_interleave(each, 1), value = wide(in.value);
  const at::Tensor beta = in.beta.defined() ? wide(in.beta) : at::ones({tokens, heads});
  at::Tensor decay = in.gate.defined() ? in.gate.exp().unsqueeze(-1) : at::ones({tokens, heads, 1});
  if (in.gate_of_keys.defined()) decay = decay.mul(in.gate_of_keys.exp());
  const Dims lengths = groups::numbers(in.lengths), rows = groups::numbers(states.places),
             accepted = groups::numbers(states.accepted);
  const int64_t available = states.state.size(0);
  for (const int64_t row : rows) SIM_CHECK(row >= 0 && row < available, "a state ", row, " of ", available);

  const at::Tensor out = at::empty(in.value.sizes(), at::kFloat);
  int64_t token = 0;
  for (size_t item = 0; item < lengths.size(); ++item) {
    const int64_t end = token + lengths[item];
    SIM_CHECK(lengths[item] >= 0 && end <= tokens, "actual_seq_lengths reach token ", end, " of ", tokens);
    if (token == end) continue;
    const int64_t taken = accepted.empty() ? 1 : accepted[item];
    SIM_CHECK(taken >= 1 && taken <= lengths[item], "num_accepted_tokens ", taken, " of ", lengths[item]);
    at::Tensor state = wide(states.state[rows.empty() ? int64_t(item) : rows[size_t(token + taken - 1)]]).clone();
    for (; token < end; ++token) {
      const at::Tensor k = key[token].unsqueeze(-1);
      state.mul_(decay[token].unsqueeze(1));
      const at::Tensor missing = value[token].sub(at::matmul(state, k).squeeze(-1)).mul(beta[token].unsqueeze(-1));
      state.baddbmm_(missing.unsqueeze(-1), k.transpose(1, 2));
      out[token].copy_(at::matmul(state, query[token].unsqueeze(-1)).squeeze(-1));
      if (!rows.empty()) states.state[rows[size_t(token)]].copy_(state);
    }
    if (rows.empty()) states.state[int64_t(item)].copy_(state);
  }
  return out;
}

}  // namespace sim::delta_rule
