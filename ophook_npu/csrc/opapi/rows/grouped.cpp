// Products of groups of rows, each with its expert's weight, in float, int8 and int4, and the feed-forward network of
// two such products.

#include "kernels/grouped.h"
#include "kernels/groups.h"
#include "kernels/mx_quant.h"
#include "kernels/needed.h"
#include "kernels/quant.h"
#include "opapi/aclnn.h"
#include "opapi/rules.h"

using namespace sim::aclnn;
namespace groups = sim::groups;
using namespace sim::grouped;

// A list that the host has is compared before the call runs.
static void rows_of_experts(const at::Tensor& x, const Dims& tokens, bool ends) {
  if (!tokens.empty() && x.numel()) groups::of(tokens, ends ? groups::kEnds : groups::kCounts, x.numel() / x.size(-1));
}

// A weight of whole numbers for rows that are none needs the scale that makes numbers of it.
static void scaled_weight(const at::Tensor& x, const at::Tensor& weight, bool given) {
  const bool whole = c10::isIntegralType(weight.scalar_type(), false);
  SIM_CHECK(given || !whole || c10::isIntegralType(x.scalar_type(), false), "a weight of ", weight.scalar_type(),
            " for x of ", x.scalar_type(), " needs antiquantScale");
}

// What makes numbers of a product of whole ones of 8 bits goes with the output's data type. An Ascend950 takes more.
static void scaled_columns(const Tensors& x, const Tensors& weight, const Tensors& scale, const Tensors& row_scale,
                           const Tensors& out) {
  const auto whole = [](const Tensors& list) { return !list.empty() && list[0].scalar_type() == at::kChar; };
  if (product_is("Ascend950") || !whole(x) || !whole(weight) || out.empty() || out[0].scalar_type() == at::kInt) return;
  SIM_CHECK(!scale.empty(), "x and weight of INT8 need a scale where the output is no INT32");
  const at::ScalarType to = out[0].scalar_type();
  for (const at::Tensor& each : scale)
    SIM_CHECK_DTYPE((to == at::kBFloat16 && each.scalar_type() == to) ||
                        (to == at::kHalf && each.scalar_type() == at::kFloat) ||
                        (to == at::kChar && row_scale.empty() && sim::quant::is_encoded(each)),
                    "a scale of ", each.scalar_type(), " for an output of ", to);
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

// ---- what CANN's checks limit besides, by product
// Whether the last two dimensions lie the other way round.
static bool turned_view(const at::Tensor& tensor) {
  return tensor.dim() > 1 && tensor.size(-1) > 1 && tensor.size(-2) > 1 && sim::mx::lies_transposed(tensor);
}

static void swiglu_within_limits(const SwigluProduct& of, const at::Tensor& list) {
  const Dims sizes = matrix_sizes(of.weight[0]), rows = row_sizes(of.x);
  const int64_t experts = sizes.size() == 3 ? sizes[0] : int64_t(of.weight.size()), n = sizes.back(), k = rows.back();
  const int64_t groups = list.numel();
  const bool small = of.weight[0].scalar_type() == at::kInt, turned = turned_view(of.weight[0]);
  const bool mixed = !of_4_bit_floats(of.x) && of_4_bit_floats(of.weight[0]);
  if (!product_is("Ascend950")) {
    SIM_CHECK(groups <= experts, "a groupList of ", groups, " for ", experts, " experts");
    SIM_CHECK(n <= 10240, "n of ", n, "; at most 10240 is allowed");
    SIM_CHECK(k < (small ? 20000 : 65536), "k of ", k, "; less than ", small ? 20000 : 65536, " is allowed");
    SIM_CHECK(!turned || !small || of.x.scalar_type() == at::kInt, "a weight of 4 bits for x of 8 must not be turned");
    return;
  }
  SIM_CHECK(k > 0 && groups <= 1024, "k of ", k, " and ", groups, " groups; more than 0, and at most 1024 are allowed");
  SIM_CHECK(!turned_view(of.x), "x must not be turned");
  SIM_CHECK(of.how.in_blocks || sizes.size() == 3, "a list of weights goes with scales of 32 numbers");
  if (!of.how.in_blocks) return;
  SIM_CHECK(of.how.dequant == 0, "dequantDtype ", of.how.dequant, " with scales of 32 numbers; allowed: 0");
  SIM_CHECK(groups == experts, "a groupList of ", groups, " for ", experts, " experts");
  SIM_CHECK(!of_4_bit_floats(of.x) || k > 2, "k of ", k, " of FLOAT4; more than 2 is allowed");
  SIM_CHECK(!mixed || (turned && k % 32 == 0), "FLOAT8 by FLOAT4 takes a turned weight and multiples of 32 as k, got ",
            k);
}

static void combined_within_limits(const Combined& of, bool weight_turned, const Dims& tuning, const at::Tensor& out) {
  const Dims sizes = row_sizes(weight_turned ? of.weight.transpose(-1, -2) : of.weight), inner = row_sizes(of.x);
  const int64_t experts = sizes[0], n = sizes[2], k = inner[1];
  if (product_is("Ascend950")) {
    SIM_CHECK(experts <= 1024, experts, " experts; at most 1024 are allowed");
    SIM_CHECK(k > (of_4_bit_floats(of.x) ? 2 : 0), "k of ", k, " of ", of.x.scalar_type());
    SIM_CHECK(!is_mixed(of) || (k % 32 == 0 && n % 32 == 0), "k of ", k, " and n of ", n, "; allowed: multiples of 32");
    if (of.x.scalar_type() != at::kChar) of_dtype("rowIndex", of.row_index, {at::kLong});
    if (!by_blocks_of_32(of)) shape(of.with.scale, {experts, 1, n});
    return;
  }
  if (of.weight.scalar_type() == at::kInt) {
    SIM_CHECK(k % 64 == 0 && k > 128 && n % 8 == 0 && n > 64, "k of ", k, " and n of ", n, " of int8 by int4");
    of_dtype("scale", of.with.scale, {at::kLong});
    shape(of.with.scale, {experts, 1, n});
    of_dtype("rowIndex", of.row_index, {at::kLong});
  } else {
    SIM_CHECK(k % 16 == 0 && n % 32 == 0 && n >= 256, "k of ", k, " and n of ", n, " of int8 by int8");
    shape(of.with.scale, {experts, n});
  }
  SIM_CHECK(of.x.numel() && experts && (!of.shared.defined() || of.shared.numel()), "no input may be empty");
  SIM_CHECK(out.size(0) <= of.x.size(0), out.size(0), " rows of out for ", of.x.size(0), " of x1");
  SIM_CHECK(tuning.empty() || (tuning[0] >= 0 && tuning[0] <= of.x.size(0)), "tuningConfig ", tuning, " for ",
            of.x.size(0), " rows");
}

#define WEIGHTED \
  List, x, List, weight, List, bias, List, scale, List, offset, List, antiquant_scale, List, antiquant_offset
// Groups by their ends; a list that the host has is compared before the call runs.
#define GROUPED_BY_ENDS(version, given, type, more_checks, ...)                                               \
  ACLNN(GroupedMatmul##version, (WEIGHTED, __VA_ARGS__, List, out),                                           \
        (grouped(x, weight, {NAMED(bias, scale, offset, antiquant_scale, antiquant_offset)}, out, split_item, \
                 {given, type}, 0, {}),                                                                       \
         more_checks, scaled_weight(x[0], weight[0], !antiquant_scale.empty())),                              \
        grouped_product(x, weight, {NAMED(bias, scale, offset, antiquant_scale, antiquant_offset)},           \
                        groups_of_list(given, groups::kEnds, x, weight, type), type, "", out))
#define COMPARED(type) groups_of_list(ends_of(ends), groups::kEnds, x, weight, type)
GROUPED_BY_ENDS(, ends_of(ends), kRows, COMPARED(kRows), Ints, ends, int64_t, split_item)
GROUPED_BY_ENDS(V2, ends_of(ends), group_type, COMPARED(group_type), Ints, ends, int64_t, split_item, int64_t,
                group_type)
GROUPED_BY_ENDS(V3, ends, group_type, when_run(), In, ends, int64_t, split_item, int64_t, group_type)
#define GROUPED_MATMUL(version, more_checks, ...)                                                                      \
  ACLNN(GroupedMatmul##version,                                                                                        \
        (WEIGHTED, List, row_scale, In, groups, List, act_input, List, act_scale, List, act_offset, int64_t,           \
         split_item, int64_t, group_type, int64_t, group_list_type, int64_t, act_type, ##__VA_ARGS__, List, out, List, \
         act_out, List, out_scale),                                                                                    \
        (more_checks, scaled_columns(x, weight, scale, row_scale, out),                                                \
         grouped(x, weight, {NAMED(bias, scale, offset, antiquant_scale, antiquant_offset, row_scale)}, out,           \
                 split_item, {groups, group_type, group_list_type}, act_type,                                          \
                 {act_input, act_scale, act_offset, act_out, out_scale})),                                             \
        grouped_product(x, weight, {NAMED(bias, scale, offset, antiquant_scale, antiquant_offset, row_scale)},         \
                        groups_of_list(groups, group_list_type, x, weight, group_type), group_type,                    \
                        activation_of(act_type), out))
GROUPED_MATMUL(V4, when_run())
GROUPED_MATMUL(V5, when_run(), Ints, tuning)
GROUPED_MATMUL(WeightNz, scaled_in_groups(x, weight, scale, group_size), Ints, tuning, int64_t, group_size)
#define ADD_PRODUCTS(version, kind, ...)                                                                              \
  ACLNN(                                                                                                              \
      GroupedMatmulAdd##version,                                                                                      \
      (In, x, In, weight, In, groups, Ref, y, bool, turned, bool, weight_turned, int64_t, group_type, ##__VA_ARGS__), \
      added_like(x, weight, groups, turned, weight_turned, group_type, y), add_products(x, weight, groups, kind, y))
ADD_PRODUCTS(, groups::kEnds)
ADD_PRODUCTS(V2, group_list_type, int64_t, group_list_type)
#define BY_ROWS                                                                                                        \
  {                                                                                                                    \
    NAMED(x), .weight = {weight}, .scale = {scale}, NAMED(row_scale), .kind = groups::kEnds, .how = {.assist = {bias}} \
  }
#define SWIGLU_BY_ROWS(name)                                                                                           \
  ACLNN(name,                                                                                                          \
        (In, x, In, weight, In, bias, In, offset, In, scale, In, row_scale, In, groups, Out, out, Out, out_scale, Out, \
         out_offset),                                                                                                  \
        (swiglu_product_like(BY_ROWS, {offset}, out, out_scale), groups::listed(groups, groups::kEnds)),               \
        swiglu_product(BY_ROWS, groups, out, out_scale))
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
         swiglu_product_like(REQUANTIZED, {bias}, out, out_scale), groups::listed(groups, group_list_type),           \
         swiglu_within_limits(REQUANTIZED, groups)),                                                                  \
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
#define SCALES_OF_LAYERS                                                                                               \
  In, bias1, In, bias2, In, scale, In, offset, In, scale1, In, scale2, In, antiquant_scale1, In, antiquant_scale2, In, \
      antiquant_offset1, In, antiquant_offset2, Text, activation, int64_t, precise
#define FFN_OF(version, kind, numbers, count, ends, checks, ...)                                                  \
  ACLNN(FFN##version, (In, x, In, weight1, In, weight2, kind, tokens, SCALES_OF_LAYERS, ##__VA_ARGS__, Out, out), \
        (checks, feed_forward_like(FEED_FORWARD, count, out), SCALED_LAYERS),                                     \
        feed_forward(FEED_FORWARD, numbers, ends, precise == 1, out))
FFN_OF(, Ints, tokens, tokens.size(), false, rows_of_experts(x, tokens, false))
FFN_OF(V2, Ints, tokens, tokens.size(), ends, rows_of_experts(x, tokens, ends), bool, ends)
FFN_OF(V3, In, groups::numbers(tokens), tokens.defined() ? tokens.numel() : 0, ends,
       groups::listed(tokens, groups::kEnds), bool, ends)
#define COMBINED(zero_points)                                                                         \
  {NAMED(x, weight),                                                                                  \
   .with = {NAMED(bias, scale), .offset = zero_points, .antiquant_scale = {}, .antiquant_offset = {}, \
            NAMED(row_scale)},                                                                        \
   .list = groups, NAMED(kind, logit, row_index, shared, shared_weight, shared_offset)}
#define FINALIZE(name, zero_points, tuning_of, more_checks, ...)                                                     \
  ACLNN(name, (__VA_ARGS__, Out, out),                                                                               \
        (more_checks, finalized_product_like(COMBINED(zero_points), dtype, turned, weight_turned, out),              \
         combined_within_limits(COMBINED(zero_points), weight_turned, tuning_of, out)),                              \
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
