// Communicators between processes, and HCCL's calls about them.
#include "communicator.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "agreement.h"
#include "core/fault.h"
#include "core/forever.h"
#include "core/handles.h"
#include "core/order_api.h"
#include "core/touch.h"
#include "core/visible.h"
#include "here.h"
#include "rank_table.h"
#include "twins.h"
#include "types.h"

namespace sim::hccl {
namespace {

constexpr int kDeviceFailure = 507015;  // what a failed kernel gives at the next synchronization
constexpr int kLinkError = 507056;
constexpr int kWaitedTooLong = 507048;
constexpr char kMagic[] = "ophook-hccl";

// What HcclRootInfo holds.
struct RootInfo {
  char name[64];  // of the communicator
  Secret secret;
  Proof machine;    // that it was made on
  Address address;  // where its process listens; none: all ranks are on that machine
};
static_assert(sizeof(RootInfo) <= HCCL_ROOT_INFO_BYTES);

using Comms = sim::Handles<Communicator>;

struct Settings {
  std::mutex mutex;
  std::map<int, int32_t> values;
};
Settings& settings() { return sim::forever<Settings>(); }

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
  } catch (const Late& problem) {
    return sim_fail(kWaitedTooLong, "%s", problem.what());
  } catch (const Gone& problem) {
    job->comm->lost = true;
    return sim_fail(kDeviceFailure, "%s", problem.what());
  } catch (const std::exception& problem) {
    return sim_fail(kDeviceFailure, "%s", problem.what());
  }
}

}  // namespace

Comm find(HcclComm handle) { return Comms::all().find(handle); }

Communicator::Communicator(const Meeting& meeting_, const std::vector<uint32_t>& members_, uint32_t rank_)
    : ranks(uint32_t(members_.size())),
      rank(rank_),
      members(members_),
      twins(twins_of(members_)),
      meeting(meeting_),
      timeout(execution_timeout()),
      buffer(buffer_size()),
      link(std::make_unique<Link>(meeting_, twins, rank_, connect_timeout())) {}

bool Communicator::all_run() const {
  for (uint32_t peer = 0; peer < ranks; ++peer)
    if (!runs(peer)) return false;
  return true;
}

HcclResult refuse(HcclResult code, const char* function, const std::string& what) {
  sim_fail(int(code), "%s: %s", function, what.c_str());
  return code;
}

// Calls the function; what it throws as Refused is its answer.
static HcclResult refusing(const char* function, const std::function<HcclResult()>& called) {
  try {
    return called();
  } catch (const Refused& refused) {
    return refuse(refused.code, function, refused.what);
  }
}

HcclResult launch(const Comm& comm, aclrtStream stream, const char* name, Buffers buffers, Body body, bool meets_all) {
  need(!comm->suspended, HCCL_E_SUSPENDING, "the communicator is suspended until HcclCommResume");
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
  return refusing(name, [&] { return checked(comm); });
}

