#include "places.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <stdexcept>
#include <thread>

#include "door.h"

namespace sim::hccl {
namespace {

constexpr auto kAnswer = std::chrono::seconds(20);  // for a rank that has proven itself
constexpr uint64_t kLongestProblem = 4096;

struct Guest {
  int socket;
  Place place;
};

struct Root {
  Door door;
  std::map<uint32_t, Guest> guests;  // by rank
  uint32_t ranks = 0;                // as the first says

  ~Root() {
    for (const auto& [rank, guest] : guests) close(guest.socket);
  }

  // The problem, or nothing.
  std::string gather(Clock::time_point deadline, std::chrono::seconds timeout) {
    while (!ranks || guests.size() < ranks) {
      auto visitor = door.next(deadline);
      if (!visitor) {
        std::string absent;
        for (uint32_t rank = 0; rank < ranks; ++rank)
          if (!guests.contains(rank)) absent += (absent.empty() ? "" : ", ") + std::to_string(rank);
        return "Failed to connect agent [" + absent + "] within " + std::to_string(timeout.count()) + " s";
      }
      const Hello hello = visitor->hello();
      Guest guest{visitor->release(), {}};
      const bool whole_place = whole(false, guest.socket, &guest.place, sizeof guest.place, Clock::now() + kAnswer);
      guest.place.address.ip[sizeof guest.place.address.ip - 1] = 0;
      const std::string them = "rank " + std::to_string(hello.rank);
      std::string problem;
      if (ranks && hello.ranks != ranks)
        problem = them + " says " + std::to_string(hello.ranks) + " ranks, another " + std::to_string(ranks);
      else if (hello.rank >= hello.ranks) problem = them + " of " + std::to_string(hello.ranks) + " ranks";
      else if (guests.contains(hello.rank)) problem = them + " is taken: two ranks have this number";
      if (!whole_place || !problem.empty()) {
        if (whole_place) tell(guest.socket, problem);
        close(guest.socket);
        if (whole_place) return problem;
        continue;  // it comes again
      }
      ranks = hello.ranks;
      guests.emplace(hello.rank, guest);
    }
    return "";
  }

  void answer(const std::string& problem) {
    std::vector<Place> places;
    for (const auto& [rank, guest] : guests) places.push_back(guest.place);
    for (const auto& [rank, guest] : guests)
      if (tell(guest.socket, problem) && problem.empty())
        whole(true, guest.socket, places.data(), places.size() * sizeof places[0], Clock::now() + kAnswer);
  }

  static bool tell(int socket, const std::string& problem) {
    std::string text = problem.substr(0, kLongestProblem);
    uint64_t size = text.size();
    const auto deadline = Clock::now() + kAnswer;
    return whole(true, socket, &size, sizeof size, deadline) && whole(true, socket, text.data(), size, deadline);
  }
};

// Between this rank and the root, both of which have proven themselves; closed in any case.
std::vector<Place> ask(int socket, uint32_t ranks, Place own, Clock::time_point deadline) {
  struct Closed {
    const int socket;
    ~Closed() { close(socket); }
  } const closed{socket};
  const auto exchanged = [&](bool sending, void* data, size_t size) {
    if (!whole(sending, socket, data, size, deadline + kAnswer))
      throw std::runtime_error("the root went away, or was silent until the time was over");
  };
  exchanged(true, &own, sizeof own);
  uint64_t size = 0;
  exchanged(false, &size, sizeof size);
  std::string problem(std::min(size, kLongestProblem), '\0');
  exchanged(false, problem.data(), problem.size());
  if (!problem.empty()) throw std::runtime_error(problem);
  std::vector<Place> places(ranks);
  exchanged(false, places.data(), places.size() * sizeof places[0]);
  for (Place& place : places) place.address.ip[sizeof place.address.ip - 1] = 0;
  return places;
}

}  // namespace

void answer_ranks(int listener, const Secret& secret, std::chrono::seconds timeout) {
  std::thread([=] {
    try {
      Root root{{{listener}, secret, kRoot, 1024}, {}};
      root.answer(root.gather(Clock::now() + timeout, timeout));
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "[simulated Ascend] HCCL: the root cannot answer its ranks: %s\n", problem.what());
    }
  }).detach();
}

std::vector<Place> places_of(const Meeting& meeting, uint32_t ranks, uint32_t rank, const Place& own,
                             Clock::time_point deadline) {
  std::string tried;
  for (const Address& root : meeting.roots) tried += (tried.empty() ? "" : ", ") + root.text();
  for (size_t turn = 0;; ++turn) {
    const Address& root = meeting.roots[turn % meeting.roots.size()];
    const auto connect = [&](Clock::time_point until) { return connected(own.address.ip, root, until); };
    if (const int socket = joined(meeting.secret, ranks, rank, kRoot, connect, deadline); socket >= 0)
      return ask(socket, ranks, own, deadline);
    if (Clock::now() >= deadline)
      throw std::runtime_error("rank " + std::to_string(rank) + " cannot reach the root at " + tried +
                               " (HCCL_IF_IP and HCCL_SOCKET_IFNAME say at which address the root listens)");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace sim::hccl
