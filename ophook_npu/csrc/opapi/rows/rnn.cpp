// Recurrent layers, and the step of one that fuses what follows its matrix products.
#include "kernels/members.h"
#include "kernels/pattern.h"
#include "kernels/recurrent.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {

void cell_like(const at::Tensor& input, const at::Tensor& hidden, const at::Tensor& cx, const at::Tensor& hy,
               const at::Tensor& cy, const at::Tensor& storage) {
  sim::shapes<"rows 4h, n h, rows 4h? -> n h, n h, rows 4h">(input, cx, hidden, hy, cy, storage);
}

void write_cell_gradients(const at::Tensor& gates, const at::Tensor& cx, const at::Tensor& bias, bool has_bias,
                          const kernels::LstmCellGradients& result) {
  write(gates, result.gates);
  write(cx, result.cell);
  if (has_bias) write(bias, result.bias);
}

// Parameters of each pass, and where the training asks for them a tensor of each list.
void layers_like(const at::Tensor& input, const Tensors& parameters, const Tensors& start, const kernels::Layers& how,
                 const at::Tensor& output, std::initializer_list<at::Tensor> last, bool train,
                 const std::initializer_list<Tensors>& saved) {
  Dims sizes = input.sizes().vec();
  if (how.batch_sizes.defined()) {
    const int64_t steps = how.batch_sizes.numel();
    SIM_CHECK(how.batch_sizes.dim() == 1 && steps > 0 && !how.batch_first, "batchSizes of shape ",
              how.batch_sizes.sizes(), "; allowed: a number for each step, where the batch is not first");
    SIM_CHECK(input.dim() == 2 && input.size(0) % steps == 0, "input of shape ", input.sizes(), " with ", steps,
              " batchSizes; allowed: [time_step * batch_size, input_size]");
    sizes = {steps, input.size(0) / steps, input.size(1)};
  }
  SIM_CHECK(sizes.size() == 3, "input of three dimensions expected, got ", input.sizes());
  SIM_CHECK(how.count > 0 && parameters.size() == how.parameters() * how.passes(), parameters.size(),
            " parameters for ", how.passes(), " passes of ", how.parameters());
  const int64_t hidden = parameters[1].size(-1);
  const int64_t width = hidden * int64_t(how.ways());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor &weight = parameters[i - i % how.parameters()], &one = parameters[i];
    if (i % how.parameters() < 2)
      shape(one, {weight.size(0), i % how.parameters()                ? hidden
                                  : i < how.parameters() * how.ways() ? sizes[2]
                                                                      : width});
    else shape(one, {weight.size(0)});
  }
  if (how.batch_sizes.defined() && output.dim() == 2) {  // a gradient's
    shape(output, {input.size(0), width});
  } else {
    shape(output, {sizes[0], sizes[1], width});
  }
  const std::array<int64_t, 3> state{int64_t(how.passes()), sizes[how.batch_first ? 0 : 1], hidden};
  for (const at::Tensor& each : start) shape(each, state);
  for (const at::Tensor& each : last) shape(each, state);
  for (const Tensors& list : saved)
    SIM_CHECK(!train || list.size() == how.passes(), list.size(), " tensors of a gate or state for ", how.passes(),
              " passes");
}

// What a training keeps of each step, time first.
void steps_like(const at::Tensor& input, const Tensors& parameters, const kernels::Layers& how, bool train,
                const std::initializer_list<Tensors>& saved) {
  if (!train) return;
  const int64_t steps = how.batch_sizes.defined() ? how.batch_sizes.numel() : input.size(how.batch_first ? 1 : 0);
  const int64_t rows = how.batch_sizes.defined() ? input.size(0) : input.size(0) * input.size(1);
  for (const Tensors& list : saved)
    for (const at::Tensor& each : list) shape(each, {steps, divided(rows, steps), parameters[1].size(-1)});
}

void parameter_gradients_like(const Tensors& gradients, const Tensors& parameters) {
  SIM_CHECK(gradients.size() == parameters.size(), gradients.size(), " gradients for ", parameters.size(),
            " parameters");
  for (size_t i = 0; i < gradients.size(); ++i) like(gradients[i], parameters[i]);
}

