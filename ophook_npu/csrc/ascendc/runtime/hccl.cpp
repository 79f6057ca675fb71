// Calls of Hccl objects: what the vendor's pages say that each of them takes, and in which order. server.cpp does the
// rest.
#include "access.h"
#include "server.h"

namespace ophook::rt::comm {

using namespace AscendC;

namespace {

constexpr int kMostCalls = 63;  // of one group, of all functions that prepare
constexpr uint64_t kMostOf950 = 256u << 20;
constexpr uint32_t kMostRanksOfA3 = 128, kMostItems = 2047;

// What the pages of the functions that prepare a task list.
struct Rule {
  uint32_t command;
  bool reduces;  // float, half, bfloat16_t, int8_t, int16_t and int32_t, by sum, max and min; else any type
  bool on_a2, on_a3, on_950;
};
constexpr Rule kRules[] = {
    {HCCL_CMD_ALLREDUCE, true, true, true, true},   {HCCL_CMD_REDUCE_SCATTER, true, true, true, true},
    {HCCL_CMD_ALLGATHER, false, true, true, true},  {HCCL_CMD_ALLTOALL, false, true, true, true},
    {HCCL_CMD_ALLTOALLV, false, false, true, true}, {HCCL_CMD_BATCH_WRITE, false, true, true, false},
};
const Rule& rule_of(uint32_t command) {
  return *std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& one) { return one.command == command; });
}

bool reducible(uint32_t dtype) {
  switch (dtype) {
    case HCCL_DATA_TYPE_FP32:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_BFP16:
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_INT32: return true;
    default: return false;
  }
}

bool listed(uint32_t product, bool on_a2, bool on_a3, bool on_950) {
  return product == kAny || (product == kA2 ? on_a2 : product == kA3 ? on_a3 : on_950);
}

const char* product_name(uint32_t product) {
  return product == kA2 ? "an Atlas A2" : product == kA3 ? "an Atlas A3" : "an Ascend950";
}

bool wrong(const char* call, At at, std::string what) {
  core().report(Kind::parameter, call, at, std::move(what));
  return false;
}

// The group of an object that may be used; nullptr, after a finding, where it may not.
Group* group_of(HcclClient& client, const char* call, At at) {
  if (client.group < 0) return wrong(call, at, "InitV2 was not called before"), nullptr;
  if (client.over)
    return wrong(call, at, "Finalize was called before; a new Hccl object, with InitV2, is needed to go on"), nullptr;
  return &core().launch.communication->groups[size_t(client.group)];
}

// Whether this core is the one that tells the server.
bool tells(const HcclClient& client, int64_t blocks = 1) {
  const auto kind = CoreType(client.core);
  const bool of_kind = kind == CoreType::DEFAULT || (kind == CoreType::ON_AIV) == core().is_vector;
  const int64_t block = block_index();
  return of_kind && (blocks > 1 ? block < blocks : block == client.block);
}

bool handle_given(const HcclClient& client, const char* call, int handle, At at) {
  if (handle >= 0 && handle < client.prepared) return true;
  return wrong(call, at,
               text("handle %d was given by no function that prepares a task; allowed: %s", handle,
                    client.prepared ? text("0 to %d", client.prepared - 1).c_str() : "none yet"));
}

// Ends the core where the ranks cannot communicate any more.
void go_on(Core& c) {
  if (!c.launch.communication->failed.empty()) c.stop();
}

void wait_until(Core& c, const char* call, At at, std::function<bool()> until, std::function<std::string()> never) {
  c.settle_all();
  c.begin(Pipe::S, call, at);
  yield_core();  // however fast the server is, the other cores come to their Wait
  while (true) {
    serve(c.launch, false);
    go_on(c);
    if (until()) return;
    c.until = until, c.never = never, c.waits_at = at;
    c.state = Core::kTask;
    yield_core();
  }
}

