// Products of groups of rows, each with its expert's weight, in float, int8 and int4, and the feed-forward network of
// two such products.
#pragma once

#include "kernels/activation.h"
#include "kernels/quant.h"

namespace sim::grouped {

// ---- one product ---------------------------------------------------------------------------------------------------
// What goes with one weight; an undefined tensor is absent.
struct Extras {
  at::Tensor bias, scale, offset, antiquant_scale, antiquant_offset;
  at::Tensor row_scale;  // of the rows of x
};

// ---- groups of rows ------------------------------------------------------------------------------------------------
struct Lists {
  const Tensors &bias, &scale, &offset, &antiquant_scale, &antiquant_offset, &row_scale;
};

// ---- feed-forward --------------------------------------------------------------------------------------------------
struct Layer {
  const at::Tensor &weight, &bias, &scale, &antiquant_scale, &antiquant_offset;
  Extras of(int64_t expert, bool experts) const {
    auto pick = [&](const at::Tensor& all) { return all.defined() && experts ? all[expert] : all; };
    return {pick(bias), pick(scale), {}, pick(antiquant_scale), pick(antiquant_offset), {}};
  }
};

enum GroupType : int64_t { kNoGroups = -1, kRows = 0, kInner = 2 };
const char* activation_of(int64_t act_type);
void grouped_product(const Tensors& x, const Tensors& weight, const Lists& lists,
                     const std::vector<quant::Group>& groups, int64_t group_type, const std::string& activation,
                     const Tensors& out);
std::vector<quant::Group> groups_of_list(const at::Tensor& list, int64_t kind, const Tensors& x, const Tensors& weight,
                                         int64_t group_type);
void grouped(const Tensors& x, const Tensors& weight, const Tensors& out, int64_t split_item,
             const at::Tensor& list = {}, int64_t group_type = kRows);
void grouped(const Tensors& x, const Tensors& weight, const Tensors& out, int64_t split_item, const at::Tensor& list,
             int64_t group_type, int64_t act_type, std::initializer_list<Tensors> absent);
// Numbers of 8 bits by 4 may have a scale for so many along k, 256 where torch_npu calls; or one for all of k, as the
// others.
void scaled_in_groups(const Tensors& x, const Tensors& weight, const Tensors& scale, int64_t group_size);
// out[i] += x' weight over the i-th group of rows of both.
void added_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& list, bool turned, bool weight_turned,
                int64_t group_type, int64_t kind, const at::Tensor& out);
void add_products(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& list, int64_t kind,
                  const at::Tensor& out);
// Products with each expert's weight, silu of one half times the other, and this quantized again: by rows and columns,
// of numbers of 8 bits or 4, or in blocks of 32, of 8 or 4. dequant: the aclDataType of the product before the
// activation. assist: for each expert, what the product of 8 bits by 4 leaves out; smooth: what its result, or each
// column of it, is multiplied with where both are of 4 bits.
struct Requantized {
  bool in_blocks = false;
  int64_t dequant = 0;
  Tensors assist = {};
  at::Tensor smooth = {};
};
void swiglu_product_like(const at::Tensor& x, const Tensors& weight, const Tensors& scale, const at::Tensor& row_scale,
                         std::initializer_list<at::Tensor> absent, int64_t kind, const Requantized& how,
                         const at::Tensor& out, const at::Tensor& out_scale);
void swiglu_product(const at::Tensor& x, const Tensors& weight, const Tensors& scale, const at::Tensor& row_scale,
                    const at::Tensor& list, int64_t kind, const Requantized& how, const at::Tensor& out,
                    const at::Tensor& out_scale);
void feed_forward_like(const at::Tensor& x, const at::Tensor& weight1, const at::Tensor& weight2, const Dims& tokens,
                       const at::Tensor& scale, const at::Tensor& scale1, const std::string& activation,
                       const at::Tensor& out);
void feed_forward(const at::Tensor& x, const Dims& tokens, bool ends, const Layer& first, const Layer& second,
                  const at::Tensor& scale, const at::Tensor& offset, const std::string& activation, bool fast,
                  const at::Tensor& out);

// ---- one quantized product -----------------------------------------------------------------------------------------
void quantized_matmul_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& x_offset,
                           const at::Tensor& out_scale, const at::Tensor& out);
void quantized_matmul(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& row_scale,
                      const at::Tensor& scale, const at::Tensor& offset, const at::Tensor& out_offset,
                      const at::Tensor& bias, const at::Tensor& out);
at::Tensor turned(const at::Tensor& matrix, bool transpose);
// The same, or with a scale for each row and 128 columns of x, and for each 128 x 128 of the weight.
void product_by_scales_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& row_scale,
                            const at::Tensor& scale, const at::Tensor& x_offset, const at::Tensor& out_scale,
                            bool transpose_weight, const at::Tensor& out);
void product_by_scales(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& row_scale,
                       const at::Tensor& scale, const at::Tensor& offset, const at::Tensor& out_offset,
                       const at::Tensor& bias, bool transpose_weight, const at::Tensor& out);
// The first form of weight quantization.
void matrix_quantized_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& deq_offset,
                           const at::Tensor& deq_scale, const at::Tensor& out);
void matrix_quantized(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& deq_offset,
                      const at::Tensor& deq_scale, const at::Tensor& offset, const at::Tensor& scale,
                      const at::Tensor& bias, const at::Tensor& out);
// Batches are summed up after they were scaled.
void reduced_product_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& row_scale,
                          const at::Tensor& scale, std::initializer_list<at::Tensor> absent, bool otherwise,
                          const at::Tensor& out);
at::Tensor reduced_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& row_scale,
                           const at::Tensor& scale);
// With gelu by tanh or by erf after it.
void fused_product_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale,
                        std::initializer_list<at::Tensor> absent, const std::string& activation, const at::Tensor& out);
at::Tensor fused_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& row_scale,
                         const at::Tensor& scale, const at::Tensor& bias, const std::string& activation);
// Of numbers of 16 bits, into 8, by a scale as the device encodes it.
void quantized_result(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale, const at::Tensor& bias,
                      const at::Tensor& out);

// Rows of half numbers are quantized, by one scale or their own, multiplied with weights of int8, and scaled back.
// weight: (n, k), and with groups, which end where `ends` says, (experts, n, k).
void requantized_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale, const at::Tensor& ends,
                      const at::Tensor& x_scale, const at::Tensor& smooth, const std::string& mode,
                      bool transpose_weight, const at::Tensor& out);
at::Tensor requantized(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale, const at::Tensor& ends,
                       const at::Tensor& x_scale, const at::Tensor& smooth);

// ---- each expert's rows times a number each, added up where row_index says ------------------------------------------
struct Combined {
  const at::Tensor &logit, &row_index, &shared;
  double shared_weight;
  int64_t shared_offset;  // the row from which on the shared expert's are added
};
void finalized_product_like(const at::Tensor& x, const at::Tensor& weight, const Extras& with, const at::Tensor& list,
                            int64_t kind, const Combined& how, int64_t dtype, bool turned, const at::Tensor& out);
at::Tensor finalized_product(const at::Tensor& x, const at::Tensor& weight, const Extras& with, const at::Tensor& list,
                             int64_t kind, const Combined& how, at::IntArrayRef sizes);

void weight_quantized_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& out_scale,
                           const at::Tensor& out);
void weight_quantized_matmul(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale,
                             const at::Tensor& offset, const at::Tensor& out_scale, const at::Tensor& bias,
                             const at::Tensor& out);

}  // namespace sim::grouped
