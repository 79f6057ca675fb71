// Products of numbers of 8 bits with scales of their own.
#include "kernels/scaled_product.h"

#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;
namespace scaled_product = sim::scaled;

namespace {
void on_ascend950() { SIM_CHECK(product_is("Ascend950"), "only an Ascend950 has it"); }
}  // namespace

#define FACTORS {NAMED(x, weight, row_scale, scale)}
#define BETWEEN_ROWS(name)                                                                                         \
  ACLNN(name,                                                                                                      \
        (In, x, In, weight, In, bias, In, row_scale, In, scale, int32_t, dtype, int64_t, group_size, Ints, perm_x, \
         Ints, perm_weight, Ints, perm_out, int32_t, split, Out, out),                                             \
        (refuse_if_given({bias}, "bias"), on_ascend950(),                                                          \
         scaled_product::between_rows_like(FACTORS, dtype, group_size, perm_weight, out)),                         \
        write(out, scaled_product::between_rows(FACTORS, perm_weight)))
BETWEEN_ROWS(TransposeQuantBatchMatMul)
BETWEEN_ROWS(TransposeQuantBatchMatMulWeightNz)
#define TWO_LEVELS {NAMED(x, weight, row_scale0, scale0, row_scale1, scale1, bias)}
ACLNN(DualLevelQuantMatmulWeightNz,
      (In, x, In, weight, In, row_scale0, In, scale0, In, row_scale1, In, scale1, In, bias, bool, turned, bool,
       weight_turned, int64_t, block0, int64_t, block1, Out, out),
      scaled_product::two_level_like(TWO_LEVELS, turned, weight_turned, block0, block1, out),
      write(out, scaled_product::two_level(TWO_LEVELS)))
ACLNN(QuantBatchMatmulInplaceAdd,
      (In, x, In, weight, In, row_scale, In, scale, Ref, y, bool, turned, bool, weight_turned, int64_t, group_size),
      scaled_product::added_like(FACTORS, turned, weight_turned, group_size, y),
      write(y, scaled_product::added(FACTORS, turned, y)))
ACLNN(QuantGroupedMatmulInplaceAdd,
      (In, x, In, weight, In, row_scale, In, scale, In, groups, Ref, y, int64_t, kind, int64_t, group_size),
      scaled_product::groups_added_like(FACTORS, groups, group_size, y),
      scaled_product::add_groups(FACTORS, groups, kind, y))