// A buffer of a round, or an empty one after a finding: the core then ends, as an address that is wrong ends it on a
// device.
void reach(Operation& op, const char* name, const Parts& parts, uint8_t* data, uint32_t size, bool written) {
  Core& c = op.core;
  for (const Part& part : parts) {
    uint8_t* begin = data + part.at * size;
    const uint64_t bytes = part.count * size;
    if (!bytes) continue;
    if (!data) wrong(op.call, op.at, text("%s is null", name)), c.stop();
    if (!written) {
      if (op.from_device(begin, bytes, false) != bytes) c.stop();
      continue;
    }
    Argument* const a = c.launch.memory.find(begin, bytes);
    if (a && !writable(c, *a, op.call, op.at, name)) c.stop();
    if (a && c.launch.memory.holds(begin, bytes)) continue;
    c.report(Kind::global_bounds, op.call, op.at,
             text("%s: %llu bytes at %llu belong to no argument", name, (unsigned long long)bytes,
                  (unsigned long long)(part.at * size)));
    c.stop();
  }
}

void commit(Core& c, Group& group, CommTask& task, const char* call, At at) {
  Operation op(c, Pipe::S, call, at);
  if (task.asked.command != HCCL_CMD_BATCH_WRITE) {
    const uint32_t size = element_size(task.asked.dtype);
    const Parts sent = sent_parts(task, task.committed, group.told);
    reach(op, "sendBuf", sent, task.asked.from, size, false);
    reach(op, "recvBuf", received_parts(task, task.committed, group.told), task.asked.to, size, true);
    std::vector<uint8_t> bytes;
    if (!task.after)
      for (const Part& part : sent)
        bytes.insert(bytes.end(), task.asked.from + part.at * size, task.asked.from + (part.at + part.count) * size);
    task.kept.push_back(std::move(bytes));
  }
  ++task.committed;
  serve(c.launch, false);
}

// The checks of a task that one rank can make alone.
bool fits(const Group& group, const HcclClient& client, const char* call, const HcclTask& task, At at) {
  const ascendc_group& told = group.told;
  const Rule& rule = rule_of(task.command);
  if (!listed(told.product, rule.on_a2, rule.on_a3, rule.on_950))
    return wrong(call, at, text("%s has no such function", product_name(told.product)));
  const hccl::CcTiling* tiling = client.tilings[task.command];
  if (!tiling)
    return wrong(call, at, text("SetCcTilingV2 gave no tiling of command %u (HcclCMDType) before", task.command));
  if (tiling->step)
    return wrong(call, at, text("SetStepSize(%u): communication by steps (Iterate) is not implemented", tiling->step));
  if (client.prepared >= kMostCalls || (tells(client) && group.calls >= kMostCalls))
    return wrong(call, at, text("a task after %d others of the group; allowed: up to %d", kMostCalls, kMostCalls));
  if (task.command == HCCL_CMD_BATCH_WRITE) return true;
  if (!task.repeat) return wrong(call, at, "repeat is 0; allowed: from 1");
  if (rule.reduces && !reducible(task.dtype))
    return wrong(call, at,
                 text("dataType is %u; allowed: HCCL_DATA_TYPE_FP32, FP16, BFP16, INT8, INT16, INT32", task.dtype));
  if (rule.reduces && (task.op == HCCL_REDUCE_PROD || task.op >= HCCL_REDUCE_RESERVED))
    return wrong(call, at, text("op is %u; allowed: HCCL_REDUCE_SUM, HCCL_REDUCE_MAX, HCCL_REDUCE_MIN", task.op));
  const uint32_t size = element_size(task.dtype);
  if (!size)
    return wrong(call, at,
                 text("dataType is %u; allowed: those of HcclDataType but HCCL_DATA_TYPE_INT128", task.dtype));
  if (told.product == k950 && task.count * size > kMostOf950)
    return wrong(call, at, text("%llu bytes at once; allowed: up to 256 MB", (unsigned long long)(task.count * size)));
  const bool exchanges = task.command == HCCL_CMD_ALLTOALL || task.command == HCCL_CMD_ALLTOALLV;
  if (told.product == kA3 && exchanges && told.ranks > kMostRanksOfA3)
    return wrong(call, at, text("%u ranks; allowed: up to %u", told.ranks, kMostRanksOfA3));
  if (task.command == HCCL_CMD_ALLTOALLV && (!task.sent || !task.sent_at || !task.received || !task.received_at))
    return wrong(call, at, "a list is null; sendCounts, sdispls, recvCounts and rdispls have a number for each rank");
  if (tiling->from_window == 2 && listed(told.product, true, false, false)) {
    if (task.command != HCCL_CMD_ALLREDUCE && task.command != HCCL_CMD_ALLTOALL)
      return wrong(call, at, "SetSkipBufferWindowCopy(2); allowed: for AllReduce and AlltoAll");
    const Argument* a = core().launch.memory.find(task.from);
    if (!a || a->role != kWindow)
      return wrong(call, at, "SetSkipBufferWindowCopy(2), and sendBuf does not lie in a window");
  }
  return true;
}

