// What the files of the check of order share: order.cpp follows the edges, pinned.cpp protects the host's pages,
// order_report.cpp tells of what is found.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "caller.h"
#include "shadow.h"

namespace sim::order {

using Kind = std::tuple<const char*, const char*, bool, bool, int, int>;

// Pinned memory of the host that a copy uses which the host has not waited for. Its pages are protected: the host's own
// accesses fault and are told of once, and the copy goes by a second address.
struct InUse {
  uintptr_t begin, end;
  Epoch copy;
  Clock before;  // the copy
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

// Memory that other processes have too: the pages of a file from there on.
struct Common {
  uintptr_t begin, end;
  uint64_t file, offset;
};

// Two places of a program that were told of.
struct Told {
  int number;
  uint64_t count;
  std::string first, second;
};

struct State {
  std::mutex mutex;
  std::vector<InUse> in_use;
  std::vector<Common> common;
  Shadow shadow;
  Line host{kHost, Clock(1), nullptr};
  std::vector<int> unused;  // lines of streams that are gone
  int lines = 1;
  std::map<Kind, Told> told;
  int races = 0;
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    size_t operator()(const std::vector<int>& numbers) const {
      return operator()(std::string_view(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int)));
    }
  };
  std::unordered_map<std::vector<int>, int, Hash> callers;  // each once, and its number
  std::vector<Caller> by_number{Caller{}};
  std::unordered_set<std::string, Hash, std::equal_to<>> names;
  std::unordered_map<const void*, Value> values;
  std::unordered_map<const void*, Clock> let_go;  // allocations: what came before a task that gave its share back
  std::set<const Stream*> blind;  // they wait for what is written later: what is launched meanwhile is not looked at
  std::vector<std::weak_ptr<Inside>> captures;  // that go on
  std::set<std::string> noted;                  // once each
  bool copies_apart = false;  // pinned copies to the device are not ordered with kernels of their stream

  const char* name(std::string_view text) {
    const auto found = names.find(text);
    return (found != names.end() ? found : names.emplace(text).first)->c_str();
  }
};
State& state();
int here();  // who launches: called() asked

// All of these with the mutex held.
constexpr const char* kOwnCode = "the host's own code";
Line& line_of(State& all, Stream& stream);
// What comes before that which follows everything on the stream; or everything up to a task, on its own thread.
Clock all_of(const Line& line);
Clock all_up_to(const Stream& on, uint32_t count);

// Once for each two places of a program.
void tell(State& all, const Access& first, const Access& second, uintptr_t begin, uintptr_t end, bool in_graph,
          bool outside_of_capture = false, const Access* made = nullptr);
void tell_counts(State& all);
void note(State& all, const std::string& text);

// The host's memory from now on until it waits for the copy.
void use_pinned(State& all, uintptr_t begin, size_t size, const Epoch& copy, const Clock& before);
// What the host has waited for is its own again.
void give_back(State& all);
void give_back_all(State& all);

// For the other processes (order_ranks.cpp): an access to what they have as well, with what came before it; a task that
// comes together with theirs, and whether others wait for it and it waits for them; what the host has waited for; that
// from this task on all that they launched so far may have come before.
void publish(const State& all, const Epoch& now, const Clock& before, const Region& region);
void publish_meeting(const Line& line, int device, const std::string& name, bool gives, bool takes);
void publish_host(const State& all);
void publish_all(int line, uint32_t count);
bool published();            // there are others
uint64_t bytes_published();  // by all

}  // namespace sim::order
