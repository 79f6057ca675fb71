// libascendcl: what a program calls after a fault of its device, as torch_npu's stop_device, check_uce_in_memory and
// restart_device do. Only faults that were ordered (core/fault.h) leave anything to repair.
#include <algorithm>
#include <cstring>
#include <vector>

#include "acl/acl.h"
#include "core/fault.h"
#include "core/visible.h"

extern "C" {

SIM_API aclError aclrtGetMemUceInfo(int32_t device, aclrtMemUceInfo* list, size_t size, size_t* found) {
  if (int code = sim_check_device("aclrtGetMemUceInfo", device)) return code;
  if (!list || !found) return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetMemUceInfo: a pointer is null");
  std::vector<sim_bad_memory> bad(std::min<size_t>(size, MAX_MEM_UCE_INFO_ARRAY_SIZE));
  *found = sim_bad_memory_list(device, bad.data(), bad.size());
  for (size_t i = 0; i < *found; ++i) {
    memset(&list[i], 0, sizeof list[i]);
    list[i].addr = bad[i].address;
    list[i].len = bad[i].size;
  }
  return ACL_SUCCESS;
}

SIM_API aclError aclrtMemUceRepair(int32_t device, aclrtMemUceInfo* list, size_t size) {
  if (int code = sim_check_device("aclrtMemUceRepair", device)) return code;
  if (!list || !size) return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemUceRepair: no addresses");
  for (size_t i = 0; i < size; ++i)
    if (!sim_bad_memory_repaired(device, list[i].addr))
      return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemUceRepair: %p is no address with an error", list[i].addr);
  return ACL_SUCCESS;
}

}  // extern "C"