// The first core that tells the server is the one that goes on doing so.
bool is_the_one(Group& group, const char* call, At at) {
  const Core& c = core();
  if (group.poster < 0) group.poster = c.index;
  if (group.poster == c.index) return true;
  return wrong(
      call, at,
      text("cores %d and %d both prepare tasks; allowed: cube cores or vector cores, or give the Hccl object a "
           "HcclServerConfig",
           group.poster, c.index));
}

// The page of Finalize wants SyncAll before it; the guide's own example of a fused operator has none.
void no_sync_before(Core& c, int ends, int waits, const char* call, At at) {
  c.report(
      Kind::missing_sync_all, call, at,
      text("core %d calls Finalize, which ends the server, and core %d may still wait: SyncAll has to stand before "
           "Finalize",
           ends, waits));
}

int8_t given(HcclClient& client, uint8_t repeat) {
  client.repeats[client.prepared] = repeat;
  return client.prepared++;
}

}  // namespace

// The window of a rank, which this launch may read and write from now on; nullptr: it is on another machine.
static uint8_t* window_of(Launch& launch, const void* context, const ascendc_group& told, uint32_t rank, bool out) {
  auto* data = static_cast<uint8_t*>(launch.communication->wires->window(context, rank, out));
  auto& arguments = launch.memory.arguments;
  if (data && std::none_of(arguments.begin(), arguments.end(), [&](const Argument& one) { return one.data == data; })) {
    Argument window;
    window.name = text("the %s window of rank %u", out ? "output" : "input", rank);
    window.data = data, window.bytes = window.allocated = told.window, window.role = kWindow;
    arguments.push_back(std::move(window));
  }
  return data;
}

uint8_t* hccl_context(uint32_t index) {
  Launch& launch = core().launch;
  Communication& all = communication(launch);
  if (index >= all.contexts.size()) return nullptr;
  const void* context = all.contexts[index];
  // The vendor's kernels read in it where the windows are, and ask no Hccl object.
  ascendc_group told{};
  if (!launch.wires || !all.wires->group(context, &told) || told.product == k950)
    return static_cast<uint8_t*>(const_cast<void*>(context));
  all.patience = told.patience;
  for (uint32_t rank = 0; rank < told.ranks; ++rank)
    for (const bool out : {false, true}) window_of(launch, context, told, rank, out);
  return static_cast<uint8_t*>(const_cast<void*>(context));
}

void hccl_set_context(uint32_t index, const void* context, At) {
  auto& contexts = communication(core().launch).contexts;
  contexts.resize(std::max<size_t>(contexts.size(), index + 1));
  contexts[index] = context;
}

