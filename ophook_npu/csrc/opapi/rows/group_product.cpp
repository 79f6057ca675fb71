// Products of matrices over the devices of a group: with the sum of all parts, a share of it, or what the devices give
// each other first. What tunes the way over the network (commTurn, streamMode) has one allowed value each.

#include "kernels/group_product.h"

#include "kernels/matmul.h"
#include "opapi/aclnn.h"
#include "opapi/devices.h"

using namespace sim::aclnn;
namespace group_product = sim::group_product;

static void way(const std::string& op, int64_t turn, int64_t stream_mode) {
  SIM_CHECK(op == "sum", "reduceOp '", op, "'; allowed: sum");
  SIM_CHECK(turn == 0, "commTurn ", turn, "; allowed: 0");
  SIM_CHECK(stream_mode == 1, "streamMode ", stream_mode, "; allowed: 1");
}

static void over_axes(const Dims& axes, const Dims& allowed) {
  SIM_CHECK(axes.empty() || axes == allowed, "alltoAllAxes ", Shape(axes), "; allowed: ", Shape(allowed), " or none");
}

static void asked_for(bool flag, const at::Tensor& rows) {
  SIM_CHECK(!flag || rows.defined(), "permuteOutFlag needs permuteOutOptional");
}

static void not_turned(bool x1, bool x2) { SIM_CHECK(!x1 && !x2, "transposeX1 and transposeX2 are not simulated"); }

// ---- the sum on all devices ----------------------------------------------------------------------------------------
ACLNN(MatmulAllReduce, (In, x1, In, x2, In, bias, Text, group, Text, op, int64_t, turn, int64_t, stream_mode, Out, out),
      (way(op, turn, stream_mode), group_product::number_like(sim::HcclDevices(group)),
       group_product::product_like({x1, x2, bias}, out)),
      sim::HcclDevices devices(group);
      write(out, group_product::summed(devices, {x1, x2, bias}, out.scalar_type())))
ACLNN(MatmulAllReduceV2,
      (In, x1, In, x2, In, bias, In, x3, Text, group, Text, op, int64_t, turn, int64_t, stream_mode, Out, out),
      (way(op, turn, stream_mode), group_product::number_like(sim::HcclDevices(group)),
       group_product::product_like({x1, x2, bias, x3}, out)),
      sim::HcclDevices devices(group);
      write(out, group_product::summed(devices, {x1, x2, bias, x3}, out.scalar_type())))
ACLNN(QuantMatmulAllReduce,
      (In, x1, In, x2, In, bias, In, x3, In, scale, Text, group, Text, op, int64_t, turn, int64_t, stream_mode, Out,
       out),
      (way(op, turn, stream_mode), group_product::number_like(sim::HcclDevices(group)),
       group_product::product_like({x1, x2, bias, x3, {}, scale}, out)),
      sim::HcclDevices devices(group);
      write(out, group_product::summed(devices, {x1, x2, bias, x3, {}, scale}, out.scalar_type())))
ACLNN(QuantMatmulAllReduceV2,
      (In, x1, In, x2, In, bias, In, x3, In, scale, In, row_scale, Text, group, Text, op, int64_t, turn, int64_t,
       stream_mode, Out, out),
      (way(op, turn, stream_mode), group_product::number_like(sim::HcclDevices(group)),
       group_product::product_like({x1, x2, bias, x3, row_scale, scale}, out)),
      sim::HcclDevices devices(group);
      write(out, group_product::summed(devices, {x1, x2, bias, x3, row_scale, scale}, out.scalar_type())))
#define SENT_IN_8_BITS(x1, x2, bias, x3, row_scale, scale, first, second, group, out)                            \
  sim::HcclDevices devices(group);                                                                               \
  write(out, first.defined()                                                                                     \
                 ? group_product::summed_in_8_bits(devices, {x1, x2, bias, x3, row_scale, scale}, first, second, \
                                                   out.scalar_type())                                            \
                 : group_product::summed(devices, {x1, x2, bias, x3, row_scale, scale}, out.scalar_type()))
