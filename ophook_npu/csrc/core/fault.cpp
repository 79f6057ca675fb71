#include "fault.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "device.h"
#include "forever.h"
#include "lines.h"
#include "memory.h"
#include "stream.h"

std::atomic<int> sim_faults_armed{0};

namespace sim::fault {
namespace {

using Clock = std::chrono::steady_clock;

enum class Kind { fail, hang, slow, flip, memory, lost, kill, stop, drop, twice, delay, no_link, version };
constexpr const char* kKinds[] = {"fail", "hang", "slow",  "flip",  "memory",  "lost",   "kill",
                                  "stop", "drop", "twice", "delay", "no_link", "version"};

struct Order {
  uint64_t id = 0;
  std::string text;  // as the user wrote it
  std::string site, place;
  Kind kind = Kind::fail;
  int code = 0;
  uint64_t argument = 0;
  bool has_argument = false;
  std::string word;
  uint64_t first = 1, last = UINT64_MAX, every = 1, most = UINT64_MAX, seed = 0;
  double chance = 1;
  uint64_t step = 0, last_step = UINT64_MAX;  // 0: in any
  int rank = -1, peer = -1, device = -1;
  Clock::time_point from{};
  uint64_t seen = 0, made = 0;
};

struct Found {
  Order order;         // a copy: it may be taken back meanwhile
  uint64_t count = 0;  // which event of its place this is
  uint64_t draw = 0;   // a number that the seed and the count decide
  bool made = false;
};

std::atomic<uint64_t> steps{0};  // that the program's optimizers have made

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Order> orders;
  uint64_t next = 1;
  int rank = -1;
  std::string wrong;
  std::vector<sim_bad_memory> bad[kMaxDevices];
  bool lost[kMaxDevices] = {};
  std::atomic<uint64_t> aborts[kMaxDevices] = {};
  uint64_t limit = 0;
};
State& state() { return sim::forever<State>(); }

// splitmix64: the same numbers everywhere.
uint64_t mix(uint64_t of) {
  of += 0x9e3779b97f4a7c15u;
  of = (of ^ (of >> 30)) * 0xbf58476d1ce4e5b9u;
  of = (of ^ (of >> 27)) * 0x94d049bb133111ebu;
  return of ^ (of >> 31);
}

// What a code is, in a few words: CANN's own name of it.
const char* told(int code) {
  switch (code) {
    case 107022: return "the device's tasks are aborted";
    case 207001: return "memory allocation failed";
    case 207008: return "no stream resource";
    case 507010: return "the task scheduler lost its heartbeat";
    case 507011: return "model execution failed";
    case 507013: return "system DMA error";
    case 507014: return "aicore timeout";
    case 507015: return "aicore exception";
    case 507016: return "aicore trap exception";
    case 507017: return "aicpu timeout";
    case 507018: return "aicpu exception";
    case 507034: return "vector core timeout";
    case 507035: return "vector core exception";
    case 507036: return "vector core trap exception";
    case 507048: return "FFTS+ timeout";
    case 507049: return "FFTS+ exception";
    case 507053: return "uncorrectable error of the device's memory (UCE)";
    case 507054: return "multi-bit ECC error of the HBM";
    case 507055: return "suspected error of the device's memory";
    case 507056: return "link error";
    case 507057: return "suspected error of a remote device";
    case 507899: return "driver error";
    case 507900: return "aicpu internal error";
    case 507904: return "the collective was tried again and failed";
    default: return "failed";
  }
}

int failed(const char* name, int code) {
  if (code == 507054) {  // torch_npu reads the time out of it
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return sim_fail(code, "%s: %s, time us= %lld.", name, told(code),
                    (long long)std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  }
  return sim_fail(code, "%s: %s, error code %d", name, told(code), code);
}

// Says that it was made: on standard error, and in the file that was asked for.
void tell(const Found& found, const char* name, int device) {
  const Order& order = found.order;
  char text[700];
  if (const size_t length = strlen(name); length > 200) name += length - 200;  // of a long file name, its end
  int size =
      snprintf(text, sizeof text, "[simulated Ascend] fault made: %s (%s, %llu; rank %d, device %d, process %d)\n",
               order.text.c_str(), name, (unsigned long long)found.count, state().rank, device, int(getpid()));
  (void)!write(STDERR_FILENO, text, size_t(std::min<int>(size, sizeof text - 1)));
  const char* file = getenv("OPHOOK_SIM_FAULT_LOG");
  if (!file || !*file) return;
  const int log = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  size =
      snprintf(text, sizeof text,
               "{\"fault\": %s, \"at\": \"%s\", \"count\": %llu, \"rank\": %d, \"device\": %d, \"process\": %d}\n",
               quoted(order.text).c_str(), name, (unsigned long long)found.count, state().rank, device, int(getpid()));
  const auto length = ssize_t(std::min<int>(size, sizeof text - 1));
  if (log < 0 || write(log, text, size_t(length)) != length) {
    static std::once_flag once;
    std::call_once(once, [&] {
      fprintf(stderr, "[simulated Ascend] the log of faults: cannot write %s: %s\n", file, strerror(errno));
    });
  }
  if (log >= 0) close(log);
}

// The first order that this event meets. All that it meets count it.
Found meet(const char* site, const char* name, int device, int rank = -1, int peer = -1) {
  State& all = state();
  Found found;
  std::lock_guard lock(all.mutex);
  for (Order& order : all.orders) {
    if (order.site != site || fnmatch(order.place.c_str(), name, 0)) continue;
    const bool pair = peer >= 0;
    if (pair ? order.peer >= 0 && !(order.rank == rank && order.peer == peer) &&
                   !(order.kind == Kind::no_link && order.rank == peer && order.peer == rank)
             : order.rank >= 0 && order.rank != all.rank)
      continue;
    if (order.device >= 0 && order.device != device) continue;
    const uint64_t step = steps + 1;
    if (order.step && (step < order.step || step > order.last_step)) continue;
    const uint64_t count = ++order.seen;
    if (found.made || order.made >= order.most || count < order.first || count > order.last) continue;
    if ((count - order.first) % order.every || Clock::now() < order.from) continue;
    const uint64_t draw = mix(order.seed ^ mix(count ^ uint64_t(all.rank + 1) << 40));
    if (order.chance < 1 && double(draw >> 11) * 0x1p-53 >= order.chance) continue;
    ++order.made;
    found = {order, count, mix(draw), true};
  }
  return found;
}

int this_device() {
  int device = 0;
  if (sim_get_device(&device)) {
    sim_error_message();
    return 0;
  }
  return device;
}

[[gnu::cold]] void end_process(Kind kind) { kill(getpid(), kind == Kind::kill ? SIGKILL : SIGSTOP); }

// What a written piece of memory is, of the first that a task tells of.
struct Written : sim_listener {
  void* pointer = nullptr;
  size_t size = 0;
};

Written written_by(const Task& task) {
  Written found;
  found.type = [](sim_listener*, const char*) {};
  found.node = [](sim_listener*, const char*) {};
  found.tensor = [](sim_listener*, int, int, const int64_t*, size_t) {};
  found.touch = [](sim_listener* self, int writes, const void* pointer, size_t item, const int64_t* sizes,
                   const int64_t* strides, size_t rank) {
    auto* into = static_cast<Written*>(self);
    if (!writes || !pointer || into->pointer) return;
    size_t size = item;
    for (size_t i = 0; i < rank; ++i) {
      if (!sizes[i]) return;
      if (strides) size += size_t(sizes[i] - 1) * size_t(strides[i]) * item;
      else size *= size_t(sizes[i]);
    }
    into->pointer = const_cast<void*>(pointer);
    into->size = size;
  };
  task.tell(&found);
  return found;
}

int hang(const char* name, int device) {
  State& all = state();
  std::unique_lock lock(all.mutex);
  const uint64_t before = all.aborts[device];
  const auto aborted = [&] { return all.aborts[device] != before; };
  const auto begin = Clock::now();
  while (!aborted()) {  // the limit may be set while it hangs
    if (all.limit && Clock::now() - begin >= std::chrono::milliseconds(all.limit)) {
      lock.unlock();
      return failed(name, 507014);
    }
    if (all.limit) all.changed.wait_until(lock, begin + std::chrono::milliseconds(all.limit));
    else all.changed.wait(lock);
  }
  lock.unlock();
  return failed(name, 107022);
}

// What needs nothing of the task; -1 where it is another kind.
int simple(const Found& found, const char* name, int device) {
  switch (found.order.kind) {
    case Kind::fail: return failed(name, found.order.code);
    case Kind::hang: return hang(name, device);
    case Kind::lost: {
      std::lock_guard lock(state().mutex);
      state().lost[device] = true;
      break;
    }
    case Kind::kill:
    case Kind::stop: end_process(found.order.kind); return 0;
    default: return -1;
  }
  return failed(name, found.order.code);
}

bool is_lost(int device) {
  std::lock_guard lock(state().mutex);
  return state().lost[device];
}

void flip(const Found& found, const Task& task) {
  const Written result = written_by(task);
  if (!result.pointer) {
    fprintf(stderr, "[simulated Ascend] fault not made: %s: %s tells of no result\n", found.order.text.c_str(),
            task.name);
    return;
  }
  const uint64_t bit =
      found.order.has_argument ? found.order.argument % (result.size * 8) : found.draw % (result.size * 8);
  const MemoryUse use;
  if (sim_memory_reach(result.pointer, result.size))
    static_cast<unsigned char*>(result.pointer)[bit / 8] ^= uint8_t(1u << bit % 8);
}

// "key\tvalue\tkey\tvalue"
std::map<std::string, std::string> fields(const std::string& line) {
  std::map<std::string, std::string> out;
  std::istringstream words(line);
  for (std::string key, value; std::getline(words, key, '\t') && std::getline(words, value, '\t');) out[key] = value;
  return out;
}

bool read(const std::string& line, Order* order) {
  auto given = fields(line);
  const auto kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const char* one) { return given["kind"] == one; });
  if (kind == std::end(kKinds) || given["site"].empty() || given["place"].empty()) return false;
  order->kind = Kind(kind - std::begin(kKinds));
  order->text = given["text"], order->site = given["site"], order->place = given["place"], order->word = given["word"];
  const auto number = [&](const char* key, auto* into) {
    const auto found = given.find(key);
    if (found != given.end()) *into = std::remove_pointer_t<decltype(into)>(strtod(found->second.c_str(), nullptr));
  };
  order->has_argument = given.count("argument");
  if (order->has_argument) order->argument = strtoull(given["argument"].c_str(), nullptr, 0);
  number("code", &order->code), number("first", &order->first), number("every", &order->every);
  if (given.count("last")) number("last", &order->last);
  if (given.count("most")) number("most", &order->most);
  number("step", &order->step);
  if (given.count("last_step")) number("last_step", &order->last_step);
  number("seed", &order->seed), number("chance", &order->chance);
  number("rank", &order->rank), number("peer", &order->peer), number("device", &order->device);
  double after = 0;
  number("after", &after);
  order->from = Clock::now() + std::chrono::microseconds(int64_t(after * 1e6));
  return order->every > 0;
}

