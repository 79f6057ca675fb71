#include "observe.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "stream.h"

namespace sim {

std::atomic<const sim_observer*> watching{nullptr};

namespace {
std::atomic<uint64_t> next_connection{1};
}  // namespace

uint32_t this_thread() {
  thread_local const auto id = uint32_t(syscall(SYS_gettid));
  return id;
}

Launch launch_now() { return {next_connection.fetch_add(1, std::memory_order_relaxed), raw_ns(), this_thread()}; }

void tell_launched(const Task& task) {
  const sim_observer* told = observer();
  if (!told) return;
  const Launch& launch = task.launched;
  const sim_call_made call{"launch", sim_level_node, launch.connection, launch.ns, raw_ns(), launch.thread};
  told->call(&call);
}

int run_observed(Task& task, const Launch& launch, uint32_t model, int (*run)(Task&)) {
  if (task.runs_others()) return run(task);
  thread_local uint32_t number = 0;  // of the stream, whose one thread this is
  const Stream* stream = Stream::here();
  const uint64_t begin = raw_ns();
  const int code = run(task);
  const uint64_t end = raw_ns();
  const sim_observer* told = observer();
  if (!told || !stream) return code;
  const sim_task_run ran{task.name,         task.task_kind(), stream->device, stream->id, ++number,      model,
                         launch.connection, launch.ns,        begin,          end,        launch.thread, code != kOk};
  told->task(&ran, &task);
  return code;
}

}  // namespace sim

using namespace sim;

static std::mutex observers_mutex;
static std::atomic<const sim_observer*> observers[sim_watchers];

void sim_observe(sim_watcher watcher, const sim_observer* who) {
  static constexpr sim_observer kAll{[](const sim_task_run* run, const void* task) {
                                       for (const auto& each : observers)
                                         if (const sim_observer* one = each) one->task(run, task);
                                     },
                                     [](const sim_call_made* call) {
                                       for (const auto& each : observers)
                                         if (const sim_observer* one = each) one->call(call);
                                     }};
  std::lock_guard lock(observers_mutex);
  observers[watcher] = who;
  const sim_observer* told = nullptr;
  for (const auto& each : observers)
    if (const sim_observer* one = each) told = told ? &kAll : one;
  watching = told;
}

void sim_task_tell(const void* task, sim_listener* listener) { static_cast<const Task*>(task)->tell(listener); }

uint64_t sim_call_begin(void) { return observer() ? raw_ns() : 0; }

void sim_call_end(const char* name, uint64_t begin) {
  const sim_observer* told = begin ? observer() : nullptr;
  if (!told) return;
  const sim_call_made call{name, sim_level_acl, 0, begin, raw_ns(), this_thread()};
  told->call(&call);
}