ACLNN(QuantMatmulAllReduceV3,
      (In, x1, In, x2, In, bias, In, x3, In, scale, In, row_scale, In, first, In, second, Text, group, Text, op,
       int64_t, turn, int64_t, stream_mode, Out, out),
      (way(op, turn, stream_mode), group_product::number_like(sim::HcclDevices(group)),
       group_product::sent_in_8_bits(first, second, out),
       group_product::product_like({x1, x2, bias, x3, row_scale, scale}, out)),
      SENT_IN_8_BITS(x1, x2, bias, x3, row_scale, scale, first, second, group, out))
ACLNN(QuantMatmulAllReduceV4,
      (In, x1, In, x2, In, bias, In, x3, In, row_scale, In, scale, In, first, In, second, Text, group, Text, op,
       int64_t, turn, int64_t, stream_mode, int64_t, group_size, int64_t, quant_mode, Out, out),
      (way(op, turn, stream_mode), refuse_unless_zero(group_size, "groupSize"),
       refuse_unless_zero(quant_mode, "commQuantMode"), group_product::number_like(sim::HcclDevices(group)),
       group_product::sent_in_8_bits(first, second, out),
       group_product::product_like({x1, x2, bias, x3, row_scale, scale}, out)),
      SENT_IN_8_BITS(x1, x2, bias, x3, row_scale, scale, first, second, group, out))
ACLNN(WeightQuantMatmulAllReduce,
      (In, x1, In, x2, In, bias, In, scale, In, offset, In, x3, Text, group, Text, op, int64_t, turn, int64_t,
       stream_mode, int64_t, group_size, Out, out),
      (way(op, turn, stream_mode), group_product::number_like(sim::HcclDevices(group)),
       group_product::product_like({x1, x2, bias, x3, {}, {}, scale, offset}, out)),
      sim::HcclDevices devices(group);
      write(out, group_product::summed(devices, {x1, x2, bias, x3, {}, {}, scale, offset}, out.scalar_type())))

// ---- a share of the rows of it -------------------------------------------------------------------------------------
ACLNN(MatmulReduceScatter,
      (In, x1, In, x2, In, bias, Text, group, Text, op, int64_t, turn, int64_t, stream_mode, Out, out),
      (way(op, turn, stream_mode), group_product::number_like(sim::HcclDevices(group), 2, 32),
       group_product::inner_like({x1, x2, bias}),
       group_product::product_like({x1, x2, bias}, out, 1, sim::HcclDevices(group).ranks())),
      sim::HcclDevices devices(group);
      write(out, group_product::share_of_sum(devices, {x1, x2, bias}, out.scalar_type())))
ACLNN(MatmulReduceScatterV2,
      (In, x1, In, x2, In, bias, In, row_scale, In, scale, In, quant_scale, int64_t, block_size, Text, group, Text, op,
       int64_t, turn, int64_t, stream_mode, int64_t, group_size, Text, mode, Out, out, Out, amax),
      (way(op, turn, stream_mode), refuse_if_given({quant_scale}, "quantScale"), refuse_if_given({amax}, "amaxOut"),
       refuse_unless_zero(block_size, "blockSize"), refuse_unless_zero(group_size, "groupSize"),
       group_product::number_like(sim::HcclDevices(group), 2, 32),
       group_product::inner_like({x1, x2, bias, {}, row_scale, scale}),
       group_product::product_like({x1, x2, bias, {}, row_scale, scale}, out, 1, sim::HcclDevices(group).ranks())),
      sim::HcclDevices devices(group);
      write(out, group_product::share_of_sum(devices, {x1, x2, bias, {}, row_scale, scale}, out.scalar_type())))

// ---- of rows that were gathered ------------------------------------------------------------------------------------
ACLNN(AllGatherMatmul,
      (In, x1, In, x2, In, bias, Text, group, int64_t, gathered, int64_t, turn, int64_t, stream_mode, Out, out, Out,
       all),
      (way("sum", turn, stream_mode), refuse_unless_zero(gathered, "gatherIndex"),
       group_product::number_like(sim::HcclDevices(group), 2, 32), group_product::inner_like({x1, x2, bias}),
       group_product::product_like({x1, x2, bias}, out, sim::HcclDevices(group).ranks())),
      sim::HcclDevices devices(group);
      write_each({out, all}, group_product::gathered(devices, {x1, x2, bias}, out.scalar_type())))
