// Mixture of experts: which experts each token goes to, its rows in the order of the experts, and their results
// together.
#pragma once

#include "kernels/tensors.h"

namespace sim::routing {

// ---- choice --------------------------------------------------------------------------------------------------------
struct Gating {
  int64_t k, groups_kept, groups, mode, renorm, norm;  // norm: 0 softmax, 1 sigmoid
  double factor, eps;
};
void gating(const at::Tensor& x, const at::Tensor& bias, const Gating& how);
// The weights of the chosen experts, these, and the weights of all.
Tensors gating_top_k(const at::Tensor& x, const at::Tensor& bias, const Gating& how);
// The same where the table has the experts of each token number: (numbers, k).
void looked_up_like(const at::Tensor& x, const at::Tensor& numbers, const at::Tensor& table, int64_t k);
Tensors gating_looked_up(const at::Tensor& x, const at::Tensor& numbers, const at::Tensor& table, const Gating& how);
// Of the choice by sigmoid, from the weights of all.
void gating_backward_like(const at::Tensor& all, const at::Tensor& grad, const at::Tensor& chosen, int64_t renorm,
                          int64_t norm, const at::Tensor& out);
at::Tensor gating_backward(const at::Tensor& all, const at::Tensor& grad, const at::Tensor& chosen, double factor,
                           double eps);
void chosen_like(const at::Tensor& x, int64_t k, std::initializer_list<at::Tensor> outs);
// The same by softmax: of all experts, or `late`, of the chosen ones. A finished row goes to the expert behind the
// last.
Tensors gating_softmax(const at::Tensor& x, const at::Tensor& finished, int64_t k, bool late);
// The numbers of (…, k) choices: of the first choice of all tokens, then of the second.
at::Tensor numbers_of_choices(at::IntArrayRef sizes);
// How many rows go to this expert and those before it.
at::Tensor ends_of_experts(const at::Tensor& sorted, int64_t experts);

// ---- rows in the order of the experts ------------------------------------------------------------------------------
void routed(const at::Tensor& x, const at::Tensor& expert_idx);
// The rows, the place of each choice among them, and the experts of the rows.
Tensors init_routing(const at::Tensor& x, const at::Tensor& row_idx, const at::Tensor& expert_idx, int64_t active);

enum Quantization : int64_t { kNone = -1, kStatic = 0, kDynamic = 1, kDynamic4 = 13 };  // the last: numbers of 4 bits
struct Choices {
  at::Tensor x, expert_idx, scale = {}, offset = {};
  int64_t active, capacity, experts, pad = 0;  // capacity: the rows of each expert, where they are filled up
  int64_t quantization = kNone;
};
struct Routed {
  at::Tensor rows, places, scale = {};
};
void route_like(const Choices& of, const Routed& to);
void counts_like(int64_t kind, int64_t experts, const Dims& range, const at::Tensor& counts);
// They write what they route: `rows` may have more than there are choices, whose content stays.
void init_routing_v3(const Choices& of, int64_t kind, bool counts_asked, const Dims& range, bool by_row,
                     const Routed& to, const at::Tensor& counts);
// Without a number of experts their counts are not asked for, and any number may come.
void init_routing_v2(const Choices& of, int64_t counts_kind, bool before_asked, const Routed& to,
                     const at::Tensor& counts, const at::Tensor& before);

at::Tensor in_steps(const at::Tensor& x, double scale, double offset);  // as int8
// Of the second form: places (tokens * k) of each token in turn; -1, and what is behind the last row, was dropped.
void init_backward_like(const at::Tensor& grad, const at::Tensor& places, int64_t k, int64_t drop, int64_t active,
                        const at::Tensor& out);
at::Tensor init_backward(const at::Tensor& grad, const at::Tensor& places, int64_t k);
// The gradients of the rows, of `sizes`, and of the scales, which are undefined where there are none.
struct Finalized {
  at::Tensor places, rows, scales, experts, bias;
};
void finalize_backward_like(const at::Tensor& grad, const Finalized& of, const at::Tensor& out,
                            const at::Tensor& out_scales);
Tensors finalize_backward(const at::Tensor& grad, const Finalized& of, at::IntArrayRef sizes);
// ---- and back ------------------------------------------------------------------------------------------------------
// places: of the first choice of all tokens, then of the second; from mode 2 on, of each token in turn. -1 was dropped.
// k: how many choices a token has, where no scales say it.
struct Results {
  at::Tensor rows, places, skip1, skip2, bias, scales, experts;
  int64_t mode = 0, k = 1;
};
void finalized_like(const Results& of, const at::Tensor& out);
at::Tensor finalize(const Results& of);

// ---- which copy of an expert a device takes, and which choices are not worth it ------------------------------------
// table: for each expert the number of its copies, and these.
struct Balance {
  at::Tensor experts, table, scales, threshold, active;
  int64_t rank, ranks, mode;
};
void balanced_like(const Balance& of, const at::Tensor& out, const at::Tensor& out_active);
at::Tensor balanced(const Balance& of);
at::Tensor kept_choices(const Balance& of);

// ---- from the order of the devices that sent them ------------------------------------------------------------------
struct ReRouted {
  at::Tensor rows, scales, places, counts;
};
void re_routed(const at::Tensor& tokens, const at::Tensor& counts, const at::Tensor& scales, int64_t kind,
               int64_t index_kind, const ReRouted& to);
// The tokens, their scales where there are some, where each row comes from, and how many rows each expert has.
Tensors re_route(const at::Tensor& tokens, const at::Tensor& counts, const at::Tensor& scales);

}  // namespace sim::routing
