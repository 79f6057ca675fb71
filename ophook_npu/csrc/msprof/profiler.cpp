// libmsprofiler: ACL's interface of the profiler (acl_prof.h), as torch_npu and C++ programs use it. Which code answers
// what follows CANN's own library. What a simulated device has no counters for is left out, and said once on stderr.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <set>

#include "acl/acl_prof.h"
#include "core/forever.h"
#include "msprof/recorder.h"

using namespace sim::prof;

struct aclprofConfig {
  Asked asked;
};

namespace {

struct Profiler {
  std::mutex mutex;
  std::string result;  // empty: not initialised
  unsigned started = 0;
  bool later_devices = false;
  std::set<const aclprofConfig*> configs;
  std::vector<std::unique_ptr<Recorder>> recorders;
  std::set<std::string> said;

  Recorder* of(int device) {
    for (auto& recorder : recorders)
      if (recorder->records(device)) return recorder.get();
    if (!later_devices || recorders.empty()) return nullptr;
    recorders.front()->add(device);
    return recorders.front().get();
  }
};
Profiler& profiler() { return sim::forever<Profiler>(); }

// Called by streams' threads and by launches. Nothing of a profiler may end a task: what cannot be kept is lost.
constexpr sim_observer kObserver{
    [](const sim_task_run* run, const void* task) {
      try {
        std::lock_guard lock(profiler().mutex);
        if (Recorder* recorder = profiler().of(run->device)) recorder->task(*run, task);
      } catch (const std::exception&) {
      }
    },
    [](const sim_call_made* call) {
      try {
        std::lock_guard lock(profiler().mutex);
        for (auto& recorder : profiler().recorders) recorder->call(*call);
      } catch (const std::exception&) {
      }
    },
};

int invalid(const char* function, const char* what) {
  return sim_fail(ACL_ERROR_INVALID_PARAM, "%s: %s", function, what);
}

int not_initialised(const char* function) {
  return sim_fail(ACL_ERROR_PROF_NOT_RUN, "%s: aclprofInit was not called", function);
}

// Call with the mutex held.
void say_once(const std::string& what) {
  if (profiler().said.insert(what).second) fprintf(stderr, "[simulated Ascend] profiler: %s\n", what.c_str());
}

void say_what_is_left_out(const Asked& asked) {
  constexpr struct {
    uint64_t bit;
    const char* what;
  } kLeftOut[] = {
      {ACL_PROF_L2CACHE, "hits of the level 2 cache"},
      {ACL_PROF_AICPU, "details of AI CPU operators"},
      {kTaskMemory, "allocations of CANN's own components"},
      {kOperatorAttributes, "attributes of operators"},
  };
  if (asked.data & ACL_PROF_AICORE_METRICS && asked.metrics != ACL_AICORE_NONE)
    say_once("a simulated device has no AI core counters: the columns of aic_metrics are left out");
  for (const auto& [bit, what] : kLeftOut)
    if (asked.data & bit) say_once(std::string(what) + " are not simulated, and left out");
}

// By number: older headers do not have them all.
const char* setting(int type) {
  constexpr const char* kSettings[] = {nullptr,
                                       "STORAGE_LIMIT",
                                       nullptr,
                                       "SYS_HARDWARE_MEM_FREQ",
                                       "LLC_MODE",
                                       "SYS_IO_FREQ",
                                       "SYS_INTERCONNECTION_FREQ",
                                       "DVPP_FREQ",
                                       "HOST_SYS",
                                       "HOST_SYS_USAGE",
                                       "HOST_SYS_USAGE_FREQ"};
  return size_t(type) < std::size(kSettings) ? kSettings[type] : nullptr;
}

// A folder that can be written to, made if need be with those above it; else the reason.
std::string not_writable(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0750) && errno != EEXIST) return "cannot make the folder " + part + ": " + strerror(errno);
    if (end == std::string::npos) break;
  }
  struct stat found;
  if (stat(path.c_str(), &found) || !S_ISDIR(found.st_mode)) return path + " is not a folder";
  return access(path.c_str(), W_OK | X_OK) ? "cannot write into " + path + ": " + strerror(errno) : "";
}

// Call with the mutex held. Null where it is none of ours.
const aclprofConfig* known(const aclprofConfig* config) { return profiler().configs.count(config) ? config : nullptr; }

// What start, warm-up and stop check first. 0 if they may go on.
int refused(const char* function, const aclprofConfig* config) {
  if (!config) return invalid(function, "the configuration is null");
  if (!known(config)) return invalid(function, "the configuration was destroyed, or is not aclprofCreateConfig's");
  return profiler().result.empty() ? not_initialised(function) : 0;
}

int end_all(const char* function) {
  sim_observe(sim_watcher_profiler, nullptr);
  bool whole = true;
  for (auto& recorder : profiler().recorders) whole = recorder->end() && whole;
  profiler().recorders.clear();
  return whole ? ACL_SUCCESS
               : sim_fail(ACL_ERROR_PROFILING_FAILURE, "%s: not all could be written; is the disk full?", function);
}

}  // namespace