void hccl_init(HcclClient& client, const char* call, const void* context, const void* tiling, At at) {
  Core& c = core();
  Communication& all = communication(c.launch);
  ascendc_group told{};
  if (!context || !all.wires->group(context, &told)) {
    wrong(call, at,
          context ? "the context is none that GetHcclContext gives"
                  : "the context is null: the operator's host side has no MC2().HcclGroup for it");
    return;
  }
  const auto server = HcclServerType(client.server);
  if (told.product != kAny && server != (told.product == k950 ? HCCL_SERVER_TYPE_CCU : HCCL_SERVER_TYPE_AICPU)) {
    wrong(call, at,
          text("serverType is %d; allowed on %s: %s", client.server, product_name(told.product),
               told.product == k950 ? "HCCL_SERVER_TYPE_CCU" : "HCCL_SERVER_TYPE_AICPU"));
    return;
  }
  const bool newer = !std::strcmp(call, "InitV2");
  if (!tiling) {
    wrong(call, at,
          newer ? "initTiling is null"
                : "initTiling is not given: tiling structures of versions 1 and 2 are not implemented; call InitV2");
    return;
  }
  if (newer && c.launch.memory.find(tiling)) {
    wrong(call, at, "initTiling is in device memory; allowed: what GET_TILING_DATA_WITH_STRUCT copies to the stack");
    return;
  }
  hccl::InitTiling begin{};
  std::memcpy(&begin, tiling, sizeof begin.is);
  if (begin.is != hccl::kInitTiling) {
    wrong(
        call, at,
        "the tiling does not begin with a Mc2InitTiling that Mc2CcTilingConfig::GetTiling has filled: it has to be the "
        "first member");
    return;
  }
  auto is_it = [&](const Group& one) { return one.context == context && one.finalized_by < 0; };
  auto found = std::find_if(all.groups.begin(), all.groups.end(), is_it);
  if (found == all.groups.end()) {
    all.groups.emplace_back(all.wires, context).told = told;
    all.patience = told.patience;
    found = std::prev(all.groups.end());
  }
  if (!found->cores.insert(c.index).second) {
    wrong(call, at, "a second Hccl object of the same context; allowed: one at a time, until its Finalize");
    return;
  }
  client.group = int32_t(found - all.groups.begin());
  client.tiling = static_cast<const uint8_t*>(tiling);
}

int32_t hccl_set_tiling(HcclClient& client, const char* call, const void* tiling, At at) {
  Group* group = group_of(client, call, at);
  if (!group) return HCCL_FAILED;
  const auto distance = uint64_t(static_cast<const uint8_t*>(tiling) - client.tiling);
  const Launch& launch = core().launch;
  if (launch.tiling_bytes && distance + sizeof(hccl::CcTiling) > launch.tiling_bytes)
    return wrong(call, at,
                 text("a Mc2CcTiling at byte %llu of the tiling, which has %llu", (unsigned long long)distance,
                      (unsigned long long)launch.tiling_bytes)),
           HCCL_FAILED;
  const auto* given = static_cast<const hccl::CcTiling*>(tiling);
  if (given->is != hccl::kCcTiling || given->command >= hccl::kCommands)
    return wrong(call, at, "no Mc2CcTiling that Mc2CcTilingConfig::GetTiling has filled lies there"), HCCL_FAILED;
  const std::string name(given->group, strnlen(given->group, sizeof given->group));
  if (group->told.name[0] && name != group->told.name)
    return wrong(call, at,
                 text("the tiling is of group '%s', the context of group '%s'", name.c_str(), group->told.name)),
           HCCL_FAILED;
  client.tilings[given->command] = given;
  return HCCL_SUCCESS;
}

int8_t hccl_prepare(HcclClient& client, const char* call, const HcclTask& asked, bool commits, At at) {
  Core& c = core();
  Group* group = group_of(client, call, at);
  if (!group || !fits(*group, client, call, asked, at)) return INVALID_HANDLE_ID;
  if (!tells(client)) return given(client, asked.repeat);
  if (!is_the_one(*group, call, at)) return INVALID_HANDLE_ID;
  c.begin(Pipe::S, call, at);
  ++group->calls;
  CommTask& task = group->tasks.emplace_back();
  task.asked = asked, task.call = call, task.at = at, task.core = c.index, task.after = group->after;
  if (asked.command == HCCL_CMD_ALLTOALLV) {
    const uint32_t ranks = group->told.ranks;
    task.sent.assign(asked.sent, asked.sent + ranks), task.sent_at.assign(asked.sent_at, asked.sent_at + ranks);
    task.received.assign(asked.received, asked.received + ranks);
    task.received_at.assign(asked.received_at, asked.received_at + ranks);
  }
  const hccl::CcTiling& tiling = *client.tilings[asked.command];
  const bool gathers = asked.command == HCCL_CMD_ALLGATHER || asked.command == HCCL_CMD_ALLTOALL;
  task.skips_own = listed(group->told.product, true, false, false) && gathers && tiling.skips_own == 1;
  task.silent = tiling.debug == 1;
  const int8_t handle = given(client, asked.repeat);
  if (commits)
    for (int i = 0; i < asked.repeat; ++i) commit(c, *group, task, call, at);
  return handle;
}

