// Buffers and queues: TPipe, TQue, TBuf.
#include "ascendc/enums.h"
#include "core.h"

namespace ophook::rt {
namespace {

using AscendC::TPosition;

Memory memory_of(int position) {
  switch (TPosition(position)) {
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1:
    case TPosition::TSCM: return Memory::l1;
    case TPosition::A2: return Memory::l0a;
    case TPosition::B2: return Memory::l0b;
    case TPosition::C2: return Memory::bt;
    case TPosition::C2PIPE2GM:
    case TPosition::C2PIPE2LOCAL: return Memory::fb;
    case TPosition::CO1: return Memory::l0c;
    default: return Memory::ub;
  }
}

// The pipe that fills a position, and the one that empties it. A tensor that comes from GM was filled by MTE2, one that
// goes there is emptied by MTE3. Where a core has both units, the vector unit takes what is in CO1 to CO2, in UB.
bool both_units() { return core().launch.options.both_units; }
Pipe fills(int position) {
  switch (TPosition(position)) {
    case TPosition::VECIN:
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1: return Pipe::MTE2;
    case TPosition::A2:
    case TPosition::B2:
    case TPosition::C2: return Pipe::MTE1;
    case TPosition::CO1: return Pipe::M;
    case TPosition::CO2: return both_units() ? Pipe::V : Pipe::FIX;
    case TPosition::TSCM: return Pipe::MTE2;
    case TPosition::C2PIPE2GM:
    case TPosition::C2PIPE2LOCAL: return Pipe::FIX;
    case TPosition::GM: return Pipe::MTE2;
    default: return Pipe::V;
  }
}
Pipe empties(int position) {
  switch (TPosition(position)) {
    case TPosition::VECOUT: return Pipe::MTE3;
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1:
    case TPosition::TSCM: return Pipe::MTE1;
    case TPosition::A2:
    case TPosition::B2:
    case TPosition::C2: return Pipe::M;
    case TPosition::CO1: return both_units() ? Pipe::V : Pipe::FIX;
    case TPosition::CO2: return both_units() ? Pipe::MTE3 : Pipe::V;
    case TPosition::GM: return Pipe::MTE3;
    default: return Pipe::V;
  }
}

// Nothing lies before or behind the unified buffer in a queue of VECCALC: its events are those between the pipes that
// copy in and out. That copies pass through it in order is what a published kernel (a Concat) shows that ran on
// devices.
bool copies_through(const QueueState& q) {
  return TPosition(q.from) == TPosition::VECCALC && TPosition(q.to) == TPosition::VECCALC;
}

constexpr int kMaxBuffers = 64;
constexpr const char* kArray = "the array";  // what the kernel itself reads and writes by its address

// The next bytes of a memory, or of a pool in it.
uint32_t room(Core& c, PoolState* pool, Memory memory, uint64_t wanted, const char* call, At at) {
  wanted = (wanted + kBlock - 1) / kBlock * kBlock;  // may be any number: a kernel computes it
  static constexpr const char* names[] = {"UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"};
  const uint32_t have = pool ? pool->bytes : c.launch.sizes.bytes[int(memory)] - (memory == Memory::ub ? c.ub_end : 0);
  uint32_t& used = pool ? pool->used : c.used[int(memory)];
  if (used + wanted > have) {
    const std::string what = text("%s has %u bytes and %s has given away %llu", pool ? "the pool" : names[int(memory)],
                                  have, call, (unsigned long long)(used + wanted));
    const bool addresses_alone = !pool && call != kArray && used + wanted < UINT32_MAX / 2;
    c.report(addresses_alone ? Kind::local_overcommit : Kind::local_capacity, call, at, what);
    if (!addresses_alone) c.stop();
    // A device sees no more than addresses: it fails where something uses what lies beyond.
    if (!c.overcommitted(memory)) c.overcommits.push_back({memory, call, at, what});
  }
  const uint32_t first = (pool ? pool->offset : 0) + used;
  used += static_cast<uint32_t>(wanted);
  if (!pool) {
    uint64_t& most = c.launch.counters.used[int(memory)];
    most = std::max<uint64_t>(most, used);
  }
  return first;
}

int32_t place(Core& c, int position, uint32_t first, uint32_t bytes, const char* call, At at) {
  Buffer& buffer = c.buffers.emplace_back();
  buffer.memory = memory_of(position), buffer.offset = first, buffer.bytes = bytes, buffer.position = position,
  buffer.call = call, buffer.at = at;
  // What an earlier TPipe left there is nobody's value.
  if (c.launch.checks()) c.memory->at(buffer.memory).forget(first, bytes);
  if (c.given_away().size() == kMaxBuffers + 1)
    c.report(Kind::pipe_buffers, call, at, text("this is buffer number %d of the TPipe", kMaxBuffers + 1));
  return static_cast<int32_t>(c.buffers.size() - 1);
}

PoolState* state_of(const Pool* pool, const char* call, At at) {
  if (!pool) return nullptr;
  Core& c = core();
  if (pool->id >= 0 && size_t(pool->id) < c.pools.size()) return &c.pools[size_t(pool->id)];
  c.report(Kind::queue_not_ready, call, at, "InitBufPool was not called for this pool");
  c.stop();
}

void counted(Core& c, PoolState& pool, uint32_t buffers, const char* call, At at) {
  pool.count += buffers;
  if (pool.count > pool.most && pool.count - buffers <= pool.most)
    c.report(Kind::pipe_buffers, call, at, text("the pool has %u buffers; its bufIDSize is %u", pool.count, pool.most));
}

int32_t take(Core& c, PoolState* pool, int position, uint64_t wanted, const char* call, At at) {
  const Memory memory = memory_of(position);
  if (pool && pool->memory != memory) {
    c.report(Kind::position, call, at, "the buffer's position is not in the memory of the pool");
    c.stop();
  }
  const uint32_t first = room(c, pool, memory, wanted, call, at);
  if (pool) counted(c, *pool, 1, call, at);
  const int32_t id =
      place(c, position, first, static_cast<uint32_t>((wanted + kBlock - 1) / kBlock * kBlock), call, at);
  if (pool) pool->buffers.push_back(id);
  return id;
}

// Who took a buffer and did not give it back is told; it is free then, and what it held is nobody's.
void reclaim(Core& c, Buffer& b) {
  if (b.state == Buffer::kTaken || b.state == Buffer::kOut)
    c.report(Kind::not_freed, "FreeTensor", b.taken, "the tensor taken here is never given back");
  if (b.state == Buffer::kQueued)
    c.report(Kind::left_in_queue, "EnQue", b.taken, "the tensor enqueued here is never dequeued");
  ++b.generation;
  b.freed = false;
  if (b.state != Buffer::kPlain) b.state = Buffer::kFree;
}

QueueState* state_of(Core& c, const Queue& queue, const char* call, At at) {
  if (queue.id >= 0 && size_t(queue.id) < c.queues.size()) return &c.queues[size_t(queue.id)];
  c.report(Kind::queue_not_ready, call, at, "InitBuffer was not called for this queue");
  c.stop();
}

Local view_of(const Core& c, int32_t id) {
  const Buffer& b = c.buffers[size_t(id)];
  Local view;
  view.offset = b.offset, view.bytes = b.bytes, view.buffer = id, view.generation = b.generation;
  view.memory = b.memory, view.position = static_cast<uint8_t>(b.position);
  return view;
}

// Whether it is a buffer of another queue between the same positions: the events that give it back are the same.
bool alike(const Core& c, const QueueState& q, const Local& tensor) {
  const int32_t other = tensor.buffer >= 0 ? c.buffers[size_t(tensor.buffer)].queue : -1;
  return other >= 0 && c.queues[size_t(other)].from == q.from && c.queues[size_t(other)].to == q.to;
}

// The buffer that a tensor of this queue was taken from; NULL, after a finding, where it is none of the queue's.
Buffer* own(Core& c, const Queue& queue, const QueueState& q, const Local& tensor, const char* call, At at,
            bool gives_back = false) {
  // Numbers of queues begin anew with each TPipe, those of buffers do not.
  const bool is_own = tensor.buffer >= int32_t(c.past) && size_t(tensor.buffer) < c.buffers.size() &&
                      c.buffers[size_t(tensor.buffer)].queue == queue.id;
  if (!is_own && gives_back && alike(c, q, tensor)) {
    c.report(Kind::queue_alike, call, at, "the tensor belongs to another queue between the same positions",
             c.describe(tensor));
  } else if (!is_own) {
    c.report(Kind::queue_foreign, call, at, "the tensor belongs to another queue or buffer", c.describe(tensor));
    return nullptr;
  }
  Buffer& b = c.buffers[size_t(tensor.buffer)];
  if (b.generation != tensor.generation) {
    c.report(Kind::use_after_free, call, at, text("the tensor was given back by FreeTensor at line %d", b.taken.line),
             c.describe(tensor));
    return nullptr;
  }
  return &b;
}

}  // namespace

void pipe_begin(void* pipe, At) {
  Core& c = core();
  c.pipes.push_back(pipe);
}
void pipe_end(void* pipe, bool waits) {
  Core* c = core_or_null();
  if (!c) return;
  auto it = std::find(c->pipes.begin(), c->pipes.end(), pipe);
  if (it == c->pipes.end()) return;
  c->pipes.erase(it);
  pipe_reset(pipe, waits);
}
void pipe_gives(const void* pipe, At at) {
  Core& c = core();
  const auto lives = [&](const void* one) { return std::find(c.pipes.begin(), c.pipes.end(), one) != c.pipes.end(); };
  if (c.giver && c.giver != pipe && lives(c.giver) && lives(pipe)) {
    c.report(Kind::second_pipe, "InitBuffer", at,
             text("another TPipe has given memory away at line %d, and lives: both begin at the same address",
                  c.gave_at.line));
    c.stop();
  }
  if (c.giver != pipe) c.giver = pipe, c.gave_at = at;
}
void* pipe_current() {
  Core& c = core();
  return c.pipes.empty() ? nullptr : *std::prev(c.pipes.end());
}
// Everything that was given away is free again, after all that was begun where it waits.
void pipe_reset(void*, bool waits) {
  Core& c = core();
  if (waits) barrier(Pipe::ALL, At{nullptr, 0});
  for (Buffer& each : c.given_away()) reclaim(c, each);
  c.queues.clear();
  c.giver = nullptr;
  c.past = c.buffers.size();
  c.arrays.clear();
  c.pools.clear();
  std::fill(std::begin(c.used), std::end(c.used), 0);
  std::memset(c.held_events, 0, sizeof c.held_events);
}

void queue_begin(Queue& queue, int from, int to, int depth, uint32_t count, At at) {
  Core& c = core();
  QueueState& q = c.queues.emplace_back();
  q.from = from, q.to = to, q.depth = depth, q.at = at;
  if (count == 0) c.report(Kind::parameter, "InitBuffer", at, "the queue gets no buffer");
  queue.id = static_cast<int32_t>(c.queues.size() - 1);
}
static void add_buffer(Core& c, const Queue& queue, int32_t id) {
  c.queues[size_t(queue.id)].buffers.push_back(id);
  c.buffers[size_t(id)].queue = queue.id;
}
void init_queue(Queue& queue, const Pool* pool, int from, int to, int depth, uint32_t count, uint32_t bytes, At at) {
  Core& c = core();
  PoolState* const in = state_of(pool, "InitBuffer", at);
  queue_begin(queue, from, to, depth, count, at);
  for (uint32_t i = 0; i < count; ++i) add_buffer(c, queue, take(c, in, to, bytes, "InitBuffer", at));
}

void init_buffer(Queue& buffer, const Pool* pool, int position, uint32_t bytes, At at) {
  Core& c = core();
  buffer.id = take(c, state_of(pool, "InitBuffer", at), position, bytes, "InitBuffer", at);
  c.buffers[size_t(buffer.id)].state = Buffer::kPlain;
}

void pool_begin(Pool& pool, int position, uint32_t most, const Pool* in, const Pool* shared, uint32_t bytes, At at) {
  Core& c = core();
  PoolState* const outer = state_of(in, "InitBufPool", at);
  const PoolState* const other = state_of(shared, "InitBufPool", at);
  PoolState made;
  made.memory = memory_of(position), made.most = most, made.bytes = (bytes + kBlock - 1) / kBlock * kBlock;
  if ((outer && outer->memory != made.memory) || (other && other->memory != made.memory)) {
    c.report(Kind::position, "InitBufPool", at,
             "the pool's position is in another memory than the pool that it is a part of");
    c.stop();
  }
  if (other) {
    made.offset = other->offset;
    if (made.bytes > other->bytes || most > other->most)
      c.report(Kind::parameter, "InitBufPool", at,
               text("%u bytes and %u buffers of a pool that has %u bytes and %u buffers", made.bytes, most,
                    other->bytes, other->most));
  } else {
    made.offset = room(c, outer, made.memory, bytes, "InitBufPool", at);
    if (outer) counted(c, *outer, most, "InitBufPool", at);
  }
  c.pools.push_back(std::move(made));
  pool.id = static_cast<int32_t>(c.pools.size() - 1);
}
void pool_reset(const Pool& pool, At at) {
  Core& c = core();
  const PoolState* const state = state_of(&pool, "Reset", at);
  barrier(Pipe::ALL, at);
  for (const int32_t id : state->buffers) reclaim(c, c.buffers[size_t(id)]);
  if (!c.launch.checks()) return;
  for (const int32_t id : state->buffers)
    c.memory->at(state->memory).forget(c.buffers[size_t(id)].offset, c.buffers[size_t(id)].bytes);
}
uint32_t pool_address(const Pool& pool, At at) { return state_of(&pool, "GetCurAddr", at)->offset; }

void place_buffer(Queue& queue, const Pool& pool, int position, bool plain, uint32_t address, uint32_t bytes, At at) {
  Core& c = core();
  PoolState* const in = state_of(&pool, "InitBufHandle", at);
  const uint32_t end = in->offset + in->bytes;
  if (address % kBlock || bytes % kBlock)
    c.report(Kind::alignment, "InitBufHandle", at, text("%u bytes at %u; allowed: multiples of 32", bytes, address));
  if (address < in->offset || address > end || bytes > end - address) {
    c.report(Kind::local_capacity, "InitBufHandle", at,
             text("bytes %u to %u; the pool has %u to %u", address, address + bytes, in->offset, end));
    c.stop();
  }
  counted(c, *in, 1, "InitBufHandle", at);
  const int32_t id = place(c, position, address, bytes, "InitBufHandle", at);
  in->buffers.push_back(id);
  if (plain) queue.id = id, c.buffers[size_t(id)].state = Buffer::kPlain;
  else add_buffer(c, queue, id);
}

// Where the kernel says, whatever else lies there.
void buffer_at(Queue& queue, int position, uint64_t address, uint64_t bytes, At at) {
  Core& c = core();
  const uint64_t size = c.launch.sizes.bytes[int(memory_of(position))];
  if (address % kBlock)
    c.report(Kind::alignment, "InitBuffer", at,
             text("a buffer begins at byte %llu; allowed: multiples of 32", (unsigned long long)address));
  if (address > size || bytes > size - address) {
    c.report(Kind::local_capacity, "InitBuffer", at,
             text("a buffer of %llu bytes at %llu of a memory of %llu", (unsigned long long)bytes,
                  (unsigned long long)address, (unsigned long long)size));
    c.stop();
  }
  add_buffer(c, queue, place(c, position, uint32_t(address), uint32_t(bytes), "InitBuffer", at));
}

Local local_at(const char* call, int position, uint64_t address, uint64_t bytes, At at) {
  Core& c = core();
  Local view;
  view.memory = memory_of(position), view.position = uint8_t(position);
  const uint64_t size = c.memory->at(view.memory).size();
  if (c.launch.checks() && address % 32)
    c.report(Kind::alignment, call, at,
             text("the tensor begins at byte %llu of local memory, no multiple of 32", (unsigned long long)address));
  if (address + bytes > size) {
    c.report(Kind::local_capacity, call, at,
             text("bytes %llu to %llu of a memory of %llu", (unsigned long long)address,
                  (unsigned long long)(address + bytes), (unsigned long long)size));
    bytes = address < size ? size - address : 0;
  }
  view.offset = uint32_t(std::min(address, size)), view.bytes = uint32_t(bytes);
  return view;
}

// What lies beyond the memory is nobody's: the instruction that takes the tensor says so, with its line.
Local local_told(int position, uint64_t address, uint64_t bytes) {
  Local view;
  view.memory = memory_of(position), view.position = uint8_t(position);
  LocalMemory& memory = core().memory->at(view.memory);
  const auto* p = reinterpret_cast<const uint8_t*>(address);
  if (memory.holds(p)) address = uint64_t(p - memory.data(0, 0));
  const uint64_t size = memory.size();
  view.offset = uint32_t(std::min(address, size));
  view.bytes = uint32_t(std::min(bytes ? bytes : size, size - view.offset));
  return view;
}

Local stack_buffer(int position, At at) {
  Core& c = core();
  const Memory memory = memory_of(position);
  const uint64_t first = (uint64_t(c.used[int(memory)]) + kBlock - 1) / kBlock * kBlock,
                 size = c.memory->at(memory).size();
  return local_at("PopStackBuffer", position, std::min(first, size), first < size ? size - first : 0, at);
}

// The device's compiler gives an array its place once: a declaration that is reached again has the same one.
void* local_array(int position, uint64_t bytes, const char* name, At at) {
  Core& c = core();
  const auto [it, fresh] = c.arrays.try_emplace({at.file ? at.file : "", at.line, name, bytes}, -1);
  if (fresh) {
    it->second = take(c, nullptr, position, bytes, kArray, at);
    c.buffers[size_t(it->second)].state = Buffer::kPlain, c.buffers[size_t(it->second)].bytes = uint32_t(bytes);
  }
  return local_address(view_of(c, it->second));
}
// The scalar unit writes by address, which nothing sees: a block of 32 bytes that is no longer as it was at first was
// written, all ones in it as well.
static void adopt(LocalMemory& memory, const Local& view) {
  const uint8_t* data = memory.data(view.offset, view.bytes);
  uint8_t* written = memory.written(view.offset, view.bytes);
  for (uint64_t i = 0, end; i < view.bytes; i = end) {
    end = std::min<uint64_t>(view.bytes, (view.offset + i) / kBlock * kBlock + kBlock - view.offset);
    const auto changed = [&](uint64_t at) { return !written[at] && data[at] != 0xff; };
    uint64_t at = i;
    while (at < end && !changed(at)) ++at;
    if (at < end) std::memset(written + i, 1, end - i);
  }
}
Local local_of(const char* call, const void* address, At at, Memory in) {
  struct Place {
    TPosition position;
    const char *name, *how;
  };
  static constexpr Place places[] = {
      {TPosition::VECCALC, "the unified buffer", "__ubuf__, or use asc_get_phy_buf_addr"},
      {TPosition::A1, "L1", "__cbuf__"},
      {TPosition::A2, "L0A", "__ca__"},
      {TPosition::B2, "L0B", "__cb__"},
      {TPosition::CO1, "L0C", "__cc__"},
      {TPosition::C2, "the bias table", ""},  // which has no arrays
      {TPosition::C2PIPE2GM, "the fixpipe buffer", "__fbuf__"},
  };
  Core& c = core();
  const Place& place = places[int(in)];
  const auto* p = static_cast<const uint8_t*>(address);
  LocalMemory& memory = c.memory->at(in);
  // As the device has it, a number is an address in whichever memory an instruction reads.
  if (reinterpret_cast<uintptr_t>(p) < memory.size()) p = memory.data(0, 0) + reinterpret_cast<uintptr_t>(p);
  if (!memory.holds(p)) {
    c.report(Kind::position, call, at,
             text("the address is not in %s: declare an array with %s", place.name, place.how));
    c.stop();
  }
  Local view;
  view.offset = uint32_t(p - memory.data(0, 0)), view.bytes = memory.size() - view.offset;
  view.memory = in, view.position = uint8_t(place.position);
  for (size_t i = c.past; i < c.buffers.size(); ++i) {
    const Buffer& b = c.buffers[i];
    if (b.memory != in || view.offset < b.offset || view.offset >= b.offset + b.bytes) continue;
    view.bytes = std::min(b.offset + b.bytes, memory.size()) - view.offset;  // a buffer may end beyond it
    view.buffer = int32_t(i), view.generation = b.generation;
    break;
  }
  if (in == Memory::ub && c.launch.checks()) adopt(memory, view);
  return view;
}
uint64_t local_base() {
  Core& c = core();
  if (!c.is_vector) return 0;  // who reads there tells which of a cube core's memories is meant
  return reinterpret_cast<uint64_t>(c.memory->at(Memory::ub).data(0, 0));
}

const void* keep(const void* bytes, size_t size) {
  Core& c = core();
  const auto* from = static_cast<const char*>(bytes);
  c.kept.emplace_back(from, from + size);
  return c.kept.back().data();
}

namespace {
constexpr int kEvents = 8;
// Each buffer of a queue takes one of its position's events while it waits in the queue, and one from FreeTensor on
// until it is taken again.
template <typename Takes>
void counts_events(Core& c, const Buffer& b, const char* call, At at, Takes takes) {
  if (!c.launch.checks() || c.given_away().size() <= kEvents) return;
  const auto taken = std::count_if(c.given_away().begin(), c.given_away().end(), [&](const Buffer& each) {
    return each.queue >= 0 && each.position == b.position && takes(each);
  });
  if (taken > kEvents)
    c.report(Kind::queue_events, call, at,
             text("%d buffers of one position need an event each; there are %d", int(taken), kEvents));
}
}  // namespace

void queue_free_events(Queue& queue) {
  for (const int32_t id : state_of(core(), queue, "FreeAllEvent", {"", 0})->buffers)
    core().buffers[size_t(id)].freed = false;
}

Local queue_alloc(Queue& queue, At at) {
  Core& c = core();
  QueueState* q = state_of(c, queue, "AllocTensor", at);
  const size_t count = q->buffers.size();
  for (size_t i = 0, at_place = q->next; i < count; ++i, ++at_place) {
    if (at_place >= count) at_place = 0;
    const int32_t id = q->buffers[at_place];
    Buffer& b = c.buffers[size_t(id)];
    if (b.state != Buffer::kFree) continue;
    q->next = at_place + 1;
    b.state = Buffer::kTaken;
    b.freed = false;
    b.taken = at;
    c.join(fills(q->from), b.emptied, fills(q->from) != empties(q->to));
    if (b.given_back) c.join(fills(q->from), b.filled, false);
    if (copies_through(*q)) c.join(Pipe::MTE2, b.sent);
    c.settle();
    if (c.launch.checks()) c.memory->at(b.memory).forget(b.offset, b.bytes);
    return view_of(c, id);
  }
  std::string held;
  for (int32_t id : q->buffers) {
    const Buffer& b = c.buffers[size_t(id)];
    constexpr const char* states[] = {"free", "taken", "enqueued", "dequeued", "plain"};
    held += text("%s%s at line %d", held.empty() ? "" : ", ", states[b.state], b.taken.line);
  }
  c.report(Kind::queue_full, "AllocTensor", at,
           text("none of the queue's %zu buffers is free (%s): the core would wait for ever", q->buffers.size(),
                held.c_str()));
  c.stop();
}

void queue_enque(Queue& queue, Local tensor, int from, int, At at) {
  Core& c = core();
  QueueState* q = state_of(c, queue, "EnQue", at);
  Buffer* b = own(c, queue, *q, tensor, "EnQue", at);
  if (!b) return;
  if (b->state == Buffer::kQueued) {
    c.report(Kind::queue_order, "EnQue", at, text("the tensor is in the queue already, since line %d", b->taken.line));
    return;
  }
  if (int(q->waiting.size()) >= std::max(q->depth, 1))
    c.report(Kind::queue_depth, "EnQue", at,
             text("%zu tensors wait in the queue, whose depth is %d", q->waiting.size(), q->depth));
  b->state = Buffer::kQueued;
  b->taken = at;
  c.begin(fills(from), "EnQue", at);
  b->ready = c.snapshot(fills(from));
  if (copies_through(*q)) b->copied = c.snapshot(Pipe::MTE2);
  q->waiting.push_back(tensor.buffer);
  counts_events(c, *b, "EnQue", at, [](const Buffer& each) { return each.state == Buffer::kQueued; });
}

Local queue_deque(Queue& queue, int, int to, At at) {
  Core& c = core();
  QueueState* q = state_of(c, queue, "DeQue", at);
  if (q->waiting.empty()) {
    c.report(Kind::queue_empty, "DeQue", at, "nothing is in the queue: the core would wait for ever");
    c.stop();
  }
  const int32_t id = q->waiting[0];
  q->waiting.erase(q->waiting.begin());
  Buffer& b = c.buffers[size_t(id)];
  b.state = Buffer::kOut;
  b.taken = at;
  c.begin(empties(to), "DeQue", at);
  c.join(empties(to), b.ready, fills(q->from) != empties(to));
  if (copies_through(*q)) c.join(Pipe::MTE3, b.copied);
  c.settle();
  return view_of(c, id);
}

void queue_free(Queue& queue, Local tensor, At at) {
  Core& c = core();
  QueueState* q = state_of(c, queue, "FreeTensor", at);
  Buffer* b = own(c, queue, *q, tensor, "FreeTensor", at, true);
  if (!b) return;
  if (b->state == Buffer::kQueued) {
    c.report(Kind::queue_order, "FreeTensor", at,
             text("the tensor is still in the queue, since line %d", b->taken.line));
    return;
  }
  c.begin(empties(q->to), "FreeTensor", at);
  b->emptied = c.snapshot(empties(q->to));
  if (copies_through(*q)) b->sent = c.snapshot(Pipe::MTE3);
  // A tensor that was never enqueued is still the filling pipe's, which has waited for no more than the emptying one
  // has.
  b->given_back = b->state == Buffer::kTaken;
  if (b->given_back) b->filled = c.snapshot(fills(q->from));
  b->state = Buffer::kFree;
  b->freed = true;
  b->taken = at;
  ++b->generation;
  counts_events(c, *b, "FreeTensor", at, [](const Buffer& each) { return each.freed; });
}

bool queue_vacant(const Queue& queue, bool free_buffer) {
  Core& c = core();
  const QueueState& q = *state_of(c, queue, free_buffer ? "HasIdleBuffer" : "VacantInQue", {"", 0});
  if (!free_buffer) return int(q.waiting.size()) < q.depth;
  return std::any_of(q.buffers.begin(), q.buffers.end(),
                     [&](int32_t id) { return c.buffers[size_t(id)].state == Buffer::kFree; });
}
int queue_held(const Queue& queue) { return int(state_of(core(), queue, "HasTensorInQue", {"", 0})->waiting.size()); }

Local buffer_get(const Queue& buffer, uint64_t offset, uint64_t bytes, At at) {
  Core& c = core();
  if (buffer.id < 0 || size_t(buffer.id) >= c.buffers.size()) {
    c.report(Kind::queue_not_ready, "TBuf::Get", at, "InitBuffer was not called for this buffer");
    c.stop();
  }
  Local view = view_of(c, buffer.id);
  if (bytes == ~uint64_t{0}) bytes = view.bytes - std::min<uint64_t>(offset, view.bytes);
  if (offset + bytes > view.bytes) {
    c.report(Kind::local_bounds, "TBuf::Get", at,
             text("bytes %llu to %llu asked for; the buffer has %u", (unsigned long long)offset,
                  (unsigned long long)(offset + bytes), view.bytes),
             c.describe(view));
    bytes = view.bytes - std::min<uint64_t>(offset, view.bytes);
  }
  view.offset += static_cast<uint32_t>(offset);
  view.bytes = static_cast<uint32_t>(bytes);
  return view;
}

void* local_address(Local tensor) { return core().memory->at(tensor.memory).data() + tensor.offset; }

}  // namespace ophook::rt
