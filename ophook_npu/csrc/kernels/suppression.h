// Boxes that stay by their scores: the best first, and none that overlaps one before it too much.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

struct Suppression {
  double least_score;  // a box stays with a higher one
  double most_overlap;
  int64_t count;  // how many may stay
};
// Of boxes (n, 4), two opposite corners each, with scores (n): their places, as TensorFlow chooses them.
Dims chosen_boxes(const at::Tensor& boxes, const at::Tensor& scores, const Suppression& how);
// The places and zeros behind them, as `size` numbers, and how many places there are.
struct Chosen {
  at::Tensor places, count;
};
Chosen chosen_and_padded(const at::Tensor& boxes, const at::Tensor& scores, const Suppression& how, int64_t size);

// Of boxes (batch, n, 4) with scores (batch, classes, n): the batch, the class and the place of each that stays, as
// ONNX orders them. `centred`: a box is its centre, width and height.
at::Tensor chosen_of_each(const at::Tensor& boxes, const at::Tensor& scores, const Suppression& how, bool centred);

// Boxes (batch, n, 1 or classes, 4), or `boxes_last` (batch, 1 or classes, 4, n), the lesser corner first, with scores
// (batch, n, classes): of each class those that may stay, of all classes the best `total`, and zeros behind them.
struct ClassifiedBoxes {
  at::Tensor boxes, scores, classes, counts;
};
ClassifiedBoxes chosen_by_class(const at::Tensor& boxes, const at::Tensor& scores, const Suppression& of_class,
                                int64_t total, bool boxes_last);

}  // namespace sim::kernels
