// Products of groups of rows, each with its expert's weight, in float, int8 and int4, and the feed-forward network of
// two such products.
#pragma once

#include "kernels/activation.h"
#include "kernels/groups.h"
#include "kernels/quantized_product.h"

namespace sim::grouped {

using weighted::Extras;

// ---- groups of rows ------------------------------------------------------------------------------------------------
struct Lists {
  Tensors bias, scale, offset, antiquant_scale, antiquant_offset, row_scale = {};
};

// ---- feed-forward --------------------------------------------------------------------------------------------------
struct Layer {
  at::Tensor weight, bias, scale, antiquant_scale, antiquant_offset;
  Extras of(int64_t expert, bool experts) const {
    auto pick = [&](const at::Tensor& all) { return all.defined() && experts ? all[expert] : all; };
    return {pick(bias), pick(scale), {}, pick(antiquant_scale), pick(antiquant_offset), {}};
  }
};

enum GroupType : int64_t { kNoGroups = -1, kRows = 0, kInner = 2 };
const char* activation_of(int64_t act_type);
void grouped_product(const Tensors& x, const Tensors& weight, const Lists& lists,
                     const std::vector<groups::Group>& groups, int64_t group_type, const std::string& activation,
                     const Tensors& out);
std::vector<groups::Group> groups_of_list(const at::Tensor& list, int64_t kind, const Tensors& x, const Tensors& weight,
                                          int64_t group_type);
struct GroupIndex {
  at::Tensor list = {};
  int64_t type = kRows, kind = groups::kEnds;
};
void grouped(const Tensors& x, const Tensors& weight, const Lists& lists, const Tensors& out, int64_t split_item,
             const GroupIndex& groups);
void grouped(const Tensors& x, const Tensors& weight, const Lists& lists, const Tensors& out, int64_t split_item,
             const GroupIndex& groups, int64_t act_type, std::initializer_list<Tensors> absent);
// Numbers of 8 bits by 4 may have a scale for so many along k, 256 where torch_npu calls; or one for all of k, as the
// others.
void scaled_in_groups(const Tensors& x, const Tensors& weight, const Tensors& scale, int64_t group_size);
// out[i] += x' weight over the i-th group of rows of both.
void added_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& list, bool turned, bool weight_turned,
                int64_t group_type, const at::Tensor& out);
void add_products(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& list, int64_t kind,
                  const at::Tensor& out);
// Products with each expert's weight, silu of one half times the other, and this quantized again: by rows and columns,
// of numbers of 8 bits or 4, or in blocks of 32, of 8 or 4. dequant: the aclDataType of the product before the
// activation. assist: for each expert, what the product of 8 bits by 4 leaves out; smooth: what its result, or each
// column of it, is multiplied with where both are of 4 bits.
bool of_4_bit_floats(const at::Tensor& tensor);
// Of all numbers, where several share a byte or a word.
Dims row_sizes(const at::Tensor& x);
Dims matrix_sizes(const at::Tensor& weight);
struct Requantized {
  bool in_blocks = false;
  int64_t dequant = 0;
  Tensors assist = {};
  at::Tensor smooth = {};
};
struct SwigluProduct {
  at::Tensor x;
  Tensors weight, scale;
  at::Tensor row_scale;
  int64_t kind;  // of the list of groups
  Requantized how;
};
void swiglu_product_like(const SwigluProduct& of, std::initializer_list<at::Tensor> absent, const at::Tensor& out,
                         const at::Tensor& out_scale);
void swiglu_product(const SwigluProduct& of, const at::Tensor& list, const at::Tensor& out,
                    const at::Tensor& out_scale);
at::Tensor ends_of(const Dims& ends);  // as a tensor, undefined where there are none
struct FeedForward {
  at::Tensor x;
  Layer first, second;
  at::Tensor scale, offset;  // between them, of int8
  std::string activation;
};
void feed_forward_like(const FeedForward& of, int64_t experts, const at::Tensor& out);
void feed_forward(const FeedForward& of, const Dims& tokens, bool ends, bool fast, const at::Tensor& out);

// ---- each expert's rows times a number each, added up where row_index says ------------------------------------------
struct Combined {
  at::Tensor x, weight;
  Extras with;
  at::Tensor list;
  int64_t kind;  // of the list
  at::Tensor logit, row_index, shared;
  double shared_weight;
  int64_t shared_offset;  // the row from which on the shared expert's are added
};
// Scaled in blocks of 32 numbers, and with a weight of FLOAT4 for rows of FLOAT8.
bool by_blocks_of_32(const Combined& of);
bool is_mixed(const Combined& of);
// With the weight, and its scales of 32 numbers along k each, as (experts, n, k).
Combined turned_over(Combined of);
void finalized_product_like(Combined of, int64_t dtype, bool turned, bool weight_turned, const at::Tensor& out);
at::Tensor finalized_product(const Combined& of, at::IntArrayRef sizes);

}  // namespace sim::grouped
