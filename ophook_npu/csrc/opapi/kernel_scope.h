#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace sim {

// While it lives, this thread's calls of ATen operators go straight to the CPU's kernels. A user's hook on aten
// operators (on any key above the backend's own) is about the user's program; it must neither see nor replace what a
// simulated operator does inside, and Python must not run on a stream's thread: it would wait for a lock that its
// waiter holds. CPU is put into every key set because factories have no tensor to take it from, once BackendSelect is
// out.
struct KernelScope {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  c10::impl::ExcludeDispatchKeyGuard below_selection{c10::DispatchKey::BackendSelect};
  c10::impl::IncludeDispatchKeyGuard on_cpu{c10::DispatchKeySet(c10::DispatchKey::CPU)};
};

}  // namespace sim
