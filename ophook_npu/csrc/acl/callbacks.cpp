// libascendcl: functions of the host on streams, and the threads that offer themselves for them. CANN's page "Execution
// control".
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "acl/tasks.h"
#include "core/forever.h"

namespace sim::acl::callbacks {
namespace {

struct HostCall {
  void (*function)(void*);
  void* argument;
};

// A call that waits for the thread of its stream.
struct Waiting {
  HostCall call;
  bool done = false;
};

// Of one kind: threads of aclrtSubscribeReport, or those of aclrtSubscribeHostFunc.
struct Threads {
  std::mutex mutex;
  std::condition_variable arrived, done;
  std::map<void*, uint64_t> of_stream;
  std::map<uint64_t, std::deque<std::shared_ptr<Waiting>>> queues;  // by thread
};
struct Kinds {
  Threads reports, functions;
};
Threads& reports() { return forever<Kinds>().reports; }
Threads& functions() { return forever<Kinds>().functions; }

struct Launched {
  Threads* threads;
  void* stream;
  HostCall call;
  bool blocks;
};

void run(const HostCall& call) {
  sim_memory_close();  // what the host does in between is no kernel
  call.function(call.argument);
  sim_memory_open();
}

int run_launched(void* argument) {
  const auto& task = *static_cast<const Launched*>(argument);
  std::unique_lock lock(task.threads->mutex);
  const auto thread = task.threads->of_stream.find(task.stream);
  if (thread == task.threads->of_stream.end()) {
    lock.unlock();
    run(task.call);
    return ACL_SUCCESS;
  }
  const uint64_t id = thread->second;
  auto waiting = std::make_shared<Waiting>(Waiting{task.call});
  task.threads->queues[id].push_back(waiting);
  task.threads->arrived.notify_all();
  // Who does not offer itself any more is waited for no longer; the call is made here then.
  const auto gone = [&] {
    const auto now = task.threads->of_stream.find(task.stream);
    return now == task.threads->of_stream.end() || now->second != id;
  };
  if (!task.blocks) return ACL_SUCCESS;
  task.threads->done.wait(lock, [&] { return waiting->done || gone(); });
  if (waiting->done) return ACL_SUCCESS;
  std::erase(task.threads->queues[id], waiting);
  lock.unlock();
  run(task.call);
  return ACL_SUCCESS;
}

constexpr sim_about kHost{sim_task_host, nullptr};

int launch_call(aclrtStream stream, const char* name, Launched what) {
  return sim_launch_about(stream, name, &kHost, run_launched, new Launched(what), drop<Launched>);
}

int subscribe(const char* caller, Threads& threads, uint64_t thread, aclrtStream stream) {
  int32_t id = 0;
  if (int code = sim_stream_id(stream, &id)) return code;
  std::lock_guard lock(threads.mutex);
  if (!threads.of_stream.emplace(stream, thread).second)
    return sim_fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "%s: stream %d has a thread already", caller, id);
  return ACL_SUCCESS;
}

int unsubscribe(const char* caller, Threads& threads, uint64_t thread, aclrtStream stream) {
  std::lock_guard lock(threads.mutex);
  const auto found = threads.of_stream.find(stream);
  if (found == threads.of_stream.end() || found->second != thread)
    return sim_fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "%s: thread %llu is not that of the stream", caller,
                    (unsigned long long)thread);
  threads.of_stream.erase(found);
  threads.done.notify_all();
  return ACL_SUCCESS;
}

int process(const char* caller, Threads& threads, int32_t timeout_ms) {
  if (timeout_ms < -1 || timeout_ms == 0)
    return ACL_INVALID(caller, "timeout %d; allowed: -1, or more than 0", timeout_ms);
  std::unique_lock lock(threads.mutex);
  auto& queue = threads.queues[uint64_t(pthread_self())];
  const auto there = [&] { return !queue.empty(); };
  if (timeout_ms < 0) threads.arrived.wait(lock, there);
  else if (!threads.arrived.wait_for(lock, std::chrono::milliseconds(timeout_ms), there))
    return sim_fail(ACL_ERROR_RT_REPORT_TIMEOUT, "%s: nothing came in %d ms", caller, timeout_ms);
  const auto waiting = queue.front();
  queue.pop_front();
  lock.unlock();
  waiting->call.function(waiting->call.argument);
  lock.lock();
  waiting->done = true;
  threads.done.notify_all();
  return ACL_SUCCESS;
}

}  // namespace

extern "C" {

SIM_API aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc function, void* argument) {
  REQUIRE(function);
  return launch_call(stream, __func__, {&functions(), stream, {function, argument}, true});
}
SIM_API aclError aclrtLaunchCallback(aclrtCallback function, void* argument, aclrtCallbackBlockType blocks,
                                     aclrtStream stream) {
  REQUIRE(function);
  return launch_call(stream, __func__, {&reports(), stream, {function, argument}, blocks == ACL_CALLBACK_BLOCK});
}
SIM_API aclError aclrtSubscribeReport(uint64_t thread, aclrtStream stream) {
  return subscribe(__func__, reports(), thread, stream);
}
SIM_API aclError aclrtUnSubscribeReport(uint64_t thread, aclrtStream stream) {
  return unsubscribe(__func__, reports(), thread, stream);
}
SIM_API aclError aclrtProcessReport(int32_t timeout_ms) { return process(__func__, reports(), timeout_ms); }
SIM_API aclError aclrtSubscribeHostFunc(uint64_t thread, aclrtStream stream) {
  REQUIRE(stream);
  return subscribe(__func__, functions(), thread, stream);
}
SIM_API aclError aclrtUnSubscribeHostFunc(uint64_t thread, aclrtStream stream) {
  REQUIRE(stream);
  return unsubscribe(__func__, functions(), thread, stream);
}
SIM_API aclError aclrtProcessHostFunc(int32_t timeout_ms) { return process(__func__, functions(), timeout_ms); }

}  // extern "C"
}  // namespace sim::acl::callbacks
