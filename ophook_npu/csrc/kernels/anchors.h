// Which anchors of a grid answer for which boxes of the truth.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

struct AnchorGrid {
  int64_t rows, columns;
  int64_t step_x, step_y;  // of a cell, in the boxes' units
  int64_t anchors;         // of each cell
};
// 1 for the anchors of the cells in which the middles of boxes (n, 4) lie, 0 for the others. What lies outside belongs
// to the cells at the edge.
at::Tensor responsible_anchors(const at::Tensor& boxes, const AnchorGrid& grid);

// Overlaps (truths, n) of n anchors, and the largest of each anchor and of each truth with their places.
struct AnchorOverlaps {
  at::Tensor all, largest, best_truth, largest_of_truth, best_anchor;
};
struct Assignment {
  double least_overlap;           // an anchor's is larger, so that its best truth gets it
  double least_overlap_of_truth;  // a truth's largest is larger, so that it gets its best anchor
  bool all_best;                  // it gets all anchors that overlap it as much
};
// `assigned` (n) with a truth's number, from 1 on, for each anchor that is responsible and gets one.
at::Tensor assigned_truths(const at::Tensor& assigned, const at::Tensor& responsible, const AnchorOverlaps& overlaps,
                           int64_t truths, const Assignment& how);

}  // namespace sim::kernels
