// A core's local memories, and a shadow of each: who wrote and read every block of 32 bytes last, and which bytes were
// ever written.
#pragma once

#include <cstdint>
#include <vector>

#include "ascendc/runtime.h"

namespace ophook::rt {

// For each pipe the newest operation that is known to be over. Operations of a core are numbered in program order.
struct Clock {
  uint32_t at[kPipes] = {};
};

constexpr uint32_t kBlock = 32;

struct LocalSizes {
  uint32_t bytes[7] = {};  // by Memory
};

// Why an access is wrong: the earlier operation, and whether that was a write.
struct Conflict {
  uint32_t seq = 0;
  Pipe pipe = Pipe::S;
  bool wrote = false;
  uint32_t offset = 0;
};

class LocalMemory {
 public:
  void allocate(uint32_t bytes);
  void reset();  // as a new core finds it
  uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }
  uint8_t* data() { return bytes_.data(); }
  uint8_t* written() { return written_.data(); }

  // Bytes [offset, offset + bytes) by operation `seq` of `pipe`. `limits` says which earlier operations of each pipe are
  // over. Returns false with the conflict.
  bool read(uint32_t offset, uint32_t bytes, Pipe pipe, uint32_t seq, const uint32_t* limits, Conflict* conflict);
  bool write(uint32_t offset, uint32_t bytes, Pipe pipe, uint32_t seq, const uint32_t* limits, Conflict* conflict);
  void forget(uint32_t offset, uint32_t bytes);  // contents are as never written

 private:
  std::vector<uint8_t> bytes_, written_, writer_pipe_;
  std::vector<uint32_t> writer_;
  std::vector<uint32_t> reader_[kPipes];
  static bool all_over(const uint32_t* newest, const uint32_t* limits);
  uint32_t newest_read_[kPipes] = {}, newest_written_[kPipes] = {};  // of any block, by pipe
  bool touched_ = false;
};

struct LocalMemories {
  explicit LocalMemories(const LocalSizes& sizes);
  LocalMemory& at(Memory memory) { return memories_[static_cast<size_t>(memory)]; }
  void reset();

 private:
  LocalMemory memories_[7];
};

}  // namespace ophook::rt
