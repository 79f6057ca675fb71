// libascendcl: contexts. A device has a default one, made by aclrtSetDevice; a program may make others. Here all of a
// device's contexts share its default stream and its memory; other streams belong to the context that they were made
// in. A device's own is used once more by each aclrtSetDevice, and once less by each aclrtResetDevice; the last one
// ends it.
#include <memory>

#include "acl/named_callbacks.h"
#include "core/forever.h"
#include "core/handles.h"
#include "core/failure_api.h"

namespace {

struct Context {
  int device;
};
using Contexts = sim::Handles<Context>;

auto& told_of_devices() { return sim::forever<sim::acl::NamedCallbacks<aclrtDeviceStateCallback>>(); }
auto& told_of_aborts() { return sim::forever<sim::acl::NamedCallbacks<aclrtDeviceTaskAbortCallback>>(); }

int use(int device, void* context) {
  const int code = sim_set_device(device);
  if (code == ACL_SUCCESS) sim_use_context(context);
  return code;
}

}  // namespace

extern "C" {

aclError aclrtSetDevice(int32_t device) {
  told_of_devices().tell(device, ACL_RT_DEVICE_STATE_SET_PRE);
  const int code = use(device, nullptr);
  if (code == ACL_SUCCESS) sim_retain_device(device);
  told_of_devices().tell(device, ACL_RT_DEVICE_STATE_SET_POST);
  return code;
}
static int release(const char* caller, int32_t device, int all) {
  told_of_devices().tell(device, ACL_RT_DEVICE_STATE_RESET_PRE);
  const int code = sim_release_device(caller, device, all);
  told_of_devices().tell(device, ACL_RT_DEVICE_STATE_RESET_POST);
  return code;
}
aclError aclrtResetDevice(int32_t device) { return release(__func__, device, 0); }
SIM_API aclError aclrtResetDeviceForce(int32_t device) { return release(__func__, device, 1); }
SIM_API aclError aclrtRegDeviceStateCallback(const char* name, aclrtDeviceStateCallback callback, void* argument) {
  return told_of_devices().change(__func__, name, callback, argument);
}

// torch_npu's stop_device. What a stream runs here cannot be ended: the call waits for it.
SIM_API aclError aclrtDeviceTaskAbort(int32_t device, uint32_t timeout) {
  told_of_aborts().tell(device, ACL_RT_DEVICE_TASK_ABORT_PRE, timeout);
  const int code = sim_abort_tasks(device, timeout);
  told_of_aborts().tell(device, ACL_RT_DEVICE_TASK_ABORT_POST, timeout);
  return code;
}
SIM_API aclError aclrtSetDeviceTaskAbortCallback(const char* name, aclrtDeviceTaskAbortCallback callback,
                                                 void* argument) {
  return told_of_aborts().change(__func__, name, callback, argument);
}

aclError aclrtCreateContext(aclrtContext* context, int32_t device) {
  RT_INVALID_IF(!context, "null pointer");
  if (int code = sim_set_device(device)) return code;
  *context = Contexts::all().add(std::make_shared<Context>(Context{device}));
  sim_use_context(*context);
  return ACL_SUCCESS;
}

aclError aclrtDestroyContext(aclrtContext context) {
  RT_INVALID_IF(!Contexts::all().take(context), "%p was not made by aclrtCreateContext", context);
  if (sim_used_context() == context) sim_use_context(nullptr);
  return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  if (auto found = Contexts::all().find(context)) return use(found->device, context);
  const int device = sim_context_device(context);
  RT_INVALID_IF(device < 0, "%p is not a context", context);
  return use(device, nullptr);
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  RT_INVALID_IF(!context, "null pointer");
  int device = 0;
  if (int code = sim_get_device(&device)) return code;
  void* const made = sim_used_context();
  const auto own = made ? Contexts::all().find(made) : nullptr;
  *context = own && own->device == device ? made : sim_context(device);
  return ACL_SUCCESS;
}

SIM_API aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
  RT_INVALID_IF(!stream, "null pointer");
  int device = 0;
  if (int code = sim_get_device(&device)) return code;
  *stream = sim_default_stream(device);
  return ACL_SUCCESS;
}

}  // extern "C"