int8_t hccl_batch_write(HcclClient& client, const void* items, uint32_t count, uint16_t queue, bool commits, At at) {
  constexpr const char* kCall = "BatchWrite";
  struct Item {  // of an Atlas A3
    uint64_t type;
    uint32_t unused[5], length, from_low, from_high, to_low, to_high, more[4];
  };
  Core& c = core();
  Group* group = group_of(client, kCall, at);
  HcclTask asked;
  asked.command = HCCL_CMD_BATCH_WRITE;
  if (!group || !fits(*group, client, kCall, asked, at)) return INVALID_HANDLE_ID;
  if (group->told.product == kA2)
    return wrong(kCall, at,
                 "on an Atlas A2 it writes between servers only, and windows between servers are not implemented"),
           INVALID_HANDLE_ID;
  const hccl::CcTiling& tiling = *client.tilings[asked.command];
  if (count > kMostItems)
    return wrong(kCall, at, text("itemNum is %u; allowed: up to %u", count, kMostItems)), INVALID_HANDLE_ID;
  if (queue >= std::max<uint16_t>(tiling.queues, 1))
    return wrong(kCall, at,
                 text("queueID is %u; allowed: less than the %u queues of SetQueueNum", queue,
                      std::max<uint16_t>(tiling.queues, 1))),
           INVALID_HANDLE_ID;
  if (!tells(client, std::max<uint16_t>(tiling.blocks, 1))) return given(client, 1);
  ++group->calls;
  Operation op(c, Pipe::S, kCall, at);
  auto* list = static_cast<uint8_t*>(const_cast<void*>(items));
  reach(op, "batchWriteInfo", {{0, count * sizeof(Item)}}, list, 1, false);
  CommTask& task = group->tasks.emplace_back();
  task.asked = asked, task.call = kCall, task.at = at, task.core = c.index, task.after = group->after;
  for (uint32_t i = 0; i < count; ++i) {
    Item item;
    std::memcpy(&item, list + i * sizeof item, sizeof item);
    auto* from = reinterpret_cast<uint8_t*>(uint64_t(item.from_high) << 32 | item.from_low);
    auto* to = reinterpret_cast<uint8_t*>(uint64_t(item.to_high) << 32 | item.to_low);
    reach(op, "the source of an item", {{0, item.length}}, from, 1, false);
    reach(op, "the destination of an item", {{0, item.length}}, to, 1, true);
    task.copies.push_back({{from, from + item.length}, to});
  }
  const int8_t handle = given(client, 1);
  client.own[handle] = &task;
  if (commits) commit(c, *group, task, kCall, at);
  return handle;
}

namespace {
// The task of a handle, as far as the core that prepares has come. Several cores may write batches: each has its own.
CommTask* task_of(const HcclClient& client, Group& group, int handle) {
  if (client.own[handle]) return static_cast<CommTask*>(client.own[handle]);
  return size_t(handle) < group.tasks.size() ? &group.tasks[size_t(handle)] : nullptr;
}
}  // namespace

void hccl_commit(HcclClient& client, int8_t handle, At at) {
  constexpr const char* kCall = "Commit";
  Group* group = group_of(client, kCall, at);
  if (!group || !handle_given(client, kCall, handle, at)) return;
  CommTask* task = task_of(client, *group, handle);
  if (!client.own[handle] && (!tells(client) || !task)) return;
  if (task->committed == task->asked.repeat) {
    wrong(kCall, at,
          text("handle %d is committed %d times; allowed: as often as its repeat, %d", handle, task->committed + 1,
               task->asked.repeat));
    return;
  }
  commit(core(), *group, *task, kCall, at);
}

