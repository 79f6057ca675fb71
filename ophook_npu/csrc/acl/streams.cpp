// libascendcl: streams, and who is told of them. CANN's page "Stream management".
#include <cstring>
#include <memory>

#include "acl/named_callbacks.h"
#include "core/handles.h"
#include "core/runtime.h"

namespace {

// What a stream was made with. Priorities are kept and given back: each stream is a thread of the host.
struct Made {
  uint32_t priority = 0, flags = 0;
  std::map<aclrtStreamAttr, aclrtStreamAttrValue> attributes;
};
constexpr uint32_t kLeast = 7, kGreatest = 0;
constexpr uint32_t kFlags = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC | ACL_STREAM_PERSISTENT | ACL_STREAM_HUGE |
                            ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;

std::mutex made_mutex;
std::map<void*, Made> streams_made;  // but for those made without anything
sim::acl::NamedCallbacks<aclrtStreamStateCallback> told_of_states;

int make(aclrtStream* out, uint32_t priority, uint32_t flags) {
  if (int code = flags & ACL_STREAM_PERSISTENT ? sim_stream_create_persistent(out) : sim_stream_create(out))
    return code;
  {
    std::lock_guard lock(made_mutex);
    streams_made[*out] = {priority, flags & kFlags, {}};
  }
  told_of_states.tell(*out, ACL_RT_STREAM_STATE_CREATE_POST);
  return ACL_SUCCESS;
}

// The stream exists; what it was made with.
int find(aclrtStream stream, Made* out) {
  if (int code = sim::acl::check_stream(stream)) return code;
  std::lock_guard lock(made_mutex);
  const auto found = streams_made.find(stream);
  *out = found == streams_made.end() ? Made{} : found->second;
  return ACL_SUCCESS;
}

using Configurations = sim::Handles<aclrtStreamConfigHandle>;

}  // namespace

extern "C" {

SIM_API aclError aclrtCreateStream(aclrtStream* out) {
  REQUIRE(out);
  return make(out, kGreatest, 0);
}
SIM_API aclError aclrtCreateStreamWithConfig(aclrtStream* out, uint32_t priority, uint32_t flags) {
  REQUIRE(out);
  return make(out, priority, flags);
}
SIM_API aclrtStreamConfigHandle* aclrtCreateStreamConfigHandle() {
  auto handle = std::make_shared<aclrtStreamConfigHandle>();
  *handle = {};
  return static_cast<aclrtStreamConfigHandle*>(Configurations::all().add(std::move(handle)));
}
SIM_API aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle* handle) {
  if (Configurations::all().take(handle)) return ACL_SUCCESS;
  return ACL_INVALID(__func__, "%p was not made by aclrtCreateStreamConfigHandle", static_cast<void*>(handle));
}
SIM_API aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle* handle, aclrtStreamConfigAttr what, const void* value,
                                         size_t size) {
  if (!value) return sim::acl::missing(__func__, "attrValue", ACL_ERROR_INVALID_PARAM);
  const auto configuration = Configurations::all().find(handle);
  ACL_INVALID_IF(!configuration, "%p was not made by aclrtCreateStreamConfigHandle", static_cast<void*>(handle));
  const auto take = [&](auto& to) {
    if (size != sizeof to)
      return ACL_INVALID("aclrtSetStreamConfigOpt", "%zu bytes for attribute %d; allowed: %zu", size, int(what),
                         sizeof to);
    memcpy(&to, value, sizeof to);
    return int(ACL_SUCCESS);
  };
  switch (what) {
    case ACL_RT_STREAM_WORK_ADDR_PTR: return take(configuration->workptr);
    case ACL_RT_STREAM_WORK_SIZE: return take(configuration->workSize);
    case ACL_RT_STREAM_FLAG:
      if (size == sizeof(uint32_t)) {
        uint32_t flag = 0;
        memcpy(&flag, value, sizeof flag);
        configuration->flag = flag;
        return ACL_SUCCESS;
      }
      return take(configuration->flag);
    case ACL_RT_STREAM_PRIORITY: return take(configuration->priority);
    default: return ACL_INVALID(__func__, "attribute %d; allowed: 0 to 3", int(what));
  }
}
SIM_API aclError aclrtCreateStreamV2(aclrtStream* out, const aclrtStreamConfigHandle* handle) {
  REQUIRE(out);
  if (!handle) return make(out, kGreatest, 0);
  const auto configuration = Configurations::all().find(const_cast<aclrtStreamConfigHandle*>(handle));
  ACL_INVALID_IF(!configuration, "%p was not made by aclrtCreateStreamConfigHandle", static_cast<const void*>(handle));
  return make(out, configuration->priority, uint32_t(configuration->flag));
}

