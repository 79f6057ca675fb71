// How much memory the functions that take it are documented to take.
#pragma once

#include "acl/acl.h"
#include "core/pages_api.h"
#include "core/sim.h"

namespace sim::acl {

inline size_t rounded(size_t size, size_t unit) {
  return size > SIZE_MAX - (unit - 1) ? size : (size + unit - 1) / unit * unit;
}

// The pages that a device takes for so many bytes: hicann/runtime, docs/zh/api_ref/25-02_Enumerations.md,
// aclrtMemMallocPolicy; 11-01_device_memory_malloc_and_free.md for a policy that is none of them.
inline size_t page(size_t size, aclrtMemMallocPolicy policy) {
  constexpr size_t kNormal = 4096, kMiB = 1 << 20, kHuge = 2 * kMiB, kHuge1G = 1024 * kMiB;
  switch (policy) {
    case ACL_MEM_MALLOC_HUGE_FIRST: return size > kMiB ? kHuge : kNormal;
    case ACL_MEM_MALLOC_HUGE_ONLY:
    case ACL_MEM_MALLOC_HUGE_FIRST_P2P:
    case ACL_MEM_MALLOC_HUGE_ONLY_P2P: return kHuge;
    case ACL_MEM_MALLOC_NORMAL_ONLY:
    case ACL_MEM_MALLOC_NORMAL_ONLY_P2P: return kNormal;
    case ACL_MEM_MALLOC_HUGE1G_ONLY:
    case ACL_MEM_MALLOC_HUGE1G_ONLY_P2P: return kHuge1G;
    default: return size >= kHuge ? kHuge : kNormal;
  }
}

// The next multiple of 32 bytes, and 32 more where the function, the product and the pages are those that add them:
// hiascend.com, "aclrtMalloc" and "aclrtMallocAlign32" (CANN 9.1.0). A program may use these too, and does without
// knowing: kernels read whole blocks of 32 bytes.
inline aclError take(const char* call, const void* caller, size_t size, aclrtMemMallocPolicy policy, void** out,
                     bool adds = true) {
  const size_t unit = page(size, policy);
  const sim_soc* soc = sim_current_soc();
  size_t reach = rounded(size, 32);
  if (adds && soc && unit <= size_t(2) << 20 && reach <= SIZE_MAX - 32) reach += size_t(soc->malloc_added);
  return sim_malloc_pages(call, caller, size, reach, rounded(reach, unit), out);
}

// Memory that host and device share under one address (aclrtMemAllocManaged).
bool managed(const void* pointer, size_t size);
void forget_managed(const void* pointer);

}  // namespace sim::acl