ACLNN(AllGatherMatmulV2,
      (In, x1, In, x2, In, bias, In, row_scale, In, scale, In, quant_scale, int64_t, block_size, Text, group, int64_t,
       gathered, int64_t, turn, int64_t, stream_mode, int64_t, group_size, Text, mode, Out, out, Out, all, Out, amax),
      (way("sum", turn, stream_mode), refuse_unless_zero(gathered, "gatherIndex"),
       refuse_if_given({quant_scale}, "quantScale"), refuse_if_given({amax}, "amaxOut"),
       refuse_unless_zero(block_size, "blockSize"), refuse_unless_zero(group_size, "groupSize"),
       group_product::number_like(sim::HcclDevices(group), 2, 32),
       group_product::inner_like({x1, x2, bias, {}, row_scale, scale}),
       group_product::product_like({x1, x2, bias, {}, row_scale, scale}, out, sim::HcclDevices(group).ranks())),
      sim::HcclDevices devices(group);
      write_each({out, all}, group_product::gathered(devices, {x1, x2, bias, {}, row_scale, scale}, out.scalar_type())))

// ---- columns of all rows for all columns of some -------------------------------------------------------------------
ACLNN(AlltoAllMatmul,
      (In, x1, In, x2, In, bias, Ints, axes, Text, group, bool, turn_x1, bool, turn_x2, Out, out, Out, rows),
      (over_axes(axes, {-2, -1}), not_turned(turn_x1, turn_x2),
       group_product::number_like(sim::HcclDevices(group), 2, 16),
       group_product::own_rows_like(x1, x2, sim::HcclDevices(group), out)),
      sim::HcclDevices devices(group);
      write_each({out, rows}, group_product::of_own_rows(devices, {x1, x2, bias})))
ACLNN(MatmulAlltoAll, (In, x1, In, x2, In, bias, Ints, axes, Text, group, bool, turn_x1, bool, turn_x2, Out, out),
      (over_axes(axes, {-1, -2}), not_turned(turn_x1, turn_x2),
       group_product::number_like(sim::HcclDevices(group), 2, 16),
       group_product::own_columns_like(x1, x2, sim::HcclDevices(group), out)),
      sim::HcclDevices devices(group);
      write(out, group_product::of_own_columns(devices, {x1, x2, bias})))

// ---- each expert on one device -------------------------------------------------------------------------------------
ACLNN(AlltoAllvGroupedMatMul,
      (In, x, In, weight, In, sent_tensor, In, received_tensor, In, shared_x, In, shared_weight, Text, group, int64_t,
       ranks, Ints, sent, Ints, received, bool, turned, bool, shared_turned, bool, rows_asked, Out, out, Out, shared,
       Out, rows),
      (refuse_if_given({sent_tensor}, "sendCountsTensorOptional"),
       refuse_if_given({received_tensor}, "recvCountsTensorOptional"),
       group_product::experts_like(sim::HcclDevices(group), ranks, x, weight, sent, received, turned, out),
       group_product::shared_like(shared_x, shared_weight, shared_turned, shared), asked_for(rows_asked, rows)),
      sim::HcclDevices devices(group);
      write_each({out, rows_asked ? rows : at::Tensor()},
                 group_product::of_experts(devices, x, weight, sent, received, turned));
      if (shared.defined()) write(shared, kernels::product_of(shared_x, shared_weight, {}, false, shared_turned)))
ACLNN(GroupedMatMulAlltoAllv,
      (In, x, In, weight, In, sent_tensor, In, received_tensor, In, shared_x, In, shared_weight, Text, group, int64_t,
       ranks, Ints, sent, Ints, received, bool, turned, bool, shared_turned, Out, out, Out, shared),
      (refuse_if_given({sent_tensor}, "sendCountsTensorOptional"),
       refuse_if_given({received_tensor}, "recvCountsTensorOptional"),
       group_product::experts_like(sim::HcclDevices(group), ranks, x, weight, sent, received, turned, out),
       group_product::shared_like(shared_x, shared_weight, shared_turned, shared)),
      sim::HcclDevices devices(group);
      write(out, group_product::back_from_experts(devices, x, weight, sent, received, turned));
      if (shared.defined()) write(shared, kernels::product_of(shared_x, shared_weight, {}, false, shared_turned)))
