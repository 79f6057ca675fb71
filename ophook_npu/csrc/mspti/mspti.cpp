// libmspti: records of what ran, handed to a tool of the process itself in buffers that the tool gives. torch's own
// profiler gets its device events here. Which code answers what follows MSPTI's own checks where its pages differ.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/forever.h"
#include "core/observe.h"
#include "core/sim.h"
#include "mspti/records.h"

using namespace sim::mspti;

namespace {

using Request = void (*)(uint8_t** buffer, size_t* size, size_t* most);
using Complete = void (*)(uint8_t* buffer, size_t size, size_t valid);

struct Buffer {
  uint8_t* data = nullptr;
  size_t size = 0, valid = 0;
};

struct Tool {
  std::recursive_mutex mutex;  // the tool's functions may call back
  std::atomic<bool> enabled[kKinds] = {};
  uint64_t ahead = 0;  // the wall clock, of the one that the core reads
  Request request = nullptr;
  Complete complete = nullptr;
  Buffer buffer;
  std::vector<std::thread> handing_over;
  std::map<uint32_t, std::vector<uint64_t>> pushed;  // by external kind; of the process, not of a thread
  std::set<std::string> names;                       // records point to them for as long as the process runs
  bool subscribed = false;

  const char* name(const std::string& text) { return names.insert(text).first->c_str(); }
};
Tool& tool() { return sim::forever<Tool>(); }

thread_local uint64_t last_launch = 0;  // what a call of the same thread is connected with

int invalid(const char* function, const char* what) { return sim_fail(kInvalidParameter, "%s: %s", function, what); }

uint64_t wall(uint64_t ns) { return ns + tool().ahead; }

// Call with the mutex held. Where the tool gives no buffer, the record is lost, as MSPTI loses it.
template <typename Record>
void keep(const Record& record) {
  Buffer& now = tool().buffer;
  if (now.data && now.valid + sizeof record > now.size / 10 * 8) {
    // Not by the stream's own thread: a tool may wait there for what that thread holds, such as an interpreter's lock.
    tool().handing_over.emplace_back(
        [complete = tool().complete, full = std::exchange(now, {})] { complete(full.data, full.size, full.valid); });
  }
  if (!now.data && tool().request) {
    size_t most = 0;  // MSPTI does not read it
    tool().request(&now.data, &now.size, &most);
    now.valid = 0;
  }
  if (!now.data || now.size - now.valid < sizeof record) return;
  memcpy(now.data + now.valid, &record, sizeof record);
  now.valid += sizeof record;
}

struct Told : sim_listener {
  Told() : sim_listener{} {
    type = [](sim_listener* self, const char* text) { static_cast<Told*>(self)->of_type = text; };
    node = [](sim_listener* self, const char* text) { static_cast<Told*>(self)->of_node = text; };
    tensor = [](sim_listener*, int, int, const int64_t*, size_t) {};
  }
  std::string of_type, of_node;
};

void ran(const sim_task_run& run, const void* task) {
  const bool kernel = run.kind == sim_task_operator;
  if (!kernel && run.kind != sim_task_communication) return;
  if (!run.connection || !tool().enabled[kernel ? kKernel : kCommunication])
    return;  // launched before, or not asked for
  Told told;
  sim_task_tell(task, &told);
  std::lock_guard lock(tool().mutex);
  const uint64_t begin = wall(run.begin_ns), end = wall(run.end_ns);
  const auto device = uint32_t(run.device), stream = uint32_t(run.stream);
  if (kernel) {
    const std::string& name = !told.of_node.empty() ? told.of_node : !told.of_type.empty() ? told.of_type : run.name;
    keep(Kernel{kKernel, begin, end, device, stream, run.connection, "KERNEL_AICORE", tool().name(name)});
  } else {
    keep(Communication{kCommunication, kNoDataType, 0, device, stream, begin, end, "", tool().name(run.name),
                       tool().name(told.of_node), run.connection});
  }
}

void called(const sim_call_made& made) {
  const bool launch = made.level == sim_level_node;
  const Kind kind = launch ? kNodeApi : kAclApi;
  std::lock_guard lock(tool().mutex);
  if (launch) {
    last_launch = made.connection;
    if (tool().enabled[kExternalCorrelation])
      for (const auto& [external, ids] : tool().pushed)
        keep(ExternalCorrelation{kExternalCorrelation, external, ids.back(), made.connection});
  }
  if (tool().enabled[kind])
    keep(Api{kind, wall(made.begin_ns), wall(made.end_ns), uint32_t(getpid()), made.thread, last_launch,
             tool().name(made.name)});
}

// Called by streams' threads and by launches. No tool may end a task: what cannot be kept is lost.
constexpr sim_observer kObserver{
    [](const sim_task_run* run, const void* task) {
      try {
        ran(*run, task);
      } catch (const std::exception&) {
      }
    },
    [](const sim_call_made* made) {
      try {
        called(*made);
      } catch (const std::exception&) {
      }
    },
};

bool preloaded() {
  const char* list = getenv("LD_PRELOAD");
  return list && strstr(list, "libmspti.so");
}

int not_simulated(const std::string& what) {
  static std::set<std::string> said;
  std::lock_guard lock(tool().mutex);
  if (said.insert(what).second) fprintf(stderr, "[simulated Ascend] MSPTI: %s is not simulated\n", what.c_str());
  return sim_fail(kInner, "MSPTI: %s is not simulated", what.c_str());
}

const char* kind_name(Kind kind) {
  constexpr const char* kNames[kKinds] = {"INVALID",       "MARKER",  "KERNEL",
                                          "API",           "HCCL",    "MEMORY",
                                          "MEMSET",        "MEMCPY",  "EXTERNAL_CORRELATION",
                                          "COMMUNICATION", "ACL_API", "NODE_API",
                                          "RUNTIME_API"};
  return kNames[kind];
}

int set(const char* function, uint32_t kind, bool on) {
  if (!kind || kind >= kKinds) return invalid(function, "there is no such kind of activity");
  if (on && kind >= kHccl && kind <= kMemcpy && !preloaded())
    return sim_fail(kNotPreloaded, "%s: MSPTI_ACTIVITY_KIND_%s wants libmspti.so in LD_PRELOAD", function,
                    kind_name(Kind(kind)));
  if (!record_size(Kind(kind)))
    return on ? not_simulated(std::string("MSPTI_ACTIVITY_KIND_") + kind_name(Kind(kind))) : int(kSuccess);
  std::lock_guard lock(tool().mutex);
  tool().ahead = sim::nanoseconds(CLOCK_REALTIME) - sim::raw_ns();
  tool().enabled[kind] = on;
  bool any = false;
  for (const auto& one : tool().enabled) any = any || one;
  sim_observe(sim_watcher_tool, any ? &kObserver : nullptr);
  return kSuccess;
}

}  // namespace

