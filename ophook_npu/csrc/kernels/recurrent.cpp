#include "kernels/recurrent.h"

namespace sim::kernels {
namespace {

at::Tensor complement(const at::Tensor& x) { return x.neg().add(1); }

// y (1 - y), the slope of a sigmoid by its value
at::Tensor bell(const at::Tensor& y) { return y.mul(complement(y)); }

Lstm torchs_gates(bool reversed) { return {{0, 2, 1, 3}, reversed}; }

at::Tensor time_first(const at::Tensor& x, const Layers& how) {
  if (how.batch_sizes.defined()) return wide(x).reshape({how.batch_sizes.size(0), -1, x.size(-1)});
  return how.batch_first ? wide(x).transpose(0, 1) : wide(x);
}

// (time, batch, 1): whether the sequence has such a step. Undefined: all have.
at::Tensor lasting(const at::Tensor& input, const Layers& how) {
  if (!how.batch_sizes.defined()) return {};
  const at::Tensor left = how.batch_sizes.to(at::kLong).unsqueeze(1);
  return at::lt(at::arange(input.size(1), at::kLong), left).unsqueeze(2);
}

at::Tensor first_state(const Tensors& start, size_t which, size_t pass, const at::Tensor& x, int64_t hidden) {
  return start.size() > which && start[which].defined() ? wide(start[which])[int64_t(pass)]
                                                        : at::zeros({x.size(1), hidden});
}

at::Tensor of_last_state(const at::Tensor& grad, size_t pass, const at::Tensor& x, int64_t hidden) {
  return grad.defined() && grad.numel() ? wide(grad)[int64_t(pass)] : at::zeros({x.size(1), hidden});
}

// A pass's share of the parameters, turned so that inputs are multiplied from the left.
struct Weights {
  Weights(const Tensors& parameters, size_t pass, const Layers& how) {
    const size_t at = pass * how.parameters();
    x = wide(parameters[at]).t(), h = wide(parameters[at + 1]).t();
    if (how.has_bias) b_x = wide(parameters[at + 2]), b_h = wide(parameters[at + 3]);
  }
  at::Tensor both_biases() const { return b_x.defined() ? b_x.add(b_h) : b_x; }
  at::Tensor x, h, b_x, b_h;
};

// What the layer before gave: the states of its passes side by side, or the first input.
template <typename Saved>
at::Tensor input_of(const at::Tensor& first_input, const std::vector<Saved>& passes, int64_t layer, const Layers& how) {
  if (layer == 0) return first_input;
  const size_t base = size_t(layer) * how.ways();
  const at::Tensor last = wide(passes[base - 1].h);
  return how.both_ways ? at::concat({wide(passes[base - 2].h), last}, -1) : last;
}

// The layers from the first one. run(input, pass, reversed) gives what a pass gives; the last layer's are the result.
template <typename F>
at::Tensor each_layer(const at::Tensor& x, const Layers& how, F run) {
  at::Tensor input = time_first(x, how);
  for (int64_t layer = 0; layer < how.count; ++layer) {
    const size_t first = size_t(layer) * how.ways();
    const at::Tensor output = run(input, first, false);
    input = how.both_ways ? at::concat({output, run(input, first + 1, true)}, -1) : output;
  }
  return how.batch_first ? input.transpose(0, 1) : input;
}

// Of one pass: of its input, its first state, both weights and both biases.
struct PassGradients {
  at::Tensor x, start, w_x, w_h, b_x, b_h;
};

struct BackwardLayers {
  at::Tensor x, start;
  Tensors parameters;
};

// The layers from the last one, whose output `grad` is of. pass(input, pass, slope) gives the gradients of one, where
// `slope` is that of what the pass gave.
template <typename Saved, typename F>
BackwardLayers backward_layers(const at::Tensor& x, const Tensors& parameters, const at::Tensor& grad,
                               const std::vector<Saved>& passes, const Layers& how, F pass_backward) {
  const at::Tensor first_input = time_first(x, how);
  const int64_t hiddens = int64_t(how.ways()) * parameters[1].size(-1);
  at::Tensor to_output =  // none where nothing but the last state was used
      grad.defined() ? time_first(grad, how) : at::zeros({first_input.size(0), first_input.size(1), hiddens});
  Tensors to_start(passes.size()), to_parameters(parameters.size());
  for (int64_t layer = how.count - 1; layer >= 0; --layer) {
    const at::Tensor input = input_of(first_input, passes, layer, how);
    at::Tensor to_input = at::zeros_like(input);
    for (size_t way = 0; way < how.ways(); ++way) {
      const size_t pass = size_t(layer) * how.ways() + way, at = pass * how.parameters();
      const int64_t hidden = parameters[at + 1].size(-1);
      const PassGradients made = pass_backward(input, pass, to_output.narrow(-1, int64_t(way) * hidden, hidden));
      to_input.add_(made.x);
      to_start[pass] = made.start;
      to_parameters[at] = made.w_x.t(), to_parameters[at + 1] = made.w_h.t();
      if (how.has_bias) to_parameters[at + 2] = made.b_x, to_parameters[at + 3] = made.b_h;
    }
    to_output = to_input;
  }
  const at::Tensor to_x = how.batch_first ? to_output.transpose(0, 1) : to_output;
  return {to_x.reshape(x.sizes()), at::stack(to_start), to_parameters};
}

}  // namespace

LstmCell lstm_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cell,
                   const at::Tensor& input_bias, const at::Tensor& hidden_bias) {
  auto gates = wide(input_gates).add(wide(hidden_gates));
  if (input_bias.defined()) gates = gates.add(wide(input_bias).add(wide(hidden_bias)));
  Tensors parts = gates.chunk(4, -1);
  auto input = parts[0].sigmoid(), candidate = parts[1].tanh(), forget = parts[2].sigmoid(),
       output = parts[3].sigmoid();
  auto next = forget.mul(wide(cell)).add(input.mul(candidate));
  return {output.mul(next.tanh()), next, at::concat({input, candidate, forget, output}, -1)};
}

