// Products of matrices over the devices of a group: with the sum of all parts, a share of it, or what the devices give
// each other first. What tunes the way over the network has one allowed value (streamMode), or any (commTurn).

#include "kernels/group_product.h"

#include "kernels/matmul.h"
#include "opapi/aclnn.h"
#include "opapi/devices.h"
#include "opapi/rules.h"

using namespace sim::aclnn;
namespace group_product = sim::group_product;

static void way(const std::string& op, int64_t stream_mode) {
  SIM_CHECK(op == "sum", "reduceOp '", op, "'; allowed: sum");
  SIM_CHECK(stream_mode == 1, "streamMode ", stream_mode, "; allowed: 1");
}

// On an Ascend950 a call without rows of x1, or columns of x2, ends with success before its group is looked for.
static bool nothing_of(const at::Tensor& x1, const at::Tensor& x2 = {}) {
  const auto empty = [](const at::Tensor& x) { return x.dim() == 2 && (x.size(0) == 0) != (x.size(1) == 0); };
  return product_is("Ascend950") && ((empty(x1) && !x1.size(0)) || (x2.defined() && empty(x2) && !x2.size(1)));
}

static void over_axes(const Dims& axes, const Dims& allowed) {
  SIM_CHECK(axes.empty() || axes == allowed, "alltoAllAxes ", Shape(axes), "; allowed: ", Shape(allowed), " or none");
}

// The rows of x that came from all devices.
static void asked_for(bool flag, const at::Tensor& rows, const at::Tensor& x, const Dims& received) {
  group_product::given_as_said(flag == rows.defined(),
                               "permuteOutOptional is given with permuteOutFlag, and null without");
  if (flag) shape(rows, {c10::sum_integers(received), x.size(-1)});
}

// By which engine the devices talk: it changes no result.
static void engine(const std::string& mode) {
  SIM_CHECK(mode.empty() || mode == "ai_cpu" || mode == "aiv" || mode == "ccu", "commMode '", mode,
            "'; allowed: '', ai_cpu, aiv, ccu");
}

static void not_turned(bool x1, bool x2) { SIM_CHECK(!x1 && !x2, "transposeX1 and transposeX2 are not simulated"); }

// A function, and its second version, which takes the engine too.
#define BY_ANY_ENGINE(row, name) row(name, when_run(), Text, group) row(name##V2, engine(mode), Text, group, Text, mode)

// ---- the sum on all devices ----------------------------------------------------------------------------------------
#define WAY Text, group, Text, op, int64_t, turn, int64_t, stream_mode
#define WAY_BY_ENGINE Text, group, Text, op, Text, mode, int64_t, turn, int64_t, stream_mode
#define SUMMED(name, factors, more_checks, ...)                                                  \
  ACLNN(name, (In, x1, In, x2, In, bias, __VA_ARGS__, Out, out),                                 \
        (more_checks, way(op, stream_mode), group_product::number_like(sim::HcclDevices(group)), \
         group_product::product_like(group_product::Factors factors, out)),                      \
        sim::HcclDevices devices(group);                                                         \
        write(out, group_product::summed(devices, group_product::Factors factors, out.scalar_type())))
SUMMED(MatmulAllReduce, ({x1, x2, bias}), when_run(), WAY)
SUMMED(MatmulAllReduceV2, ({x1, x2, bias, x3}), when_run(), In, x3, WAY)
SUMMED(MatmulAllReduceV3, ({x1, x2, bias, x3}), engine(mode), In, x3, WAY_BY_ENGINE)
SUMMED(QuantMatmulAllReduce, ({x1, x2, bias, x3, {}, scale}), when_run(), In, x3, In, scale, WAY)
SUMMED(QuantMatmulAllReduceV2, ({x1, x2, bias, x3, row_scale, scale}), when_run(), In, x3, In, scale, In, row_scale,
       WAY)
SUMMED(WeightQuantMatmulAllReduce, ({x1, x2, bias, x3, {}, {}, scale, offset}), when_run(), In, scale, In, offset, In,
       x3, WAY, int64_t, group_size)
SUMMED(WeightQuantMatmulAllReduceV2, ({x1, x2, bias, x3, {}, {}, scale, offset}), engine(mode), In, scale, In, offset,
       In, x3, WAY_BY_ENGINE, int64_t, group_size)
