// Reductions where ATen's own is not enough: products of half types are rounded once, at the end.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

at::Tensor product(const at::Tensor& x, at::ScalarType result);
at::Tensor product(const at::Tensor& x, int64_t dim, bool keep_dim, at::ScalarType result);
at::Tensor product(const at::Tensor& x, Dims dims, bool keep_dims);  // over several, in the type that wide() gives
at::Tensor average_of(const at::Tensor& x, const Dims& dims, bool keep_dims);     // of whole numbers cut off
at::Tensor squares_along(const at::Tensor& x, const Dims& dims, bool keep_dims);  // their sum
at::Tensor log_of_sum(const at::Tensor& x, const Dims& dims, bool keep_dims);
// Up to each number; `exclusive`: without it, and `reverse`: from the end.
struct Scan {
  bool exclusive = false, reverse = false;
};
at::Tensor running_sum(const at::Tensor& x, int64_t dim, const Scan& scan);
at::Tensor running_product(const at::Tensor& x, int64_t dim, at::ScalarType result, const Scan& scan = {});
// That of no number is the least one that is finite, as TensorFlow has it.
at::Tensor running_logsumexp(const at::Tensor& x, int64_t dim, const Scan& scan);
// The first `count` along a dimension when it is sorted, the earlier of equal ones first, and where they stood.
struct Sorted {
  at::Tensor values, places;
};
Sorted first_of_sorted(const at::Tensor& x, int64_t count, int64_t dim, bool largest);
struct Deviation {
  at::Tensor std, mean;
};
Deviation deviation(const at::Tensor& x, const Dims& dims, int64_t correction,
                    bool keep_dims);  // over all where none is named
// Over the mean that it is given, as large as x.
at::Tensor variance_from(const at::Tensor& x, const at::Tensor& mean, const Dims& dims, int64_t correction,
                         bool keep_dims);
struct Extremes {
  at::Tensor least, most;
};
Extremes extremes(const at::Tensor& x, at::IntArrayRef dims, bool keep_dims);
// How often a label meets a prediction, or the sum of the weights of such pairs.
at::Tensor confusion(const at::Tensor& labels, const at::Tensor& predictions, const at::Tensor& weights,
                     int64_t classes);
// What lies outside counts at the ends.
at::Tensor histogram_between(const at::Tensor& x, const at::Tensor& ends, int64_t bins);
at::Tensor histogram(const at::Tensor& x, int64_t bins, const at::Scalar& min, const at::Scalar& max);

// ---- norms: over all dimensions where none is named. At an infinite or a zero order there is no root to take
// ---------
at::Tensor norm(const at::Tensor& x, double p, const Dims& dims, bool keep_dims, double least);
// By the root of the sum of squares, or of `least` where that is more.
at::Tensor l2_normalized(const at::Tensor& x, const Dims& dims, double least);
at::Tensor l2_normalized_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& y, const Dims& dims,
                                  double least);
at::Tensor half_of_squares(const at::Tensor& x);
at::Tensor power_sum(const at::Tensor& x, double p, const Dims& dims, bool keep_dims);  // the norm to the power of p
at::Tensor norm_of_power_sum(const at::Tensor& sum, double p, double least);
// Of the distances of each row of x1 to each row of x2, all spread out as (…, rows 1, rows 2, columns).
at::Tensor spread_distances_backward(const at::Tensor& grad, const at::Tensor& x1, const at::Tensor& x2,
                                     const at::Tensor& distances, double p);
// The same of (…, rows, columns). ATen's own takes no -1, and finds no farthest column where the distance was rounded.
at::Tensor distances_backward(const at::Tensor& grad, const at::Tensor& x1, const at::Tensor& x2,
                              const at::Tensor& distances, double p);

// As at::unique_consecutive, also of complex numbers.
std::tuple<at::Tensor, at::Tensor, at::Tensor> without_repeats(const at::Tensor& self, std::optional<int64_t> dim);

// CANN converts what its operator does not take to FLOAT: of a complex number its real part.
at::Tensor vector_norm(const at::Tensor& x, const at::Scalar& order, at::OptionalIntArrayRef dims, bool keep_dims);

}  // namespace sim::kernels
