// Losses that both interfaces have. reduction: ATen's numbers, 0 none, 1 mean, 2 sum.
#pragma once

#include "kernels/tensors.h"

namespace sim::kernels {

// The log-probabilities stay wide: the loss of a half tensor is rounded once.
at::Tensor mse(const at::Tensor& x, const at::Tensor& target, int64_t reduction);
// over the first dimension alone
Dims sizes_of_first(const at::Tensor& x, const at::Tensor& target, int64_t reduction);
at::Tensor mse_of_first(const at::Tensor& x, const at::Tensor& target, int64_t reduction);
at::Tensor soft_margin(const at::Tensor& x, const at::Tensor& target, int64_t reduction);
// Weights can be broadcast to what they weight, and those of nothing have any shape.
void weights_into(const at::Tensor& of, std::initializer_list<at::Tensor> weights);
at::Tensor bce(const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight, int64_t reduction);
at::Tensor bce_logits(const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight,
                      const at::Tensor& pos_weight, int64_t reduction);
at::Tensor bce_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight,
                        int64_t reduction);
at::Tensor mse_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, int64_t reduction);
struct Nll {
  at::Tensor loss, total_weight;
};
Nll nll(const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight, int64_t reduction, int64_t ignored);
at::Tensor nll_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight,
                        int64_t reduction, int64_t ignored, const at::Tensor& total_weight);

// log_alpha has `columns` for a row of the longest target and zeros where no path leads. A batch stands in dimension 1
// of x.
struct Ctc {
  at::Tensor loss, log_alpha;
};
struct CtcPaths {
  at::Tensor log_probs, targets;
  Dims inputs, labels;
  int64_t blank;
  bool zero_infinity;
};
// Their sizes and lengths fit each other; the second, also those of what is known when the gradient is computed.
void paths_fit(const CtcPaths& of);
void paths_fit(const CtcPaths& of, const at::Tensor& grad, const Ctc& forward);
int64_t longest_label(const CtcPaths& of);
int64_t batch_of_paths(const CtcPaths& of);
Ctc ctc(const CtcPaths& of, int64_t columns);
at::Tensor ctc_backward(const at::Tensor& grad, const CtcPaths& of, const Ctc& forward);

// Labels (n, 2) of samples and places with their classes, in the order of the samples; the last class is the blank.
struct SparseLabels {
  at::Tensor places, classes;
  bool collapsed, longer_ignored;  // repeated ones are one; a sample with more labels than time has no loss
};
struct CtcOfLogits {
  at::Tensor loss, gradient;
};
CtcOfLogits ctc_of_logits(const at::Tensor& logits, const SparseLabels& labels, const Dims& lengths);
struct CtcDecoded {
  at::Tensor places, classes, sizes, score;
};
// The greatest of each time, without blanks, the last class, and where `merged` without repeats.
CtcDecoded ctc_greedy(const at::Tensor& logits, const Dims& lengths, bool merged);
// A transducer's: logits (batch, time, labels + 1, classes).
CtcOfLogits transducer(const at::Tensor& logits, const at::Tensor& labels, const Dims& times, const Dims& lengths,
                       int64_t blank);

// Sequences as places (n, rank), in the order of these, and what stands there: how many changes make the one of a place
// but for its last number the other, for all places of `sizes`; `shared`: by the length of the truth.
struct Sequences {
  at::Tensor places, values;
};
at::Tensor edits(const Sequences& guess, const Sequences& truth, at::IntArrayRef sizes, bool shared);

// ---- gradients that ATen has only as a part of autograd ------------------------------------------------------------
at::Tensor l1_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, int64_t reduction);
at::Tensor bce_logits_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target,
                               const at::Tensor& weight, const at::Tensor& pos_weight, int64_t reduction);
at::Tensor bce_logits_target_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                                      const at::Tensor& pos_weight, int64_t reduction);
// Of divergences of types of the graph engine: the sum divided by the length of the first dimension.
constexpr int64_t kBatchMean = 3;
at::Tensor kl(const at::Tensor& x, const at::Tensor& target, int64_t reduction, bool log_target);
at::Tensor kl_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, int64_t reduction,
                       bool log_target);
at::Tensor kl_target_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& target, int64_t reduction,
                              bool log_target);

// ---- cross entropy of classes in dimension 1, and the log-probabilities that its gradient is of ---------------------
struct CrossEntropy {
  at::Tensor loss, log_prob;
};
CrossEntropy cross_entropy(const at::Tensor& x, const at::Tensor& target, const at::Tensor& weight, int64_t reduction,
                           int64_t ignored, double smoothing);
at::Tensor cross_entropy_backward(const at::Tensor& grad, const at::Tensor& log_prob, const at::Tensor& target,
                                  const at::Tensor& weight, int64_t reduction, int64_t ignored, double smoothing);

struct MultilabelMargin {
  at::Tensor loss, is_target;
};
MultilabelMargin multilabel_margin(const at::Tensor& x, const at::Tensor& target, int64_t reduction);

// The gradient of a divergence has no more dimensions and elements than the loss.
void divergence_like(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target);

}  // namespace sim::kernels
