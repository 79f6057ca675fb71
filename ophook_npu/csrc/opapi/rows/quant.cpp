// Quantization of activations: static, dynamic by row, by groups of rows, and fused with what comes before it.
#include "kernels/activation_quant.h"
#include "kernels/quant.h"
#include "opapi/aclnn.h"

using namespace sim::aclnn;
using namespace sim::quant;

// What the first phases of static quantization compare beyond the shapes.
static void quantizable_as(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& offset,
                           const std::string& mode, int32_t dtype, int64_t axis, const at::Tensor& out) {
  SIM_CHECK_DTYPE(self.scalar_type() == at::kFloat || self.scalar_type() == scale.scalar_type(), "x of data type ",
                  self.scalar_type(), " with a scale of ", scale.scalar_type(), "; allowed: that of x, or x of Float");
  SIM_CHECK_DTYPE(!offset.defined() || offset.scalar_type() == scale.scalar_type(), "offset has data type ",
                  offset.scalar_type(), "; allowed: that of scale, ", scale.scalar_type());
  // Other outputs are held in bytes, whose type says nothing.
  if (out.scalar_type() == at::kChar || out.scalar_type() == at::kInt) {
    const int32_t own = out.scalar_type() == at::kChar ? ACL_INT8 : ACL_INT32;
    SIM_CHECK_DTYPE(dtype == own || dtype == ACL_INT4, "dstType ", dtype, "; allowed: that of y, ", own);
    SIM_CHECK(mode == "round" || mode == "floor" || mode == "ceil" || mode == "trunc", "roundMode \"", mode,
              "\"; allowed: round, floor, ceil, trunc");
  }
  quantizable(self, scale, offset, axis, mode, out);
}
ACLNN(AscendQuant, (In, self, In, scale, In, offset, bool, square, Text, mode, int32_t, dtype, Out, out),
      quantizable_as(self, scale, offset, mode, dtype, -1, out),
      write_static(out, scaled(self, scale, offset, square, -1), mode))
ACLNN(AscendQuantV3,
      (In, self, In, scale, In, offset, bool, square, Text, mode, int32_t, dtype, int32_t, axis, Out, out),
      quantizable_as(self, scale, offset, mode, dtype, axis, out),
      write_static(out, scaled(self, scale, offset, square, axis), mode))
ACLNN(DynamicQuant, (In, self, In, smooth, Out, out, Out, scale),
      dynamic_like({NAMED(self, smooth)}, {NAMED(out, scale)}),
      dynamic_quant({NAMED(self, smooth)}, {NAMED(out, scale)}))
ACLNN(DynamicQuantV2, (In, self, In, smooth, In, group_index, int32_t, dtype, Out, out, Out, scale, Out, offset),
      dynamic_like({NAMED(self, smooth, group_index)}, {NAMED(out, scale, offset)}),
      dynamic_quant({NAMED(self, smooth, group_index)}, {NAMED(out, scale, offset)}))
ACLNN(GroupQuant, (In, self, In, scale, In, group_index, In, offset, int32_t, dtype, Out, out),
      group_like(self, scale, group_index, offset, out), group_quant(self, scale, group_index, offset, out))
ACLNN(TransQuantParamV2, (In, scale, In, offset, Out, out), broadcast(out, {scale, offset}),
      write(out, encoded(scale, offset)))
ACLNN(TransQuantParamV3, (In, scale, In, offset, int64_t, mode, Out, out), broadcast(out, {scale, offset}),
      write(out, encoded(scale, offset, mode == 1)))
ACLNN(SwiGluQuant, (In, self, In, smooth, In, offsets, In, group_index, bool, left, Text, mode, Out, out, Out, scale),
      halved({NAMED(self, smooth, offsets, group_index)}, mode.empty() ? "dynamic" : mode, {NAMED(out, scale)}),
      swiglu_quant({NAMED(self, smooth, offsets, group_index)}, left, mode != "static", {NAMED(out, scale)}))
ACLNN(SwiGluQuantV2,
      (In, self, In, smooth, In, offsets, In, group_index, bool, left, Text, mode, int64_t, kind, int32_t, dtype, Out,
       out, Out, scale),
      halved({NAMED(self, smooth, offsets, group_index, kind)}, mode, {NAMED(out, scale)}),
      swiglu_quant({NAMED(self, smooth, offsets, group_index, kind)}, left, mode == "dynamic", {NAMED(out, scale)}))
