// Elements told apart by numbers: added up by segment, found among others, looked up, or each once.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// (segments, rest): what x has for each segment, combined; a number below 0 belongs to none. An empty segment has what
// changes nothing: 0, 1, the least or the greatest number.
enum class Segment { sum, product, most, least };
at::Tensor unsorted_segments(const at::Tensor& x, const at::Tensor& ids, int64_t segments, Segment how);

// Each value once, in the order in which they come first, which of them each element is, and how many there are.
struct Distinct {
  at::Tensor values, inverse, counts;
};
Distinct distinct(const at::Tensor& x);
// The same, filled up to as many as there are elements.
Distinct padded_distinct(const at::Tensor& x, const at::Tensor& pad);
// What of x is not in y, and where it stands.
struct Rest {
  at::Tensor values, places;
};
Rest list_difference(const at::Tensor& x, const at::Tensor& y);

// Whether fewer than k of the row's predictions are greater than that of its target. Not finite ones are not.
at::Tensor in_top_k(const at::Tensor& predictions, const at::Tensor& targets, int64_t k);
// Rows of a part of a table, which begins at `offset`; zeros for what is not in it.
at::Tensor looked_up(const at::Tensor& table, const at::Tensor& indices, int64_t offset);

// The row of each class that was drawn as well, where it stands among those drawn, and the least float for it.
struct Hits {
  at::Tensor rows, places, weights;
};
Hits accidental_hits(const at::Tensor& classes, const at::Tensor& drawn);

}  // namespace sim::kernels
