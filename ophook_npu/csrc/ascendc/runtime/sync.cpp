// Events and barriers: the edges of the happens-before relation.
#include <utility>

#include "access.h"

namespace ophook::rt {

void set_flag(Pipe from, Pipe to, int id, At at) {
  Core& c = core();
  if (id < 0 || id > 7) {
    c.report(Kind::event_id, "SetFlag", at, text("event id %d; allowed: 0 to 7", id));
    return;
  }
  c.begin(from, "SetFlag", at);
  Flag& flag = c.place->flags[int(from)][int(to)][id];
  if (flag.set)
    c.report(Kind::set_twice, "SetFlag", at,
             text("%s_%s event %d is still set, since line %d, and nobody has waited for it", name_of(from),
                  name_of(to), id, flag.at.line));
  flag.set = c.place->flagged = true;
  flag.clock = c.snapshot(from);
  flag.at = at;
}

void wait_flag(Pipe from, Pipe to, int id, At at) {
  Core& c = core();
  if (id < 0 || id > 7) {
    c.report(Kind::event_id, "WaitFlag", at, text("event id %d; allowed: 0 to 7", id));
    return;
  }
  c.begin(to, "WaitFlag", at);
  Flag& flag = c.place->flags[int(from)][int(to)][id];
  if (!flag.set) {
    c.report(Kind::wait_without_set, "WaitFlag", at,
             text("pipe %s waits for event %d of pipe %s, which nobody has set: the core would wait for ever",
                  name_of(to), id, name_of(from)));
    return;
  }
  flag.set = false;
  c.join(to, flag.clock);
  c.settle();
}

void early_flag(bool set, Pipe from, Pipe to, int id, bool empty, At at) {
  Core& c = core();
  const char* const call = set ? "hset_flag" : "hwait_flag";
  const auto are = [&](Pipe a, Pipe b) { return (from == a && to == b) || (from == b && to == a); };
  if (!are(Pipe::M, Pipe::FIX) && !are(Pipe::M, Pipe::MTE1))
    return c.report(Kind::parameter, call, at, "between pipes M and FIX, and M and MTE1 alone");
  if (id < 0 || id > 3) return c.report(Kind::event_id, call, at, text("event id %d; allowed: 0 to 3", id));
  Flag& flag = c.place->flags[int(from)][int(to)][id];
  if (set) {
    set_flag(from, to, id, at);
    flag.before = empty ? 0 : c.newest[int(from)];
    return;
  }
  if (const uint32_t before = std::exchange(flag.before, 0); flag.set && before) {
    if (c.newest[int(from)] <= before)
      return c.report(Kind::wait_without_set, call, at,
                      text("nothing of pipe %s has followed the hset_flag at line %d: the core would wait for ever",
                           name_of(from), flag.at.line));
    flag.clock = c.snapshot(from);
  }
  wait_flag(from, to, id, at);
}

void mutex_lock(Pipe pipe, int id, bool waits, At at) {
  Core& c = core();
  if (id >= kMutexes) return c.report(Kind::event_id, "Lock", at, text("mutex %d; allowed: 0 to %d", id, kMutexes - 1));
  c.begin(pipe, "Lock", at);
  Mutex& mutex = c.mutexes[id];
  if (mutex.held >= 0)
    return c.report(Kind::set_twice, "Lock", at, text("mutex %d is still locked, since line %d", id, mutex.at.line));
  mutex.held = int(pipe), mutex.waits = waits, mutex.at = at;
  if (waits) c.join(pipe, mutex.over);
  c.settle();
}

void mutex_unlock(Pipe pipe, int id, bool waits, At at) {
  Core& c = core();
  if (id >= kMutexes)
    return c.report(Kind::event_id, "Unlock", at, text("mutex %d; allowed: 0 to %d", id, kMutexes - 1));
  c.begin(pipe, "Unlock", at);
  Mutex& mutex = c.mutexes[id];
  if (mutex.held != int(pipe) || mutex.waits != waits)
    return c.report(Kind::wait_without_set, "Unlock", at,
                    text("pipe %s has not locked mutex %d in this way", name_of(pipe), id));
  mutex.held = -1;
  mutex.over.learn(c.snapshot(pipe));
}

int mutex_alloc(At at) {
  Core& c = core();
  constexpr int kGiven = 28;  // the rest is kept for the system
  for (int id = 0; id < kGiven; ++id)
    if (!(c.allocated_mutexes >> id & 1)) return c.allocated_mutexes |= 1u << id, id;
  c.report(Kind::event_id, "AllocMutexID", at, text("all %d mutexes are taken", kGiven));
  return 0;
}

void mutex_release(int id, At at) {
  Core& c = core();
  if (id >= kMutexes || !(c.allocated_mutexes >> id & 1))
    return c.report(Kind::event_id, "ReleaseMutexID", at, text("AllocMutexID did not give mutex %d", id));
  c.allocated_mutexes &= ~(1u << id);
}

int event_fetch(Pipe from, Pipe to, bool hold, At at) {
  Core& c = core();
  uint8_t& held = c.held_events[int(from)][int(to)];
  for (int id = 0; id < 8; ++id)
    if (!(held >> id & 1)) {
      if (hold) held = static_cast<uint8_t>(held | 1u << id);
      return id;
    }
  c.report(Kind::event_id, hold ? "AllocEventID" : "FetchEventID", at,
           text("all 8 ids of %s_%s are taken", name_of(from), name_of(to)));
  return 0;
}

void event_release(Pipe from, Pipe to, int id, At at) {
  Core& c = core();
  uint8_t& held = c.held_events[int(from)][int(to)];
  if (id < 0 || id > 7 || !(held >> id & 1)) {
    c.report(Kind::event_id, "ReleaseEventID", at, text("id %d of %s_%s is not taken", id, name_of(from), name_of(to)));
    return;
  }
  held = static_cast<uint8_t>(held & ~(1u << id));
}

void barrier(Pipe pipe, At at) {
  Core& c = core();
  if (pipe != Pipe::ALL) {
    c.begin(pipe, "PipeBarrier", at);
    c.fence[int(pipe)] = c.seq;
    c.settle();
    return;
  }
  c.begin(Pipe::S, "PipeBarrier", at);
  if (c.launch.orders) {
    std::fill(std::begin(c.fence), std::end(c.fence), c.seq);
    Clock over;
    std::copy(std::begin(c.newest), std::end(c.newest), over.at);
    for (auto& clock : c.known) clock.learn(over);
  }
  c.settle();
}

void sync_all(bool vector_only, At at) {
  Core& c = core();
  if (vector_only && !has_unit(c, true, "SyncAll", at)) return;
  barrier(Pipe::ALL, at);
  c.state = Core::kSyncAll;
  c.syncs_vectors = vector_only;
  c.waits_at = at;
  yield_core();
}

Message message_of(Core& c, Pipe pipe, At at) {
  Message message;
  message.over = c.seen;
  message.over.resize(c.launch.cores.size());
  message.over[size_t(c.index)] = c.snapshot(pipe);
  c.told = c.seq;
  message.at = at;
  if (c.launch.options.timeline) c.timeline.finish(c.launch.counters), message.time = c.timeline.end_of(pipe);
  return message;
}

void merge(Message& into, const Message& other) {
  into.time = std::max(into.time, other.time);
  into.over.resize(std::max(into.over.size(), other.over.size()));
  for (size_t i = 0; i < other.over.size(); ++i) into.over[i].learn(other.over[i]);
}

void learn(Core& c, const Message& message) {
  if (c.launch.options.timeline) c.timeline.finish(c.launch.counters), c.timeline.not_before(message.time);
  c.seen.resize(message.over.size());
  for (size_t i = 0; i < message.over.size(); ++i) c.seen[i].learn(message.over[i]);
}

namespace {

// The cores that must set a flag, and those that then may go on: the public documentation's modes 0, 1 and 2.
void groups(const Core& c, int mode, std::vector<Core*>* setters, std::vector<Core*>* waiters) {
  for (auto& each : c.launch.cores) {
    const bool same_kind = each->is_vector == c.is_vector, same_block = each->block == c.block;
    if (mode == 0 ? same_kind : same_block && same_kind && (mode == 2 || c.is_vector)) setters->push_back(each.get());
    if (mode == 0 ? same_kind : same_block && (mode == 1 ? each->is_vector : !same_kind))
      waiters->push_back(each.get());
  }
}

// Of an id the device takes the last 4 bits.
bool cross_flag(Core& c, const char* call, int mode, int& id, At at) {
  id &= kCrossFlags - 1;
  if (mode <= 2) return true;
  c.report(Kind::parameter, call, at, text("mode %d; allowed: 0, 1 and 2", mode));
  return false;
}

}  // namespace

void cross_set(int mode, Pipe pipe, int id, At at) {
  Core& c = core();
  if (!cross_flag(c, "CrossCoreSetFlag", mode, id, at)) return;
  std::vector<Core*> setters, waiters;
  groups(c, mode, &setters, &waiters);
  // A flag counts to 15. Here a core runs until it waits, so the others get the time to take what it has set.
  if (std::any_of(waiters.begin(), waiters.end(), [&](Core* each) { return each->inbox[id].size() >= 15; }))
    yield_core();
  c.begin(pipe, "CrossCoreSetFlag", at);
  c.outbox[id].push_back(message_of(c, pipe, at));
  for (Core* each : setters)
    if (each->outbox[id].empty()) return;
  Message all;
  all.at = at;
  for (Core* each : setters) {
    merge(all, each->outbox[id].front());
    each->outbox[id].erase(each->outbox[id].begin());
  }
  for (Core* each : waiters) {
    each->inbox[id].push_back(all);
    if (each->inbox[id].size() > 15)
      c.report(Kind::set_twice, "CrossCoreSetFlag", at,
               text("flag %d was set 16 times, and core %d has not waited for it", id, each->index));
    if (each->state == Core::kCross && each->waits_between < 0 && each->waits_for == id) each->state = Core::kReady;
  }
}

void cross_wait(int mode, int id, At at) {
  Core& c = core();
  if (!cross_flag(c, "CrossCoreWaitFlag", mode, id, at)) return;
  c.waits_for = id, c.waits_at = at;
  while (c.inbox[id].empty()) {
    c.state = Core::kCross;
    yield_core();
  }
  c.waits_for = -1;
  c.begin(Pipe::S, "CrossCoreWaitFlag", at);
  learn(c, c.inbox[id].front());
  c.inbox[id].erase(c.inbox[id].begin());
}

// The device's IBSet and IBWait wait for all that the core did before.
void between_set(int block, int id, At at) {
  Core& c = core();
  barrier(Pipe::ALL, at);
  c.begin(Pipe::S, "IBSet", at);
  c.launch.between[{block, id}].push_back(message_of(c, Pipe::S, at));
  for (auto& each : c.launch.cores)
    if (each->state == Core::kCross && each->waits_between == block && each->waits_for == id)
      each->state = Core::kReady;
}

void between_wait(int block, int id, At at) {
  Core& c = core();
  auto& waiting = c.launch.between[{block, id}];
  c.waits_for = id, c.waits_between = block, c.waits_at = at;
  while (waiting.empty()) {
    c.state = Core::kCross;
    yield_core();
  }
  c.waits_for = c.waits_between = -1;
  learn(c, waiting.front());
  waiting.erase(waiting.begin());
  barrier(Pipe::ALL, at);
}

int64_t block_index() {
  const Core& c = core();
  return c.is_vector ? int64_t(c.block) * c.launch.subs + c.sub : c.block;
}
int64_t core_number() { return core().index; }
int64_t block_count() { return core().launch.blocks; }
int64_t sub_block_index() { return core().sub; }
int64_t sub_block_count() { return core().is_vector ? core().launch.subs : 1; }
bool is_vector_core() { return core().is_vector; }
int64_t entry_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(core().launch.began.time_since_epoch()).count();
}
bool runs_on(bool cubes, bool vectors) {
  Core* c = core_or_null();
  if (c && !(c->is_vector ? vectors : cubes)) c->stop();
  return true;
}
uint64_t tiling_key() { return core().launch.tiling_key; }
uint8_t* workspace_address() { return core().launch.workspace; }

void copy_tiling(void* to, const void* from, size_t bytes, const char* name, At at) {
  Core& c = core();
  const Launch& l = c.launch;
  const auto* begin = static_cast<const uint8_t*>(from);
  if (begin == l.tiling && bytes > l.tiling_bytes) {
    c.report(Kind::tiling_size, "GET_TILING_DATA", at,
             text("%s has %zu bytes, the host's tiling wrote %llu", name, bytes, (unsigned long long)l.tiling_bytes));
    std::memset(to, 0, bytes);
    std::memcpy(to, from, l.tiling_bytes);
    return;
  }
  std::memcpy(to, from, bytes);
}

}  // namespace ophook::rt
