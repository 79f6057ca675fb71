// Hccl: what a kernel asks of the communicator of its ranks. A call here only tells the runtime; who communicates, as a
// device's server does, is a thread of the launch (runtime/server.cpp).
#pragma once

#include "../kernel_tiling/kernel_tiling.h"
#include "hccl_types.h"
#include "runtime.h"

namespace ophook::rt::comm {

// One Hccl object of one core.
struct HcclClient {
  int8_t core = 0;  // AscendC::CoreType: which cores tell the server; those of this block
  int64_t block = 0;
  int32_t server = 0;  // AscendC::HcclServerType
  int32_t group = -1;  // of the launch; -1: InitV2 was not called
  bool over = false;   // Finalize was
  const uint8_t* tiling = nullptr;
  const hccl::CcTiling* tilings[hccl::kCommands] = {};
  int8_t prepared = 0, newest = -1;  // handles that it gave, and the last one that it waited for
  uint8_t repeats[64] = {}, waited[64] = {};
  void* own[64] = {};  // batches that this core has written
  int asked = 0;       // calls of Query that have told nothing new
};

struct HcclTask {
  uint32_t command = 0, dtype = 0, op = 0;
  uint8_t *from = nullptr, *to = nullptr;
  uint64_t count = 0, stride = 0;
  uint8_t repeat = 1;
  // Of AlltoAllV, for each rank: elements, and where they begin.
  const uint64_t *sent = nullptr, *sent_at = nullptr, *received = nullptr, *received_at = nullptr;
};

OPHOOK_RT uint8_t* hccl_context(uint32_t index);
OPHOOK_RT void hccl_set_context(uint32_t index, const void* context, At at);
OPHOOK_RT void hccl_init(HcclClient& client, const char* call, const void* context, const void* tiling, At at);
OPHOOK_RT int32_t hccl_set_tiling(HcclClient& client, const char* call, const void* tiling, At at);
OPHOOK_RT int8_t hccl_prepare(HcclClient& client, const char* call, const HcclTask& task, bool commit, At at);
OPHOOK_RT int8_t hccl_batch_write(HcclClient& client, const void* items, uint32_t count, uint16_t queue, bool commit,
                                  At at);
OPHOOK_RT void hccl_commit(HcclClient& client, int8_t handle, At at);
OPHOOK_RT int32_t hccl_wait(HcclClient& client, int8_t handle, At at);
OPHOOK_RT int32_t hccl_query(HcclClient& client, int8_t handle, At at);
OPHOOK_RT void hccl_finalize(HcclClient& client, bool waits, At at);
OPHOOK_RT void hccl_after(HcclClient& client, int8_t group, int8_t handle, At at);
OPHOOK_RT uint32_t hccl_rank(HcclClient& client, At at);
OPHOOK_RT uint32_t hccl_ranks(HcclClient& client, At at);
OPHOOK_RT uint8_t* hccl_window(HcclClient& client, const char* call, uint32_t rank, bool out, At at);
OPHOOK_RT uint16_t hccl_queues(HcclClient& client, At at);
OPHOOK_RT void hccl_queue_barrier(HcclClient& client, int scope, uint16_t queue, At at);

}  // namespace ophook::rt::comm

