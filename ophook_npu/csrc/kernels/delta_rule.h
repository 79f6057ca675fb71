// The gated delta rule: a state (values, keys) of each head, to which every token adds what it does not hold yet.
//   state = state exp(g);  state += beta (value - state key) key';  out = state query scale
#pragma once

#include "kernels/tensors.h"

namespace sim::delta_rule {

// query, key (tokens, key heads, depth), value (tokens, heads, width), one sequence after the other; an undefined
// tensor is absent.
struct Tokens {
  const at::Tensor &query, &key, &value, &beta, &lengths;
  at::Tensor gate{}, gate_of_keys{};  // logarithms, (tokens, heads) and (tokens, heads, depth)
  double scale = 1;
};
// Where the state before a sequence is, and where the one after each of its tokens goes: rows of `state`.
struct States {
  const at::Tensor& state;  // (rows, heads, width, depth)
  at::Tensor places{};      // for each token; without them a sequence's first and last state is its own row
  at::Tensor accepted{};    // of the tokens before: which of a sequence's places has its first state, from 1
};

void tokens_like(const Tokens& tokens, const States& states, bool short_sequences, const at::Tensor& out);
// Writes the states where they belong.
at::Tensor run(const Tokens& tokens, const States& states);

}  // namespace sim::delta_rule
