#include "kernels.h"

#include <algorithm>
#include <cstdio>

#include "communicator.h"
#include "core/forever.h"
#include "here.h"

namespace sim::hccl {
namespace {

// What the vendor's kernels read at the address of their context, on an Atlas A2, by structures of their own; no page
// describes it. On an Atlas A3 it begins alike, and has its own two windows in place of the first two of these. What
// stands behind, of links between servers, is 0.
struct Read {
  uint64_t workspace = 0, workspace_size = 0;
  uint32_t rank = 0, ranks = 0;
  uint64_t window = 0;  // bytes
  uint64_t in[32] = {}, out[32] = {};
  uint64_t others[1100] = {};
};

// What a kernel gets as the address of its context.
struct Context {
  Read read;
  std::weak_ptr<Communicator> of;
  std::shared_ptr<Window> own;  // both windows: the one that others write, and behind it the other
  Windows others;
};

struct Held {
  Comm comm;
  std::shared_ptr<void> context;
};

struct Contexts {
  std::mutex mutex;
  std::map<const void*, std::weak_ptr<Context>> all;
};
Contexts& contexts() { return sim::forever<Contexts>(); }

// The context at an address and its communicator; null where either is gone.
std::pair<std::shared_ptr<Context>, Comm> find(const void* address) {
  std::lock_guard lock(contexts().mutex);
  const auto found = contexts().all.find(address);
  auto context = found == contexts().all.end() ? nullptr : found->second.lock();
  Comm comm = context ? context->of.lock() : nullptr;
  return {std::move(context), std::move(comm)};
}

uint32_t product() {
  const std::string soc = sim_current_soc()->name;
  return soc.rfind("Ascend950", 0) == 0 ? 950 : soc.rfind("Ascend910_93", 0) == 0 ? 3 : 2;
}

// Both windows of a rank, one behind the other; nullptr: it is on another machine.
uint8_t* memory_of(const Context& context, const Communicator& comm, uint32_t rank) {
  const auto other = context.others.find(rank);
  const Window* found = rank == comm.rank               ? context.own.get()
                        : other == context.others.end() ? nullptr
                                                        : other->second.get();
  return found ? reinterpret_cast<uint8_t*>(found->memory()) : nullptr;
}

std::shared_ptr<Context> make(const Comm& comm) {
  auto context = std::make_shared<Context>();
  context->of = comm;
  context->own = std::make_shared<Window>(2 * comm->buffer);
  std::vector<uint32_t> peers;
  for (uint32_t i = 0; i < comm->ranks; ++i)
    if (i != comm->rank && comm->runs(i) && !comm->link->remote(i)) peers.push_back(i);
  context->others = exchange_windows(*comm, *context->own, peers);
  Read& read = context->read;
  read.rank = comm->rank, read.ranks = comm->ranks, read.window = comm->buffer;
  const bool a2 = product() == 2;
  for (uint32_t i = 0; i < std::min<uint32_t>(comm->ranks, std::size(read.in)); ++i) {
    const auto* memory = memory_of(*context, *comm, i);
    if (!memory || !(a2 || i == comm->rank)) continue;
    read.in[a2 ? i : 0] = reinterpret_cast<uint64_t>(memory);
    (a2 ? read.out[i] : read.in[1]) = reinterpret_cast<uint64_t>(memory) + comm->buffer;
  }
  std::lock_guard lock(contexts().mutex);
  contexts().all[context.get()] = context;
  return context;
}

int group_of(const void* address, ascendc_group* out) {
  const auto [context, comm] = find(address);
  if (!comm) return 0;
  const auto patience = uint32_t(std::min<int64_t>(comm->timeout.count(), UINT32_MAX));
  *out = {{}, comm->rank, comm->ranks, product(), patience, comm->buffer};
  std::snprintf(out->name, sizeof out->name, "%s", comm->name.c_str());
  return 1;
}

void* window(const void* address, uint32_t rank, int out) {
  const auto [context, comm] = find(address);
  if (!comm) return nullptr;
  uint8_t* memory = memory_of(*context, *comm, rank);
  return memory ? memory + (out ? comm->buffer : 0) : nullptr;
}

// Where the blocks of the ranks begin.
std::vector<uint64_t> begins(const uint64_t* counts, uint32_t ranks) {
  std::vector<uint64_t> out(ranks);
  for (uint32_t i = 1; i < ranks; ++i) out[i] = out[i - 1] + counts[i - 1];
  return out;
}

HcclResult collective(const Comm& comm, const ascendc_collective& c) {
  HcclComm handle = comm.get();
  auto* from = const_cast<void*>(c.from);
  const auto dtype = HcclDataType(c.dtype);
  const auto op = HcclReduceOp(c.op);
  switch (c.command) {
    case HCCL_CMD_ALLREDUCE: return HcclAllReduce(from, c.to, c.count, dtype, op, handle, nullptr);
    case HCCL_CMD_REDUCE_SCATTER: return HcclReduceScatter(from, c.to, c.count, dtype, op, handle, nullptr);
    case HCCL_CMD_ALLGATHER: return HcclAllGather(from, c.to, c.count, dtype, handle, nullptr);
    case HCCL_CMD_ALLTOALL: return HcclAlltoAll(from, c.count, dtype, c.to, c.count, dtype, handle, nullptr);
    case HCCL_CMD_ALLTOALLV:
      return HcclAlltoAllV(from, c.sent, begins(c.sent, comm->ranks).data(), dtype, c.to, c.received,
                           begins(c.received, comm->ranks).data(), dtype, handle, nullptr);
    default: return refuse(HCCL_E_NOT_SUPPORT, "Hccl", "command " + std::to_string(c.command));
  }
}

int run(const void* address, const ascendc_collective* asked, char* reason, size_t capacity) {
  const auto [context, comm] = find(address);
  ascendc_collective c = *asked;
  if (c.dtype == HCCL_DATA_TYPE_HIF8 || c.dtype == HCCL_DATA_TYPE_FP8E8M0)
    c.dtype = HCCL_DATA_TYPE_UINT8;  // moved only
  const Here here;
  const HcclResult code = comm ? collective(comm, c) : HCCL_E_PARA;
  if (!code) return 0;
  const char* text = comm ? sim_error_message() : "the communicator was destroyed";
  std::snprintf(reason, capacity, "%s", text ? text : "the collective failed");
  return 1;
}

constexpr ascendc_wires kWires{group_of, window, run};

}  // namespace
}  // namespace sim::hccl

using namespace sim::hccl;

extern "C" {

SIM_API const ascendc_wires* ophook_hccl_wires() { return &kWires; }

SIM_API const void* ophook_hccl_context(void* handle, void** held) {
  constexpr const char* kName = "the context of a kernel's group";
  const void* out = nullptr;
  const HcclResult code = entry(kName, handle, [&](const Comm& comm) {
    const Here here;
    return launch(
        comm, nullptr, kName, {},
        [&](Communicator& c) {
          if (!c.kernel_context) c.kernel_context = make(comm);
          out = c.kernel_context.get();
          *held = new Held{comm, c.kernel_context};
        },
        false);
  });
  return code ? nullptr : out;
}

SIM_API void ophook_hccl_release(void* held) { delete static_cast<Held*>(held); }

}  // extern "C"
