#include "kernels.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "communicator.h"
#include "here.h"

namespace sim::hccl {
namespace {

// What a kernel gets as the address of its context. Its bytes say nothing: the vendor's pages do not describe them.
struct Context {
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
Contexts& contexts() {
  static auto* instance = new Contexts;  // stream threads may outlive static destructors
  return *instance;
}

std::shared_ptr<Context> find(const void* context) {
  std::lock_guard lock(contexts().mutex);
  const auto found = contexts().all.find(context);
  return found == contexts().all.end() ? nullptr : found->second.lock();
}

uint32_t product() {
  const std::string soc = sim_current_soc()->name;
  return soc.rfind("Ascend950", 0) == 0 ? 950 : soc.rfind("Ascend910_93", 0) == 0 ? 3 : 2;
}

std::shared_ptr<Context> make(const Comm& comm) {
  auto context = std::make_shared<Context>();
  context->of = comm;
  context->own = std::make_shared<Window>(2 * comm->buffer);
  std::vector<uint32_t> peers;
  for (uint32_t i = 0; i < comm->ranks; ++i)
    if (i != comm->rank && comm->runs(i) && !comm->link->remote(i)) peers.push_back(i);
  context->others = exchange_windows(*comm, *context->own, peers);
  std::lock_guard lock(contexts().mutex);
  contexts().all[context.get()] = context;
  return context;
}

int group_of(const void* address, ascendc_group* out) {
  const auto context = find(address);
  const Comm comm = context ? context->of.lock() : nullptr;
  if (!comm) return 0;
  const auto patience = uint32_t(std::min<int64_t>(comm->timeout.count(), UINT32_MAX));
  *out = {{}, comm->rank, comm->ranks, product(), patience, comm->buffer};
  std::snprintf(out->name, sizeof out->name, "%s", comm->name.c_str());
  return 1;
}

void* window(const void* address, uint32_t rank, int out) {
  const auto context = find(address);
  const Comm comm = context ? context->of.lock() : nullptr;
  if (!comm) return nullptr;
  const auto other = context->others.find(rank);
  const Window* found = rank == comm->rank               ? context->own.get()
                        : other == context->others.end() ? nullptr
                                                         : other->second.get();
  return found ? found->memory() + (out ? comm->buffer : 0) : nullptr;
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
  const auto context = find(address);
  const Comm comm = context ? context->of.lock() : nullptr;
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
