#include "stream.h"

#include <cxxabi.h>
#include <pthread.h>

#include <algorithm>
#include <exception>

#include "device.h"
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

constexpr uint64_t kStreamMagic = 0x6d61657274736d73;

// Never destroyed: stream threads may outlive static destructors at process exit.
struct Registry {
  std::mutex mutex;
  std::unordered_set<Stream*> streams;
  Stream* defaults[kMaxDevices] = {};
};
Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}
std::atomic<int32_t> next_id{0};

struct CallTask final : Task {
  CallTask(const char* task_name, sim_run run_, void* argument_, sim_drop drop_)
      : Task(task_name), run_function(run_), argument(argument_), drop(drop_) {}
  ~CallTask() override {
    if (drop) drop(argument);
  }
  int run() override { return run_function(argument); }
  sim_run run_function;
  void* argument;
  sim_drop drop;
};

}  // namespace

Stream::Stream(int on_device)
    : magic(kStreamMagic), device(on_device), id(next_id.fetch_add(1)), thread_([this] { work(); }) {}

Stream::~Stream() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_arrived_.notify_one();
  thread_.join();
  const_cast<uint64_t&>(magic) = 0;
}

void Stream::work() {
  pthread_setname_np(pthread_self(), ("npu-stream-" + std::to_string(id)).substr(0, 15).c_str());
  sim_set_device(device);
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
      const bool failed_before = failure_ != kOk && stop_on_failure;
      lock.unlock();
      {
        std::shared_ptr<Task> task = std::move(batch.front());
        batch.pop_front();
        const bool skip = failed_before && !task->runs_after_failure();
        const int code = skip ? int(kOk) : run_safely(*task);
        if (!skip) count_task(code != kOk);
        if (code != kOk) {
          const char* reason = sim_error_message();
          std::lock_guard guard(mutex_);
          if (failure_ == kOk) {
            failure_ = code;
            failure_text_ = reason ? reason : std::string(task->name) + " failed on the device";
          }
        }
      }
      lock.lock();
      ++completed_;
      if (waiters_) work_done_.notify_all();
    }
  }
}

int Stream::launch(std::shared_ptr<Task> task) {
  if (Model* model = capture.load(std::memory_order_acquire)) {
    std::lock_guard lock(model->mutex);
    model->tasks.push_back(std::move(task));
    return kOk;
  }
  bool wake;
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
    ++submitted_;
    wake = sleeping_;
  }
  if (wake) work_arrived_.notify_one();
  return synchronous() ? synchronize(-1) : int(kOk);
}

int Stream::synchronize(int64_t timeout_ms) {
  if (std::this_thread::get_id() == thread_.get_id())
    return sim_fail(kInvalidParam, "a task on a stream's own thread may not synchronize that stream");
  std::unique_lock lock(mutex_);
  const uint64_t target = submitted_;
  ++waiters_;
  auto reached = [&] { return completed_ >= target; };
  bool done = true;
  if (timeout_ms < 0) {
    work_done_.wait(lock, reached);
  } else {
    done = work_done_.wait_for(lock, std::chrono::milliseconds(timeout_ms), reached);
  }
  --waiters_;
  if (!done)
    return sim_fail(kStreamSyncTimeout, "stream %d: work was not done after %lld ms", id, (long long)timeout_ms);
  if (failure_ == kOk) return kOk;
  int code = failure_;
  failure_ = kOk;
  return sim_fail(code, "%s", failure_text_.c_str());
}

bool Stream::idle() {
  std::lock_guard lock(mutex_);
  return completed_ == submitted_;
}

int resolve(const char* caller, void* handle, Stream** out) {
  if (handle) {
    auto stream = static_cast<Stream*>(handle);
    if (stream->magic != kStreamMagic) return sim_fail(kInvalidHandle, "%s: %p is not a stream", caller, handle);
    *out = stream;
    return kOk;
  }
  int device = 0;
  if (int code = require_device(caller, &device)) return code;
  *out = static_cast<Stream*>(sim_default_stream(device));
  return kOk;
}

