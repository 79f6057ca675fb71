// Runs a kernel: one fiber a core, one after the other, each until it ends or waits for the others.
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "core.h"
#include "division.h"
#include "fiber.h"
#include "simt.h"
#include "server.h"
#include "stray.h"

namespace ophook::rt {
namespace {

void call(void* entry, uint8_t* const* a, int n, const float* f) {
  using B = uint8_t*;
  // Arguments beyond what a function takes are harmless in the C calling conventions of x86-64 and aarch64, where
  // floats have registers of their own.
  using F = void (*)(B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B,
                     float, float, float, float);
  B b[32] = {};
  std::copy(a, a + std::min(n, 32), b);
  reinterpret_cast<F>(entry)(b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                             b[14], b[15], b[16], b[17], b[18], b[19], b[20], b[21], b[22], b[23], b[24], b[25], b[26],
                             b[27], b[28], b[29], b[30], b[31], f[0], f[1], f[2], f[3]);
}

struct Job {
  void *entry, *cube_entry;
  std::vector<uint8_t*> arguments;
  float reals[4] = {};
};
thread_local const Job* job = nullptr;

void ended(Core& c) {
  c.settle_all();
  if (c.launch.options.timeline) c.timeline.finish(c.launch.counters);
  if (!c.launch.checks()) return;
  for (const Buffer& b : c.given_away()) {
    if (b.state == Buffer::kTaken || b.state == Buffer::kOut)
      c.report(Kind::not_freed, b.state == Buffer::kTaken ? "AllocTensor" : "DeQue", b.taken,
               "the tensor taken here is never given back",
               text("queue of %zu buffers", c.queues[size_t(b.queue)].buffers.size()));
    if (b.state == Buffer::kQueued)
      c.report(Kind::left_in_queue, "EnQue", b.taken, "the tensor enqueued here is never dequeued");
  }
  if (!c.place->flagged) return;
  for (int p = 0; p < kPipes; ++p)
    for (int q = 0; q < kPipes; ++q)
      for (int id = 0; id < 8; ++id)
        if (const Flag& flag = c.place->flags[p][q][id]; flag.set)
          c.report(Kind::set_without_wait, "SetFlag", flag.at,
                   text("nobody waits for event %d of %s_%s: it stays set for the next kernel", id, name_of(Pipe(p)),
                        name_of(Pipe(q))));
}

void fiber_main() {
  Core& c = core();
  try {
    call(c.is_vector ? job->entry : job->cube_entry, job->arguments.data(), int(job->arguments.size()), job->reals);
    ended(c);
  } catch (const Stopped&) {
  }
  c.state = Core::kDone;
}

// Places of launches that are over, for the thread's next ones: they cost more than a launch of few elements.
struct Places {
  std::vector<std::unique_ptr<Workplace>> kept;
  std::vector<char> cores;  // their memory
};
thread_local std::unique_ptr<Places> places;  // a pointer: the room for thread-local variables of libraries is small
constexpr uint64_t kKeptBytes = 32 << 20;

void take_places(Launch& launch) {
  if (!places) places = std::make_unique<Places>();
  for (auto& each : places->kept)
    if (each->memory.sizes() == launch.sizes) launch.spare.push_back(std::move(each));
  places->kept.clear();
  launch.room.swap(places->cores);
}
void leave_places(Launch& launch) {
  uint64_t bytes = 0;
  for (auto& each : launch.spare)
    if ((bytes += each->memory.bytes() + sizeof(Workplace)) <= kKeptBytes) places->kept.push_back(std::move(each));
}
void make_cores(Launch& launch, int count) {
  static_assert(alignof(Core) <= alignof(std::max_align_t));
  if (launch.room.size() < size_t(count) * sizeof(Core)) launch.room.resize(size_t(count) * sizeof(Core));
  launch.cores.reserve(size_t(count));
}
void add_core(Launch& launch, int block, int sub, bool vector) {
  const size_t index = launch.cores.size();
  launch.cores.emplace_back(new (launch.room.data() + index * sizeof(Core))
                                Core(launch, int(index), block, sub, vector));
}
void end_cores(Launch& launch) {
  launch.cores.clear();
  launch.room.swap(places->cores);
}

void start(Core& c) {
  if (c.launch.spare.empty()) {
    c.place = std::make_unique<Workplace>(c.launch.sizes);
  } else {
    c.place = std::move(c.launch.spare.back());
    c.launch.spare.pop_back();
  }
  c.memory = &c.place->memory;
  c.buffers.swap(c.place->buffers);
  c.queues.swap(c.place->queues);
}

// A core that waits for what never comes keeps its place.
void end(Core& c) {
  c.buffers.clear();
  c.queues.clear();
  c.buffers.swap(c.place->buffers);
  c.queues.swap(c.place->queues);
  c.place->reset();
  if (std::exchange(c.place->abandoned, false)) c.place->fiber->restart();
  c.launch.spare.push_back(std::move(c.place));
  c.memory = nullptr;
}

// Cores that wait for each other go on at one time.
template <typename Cores>
void meet_in_time(Cores& cores) {
  double latest = 0;
  for (auto& each : cores) latest = std::max(latest, each->timeline.latest());
  for (auto& each : cores) each->timeline.not_before(latest);
}

// All vector cores of a launch with cube cores are at a SyncAll of their own: what each did is over for all of them.
// The phases, which all cores share, go on.
bool meet(Launch& launch) {
  std::vector<Core*> vectors;
  for (auto& each : launch.cores)
    if (each->is_vector) vectors.push_back(each.get());
  if (vectors.empty() || vectors.size() == launch.cores.size()) return false;
  for (const Core* each : vectors)
    if (each->state != Core::kSyncAll || !each->syncs_vectors) return false;
  std::vector<Clock> over(launch.cores.size());
  for (const Core* each : vectors)
    for (size_t i = 0; i < over.size(); ++i)
      for (int q = 0; q < kPipes; ++q) {
        if (i < each->seen.size()) over[i].at[q] = std::max(over[i].at[q], each->seen[i].at[q]);
        if (int(i) == each->index) over[i].at[q] = std::max(over[i].at[q], each->newest[q]);
      }
  for (Core* each : vectors) each->seen = over, each->state = Core::kReady;
  meet_in_time(vectors);
  return true;
}

// Cores whose message has come go on.
void wake(Launch& launch) {
  for (auto& each : launch.cores)
    if (each->state == Core::kTask && each->until()) each->state = Core::kReady;
}

void schedule(Launch& launch) {
  while (true) {
    comm::serve(launch, false);
    wake(launch);
    bool ran = false;
    for (auto& each : launch.cores) {
      Core& c = *each;
      if (c.state != Core::kReady) continue;
      if (!c.place) start(c);
      set_core(&c);
      c.place->fiber->enter();
      set_core(nullptr);
      ran = true;
      if (c.state == Core::kDone) end(c);
    }
    if (ran) continue;
    if (meet(launch) || comm::serve(launch, true)) continue;
    if (launch.communication && !launch.communication->failed.empty()) return;
    int waiting = 0, done = 0;
    bool stuck = false;
    for (auto& each : launch.cores) {
      if (each->state == Core::kCross) {
        stuck = true;
        if (each->waits_between >= 0)
          each->report(Kind::deadlock, "IBWait", each->waits_at,
                       text("core %d waits for event %d of core %d, which nobody sets", each->index, each->waits_for,
                            each->waits_between));
        else
          each->report(Kind::deadlock, "CrossCoreWaitFlag", each->waits_at,
                       text("core %d waits for flag %d, which nobody sets", each->index, each->waits_for));
      }
      if (each->state == Core::kTask) {
        stuck = true;
        each->report(Kind::deadlock, each->last_call, each->waits_at, each->never());
      }
      (each->state == Core::kSyncAll ? waiting : done) += 1;
    }
    if (stuck || !waiting) return;
    if (done) {
      Core* ended_core = nullptr;
      for (auto& each : launch.cores)
        if (each->state == Core::kDone && (!ended_core || (each->is_vector && !ended_core->is_vector)))
          ended_core = each.get();
      for (auto& each : launch.cores) {
        if (each->state != Core::kSyncAll) continue;
        each->report(Kind::deadlock, "SyncAll", each->waits_at,
                     text("core %d waits for all cores; core %d has ended after %d SyncAll calls", each->index,
                          ended_core->index, ended_core->phase));
      }
      return;  // their fibers are dropped
    }
    for (auto& each : launch.cores) each->state = Core::kReady, ++each->phase;
    meet_in_time(launch.cores);
  }
}

void quote(std::string& out, const std::string& value) {
  out += '"';
  for (const char ch : value) {
    const auto u = static_cast<unsigned char>(ch);
    if (ch == '"' || ch == '\\') out += '\\', out += ch;
    else if (u < 0x20) out += text("\\u%04x", u);
    else out += ch;
  }
  out += '"';
}

// Copies of what was never computed that nothing has written over: in a workspace, and in memory that the kernel itself
// reads back, they are nobody's.
void uncomputed(Launch& launch) {
  std::vector<bool> left(launch.uncomputed.size());
  for (const Argument& a : launch.memory.arguments)
    if (a.role != 3 && !(a.role == ASCENDC_ANY && a.read_back))
      a.uncomputed.meet(0, a.bytes, [&](uint64_t, const Touch& touch) { left[touch.seq] = true; });
  for (size_t i = 0; i < left.size(); ++i) {
    const Uncomputed& each = launch.uncomputed[i];
    if (!left[i]) continue;
    each.core->tile = each.tile;
    each.core->report(Kind::uninitialized, each.call, each.at, each.what, each.buffer);
  }
}

void coverage(Launch& launch) {
  const auto undone =
      std::find_if(launch.cores.begin(), launch.cores.end(), [](const auto& core) { return core->cause >= 0; });
  for (const Argument& a : launch.memory.arguments) {
    if ((a.role != 1 && a.role != ASCENDC_FILLED) || !a.bytes) continue;
    uint64_t missing = 0, first = 0;
    a.writes.gaps(0, a.bytes, [&](uint64_t begin, uint64_t end) {
      if (!missing) first = begin;
      missing += end - begin;
    });
    if (!missing) continue;
    if (undone != launch.cores.end()) {
      ++launch.findings[size_t((*undone)->cause)].followed;
      continue;
    }
    const auto e = uint64_t(a.element);
    launch.findings.push_back({Kind::unwritten, "kernel", "", a.name,
                               text("%llu of the %llu elements of %s were never written, the first at %llu",
                                    (unsigned long long)((missing + e - 1) / e), (unsigned long long)(a.bytes / e),
                                    a.name.c_str(), (unsigned long long)(first / e)),
                               0, -1, -1});
    launch.failed |= a.role == 1;
  }
}

// [core, whether it is a vector core, pipe, call, file, line, begin and end in cycles, bytes, elements] of each
// operation.
std::string timeline_of(const Launch& launch) {
  std::string out;
  for (const auto& core : launch.cores)
    for (const Slice& s : core->timeline.slices()) {
      out += text("%s[%d,%s,\"%s\",", out.empty() ? "" : ",", core->index, core->is_vector ? "true" : "false",
                  name_of(s.pipe));
      quote(out, s.call);
      out += ',';
      quote(out, s.at.file ? s.at.file : "");
      out += text(",%d,%.1f,%.1f,%llu,%llu]", s.at.line, s.start, s.end, (unsigned long long)s.bytes,
                  (unsigned long long)s.elements);
    }
  return out;
}

std::string report_of(const Launch& launch) {
  std::string out = "{\"findings\":[";
  for (size_t i = 0; i < launch.findings.size(); ++i) {
    const Finding& f = launch.findings[i];
    constexpr const char* severities[] = {"error", "strict", "note"};
    out += i ? ",{" : "{";
    auto field = [&](const char* name, const std::string& value) {
      out += text("\"%s\":", name);
      quote(out, value);
      out += ',';
    };
    field("kind", name_of(f.kind)), field("severity", severities[int(severity_of(f.kind))]), field("call", f.call);
    field("file", f.file), field("what", f.what), field("buffer", f.buffer), field("todo", advice_of(f.kind));
    out += text("\"line\":%d,\"core\":%d,\"tile\":%lld,\"count\":%llu,\"followed\":%llu}", f.line, f.core,
                (long long)f.tile, (unsigned long long)f.count, (unsigned long long)f.followed);
  }
  const Counters& n = launch.counters;
  out += text(
      "],\"counters\":{\"copied_in\":%llu,\"copied_out\":%llu,\"copies\":%llu,\"elements\":%llu,\"instructions\":%llu,"
      "\"unaligned\":%llu",
      (unsigned long long)n.copied_in, (unsigned long long)n.copied_out, (unsigned long long)n.copies,
      (unsigned long long)n.elements, (unsigned long long)n.instructions, (unsigned long long)n.unaligned);
  constexpr const char* memories[] = {"ub", "l1", "l0a", "l0b", "l0c", "bt", "fb"};
  for (int i = 0; i < 7; ++i) out += text(",\"%s_used\":%llu", memories[i], (unsigned long long)n.used[i]);
  out += "},\"output\":";
  quote(out, launch.output);
  if (launch.options.timeline) out += ",\"timeline\":[" + timeline_of(launch) + "]";
  return out + "}";
}

}  // namespace

Workplace::Workplace(const LocalSizes& sizes) : memory(sizes), fiber(std::make_unique<Fiber>(fiber_main)) {}
Workplace::~Workplace() = default;
void Workplace::reset() {
  memory.reset();
  if (std::exchange(flagged, false)) std::fill_n(&flags[0][0][0], sizeof flags / sizeof(Flag), Flag{});
}

void yield_core() {
  Core& c = core();
  if (c.launch.options.timeline) c.timeline.finish(c.launch.counters);
  c.place->fiber->leave();
}
void Core::stop() {
  state = kDone;
  throw Stopped{};
}
void Core::abandon() {
  state = kDone;
  place->abandoned = true;
  place->fiber->leave();
  __builtin_unreachable();
}

int print_list(bool named, const char* format, va_list arguments) {
  Core* c = core_or_null();
  if (!c) return std::vprintf(format, arguments);
  char buffer[2048];
  const int length = std::vsnprintf(buffer, sizeof buffer, format, arguments);
  if (named && !simt())
    c->launch.output += text("[%s Block %lld/%lld] ", c->is_vector ? "AIV" : "AIC", (long long)block_index(),
                             (long long)c->launch.blocks * (c->is_vector ? c->launch.subs : 1));
  c->launch.output += buffer;
  return length;
}
int print(bool named, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = print_list(named, format, arguments);
  va_end(arguments);
  return length;
}

namespace {
std::string element(Dtype dtype, const uint8_t* data) {
  auto as = [&](auto value) {
    std::memcpy(&value, data, sizeof value);
    return value;
  };
  switch (dtype) {
    case Dtype::f16: return text("%g", half_value(as(uint16_t{})));
    case Dtype::bf16: return text("%g", bfloat16_value(as(uint16_t{})));
    case Dtype::f32: return text("%g", as(float{}));
    case Dtype::i8: return text("%d", as(int8_t{}));
    case Dtype::i16: return text("%d", as(int16_t{}));
    case Dtype::u16: return text("%u", as(uint16_t{}));
    case Dtype::i32: return text("%d", as(int32_t{}));
    case Dtype::u32: return text("%u", as(uint32_t{}));
    case Dtype::i64: return text("%lld", (long long)as(int64_t{}));
    case Dtype::u64: return text("%llu", (unsigned long long)as(uint64_t{}));
    default: return text("%u", unsigned(*data));
  }
}
// With a shape, a line for each of its rows, and "-" for elements that are not there.
void dump_values(Dtype dtype, const uint8_t* data, uint32_t tag, uint32_t count, DumpShape shape = {}) {
  std::string& out = core().launch.output;
  out += text("DumpTensor %u, core %d: [", tag, core().index);
  uint32_t shown = shape.count ? 1 : count;
  for (uint32_t i = 0; i < shape.count; ++i) shown *= shape.sizes[i];
  const uint32_t row = shape.count ? shape.sizes[shape.count - 1] : 0;
  for (uint32_t i = 0; i < shown; ++i)
    out += (i ? ", " : "") + std::string(row && i % row == 0 ? "\n  " : "") +
           (i < count ? element(dtype, data + i * size_of(dtype)) : "-");
  out += row ? "\n]\n" : "]\n";
}
}  // namespace

void dump(Local tensor, uint32_t tag, uint32_t count, DumpShape shape) {
  const uint32_t have = tensor.bytes / size_of(tensor.dtype);
  dump_values(tensor.dtype, core().memory->at(tensor.memory).data() + tensor.offset, tag, std::min(count, have), shape);
}
void print_lines(Local tensor, uint32_t count) {
  std::string& out = core().launch.output;
  const uint8_t* data = core().memory->at(tensor.memory).data() + tensor.offset;
  const auto size = uint32_t(size_of(tensor.dtype)), line = 32 / size;
  count = std::min(count, tensor.bytes / size);
  for (uint32_t i = 0; i < count; ++i)
    out += (i % line ? "" : text("%04u:", i)) + " " + element(tensor.dtype, data + i * size) +
           (i % line == line - 1 || i == count - 1 ? "\n" : "");
}
int32_t to_file(Local tensor, const char* name) {
  std::FILE* file = std::fopen(name, "wb");
  if (!file) return 1;
  const uint8_t* data = core().memory->at(tensor.memory).data() + tensor.offset;
  const bool whole = std::fwrite(data, 1, tensor.bytes, file) == tensor.bytes;
  return std::fclose(file) == 0 && whole ? 0 : 1;
}
void dump(Global tensor, uint32_t tag, uint32_t count, DumpShape shape) {
  const Argument* a = core().launch.memory.find(tensor.data);
  const uint64_t left =
      a ? (a->bytes - std::min(a->bytes, uint64_t(tensor.data - a->data))) / size_of(tensor.dtype) : 0;
  dump_values(tensor.dtype, tensor.data, tag, uint32_t(std::min<uint64_t>(count, left)), shape);
}

void dump_at(const char* call, const void* address, Dtype dtype, uint32_t desc, uint32_t count, At at) {
  Core& c = core();
  const auto* data = static_cast<const uint8_t*>(address);
  for (const Memory each : {Memory::ub, Memory::l1, Memory::l0a, Memory::l0b, Memory::l0c}) {
    LocalMemory& memory = c.memory->at(each);
    if (data < memory.data() || data >= memory.data() + memory.size()) continue;
    const auto left = uint32_t(memory.data() + memory.size() - data) / size_of(dtype);
    return dump_values(dtype, data, desc, std::min(count, left));
  }
  if (!c.launch.memory.find(data)) {
    c.report(Kind::global_bounds, call, at, "the address is of no argument and of no local memory");
    return;
  }
  dump(Global{const_cast<uint8_t*>(data), 0, dtype}, desc, count);
}

void assertion(const char* condition, At at) {
  if (!core_or_null()) {  // the program's own, in host code of a CPU twin
    fprintf(stderr, "%s:%d: Assertion `%s' failed.\n", at.file, int(at.line), condition);
    abort();
  }
  core().launch.output += text("[ASSERT] %s:%d: : Assertion `%s' failed.\n", at.file, int(at.line), condition);
  core().report(Kind::assertion, "assert", at, text("%s does not hold", condition));
  core().stop();
}
void trap(At at) {
  core().report(Kind::trap, "Trap", at, "the kernel calls Trap");
  core().stop();
}
void beyond(Local tensor, uint64_t first, const char* what, At at) {
  core().report(Kind::local_bounds, what, at, text("element %llu", (unsigned long long)first), core().describe(tensor));
}

}  // namespace ophook::rt

