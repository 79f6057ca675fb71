// Mixture of experts: which experts each token goes to, its rows in the order of the experts, and their results
// together.
#pragma once

#include "kernels/tensors.h"

namespace sim::routing {

// ---- choice --------------------------------------------------------------------------------------------------------
void gating(const at::Tensor& x, const at::Tensor& bias, int64_t k, int64_t groups_kept, int64_t groups, int64_t mode,
            int64_t renorm, int64_t norm);
// The weights of the chosen experts, these, and the weights of all.
Tensors gating_top_k(const at::Tensor& x, const at::Tensor& bias, int64_t k, int64_t groups_kept, int64_t groups,
                     int64_t mode, bool sigmoid, double factor, double eps);
// The same where the table has the experts of each token number: (numbers, k).
void looked_up_like(const at::Tensor& x, const at::Tensor& numbers, const at::Tensor& table, int64_t k);
Tensors gating_looked_up(const at::Tensor& x, const at::Tensor& numbers, const at::Tensor& table, bool sigmoid,
                         double factor, double eps);
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
void route_like(const at::Tensor& x, const at::Tensor& expert_idx, int64_t experts, int64_t capacity, int64_t pad,
                int64_t quantization, const at::Tensor& scale, const at::Tensor& offset, const at::Tensor& rows,
                const at::Tensor& places, int64_t active, const at::Tensor& row_scale = {});
void counts_like(int64_t kind, int64_t experts, const Dims& range, const at::Tensor& counts);
// They write what they route: `rows` may have more than there are choices, whose content stays.
void init_routing_v3(const at::Tensor& x, const at::Tensor& expert_idx, const at::Tensor& scale,
                     const at::Tensor& offset, int64_t capacity, int64_t experts, int64_t kind, bool counts_asked,
                     int64_t quantization, const Dims& range, bool by_row, const at::Tensor& rows,
                     const at::Tensor& places, const at::Tensor& counts, const at::Tensor& row_scale);
// Without a number of experts their counts are not asked for, and any number may come.
void init_routing_v2(const at::Tensor& x, const at::Tensor& expert_idx, const at::Tensor& scale,
                     const at::Tensor& offset, int64_t capacity, int64_t experts, int64_t counts_kind,
                     bool before_asked, int64_t quantization, const at::Tensor& rows, const at::Tensor& places,
                     const at::Tensor& counts, const at::Tensor& before, const at::Tensor& row_scale);

at::Tensor in_steps(const at::Tensor& x, double scale, double offset);  // as int8
// Of the second form: places (tokens * k) of each token in turn; -1, and what is behind the last row, was dropped.
void init_backward_like(const at::Tensor& grad, const at::Tensor& places, int64_t k, int64_t drop, int64_t active,
                        const at::Tensor& out);
at::Tensor init_backward(const at::Tensor& grad, const at::Tensor& places, int64_t k);
// The gradients of the rows, of `sizes`, and of the scales, which are undefined where there are none.
void finalize_backward_like(const at::Tensor& grad, const at::Tensor& places, const at::Tensor& rows,
                            const at::Tensor& scales, const at::Tensor& experts, const at::Tensor& bias,
                            const at::Tensor& out, const at::Tensor& out_scales);
Tensors finalize_backward(const at::Tensor& grad, const at::Tensor& places, const at::Tensor& rows,
                          const at::Tensor& scales, const at::Tensor& experts, const at::Tensor& bias,
                          at::IntArrayRef sizes);
// ---- and back ------------------------------------------------------------------------------------------------------
void finalized_like(const at::Tensor& rows, const at::Tensor& places, const at::Tensor& bias, const at::Tensor& scales,
                    const at::Tensor& experts, int64_t mode, const at::Tensor& out, int64_t k = 1);
// places: of the first choice of all tokens, then of the second; or by_row of each token in turn. -1 was dropped. k:
// how many choices a token has, where no scales say it.
at::Tensor finalize(const at::Tensor& rows, const at::Tensor& places, const at::Tensor& skip1, const at::Tensor& skip2,
                    const at::Tensor& bias, const at::Tensor& scales, const at::Tensor& experts, bool by_row,
                    int64_t k = 1);

// ---- which copy of an expert a device takes, and which choices are not worth it ------------------------------------
// table: for each expert the number of its copies, and these.
void balanced_like(const at::Tensor& experts, const at::Tensor& table, const at::Tensor& scales,
                   const at::Tensor& threshold, const at::Tensor& active, int64_t rank, int64_t ranks, int64_t mode,
                   const at::Tensor& out, const at::Tensor& out_active);
at::Tensor balanced(const at::Tensor& experts, const at::Tensor& table, int64_t rank, int64_t ranks, int64_t mode);
at::Tensor kept_choices(const at::Tensor& scales, const at::Tensor& threshold, const at::Tensor& active);

// ---- from the order of the devices that sent them ------------------------------------------------------------------
void re_routed(const at::Tensor& tokens, const at::Tensor& counts, int64_t kind, int64_t index_kind,
               const at::Tensor& out);
// The tokens, their scales where there are some, where each row comes from, and how many rows each expert has.
Tensors re_route(const at::Tensor& tokens, const at::Tensor& counts, const at::Tensor& scales);

}  // namespace sim::routing
