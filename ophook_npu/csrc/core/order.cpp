#include "order_state.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "order_api.h"
#include "stream.h"

namespace sim::order {

std::atomic<bool> checking{switched_on("OPHOOK_SIM_CHECK_ORDER")};

struct Inside {
  Shadow shadow;
  Shadow mixed;       // of what the capture has and of what runs meanwhile, as two lines without an edge
  bool over = false;  // the capture
  std::map<const Stream*, Line> lines;
  Clock host;

  Line& line(const Stream& stream) {
    Line& found = lines[&stream];
    if (found.index < 0) found.index = int(lines.size());
    return found;
  }
};

// Never destroyed: streams' threads may outlive static destructors.
State& state() {
  static auto* instance = [] {
    auto* made = new State;
    const char* text = getenv("OPHOOK_SIM_ORDER_PINNED_COPIES");
    made->copies_apart = text && !strcmp(text, "unordered");
    return made;
  }();
  return *instance;
}

namespace {

thread_local int caller = 0;

int unused_line(State& all) {
  if (all.unused.empty()) return all.lines++;
  const int index = all.unused.back();
  all.unused.pop_back();
  return index;
}

// Of the copies of a stream that are not ordered with its kernels.
Line& copies_of(State& all, Line& line) {
  if (!line.copies) line.copies = std::make_shared<Line>(Line{unused_line(all), all.host.clock, nullptr});
  return *line.copies;
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
  bool mixed = false;  // the capture's tasks, and those outside
  bool blind = false;  // looks for meetings only
  std::vector<std::pair<std::string, bool>> meetings;
  bool any_read = false, any_written = false;

  Touches(State& state_, Shadow& shadow_, const Line& line_, const Clock& host_, const char* name, int32_t stream_,
          bool in_graph_)
      : sim_listener{},
        all(state_),
        shadow(shadow_),
        line(line_),
        host(host_),
        task(all.name(name)),
        stream(stream_),
        in_graph(in_graph_) {
    type = [](sim_listener*, const char*) {};
    node = [](sim_listener*, const char*) {};
    tensor = [](sim_listener*, int, int, const int64_t*, size_t) {};
    touch = [](sim_listener* self, int writes, const void* pointer, size_t item, const int64_t* sizes,
               const int64_t* strides, size_t rank) {
      static_cast<Touches*>(self)->take(writes, pointer, item, sizes, strides, rank, writes == 2);
    };
    if (published())
      meet = [](sim_listener* self, const char* name, int both) {
        static_cast<Touches*>(self)->meetings.emplace_back(name, both != 0);
      };
  }

  void take(bool writes, const void* pointer, size_t item, const int64_t* sizes, const int64_t* strides, size_t rank,
            bool reads_too = false) {
    uint64_t next = item;
    Region region{reinterpret_cast<uintptr_t>(pointer), item, {}};
    for (size_t i = rank; i-- > 0;) {
      if (sizes[i] <= 0) return;
      const uint64_t stride = strides ? uint64_t(strides[i]) * item : next;
      next *= uint64_t(sizes[i]);
      if (sizes[i] > 1 && stride) region.dims.push_back({uint64_t(sizes[i]), stride});
    }
    if (!pointer) return;
    (writes ? any_written : any_read) = true;
    if (blind) return;
    const auto access = std::make_shared<const Access>(
        Access{task, stream, writes, std::vector<int64_t>(sizes, sizes + rank), item, caller, reads_too});
    const Epoch now{line.index, at(line.clock, line.index), access};
    if (sim_memory_device(pointer, nullptr) < 0) {
      if (mixed) return;
      if (in_graph || stream < 0 || rank != 1 || item != 1 || !sim_is_pinned(pointer)) return;
      use_pinned(all, region.begin, size_t(sizes[0]), now, line.clock);
    }
    auto& dims = region.dims;
    std::sort(dims.begin(), dims.end(), [](const Region::Dim& a, const Region::Dim& b) { return a.stride < b.stride; });
    size_t inner = 0;
    for (; inner < dims.size() && dims[inner].stride <= region.run; ++inner)
      region.run += dims[inner].stride * (dims[inner].size - 1);
    dims.erase(dims.begin(), dims.begin() + int64_t(inner));
    if (!all.common.empty() && !in_graph && !mixed) publish(all, now, line.clock, region);
    shadow.touch(region, now, line.clock, host,
                 [&](const Epoch& earlier, uintptr_t from, uintptr_t to, const Of& made) {
                   // What a replay reads may be written after the capture has read it.
                   if (mixed && !(earlier.access->writes && (in_graph || !writes))) return;
                   tell(all, *earlier.access, *access, std::max(from, region.begin), std::min(to, region.end()),
                        in_graph, mixed, made.get());
                 });
  }
};

// What comes together with tasks of other ranks: who gives memory is waited for, who takes some waits; in a barrier
// both.
void meet_others(const Touches& touches, const Stream& on) {
  for (const auto& [name, both] : touches.meetings) {
    const bool all = both || (!touches.any_read && !touches.any_written);
    publish_meeting(touches.line, on.device, name, touches.any_read || all, touches.any_written || all);
  }
}

// What is launched while streams are captured, and what the captures have: of the same memory, none of it may be.
const Line kCaptured{0, {1, 0}, nullptr}, kOutside{1, {0, 1}, nullptr};
void mix(State& all, Inside& inside, const Line& as, const Task& task, int32_t stream) {
  static const Clock nothing;
  Touches touches(all, inside.mixed, as, nothing, task.name, stream, &as == &kCaptured);
  touches.mixed = true;
  task.tell(&touches);
}

Inside& inside_of(State& all, Model& model) {
  if (!model.inside) all.captures.push_back(model.inside = std::make_shared<Inside>());
  return *model.inside;
}

// Whether it copies pinned memory of the host to a device.
bool copies_pinned_in(const Task& task) {
  struct Sides : sim_listener {
    bool pinned_read = false, device_written = false;
  } sides{};
  sides.type = sides.node = [](sim_listener*, const char*) {};
  sides.tensor = [](sim_listener*, int, int, const int64_t*, size_t) {};
  sides.touch = [](sim_listener* self, int writes, const void* pointer, size_t item, const int64_t*, const int64_t*,
                   size_t rank) {
    auto& found = *static_cast<Sides*>(self);
    if (item != 1 || rank != 1) return;
    if (writes) found.device_written |= sim_memory_device(pointer, nullptr) >= 0;
    else found.pinned_read |= sim_memory_device(pointer, nullptr) < 0 && sim_is_pinned(pointer);
  };
  task.tell(&sides);
  return sides.pinned_read && sides.device_written;
}

// What a task told that has run.
void touched(State& all, Stream& on, Task& task) {
  Touches touches(all, all.shadow, line_of(all, on), all.host.clock, task.name, on.id, false);
  for (const Bytes& bytes : std::exchange(task.touched, {})) {
    const auto count = int64_t(bytes.count);
    touches.take(bytes.written, bytes.pointer, 1, &count, nullptr, 1);
  }
}

}  // namespace

int here() { return caller; }

Line& line_of(State& all, Stream& stream) {
  Line& line = stream.line;
  if (line.index < 0) {
    line.index = unused_line(all);
    line.clock = all.host.clock;
  }
  return line;
}

Clock all_of(const Line& line) {
  Clock clock = line.clock;
  if (line.copies) join(clock, line.copies->clock);
  return clock;
}

Clock all_up_to(const Stream& on, uint32_t count) {
  Clock clock = all_of(on.line);
  if (on.line.index >= 0 && size_t(on.line.index) < clock.size()) clock[size_t(on.line.index)] = count;
  return clock;
}

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
  // Without itself: who knows that it has begun does not know that it has ended.
  if (task.task_kind() == sim_task_host) task.clock = std::make_shared<const Clock>(all_of(line));
  task.count = tick(line), task.caller = caller;
  if (!all.common.empty()) task.told = bytes_published();
  const bool blind = !all.blind.empty();
  if (blind && task.task_kind() != sim_task_communication) return;
  Line& own = all.copies_apart && copies_pinned_in(task) ? copies_of(all, line) : line;
  if (&own != &line) join(own.clock, all.host.clock), tick(own);
  Touches touches(all, all.shadow, own, all.host.clock, task.name, on.id, false);
  touches.blind = blind;
  task.tell(&touches);
  meet_others(touches, on);
  if (blind) return;
  std::erase_if(all.captures, [](const auto& each) { return each.expired() || each.lock()->over; });
  for (const auto& each : all.captures) mix(all, *each.lock(), kOutside, task, on.id);
}