int32_t hccl_wait(HcclClient& client, int8_t handle, At at) {
  constexpr const char* kCall = "Wait";
  Core& c = core();
  Group* group = group_of(client, kCall, at);
  if (!group || !handle_given(client, kCall, handle, at)) return HCCL_FAILED;
  if (handle < client.newest)
    return wrong(kCall, at,
                 text("handle %d after handle %d; allowed: in the order in which they were prepared", handle,
                      client.newest)),
           HCCL_FAILED;
  const int wanted = client.waited[handle] + 1;
  if (wanted > client.repeats[handle])
    return wrong(kCall, at,
                 text("handle %d is waited for %d times; allowed: as often as its repeat, %d", handle, wanted,
                      client.repeats[handle])),
           HCCL_FAILED;
  client.newest = handle, client.waited[handle] = uint8_t(wanted);
  if (c.launch.options.strict && group->finalized_by >= 0 && group->finalized_by != c.index)
    no_sync_before(c, group->finalized_by, c.index, kCall, at);
  group->waits[c.index] = {c.seq + 1, c.phase};  // the operation that begins now
  wait_until(
      c, kCall, at,
      [&] {
        const CommTask* task = task_of(client, *group, handle);
        return task && task->finished >= wanted;
      },
      [&] {
        const CommTask* task = task_of(client, *group, handle);
        if (!task) return text("core %d waits for handle %d, which no core has prepared", c.index, handle);
        for (const CommTask& one : group->tasks)
          if (one.committed < one.asked.repeat && (&one != task || one.committed < wanted))
            return text(
                "core %d waits for round %d of handle %d; round %d of %s in line %d was not committed, and the "
                "server goes through the tasks in order",
                c.index, wanted, handle, one.committed + 1, one.call, one.at.line);
        return text("core %d waits for handle %d, whose group waits for a task of another group", c.index, handle);
      });
  return HCCL_SUCCESS;
}

int32_t hccl_query(HcclClient& client, int8_t handle, At at) {
  constexpr const char* kCall = "Query";
  constexpr int kOften = 10000;  // that nothing is under way, and no other core has done anything
  Core& c = core();
  Group* group = group_of(client, kCall, at);
  if (!group || !handle_given(client, kCall, handle, at) ||
      (group->told.product == k950 && !wrong(kCall, at, "an Ascend950 has no such function"))) {
    if (++client.asked >= kOften) c.stop();
    return HCCL_FAILED;
  }
  c.settle_all();
  c.begin(Pipe::S, kCall, at);
  yield_core();  // kernels ask in a loop
  serve(c.launch, false);
  go_on(c);
  const CommTask* task = task_of(client, *group, handle);
  const int finished = task ? task->finished : 0;
  client.asked = finished == client.repeats[handle] || group->server.rest(1) ? 0 : client.asked + 1;
  if (client.asked < kOften) return finished;
  c.report(Kind::deadlock, kCall, at,
           text("core %d asks again and again for handle %d, of which %d rounds of %d are committed", c.index, handle,
                task ? task->committed : 0, client.repeats[handle]));
  c.stop();
}

void hccl_finalize(HcclClient& client, bool waits, At at) {
  constexpr const char* kCall = "Finalize";
  Core& c = core();
  Group* group = group_of(client, kCall, at);
  if (!group) return;
  const bool batches = std::all_of(group->tasks.begin(), group->tasks.end(),
                                   [](const CommTask& one) { return one.asked.command == HCCL_CMD_BATCH_WRITE; });
  if (!waits && !listed(group->told.product, false, batches, true)) {
    wrong(kCall, at,
          text("Finalize<false> on %s; allowed: Finalize<true>%s", product_name(group->told.product),
               group->told.product == kA3 ? ", or Finalize<false> where all tasks are BatchWrite's" : ""));
    waits = true;
  }
  client.over = true;
  group->cores.erase(c.index);
  if (!tells(client)) return;
  if (c.launch.options.strict)
    for (const auto& [other, last] : group->waits)
      if (other != c.index && last.phase == c.phase && !c.saw(other, Pipe::S, last.seq))
        no_sync_before(c, c.index, other, kCall, at);
  for (const CommTask& task : group->tasks)
    if (task.committed < task.asked.repeat) {
      c.report(Kind::deadlock, kCall, at,
               text("%s in line %d was committed %d times of %d: the server waits for the others for ever", task.call,
                    task.at.line, task.committed, task.asked.repeat));
      group->finalized_by = c.index;
      return;
    }
  auto all_over = [=] {
    return std::all_of(group->tasks.begin(), group->tasks.end(), [](const CommTask& one) { return one.over(); });
  };
  if (waits)
    wait_until(c, kCall, at, all_over,
               [&] { return text("core %d waits for tasks that depend on another group's", c.index); });
  group->finalized_by = c.index;
}

