#include "kernels/optimizer.h"

namespace sim::kernels {

AdamWState adamw(const AdamWState& before, const at::Tensor& grad, const AdamW& how) {
  const at::Tensor slope = how.maximize ? at::neg(wide(grad)) : wide(grad);
  const at::Tensor decayed = at::mul(wide(before.parameter), 1 - how.rate * how.decay);
  const at::Tensor average = at::lerp(wide(before.average), slope, 1 - how.beta1);
  const at::Tensor square = at::addcmul(at::mul(wide(before.square), how.beta2), slope, slope, 1 - how.beta2);
  const at::Tensor largest = before.largest.defined() ? at::maximum(wide(before.largest), square) : before.largest;
  const at::Tensor bound = largest.defined() ? largest : square;
  const at::Tensor denominator = at::add(at::div(at::sqrt(bound), std::sqrt(1 - how.power2)), how.eps);
  return {at::addcdiv(decayed, average, denominator, -how.rate / (1 - how.power1)), average, square, largest};
}

static AdamWState moments(const AdamWState& before, const at::Tensor& slope, const AdamW& how) {
  return {wide(before.parameter),
          wide(before.average) * how.beta1 + slope * (1 - how.beta1),
          wide(before.square) * how.beta2 + slope.square() * (1 - how.beta2),
          {}};
}

AdamWState adam(const AdamWState& before, const at::Tensor& grad, const AdamW& how, bool nesterov) {
  const at::Tensor slope = wide(grad);
  auto [parameter, m, v, none] = moments(before, slope, how);
  const double rate = how.rate * std::sqrt(1 - how.power2) / (1 - how.power1);
  const at::Tensor direction = nesterov ? m * how.beta1 + slope * (1 - how.beta1) : m;
  return {parameter - rate * direction / (v.sqrt() + how.eps), m, v, {}};
}

static void keep(const AdamWState& state, const AdamWState& after) {
  state.parameter.copy_(after.parameter);
  state.average.copy_(after.average);
  state.square.copy_(after.square);
}

void adam_like(const AdamWState& state, const at::Tensor& grad, const AdamNumbers& numbers) {
  for (const at::Tensor& each : {state.average, state.square, grad}) like(each, state.parameter);
  same_dtype({state.parameter, state.average, state.square, grad});
  if (state.largest.defined()) like(state.largest, state.parameter);
  for (const at::Tensor& each :
       {numbers.rate, numbers.beta1, numbers.beta2, numbers.eps, numbers.power1, numbers.power2})
    one_element(each);
  if (numbers.decay.defined()) one_element(numbers.decay);
}

AdamW told(const AdamNumbers& numbers) {
  const auto number = [](const at::Tensor& one) { return one.defined() ? number_of(one).toDouble() : 0; };
  return {number(numbers.rate), number(numbers.beta1),  number(numbers.beta2), number(numbers.decay),
          number(numbers.eps),  number(numbers.power1), number(numbers.power2)};
}

void adam_step(const AdamWState& state, const at::Tensor& grad, const AdamNumbers& numbers, bool nesterov) {
  keep(state, adam(state, grad, told(numbers), nesterov));
}

void adamw_step(const AdamWState& state, const at::Tensor& grad, const AdamNumbers& numbers, bool maximize) {
  AdamW how = told(numbers);
  how.power1 *= how.beta1, how.power2 *= how.beta2, how.maximize = maximize;
  AdamWState after = adamw(state, grad, how);
  if (after.largest.defined()) after.square = after.largest;
  keep(state, after);
}

AdamWState bert_adam(const AdamWState& before, const at::Tensor& grad, const AdamW& how, double rate) {
  auto [parameter, m, v, none] = moments(before, wide(grad), how);
  const at::Tensor direction = m / (v.sqrt() + how.eps);
  return {parameter - rate * direction - how.rate * how.decay * parameter, m, v, {}};
}

// A gradient that is not finite leaves 1 in found; all are unscaled.
void check_and_unscale(const Tensors& grads, const at::Tensor& found, const at::Tensor& inverse_scale) {
  for (const at::Tensor& grad : grads) {
    if (!at::isfinite(grad).all().item<bool>()) found.fill_(1);
    grad.copy_(at::mul(wide(grad), inverse_scale.reshape({})));
  }
}

void update_scale(const LossScale& before, const at::Tensor& found, double growth, double backoff, int64_t interval,
                  const LossScale& after) {
  const double now = before.scale.item<double>();
  const int64_t successes = found.item<double>() ? 0 : before.tracker.item<int64_t>() + 1;
  double next = found.item<double>() ? now * backoff : now;
  if (successes == interval && std::isfinite(float(now * growth))) next = now * growth;
  after.scale.fill_(next);
  after.tracker.fill_(successes == interval ? 0 : successes);
}

// step: how many steps were made before this one
void adamw_step(const AdamWState& state, const at::Tensor& grad, const at::Tensor& step, AdamW how) {
  const double count = step.item<double>() + 1;
  how.power1 = std::pow(how.beta1, count), how.power2 = std::pow(how.beta2, count);
  const AdamWState after = adamw(state, grad, how);
  keep(state, after);
  if (after.largest.defined()) state.largest.copy_(after.largest);
}

static void lists_like(const Tensors& parameters, std::initializer_list<Tensors> others) {
  for (const Tensors& each : others) {
    SIM_CHECK(each.size() == parameters.size(), "the lists differ in length");
    for (size_t i = 0; i < each.size(); ++i) like(each[i], parameters[i]);
  }
}

void sgd_like(const SgdLists& of, const Sgd& how) {
  lists_like(of.parameters, {of.grads});
  if (!of.buffers.empty()) lists_like(of.parameters, {of.buffers});
  a_number("gradScale", of.grad_scale);
  for (const float each : {how.decay, how.momentum, how.rate, how.dampening})
    SIM_CHECK(each >= 0, "weightDecay, momentum, lr or dampening is ", each, "; allowed: 0 or more");
}

void sgd(const SgdLists& of, const Sgd& how) {
  for (size_t i = 0; i < of.parameters.size(); ++i) {
    auto slope = wide(of.grads[i]);
    if (of.grad_scale.defined()) {
      slope = at::div(slope, of.grad_scale.reshape({}));
      of.grads[i].copy_(slope);
    }
    if (how.maximize) slope = at::neg(slope);
    if (how.decay != 0) slope = at::add(slope, wide(of.parameters[i]), how.decay);
    if (how.momentum != 0 && i < of.buffers.size()) {
      auto speed = how.first ? slope : at::add(at::mul(wide(of.buffers[i]), how.momentum), slope, 1 - how.dampening);
      of.buffers[i].copy_(speed);
      slope = how.nesterov ? at::add(slope, speed, how.momentum) : speed;
    }
    of.parameters[i].copy_(at::sub(wide(of.parameters[i]), slope, how.rate));
  }
}

// By CANN's formula: with amsgrad the largest is that of what is corrected for the first steps.
void fused_adamw(const AdamWLists& of, const AdamW& how, bool amsgrad) {
  if (of.found.defined() && of.found.item<double>() == 1) return;
  for (size_t i = 0; i < of.parameters.size(); ++i) {
    const double count = of.steps[i].reshape({-1})[0].item<double>();
    auto slope = how.maximize ? wide(of.grads[i]).neg() : wide(of.grads[i]);
    if (of.grad_scale.defined()) slope = slope.div(of.grad_scale.reshape({}));
    const AdamWState state{of.parameters[i], of.averages[i], of.squares[i]};
    const auto [parameter, average, square, none] = moments(state, slope, how);
    auto bound = square.div(1 - std::pow(how.beta2, count));
    if (amsgrad) {
      bound = at::maximum(wide(of.largest[i]), bound);
      of.largest[i].copy_(bound);
    }
    auto step = average.div(1 - std::pow(how.beta1, count)).div(bound.sqrt().add(how.eps));
    keep(state, {parameter.mul(1 - how.rate * how.decay).sub(step, how.rate), average, square});
  }
}

void fused_adam(const AdamWLists& of, const AdamW& how, bool amsgrad) {
  if (of.found.defined() && of.found.item<double>() == 1) return;
  for (size_t i = 0; i < of.parameters.size(); ++i) {
    const double count = of.steps[i].reshape({-1})[0].item<double>();
    if (of.grad_scale.defined()) of.grads[i].copy_(wide(of.grads[i]).div(of.grad_scale.reshape({})));
    const auto slope = how.maximize ? wide(of.grads[i]).neg() : wide(of.grads[i]);
    const AdamWState state{of.parameters[i], of.averages[i], of.squares[i], amsgrad ? of.largest[i] : at::Tensor()};
    const auto after =
        adamw(state, slope.add(wide(of.parameters[i]), how.decay),
              {how.rate, how.beta1, how.beta2, 0, how.eps, std::pow(how.beta1, count), std::pow(how.beta2, count)});
    keep(state, after);
    if (amsgrad) of.largest[i].copy_(after.largest);
  }
}

void fused_adamw_like(const AdamWLists& of, bool amsgrad) {
  SIM_CHECK(of.steps.size() == of.parameters.size(), of.steps.size(), " steps for ", of.parameters.size(), " tensors");
  SIM_CHECK(!amsgrad || of.largest.size() == of.parameters.size(), "amsgrad needs maxExpAvgSqs");
  if (amsgrad) lists_like(of.parameters, {of.largest});
  lists_like(of.parameters, {of.grads, of.averages, of.squares});
  a_number("gradScale", of.grad_scale), a_number("foundInf", of.found);
}

// mode 0: the decay is part of the gradient, 1: of the step
void ema_adam(const AdamWState& state, const at::Tensor& grad, const at::Tensor& slow, const at::Tensor& step,
              const AdamW& how, double slow_decay, int64_t mode, bool correct) {
  const double count = step.reshape({-1})[0].item<double>();
  const double first = correct ? 1 - std::pow(how.beta1, count) : 1;
  const double second = correct ? 1 - std::pow(how.beta2, count) : 1;
  auto before = wide(state.parameter);
  auto slope = mode == 0 ? wide(grad).add(before, how.decay) : wide(grad);
  const auto [same, m, v, none] = moments(state, slope, how);
  auto update = m.div(first).div(v.div(second).sqrt().add(how.eps));
  if (mode == 1) update = update.add(before, how.decay);
  auto after = before.sub(update, how.rate);
  slow.copy_(wide(slow).mul(slow_decay).add(after, 1 - slow_decay));
  keep(state, {after, m, v});
}

void quantized_moments_like(const QuantizedState& state, const at::Tensor& grad) {
  SIM_CHECK(state.block == 256, "blockSize ", state.block, "; allowed: 256");
  like(grad, state.parameter);
  for (const QuantizedMoment* each : {&state.average, &state.square}) {
    like(each->index, state.parameter);
    shape(each->map, {256});
    shape(each->scale, {divided(state.parameter.numel() + state.block - 1, state.block)});
  }
}

// (blocks, elements of a block), with zeros at the end
static at::Tensor in_blocks(const at::Tensor& values, int64_t block) {
  const auto flat = values.flatten();
  return at::constant_pad_nd(flat, {0, (block - flat.numel() % block) % block}).view({-1, block});
}

static at::Tensor moment_of(const QuantizedMoment& moment, int64_t block) {
  const auto values = indexed(moment.map.to(at::kFloat), {moment.index.flatten().to(at::kLong)});
  const auto scaled = in_blocks(values, block).mul(moment.scale.to(at::kFloat).unsqueeze(1));
  return scaled.flatten().narrow(0, 0, moment.index.numel()).view(moment.index.sizes());
}

// CANN's page says that the index is searched for, and not which of two neighbours is taken: the nearer one here.
static void write_moment(const QuantizedMoment& moment, const at::Tensor& value, int64_t block) {
  const auto blocks = in_blocks(value, block);
  const auto scale = blocks.abs().amax(1);
  const auto relative = blocks.div(scale.unsqueeze(1)).nan_to_num(0);
  const auto map = moment.map.to(at::kFloat).contiguous();
  const auto between = map.narrow(0, 1, 255).add(map.narrow(0, 0, 255)).div(2);
  const auto found = at::searchsorted(between, relative.contiguous());
  moment.index.copy_(found.flatten().narrow(0, 0, value.numel()).view(value.sizes()));
  moment.scale.copy_(scale);
}

void adamw_quantized(const QuantizedState& state, const at::Tensor& grad, const at::Tensor& count, AdamW how,
                     double grad_scale) {
  how.power1 = std::pow(how.beta1, count.item<double>());
  how.power2 = std::pow(how.beta2, count.item<double>());
  const auto after =
      adamw({state.parameter, moment_of(state.average, state.block), moment_of(state.square, state.block), {}},
            at::mul(wide(grad), grad_scale), how);
  state.parameter.copy_(after.parameter);
  write_moment(state.average, after.average, state.block);
  write_moment(state.square, after.square, state.block);
}

}  // namespace sim::kernels
