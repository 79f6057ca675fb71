// Communicators between the processes of one host, and HCCL's calls about them.
#include "communicator.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <unordered_map>

#include "agreement.h"
#include "core/fault.h"
#include "core/order_api.h"
#include "core/touch.h"
#include "here.h"
#include "types.h"

namespace sim::hccl {
namespace {

constexpr int kDeviceFailure = 507015;  // what a failed kernel gives at the next synchronization
constexpr int kLinkError = 507056;
constexpr char kMagic[] = "ophook-hccl";
constexpr size_t kSecretAt = 64;  // in HcclRootInfo, after the communicator's name

// The names and defaults are CANN's.
std::chrono::seconds seconds_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  const int value = text ? std::atoi(text) : 0;
  return std::chrono::seconds(value > 0 ? value : otherwise);
}

struct Registry {
  std::mutex mutex;
  std::unordered_map<void*, Comm> comms;
  std::map<int, int32_t> settings;
};
Registry& registry() {
  static auto* instance = new Registry;  // stream threads may outlive static destructors
  return *instance;
}

Comm find(HcclComm handle) {
  std::lock_guard lock(registry().mutex);
  auto found = registry().comms.find(handle);
  return found == registry().comms.end() ? nullptr : found->second;
}

thread_local bool run_here = false;  // see here.h

struct Job {
  Comm comm;
  const char* name;
  Buffers buffers;
  Body body;
  bool meets_all = true;
};

void touch(sim_listener* listener, bool writes, const std::vector<Given>& buffers) {
  for (const Given& one : buffers) sim::touch(listener, writes, one.memory, one.bytes);
}

constexpr sim_about kJob{sim_task_communication, [](const void* job, sim_listener* listener) {
                           const auto* told = static_cast<const Job*>(job);
                           listener->node(listener, told->comm->name.c_str());
                           if (!listener->touch) return;
                           touch(listener, false, told->buffers.read);
                           touch(listener, true, told->buffers.written);
                           if (!listener->meet) return;
                           if (told->meets_all) listener->meet(listener, told->comm->name.c_str(), false);
                           for (const std::string& pair : told->buffers.pairs)
                             listener->meet(listener, (told->comm->name + pair).c_str(), true);
                         }};

int run(void* argument) {
  auto job = static_cast<Job*>(argument);
  std::lock_guard lock(job->comm->mutex);
  try {
    job->body(*job->comm);
    return 0;
  } catch (const Broken& problem) {
    job->comm->lost = true;
    return sim_fail(kLinkError, "%s", problem.what());
  } catch (const Gone& problem) {
    job->comm->lost = true;
    return sim_fail(kDeviceFailure, "%s", problem.what());
  } catch (const std::exception& problem) {
    return sim_fail(kDeviceFailure, "%s", problem.what());
  }
}

}  // namespace

Communicator::Communicator(const Secret& secret, uint32_t ranks_, uint32_t rank_)
    : ranks(ranks_),
      rank(rank_),
      timeout(ophook_hccl_patience()),
      link(secret, ranks_, rank_, seconds_from("HCCL_CONNECT_TIMEOUT", 120)) {}

HcclResult refuse(HcclResult code, const char* function, const std::string& what) {
  sim_fail(int(code), "%s: %s", function, what.c_str());
  return code;
}

HcclResult launch(const Comm& comm, aclrtStream stream, const char* name, Buffers buffers, Body body, bool meets_all) {
  if (run_here) {
    Job job{comm, name, {}, std::move(body)};
    const int code = run(&job);
    sim_order_awaited();
    return code ? HCCL_E_RUNTIME : HCCL_SUCCESS;
  }
  if (meets_all) launches_collective(comm->name, comm->rank, name);
  auto* job = new Job{comm, name, std::move(buffers), std::move(body), meets_all};
  const int code =
      sim_launch_about(stream, name, &kJob, run, job, [](void* argument) { delete static_cast<Job*>(argument); });
  constexpr int kOwnCodes = 1000;  // HCCL's are below, ACL's above: of a fault that was ordered
  return code && code < kOwnCodes ? HcclResult(code) : code ? HCCL_E_RUNTIME : HCCL_SUCCESS;
}

HcclResult entry(const char* name, HcclComm handle, const std::function<HcclResult(const Comm&)>& checked) {
  Comm comm = find(handle);
  if (!comm) return refuse(HCCL_E_PARA, name, "unknown communicator");
  try {
    return checked(comm);
  } catch (const Refused& refused) {
    return refuse(refused.code, name, refused.what);
  }
}