void hccl_after(HcclClient& client, int8_t of, int8_t handle, At at) {
  constexpr const char* kCall = "InterHcclGroupSync";
  Group* group = group_of(client, kCall, at);
  if (!group) return;
  if (!listed(group->told.product, false, true, false)) {
    wrong(kCall, at, text("%s has no such function", product_name(group->told.product)));
    return;
  }
  if (!tells(client)) return;
  Communication& all = *core().launch.communication;
  const bool known = of >= 0 && size_t(of) < all.contexts.size();
  Group* other = nullptr;
  for (Group& one : all.groups)
    if (known && one.context == all.contexts[size_t(of)]) other = &one;
  if (!other || other == group || handle < 0 || size_t(handle) >= other->tasks.size()) {
    wrong(kCall, at, text("srcGroupID %d and srcHandleID %d are no task of another group", of, handle));
    return;
  }
  if (++group->calls > kMostCalls) {
    wrong(kCall, at, text("the call after %d others of the group; allowed: up to %d", kMostCalls, kMostCalls));
    return;
  }
  group->after = &other->tasks[size_t(handle)];
}

uint32_t hccl_rank(HcclClient& client, At at) {
  const Group* group = group_of(client, "GetRankId", at);
  return group ? group->told.rank : 0;
}
uint32_t hccl_ranks(HcclClient& client, At at) {
  const Group* group = group_of(client, "GetRankDim", at);
  return group ? group->told.ranks : 0;
}

uint8_t* hccl_window(HcclClient& client, const char* call, uint32_t rank, bool out, At at) {
  const Group* group = group_of(client, call, at);
  if (!group || rank >= group->told.ranks) return nullptr;
  if (group->told.product == k950) return wrong(call, at, "an Ascend950 has no such function"), nullptr;
  Launch& launch = core().launch;
  uint8_t* data = window_of(launch, group->context, group->told, rank, out);
  if (!data) wrong(call, at, text("the window of rank %u, on another machine, is not implemented", rank));
  return data;
}

uint16_t hccl_queues(HcclClient& client, At at) {
  const Group* group = group_of(client, "GetQueueNum", at);
  if (!group) return 0;
  if (!listed(group->told.product, false, true, false))
    return wrong("GetQueueNum", at, text("%s has no such function", product_name(group->told.product))), uint16_t(0);
  const hccl::CcTiling* tiling = client.tilings[HCCL_CMD_BATCH_WRITE];
  return tiling ? std::max<uint16_t>(tiling->queues, 1) : 0;
}

// The server writes batches one after the other, whatever their queue: what it waits for is over.
void hccl_queue_barrier(HcclClient& client, int scope, uint16_t queue, At at) {
  constexpr const char* kCall = "QueueBarrier";
  const Group* group = group_of(client, kCall, at);
  if (!group) return;
  if (!listed(group->told.product, false, true, false))
    wrong(kCall, at, text("%s has no such function", product_name(group->told.product)));
  else if (scope != int(ScopeType::ALL)) wrong(kCall, at, text("ScopeType is %d; allowed: ScopeType::ALL", scope));
  else if (queue >= hccl_queues(client, at))
    wrong(kCall, at, text("queueID is %u; allowed: less than %u", queue, hccl_queues(client, at)));
}

}  // namespace ophook::rt::comm
