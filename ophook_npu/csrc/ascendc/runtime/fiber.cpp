#undef _FORTIFY_SOURCE  // its longjmp takes no other stack
#include "fiber.h"

#include <sys/mman.h>

#include <cstdlib>

namespace ophook::rt {
namespace {
constexpr size_t kStack = 1 << 20, kGuard = 1 << 16;  // below the stack: who comes there has used it up
}  // namespace

Fiber::Fiber(void (*function)()) : function_(function) {
  void* all = mmap(nullptr, kGuard + kStack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) std::abort();
  stack_ = static_cast<char*>(all) + kGuard;
  if (mprotect(stack_, kStack, PROT_READ | PROT_WRITE)) std::abort();
  prepare();
}

void Fiber::prepare() {
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_;
  context_.uc_stack.ss_size = kStack;
  context_.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(this);  // makecontext hands on numbers of 32 bits
  makecontext(&context_, reinterpret_cast<void (*)()>(main), 2, uint32_t(self >> 32), uint32_t(self));
}

void Fiber::restart() {
  prepare();
#if !OPHOOK_FIBER_SWAPS
  begun_ = false;
#endif
}

bool Fiber::holds(const void* p) const {
  const auto at = reinterpret_cast<uintptr_t>(p), begin = reinterpret_cast<uintptr_t>(stack_);
  return at >= begin && at < begin + kStack;
}

void* Fiber::top_if_used_up(const void* p) const {
  const auto at = reinterpret_cast<uintptr_t>(p), begin = reinterpret_cast<uintptr_t>(stack_);
  return at < begin && at >= begin - kGuard ? static_cast<char*>(stack_) + kStack : nullptr;
}

Fiber::~Fiber() { munmap(static_cast<char*>(stack_) - kGuard, kGuard + kStack); }

void Fiber::main(uint32_t high, uint32_t low) {
  auto* self = reinterpret_cast<Fiber*>(uintptr_t(high) << 32 | low);
  while (true) {
    self->function_();
    self->leave();
  }
}

#if OPHOOK_FIBER_SWAPS
void Fiber::enter() { swapcontext(&outside_, &context_); }
void Fiber::leave() { swapcontext(&context_, &outside_); }
#else
void Fiber::enter() {
  if (_setjmp(outside_)) return;
  if (begun_) _longjmp(inside_, 1);
  begun_ = true;
  setcontext(&context_);
}
void Fiber::leave() {
  if (!_setjmp(inside_)) _longjmp(outside_, 1);
}
#endif

}  // namespace ophook::rt
