// A kernel's access through a plain pointer to what is no memory. On a device the launch fails; here the kernel runs in
// the program's process, which a signal would end.
#include "stray.h"

#include <ucontext.h>

#include <memory>

#include "core.h"
#include "crash.h"
#include "fiber.h"
#include "signals.h"
#include "simt.h"

namespace ophook::rt {
namespace {

struct sigaction before[2];  // of SIGSEGV and SIGBUS

// On the kernel's own stack, in the place of what it did. Nothing below may be unwound: an exception ends the process
// where no call is.
[[noreturn]] void gave_up() {
  Core& c = core();
  const char* behind = c.last_at.file ? "behind this call " : "";
  const std::string what = c.stray ? text("uses the address %p, where no memory is", c.stray) : "uses up its stack";
  c.report(Kind::global_bounds, c.last_call, c.last_at, text("%sthe kernel %s", behind, what.c_str()));
  if (Simt* threads = simt()) threads->abandon();
  c.abandon();
}

void on_fault(int number, siginfo_t* info, void* context) {
  const struct sigaction& next = before[number == SIGBUS];
  const bool asked = next.sa_flags & SA_SIGINFO || (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN);
  Core* const c = core_or_null();
  // Memory that is there and protected is somebody else's, who asked to be told.
  if (!c || (asked && info->si_code != SEGV_MAPERR)) return hand_on(next, number, info, context);
  const Fiber& fiber = simt() ? simt()->fiber() : *c->place->fiber;
  void* const top = fiber.top_if_used_up(info->si_addr);
  c->stray = top ? nullptr : info->si_addr;
  auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  constexpr uintptr_t kBelow = 256;  // what a function may use below its stack pointer
#if defined(__x86_64__)
  const auto from = top ? uintptr_t(top) : uintptr_t(machine.gregs[REG_RSP]);
  machine.gregs[REG_RSP] = static_cast<greg_t>(((from - kBelow) & ~uintptr_t(15)) - 8);
  machine.gregs[REG_RIP] = reinterpret_cast<greg_t>(gave_up);
#elif defined(__aarch64__)
  machine.sp = ((top ? uintptr_t(top) : machine.sp) - kBelow) & ~uintptr_t(15);
  machine.pc = reinterpret_cast<uintptr_t>(gave_up);
#endif
}

// For the handler, where a stack is used up.
struct OtherStack {
  OtherStack() : room(new char[kSize]) {
    stack_t now{};
    if (sigaltstack(nullptr, &now) || !(now.ss_flags & SS_DISABLE)) return;  // the program's own, or a sanitizer's
    const stack_t own{room.get(), 0, kSize};
    sigaltstack(&own, nullptr);
    mine = true;
  }
  ~OtherStack() {
    const stack_t none{nullptr, SS_DISABLE, 0};
    if (mine) sigaltstack(&none, nullptr);
  }
  static constexpr size_t kSize = 1 << 16;
  const std::unique_ptr<char[]> room;
  bool mine = false;
};

}  // namespace

void survive_stray_accesses() {
  thread_local const std::unique_ptr<OtherStack> other = std::make_unique<OtherStack>();
  [[maybe_unused]] static const bool once = [] {
    if (tells_crashes()) return false;  // a process of its own, whose end says more
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    return sigaction(SIGSEGV, &action, &before[0]) == 0 && sigaction(SIGBUS, &action, &before[1]) == 0;
  }();
}

}  // namespace ophook::rt
