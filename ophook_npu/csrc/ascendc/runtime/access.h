// One access of an operation to local or device memory, with everything that is checked about it.
#pragma once

#include "core.h"

namespace ophook::rt {

class Behind;

struct Operation {
  Core& core;
  Pipe pipe;
  const char* call;
  At at;
  uint32_t seq;
  bool same = false;  // what is written to device memory is there already
  bool adds = false;  // it is added to what is there, without SetAtomicAdd
  Behind* behind = nullptr;
  uint32_t limits[kPipes];  // earlier operations of each pipe up to this number are over; with checks alone

  Operation(Core& c, Pipe p, const char* name, At where);

  // Whether bytes [first, first + bytes) of the tensor exist; a finding where not.
  bool inside(const Local& tensor, uint64_t first, uint64_t bytes, const char* role);
  bool aligned(const Local& tensor, uint32_t to, const char* role);
  void reads(const Local& tensor, uint64_t first, uint64_t bytes);
  bool writes(const Local& tensor, uint64_t first, uint64_t bytes);  // false: a finding
  // The same as `writes`, for a copy from device memory; `source`: its first `known` bytes.
  void fills(const Local& tensor, uint64_t first, uint64_t bytes, const uint8_t* source = nullptr, uint64_t known = 0);
  uint8_t* data(const Local& tensor) const { return core.memory->at(tensor.memory).data(tensor.offset, tensor.bytes); }
  // Which of its bytes hold values: as the memory keeps it, and as an instruction finds it that reads behind a buffer.
  uint8_t* kept(const Local& tensor) const {
    return core.memory->at(tensor.memory).written(tensor.offset, tensor.bytes);
  }
  uint8_t* written(const Local& tensor) const {
    uint8_t* const known = behind ? known_behind(tensor) : nullptr;
    return known ? known : kept(tensor);
  }

  // Device memory (`orders`: no core may write it meanwhile): how much of [data, data + bytes) may be touched, 0 where
  // nothing may.
  uint64_t from_device(const uint8_t* data, uint64_t bytes, bool orders = true);
  uint64_t to_device(uint8_t* data, uint64_t bytes);
  // Whether a plain write of these bytes changes nothing, which checks alone ask.
  bool holds(const uint8_t* target, const uint8_t* source, uint64_t bytes) const {
    return core.launch.checks() && !core.launch.options.on_wait && !core.atomic_kind() &&
           core.launch.memory.holds(target, bytes) && !std::memcmp(target, source, bytes);
  }
  // Whether [data, data + bytes) holds values, and where it holds none: from which byte to which.
  bool initialized(const uint8_t* data, uint64_t bytes) const { return holes(data, bytes).empty(); }
  std::vector<std::pair<uint64_t, uint64_t>> holes(const uint8_t* data, uint64_t bytes) const;
  void limit();

 private:
  uint8_t* known_behind(const Local& tensor) const;  // walk.cpp
  void conflict(const Local& tensor, const Conflict& with, bool write);
  uint64_t device(const uint8_t* data, uint64_t bytes, bool write, Argument** argument);
};

// Where an address is that belongs to no argument: ", 4 bytes after the end of x".
std::string near(const Launch& launch, const uint8_t* data, uint64_t bytes);

// Runs a copy now, or when somebody waits for it.
template <typename F>
void when_due(Operation& op, F run) {
  if (!op.core.launch.options.on_wait) return run();
  op.core.pending.push_back({op.seq, op.pipe, run});
}

// The first copy from device memory counts the tiles.
inline void number_tile(Core& c, At at) {
  if (!c.tile_at.file) c.tile_at = at;
  if (c.tile_at.line == at.line && c.tile_at.file == at.file) ++c.tile;
}

// False, after a finding, where this core has no such unit.
bool has_unit(Core& c, bool vector, const char* call, At at);
// A vector core asks the cube core of its block for a copy to TSCM, as for a product.
bool fills_l1(Core& c, const Local& to, const char* call, At at);
// Adds, or keeps the larger or smaller, as SetAtomicAdd and its kind say; copies where `kind` is 0.
void combine(int kind, Dtype dtype, uint8_t* to, const uint8_t* from, uint64_t bytes);  // arithmetic.cpp
// False, after a finding, where copies are atomic of a type that none has.
bool can_combine(Core& c, const char* call, At at);  // vector.cpp

// False, after a finding, where nothing may be written to the argument. `name`: what the kernel calls it, if it does.
bool writable(Core& c, Argument& a, const char* call, At at, const char* name = nullptr);

// What a copy leaves in device memory: bytes that `written` says were never computed stay so there, for who reads them.
// In an output they are an error at the end, unless they are written anew before.
void leaves_uncomputed(Core& core, const char* call, At at, uint8_t* data, const uint8_t* written, uint64_t bytes,
                       const Local& from);
// Whether only the last bytes of blocks of 32 are missing: the values before them in the same block are there.
bool only_tails(const uint8_t* written, uint64_t bytes);
inline bool all_written(const uint8_t* written, uint64_t bytes) { return !bytes || !std::memchr(written, 0, bytes); }

}  // namespace ophook::rt
