#include "kernels/silent_check.h"

#include <cmath>

namespace sim::silent {
namespace {

enum Fault : int { kNone = 0, kError = 1, kWarning = 2 };

double number(const at::Tensor& of) { return number_of(wide(of)).toDouble(); }

// What the device's alarm does to a training is an error of the stream: it ends at the next synchronization.
void tell(const Watched& of, Fault fault, double value) {
  of.result.fill_(int(fault));
  SIM_CHECK(fault != kError || of.detect == 1, "accuracy sensitivity feature abnormal: ", value);
}

}  // namespace

void watched_like(const Watched& of, const Thresholds& most) {
  SIM_CHECK(of.detect >= 1 && of.detect <= 3, "npuAsdDetect ", of.detect, "; allowed: 1, 2, 3");
  SIM_CHECK(most.error > most.warning, "cThreshL1 ", most.error, " is not above cThreshL2 ", most.warning);
  one_element(of.value), one_element(of.step), one_element(of.result);
}

void ranged_like(const Watched& of, const at::Tensor& history, const Thresholds& most, const Thresholds& jump) {
  watched_like(of, most);
  SIM_CHECK(jump.error > jump.warning, "cCoeffL1 ", jump.error, " is not above cCoeffL2 ", jump.warning);
  shape(history, {3});
}

// The page says of a jump only that there is a bound; torch_npu's page of NPU_ASD_SIGMA_THRESH has what is bounded:
// (value - last) / (largest - least). The first value has no history, and one that is no number leaves none.
void check_range(const Watched& of, const at::Tensor& history, int64_t min_steps, const Thresholds& most,
                 const Thresholds& jump) {
  const double value = number(of.value), last = number(history[0]), least = number(history[1]),
               largest = number(history[2]);
  const int64_t step = number_of(of.step).toLong();
  const auto beyond = [&](double bound, double times) {
    return value > bound || (step >= min_steps && value - last > times * (largest - least));
  };
  const Fault fault = !std::isfinite(value) || beyond(most.error, jump.error) ? kError
                      : beyond(most.warning, jump.warning)                    ? kWarning
                                                                              : kNone;
  tell(of, fault, value);
  history[0].fill_(value);
  history[1].fill_(step ? std::fmin(least, value) : value);
  history[2].fill_(step ? std::fmax(largest, value) : value);
  of.step.add_(1);
}

void averaged_like(const Watched& of, const Decay& decay, const at::Tensor& gradient, const Dims& sizes,
                   const Thresholds& most) {
  watched_like(of, most), one_element(decay.mean);
  SIM_CHECK(decay.rate > 0 && decay.rate < 1, "beta1 ", decay.rate, "; allowed: above 0 and below 1");
  shape(gradient, sizes);
}

// The mean begins at 0, and what that takes from it is given back: the page writes (1 - beta1)^step for 1 - beta1^step,
// which torch_npu's own detector and the means in the device's logs have. Before the first step the caller says a mean.
void check_average(const Watched& of, const Decay& decay, const at::Tensor& gradient, const Thresholds& most) {
  const double value = number(of.value), mean = number(decay.mean);
  const int64_t step = number_of(of.step).toLong();
  SIM_CHECK(step >= 0, "step ", step);
  const double expected = step ? mean / (1 - std::pow(decay.rate, double(step))) : mean;
  const Fault fault = !std::isfinite(value) || value > expected * most.error ? kError
                      : value > expected * most.warning                      ? kWarning
                                                                             : kNone;
  if (fault == kError && of.detect != 1 && !step) gradient.zero_();
  tell(of, fault, value);
  decay.mean.fill_((step ? decay.rate * mean : 0) + (1 - decay.rate) * value);
  of.step.add_(1);
}

}  // namespace sim::silent
