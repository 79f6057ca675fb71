// Where ranks come in: lets in whoever proves to be one, and turns away all others.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "handshake.h"

namespace sim::hccl {

// The root, where `rank` says which listens.
constexpr uint32_t kRoot = 0xffffffff;

class Door {
 public:
  // Takes over these listening sockets. `ranks` of them may come at once, and some strangers.
  Door(std::vector<int> listeners, const Secret& secret, uint32_t rank, uint32_t ranks);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // The next that has proven itself, whatever the others say or do not say; null where none came before `deadline`.
  std::unique_ptr<Visitor> next(Clock::time_point deadline);

 private:
  void turn_away(const Visitor& visitor, const std::string& why);

  const std::vector<int> listeners_;
  const Secret secret_;
  const uint32_t rank_;
  const size_t most_;
  std::deque<std::unique_ptr<Visitor>> visitors_;
  int turned_away_ = 0;
};

// The abstract socket of a rank: nothing is left behind in any folder, and the name dies with the process.
int listening(const Secret& secret, uint32_t rank);

}  // namespace sim::hccl
