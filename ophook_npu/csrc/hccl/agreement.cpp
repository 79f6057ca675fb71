// Whether the ranks launch the collectives of several communicators in one order. Where they do not, each may wait for
// a collective that the other launches later: on a device, which has room for few at a time, neither ever ends.
//
// With OPHOOK_SIM_ORDER_RANKS, a folder that the ranks of a program share, each rank writes at the launch of a
// collective how many of its other communicators it has launched before, and compares that with what the others wrote
// at the same collective. So it is found at the launch, whatever the timing, and before anything waits.
#include "agreement.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <vector>

#include "core/forever.h"
#include "core/order_api.h"

namespace sim::hccl {
namespace {

using Counts = std::map<std::string, uint64_t>;  // by communicator: how many collectives were launched

// What a rank launched: of which communicator it is the file's.
struct Launched {
  uint32_t rank = 0;
  uint64_t serial = 0;
  std::string collective;
  Counts before;
};

struct Known {
  int file = -1;
  off_t read = 0;
  std::map<uint64_t, std::vector<Launched>> ahead;  // by serial: of other ranks, which this one has not launched yet
};

struct Of {
  Counts counts;
  std::map<std::string, Known> known;
};

struct State {
  std::mutex mutex;
  std::map<int, Of> by_device;  // all ranks of HcclCommInitAll are in one process
  std::set<std::pair<std::string, std::string>> told;
};
State& state() { return sim::forever<State>(); }

std::string file_of(const char* folder, const std::string& name) {
  char text[32];
  snprintf(text, sizeof text, "/%016zx", std::hash<std::string>{}(name));
  return folder + std::string(text);
}

std::string line(const Launched& one) {
  std::ostringstream text;
  text << one.rank << ' ' << one.serial << ' ' << one.collective;
  for (const auto& [name, count] : one.before) text << ' ' << name << ' ' << count;
  text << '\n';
  return text.str();
}

std::vector<Launched> parsed(const std::string& text) {
  std::vector<Launched> found;
  std::istringstream lines(text);
  for (std::string each; std::getline(lines, each);) {
    std::istringstream words(each);
    Launched one;
    if (!(words >> one.rank >> one.serial >> one.collective)) continue;
    std::string name;
    for (uint64_t count; words >> name >> count;) one.before[name] = count;
    found.push_back(std::move(one));
  }
  return found;
}

// What was written since this rank looked last, and then its own.
std::vector<Launched> tell_and_hear(Known& known, const std::string& own) {
  std::string text;
  flock(known.file, LOCK_EX);
  char buffer[4096];
  for (ssize_t got; (got = pread(known.file, buffer, sizeof buffer, known.read)) > 0; known.read += got)
    text.append(buffer, size_t(got));
  if (write(known.file, own.data(), own.size()) == ssize_t(own.size())) known.read += off_t(own.size());
  flock(known.file, LOCK_UN);
  return parsed(text);
}

void compare(State& all, const std::string& name, const Launched& own, const Launched& other) {
  if (own.rank == other.rank) return;
  for (const auto& [shared, count] : other.before) {
    const auto here = own.before.find(shared);
    if (here == own.before.end() || here->second == count) continue;
    if (!sim_order_on() || !all.told.insert(std::minmax(name, shared)).second) continue;
    const bool first_there = count > here->second;  // this rank launches the shared one's later than the other did
    const std::string one = own.collective + " " + std::to_string(own.serial) + " of communicator " + name;
    const std::string two =
        "collective " + std::to_string(std::min(count, here->second) + 1) + " of communicator " + shared;
    const auto order = [&](uint32_t rank, bool shared_first) {
      return "rank " + std::to_string(rank) + " launches " +
             (shared_first ? two + " before " + one : one + " before " + two);
    };
    const std::string where = order(own.rank, !first_there) + "; " + order(other.rank, first_there);
    sim_order_tell("order of collectives", one.c_str(), nullptr, two.c_str(), "", where.c_str(),
                   "launch the collectives of both communicators in one order on all ranks: where each rank waits for "
                   "the other's, neither ends");
  }
}

}  // namespace

void launches_collective(const std::string& name, uint32_t rank, const char* collective) {
  static const char* folder = getenv("OPHOOK_SIM_ORDER_RANKS");
  if (!folder || !*folder) return;
  int device = 0;
  if (sim_get_device(&device)) return;
  State& all = state();
  std::lock_guard lock(all.mutex);
  Of& of = all.by_device[device];
  Known& known = of.known[name];
  if (known.file < 0) {
    known.file = open(file_of(folder, name).c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (known.file < 0) return;
  }
  Launched own{rank, ++of.counts[name], collective, of.counts};
  own.before.erase(name);
  for (Launched& other : tell_and_hear(known, line(own)))
    if (other.serial >= own.serial) known.ahead[other.serial].push_back(std::move(other));
  if (const auto same = known.ahead.find(own.serial); same != known.ahead.end()) {
    for (const Launched& other : same->second) compare(all, name, own, other);
    known.ahead.erase(same);
  }
}

}  // namespace sim::hccl
