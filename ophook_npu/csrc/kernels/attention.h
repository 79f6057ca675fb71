// Fused attention, which both interfaces have.
//
//   attention = dropout(softmax(mask(scale * (pse + q k^T)))) v
//
// is computed in float over (batch, heads, sequence, depth), whatever the layout and dtype of the caller's tensors. Key
// and value may have fewer heads than the query. Tensors that are absent arrive undefined or empty. Functions without a
// result write into the tensors behind `how`; those named check… say what is wrong with a call.
#pragma once

#include "kernels/tensors.h"

namespace sim::attention {

struct Settings {
  double scale = 1, keep = 1;
  int64_t before = INT32_MAX, after = INT32_MAX;  // sparse mode 4: keys seen before and after the query's own position
  int64_t sparse_mode = 0;
  Dims prefix = {};
  // 1: the position encoding is added before scaling, 0: after. 2, 3: it holds a slope for each head, for the distance
  // of query and key, or for its root, which is subtracted after scaling; positions begin at query_start and key_start.
  int64_t pse_type = 1;
  Dims query_start = {}, key_start = {};
  bool by_rows = false;  // layout TND: the statistics lie as the query does, (T, N, 8); else (N, S, 8) of one sequence
                         // behind the other
  at::Tensor max = {}, sum = {}, out = {};    // backward: what the forward gave; computed anew where it is absent
  at::Tensor sink = {};                       // a score for each head that takes part in the softmax and has no value
  at::Tensor query_rope = {}, key_rope = {};  // more of each query's and each key's depth, in layouts that end with it
  double weight_steps = 0;                    // above 0, the weights are rounded to so many steps each, of int8
  // The weights, and the gradients of the scores, go into their products as numbers of 8 bits after multiplication with
  // these; the products are over them again. That the weights are rounded when they are over their sum is the order of
  // the pages' formulas, which name no rounding.
  at::Tensor weight_scale = {}, gradient_scale = {};
  at::ScalarType small = at::kFloat;  // their data type; this is HIFLOAT8
};
struct Inputs {
  at::Tensor query = {}, key = {}, value = {};
  std::string layout = {};
  int64_t heads = 0;
  at::Tensor pse = {}, drop_mask = {}, mask = {};
  Dims query_ends = {}, key_ends = {};  // layout TND: the running sums of the sequences' lengths
  int64_t seed = 0, offset = 0;         // of the dropout mask, where it is drawn
};
struct Outputs {
  at::Tensor max = {}, sum = {}, out = {};
};
// What the backward writes; where it is not asked for, nothing.
struct Gradients {
  at::Tensor query = {}, key = {}, value = {}, pse = {}, sink = {}, query_rope = {}, key_rope = {};
};

inline bool by_rows(const std::string& softmax_layout) {
  return softmax_layout == "TND" || softmax_layout == "same_as_input";
}

void known_layout(const std::string& layout, std::initializer_list<const char*> known);
void float_of(const char* name, const at::Tensor& x, at::IntArrayRef sizes);

// ---- training; layouts BNSD, BSND, BSH, SBH; by_sequence: TND, sequences of different lengths one behind the other
// ---
void check(const Inputs& in, const Settings& how, const at::Tensor& out, bool by_sequence = false);
void check_forward(const Inputs& in, const Settings& how, const Outputs& to, bool by_sequence = false);
void check_backward(const Inputs& in, const Settings& how, const at::Tensor& grad, const Gradients& to,
                    bool by_sequence = false);
void check_pse(const at::Tensor& pse, const std::string& layout);
int64_t scores_of(const Inputs& in);                // how many there are, of all batches, heads, queries and keys
int64_t length_of(const Dims& ends, size_t index);  // of a sequence; one that ends before it begins has no tokens
int64_t longest_of(const Dims& ends);
void check_ends(const char* name, const Dims& ends, const at::Tensor& x);  // x has a row for each token of these
void forward(const Inputs& in, const Settings& how, const Outputs& to);
void backward(const Inputs& in, const Settings& how, const at::Tensor& grad, const Gradients& to);
void forward_by_sequence(const Inputs& in, const Settings& how, const Outputs& to);
void backward_by_sequence(const Inputs& in, const Settings& how, const at::Tensor& grad, const Gradients& to);

// Any of these layouts; the dropout mask is drawn where none is given.
void check_any(const Inputs& in, const Settings& how, const at::Tensor& out);
void forward_any(const Inputs& in, const Settings& how, const Outputs& to);
void backward_any(const Inputs& in, const Settings& how, const at::Tensor& grad, const Gradients& to);

// ---- numbers of HIFLOAT8 in layout BSND, with a scale for each head and block of a sequence: (B, N, blocks, 1)
// -------
struct BlockScales {
  at::Tensor query, key, value, grad;
  int64_t of_query, of_key, of_value;  // the lengths of their blocks
};
void check_by_blocks(const Inputs& in, const BlockScales& scales, const Settings& how, const Outputs& to);
void check_backward_by_blocks(const Inputs& in, const BlockScales& scales, const Settings& how, const at::Tensor& grad,
                              int64_t dtype, const Gradients& to);
void forward_by_blocks(const Inputs& in, const BlockScales& scales, const Settings& how, const Outputs& to);
void backward_by_blocks(const Inputs& in, const BlockScales& scales, const Settings& how, const at::Tensor& grad,
                        const Gradients& to);

}  // namespace sim::attention