static aclError destroy(aclrtStream stream, int (*end)(void*)) {
  int32_t id = 0;
  if (stream && sim_stream_id(stream, &id) == ACL_SUCCESS) told_of_states.tell(stream, ACL_RT_STREAM_STATE_DESTROY_PRE);
  const int code = end(stream);
  if (code) return code;
  std::lock_guard lock(made_mutex);
  streams_made.erase(stream);
  return ACL_SUCCESS;
}
SIM_API aclError aclrtDestroyStream(aclrtStream stream) { return destroy(stream, sim_stream_destroy); }
SIM_API aclError aclrtDestroyStreamForce(aclrtStream stream) { return destroy(stream, sim_stream_destroy_by_force); }
SIM_API aclError aclrtSynchronizeStream(aclrtStream stream) { return sim_stream_synchronize(stream, -1); }
SIM_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout_ms) {
  return sim_stream_synchronize(stream, timeout_ms);
}
SIM_API aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  REQUIRE(status);
  int done = 0;
  if (int code = sim_stream_query(stream, &done)) return code;
  *status = done ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtStreamGetId(aclrtStream stream, int32_t* id) {
  REQUIRE(id);
  return sim_stream_id(stream, id);
}
SIM_API aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority) {
  REQUIRE(priority);
  Made found;
  if (int code = find(stream, &found)) return code;
  *priority = found.priority;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags) {
  REQUIRE(flags);
  Made found;
  if (int code = find(stream, &found)) return code;
  *flags = found.flags;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtDeviceGetStreamPriorityRange(int32_t* least, int32_t* greatest) {
  REQUIRE(least, greatest);
  if (int code = sim_require_device(__func__)) return code;
  *least = kLeast, *greatest = kGreatest;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtGetStreamAvailableNum(uint32_t* count) {
  REQUIRE(count);
  return sim_streams_left(count);
}

// Hints for scheduling and what belongs to them: kept and given back.
SIM_API aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr what, aclrtStreamAttrValue* value) {
  REQUIRE(value);
  if (int code = sim::acl::check_stream(stream)) return code;
  if (what == ACL_STREAM_ATTR_FAILURE_MODE)
    if (int code = aclrtSetStreamFailureMode(stream, value->failureMode)) return code;
  if (what == ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK)
    if (int code = aclrtSetStreamOverflowSwitch(stream, value->overflowSwitch)) return code;
  std::lock_guard lock(made_mutex);
  if (what == ACL_STREAM_ATTR_PRIORITY) streams_made[stream].priority = value->reserve[0];
  streams_made[stream].attributes[what] = *value;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr what, aclrtStreamAttrValue* value) {
  REQUIRE(value);
  Made found;
  if (int code = find(stream, &found)) return code;
  RT_INVALID_IF(what < ACL_STREAM_ATTR_FAILURE_MODE || what > ACL_STREAM_ATTR_PRIORITY,
                "attribute %d; allowed: 1 to %d", int(what), int(ACL_STREAM_ATTR_PRIORITY));
  *value = found.attributes.count(what) ? found.attributes[what] : aclrtStreamAttrValue{};
  if (what == ACL_STREAM_ATTR_PRIORITY) value->reserve[0] = found.priority;
  return ACL_SUCCESS;
}

SIM_API aclError aclrtRegStreamStateCallback(const char* name, aclrtStreamStateCallback callback, void* argument) {
  return told_of_states.change(__func__, name, callback, argument);
}

SIM_API aclError aclrtStreamAbort(aclrtStream stream) { return sim_stream_abort(stream); }
// A task of the simulator runs to its end: where none runs there is nothing to stop.
SIM_API aclError aclrtStreamStop(aclrtStream stream) {
  REQUIRE(stream);
  int32_t id = 0;
  if (int code = sim_stream_id(stream, &id)) return code;
  int idle = 0;
  const bool runs = sim_stream_query(stream, &idle) == ACL_SUCCESS && !idle;  // after a failure none does
  if (!runs) return ACL_SUCCESS;
  return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: a task of stream %d runs, and the simulator cannot stop it",
                  __func__, id);
}
SIM_API aclError aclrtPersistentTaskClean(aclrtStream stream) { return sim_stream_clean(stream); }

}  // extern "C"
