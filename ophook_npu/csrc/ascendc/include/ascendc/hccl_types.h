// Data types, reductions and commands of Hccl objects, and what their tiling tells: for kernels and for the host.
#pragma once

#include <cstdint>

namespace AscendC {
inline namespace hccl_types {

enum HcclDataType {
  HCCL_DATA_TYPE_INT8 = 0,
  HCCL_DATA_TYPE_INT16 = 1,
  HCCL_DATA_TYPE_INT32 = 2,
  HCCL_DATA_TYPE_FP16 = 3,
  HCCL_DATA_TYPE_FP32 = 4,
  HCCL_DATA_TYPE_INT64 = 5,
  HCCL_DATA_TYPE_UINT64 = 6,
  HCCL_DATA_TYPE_UINT8 = 7,
  HCCL_DATA_TYPE_UINT16 = 8,
  HCCL_DATA_TYPE_UINT32 = 9,
  HCCL_DATA_TYPE_FP64 = 10,
  HCCL_DATA_TYPE_BFP16 = 11,
  HCCL_DATA_TYPE_INT128 = 12,
  HCCL_DATA_TYPE_HIF8 = 14,
  HCCL_DATA_TYPE_FP8E4M3 = 15,
  HCCL_DATA_TYPE_FP8E5M2 = 16,
  HCCL_DATA_TYPE_FP8E8M0 = 17,
  HCCL_DATA_TYPE_RESERVED
};

enum HcclReduceOp {
  HCCL_REDUCE_SUM = 0,
  HCCL_REDUCE_PROD = 1,
  HCCL_REDUCE_MAX = 2,
  HCCL_REDUCE_MIN = 3,
  HCCL_REDUCE_RESERVED
};

}  // namespace hccl_types
inline namespace hccl_commands {

enum HcclCMDType {
  HCCL_CMD_INVALID = 0,
  HCCL_CMD_BROADCAST = 1,
  HCCL_CMD_ALLREDUCE,
  HCCL_CMD_REDUCE,
  HCCL_CMD_SEND,
  HCCL_CMD_RECEIVE,
  HCCL_CMD_ALLGATHER,
  HCCL_CMD_REDUCE_SCATTER,
  HCCL_CMD_ALLTOALLV,
  HCCL_CMD_ALLTOALLVC,
  HCCL_CMD_ALLTOALL,
  HCCL_CMD_GATHER,
  HCCL_CMD_SCATTER,
  HCCL_CMD_BATCH_SEND_RECV,
  HCCL_CMD_BATCH_PUT,
  HCCL_CMD_BATCH_GET,
  HCCL_CMD_ALLGATHER_V,
  HCCL_CMD_REDUCE_SCATTER_V,
  HCCL_CMD_BATCH_WRITE,
  HCCL_CMD_HALF_ALLTOALLV = 20,
  HCCL_CMD_ALL
};

}  // namespace hccl_commands
}  // namespace AscendC

namespace ophook::hccl {

// What the bytes of Mc2InitTiling and Mc2CcTiling are here. The vendor's pages leave them open.
constexpr uint32_t kInitTiling = 0x6d633269, kCcTiling = 0x6d633263;  // which of the two it is
struct InitTiling {
  uint32_t is;
  uint8_t unused[60];
};
struct CcTiling {
  uint32_t is, command, reduction;
  uint8_t to, from, engine, skips_own, from_window, debug, step, unused;
  uint16_t blocks, queues;
  char group[128], algorithm[128];
};
static_assert(sizeof(InitTiling) == 64 && sizeof(CcTiling) == 280);
constexpr uint32_t kCommands = 21;

}  // namespace ophook::hccl
