// Optimizer steps: var, m and v come in and go out, as a rule in the same memory.
#include "ge/rows/rows.h"
#include "kernels/optimizer.h"

namespace sim::ge_table {
namespace {

// The gradient stands at `grad`; what is neither it nor a state is one number.
void step(Shaper& s, size_t grad, size_t numbers) {
  for (size_t i : {size_t(1), size_t(2), grad}) like_first(s, i);
  one_number(s, 3, grad), one_number(s, grad + 1, numbers);
  each_like_its_input(s);
}
void adam_rule(Shaper& s) { step(s, 9, s.count()); }

double value(const Args& a, size_t input) { return wide(a[input]).item<double>(); }

Results after(const kernels::AdamWState& state) { return {state.parameter, state.average, state.square}; }

// var m v beta1_power beta2_power lr beta1 beta2 epsilon grad
Results adam(const Args& a) {
  const kernels::AdamW how =
      kernels::told({.rate = a[5], .beta1 = a[6], .beta2 = a[7], .eps = a[8], .power1 = a[3], .power2 = a[4]});
  return changed(a, after(kernels::adam({a[0], a[1], a[2], {}}, a[9], how, a.flag("use_nesterov"))));
}

// var m v beta1_power beta2_power lr weight_decay beta1 beta2 epsilon grad; the powers are those before this step
void adam_w_rule(Shaper& s) {
  s.only("amsgrad", 0.0);
  step(s, 10, 11);
}
Results adam_w(const Args& a) {
  kernels::AdamW how = kernels::told(
      {.rate = a[5], .beta1 = a[7], .beta2 = a[8], .decay = a[6], .eps = a[9], .power1 = a[3], .power2 = a[4]});
  how.power1 *= how.beta1, how.power2 *= how.beta2, how.maximize = a.flag("maximize");
  return after(kernels::adamw({a[0], a[1], a[2], {}}, a[10], how));
}

// var m v lr beta1 beta2 epsilon grad max_grad_norm global_grad_norm weight_decay step_size: without bias correction,
// as BERT is trained; "mbart_adam" takes the corrected step from the caller
void adam_v2_rule(Shaper& s) {
  if (s.number(8).value_or(-1) > 0) throw Refused("max_grad_norm above 0 is not simulated");
  std::string mode = s.text("adam_mode");
  if (mode != "adam" && mode != "mbart_adam") throw Refused("adam_mode='" + mode + "' is not simulated");
  if (mode == "mbart_adam" && !s.has(11)) throw Refused("adam_mode='mbart_adam' needs a step_size");
  step(s, 7, s.count());
}
Results adam_v2(const Args& a) {
  if (value(a, 8) > 0) throw Refused("max_grad_norm above 0 is not simulated");
  const kernels::AdamW how = kernels::told({.rate = a[3], .beta1 = a[4], .beta2 = a[5], .decay = a[10], .eps = a[6]});
  return after(kernels::bert_adam({a[0], a[1], a[2], {}}, a[7], how, value(a, a.text("adam_mode") == "adam" ? 3 : 11)));
}

}  // namespace

const Family optimizer_rows = {
    {"ApplyAdamD",
     "var m v beta1_power beta2_power lr beta1 beta2 epsilon grad -> var m v | use_locking:Bool=false "
     "use_nesterov:Bool=false",
     adam_rule, adam},
    {"ApplyAdam",
     "var m v beta1_power beta2_power lr beta1 beta2 epsilon grad -> var | use_locking:Bool=false "
     "use_nesterov:Bool=false",
     adam_rule, adam},
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
