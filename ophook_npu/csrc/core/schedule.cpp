#include "schedule.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "caller.h"
#include "forever.h"
#include "lines.h"
#include "stream.h"

namespace sim::schedule {
namespace {

struct Asked {
  bool any = false;
  bool listed = false;
  uint64_t seed = 0;
  std::set<uint64_t> numbers;

  Asked() {
    const char* text = getenv("OPHOOK_SIM_JITTER");
    if (!text || !*text) return;
    any = true;
    listed = !strncmp(text, "only:", 5);
    if (!listed) {
      seed = strtoull(text, nullptr, 10);
      return;
    }
    for (const char* at = text + 5; *at;) {
      char* end = nullptr;
      numbers.insert(strtoull(at, &end, 10));
      if (end == at) break;
      at = *end == ',' ? end + 1 : end;
    }
  }
  bool delays(uint64_t number) const {
    if (listed) return numbers.count(number) != 0;
    uint64_t mixed = seed * 0x9e3779b97f4a7c15u + number;  // splitmix64
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return ((mixed ^ (mixed >> 31)) & 3) == 0;
  }
};
const Asked& asked() {
  static const Asked asked;
  return asked;
}

// How long a task that runs may keep the others waiting, and the host may do something else while tasks are delayed:
// who waits longer than that waits for what is not known here.
constexpr std::chrono::seconds kPatience{2};

struct Entry {
  uint64_t number;
  std::shared_ptr<Recording> needs;  // to be done before
  bool delayed, beside;
  bool started = false;
};

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int32_t, std::deque<Entry>> queues;  // by stream
  uint64_t next = 1;
  uint64_t chosen = 0;  // runs, or is about to; 0: none
  std::vector<const std::function<bool()>*> waiting;
  int releases = 0;
  std::chrono::steady_clock::time_point moved = std::chrono::steady_clock::now();
};
State& state() { return sim::forever<State>(); }

Entry* head(State& all, int32_t stream) {
  const auto found = all.queues.find(stream);
  return found == all.queues.end() || found->second.empty() ? nullptr : &found->second.front();
}

// The next task, if one may run; with the mutex held.
void choose(State& all) {
  if (all.chosen) return;
  Entry *next = nullptr, *delayed = nullptr;
  for (auto& [stream, queue] : all.queues) {
    if (queue.empty() || queue.front().started) continue;
    Entry& first = queue.front();
    if (first.needs && !first.needs->is_over()) continue;
    Entry*& best = first.delayed ? delayed : next;
    if (!best || first.number < best->number) best = &first;
  }
  if (!next && delayed) {
    const bool waits = std::any_of(all.waiting.begin(), all.waiting.end(), [](auto* over) { return !(*over)(); });
    if (!waits && !all.releases) return;
    if (!waits) --all.releases;
    delayed->delayed = false;
    next = delayed;
  }
  if (!next) return;
  all.chosen = next->number;
  all.moved = std::chrono::steady_clock::now();
  all.changed.notify_all();
}

// Those would keep all others from running until somebody else does something.
bool waits_for_others(const Task& task) {
  if (task.task_kind() == sim_task_communication || task.task_kind() == sim_task_host || task.waits_outside())
    return true;
  return !strncmp(task.name, "aclrtWait", 9) || !strncmp(task.name, "aclrtValueWait", 14);
}

void log(uint64_t number, const Stream& on, const Task& task) {
  static const char* path = getenv("OPHOOK_SIM_SCHEDULE_LOG");
  if (!path || !*path) return;
  std::string frames;
  for (const std::string& frame : order::shown(order::whoever_calls()))
    frames += (frames.empty() ? "" : ", ") + quoted(frame);
  const std::string line = "{\"number\": " + std::to_string(number) + ", \"task\": " + quoted(task.name) +
                           ", \"stream\": " + std::to_string(on.id) + ", \"process\": " + std::to_string(getpid()) +
                           ", \"from\": [" + frames + "]}\n";
  append(path, line);
}

}  // namespace

const bool deciding = asked().any;

void numbered(const Stream& on, Task& task) {
  State& all = state();
  const bool edge =
      task.records() || task.waits_for();  // what is delayed behind one is delayed by the next task as well
  {
    std::lock_guard lock(all.mutex);
    task.number = all.next;
    if (!edge) ++all.next;
  }
  task.delayed = !edge && asked().delays(task.number);
  if (task.delayed) log(task.number, on, task);
}

void launched(const Stream& on, Task& task) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  static uint64_t entries = 0;
  task.entry = ++entries;
  all.queues[on.id].push_back({task.entry, task.waits_for(), task.delayed, waits_for_others(task)});
  all.moved = std::chrono::steady_clock::now();
}

void settle() {
  if (Stream::here()) return;
  State& all = state();
  std::unique_lock lock(all.mutex);
  choose(all);
  while (all.chosen) {
    const uint64_t seen = all.chosen;
    if (all.changed.wait_for(lock, kPatience) == std::cv_status::timeout && all.chosen == seen) {
      all.chosen = 0;  // it runs beside the others from here on
      choose(all);
      return;
    }
  }
}

void turn(const Stream& of) {
  State& all = state();
  std::unique_lock lock(all.mutex);
  Entry* mine = head(all, of.id);
  if (!mine) return;
  choose(all);
  while (all.chosen != mine->number) {
    const auto status = all.changed.wait_for(lock, kPatience);
    // The host has been somewhere else for long: it may wait for this by other means.
    if (status == std::cv_status::timeout && mine->delayed && !all.chosen &&
        std::chrono::steady_clock::now() - all.moved >= kPatience)
      mine->delayed = false;
    if (status == std::cv_status::timeout) choose(all);
  }
  mine->started = true;
  if (!mine->beside) return;
  all.chosen = 0;
  choose(all);
  all.changed.notify_all();
}

void ran(const Stream& of) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  Entry* mine = head(all, of.id);
  if (!mine) return;
  if (all.chosen == mine->number) all.chosen = 0;
  auto& queue = all.queues[of.id];
  queue.pop_front();
  if (queue.empty()) all.queues.erase(of.id);
  all.moved = std::chrono::steady_clock::now();
  choose(all);
  all.changed.notify_all();
}

HostWait::HostWait(const Stream& of) {
  if (!on() || Stream::here()) return;
  State& all = state();
  uint64_t last = 0;
  {
    std::lock_guard lock(all.mutex);
    const auto found = all.queues.find(of.id);
    if (found != all.queues.end() && !found->second.empty()) last = found->second.back().number;
  }
  begin([&all, last, stream = of.id] {
    const Entry* first = head(all, stream);
    return !first || first->number > last;
  });
}

HostWait::HostWait(Recording& recording) {
  if (on() && !Stream::here()) begin([&recording] { return recording.is_done(); });
}

HostWait::HostWait() {
  if (!on() || Stream::here()) return;
  State& all = state();
  {
    std::lock_guard lock(all.mutex);
    all.releases = 1;
    choose(all);
  }
  settle();
  std::lock_guard lock(all.mutex);
  all.releases = 0;
}

void HostWait::begin(std::function<bool()> over) {
  over_ = std::move(over);
  State& all = state();
  std::lock_guard lock(all.mutex);
  all.waiting.push_back(&over_);
  choose(all);
}

HostWait::~HostWait() {
  if (!over_) return;
  State& all = state();
  std::lock_guard lock(all.mutex);
  std::erase(all.waiting, &over_);
}

}  // namespace sim::schedule
