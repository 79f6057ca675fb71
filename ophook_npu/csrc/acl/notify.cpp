// libascendcl: notifies, by which streams wait for each other: each wait takes one record. CANN's page "Notify
// management".
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "acl/acl.h"
#include "core/sim.h"

namespace sim::acl::notifies {
namespace {

struct Notify {
  uint32_t id;
  int device;
  std::mutex mutex;
  std::condition_variable recorded;
  bool set = false;
};
using Shared = std::shared_ptr<Notify>;

std::mutex table_mutex;
std::unordered_map<void*, Shared> table;
std::unordered_map<int, int> made;  // by device
uint32_t next_id = 0;

// Ascend 950: 65535; Atlas A2 and A3: 8192.
int most() {
  const sim_soc* soc = sim_current_soc();
  return soc && std::string_view(soc->name).starts_with("Ascend950") ? 65535 : 8192;
}

int find(const char* caller, aclrtNotify handle, Shared* out) {
  std::lock_guard lock(table_mutex);
  const auto found = table.find(handle);
  if (found == table.end()) return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a notify", caller, handle);
  *out = found->second;
  return ACL_SUCCESS;
}

struct Wait {
  Shared notify;
  uint32_t seconds;
};

int run_record(void* argument) {
  const Shared& notify = *static_cast<Shared*>(argument);
  {
    std::lock_guard lock(notify->mutex);
    notify->set = true;
  }
  notify->recorded.notify_one();
  return ACL_SUCCESS;
}

int run_wait(void* argument) {
  const auto& [notify, seconds] = *static_cast<Wait*>(argument);
  std::unique_lock lock(notify->mutex);
  const auto there = [&] { return notify->set; };
  if (!seconds) notify->recorded.wait(lock, there);
  else if (!notify->recorded.wait_for(lock, std::chrono::seconds(seconds), there))
    return sim_fail(ACL_ERROR_RT_WAIT_TIMEOUT, "aclrtWaitAndResetNotify: not recorded after %u s", seconds);
  notify->set = false;
  return ACL_SUCCESS;
}

template <typename T>
int launch(aclrtStream stream, const char* name, T what, sim_run run) {
  return sim_launch(stream, name, run, new T(std::move(what)), [](void* task) { delete static_cast<T*>(task); });
}

}  // namespace

extern "C" {

SIM_API aclError aclrtCreateNotify(aclrtNotify* out, uint64_t flag) {
  constexpr const char* kCaller = "aclrtCreateNotify";
  if (!out) return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: notify is null", kCaller);
  if (flag > 1)
    return sim_fail(ACL_ERROR_RT_PARAM_INVALID,
                    "%s: flag %llu; allowed: ACL_NOTIFY_DEFAULT (0), ACL_NOTIFY_DEVICE_USE_ONLY (1)", kCaller,
                    (unsigned long long)flag);
  int device = 0;
  if (int code = sim_get_device(&device)) return code;
  std::lock_guard lock(table_mutex);
  if (made[device] >= most())
    return sim_fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "%s: device %d has %d notifies; it can have no more", kCaller,
                    device, most());
  ++made[device];
  auto notify = std::make_shared<Notify>();
  notify->id = next_id++;
  notify->device = device;
  *out = notify.get();
  table.emplace(notify.get(), std::move(notify));
  return ACL_SUCCESS;
}

SIM_API aclError aclrtDestroyNotify(aclrtNotify handle) {
  Shared notify;
  if (int code = find("aclrtDestroyNotify", handle, &notify)) return code;
  std::lock_guard lock(table_mutex);
  if (table.erase(handle)) --made[notify->device];
  return ACL_SUCCESS;
}

SIM_API aclError aclrtRecordNotify(aclrtNotify handle, aclrtStream stream) {
  Shared notify;
  if (int code = find("aclrtRecordNotify", handle, &notify)) return code;
  sim_order_value(stream, handle, false);
  return launch(stream, "aclrtRecordNotify", notify, run_record);
}

SIM_API aclError aclrtWaitAndResetNotify(aclrtNotify handle, aclrtStream stream, uint32_t seconds) {
  Shared notify;
  if (int code = find("aclrtWaitAndResetNotify", handle, &notify)) return code;
  sim_order_value(stream, handle, true);
  return launch(stream, "aclrtWaitAndResetNotify", Wait{notify, seconds}, run_wait);
}

SIM_API aclError aclrtGetNotifyId(aclrtNotify handle, uint32_t* id) {
  Shared notify;
  if (!id) return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetNotifyId: notifyId is null");
  if (int code = find("aclrtGetNotifyId", handle, &notify)) return code;
  *id = notify->id;
  return ACL_SUCCESS;
}

SIM_API aclError aclrtNotifyBatchReset(aclrtNotify* handles, size_t count) {
  constexpr const char* kCaller = "aclrtNotifyBatchReset";
  if (!handles || !count)
    return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %s", kCaller, handles ? "num is 0" : "notifies is null");
  for (size_t i = 0; i < count; ++i) {
    Shared notify;
    if (int code = find(kCaller, handles[i], &notify)) return code;
    std::lock_guard lock(notify->mutex);
    notify->set = false;
  }
  return ACL_SUCCESS;
}

SIM_API aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  if (!pid) return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtDeviceGetBareTgid: pid is null");
  *pid = getpid();
  return ACL_SUCCESS;
}

}  // extern "C"
}  // namespace sim::acl::notifies