extern "C" {

aclError aclprofInit(const char* path, size_t length) {
  if (!path || !length || strlen(path) != length)
    return invalid("aclprofInit", "the path is null, or not as long as told");
  const char* mode = getenv("PROFILING_MODE");
  if (mode && !strcmp(mode, "dynamic"))
    return sim_fail(ACL_ERROR_FEATURE_UNSUPPORTED, "aclprofInit: PROFILING_MODE is dynamic");
  std::lock_guard lock(profiler().mutex);
  if (!profiler().result.empty())
    return sim_fail(ACL_ERROR_REPEAT_INITIALIZE, "aclprofInit: it was called before, without aclprofFinalize since");
  const std::string problem = not_writable(path);
  if (!problem.empty()) return sim_fail(ACL_ERROR_INVALID_FILE, "aclprofInit: %s", problem.c_str());
  profiler().result = path;
  return ACL_SUCCESS;
}

aclError aclprofFinalize() {
  std::lock_guard lock(profiler().mutex);
  if (profiler().result.empty()) return not_initialised("aclprofFinalize");
  profiler().result.clear();
  return end_all("aclprofFinalize");
}

aclprofConfig* aclprofCreateConfig(uint32_t* devices, uint32_t count, aclprofAicoreMetrics metrics,
                                   const aclprofAicoreEvents* events, uint64_t data) {
  const auto refuse = [](const char* what) {
    invalid("aclprofCreateConfig", what);
    return nullptr;
  };
  if (count && !devices) return refuse("the list of devices is null");
  if (events) return refuse("aicoreEvents must be null");
  if (!count && !(data & ACL_PROF_MSPROFTX)) return refuse("no device");
  auto config = std::make_unique<aclprofConfig>();
  for (uint32_t i = 0; i < count; ++i) {
    if (devices[i] >= uint32_t(sim_device_count())) return refuse("there is no such device");
    for (int before : config->asked.devices)
      if (before == int(devices[i])) return refuse("a device is named twice");
    config->asked.devices.push_back(int(devices[i]));
  }
  config->asked.data = data;
  config->asked.metrics = int(metrics);
  std::lock_guard lock(profiler().mutex);
  profiler().configs.insert(config.get());
  return config.release();
}

aclError aclprofDestroyConfig(const aclprofConfig* config) {
  std::lock_guard lock(profiler().mutex);
  if (!profiler().configs.erase(config))
    return invalid("aclprofDestroyConfig", "the configuration is null, or was destroyed before");
  delete config;
  return ACL_SUCCESS;
}

aclError aclprofStart(const aclprofConfig* config) {
  std::lock_guard lock(profiler().mutex);
  if (int code = refused("aclprofStart", config)) return code;
  profiler().later_devices = false;
  for (int device : config->asked.devices)
    if (profiler().of(device))
      return sim_fail(ACL_ERROR_PROF_ALREADY_RUN, "aclprofStart: device %d is profiled already", device);
  say_what_is_left_out(config->asked);
  try {
    profiler().recorders.push_back(std::make_unique<Recorder>(profiler().result, ++profiler().started, config->asked));
  } catch (const std::exception& problem) {
    return sim_fail(ACL_ERROR_PROFILING_FAILURE, "aclprofStart: %s", problem.what());
  }
  sim_observe(sim_watcher_profiler, &kObserver);
  return ACL_SUCCESS;
}

// Nothing has to become ready.
SIM_API aclError aclprofWarmup(const aclprofConfig* config) {
  std::lock_guard lock(profiler().mutex);
  return refused("aclprofWarmup", config);
}

aclError aclprofStop(const aclprofConfig* config) {
  std::lock_guard lock(profiler().mutex);
  if (int code = refused("aclprofStop", config)) return code;
  auto& all = profiler().recorders;
  for (auto one = all.begin(); one != all.end(); ++one) {
    if ((*one)->asked.devices != config->asked.devices) continue;
    const bool whole = (*one)->end();
    const std::string folder = (*one)->folder;
    all.erase(one);
    if (all.empty()) sim_observe(sim_watcher_profiler, nullptr);
    return whole ? ACL_SUCCESS
                 : sim_fail(ACL_ERROR_PROFILING_FAILURE,
                            "aclprofStop: not all could be written to %s; is the disk full?", folder.c_str());
  }
  return sim_fail(ACL_ERROR_PROF_NOT_RUN, "aclprofStop: aclprofStart was not called for these devices");
}

SIM_API aclError aclprofSetConfig(aclprofConfigType type, const char* value, size_t length) {
  constexpr size_t kLongest = 256;
  if (type <= ACL_PROF_ARGS_MIN || type >= ACL_PROF_ARGS_MAX) return invalid("aclprofSetConfig", "no such setting");
  if (!value || length > kLongest || strlen(value) != length)
    return invalid("aclprofSetConfig", "the value is null, too long, or not as long as told");
  std::lock_guard lock(profiler().mutex);
  const char* name = setting(int(type));
  const std::string what = (name ? std::string("ACL_PROF_") + name : "this setting of aclprofSetConfig") + " (" +
                           value + ") is not simulated, and left out";
  say_once(what);
  // How often counters of the hardware are read: the rest of the profile does not depend on it.
  if (type == ACL_PROF_SYS_HARDWARE_MEM_FREQ) return ACL_SUCCESS;
  return sim_fail(ACL_ERROR_PROF_MODULES_UNSUPPORTED, "%s", what.c_str());
}

// torch_npu then takes the features for absent that not every CANN has: attributes of operators, MemoryAccess.
SIM_API aclError aclprofGetSupportedFeatures(size_t* size, void** features) {
  if (!size || !features || *features) return invalid("aclprofGetSupportedFeatures", "null, or a place that is in use");
  return sim_fail(ACL_ERROR_PROF_MODULES_UNSUPPORTED, "aclprofGetSupportedFeatures: there is no list of features");
}
SIM_API aclError aclprofGetSupportedFeaturesV2(size_t* size, void** features) {
  return aclprofGetSupportedFeatures(size, features);
}

// The devices that the process uses from now on are profiled, too.
SIM_API aclError aclprofRegisterDeviceCallback() {
  std::lock_guard lock(profiler().mutex);
  profiler().later_devices = true;
  return ACL_SUCCESS;
}

SIM_API aclError aclprofMarkEx(const char*, size_t, aclrtStream) { return sim_unimplemented("aclprofMarkEx"); }

}  // extern "C"
