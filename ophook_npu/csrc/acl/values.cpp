// Values in device memory that one stream writes and another waits for.
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "acl/acl.h"
#include "core/failure_api.h"
#include "core/sim.h"

namespace {

struct Value {
  const char* caller;
  void* address;
  uint64_t value;
  uint32_t mode;
};

std::mutex value_mutex;
std::condition_variable value_written;

// 0, or the task's error.
int reachable(const Value& task) {
  const char* problem = sim_memory_problem("the value", task.address, sizeof task.value);
  return problem ? sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "%s: %s", task.caller, problem) : 0;
}

int write_value(void* argument) {
  const auto* task = static_cast<Value*>(argument);
  if (int code = reachable(*task)) return code;
  {
    std::lock_guard lock(value_mutex);
    std::memcpy(task->address, &task->value, sizeof task->value);
  }
  value_written.notify_all();
  return 0;
}

int wait_value(void* argument) {
  const auto* task = static_cast<Value*>(argument);
  if (int code = reachable(*task)) return code;
  std::unique_lock lock(value_mutex);
  auto reached = [task] {
    uint64_t now;
    std::memcpy(&now, task->address, sizeof now);
    if (task->mode == 0) return now >= task->value;
    if (task->mode == 1) return now == task->value;
    return task->mode == 2 ? (now & task->value) != 0 : (~(now | task->value)) != 0;
  };
  // Other things than aclrtValueWrite write memory, too: a copy, a kernel.
  while (!reached()) {
    value_written.wait_for(lock, std::chrono::milliseconds(5));
    if (const int code = sim_device_failed()) return code;
  }
  return 0;
}

int launch_value(const char* caller, sim_run run, bool waits, void* address, uint64_t value, uint32_t mode,
                 void* stream) {
  if (!address) return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the address is null", caller);
  sim_order_value(stream, address, waits);
  return sim_launch(stream, caller, run, new Value{caller, address, value, mode},
                    [](void* argument) { delete static_cast<Value*>(argument); });
}

}  // namespace

extern "C" {

SIM_API aclError aclrtValueWrite(void* address, uint64_t value, uint32_t flag, aclrtStream stream) {
  if (flag) return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtValueWrite: flag %u; allowed: 0", flag);
  return launch_value("aclrtValueWrite", write_value, false, address, value, 0, stream);
}

SIM_API aclError aclrtValueWait(void* address, uint64_t value, uint32_t flag, aclrtStream stream) {
  if (flag > 3) return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtValueWait: flag %u; allowed: 0 to 3", flag);
  return launch_value("aclrtValueWait", wait_value, true, address, value, flag, stream);
}

}  // extern "C"