using namespace ophook::rt;

int ascendc_run(const ascendc_launch* request, char** report) {
  ascendc_options o = request->options;
  if (o.both_units) o.kind = 0;
  LocalSizes sizes;
  const uint64_t given[] = {o.ub, o.l1, o.l0a, o.l0b, o.l0c, o.bt, o.fb};
  for (int i = 0; i < 7; ++i) sizes.bytes[i] = static_cast<uint32_t>(given[i]);
  Launch launch{o, sizes};
  launch.tiling_key = request->tiling_key;
  launch.memory.allocation = request->allocation;
  launch.memory.reach = request->reach;
  launch.wires = request->wires;
  launch.contexts.assign(request->contexts, request->contexts + request->context_count);
  Job now{request->entry, request->cube_entry ? request->cube_entry : request->entry, {}, {}};
  int reals = 0;
  for (int i = 0; i < request->argument_count; ++i) {
    const ascendc_memory& m = request->arguments[i];
    if (m.role == 6 && reals < 4) {
      std::memcpy(&now.reals[reals++], &m.data, sizeof(float));
      continue;
    }
    if (m.role == 5) {
      now.arguments.push_back(static_cast<uint8_t*>(m.data));
      continue;
    }
    Argument a;
    a.name = m.name, a.data = static_cast<uint8_t*>(m.data), a.bytes = m.bytes,
    a.allocated = std::max(m.bytes, m.allocated);
    a.role = m.role, a.element = m.element > 0 ? m.element : 1;
    // A device's kernel has a workspace where its tiling asked for none, and many return at once where they find a null
    // pointer. This one has no bytes.
    alignas(32) static uint8_t empty[32];
    if (m.role == 3 && !a.data) a.data = empty;
    // One tensor given twice, as x + x or in place: its first appearance stands for it.
    for (Argument& before : launch.memory.arguments)
      if (a.bytes && before.data == a.data && before.is_input() != a.is_input()) before.role = a.role = 2;
    if (m.role == 4) launch.tiling = a.data, launch.tiling_bytes = a.bytes;
    if (m.role == 3) launch.workspace = a.data;
    now.arguments.push_back(a.data);
    launch.memory.arguments.push_back(std::move(a));
  }
  launch.blocks = request->block_dim;
  launch.subs = o.kind == 1 ? 2 : 1;
  take_places(launch);
  make_cores(launch, request->block_dim * ((o.kind != 0) + (o.kind != 3 ? launch.subs : 0)));
  for (int block = 0; block < request->block_dim; ++block) {
    if (o.kind != 0) add_core(launch, block, 0, false);
    for (int sub = 0; o.kind != 3 && sub < launch.subs; ++sub) add_core(launch, block, sub, true);
  }
  const Job* outer = job;
  job = &now;
  survive_divisions();
  survive_stray_accesses();
  schedule(launch);
  if (launch.simt) launch.simt->fold();
  comm::end_communication(launch);
  leave_places(launch);
  job = outer;
  if (o.checks)
    for (auto& each : launch.cores)
      for (const auto& [id, messages] : each->inbox)
        for (const Message& left : messages)
          each->report(Kind::set_without_wait, "CrossCoreSetFlag", left.at,
                       text("core %d never waits for flag %d: it stays set for the next kernel", each->index, id));
  if (o.checks) uncomputed(launch), coverage(launch);
  if (request->touched)
    for (const Argument& a : launch.memory.arguments) {
      a.reads.each([&](uint64_t begin, uint64_t end) { request->touched(0, a.data + begin, end - begin); });
      a.writes.each([&](uint64_t begin, uint64_t end) { request->touched(1, a.data + begin, end - begin); });
    }
  if (request->summary) {
    std::string summary = launch.communication ? launch.communication->failed : "";
    int told = summary.empty() ? 0 : 1;
    // Where nothing failed, what a device takes and is seldom meant.
    const auto doubtful = [&](Kind kind) {
      return !launch.failed && (kind == Kind::beyond_argument || kind == Kind::input_changed);
    };
    for (const Finding& f : launch.findings) {
      if ((severity_of(f.kind) != Severity::error && !doubtful(f.kind)) || told++ == 3) continue;
      const size_t slash = f.file.rfind('/');
      const std::string place = f.file.empty() ? "" : text("%s:%d: ", f.file.substr(slash + 1).c_str(), f.line);
      summary +=
          text("%s%s%s: %s [%s]", told > 1 ? "\n" : "", place.c_str(), f.call.c_str(), f.what.c_str(), name_of(f.kind));
    }
    std::snprintf(request->summary, request->summary_capacity, "%s", summary.c_str());
  }
  if (report) {
    const std::string json = report_of(launch);
    *report = static_cast<char*>(std::malloc(json.size() + 1));
    std::memcpy(*report, json.c_str(), json.size() + 1);
  }
  // Of a program's kernels it belongs to the program's own output, where a report is wanted, too.
  if (!launch.output.empty() && (!report || std::getenv("OPHOOK_KERNEL_REPORT"))) {
    std::fwrite(launch.output.data(), 1, launch.output.size(), stdout);
    std::fflush(stdout);
  }
  const bool failed = launch.failed;
  end_cores(launch);
  return failed ? 1 : 0;
}
void ascendc_release(char* report) { std::free(report); }
uint64_t ascendc_layout() { return ASCENDC_LAYOUT; }