// ---- checks that one rank can make alone ---------------------------------------------------------------------------
void need(bool holds, HcclResult code, const std::string& what) {
  if (!holds) throw Refused{code, what};
}
void not_on(std::initializer_list<const char*> families) {
  const std::string soc = sim_current_soc()->name;
  for (const char* family : families)
    need(soc.rfind(family, 0), HCCL_E_NOT_SUPPORT, "an " + soc + " has no such function");
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

std::vector<uint32_t> numbers_to(uint32_t count) {
  std::vector<uint32_t> out(count);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

HcclResult make(const char* name, const Meeting& meeting, const std::string& id, const std::vector<uint32_t>& members,
                uint32_t rank, const HcclCommConfig* config, HcclComm* out) {
  const auto ranks = uint32_t(members.size());
  if (!ranks || rank >= ranks)
    return refuse(HCCL_E_PARA, name, "rank " + std::to_string(rank) + " of " + std::to_string(ranks));
  sim_fault_rank(int(rank));
  if (const int code = sim_fault_call(name)) return HcclResult(code);
  try {
    auto comm = std::make_shared<Communicator>(meeting, members, rank);
    comm->name = config && config->hcclCommName[0]
                     ? std::string(config->hcclCommName, strnlen(config->hcclCommName, COMM_NAME_MAX_LENGTH - 1))
                     : id;
    if (config && config->hcclBufferSize > 0 && config->hcclBufferSize != HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET)
      comm->buffer = uint64_t(config->hcclBufferSize) << 20;
    if (config && config->hcclExecTimeOut > 0) comm->timeout = std::chrono::seconds(config->hcclExecTimeOut);
    if (sim_get_device(&comm->device)) comm->device = -1;
    *out = Comms::all().add(std::move(comm));
    return HCCL_SUCCESS;
  } catch (const Refused& refused) {
    return refuse(refused.code, name, refused.what);
  } catch (const std::exception& problem) {
    const std::string reason = problem.what();
    // What CANN says of ranks that do not find each other over the network comes first.
    return refuse(HCCL_E_TIMEOUT, name,
                  meeting.roots.empty() ? reason
                                        : "EI0015: Failed to collect cluster information of the communicator based on "
                                          "rootInfo detection. Reason: " +
                                              reason);
  }
}

HcclResult make(const char* name, uint32_t ranks, const HcclRootInfo* info, uint32_t rank, const HcclCommConfig* config,
                HcclComm* out) {
  if (!info || !out) return refuse(HCCL_E_PTR, name, "a pointer is null");
  RootInfo root;
  std::memcpy(&root, info->internal, sizeof root);
  const std::string id(root.name, strnlen(root.name, sizeof root.name));
  if (id.rfind(kMagic, 0)) return refuse(HCCL_E_PARA, name, "the root info is not one that HcclGetRootInfo made");
  Meeting meeting{root.secret, {}, {}, {}};
  if (!root.address.none()) meeting.roots = {root.address};
  else if (root.machine != keyed(root.secret, this_machine()))
    return refuse(HCCL_E_NOT_SUPPORT, name,
                  "the root info was made on another machine, where nothing listens on the network: set HCCL_IF_IP or "
                  "HCCL_SOCKET_IFNAME for all ranks (docs/hosts.md)");
  if (ranks_repeated()) {
    // torch_npu comes here where it could not make a part of the rank table's communicator, and says nothing of why.
    const char* text = sim_error_message();
    const std::string earlier = text ? text : "";
    const size_t part = earlier.find("HcclCreateSubCommConfig");
    return refuse(HCCL_E_NOT_SUPPORT, name,
                  part != std::string::npos ? earlier.substr(part)
                                            : "a root info does not say which ranks these are, and some do not run "
                                              "(docs/many-ranks.md)");
  }
  return make(name, meeting, id, numbers_to(ranks), rank, config, out);
}

Secret derived(const Secret& from, const std::string& what) {
  Secret out{};
  for (const char part : {0, 1}) {
    const Proof half = keyed(from, std::string(1, part) + what);
    std::copy(half.begin(), half.end(), out.begin() + part * int(half.size()));
  }
  return out;
}

// A name that is the same for all ranks.
std::string name_by(const Secret& secret) {
  std::string out = kMagic;
  for (const uint8_t byte : keyed(secret, "name")) out += "0123456789abcdef"[byte & 15];
  return out;
}

// The secret of a rank table's communicator. Whoever knows the file could make it, so between machines something is
// added that only the ranks know.
Secret secret_of(const RankTable& table) {
  const char* known = std::getenv("OPHOOK_SIM_HCCL_SECRET");
  if (table.servers > 1 && (!known || std::strlen(known) < 16))
    throw Refused{
        HCCL_E_NOT_SUPPORT,
        "a rank table of several servers needs OPHOOK_SIM_HCCL_SECRET, 16 characters or more that are the same "
        "for all ranks: nothing else keeps others on the network out (docs/hosts.md)"};
  return derived({}, (known ? known : "") + std::string(1, 0) + table.text);
}

HcclResult make(const char* name, const char* path, uint32_t rank, const HcclCommConfig* config, HcclComm* out) {
  if (!path || !out) return refuse(HCCL_E_PTR, name, "a pointer is null");
  return refusing(name, [&] {
    const RankTable table = read_rank_table(path);
    need(rank < table.ranks.size(), HCCL_E_PARA,
         "EI0014: Value [" + std::to_string(rank) +
             "] for config [rank_id] is invalid. Expected value: a rank of the "
             "table, which has " +
             std::to_string(table.ranks.size()));
    const TableRank& own = table.ranks[rank];
    int device = 0;
    if (sim_get_device(&device)) throw Refused{HCCL_E_RUNTIME, sim_error_message()};
    device = sim_physical_device(device);
    need(uint32_t(device) == own.device, HCCL_E_UNAVAIL,
         "EI0014: Value [" + std::to_string(device) + "] for config [devicePhyId] is invalid. Expected value: " +
             std::to_string(own.device) + ", the device_id of rank " + std::to_string(rank));
    Meeting meeting{secret_of(table), {}, {}, own.server};
    if (table.servers > 1) {
      meeting.roots = table.ranks[0].addresses;
      const auto mine = std::find_if(own.addresses.begin(), own.addresses.end(),
                                     [](const Address& one) { return is_own_ip(one.ip); });
      need(mine != own.addresses.end(), HCCL_E_UNAVAIL,
           "EI0014: no interface of this machine has the device_ip, host_ip or server_id of rank " +
               std::to_string(rank));
      meeting.ip = mine->ip;
      uint32_t port = 0;
      if (!rank) answer_ranks(listening(mine->ip, {mine->port}, &port), meeting.secret, connect_timeout());
    }
    const std::string id = name_by(meeting.secret);
    return make(name, meeting, id, numbers_to(uint32_t(table.ranks.size())), rank, config, out);
  });
}

}  // namespace
}  // namespace sim::hccl

