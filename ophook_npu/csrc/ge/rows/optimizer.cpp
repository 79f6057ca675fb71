// Optimizer steps: var, m and v come in and go out, as a rule in the same memory.
#include "ge/rows/rows.h"
#include "kernels/optimizer.h"

namespace sim::ge_table {
namespace {

void step(Shaper& s) {
  for (size_t i = 0; i < 3; ++i) s.out(i, s.dtype(i), s.shape(i));
}

double value(const Args& a, size_t input) { return wide(a[input]).item<double>(); }

struct Moments {
  at::Tensor m, v;
};
Moments moments(const Args& a, double beta1, double beta2, const at::Tensor& grad) {
  return {wide(a[1]) * beta1 + grad * (1 - beta1), wide(a[2]) * beta2 + grad.square() * (1 - beta2)};
}

// var m v beta1_power beta2_power lr beta1 beta2 epsilon grad
Results adam(const Args& a) {
  at::Tensor grad = wide(a[9]);
  double beta1 = value(a, 6), rate = value(a, 5) * std::sqrt(1 - value(a, 4)) / (1 - value(a, 3));
  auto [m, v] = moments(a, beta1, value(a, 7), grad);
  at::Tensor direction = a.flag("use_nesterov") ? m * beta1 + grad * (1 - beta1) : m;
  return {wide(a[0]) - rate * direction / (v.sqrt() + value(a, 8)), m, v};
}

// var m v beta1_power beta2_power lr weight_decay beta1 beta2 epsilon grad; the powers are those before this step
void adam_w_rule(Shaper& s) {
  s.only("amsgrad", 0.0);
  step(s);
}
Results adam_w(const Args& a) {
  const double beta1 = value(a, 7), beta2 = value(a, 8);
  const auto after = kernels::adamw({a[0], a[1], a[2], {}}, a[10],
                                    {value(a, 5), beta1, beta2, value(a, 6), value(a, 9), value(a, 3) * beta1,
                                     value(a, 4) * beta2, a.flag("maximize")});
  return {after.parameter, after.average, after.square};
}

// var m v lr beta1 beta2 epsilon grad max_grad_norm global_grad_norm weight_decay step_size: without bias correction,
// as BERT is trained; "mbart_adam" takes the corrected step from the caller
void adam_v2_rule(Shaper& s) {
  if (s.number(8).value_or(-1) > 0) throw Refused("max_grad_norm above 0 is not simulated");
  std::string mode = s.text("adam_mode");
  if (mode != "adam" && mode != "mbart_adam") throw Refused("adam_mode='" + mode + "' is not simulated");
  if (mode == "mbart_adam" && !s.has(11)) throw Refused("adam_mode='mbart_adam' needs a step_size");
  step(s);
}
Results adam_v2(const Args& a) {
  if (value(a, 8) > 0) throw Refused("max_grad_norm above 0 is not simulated");
  double lr = value(a, 3), decay = value(a, 10);
  auto [m, v] = moments(a, value(a, 4), value(a, 5), wide(a[7]));
  at::Tensor var = wide(a[0]), direction = m / (v.sqrt() + value(a, 6));
  double rate = a.text("adam_mode") == "mbart_adam" ? value(a, 11) : lr;
  return {var - rate * direction - lr * decay * var, m, v};
}

}  // namespace

const Family optimizer_rows = {
    {"ApplyAdamD",
     "var m v beta1_power beta2_power lr beta1 beta2 epsilon grad -> var m v | use_locking:Bool=false "
     "use_nesterov:Bool=false",
     step, adam},
    {"ApplyAdamW",
     "var m v beta1_power beta2_power lr weight_decay beta1 beta2 epsilon grad max_grad_norm? -> var m v | "
     "amsgrad:Bool=false maximize:Bool=false",
     adam_w_rule, adam_w},
    {"ApplyAdamV2",
     "var m v lr beta1 beta2 epsilon grad max_grad_norm global_grad_norm weight_decay step_size? -> var m v | "
     "adam_mode:String=adam",
     adam_v2_rule, adam_v2},
};

}  // namespace sim::ge_table
