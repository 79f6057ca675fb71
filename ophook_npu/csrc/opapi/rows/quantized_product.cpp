// Products with one weight, quantized before, on the way or behind.
#include "kernels/quantized_product.h"
#include "kernels/quant.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;
using namespace sim::quant;
using namespace sim::weighted;

// On Ascend950 a product of int8 has its scales in one dimension: one for each row, and one or one for each column.
static void scales_by_row(const at::Tensor& row_scale, const at::Tensor& scale, const at::Tensor& x,
                          const at::Tensor& out) {
  if (!product_is("Ascend950") || x.scalar_type() != at::kChar || !sim::given(row_scale)) return;
  shape(row_scale, {out.size(-2)});
  SIM_CHECK(scale.dim() == 1 && (scale.size(0) == 1 || scale.size(0) == out.size(-1)), "x2Scale ", scale.sizes(),
            " for out ", out.sizes(), "; one number, or one for each column, is expected");
}

static at::Tensor one_or_columns(const at::Tensor& scale, const at::Tensor& weight) {
  return scale.numel() == 1 ? scale : of_columns(scale, weight);
}

#define TURNED .x = turned(x, transpose_x), .weight = turned(weight, transpose_weight)
#define TURNS bool, transpose_x, bool, transpose_weight
#define ALL_SCALES \
  In, x, In, weight, In, row_scale, In, scale, In, out_scale, In, x_offset, In, offset, In, out_offset, In, bias
ACLNN(QuantMatmulV5, (ALL_SCALES, TURNS, int64_t, group_size, Out, out),
      product_by_scales_like({TURNED, NAMED(row_scale, scale, offset, out_offset, bias)}, x_offset, out_scale,
                             {transpose_x, transpose_weight}, group_size, out),
      product_by_scales({TURNED, NAMED(row_scale, scale, offset, out_offset, bias)}, {transpose_x, transpose_weight},
                        out))
ACLNN(QuantMatmulWeightNz, (ALL_SCALES, TURNS, int64_t, group_size, Out, out),
      (quantized_matmul_like({TURNED, NAMED(row_scale, scale, offset, out_offset, bias)}, x_offset, out_scale, out),
       scales_by_row(row_scale, scale, x, out)),
      quantized_matmul({TURNED, NAMED(row_scale, scale, offset, out_offset, bias)}, out))
ACLNN(QuantMatmul, (In, x, In, weight, In, bias, float, scale, Out, out),
      quantized_matmul_like({NAMED(x, weight), .scale = one_scale(scale), NAMED(bias)}, {}, {}, out),
      quantized_matmul({NAMED(x, weight), .scale = one_scale(scale), NAMED(bias)}, out))
ACLNN(QuantMatmulV2, (In, x, In, weight, In, bias, In, scale, TURNS, Out, out),
      quantized_matmul_like({TURNED, .scale = of_columns(scale, turned(weight, transpose_weight)), NAMED(bias)}, {}, {},
                            out),
      quantized_matmul({TURNED, .scale = of_columns(scale, turned(weight, transpose_weight)), NAMED(bias)}, out))
ACLNN(QuantMatmulV3, (In, x, In, weight, In, scale, In, offset, In, bias, TURNS, Out, out),
      quantized_matmul_like({TURNED, NAMED(scale, offset, bias)}, {}, {}, out),
      quantized_matmul({TURNED, NAMED(scale, offset, bias)}, out))
ACLNN(QuantMatmulV4, (In, x, In, weight, In, scale, In, offset, In, row_scale, In, bias, TURNS, Out, out),
      quantized_matmul_like({TURNED, NAMED(row_scale, scale, offset, bias)}, {}, {}, out),
      quantized_matmul({TURNED, NAMED(row_scale, scale, offset, bias)}, out))
// The page asks for dims [0]. CANN's check reads no value of it, and op-plugin passes a list whose memory is gone.
ACLNN(QuantMatmulReduceSumWeightNz, (ALL_SCALES, TURNS, int64_t, group_size, Ints, dims, bool, keep, Out, out),
      reduced_product_like(x, weight, row_scale, scale, {out_scale, x_offset, offset, out_offset, bias},
                           transpose_x || transpose_weight || keep, out),
      write(out, reduced_product(x, weight, row_scale, scale)))
