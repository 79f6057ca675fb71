// A core's local memories, and a shadow of each: who wrote and read every block of 32 bytes last, and which bytes were
// ever written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ascendc/runtime.h"

namespace ophook::rt {

// For each pipe the newest operation that is known to be over. Operations of a core are numbered in program order.
struct Clock {
  uint32_t at[8] = {};  // by Pipe, and one of none: the compiler compares eight at once
  static_assert(kPipes <= 8);
  // What either of the two knows.
  void learn(const Clock& other) {
    for (int q = 0; q < 8; ++q) at[q] = other.at[q] > at[q] ? other.at[q] : at[q];
  }
};

constexpr uint32_t kBlock = 32;

struct LocalSizes {
  uint32_t bytes[7] = {};  // by Memory
  bool operator==(const LocalSizes&) const = default;
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
  // Bytes [offset, offset + bytes), which the caller may change; without a range, all.
  uint8_t* data(uint32_t offset, uint64_t bytes) { return touch(offset, bytes), bytes_.data() + offset; }
  uint8_t* written(uint32_t offset, uint64_t bytes) { return touch(offset, bytes), written_.data() + offset; }
  uint8_t* data() { return data(0, size()); }
  // Whether p points into the memory, without a change of it.
  bool holds(const uint8_t* p) const { return p >= bytes_.data() && p < bytes_.data() + size(); }

  // Bytes [offset, offset + bytes) by operation `seq` of `pipe`. `limits` says which earlier operations of each pipe
  // are over. Returns false with the conflict.
  bool read(uint32_t offset, uint32_t bytes, Pipe pipe, uint32_t seq, const uint32_t* limits, Conflict* conflict);
  bool write(uint32_t offset, uint32_t bytes, Pipe pipe, uint32_t seq, const uint32_t* limits, Conflict* conflict);
  // The first block that an operation of `pipe` after `over`, and before `seq`, was the last to write; seq 0: none.
  Conflict overwritten(uint32_t offset, uint32_t bytes, Pipe pipe, uint32_t over, uint32_t seq) const;
  void forget(uint32_t offset, uint32_t bytes);  // contents are as never written

 private:
  std::vector<uint8_t> bytes_, written_, writer_pipe_;
  std::vector<uint32_t> writer_;
  std::vector<uint32_t> reader_[kPipes];
  static bool all_over(const uint32_t* newest, const uint32_t* limits);
  // A launch of few elements has forty cores that use a few kilobytes each: only what was used is made as new.
  static constexpr uint32_t kPage = 512;
  void touch(uint64_t offset, uint64_t bytes) {
    const size_t end = std::min<size_t>((offset + bytes + kPage - 1) / kPage, touched_.size());
    const size_t first = offset / kPage;
    if (first >= end) return;
    std::memset(touched_.data() + first, 1, end - first);
    used_ = true;
  }
  bool used_ = false;                                                // since it was made as new
  std::vector<uint8_t> touched_;                                     // by page
  uint32_t newest_read_[kPipes] = {}, newest_written_[kPipes] = {};  // of any block, by pipe
};

struct LocalMemories {
  explicit LocalMemories(const LocalSizes& sizes) : sizes_(sizes) {}
  // A vector core's kernel asks for UB alone: what nobody asks for is not made.
  LocalMemory& at(Memory memory) {
    const auto i = static_cast<size_t>(memory);
    if (memories_[i].size() != sizes_.bytes[i]) memories_[i].allocate(sizes_.bytes[i]);
    return memories_[i];
  }
  const LocalSizes& sizes() const { return sizes_; }
  uint64_t bytes() const;  // that are in use for them
  void reset();

 private:
  LocalSizes sizes_;
  LocalMemory memories_[7];
};

}  // namespace ophook::rt
