// libascendcl: notifies, by which streams wait for each other: each wait takes one record. CANN's page "Notify
// management".
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "acl/acl.h"
#include "acl/shared.h"
#include "acl/tasks.h"
#include "core/failure_api.h"
#include "core/sim.h"

namespace sim::acl::notifies {
namespace {

struct Notify {
  uint32_t id;
  int device;
  std::mutex mutex;
  std::condition_variable recorded;
  std::atomic<uint32_t> own{0};
  std::shared_ptr<sim::acl::Shared> shared;  // null: this process's alone; written with the mutex held
  bool imported = false;
  std::atomic<uint32_t>& set() { return shared ? shared->page->set : own; }
};
using Shared = std::shared_ptr<Notify>;

std::mutex table_mutex;
std::unordered_map<void*, Shared> table;
std::unordered_map<int, int> notifies_made;  // by device
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

constexpr auto kLook = std::chrono::milliseconds(2);
constexpr size_t kKey = 65;

struct Wait {
  Shared notify;
  uint32_t seconds;
};

int run_record(void* argument) {
  const Shared& notify = *static_cast<Shared*>(argument);
  {
    std::lock_guard lock(notify->mutex);
    notify->set() = 1;
  }
  notify->recorded.notify_one();
  return ACL_SUCCESS;
}

int run_wait(void* argument) {
  const auto& [notify, seconds] = *static_cast<Wait*>(argument);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::unique_lock lock(notify->mutex);
  uint32_t one = 1;
  // Each record is for one wait. Another process wakes nobody here: its records are looked for.
  while (!notify->set().compare_exchange_strong(one, 0)) {
    one = 1;
    notify->recorded.wait_for(lock, kLook);
    if (const int code = sim_device_failed()) return code;
    if (seconds && !notify->set() && std::chrono::steady_clock::now() >= end)
      return sim_fail(ACL_ERROR_RT_WAIT_TIMEOUT, "aclrtWaitAndResetNotify: not recorded after %u s", seconds);
  }
  return ACL_SUCCESS;
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
  if (notifies_made[device] >= most())
    return sim_fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "%s: device %d has %d notifies; it can have no more", kCaller,
                    device, most());
  ++notifies_made[device];
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
  if (table.erase(handle) && !notify->imported) --notifies_made[notify->device];
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
    notify->set() = 0;
  }
  return ACL_SUCCESS;
}

// ---- between processes ----
SIM_API aclError aclrtNotifyGetExportKey(aclrtNotify handle, char* key, size_t length, uint64_t flags) {
  Shared notify;
  REQUIRE(key);
  if (length < kKey)
    return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: len is %zu; allowed: 65 or more", __func__, length);
  if (flags & ~uint64_t{2})
    return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flags 0x%llx; allowed: 0, 2", __func__, (unsigned long long)flags);
  if (int code = find(__func__, handle, &notify)) return code;
  std::lock_guard lock(notify->mutex);
  if (!notify->shared) {
    auto made = sim::acl::Shared::make(__func__, sim::acl::Kind::notify, flags != 0);
    if (!made) return ACL_ERROR_RT_MEMORY_ALLOCATION;
    made->page->set = notify->own.load();
    notify->shared = std::move(made);
  }
  snprintf(key, length, "%s", notify->shared->key().c_str());
  return ACL_SUCCESS;
}
SIM_API aclError aclrtNotifySetImportPid(aclrtNotify handle, int32_t* processes, size_t count) {
  Shared notify;
  REQUIRE(processes);
  if (!count) return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: num is 0", __func__);
  if (int code = find(__func__, handle, &notify)) return code;
  std::lock_guard lock(notify->mutex);
  if (!notify->shared || notify->imported)
    return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: this process has not exported the notify", __func__);
  return notify->shared->allow(__func__, processes, count);
}
SIM_API aclError aclrtNotifyImportByKey(aclrtNotify* out, const char* key, uint64_t flags) {
  REQUIRE(out);
  REQUIRE(key);
  if (flags & ~uint64_t{2})
    return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flags 0x%llx; allowed: 0, 2", __func__, (unsigned long long)flags);
  int device = 0;
  if (int code = sim_get_device(&device)) return code;
  auto shared = sim::acl::Shared::open(__func__, key, sim::acl::Kind::notify);
  if (!shared) return ACL_ERROR_RT_PARAM_INVALID;
  auto notify = std::make_shared<Notify>();
  std::lock_guard lock(table_mutex);
  notify->id = next_id++;
  notify->device = device;
  notify->shared = std::move(shared);
  notify->imported = true;
  *out = notify.get();
  table.emplace(notify.get(), std::move(notify));
  return ACL_SUCCESS;
}

SIM_API aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  if (!pid) return sim_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtDeviceGetBareTgid: pid is null");
  *pid = getpid();
  return ACL_SUCCESS;
}

}  // extern "C"
}  // namespace sim::acl::notifies
