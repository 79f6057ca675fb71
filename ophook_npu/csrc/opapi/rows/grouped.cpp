// Products of groups of rows, each with its expert's weight, in float, int8 and int4, and the feed-forward network of
// two such products.

#include "kernels/grouped.h"
#include "kernels/groups.h"
#include "kernels/needed.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;
namespace groups = sim::groups;
using namespace sim::grouped;

// A weight of whole numbers for rows that are none needs the scale that makes numbers of it.
static void scaled_weight(const at::Tensor& x, const at::Tensor& weight, bool given) {
  const bool whole = c10::isIntegralType(weight.scalar_type(), false);
  SIM_CHECK(given || !whole || c10::isIntegralType(x.scalar_type(), false), "a weight of ", weight.scalar_type(),
            " for x of ", x.scalar_type(), " needs antiquantScale");
}

// How a product with swiglu behind it is scaled: by rows and columns, by groups along k too, or in blocks of 32.
static void scaled_by(int64_t dequant_mode, int64_t dequant_dtype, int64_t quant_mode, const Tensors& scale) {
  const int64_t in_groups = scale.size() == 1 ? 3 : 2;  // dimensions
  SIM_CHECK(
      (dequant_mode == 1 && quant_mode == 0) || (dequant_mode == quant_mode && (quant_mode == 0 || quant_mode == 2)),
      "dequantMode ", dequant_mode, " and quantMode ", quant_mode,
      " are not simulated; allowed: both 0, 1 and 0, or both 2");
  SIM_CHECK(scale.empty() || dequant_mode == 2 || (dequant_mode == 1) == (scale[0].dim() == in_groups), "dequantMode ",
            dequant_mode, " with a weightScale ", scale[0].sizes());
  SIM_CHECK(dequant_dtype == ACL_FLOAT || dequant_dtype == ACL_FLOAT16 || dequant_dtype == ACL_BF16, "dequantDtype ",
            dequant_dtype, "; allowed: 0, 1, 27");
}

ACLNN(GroupedMatmul,
      (List, x, List, weight, List, bias, List, scale, List, offset, List, antiquant_scale, List, antiquant_offset,
       Ints, ends, int64_t, split_item, List, out),
      grouped(x, weight, out, split_item),
      grouped_product(x, weight, {NAMED(bias, scale, offset, antiquant_scale, antiquant_offset)},
                      ends.empty() || x.size() > 1 ? std::vector<groups::Group>{}
                                                   : groups::of(ends, groups::kEnds, x[0].size(0)),
                      kRows, "", out))
#define GROUPED_MATMUL(version, more_checks, ...)                                                                     \
  ACLNN(GroupedMatmul##version,                                                                                       \
        (List, x, List, weight, List, bias, List, scale, List, offset, List, antiquant_scale, List, antiquant_offset, \
         List, row_scale, In, groups, List, act_input, List, act_scale, List, act_offset, int64_t, split_item,        \
         int64_t, group_type, int64_t, group_list_type, int64_t, act_type, ##__VA_ARGS__, List, out, List, act_out,   \
         List, out_scale),                                                                                            \
        (more_checks, grouped(x, weight, out, split_item, groups, group_type, act_type,                               \
                              {act_input, act_scale, act_offset, act_out, out_scale})),                               \
        grouped_product(x, weight, {NAMED(bias, scale, offset, antiquant_scale, antiquant_offset, row_scale)},        \
                        groups_of_list(groups, group_list_type, x, weight, group_type), group_type,                   \
                        activation_of(act_type), out))
GROUPED_MATMUL(V4, when_run())
GROUPED_MATMUL(V5, when_run(), Ints, tuning)
GROUPED_MATMUL(WeightNz, scaled_in_groups(x, weight, scale, group_size), Ints, tuning, int64_t, group_size)
ACLNN(GroupedMatmulV2,
      (List, x, List, weight, List, bias, List, scale, List, offset, List, antiquant_scale, List, antiquant_offset,
       Ints, ends, int64_t, split_item, int64_t, group_type, List, out),
      (grouped(x, weight, out, split_item, ends_of(ends), group_type, 0, {}),
       scaled_weight(x[0], weight[0], !antiquant_scale.empty())),
      grouped_product(x, weight, {NAMED(bias, scale, offset, antiquant_scale, antiquant_offset)},
                      groups_of_list(ends_of(ends), groups::kEnds, x, weight, group_type), group_type, "", out))
