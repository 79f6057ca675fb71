// Where a kernel was when its process ended by a signal.
#include <initializer_list>
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

#include "crash.h"
#include "launch.h"

namespace {

int told_to = -1;

void line(void* place) {
  Dl_info library;
  if (dladdr(place, &library) && library.dli_fname)
    dprintf(told_to, "%s %zx\n", library.dli_fname,
            size_t(static_cast<char*>(place) - static_cast<char*>(library.dli_fbase)));
}

// The innermost first, and few: the first function of a fiber is called by none.
void tell(int number, siginfo_t*, void* context) {
  const auto& at = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  line(reinterpret_cast<void*>(at.gregs[REG_RIP]));
#elif defined(__aarch64__)
  line(reinterpret_cast<void*>(at.pc));
#endif
  void* calls[7];
  const int count = backtrace(calls, 7);
  for (int i = 2; i < count; ++i) line(calls[i]);
  raise(number);  // now it ends the process
}

}  // namespace

bool ophook::rt::tells_crashes() { return told_to >= 0; }

void ascendc_tell_crashes(int fd) {
  static char stack[1 << 16];  // a fiber's may be what is used up
  void* first[1];
  backtrace(first, 1);  // loads what it needs, which a handler must not do
  told_to = fd;
  const stack_t own{stack, 0, sizeof stack};
  sigaltstack(&own, nullptr);
  struct sigaction action{};
  action.sa_sigaction = tell;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER;
  for (const int number : {SIGSEGV, SIGFPE, SIGBUS, SIGILL}) sigaction(number, &action, nullptr);
}
