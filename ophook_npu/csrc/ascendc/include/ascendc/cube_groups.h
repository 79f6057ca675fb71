// Groups of cube cores that serve vector cores: messages in device memory, in queues of four. The cube cores of a group
// share its queues, each has as many in a row; CreateCubeResGroup returns on them when all their queues have quit.
#pragma once

#include "sync.h"

namespace ophook::rt {
// The first byte of a message is its state; `states` are bits of those waited for, and 0 asks what it is.
OPHOOK_RT uint8_t message_wait(const char* call, const uint8_t* message, uint32_t states, At at);
OPHOOK_RT void message_set(const char* call, Pipe pipe, uint8_t* message, uint8_t state, At at);
OPHOOK_RT void message_post(const char* call, Pipe pipe, uint8_t* message, const void* from, uint64_t bytes, At at);
// False, after a finding, where the queue is another core's, and where this core serves another group.
OPHOOK_RT bool message_queue(const char* call, const uint8_t* queue, At at);
OPHOOK_RT bool message_serves(const char* call, At at);
OPHOOK_RT void local_end(const char* call, uint64_t bytes, At at);  // UB ends so many bytes earlier
}  // namespace ophook::rt

namespace AscendC {

enum class CubeMsgState : uint8_t { FREE = 0, VALID, QUIT, FAKE };
struct CubeGroupMsgHead {
  CubeMsgState msgState = CubeMsgState::FREE;
  uint8_t aivID = 0;
};

// What kernels of groups choose a callback by.
template <int32_t a, int32_t b>
struct IsEqual {};
template <int32_t a>
struct IsEqual<a, a> {
  using Type = void;
};

class KfcWorkspace {
 public:
  __aicore__ KfcWorkspace(GM_ADDR workspace) : next_(workspace) {}
  __aicore__ void UpdateKfcWorkspace(uint32_t offset, ophook::rt::At at = ophook::rt::At::here()) {
    Own("UpdateKfcWorkspace", at), next_ += offset;
  }
  __aicore__ GM_ADDR GetKfcWorkspace(ophook::rt::At at = ophook::rt::At::here()) {
    return Own("GetKfcWorkspace", at), next_;
  }
  GM_ADDR ophook_take(uint64_t bytes, ophook::rt::At at) {
    if (own_) ophook::rt::refuse("CreateCubeResGroup", "the kernel manages the addresses of this KfcWorkspace", at);
    given_ = true;
    return std::exchange(next_, next_ + bytes);
  }

 private:
  void Own(const char* call, ophook::rt::At at) {
    if (given_) ophook::rt::refuse(call, "CreateCubeResGroup manages the addresses of this KfcWorkspace", at);
    own_ = true;
  }
  GM_ADDR next_;
  bool own_ = false, given_ = false;
};

template <typename CubeMsgType>
class CubeResGroupHandle {
  static_assert(sizeof(CubeMsgType) % 64 == 0, "CubeResGroupHandle: a message is a multiple of 64 bytes");
  static constexpr uint32_t kDeep = 4;
  using At = ophook::rt::At;