using namespace sim::hccl;

extern "C" {

SIM_API HcclResult HcclGetRootInfo(HcclRootInfo* info) {
  constexpr const char* kName = "HcclGetRootInfo";
  if (!info) return refuse(HCCL_E_PTR, kName, "a pointer is null");
  try {
    std::random_device random;
    RootInfo root{};
    connect_timeout();
    execution_timeout();
    root.secret = new_secret();
    root.machine = keyed(root.secret, this_machine());
    std::snprintf(root.name, sizeof root.name, "%s-%08x%08x%08x", kMagic, random(), random(), random());
    if (ranks_elsewhere()) {
      root.address = {chosen_ip(), 0};
      answer_ranks(listening(root.address.ip, root_ports(), &root.address.port), root.secret, connect_timeout());
    }
    std::memset(info, 0, sizeof *info);
    std::memcpy(info->internal, &root, sizeof root);
    return HCCL_SUCCESS;
  } catch (const Refused& refused) {
    return refuse(refused.code, kName, refused.what);
  } catch (const std::exception& problem) {
    return refuse(HCCL_E_INTERNAL, kName, problem.what());
  }
}

SIM_API HcclResult HcclCommInitRootInfo(uint32_t ranks, const HcclRootInfo* root, uint32_t rank, HcclComm* out) {
  return make("HcclCommInitRootInfo", ranks, root, rank, nullptr, out);
}

SIM_API HcclResult HcclCommInitRootInfoConfig(uint32_t ranks, const HcclRootInfo* root, uint32_t rank,
                                              const HcclCommConfig* config, HcclComm* out) {
  return make("HcclCommInitRootInfoConfig", ranks, root, rank, config, out);
}

SIM_API HcclResult HcclCommInitClusterInfo(const char* path, uint32_t rank, HcclComm* out) {
  return make("HcclCommInitClusterInfo", path, rank, nullptr, out);
}

SIM_API HcclResult HcclCommInitClusterInfoConfig(const char* path, uint32_t rank, HcclCommConfig* config,
                                                 HcclComm* out) {
  return make("HcclCommInitClusterInfoConfig", path, rank, config, out);
}

// All ranks are on this machine, and no root info goes around: they find each other by what all of them are told.
SIM_API HcclResult ophook_hccl_of_machine(const char* name, const char* told, uint32_t ranks, uint32_t rank,
                                          HcclComm* out) {
  if (!out) return refuse(HCCL_E_PTR, name, "a pointer is null");
  return refusing(name, [&] {
    const Meeting meeting{derived({}, told), {}, {}, {}};
    return make(name, meeting, name_by(meeting.secret), numbers_to(ranks), rank, nullptr, out);
  });
}

// A part of a communicator's ranks, which find each other by its secret; nobody else has to take part.
SIM_API HcclResult HcclCreateSubCommConfig(HcclComm* parent, uint32_t count, uint32_t* ranks, uint64_t number,
                                           uint32_t rank, HcclCommConfig* config, HcclComm* out) {
  constexpr const char* kName = "HcclCreateSubCommConfig";
  if (!parent || !out) return refuse(HCCL_E_PTR, kName, "a pointer is null");
  return entry(kName, *parent, [&](const Comm& comm) {
    if (!ranks) return *out = nullptr, HCCL_SUCCESS;  // this rank is none of the part
    need(
        count && rank < count && ranks[rank] == comm->rank, HCCL_E_PARA,
        "rankIds has to have this rank, " + std::to_string(comm->rank) + ", at subCommRankId, " + std::to_string(rank));
    need(comm->meeting.roots.empty(), HCCL_E_NOT_SUPPORT,
         "a part of a communicator of several machines is not simulated; a root info makes it");
    std::vector<uint32_t> members;
    std::string told = "part " + std::to_string(number);
    for (uint32_t i = 0; i < count; ++i) {
      in_group(comm, ranks[i], "rankIds");
      members.push_back(comm->members[ranks[i]]);
      need(std::count(members.begin(), members.end(), members.back()) == 1, HCCL_E_PARA,
           "rankIds has rank " + std::to_string(ranks[i]) + " twice");
      told += " " + std::to_string(ranks[i]);
    }
    const Meeting meeting{derived(comm->meeting.secret, told), {}, {}, {}};
    return make(kName, meeting, name_by(meeting.secret), members, rank, config, out);
  });
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
      if (!codes[i]) find(out[i])->device = devices[i];
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
  // Tasks that still run share the communicator.
  return Comms::all().take(handle) ? HCCL_SUCCESS : refuse(HCCL_E_PARA, "HcclCommDestroy", "unknown communicator");
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

SIM_API HcclResult HcclCommSuspend(HcclComm handle) {
  return entry("HcclCommSuspend", handle, [&](const Comm& comm) {
    not_on({"Ascend310P", "Ascend950"});
    comm->suspended = true;
    return HCCL_SUCCESS;
  });
}

// After aclrtDeviceTaskAbort, by all ranks: they find each other anew, and what was on its way is gone.
SIM_API HcclResult HcclCommResume(HcclComm handle) {
  return entry("HcclCommResume", handle, [&](const Comm& comm) {
    not_on({"Ascend310P"});
    need(comm->meeting.roots.empty(), HCCL_E_NOT_SUPPORT,
         "the ranks are on several machines, where they do not find each other again (docs/hosts.md)");
    std::lock_guard lock(comm->mutex);
    Meeting again = comm->meeting;
    again.secret = derived(again.secret, "resumed " + std::to_string(comm->resumed + 1));
    try {
      comm->link = std::make_unique<Link>(again, comm->twins, comm->rank, connect_timeout());
    } catch (const std::runtime_error& problem) {
      throw Refused{HCCL_E_TIMEOUT, problem.what()};
    }
    ++comm->resumed, comm->serial = 0;
    comm->lost = comm->suspended = false;
    return HCCL_SUCCESS;
  });
}

// Kept for HcclGetConfig. Results are deterministic whatever is asked for.
SIM_API HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue value) {
  std::lock_guard lock(settings().mutex);
  settings().values[int(config)] = value.value;
  return HCCL_SUCCESS;
}

SIM_API HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* value) {
  std::lock_guard lock(settings().mutex);
  auto found = settings().values.find(int(config));
  value->value = found == settings().values.end() ? 0 : found->second;
  return HCCL_SUCCESS;
}

