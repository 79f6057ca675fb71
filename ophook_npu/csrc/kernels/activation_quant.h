// Quantization of activations: static, dynamic by row, by groups of rows, and fused with what comes before it. What has
// several results writes them where the caller wants them.
#pragma once

#include "kernels/quant.h"

namespace sim::quant {

// ---- after swiglu ------------------------------------------------------------------------------------------------
struct Swiglu {
  bool left;
  bool pairs = false;  // gate and value in turn, both within a limit, instead of a half each
  double limit = 7, alpha = 1.702, bias = 1;

  at::Tensor operator()(const at::Tensor& x) const {
    if (!pairs) {
      Tensors parts = x.chunk(2, -1);
      return at::silu(parts[left ? 0 : 1]).mul(parts[left ? 1 : 0]);
    }
    auto both = x.unflatten(-1, {-1, 2});
    auto gate = both.select(-1, 0).clamp_max(limit), value = both.select(-1, 1).clamp(-limit, limit);
    return gate.mul(gate.mul(alpha).sigmoid()).mul(value.add(bias));
  }
};

at::Tensor rounded(const at::Tensor& value, const std::string& mode);
at::Tensor scaled(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& offset, bool square, int64_t axis);
// Numbers of floating point are what a cast makes of the value, whatever the mode is called.
void write_static(const at::Tensor& out, const at::Tensor& value, const std::string& mode);
void quantizable(const at::Tensor& self, const at::Tensor& scale, int64_t axis, const std::string& mode,
                 const at::Tensor& out);

// ---- dynamic -----------------------------------------------------------------------------------------------------
void dynamic_like(const at::Tensor& self, const at::Tensor& smooth, const at::Tensor& group_index,
                  const std::string& mode, const at::Tensor& out, const at::Tensor& scale, const at::Tensor& offset,
                  double most = 0);
// mode: a scale for each row (pertoken), each index of the last dimension (perchannel), or one (pertensor). most: the
// largest number that HIFLOAT8 is to take, 0: its own.
void dynamic_quant(const at::Tensor& self, const at::Tensor& smooth, const at::Tensor& group_index,
                   const std::string& mode, const at::Tensor& out, const at::Tensor& scale, const at::Tensor& offset,
                   double most = 0);
void group_quant(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& group_index,
                 const at::Tensor& offset, const at::Tensor& out);
void halved(const at::Tensor& self, const std::string& mode, const at::Tensor& smooth, const at::Tensor& group_index,
            const at::Tensor& out, const at::Tensor& scale);
void swiglu_quant(const at::Tensor& self, const at::Tensor& smooth, const at::Tensor& offsets,
                  const at::Tensor& group_index, bool left, bool dynamic, int64_t kind, const at::Tensor& out,
                  const at::Tensor& scale);
void dequant_swiglu_like(const at::Tensor& self, const at::Tensor& weight_scale, const std::string& mode, int64_t dtype,
                         const std::string& round_mode, const at::Tensor& group_index, int64_t dim, int64_t swiglu_mode,
                         const at::Tensor& out, const at::Tensor& scale);
void dequant_swiglu_quant(const at::Tensor& self, const at::Tensor& weight_scale, const at::Tensor& row_scale,
                          const at::Tensor& bias, const at::Tensor& quant_scale, const at::Tensor& quant_offset,
                          const at::Tensor& group_index, const Swiglu& swiglu, bool dynamic,
                          const std::string& round_mode, const at::Tensor& out, const at::Tensor& scale);

// ---- after a sum and its normalization -----------------------------------------------------------------------------
// mask: which of the two results are asked for; empty: the first, and the second where both are smoothed.
void add_rms_norm_dynamic_like(const at::Tensor& a, const at::Tensor& b, const at::Tensor& smooth1,
                               const at::Tensor& smooth2, Checked<bool> mask, const at::Tensor& out1,
                               const at::Tensor& out2, const at::Tensor& sum, const at::Tensor& scale1,
                               const at::Tensor& scale2);
void add_rms_norm_dynamic(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const at::Tensor& smooth1,
                          const at::Tensor& smooth2, const at::Tensor& beta, double eps, Checked<bool> mask,
                          const at::Tensor& out1, const at::Tensor& out2, const at::Tensor& sum,
                          const at::Tensor& scale1, const at::Tensor& scale2);
void add_rms_norm_like(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const at::Tensor& out1,
                       const at::Tensor& out2, const at::Tensor& sum, const at::Tensor& norm);
void add_rms_norm_quant(const at::Tensor& a, const at::Tensor& b, const at::Tensor& gamma, const at::Tensor& scale1,
                        const at::Tensor& scale2, const at::Tensor& zero1, const at::Tensor& zero2,
                        const at::Tensor& beta, double eps, bool divide, const at::Tensor& out1, const at::Tensor& out2,
                        const at::Tensor& sum, const at::Tensor& norm);

}  // namespace sim::quant
