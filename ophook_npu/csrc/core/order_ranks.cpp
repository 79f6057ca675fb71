// What the check of order tells of memory that several processes have, such as what aclrtIpcMemImportByKey maps: each
// process appends to one file what it does there and what orders it with the others. Only that file shows which task of
// one process comes before which of another, and only when it is whole: sim/ranks.py reads it when the program has
// ended.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "forever.h"
#include "lines.h"
#include "order_api.h"
#include "order_state.h"
#include "stream.h"

namespace sim::order {
namespace {

// With the check's mutex held, as all below.
struct Others {
  Clock published, by_host;  // by line: the last task that others know of; of those the last the host waited for
  std::map<std::pair<std::string, int>, uint64_t> meetings;  // by name and device: how many there were
  std::vector<bool> callers;                                 // among State's: which are written
  bool introduced = false;
};
Others& told() { return sim::forever<Others>(); }

int file() {
  static const int opened = [] {
    const char* folder = getenv("OPHOOK_SIM_ORDER_RANKS");
    if (!folder || !*folder) return -1;
    const std::string path = std::string(folder) + "/memory";
    return open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  }();
  return opened;
}

std::string list(const Clock& clock) {
  std::string text = "[";
  for (size_t i = 0; i < clock.size(); ++i) text += (i ? ", " : "") + std::to_string(clock[i]);
  return text + "]";
}

// A record as a whole: the system appends it in one piece.
void write_record(const char* kind, const std::string& rest) {
  std::string text;
  if (!std::exchange(told().introduced, true)) {
    const char* rank = getenv("RANK");
    text = "[\"process\", " + std::to_string(getpid()) + ", " + quoted(rank ? rank : "") + "]\n";
  }
  write_all(file(), text + "[\"" + kind + "\", " + std::to_string(getpid()) + ", " + rest + "]\n");
}

void publish_up_to(int line, uint32_t count) {
  Clock& clock = told().published;
  if (clock.size() <= size_t(line)) clock.resize(size_t(line) + 1);
  clock[size_t(line)] = std::max(clock[size_t(line)], count);
}

std::string position(int line, uint32_t count) { return std::to_string(line) + ", " + std::to_string(count); }

void write_caller(const State& all, int caller) {
  auto& known = told().callers;
  if (known.size() <= size_t(caller)) known.resize(size_t(caller) + 1);
  if (known[size_t(caller)]) return;
  known[size_t(caller)] = true;
  std::string frames;
  for (const std::string& frame : shown(all.by_number[size_t(caller)]))
    frames += (frames.empty() ? "" : ", ") + quoted(frame);
  write_record("caller", std::to_string(caller) + ", [" + frames + "]");
}

}  // namespace

bool published() { return file() >= 0; }

uint64_t bytes_published() {
  struct stat about{};
  return file() >= 0 && !fstat(file(), &about) ? uint64_t(about.st_size) : 0;
}

static void publish(const State& all, const Epoch& now, const Clock& before, const Region& region, uint64_t launched) {
  if (!published()) return;
  for (const Common& one : all.common) {
    if (region.end() <= one.begin || one.end <= region.begin || !region.meets(one.begin, one.end)) continue;
    const Access& access = *now.access;
    write_caller(all, access.caller);
    std::string dims;
    for (const auto& [size, stride] : region.dims)
      dims += (dims.empty() ? "[" : ", [") + std::to_string(size) + ", " + std::to_string(stride) + "]";
    const auto from = int64_t(region.begin - one.begin + one.offset);
    write_record("access", position(now.line, now.count) + ", " + list(before) + ", " + std::to_string(one.file) +
                               ", " + std::to_string(from) + ", " + std::to_string(region.run) + ", [" + dims + "], " +
                               std::to_string(launched) + ", " + (access.writes ? "true" : "false") + ", " +
                               quoted(access.task) + ", " + std::to_string(access.stream) + ", " +
                               std::to_string(access.caller));
    publish_up_to(now.line, now.count);
  }
}

void publish(const State& all, const Epoch& now, const Clock& before, const Region& region) {
  publish(all, now, before, region, UINT64_MAX);
}

void publish_meeting(const Line& line, int device, const std::string& name, bool gives, bool takes) {
  const uint32_t count = at(line.clock, line.index);
  write_record("meets", position(line.index, count) + ", " + list(line.clock) + ", " + quoted(name) + ", " +
                            std::to_string(++told().meetings[{name, device}]) + ", " + (gives ? "true" : "false") +
                            ", " + (takes ? "true" : "false"));
  publish_up_to(line.index, count);
}

void publish_all(int line, uint32_t count) {
  if (!published()) return;
  write_record("all", position(line, count));
  publish_up_to(line, count);
}

// Only where the host has waited for more of what others know: a program that waits often does not write often.
void publish_host(const State& all) {
  const Clock& known = told().published;
  Clock& by_host = told().by_host;
  by_host.resize(known.size());
  bool more = false;
  for (size_t i = 0; i < known.size(); ++i) {
    const uint32_t waited = std::min(known[i], at(all.host.clock, int(i)));
    more |= by_host[i] < waited;
    by_host[i] = std::max(by_host[i], waited);
  }
  if (more) write_record("host", list(all.host.clock));
}

}  // namespace sim::order

