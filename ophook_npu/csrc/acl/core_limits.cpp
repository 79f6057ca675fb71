// libascendcl: how many cores a device, a stream or a thread may use. Kept and given back; the simulator's speed does
// not depend on them, but graphs are captured anew when they change.
#include <map>
#include <mutex>
#include <optional>

#include "acl/refuse.h"

namespace {

using Limits = std::map<aclrtDevResLimitType, uint32_t>;

std::mutex limits_mutex;
std::map<int32_t, Limits> device_limits;
std::map<aclrtStream, Limits> stream_limits;
thread_local std::optional<aclrtStream> thread_stream;  // whose limits this thread uses

int check(const char* caller, aclrtDevResLimitType type, uint32_t* cores) {
  if (int code = sim_init()) return code;
  const sim_soc* soc = sim_current_soc();
  if (type != ACL_RT_DEV_RES_CUBE_CORE && type != ACL_RT_DEV_RES_VECTOR_CORE)
    return RT_INVALID(caller, "resource type %d", int(type));
  *cores = uint32_t(type == ACL_RT_DEV_RES_CUBE_CORE ? soc->cube_cores : soc->vector_cores);
  return ACL_SUCCESS;
}

int set(const char* caller, Limits& limits, aclrtDevResLimitType type, uint32_t value) {
  uint32_t cores = 0;
  if (int code = check(caller, type, &cores)) return code;
  if (value == 0 || value > cores) return RT_INVALID(caller, "%u cores; allowed: 1 to %u", value, cores);
  limits[type] = value;
  return ACL_SUCCESS;
}

// The first limit that was set: the stream's (if any), the device's, else all cores.
int get(const char* caller, const Limits* stream, int32_t device, aclrtDevResLimitType type, uint32_t* value) {
  if (int code = check(caller, type, value)) return code;
  for (const Limits* limits : {stream, static_cast<const Limits*>(&device_limits[device])})
    if (limits && limits->count(type)) {
      *value = limits->at(type);
      break;
    }
  return ACL_SUCCESS;
}

const Limits* limits_of(aclrtStream stream) {
  auto entry = stream_limits.find(stream);
  return entry == stream_limits.end() ? nullptr : &entry->second;
}

}  // namespace

extern "C" {

aclError aclrtSetDeviceResLimit(int32_t device, aclrtDevResLimitType type, uint32_t value) {
  std::lock_guard<std::mutex> lock(limits_mutex);
  return set("aclrtSetDeviceResLimit", device_limits[device], type, value);
}
aclError aclrtGetDeviceResLimit(int32_t device, aclrtDevResLimitType type, uint32_t* value) {
  std::lock_guard<std::mutex> lock(limits_mutex);
  return get("aclrtGetDeviceResLimit", nullptr, device, type, value);
}
aclError aclrtResetDeviceResLimit(int32_t device) {
  std::lock_guard<std::mutex> lock(limits_mutex);
  device_limits.erase(device);
  return ACL_SUCCESS;
}

SIM_API aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
  std::lock_guard<std::mutex> lock(limits_mutex);
  return set("aclrtSetStreamResLimit", stream_limits[stream], type, value);
}
aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t* value) {
  int device = 0;
  if (int code = sim_stream_device(stream, &device)) return code;
  std::lock_guard<std::mutex> lock(limits_mutex);
  return get("aclrtGetStreamResLimit", limits_of(stream), device, type, value);
}
aclError aclrtResetStreamResLimit(aclrtStream stream) {
  std::lock_guard<std::mutex> lock(limits_mutex);
  stream_limits.erase(stream);
  return ACL_SUCCESS;
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
  thread_stream = stream;
  return ACL_SUCCESS;
}
aclError aclrtUnuseStreamResInCurrentThread(aclrtStream) {
  thread_stream.reset();
  return ACL_SUCCESS;
}
aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  int device = 0;
  if (int code = sim_get_device(&device)) return code;
  std::lock_guard<std::mutex> lock(limits_mutex);
  return get("aclrtGetResInCurrentThread", thread_stream ? limits_of(*thread_stream) : nullptr, device, type, value);
}

}  // extern "C"