 public:
  CubeResGroupHandle() = default;
  template <typename Address>
  __aicore__ CubeResGroupHandle(Address, uint8_t, uint8_t, uint8_t, uint8_t) {
    static_assert(
        !sizeof(Address),
        "CubeResGroupHandle: no page says what runs on the cube cores of a handle without CreateCubeResGroup, "
        "so this constructor is not simulated");
  }
  __aicore__ void AssignQueue(uint8_t queueIdIn, At at = At::here()) {
    if (!ophook::rt::is_vector_core()) return;
    if (!base_) return ophook::rt::refuse("AssignQueue", "CreateCubeResGroup was not called", at);
    if (queueIdIn >= queues_) return ophook::rt::refuse("AssignQueue", "the group has fewer queues", at);
    if (!ophook::rt::message_queue("AssignQueue", Head(queueIdIn), at)) return;
    head_ = reinterpret_cast<CubeMsgType*>(Head(queueIdIn)), step_ = Width(queueIdIn / most_), next_ = 0;
  }
  // A cube core goes through the code of the vector cores after its work: nothing of it is its own.
  template <PipeMode pipeMode = PipeMode::SCALAR_MODE>
  __aicore__ __gm__ CubeMsgType* AllocMessage(At at = At::here()) {
    static_assert(pipeMode < PipeMode::MAX, "AllocMessage: SCALAR_MODE or MTE3_MODE");
    if (!Sends("AllocMessage", at)) return nullptr;
    CubeMsgType* const message = head_ + next_++ % kDeep * step_;
    ophook::rt::message_wait("AllocMessage", Bytes(message), Bit(CubeMsgState::FREE), at);
    mode_ = pipeMode;
    return message;
  }
  template <PipeMode pipeMode = PipeMode::SCALAR_MODE>
  __aicore__ uint16_t PostMessage(__gm__ CubeMsgType* msg, CubeMsgType& msgInput, At at = At::here()) {
    if (!Sends("PostMessage", at)) return 0;
    if (mode_ != pipeMode) ophook::rt::refuse("PostMessage", "pipeMode is not that of AllocMessage", at);
    static_assert(sizeof(msgInput.head) == sizeof(CubeGroupMsgHead));
    ophook::rt::message_post("PostMessage", Unit(), Bytes(msg), &msgInput, sizeof(CubeMsgType), at);
    return Place(msg);
  }
  __aicore__ uint16_t PostFakeMsg(__gm__ CubeMsgType* msg, At at = At::here()) {
    if (!Tells("PostFakeMsg", at)) return 0;
    ophook::rt::message_set("PostFakeMsg", ophook::rt::Pipe::S, Bytes(msg), uint8_t(CubeMsgState::FAKE), at);
    return Place(msg);
  }
  __aicore__ void SetQuit(__gm__ CubeMsgType* msg, At at = At::here()) {
    if (!Tells("SetQuit", at)) return;
    ophook::rt::message_set("SetQuit", ophook::rt::Pipe::S, Bytes(msg), uint8_t(CubeMsgState::QUIT), at);
  }
  template <bool sync = true>
  __aicore__ bool Wait(uint16_t offset, At at = At::here()) {
    if (!Sends("Wait", at)) return true;
    const uint32_t wanted = sync ? Bit(CubeMsgState::FREE) : 0;
    return !ophook::rt::message_wait("Wait", Bytes(head_ + offset), wanted, at);
  }
  // For the callback, on the cube core.
  __aicore__ uint16_t FreeMessage(__gm__ CubeMsgType* msg, At at = At::here()) {
    ophook::rt::message_set("FreeMessage", ophook::rt::Pipe::S, Bytes(msg), uint8_t(CubeMsgState::FREE), at);
    return uint16_t((msg - row_) / int64_t(step_) * int64_t(step_));
  }
  __aicore__ uint16_t FreeMessage(__gm__ CubeMsgType* msg, CubeMsgState waitState, At at = At::here()) {
    if (waitState == CubeMsgState::QUIT || waitState == CubeMsgState::FREE)
      return ophook::rt::refuse("FreeMessage", "waitState is VALID or FAKE", at), uint16_t(0);
    ophook::rt::message_wait("FreeMessage", Bytes(msg), Bit(waitState), at);
    return FreeMessage(msg, at);
  }
  __aicore__ void SetSkipMsg(uint8_t skipCnt) { skip_ = skipCnt; }

  // This is the group of queues from `base` on.
  void ophook_begin(GM_ADDR base, uint32_t blocks, uint32_t queues, At at) {
    base_ = base, blocks_ = blocks, queues_ = queues, most_ = (queues + blocks - 1) / blocks;
    if (!queues || most_ * (blocks - 1) >= queues)
      ophook::rt::refuse("CreateCubeResGroup", "each cube core needs a queue: msgQueueSize is too small", at);
  }
  static uint64_t ophook_bytes(uint32_t queues) { return uint64_t(queues) * kDeep * sizeof(CubeMsgType); }
  // Serves the queues of the group's `block`: one message of each, then the next one of each.
  template <typename Call>
  void ophook_serve(uint32_t block, Call call, At at) {
    step_ = Width(block);
    uint64_t quit = 0, left = step_;
    row_ = reinterpret_cast<CubeMsgType*>(Head(block * most_));
    for (uint32_t slot = 0; left; slot = (slot + 1) % kDeep)
      for (uint32_t queue = 0; queue < step_; ++queue) {
        if (quit >> queue & 1) continue;
        CubeMsgType* const message = row_ + slot * step_ + queue;
        switch (CubeMsgState(ophook::rt::message_wait("CreateCubeResGroup", Bytes(message), ~1u, at))) {
          case CubeMsgState::QUIT: quit |= uint64_t{1} << queue, --left, FreeMessage(message, at); break;
          case CubeMsgState::FAKE: FreeMessage(message, at); break;
          default:
            call(message);
            if (skip_ >= step_ - queue)
              return ophook::rt::refuse("SetSkipMsg", "the cube core has fewer queues behind this one", at);
            queue += std::exchange(skip_, 0);
        }
      }
  }

