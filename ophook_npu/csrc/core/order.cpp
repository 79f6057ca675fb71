#include "order.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "caller.h"
#include "lines.h"
#include "stream.h"

namespace sim::order {

std::atomic<bool> checking{[] {
  const char* text = getenv("OPHOOK_SIM_CHECK_ORDER");
  return text && !strcmp(text, "1");
}()};

constexpr int kHost = 0;

struct Access {
  const char* task;  // interned
  int32_t stream;    // -1: the host
  bool writes;
  std::vector<int64_t> sizes;
  size_t item;
  int caller;  // among State's
};
using Of = std::shared_ptr<const Access>;

struct Epoch {
  int line = kHost;
  uint32_t count = 0;  // 0: nothing
  Of access;
};

namespace {

constexpr size_t kMostPieces = 4096;  // of one view; one of more is not looked at, and that is said once

uint32_t at(const Clock& clock, int line) { return size_t(line) < clock.size() ? clock[size_t(line)] : 0; }
void join(Clock& clock, const Clock& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}
uint32_t tick(Line& line) {
  if (line.clock.size() <= size_t(line.index)) line.clock.resize(size_t(line.index) + 1);
  return ++line.clock[size_t(line.index)];
}
bool before(const Epoch& one, const Clock& clock) { return one.count <= at(clock, one.line); }

}  // namespace

// Who wrote each piece of memory last, and who has read it since.
struct Shadow {
  struct Piece {
    uintptr_t end;
    Epoch write;
    std::vector<Epoch> reads;
  };
  std::map<uintptr_t, Piece> pieces;  // by where they begin; no two overlap

  // A piece that begins at `where`, if one goes on there.
  void split(uintptr_t where) {
    auto next = pieces.upper_bound(where);
    if (next == pieces.begin()) return;
    auto piece = std::prev(next);
    if (piece->first == where || piece->second.end <= where) return;
    Piece rest = piece->second;
    piece->second.end = where;
    pieces.emplace_hint(next, where, std::move(rest));
  }

  void forget(uintptr_t begin, uintptr_t end) {
    split(begin), split(end);
    pieces.erase(pieces.lower_bound(begin), pieces.lower_bound(end));
  }

  // Calls found(earlier, here, bytes) for what does not come before `clock`.
  template <typename Found>
  void touch(uintptr_t begin, uintptr_t end, const Epoch& now, const Clock& clock, const Clock& host, Found found) {
    split(begin), split(end);
    const bool writes = now.access->writes;
    auto piece = pieces.lower_bound(begin);
    if (writes) {
      const auto first = piece;
      for (; piece != pieces.end() && piece->first < end; ++piece) {
        if (!before(piece->second.write, clock)) found(piece->second.write, piece->first, piece->second.end);
        for (const Epoch& read : piece->second.reads)
          if (!before(read, clock)) found(read, piece->first, piece->second.end);
      }
      pieces.erase(first, piece);
      pieces.emplace(begin, Piece{end, now, {}});
      return;
    }
    for (uintptr_t from = begin; from < end;) {
      if (piece == pieces.end() || piece->first > from) {  // nobody wrote here yet
        const uintptr_t to = piece == pieces.end() ? end : std::min(end, piece->first);
        pieces.emplace_hint(piece, from, Piece{to, {}, {now}});
        from = to;
        continue;
      }
      Piece& there = piece->second;
      if (!before(there.write, clock)) found(there.write, piece->first, there.end);
      // What the host has waited for comes before everything that is still to be launched.
      std::erase_if(there.reads, [&](const Epoch& read) { return read.line == now.line || before(read, host); });
      there.reads.push_back(now);
      from = there.end;
      ++piece;
    }
  }
};

struct Inside {
  Shadow shadow;
  std::map<const Stream*, Line> lines;
  Clock host;