SIM_API HcclComm ophook_hccl_find(const char* name) {
  int device = -1;
  if (sim_get_device(&device)) device = -1;
  const auto named = Comms::all().where([&](const Communicator& one) { return one.name == name; });
  for (const Comm& comm : named)
    if (comm->device == device) return comm.get();
  return named.empty() ? nullptr : named.back().get();
}

SIM_API void ophook_hccl_here(int on) { run_here = on; }

SIM_API int64_t ophook_hccl_patience() {
  try {
    return execution_timeout().count();
  } catch (const Refused&) {
    return kExecutionTimeout.count();  // no communicator is made with such a variable
  }
}

SIM_API const char* HcclGetErrorString(HcclResult code) {
  constexpr const char* texts[] = {"no error",
                                   "parameter error",
                                   "empty pointer",
                                   "memory error",
                                   "internal error",
                                   "not support feature",
                                   "not found specific resource",
                                   "resource unavailable",
                                   "call system interface error",
                                   "timeout",
                                   "open file fail",
                                   "tcp connect fail",
                                   "roce connect fail",
                                   "tcp transfer fail",
                                   "roce transfer fail",
                                   "call runtime api fail",
                                   "call driver api fail",
                                   "call profiling api fail",
                                   "call cce api fail",
                                   "call network api fail",
                                   "try again",
                                   "error cqe",
                                   "error communicator suspending",
                                   "retry constraint",
                                   "out of memory"};
  return size_t(code) < std::size(texts) ? texts[code] : "unknown error";
}