// The orders that the process begins with. A restart by an elastic launcher begins with those for it.
struct Start {
  Start() {
    const char* rank = getenv("RANK");
    if (rank && *rank) state().rank = atoi(rank);
    const char* given = getenv("OPHOOK_SIM_FAULTS");
    const char* attempt = getenv("TORCHELASTIC_RESTART_COUNT");
    const std::string now = attempt && *attempt ? attempt : "0";
    std::istringstream lines(given ? given : "");
    for (std::string line; std::getline(lines, line);) {
      auto told = fields(line);
      const std::string wanted = told.count("restart") ? told["restart"] : "0";
      uint64_t id;
      if (!line.empty() && (wanted == "any" || wanted == now) && sim_fault_add(line.c_str(), &id))
        state().wrong = sim_error_message();
    }
  }
  // A place that never came may be a mistake in its name.
  ~Start() {
    if (!on() || !sim_current_soc()) return;
    std::lock_guard lock(state().mutex);
    for (const Order& order : state().orders)
      if (!order.seen && (order.rank < 0 || order.rank == state().rank))
        fprintf(stderr, "[simulated Ascend] fault not made: %s: %s never came in process %d\n", order.text.c_str(),
                order.place.c_str(), int(getpid()));
  }
} start;

}  // namespace

const char* wrong_orders() { return state().wrong.empty() ? nullptr : state().wrong.c_str(); }

