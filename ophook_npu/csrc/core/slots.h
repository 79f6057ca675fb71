// Objects that callers hold as pointers and that are made and destroyed many times in every operator call: the argument
// objects of libopapi. Each lies in a slot of memory that is ours for as long as the process lives, with what it is
// next to it. So a pointer is judged by where it points, and what is read there is never gone: a null, freed, foreign
// or wrong one is told apart and named, at the cost of two loads. `Handles` (handles.h) keeps what it found alive as
// well, and costs a lock for each use: for objects that several threads share, such as streams.
//
// A slot is used again as late as possible, so that a pointer to something destroyed is known as such for a while.
// Never destroyed: threads keep free slots. Who uses an object while another thread destroys it has a race of his own,
// as with CANN; what is told of executors, which only one may take, is `end`.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace sim {

// names[kind - 1] is what an object of that kind is called ("an aclTensor"); T::kKind is a class's kind, from 1 on.
class Slots {
 public:
  static constexpr size_t kSize = 256;  // of a slot, its header included
  static constexpr size_t kRoom = kSize - 32;

  template <size_t N>
  explicit constexpr Slots(const char* const (&names)[N]) : names_(names), kinds_(N) {}

  // Throws std::bad_alloc where there is no room, and what the constructor throws.
  template <typename T, typename... Given>
  T* make(Given&&... given) {
    static_assert(sizeof(T) <= kRoom && alignof(T) <= alignof(Slot));
    Slot* slot = take();
    T* made;
    try {
      made = new (slot->object) T{std::forward<Given>(given)...};
    } catch (...) {
      put_back(slot);
      throw;
    }
    slot->lists.store(0, std::memory_order_relaxed);
    slot->state.store(T::kKind, std::memory_order_release);
    return made;
  }

  template <typename T>
  bool is(const void* handle) const {
    const Slot* slot = slot_of(handle);
    return slot && slot->state.load(std::memory_order_acquire) == T::kKind;
  }

  // Destroys the object, after `use(object)`, and says why there is none any more ("was destroyed"); false where it was
  // no such object. One of several callers gets it.
  template <typename T, typename Use>
  bool end(const T* handle, const char* why, Use use) {
    Slot* slot = slot_of(handle);
    uint32_t expected = T::kKind;
    if (!slot || !slot->state.compare_exchange_strong(expected, T::kKind | kEnded, std::memory_order_acq_rel))
      return false;
    slot->why.store(why, std::memory_order_relaxed);
    T* object = const_cast<T*>(handle);
    use(*object);
    object->~T();
    put_back(slot);
    return true;
  }
  template <typename T>
  bool end(const T* handle, const char* why) {
    return end(handle, why, [](T&) {});
  }

  // How many lists hold the object, which they destroy with them. Of a live one.
  std::atomic<uint32_t>& lists(const void* handle) const { return slot_of(handle)->lists; }

  // "is null", "is an aclScalar", "is an aclTensor that was destroyed", "is no object of this library".
  std::string what(const void* handle) const {
    if (!handle) return "is null";
    const Slot* slot = slot_of(handle);
    const uint32_t state = slot ? slot->state.load(std::memory_order_acquire) : 0;
    const uint32_t kind = state & ~kEnded;
    if (!kind || kind > kinds_) return "is no object of this library";
    std::string text = std::string("is ") + names_[kind - 1];
    const char* why = slot->why.load(std::memory_order_relaxed);
    if (state & kEnded) text += std::string(" that ") + (why ? why : "is being destroyed");
    return text;
  }

 private:
  static constexpr uint32_t kEnded = 0x100;
  static constexpr size_t kKept = 32;               // so many free slots wait before the first of them is used again
  static constexpr size_t kStep = size_t(1) << 20;  // what is made usable at once
  static constexpr size_t kMost = size_t(1) << 34;  // addresses asked for; as much as there is, where there is less
  static constexpr size_t kLeast = size_t(1) << 26;

