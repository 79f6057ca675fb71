#include "server.h"

#include <chrono>

#include "access.h"

namespace ophook::rt::comm {

using namespace AscendC;

namespace {

// A kernel that runs without ranks (`kernel check`, `kernel.load`) is alone in its groups, and on no certain product.
constexpr uint8_t kAlone[2] = {};
constexpr uint64_t kWindowAlone = 1 << 20;
int alone_group(const void* context, ascendc_group* out) {
  if (context != &kAlone[0] && context != &kAlone[1]) return 0;
  *out = {"", 0, 1, kAny, 60, kWindowAlone};
  return 1;
}
void* alone_window(const void*, uint32_t, int out) {
  thread_local std::vector<uint8_t> windows[2];
  windows[out].resize(kWindowAlone);
  return windows[out].data();
}
int alone_run(const void*, const ascendc_collective* c, char*, size_t) {
  const uint64_t count = c->command == HCCL_CMD_ALLTOALLV ? c->sent[0] : c->count;
  if (count) std::memcpy(c->to, c->from, count * element_size(c->dtype));
  return 0;
}
constexpr ascendc_wires kNoRanks{alone_group, alone_window, alone_run};

}  // namespace

Communication& communication(Launch& launch) {
  if (!launch.communication) {
    launch.communication = std::make_shared<Communication>();
    Communication& made = *launch.communication;
    made.wires = launch.wires ? launch.wires : &kNoRanks;
    made.contexts = launch.contexts;
    if (!launch.wires) made.contexts = {&kAlone[0], &kAlone[1]};
  }
  return *launch.communication;
}

Server::~Server() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Server::hand(Round round) {
  std::lock_guard lock(mutex_);
  todo_.push_back(std::move(round));
  if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  changed_.notify_all();
}

bool Server::take(Round* over) {
  std::lock_guard lock(mutex_);
  if (over_.empty()) return false;
  *over = std::move(over_.front());
  over_.pop_front();
  return true;
}

bool Server::busy() {
  std::lock_guard lock(mutex_);
  return failed_.empty() && (works_ || !todo_.empty() || !over_.empty());
}

bool Server::rest(unsigned milliseconds) {
  std::unique_lock lock(mutex_);
  if (!failed_.empty()) return true;
  if (!works_ && todo_.empty() && over_.empty()) return false;
  changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return !over_.empty() || !failed_.empty(); });
  return true;
}

std::string Server::failure() {
  std::lock_guard lock(mutex_);
  return failed_;
}

void Server::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || !todo_.empty(); });
    if (todo_.empty()) return;  // what was committed is carried out, also behind the last core
    Round round = std::move(todo_.front());
    todo_.pop_front();
    works_ = true;
    lock.unlock();
    const HcclTask& asked = round.task->asked;
    const ascendc_collective collective{asked.command,
                                        asked.dtype,
                                        asked.op,
                                        round.from.data(),
                                        round.to.data(),
                                        asked.count,
                                        round.task->sent.data(),
                                        round.task->received.data()};
    char reason[1024] = "";
    const int failed = wires_->run(context_, &collective, reason, sizeof reason);
    lock.lock();
    works_ = false;
    if (failed) failed_ = reason[0] ? reason : "the collective failed";
    else over_.push_back(std::move(round));
    changed_.notify_all();
    if (failed) return;
  }
}

uint32_t element_size(uint32_t dtype) {
  switch (dtype) {
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_UINT8:
    case HCCL_DATA_TYPE_HIF8:
    case HCCL_DATA_TYPE_FP8E4M3:
    case HCCL_DATA_TYPE_FP8E5M2:
    case HCCL_DATA_TYPE_FP8E8M0: return 1;
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_UINT16:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_BFP16: return 2;
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_UINT32:
    case HCCL_DATA_TYPE_FP32: return 4;
    case HCCL_DATA_TYPE_INT64:
    case HCCL_DATA_TYPE_UINT64:
    case HCCL_DATA_TYPE_FP64: return 8;
    default: return 0;
  }
}