  Line& line(const Stream& stream) {
    Line& found = lines[&stream];
    if (found.index < 0) found.index = int(lines.size());
    return found;
  }
};

namespace {

using Kind = std::tuple<const char*, const char*, bool, bool, int, int>;

// Pinned memory of the host that a copy uses which the host has not waited for. Its pages are protected: the host's own
// accesses fault and are told of once, and the copy goes by a second address.
struct InUse {
  uintptr_t begin, end;
  Epoch copy;
  uintptr_t pages, pages_end;
  char* second;
  bool open = false;  // somebody got there: not protected any more
};

// A value or a notify that streams wait for. Each wait takes a write.
struct Value {
  Clock clock;
  bool written = false;
  std::vector<Stream*> waiting;
};

struct State {
  std::mutex mutex;
  std::vector<InUse> in_use;
  Shadow shadow;
  Line host{kHost, Clock(1)};
  std::vector<int> unused;  // lines of streams that are gone
  int lines = 1;
  std::map<Kind, uint64_t> told;
  std::map<std::vector<int>, int> callers;  // each once, and its number
  std::vector<Caller> by_number{Caller{}};
  std::unordered_set<std::string> names;
  std::unordered_map<const void*, Value> values;
  std::set<const Stream*> blind;  // they wait for what is written later: what is launched meanwhile is not looked at
  bool skipped = false;
};
// Never destroyed: streams' threads may outlive static destructors.
State& state() {
  static auto* instance = new State;
  return *instance;
}
thread_local int caller = 0;

Line& line_of(State& all, Stream& stream) {
  Line& line = stream.line;
  if (line.index < 0) {
    if (all.unused.empty()) {
      line.index = all.lines++;
    } else {
      line.index = all.unused.back();
      all.unused.pop_back();
    }
    line.clock = all.host.clock;
  }
  return line;
}

std::string line_name(const Access& access) {
  return access.stream < 0 ? "the host" : "stream " + std::to_string(access.stream);
}

constexpr const char* kOwnCode = "the host's own code";

std::string shape(const Access& access) {
  if (access.item == 1 && access.sizes.size() == 1)
    return std::to_string(access.sizes[0]) + (access.sizes[0] == 1 ? " byte" : " bytes");
  std::string text;
  for (const int64_t size : access.sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "], elements of " + std::to_string(access.item) + " bytes";
}

std::string told(const char* which, const Access& access) {
  std::string text = std::string("  ") + which + ": " + access.task +
                     (access.stream >= 0        ? " on " + line_name(access)
                      : access.task == kOwnCode ? ""
                                                : " of the host") +
                     " " + (access.writes ? "writes " : "reads ") + shape(access) + "\n";
  for (const std::string& frame : shown(state().by_number[size_t(access.caller)])) text += "    " + frame + "\n";
  return text;
}

std::string advice(const Access& first, const Access& second) {
  if (first.stream < 0) return "";  // nothing the host did is unordered with what it launches later
  const std::string one = line_name(first);
  if (second.stream < 0)
    return "synchronize " + one + ", or an event recorded on it after " + first.task + ", before " + second.task;
  return "let " + line_name(second) + " wait for an event that " + one + " records after " + first.task +
         " (in torch: second.wait_stream(first)); where the first tensor was given back and its memory used again: "
         "tensor.record_stream(second)";
}

std::string json(const Access& access) {
  std::string frames;
  for (const std::string& frame : shown(state().by_number[size_t(access.caller)]))
    frames += (frames.empty() ? "" : ", ") + quoted(frame);
  return "{\"task\": " + quoted(access.task) + ", \"stream\": " + std::to_string(access.stream) +
         ", \"writes\": " + (access.writes ? "true" : "false") + ", \"from\": [" + frames + "]}";
}

// Once for each two places of a program; with the mutex held.
void tell(State& all, const Access& first, const Access& second, uintptr_t begin, uintptr_t end, bool in_graph) {
  const Kind kind{first.task, second.task, first.writes, second.writes, first.caller, second.caller};
  if (all.told[kind]++) return;
  const char* what = first.writes ? second.writes ? "write and write" : "write and read" : "read and write";
  const std::string missing = advice(first, second);
  const std::string where = sim_memory_text(reinterpret_cast<void*>(begin), end - begin);
  std::string text = "[simulated Ascend] order: " + std::string(what) + " of the same memory, and nothing orders them" +
                     (in_graph ? ", in every replay of a captured graph" : "") + "\n" + told("first", first) +
                     told("second", second) + "  memory: " + where + "\n";
  if (!missing.empty()) text += "  missing: " + missing + "\n";
  write_all(2, text);
  if (const char* path = getenv("OPHOOK_SIM_ORDER_REPORT"))
    append(path, "{\"kind\": " + quoted(what) + ", \"graph\": " + (in_graph ? "true" : "false") +
                     ", \"first\": " + json(first) + ", \"second\": " + json(second) +
                     ", \"memory\": " + quoted(where) + ", \"missing\": " + quoted(missing) + "}\n");
}

const uintptr_t kPage = uintptr_t(sysconf(_SC_PAGESIZE));

// With the mutex held.
void protect(State& all, uintptr_t begin, uintptr_t end) {
  for (uintptr_t page = begin; page < end; page += kPage) {
    int allowed = PROT_READ | PROT_WRITE;
    for (const InUse& use : all.in_use)
      if (!use.open && use.pages <= page && page < use.pages_end)
        allowed = use.copy.access->writes ? int(PROT_NONE) : allowed & ~PROT_WRITE;
    mprotect(reinterpret_cast<void*>(page), kPage, allowed);
  }
}

// What the host has waited for is its own again; with the mutex held.
void give_back(State& all) {
  std::vector<InUse> over;
  std::erase_if(all.in_use, [&](const InUse& use) {
    if (!before(use.copy, all.host.clock)) return false;
    over.push_back(use);
    return true;
  });
  for (const InUse& use : over) {
    protect(all, use.pages, use.pages_end);
    munmap(use.second, use.pages_end - use.pages);
  }
}

struct sigaction faults_before;

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto where = reinterpret_cast<uintptr_t>(info->si_addr);
  bool writes = false;
#if defined(__x86_64__)
  writes = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
  (void)context;
#endif
  const bool task = Stream::here() != nullptr;  // of a stream, which is ordered otherwise
  if (!task) called();
  bool ours = sim_is_pinned(info->si_addr) != 0;  // or was until now
  State& all = state();
  std::lock_guard lock(all.mutex);
  for (InUse& use : all.in_use) {
    if (where < use.pages || use.pages_end <= where) continue;
    ours = true;
    if (use.open) continue;
    use.open = true;
    if (!task && use.begin <= where && where < use.end) {
      const auto host =
          std::make_shared<const Access>(Access{kOwnCode, -1, writes || !use.copy.access->writes, {1}, 1, caller});
      tell(all, *use.copy.access, *host, where, where + 1, false);
    }
    protect(all, use.pages, use.pages_end);
  }
  // Who was asked before is asked about everything else: the access is repeated.
  if (!ours) sigaction(signal, &faults_before, nullptr);
}

// The host's memory from now on until it waits for the copy; with the mutex held.
void use_pinned(State& all, uintptr_t begin, size_t size, const Epoch& copy) {
  static const bool once = [] {
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, &faults_before) == 0;
  }();
  if (!once) return;
  const uintptr_t pages = begin / kPage * kPage, end = (begin + size + kPage - 1) / kPage * kPage;
  // With an old size of 0 a shared mapping is made a second time; memory that has none is not looked at.
  void* second = mremap(reinterpret_cast<void*>(pages), 0, end - pages, MREMAP_MAYMOVE);
  if (second == MAP_FAILED) return;
  all.in_use.push_back({begin, begin + size, copy, pages, end, static_cast<char*>(second)});
  protect(all, pages, end);
}

// What a task says of its memory, looked at as of one line.
struct Touches : sim_listener {
  State& all;
  Shadow& shadow;
  const Line& line;
  const Clock& host;
  const char* task;
  int32_t stream;
  bool in_graph;

