// Quantization by blocks, after a rotation or two small products, and back; what stands for it in training.
#include "kernels/block_quant.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;
using namespace sim::quant;

namespace {

// As the check of CANN has them.
void known_top(double top) {
  SIM_CHECK(top == 0 || (top >= 6 && top <= 12), "dstTypeMax ", top, "; allowed: 0, 6 to 12");
}

void flat_groups(const at::Tensor& groups, int64_t kind) {
  constexpr int64_t kGroups = 1024;
  if (!groups.defined()) return;
  SIM_CHECK(!product_is("Ascend950"), "groupListOptional has to be null on Ascend950");
  SIM_CHECK(kind >= 0 && kind <= 2, "groupListType ", kind, "; allowed: 0, 1, 2");
  const bool pairs = groups.dim() == 2 && groups.size(1) == 2;
  SIM_CHECK(kind == 2 ? pairs : groups.dim() == 1, "groupListOptional ", groups.sizes(), " for groupListType ", kind);
  SIM_CHECK(groups.size(0) <= kGroups, groups.size(0), " groups; allowed: up to ", kGroups);
}

// One scale, or one for each column; of what is not an Ascend950 in one dimension.
void anti_scale_like(const at::Tensor& scale, const at::Tensor& offset, int64_t dtype, const at::Tensor& out) {
  SIM_CHECK_DTYPE(out.scalar_type() == sim::aclnn::convert(aclDataType(dtype)), "y is ", out.scalar_type(),
                  " and dstType ", dtype);
  if (offset.defined()) like(offset, scale);
  if (product_is("Ascend950")) return;
  SIM_CHECK(scale.dim() == 1 && (scale.size(0) == 1 || (out.dim() && scale.size(0) == out.size(-1))), "scale ",
            scale.sizes(), " for y ", out.sizes());
}

}  // namespace

ACLNN(DynamicBlockQuant,
      (In, self, double, least, Text, mode, int64_t, dtype, int64_t, rows, int64_t, columns, Out, out, Out, scale),
      block_like(self, mode, dtype, rows, columns, out, scale), block_quant(self, least, columns, out, scale))
ACLNN(DynamicBlockQuantV2,
      (In, self, double, least, Text, mode, int64_t, dtype, int64_t, rows, int64_t, columns, double, top, Out, out, Out,
       scale),
      block_like(self, mode, dtype, rows, columns, out, scale);
      SIM_CHECK(top == 0, "dstTypeMax ", top, "; allowed for int8: 0"), block_quant(self, least, columns, out, scale))
ACLNN(FlatQuant, (In, self, In, left, In, right, double, clip, Out, out, Out, scale),
      (flat_like({NAMED(self, left, right, clip)}, out, scale)),
      flat_quant({NAMED(self, left, right, clip)}, out, scale))
ACLNN(FlatQuantV2, (In, self, In, left, In, right, double, clip, double, top, Out, out, Out, scale),
      (known_top(top), flat_like({NAMED(self, left, right, clip, top)}, out, scale)),
      flat_quant({NAMED(self, left, right, clip, top)}, out, scale))
ACLNN(FlatQuantV3,
      (In, self, In, left, In, right, In, groups, double, clip, double, top, int64_t, kind, Out, out, Out, scale),
      (known_top(top), flat_groups(groups, kind),
       flat_like({NAMED(self, left, right, groups, kind, clip, top)}, out, scale)),
      flat_quant({NAMED(self, left, right, groups, kind, clip, top)}, out, scale))
ACLNN(RotateQuant,
      (In, self, In, rotation, In, alpha, int64_t, axis, Text, mode, int64_t, algorithm, double, top, bool, transpose,
       Out, out, Out, scale),
      rotate_like({NAMED(self, rotation, axis, mode, algorithm, top)}, alpha, out, scale),
      rotate_quant({NAMED(self, rotation, axis, mode, algorithm, top)}, out, scale))
ACLNN(AscendAntiQuant, (In, self, In, scale, In, offset, int64_t, dtype, bool, square, Out, out),
      (anti_quantized_like(self, out), anti_scale_like(scale, offset, dtype, out)),
      write(out, anti_quantized(self, scale, offset, square)))
ACLNN(DequantBias, (In, self, In, weight_scale, In, row_scale, In, bias, int64_t, dtype, Out, out), when_run(),
      write(out, with_bias_dequantized(self, weight_scale, row_scale, bias)))
#define SITU_PRODUCTS {NAMED(self, weight_scale, row_scale, bias, quant_scale, quant_offset, group_index, mode)}
ACLNN(DequantSituQuant,
      (In, self, In, weight_scale, In, row_scale, In, bias, In, quant_scale, In, quant_offset, In, group_index, float,
       beta, float, linear_beta, bool, left, Text, mode, Out, out, Out, scale),
      situ_like(SITU_PRODUCTS, out, scale),
      situ_quant(SITU_PRODUCTS, {.dim = -1, NAMED(beta, linear_beta, left)}, out, scale))
ACLNN(FakeQuantPerChannelAffineCachemask,
      (In, self, In, scale, In, zero, int64_t, axis, int64_t, least, int64_t, most, Out, out, Out, mask),
      fake_like({NAMED(self, scale, zero, least, most)}, self.size(axis), out, mask),
      fake_quant({NAMED(self), .scale = sim::along(scale, self, wrap(axis, self)),
                  .zero = sim::along(zero, self, wrap(axis, self)), NAMED(least, most)},
                 out, mask))
ACLNN(FakeQuantPerTensorAffineCachemask,
      (In, self, In, scale, In, zero, float, enabled, int64_t, least, int64_t, most, Out, out, Out, mask),
      fake_like({NAMED(self, scale, zero, least, most)}, 1, out, mask),
      fake_quant_all({NAMED(self, scale, zero, least, most)}, enabled >= 1, out, mask))