namespace {

// One part, or one of each rank; in later rounds all of them lie further on.
Parts equal_parts(const HcclTask& asked, int round, uint32_t count) {
  const uint64_t step = asked.stride ? asked.stride : asked.count;
  Parts out;
  for (uint32_t i = 0; i < count; ++i) out.push_back({i * step + uint64_t(round) * asked.count, asked.count});
  return out;
}
Parts listed_parts(const std::vector<uint64_t>& counts, const std::vector<uint64_t>& at, int round) {
  Parts out;
  for (size_t i = 0; i < counts.size(); ++i) out.push_back({at[i] + uint64_t(round) * counts[i], counts[i]});
  return out;
}

}  // namespace

Parts sent_parts(const CommTask& task, int round, const ascendc_group& group) {
  const uint32_t command = task.asked.command;
  if (command == HCCL_CMD_ALLTOALLV) return listed_parts(task.sent, task.sent_at, round);
  const bool of_each = command == HCCL_CMD_REDUCE_SCATTER || command == HCCL_CMD_ALLTOALL;
  return equal_parts(task.asked, round, of_each ? group.ranks : 1);
}
Parts received_parts(const CommTask& task, int round, const ascendc_group& group) {
  const uint32_t command = task.asked.command;
  if (command == HCCL_CMD_ALLTOALLV) return listed_parts(task.received, task.received_at, round);
  const bool of_each = command == HCCL_CMD_ALLGATHER || command == HCCL_CMD_ALLTOALL;
  return equal_parts(task.asked, round, of_each ? group.ranks : 1);
}

namespace {

// What was received is written by no core, so it meets none of their accesses; who has not waited reads what was there.
void written_by_server(Launch& launch, const CommTask& task, const uint8_t* data, uint64_t bytes) {
  Argument* a = launch.memory.find(data, bytes);
  if (!a || !a->tracked() || !launch.checks()) return;
  Touch touch;
  const uint64_t first = uint64_t(data - a->data);
  touch.end = first + bytes, touch.core = task.core, touch.phase = -1, touch.pipe = Pipe::MTE3, touch.at = task.at;
  a->writes.add(first, touch, false, [](uint64_t, const Touch&) {});
}

void take_over(Launch& launch, Group& group, Server::Round& round) {
  CommTask& task = *round.task;
  const uint32_t size = element_size(task.asked.dtype);
  const uint8_t* from = round.to.data();
  const Parts parts = received_parts(task, task.finished, group.told);
  for (size_t i = 0; i < parts.size(); ++i) {
    const uint64_t bytes = parts[i].count * size;
    uint8_t* to = task.asked.to + parts[i].at * size;
    if (bytes && !(task.skips_own && i == group.told.rank)) {
      std::memcpy(to, from, bytes);
      written_by_server(launch, task, to, bytes);
    }
    from += bytes;
  }
  ++task.finished;
}

void write_batch(Launch& launch, CommTask& task) {
  for (const Copy& copy : task.copies) {
    std::memcpy(copy.to, copy.bytes.data(), copy.bytes.size());
    written_by_server(launch, task, copy.to, copy.bytes.size());
  }
  ++task.handed, ++task.finished;
}

// What can be carried out now, in the order of preparation.
void hand_over(Launch& launch, Group& group) {
  for (CommTask& task : group.tasks) {
    while (task.handed < task.committed) {
      if (task.after && !task.after->over()) return;
      const bool batch = task.asked.command == HCCL_CMD_BATCH_WRITE;
      if ((batch || task.silent) && group.server.busy()) return;  // behind those before it
      if (batch) {
        write_batch(launch, task);
        continue;
      }
      const uint32_t size = element_size(task.asked.dtype);
      uint64_t room = 0;
      for (const Part& part : received_parts(task, task.handed, group.told)) room += part.count * size;
      Server::Round round{&task, {}, std::vector<uint8_t>(room)};
      if (task.after)
        for (const Part& part : sent_parts(task, task.handed, group.told)) {
          const uint8_t* begin = task.asked.from + part.at * size;
          round.from.insert(round.from.end(), begin, begin + part.count * size);
        }
      else round.from = std::move(task.kept.front()), task.kept.pop_front();
      ++task.handed;
      if (task.silent) ++task.finished;
      else group.server.hand(std::move(round));
    }
    if (task.handed < task.asked.repeat) return;
  }
}

bool advance(Launch& launch, Communication& communication) {
  bool changed = false;
  for (Group& group : communication.groups) {
    Server::Round over{};
    while (group.server.take(&over)) take_over(launch, group, over), changed = true;
    if (communication.failed.empty()) communication.failed = group.server.failure();
  }
  for (Group& group : communication.groups) hand_over(launch, group);
  return changed;
}

}  // namespace

