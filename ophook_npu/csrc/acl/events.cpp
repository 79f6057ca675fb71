// libascendcl: events, also those that several processes have (ACL_EVENT_IPC). CANN's page "Event management".
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "acl/shared.h"
#include "acl/tasks.h"
#include "core/failure_api.h"
#include "core/handles.h"
#include "core/order_api.h"
#include "core/runtime.h"

namespace {

// An event in memory that processes share: a wait is for the records that were launched before it, whoever did.
struct SharedEvent {
  std::shared_ptr<sim::acl::Shared> shared;
  // What the check of order follows: an event of this process, recorded and waited for beside.
  std::once_flag once;
  void* ordered = nullptr;
  const uint32_t id = sim_next_event_id();

  explicit SharedEvent(std::shared_ptr<sim::acl::Shared> of) : shared(std::move(of)) {}
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;
  ~SharedEvent() {
    if (ordered) sim_event_destroy(ordered);
  }
};
using SharedEvents = sim::Handles<SharedEvent>;
struct SharedTask {
  std::shared_ptr<SharedEvent> event;
  uint64_t until;
};

constexpr uint32_t kIpc = 0x40, kExternal = 0x20;  // ACL_EVENT_IPC, ACL_EVENT_EXTERNAL: older headers lack them
constexpr uint32_t kLimited = ACL_EVENT_SYNC | kExternal;
constexpr uint32_t kEveryFlag = 0x7b;
constexpr auto kLook = std::chrono::milliseconds(1);  // between two looks at what another process may write

// Whether it came in time; a failure of the device ends it.
int wait(const sim::acl::Page& page, uint64_t until, int64_t timeout_ms, bool* came) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (page.came < until) {
    if (const int code = sim_device_failed()) return code;
    *came = timeout_ms < 0 || std::chrono::steady_clock::now() < end;
    if (!*came) return ACL_SUCCESS;
    std::this_thread::sleep_for(kLook);
  }
  *came = true;
  return ACL_SUCCESS;
}

int came(const SharedTask& record) {
  auto& done = record.event->shared->page->came;
  for (uint64_t now = done; now < record.until && !done.compare_exchange_weak(now, record.until);) {
  }
  return ACL_SUCCESS;
}

int wait_for(const SharedTask& task) {
  bool came = false;
  return wait(*task.event->shared->page, task.until, -1, &came);
}

int in_capture(const char* caller, aclrtStream stream) {
  const int code = sim_capture_refuses(caller, stream);
  if (code != ACL_ERROR_RT_STREAM_CAPTURED) return code;
  return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: within a capture, no event of ACL_EVENT_IPC", caller);
}

int record(const std::shared_ptr<SharedEvent>& event, aclrtStream stream) {
  if (int code = in_capture("aclrtRecordEvent", stream)) return code;
  if (sim_order_on()) {
    std::call_once(event->once, [&] { sim_event_create(&event->ordered); });
    if (int code = sim_event_record(event->ordered, stream)) return code;
  }
  sim::acl::Page& page = *event->shared->page;
  const uint64_t number = ++page.expected;
  const int code = sim::acl::launch<came>(stream, "event record", SharedTask{event, number});
  if (!code && sim_order_on()) sim_order_event(stream, event->shared->key().c_str(), number, false);
  return code;
}

int wait(const std::shared_ptr<SharedEvent>& event, aclrtStream stream) {
  if (int code = in_capture("aclrtStreamWaitEvent", stream)) return code;
  if (event->ordered)
    if (int code = sim_event_wait(stream, event->ordered)) return code;
  const uint64_t all = event->shared->page->expected;
  const int code = sim::acl::launch<wait_for>(stream, "event wait", SharedTask{event, all});
  if (!code && sim_order_on()) sim_order_event(stream, event->shared->key().c_str(), all, true);
  return code;
}

// Whether all that was recorded is done.
template <typename Status>
int query(aclrtEvent event, Status* status, Status complete, Status not_ready) {
  int done = 0;
  if (const auto shared = SharedEvents::all().find(event)) {
    const auto& page = *shared->shared->page;
    const uint64_t all = page.expected;
    done = page.came >= all;
    if (done && sim_order_on()) sim_order_event_came(shared->shared->key().c_str(), all);
  } else if (int code = sim_event_query(event, &done)) {
    return code;
  }
  *status = done ? complete : not_ready;
  return ACL_SUCCESS;
}

int synchronize(const char* caller, aclrtEvent event, int64_t timeout_ms) {
  const auto shared = SharedEvents::all().find(event);
  if (!shared) return sim_event_synchronize(event, timeout_ms);
  bool came = false;
  const uint64_t all = shared->shared->page->expected;
  if (int code = wait(*shared->shared->page, all, timeout_ms, &came))
    return sim_fail(code, "%s: a task of the device failed, and its context with it", caller);
  if (came && sim_order_on()) sim_order_event_came(shared->shared->key().c_str(), all);
  if (came) return shared->ordered ? sim_event_synchronize(shared->ordered, timeout_ms) : int(ACL_SUCCESS);
  return sim_fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "%s: not recorded after %lld ms", caller, (long long)timeout_ms);
}

