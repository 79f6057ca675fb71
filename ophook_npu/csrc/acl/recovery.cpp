// libascendcl: what a program calls after a fault of its device, as torch_npu's stop_device, check_uce_in_memory and
// restart_device do. Only faults that were ordered (core/fault.h) leave anything to repair.
#include <cstring>
#include <vector>

#include "acl/refuse.h"
#include "core/fault.h"
#include "core/visible.h"

extern "C" {

SIM_API aclError aclrtGetMemUceInfo(int32_t device, aclrtMemUceInfo* list, size_t size, size_t* found) {
  if (int code = sim_check_device("aclrtGetMemUceInfo", device)) return code;
  RT_INVALID_IF(!list || !found, "a pointer is null");
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
  RT_INVALID_IF(!list || !size, "no addresses");
  for (size_t i = 0; i < size; ++i)
    RT_INVALID_IF(!sim_bad_memory_repaired(device, list[i].addr), "%p is no address with an error", list[i].addr);
  return ACL_SUCCESS;
}

}  // extern "C"
