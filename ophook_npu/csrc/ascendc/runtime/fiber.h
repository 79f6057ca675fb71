// A second stack of a thread. Its function runs each time that it is entered anew, and may leave and be entered again
// in between.
#pragma once

#include <ucontext.h>

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define OPHOOK_FIBER_SWAPS 1  // the sanitizer follows swapcontext from stack to stack
#else
#define OPHOOK_FIBER_SWAPS 0  // swapcontext asks the kernel for the signal mask, twice for each core of a launch
#include <setjmp.h>
#endif

namespace ophook::rt {

class Fiber {
 public:
  explicit Fiber(void (*function)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  void enter();                     // until the fiber leaves
  void leave();                     // on the fiber's own stack: until it is entered
  void restart();                   // what it was doing when it left is given up
  bool holds(const void* p) const;  // on its stack
  const void* stack() const { return stack_; }
  void* top_if_used_up(const void* p) const;  // the stack's other end, if p lies where the stack has no room any more

 private:
  static void main(uint32_t high, uint32_t low);
  void prepare();
  void (*const function_)();
  void* stack_;
  ucontext_t context_{};
#if OPHOOK_FIBER_SWAPS
  ucontext_t outside_{};
#else
  bool begun_ = false;
  jmp_buf inside_, outside_;
#endif
};

}  // namespace ophook::rt
