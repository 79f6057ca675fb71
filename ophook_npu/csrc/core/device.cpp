#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "device.h"
#include "failure.h"
#include "fault.h"
#include "ledger.h"
#include "memory.h"
#include "pages_api.h"
#include "state.h"
#include "visible.h"

namespace sim {
namespace {

const sim_soc kSocs[] = {
#define SOC(name, bytes, cube, vector, l2_mib, aclnn_only, malloc_added) \
  {name, uint64_t(bytes), cube, vector, uint64_t(l2_mib) << 20, aclnn_only, malloc_added},
#include "socs.inc"
#undef SOC
};

struct Machine {
  const sim_soc* soc = nullptr;
  int devices = 0;  // that the process sees
  int installed = 0;
  int physical[kMaxDevices];  // of those that it sees
  std::string problem;        // of ASCEND_RT_VISIBLE_DEVICES
  uint64_t memory_per_device = 0;
};

std::mutex init_mutex;
std::atomic<bool> ready{false};
Machine machine;
char context_tags[kMaxDevices];                  // a context's handle is the address of its device's tag
std::atomic<uint64_t> device_uses[kMaxDevices];  // by aclrtSetDevice, on any thread, and not yet reset
thread_local int thread_device = -1;
thread_local void* context = nullptr;
std::atomic<int> default_device{-1};

std::atomic<uint64_t> tasks_run{0}, tasks_failed{0}, models_executed{0};

// Reads a positive integer from the environment; 0 where it is absent, an error where it is something else.
int read_number(const char* name, uint64_t* value) {
  *value = 0;
  const char* text = getenv(name);
  if (!text || !*text) return kOk;
  char* end = nullptr;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  if (errno || *end || number == 0 || *text == '-')
    return sim_fail(kInvalidParam, "%s=%s is not a positive whole number", name, text);
  *value = number;
  return kOk;
}

// Who sets a variable that does something on a device and nothing here is told, once.
void tell_missing() {
  struct Variable {
    const char* name;
    enum { read, idle, missing } state;
    const char* here;
  };
  static constexpr Variable kVariables[] = {
#define VARIABLE(name, state, here, chinese) {#name, Variable::state, here},
#include "variables.inc"
#undef VARIABLE
  };
  for (const Variable& each : kVariables) {
    if (each.state != Variable::missing) continue;
    const char* value = getenv(each.name);
    if (value && *value && strcmp(value, "0") && strcmp(value, "false"))
      sim_warn("%s=%s: %s (docs/environment.md)", each.name, value, each.here);
  }
}

// As CANN's runtime reads it: numbers up to the first thing that is not one of a device. It wants them in ascending
// order, and sees no device at all where they are not.
void choose_visible(const char* text) {
  if (!text) {
    for (machine.devices = 0; machine.devices < machine.installed; ++machine.devices)
      machine.physical[machine.devices] = machine.devices;
    return;
  }
  const char* expected = nullptr;
  int count = 0;
  for (const char* at = text; count < machine.installed && *at >= '0' && *at <= '9'; ++at) {
    char* end = nullptr;
    const unsigned long number = strtoul(at, &end, 10);
    if (number >= unsigned(machine.installed)) break;
    if (count && int(number) < machine.physical[count - 1]) expected = "configured in ascending order";
    if (count && int(number) == machine.physical[count - 1]) expected = "Cannot be duplicated";
    machine.physical[count++] = int(number);
    if (expected || *end != ',') break;
    at = end;
  }
  const std::string range = "[0, " + std::to_string(machine.installed) + ")";
  if (!count) expected = range.c_str();
  machine.devices = expected ? 0 : count;
  if (expected)
    machine.problem = "EE2002: Value " + std::string(text) +
                      " for environment variable ASCEND_RT_VISIBLE_DEVICES is invalid. Expected value: " + expected;
}

// None before sim_init, which another thread may be in.
int devices() { return ready ? machine.devices : 0; }

int checked(const char* call, int64_t device) {
  const int count = devices();
  if (device >= 0 && device < count) return kOk;
  if (!ready || count == machine.installed)
    return sim_fail(kInvalidDevice, "%s: no device %lld; this machine simulates %d (0 to %d)", call, (long long)device,
                    count, count - 1);
  if (!count)
    return sim_fail(kInvalidDevice, "%s: no device %lld; %s", call, (long long)device, machine.problem.c_str());
  return sim_fail(kInvalidDevice, "%s: no device %lld; ASCEND_RT_VISIBLE_DEVICES leaves %d of %d (0 to %d)", call,
                  (long long)device, count, machine.installed, count - 1);
}

// From here on npu-smi lists the process on this device.
void open_on(int seen) {
  const int device = machine.physical[seen];
  if (!(ledger().opened.load(std::memory_order_relaxed) >> device & 1))
    ledger().opened.fetch_or(uint64_t{1} << device, std::memory_order_relaxed);
}

}  // namespace

uint64_t device_capacity() { return machine.memory_per_device; }

bool synchronous() {
  static const bool on = switched_on("OPHOOK_SIM_SYNC");
  return on;
}

int own_device() { return thread_device; }

int require_device(const char* caller, int* device) {
  *device = thread_device >= 0 ? thread_device : default_device.load(std::memory_order_relaxed);
  if (*device < 0)  // before aclInit, too: torch_npu asks then, and takes it for device 0
    return sim_fail(kContextNull, "%s: this thread has no device; call aclrtSetDevice first", caller);
  return kOk;
}

void count_task(bool failed) {
  tasks_run.fetch_add(1, std::memory_order_relaxed);
  if (failed) tasks_failed.fetch_add(1, std::memory_order_relaxed);
}
void count_model() { models_executed.fetch_add(1, std::memory_order_relaxed); }

}  // namespace sim

