// The scale that loses least: tried one after the other around what the data's distribution suggests.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

struct Calibration {
  double least_percentile, most_percentile;  // what lies beyond is cut off
  double first, last, step;                  // factors of the suggested range, both ends are tried
  bool with_offset;                          // the range need not be symmetric
};
// To whole numbers of 8 bits. `counts`: how much of the data lies in the bins between `least` and `most`, up to each.
struct Calibrated {
  at::Tensor scale, offset;
};
Calibrated calibrated(const at::Tensor& data, const at::Tensor& least, const at::Tensor& most, const at::Tensor& counts,
                      const Calibration& how);

}  // namespace sim::kernels
