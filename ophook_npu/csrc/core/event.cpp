#include <algorithm>

#include "failure.h"
#include "stream.h"
#include "waits.h"

namespace sim {
namespace {

int not_an_event(const char* caller, void* handle) {
  const char* why = Handles<Event>::all().was(handle) ? ": it was destroyed before" : "";
  return sim_fail(kInvalidHandle, "%s: %p is not an event%s", caller, handle, why);
}

int resolve_event(const char* caller, void* handle, std::shared_ptr<Event>* out) {
  *out = Handles<Event>::all().find(handle);
  return *out ? int(kOk) : not_an_event(caller, handle);
}

struct RecordTask final : Task {
  explicit RecordTask(std::shared_ptr<Recording> what) : Task("event record"), recording(std::move(what)) {}
  ~RecordTask() override { recording->abandon(); }
  int run() override {
    recording->complete();
    return kOk;
  }
  bool runs_after_failure() const override { return true; }
  std::shared_ptr<Recording> records() const override { return recording; }
  std::shared_ptr<Recording> recording;
};

struct WaitTask final : Task {
  WaitTask(std::shared_ptr<Recording> what, int64_t timeout)
      : Task("event wait"), recording(std::move(what)), timeout_ms(timeout) {}
  int run() override {
    if (recording->wait(timeout_ms)) return kOk;
    if (timeout_ms >= 0)
      return sim_fail(kWaitTimeout, "the event was not recorded after %lld ms", (long long)timeout_ms);
    return sim_fail(kEventCaptured, "the event was recorded in a capture whose model was destroyed before a replay");
  }
  std::shared_ptr<Recording> waits_for() const override { return recording; }
  std::shared_ptr<Recording> recording;
  const int64_t timeout_ms;
};

// Waits, outside of models, for what replays that were launched before record.
struct WaitInsideTask final : Task {
  WaitInsideTask(std::shared_ptr<Event> which, uint64_t count)
      : Task("event wait"), event(std::move(which)), until(count) {}
  int run() override {
    std::unique_lock lock(event->mutex);
    event->changed.wait(lock, [this] { return event->came >= until; });
    return kOk;
  }
  std::shared_ptr<Event> event;
  const uint64_t until;
};

// Of an external event: it is set, waited for and reset when the stream gets there, in every replay of a model.
struct ExternalTask final : Task {
  enum Kind { kSet, kWait, kReset };
  ExternalTask(std::shared_ptr<Event> which, Kind what)
      : Task(what == kWait  ? "event wait"
             : what == kSet ? "event record"
                            : "event reset"),
        event(std::move(which)),
        kind(what) {}
  int run() override {
    std::unique_lock lock(event->mutex);
    if (kind == kWait) event->changed.wait(lock, [this] { return event->set; });
    else event->set = kind == kSet;
    if (kind == kSet && event->inside && replayed) ++event->came;
    lock.unlock();
    if (kind == kSet) event->changed.notify_all();
    return kOk;
  }
  bool runs_after_failure() const override { return kind != kWait; }
  bool waits_outside() const override { return kind == kWait; }
  void replay_launched() override {
    if (kind != kSet) return;
    std::lock_guard lock(event->mutex);
    replayed = true;
    ++event->expected;
  }
  void replay_failed() override {
    if (kind == kSet) run();
  }
  std::shared_ptr<Event> event;
  const Kind kind;
  std::atomic<bool> replayed{false};
};

// CANN's page on events: 65536 on Atlas A2, Atlas A3 and Ascend 950.
constexpr int kMaxEvents = 65536;
std::atomic<int> events_taken[kMaxDevices];
std::atomic<uint32_t> next_event{0};

}  // namespace

Event::~Event() {
  if (taken >= 0) --events_taken[taken];
}

void Recording::complete() {
  {
    std::lock_guard lock(mutex);
    time_us = now_us();
    done = true;
  }
  changed.notify_all();
}

void Recording::abandon() {
  {
    std::lock_guard lock(mutex);
    abandoned = true;
  }
  changed.notify_all();
}

bool Recording::wait(int64_t timeout_ms) {
  std::unique_lock lock(mutex);
  auto over = [this] { return done || abandoned; };
  if (timeout_ms < 0) changed.wait(lock, over);
  else changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), over);
  return done;
}

bool Recording::is_done() {
  std::lock_guard lock(mutex);
  return done;
}

bool Recording::is_over() {
  std::lock_guard lock(mutex);
  return done || abandoned;
}

}  // namespace sim

using namespace sim;

int sim_event_create(void** out) {
  *out = Handles<Event>::all().add(std::make_shared<Event>());
  return kOk;
}

int sim_event_create_external(void** out) {
  auto event = std::make_shared<Event>();
  event->external = true;
  *out = Handles<Event>::all().add(std::move(event));
  return kOk;
}

uint32_t sim_next_event_id() { return next_event++; }