// The parts of it are sent in 8 bits where there are scales for that.
#define SCALED_FACTORS (group_product::Factors{.x = x1, .weight = x2, NAMED(bias), .rest = x3, NAMED(row_scale, scale)})
#define SUMMED_IN_8_BITS(version, more_checks, ...)                                                                 \
  ACLNN(QuantMatmulAllReduce##version, (In, x1, In, x2, In, bias, In, x3, __VA_ARGS__, Out, out),                   \
        (more_checks, group_product::number_like(sim::HcclDevices(group)),                                          \
         group_product::sent_in_8_bits(first, second, out), group_product::product_like(SCALED_FACTORS, out)),      \
        sim::HcclDevices devices(group);                                                                            \
        write(out, first.defined()                                                                                  \
                       ? group_product::summed_in_8_bits(devices, SCALED_FACTORS, first, second, out.scalar_type()) \
                       : group_product::summed(devices, SCALED_FACTORS, out.scalar_type())))
#define NO_MODES refuse_unless_zero(group_size, "groupSize"), refuse_unless_zero(quant_mode, "commQuantMode")
SUMMED_IN_8_BITS(V3, way(op, stream_mode), In, scale, In, row_scale, In, first, In, second, WAY)
SUMMED_IN_8_BITS(V4, (way(op, stream_mode), NO_MODES), In, row_scale, In, scale, In, first, In, second, WAY, int64_t,
                 group_size, int64_t, quant_mode)
SUMMED_IN_8_BITS(V5, (engine(mode), way(op, stream_mode), NO_MODES), In, row_scale, In, scale, In, first, In, second,
                 WAY_BY_ENGINE, int64_t, group_size, int64_t, quant_mode)
// The sum, a residual added to it, and its norm by the root of its mean square. In place, the residual is written.
#define NORMED(Op, factors, y, ...)                                                                      \
  ACLNN(Op, (__VA_ARGS__, Out, normal),                                                                  \
        (way(op, stream_mode), group_product::number_like(sim::HcclDevices(group)),                      \
         group_product::normed_like(group_product::Factors factors, {residual, gamma, eps, y, normal})), \
        sim::HcclDevices devices(group);                                                                 \
        group_product::add_normed(devices, group_product::Factors factors, {residual, gamma, eps, y, normal}))
#define AND_NORM In, gamma, double, eps, WAY
NORMED(MatmulAllReduceAddRmsNorm, ({x1, x2, bias}), y, In, x1, In, x2, In, bias, In, residual, AND_NORM, Out, y)
NORMED(InplaceMatmulAllReduceAddRmsNorm, ({x1, x2, bias}), residual, In, x1, In, x2, In, bias, Ref, residual, AND_NORM)
NORMED(QuantMatmulAllReduceAddRmsNorm, ({x1, x2, bias, {}, {}, scale}), y, In, x1, In, x2, In, bias, In, scale, In,
       residual, AND_NORM, Out, y)
NORMED(InplaceQuantMatmulAllReduceAddRmsNorm, ({x1, x2, bias, {}, {}, scale}), residual, In, x1, In, x2, In, bias, In,
       scale, Ref, residual, AND_NORM)
NORMED(WeightQuantMatmulAllReduceAddRmsNorm, ({x1, x2, bias, {}, {}, {}, scale, offset}), y, In, x1, In, x2, In, bias,
       In, scale, In, offset, In, residual, AND_NORM, int64_t, group_size, Out, y)
NORMED(InplaceWeightQuantMatmulAllReduceAddRmsNorm, ({x1, x2, bias, {}, {}, {}, scale, offset}), residual, In, x1, In,
       x2, In, bias, In, scale, In, offset, Ref, residual, AND_NORM, int64_t, group_size)

// ---- a share of the rows of it -------------------------------------------------------------------------------------
#define SHARE(version, factors, nothing, more_checks, ...)                                                      \
  ACLNN(MatmulReduceScatter##version, (In, x1, In, x2, In, bias, __VA_ARGS__), if (nothing) return;             \
        (way(op, stream_mode), more_checks, group_product::number_like(sim::HcclDevices(group), 2, 32),         \
         group_product::inner_like(group_product::Factors factors),                                             \
         group_product::product_like(group_product::Factors factors, out, 1, sim::HcclDevices(group).ranks())), \
        if (nothing) return;                                                                                    \
        sim::HcclDevices devices(group);                                                                        \
        write(out, group_product::share_of_sum(devices, group_product::Factors factors, out.scalar_type())))
