// TPipe, TQue, TQueBind, TBuf: who holds which part of the local memory, and when.
#pragma once

#include <tuple>

#include "tensor.h"

namespace AscendC {

// A queue's properties for its third template argument; those that are not looked at are reserved.
struct TQueConfig {
  bool nd2nz = false, nz2nd = false;  // an Atlas inference product's alone
  bool scmBlockGroup = false;
  uint32_t bufferLen = 0, bufferNumber = 0;  // what InitBuffer gets, too, or 0
  uint32_t consumerSize = 0;
  TPosition consumer[8] = {};
  bool enableStaticEvtId = false, enableLoopQueue = false;
};

// What a queue needs: `depth` tensors may wait in it. Its events order the pipe that fills `from` before the pipe that
// empties `to`, and back.
template <TPosition from, TPosition to, int32_t depth_, auto mask = 0>
class TQueBind {
 public:
  static constexpr TPosition srcPosition = from, dstPosition = to;
  static constexpr int32_t depth = depth_;
  TQueBind() = default;
  TQueBind(const TQueBind&) = default;

  template <typename T>
  __aicore__ LocalTensor<T> AllocTensor(ophook::rt::At at = ophook::rt::At::here()) {
    return LocalTensor<T>(ophook::rt::queue_alloc(queue_, at));
  }
  template <typename T>
  __aicore__ void AllocTensor(LocalTensor<T>& tensor, ophook::rt::At at = ophook::rt::At::here()) {
    tensor = LocalTensor<T>(ophook::rt::queue_alloc(queue_, at));
  }
  template <typename T>
  __aicore__ bool EnQue(const LocalTensor<T>& tensor, ophook::rt::At at = ophook::rt::At::here()) {
    ophook::rt::queue_enque(queue_, tensor.view(), int(from), int(to), at);
    return true;
  }
  template <TPosition source, TPosition target, typename T>
  __aicore__ bool EnQue(const LocalTensor<T>& tensor, ophook::rt::At at = ophook::rt::At::here()) {
    ophook::rt::queue_enque(queue_, tensor.view(), int(source), int(target), at);
    return true;
  }
  template <typename T>
  __aicore__ LocalTensor<T> DeQue(ophook::rt::At at = ophook::rt::At::here()) {
    return LocalTensor<T>(ophook::rt::queue_deque(queue_, int(from), int(to), at));
  }
  __aicore__ void DeQue(ophook::rt::At at = ophook::rt::At::here()) {  // kernels that have the tensor already
    ophook::rt::queue_deque(queue_, int(from), int(to), at);
  }
  template <typename T>
  __aicore__ void DeQue(LocalTensor<T>& tensor, ophook::rt::At at = ophook::rt::At::here()) {
    tensor = LocalTensor<T>(ophook::rt::queue_deque(queue_, int(from), int(to), at));
  }
  template <TPosition source, TPosition target, typename T>
  __aicore__ LocalTensor<T> DeQue(ophook::rt::At at = ophook::rt::At::here()) {
    return LocalTensor<T>(ophook::rt::queue_deque(queue_, int(source), int(target), at));
  }
  template <typename T>
  __aicore__ void FreeTensor(LocalTensor<T>& tensor, ophook::rt::At at = ophook::rt::At::here()) {
    ophook::rt::queue_free(queue_, tensor.view(), at);
  }
  template <typename T>
  __aicore__ void FreeTensor(const LocalTensor<T>& tensor, ophook::rt::At at = ophook::rt::At::here()) {
    ophook::rt::queue_free(queue_, tensor.view(), at);
  }
  __aicore__ bool VacantInQue() { return ophook::rt::queue_vacant(queue_, false); }
  __aicore__ bool HasIdleBuffer() { return ophook::rt::queue_vacant(queue_, true); }
  __aicore__ bool HasTensorInQue() { return ophook::rt::queue_held(queue_) > 0; }
  __aicore__ int32_t GetTensorCountInQue() { return ophook::rt::queue_held(queue_); }
  __aicore__ void FreeAllEvent() { ophook::rt::queue_free_events(queue_); }
  // For pools of one's own (EXTERN_IMPL_BUFPOOL): how many buffers there are, then where each lies.
  __aicore__ void InitStartBufHandle(TBufHandle, uint8_t num, uint32_t, ophook::rt::At at = ophook::rt::At::here()) {
    ophook::rt::queue_begin(queue_, int(from), int(to), depth, num, at);
  }
  template <typename T>
  __aicore__ void InitBufHandle(T* bufPool, uint32_t, TBufHandle, uint32_t curPoolAddr, uint32_t len,
                                ophook::rt::At at = ophook::rt::At::here()) {
    ophook::rt::place_buffer(queue_, bufPool->ophook_pool, int(to), false, curPoolAddr, len, at);
  }
  ophook::rt::Queue& handle() { return queue_; }