using namespace sim;

int sim_init(void) {
  std::lock_guard<std::mutex> lock(init_mutex);
  if (ready) return kOk;
  if (const char* wrong = fault::wrong_orders()) return sim_fail(kInvalidParam, "%s", wrong);
  const char* wanted = getenv("OPHOOK_SIM_SOC");
  if (!wanted || !*wanted) wanted = "Ascend910B4";
  std::string known;
  const sim_soc* soc = nullptr;
  for (const sim_soc& candidate : kSocs) {
    known += std::string(known.empty() ? "" : ", ") + candidate.name;
    if (!strcmp(candidate.name, wanted)) soc = &candidate;
  }
  if (!soc) return sim_fail(kInvalidParam, "OPHOOK_SIM_SOC=%s is not a known SoC; known: %s", wanted, known.c_str());
  uint64_t devices = 0, memory = 0;
  if (int code = read_number("OPHOOK_SIM_DEVICES", &devices)) return code;
  if (int code = read_number("OPHOOK_SIM_MEMORY", &memory)) return code;
  if (devices == 0) devices = 1;
  if (devices > kMaxDevices)
    return sim_fail(kInvalidParam, "OPHOOK_SIM_DEVICES=%llu; allowed: 1 to %d", (unsigned long long)devices,
                    kMaxDevices);
  if (memory == 0) {
    // Device memory is host memory here: a card never claims more than its share of what the host has.
    uint64_t host = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGE_SIZE)) / 4 * 3 / devices;
    memory = soc->memory < host ? soc->memory : host;
  }
  if (int code = failure::read_setting()) return code;
  machine.soc = soc;
  machine.installed = int(devices);
  choose_visible(getenv("ASCEND_RT_VISIBLE_DEVICES"));
  machine.memory_per_device = memory;
  describe_ledger(soc->name, machine.installed, memory);
  report_stray_accesses();
  tell_missing();
  ready = true;
  return kOk;
}

const sim_soc* sim_current_soc(void) { return ready ? machine.soc : nullptr; }
int sim_device_count(void) { return ready || sim_init() == kOk ? machine.devices : 0; }
int sim_check_device(const char* call, int64_t device) {
  if (int code = sim_init()) return code;
  return checked(call, device);
}
int sim_installed_devices(void) { return ready || sim_init() == kOk ? machine.installed : 0; }
int sim_physical_device(int device) { return device >= 0 && device < devices() ? machine.physical[device] : -1; }
int sim_visible_device(int physical) {
  for (int device = 0; device < devices(); ++device)
    if (machine.physical[device] == physical) return device;
  return -1;
}
const char* sim_visible_problem(void) { return machine.problem.empty() ? nullptr : machine.problem.c_str(); }

int sim_set_device(int device) {
  // The page asks for aclInit first; the vendor's own examples go without it on a device.
  if (int code = sim_init()) return code;
  if (int code = checked("aclrtSetDevice", device)) return code;
  thread_device = device;
  context = nullptr;
  open_on(device);
  return kOk;
}

void sim_use_context(void* own) { context = own; }
void* sim_used_context(void) { return context; }

int sim_set_default_device(int device) {
  if (!ready) return sim_fail(kUninitialized, "the default device is set before aclInit");
  if (device != -1)
    if (int code = checked("the default device", device)) return code;
  default_device = device;
  return kOk;
}

uint64_t sim_device_capacity(void) { return sim_device_count() ? device_capacity() : 0; }

int sim_get_device(int* device) { return require_device("aclrtGetDevice", device); }
int sim_require_device(const char* caller) {
  int device;
  return require_device(caller, &device);
}

int sim_reset_device(int device) {
  if (int code = checked("aclrtResetDevice", device)) return code;
  sim_end_hanging(device);
  if (int code = drop_streams(device)) return code;
  failure::reset(device);
  if (thread_device == device) thread_device = -1;
  return kOk;
}

void sim_retain_device(int device) { ++device_uses[device]; }

int sim_release_device(const char* caller, int device, int all) {
  if (int code = checked(caller, device)) return code;
  uint64_t before = device_uses[device].load();
  while (before && !device_uses[device].compare_exchange_weak(before, all ? 0 : before - 1)) {
  }
  if (!before)
    return sim_fail(kContextNull, "%s: each aclrtSetDevice(%d) was reset already, or there was none", caller, device);
  if (!all && before > 1) return kOk;
  const int code = sim_reset_device(device);
  if (code) device_uses[device] += before;  // a task on the device asked: nothing happened
  return code;
}

void* sim_context(int device) { return device >= 0 && device < devices() ? &context_tags[device] : nullptr; }

int sim_context_device(void* context) {
  auto tag = static_cast<char*>(context);
  return tag >= context_tags && tag < context_tags + devices() ? int(tag - context_tags) : -1;
}

void sim_read_counters(sim_counters* out) {
  out->tasks_run = tasks_run;
  out->tasks_failed = tasks_failed;
  out->models_executed = models_executed;
  out->bytes_in_use = ready ? memory_in_use() : 0;
}
