// libascendcl: memory that host and device share under one address. CANN's page "Unified addressing". A simulated
// device's memory is the host's: nothing moves. In strict mode, where the host may not touch a device's memory, there
// is none.
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>

#include "acl/acl.h"
#include "acl/device_memory.h"
#include "acl/tasks.h"
#include "core/sim.h"

namespace sim::acl {
namespace {

constexpr size_t kPage = size_t{2} << 20;

std::mutex managed_mutex;
std::map<uintptr_t, size_t>& blocks() {
  static auto* all = new std::map<uintptr_t, size_t>;
  return *all;
}

// Atlas A2 and Atlas A3.
bool there_is_any() {
  const sim_soc* soc = sim_current_soc();
  return soc && std::string_view(soc->name).starts_with("Ascend910");
}

bool strict() {
  const char* told = std::getenv("OPHOOK_SIM_STRICT_MEMORY");
  return told && std::string_view(told) == "1";
}

int check(const char* caller, const void* pointer, size_t size) {
  if (managed(pointer, size)) return ACL_SUCCESS;
  return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p (%zu bytes) is not memory of aclrtMemAllocManaged", caller,
                  pointer, size);
}

}  // namespace

bool managed(const void* pointer, size_t size) {
  std::lock_guard lock(managed_mutex);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  auto found = blocks().upper_bound(address);
  return found != blocks().begin() && (--found, address - found->first < found->second) &&
         size <= found->second - (address - found->first);
}

void forget_managed(const void* pointer) {
  std::lock_guard lock(managed_mutex);
  if (!blocks().empty()) blocks().erase(reinterpret_cast<uintptr_t>(pointer));
}

extern "C" {

SIM_API aclError aclrtMemAllocManaged(void** out, uint64_t size, uint32_t flag) {
  REQUIRE(out);
  int device = 0;
  if (int code = sim_get_device(&device)) return code;
  if (!there_is_any())
    return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: only Atlas A2 and Atlas A3 have it", __func__);
  if (strict()) return sim_unimplemented("aclrtMemAllocManaged where device memory is out of the host's reach");
  if (!size || flag != 1)
    return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %llu bytes, flag %u; allowed: more than 0, 1", __func__,
                    (unsigned long long)size, flag);
  const size_t rounded = (size + kPage - 1) / kPage * kPage;
  if (int code = sim_malloc_by(__func__, __builtin_return_address(0), rounded, rounded, out)) return code;
  std::lock_guard lock(managed_mutex);
  blocks()[reinterpret_cast<uintptr_t>(*out)] = rounded;
  return ACL_SUCCESS;
}

#ifdef OPHOOK_NEWER_ACL
// Where its pages should lie: they lie where both sides see them.
SIM_API aclError aclrtMemManagedAdvise(const void* const pointer, uint64_t size, aclrtMemManagedAdviseType what,
                                       aclrtMemManagedLocation) {
  if (what < ACL_MEM_ADVISE_SET_READ_MOSTLY || what > ACL_MEM_ADVISE_UNSET_ACCESSED_BY)
    return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: advise %d; allowed: 0 to 5", __func__, int(what));
  return check(__func__, pointer, size);
}
SIM_API aclError aclrtMemManagedPrefetchAsync(const void* pointer, size_t size, aclrtMemManagedLocation, uint32_t flags,
                                              aclrtStream stream) {
  if (flags) return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flags has to be 0", __func__);
  int32_t id = 0;
  if (int code = sim_stream_id(stream, &id)) return code;
  return check(__func__, pointer, size);
}
#endif

}  // extern "C"
}  // namespace sim::acl