LstmCellGradients lstm_cell_backward(const at::Tensor& grad_hidden, const at::Tensor& grad_cell, const at::Tensor& cell,
                                     const at::Tensor& new_cell, const at::Tensor& gates) {
  Tensors parts = wide(gates).chunk(4, -1);
  const at::Tensor &input = parts[0], &candidate = parts[1], &forget = parts[2], &output = parts[3];
  auto bounded = wide(new_cell).tanh();
  auto slope = grad_hidden.defined() ? wide(grad_hidden) : at::zeros_like(bounded);
  auto whole = slope.mul(output).mul(complement(bounded.square()));
  if (grad_cell.defined()) whole = whole.add(wide(grad_cell));
  auto to_gates =
      at::concat({whole.mul(candidate).mul(bell(input)), whole.mul(input).mul(complement(candidate.square())),
                  whole.mul(wide(cell)).mul(bell(forget)), slope.mul(bounded).mul(bell(output))},
                 -1);
  return {to_gates, whole.mul(forget), to_gates.sum(0)};
}

LstmLayers lstm_layers(const at::Tensor& x, const Tensors& parameters, const Tensors& start, const Layers& how) {
  const at::Tensor lasts = lasting(time_first(x, how), how);
  LstmLayers result;
  Tensors last, cells;
  result.output = each_layer(x, how, [&](const at::Tensor& input, size_t pass, bool reversed) {
    const Weights weights(parameters, pass, how);
    auto h0 = first_state(start, 0, pass, input, weights.h.size(0));
    auto c0 = first_state(start, 1, pass, input, weights.h.size(0));
    auto made = lstm({.x = input, .w_x = weights.x, .w_h = weights.h, .mask = lasts}, weights.both_biases(), h0, c0,
                     torchs_gates(reversed));
    result.passes.push_back({h0, c0, made[1], made[2], made[3], made[4], made[5], made[6], made[7]});
    last.push_back(made[1][reversed ? 0 : -1]), cells.push_back(made[2][reversed ? 0 : -1]);
    return made[0];
  });
  result.last = at::stack(last), result.last_cell = at::stack(cells);
  return result;
}

