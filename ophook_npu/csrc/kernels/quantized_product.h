// Products of rows with one weight, both or the weight alone of 4 or 8 bits, scaled; quantized on the way or behind it.
#pragma once

#include "kernels/tensors.h"

namespace sim::weighted {

// What goes with one weight; an undefined tensor is absent.
struct Extras {
  at::Tensor bias, scale, offset, antiquant_scale, antiquant_offset;
  at::Tensor row_scale;  // of the rows of x
};
at::Tensor present(const at::Tensor& tensor);  // undefined where it is empty
at::Tensor plus(const at::Tensor& value, const at::Tensor& bias);
// Of whatever data types the two have, with what goes with the weight; the offset is write_product's.
at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const Extras& with);
bool of_small_floats(const at::Tensor& tensor);
// Weights of 4 bits with a scale, and a zero point, for each group of k.
at::Tensor product_by_groups(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale,
                             const at::Tensor& zero, const at::Tensor& row_scale);
at::Tensor scaled_product(const at::Tensor& x, const at::Tensor& weight, const Extras& with);
void write_product(const at::Tensor& out, at::Tensor value, const Extras& with);

// ---- one quantized product -----------------------------------------------------------------------------------------
struct Factors {
  at::Tensor x, weight, row_scale = {}, scale, offset = {}, out_offset = {}, bias;
};
void quantized_matmul_like(const Factors& of, const at::Tensor& x_offset, const at::Tensor& out_scale,
                           const at::Tensor& out);
void quantized_matmul(const Factors& of, const at::Tensor& out);
at::Tensor one_scale(double scale);  // for all
// Of scales for the columns of a matrix unit, which go in 16: those that there are columns for.
at::Tensor of_columns(const at::Tensor& scale, const at::Tensor& weight);
void bias_like(const at::Tensor& bias, const at::Tensor& out);
at::Tensor turned(const at::Tensor& matrix, bool transpose);
// The same, or with a scale for each row and 128 columns of x, and for each 128 x 128 of the weight, or with powers of
// two for each 32 numbers along k. The scales come as the caller gives them, the matrices turned.
struct Turns {
  bool x, weight;
};
void product_by_scales_like(const Factors& of, const at::Tensor& x_offset, const at::Tensor& out_scale, Turns turns,
                            int64_t group_size, const at::Tensor& out);
void product_by_scales(const Factors& of, Turns turns, const at::Tensor& out);
// The first form of weight quantization.
struct ForMatrixUnit {
  at::Tensor x, weight, diagonal, deq_offset, deq_scale, offset, scale, bias;
};
void matrix_quantized_like(const ForMatrixUnit& of, const at::Tensor& out);
void matrix_quantized(const ForMatrixUnit& of, const at::Tensor& out);
// Batches are summed up after they were scaled.
void reduced_product_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& row_scale,
                          const at::Tensor& scale, std::initializer_list<at::Tensor> absent, bool otherwise,
                          const at::Tensor& out);
at::Tensor reduced_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& row_scale,
                           const at::Tensor& scale);
// With gelu by tanh or by erf after it.
void fused_product_like(const Factors& of, std::initializer_list<at::Tensor> absent, const at::Tensor& out);
at::Tensor fused_product(const Factors& of, const std::string& activation);
// Of numbers of 16 bits, into 8, by a scale as the device encodes it.
void quantized_result(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale, const at::Tensor& bias,
                      const at::Tensor& out);

// Rows of half numbers are quantized, by one scale or their own, multiplied with weights of int8, and scaled back.
// weight: (n, k), and with groups, which end where `ends` says, (experts, n, k).
struct Requantized {
  at::Tensor x, weight, scale, ends, x_scale, smooth;
};
void requantized_like(const Requantized& of, const std::string& mode, bool transpose_weight, const at::Tensor& out);
at::Tensor requantized(const Requantized& of);

struct WeightQuantized {
  at::Tensor x, weight, scale, offset, out_scale = {}, bias;
  int64_t group_size = 0;  // along k; 0: all
};
void weight_quantized_like(const WeightQuantized& of, const at::Tensor& out);
void weight_quantized_matmul(const WeightQuantized& of, const at::Tensor& out);

}  // namespace sim::weighted
