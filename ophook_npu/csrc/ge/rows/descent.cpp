// Steps of the optimizers that TensorFlow named, and of those for large batches. The parameters and their states come
// first and are changed in place, whichever of them a prototype names as outputs.
#include "ge/rows/rows.h"
#include "kernels/descent.h"

namespace sim::ge_table {
namespace {

void of_real_numbers(const Call& call, size_t input) {
  const int32_t dtype = call.dtype(input);
  if (dtype != kFloat && dtype != kHalf && dtype != kBfloat16)
    throw Refused(call.describe(input) + ": float32, float16 and bfloat16 are simulated");
}
void one_type(const Call& call, size_t states, size_t grad) {
  of_real_numbers(call, 0);
  for (size_t i = 1; i < states; ++i) require_same_dtype(call, i - 1, i + 1);
  if (call.dtype(grad) != call.dtype(0))
    throw Refused("its gradient " + call.describe(grad) + " is not of the type of " + call.describe(0));
}
// What is neither a state nor the gradient is one number.
template <size_t states, size_t grad>
void dense(Shaper& s) {
  one_type(s, states, grad);
  for (size_t i = 1; i < states; ++i) like_first(s, i);
  like_first(s, grad);
  for (size_t i = states; i < s.count(); ++i)
    if (i != grad) one_number(s, i, i + 1);
  each_like_its_input(s);
}
// The gradient has a row for each of the indices behind it.
template <size_t states, size_t grad>
void of_rows(Shaper& s) {
  one_type(s, states, grad);
  for (size_t i = 1; i < states; ++i) like_first(s, i);
  for (size_t i = states; i < s.count(); ++i)
    if (i != grad && i != grad + 1) one_number(s, i, i + 1);
  require_type(s, grad + 1, {kInt32, kInt64});
  if (const Shape x = s.shape(0), rows = s.shape(grad + 1); x && rows) {
    if (x->empty() || rows->size() != 1)
      throw Refused("rows of " + s.describe(0) + " by indices " + s.describe(grad + 1));
    Sizes wanted = *x;
    wanted[0] = (*rows)[0];
    require_shape(s, grad, wanted, "has to have a row for each index");
  }
  each_like_its_input(s);
}
void damped_rule(Shaper& s) {
  one_type(s, 1, 1);
  for (const size_t i : {1, 3, 5}) like_first(s, i);
  one_number(s, 2, 3), one_number(s, 4, 5);
  same(s);
}
// var accum lr x1 momentum x2: x1 * x2 is the gradient.
void of_product_rule(Shaper& s) {
  of_real_numbers(s, 0);
  for (const size_t i : {1, 3}) like_first(s, i);
  for (const size_t i : {2, 4, 5}) one_number(s, i, i + 1);
  each_like_its_input(s);
}
void with_copy_rule(Shaper& s) {
  of_product_rule(s);
  like_first(s, 6);
  s.out(1, s.dtype(6), s.shape(6)), s.out(2, s.dtype(1), s.shape(1));
}
// Of tensors that broadcast to the gradient: its squares, averages and parameters, then numbers.
void adam_once_rule(Shaper& s) {
  of_real_numbers(s, 0);
  require_same_dtype(s, 0, s.count());
  for (size_t i = 1; i < 4; ++i) like_first(s, i);
  within_first(s, 4, s.count());
  for (size_t i = 0; i < s.outputs(); ++i) s.out(i, s.dtype(0), s.shape(0));
}
void lamb_step_rule(Shaper& s) {
  of_real_numbers(s, 4);
  require_same_dtype(s, 0, s.count());
  one_number(s, 0, 3);
  require_shape(s, 3, s.shape(4), ("has to be shaped like " + s.describe(4)).c_str());
  s.out(s.dtype(4), s.shape(4));
}
void lars_rule(Shaper& s) {
  require_type(s, 0, {kFloat});
  require_same_dtype(s, 0, s.count());
  like_first(s, 1), one_number(s, 2, s.count());
  same(s);
}

double told(const Args& a, size_t input) { return wide(a[input]).item<double>(); }
Results damped(const Args& a) {
  const Results after = kernels::damped_step(
      {a[0], a[3], a[5]}, a[1], {.rate = told(a, 2), .momentum = told(a, 4), .nesterov = a.flag("nesterov")},
      a.real("dampening"), a.real("weight_decay"));
  a[3].copy_(after[1]), a[5].copy_(after[2]);
  return {after[0]};
}
kernels::Momentum momentum_of(const Args& a) {
  return {.rate = told(a, 2), .momentum = told(a, 4), .nesterov = a.flag("use_nesterov")};
}
Results with_copy(const Args& a) {
  const Results after = kernels::momentum_step({a[0], a[1]}, kernels::gradient_of_product(a[3], a[5]), momentum_of(a));
  return {after[0], after[0], after[1]};
}
kernels::Rms rms_of(const Args& a, size_t rate) {
  return {.rate = told(a, rate), .rho = told(a, rate + 1), .momentum = told(a, rate + 2), .eps = told(a, rate + 3)};
}
kernels::Rms adadelta_of(const Args& a) {
  return {.rate = told(a, 3), .rho = told(a, 4), .momentum = 0, .eps = told(a, 5)};
}
kernels::Proximal proximal_of(const Args& a, size_t rate) {
  return {.rate = told(a, rate), .l1 = told(a, rate + 1), .l2 = told(a, rate + 2)};
}
kernels::Proximal dual_averaging_of(const Args& a) {
  kernels::Proximal how = proximal_of(a, 4);
  how.steps = told(a, 7);
  return how;
}
// The rate, l1, l2, shrinkage where there is one, and the power, whose sign is that of the prototype.
kernels::Proximal ftrl_of(const Args& a, size_t rate, bool shrinks) {
  kernels::Proximal how = proximal_of(a, rate);
  how.power = told(a, rate + 3 + shrinks);
  if (shrinks) how.shrinkage = told(a, rate + 3);
  return how;
}
kernels::Averages amsgrad_of(const Args& a) {
  return {.rate = told(a, 6),
          .beta1 = told(a, 7),
          .beta2 = told(a, 8),
          .eps = told(a, 9),
          .power1 = told(a, 4),
          .power2 = told(a, 5)};
}
kernels::Averages adamax_of(const Args& a) {
  return {.rate = told(a, 4), .beta1 = told(a, 5), .beta2 = told(a, 6), .eps = told(a, 7), .power1 = told(a, 3)};
}
kernels::Signs signs_of(const Args& a, bool powers) {
  return {.rate = told(a, 2), .base = told(a, 3), .decay = told(a, 4), .beta = told(a, 5), .powers = powers};
}
// input4 is the rate; mul0_x and mul1_x are the averages' factors, mul2_x and mul3_x those of the squares.
kernels::AdamFactors adam_factors(const Args& a, bool decays) {
  return {.rate = a[4],
          .old_average = a[5],
          .new_average = a[6],
          .old_square = a[7],
          .new_square = a[8],
          .decay = decays ? a[9] : at::Tensor(),
          .eps = a[9 + decays]};
}
Results lamb_direction(const Args& a) {
  return kernels::lamb_direction(a[0], {a[1], a[2], a[3]},
                                 {.beta1 = a[4],
                                  .rest1 = a[5],
                                  .beta2 = a[6],
                                  .rest2 = a[7],
                                  .eps = a[8],
                                  .steps = a[9],
                                  .with_decay = a[10],
                                  .decay = a[11]});
}
kernels::Lars lars_of(const Args& a, size_t decay) {
  return {.decay = a[decay],
          .rate = a[decay + 1],
          .trust = a.real("hyperpara"),
          .eps = a.real("epsilon"),
          .clip = a.flag("use_clip")};
}
// By rows: the gradient, the indices behind it, and the step.
Results rows_changed(const Args& a, size_t states, size_t grad, const kernels::Step& step) {
  return changed(a, kernels::step_of_rows(a.tensors(0, states), a[grad], a[grad + 1], step));
}

}  // namespace

#define STEP(type, proto, rule, ...) \
  {#type, proto, rule, [](const Args& a) -> Results { return changed(a, kernels::__VA_ARGS__); }}
#define ROWS(type, proto, states, grad, ...)                                                               \
  {#type, proto, of_rows<states, grad>, [](const Args& a) -> Results {                                     \
     return rows_changed(a, states, grad,                                                                  \
                         [&](const Tensors& x, const at::Tensor& slope) { return kernels::__VA_ARGS__; }); \
   }}
#define LOCKING "use_locking:Bool=false"
#define NESTEROV "use_nesterov:Bool=false"
#define SLOTS "update_slots:Bool=true"
const Family descent_rows = {
    STEP(ApplyMomentum, "var accum lr grad momentum -> var | " NESTEROV " " LOCKING, (dense<2, 3>),
         momentum_step({a[0], a[1]}, a[3], momentum_of(a))),
    STEP(ApplyKerasMomentum, "var accum lr grad momentum -> var | " LOCKING " " NESTEROV, (dense<2, 3>),
         keras_momentum_step({a[0], a[1]}, a[3], momentum_of(a))),
    STEP(FusedMulApplyMomentum, "var accum lr x1 momentum x2 -> var accum | " NESTEROV " " LOCKING, of_product_rule,
         momentum_step({a[0], a[1]}, kernels::gradient_of_product(a[3], a[5]), momentum_of(a))),
    STEP(FusedMulApplyKerasMomentum, "var accum lr x1 momentum x2 -> var accum | " LOCKING " " NESTEROV,
         of_product_rule, keras_momentum_step({a[0], a[1]}, kernels::gradient_of_product(a[3], a[5]), momentum_of(a))),
    {"FusedMulApplyMomentumExtern",
     "var accum lr x1 momentum x2 var_copy -> var var_copy accum | " NESTEROV " " LOCKING, with_copy_rule, with_copy},
    {"SGD",
     "parameters gradient learning_rate accum momentum stat -> parameters | dampening:Float=0.0 weight_decay:Float=0.0 "
     "nesterov:Bool=false",
     damped_rule, damped},
    ROW(ApplyGradientDescent, "var alpha delta -> var | " LOCKING, (dense<1, 2>), at::sub(a[0], a[2], number_of(a[1]))),

    STEP(ApplyRMSProp, "var ms mom lr rho momentum epsilon grad -> var | " LOCKING, (dense<3, 7>),
         rms_step(a.tensors(0, 3), a[7], rms_of(a, 3))),
    STEP(ApplyCenteredRMSProp, "var mg ms mom lr rho momentum epsilon grad -> var | " LOCKING, (dense<4, 8>),
         centered_rms_step(a.tensors(0, 4), a[8], rms_of(a, 4))),
    STEP(ApplyAdadelta, "var accum accum_update lr rho epsilon grad -> var | " LOCKING, (dense<3, 6>),
         adadelta_step(a.tensors(0, 3), a[6], adadelta_of(a))),
    STEP(ApplyAdagrad, "var accum lr grad -> var | " SLOTS " " LOCKING, (dense<2, 3>),
         adagrad_step(a.tensors(0, 2), a[3], told(a, 2), 0, a.flag("update_slots"))),
    STEP(ApplyAdagradV2, "var accum lr epsilon grad -> var | " SLOTS " " LOCKING, (dense<2, 4>),
         adagrad_step(a.tensors(0, 2), a[4], told(a, 2), told(a, 3), a.flag("update_slots"))),

    STEP(ApplyProximalGradientDescent, "var alpha l1 l2 delta -> var | " LOCKING, (dense<1, 4>),
         proximal_step({a[0]}, a[4], proximal_of(a, 1))),
    STEP(ApplyProximalAdagrad, "var accum lr l1 l2 grad -> var | " LOCKING, (dense<2, 5>),
         proximal_adagrad_step(a.tensors(0, 2), a[5], proximal_of(a, 2))),
#define SUMS "gradient_accumulator gradient_squared_accumulator"
    STEP(ApplyAdagradDA, "var " SUMS " grad lr l1 l2 global_step -> var | " LOCKING, (dense<3, 3>),
         dual_averaging_step(a.tensors(0, 3), a[3], dual_averaging_of(a))),
    STEP(ApplyFtrl, "var accum linear grad lr l1 l2 lr_power -> var | " LOCKING, (dense<3, 3>),
         ftrl_step(a.tensors(0, 3), a[3], ftrl_of(a, 4, false))),
    STEP(ApplyFtrlV2, "var accum linear grad lr l1 l2 l2_shrinkage lr_power -> var | " LOCKING, (dense<3, 3>),
         ftrl_step(a.tensors(0, 3), a[3], ftrl_of(a, 4, true))),

#define POWERS "beta1_power beta2_power lr"
    STEP(ApplyAdamWithAmsgrad, "var m v vhat " POWERS " beta1 beta2 epsilon grad -> var | " LOCKING, (dense<4, 10>),
         amsgrad_step(a.tensors(0, 4), a[10], amsgrad_of(a))),
    STEP(ApplyAdaMax, "var m v beta1_power lr beta1 beta2 epsilon grad -> var | " LOCKING, (dense<3, 8>),
         adamax_step(a.tensors(0, 3), a[8], adamax_of(a))),
    STEP(ApplyAddSign, "var m lr alpha sign_decay beta grad -> var | " LOCKING, (dense<2, 6>),
         sign_step(a.tensors(0, 2), a[6], signs_of(a, false))),
    STEP(ApplyPowerSign, "var m lr logbase sign_decay beta grad -> var | " LOCKING, (dense<2, 6>),
         sign_step(a.tensors(0, 2), a[6], signs_of(a, true))),
#define OF_ONE "input0 input1 input2 input3 input4 mul0_x mul1_x mul2_x mul3_x "
#define ONCE(type, more, outputs, decays) \
  STEP(type, OF_ONE more " -> " outputs, adam_once_rule, adam_once(a.tensors(1, 4), a[0], adam_factors(a, decays)))
    ONCE(AdamApplyOne, "add2_y", "output0 output1 output2", false),
    ONCE(AdamApplyOneAssign, "add2_y", "input1 input2 input3", false),
    ONCE(AdamApplyOneWithDecay, "mul4_x add2_y", "output0 output1 output2", true),
    ONCE(AdamApplyOneWithDecayAssign, "mul4_x add2_y", "input1 input2 input3", true),

    {"LambApplyOptimizerAssign",
     "grad inputv inputm input3 mul0_x mul1_x mul2_x mul3_x add2_y steps do_use_weight weight_decay_rate -> output0 "
     "inputv inputm",
     adam_once_rule, lamb_direction},
    ROW(LambApplyWeightAssign, "input0 input1 input2 input3 input_param -> input_param", lamb_step_rule,
        kernels::lamb_step(a[4], a[3], a[2], a[0], a[1])),
#define LARS "hyperpara:Float=0.001 epsilon:Float=0.00001 use_clip:Bool=false"
    ROW(LarsV2, "w g weight_decay learning_rate -> g_new | " LARS, lars_rule,
        kernels::lars_gradient(a[0], a[1], kernels::sum_of_squares(a[0]), kernels::sum_of_squares(a[1]),
                               lars_of(a, 2))),
    ROW(LarsV2Update, "w g w_square_sum g_square_sum weight_decay learning_rate -> g_new | " LARS, lars_rule,
        kernels::lars_gradient(a[0], a[1], a[2], a[3], lars_of(a, 4))),

    ROWS(SparseApplyAdagrad, "var accum lr grad indices -> var accum | " LOCKING " " SLOTS, 2, 3,
         adagrad_step(x, slope, told(a, 2), 0, a.flag("update_slots"))),
    ROWS(SparseApplyAdagradV2, "var accum lr epsilon grad indices -> var accum | " LOCKING " " SLOTS, 2, 4,
         adagrad_step(x, slope, told(a, 2), told(a, 3), a.flag("update_slots"))),
    ROWS(SparseApplyFtrl, "var accum linear grad indices lr l1 l2 lr_power -> var accum linear | " LOCKING, 3, 3,
         ftrl_step(x, slope, ftrl_of(a, 5, false))),
    ROWS(SparseApplyFtrlV2,
         "var accum linear grad indices lr l1 l2 l2_shrinkage lr_power -> var accum linear | " LOCKING, 3, 3,
         ftrl_step(x, slope, ftrl_of(a, 5, true))),
    ROWS(SparseApplyProximalAdagrad, "var accum lr l1 l2 grad indices -> var accum | " LOCKING, 2, 5,
         proximal_adagrad_step(x, slope, proximal_of(a, 2))),
    ROWS(SparseApplyRMSProp, "var ms mom lr rho momentum epsilon grad indices -> var ms mom | " LOCKING, 3, 7,
         rms_step(x, slope, rms_of(a, 3))),
    ROWS(SparseApplyAdadelta, "var accum accum_update lr rho epsilon grad indices -> var accum accum_update | " LOCKING,
         3, 6, adadelta_step(x, slope, adadelta_of(a))),

    // With all states as outputs, and attributes for some of the numbers.
    {"ApplyMomentumD", "var accum lr grad momentum -> var accum | " NESTEROV " " LOCKING, AsInputs{"ApplyMomentum"}},
    {"ApplyKerasMomentumD", "var accum lr grad momentum -> var accum | " LOCKING " " NESTEROV,
     AsInputs{"ApplyKerasMomentum"}},
    {"ApplyRMSPropD", "var ms mom lr grad -> var ms mom | rho:Float momentum:Float epsilon:Float " LOCKING,
     AsInputs{"ApplyRMSProp"}},
    {"ApplyCenteredRMSPropD", "var mg ms mom lr rho momentum epsilon grad -> var mg ms mom | " LOCKING,
     AsInputs{"ApplyCenteredRMSProp"}},
    {"ApplyAdadeltaD", "var accum accum_update lr rho epsilon grad -> var accum accum_update | " LOCKING,
     AsInputs{"ApplyAdadelta"}},
    {"ApplyAdagradD", "var accum lr grad -> var accum | " SLOTS " " LOCKING, AsInputs{"ApplyAdagrad"}},
    {"ApplyAdagradV2D", "var accum lr grad -> var accum | epsilon:Float " SLOTS " " LOCKING,
     AsInputs{"ApplyAdagradV2"}},
    {"ApplyProximalAdagradD", "var accum lr l1 l2 grad -> var accum | " LOCKING, AsInputs{"ApplyProximalAdagrad"}},
    {"ApplyAdagradDAD", "var " SUMS " grad lr l1 l2 global_step -> var " SUMS " | " LOCKING,
     AsInputs{"ApplyAdagradDA"}},
    {"ApplyFtrlD", "var accum linear grad lr l1 l2 lr_power -> var accum linear | " LOCKING, AsInputs{"ApplyFtrl"}},
    {"ApplyFtrlV2D", "var accum linear grad lr l1 l2 l2_shrinkage lr_power -> var accum linear | " LOCKING,
     AsInputs{"ApplyFtrlV2"}},
    {"ApplyAdamWithAmsgradV2", "var m v vhat " POWERS " beta1 beta2 epsilon grad -> var m v vhat | " LOCKING,
     AsInputs{"ApplyAdamWithAmsgrad"}},
    {"ApplyAdamWithAmsgradD",
     "var m v vhat " POWERS " grad -> var m v vhat | beta1:Float beta2:Float epsilon:Float " LOCKING,
     AsInputs{"ApplyAdamWithAmsgrad"}},
    {"ApplyAdaMaxD", "var m v beta1_power lr beta1 beta2 epsilon grad -> var m v | " LOCKING, AsInputs{"ApplyAdaMax"}},
    {"ApplyAddSignD", "var m lr alpha sign_decay beta grad -> var m | " LOCKING, AsInputs{"ApplyAddSign"}},
    {"ApplyPowerSignD", "var m lr logbase sign_decay beta grad -> var m | " LOCKING, AsInputs{"ApplyPowerSign"}},
    {"SparseApplyAdagradD", "var accum grad indices -> var accum | lr:Float " LOCKING " " SLOTS,
     AsInputs{"SparseApplyAdagrad"}},
    {"SparseApplyAdagradV2D", "var accum grad indices -> var accum | lr:Float epsilon:Float " LOCKING " " SLOTS,
     AsInputs{"SparseApplyAdagradV2"}},
    {"SparseApplyFtrlD",
     "var accum linear grad indices -> var accum linear | lr:Float l1:Float l2:Float lr_power:Float " LOCKING,
     AsInputs{"SparseApplyFtrl"}},
    {"SparseApplyFtrlV2D",
     "var accum linear grad indices -> var accum linear | lr:Float l1:Float l2:Float l2_shrinkage:Float "
     "lr_power:Float " LOCKING,
     AsInputs{"SparseApplyFtrlV2"}},
    {"SparseApplyProximalAdagradD", "var accum lr l1 l2 grad indices -> var accum | " LOCKING,
     AsInputs{"SparseApplyProximalAdagrad"}},
    {"SparseApplyRMSPropD",
     "var ms mom lr grad indices -> var ms mom | rho:Float momentum:Float epsilon:Float " LOCKING,
     AsInputs{"SparseApplyRMSProp"}},
    {"SparseApplyAdadeltaD",
     "var accum accum_update lr rho grad indices -> var accum accum_update | epsilon:Float " LOCKING,
     AsInputs{"SparseApplyAdadelta"}},
};

}  // namespace sim::ge_table
