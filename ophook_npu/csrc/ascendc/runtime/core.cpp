// What a core knows: numbering of operations, what each pipe waits for, findings.
#include "core.h"

#include <cstdarg>
#include <cstdio>

namespace ophook::rt {

constinit thread_local Core* running_core = nullptr;

namespace {
struct Row {
  const char* name;
  Severity severity;
  const char* todo;
};
constexpr Row kRows[] = {
#define FINDING(kind, severity, todo) {#kind, Severity::severity, todo},
#include "findings.inc"
#undef FINDING
};

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

constexpr const char* kMemories[] = {"UB", "L1", "L0A", "L0B", "L0C", "BT", "FB", "device memory"};
constexpr const char* kPositions[] = {"GM",  "A1",    "A2",     "B1",      "B2",  "C1",   "C2",        "CO1",
                                      "CO2", "VECIN", "VECOUT", "VECCALC", "SPM", "TSCM", "C2PIPE2GM", "C2PIPE2LOCAL"};
}  // namespace

Severity severity_of(Kind kind) { return kRows[int(kind)].severity; }
const char* name_of(Kind kind) { return kRows[int(kind)].name; }
const char* advice_of(Kind kind) { return kRows[int(kind)].todo; }

const char* name_of(Dtype dtype) {
  constexpr const char* names[] = {"half",     "float",    "bfloat16_t", "int8_t",   "uint8_t",
                                   "int16_t",  "uint16_t", "int32_t",    "uint32_t", "int64_t",
                                   "uint64_t", "double",   "bool",       "int4b_t",  "another type"};
  return names[int(dtype)];
}
const char* name_of(Pipe pipe) {
  constexpr const char* names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};
  return names[int(pipe)];
}
uint32_t size_of(Dtype dtype) {
  constexpr uint32_t sizes[] = {2, 4, 2, 1, 1, 2, 2, 4, 4, 8, 8, 8, 1, 1, 1};
  return sizes[int(dtype)];
}

std::string text(const char* format, ...) {
  char buffer[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

Core::Core(Launch& owner, int number, int block_number, int sub_number, bool vector)
    : launch(owner), index(number), block(block_number), sub(sub_number), is_vector(vector) {}

void Core::order(Pipe pipe, const char* call, At at) {
  Site& slot = place->sites[seq % std::size(place->sites)];
  slot.seq = seq, slot.call = call, slot.at = at, slot.fills = false;
  // The scalar unit issues everything: what it waited for, every later instruction comes after.
  if (pipe != Pipe::S) join(pipe, known[int(Pipe::S)]);
  newest[int(pipe)] = seq;
  known[int(pipe)].at[int(pipe)] = seq;
  slot.after = known[int(pipe)];
  if (launch.options.timeline)
    timeline.begin(pipe, seq, call, at, known[int(pipe)], known[int(Pipe::S)], launch.counters);
}

void Core::run_settled() {
  size_t kept = 0;
  std::vector<Pending> now;
  for (Pending& copy : pending) {
    bool over = false;
    for (int p = 0; p < kPipes; ++p) over |= p != int(copy.pipe) && known[p].at[int(copy.pipe)] >= copy.seq;
    over |= fence[int(copy.pipe)] >= copy.seq;
    if (over) now.push_back(std::move(copy));
    else pending[kept++] = std::move(copy);
  }
  pending.resize(kept);
  for (Pending& copy : now) copy.run();
}

void Core::settle_all() {
  std::vector<Pending> now = std::move(pending);
  pending.clear();
  for (Pending& copy : now) copy.run();
}

const Site* Core::site(uint32_t number) const {
  const Site& slot = place->sites[number % std::size(place->sites)];
  return slot.seq == number && number ? &slot : nullptr;
}
std::string Core::where(uint32_t number) const {
  const Site* found = site(number);
  return found ? text("%s at %s:%d", found->call, base_name(found->at.file), found->at.line) : "an earlier call";
}

std::string Core::describe(const Local& tensor) const {
  const char* memory = kMemories[int(tensor.memory)];
  if (tensor.buffer < 0 || size_t(tensor.buffer) >= buffers.size())
    return text("%s [%u, %u)", memory, tensor.offset, tensor.offset + tensor.bytes);
  const Buffer& b = buffers[size_t(tensor.buffer)];
  return text("%s buffer of %u bytes at %s %u (%s at %s:%d)", kPositions[b.position], b.bytes, memory, b.offset, b.call,
              base_name(b.at.file), b.at.line);
}

// An operation that is refused is left out, so values that it would have computed are missing from then on.
static bool leaves_undone(Kind kind) {
  switch (kind) {
    case Kind::alignment:
    case Kind::local_bounds:
    case Kind::local_capacity:
    case Kind::global_bounds:
    case Kind::use_after_free:
    case Kind::data_type:
    case Kind::rounding:
    case Kind::mask:
    case Kind::repeat:
    case Kind::stride:
    case Kind::position:
    case Kind::wrong_core:
    case Kind::unguarded:
    case Kind::overlap:
    case Kind::parameter:
    case Kind::queue_full:
    case Kind::queue_empty:
    case Kind::queue_foreign:
    case Kind::queue_order:
    case Kind::queue_not_ready:
    case Kind::assertion:
    case Kind::trap: return true;
    default: return false;
  }
}
static bool is_missing(Kind kind) {
  return kind == Kind::uninitialized || kind == Kind::uncomputed_tail || kind == Kind::not_freed ||
         kind == Kind::left_in_queue;
}

void Core::report(Kind kind, const char* call, At at, std::string what, std::string buffer) {
  Severity severity = severity_of(kind);
  if (launch.options.sequential && (kind == Kind::missing_sync || kind == Kind::copies_overlap))
    severity = Severity::strict;
  if (!launch.checks() && severity != Severity::error) return;
  if (!launch.wanted(severity)) return;
  if (severity == Severity::error) launch.failed = true;
  const char* file = at.file ? at.file : "";
  if (is_missing(kind) && cause >= 0) {
    ++launch.findings[size_t(cause)].followed;
    return;
  }
  const std::string key = text("%d|%s|%d|%s", int(kind), file, at.line, call);
  auto [it, fresh] = launch.known.emplace(key, launch.findings.size());
  if (cause < 0 && leaves_undone(kind)) cause = int(it->second);
  if (!fresh) {
    // A kernel that loops until something is computed never ends where that was refused.
    constexpr uint64_t kEndless = 100'000;
    if (++launch.findings[it->second].count >= kEndless && severity == Severity::error && leaves_undone(kind)) stop();
    return;
  }
  launch.findings.push_back({kind, call, file, std::move(buffer), std::move(what), at.line, index, tile});
}

bool Core::usable(const Local& tensor, const char* call, At at) {
  if (tensor.buffer < 0) {
    if (tensor.bytes) return true;
    report(Kind::local_bounds, call, at, "the tensor is empty: nothing was taken from a queue or buffer for it");
    return false;
  }
  const Buffer& b = buffers[size_t(tensor.buffer)];
  if (b.state != Buffer::kPlain && (b.generation != tensor.generation || b.state == Buffer::kFree)) {
    // Its memory holds what it held until the queue gives it away.
    const bool its_last = b.state == Buffer::kFree && tensor.generation + 1 == b.generation;
    report(its_last ? Kind::free_and_used : Kind::use_after_free, call, at,
           its_last ? "the tensor was given back by FreeTensor before, and nobody has taken it since"
                    : "the tensor was given back by FreeTensor before",
           describe(tensor));
    return its_last;
  }
  return true;
}

}  // namespace ophook::rt
