#include "stream.h"

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "capture_mode.h"
#include "device.h"
#include "failure.h"
#include "fault.h"
#include "forever.h"
#include "log.h"
#include "memory.h"
#include "order_api.h"
#include "waits.h"

namespace sim {
namespace {

// Whatever a task throws is its failure: an exception that left a stream's thread would end the process.
int run_safely(Task& task) {
  try {
    return task.run();
  } catch (const abi::__forced_unwind&) {  // the thread itself is ended, which must go on
    throw;
  } catch (const std::exception& error) {
    return sim_fail(kAicoreException, "%s: %s", task.name, error.what());
  } catch (...) {
    return sim_fail(kAicoreException, "%s: an exception of an unknown type", task.name);
  }
}

struct Defaults {
  std::mutex mutex;
  std::shared_ptr<Stream> streams[kMaxDevices];
};
Defaults& defaults() { return sim::forever<Defaults>(); }
std::atomic<int32_t> next_id{0};
thread_local Stream* running = nullptr;  // on a stream's thread: that stream

// CANN's page on streams: 1984 on Atlas A2, Atlas A3 and Ascend 950.
constexpr int kMaxStreams = 1984;
std::atomic<int> made[kMaxDevices];

// Null, and a message, where the device or the process may have no more.
std::shared_ptr<Stream> make_stream(const char* caller, int device) {
  if (fault::on() && sim_fault_here("stream", "stream")) return nullptr;
  if (++made[device] > kMaxStreams) {
    --made[device];
    sim_fail(kNoStreamResource, "%s: device %d has %d streams, its default stream among them; it can have no more",
             caller, device, kMaxStreams);
    return nullptr;
  }
  try {
    auto stream = std::make_shared<Stream>(device);
    Handles<Stream>::all().add(stream);
    return stream;
  } catch (const std::system_error& error) {
    --made[device];
    sim_fail(kNoStreamResource, "%s: no thread for another stream: %s", caller, error.what());
    return nullptr;
  }
}

int captured(const char* caller, const Stream& stream) {
  return sim_fail(kStreamCaptured, "%s: stream %d is being captured", caller, stream.id);
}

void close(const std::shared_ptr<Stream>& stream, bool by_force = false) {
  stream->finish(by_force);
  Handles<Stream>::all().take(stream.get());
  --made[stream->device];
}

std::atomic<void (*)(const sim_failure*)> on_failure{nullptr};
thread_local uint32_t last_task = 0;

struct CallTask final : Task {
  CallTask(const char* task_name, const sim_about* about_, sim_run run_, void* argument_, sim_drop drop_,
           bool later_ = false)
      : Task(task_name), about(about_), run_function(run_), argument(argument_), drop(drop_), later(later_) {}
  ~CallTask() override {
    if (drop) drop(argument);
  }
  int run() override {
    if (fault::on()) [[unlikely]]
      return fault::run_task(*this, [](Task& task) { return static_cast<CallTask&>(task).run_itself(); });
    return run_itself();
  }
  int run_itself() {
    if (clock) {
      order::host_reached(*clock);
      if (running) running->host_function = this;
    }
    const MemoryUse use;
    if (later && order::on() && running) {
      running->telling = this;
      const int code = run_function(argument);
      running->telling = nullptr;
      return code;
    }
    return run_function(argument);
  }
  bool tells_later() const override { return later; }
  sim_task_kind task_kind() const override { return about ? about->kind : sim_task_other; }
  void tell(sim_listener* listener) const override {
    if (about && about->tell) about->tell(argument, listener);
  }
  const sim_about* about;
  sim_run run_function;
  void* argument;
  sim_drop drop;
  const bool later;
};

}  // namespace

std::shared_ptr<Task> make_call(const char* name, sim_run run, void* argument, sim_drop drop) {
  return std::make_shared<CallTask>(name, nullptr, run, argument, drop);
}

Stream::Stream(int on_device) : device(on_device), id(next_id.fetch_add(1)), thread_([this] { work(); }) {}

Stream::~Stream() {
  if (thread_.joinable()) finish();
}

void Stream::finish(bool by_force) {
  if (by_force) abort(true);
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_arrived_.notify_one();
  const schedule::HostWait wait(*this);
  thread_.join();
  if (order::on()) order::ended(*this, !by_force);
}

bool Stream::runs_here() const { return running == this; }

Stream* Stream::here() { return running; }

void Stream::work() {
  pthread_setname_np(pthread_self(), ("npu-stream-" + std::to_string(id)).substr(0, 15).c_str());
  sim_set_device(device);
  running = this;
  std::deque<std::shared_ptr<Task>> batch;
  std::unique_lock lock(mutex_);
  while (true) {
    while (queue_.empty() && !stop_) {
      sleeping_ = true;
      work_arrived_.wait(lock);
      sleeping_ = false;
    }
    if (queue_.empty()) return;
    batch.swap(queue_);
    while (!batch.empty()) {
      const bool failed_before = (failure_ != kOk && stop_on_failure) || failure::code(device) != kOk;
      const uint64_t aborted = aborted_, begun = begun_;
      lock.unlock();
      {
        std::shared_ptr<Task> task = std::move(batch.front());
        batch.pop_front();
        if (schedule::on()) schedule::turn(*this);
        runs = task.get();
        const bool dropped = task->nth <= aborted && task->nth != begun;
        const bool skip = (failed_before || dropped) && !task->runs_after_failure();
        const int code = skip         ? int(kOk)
                         : observer() ? run_observed(*task, task->launched, kNoModel, run_safely)
                                      : run_safely(*task);
        if (!skip) count_task(code != kOk);
        if (code != kOk) {
          const char* reason = sim_error_message();
          const std::string text = reason ? reason : std::string(task->name) + " failed on the device";
          if (auto* tell_of = on_failure.load()) {
            const sim_failure told{task->nth, uint32_t(id), task->by_thread, uint32_t(device), code};
            tell_of(&told);
          }
          {
            std::lock_guard guard(mutex_);
            if (failure_ == kOk) failure_ = code, failure_text_ = text;
          }
          failure::left(device, code, text);
        }
        host_function = nullptr, runs = nullptr;
        ran = task->count;  // before it gives back what it held
      }
      if (schedule::on()) schedule::ran(*this);
      lock.lock();
      ++completed_;
      if (completed_ >= awaited_) awaited_ = kNobody, work_done_.notify_all();
    }
  }
}

int Stream::launch(std::shared_ptr<Task> task) {
  bool queued = false;
  int code = failure::check(device);
  if (code) return code;
  if (order::on()) order::called();
  if (schedule::on() && !capturing()) schedule::numbered(*this, *task);
  const std::shared_ptr<Task> telling = order::on() && task->tells_later() ? task : nullptr;
  if (observer()) [[unlikely]] {
    const std::shared_ptr<Task> told = task;
    told->launched = launch_now();
    code = put(std::move(task), &queued);
    tell_launched(*told);
  } else {
    code = put(std::move(task), &queued);
  }
  if (queued && schedule::on()) schedule::settle();
  if (queued && telling) order::ran(*this, *telling);
  return queued && synchronous() ? synchronize(-1) : code;
}

int Stream::put(std::shared_ptr<Task> task, bool* queued) {
  bool wake;
  {
    std::lock_guard lock(mutex_);
    if (Model* model = capture_.model.get()) {
      std::lock_guard model_lock(model->mutex);
      if (!model->ended) {
        if (capture_.group) capture_.group->positions.push_back(model->tasks.size());
        capture_.last = task->records();
        if (order::on()) order::captured(*model, *this, *task);
        task->line = id;
        model->tasks.push_back(std::move(task));
        return kOk;
      }
    }
    if (persistent) {
      kept_.push_back(std::move(task));
      return kOk;
    }
    if (updating_) {
      updates_.push_back(std::move(task));
      return kOk;
    }
    // Its own tasks may still launch: what they launch is work that it has to finish.
    if (stop_ && !runs_here()) return sim_fail(kInvalidHandle, "%s: stream %d was destroyed", task->name, id);
    if (order::on()) order::launched(*this, *task);
    if (schedule::on()) schedule::launched(*this, *task);
    last_task = task->nth = uint32_t(++submitted_);
    task->by_thread = this_thread();
    queue_.push_back(std::move(task));
    wake = sleeping_;
  }
  if (wake) work_arrived_.notify_one();
  *queued = true;
  return kOk;
}

void Stream::abort(bool first_has_begun) {
  std::lock_guard lock(mutex_);
  if (completed_ == submitted_) return;
  aborted_ = submitted_, begun_ = first_has_begun ? completed_ + 1 : 0;
  failure_ = kStreamAbort;
  failure_text_ = "stream " + std::to_string(id) + " was aborted";
}

std::vector<std::shared_ptr<Task>> Stream::take_kept() {
  std::lock_guard lock(mutex_);
  return std::move(kept_);
}

bool Stream::begin_group() {
  std::lock_guard lock(mutex_);
  Capture* capture = this->capture();
  if (!capture || capture->group) return false;
  capture->group = std::make_shared<TaskGroup>();
  capture->group->model = capture->model;
  return true;
}

std::shared_ptr<TaskGroup> Stream::end_group() {
  std::lock_guard lock(mutex_);
  Capture* capture = this->capture();
  if (!capture || !capture->group) return nullptr;
  std::lock_guard model_lock(capture->model->mutex);
  capture->model->groups.push_back(capture->group);
  return std::move(capture->group);
}

bool Stream::begin_update(std::shared_ptr<TaskGroup> group) {
  std::lock_guard lock(mutex_);
  if (capture() || updating_) return false;
  updating_ = std::move(group);
  return true;
}

std::pair<std::shared_ptr<TaskGroup>, std::vector<std::shared_ptr<Task>>> Stream::end_update() {
  std::lock_guard lock(mutex_);
  return {std::move(updating_), std::move(updates_)};
}

bool Stream::reached(uint64_t target) {
  if (completed_ >= target) return true;
  awaited_ = std::min(awaited_, target);
  return false;
}

int Stream::synchronize(int64_t timeout_ms) {
  if (runs_here()) return sim_fail(kInvalidParam, "a task on a stream's own thread may not synchronize that stream");
  if (int code = failure::check(device)) return code;
  const schedule::HostWait wait(*this);
  std::unique_lock lock(mutex_);
  const uint64_t target = submitted_, drained = drained_;
  auto over = [&] { return reached(target) || failure::code(device) != kOk; };
  bool done = true;
  if (timeout_ms < 0) {
    work_done_.wait(lock, over);
  } else {
    done = work_done_.wait_for(lock, std::chrono::milliseconds(timeout_ms), over);
  }
  if (!done)
    return sim_fail(kStreamSyncTimeout, "stream %d: work was not done after %lld ms", id, (long long)timeout_ms);
  if (int code = failure::check(device)) return code;
  if (drained_ != drained) return sim_fail(kDeviceTaskAbort, "stream %d: the device's tasks were aborted", id);
  if (order::on()) order::host_waited(*this);
  if (failure_ == kOk) return kOk;
  int code = failure_;
  failure_ = kOk;
  return sim_fail(code, "%s", failure_text_.c_str());
}

int Stream::drain(int64_t timeout_ms) {
  const schedule::HostWait wait(*this);
  std::unique_lock lock(mutex_);
  auto over = [this, target = submitted_] { return reached(target); };
  bool done = true;
  if (timeout_ms > 0) done = work_done_.wait_for(lock, std::chrono::milliseconds(timeout_ms), over);
  else work_done_.wait(lock, over);
  ++drained_;  // who synchronizes may see the device when it is whole again
  failure_ = kOk;
  return done ? kOk : kStreamSyncTimeout;
}

void Stream::wake() {
  std::lock_guard lock(mutex_);
  work_done_.notify_all();
}

bool Stream::comes_to_end(int64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  const uint64_t target = submitted_;
  return work_done_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                             [&] { return reached(target) || failure::code(device) != kOk; });
}