#define FUSED_QUANT_MATMUL(name)                                                        \
  ACLNN(name, (ALL_SCALES, In, third, Text, activation, int64_t, group_size, Out, out), \
        fused_product_like({NAMED(x, weight, row_scale, scale, bias)},                  \
                           {out_scale, x_offset, offset, out_offset, third}, out),      \
        write(out, fused_product({NAMED(x, weight, row_scale, scale, bias)}, activation)))
FUSED_QUANT_MATMUL(FusedQuantMatmul)
FUSED_QUANT_MATMUL(FusedQuantMatmulWeightNz)
ACLNN(BatchMatmulQuant, (In, x, In, weight, In, scale, In, bias, TURNS, Out, out),
      matrix(out, turned(x, transpose_x), turned(weight, transpose_weight));
      of_dtype("out", out, {at::kChar}); SIM_CHECK(is_encoded(scale), "quantParam comes from aclnnTransQuantParam");
      one_or_columns(scale, turned(weight, transpose_weight));
      bias_like(bias, out), quantized_result(turned(x, transpose_x), turned(weight, transpose_weight),
                                             one_or_columns(scale, turned(weight, transpose_weight)), bias, out))
ACLNN(WeightQuantBatchMatmul,
      (In, x, In, weight, In, diagonal, In, deq_offset, In, deq_scale, In, offset, In, scale, In, bias, TURNS, float,
       antiquant_scale, float, antiquant_offset, Out, out),
      matrix_quantized_like({TURNED, NAMED(diagonal, deq_offset, deq_scale, offset, scale, bias)}, out),
      matrix_quantized({TURNED, NAMED(diagonal, deq_offset, deq_scale, offset, scale, bias)}, out))
#define WEIGHT_QUANT(version, checks, ...)                                                                    \
  ACLNN(WeightQuantBatchMatmul##version,                                                                      \
        (In, x, In, weight, In, scale, In, offset, In, out_scale, In, out_offset, In, bias, int32_t,          \
         group_size, ##__VA_ARGS__, Out, out),                                                                \
        (checks, weight_quantized_like({NAMED(x, weight, scale, offset, out_scale, bias, group_size)}, out)), \
        weight_quantized_matmul({NAMED(x, weight, scale, offset, out_scale, bias, group_size)}, out))
WEIGHT_QUANT(V2, when_run())
WEIGHT_QUANT(V3, when_run(), int32_t, precise)
WEIGHT_QUANT(Nz, refuse_if_given({out_scale, out_offset}, "quantScaleOptional and quantOffsetOptional"))
ACLNN(QuantMatmulDequant,
      (In, x, In, weight, In, scale, In, bias, In, x_scale, In, x_offset, In, smooth, Text, mode, bool,
       transpose_weight, Out, out),
      (refuse_if_given({bias}, "biasOptional"), refuse_if_given({x_offset}, "xOffsetOptional"),
       requantized_like({NAMED(x, weight, scale), .ends = {}, NAMED(x_scale, smooth)}, mode, transpose_weight, out)),
      write(out, requantized({NAMED(x, weight, scale), .ends = {}, NAMED(x_scale, smooth)}).to(out.scalar_type())))
#define GROUPED_DEQUANT(name)                                                                                       \
  ACLNN(name,                                                                                                       \
        (In, x, In, weight, In, scale, In, ends, In, bias, In, x_scale, In, x_offset, In, smooth, Text, mode, bool, \
         transpose_weight, Out, out),                                                                               \
        (refuse_if_given({bias}, "bias"), refuse_if_given({x_offset}, "xOffset"),                                   \
         requantized_like({NAMED(x, weight, scale, ends, x_scale, smooth)}, mode, transpose_weight, out)),          \
        write(out, requantized({NAMED(x, weight, scale, ends, x_scale, smooth)}).to(out.scalar_type())))
GROUPED_DEQUANT(QuantGroupedMatmulDequant)
GROUPED_DEQUANT(QuantGroupedMatmulDequantWeightNZ)
