// libascendcl: what went wrong, asked after the fact; and callbacks for tasks that failed. CANN's page "Exception
// handling".
#include <mutex>
#include <vector>

#include "acl/tasks.h"
#include "core/runtime.h"

struct rtExceptionInfo {
  sim_failure failure;
};

namespace {

std::mutex exceptions_mutex;
aclrtExceptionInfoCallback only = nullptr;           // of aclrtSetExceptionInfoCallback
std::vector<aclrtExceptionInfoCallback> registered;  // of aclrtExceptionInfoCallbackRegister

void tell(const sim_failure* failure) {
  std::vector<aclrtExceptionInfoCallback> all;
  {
    std::lock_guard lock(exceptions_mutex);
    all = registered;
    if (only) all.push_back(only);
  }
  rtExceptionInfo info{*failure};
  for (const auto callback : all) callback(&info);
}

void listen() { sim_on_failure(only || !registered.empty() ? tell : nullptr); }

constexpr uint32_t kNone = 0xffffffff;

int last_error(const char* caller, aclrtLastErrLevel level, int clear) {
  if (level == ACL_RT_THREAD_LEVEL) return sim_last_runtime_error(clear);
  return RT_INVALID(caller, "level %d; allowed: ACL_RT_THREAD_LEVEL", int(level));
}

}  // namespace

extern "C" {

SIM_API aclError aclrtPeekAtLastError(aclrtLastErrLevel level) { return last_error(__func__, level, 0); }
SIM_API aclError aclrtGetLastError(aclrtLastErrLevel level) { return last_error(__func__, level, 1); }

// A simulated device has no faults of its own: what its tasks fail with is the program's.
SIM_API aclError aclrtGetErrorVerbose(int32_t device, aclrtErrorInfo* info) {
  REQUIRE(info);
  if (int code = sim_check_device(__func__, device)) return code;
  *info = {};
  info->errorType = ACL_RT_NO_ERROR;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtRepairError(int32_t device, const aclrtErrorInfo* info) {
  REQUIRE(info);
  if (int code = sim_check_device(__func__, device)) return code;
  if (!info->tryRepair) return ACL_SUCCESS;
  return sim_unimplemented("aclrtRepairError of a fault, which a simulated device does not have,");
}

SIM_API aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  std::lock_guard lock(exceptions_mutex);
  only = callback;
  listen();
  return ACL_SUCCESS;
}
SIM_API aclError aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback) {
  REQUIRE(callback);
  std::lock_guard lock(exceptions_mutex);
  if (std::find(registered.begin(), registered.end(), callback) == registered.end()) registered.push_back(callback);
  listen();
  return ACL_SUCCESS;
}
SIM_API aclError aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback) {
  REQUIRE(callback);
  std::lock_guard lock(exceptions_mutex);
  std::erase(registered, callback);
  listen();
  return ACL_SUCCESS;
}

#define OF_FAILURE(Name, member)                                                       \
  SIM_API uint32_t aclrtGet##Name##FromExceptionInfo(const aclrtExceptionInfo* info) { \
    return info ? uint32_t(info->failure.member) : kNone;                              \
  }
OF_FAILURE(TaskId, task)
OF_FAILURE(StreamId, stream)
OF_FAILURE(ThreadId, thread)
OF_FAILURE(DeviceId, device)
OF_FAILURE(ErrorCode, code)
// A task here is a function of the host: its arguments do not lie in the device's memory.
SIM_API aclError aclrtGetArgsFromExceptionInfo(const aclrtExceptionInfo* info, void** arguments, uint32_t* size) {
  REQUIRE(info, arguments, size);
  return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: a failure of a simulated task does not tell its arguments",
                  __func__);
}
SIM_API aclError aclrtGetFuncHandleFromExceptionInfo(const aclrtExceptionInfo* info, aclrtFuncHandle* function) {
  REQUIRE(info, function);
  return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: a failure of a simulated task does not tell its kernel",
                  __func__);
}

SIM_API aclError aclrtGetThreadLastTaskId(uint32_t* task) {
  REQUIRE(task);
  *task = sim_last_task();
  return ACL_SUCCESS;
}

}  // extern "C"
