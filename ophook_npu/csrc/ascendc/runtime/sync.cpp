// Events and barriers: the edges of the happens-before relation.
#include "core.h"

namespace ophook::rt {

void set_flag(Pipe from, Pipe to, int id, At at) {
  Core& c = core();
  if (id < 0 || id > 7) {
    c.report(Kind::event_id, "SetFlag", at, text("event id %d; allowed: 0 to 7", id));
    return;
  }
  c.begin(from, "SetFlag", at);
  Flag& flag = c.flags[int(from)][int(to)][id];
  if (flag.set)
    c.report(Kind::set_twice, "SetFlag", at,
             text("%s_%s event %d is still set, since line %d, and nobody has waited for it", name_of(from), name_of(to), id,
                  flag.at.line));
  flag.set = true;
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
  Flag& flag = c.flags[int(from)][int(to)][id];
  if (!flag.set) {
    c.report(Kind::wait_without_set, "WaitFlag", at,
             text("pipe %s waits for event %d of pipe %s, which nobody has set: the core would wait for ever", name_of(to), id,
                  name_of(from)));
    return;
  }
  flag.set = false;
  c.join(to, flag.clock);
  c.settle();
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
  for (int q = 0; q < kPipes; ++q) {
    c.fence[q] = c.seq;
    for (auto& clock : c.known) clock.at[q] = std::max(clock.at[q], c.newest[q]);
  }
  c.settle();
}

void sync_all(bool, At at) {
  Core& c = core();
  barrier(Pipe::ALL, at);
  c.state = Core::kSyncAll;
  c.waits_at = at;
  yield_core();
}

int64_t block_index() {
  const Core& c = core();
  return c.is_vector ? int64_t(c.block) * c.launch.subs + c.sub : c.block;
}
int64_t block_count() { return core().launch.blocks; }
int64_t sub_block_index() { return core().sub; }
int64_t sub_block_count() { return core().launch.subs; }
bool is_vector_core() { return core().is_vector; }
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
