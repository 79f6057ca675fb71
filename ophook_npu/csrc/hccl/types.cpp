#include "types.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>

#include "hccl/hccl_types.h"

namespace sim::hccl {
namespace {

template <typename T, typename F>
void fold(void* into, const void* first, const void* second, size_t count, F one) {
  auto* out = static_cast<T*>(into);
  auto *a = static_cast<const T*>(first), *b = static_cast<const T*>(second);
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) out[i] = one(a[i], b[i]);
}

template <typename T>
void reduce_as(uint32_t op, void* into, const void* a, const void* b, size_t count) {
  switch (op) {
    case HCCL_REDUCE_SUM: return fold<T>(into, a, b, count, [](T x, T y) { return T(x + y); });
    case HCCL_REDUCE_PROD: return fold<T>(into, a, b, count, [](T x, T y) { return T(x * y); });
    case HCCL_REDUCE_MAX: return fold<T>(into, a, b, count, [](T x, T y) { return std::max(x, y); });
    default: return fold<T>(into, a, b, count, [](T x, T y) { return std::min(x, y); });
  }
}

struct Dtype {
  uint32_t value;
  const char* name;
  size_t size;
  decltype(&reduce_as<float>) reduce = nullptr;  // none: it is not reduced
};
constexpr Dtype kDtypes[] = {
    {HCCL_DATA_TYPE_INT8, "int8", 1, reduce_as<int8_t>},
    {HCCL_DATA_TYPE_INT16, "int16", 2, reduce_as<int16_t>},
    {HCCL_DATA_TYPE_INT32, "int32", 4, reduce_as<int32_t>},
    {HCCL_DATA_TYPE_INT64, "int64", 8, reduce_as<int64_t>},
    {HCCL_DATA_TYPE_UINT8, "uint8", 1},
    {HCCL_DATA_TYPE_UINT16, "uint16", 2},
    {HCCL_DATA_TYPE_UINT32, "uint32", 4},
    {HCCL_DATA_TYPE_UINT64, "uint64", 8},
    {HCCL_DATA_TYPE_FP16, "float16", 2, reduce_as<c10::Half>},
    {HCCL_DATA_TYPE_BFP16, "bfloat16", 2, reduce_as<c10::BFloat16>},
    {HCCL_DATA_TYPE_FP32, "float32", 4, reduce_as<float>},
    {HCCL_DATA_TYPE_FP64, "float64", 8},
    {HCCL_DATA_TYPE_FP8E4M3, "float8_e4m3", 1},
    {HCCL_DATA_TYPE_FP8E5M2, "float8_e5m2", 1},
};

// clang-format off
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

template <typename Row, size_t N>
const Row* find(const Row (&rows)[N], uint32_t value) {
  const auto found = std::find_if(rows, rows + N, [&](const Row& row) { return row.value == value; });
  return found == rows + N ? nullptr : found;
}

}  // namespace

size_t dtype_size(uint32_t dtype) {
  const Dtype* row = find(kDtypes, dtype);
  return row ? row->size : 0;
}

std::string dtype_name(uint32_t dtype) {
  const Dtype* row = find(kDtypes, dtype);
  return row ? row->name : "data type " + std::to_string(dtype);
}

std::string command_name(uint32_t command) {
  const Command* row = find(kCommands, command);
  return row ? row->name : "command " + std::to_string(command);
}

std::string reduction_name(uint32_t op) {
  constexpr const char* names[] = {"sum", "prod", "max", "min"};
  return op < 4 ? names[op] : "reduction " + std::to_string(op);
}

bool reducible(uint32_t dtype) {
  const Dtype* row = find(kDtypes, dtype);
  return row && row->reduce;
}

void reduce(uint32_t dtype, uint32_t op, void* into, const void* a, const void* b, size_t count) {
  find(kDtypes, dtype)->reduce(op, into, a, b, count);
}

}  // namespace sim::hccl