int run_task(Task& task, int (*run)(Task&)) {
  const Stream* stream = Stream::here();
  const int device = stream ? stream->device : this_device();
  if (is_lost(device)) return failed(task.name, 507010);
  const Found found = meet("task", task.name, device);
  if (!found.made) return run(task);
  tell(found, task.name, device);
  switch (found.order.kind) {
    case Kind::slow: {
      const auto begin = Clock::now();
      const int code = run(task);
      std::this_thread::sleep_for((Clock::now() - begin) *
                                  int64_t(found.order.argument ? found.order.argument - 1 : 0));
      return code;
    }
    case Kind::flip: {
      const int code = run(task);
      if (!code) flip(found, task);
      return code;
    }
    case Kind::memory: {
      const Written result = written_by(task);
      sim_bad_memory bad{result.pointer, std::min<size_t>(result.size, 64)};
      if (found.order.has_argument) bad = {reinterpret_cast<void*>(found.order.argument), 64};
      if (bad.address) {
        std::lock_guard lock(state().mutex);
        state().bad[device].push_back(bad);
      }
      return failed(task.name, found.order.code);
    }
    default: {
      const int code = simple(found, task.name, device);
      return code < 0 ? run(task) : found.order.kind == Kind::stop ? run(task) : code;
    }
  }
}

}  // namespace sim::fault

