// Where the ranks of a communicator are, which may be several machines. The process that made the root info listens on
// the network; each rank comes there, says where it can be reached, and is told where all of them are.
#pragma once

#include "network.h"

namespace sim::hccl {

// How the ranks find each other.
struct Meeting {
  Secret secret{};
  std::vector<Address> roots;  // where the root may listen; none: all ranks are on this machine
  std::string ip;              // at which this rank can be reached; empty: the one that HCCL's variables say
  std::string machine;         // what this machine is called, besides what it is; empty: the address
};

// Of a rank.
struct Place {
  Proof machine{};  // the same for ranks that reach each other without a network
  Address address;
};

// Answers all ranks, on a thread of its own, which ends when that is done or `timeout` has passed. Takes over the
// listening socket.
void answer_ranks(int listener, const Secret& secret, std::chrono::seconds timeout);

// The places of all ranks, where this one's is `own`. Throws std::runtime_error.
std::vector<Place> places_of(const Meeting& meeting, uint32_t ranks, uint32_t rank, const Place& own,
                             Clock::time_point deadline);

}  // namespace sim::hccl