void drop_streams(int device) {
  std::vector<Stream*> doomed;
  {
    std::lock_guard lock(registry().mutex);
    for (Stream* stream : registry().streams)
      if (stream->device == device) doomed.push_back(stream);
    for (Stream* stream : doomed) registry().streams.erase(stream);
    registry().defaults[device] = nullptr;
  }
  for (Stream* stream : doomed) delete stream;
}

}  // namespace sim

using namespace sim;

void* sim_default_stream(int device) {
  if (device < 0 || device >= sim_device_count()) return nullptr;
  std::lock_guard lock(registry().mutex);
  Stream*& stream = registry().defaults[device];
  if (!stream) registry().streams.insert(stream = new Stream(device));
  return stream;
}

int sim_stream_create(void** out) {
  int device = 0;
  if (int code = require_device("aclrtCreateStream", &device)) return code;
  auto stream = new Stream(device);
  std::lock_guard lock(registry().mutex);
  registry().streams.insert(stream);
  *out = stream;
  return kOk;
}

int sim_stream_destroy(void* handle) {
  Stream* stream = nullptr;
  if (!handle) return sim_fail(kInvalidParam, "aclrtDestroyStream: null stream");
  if (int code = resolve("aclrtDestroyStream", handle, &stream)) return code;
  if (stream->capture) return sim_fail(kStreamCaptured, "aclrtDestroyStream: stream %d is being captured", stream->id);
  {
    std::lock_guard lock(registry().mutex);
    registry().streams.erase(stream);
  }
  delete stream;
  return kOk;
}

int sim_stream_synchronize(void* handle, int64_t timeout_ms) {
  Stream* stream = nullptr;
  if (int code = resolve("aclrtSynchronizeStream", handle, &stream)) return code;
  if (stream->capture)
    return sim_fail(kStreamCaptured, "aclrtSynchronizeStream: stream %d is being captured", stream->id);
  sim_count_host_wait();
  return stream->synchronize(timeout_ms);
}

int sim_synchronize_device(int64_t timeout_ms) {
  int device = 0;
  if (int code = require_device("aclrtSynchronizeDevice", &device)) return code;
  std::vector<Stream*> streams;
  {
    std::lock_guard lock(registry().mutex);
    for (Stream* stream : registry().streams)
      if (stream->device == device) streams.push_back(stream);
  }
  sim_count_host_wait();
  int first = kOk;
  std::string reason;
  for (Stream* stream : streams) {
    if (stream->capture)
      return sim_fail(kStreamCaptured, "aclrtSynchronizeDevice: stream %d is being captured", stream->id);
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
  Stream* stream = nullptr;
  if (int code = resolve("aclrtStreamQuery", handle, &stream)) return code;
  if (stream->capture) return sim_fail(kStreamCaptured, "aclrtStreamQuery: stream %d is being captured", stream->id);
  *done = stream->idle();
  return kOk;
}

int sim_stream_id(void* handle, int32_t* id) {
  Stream* stream = nullptr;
  if (int code = resolve("aclrtStreamGetId", handle, &stream)) return code;
  *id = stream->id;
  return kOk;
}

int sim_stream_stop_on_failure(void* handle, int on) {
  Stream* stream = nullptr;
  if (int code = resolve("aclrtSetStreamFailureMode", handle, &stream)) return code;
  stream->stop_on_failure = on != 0;
  return kOk;
}

int sim_stream_device(void* handle, int* device) {
  Stream* stream = nullptr;
  if (int code = resolve("stream", handle, &stream)) return code;
  *device = stream->device;
  return kOk;
}

int sim_launch(void* handle, const char* name, sim_run run, void* argument, sim_drop drop) {
  Stream* stream = nullptr;
  if (int code = resolve(name, handle, &stream)) {
    if (drop) drop(argument);
    return code;
  }
  return stream->launch(std::make_shared<CallTask>(name, run, argument, drop));
}
