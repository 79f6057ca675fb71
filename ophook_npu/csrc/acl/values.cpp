// Values in device memory that one stream writes and another waits for.
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "acl/tasks.h"
#include "core/failure_api.h"

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

int write_value(const Value& task) {
  if (int code = reachable(task)) return code;
  {
    std::lock_guard lock(value_mutex);
    std::memcpy(task.address, &task.value, sizeof task.value);
  }
  value_written.notify_all();
  return 0;
}

int wait_value(const Value& task) {
  if (int code = reachable(task)) return code;
  std::unique_lock lock(value_mutex);
  auto reached = [&task] {
    uint64_t now;
    std::memcpy(&now, task.address, sizeof now);
    if (task.mode == 0) return now >= task.value;
    if (task.mode == 1) return now == task.value;
    return task.mode == 2 ? (now & task.value) != 0 : (~(now | task.value)) != 0;
  };
  // Other things than aclrtValueWrite write memory, too: a copy, a kernel.
  while (!reached()) {
    value_written.wait_for(lock, std::chrono::milliseconds(5));
    if (const int code = sim_device_failed()) return code;
  }
  return 0;
}

template <auto run>
int launch_value(const char* caller, void* address, uint64_t value, uint32_t mode, void* stream) {
  if (!address) return RT_INVALID(caller, "the address is null");
  sim_order_value(stream, address, run == wait_value);
  return sim::acl::launch<run>(stream, caller, Value{caller, address, value, mode});
}

}  // namespace

extern "C" {

SIM_API aclError aclrtValueWrite(void* address, uint64_t value, uint32_t flag, aclrtStream stream) {
  RT_INVALID_IF(flag, "flag %u; allowed: 0", flag);
  return launch_value<write_value>(__func__, address, value, 0, stream);
}

SIM_API aclError aclrtValueWait(void* address, uint64_t value, uint32_t flag, aclrtStream stream) {
  RT_INVALID_IF(flag > 3, "flag %u; allowed: 0 to 3", flag);
  return launch_value<wait_value>(__func__, address, value, flag, stream);
}

}  // extern "C"