namespace AscendC {

using HcclHandle = int8_t;
constexpr HcclHandle INVALID_HANDLE_ID = -1;
constexpr int32_t HCCL_SUCCESS = 0, HCCL_FAILED = -1;
constexpr uint32_t HCCL_GROUP_ID_0 = 0;
// What the vendor's operators read of a context by structures of their own is made of these.
constexpr uint32_t HCCL_MAX_RANK_NUM = 32;
struct IbVerbsData;
struct MemDetails {
  uint64_t size, addr;
  uint32_t key;
};

enum HcclServerType { HCCL_SERVER_TYPE_AICPU = 0, HCCL_SERVER_TYPE_CCU, HCCL_SERVER_TYPE_END };
enum class CoreType : uint8_t { DEFAULT, ON_AIV, ON_AIC };
enum class ScopeType : uint8_t { ALL, QUEUE, BLOCK, INVALID_TYPE };
struct HcclServerConfig {
  CoreType type;
  int64_t blockId;
};
inline constexpr HcclServerConfig DEFAULT_CFG = {CoreType::DEFAULT, 0};

template <uint32_t index>
__aicore__ inline __gm__ uint8_t* GetHcclContext() {
  static_assert(index < 2, "GetHcclContext: an operator has up to 2 groups, with the indices 0 and 1");
  return ophook::rt::comm::hccl_context(index);
}
template <uint32_t index>
__aicore__ inline void SetHcclContext(__gm__ uint8_t* context, ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(index < 2, "SetHcclContext: an operator has up to 2 groups, with the indices 0 and 1");
  ophook::rt::comm::hccl_set_context(index, context, at);
}

template <HcclServerType serverType = HcclServerType::HCCL_SERVER_TYPE_AICPU, const auto& config = DEFAULT_CFG>
class Hccl {
  using At = ophook::rt::At;
  using Task = ophook::rt::comm::HcclTask;