bool Stream::idle() {
  std::lock_guard lock(mutex_);
  return completed_ == submitted_;
}

static std::shared_ptr<Stream> default_stream(const char* caller, int device) {
  std::lock_guard lock(defaults().mutex);
  std::shared_ptr<Stream>& stream = defaults().streams[device];
  if (!stream && (stream = make_stream(caller, device))) stream->first = true;
  return stream;
}

int resolve(const char* caller, void* handle, std::shared_ptr<Stream>* out) {
  if (handle) {
    *out = Handles<Stream>::all().find(handle);
    if (!*out || ((*out)->closing && !(*out)->runs_here()))
      return sim_fail(kInvalidHandle, "%s: %p is not a stream", caller, handle);
    return kOk;
  }
  int device = 0;
  if (int code = require_device(caller, &device)) return code;
  *out = default_stream(caller, device);
  return *out ? kOk : kNoStreamResource;
}

int resolve_here(const char* caller, void* handle, std::shared_ptr<Stream>* out) {
  if (int code = resolve(caller, handle, out)) return code;
  const Stream& stream = **out;
  const int device = own_device();
  if (!handle || device < 0 || (device == stream.device && (stream.first || stream.context == sim_used_context())))
    return kOk;
  return sim_fail(kStreamContext, "%s: stream %d is of %s on device %d; the calling thread's is %s on device %d",
                  caller, stream.id, stream.context ? "a context that the program made" : "the default context",
                  stream.device, sim_used_context() ? "one that the program made" : "the default context", device);
}