constexpr int64_t kPatience = 2000;  // ms; who launches may hold what the stream waits for

void ran(Stream& on, Task& task) {
  State& all = state();
  const bool came = on.comes_to_end(kPatience);
  std::lock_guard lock(all.mutex);
  if (!came) return note(all, std::string(task.name) + " did not run in two seconds: what it touches is not looked at");
  if (all.blind.empty()) touched(all, on, task);
}

void captured(Model& model, const Stream& on, const Task& task) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  Line& line = inside_of(all, model).line(on);
  tick(line);
  Touches touches(all, model.inside->shadow, line, model.inside->host, task.name, on.id, true);
  task.tell(&touches);
  mix(all, *model.inside, kCaptured, task, on.id);
}

void capture_begun(Model& model) {
  std::lock_guard lock(state().mutex);
  inside_of(state(), model);
}

void capture_ended(Model& model) {
  std::lock_guard lock(state().mutex);
  if (!model.inside) return;
  model.inside->over = true;
  model.inside->mixed = {};
}

void replayed(Stream& on, Model& model) {
  std::vector<std::shared_ptr<Task>> tasks;
  {
    std::lock_guard lock(model.mutex);
    tasks = model.tasks;
  }
  const bool some_tell_later =
      std::any_of(tasks.begin(), tasks.end(), [](const auto& one) { return one->tells_later(); });
  const bool came = !some_tell_later || on.comes_to_end(kPatience);
  State& all = state();
  std::lock_guard lock(all.mutex);
  Line& line = line_of(all, on);
  for (const auto& task : tasks) {
    if (task->waits_outside() || !all.blind.empty())
      break;  // what it waits for may be recorded later: the rest is not looked at
    if (const auto recording = task->records()) recording->clock = std::make_shared<const Clock>(all_of(line));
    const bool meets = task->task_kind() == sim_task_communication;  // apart from what comes before it, and after
    if (meets) tick(line);
    Touches touches(all, all.shadow, line, all.host.clock, task->name, on.id, false);
    task->tell(&touches);
    if (task->tells_later() && came) touched(all, on, *task);
    meet_others(touches, on);
    if (meets) tick(line);
  }
}