 public:
  __aicore__ inline Hccl() {
    client_.core = int8_t(config.type), client_.block = config.blockId, client_.server = serverType;
  }
  __aicore__ inline void Init(GM_ADDR context, __gm__ void* initTiling = nullptr, At at = At::here()) {
    ophook::rt::comm::hccl_init(client_, "Init", context, initTiling, at);
  }
  __aicore__ inline void InitV2(GM_ADDR context, const void* initTiling, At at = At::here()) {
    ophook::rt::comm::hccl_init(client_, "InitV2", context, initTiling, at);
  }
  __aicore__ inline int32_t SetCcTiling(__gm__ void* ccOpTilingData, At at = At::here()) {
    return ophook::rt::comm::hccl_set_tiling(client_, "SetCcTiling", ccOpTilingData, at);
  }
  __aicore__ inline int32_t SetCcTilingV2(uint64_t offset, At at = At::here()) {
    return ophook::rt::comm::hccl_set_tiling(client_, "SetCcTilingV2",
                                             client_.tiling ? client_.tiling + offset : nullptr, at);
  }
  template <bool commit = false>
  __aicore__ inline HcclHandle AllReduce(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t count, HcclDataType dataType,
                                         HcclReduceOp op, uint8_t repeat = 1, At at = At::here()) {
    const Task task{HCCL_CMD_ALLREDUCE, dataType, op, sendBuf, recvBuf, count, 0, repeat};
    return ophook::rt::comm::hccl_prepare(client_, "AllReduce", task, commit, at);
  }
  template <bool commit = false>
  __aicore__ inline HcclHandle AllGather(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t sendCount, HcclDataType dataType,
                                         uint64_t strideCount, uint8_t repeat = 1, At at = At::here()) {
    const Task task{HCCL_CMD_ALLGATHER, dataType, 0, sendBuf, recvBuf, sendCount, strideCount, repeat};
    return ophook::rt::comm::hccl_prepare(client_, "AllGather", task, commit, at);
  }
  template <bool commit = false>
  __aicore__ inline HcclHandle ReduceScatter(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t recvCount,
                                             HcclDataType dataType, HcclReduceOp op, uint64_t strideCount,
                                             uint8_t repeat = 1, At at = At::here()) {
    const Task task{HCCL_CMD_REDUCE_SCATTER, dataType, op, sendBuf, recvBuf, recvCount, strideCount, repeat};
    return ophook::rt::comm::hccl_prepare(client_, "ReduceScatter", task, commit, at);
  }
  template <bool commit = false>
  __aicore__ inline HcclHandle AlltoAll(GM_ADDR sendBuf, GM_ADDR recvBuf, uint64_t dataCount, HcclDataType dataType,
                                        uint64_t strideCount = 0, uint8_t repeat = 1, At at = At::here()) {
    const Task task{HCCL_CMD_ALLTOALL, dataType, 0, sendBuf, recvBuf, dataCount, strideCount, repeat};
    return ophook::rt::comm::hccl_prepare(client_, "AlltoAll", task, commit, at);
  }
  template <bool commit = false>
  __aicore__ inline HcclHandle AlltoAllV(GM_ADDR sendBuf, void* sendCounts, void* sdispls, HcclDataType sendType,
                                         GM_ADDR recvBuf, void* recvCounts, void* rdispls, HcclDataType recvType,
                                         uint8_t repeat = 1, At at = At::here()) {
    if (sendType != recvType)
      ophook::rt::refuse("AlltoAllV", "recvType is another than sendType; allowed: the same", at);
    Task task{HCCL_CMD_ALLTOALLV, sendType, 0, sendBuf, recvBuf, 0, 0, repeat};
    task.sent = static_cast<const uint64_t*>(sendCounts), task.sent_at = static_cast<const uint64_t*>(sdispls);
    task.received = static_cast<const uint64_t*>(recvCounts);
    task.received_at = static_cast<const uint64_t*>(rdispls);
    return ophook::rt::comm::hccl_prepare(client_, "AlltoAllV", task, commit, at);
  }
  // Kernels hand over a pointer to structures of their own.
  template <bool commit = false>
  __aicore__ inline HcclHandle BatchWrite(__gm__ void* batchWriteInfo, uint32_t itemNum, uint16_t queueID = 0,
                                          At at = At::here()) {
    return ophook::rt::comm::hccl_batch_write(client_, batchWriteInfo, itemNum, queueID, commit, at);
  }
  __aicore__ inline void Commit(HcclHandle handleId, At at = At::here()) {
    ophook::rt::comm::hccl_commit(client_, handleId, at);
  }
  __aicore__ inline int32_t Wait(HcclHandle handleId, At at = At::here()) {
    return ophook::rt::comm::hccl_wait(client_, handleId, at);
  }
  __aicore__ inline int32_t Query(HcclHandle handleId, At at = At::here()) {
    return ophook::rt::comm::hccl_query(client_, handleId, at);
  }
  __aicore__ inline void InterHcclGroupSync(int8_t srcGroupID, HcclHandle srcHandleID, At at = At::here()) {
    ophook::rt::comm::hccl_after(client_, srcGroupID, srcHandleID, at);
  }
  template <bool sync = true>
  __aicore__ inline void Finalize(At at = At::here()) {
    ophook::rt::comm::hccl_finalize(client_, sync, at);
  }
  __aicore__ inline GM_ADDR GetWindowsInAddr(uint32_t rankId, At at = At::here()) {
    return ophook::rt::comm::hccl_window(client_, "GetWindowsInAddr", rankId, false, at);
  }
  __aicore__ inline GM_ADDR GetWindowsOutAddr(uint32_t rankId, At at = At::here()) {
    return ophook::rt::comm::hccl_window(client_, "GetWindowsOutAddr", rankId, true, at);
  }
  __aicore__ inline uint32_t GetRankId(At at = At::here()) { return ophook::rt::comm::hccl_rank(client_, at); }
  __aicore__ inline uint32_t GetRankDim(At at = At::here()) { return ophook::rt::comm::hccl_ranks(client_, at); }
  __aicore__ inline uint16_t GetQueueNum(At at = At::here()) { return ophook::rt::comm::hccl_queues(client_, at); }
  template <ScopeType type = ScopeType::ALL>
  __aicore__ inline void QueueBarrier(uint16_t queueID, At at = At::here()) {
    ophook::rt::comm::hccl_queue_barrier(client_, int(type), queueID, at);
  }

 private:
  ophook::rt::comm::HcclClient client_;
};

}  // namespace AscendC
