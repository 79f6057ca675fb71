// Quantization by blocks, after a rotation or two small products, and back; what stands for it in training.
#pragma once

#include "kernels/gated.h"
#include "kernels/quant.h"

namespace sim::quant {

void block_like(const at::Tensor& self, const std::string& mode, int64_t dtype, int64_t rows, int64_t columns,
                const at::Tensor& out, const at::Tensor& scale);
void block_quant(const at::Tensor& self, double least, int64_t columns, const at::Tensor& out, const at::Tensor& scale);
// top: of kernels/mx_quant.h, for an output of FLOAT4.
void flat_like(const at::Tensor& self, const at::Tensor& left, const at::Tensor& right, double top,
               const at::Tensor& out, const at::Tensor& scale);
void flat_quant(const at::Tensor& self, const at::Tensor& left, const at::Tensor& right, const at::Tensor& groups,
                int64_t kind, double clip, double top, const at::Tensor& out, const at::Tensor& scale);
void rotate_like(const at::Tensor& self, const at::Tensor& rotation, const at::Tensor& alpha, int64_t axis,
                 const std::string& mode, int64_t algorithm, double top, bool transpose, const at::Tensor& out,
                 const at::Tensor& scale);
void rotate_quant(const at::Tensor& self, const at::Tensor& rotation, int64_t axis, const std::string& mode,
                  int64_t algorithm, double top, const at::Tensor& out, const at::Tensor& scale);
void anti_quantized_like(const at::Tensor& self, const at::Tensor& out);
at::Tensor anti_quantized(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& offset, bool square);
at::Tensor with_bias_dequantized(const at::Tensor& self, const at::Tensor& weight_scale, const at::Tensor& row_scale,
                                 const at::Tensor& bias);
void situ_like(const at::Tensor& self, const at::Tensor& group_index, const std::string& mode,
               const at::Tensor& quant_scale, const at::Tensor& out, const at::Tensor& scale);
void situ_quant(const at::Tensor& self, const at::Tensor& weight_scale, const at::Tensor& row_scale,
                const at::Tensor& bias, const at::Tensor& quant_scale, const at::Tensor& quant_offset,
                const kernels::SituGlu& how, bool dynamic, const at::Tensor& out, const at::Tensor& scale);
void fake_quant(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& zero, int64_t least, int64_t most,
                const at::Tensor& out, const at::Tensor& mask);
void fake_quant_all(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& zero, bool enabled,
                    int64_t least, int64_t most, const at::Tensor& out, const at::Tensor& mask);
void fake_like(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& zero, int64_t size, int64_t least,
               int64_t most, const at::Tensor& out, const at::Tensor& mask);

}  // namespace sim::quant
