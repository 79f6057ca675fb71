// C++11: guard.h of AI CPU kernels includes it.
#pragma once
#include <signal.h>

namespace ophook {
namespace rt {

// A signal that is not a kernel's, to whom it went before.
inline void hand_on(const struct sigaction& before, int number, siginfo_t* info, void* context) {
  if (before.sa_flags & SA_SIGINFO) before.sa_sigaction(number, info, context);
  else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) before.sa_handler(number);
  else sigaction(number, &before, nullptr);  // it comes again
}

}  // namespace rt
}  // namespace ophook
