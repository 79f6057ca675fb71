#include "types.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>

#include "hccl/hccl_types.h"

namespace sim::hccl {
namespace {

struct Dtype {
  uint32_t value;
  const char* name;
  size_t size;
};
// clang-format off
constexpr Dtype kDtypes[] = {
    {HCCL_DATA_TYPE_INT8, "int8", 1},       {HCCL_DATA_TYPE_INT16, "int16", 2},     {HCCL_DATA_TYPE_INT32, "int32", 4},
    {HCCL_DATA_TYPE_INT64, "int64", 8},     {HCCL_DATA_TYPE_UINT8, "uint8", 1},     {HCCL_DATA_TYPE_UINT16, "uint16", 2},
    {HCCL_DATA_TYPE_UINT32, "uint32", 4},   {HCCL_DATA_TYPE_UINT64, "uint64", 8},   {HCCL_DATA_TYPE_FP16, "float16", 2},
    {HCCL_DATA_TYPE_BFP16, "bfloat16", 2},  {HCCL_DATA_TYPE_FP32, "float32", 4},    {HCCL_DATA_TYPE_FP64, "float64", 8},
    {HCCL_DATA_TYPE_FP8E4M3, "float8_e4m3", 1}, {HCCL_DATA_TYPE_FP8E5M2, "float8_e5m2", 1},
};

struct Command {
  uint32_t value;
  const char* name;
};
constexpr Command kCommands[] = {
    {HCCL_CMD_BROADCAST, "HcclBroadcast"},           {HCCL_CMD_ALLREDUCE, "HcclAllReduce"},
    {HCCL_CMD_REDUCE, "HcclReduce"},                 {HCCL_CMD_SEND, "HcclSend"},
    {HCCL_CMD_RECEIVE, "HcclRecv"},                  {HCCL_CMD_ALLGATHER, "HcclAllGather"},
    {HCCL_CMD_REDUCE_SCATTER, "HcclReduceScatter"},  {HCCL_CMD_ALLTOALL, "HcclAlltoAll"},
    {HCCL_CMD_ALLTOALLV, "HcclAlltoAllV"},           {HCCL_CMD_ALLTOALLVC, "HcclAlltoAllVC"},
    {HCCL_CMD_SCATTER, "HcclScatter"},               {HCCL_CMD_BATCH_SEND_RECV, "HcclBatchSendRecv"},
    {HCCL_CMD_ALLGATHER_V, "HcclAllGatherV"},        {HCCL_CMD_REDUCE_SCATTER_V, "HcclReduceScatterV"},
    {HCCL_CMD_BARRIER, "HcclBarrier"},               {kExchangeWindows, "HcclCommExchangeMem"},
};
// clang-format on

template <typename T>
void reduce_as(uint32_t op, void* into, const void* from, size_t count) {
  auto a = static_cast<T*>(into);
  auto b = static_cast<const T*>(from);
  for (size_t i = 0; i < count; ++i) switch (op) {
      case HCCL_REDUCE_SUM: a[i] = T(a[i] + b[i]); break;
      case HCCL_REDUCE_PROD: a[i] = T(a[i] * b[i]); break;
      case HCCL_REDUCE_MAX: a[i] = std::max(a[i], b[i]); break;
      default: a[i] = std::min(a[i], b[i]);
    }
}

}  // namespace

size_t dtype_size(uint32_t dtype) {
  for (const Dtype& row : kDtypes)
    if (row.value == dtype) return row.size;
  return 0;
}

std::string dtype_name(uint32_t dtype) {
  for (const Dtype& row : kDtypes)
    if (row.value == dtype) return row.name;
  return "data type " + std::to_string(dtype);
}

std::string command_name(uint32_t command) {
  for (const Command& row : kCommands)
    if (row.value == command) return row.name;
  return "command " + std::to_string(command);
}

std::string reduction_name(uint32_t op) {
  constexpr const char* names[] = {"sum", "prod", "max", "min"};
  return op < 4 ? names[op] : "reduction " + std::to_string(op);
}

bool reducible(uint32_t dtype) {
  switch (dtype) {
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_INT64:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_BFP16:
    case HCCL_DATA_TYPE_FP32: return true;
    default: return false;
  }
}

void reduce(uint32_t dtype, uint32_t op, void* into, const void* from, size_t count) {
  switch (dtype) {
    case HCCL_DATA_TYPE_INT8: return reduce_as<int8_t>(op, into, from, count);
    case HCCL_DATA_TYPE_INT16: return reduce_as<int16_t>(op, into, from, count);
    case HCCL_DATA_TYPE_INT32: return reduce_as<int32_t>(op, into, from, count);
    case HCCL_DATA_TYPE_INT64: return reduce_as<int64_t>(op, into, from, count);
    case HCCL_DATA_TYPE_FP16: return reduce_as<c10::Half>(op, into, from, count);
    case HCCL_DATA_TYPE_BFP16: return reduce_as<c10::BFloat16>(op, into, from, count);
    default: return reduce_as<float>(op, into, from, count);
  }
}

}  // namespace sim::hccl