// ---- checks that one rank can make alone ---------------------------------------------------------------------------
void need(bool holds, HcclResult code, const std::string& what) {
  if (!holds) throw Refused{code, what};
}

size_t sized(HcclDataType dtype) {
  const size_t size = dtype_size(dtype);
  need(size, HCCL_E_NOT_SUPPORT, dtype_name(dtype) + " is not simulated");
  return size;
}

void in_group(const Comm& comm, uint32_t rank, const char* what) {
  need(rank < comm->ranks, HCCL_E_PARA,
       std::string(what) + " " + std::to_string(rank) + " of " + std::to_string(comm->ranks) + " ranks");
}

Given device_memory(const void* pointer, uint64_t bytes, const char* name) {
  if (!bytes) return {name, nullptr, 0};
  need(pointer, HCCL_E_PTR, std::string(name) + " is null");
  const Given given{name, static_cast<char*>(const_cast<void*>(pointer)), bytes};
  if (run_here) return given;
  need(sim_memory_device(pointer, nullptr) >= 0 && sim_memory_reach(pointer, bytes), HCCL_E_PARA,
       std::string(name) + " (" + std::to_string(bytes) +
           " bytes) has to be device memory: " + sim_memory_text(pointer, bytes));
  return given;
}

void still_there(const char* function, std::initializer_list<Given> buffers) {
  if (run_here) return;
  for (const Given& one : buffers)
    if (const char* problem = sim_memory_problem(one.name, one.memory, one.bytes))
      throw std::runtime_error(std::string(function) + ": " + problem);
}

namespace {

HcclResult make(const char* name, uint32_t ranks, const HcclRootInfo* root, uint32_t rank, const HcclCommConfig* config,
                HcclComm* out) {
  if (!root || !out) return refuse(HCCL_E_PTR, name, "a pointer is null");
  if (!ranks || rank >= ranks)
    return refuse(HCCL_E_PARA, name, "rank " + std::to_string(rank) + " of " + std::to_string(ranks));
  const std::string id(root->internal, strnlen(root->internal, kSecretAt));
  if (id.rfind(kMagic, 0)) return refuse(HCCL_E_PARA, name, "the root info is not one that HcclGetRootInfo made");
  sim_fault_rank(int(rank));
  if (const int code = sim_fault_call(name)) return HcclResult(code);
  try {
    Secret secret;
    std::memcpy(secret.data(), root->internal + kSecretAt, secret.size());
    auto comm = std::make_shared<Communicator>(secret, ranks, rank);
    comm->name = config && config->hcclCommName[0]
                     ? std::string(config->hcclCommName, strnlen(config->hcclCommName, COMM_NAME_MAX_LENGTH - 1))
                     : id;
    if (config && config->hcclExecTimeOut > 0) comm->timeout = std::chrono::seconds(config->hcclExecTimeOut);
    *out = comm.get();
    std::lock_guard lock(registry().mutex);
    registry().comms[comm.get()] = comm;
    return HCCL_SUCCESS;
  } catch (const std::exception& problem) {
    return refuse(HCCL_E_TIMEOUT, name, problem.what());
  }
}

}  // namespace
}  // namespace sim::hccl

using namespace sim::hccl;

