// libascendcl: notifies, by which streams wait for each other: each wait takes one record. CANN's page "Notify
// management".
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "acl/shared.h"
#include "acl/tasks.h"
#include "core/failure_api.h"

namespace sim::acl::notifies {
namespace {

struct Notify {
  static constexpr const char* kKind = "a notify";
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

std::mutex made_mutex;
std::unordered_map<int, int> notifies_made;  // by device
std::atomic<uint32_t> next_id{0};

// Ascend 950: 65535; Atlas A2 and A3: 8192.
int most() { return on("Ascend950") ? 65535 : 8192; }

aclrtNotify made(int device, std::shared_ptr<acl::Shared> imported) {
  auto notify = std::make_shared<Notify>();
  notify->id = next_id++;
  notify->device = device;
  notify->imported = imported != nullptr;
  notify->shared = std::move(imported);
  return Handles<Notify>::all().add(std::move(notify));
}

constexpr auto kLook = std::chrono::milliseconds(2);
constexpr size_t kKey = 65;

struct Wait {
  Shared notify;
  uint32_t seconds;
};

int run_record(const Shared& notify) {
  {
    std::lock_guard lock(notify->mutex);
    notify->set() = 1;
  }
  notify->recorded.notify_one();
  return ACL_SUCCESS;
}

int run_wait(const Wait& wait) {
  const auto& [notify, seconds] = wait;
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
  RT_INVALID_IF(!out, "notify is null");
  RT_INVALID_IF(flag > 1, "flag %llu; allowed: ACL_NOTIFY_DEFAULT (0), ACL_NOTIFY_DEVICE_USE_ONLY (1)",
                (unsigned long long)flag);
  int device = 0;
  if (int code = sim_get_device(&device)) return code;
  std::lock_guard lock(made_mutex);
  if (notifies_made[device] >= most())
    return sim_fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "%s: device %d has %d notifies; it can have no more", __func__,
                    device, most());
  ++notifies_made[device];
  *out = made(device, nullptr);
  return ACL_SUCCESS;
}

SIM_API aclError aclrtDestroyNotify(aclrtNotify handle) {
  FIND(Notify, notify, end_handle, __func__, handle);
  std::lock_guard lock(made_mutex);
  if (!notify->imported) --notifies_made[notify->device];
  return ACL_SUCCESS;
}

SIM_API aclError aclrtRecordNotify(aclrtNotify handle, aclrtStream stream) {
  FIND(Notify, notify, find_handle, __func__, handle);
  sim_order_value(stream, handle, false);
  return launch<run_record>(stream, "aclrtRecordNotify", notify);
}

SIM_API aclError aclrtWaitAndResetNotify(aclrtNotify handle, aclrtStream stream, uint32_t seconds) {
  FIND(Notify, notify, find_handle, __func__, handle);
  sim_order_value(stream, handle, true);
  return launch<run_wait>(stream, "aclrtWaitAndResetNotify", Wait{notify, seconds});
}

SIM_API aclError aclrtGetNotifyId(aclrtNotify handle, uint32_t* id) {
  RT_INVALID_IF(!id, "notifyId is null");
  FIND(Notify, notify, find_handle, __func__, handle);
  *id = notify->id;
  return ACL_SUCCESS;
}

SIM_API aclError aclrtNotifyBatchReset(aclrtNotify* handles, size_t count) {
  constexpr const char* kCaller = "aclrtNotifyBatchReset";
  if (!handles || !count) return RT_INVALID(kCaller, "%s", handles ? "num is 0" : "notifies is null");
  for (size_t i = 0; i < count; ++i) {
    FIND(Notify, notify, find_handle, kCaller, handles[i]);
    std::lock_guard lock(notify->mutex);
    notify->set() = 0;
  }
  return ACL_SUCCESS;
}

// ---- between processes ----
SIM_API aclError aclrtNotifyGetExportKey(aclrtNotify handle, char* key, size_t length, uint64_t flags) {
  REQUIRE(key);
  RT_INVALID_IF(length < kKey, "len is %zu; allowed: 65 or more", length);
  RT_INVALID_IF(flags & ~uint64_t{2}, "flags 0x%llx; allowed: 0, 2", (unsigned long long)flags);
  FIND(Notify, notify, find_handle, __func__, handle);
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
  REQUIRE(processes);
  RT_INVALID_IF(!count, "num is 0");
  FIND(Notify, notify, find_handle, __func__, handle);
  std::lock_guard lock(notify->mutex);
  RT_INVALID_IF(!notify->shared || notify->imported, "this process has not exported the notify");
  return notify->shared->allow(__func__, processes, count);
}
SIM_API aclError aclrtNotifyImportByKey(aclrtNotify* out, const char* key, uint64_t flags) {
  REQUIRE(out, key);
  RT_INVALID_IF(flags & ~uint64_t{2}, "flags 0x%llx; allowed: 0, 2", (unsigned long long)flags);
  int device = 0;
  if (int code = sim_get_device(&device)) return code;
  auto shared = sim::acl::Shared::open(__func__, key, sim::acl::Kind::notify);
  if (!shared) return ACL_ERROR_RT_PARAM_INVALID;
  *out = made(device, std::move(shared));
  return ACL_SUCCESS;
}

SIM_API aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  RT_INVALID_IF(!pid, "pid is null");
  *pid = getpid();
  return ACL_SUCCESS;
}

}  // extern "C"
}  // namespace sim::acl::notifies
