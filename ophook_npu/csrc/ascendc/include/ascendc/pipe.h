// TPipe, TQue, TQueBind, TBuf: who holds which part of the local memory, and when.
#pragma once

#include "tensor.h"

namespace AscendC {

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
  __aicore__ void FreeAllEvent() {}
  ophook::rt::Queue& handle() { return queue_; }

 private:
  ophook::rt::Queue queue_;
};

template <TPosition position, int32_t depth, auto mask = 0>
class TQue : public TQueBind<position, position, depth, mask> {};

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
  __aicore__ LocalTensor<T> GetWithOffset(uint32_t elements, uint32_t offset, ophook::rt::At at = ophook::rt::At::here()) {
    return LocalTensor<T>(ophook::rt::buffer_get(buffer_, offset, uint64_t(elements) * sizeof(T), at));
  }
  // The vendor's examples use a TBuf as a queue that has nothing to wait for.
  template <typename T>
  __aicore__ LocalTensor<T> AllocTensor(ophook::rt::At at = ophook::rt::At::here()) { return Get<T>(at); }
  template <typename T>
  __aicore__ void FreeTensor(const LocalTensor<T>&) {}
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

class TPipe {
 public:
  explicit TPipe(ophook::rt::At at = ophook::rt::At::here()) { ophook::rt::pipe_begin(this, at); }
  TPipe(const TPipe&) = delete;
  ~TPipe() { ophook::rt::pipe_end(this); }
  void Init(ophook::rt::At at = ophook::rt::At::here()) { ophook::rt::pipe_begin(this, at); }

  template <TPosition from, TPosition to, int32_t depth, auto mask>
  __aicore__ bool InitBuffer(TQueBind<from, to, depth, mask>& queue, uint8_t count, uint32_t bytes,
                             ophook::rt::At at = ophook::rt::At::here()) {
    ophook::rt::init_queue(queue.handle(), int(from), int(to), depth, count, bytes, at);
    return true;
  }
  template <TPosition position>
  __aicore__ bool InitBuffer(TBuf<position>& buffer, uint32_t bytes, ophook::rt::At at = ophook::rt::At::here()) {
    ophook::rt::init_buffer(buffer.handle(), int(position), bytes, at);
    return true;
  }
  template <HardEvent event>
  __aicore__ TEventID AllocEventID(ophook::rt::At at = ophook::rt::At::here());
  template <HardEvent event>
  __aicore__ void ReleaseEventID(TEventID id, ophook::rt::At at = ophook::rt::At::here());
  __aicore__ TEventID FetchEventID(HardEvent event, ophook::rt::At at = ophook::rt::At::here());
  template <HardEvent event>
  __aicore__ TEventID FetchEventID(ophook::rt::At at = ophook::rt::At::here());
  __aicore__ void Reset() { ophook::rt::pipe_reset(this); }
  __aicore__ void Destroy() { ophook::rt::pipe_end(this); }
};

}  // namespace AscendC

// Not in the namespace: the device's compiler has no AscendC::GetTPipePtr.
__aicore__ inline AscendC::TPipe* GetTPipePtr() { return static_cast<AscendC::TPipe*>(ophook::rt::pipe_current()); }
