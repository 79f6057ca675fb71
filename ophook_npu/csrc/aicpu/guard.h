// Work of an AI CPU kernel in the program's process: a signal, which would end the program, is an exception, as on a
// device the task fails. What the work holds when it comes is not given back. C++11, as the projects' own sources are.
#pragma once

#include <setjmp.h>
#include <signal.h>

#include <stdexcept>

#include "ascendc/runtime/signals.h"

namespace aicpu {

struct Fault : std::runtime_error {
  explicit Fault(int number)
      : runtime_error(number == SIGFPE ? "it divides by 0" : "it uses an address where no memory is") {}
};

namespace guard {

struct Handlers {
  struct sigaction access, division;
};
inline Handlers& before() {
  static Handlers one;
  return one;
}
inline sigjmp_buf*& escape() {
  thread_local sigjmp_buf* here = nullptr;
  return here;
}
inline void on_fault(int number, siginfo_t* info, void* context) {
  if (escape()) siglongjmp(*escape(), number);
  ophook::rt::hand_on(number == SIGFPE ? before().division : before().access, number, info, context);
}
inline bool begin() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  return sigaction(SIGSEGV, &action, &before().access) == 0 && sigaction(SIGFPE, &action, &before().division) == 0;
}

struct Escape {  // while it is there, this thread's signals go to `here`
  explicit Escape(sigjmp_buf* here) : outer(escape()) { escape() = here; }
  ~Escape() { escape() = outer; }
  sigjmp_buf* const outer;
};

}  // namespace guard

template <typename Work>
void guarded(Work&& work) {
  static const bool begun = guard::begin();
  (void)begun;
  sigjmp_buf here;
  sigjmp_buf* const outer = guard::escape();
  if (const int number = sigsetjmp(here, 1)) {
    guard::escape() = outer;
    throw Fault(number);
  }
  const guard::Escape escape(&here);
  work();
}

}  // namespace aicpu