#define ONLY_SCALES                                                                 \
  refuse_if_given({quant_scale}, "quantScale"), refuse_if_given({amax}, "amaxOut"), \
      refuse_unless_zero(block_size, "blockSize"), refuse_unless_zero(group_size, "groupSize")
#define SCALED_BY_ROW In, row_scale, In, scale, In, quant_scale, int64_t, block_size
SHARE(, ({x1, x2, bias}), false, when_run(), WAY, Out, out)
SHARE(V2, ({x1, x2, bias, {}, row_scale, scale}), nothing_of(x1, x2), (ONLY_SCALES), SCALED_BY_ROW, WAY, int64_t,
      group_size, Text, mode, Out, out, Out, amax)

// ---- of rows that were gathered ------------------------------------------------------------------------------------
#define OF_GATHERED(version, factors, nothing, more_checks, ...)                                            \
  ACLNN(AllGatherMatmul##version, (In, x1, In, x2, In, bias, __VA_ARGS__), if (nothing) return;             \
        (way("sum", stream_mode), refuse_unless_zero(gathered, "gatherIndex"), more_checks,                 \
         group_product::number_like(sim::HcclDevices(group), 2, 32),                                        \
         group_product::inner_like(group_product::Factors factors),                                         \
         group_product::product_like(group_product::Factors factors, out, sim::HcclDevices(group).ranks()), \
         asked({all}, {x1.size(0) * sim::HcclDevices(group).ranks(), x1.size(1)})),                         \
        if (nothing) return;                                                                                \
        sim::HcclDevices devices(group);                                                                    \
        write_each({out, all}, group_product::gathered(devices, group_product::Factors factors, out.scalar_type())))
#define WAY_OF_ROWS Text, group, int64_t, gathered, int64_t, turn, int64_t, stream_mode
OF_GATHERED(, ({x1, x2, bias}), false, when_run(), WAY_OF_ROWS, Out, out, Out, all)
OF_GATHERED(V2, ({x1, x2, bias, {}, row_scale, scale}), nothing_of(x1), (ONLY_SCALES), SCALED_BY_ROW, WAY_OF_ROWS,
            int64_t, group_size, Text, mode, Out, out, Out, all, Out, amax)

// ---- columns of all rows for all columns of some -------------------------------------------------------------------
// Other functions answer 161001 to a name that is null.
static void named_group(const std::string& group) {
  SIM_CHECK(!group.empty(), "the name of the group is null or empty");
}
#define TO_ROWS(name, more_checks, ...)                                                                               \
  ACLNN(                                                                                                              \
      name, (In, x1, In, x2, In, bias, Ints, axes, __VA_ARGS__, bool, turn_x1, bool, turn_x2, Out, out, Out, rows),   \
      (named_group(group), more_checks, over_axes(axes, {-2, -1}), not_turned(turn_x1, turn_x2),                      \
       group_product::number_like(sim::HcclDevices(group), 2, 16),                                                    \
       group_product::own_rows_like(x1, x2, sim::HcclDevices(group), out), asked({rows}, {out.size(0), x2.size(0)})), \
      sim::HcclDevices devices(group);                                                                                \
      write_each({out, rows}, group_product::of_own_rows(devices, {x1, x2, bias})))
BY_ANY_ENGINE(TO_ROWS, AlltoAllMatmul)
#define TO_COLUMNS(name, more_checks, ...)                                                                 \
  ACLNN(name, (In, x1, In, x2, In, bias, Ints, axes, __VA_ARGS__, bool, turn_x1, bool, turn_x2, Out, out), \
        (named_group(group), more_checks, over_axes(axes, {-1, -2}), not_turned(turn_x1, turn_x2),         \
         group_product::number_like(sim::HcclDevices(group), 2, 16),                                       \
         group_product::own_columns_like(x1, x2, sim::HcclDevices(group), out)),                           \
        sim::HcclDevices devices(group);                                                                   \
        write(out, group_product::of_own_columns(devices, {x1, x2, bias})))
BY_ANY_ENGINE(TO_COLUMNS, MatmulAlltoAll)