 private:
  static constexpr uint32_t Bit(CubeMsgState state) { return 1u << uint32_t(state); }
  static uint8_t* Bytes(CubeMsgType* message) { return reinterpret_cast<uint8_t*>(message); }
  uint32_t Width(uint32_t block) const { return block + 1 < blocks_ ? most_ : queues_ - most_ * (blocks_ - 1); }
  // A block's messages lie together, and those of its queues side by side: a callback reaches them by `rcvMsg + i`.
  GM_ADDR Head(uint32_t queue) const {
    return base_ + (uint64_t(queue / most_ * most_) * kDeep + queue % most_) * sizeof(CubeMsgType);
  }
  uint16_t Place(const CubeMsgType* message) const { return uint16_t(message - head_); }
  ophook::rt::Pipe Unit() const { return mode_ == PipeMode::MTE3_MODE ? ophook::rt::Pipe::MTE3 : ophook::rt::Pipe::S; }
  bool Sends(const char* call, At at) const {
    if (!ophook::rt::is_vector_core()) return false;
    if (!head_) ophook::rt::refuse(call, "AssignQueue was not called", at);
    return true;
  }
  bool Tells(const char* call, At at) const {
    if (!Sends(call, at)) return false;
    if (mode_ == PipeMode::MTE3_MODE) ophook::rt::refuse(call, "after AllocMessage of MTE3_MODE only PostMessage", at);
    return true;
  }

  GM_ADDR base_ = nullptr;
  uint32_t blocks_ = 0, queues_ = 0, most_ = 0;
  CubeMsgType *head_ = nullptr, *row_ = nullptr;
  uint32_t step_ = 1, next_ = 0, skip_ = 0;
  PipeMode mode_ = PipeMode::SCALAR_MODE;
};

template <int32_t groupID, class MatmulApiType, template <class, class> class CallBack, typename CubeMsgType>
__aicore__ inline CubeResGroupHandle<CubeMsgType> CreateCubeResGroup(KfcWorkspace& desc, uint8_t blockStart,
                                                                     uint8_t blockSize, uint8_t msgQueueSize,
                                                                     GM_ADDR tiling,
                                                                     ophook::rt::At at = ophook::rt::At::here()) {
  constexpr const char* kCall = "CreateCubeResGroup";
  CubeResGroupHandle<CubeMsgType> handle;
  if (blockStart % 2 || blockSize % 2 || !blockSize) ophook::rt::refuse(kCall, "blockStart and blockSize are even", at);
  handle.ophook_begin(desc.ophook_take(handle.ophook_bytes(msgQueueSize), at), blockSize / 2, msgQueueSize, at);
  if (ophook::rt::is_vector_core()) {
    ophook::rt::local_end(kCall, 1600 + sizeof(CubeMsgType), at);
    return handle;
  }
  const int64_t block = ophook::rt::block_index() - blockStart / 2;
  if (block < 0 || block >= blockSize / 2 || !ophook::rt::message_serves(kCall, at)) return handle;
  using Functions = CallBack<MatmulApiType, CubeMsgType>;
  Functions functions;
  MatmulApiType object;
  Functions::Init(functions, object, tiling);
  handle.ophook_serve(uint32_t(block), [&](CubeMsgType* message) { Functions::Call(object, message, handle); }, at);
  return handle;
}

}  // namespace AscendC
