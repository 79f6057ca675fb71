// Quantization of activations: static, dynamic by row, by groups of rows, and fused with what comes before it. What has
// several results writes them where the caller wants them.
#pragma once

#include "kernels/groups.h"
#include "kernels/norm_quant.h"

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
void quantizable(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& offset, int64_t axis,
                 const std::string& mode, const at::Tensor& out);

// What is made 8 bits wide, and its scale and offset where they are results.
struct Steps {
  at::Tensor out, scale, offset = {};
};

// ---- dynamic -----------------------------------------------------------------------------------------------------
// mode: a scale for each row (pertoken), each index of the last dimension (perchannel), or one (pertensor). most: the
// largest number that HIFLOAT8 is to take, 0: its own.
struct Dynamically {
  at::Tensor self, smooth, group_index = {};
  std::string mode = "pertoken";
  double most = 0;
};
void dynamic_like(const Dynamically& of, const Steps& to);
void dynamic_quant(const Dynamically& of, const Steps& to);
void group_like(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& group_index,
                const at::Tensor& offset, const at::Tensor& out);
void group_quant(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& group_index,
                 const at::Tensor& offset, const at::Tensor& out);
struct SwigluRows {
  at::Tensor self, smooth, offsets, group_index;
  int64_t kind = groups::kEnds;  // of the group's index
};
void halved(const SwigluRows& of, const std::string& mode, const Steps& to);
void swiglu_quant(const SwigluRows& of, bool left, bool dynamic, const Steps& to);
struct Products {
  at::Tensor self, weight_scale, row_scale, bias, quant_scale, quant_offset, group_index;
  std::string mode, round_mode = "rint";
};
void dequant_swiglu_like(const Products& of, int64_t dtype, int64_t dim, int64_t swiglu_mode, const Steps& to);
void dequant_swiglu_quant(const Products& of, const Swiglu& swiglu, const Steps& to);

// ---- after a sum and its normalization -----------------------------------------------------------------------------
// mask: which of the two results are asked for; empty: the first, and the second where both are smoothed.
void add_rms_norm_dynamic_like(const at::Tensor& x, Checked<bool> mask, const QuantizedResult& first,
                               const QuantizedResult& second);
void add_rms_norm_dynamic(const Summands& of, Checked<bool> mask, const QuantizedResult& first,
                          const QuantizedResult& second, const at::Tensor& sum);
void add_rms_norm_like(const at::Tensor& x, const QuantizedResult& first, const QuantizedResult& second);
void add_rms_norm_quant(const Summands& of, bool divide, const QuantizedResult& first, const QuantizedResult& second,
                        const at::Tensor& sum, const at::Tensor& norm);

}  // namespace sim::quant
