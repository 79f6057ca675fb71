// Counts and times operator calls from torch's RecordFunction, without Python: what via="record_function" is made of.
//
// A recorder owns one of kSlots slots, because RecordFunction's callbacks are plain functions: each slot has its own pair.
// Every thread writes only its own Table; a reader takes that table's lock, which its owner holds for one update at a
// time. Tables outlive their threads, so that what a thread counted stays, and the next new thread goes on with it.

#ifndef NDEBUG
#error "published torch is built with NDEBUG, and RecordFunction has one member less there"
#endif

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/ScalarType.h>
#include <c10/core/TensorImpl.h>
#include <torch/csrc/autograd/graph_task.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace {

constexpr int kSlots = 16;
constexpr int64_t kResults = -1;   // in a signature: what follows came out
constexpr int64_t kNoSizes = -1;   // in place of a tensor's rank: nested, or sizes that are symbols

int64_t now() {
  // The clock of Python's perf_counter_ns.
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class SpinLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) {
      while (taken_.load(std::memory_order_relaxed)) {
      }
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

// Durations in buckets of a sixteenth of a power of two: what is read back is within 3.2 % of what was put in.
class Histogram {
 public:
  void add(int64_t value) {
    const auto index = bucket(value);
    if (index >= counts_.size()) {
      counts_.resize(index + 1);
    }
    ++counts_[index];
  }

  void write(std::ostream& out) const {
    out << '[';
    const char* comma = "";
    for (size_t index = 0; index < counts_.size(); ++index) {
      if (counts_[index] != 0) {
        out << comma << '[' << middle(index) << ',' << counts_[index] << ']';
        comma = ",";
      }
    }
    out << ']';
  }

 private:
  static size_t bucket(int64_t value) {
    const auto v = static_cast<uint64_t>(value < 0 ? 0 : value);
    if (v < 16) {
      return v;
    }
    const int shift = std::bit_width(v) - 5;
    return static_cast<size_t>(shift) * 16 + (v >> shift);
  }

  static uint64_t middle(size_t index) {
    if (index < 32) {
      return index;
    }
    const auto shift = index / 16 - 1;
    return ((index % 16 + 16) << shift) + ((uint64_t{1} << shift) / 2);
  }

  std::vector<uint32_t> counts_;
};

struct Operator {
  std::string name;  // as schemas say it: "aten::add", "Tensor"
  std::string overload;
  bool wanted = false;

  std::string full() const { return overload.empty() ? name : name + "." + overload; }
};

using Signature = std::vector<int64_t>;  // operator, phase, tensors in, kResults, tensors out

struct SignatureHash {
  size_t operator()(const Signature& signature) const {
    uint64_t hash = 0x9e3779b97f4a7c15;
    for (const auto value : signature) {
      hash = (hash ^ static_cast<uint64_t>(value)) * 0xff51afd7ed558ccd;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

// All calls that look the same.
struct Kind {
  const Operator* op = nullptr;
  int number = 0;
  uint64_t calls = 0;
  int64_t total = 0;  // ns
  int64_t own = 0;
  int64_t memory = 0;  // bytes of results that are new memory, for one call
  Histogram times;
};

struct Span {
  int kind;
  int64_t start;
  int64_t took;
  uint64_t thread;
};

// A call that is running.
struct Frame {
  const at::RecordFunction* call = nullptr;
  int exceptions = 0;
  int64_t start = 0;
  int64_t inside = 0;
  const Operator* op = nullptr;
  Signature signature;
  std::vector<const void*> storages;  // of the arguments
};

struct Table {
  SpinLock lock;
  std::atomic<uint64_t> generation{0};
  bool free = false;  // its thread is over; guarded by the recorder's mutex
  std::atomic<uint64_t> calls{0};
  std::deque<Operator> operators;
  std::unordered_map<const void*, const Operator*> by_name;  // only its thread looks here
  std::unordered_map<Signature, Kind, SignatureHash> kinds;
  std::vector<Span> spans;
  std::vector<Frame> frames;  // only its thread looks here; those below depth are running, the others keep their memory
  size_t depth = 0;
};

struct Recorder {
  std::mutex mutex;  // over tables and taken
  bool taken = false;
  std::atomic<uint64_t> generation{0};
  std::atomic<int> enabled{0};
  std::vector<std::unique_ptr<Table>> tables;
  std::atomic<uint64_t> turn{0};
  std::atomic<int64_t> spans_left{0};
  // Set while nothing is enabled.
  bool all = true;
  std::unordered_set<std::string> wanted;
  int phase = 0;  // 1: forward only, 2: backward only
  uint64_t every = 1;
  bool times = false;
};

// Never destroyed: threads may end after static objects did.
Recorder* recorders() {
  static auto* all = new std::array<Recorder, kSlots>;
  return all->data();
}

struct Thread {
  std::array<Table*, kSlots> tables{};

  ~Thread() {
    for (int slot = 0; slot < kSlots; ++slot) {
      if (tables[slot] != nullptr) {
        std::lock_guard<std::mutex> hold(recorders()[slot].mutex);
        tables[slot]->free = true;
      }
    }
  }
};

thread_local Thread thread;

void start_anew(Table& table, uint64_t generation) {
  std::lock_guard<SpinLock> hold(table.lock);
  table.generation = generation;
  table.calls = 0;
  table.kinds.clear();
  table.by_name.clear();
  table.operators.clear();
  table.spans.clear();
  table.depth = 0;
}

Table& table_of_this_thread(int slot) {
  Table*& table = thread.tables[slot];
  Recorder& recorder = recorders()[slot];
  const auto generation = recorder.generation.load(std::memory_order_relaxed);
  if (table == nullptr) {
    std::lock_guard<std::mutex> hold(recorder.mutex);
    for (auto& other : recorder.tables) {
      if (other->free) {
        other->free = false;
        other->depth = 0;
        table = other.get();
        break;
      }
    }
    if (table == nullptr) {
      table = recorder.tables.emplace_back(std::make_unique<Table>()).get();
    }
  }
  if (table->generation != generation) {
    start_anew(*table, generation);
  }
  return *table;
}

// nullptr for what is no operator: regions that torch names with a string.
const Operator* operator_of(const Recorder& recorder, Table& table, const at::RecordFunction& call) {
  // An operator's name lies in its schema and does not move. Where another lies at the same place later, it is read anew.
  const char* name = call.name();
  const auto found = table.by_name.find(name);
  if (found != table.by_name.end() && found->second->name == name && found->second->overload == call.overload_name()) {
    return found->second;
  }
  const auto full = call.operator_name();
  if (!full.has_value()) {
    return nullptr;
  }
  Operator op{full->name, full->overload_name};
  op.wanted = recorder.all || recorder.wanted.count(op.full()) != 0;
  std::lock_guard<SpinLock> hold(table.lock);
  return table.by_name[name] = &table.operators.emplace_back(std::move(op));
}

template <typename Visit>
void each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) {
      visit(value.toTensor());
    }
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (tensor.defined()) {
        visit(tensor);
      }
    }
  } else if (value.isOptionalTensorList() || value.isTuple()) {
    const auto elements = value.isTuple() ? c10::ArrayRef<c10::IValue>(value.toTupleRef().elements()) : value.toListRef();
    for (const c10::IValue& element : elements) {
      each_tensor(element, visit);
    }
  }
}