 private:
  ophook::rt::Queue queue_;
};

template <TPosition position, int32_t depth, auto mask = 0>
class TQue : public TQueBind<position, position, depth, mask> {};

template <TPosition pos, int32_t depth = 1, auto mask = 0>
using TSCM = TQueBind<pos, TPosition::TSCM, depth, mask>;

template <TPosition position = TPosition::LCM>
class TBuf {
 public:
  TBuf() = default;
  template <typename T>
  __aicore__ LocalTensor<T> Get(ophook::rt::At at = ophook::rt::At::here()) {
    return LocalTensor<T>(ophook::rt::buffer_get(buffer_, 0, ~uint64_t{0}, at));
  }
  template <typename T>
  __aicore__ LocalTensor<T> Get(uint32_t elements, ophook::rt::At at = ophook::rt::At::here()) {
    return LocalTensor<T>(ophook::rt::buffer_get(buffer_, 0, uint64_t(elements) * sizeof(T), at));
  }
  template <typename T>  // offset in bytes
  __aicore__ LocalTensor<T> GetWithOffset(uint32_t elements, uint32_t offset,
                                          ophook::rt::At at = ophook::rt::At::here()) {
    return LocalTensor<T>(ophook::rt::buffer_get(buffer_, offset, uint64_t(elements) * sizeof(T), at));
  }
  // The vendor's examples use a TBuf as a queue that has nothing to wait for.
  template <typename T>
  __aicore__ LocalTensor<T> AllocTensor(ophook::rt::At at = ophook::rt::At::here()) {
    return Get<T>(at);
  }
  template <typename T>
  __aicore__ void FreeTensor(const LocalTensor<T>&) {}
  __aicore__ void InitStartBufHandle(TBufHandle, uint8_t num, uint32_t, ophook::rt::At at = ophook::rt::At::here()) {
    if (num != 1) ophook::rt::refuse("InitStartBufHandle", "a TBuf has one buffer", at);
  }
  template <typename T>
  __aicore__ void InitBufHandle(T* bufPool, uint32_t, TBufHandle, uint32_t curPoolAddr, uint32_t len,
                                ophook::rt::At at = ophook::rt::At::here()) {
    ophook::rt::place_buffer(buffer_, bufPool->ophook_pool, int(position), true, curPoolAddr, len, at);
  }
  ophook::rt::Queue& handle() { return buffer_; }