  Touches(State& state_, Shadow& shadow_, const Line& line_, const Clock& host_, const char* name, int32_t stream_,
          bool in_graph_)
      : sim_listener{},
        all(state_),
        shadow(shadow_),
        line(line_),
        host(host_),
        task(all.names.insert(name).first->c_str()),
        stream(stream_),
        in_graph(in_graph_) {
    type = [](sim_listener*, const char*) {};
    node = [](sim_listener*, const char*) {};
    tensor = [](sim_listener*, int, int, const int64_t*, size_t) {};
    touch = [](sim_listener* self, int writes, const void* pointer, size_t item, const int64_t* sizes,
               const int64_t* strides,
               size_t rank) { static_cast<Touches*>(self)->take(writes, pointer, item, sizes, strides, rank); };
  }

  void take(bool writes, const void* pointer, size_t item, const int64_t* sizes, const int64_t* strides, size_t rank) {
    struct Dim {
      uint64_t size, stride;  // in bytes
    };
    std::vector<Dim> dims;
    uint64_t next = item;
    for (size_t i = rank; i-- > 0;) {
      if (sizes[i] <= 0) return;
      const uint64_t stride = strides ? uint64_t(strides[i]) * item : next;
      next *= uint64_t(sizes[i]);
      if (sizes[i] > 1 && stride) dims.push_back({uint64_t(sizes[i]), stride});
    }
    if (!pointer) return;
    if (sim_memory_device(pointer, nullptr) < 0) {
      if (stream >= 0 && !in_graph && rank == 1 && item == 1 && sim_is_pinned(pointer)) {
        const auto copy = std::make_shared<const Access>(
            Access{task, stream, writes, std::vector<int64_t>(sizes, sizes + rank), item, caller});
        use_pinned(all, reinterpret_cast<uintptr_t>(pointer), size_t(sizes[0]),
                   {line.index, at(line.clock, line.index), copy});
      }
      return;
    }
    std::sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.stride < b.stride; });
    uint64_t run = item;
    size_t inner = 0;
    for (; inner < dims.size() && dims[inner].stride <= run; ++inner)
      run = dims[inner].stride * (dims[inner].size - 1) + run;
    uint64_t count = 1;
    for (size_t i = inner; i < dims.size(); ++i) count *= dims[i].size;
    if (count > kMostPieces) {
      if (!all.skipped)
        write_all(2, std::string("[simulated Ascend] order: a view of ") + task + " in " + std::to_string(count) +
                         " pieces is not looked at; views of up to " + std::to_string(kMostPieces) + " are\n");
      all.skipped = true;
      return;
    }
    const auto access = std::make_shared<const Access>(
        Access{task, stream, writes, std::vector<int64_t>(sizes, sizes + rank), item, caller});
    const Epoch now{line.index, at(line.clock, line.index), access};
    std::vector<uint64_t> index(dims.size() - inner);
    for (uint64_t piece = 0; piece < count; ++piece) {
      uintptr_t begin = reinterpret_cast<uintptr_t>(pointer);
      for (size_t i = 0; i < index.size(); ++i) begin += index[i] * dims[inner + i].stride;
      shadow.touch(begin, begin + run, now, line.clock, host, [&](const Epoch& earlier, uintptr_t from, uintptr_t to) {
        tell(all, *earlier.access, *access, std::max(from, begin), std::min(to, begin + uintptr_t(run)), in_graph);
      });
      for (size_t i = 0; i < index.size() && ++index[i] == dims[inner + i].size; ++i) index[i] = 0;
    }
  }
};

}  // namespace

