// The wires of one communicator: a socket between every two ranks, which are processes or threads. It is a Unix socket
// where both are on one machine, and a TCP connection where they are not.
#pragma once

#include <stdexcept>

#include "places.h"

namespace sim::hccl {

// What a rank announces with everything that it sends. A rank that is in another call than its peer finds out at once.
struct Tag {
  uint32_t command;  // HcclCMDType; HCCL_CMD_SEND also for what is sent in a group
  uint32_t dtype;    // HcclDataType
  uint32_t op = 0;   // HcclReduceOp
  uint32_t root = 0;
  uint32_t serial = 0;  // which collective of this communicator; 0 between two ranks
};

struct Piece {
  Tag tag;
  uint32_t peer;
  void* data;
  uint64_t size;
  uint64_t whole = size;            // of a message that goes in several pieces, or of all that its ranks share
  bool begins = true, ends = true;  // which piece
};

// A rank's process ended, or its connection broke.
struct Gone : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A rank was waited for too long.
struct Late : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The link to a rank, which itself lives.
struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Link {
 public:
  // Waits until all ranks are there; who else comes is turned away (handshake.h). Throws std::runtime_error, after
  // `timeout` at the latest.
  // `twins` has each rank's own number, or the number of the one that it repeats because no process runs it (twins.h).
  Link(const Meeting& meeting, const std::vector<uint32_t>& twins, uint32_t rank, std::chrono::seconds timeout);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Sends and receives at the same time; returns when all of it is done. Pieces between the same two ranks keep their
  // order; pieces to the own rank are copied. Throws std::runtime_error naming rank and reason; the link is then dead,
  // and the other ranks are told why.
  void exchange(std::vector<Piece> sends, std::vector<Piece> receives, std::chrono::seconds timeout);

  // Whether a rank is on another machine.
  bool remote(uint32_t rank) const { return remote_[rank]; }

 private:
  struct Transfer;
  // What happens to messages by order (core/fault.h).
  void make_faults(std::vector<Piece>& sends);
  void copy_own(std::vector<Piece>& sends, std::vector<Piece>& receives);
  void check(const Transfer& transfer, uint32_t peer);
  [[noreturn]] void late(const std::string& waited, const std::vector<uint32_t>& peers);
  [[noreturn]] void heard_of_failure(uint64_t size, uint32_t peer);
  void end(const std::string& reason);  // the link is dead, and the others are told
  [[noreturn]] void die(const std::string& reason, bool gone = false);

  const uint32_t ranks_, rank_;
  std::vector<int> sockets_;  // by rank; -1 for the own
  std::vector<bool> inside_;  // by rank: a piece is sent in part
  std::vector<bool> remote_;  // by rank
  std::vector<int> fates_;    // by rank: what happens to a message that is sent in several pieces
  std::string dead_;          // why
};

}  // namespace sim::hccl
