// How much memory the functions that take it are documented to take.
#pragma once

#include "acl/acl.h"
#include "core/sim.h"

namespace sim::acl {

// The next multiple of 32 bytes, and `added` more: hiascend.com, "aclrtMalloc" and "aclrtMallocAlign32" (CANN 9.1.0).
// A program may use these too, and does without knowing: kernels read whole blocks of 32 bytes.
inline size_t allocated(size_t size, size_t added) {
  return size > SIZE_MAX - 31 - added ? size : (size + 31) / 32 * 32 + added;
}

inline aclError take(const char* call, const void* caller, size_t size, void** out) {
  const sim_soc* soc = sim_current_soc();
  return sim_malloc_by(call, caller, size, allocated(size, soc ? size_t(soc->malloc_added) : 0), out);
}

// Memory that host and device share under one address (aclrtMemAllocManaged).
bool managed(const void* pointer, size_t size);
void forget_managed(const void* pointer);

}  // namespace sim::acl