void called() {
  Caller who = whoever_calls();
  State& all = state();
  std::lock_guard lock(all.mutex);
  const auto [known, added] = all.callers.try_emplace(who.frames, int(all.by_number.size()));
  if (added) all.by_number.push_back(std::move(who));
  caller = known->second;
}

void launched(Stream& on, Task& task) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  Line& line = line_of(all, on);
  join(line.clock, all.host.clock);
  tick(line);
  if (task.task_kind() == sim_task_host) task.clock = std::make_shared<const Clock>(line.clock);
  if (!all.blind.empty()) return;
  Touches touches(all, all.shadow, line, all.host.clock, task.name, on.id, false);
  task.tell(&touches);
}

void captured(Model& model, const Stream& on, const Task& task) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  if (!model.inside) model.inside = std::make_shared<Inside>();
  Line& line = model.inside->line(on);
  tick(line);
  Touches touches(all, model.inside->shadow, line, model.inside->host, task.name, on.id, true);
  task.tell(&touches);
}

void replayed(Stream& on, Model& model) {
  std::vector<std::shared_ptr<Task>> tasks;
  {
    std::lock_guard lock(model.mutex);
    tasks = model.tasks;
  }
  State& all = state();
  std::lock_guard lock(all.mutex);
  Line& line = line_of(all, on);
  for (const auto& task : tasks) {
    if (task->waits_outside() || !all.blind.empty())
      break;  // what it waits for may be recorded later: the rest is not looked at
    if (const auto recording = task->records()) recording->clock = std::make_shared<const Clock>(line.clock);
    Touches touches(all, all.shadow, line, all.host.clock, task->name, on.id, false);
    task->tell(&touches);
  }
}

void recorded(Stream& on, Recording& recording, Model* capture) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  if (capture && !capture->inside) capture->inside = std::make_shared<Inside>();
  Line& line = capture ? capture->inside->line(on) : line_of(all, on);
  if (!capture) join(line.clock, all.host.clock);
  recording.clock = std::make_shared<const Clock>(line.clock);
}