void recorded(Stream& on, Recording& recording, Model* capture) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  Line& line = capture ? inside_of(all, *capture).line(on) : line_of(all, on);
  if (!capture) join(line.clock, all.host.clock);
  recording.clock = std::make_shared<const Clock>(all_of(line));
}

void waits(Stream& on, const Recording& recording, Model* capture) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  if (!recording.clock) return;
  Line& line = capture ? inside_of(all, *capture).line(on) : line_of(all, on);
  join(line.clock, *recording.clock);
  if (line.copies) join(line.copies->clock, *recording.clock);
}

void host_waited(Stream& of) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  join(all.host.clock, all_of(line_of(all, of)));
  if (all.blind.erase(&of)) publish_all(kHost, tick(all.host));
  give_back(all);
  publish_host(all);
}

void host_waited(const Recording& of) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  if (of.clock) join(all.host.clock, *of.clock);
  give_back(all);
  publish_host(all);
}

void host_reached(const Clock& clock) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  join(all.host.clock, clock);
  give_back(all);
  publish_host(all);
}

void ended(Stream& stream, bool waited) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  if (stream.line.index < 0) return;
  all.blind.erase(&stream);
  for (auto& [key, value] : all.values) std::erase(value.waiting, &stream);
  if (waited) join(all.host.clock, all_of(stream.line));
  give_back(all);
  publish_host(all);
  // The line of tasks that nobody waited for stays theirs.
  for (const Line* line : std::initializer_list<const Line*>{&stream.line, stream.line.copies.get()})
    if (line && at(line->clock, line->index) <= at(all.host.clock, line->index)) all.unused.push_back(line->index);
  stream.line = {};
}

void freed(const char* by, const void* pointer) {
  void* begin = nullptr;
  size_t size = 0;
  if (sim_memory_block(pointer, &begin, &size) < 0) return;
  called();
  State& all = state();
  std::lock_guard lock(all.mutex);
  tick(all.host);
  Line line = all.host;
  if (const Stream* stream = Stream::here()) join(line.clock, all_up_to(*stream, stream->ran));
  if (const auto shares = all.let_go.extract(begin)) join(line.clock, shares.mapped());
  const auto bytes = int64_t(size);
  Touches touches(all, all.shadow, line, all.host.clock, by, -1, false);
  touches.take(true, begin, 1, &bytes, nullptr, 1);
  all.shadow.forget(reinterpret_cast<uintptr_t>(begin), reinterpret_cast<uintptr_t>(begin) + size);
  publish_host(all);
  std::erase_if(all.common, [&](const Common& one) { return one.begin == reinterpret_cast<uintptr_t>(begin); });
}

}  // namespace sim::order

using namespace sim;

int sim_order_check(int on) {
  order::State& all = order::state();
  std::lock_guard lock(all.mutex);
  const bool was = order::checking.exchange(on != 0);
  if (!was || on) return was;
  order::give_back_all(all);
  order::tell_counts(all);
  all.shadow = {};
  all.values.clear();
  all.let_go.clear();
  all.blind.clear();
  return was;
}

void sim_order_touched(int writes, const void* pointer, uint64_t bytes) {
  Stream* stream = Stream::here();
  if (!stream || !stream->telling || !order::on()) return;
  std::lock_guard lock(order::state().mutex);
  stream->telling->touched.push_back({writes != 0, pointer, bytes});
}

void sim_order_let_go(const void* allocation) {
  const Stream* stream = order::on() ? Stream::here() : nullptr;
  void* begin = nullptr;
  size_t size = 0;
  if (!stream || sim_memory_block(allocation, &begin, &size) < 0 || begin != allocation) return;
  order::State& all = order::state();
  std::lock_guard lock(all.mutex);
  order::join(all.let_go[begin], order::all_up_to(*stream, stream->ran));
}

int sim_order_on(void) { return order::on(); }

int sim_order_pinned_copies(int ordered) {
  order::State& all = order::state();
  std::lock_guard lock(all.mutex);
  return !std::exchange(all.copies_apart, !ordered);
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
  order::publish_host(all);
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
    order::join(known.clock, order::all_of(line));
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