int sim_event_id(void* handle, uint32_t* id) {
  FIND(Event, event, resolve_event, "aclrtGetEventId", handle);
  *id = event->id;
  return kOk;
}

int sim_event_take(const char* caller, void* handle) {
  int device = 0;
  FIND(Event, event, resolve_event, caller, handle);
  if (int code = require_device(caller, &device)) return code;
  if (++events_taken[device] > kMaxEvents) {
    --events_taken[device];
    return sim_fail(kNoEventResource, "%s: device %d has %d events; it can have no more", caller, device, kMaxEvents);
  }
  event->taken = device;
  return kOk;
}

// An event of aclrtCreateEvent takes one from its record until that is over.
int sim_events_left(uint32_t* count) {
  int device = 0;
  if (int code = require_device("aclrtGetEventAvailNum", &device)) return code;
  const auto pending = Handles<Event>::all().where([device](Event& event) {
    std::lock_guard lock(event.mutex);
    return event.taken < 0 && event.device == device && event.newest && !event.newest->is_over();
  });
  *count = uint32_t(kMaxEvents - events_taken[device] - int(pending.size()));
  return kOk;
}

int sim_event_destroy(void* handle) {
  return Handles<Event>::all().take(handle) ? int(kOk) : not_an_event("aclrtDestroyEvent", handle);
}

int sim_event_record(void* handle, void* on) {
  FIND(Event, event, resolve_event, "aclrtRecordEvent", handle);
  FIND(Stream, stream, resolve_here, "aclrtRecordEvent", on);
  if (event->external)
    if (int code = stream->launch(std::make_shared<ExternalTask>(event, ExternalTask::kSet))) return code;
  auto recording = std::make_shared<Recording>();
  std::shared_ptr<Model> model = stream->capturing();
  event->device = stream->device;
  if (event->external && model) return kOk;  // who waits for it waits for the replay, and joins no capture
  recording->captured = model != nullptr;
  if (order::on()) order::recorded(*stream, *recording, model.get());
  {
    std::lock_guard lock(event->mutex);
    event->newest = recording;
    event->model = model;
  }
  return stream->launch(std::make_shared<RecordTask>(std::move(recording)));
}

int sim_event_record_outside(void* handle, void* on) {
  FIND(Event, event, resolve_event, "aclrtRecordEventWithFlag", handle);
  FIND(Stream, stream, resolve_here, "aclrtRecordEventWithFlag", on);
  if (!stream->capturing())
    return sim_fail(kStreamNotCaptured,
                    "aclrtRecordEventWithFlag: ACL_EVENT_RECORD_EXTERNAL, and stream %d is not captured", stream->id);
  {
    std::lock_guard lock(event->mutex);
    event->external = true, event->inside = true;
  }
  return stream->launch(std::make_shared<ExternalTask>(std::move(event), ExternalTask::kSet));
}

int sim_event_wait_outside(void* on, void* handle) {
  FIND(Event, event, resolve_event, "aclrtStreamWaitEventWithFlag", handle);
  FIND(Stream, stream, resolve_here, "aclrtStreamWaitEventWithFlag", on);
  if (!stream->capturing())
    return sim_fail(kStreamNotCaptured,
                    "aclrtStreamWaitEventWithFlag: ACL_EVENT_WAIT_EXTERNAL, and stream %d is not captured", stream->id);
  event->external = true;
  return stream->launch(std::make_shared<ExternalTask>(std::move(event), ExternalTask::kWait));
}

int sim_event_wait(void* on, void* handle) { return sim_event_wait_for(on, handle, -1); }

int sim_event_wait_for(void* on, void* handle, int64_t timeout_ms) {
  FIND(Event, event, resolve_event, "aclrtStreamWaitEvent", handle);
  FIND(Stream, stream, resolve_here, "aclrtStreamWaitEvent", on);
  if (event->external && stream->capturing())
    return stream->launch(std::make_shared<ExternalTask>(std::move(event), ExternalTask::kWait));
  std::shared_ptr<Recording> recording;
  std::shared_ptr<Model> model;
  if (event->inside) {
    std::unique_lock lock(event->mutex);
    const uint64_t until = event->expected;
    lock.unlock();
    return stream->launch(std::make_shared<WaitInsideTask>(std::move(event), until));
  }
  {
    std::lock_guard lock(event->mutex);
    recording = event->newest;
    model = event->model.lock();
  }
  if (!recording) return kOk;
  std::shared_ptr<Model> capturing = stream->capturing();
  if (recording->captured && model && !model->ended) {
    if (stream.get() == sim_default_stream(stream->device))
      return sim_fail(kCaptureImplicit,
                      "aclrtStreamWaitEvent: the event is being captured; the default stream cannot be");
    const auto waited = [&] {
      if (order::on()) order::waits(*stream, *recording, model.get());
      stream->waited_for(*recording);
      return kOk;
    };
    if (capturing == model) return waited();
    if (!capturing && stream->join(model)) return waited();
    if (!model->ended) {
      model->broken = true;
      if (capturing) capturing->broken = true;
      return sim_fail(kCaptureConflict,
                      "aclrtStreamWaitEvent: the event and stream %d belong to two captures, of which "
                      "no model comes any more",
                      stream->id);
    }
  }
  if (recording->captured && !model && !recording->is_done())
    return sim_fail(kEventCaptured, "aclrtStreamWaitEvent: the model that the event was recorded in is gone");
  if (capturing) {
    if (recording->captured && recording->is_done()) return kOk;
    return sim_fail(kCaptureDependency,
                    "aclrtStreamWaitEvent: captured stream %d would depend on work outside the capture; allowed: an "
                    "event recorded in it, aclrtStreamWaitEventWithFlag with ACL_EVENT_WAIT_EXTERNAL",
                    stream->id);
  }
  if (order::on()) order::waits(*stream, *recording, nullptr);
  return stream->launch(std::make_shared<WaitTask>(std::move(recording), timeout_ms));
}

