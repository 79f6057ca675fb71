// Quantization by blocks, after a rotation or two small products, and back; what stands for it in training.
#pragma once

#include "kernels/activation_quant.h"
#include "kernels/gated.h"
#include "kernels/groups.h"

namespace sim::quant {

void block_like(const at::Tensor& self, const std::string& mode, int64_t dtype, int64_t rows, int64_t columns,
                const at::Tensor& out, const at::Tensor& scale);
void block_quant(const at::Tensor& self, double least, int64_t columns, const at::Tensor& out, const at::Tensor& scale);
struct Flat {
  at::Tensor self, left, right, groups = {};
  int64_t kind = groups::kEnds;
  double clip, top = 0;  // top: of kernels/mx_quant.h, for an output of FLOAT4
};
void flat_like(const Flat& of, const at::Tensor& out, const at::Tensor& scale);
void flat_quant(const Flat& of, const at::Tensor& out, const at::Tensor& scale);
struct Rotated {
  at::Tensor self, rotation;
  int64_t axis;
  std::string mode;
  int64_t algorithm;
  double top;
};
void rotate_like(const Rotated& of, const at::Tensor& alpha, const at::Tensor& out, const at::Tensor& scale);
void rotate_quant(const Rotated& of, const at::Tensor& out, const at::Tensor& scale);
void anti_quantized_like(const at::Tensor& self, const at::Tensor& out);
at::Tensor anti_quantized(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& offset, bool square);
at::Tensor with_bias_dequantized(const at::Tensor& self, const at::Tensor& weight_scale, const at::Tensor& row_scale,
                                 const at::Tensor& bias);
void situ_like(const Products& of, const at::Tensor& out, const at::Tensor& scale);
void situ_quant(const Products& of, const kernels::SituGlu& how, const at::Tensor& out, const at::Tensor& scale);
struct FakeQuant {
  at::Tensor self, scale, zero;
  int64_t least, most;
};
void fake_quant(const FakeQuant& of, const at::Tensor& out, const at::Tensor& mask);
void fake_quant_all(const FakeQuant& of, bool enabled, const at::Tensor& out, const at::Tensor& mask);
void fake_like(const FakeQuant& of, int64_t size, const at::Tensor& out, const at::Tensor& mask);

}  // namespace sim::quant