extern "C" {

SIM_API HcclResult HcclGetRootInfo(HcclRootInfo* info) {
  if (!info) return refuse(HCCL_E_PTR, "HcclGetRootInfo", "a pointer is null");
  try {
    std::random_device random;
    const Secret secret = new_secret();
    std::memset(info, 0, sizeof *info);
    std::snprintf(info->internal, kSecretAt, "%s-%08x%08x%08x", kMagic, random(), random(), random());
    std::memcpy(info->internal + kSecretAt, secret.data(), secret.size());
    return HCCL_SUCCESS;
  } catch (const std::exception& problem) {
    return refuse(HCCL_E_INTERNAL, "HcclGetRootInfo", problem.what());
  }
}

SIM_API HcclResult HcclCommInitRootInfo(uint32_t ranks, const HcclRootInfo* root, uint32_t rank, HcclComm* out) {
  return make("HcclCommInitRootInfo", ranks, root, rank, nullptr, out);
}

SIM_API HcclResult HcclCommInitRootInfoConfig(uint32_t ranks, const HcclRootInfo* root, uint32_t rank,
                                              const HcclCommConfig* config, HcclComm* out) {
  return make("HcclCommInitRootInfoConfig", ranks, root, rank, config, out);
}

// All ranks in this process, one for each of these devices. They find each other as ranks of several processes do, so
// each is made on a thread of its own.
SIM_API HcclResult HcclCommInitAll(uint32_t count, int32_t* devices, HcclComm* out) {
  constexpr const char* kName = "HcclCommInitAll";
  if (!devices || !out) return refuse(HCCL_E_PTR, kName, "a pointer is null");
  for (uint32_t i = 0; i < count; ++i)
    if (devices[i] < 0 || devices[i] >= sim_device_count())
      return refuse(HCCL_E_PARA, kName, "no device " + std::to_string(devices[i]));
  if (!count || std::set<int32_t>(devices, devices + count).size() != count)
    return refuse(HCCL_E_PARA, kName, "each device is given once, and there is one at least");
  HcclRootInfo root;
  if (const HcclResult code = HcclGetRootInfo(&root)) return code;
  std::vector<HcclResult> codes(count, HCCL_E_INTERNAL);
  std::vector<std::string> reasons(count);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      codes[i] = make(kName, count, &root, i, nullptr, &out[i]);
      const char* reason = sim_error_message();
      if (codes[i] && reason) reasons[i] = reason;
    });
  for (std::thread& thread : threads) thread.join();
  HcclResult failed = HCCL_SUCCESS;
  for (uint32_t i = 0; i < count; ++i)
    if (codes[i] && !failed) sim_fail(int(failed = codes[i]), "%s", reasons[i].c_str());
  if (failed)
    for (uint32_t i = 0; i < count; ++i)
      if (!codes[i]) HcclCommDestroy(out[i]);
  return failed;
}

// Every field may be set; those that tune the network (buffers, algorithms, retries) have nothing to tune here.
SIM_API uint32_t HcclGetCommConfigCapability() { return HCCL_COMM_CONFIG_RESERVED; }

SIM_API HcclResult HcclCommDestroy(HcclComm handle) {
  std::lock_guard lock(registry().mutex);  // tasks that still run share the communicator
  return registry().comms.erase(handle) ? HCCL_SUCCESS : refuse(HCCL_E_PARA, "HcclCommDestroy", "unknown communicator");
}

SIM_API HcclResult HcclGetRankSize(HcclComm handle, uint32_t* out) {
  return entry("HcclGetRankSize", handle, [&](const Comm& comm) { return *out = comm->ranks, HCCL_SUCCESS; });
}

SIM_API HcclResult HcclGetRankId(HcclComm handle, uint32_t* out) {
  return entry("HcclGetRankId", handle, [&](const Comm& comm) { return *out = comm->rank, HCCL_SUCCESS; });
}

SIM_API HcclResult HcclGetCommName(HcclComm handle, char* out) {
  return entry("HcclGetCommName", handle,
               [&](const Comm& comm) { return std::strcpy(out, comm->name.c_str()), HCCL_SUCCESS; });
}

// A wrong call is reported at the next synchronization, with its reason; torch_npu ends the process for what it hears
// here.
SIM_API HcclResult HcclGetCommAsyncError(HcclComm handle, HcclResult* out) {
  return entry("HcclGetCommAsyncError", handle, [&](const Comm& comm) {
    std::unique_lock lock(comm->mutex, std::try_to_lock);  // held by a collective under way: nothing has failed yet
    *out = lock && comm->lost ? HCCL_E_REMOTE : HCCL_SUCCESS;
    return HCCL_SUCCESS;
  });
}

// Kept for HcclGetConfig. Results are deterministic whatever is asked for.
SIM_API HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue value) {
  std::lock_guard lock(registry().mutex);
  registry().settings[int(config)] = value.value;
  return HCCL_SUCCESS;
}

SIM_API HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* value) {
  std::lock_guard lock(registry().mutex);
  auto found = registry().settings.find(int(config));
  value->value = found == registry().settings.end() ? 0 : found->second;
  return HCCL_SUCCESS;
}

SIM_API HcclComm ophook_hccl_find(const char* name) {
  std::lock_guard lock(registry().mutex);
  for (const auto& [handle, comm] : registry().comms)
    if (comm->name == name) return handle;
  return nullptr;
}

SIM_API void ophook_hccl_here(int on) { run_here = on; }

SIM_API int64_t ophook_hccl_patience() { return seconds_from("HCCL_EXEC_TIMEOUT", 1836).count(); }

}  // extern "C"