void describe(const at::Tensor& tensor, Signature& signature) {
  const auto* impl = tensor.unsafeGetTensorImpl();
  signature.push_back(static_cast<int64_t>(tensor.scalar_type()));
  if (tensor.is_nested() || impl->has_symbolic_sizes_strides()) {
    signature.push_back(kNoSizes);
    return;
  }
  const auto sizes = tensor.sizes();
  signature.push_back(static_cast<int64_t>(sizes.size()));
  signature.insert(signature.end(), sizes.begin(), sizes.end());
}

const void* storage_of(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

int64_t new_memory(const Frame& frame, const at::RecordFunction& call) {
  int64_t bytes = 0;
  for (const auto& value : call.outputs()) {
    each_tensor(value, [&](const at::Tensor& tensor) {
      const void* storage = storage_of(tensor);
      if (storage == nullptr || tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
        return;
      }
      for (const void* old : frame.storages) {
        if (old == storage) {
          return;
        }
      }
      bytes += tensor.numel() * static_cast<int64_t>(tensor.element_size());
    });
  }
  return bytes;
}

void begin(int slot, const at::RecordFunction& call) {
  Recorder& recorder = recorders()[slot];
  if (recorder.enabled.load(std::memory_order_relaxed) == 0) {
    return;
  }
  Table& table = table_of_this_thread(slot);
  const Operator* op = operator_of(recorder, table, call);
  if (op == nullptr || !op->wanted) {
    return;
  }
  const bool backward = torch::autograd::get_current_graph_task_id() != -1;
  if (recorder.phase != 0 && recorder.phase != (backward ? 2 : 1)) {
    return;
  }
  if (recorder.every > 1 && recorder.turn.fetch_add(1, std::memory_order_relaxed) % recorder.every != 0) {
    return;
  }
  if (table.depth == table.frames.size()) {
    table.frames.emplace_back();
  }
  Frame& frame = table.frames[table.depth++];
  frame.call = &call;
  frame.exceptions = std::uncaught_exceptions();
  frame.inside = 0;
  frame.op = op;
  frame.signature.clear();
  frame.signature.push_back(reinterpret_cast<int64_t>(op));
  frame.signature.push_back(backward ? 1 : 0);
  frame.storages.clear();
  for (const auto& value : call.inputs()) {
    each_tensor(value, [&](const at::Tensor& tensor) {
      describe(tensor, frame.signature);
      frame.storages.push_back(storage_of(tensor));
    });
  }
  frame.start = recorder.times ? now() : 0;
}

void finish(int slot, const at::RecordFunction& call) {
  Table* known = thread.tables[slot];
  if (known == nullptr) {
    return;
  }
  Recorder& recorder = recorders()[slot];
  Table& table = *known;
  const auto end = recorder.times ? now() : 0;
  auto depth = table.depth;
  while (depth > 0 && table.frames[depth - 1].call != &call) {
    --depth;
  }
  if (depth == 0 || table.generation != recorder.generation.load(std::memory_order_relaxed)) {
    return;  // it was not wanted
  }
  Frame& frame = table.frames[depth - 1];
  table.depth = depth - 1;
  if (std::uncaught_exceptions() > frame.exceptions) {
    return;  // it raised
  }
  const auto took = end - frame.start;
  if (table.depth > 0) {
    table.frames[table.depth - 1].inside += took;
  }
  frame.signature.push_back(kResults);
  for (const auto& value : call.outputs()) {
    each_tensor(value, [&](const at::Tensor& tensor) { describe(tensor, frame.signature); });
  }
  std::lock_guard<SpinLock> hold(table.lock);
  auto found = table.kinds.find(frame.signature);
  if (found == table.kinds.end()) {
    found = table.kinds.emplace(frame.signature, Kind{}).first;
    found->second.op = frame.op;
    found->second.number = static_cast<int>(table.kinds.size()) - 1;
    found->second.memory = new_memory(frame, call);
  }
  Kind& kind = found->second;
  ++kind.calls;
  table.calls.store(table.calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (recorder.times) {
    kind.total += took;
    kind.own += took - frame.inside;
    kind.times.add(took);
    if (recorder.spans_left.load(std::memory_order_relaxed) > 0 &&
        recorder.spans_left.fetch_sub(1, std::memory_order_relaxed) > 0) {
      table.spans.push_back({kind.number, frame.start, took, at::RecordFunction::currentThreadId()});
    }
  }
}

template <int Slot>
std::unique_ptr<at::ObserverContext> start_callback(const at::RecordFunction& call) {
  begin(Slot, call);
  return nullptr;
}

template <int Slot>
void end_callback(const at::RecordFunction& call, at::ObserverContext*) {
  finish(Slot, call);
}

template <int... Slots>
at::RecordFunctionCallback callback(int slot, std::integer_sequence<int, Slots...>) {
  static constexpr at::RecordFunctionCallback::StartCallback starts[] = {&start_callback<Slots>...};
  static constexpr at::RecordFunctionCallback::EndCallback ends[] = {&end_callback<Slots>...};
  return at::RecordFunctionCallback(starts[slot], ends[slot])
      .needsInputs(true)
      .needsOutputs(true)
      .scopes({at::RecordScope::FUNCTION});
}

void write_text(std::ostream& out, const std::string& text) {
  out << '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out << '\\';
    }
    out << c;
  }
  out << '"';
}