bool serve(Launch& launch, bool idle) {
  Communication* communication = launch.communication.get();
  if (!communication) return false;
  advance(launch, *communication);
  bool ready = false;
  for (auto& each : launch.cores)
    if (each->state == Core::kTask && (!communication->failed.empty() || each->until()))
      each->state = Core::kReady, ready = true;
  if (ready || !idle || !communication->failed.empty()) return ready;
  constexpr unsigned kMoment = 5;  // milliseconds
  bool under_way = false;
  for (Group& group : communication->groups) under_way = group.server.rest(kMoment) || under_way;
  return under_way;
}

void end_communication(Launch& launch) {
  Communication* communication = launch.communication.get();
  if (!communication) return;
  auto working = [&] {
    for (Group& group : communication->groups)
      if (group.server.rest(5)) return true;
    return false;
  };
  do advance(launch, *communication);
  while (communication->failed.empty() && working());
  for (Group& group : communication->groups) {
    if (group.tasks.empty() || group.finalized_by >= 0 || launch.failed || !communication->failed.empty()) continue;
    const CommTask& first = group.tasks.front();
    launch.cores[size_t(first.core)]->report(
        Kind::deadlock, first.call, first.at,
        text("no Finalize follows: the server of the group waits for further tasks for ever; call Finalize on the core "
             "that prepares them (core %d)",
             first.core));
  }
  if (!communication->failed.empty()) launch.failed = true;
}

bool in_window(Core& c, const uint8_t* data) {
  const Argument* a = c.launch.communication ? c.launch.memory.find(data) : nullptr;
  return a && a->role == kWindow;
}

void looks_at(Core& c, const char* call, const uint8_t* data, uint64_t bytes, At at) {
  if (!c.launch.communication) return;
  const Argument* a = c.launch.memory.find(data, bytes);
  if (!a || a->role != kWindow) return;
  bytes = std::min(bytes, a->bytes - uint64_t(data - a->data));
  Look& look = c.look;
  const bool again = look.data == data && look.seen.size() == bytes && !std::memcmp(look.seen.data(), data, bytes);
  if (!again) {
    look.data = data, look.seen.assign(data, data + bytes), look.since = std::chrono::steady_clock::now();
    return;
  }
  yield_core();
  constexpr auto kMoment = std::chrono::microseconds(50);  // for the other ranks, which may share this processor
  std::this_thread::sleep_for(kMoment);
  // What a kernel with an error left undone may be what it waits for.
  constexpr std::chrono::seconds kAfterAnError{3};
  const auto patience = std::chrono::seconds(c.launch.communication->patience);
  if (std::chrono::steady_clock::now() - look.since < (c.launch.failed ? std::min(patience, kAfterAnError) : patience))
    return;
  if (c.launch.failed) c.stop();
  c.report(Kind::deadlock, call, at,
           text("core %d has looked at %s for %lld s (HCCL_EXEC_TIMEOUT), and no rank has changed it", c.index,
                a->name.c_str(), (long long)patience.count()));
  c.stop();
}

}  // namespace ophook::rt::comm