#define PRODUCTS NAMED(self, weight_scale, row_scale, bias, quant_scale, quant_offset, group_index, mode)
ACLNN(DequantSwigluQuant,
      (In, self, In, weight_scale, In, row_scale, In, bias, In, quant_scale, In, quant_offset, In, group_index, bool,
       left, Text, mode, Out, out, Out, scale),
      dequant_swiglu_like({PRODUCTS}, 2, -1, 0, {NAMED(out, scale)}),
      dequant_swiglu_quant({PRODUCTS}, {NAMED(left)}, {NAMED(out, scale)}))
ACLNN(DequantSwigluQuantV2,
      (In, self, In, weight_scale, In, row_scale, In, bias, In, quant_scale, In, quant_offset, In, group_index, bool,
       left, Text, mode, int64_t, dtype, Text, round_mode, int64_t, dim, int64_t, swiglu_mode, double, limit, double,
       alpha, double, glu_bias, Out, out, Out, scale),
      dequant_swiglu_like({PRODUCTS, NAMED(round_mode)}, dtype, dim, swiglu_mode, {NAMED(out, scale)}),
      dequant_swiglu_quant({PRODUCTS, NAMED(round_mode)},
                           {NAMED(left), .pairs = swiglu_mode == 1, NAMED(limit, alpha), .bias = glu_bias},
                           {NAMED(out, scale)}))
#define DYNAMIC(n) {.scale = smooth##n, .out = out##n, .out_scale = scale##n}
ACLNN(AddRmsNormDynamicQuant,
      (In, a, In, b, In, gamma, In, smooth1, In, smooth2, double, eps, Out, out1, Out, out2, Out, sum, Out, scale1, Out,
       scale2),
      add_rms_norm_dynamic_like(a, {}, DYNAMIC(1), DYNAMIC(2)),
      add_rms_norm_dynamic({NAMED(a, b, gamma, eps)}, {}, DYNAMIC(1), DYNAMIC(2), sum))
ACLNN(AddRmsNormDynamicQuantV2,
      (In, a, In, b, In, gamma, In, smooth1, In, smooth2, In, beta, double, eps, Bools, mask, Out, out1, Out, out2, Out,
       sum, Out, scale1, Out, scale2),
      add_rms_norm_dynamic_like(a, mask, DYNAMIC(1), DYNAMIC(2)),
      add_rms_norm_dynamic({NAMED(a, b, gamma, beta, eps)}, mask, DYNAMIC(1), DYNAMIC(2), sum))
#define STATIC(n) {.scale = scale##n, .zero = zero##n, .out = out##n}
ACLNN(AddRmsNormQuant,
      (In, a, In, b, In, gamma, In, scale1, In, scale2, In, zero1, In, zero2, int64_t, axis, double, eps, bool, divide,
       Out, out1, Out, out2, Out, sum),
      add_rms_norm_like(a, STATIC(1), STATIC(2)),
      add_rms_norm_quant({NAMED(a, b, gamma, eps)}, divide, STATIC(1), STATIC(2), sum, {}))
ACLNN(AddRmsNormQuantV2,
      (In, a, In, b, In, gamma, In, scale1, In, scale2, In, zero1, In, zero2, In, beta, int64_t, axis, double, eps,
       bool, divide, Out, out1, Out, out2, Out, sum, Out, norm),
      add_rms_norm_like(a, STATIC(1), STATIC(2)),
      add_rms_norm_quant({NAMED(a, b, gamma, beta, eps)}, divide, STATIC(1), STATIC(2), sum, norm))
#define BY_MODE(version, from, ...)                                                                                   \
  ACLNN(DynamicQuant##version,                                                                                        \
        (In, self, In, smooth, In, group_index, int64_t, dtype, bool, symmetric, Text, mode, ##__VA_ARGS__, Out, out, \
         Out, scale, Out, offset),                                                                                    \
        dynamic_like(Dynamically from, {NAMED(out, scale, offset)}),                                                  \
        dynamic_quant(Dynamically from, {NAMED(out, scale), .offset = symmetric ? at::Tensor() : offset}))
BY_MODE(V3, ({NAMED(self, smooth, group_index, mode)}))
BY_MODE(V4, ({NAMED(self, smooth, group_index, mode, most)}), float, most)