void waits(Stream& on, const Recording& recording, Model* capture) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  if (!recording.clock) return;
  if (capture && !capture->inside) capture->inside = std::make_shared<Inside>();
  join(capture ? capture->inside->line(on).clock : line_of(all, on).clock, *recording.clock);
}

void host_waited(Stream& of) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  join(all.host.clock, line_of(all, of).clock);
  all.blind.erase(&of);
  give_back(all);
}

void host_waited(const Recording& of) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  if (of.clock) join(all.host.clock, *of.clock);
  give_back(all);
}

void host_reached(const Clock& clock) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  join(all.host.clock, clock);
  give_back(all);
}

void ended(Stream& stream) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  if (stream.line.index < 0) return;
  all.blind.erase(&stream);
  for (auto& [key, value] : all.values) std::erase(value.waiting, &stream);
  join(all.host.clock, stream.line.clock);
  give_back(all);
  all.unused.push_back(stream.line.index);
  stream.line = {};
}

void freed_host(const char* by, const void* pointer, size_t size) {
  called();
  const auto begin = reinterpret_cast<uintptr_t>(pointer);
  State& all = state();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.in_use, [&](InUse& use) {
    if (use.end <= begin || begin + size <= use.begin) return false;
    const auto host = std::make_shared<const Access>(
        Access{all.names.insert(by).first->c_str(), -1, true, {int64_t(size)}, 1, caller});
    tell(all, *use.copy.access, *host, use.begin, use.end, false);
    return true;  // its second address stays: the copy may still run
  });
  protect(all, begin / kPage * kPage, (begin + size + kPage - 1) / kPage * kPage);
}

void freed(const char* by, const void* pointer) {
  void* begin = nullptr;
  size_t size = 0;
  if (sim_memory_block(pointer, &begin, &size) < 0) return;
  called();
  State& all = state();
  std::lock_guard lock(all.mutex);
  tick(all.host);
  const auto bytes = int64_t(size);
  Touches touches(all, all.shadow, all.host, all.host.clock, by, -1, false);
  touches.take(true, begin, 1, &bytes, nullptr, 1);
  all.shadow.forget(reinterpret_cast<uintptr_t>(begin), reinterpret_cast<uintptr_t>(begin) + size);
}

}  // namespace sim::order

using namespace sim;

int sim_order_check(int on) {
  order::State& all = order::state();
  std::lock_guard lock(all.mutex);
  const bool was = order::checking.exchange(on != 0);
  if (!was || on) return was;
  auto in_use = std::move(all.in_use);  // their second addresses stay: the copies may still run
  all.in_use.clear();
  for (const order::InUse& use : in_use) order::protect(all, use.pages, use.pages_end);
  all.shadow.pieces.clear();
  all.told.clear();
  all.values.clear();
  all.blind.clear();
  return was;
}

void sim_order_host(const char* call, const void* pointer, size_t size, int writes) {
  if (!order::on() || !size) return;
  order::called();
  order::State& all = order::state();
  std::lock_guard lock(all.mutex);
  order::tick(all.host);
  const auto bytes = int64_t(size);
  order::Touches touches(all, all.shadow, all.host, all.host.clock, call, -1, false);
  touches.take(writes, pointer, 1, &bytes, nullptr, 1);
}

void* sim_order_second_address(const void* pointer, size_t size) {
  const auto begin = reinterpret_cast<uintptr_t>(pointer);
  if (order::on()) {
    order::State& all = order::state();
    std::lock_guard lock(all.mutex);
    for (const order::InUse& use : all.in_use)
      if (use.begin <= begin && begin + size <= use.end) return use.second + (begin - use.pages);
  }
  return const_cast<void*>(pointer);
}

void sim_order_value(void* on, const void* value, int waits) {
  if (!order::on()) return;
  std::shared_ptr<Stream> stream;
  if (resolve("value", on, &stream)) return;
  order::State& all = order::state();
  std::lock_guard lock(all.mutex);
  order::Line& line = order::line_of(all, *stream);
  order::Value& known = all.values[value];
  if (!waits) {
    order::join(known.clock, line.clock);
    for (Stream* waiter : known.waiting) order::join(order::line_of(all, *waiter).clock, known.clock);
    known.written = known.waiting.empty();
    known.waiting.clear();
  } else if (known.written) {
    order::join(line.clock, known.clock);
    known.written = false;
  } else {
    known.waiting.push_back(stream.get());
    all.blind.insert(stream.get());
  }
}
