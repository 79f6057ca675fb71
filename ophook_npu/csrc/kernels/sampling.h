// Samples of distributions and of classes, of whatever a generator gives.
#pragma once

#include <ATen/core/Generator.h>
#include "kernels/tensors.h"

namespace sim::kernels {

// From 0 on and below 1 in the type's own steps, so that a half is not rounded to 1.
at::Tensor uniform_of(at::IntArrayRef sizes, at::ScalarType dtype, const at::Generator& by);
at::Tensor uniform_between(at::IntArrayRef sizes, const at::Tensor& from, const at::Tensor& to,
                           const at::Generator& by);
// Normal numbers of at most two standard deviations.
at::Tensor truncated_normal(at::IntArrayRef sizes, const at::Generator& by);
struct TruncatedNormal {
  at::Tensor mean, std, least, most;  // a number for each of the first dimension, or one for all
};
at::Tensor truncated_normal(at::IntArrayRef sizes, const TruncatedNormal& of, const at::Generator& by);
// (sizes, those of the parameter): samples for each of its elements.
at::Tensor gamma_samples(at::IntArrayRef sizes, const at::Tensor& alpha, const at::Generator& by);
// As many as `sizes` say, of which the parameter is broadcast.
at::Tensor gamma_samples_of(at::IntArrayRef sizes, const at::Tensor& alpha, const at::Generator& by);
at::Tensor poisson_samples_of(at::IntArrayRef sizes, const at::Tensor& rate, const at::Generator& by);
at::Tensor poisson_samples(at::IntArrayRef sizes, const at::Tensor& rate, const at::Generator& by);
// (b, samples): classes by logarithms of their weights, (b, c); one may come again.
at::Tensor classes_of(const at::Tensor& logits, int64_t samples, const at::Generator& by);
at::Tensor permutation(int64_t count, const at::Generator& by);
at::Tensor shuffled(const at::Tensor& x, const at::Generator& by);                    // along the first dimension
at::Tensor kept(at::IntArrayRef sizes, double probability, const at::Generator& by);  // bool

// Classes below `range` that are drawn, and how often each of them and of the true ones is to be expected.
struct Candidates {
  int64_t count, range;
  bool once, rare;  // each once; class c by log((c + 2) / (c + 1)), as words by their rank
};
struct DrawnCandidates {
  at::Tensor classes, expected_of_true, expected;
};
DrawnCandidates candidates(const at::Tensor& truth, const Candidates& how, const at::Generator& by);

}  // namespace sim::kernels