// ---- the same of 8 bits --------------------------------------------------------------------------------------------
static void only_scales(const at::Tensor& common, const at::Tensor& x_offset, const at::Tensor& offset,
                        int64_t common_mode, int64_t comm_dtype, int64_t group_size) {
  refuse_if_given({common}, "commonScale"), refuse_if_given({x_offset, offset}, "x1Offset and x2Offset");
  refuse_unless_zero(common_mode, "commonQuantMode"), refuse_unless_zero(group_size, "groupSize");
  SIM_CHECK(comm_dtype == -1, "commQuantDtype ", comm_dtype, " is not simulated; allowed: -1 (none)");
}

#define IN_8_BITS In, x1, In, x2, In, bias, In, row_scale, In, scale, In, common, In, x_offset, In, offset
#define MODES int64_t, x_mode, int64_t, weight_mode, int64_t, common_mode, int64_t, comm_dtype
#define TO_QUANTIZED_ROWS(name, more_checks, ...)                                                                      \
  ACLNN(name,                                                                                                          \
        (IN_8_BITS, __VA_ARGS__, Ints, axes, MODES, int64_t, steps, int64_t, group_size, bool, turn_x1, bool, turn_x2, \
         Out, out, Out, rows),                                                                                         \
        (named_group(group), more_checks, only_scales(common, x_offset, offset, common_mode, comm_dtype, group_size),  \
         refuse_if_given({row_scale}, "x1Scale"), over_axes(axes, {-2, -1}), not_turned(turn_x1, turn_x2),             \
         group_product::number_like(sim::HcclDevices(group), 2, 16),                                                   \
         group_product::quantized_own_rows_like({x1, x2, bias, {}, {}, scale}, sim::HcclDevices(group), x_mode,        \
                                                weight_mode, steps, out)),                                             \
        sim::HcclDevices devices(group);                                                                               \
        write_each({out, rows}, group_product::of_quantized_own_rows(devices, {x1, x2, bias, {}, {}, scale}, steps,    \
                                                                     out.scalar_type())))
BY_ANY_ENGINE(TO_QUANTIZED_ROWS, AlltoAllQuantMatmul)
#define TO_QUANTIZED_COLUMNS(name, more_checks, ...)                                                                  \
  ACLNN(name,                                                                                                         \
        (IN_8_BITS, Ints, axes, __VA_ARGS__, MODES, int64_t, group_size, bool, turn_x1, bool, turn_x2, Out, out),     \
        (named_group(group), more_checks, only_scales(common, x_offset, offset, common_mode, comm_dtype, group_size), \
         over_axes(axes, {-1, -2}), not_turned(turn_x1, turn_x2),                                                     \
         group_product::number_like(sim::HcclDevices(group), 2, 16),                                                  \
         group_product::quantized_own_columns_like({x1, x2, bias, {}, row_scale, scale}, sim::HcclDevices(group),     \
                                                   x_mode, weight_mode, out)),                                        \
        sim::HcclDevices devices(group);                                                                              \
        write(out, group_product::of_quantized_own_columns(devices, {x1, x2, bias, {}, row_scale, scale},             \
                                                           out.scalar_type())))
BY_ANY_ENGINE(TO_QUANTIZED_COLUMNS, QuantMatmulAlltoAll)

// ---- each expert on one device -------------------------------------------------------------------------------------
static void counted_on_the_host(const at::Tensor& sent, const at::Tensor& received) {
  group_product::given_as_said(!sent.defined() && !received.defined(),
                               "sendCountsTensorOptional and recvCountsTensorOptional have to be null");
}

#define OF_EXPERTS In, x, In, weight, In, sent_tensor, In, received_tensor, In, shared_x, In, shared_weight
#define COUNTS int64_t, ranks, Ints, sent, Ints, received, bool, turned, bool, shared_turned
#define TO_EXPERTS(name, more_checks, ...)                                                                         \
  ACLNN(name, (OF_EXPERTS, __VA_ARGS__, COUNTS, bool, rows_asked, Out, out, Out, shared, Out, rows),               \
        (more_checks, counted_on_the_host(sent_tensor, received_tensor), asked_for(rows_asked, rows, x, received), \
         group_product::shared_like(shared_x, shared_weight, shared_turned, shared),                               \
         group_product::experts_like(sim::HcclDevices(group), ranks, x, weight, sent, received, turned, out)),     \
        sim::HcclDevices devices(group);                                                                           \
        write_each({out, rows_asked ? rows : at::Tensor()},                                                        \
                   group_product::of_experts(devices, x, weight, sent, received, turned));                         \
        if (shared.defined()) write(shared, kernels::product_of(shared_x, shared_weight, {}, false, shared_turned)))