// As the page of aclnnGRU says.
void same_length(const at::Tensor& batch_sizes) {
  SIM_CHECK(!batch_sizes.defined(), "batchSizes (sequences of different lengths) is not supported yet; allowed: null");
}

void write_lstm(const at::Tensor& output, const at::Tensor& last, const at::Tensor& last_cell, bool train,
                const Tensors& i, const Tensors& j, const Tensors& f, const Tensors& o, const Tensors& h,
                const Tensors& c, const Tensors& tanh_c, const kernels::LstmLayers& result) {
  write(output, result.output);
  write(last, result.last);
  write(last_cell, result.last_cell);
  if (!train) return;
  for (size_t at = 0; at < result.passes.size(); ++at) {
    const kernels::LstmSaved& pass = result.passes[at];
    write(i[at], pass.i), write(j[at], pass.j), write(f[at], pass.f), write(o[at], pass.o);
    write(h[at], pass.h), write(c[at], pass.c), write(tanh_c[at], pass.tanh_c);
  }
}

std::vector<kernels::LstmSaved> saved_passes(const Tensors& i, const Tensors& j, const Tensors& f, const Tensors& o,
                                             const Tensors& h, const Tensors& c, const Tensors& tanh_c) {
  std::vector<kernels::LstmSaved> passes;
  for (size_t at = 0; at < i.size(); ++at)
    passes.push_back({{}, {}, h[at], c[at], i[at], j[at], f[at], o[at], tanh_c[at]});
  return passes;
}

void write_lstm_gradients(const at::Tensor& x, const at::Tensor& start, const at::Tensor& start_cell,
                          const Tensors& parameters, const kernels::LstmLayersGradients& result) {
  write(x, result.x);
  write(start, result.start);
  write(start_cell, result.start_cell);
  for (size_t i = 0; i < parameters.size(); ++i) write(parameters[i], result.parameters[i]);
}

void write_gru(const at::Tensor& output, const at::Tensor& last, bool train, const Tensors& r, const Tensors& z,
               const Tensors& n, const Tensors& inner, const Tensors& h, const kernels::GruLayers& result) {
  write(output, result.output);
  write(last, result.last);
  if (!train) return;
  for (size_t at = 0; at < result.passes.size(); ++at) {
    const kernels::GruSaved& pass = result.passes[at];
    write(r[at], pass.r), write(z[at], pass.z), write(n[at], pass.candidate);
    write(inner[at], pass.inner_h), write(h[at], pass.h);
  }
}

std::vector<kernels::GruSaved> saved_passes(const Tensors& r, const Tensors& z, const Tensors& n, const Tensors& inner,
                                            const Tensors& h) {
  std::vector<kernels::GruSaved> passes;
  for (size_t at = 0; at < r.size(); ++at) passes.push_back({{}, h[at], z[at], r[at], n[at], inner[at]});
  return passes;
}

void write_gru_gradients(const at::Tensor& x, const at::Tensor& start, const Tensors& parameters,
                         const kernels::GruLayersGradients& result) {
  write(x, result.x);
  write(start, result.start.reshape(start.sizes()));
  for (size_t i = 0; i < parameters.size(); ++i) write(parameters[i], result.parameters[i]);
}

}  // namespace

#define LAYERS (kernels::Layers{.has_bias = has_bias, .count = layers, NAMED(both_ways, batch_first, batch_sizes)})

ACLNN(LSTM,
      (In, input, List, parameters, List, start, In, batch_sizes, bool, has_bias, int64_t, layers, double, dropout,
       bool, train, bool, both_ways, bool, batch_first, Out, output, Out, last, Out, last_cell, List, i, List, j, List,
       f, List, o, List, h, List, c, List, tanh_c),
      (layers_like(input, parameters, start, LAYERS, output, {last, last_cell}, train, {i, j, f, o, h, c, tanh_c}),
       steps_like(input, parameters, LAYERS, train, {i, j, f, o, h, c, tanh_c})),
      write_lstm(output, last, last_cell, train, i, j, f, o, h, c, tanh_c,
                 kernels::lstm_layers(input, parameters, start, LAYERS)))