extern "C" {

SIM_API int msptiSubscribe(void** subscriber, void*, void*) {
  if (!subscriber) return invalid("msptiSubscribe", "the subscriber is null");
  std::lock_guard lock(tool().mutex);
  if (tool().subscribed) return sim_fail(kSecondSubscriber, "msptiSubscribe: there is a subscriber already");
  tool().subscribed = true;
  *subscriber = &tool();
  return kSuccess;
}

SIM_API int msptiUnsubscribe(void* subscriber) {
  std::lock_guard lock(tool().mutex);
  if (!tool().subscribed) return kSuccess;
  if (subscriber != &tool()) return invalid("msptiUnsubscribe", "this is not the subscriber");
  tool().subscribed = false;
  return kSuccess;
}

SIM_API int msptiActivityRegisterCallbacks(Request request, Complete complete) {
  if (!request || !complete) return invalid("msptiActivityRegisterCallbacks", "a function is null");
  std::lock_guard lock(tool().mutex);
  tool().request = request;
  tool().complete = complete;
  return kSuccess;
}

SIM_API int msptiActivityEnable(uint32_t kind) { return set("msptiActivityEnable", kind, true); }
SIM_API int msptiActivityDisable(uint32_t kind) { return set("msptiActivityDisable", kind, false); }
SIM_API bool msptiActivityIsEnabled(uint32_t kind) { return kind < kKinds && tool().enabled[kind]; }

// The place is the thread's own, and goes back to the beginning at a buffer's end: *record is not read.
SIM_API int msptiActivityGetNextRecord(uint8_t* buffer, size_t valid, void** record) {
  thread_local size_t place = 0;
  if (!buffer || !record) return invalid("msptiActivityGetNextRecord", "the buffer or the record is null");
  if (place >= valid) {
    place = 0;
    return kNoMoreRecords;
  }
  Kind kind;
  memcpy(&kind, buffer + place, sizeof kind);
  const size_t size = kind < kKinds ? record_size(kind) : 0;
  if (!size) return sim_fail(kInvalidKind, "msptiActivityGetNextRecord: no record begins at byte %zu", place);
  *record = buffer + place;
  place += size;
  return kSuccess;
}

SIM_API int msptiActivityFlushAll(uint32_t) {
  std::vector<std::thread> threads;
  Buffer last;
  Complete complete = nullptr;
  {
    std::lock_guard lock(tool().mutex);
    threads.swap(tool().handing_over);
    last = std::exchange(tool().buffer, {});
    complete = tool().complete;
  }
  for (std::thread& one : threads) one.join();
  if (last.data) complete(last.data, last.size, last.valid);
  return kSuccess;
}

SIM_API int msptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id) {
  std::lock_guard lock(tool().mutex);
  tool().pushed[kind].push_back(id);
  return kSuccess;
}

SIM_API int msptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t* last) {
  constexpr const char* kName = "msptiActivityPopExternalCorrelationId";
  if (!last) return invalid(kName, "the place for the id is null");
  std::lock_guard lock(tool().mutex);
  const auto found = tool().pushed.find(kind);
  if (found == tool().pushed.end()) return sim_fail(kNothingPushed, "%s: nothing was pushed for this kind", kName);
  *last = found->second.back();
  found->second.pop_back();
  if (found->second.empty()) tool().pushed.erase(found);
  return kSuccess;
}

SIM_API int msptiActivityFlushPeriod(uint32_t) { return not_simulated("msptiActivityFlushPeriod"); }
SIM_API int msptiActivityEnableMarkerDomain(const char*) { return not_simulated("msptiActivityEnableMarkerDomain"); }
SIM_API int msptiActivityDisableMarkerDomain(const char*) { return not_simulated("msptiActivityDisableMarkerDomain"); }

// What they switch on is called within functions of the runtime, which MSPTI only sees where it is preloaded.
static int callbacks(const char* function) {
  if (!preloaded()) return sim_fail(kNotPreloaded, "%s wants libmspti.so in LD_PRELOAD", function);
  if (!tool().subscribed) return sim_fail(kNotInitialized, "%s: msptiSubscribe was not called", function);
  return not_simulated(function);
}
SIM_API int msptiEnableCallback(uint32_t, void*, uint32_t, uint32_t) { return callbacks("msptiEnableCallback"); }
SIM_API int msptiEnableDomain(uint32_t, void*, uint32_t) { return callbacks("msptiEnableDomain"); }

}  // extern "C"