static int newest(const char* caller, void* handle, std::shared_ptr<Recording>* out, int* device) {
  FIND(Event, event, resolve_event, caller, handle);
  *device = event->device;
  std::lock_guard lock(event->mutex);
  if (event->newest && event->newest->captured && !event->newest->is_done())
    return sim_fail(kEventCaptured, "%s: the event was recorded in a capture that was not replayed yet", caller);
  *out = event->newest;
  return kOk;
}

static int failed(int device) { return device < 0 ? int(kOk) : failure::check(device); }

// Whether the replays that record it and were launched came there; waits for them.
static bool came(Event& event, int64_t timeout_ms) {
  std::unique_lock lock(event.mutex);
  const auto there = [&event, until = event.expected] { return event.came >= until; };
  if (timeout_ms < 0) event.changed.wait(lock, there);
  return event.changed.wait_for(lock, std::chrono::milliseconds(std::max<int64_t>(timeout_ms, 0)), there);
}

int sim_event_synchronize(void* handle, int64_t timeout_ms) {
  if (const auto event = Handles<Event>::all().find(handle); event && event->inside) {
    sim_count_host_wait();
    if (came(*event, timeout_ms)) return kOk;
    return sim_fail(kEventSyncTimeout, "aclrtSynchronizeEvent: not recorded after %lld ms", (long long)timeout_ms);
  }
  std::shared_ptr<Recording> recording;
  int device = -1;
  if (int code = newest("aclrtSynchronizeEvent", handle, &recording, &device)) return code;
  sim_count_host_wait();
  if (int code = failed(device)) return code;
  bool done = !recording;
  if (recording) {
    const schedule::HostWait wait(*recording);
    done = recording->wait(timeout_ms);
  }
  if (int code = failed(device)) return code;
  if (done && recording && order::on()) order::host_waited(*recording);
  if (done) return kOk;
  return sim_fail(kEventSyncTimeout, "aclrtSynchronizeEvent: not recorded after %lld ms", (long long)timeout_ms);
}

int sim_event_query(void* handle, int* done) {
  if (const auto event = Handles<Event>::all().find(handle); event && event->inside) {
    *done = came(*event, 0);
    return kOk;
  }
  std::shared_ptr<Recording> recording;
  int device = -1;
  if (int code = newest("aclrtQueryEventStatus", handle, &recording, &device)) return code;
  if (int code = failed(device)) return code;
  if (recording && !recording->is_done()) schedule::HostWait();
  *done = !recording || recording->is_done();
  if (*done && recording && order::on()) order::host_waited(*recording);
  return kOk;
}

int sim_event_reset(void* handle, void* on) {
  FIND(Event, event, resolve_event, "aclrtResetEvent", handle);
  if (event->external) {
    FIND(Stream, stream, resolve_here, "aclrtResetEvent", on);
    return stream->launch(std::make_shared<ExternalTask>(std::move(event), ExternalTask::kReset));
  }
  std::lock_guard lock(event->mutex);
  event->newest = nullptr;
  event->model.reset();
  return kOk;
}

int sim_event_time(void* handle, uint64_t* microseconds) {
  std::shared_ptr<Recording> recording;
  int device = -1;
  if (int code = newest("aclrtEventGetTimestamp", handle, &recording, &device)) return code;
  if (!recording || !recording->is_done())
    return sim_fail(kEventTimestampInvalid,
                    "the event has no time stamp: it was not recorded, or the stream is not there yet");
  std::lock_guard lock(recording->mutex);
  *microseconds = recording->time_us;
  return kOk;
}

int sim_event_elapsed(void* start, void* end, float* milliseconds) {
  uint64_t from = 0, to = 0;
  if (int code = sim_event_time(start, &from)) return code;
  if (int code = sim_event_time(end, &to)) return code;
  *milliseconds = float(double(int64_t(to - from)) / 1000.0);
  return kOk;
}