int drop_streams(int device) {
  if (running && running->device == device)
    return sim_fail(kInvalidParam, "aclrtResetDevice: a task on device %d may not reset that device", device);
  {
    std::lock_guard lock(defaults().mutex);
    defaults().streams[device] = nullptr;
  }
  auto doomed = Handles<Stream>::all().where(
      [device](Stream& stream) { return stream.device == device && !stream.closing.exchange(true); });
  for (auto& stream : doomed) close(stream);
  capture_mode::reset(device);
  return kOk;
}

}  // namespace sim

using namespace sim;

void* sim_default_stream(int device) {
  if (device < 0 || device >= sim_device_count()) return nullptr;
  return default_stream("the default stream", device).get();
}

int sim_stream_create(void** out) {
  int device = 0;
  if (int code = require_device("aclrtCreateStream", &device)) return code;
  auto stream = make_stream("aclrtCreateStream", device);
  if (!stream) return kNoStreamResource;
  stream->context = sim_used_context();
  *out = stream.get();
  return kOk;
}

int sim_stream_create_persistent(void** out) {
  if (int code = sim_stream_create(out)) return code;
  Handles<Stream>::all().find(*out)->persistent = true;
  return kOk;
}

int sim_stream_clean(void* handle) {
  FIND(Stream, stream, resolve, "aclrtPersistentTaskClean", handle);
  if (!stream->persistent)
    return sim_fail(kInvalidParam, "aclrtPersistentTaskClean: stream %d is not of ACL_STREAM_PERSISTENT", stream->id);
  stream->take_kept();
  return kOk;
}