// [[dtype, bytes of an element, [sizes] or null], …]
size_t write_tensors(std::ostream& out, const Signature& signature, size_t at) {
  out << '[';
  const char* comma = "";
  while (at < signature.size() && signature[at] != kResults) {
    const auto dtype = static_cast<c10::ScalarType>(signature[at]);
    const auto rank = signature[at + 1];
    out << comma << "[\"" << c10::getDtypeNames(dtype).first << "\"," << c10::elementSize(dtype) << ',';
    comma = ",";
    at += 2;
    if (rank == kNoSizes) {
      out << "null]";
      continue;
    }
    out << '[';
    for (int64_t i = 0; i < rank; ++i) {
      out << (i != 0 ? "," : "") << signature[at + static_cast<size_t>(i)];
    }
    out << "]]";
    at += static_cast<size_t>(rank);
  }
  out << ']';
  return at + 1;
}

void write_table(std::ostream& out, Table& table) {
  std::lock_guard<SpinLock> hold(table.lock);
  out << "{\"kinds\":[";
  const char* comma = "";
  for (const auto& [signature, kind] : table.kinds) {
    out << comma << "{\"number\":" << kind.number << ",\"op\":";
    write_text(out, kind.op->full());
    out << ",\"backward\":" << signature[1] << ",\"calls\":" << kind.calls << ",\"total\":" << kind.total
        << ",\"own\":" << kind.own << ",\"memory\":" << kind.memory << ",\"ins\":";
    const auto next = write_tensors(out, signature, 2);
    out << ",\"outs\":";
    write_tensors(out, signature, next);
    out << ",\"times\":";
    kind.times.write(out);
    out << '}';
    comma = ",";
  }
  out << "],\"spans\":[";
  comma = "";
  for (const auto& span : table.spans) {
    out << comma << '[' << span.kind << ',' << span.start << ',' << span.took << ',' << span.thread << ']';
    comma = ",";
  }
  out << "]}";
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

// A slot, or -1 if all are taken. ``names``: one operator a line, or nullptr for all.
EXPORT int ophook_open(const char* names, int phase, uint64_t every, int times) {
  for (int slot = 0; slot < kSlots; ++slot) {
    Recorder& recorder = recorders()[slot];
    std::lock_guard<std::mutex> hold(recorder.mutex);
    if (recorder.taken) {
      continue;
    }
    recorder.taken = true;
    recorder.all = names == nullptr;
    recorder.wanted.clear();
    std::istringstream lines(recorder.all ? "" : names);
    for (std::string line; std::getline(lines, line);) {
      recorder.wanted.insert(line);
    }
    recorder.phase = phase;
    recorder.every = every;
    recorder.times = times != 0;
    recorder.turn = 0;
    ++recorder.generation;
    return slot;
  }
  return -1;
}

EXPORT void ophook_close(int slot) {
  Recorder& recorder = recorders()[slot];
  std::lock_guard<std::mutex> hold(recorder.mutex);
  ++recorder.generation;
  for (auto& table : recorder.tables) {
    std::lock_guard<SpinLock> inner(table->lock);
    table->kinds.clear();
    table->spans = {};
  }
  recorder.taken = recorder.enabled != 0;  // never given away while it still records
}

EXPORT uint64_t ophook_enable(int slot, int everywhere) {
  ++recorders()[slot].enabled;
  auto made = callback(slot, std::make_integer_sequence<int, kSlots>{});
  return everywhere != 0 ? at::addGlobalCallback(made) : at::addThreadLocalCallback(made);
}

EXPORT void ophook_disable(int slot, uint64_t handle) {
  at::removeCallback(handle);
  --recorders()[slot].enabled;
}

EXPORT uint64_t ophook_calls(int slot) {
  Recorder& recorder = recorders()[slot];
  std::lock_guard<std::mutex> hold(recorder.mutex);
  uint64_t calls = 0;
  for (auto& table : recorder.tables) {
    if (table->generation == recorder.generation) {
      calls += table->calls.load(std::memory_order_relaxed);
    }
  }
  return calls;
}

// Forgets what was recorded; calls that are running are recorded when they end. ``spans``: how many calls to keep.
EXPORT void ophook_clear(int slot, int64_t spans) {
  Recorder& recorder = recorders()[slot];
  std::lock_guard<std::mutex> hold(recorder.mutex);
  for (auto& table : recorder.tables) {
    std::lock_guard<SpinLock> inner(table->lock);
    table->calls.store(0, std::memory_order_relaxed);
    table->kinds.clear();
    table->spans.clear();
  }
  recorder.spans_left = spans;
}

// What was recorded, as JSON; for ophook_free.
EXPORT char* ophook_dump(int slot) {
  Recorder& recorder = recorders()[slot];
  std::ostringstream out;
  {
    std::lock_guard<std::mutex> hold(recorder.mutex);
    out << '[';
    const char* comma = "";
    for (auto& table : recorder.tables) {
      if (table->generation == recorder.generation) {
        out << comma;
        write_table(out, *table);
        comma = ",";
      }
    }
    out << ']';
  }
  return strdup(out.str().c_str());
}

EXPORT void ophook_free(char* text) { free(text); }