 private:
  ophook::rt::Queue buffer_;
};
// The memory that no InitBuffer has given away.
template <typename T, TPosition pos>
__aicore__ inline bool PopStackBuffer(LocalTensor<T>& popLocal, ophook::rt::At at = ophook::rt::At::here()) {
  popLocal = LocalTensor<T>(ophook::rt::stack_buffer(int(pos), at));
  return popLocal.GetSize() > 0;
}

// Gives a part of a memory to queues, buffers and further pools. `Outer` says where the part is from.
template <typename Outer>
class PoolOwner {
 public:
  template <TPosition from, TPosition to, int32_t depth, auto mask>
  __aicore__ bool InitBuffer(TQueBind<from, to, depth, mask>& queue, uint8_t count, uint32_t bytes,
                             ophook::rt::At at = ophook::rt::At::here()) {
    if constexpr (std::is_same_v<decltype(mask), const TQueConfig*>) {
      if ((mask->bufferLen && mask->bufferLen != bytes) || (mask->bufferNumber && mask->bufferNumber != count))
        ophook::rt::refuse("InitBuffer", "its length and number are not those of the queue's TQueConfig", at);
    }
    Gives(at);
    ophook::rt::init_queue(queue.handle(), in(), int(from), int(to), depth, count, bytes, at);
    return true;
  }
  // Where each buffer begins, in bytes of the memory, and its length.
  template <TPosition from, TPosition to, int32_t depth, auto mask, typename U, typename V, typename... More>
  __aicore__ bool InitBuffer(TQueBind<from, to, depth, mask>& queue, const std::tuple<U, V>& first,
                             const More&... more) {
    const ophook::rt::At at("", 0);  // nothing can stand behind a pack
    Gives(at);
    ophook::rt::queue_begin(queue.handle(), int(from), int(to), depth, 1 + sizeof...(more), at);
    auto place = [&](const auto& one) {
      ophook::rt::buffer_at(queue.handle(), int(to), uint64_t(std::get<0>(one)), uint64_t(std::get<1>(one)), at);
    };
    place(first), (place(more), ...);
    return true;
  }
  template <TPosition position>
  __aicore__ bool InitBuffer(TBuf<position>& buffer, uint32_t bytes, ophook::rt::At at = ophook::rt::At::here()) {
    Gives(at);
    ophook::rt::init_buffer(buffer.handle(), in(), int(position), bytes, at);
    return true;
  }
  template <class T>
  __aicore__ bool InitBufPool(T& bufPool, uint32_t len, ophook::rt::At at = ophook::rt::At::here()) {
    Gives(at);
    ophook::rt::pool_begin(bufPool.ophook_pool, int(T::ophook_position), T::ophook_buffers, in(), nullptr, len, at);
    return true;
  }
  template <class T, class U, typename = decltype(U::ophook_buffers)>
  __aicore__ bool InitBufPool(T& bufPool, uint32_t len, U& shareBuf, ophook::rt::At at = ophook::rt::At::here()) {
    Gives(at);
    ophook::rt::pool_begin(bufPool.ophook_pool, int(T::ophook_position), T::ophook_buffers, in(), &shareBuf.ophook_pool,
                           len, at);
    return true;
  }

 private:
  void Gives(ophook::rt::At at) const {
    if (!in()) ophook::rt::pipe_gives(static_cast<const Outer*>(this), at);
  }
  const ophook::rt::Pool* in() const { return static_cast<const Outer*>(this)->ophook_in(); }
};

constexpr uint32_t defaultBufIDSize = 4;
template <TPosition pos, uint32_t bufIDSize = defaultBufIDSize>
class TBufPool : public PoolOwner<TBufPool<pos, bufIDSize>> {
  static_assert(bufIDSize <= 16, "TBufPool: bufIDSize is at most 16");
  static_assert(pos == TPosition::VECIN || pos == TPosition::VECOUT || pos == TPosition::VECCALC ||
                    pos == TPosition::A1 || pos == TPosition::B1 || pos == TPosition::C1,
                "TBufPool: the position is VECIN, VECOUT, VECCALC, A1, B1 or C1");

 public:
  TBufPool() = default;
  TBufPool(const TBufPool&) = delete;
  __aicore__ void Reset(ophook::rt::At at = ophook::rt::At::here()) { ophook::rt::pool_reset(ophook_pool, at); }
  static constexpr TPosition ophook_position = pos;
  static constexpr uint32_t ophook_buffers = bufIDSize;
  ophook::rt::Pool ophook_pool;
  const ophook::rt::Pool* ophook_in() const { return &ophook_pool; }
};

class TPipe : public PoolOwner<TPipe> {
 public:
  explicit TPipe(ophook::rt::At at = ophook::rt::At::here()) { ophook::rt::pipe_begin(this, at); }
  TPipe(const TPipe&) {}  // one that has nothing, and whose end ends nothing
  ~TPipe() { ophook::rt::pipe_end(this); }
  void Init(ophook::rt::At at = ophook::rt::At::here()) { ophook::rt::pipe_begin(this, at); }