ACLNN(GroupedMatmulV3,
      (List, x, List, weight, List, bias, List, scale, List, offset, List, antiquant_scale, List, antiquant_offset, In,
       ends, int64_t, split_item, int64_t, group_type, List, out),
      (grouped(x, weight, out, split_item, ends, group_type, 0, {}),
       scaled_weight(x[0], weight[0], !antiquant_scale.empty())),
      grouped_product(x, weight, {NAMED(bias, scale, offset, antiquant_scale, antiquant_offset)},
                      groups_of_list(ends, groups::kEnds, x, weight, group_type), group_type, "", out))
ACLNN(GroupedMatmulAdd, (In, x, In, weight, In, groups, Ref, y, bool, turned, bool, weight_turned, int64_t, group_type),
      added_like(x, weight, groups, turned, weight_turned, group_type, groups::kEnds, y),
      add_products(x, weight, groups, groups::kEnds, y))
ACLNN(GroupedMatmulAddV2,
      (In, x, In, weight, In, groups, Ref, y, bool, turned, bool, weight_turned, int64_t, group_type, int64_t,
       group_list_type),
      added_like(x, weight, groups, turned, weight_turned, group_type, group_list_type, y),
      add_products(x, weight, groups, group_list_type, y))
#define BY_ROWS                                                                                                        \
  {                                                                                                                    \
    NAMED(x), .weight = {weight}, .scale = {scale}, NAMED(row_scale), .kind = groups::kEnds, .how = {.assist = {bias}} \
  }
#define SWIGLU_BY_ROWS(name)                                                                                           \
  ACLNN(name,                                                                                                          \
        (In, x, In, weight, In, bias, In, offset, In, scale, In, row_scale, In, groups, Out, out, Out, out_scale, Out, \
         out_offset),                                                                                                  \
        swiglu_product_like(BY_ROWS, {offset}, out, out_scale), swiglu_product(BY_ROWS, groups, out, out_scale))
SWIGLU_BY_ROWS(GroupedMatmulSwigluQuant)
SWIGLU_BY_ROWS(GroupedMatmulSwigluQuantWeightNZ)
#define REQUANTIZED                                                                            \
  {                                                                                            \
    NAMED(x, weight, scale, row_scale), .kind = group_list_type,                               \
        .how = {.in_blocks = quant_mode == 2, .dequant = dequant_dtype, NAMED(assist, smooth)} \
  }
#define SWIGLU_QUANT(version)                                                                                         \
  ACLNN(GroupedMatmulSwigluQuant##version,                                                                            \
        (In, x, List, weight, List, scale, List, assist, In, bias, In, row_scale, In, smooth, In, groups, int64_t,    \
         dequant_mode, int64_t, dequant_dtype, int64_t, quant_mode, int64_t, group_list_type, Ints, tuning, Out, out, \
         Out, out_scale),                                                                                             \
        (scaled_by(dequant_mode, dequant_dtype, quant_mode, scale),                                                   \
         swiglu_product_like(REQUANTIZED, {bias}, out, out_scale),                                                    \
         swiglu_within_limits(REQUANTIZED, product_is("Ascend950"), groups)),                                         \
        swiglu_product(REQUANTIZED, groups, out, out_scale))
