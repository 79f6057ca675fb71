#include "kernels/rnn.h"

namespace sim::kernels {
namespace {

// The order in which time is walked.
Dims steps(int64_t length, bool reversed) {
  Dims out(static_cast<size_t>(length));
  for (int64_t t = 0; t < length; ++t) out[static_cast<size_t>(t)] = reversed ? length - 1 - t : t;
  return out;
}

// An invalid step keeps the state and gives 0.
at::Tensor masked(const at::Tensor& mask, int64_t t, const at::Tensor& value, const at::Tensor& otherwise) {
  return mask.defined() ? at::where(mask[t] != 0, value, otherwise) : value;
}

}  // namespace

Tensors lstm(const LstmInput& of, const at::Tensor& bias, at::Tensor h, at::Tensor c, const Lstm& how) {
  const int64_t length = of.x.size(0);
  at::Tensor inner = at::matmul(of.x, of.w_x);
  if (bias.defined()) inner = inner + bias;
  std::array<Tensors, 8> all;
  for (auto& one : all) one.resize(static_cast<size_t>(length));
  for (int64_t t : steps(length, how.reversed)) {
    Tensors gates = at::chunk(inner[t] + at::matmul(h, of.w_h), 4, 1);
    at::Tensor i = at::sigmoid(gates[static_cast<size_t>(how.places[0])]),
               j = at::tanh(gates[static_cast<size_t>(how.places[1])]);
    at::Tensor f = at::sigmoid(gates[static_cast<size_t>(how.places[2])] + how.forget_bias),
               o = at::sigmoid(gates[static_cast<size_t>(how.places[3])]);
    at::Tensor cell = f * c + i * j, tanh_c = at::tanh(cell), y = o * tanh_c;
    c = masked(of.mask, t, cell, c);
    h = masked(of.mask, t, y, h);
    const at::Tensor results[] = {masked(of.mask, t, y, at::zeros_like(y)), h, c, i, j, f, o, tanh_c};
    for (size_t k = 0; k < 8; ++k) all[k][static_cast<size_t>(t)] = results[k];
  }
  Tensors out;
  for (auto& one : all) out.push_back(at::stack(one));
  return out;
}

LstmGradients lstm_backward(const LstmInput& of, const LstmSaved& saved, const at::Tensor& dy, at::Tensor dh,
                            at::Tensor dc, const Lstm& how) {
  const int64_t hidden = of.w_h.size(0);
  const auto& [h0, c0, h, c, i, j, f, o, tanh_c] = saved;
  LstmGradients out{
      at::zeros_like(of.w_x), at::zeros_like(of.w_h), at::zeros_like(of.x), at::zeros({4 * hidden}), {}, {}};
  Dims order = steps(of.x.size(0), how.reversed);
  for (size_t k = order.size(); k-- > 0;) {
    int64_t t = order[k];
    at::Tensor h_before = k ? h[order[k - 1]] : h0, c_before = k ? c[order[k - 1]] : c0;
    at::Tensor d = dh + dy[t], d_cell = dc + d * o[t] * (1 - tanh_c[t].square());
    std::array<at::Tensor, 4> gate = {d_cell * j[t] * i[t] * (1 - i[t]), d_cell * i[t] * (1 - j[t].square()),
                                      d_cell * c_before * f[t] * (1 - f[t]), d * tanh_c[t] * o[t] * (1 - o[t])};
    Tensors ordered(4);
    for (size_t n = 0; n < 4; ++n)
      ordered[static_cast<size_t>(how.places[n])] = masked(of.mask, t, gate[n], at::zeros_like(gate[n]));
    at::Tensor gates = at::concat(ordered, 1);
    out.dx[t].copy_(at::matmul(gates, of.w_x.t()));
    out.dw_x += at::matmul(of.x[t].t(), gates);
    out.dw_h += at::matmul(h_before.t(), gates);
    out.db += gates.sum(0);
    dh = masked(of.mask, t, at::matmul(gates, of.w_h.t()), dh);
    dc = masked(of.mask, t, d_cell * f[t], dc);
  }
  out.dh = dh;
  out.dc = dc;
  return out;
}

Tensors gru(const at::Tensor& x, const at::Tensor& w_x, const at::Tensor& w_h, const at::Tensor& b_x,
            const at::Tensor& b_h, at::Tensor h, bool reset_first, bool reset_after) {
  const int64_t hidden = w_h.size(0);
  at::Tensor inner = at::matmul(x, w_x);
  if (b_x.defined()) inner = inner + b_x;
  const size_t r_at = reset_first ? 0 : 1;
  std::array<Tensors, 5> all;
  for (int64_t t = 0; t < x.size(0); ++t) {
    at::Tensor outer = at::matmul(h, w_h);
    if (b_h.defined()) outer = outer + b_h;
    Tensors gates_x = at::chunk(inner[t], 3, 1), gates_h = at::chunk(outer, 3, 1);
    at::Tensor r = at::sigmoid(gates_x[r_at] + gates_h[r_at]), z = at::sigmoid(gates_x[1 - r_at] + gates_h[1 - r_at]);
    if (!reset_after) {
      gates_h[2] = at::matmul(r * h, w_h.narrow(1, 2 * hidden, hidden));
      if (b_h.defined()) gates_h[2] = gates_h[2] + b_h.narrow(0, 2 * hidden, hidden);
    }
    at::Tensor candidate = at::tanh(gates_x[2] + (reset_after ? r * gates_h[2] : gates_h[2]));
    h = (1 - z) * candidate + z * h;
    const at::Tensor results[] = {h, z, r, candidate, gates_h[2]};
    for (size_t k = 0; k < 5; ++k) all[k].push_back(results[k]);
  }
  Tensors out = {at::stack(all[0])};
  for (auto& one : all) out.push_back(at::stack(one));
  return out;
}

Tensors gru_backward(const at::Tensor& x, const at::Tensor& w_x, const at::Tensor& w_h, const GruSaved& saved,
                     const at::Tensor& dy, at::Tensor dh, bool reset_first) {
  const int64_t hidden = w_h.size(0);
  const auto& [h0, h, z, r, candidate, inner_h] = saved;
  at::Tensor dw_x = at::zeros_like(w_x), dw_h = at::zeros_like(w_h), dx = at::zeros_like(x);
  at::Tensor db_x = at::zeros({3 * hidden}), db_h = at::zeros({3 * hidden});
  for (int64_t t = x.size(0) - 1; t >= 0; --t) {
    at::Tensor before = t ? h[t - 1] : h0, d = dh + dy[t];
    at::Tensor dn = d * (1 - z[t]) * (1 - candidate[t].square());
    at::Tensor dz = d * (before - candidate[t]) * z[t] * (1 - z[t]), dr = dn * inner_h[t] * r[t] * (1 - r[t]);
    at::Tensor first = reset_first ? dr : dz, second = reset_first ? dz : dr;
    at::Tensor gates_x = at::concat({first, second, dn}, 1), gates_h = at::concat({first, second, dn * r[t]}, 1);
    dx[t].copy_(at::matmul(gates_x, w_x.t()));
    dw_x += at::matmul(x[t].t(), gates_x);
    dw_h += at::matmul(before.t(), gates_h);
    db_x += gates_x.sum(0);
    db_h += gates_h.sum(0);
    dh = d * z[t] + at::matmul(gates_h, w_h.t());
  }
  return {dw_x, dw_h, db_x, db_h, dx, dh};
}

LstmWeight split_weight(const at::Tensor& weight, int64_t inputs) {
  const at::Tensor w = wide(weight);
  return {w.narrow(0, 0, inputs), w.narrow(0, inputs, w.size(0) - inputs)};
}

at::Tensor joined_weight(const at::Tensor& w_x, const at::Tensor& w_h) { return at::concat({w_x, w_h}); }

at::Tensor first_state(const at::Tensor& given, int64_t batch, int64_t hidden) {
  return given.defined() ? wide(given).reshape({batch, hidden}) : at::zeros({batch, hidden});
}

}  // namespace sim::kernels
