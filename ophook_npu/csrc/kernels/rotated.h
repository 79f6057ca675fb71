// Boxes that are turned: what two of them share is exact, one polygon cut along the sides of the other.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// (batch, 5, n) with (batch, 5, m), each box its centre, width, height and an angle in degrees, from x towards y: the
// area that they share, as (batch, n, m), or `relative`, that over the area which both cover.
at::Tensor rotated_overlaps(const at::Tensor& boxes, const at::Tensor& others, bool relative);

struct RotatedSuppression {
  double most_overlap, least_score;
  int64_t count;  // how many may stay; below 0: all
  bool corners;   // a box is two corners before it is turned, and an angle from y towards x
};
struct KeptBoxes {
  at::Tensor boxes, places;  // the best first
};
// Of boxes (n, 5) with scores (n): those that overlap none before them by more than this.
KeptBoxes rotated_unsuppressed(const at::Tensor& boxes, const at::Tensor& scores, const RotatedSuppression& how);

}  // namespace sim::kernels
