// Recurrent layers over time-major sequences: x is (T, B, input), states are (1, B, hidden), results (T, B, hidden).
#include "ge/rows/rows.h"
#include "kernels/rnn.h"

namespace sim::ge_table {
namespace {

void sequence(Shaper& s, size_t outputs, int32_t dtype, const Dim& hidden) {
  const Shape out =
      s.match(pattern<"time batch _ -> time batch =hidden">, {hidden.known() ? hidden.size() : -1}).result(1);
  for (size_t i = 0; i < outputs; ++i) s.out(i, dtype, out);
}

// The last dimension of a weight holds the gates side by side.
Dim last_of(const Call& call, size_t input) {
  const Shape shape = call.shape(input);
  return shape ? shape->back() : unknown;
}

void plain_layer(const Call& call) {
  for (size_t i = 0; i < 3; ++i)  // the input and the weights, or the bias
    if (call.has(i) && call.dtype(i) != kFloat && call.dtype(i) != kHalf)
      throw Refused("input " + std::to_string(i) + " is " + call.describe(i) + "; allowed: FLOAT, FLOAT16");
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

// Weights of the input and of the hidden state, one below the other or each by itself, for `gates` of them.
void weights_fit(const Call& s, int64_t gates, size_t of_input, size_t of_hidden) {
  const Shape x = s.shape(0), in = s.shape(of_input), state = s.shape(of_hidden);
  if (!x || !in || !state) return;
  const bool joined = of_input == of_hidden;
  const Dim hidden = in->back() / gates, size = x->size() < 2 ? unknown : x->back();
  const bool wrong =
      x->size() < 2 || in->size() != 2 || state->size() != 2 || in->back() % gates != 0 ||
      (joined ? (*in)[0] != size + hidden : (*in)[0] != size || (*state)[0] != hidden || state->back() != in->back());
  if (wrong)
    throw Refused("weights " + s.describe(of_input) + (joined ? "" : " and " + s.describe(of_hidden)) +
                  " do not fit x " + s.describe(0));
}
// One number for each gate.
void biases_fit(const Call& s, size_t weight, std::initializer_list<size_t> biases) {
  const Shape of = s.shape(weight);
  for (const size_t bias : biases)
    if (const Shape each = s.has(bias) ? s.shape(bias) : Shape();
        of && each && (each->size() != 1 || each->back() != of->back()))
      throw Refused("a bias " + s.describe(bias) + " for weights " + s.describe(weight));
}
// Of each batch: states that are given have as many numbers as it has hidden ones.
void states_fit(const Call& s, size_t weight, int64_t gates, std::initializer_list<size_t> states) {
  const Shape x = s.shape(0), of = s.shape(weight);
  for (const size_t state : states) {
    if (!x || !of || !s.has(state) || x->size() != 3) continue;
    if (numbers_in(s, state) != (*x)[1] * (of->back() / gates))
      throw Refused("a state " + s.describe(state) + " for x " + s.describe(0) + " and weights " + s.describe(weight));
  }
}

void lstm_rule(Shaper& s) {
  lstm_checks(s);
  const bool joined = !s.knows("merge_mode");
  weights_fit(s, 4, 1, joined ? 1 : 2), biases_fit(s, 1, {size_t(joined ? 2 : 3)});
  if (joined) states_fit(s, 1, 4, {4, 5});
  else states_fit(s, 1, 4, {5, 6});
  sequence(s, 8, s.dtype(0), last_of(s, 1) / 4);
}

// The mask of valid steps that packed sequences have, as (T, B, 1 or hidden); undefined where every step is valid.
at::Tensor mask_of(const Args& a, size_t input) {
  if (!a.has(input) || a[input].numel() <= 1) return {};
  if (a[input].dim() != 3)
    throw Refused("its seq_length must be a mask (time, batch, hidden), it is " + a.describe(input));
  return wide(a[input]);
}

Results lstm(const Args& a, const at::Tensor& w_x, const at::Tensor& w_h, const at::Tensor& bias, size_t h0_at) {
  const int64_t batch = a[0].size(1), hidden = w_h.size(0);
  return kernels::lstm({.x = wide(a[0]), .w_x = w_x, .w_h = w_h, .mask = mask_of(a, h0_at - 1)}, bias,
                       kernels::first_state(a[h0_at], batch, hidden), kernels::first_state(a[h0_at + 1], batch, hidden),
                       {gate_places(a), backwards(a), a.real("forget_bias")});
}

Results dynamic_rnn(const Args& a) {
  const auto [w_x, w_h] = kernels::split_weight(a[1], a[0].size(2));
  return lstm(a, w_x, w_h, wide(a[2]), 4);
}
Results dynamic_rnn_v2(const Args& a) { return lstm(a, wide(a[1]), wide(a[2]), wide(a[3]), 5); }

// The saved values stand in the same order in both operators' inputs, from `y` at `y_at` on.
kernels::LstmGradients lstm_backward(const Args& a, const at::Tensor& w_x, const at::Tensor& w_h, size_t y_at,
                                     size_t mask_at) {
  at::Tensor x = wide(a[0]);
  if (x.dim() == 2) x = x.unsqueeze(0);  // of a cell
  const int64_t batch = x.size(1), hidden = w_h.size(0);
  auto start = [&](size_t input) { return kernels::first_state(a[input], batch, hidden); };
  auto saved = [&](size_t place) { return wide(a[y_at + place]); };
  return kernels::lstm_backward(
      {.x = x, .w_x = w_x, .w_h = w_h, .mask = mask_of(a, mask_at)},
      {start(y_at + 1), start(y_at + 2), saved(3), saved(4), saved(8), saved(9), saved(10), saved(11), saved(12)},
      saved(5), start(y_at + 6), start(y_at + 7), {gate_places(a), backwards(a)});
}

// Gradients have the shapes of the inputs that they belong to.
Results shaped(const Args& a, Results results) {
  for (size_t i = 0; i < results.size(); ++i) results[i] = results[i].reshape(a.output(i).sizes());
  return results;
}

Results dynamic_rnn_grad(const Args& a) {
  const auto [w_x, w_h] = kernels::split_weight(a[1], a[0].size(2));
  auto grads = lstm_backward(a, w_x, w_h, 3, 16);
  return shaped(a, {kernels::joined_weight(grads.dw_x, grads.dw_h), grads.db, grads.dx, grads.dh, grads.dc});
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
  s.out(2, s.dtype(1), known({last_of(s, 1)}));
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
  reset_first(call);
}

void gru_rule(Shaper& s) {
  gru_checks(s);
  weights_fit(s, 3, 1, 2), biases_fit(s, 1, {3, 4}), states_fit(s, 1, 3, {6});
  sequence(s, 6, s.dtype(s.has(3) ? 3 : 0), last_of(s, 2) / 3);
}

Results gru(const Args& a) {
  if (a.has(5) && a[5].numel() > 1) throw Refused("seq_length is not simulated");
  return kernels::gru(wide(a[0]), wide(a[1]), wide(a[2]), wide(a[3]), wide(a[4]),
                      kernels::first_state(a[6], a[0].size(1), a[2].size(0)), reset_first(a), a.flag("reset_after"));
}

void gru_grad_rule(Shaper& s) {
  gru_checks(s);
  s.only("reset_after", 1.0);
  weights_fit(s, 3, 1, 2), states_fit(s, 2, 3, {4, 7});
  s.match(pattern<"t b i, i _, h _, *_, *_, t b h, t b h, *_, t b h, t b h, t b h, t b h -> t b h">);
  gradients(s, {1, 2, 1, 2, 0, 4});
  for (size_t i : {1, 2}) s.out(i + 1, s.dtype(0), known({last_of(s, i)}));
}

Results gru_grad(const Args& a) {
  const int64_t batch = a[0].size(1), hidden = a[2].size(0);
  return shaped(a, kernels::gru_backward(wide(a[0]), wide(a[1]), wide(a[2]),
                                         {kernels::first_state(a[4], batch, hidden), wide(a[5]), wide(a[8]), wide(a[9]),
                                          wide(a[10]), wide(a[11])},
                                         wide(a[6]), kernels::first_state(a[7], batch, hidden), reset_first(a)));
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
     "tanhc | " LSTM_LAYER
     "recurrent_activation:String=sigmoid is_training:Bool=true stateful:Bool=false merge_mode:String=concat",
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