SWIGLU_QUANT(V2)
SWIGLU_QUANT(WeightNzV2)
#define LAYER(n)                          \
  {.weight = weight##n,                   \
   .bias = bias##n,                       \
   .scale = scale##n,                     \
   .antiquant_scale = antiquant_scale##n, \
   .antiquant_offset = antiquant_offset##n}
#define FEED_FORWARD {NAMED(x), .first = LAYER(1), .second = LAYER(2), NAMED(scale, offset, activation)}
#define SCALED_LAYERS \
  scaled_weight(x, weight1, antiquant_scale1.defined()), scaled_weight(x, weight2, antiquant_scale2.defined())
ACLNN(FFN,
      (In, x, In, weight1, In, weight2, Ints, tokens, In, bias1, In, bias2, In, scale, In, offset, In, scale1, In,
       scale2, In, antiquant_scale1, In, antiquant_scale2, In, antiquant_offset1, In, antiquant_offset2, Text,
       activation, int64_t, precise, Out, out),
      (feed_forward_like(FEED_FORWARD, tokens, out), SCALED_LAYERS),
      feed_forward(FEED_FORWARD, tokens, false, precise == 1, out))
ACLNN(FFNV3,
      (In, x, In, weight1, In, weight2, In, tokens, In, bias1, In, bias2, In, scale, In, offset, In, scale1, In, scale2,
       In, antiquant_scale1, In, antiquant_scale2, In, antiquant_offset1, In, antiquant_offset2, Text, activation,
       int64_t, precise, bool, ends, Out, out),
      (feed_forward_like(FEED_FORWARD, Dims(tokens.defined() ? size_t(tokens.numel()) : 0), out), SCALED_LAYERS),
      feed_forward(FEED_FORWARD, tokens_of(tokens), ends, precise == 1, out))
ACLNN(FFNV2,
      (In, x, In, weight1, In, weight2, Ints, tokens, In, bias1, In, bias2, In, scale, In, offset, In, scale1, In,
       scale2, In, antiquant_scale1, In, antiquant_scale2, In, antiquant_offset1, In, antiquant_offset2, Text,
       activation, int64_t, precise, bool, ends, Out, out),
      (feed_forward_like(FEED_FORWARD, tokens, out), SCALED_LAYERS),
      feed_forward(FEED_FORWARD, tokens, ends, precise == 1, out))
#define COMBINED(zero_points)                                                                         \
  {NAMED(x, weight),                                                                                  \
   .with = {NAMED(bias, scale), .offset = zero_points, .antiquant_scale = {}, .antiquant_offset = {}, \
            NAMED(row_scale)},                                                                        \
   .list = groups, NAMED(kind, logit, row_index, shared, shared_weight, shared_offset)}
#define FINALIZE(name, zero_points, tuning_of, more_checks, ...)                                                     \
  ACLNN(name, (__VA_ARGS__, Out, out),                                                                               \
        (more_checks, finalized_product_like(COMBINED(zero_points), dtype, turned, weight_turned, out),              \
         combined_within_limits(COMBINED(zero_points), product_is("Ascend950"), weight_turned, tuning_of, out)),     \
        write(out,                                                                                                   \
              finalized_product(weight_turned ? turned_over(COMBINED(zero_points)) : Combined COMBINED(zero_points), \
                                out.sizes())))
#define ROUTED_BACK                                                                                               \
  In, row_scale, In, groups, In, shared, In, logit, In, row_index, int64_t, dtype, float, shared_weight, int64_t, \
      shared_offset, bool, turned, bool, weight_turned, int64_t, kind
#define ZERO_POINTS In, offset, In, antiquant_scale, In, antiquant_offset
// CANN's checks ask for all of these with the code of null pointers, and for the absence of the two that nothing reads.
static void all_given(const at::Tensor& bias, const at::Tensor& row_scale) {
  SIM_NEEDED(bias.defined() && row_scale.defined(), "bias or pertokenScale is null");
}
static void none_given(const at::Tensor& scale, const at::Tensor& offset) {
  SIM_NEEDED(!scale.defined() && !offset.defined(), "antiquantScale and antiquantOffset must be null");
}
FINALIZE(GroupedMatmulFinalizeRoutingV2, offset, Dims(),
         (none_given(antiquant_scale, antiquant_offset), all_given(bias, row_scale)), In, x, In, weight, In, scale, In,
         bias, ZERO_POINTS, ROUTED_BACK)
FINALIZE(GroupedMatmulFinalizeRoutingV3, offset, tuning, none_given(antiquant_scale, antiquant_offset), In, x, In,
         weight, In, scale, In, bias, ZERO_POINTS, ROUTED_BACK, Ints, tuning)
FINALIZE(GroupedMatmulFinalizeRouting, {}, Dims(), all_given(bias, row_scale), In, x, In, weight, In, scale, In, bias,
         ROUTED_BACK)
FINALIZE(GroupedMatmulFinalizeRoutingWeightNz, {}, Dims(), when_run(), In, x, In, weight, In, scale, In, bias,
         ROUTED_BACK)
FINALIZE(GroupedMatmulFinalizeRoutingWeightNzV2, offset, tuning, when_run(), In, x, In, weight, In, scale, In, bias,
         ZERO_POINTS, ROUTED_BACK, Ints, tuning)