using namespace sim::fault;

int sim_fault_add(const char* line, uint64_t* id) {
  Order order;
  if (!line || !id || !read(line, &order))
    return sim_fail(sim::kInvalidParam, "OPHOOK_SIM_FAULTS: \"%s\" is no order of a fault; write them with --fault",
                    line ? line : "");
  // As all counts, those of steps begin with the order.
  if (order.step) order.step += steps;
  if (order.step && order.last_step != UINT64_MAX) order.last_step += steps;
  std::lock_guard lock(state().mutex);
  *id = order.id = state().next++;
  state().orders.push_back(std::move(order));
  ++sim_faults_armed;
  return sim::kOk;
}

void sim_fault_remove(uint64_t id) {
  std::lock_guard lock(state().mutex);
  const auto gone = std::erase_if(state().orders, [&](const Order& order) { return order.id == id; });
  sim_faults_armed -= int(gone);
  if (!sim_faults_armed) std::fill(std::begin(state().lost), std::end(state().lost), false);
}

static uint64_t count_of(uint64_t id, uint64_t Order::* count) {
  std::lock_guard lock(state().mutex);
  for (const Order& order : state().orders)
    if (order.id == id) return order.*count;
  return 0;
}
uint64_t sim_fault_made(uint64_t id) { return count_of(id, &Order::made); }
uint64_t sim_fault_seen(uint64_t id) { return count_of(id, &Order::seen); }

void sim_fault_step() { ++steps; }

void sim_fault_rank(int rank) {
  std::lock_guard lock(state().mutex);
  if (state().rank < 0) state().rank = rank;
}

static int made_in_call(const char* site, const char* name) {
  if (!on()) return 0;
  const int device = this_device();
  if (strcmp(site, "call") && is_lost(device)) return failed(name, 507010);
  const Found found = meet(site, name, device);
  if (!found.made) return 0;
  tell(found, name, device);
  return std::max(0, simple(found, name, device));
}

int sim_fault_call(const char* name) { return made_in_call("call", name); }
int sim_fault_here(const char* site, const char* name) { return made_in_call(site, name); }

sim_message_fault sim_fault_message(const char* call, uint32_t rank, uint32_t peer, uint64_t* milliseconds) {
  if (!on()) return sim_message_whole;
  const int device = this_device();
  const Found found = meet("message", call, device, int(rank), int(peer));
  if (!found.made) return sim_message_whole;
  tell(found, (std::string(call) + " to rank " + std::to_string(peer)).c_str(), device);
  *milliseconds = found.order.argument;
  switch (found.order.kind) {
    case Kind::drop: return sim_message_dropped;
    case Kind::twice: return sim_message_doubled;
    case Kind::delay: return sim_message_delayed;
    case Kind::no_link: return sim_message_no_link;
    default: return sim_message_whole;
  }
}

int sim_fault_disk(const char* file) {
  if (!on()) return 0;
  const Found found = meet("disk", file, this_device());
  if (!found.made) return 0;
  tell(found, file, this_device());
  errno = ENOSPC;
  if (found.order.kind == Kind::fail) return 1;
  end_process(found.order.kind);
  return 0;
}

const char* sim_fault_version(const char* package) {
  if (!on()) return nullptr;
  const Found found = meet("version", package, 0);
  if (!found.made) return nullptr;
  tell(found, package, 0);
  static auto* kept = new std::set<std::string>;  // for whoever was given one
  std::lock_guard lock(state().mutex);
  return kept->insert(found.order.word).first->c_str();
}

size_t sim_bad_memory_list(int device, sim_bad_memory* out, size_t room) {
  std::lock_guard lock(state().mutex);
  const auto& bad = state().bad[device];
  const size_t count = std::min(room, bad.size());
  std::copy_n(bad.begin(), count, out);
  return count;
}

int sim_bad_memory_repaired(int device, const void* address) {
  std::lock_guard lock(state().mutex);
  return std::erase_if(state().bad[device], [&](const sim_bad_memory& one) { return one.address == address; }) > 0;
}

void sim_task_limit(uint64_t milliseconds) {
  std::lock_guard lock(state().mutex);
  state().limit = milliseconds;
  state().changed.notify_all();
}

uint64_t sim_task_limit_ms() {
  std::lock_guard lock(state().mutex);
  return state().limit;
}

void sim_end_hanging(int device) {
  std::lock_guard lock(state().mutex);
  ++state().aborts[device];
  state().changed.notify_all();
}

uint64_t sim_abort_count(int device) { return state().aborts[device].load(); }