int sim_stream_abort(void* handle) {
  FIND(Stream, stream, resolve, "aclrtStreamAbort", handle);
  if (stream->capturing()) return captured("aclrtStreamAbort", *stream);
  stream->abort();
  return kOk;
}

int sim_streams_left(uint32_t* count) {
  int device = 0;
  if (int code = require_device("aclrtGetStreamAvailableNum", &device)) return code;
  *count = uint32_t(kMaxStreams - made[device]);
  return kOk;
}

void sim_on_failure(void (*told)(const sim_failure*)) { on_failure = told; }
uint32_t sim_last_task(void) { return last_task; }

static int destroy(void* handle, bool by_force) {
  std::shared_ptr<Stream> stream;
  if (!handle) return sim_fail(kInvalidParam, "aclrtDestroyStream: null stream");
  if (int code = resolve_here("aclrtDestroyStream", handle, &stream)) return code;
  if (stream->capturing()) return captured("aclrtDestroyStream", *stream);
  if (stream->runs_here())
    return sim_fail(kInvalidParam, "aclrtDestroyStream: a task on a stream's own thread may not destroy that stream");
  {
    std::lock_guard lock(defaults().mutex);
    if (defaults().streams[stream->device] == stream)
      return sim_fail(kInvalidParam, "aclrtDestroyStream: the default stream goes with its device");
  }
  if (stream->closing.exchange(true)) return sim_fail(kInvalidHandle, "aclrtDestroyStream: %p is not a stream", handle);
  close(stream, by_force);
  return kOk;
}
int sim_stream_destroy(void* handle) { return destroy(handle, false); }
int sim_stream_destroy_by_force(void* handle) { return destroy(handle, true); }

