// One number of a training's gradients, watched from step to step: a jump is a device that calculates wrongly.
#pragma once

#include "kernels/tensors.h"

namespace sim::silent {

struct Watched {
  const at::Tensor &value, &step, &result;  // result: 0, 1 for an error, 2 for a warning
  int64_t detect;                           // 1: an error is told and no more; 2, 3: it ends the call
};
struct Thresholds {
  double error, warning;
};
void watched_like(const Watched& of, const Thresholds& most);

// Against a bound, and against the range of all values before: history (the last, the least, the largest).
void ranged_like(const Watched& of, const at::Tensor& history, const Thresholds& most, const Thresholds& jump);
void check_range(const Watched& of, const at::Tensor& history, int64_t min_steps, const Thresholds& most,
                 const Thresholds& jump);

// Against a multiple of the mean of the values before.
struct Decay {
  const at::Tensor& mean;
  double rate;
};
void averaged_like(const Watched& of, const Decay& decay, const at::Tensor& gradient, const Dims& sizes,
                   const Thresholds& most);
void check_average(const Watched& of, const Decay& decay, const at::Tensor& gradient, const Thresholds& most);

}  // namespace sim::silent
