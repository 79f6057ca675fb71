// libhccl: communicators and collectives between the processes of one host, over Unix sockets. Every collective is a
// task on its stream, checked in the call as far as one rank can, and against its peers when it runs.
#include "hccl/hccl.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "core/sim.h"
#include "here.h"
#include "link.h"
#include "types.h"

namespace sim::hccl {
namespace {

constexpr int kDeviceFailure = 507015;  // what a failed kernel gives at the next synchronization
constexpr char kMagic[] = "ophook-hccl";

// Default as CANN documents it; the names are CANN's.
std::chrono::seconds seconds_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  const int value = text ? std::atoi(text) : 0;
  return std::chrono::seconds(value > 0 ? value : otherwise);
}

struct Communicator {
  Communicator(const std::string& id, uint32_t ranks_, uint32_t rank_)
      : ranks(ranks_), rank(rank_), link(id, ranks_, rank_, seconds_from("HCCL_CONNECT_TIMEOUT", 120)) {}
  const uint32_t ranks, rank;
  std::string name;
  std::chrono::seconds timeout = seconds_from("HCCL_EXEC_TIMEOUT", 1836);

  std::mutex mutex;  // of what follows
  Link link;
  uint32_t serial = 0;
  bool lost = false;  // a rank is gone
};
using Comm = std::shared_ptr<Communicator>;

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

HcclResult refuse(HcclResult code, const char* function, const std::string& what) {
  sim_fail(int(code), "%s: %s", function, what.c_str());
  return code;
}

// ---- checks that one rank can make alone -----------------------------------------------------------------------------
struct Refused {
  HcclResult code;
  std::string what;
};

void need(bool holds, HcclResult code, const std::string& what) {
  if (!holds) throw Refused{code, what};
}

size_t sized(HcclDataType dtype) {
  const size_t size = dtype_size(dtype);
  need(size, HCCL_E_NOT_SUPPORT, dtype_name(dtype) + " is not simulated");
  return size;
}

void reducible_by(HcclDataType dtype, HcclReduceOp op) {
  need(reducible(dtype), HCCL_E_NOT_SUPPORT, dtype_name(dtype) + " is not reduced; allowed: int8, int16, int32, int64, float16, float32, bfloat16");
  need(op >= 0 && op < 4, HCCL_E_PARA, reduction_name(uint32_t(op)) + "; allowed: sum, prod, max, min");
}

void in_group(const Comm& comm, uint32_t rank, const char* what) {
  need(rank < comm->ranks, HCCL_E_PARA, std::string(what) + " " + std::to_string(rank) + " of " + std::to_string(comm->ranks) + " ranks");
}

char* device_memory(const void* pointer, uint64_t bytes, const char* what) {
  if (!bytes) return nullptr;
  size_t left = 0;
  need(pointer, HCCL_E_PTR, std::string(what) + " is null");
  if (run_here) return static_cast<char*>(const_cast<void*>(pointer));
  need(sim_memory_device(pointer, &left) >= 0, HCCL_E_PARA, std::string(what) + " is no device memory");
  need(bytes <= left, HCCL_E_PARA, std::string(what) + " holds " + std::to_string(left) + " bytes, " + std::to_string(bytes) + " are needed");
  return static_cast<char*>(const_cast<void*>(pointer));
}

// ---- tasks ------------------------------------------------------------------------------------------------------------
using Body = std::function<void(Communicator&)>;
struct Job {
  Comm comm;
  const char* name;
  Body body;
};

int run(void* argument) {
  auto job = static_cast<Job*>(argument);
  std::lock_guard lock(job->comm->mutex);
  try {
    job->body(*job->comm);
    return 0;
  } catch (const Gone& problem) {
    job->comm->lost = true;
    return sim_fail(kDeviceFailure, "%s", problem.what());
  } catch (const std::exception& problem) {
    return sim_fail(kDeviceFailure, "%s", problem.what());
  }
}

HcclResult launch(const Comm& comm, aclrtStream stream, const char* name, Body body) {
  if (run_here) {
    Job job{comm, name, std::move(body)};
    return run(&job) ? HCCL_E_RUNTIME : HCCL_SUCCESS;
  }
  auto* job = new Job{comm, name, std::move(body)};
  const int code = sim_launch(stream, name, run, job, [](void* argument) { delete static_cast<Job*>(argument); });
  return code ? HCCL_E_RUNTIME : HCCL_SUCCESS;
}

// What every entry does: find the communicator, check, launch; a refusal is named after the function.
HcclResult entry(const char* name, HcclComm handle, const std::function<HcclResult(const Comm&)>& checked) {
  Comm comm = find(handle);
  if (!comm) return refuse(HCCL_E_PARA, name, "unknown communicator");
  try {
    return checked(comm);
  } catch (const Refused& refused) {
    return refuse(refused.code, name, refused.what);
  }
}

// A part of a buffer, in bytes.
struct Part {
  uint64_t offset, size;
};
using Parts = std::vector<Part>;

Parts equal_parts(uint32_t ranks, uint64_t size) {
  Parts out;
  for (uint32_t i = 0; i < ranks; ++i) out.push_back({i * size, size});
  return out;
}

Parts listed_parts(uint32_t ranks, const void* counts, const void* offsets, size_t size) {
  Parts out;
  for (uint32_t i = 0; i < ranks; ++i)
    out.push_back({static_cast<const uint64_t*>(offsets)[i] * size, static_cast<const uint64_t*>(counts)[i] * size});
  return out;
}

uint64_t end_of(const Parts& parts) {
  uint64_t end = 0;
  for (const Part& part : parts)
    if (part.size) end = std::max(end, part.offset + part.size);
  return end;
}

// Part i of `from` goes to rank i, part i of `to` comes from rank i.
void all_to_all(Communicator& comm, const Tag& tag, char* from, const Parts& sent, char* to, const Parts& received) {
  std::vector<Piece> sends, receives;
  for (uint32_t i = 0; i < comm.ranks; ++i) {
    sends.push_back({tag, i, from + sent[i].offset, sent[i].size});
    receives.push_back({tag, i, to + received[i].offset, received[i].size});
  }
  comm.link.exchange(std::move(sends), std::move(receives), comm.timeout);
}

// Reduces each rank's part `rank` of `from` into `into`: in the order of the ranks, rounded to the type after each step.
void reduce_part(Communicator& comm, const Tag& tag, char* from, const Parts& parts, char* into) {
  const uint64_t size = parts[comm.rank].size;
  std::vector<char> pieces(size * comm.ranks);
  all_to_all(comm, tag, from, parts, pieces.data(), equal_parts(comm.ranks, size));
  for (uint32_t i = 1; i < comm.ranks; ++i)
    reduce(tag.dtype, tag.op, pieces.data(), pieces.data() + i * size, size / dtype_size(tag.dtype));
  if (size) std::memcpy(into, pieces.data(), size);
}

void gather_parts(Communicator& comm, const Tag& tag, char* own, char* to, const Parts& parts) {
  all_to_all(comm, tag, own, Parts(comm.ranks, {0, parts[comm.rank].size}), to, parts);
}

Tag numbered(Communicator& comm, Tag tag) {
  tag.serial = ++comm.serial;
  return tag;
}

// ---- between two ranks ------------------------------------------------------------------------------------------------
struct Message {
  bool sending;
  Piece piece;
};

// A send is over when it was received, as on the device: two ranks that both send first hang there, and fail here.
void exchange_messages(Communicator& comm, const std::vector<Message>& messages) {
  std::vector<Piece> pieces[2], receipts[2];
  for (const Message& message : messages) {
    pieces[message.sending].push_back(message.piece);
    Tag receipt = message.piece.tag;
    receipt.command = HCCL_CMD_RECEIVE;
    receipts[!message.sending].push_back({receipt, message.piece.peer, nullptr, 0});
  }
  comm.link.exchange(std::move(pieces[1]), std::move(pieces[0]), comm.timeout);
  comm.link.exchange(std::move(receipts[1]), std::move(receipts[0]), comm.timeout);
}

HcclResult launch_messages(const Comm& comm, aclrtStream stream, std::vector<Message> messages) {
  const char* name = messages.size() > 1 ? "HcclBatchSendRecv" : messages[0].sending ? "HcclSend" : "HcclRecv";
  return launch(comm, stream, name, [messages = std::move(messages)](Communicator& c) { exchange_messages(c, messages); });
}

struct Group {
  int depth = 0;
  struct Entry {
    Comm comm;
    aclrtStream stream;
    std::vector<Message> messages;
  };
  std::vector<Entry> entries;
};
thread_local Group group;

HcclResult message(const char* name, bool sending, void* buffer, uint64_t count, HcclDataType dtype, uint32_t peer, HcclComm handle,
                   aclrtStream stream) {
  return entry(name, handle, [&](const Comm& comm) {
    const uint64_t bytes = count * sized(dtype);
    in_group(comm, peer, sending ? "destRank" : "srcRank");
    Message one{sending, {{HCCL_CMD_SEND, uint32_t(dtype)}, peer, device_memory(buffer, bytes, sending ? "sendBuf" : "recvBuf"), bytes}};
    if (!group.depth) return launch_messages(comm, stream, {one});
    for (auto& waiting : group.entries)
      if (waiting.comm == comm && waiting.stream == stream) {
        waiting.messages.push_back(one);
        return HCCL_SUCCESS;
      }
    group.entries.push_back({comm, stream, {one}});
    return HCCL_SUCCESS;
  });
}

HcclResult make(const char* name, uint32_t ranks, const HcclRootInfo* root, uint32_t rank, const HcclCommConfig* config, HcclComm* out) {
  if (!root || !out) return refuse(HCCL_E_PTR, name, "a pointer is null");
  if (!ranks || rank >= ranks) return refuse(HCCL_E_PARA, name, "rank " + std::to_string(rank) + " of " + std::to_string(ranks));
  const std::string id(root->internal, strnlen(root->internal, 64));
  if (id.rfind(kMagic, 0)) return refuse(HCCL_E_PARA, name, "the root info is not one that HcclGetRootInfo made");
  try {
    auto comm = std::make_shared<Communicator>(id.substr(sizeof kMagic), ranks, rank);
    comm->name = config && config->hcclCommName[0] ? std::string(config->hcclCommName, strnlen(config->hcclCommName, COMM_NAME_MAX_LENGTH - 1)) : id;
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

// ---- communicators ----------------------------------------------------------------------------------------------------
SIM_API HcclResult HcclGetRootInfo(HcclRootInfo* info) {
  if (!info) return refuse(HCCL_E_PTR, "HcclGetRootInfo", "a pointer is null");
  std::random_device random;
  std::memset(info, 0, sizeof *info);
  std::snprintf(info->internal, sizeof info->internal, "%s-%08x%08x%08x", kMagic, random(), random(), random());
  return HCCL_SUCCESS;
}

SIM_API HcclResult HcclCommInitRootInfo(uint32_t ranks, const HcclRootInfo* root, uint32_t rank, HcclComm* out) {
  return make("HcclCommInitRootInfo", ranks, root, rank, nullptr, out);
}

SIM_API HcclResult HcclCommInitRootInfoConfig(uint32_t ranks, const HcclRootInfo* root, uint32_t rank, const HcclCommConfig* config, HcclComm* out) {
  return make("HcclCommInitRootInfoConfig", ranks, root, rank, config, out);
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
  return entry("HcclGetCommName", handle, [&](const Comm& comm) { return std::strcpy(out, comm->name.c_str()), HCCL_SUCCESS; });
}

// A wrong call is reported at the next synchronization, with its reason; torch_npu ends the process for what it hears here.
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

// ---- collectives ------------------------------------------------------------------------------------------------------
SIM_API HcclResult HcclAllReduce(void* from, void* to, uint64_t count, HcclDataType dtype, HcclReduceOp op, HcclComm handle, aclrtStream stream) {
  return entry("HcclAllReduce", handle, [&](const Comm& comm) {
    const size_t size = sized(dtype);
    reducible_by(dtype, op);
    char *in = device_memory(from, count * size, "sendBuf"), *out = device_memory(to, count * size, "recvBuf");
    Parts parts;  // each rank reduces its share
    for (uint64_t i = 0; i < comm->ranks; ++i) {
      const uint64_t begin = count * i / comm->ranks, end = count * (i + 1) / comm->ranks;
      parts.push_back({begin * size, (end - begin) * size});
    }
    return launch(comm, stream, "HcclAllReduce", [=](Communicator& c) {
      const Tag tag = numbered(c, {HCCL_CMD_ALLREDUCE, uint32_t(dtype), uint32_t(op)});
      char* own = out + parts[c.rank].offset;
      reduce_part(c, tag, in, parts, own);
      gather_parts(c, tag, own, out, parts);
    });
  });
}

SIM_API HcclResult HcclReduce(void* from, void* to, uint64_t count, HcclDataType dtype, HcclReduceOp op, uint32_t root, HcclComm handle, aclrtStream stream) {
  return entry("HcclReduce", handle, [&](const Comm& comm) {
    const uint64_t bytes = count * sized(dtype);
    reducible_by(dtype, op);
    in_group(comm, root, "root");
    char *in = device_memory(from, bytes, "sendBuf"), *out = comm->rank == root ? device_memory(to, bytes, "recvBuf") : nullptr;
    Parts parts(comm->ranks, {0, 0});
    parts[root] = {0, bytes};
    return launch(comm, stream, "HcclReduce",
                  [=](Communicator& c) { reduce_part(c, numbered(c, {HCCL_CMD_REDUCE, uint32_t(dtype), uint32_t(op), root}), in, parts, out); });
  });
}

SIM_API HcclResult HcclReduceScatter(void* from, void* to, uint64_t count, HcclDataType dtype, HcclReduceOp op, HcclComm handle, aclrtStream stream) {
  return entry("HcclReduceScatter", handle, [&](const Comm& comm) {
    const uint64_t bytes = count * sized(dtype);
    reducible_by(dtype, op);
    char *in = device_memory(from, bytes * comm->ranks, "sendBuf"), *out = device_memory(to, bytes, "recvBuf");
    return launch(comm, stream, "HcclReduceScatter", [=](Communicator& c) {
      reduce_part(c, numbered(c, {HCCL_CMD_REDUCE_SCATTER, uint32_t(dtype), uint32_t(op)}), in, equal_parts(c.ranks, bytes), out);
    });
  });
}

SIM_API HcclResult HcclReduceScatterV(void* from, const void* counts, const void* offsets, void* to, uint64_t count, HcclDataType dtype,
                                      HcclReduceOp op, HcclComm handle, aclrtStream stream) {
  return entry("HcclReduceScatterV", handle, [&](const Comm& comm) {
    const size_t size = sized(dtype);
    reducible_by(dtype, op);
    const Parts parts = listed_parts(comm->ranks, counts, offsets, size);
    need(parts[comm->rank].size == count * size, HCCL_E_PARA, "recvCount is not sendCounts at the own rank");
    char *in = device_memory(from, end_of(parts), "sendBuf"), *out = device_memory(to, count * size, "recvBuf");
    return launch(comm, stream, "HcclReduceScatterV",
                  [=](Communicator& c) { reduce_part(c, numbered(c, {HCCL_CMD_REDUCE_SCATTER_V, uint32_t(dtype), uint32_t(op)}), in, parts, out); });
  });
}

SIM_API HcclResult HcclAllGather(void* from, void* to, uint64_t count, HcclDataType dtype, HcclComm handle, aclrtStream stream) {
  return entry("HcclAllGather", handle, [&](const Comm& comm) {
    const uint64_t bytes = count * sized(dtype);
    char *in = device_memory(from, bytes, "sendBuf"), *out = device_memory(to, bytes * comm->ranks, "recvBuf");
    return launch(comm, stream, "HcclAllGather",
                  [=](Communicator& c) { gather_parts(c, numbered(c, {HCCL_CMD_ALLGATHER, uint32_t(dtype)}), in, out, equal_parts(c.ranks, bytes)); });
  });
}

SIM_API HcclResult HcclAllGatherV(void* from, uint64_t count, void* to, const void* counts, const void* offsets, HcclDataType dtype, HcclComm handle,
                                  aclrtStream stream) {
  return entry("HcclAllGatherV", handle, [&](const Comm& comm) {
    const size_t size = sized(dtype);
    const Parts parts = listed_parts(comm->ranks, counts, offsets, size);
    need(parts[comm->rank].size == count * size, HCCL_E_PARA, "sendCount is not recvCounts at the own rank");
    char *in = device_memory(from, count * size, "sendBuf"), *out = device_memory(to, end_of(parts), "recvBuf");
    return launch(comm, stream, "HcclAllGatherV",
                  [=](Communicator& c) { gather_parts(c, numbered(c, {HCCL_CMD_ALLGATHER_V, uint32_t(dtype)}), in, out, parts); });
  });
}

SIM_API HcclResult HcclBroadcast(void* buffer, uint64_t count, HcclDataType dtype, uint32_t root, HcclComm handle, aclrtStream stream) {
  return entry("HcclBroadcast", handle, [&](const Comm& comm) {
    const uint64_t bytes = count * sized(dtype);
    in_group(comm, root, "root");
    char* memory = device_memory(buffer, bytes, "buf");
    return launch(comm, stream, "HcclBroadcast", [=](Communicator& c) {
      const Tag tag = numbered(c, {HCCL_CMD_BROADCAST, uint32_t(dtype), 0, root});
      std::vector<Piece> sends, receives;
      if (c.rank != root) receives.push_back({tag, root, memory, bytes});
      for (uint32_t i = 0; c.rank == root && i < c.ranks; ++i)
        if (i != root) sends.push_back({tag, i, memory, bytes});
      c.link.exchange(std::move(sends), std::move(receives), c.timeout);
    });
  });
}

SIM_API HcclResult HcclScatter(void* from, void* to, uint64_t count, HcclDataType dtype, uint32_t root, HcclComm handle, aclrtStream stream) {
  return entry("HcclScatter", handle, [&](const Comm& comm) {
    const uint64_t bytes = count * sized(dtype);
    in_group(comm, root, "root");
    char *in = comm->rank == root ? device_memory(from, bytes * comm->ranks, "sendBuf") : nullptr, *out = device_memory(to, bytes, "recvBuf");
    return launch(comm, stream, "HcclScatter", [=](Communicator& c) {
      const Tag tag = numbered(c, {HCCL_CMD_SCATTER, uint32_t(dtype), 0, root});
      std::vector<Piece> sends;
      for (uint32_t i = 0; c.rank == root && i < c.ranks; ++i) sends.push_back({tag, i, in + i * bytes, bytes});
      c.link.exchange(std::move(sends), {{tag, root, out, bytes}}, c.timeout);
    });
  });
}

SIM_API HcclResult HcclAlltoAll(const void* from, uint64_t send_count, HcclDataType send_type, const void* to, uint64_t receive_count,
                                HcclDataType receive_type, HcclComm handle, aclrtStream stream) {
  return entry("HcclAlltoAll", handle, [&](const Comm& comm) {
    const uint64_t sent = send_count * sized(send_type), received = receive_count * sized(receive_type);
    need(send_type == receive_type && sent == received, HCCL_E_PARA, "what is sent and received differs in count or data type");
    char *in = device_memory(from, sent * comm->ranks, "sendBuf"), *out = device_memory(to, received * comm->ranks, "recvBuf");
    return launch(comm, stream, "HcclAlltoAll", [=](Communicator& c) {
      all_to_all(c, numbered(c, {HCCL_CMD_ALLTOALL, uint32_t(send_type)}), in, equal_parts(c.ranks, sent), out, equal_parts(c.ranks, received));
    });
  });
}

SIM_API HcclResult HcclAlltoAllV(const void* from, const void* send_counts, const void* send_offsets, HcclDataType send_type, const void* to,
                                 const void* receive_counts, const void* receive_offsets, HcclDataType receive_type, HcclComm handle,
                                 aclrtStream stream) {
  return entry("HcclAlltoAllV", handle, [&](const Comm& comm) {
    need(send_type == receive_type, HCCL_E_PARA, "what is sent and received differs in data type");
    const Parts sent = listed_parts(comm->ranks, send_counts, send_offsets, sized(send_type));
    const Parts received = listed_parts(comm->ranks, receive_counts, receive_offsets, sized(receive_type));
    char *in = device_memory(from, end_of(sent), "sendBuf"), *out = device_memory(to, end_of(received), "recvBuf");
    return launch(comm, stream, "HcclAlltoAllV",
                  [=](Communicator& c) { all_to_all(c, numbered(c, {HCCL_CMD_ALLTOALLV, uint32_t(send_type)}), in, sent, out, received); });
  });
}

SIM_API HcclResult HcclBarrier(HcclComm handle, aclrtStream stream) {
  return entry("HcclBarrier", handle, [&](const Comm& comm) {
    return launch(comm, stream, "HcclBarrier", [](Communicator& c) {
      all_to_all(c, numbered(c, {HCCL_CMD_BARRIER, 0}), nullptr, equal_parts(c.ranks, 0), nullptr, equal_parts(c.ranks, 0));
    });
  });
}

// ---- between two ranks ------------------------------------------------------------------------------------------------
SIM_API HcclResult HcclSend(void* buffer, uint64_t count, HcclDataType dtype, uint32_t peer, HcclComm handle, aclrtStream stream) {
  return message("HcclSend", true, buffer, count, dtype, peer, handle, stream);
}

SIM_API HcclResult HcclRecv(void* buffer, uint64_t count, HcclDataType dtype, uint32_t peer, HcclComm handle, aclrtStream stream) {
  return message("HcclRecv", false, buffer, count, dtype, peer, handle, stream);
}

// Sends and receives of this thread wait for the end of the outermost group, and go together.
SIM_API HcclResult ophook_hccl_group_start() { return ++group.depth, HCCL_SUCCESS; }

SIM_API HcclResult ophook_hccl_group_end() {
  if (!group.depth) return refuse(HCCL_E_PARA, "HcclGroupEnd", "no group was started");
  if (--group.depth) return HCCL_SUCCESS;
  auto entries = std::move(group.entries);
  group.entries.clear();
  for (auto& one : entries)
    if (HcclResult code = launch_messages(one.comm, one.stream, std::move(one.messages))) return code;
  return HCCL_SUCCESS;
}

SIM_API HcclResult HcclBatchSendRecv(HcclSendRecvItem* items, uint32_t count, HcclComm handle, aclrtStream stream) {
  ophook_hccl_group_start();
  HcclResult code = HCCL_SUCCESS;
  for (uint32_t i = 0; i < count && !code; ++i)
    code = message("HcclBatchSendRecv", items[i].sendRecvType == HCCL_SEND, items[i].buf, items[i].count, items[i].dataType, items[i].remoteRank,
                   handle, stream);
  if (code) group.entries.clear();
  const HcclResult ended = ophook_hccl_group_end();
  return code ? code : ended;
}

}  // extern "C"
