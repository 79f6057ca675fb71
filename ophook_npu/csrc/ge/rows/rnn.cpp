// Recurrent layers over time-major sequences: x is (T, B, input), states are (1, B, hidden), results (T, B, hidden).
#include <array>

#include "ge/rows/rows.h"

namespace sim::ge_table {
namespace {

void sequence(Shaper& s, size_t outputs, int32_t dtype, int64_t hidden) {
  Shape x = s.shape(0);
  if (x && x->size() != 3) throw Refused("its sequence is (time, batch, features), not " + s.describe(0));
  Shape out = x ? known({(*x)[0], (*x)[1], hidden}) : std::nullopt;
  for (size_t i = 0; i < outputs; ++i) s.out(i, dtype, out);
}

// The last dimension of a weight holds the gates side by side.
int64_t hidden_of(const Call& call, size_t weight, int64_t gates) {
  Shape shape = call.shape(weight);
  return shape && !shape->empty() && shape->back() >= 0 ? shape->back() / gates : static_cast<int64_t>(ge_unknown_dim);
}

void plain_layer(const Call& call) {
  call.only("cell_clip", -1.0);
  call.only("num_proj", 0.0);
  call.only("time_major", 1.0);
  call.only("use_peephole", 0.0);
}

bool backwards(const Call& call) {
  std::string direction = call.text("direction");
  if (direction != "UNIDIRECTIONAL" && direction != "REDIRECTIONAL")
    throw Refused("direction='" + direction + "' is not simulated");
  return direction == "REDIRECTIONAL";
}

// The order in which time is walked.
Dims steps(int64_t length, bool reversed) {
  Dims out(static_cast<size_t>(length));
  for (int64_t t = 0; t < length; ++t) out[static_cast<size_t>(t)] = reversed ? length - 1 - t : t;
  return out;
}

at::Tensor state(const Args& a, size_t input, int64_t batch, int64_t hidden) {
  return a.has(input) ? wide(a[input]).reshape({batch, hidden}) : at::zeros({batch, hidden});
}

// ---- LSTM -------------------------------------------------------------------------------------------------------
// Where the gates i, j (the cell candidate, also called c), f and o stand.
std::array<int64_t, 4> gate_places(const Call& call) {
  std::string order = call.text("gate_order");
  for (char& gate : order) gate = gate == 'c' ? 'j' : gate;
  std::array<int64_t, 4> out;
  const std::string gates = "ijfo";
  for (size_t i = 0; i < 4; ++i) {
    size_t place = order.find(gates[i]);
    if (order.size() != 4 || place == std::string::npos) throw Refused("gate_order='" + order + "' is not simulated");
    out[i] = static_cast<int64_t>(place);
  }
  return out;
}

void lstm_checks(const Call& call) {
  plain_layer(call);
  call.only("cell_type", "LSTM");
  call.only("activation", "tanh");
  backwards(call);
  gate_places(call);
}

void lstm_rule(Shaper& s) {
  lstm_checks(s);
  sequence(s, 8, s.dtype(0), hidden_of(s, 1, 4));
}

// The mask of valid steps that packed sequences have, as (T, B, 1 or hidden); undefined where every step is valid.
at::Tensor mask_of(const Args& a, size_t input) {
  if (!a.has(input) || a[input].numel() <= 1) return {};
  if (a[input].dim() != 3)
    throw Refused("its seq_length must be a mask (time, batch, hidden), it is " + a.describe(input));
  return wide(a[input]);
}

// An invalid step keeps the state and gives 0.
at::Tensor masked(const at::Tensor& mask, int64_t t, const at::Tensor& value, const at::Tensor& otherwise) {
  return mask.defined() ? at::where(mask[t] != 0, value, otherwise) : value;
}

Results lstm(const Args& a, const at::Tensor& w_x, const at::Tensor& w_h, const at::Tensor& bias, size_t h0_at) {
  at::Tensor x = wide(a[0]), mask = mask_of(a, h0_at - 1);
  int64_t length = x.size(0), batch = x.size(1), hidden = w_h.size(0);
  auto place = gate_places(a);
  at::Tensor h = state(a, h0_at, batch, hidden), c = state(a, h0_at + 1, batch, hidden);
  at::Tensor inner = at::matmul(x, w_x);
  if (bias.defined()) inner = inner + bias;
  std::array<Tensors, 8> all;
  for (auto& one : all) one.resize(static_cast<size_t>(length));
  for (int64_t t : steps(length, backwards(a))) {
    Tensors gates = at::chunk(inner[t] + at::matmul(h, w_h), 4, 1);
    at::Tensor i = at::sigmoid(gates[static_cast<size_t>(place[0])]),
               j = at::tanh(gates[static_cast<size_t>(place[1])]);
    at::Tensor f = at::sigmoid(gates[static_cast<size_t>(place[2])] + a.real("forget_bias")),
               o = at::sigmoid(gates[static_cast<size_t>(place[3])]);
    at::Tensor cell = f * c + i * j, tanh_c = at::tanh(cell), y = o * tanh_c;
    c = masked(mask, t, cell, c);
    h = masked(mask, t, y, h);
    const at::Tensor results[] = {masked(mask, t, y, at::zeros_like(y)), h, c, i, j, f, o, tanh_c};
    for (size_t k = 0; k < 8; ++k) all[k][static_cast<size_t>(t)] = results[k];
  }
  Results out;
  for (auto& one : all) out.push_back(at::stack(one));
  return out;
}

Results dynamic_rnn(const Args& a) {
  at::Tensor w = wide(a[1]);
  int64_t inputs = a[0].size(2);
  return lstm(a, w.narrow(0, 0, inputs), w.narrow(0, inputs, w.size(0) - inputs), wide(a[2]), 4);
}
Results dynamic_rnn_v2(const Args& a) {
  return lstm(a, wide(a[1]), wide(a[2]), a.has(3) ? wide(a[3]) : at::Tensor(), 5);
}

struct LstmGrads {
  at::Tensor dw_x, dw_h, dx, db, dh, dc;
};

// The saved values stand in the same order in both operators' inputs, from `y` at `y_at` on.
LstmGrads lstm_backward(const Args& a, const at::Tensor& w_x, const at::Tensor& w_h, size_t y_at, size_t mask_at) {
  at::Tensor x = wide(a[0]), mask = mask_of(a, mask_at);
  if (x.dim() == 2) x = x.unsqueeze(0);  // of a cell
  int64_t length = x.size(0), batch = x.size(1), hidden = w_h.size(0);
  at::Tensor h0 = state(a, y_at + 1, batch, hidden), c0 = state(a, y_at + 2, batch, hidden);
  at::Tensor h = wide(a[y_at + 3]), c = wide(a[y_at + 4]), dy = wide(a[y_at + 5]);
  at::Tensor dh = state(a, y_at + 6, batch, hidden), dc = state(a, y_at + 7, batch, hidden);
  at::Tensor i = wide(a[y_at + 8]), j = wide(a[y_at + 9]), f = wide(a[y_at + 10]), o = wide(a[y_at + 11]),
             tanh_c = wide(a[y_at + 12]);
  auto place = gate_places(a);
  LstmGrads out{at::zeros_like(w_x), at::zeros_like(w_h), at::zeros_like(x), at::zeros({4 * hidden}), {}, {}};
  Dims order = steps(length, backwards(a));
  for (size_t k = order.size(); k-- > 0;) {
    int64_t t = order[k];
    at::Tensor h_before = k ? h[order[k - 1]] : h0, c_before = k ? c[order[k - 1]] : c0;
    at::Tensor d = dh + dy[t], d_cell = dc + d * o[t] * (1 - tanh_c[t].square());
    std::array<at::Tensor, 4> gate = {d_cell * j[t] * i[t] * (1 - i[t]), d_cell * i[t] * (1 - j[t].square()),
                                      d_cell * c_before * f[t] * (1 - f[t]), d * tanh_c[t] * o[t] * (1 - o[t])};
    Tensors ordered(4);
    for (size_t n = 0; n < 4; ++n)
      ordered[static_cast<size_t>(place[n])] = masked(mask, t, gate[n], at::zeros_like(gate[n]));
    at::Tensor gates = at::cat(ordered, 1);
    out.dx[t].copy_(at::matmul(gates, w_x.t()));
    out.dw_x += at::matmul(x[t].t(), gates);
    out.dw_h += at::matmul(h_before.t(), gates);
    out.db += gates.sum(0);
    dh = masked(mask, t, at::matmul(gates, w_h.t()), dh);
    dc = masked(mask, t, d_cell * f[t], dc);
  }
  out.dh = dh;
  out.dc = dc;
  return out;
}

// Gradients have the shapes of the inputs that they belong to.
Results shaped(const Args& a, Results results) {
  for (size_t i = 0; i < results.size(); ++i) results[i] = results[i].reshape(a.output(i).sizes());
  return results;
}

Results dynamic_rnn_grad(const Args& a) {
  at::Tensor w = wide(a[1]);
  int64_t inputs = a[0].size(2);
  auto grads = lstm_backward(a, w.narrow(0, 0, inputs), w.narrow(0, inputs, w.size(0) - inputs), 3, 16);
  return shaped(a, {at::cat({grads.dw_x, grads.dw_h}), grads.db, grads.dx, grads.dh, grads.dc});
}
Results dynamic_rnn_v2_grad(const Args& a) {
  auto grads = lstm_backward(a, wide(a[1]), wide(a[2]), 3, 16);
  return shaped(a, {grads.dw_x, grads.dw_h, grads.db, grads.dx, grads.dh, grads.dc});
}

void gradients(Shaper& s, std::initializer_list<size_t> of) {
  size_t output = 0;
  for (size_t input : of) s.out(output++, s.dtype(input), s.shape(input));
}
void dynamic_rnn_grad_rule(Shaper& s) {
  lstm_checks(s);
  gradients(s, {1, 2, 0, 4, 5});
}
void dynamic_rnn_v2_grad_rule(Shaper& s) {
  lstm_checks(s);
  gradients(s, {1, 2, 1, 0, 4, 5});
  s.out(2, s.dtype(1), known({s.shape(1) ? s.shape(1)->back() : static_cast<int64_t>(ge_unknown_dim)}));
}

// ---- GRU --------------------------------------------------------------------------------------------------------
// Gates r and z stand in front, in the order that gate_order names; the candidate is last.
bool reset_first(const Call& call) {
  std::string order = call.text("gate_order");
  if (order != "rzh" && order != "zrh") throw Refused("gate_order='" + order + "' is not simulated");
  return order == "rzh";
}

void gru_checks(const Call& call) {
  plain_layer(call);
  call.only("activation", "tanh");
  call.only("direction", "UNIDIRECTIONAL");
  call.only("reset_after", 1.0);
  reset_first(call);
}

void gru_rule(Shaper& s) {
  gru_checks(s);
  sequence(s, 6, s.dtype(s.has(3) ? 3 : 0), hidden_of(s, 2, 3));
}

Results gru(const Args& a) {
  if (a.has(5) && a[5].numel() > 1) throw Refused("seq_length is not simulated");
  at::Tensor x = wide(a[0]), w_x = wide(a[1]), w_h = wide(a[2]);
  int64_t length = x.size(0), hidden = w_h.size(0);
  at::Tensor h = state(a, 6, x.size(1), hidden), inner = at::matmul(x, w_x);
  if (a.has(3)) inner = inner + wide(a[3]);
  const size_t r_at = reset_first(a) ? 0 : 1;
  std::array<Tensors, 5> all;
  for (int64_t t = 0; t < length; ++t) {
    at::Tensor outer = at::matmul(h, w_h);
    if (a.has(4)) outer = outer + wide(a[4]);
    Tensors gates_x = at::chunk(inner[t], 3, 1), gates_h = at::chunk(outer, 3, 1);
    at::Tensor r = at::sigmoid(gates_x[r_at] + gates_h[r_at]), z = at::sigmoid(gates_x[1 - r_at] + gates_h[1 - r_at]);
    at::Tensor candidate = at::tanh(gates_x[2] + r * gates_h[2]);
    h = (1 - z) * candidate + z * h;
    const at::Tensor results[] = {h, z, r, candidate, gates_h[2]};
    for (size_t k = 0; k < 5; ++k) all[k].push_back(results[k]);
  }
  Results out = {at::stack(all[0])};
  for (auto& one : all) out.push_back(at::stack(one));
  return out;
}

void gru_grad_rule(Shaper& s) {
  gru_checks(s);
  gradients(s, {1, 2, 1, 2, 0, 4});
  for (size_t i : {1, 2})
    s.out(i + 1, s.dtype(0), known({s.shape(i) ? s.shape(i)->back() : static_cast<int64_t>(ge_unknown_dim)}));
}

Results gru_grad(const Args& a) {
  at::Tensor x = wide(a[0]), w_x = wide(a[1]), w_h = wide(a[2]), h = wide(a[5]), dy = wide(a[6]);
  at::Tensor z = wide(a[8]), r = wide(a[9]), candidate = wide(a[10]), inner_h = wide(a[11]);
  int64_t length = x.size(0), batch = x.size(1), hidden = w_h.size(0);
  at::Tensor h0 = state(a, 4, batch, hidden), dh = state(a, 7, batch, hidden);
  const bool r_first = reset_first(a);
  at::Tensor dw_x = at::zeros_like(w_x), dw_h = at::zeros_like(w_h), dx = at::zeros_like(x);
  at::Tensor db_x = at::zeros({3 * hidden}), db_h = at::zeros({3 * hidden});
  for (int64_t t = length - 1; t >= 0; --t) {
    at::Tensor before = t ? h[t - 1] : h0, d = dh + dy[t];
    at::Tensor dn = d * (1 - z[t]) * (1 - candidate[t].square());
    at::Tensor dz = d * (before - candidate[t]) * z[t] * (1 - z[t]), dr = dn * inner_h[t] * r[t] * (1 - r[t]);
    at::Tensor first = r_first ? dr : dz, second = r_first ? dz : dr;
    at::Tensor gates_x = at::cat({first, second, dn}, 1), gates_h = at::cat({first, second, dn * r[t]}, 1);
    dx[t].copy_(at::matmul(gates_x, w_x.t()));
    dw_x += at::matmul(x[t].t(), gates_x);
    dw_h += at::matmul(before.t(), gates_h);
    db_x += gates_x.sum(0);
    db_h += gates_h.sum(0);
    dh = d * z[t] + at::matmul(gates_h, w_h.t());
  }
  return shaped(a, {dw_x, dw_h, db_x, db_h, dx, dh});
}

}  // namespace

#define LAYER                                                                                                 \
  "direction:String=UNIDIRECTIONAL cell_depth:Int=1 keep_prob:Float=1.0 cell_clip:Float=-1.0 num_proj:Int=0 " \
  "time_major:Bool=true "
#define LSTM_LAYER                                                                              \
  "cell_type:String=LSTM use_peephole:Bool=false activation:String=tanh forget_bias:Float=0.0 " \
  "gate_order:String=ijfo " LAYER
#define GRU_LAYER "activation:String=tanh gate_order:String=zrh reset_after:Bool=true " LAYER
#define SAVED "y init_h init_c h c dy dh dc i j f o tanhct seq_length? "
const Family rnn_rows = {
    {"DynamicRNN",
     "x w b seq_length? init_h? init_c? wci? wcf? wco? mask? -> y output_h output_c i j f o tanhc | " LSTM_LAYER
     "is_training:Bool=true",
     lstm_rule, dynamic_rnn},
    {"DynamicRNNV2",
     "x weight_input weight_hidden b? seq_length? init_h? init_c? wci? wcf? wco? mask? -> y output_h output_c i j f o "
     "tanhc | " LSTM_LAYER "recurrent_activation:String=sigmoid is_training:Bool=true",
     lstm_rule, dynamic_rnn_v2},
    {"DynamicRNNGrad", "x w b " SAVED "mask? wci? wcf? wco? -> dw db dx dh_prev dc_prev | " LSTM_LAYER,
     dynamic_rnn_grad_rule, dynamic_rnn_grad},
    {"DynamicRNNV2Grad",
     "x w_x w_h " SAVED "wci? wcf? wco? mask? -> dw_x dw_h db dx dh_prev dc_prev | " LSTM_LAYER
     "recurrent_activation:String=sigmoid stateful:Bool=false merge_mode:String=concat",
     dynamic_rnn_v2_grad_rule, dynamic_rnn_v2_grad},
    {"DynamicGRUV2",
     "x weight_input weight_hidden bias_input? bias_hidden? seq_length? init_h? -> y output_h update reset new "
     "hidden_new | " GRU_LAYER "is_training:Bool=true",
     gru_rule, gru},
    {"DynamicGRUV2Grad",
     "x weight_input weight_hidden y init_h h dy dh update reset new hidden_new seq_length? mask? -> dw_input "
     "dw_hidden db_input db_hidden dx dh_prev | " GRU_LAYER "bias_type:String=double_bias",
     gru_grad_rule, gru_grad},
};

}  // namespace sim::ge_table
