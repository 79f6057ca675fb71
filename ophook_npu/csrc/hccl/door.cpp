#include "door.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace sim::hccl {
namespace {

constexpr auto kHandshake = std::chrono::seconds(10);  // a rank that was only slow comes again
constexpr size_t kVisitors = 64;                       // at a time, besides as many as there are ranks
constexpr int kMessages = 5;                           // a line each; after so many, nothing more

}  // namespace

int listening(const Secret& secret, uint32_t rank) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const std::string name = address_of(secret, rank);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (socket >= 0 && !bind(socket, reinterpret_cast<sockaddr*>(&address), size) && !listen(socket, SOMAXCONN))
    return socket;
  const int error = errno;
  if (socket >= 0) close(socket);
  throw std::runtime_error(error == EADDRINUSE
                               ? "rank " + std::to_string(rank) + " is taken: two ranks have this number"
                               : std::string("no socket to listen on: ") + std::strerror(error));
}

Door::Door(std::vector<int> listeners, const Secret& secret, uint32_t rank, uint32_t ranks)
    : listeners_(std::move(listeners)), secret_(secret), rank_(rank), most_(kVisitors + ranks) {}

Door::~Door() {
  for (const int listener : listeners_) close(listener);
}

std::unique_ptr<Visitor> Door::next(Clock::time_point deadline) {
  for (bool fresh = false;;) {
    std::vector<pollfd> waiting;
    for (const int listener : listeners_) waiting.push_back({listener, POLLIN, 0});
    auto until = deadline;
    for (const auto& visitor : visitors_) {
      waiting.push_back({visitor->socket(), POLLIN, 0});
      until = std::min(until, visitor->until());
    }
    if (poll(waiting.data(), waiting.size(), fresh ? 0 : left_ms(until)) < 0 && errno != EINTR)
      throw std::runtime_error(std::string("poll: ") + std::strerror(errno));
    for (size_t i = 0; i < visitors_.size();) {
      const auto state = visitors_[i]->proceed(secret_, rank_);
      if (state == Visitor::State::waits) {
        ++i;
        continue;
      }
      auto visitor = std::move(visitors_[i]);
      visitors_.erase(visitors_.begin() + ptrdiff_t(i));
      if (state == Visitor::State::proven) return visitor;
      turn_away(*visitor, visitor->why());
    }
    if (Clock::now() >= deadline) return nullptr;
    fresh = false;
    for (const int listener : listeners_)
      // A few at a time, so that a crowd at the door does not keep those inside from being heard.
      for (int i = 0; i < 16; ++i) {
        const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) break;
        fresh = true;
        visitors_.push_back(std::make_unique<Visitor>(socket, Clock::now() + kHandshake));
        if (visitors_.size() <= most_) continue;
        turn_away(*visitors_.front(), "too many came at once");
        visitors_.pop_front();
      }
  }
}

void Door::turn_away(const Visitor& visitor, const std::string& why) {
  if (++turned_away_ > kMessages) return;
  const std::string who = rank_ == kRoot ? "the root" : "rank " + std::to_string(rank_);
  std::fprintf(stderr, "[simulated Ascend] HCCL: %s turned away %s, which is no rank: %s%s\n", who.c_str(),
               visitor.who().c_str(), why.c_str(), turned_away_ == kMessages ? " (others are not told of)" : "");
}

}  // namespace sim::hccl
