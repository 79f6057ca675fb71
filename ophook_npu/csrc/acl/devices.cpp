// libascendcl: what devices are and how they are. CANN's page "Device management".
#include <cstdio>
#include <cstring>
#include <string>

#include "acl/acl.h"
#include "acl/device_memory.h"
#include "acl/tasks.h"
#include "core/sim.h"

using sim::acl::check_device;

extern "C" {

SIM_API aclError aclrtQueryDeviceStatus(int32_t device, aclrtDeviceStatus* status) {
  REQUIRE(status);
  if (int code = check_device(__func__, device)) return code;
  *status = ACL_RT_DEVICE_STATUS_NORMAL;
  return ACL_SUCCESS;
}

SIM_API aclError aclrtGetDeviceUtilizationRate(int32_t device, aclrtUtilizationInfo* info) {
  REQUIRE(info);
  if (int code = check_device(__func__, device)) return code;
  return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: a simulated device has no units whose use could be measured",
                  __func__);
}

// Numbers of devices are the same in all three ways of counting: ASCEND_RT_VISIBLE_DEVICES is not simulated.
static int same(const char* caller, int32_t from, int32_t* to) {
  if (!to) return sim::acl::missing(caller, "the place for the number");
  if (int code = check_device(caller, from)) return code;
  *to = from;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtGetLogicDevIdByPhyDevId(const int32_t physical, int32_t* const logic) {
  return same(__func__, physical, logic);
}
SIM_API aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logic, int32_t* const physical) {
  return same(__func__, logic, physical);
}
SIM_API aclError aclrtGetPhyDevIdByUserDevId(const int32_t user, int32_t* const physical) {
  return same(__func__, user, physical);
}
SIM_API aclError aclrtGetUserDevIdByPhyDevId(const int32_t physical, int32_t* const user) {
  return same(__func__, physical, user);
}

SIM_API aclError aclrtGetDevicesTopo(uint32_t device, uint32_t other, uint64_t* value) {
  REQUIRE(value);
  if (int code = check_device(__func__, device)) return code;
  if (int code = check_device(__func__, other)) return code;
  *value = ACL_RT_DEVS_TOPOLOGY_HCCS;
  return ACL_SUCCESS;
}

// ---- memory in other words ----
SIM_API aclError aclrtMallocForTaskScheduler(void** out, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig*) {
  REQUIRE(out);
  return sim::acl::take(__func__, __builtin_return_address(0), size, policy, out);
}
SIM_API aclError aclrtFreeWithDevSync(void* pointer) {
  REQUIRE(pointer);
  if (int code = sim_synchronize_device(-1)) return code;
  return sim_free(pointer);
}
SIM_API aclError aclrtFreeHostWithDevSync(void* pointer) {
  REQUIRE(pointer);
  if (int code = sim_synchronize_device(-1)) return code;
  return sim_free_host(pointer);
}

}  // extern "C"