using namespace sim;

void sim_order_share(const void* memory, uint64_t bytes, uint64_t file, uint64_t offset) {
  if (!order::on() || !order::published()) return;
  order::State& all = order::state();
  std::lock_guard lock(all.mutex);
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const order::Common made{begin, begin + bytes, file, offset};
  for (const order::Common& one : all.common)
    if (one.begin == made.begin && one.end == made.end) return;
  // What was launched before and may not have ended: nobody else was here then, so nothing of theirs came before.
  const auto tell = [&](const order::Epoch& epoch, uintptr_t from, uintptr_t to) {
    if (!epoch.count || order::before(epoch, all.host.clock)) return;
    order::Clock clock(size_t(epoch.line) + 1);
    clock[size_t(epoch.line)] = epoch.count;
    order::publish(all, epoch, clock, {from, to - from, {}});
  };
  all.common.push_back(made);
  auto piece = all.shadow.pieces.upper_bound(made.begin);
  if (piece != all.shadow.pieces.begin()) --piece;
  for (; piece != all.shadow.pieces.end() && piece->first < made.end; ++piece) {
    if (piece->second.end <= made.begin) continue;
    tell(piece->second.write, piece->first, piece->second.end);
    for (const order::Epoch& read : piece->second.reads) tell(read, piece->first, piece->second.end);
  }
}

void sim_order_unshare(const void* memory, uint64_t bytes) {
  if (!order::on()) return;
  order::State& all = order::state();
  std::lock_guard lock(all.mutex);
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  std::erase_if(all.common, [&](const order::Common& one) { return begin <= one.begin && one.end <= begin + bytes; });
}

void sim_order_put(const void* memory, uint64_t bytes) {
  const Stream* stream = order::on() && order::published() ? Stream::here() : nullptr;
  if (!stream || !stream->runs || !bytes) return;
  const Task& task = *stream->runs;
  order::State& all = order::state();
  std::lock_guard lock(all.mutex);
  if (stream->line.index < 0) return;
  const auto size = int64_t(bytes);
  const auto access = std::make_shared<const order::Access>(
      order::Access{all.name(task.name), stream->id, true, {size}, 1, task.caller});
  order::publish(all, {stream->line.index, task.count, access}, order::all_up_to(*stream, task.count),
                 {reinterpret_cast<uintptr_t>(memory), bytes, {}}, task.told);
}

void sim_order_awaited(void) {
  const Stream* stream = order::on() ? Stream::here() : nullptr;
  if (!stream || !stream->runs) return;
  std::lock_guard lock(order::state().mutex);
  if (stream->line.index >= 0) order::publish_all(stream->line.index, stream->runs->count);
}

void sim_order_event(void* on, const char* name, uint64_t number, int waits) {
  std::shared_ptr<Stream> stream;
  if (!order::on() || !order::published() || resolve("event", on, &stream)) return;
  order::State& all = order::state();
  std::lock_guard lock(all.mutex);
  const order::Line& line = order::line_of(all, *stream);
  const uint32_t count = order::at(line.clock, line.index);
  order::write_record(waits ? "waits" : "records", order::position(line.index, count) + ", " +
                                                       order::list(order::all_of(line)) + ", " + quoted(name) + ", " +
                                                       std::to_string(number));
  order::publish_up_to(line.index, count);
}

void sim_order_event_came(const char* name, uint64_t number) {
  if (!order::on() || !order::published()) return;
  order::State& all = order::state();
  std::lock_guard lock(all.mutex);
  const uint32_t count = order::tick(all.host);
  order::write_record("waits", order::position(order::kHost, count) + ", " + order::list(all.host.clock) + ", " +
                                   quoted(name) + ", " + std::to_string(number));
  order::publish_up_to(order::kHost, count);
  order::publish_host(all);
}
