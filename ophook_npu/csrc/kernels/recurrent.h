// Recurrent layers one upon the other, in one or both directions, over those of kernels/rnn.h, and the step of an LSTM
// that comes after its matrix products. In float, whatever the data's type.
#pragma once

#include "kernels/rnn.h"

namespace sim::kernels {

// Gates stand as input, candidate, forget, output, side by side.
struct LstmCell {
  at::Tensor hidden, cell, gates;  // the gates after their activation
};
LstmCell lstm_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cell,
                   const at::Tensor& input_bias, const at::Tensor& hidden_bias);
struct LstmCellGradients {
  at::Tensor gates, cell, bias;  // of the gates before their activation
};
// A gradient that is absent is 0.
LstmCellGradients lstm_cell_backward(const at::Tensor& grad_hidden, const at::Tensor& grad_cell, const at::Tensor& cell,
                                     const at::Tensor& new_cell, const at::Tensor& gates);

// x is (time, batch, features), or has the batch first. Where sequences differ in length, `batch_sizes` says for each
// step how many of them have not ended, the longest being the first; x is then (time * batch, features). Parameters lie
// as torch has them: for each layer and direction (a pass) the weights of the input and of the state, (gates * hidden,
// …), and their biases where there are some; gates in the order input, forget, candidate, output, or reset, update,
// candidate. States are (passes, batch, hidden).
struct Layers {
  bool has_bias;
  int64_t count;
  bool both_ways, batch_first;
  at::Tensor batch_sizes = {};

  size_t ways() const { return both_ways ? 2 : 1; }
  size_t passes() const { return size_t(count) * ways(); }
  size_t parameters() const { return has_bias ? 4 : 2; }  // of a pass
};
struct LstmLayers {
  at::Tensor output, last, last_cell;
  std::vector<LstmSaved> passes;
};
// `start`: the first states and cells, or nothing.
LstmLayers lstm_layers(const at::Tensor& x, const Tensors& parameters, const Tensors& start, const Layers& how);
struct LstmLayersGradients {
  at::Tensor x, start, start_cell;
  Tensors parameters;
};
// What the passes hold of their first states is not read. The gradient of a last state that is absent or empty is 0.
LstmLayersGradients lstm_layers_backward(const at::Tensor& x, const Tensors& parameters, const Tensors& start,
                                         const at::Tensor& grad, const at::Tensor& grad_last,
                                         const at::Tensor& grad_last_cell, const std::vector<LstmSaved>& passes,
                                         const Layers& how);
struct GruLayers {
  at::Tensor output, last;
  std::vector<GruSaved> passes;
};
GruLayers gru_layers(const at::Tensor& x, const Tensors& parameters, const at::Tensor& start, const Layers& how);
struct GruLayersGradients {
  at::Tensor x, start;
  Tensors parameters;
};
// `start`: the first states in one tensor, or one for each pass. What the passes hold of them is not read.
GruLayersGradients gru_layers_backward(const at::Tensor& x, const Tensors& parameters, const Tensors& start,
                                       const at::Tensor& grad, const at::Tensor& grad_last,
                                       const std::vector<GruSaved>& passes, const Layers& how);

}  // namespace sim::kernels
