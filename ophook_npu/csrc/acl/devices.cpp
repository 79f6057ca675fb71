// libascendcl: what devices are and how they are. CANN's page "Device management".

#include "acl/device_memory.h"
#include "acl/tasks.h"

extern "C" {

SIM_API aclError aclrtQueryDeviceStatus(int32_t device, aclrtDeviceStatus* status) {
  REQUIRE(status);
  if (int code = sim_check_device(__func__, device)) return code;
  *status = ACL_RT_DEVICE_STATUS_NORMAL;
  return ACL_SUCCESS;
}

SIM_API aclError aclrtGetDeviceUtilizationRate(int32_t device, aclrtUtilizationInfo* info) {
  REQUIRE(info);
  if (int code = sim_check_device(__func__, device)) return code;
  return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: a simulated device has no units whose use could be measured",
                  __func__);
}

// Three ways of counting: a user's number is among those that the process sees; a logical and a physical number are the
// machine's and one here.
static int other_number(const char* caller, int32_t from, int (*number)(int), int32_t* to) {
  if (!to) return sim::acl::missing(caller, "the place for the number");
  if (int code = sim_init()) return code;
  const int found = number(from);
  if (found < 0) return sim_fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s: this process has no device %d", caller, from);
  *to = found;
  return ACL_SUCCESS;
}
static int installed(int device) { return device < sim_installed_devices() ? device : -1; }
#define NUMBER(function, number) \
  SIM_API aclError function(const int32_t from, int32_t* const to) { return other_number(#function, from, number, to); }
NUMBER(aclrtGetLogicDevIdByPhyDevId, installed)
NUMBER(aclrtGetPhyDevIdByLogicDevId, installed)
NUMBER(aclrtGetPhyDevIdByUserDevId, sim_physical_device)
NUMBER(aclrtGetLogicDevIdByUserDevId, sim_physical_device)
NUMBER(aclrtGetUserDevIdByPhyDevId, sim_visible_device)
NUMBER(aclrtGetUserDevIdByLogicDevId, sim_visible_device)

SIM_API aclError aclrtGetDevicesTopo(uint32_t device, uint32_t other, uint64_t* value) {
  REQUIRE(value);
  if (int code = sim_check_device(__func__, device)) return code;
  if (int code = sim_check_device(__func__, other)) return code;
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