  struct Slot {
    std::atomic<uint32_t> state{0};  // 0: being made
    std::atomic<uint32_t> lists{0};
    std::atomic<const char*> why{nullptr};
    Slot* next = nullptr;  // while it is free
    alignas(16) unsigned char object[kRoom];
  };
  static_assert(sizeof(Slot) == kSize);

  Slot* slot_of(const void* handle) const {
    const size_t offset = reinterpret_cast<uintptr_t>(handle) - begin_.load(std::memory_order_acquire);
    if (offset >= used_.load(std::memory_order_acquire) || offset % kSize != offsetof(Slot, object)) return nullptr;
    return reinterpret_cast<Slot*>(reinterpret_cast<uintptr_t>(handle) - offsetof(Slot, object));
  }

  // Free slots, the oldest first.
  struct Free {
    Slot *first = nullptr, *last = nullptr;
    size_t count = 0;

    Slot* take() {
      Slot* slot = first;
      first = slot->next;
      --count;
      return slot;
    }
    void add(Slot* slot) {
      slot->next = nullptr;
      (count ? last->next : first) = slot;
      last = slot;
      ++count;
    }
    void move(size_t wanted, Free& to) {
      for (wanted = std::min(wanted, count); wanted > 0; --wanted) to.add(take());
    }
  };

  // A thread's own, so that a call needs no lock for its arguments: of the first Slots that the thread used.
  struct OfThread {
    Slots* owner = nullptr;
    Free free;
    ~OfThread() {
      if (!owner) return;
      std::lock_guard lock(owner->mutex_);
      free.move(free.count, owner->free_);
    }
  };
  Free* own() {
    // Read in every call, and so without the function that the loader has for variables of threads.
    [[gnu::tls_model("initial-exec")]] static thread_local OfThread* mine = nullptr;
    if (!mine) [[unlikely]]
      mine = &of_thread();
    return mine->owner == this ? &mine->free : nullptr;
  }
  OfThread& of_thread() {
    thread_local OfThread mine;
    if (!mine.owner) mine.owner = this;
    return mine;
  }

  Slot* take() {
    Free* free = own();
    if (!free || free->count <= kKept) return take_locked(free);
    Slot* slot = free->take();
    slot->state.store(0, std::memory_order_relaxed);
    return slot;
  }

  Slot* take_locked(Free* own) {
    std::lock_guard lock(mutex_);
    if (own && free_.count > kKept) free_.move(kKept, *own);
    Free& from = own && own->count > kKept ? *own : free_;
    if (from.count > kKept || (from.count && !grow())) {
      Slot* slot = from.take();
      slot->state.store(0, std::memory_order_relaxed);
      return slot;
    }
    if (!grow()) throw std::bad_alloc();
    auto* slot = new (reinterpret_cast<void*>(begin_ + used_)) Slot;
    used_.fetch_add(kSize, std::memory_order_release);
    return slot;
  }

  void put_back(Slot* slot) {
    Free* free = own();
    if (free) free->add(slot);
    if (free && free->count <= 3 * kKept) return;
    std::lock_guard lock(mutex_);
    if (free) free->move(kKept, free_);
    else free_.add(slot);
  }

  // Whether there is a slot that was never used.
  bool grow() {
    if (used_ < usable_) return true;
    for (size_t wanted = kMost; !begin_ && wanted >= kLeast; wanted /= 2) {
      void* memory = mmap(nullptr, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory != MAP_FAILED) begin_ = reinterpret_cast<uintptr_t>(memory), most_ = wanted;
    }
    if (!begin_ || usable_ == most_) return false;
    if (mprotect(reinterpret_cast<void*>(begin_ + usable_), kStep, PROT_READ | PROT_WRITE) != 0) return false;
    usable_ += kStep;
    return true;
  }

  const char* const* const names_;
  const size_t kinds_;
  std::mutex mutex_;
  std::atomic<uintptr_t> begin_{0};
  std::atomic<size_t> used_{0};  // bytes that hold slots, live or free
  size_t usable_ = 0, most_ = 0;
  Free free_;
};

}  // namespace sim