  const ophook::rt::Pool* ophook_in() const { return nullptr; }
  template <HardEvent event>
  __aicore__ TEventID AllocEventID(ophook::rt::At at = ophook::rt::At::here());
  template <HardEvent event>
  __aicore__ void ReleaseEventID(TEventID id, ophook::rt::At at = ophook::rt::At::here());
  __aicore__ TEventID FetchEventID(HardEvent event, ophook::rt::At at = ophook::rt::At::here());
  template <HardEvent event>
  __aicore__ TEventID FetchEventID(ophook::rt::At at = ophook::rt::At::here());
#ifdef ASCENDC_CPU_DEBUG
  inline uint8_t* GetBaseAddr(int8_t logicPos) {
    return static_cast<uint8_t*>(ophook::rt::local_address(ophook::rt::local_told(logicPos, 0, 0)));
  }
#endif
  __aicore__ void Reset() { ophook::rt::pipe_reset(this); }
  __aicore__ void Destroy() { ophook::rt::pipe_end(this); }
  __aicore__ void DestroyWithoutPipeAll() { ophook::rt::pipe_end(this, false); }

  // Device memory for what does not fit into UB. Offsets are in bytes; copy.h has the copies.
  template <typename T>
  __aicore__ void InitSpmBuffer(const GlobalTensor<T>& workspace, const int32_t bufferSize) {
    spill_.SetGlobalBuffer(reinterpret_cast<__gm__ uint8_t*>(const_cast<__gm__ T*>(workspace.GetPhyAddr())),
                           uint64_t(bufferSize));
  }
  template <typename T, typename Size>
  __aicore__ void WriteSpmBuffer(const LocalTensor<T>& writeBuffer, const Size& size, int32_t writeOffset = 0,
                                 ophook::rt::At at = ophook::rt::At::here());
  template <typename T, typename Size>
  __aicore__ void ReadSpmBuffer(const LocalTensor<T>& readBuffer, const Size& size, int32_t readOffset = 0,
                                ophook::rt::At at = ophook::rt::At::here());

 private:
  template <typename T>
  GlobalTensor<T> spilled(const char* call, int32_t offset, ophook::rt::At at) const;
  GlobalTensor<uint8_t> spill_;
};

}  // namespace AscendC

// Not in the namespace: the device's compiler has no AscendC::GetTPipePtr.
__aicore__ inline AscendC::TPipe* GetTPipePtr() { return static_cast<AscendC::TPipe*>(ophook::rt::pipe_current()); }

// The members of a pool whose InitBuffer is the kernel's own; TPipe::InitBufPool gives it its part of the memory.
#define EXTERN_IMPL_BUFPOOL(EXT_BUFPOOL, POSITION, BUFID_SIZE)                                           \
 public:                                                                                                 \
  static constexpr AscendC::TPosition ophook_position = POSITION;                                        \
  static constexpr uint32_t ophook_buffers = BUFID_SIZE;                                                 \
  ophook::rt::Pool ophook_pool;                                                                          \
  __aicore__ inline void Init() { ophook_used = 0, ophook_next = 0; }                                    \
  __aicore__ inline void Reset(ophook::rt::At at = ophook::rt::At::here()) {                             \
    ophook::rt::pool_reset(ophook_pool, at), Init();                                                     \
  }                                                                                                      \
  __aicore__ inline AscendC::TBufHandle GetBufHandle(uint8_t offset) { return ophook_handles + offset; } \
  __aicore__ inline uint32_t GetCurAddr(ophook::rt::At at = ophook::rt::At::here()) {                    \
    return ophook::rt::pool_address(ophook_pool, at) + ophook_next;                                      \
  }                                                                                                      \
  __aicore__ inline void SetCurAddr(uint32_t curAddr, ophook::rt::At at = ophook::rt::At::here()) {      \
    ophook_next = curAddr - ophook::rt::pool_address(ophook_pool, at);                                   \
  }                                                                                                      \
  __aicore__ inline uint8_t GetCurBufSize() { return ophook_used; }                                      \
  __aicore__ inline void SetCurBufSize(uint8_t curBufSize) { ophook_used = curBufSize; }                 \
                                                                                                         \
 private:                                                                                                \
  uint8_t ophook_handles[BUFID_SIZE] = {}, ophook_used = 0;                                              \
  uint32_t ophook_next = 0;
