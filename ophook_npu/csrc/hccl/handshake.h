// Who may be a rank: processes of this user that know the communicator's secret. It comes with HcclRootInfo, which the
// ranks hand to each other, and never goes over a socket: each end proves that it has it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace sim::hccl {

using Clock = std::chrono::steady_clock;
using Secret = std::array<uint8_t, 32>;
using Nonce = std::array<uint8_t, 16>;
using Proof = std::array<uint8_t, 16>;

// Until `deadline`, as poll() takes it: 0 where it has passed.
int left_ms(Clock::time_point deadline);

Secret new_secret();

// The abstract socket that a rank listens on. Nobody can take the name before the rank does: it follows from the
// secret.
std::string address_of(const Secret& secret, uint32_t rank);

// What a rank that connects says first.
struct Hello {
  uint32_t ranks, rank;
  Nonce nonce;
};

// A connection to rank `to` whose other end has proven itself, and to which this one has. Throws std::runtime_error
// where that did not happen before `deadline`.
int join(const Secret& secret, uint32_t ranks, uint32_t rank, uint32_t to, Clock::time_point deadline);

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
  std::string who() const;                         // "process 7 of user 1000"

 private:
  // What it says is read into `into`; false where some is missing.
  bool take(void* into, size_t size);
  State wrong(const std::string& why);

  int socket_;
  const Clock::time_point until_;
  Hello hello_{};
  Nonce nonce_{};
  Proof proof_{};
  size_t done_ = 0;  // of what is read now
  bool greeted_ = false, gone_ = false;
  std::string why_;
};

}  // namespace sim::hccl
