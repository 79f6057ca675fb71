// Diagonals of matrices, packed into rows as TensorFlow has them: from the highest down, each at one end of its row.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

struct Diagonals {
  int64_t low = 0, high = 0;                                // below the main diagonal: negative
  bool upper_at_the_left = true, lower_at_the_left = true;  // where in its row one lies that is shorter
  int64_t count() const { return high - low + 1; }
};

at::Tensor diagonals_of(const at::Tensor& x, const Diagonals& of, const at::Tensor& padding);
at::Tensor with_diagonals(const at::Tensor& x, const at::Tensor& packed, const Diagonals& of);
// A matrix of these diagonals, and of the padding elsewhere, or of zeros.
at::Tensor matrix_of(at::IntArrayRef sizes, const at::Tensor& packed, const Diagonals& of, const at::Tensor& padding);
at::Tensor adjoint(const at::Tensor& x, const Dims& order);
std::pair<at::Tensor, at::Tensor> eigen_of_symmetric(const at::Tensor& x, bool vectors);
// What `upper` and `lower` diagonals beside the main one do not hold is 0; all of them where one is below 0.
at::Tensor band_of(const at::Tensor& x, int64_t lower, int64_t upper);
// The rows of `diagonals` are those above, on and below the main one: three of as many numbers as there are rows.
at::Tensor solved_of_three(const at::Tensor& diagonals, const at::Tensor& rhs);
// The factors of a matrix in one, and where each of its rows came from.
std::pair<at::Tensor, at::Tensor> factors_and_rows(const at::Tensor& x);
// The product of a matrix of `sizes` that has these numbers at these places, and a matrix.
at::Tensor sparse_product(const at::Tensor& places, const at::Tensor& numbers, const Dims& sizes, const at::Tensor& x,
                          bool turn, bool turn_x);
// The digits of each number in a system whose bases these are: a row for each.
at::Tensor digits_of(const at::Tensor& numbers, const at::Tensor& bases);

}  // namespace sim::kernels