// Functions of an Atlas A3, or for more ranks than a machine runs: refused, and named.
#define ABSENT(function, parameters, ...)                               \
  SIM_API HcclResult function parameters {                              \
    return refusing(#function, [] {                                     \
      not_on({__VA_ARGS__});                                            \
      return refuse(HCCL_E_NOT_SUPPORT, #function, "is not simulated"); \
    });                                                                 \
  }
#define A3_ALONE "Ascend910B", "Ascend310P", "Ascend950"
ABSENT(HcclCommSetMemoryRange, (HcclComm, void*, size_t, size_t, uint64_t), A3_ALONE)
ABSENT(HcclCommUnsetMemoryRange, (HcclComm, void*), A3_ALONE)
ABSENT(HcclCommActivateCommMemory, (HcclComm, void*, size_t, size_t, aclrtDrvMemHandle, uint64_t), A3_ALONE)
ABSENT(HcclCommDeactivateCommMemory, (HcclComm, void*), A3_ALONE)
ABSENT(HcclCommWorkingDevNicSet, (HcclComm, uint32_t*, bool*, uint32_t), A3_ALONE)
ABSENT(HcclGetRootInfoScalable, (HcclRootInfo*), "Ascend310P", "Ascend950")
ABSENT(HcclCommInitRootInfoScalable,
       (uint32_t, uint32_t, const HcclRootInfo*, uint32_t, uint32_t, const HcclCommConfig*, HcclComm*), "Ascend310P",
       "Ascend950")
ABSENT(HcclSetCommConfig, (HcclComm, HcclConfig, HcclConfigValue))
ABSENT(HcclGetCommConfig, (HcclComm, HcclConfig, HcclConfigValue*))

}  // extern "C"
