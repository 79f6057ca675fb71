// Elements and slices that indices name, taken and put; one-hot codes; embeddings.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// ---- one index a dimension: an undefined one takes the whole dimension; taken by `indexed` ------------------------
// The slices along a dimension in their order, each once: the first place of each, how often it stands there, and for
// each place which of them does.
struct Slices {
  at::Tensor slices, first, counts, inverse;
};
Slices unique_slices(const at::Tensor& x, int64_t dim);

// (n, dimensions), or the other way round.
at::Tensor places_of_nonzero(const at::Tensor& x, bool transposed);
void put_indexed(const at::Tensor& self, const Tensors& indices, const at::Tensor& values, bool accumulate);

// ---- along one dimension -------------------------------------------------------------------------------------------
// The indices' dimensions stand where the one they index stood. Negative indices count from its end.
at::Tensor taken(const at::Tensor& x, int64_t dim, const at::Tensor& indices);
// Of each line along dim what its own indices name; negative ones count from the end, too.
at::Tensor gathered(const at::Tensor& x, int64_t dim, const at::Tensor& indices);
// The same for each place in the first `batch` dimensions, which both have.
at::Tensor taken(const at::Tensor& x, int64_t dim, const at::Tensor& indices, int64_t batch);
Dims taken_sizes(const at::Tensor& x, int64_t dim, at::IntArrayRef indices);
at::IntArrayRef one_at_least(const at::Tensor& indices);  // a single index without dimensions has one here
Dims broadcast_sizes(at::IntArrayRef one, at::IntArrayRef other);
at::Tensor index_filled(const at::Tensor& x, int64_t dim, const Dims& indices, const at::Scalar& value);
// reduction: CANN's numbers, 0 none, 1 add, 2 multiply, 3 to 5 as below; any other is 0
at::Tensor scattered(const at::Tensor& x, int64_t dim, const at::Tensor& indices, const at::Tensor& source,
                     int64_t reduction);
// Negative indices count from the end.
at::Tensor scattered_from_both_ends(const at::Tensor& x, int64_t dim, const at::Tensor& indices,
                                    const at::Tensor& source, int64_t reduction);
at::Tensor scattered(const at::Tensor& x, int64_t dim, const at::Tensor& indices, const at::Scalar& value,
                     int64_t reduction);
// reduction: 0 none, 1 sum, 2 prod, 3 amax, 4 amin, 5 mean
void reduced_mode(int64_t reduction);  // one that scatter_reduced knows
at::Tensor scatter_reduced(const at::Tensor& x, int64_t dim, const at::Tensor& indices, const at::Tensor& source,
                           int64_t reduction, bool include_self);
// value[i] fills the ranges start[i, j] <= k < end[i, j] of the last dimensions: j counts along the first.
at::Tensor range_filled(const at::Tensor& x, const at::Tensor& start, const at::Tensor& end, const at::Tensor& value,
                        int64_t dim);

// ---- codes and embeddings ------------------------------------------------------------------------------------------
at::Tensor one_hot(const at::Tensor& labels, int64_t classes, const at::Tensor& on, const at::Tensor& off, int64_t dim);
at::Tensor embedding_backward(const at::Tensor& grad, const at::Tensor& indices, int64_t rows, int64_t padding,
                              bool by_frequency);
struct EmbeddingBag {
  at::Tensor result, bags, sizes, winners;  // which of the last three ATen fills depends on its own choice of kernel
};
EmbeddingBag embedding_bag(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets,
                           bool by_frequency, int64_t mode, const at::Tensor& factors, bool include_last,
                           int64_t padding);
void renorm_embedding(const at::Tensor& weight, const at::Tensor& indices, double max, double p);  // in place

}  // namespace sim::kernels