LstmLayersGradients lstm_layers_backward(const at::Tensor& x, const Tensors& parameters, const Tensors& start,
                                         const at::Tensor& grad, const at::Tensor& grad_last,
                                         const at::Tensor& grad_last_cell, const std::vector<LstmSaved>& passes,
                                         const Layers& how) {
  Tensors to_cell(passes.size());
  const at::Tensor lasts = lasting(time_first(x, how), how);
  const auto whole = backward_layers(
      x, parameters, grad, passes, how, [&](const at::Tensor& input, size_t pass, const at::Tensor& slope) {
        const Weights weights(parameters, pass, how);
        const int64_t hidden = weights.h.size(0);
        const LstmSaved& told = passes[pass];
        const LstmSaved saved{first_state(start, 0, pass, input, hidden),
                              first_state(start, 1, pass, input, hidden),
                              wide(told.h),
                              wide(told.c),
                              wide(told.i),
                              wide(told.j),
                              wide(told.f),
                              wide(told.o),
                              wide(told.tanh_c)};
        auto made =
            lstm_backward({.x = input, .w_x = weights.x, .w_h = weights.h, .mask = lasts}, saved, slope,
                          of_last_state(grad_last, pass, input, hidden),
                          of_last_state(grad_last_cell, pass, input, hidden), torchs_gates(pass % how.ways() == 1));
        to_cell[pass] = made.dc;
        return PassGradients{made.dx, made.dh, made.dw_x, made.dw_h, made.db, made.db};
      });
  return {whole.x, whole.start, at::stack(to_cell), whole.parameters};
}

GruLayers gru_layers(const at::Tensor& x, const Tensors& parameters, const at::Tensor& start, const Layers& how) {
  GruLayers result;
  Tensors last;
  result.output = each_layer(x, how, [&](const at::Tensor& input, size_t pass, bool reversed) {
    const Weights weights(parameters, pass, how);
    auto h0 = first_state({start}, 0, pass, input, weights.h.size(0));
    auto turned = [&](const at::Tensor& steps) { return reversed ? steps.flip(0) : steps; };
    auto made = gru(turned(input), weights.x, weights.h, weights.b_x, weights.b_h, h0, true);
    last.push_back(made[1][-1]);
    result.passes.push_back({h0, turned(made[1]), turned(made[2]), turned(made[3]), turned(made[4]), turned(made[5])});
    return result.passes.back().h;
  });
  result.last = at::stack(last);
  return result;
}

GruLayersGradients gru_layers_backward(const at::Tensor& x, const Tensors& parameters, const Tensors& start,
                                       const at::Tensor& grad, const at::Tensor& grad_last,
                                       const std::vector<GruSaved>& passes, const Layers& how) {
  const int64_t batch = x.size(how.batch_first ? 0 : 1);
  Tensors states;
  for (const at::Tensor& one : start)
    if (one.defined()) states.push_back(wide(one).reshape({-1, batch, one.size(-1)}));
  if (!states.empty()) states = {at::concat(states)};
  const auto whole = backward_layers(
      x, parameters, grad, passes, how, [&](const at::Tensor& input, size_t pass, const at::Tensor& slope) {
        const Weights weights(parameters, pass, how);
        const int64_t hidden = weights.h.size(0);
        const bool reversed = pass % how.ways() == 1;
        auto turned = [&](const at::Tensor& steps) { return reversed ? steps.flip(0) : steps; };
        const GruSaved& told = passes[pass];
        const GruSaved saved{first_state(states, 0, pass, input, hidden),
                             turned(wide(told.h)),
                             turned(wide(told.z)),
                             turned(wide(told.r)),
                             turned(wide(told.candidate)),
                             turned(wide(told.inner_h))};
        auto made = gru_backward(turned(input), weights.x, weights.h, saved, turned(slope),
                                 of_last_state(grad_last, pass, input, hidden), true);
        return PassGradients{turned(made[4]), made[5], made[0], made[1], made[2], made[3]};
      });
  return {whole.x, whole.start, whole.parameters};
}

}  // namespace sim::kernels