int make(const char* caller, aclrtEvent* out, uint32_t flags) {
  if (!out) return sim::acl::missing(caller, "event");
  if (int code = sim_require_device(caller)) return code;
  if (flags & ~kEveryFlag) return RT_INVALID(caller, "flag 0x%x; allowed: those of ACL_EVENT_…, or several", flags);
  if (!(flags & kIpc)) {
    if (int code = flags & kExternal ? sim_event_create_external(out) : sim_event_create(out)) return code;
    const int code = flags & kLimited ? sim_event_take(caller, *out) : ACL_SUCCESS;
    if (code) sim_event_destroy(std::exchange(*out, nullptr));
    return code;
  }
  if (flags != kIpc) return RT_INVALID(caller, "flag 0x%x; ACL_EVENT_IPC goes with no other", flags);
  auto shared = sim::acl::Shared::make(caller, sim::acl::Kind::event, true);
  if (!shared) return ACL_ERROR_RT_MEMORY_ALLOCATION;
  *out = SharedEvents::all().add(std::make_shared<SharedEvent>(std::move(shared)));
  return ACL_SUCCESS;
}

int not_for_ipc(const char* caller) {
  return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: not of an event of ACL_EVENT_IPC", caller);
}

}  // namespace

extern "C" {

SIM_API aclError aclrtCreateEvent(aclrtEvent* out) { return make(__func__, out, 0); }
SIM_API aclError aclrtCreateEventWithFlag(aclrtEvent* out, uint32_t flags) { return make(__func__, out, flags); }
SIM_API aclError aclrtCreateEventExWithFlag(aclrtEvent* out, uint32_t flags) { return make(__func__, out, flags); }
SIM_API aclError aclrtDestroyEvent(aclrtEvent event) {
  return SharedEvents::all().take(event) ? ACL_SUCCESS : sim_event_destroy(event);
}
SIM_API aclError aclrtGetEventId(aclrtEvent event, uint32_t* id) {
  REQUIRE(id);
  const auto shared = SharedEvents::all().find(event);
  return shared ? (*id = shared->id, ACL_SUCCESS) : sim_event_id(event, id);
}
SIM_API aclError aclrtGetEventAvailNum(uint32_t* count) {
  REQUIRE(count);
  return sim_events_left(count);
}
SIM_API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  if (const auto shared = SharedEvents::all().find(event)) return record(shared, stream);
  return sim_event_record(event, stream);
}
SIM_API aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag) {
  if (!flag) return aclrtRecordEvent(event, stream);
  if (flag == 1) return sim_event_record_outside(event, stream);
  return RT_INVALID(__func__, "flag %u; allowed: 0, 1", flag);
}
SIM_API aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return SharedEvents::all().find(event) ? not_for_ipc(__func__) : sim_event_reset(event, stream);
}
SIM_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  if (const auto shared = SharedEvents::all().find(event)) return wait(shared, stream);
  return sim_event_wait(stream, event);
}
SIM_API aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t seconds) {
  RT_INVALID_IF(seconds < 0, "timeout %d", seconds);
  return seconds ? sim_event_wait_for(stream, event, int64_t{1000} * seconds) : aclrtStreamWaitEvent(stream, event);
}
SIM_API aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event, uint32_t seconds, uint32_t flag) {
  if (!flag)
    return seconds ? sim_event_wait_for(stream, event, int64_t{1000} * seconds) : aclrtStreamWaitEvent(stream, event);
  if (flag == 1 && !seconds) return sim_event_wait_outside(stream, event);
  return RT_INVALID(__func__, "flag %u, timeout %u; allowed: 0, or 1 without a timeout", flag, seconds);
}
SIM_API aclError aclrtSynchronizeEvent(aclrtEvent event) { return synchronize(__func__, event, -1); }
SIM_API aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout_ms) {
  return synchronize(__func__, event, timeout_ms);
}
SIM_API aclError aclrtEventElapsedTime(float* ms, aclrtEvent start, aclrtEvent end) {
  REQUIRE(ms);
  if (SharedEvents::all().find(start) || SharedEvents::all().find(end)) return not_for_ipc(__func__);
  return sim_event_elapsed(start, end, ms);
}
SIM_API aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* microseconds) {
  REQUIRE(microseconds);
  return SharedEvents::all().find(event) ? not_for_ipc(__func__) : sim_event_time(event, microseconds);
}
SIM_API aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  if (!status) return sim::acl::missing(__func__, "status", ACL_ERROR_INVALID_PARAM);
  if (SharedEvents::all().find(event)) return not_for_ipc(__func__);
  return query(event, status, ACL_EVENT_STATUS_COMPLETE, ACL_EVENT_STATUS_NOT_READY);
}
SIM_API aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  REQUIRE(status);
  return query(event, status, ACL_EVENT_RECORDED_STATUS_COMPLETE, ACL_EVENT_RECORDED_STATUS_NOT_READY);
}
SIM_API aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  REQUIRE(status);
  if (SharedEvents::all().find(event)) return not_for_ipc(__func__);
  return query(event, status, ACL_EVENT_WAIT_STATUS_COMPLETE, ACL_EVENT_WAIT_STATUS_NOT_READY);
}

SIM_API aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle* handle) {
  REQUIRE(handle);
  const auto shared = SharedEvents::all().find(event);
  RT_INVALID_IF(!shared, "%p is not an event of ACL_EVENT_IPC", event);
  memset(handle, 0, sizeof *handle);
  const std::string key = shared->shared->key();
  memcpy(handle->reserved, key.c_str(), key.size());
  return ACL_SUCCESS;
}
SIM_API aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent* event) {
  REQUIRE(event);
  const std::string key(handle.reserved, strnlen(handle.reserved, sizeof handle.reserved));
  auto shared = sim::acl::Shared::open(__func__, key, sim::acl::Kind::event);
  if (!shared) return ACL_ERROR_RT_PARAM_INVALID;
  *event = SharedEvents::all().add(std::make_shared<SharedEvent>(std::move(shared)));
  return ACL_SUCCESS;
}

}  // extern "C"
