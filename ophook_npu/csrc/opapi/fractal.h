// FRACTAL_NZ, the private format of weights: a matrix (rows, columns) lies as (columns / c0, rows / 16, 16, c0), cut
// into tiles of 16 rows by 32 bytes, with zeros where the last tiles reach beyond it. FRACTAL_NZ_C0_16 and its like
// have tiles of that many columns. Rows of functions see such a tensor as the matrix that it stands for.
#pragma once

#include "opapi/places.h"

namespace sim::aclnn {

inline bool is_fractal(int format) {
  return format == ACL_FORMAT_FRACTAL_NZ ||
         (format >= ACL_FORMAT_FRACTAL_NZ_C0_16 && format <= ACL_FORMAT_FRACTAL_NZ_C0_8);
}
inline bool is_fractal(const aclTensor* tensor) { return tensor && is_fractal(tensor->format); }

// The sizes of the storage that holds matrices (…, rows, columns) in tiles of this many columns.
Dims fractal_sizes(at::IntArrayRef matrix, int64_t width);
// `matrix` has the sizes of the view, and its memory holds tiles of these sizes: the matrix itself, in memory of its
// own.
at::Tensor from_fractal(const at::Tensor& matrix, at::IntArrayRef storage);
// The tiles of a matrix, of this many columns, or as many as 32 bytes hold.
at::Tensor to_fractal(const at::Tensor& matrix, int64_t width = 0);

// An input of a call that lies so, and the sizes of the tiles.
struct Fractal {
  Place place;
  Dims storage;

  template <typename All>
  void unpack(All& held) const {
    auto& tensor = place.in(held);
    tensor = from_fractal(tensor, storage);
  }
};
Fractal fractal_at(const Place& place, const aclTensor& tensor);

}  // namespace sim::aclnn