int sim_stream_synchronize(void* handle, int64_t timeout_ms) {
  FIND(Stream, stream, resolve, "aclrtSynchronizeStream", handle);
  if (stream->capturing()) return captured("aclrtSynchronizeStream", *stream);
  sim_count_host_wait();
  return stream->synchronize(timeout_ms);
}

int sim_synchronize_device(int64_t timeout_ms) {
  int device = 0;
  if (int code = require_device("aclrtSynchronizeDevice", &device)) return code;
  sim_count_host_wait();
  int first = kOk;
  std::string reason;
  auto streams = Handles<Stream>::all().where([device](Stream& each) { return each.device == device; });
  std::sort(streams.begin(), streams.end(), [](const auto& one, const auto& other) { return one->id < other->id; });
  for (auto& stream : streams) {
    if (stream->capturing()) return captured("aclrtSynchronizeDevice", *stream);
    int code = stream->synchronize(timeout_ms);
    if (code != kOk && first == kOk) {
      first = code;
      const char* text = sim_error_message();
      reason = text ? text : "";
    }
  }
  return first == kOk ? int(kOk) : sim_fail(first, "%s", reason.c_str());
}

int sim_stream_query(void* handle, int* done) {
  FIND(Stream, stream, resolve, "aclrtStreamQuery", handle);
  if (stream->capturing()) return captured("aclrtStreamQuery", *stream);
  if (int code = failure::check(stream->device)) return code;
  if (schedule::on() && !stream->idle()) schedule::HostWait();
  *done = stream->idle();
  if (*done && order::on()) order::host_waited(*stream);
  return kOk;
}

int sim_stream_id(void* handle, int32_t* id) {
  std::shared_ptr<Stream> stream;
  if (int code = resolve("aclrtStreamGetId", handle, &stream)) return line_id(handle, id) ? code : int(kOk);
  *id = stream->id;
  return kOk;
}

int sim_stream_stop_on_failure(void* handle, int on) {
  FIND(Stream, stream, resolve_here, "aclrtSetStreamFailureMode", handle);
  if (!on && stream->stop_on_failure)
    return sim_fail(kFeatureNotSupported, "aclrtSetStreamFailureMode: stream %d stops on failure and cannot go back",
                    stream->id);
  if (!on) return kOk;
  stream->stop_on_failure = true;
  failure::stop_on_failure(stream->device);
  return kOk;
}

int sim_stream_device(void* handle, int* device) {
  FIND(Stream, stream, resolve, "stream", handle);
  *device = stream->device;
  return kOk;
}

int sim_launch(void* handle, const char* name, sim_run run, void* argument, sim_drop drop) {
  return sim_launch_about(handle, name, nullptr, run, argument, drop);
}

static int launch_call(void* handle, const char* name, const sim_about* about, sim_run run, void* argument,
                       sim_drop drop, bool later) {
  std::shared_ptr<Stream> stream;
  int code = fault::on() ? sim_fault_call(name) : int(kOk);
  if (!code) code = resolve_here(name, handle, &stream);
  if (code) {
    if (drop) drop(argument);
    return code;
  }
  sim_log_task(name, stream->id, stream->device);
  return stream->launch(std::make_shared<CallTask>(name, about, run, argument, drop, later));
}

int sim_launch_telling_later(void* stream, const char* name, sim_run run, void* argument, sim_drop drop) {
  return launch_call(stream, name, nullptr, run, argument, drop, true);
}

int sim_launch_about(void* stream, const char* name, const sim_about* about, sim_run run, void* argument,
                     sim_drop drop) {
  return launch_call(stream, name, about, run, argument, drop, false);
}
