// A kernel launched from host code in the kernel's own source: the build writes this in place of <<<...>>>.
#pragma once

#include <stdexcept>

namespace ophook::rt {
struct HostLaunch {
  template <typename... T>
  void operator()(T&&...) const {
    throw std::logic_error("host code of a kernel's source is not run: ophook_npu.kernel runs the kernel itself");
  }
};
template <typename... T>
HostLaunch host_launch(T&&...) {
  return {};
}
}  // namespace ophook::rt