ACLNN(LstmBackward,
      (In, input, List, start, List, parameters, In, grad, In, grad_last, In, grad_last_cell, List, i, List, j, List, f,
       List, o, List, h, List, c, List, tanh_c, In, batch_sizes, bool, has_bias, int64_t, layers, double, dropout, bool,
       train, bool, both_ways, bool, batch_first, Bools, mask, Out, out, Out, out_start, Out, out_start_cell, List,
       out_parameters),
      (layers_like(input, parameters, start, LAYERS, grad, {out_start, out_start_cell, grad_last, grad_last_cell}, true,
                   {i, j, f, o, h, c, tanh_c}),
       steps_like(input, parameters, LAYERS, true, {i, j, f, o, h, c, tanh_c}), like(out, input),
       parameter_gradients_like(out_parameters, parameters)),
      write_lstm_gradients(out, out_start, out_start_cell, out_parameters,
                           kernels::lstm_layers_backward(input, parameters, start, grad, grad_last, grad_last_cell,
                                                         saved_passes(i, j, f, o, h, c, tanh_c), LAYERS)))
ACLNN(GRU,
      (In, input, List, parameters, In, hx, In, batch_sizes, bool, has_bias, int64_t, layers, double, dropout, bool,
       train, bool, both_ways, bool, batch_first, Out, output, Out, last, List, r, List, z, List, n, List, inner, List,
       h),
      same_length(batch_sizes);
      layers_like(input, parameters, {hx}, LAYERS, output, {last}, train, {r, z, n, inner, h});
      steps_like(input, parameters, LAYERS, train, {r, z, n, inner, h}),
      write_gru(output, last, train, r, z, n, inner, h, kernels::gru_layers(input, parameters, hx, LAYERS)))
ACLNN(GRUBackward,
      (In, input, List, parameters, In, start, In, grad, In, grad_last, List, r, List, z, List, n, List, inner, List, h,
       In, batch_sizes, bool, has_bias, int64_t, layers, bool, both_ways, bool, batch_first, Out, out, Out, out_start,
       List, out_parameters),
      (same_length(batch_sizes), layers_like(input, parameters, {}, LAYERS, grad, {}, true, {r, z, n, inner, h}),
       steps_like(input, parameters, LAYERS, true, {r, z, n, inner, h}), like(out, input),
       parameter_gradients_like(out_parameters, parameters), asked({out_start}, start.sizes())),
      write_gru_gradients(out, out_start, out_parameters,
                          kernels::gru_layers_backward(input, parameters, {start}, grad, grad_last,
                                                       saved_passes(r, z, n, inner, h), LAYERS)))
ACLNN(ThnnFusedLstmCell,
      (In, input_gates, In, hidden_gates, In, cx, In, input_bias, In, hidden_bias, Out, hy, Out, cy, Out, storage),
      cell_like(input_gates, hidden_gates, cx, hy, cy, storage);
      shape(input_bias, {input_gates.size(1)}); shape(hidden_bias, {input_gates.size(1)});
      SIM_CHECK(input_bias.defined() == hidden_bias.defined(), "inputBias and hiddenBias go together"),
      kernels::write_members({hy, cy, storage},
                             kernels::lstm_cell(input_gates, hidden_gates, cx, input_bias, hidden_bias)))
ACLNN(ThnnFusedLstmCellBackward,
      (In, grad_hy, In, grad_cy, In, cx, In, cy, In, storage, bool, has_bias, Out, out_gates, Out, out_cx, Out,
       out_bias),
      has_bias ? shape(out_bias, {storage.size(1)}) : when_run(),
      write_cell_gradients(out_gates, out_cx, out_bias, has_bias,
                           kernels::lstm_cell_backward(grad_hy, grad_cy, cx, cy, storage)))