BY_ANY_ENGINE(TO_EXPERTS, AlltoAllvGroupedMatMul)
#define FROM_EXPERTS(name, more_checks, ...)                                                                   \
  ACLNN(name, (OF_EXPERTS, __VA_ARGS__, COUNTS, Out, out, Out, shared),                                        \
        (more_checks, counted_on_the_host(sent_tensor, received_tensor),                                       \
         group_product::shared_like(shared_x, shared_weight, shared_turned, shared),                           \
         group_product::experts_like(sim::HcclDevices(group), ranks, x, weight, sent, received, turned, out)), \
        sim::HcclDevices devices(group);                                                                       \
        write(out, group_product::back_from_experts(devices, x, weight, sent, received, turned));              \
        if (shared.defined()) write(shared, kernels::product_of(shared_x, shared_weight, {}, false, shared_turned)))
BY_ANY_ENGINE(FROM_EXPERTS, GroupedMatMulAlltoAllv)
#define OF_SCALED_EXPERTS                                                                                   \
  In, x, In, weight, In, x_scale, In, weight_scale, In, sent_tensor, In, received_tensor, In, shared_x, In, \
      shared_weight, In, shared_x_scale, In, shared_weight_scale
#define SCALED_MODES int64_t, x_mode, int64_t, weight_mode, int64_t, shared_x_mode, int64_t, shared_weight_mode
#define SCALED (group_product::Scaled{NAMED(x, weight, x_scale, weight_scale, x_mode, weight_mode)})
#define SCALED_SHARED                                         \
  (group_product::Scaled{.x = shared_x,                       \
                         .weight = shared_weight,             \
                         .x_scale = shared_x_scale,           \
                         .weight_scale = shared_weight_scale, \
                         .x_mode = shared_x_mode,             \
                         .weight_mode = shared_weight_mode})
#define SCALED_LIKE                                                                                                \
  counted_on_the_host(sent_tensor, received_tensor), not_turned(turned, shared_turned),                            \
      group_product::scaled_experts_like(sim::HcclDevices(group), ranks, SCALED, sent, received, group_size, out), \
      group_product::scaled_shared_like(SCALED_SHARED, shared)
#define TO_SCALED_EXPERTS(name, more_checks, ...)                                                                    \
  ACLNN(name,                                                                                                        \
        (OF_SCALED_EXPERTS, SCALED_MODES, __VA_ARGS__, COUNTS, int64_t, group_size, bool, rows_asked, Out, out, Out, \
         shared, Out, rows),                                                                                         \
        (more_checks, SCALED_LIKE, asked_for(rows_asked, rows, x, received)), sim::HcclDevices devices(group);       \
        write_each({out, rows_asked ? rows : at::Tensor()},                                                          \
                   group_product::of_scaled_experts(devices, SCALED, sent, received));                               \
        if (shared.defined()) write_each({shared}, {group_product::scaled_shared(SCALED_SHARED)}))
BY_ANY_ENGINE(TO_SCALED_EXPERTS, AlltoAllvQuantGroupedMatMul)
#define FROM_SCALED_EXPERTS(name, more_checks, ...)                                                                    \
  ACLNN(name,                                                                                                          \
        (OF_SCALED_EXPERTS, In, comm_scale, SCALED_MODES, int64_t, comm_mode, int64_t, comm_dtype, int64_t,            \
         group_size, __VA_ARGS__, COUNTS, Out, out, Out, shared),                                                      \
        (more_checks, refuse_if_given({comm_scale}, "commQuantScale"), refuse_unless_zero(comm_mode, "commQuantMode"), \
         SCALED_LIKE),                                                                                                 \
        sim::HcclDevices devices(group);                                                                               \
        write(out, group_product::back_from_scaled_experts(devices, SCALED, sent, received, out.scalar_type()));       \
        if (shared.defined()) write_each({shared}, {group_product::scaled_shared(SCALED_SHARED)}))
BY_ANY_ENGINE(FROM_SCALED_EXPERTS, QuantGroupedMatMulAlltoAllv)
