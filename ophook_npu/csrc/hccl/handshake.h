// Who may be a rank: processes that know the communicator's secret, of this user where they are on this machine. It
// comes with HcclRootInfo, which the ranks hand to each other, and never goes over a socket: each end proves that it
// has it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace sim::hccl {

using Clock = std::chrono::steady_clock;
using Secret = std::array<uint8_t, 32>;
using Nonce = std::array<uint8_t, 16>;
using Proof = std::array<uint8_t, 16>;

// Until `deadline`, as poll() takes it: 0 where it has passed.
int left_ms(Clock::time_point deadline);

Secret new_secret();

// A hash that nobody can make who does not know the secret.
Proof keyed(const Secret& secret, const std::string& message);

// Sends or receives all of it; false where the other end went away or `deadline` passed.
bool whole(bool sending, int socket, void* data, size_t size, Clock::time_point deadline);

// The abstract socket that a rank listens on. Nobody can take the name before the rank does: it follows from the
// secret.
std::string address_of(const Secret& secret, uint32_t rank);

// What a rank that connects says first.
struct Hello {
  uint32_t ranks, rank;
  Nonce nonce;
};

// A new socket that is connected to the other end, or -1 where none came about before this time.
using Connect = std::function<int(Clock::time_point)>;
// To the abstract socket of a rank.
Connect connect_to(const Secret& secret, uint32_t rank);

// A connection to rank `to` whose other end has proven itself, and to which this one has; -1 where that did not come
// about at once.
int joined(const Secret& secret, uint32_t ranks, uint32_t rank, uint32_t to, const Connect& connect,
           Clock::time_point deadline);
// The same, until `deadline`. Throws std::runtime_error.
int join(const Secret& secret, uint32_t ranks, uint32_t rank, uint32_t to, const Connect& connect,
         Clock::time_point deadline);

// A connection that came in and has proven nothing yet. It never waits, and owns its socket until release().
class Visitor {
 public:
  enum class State { waits, proven, wrong };

  Visitor(int socket, Clock::time_point until);
  ~Visitor();
  Visitor(const Visitor&) = delete;
  Visitor& operator=(const Visitor&) = delete;

  // Goes on with what has come; rank `here` listens.
  State proceed(const Secret& secret, uint32_t here);
  int release();

  const Hello& hello() const { return hello_; }
  int socket() const { return socket_; }
  Clock::time_point until() const { return until_; }
  const std::string& why() const { return why_; }  // it is wrong
  std::string who() const;                         // "process 7 of user 1000", "10.0.0.2 port 4711"

 private:
  // What it says is read into `into`; false where some is missing.
  bool take(void* into, size_t size);
  State wrong(const std::string& why);

  int socket_;
  const Clock::time_point until_;
  const std::string from_;  // of another machine
  Hello hello_{};
  Nonce nonce_{};
  Proof proof_{};
  size_t done_ = 0;  // of what is read now
  bool greeted_ = false, gone_ = false;
  std::string why_;
};

}  // namespace sim::hccl
