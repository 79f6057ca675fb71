// How a vector instruction walks over its operands.
#pragma once

#include <vector>

#include "access.h"

namespace ophook::rt {

struct Operand {
  const Local* tensor;
  Step step;
  uint32_t size;  // of an element in bytes
  bool writes;
  const char* role;
};

// A piece of an instruction: `count` elements in a row, and where they begin in each operand.
struct Run {
  uint64_t offsets[4];
  uint32_t count;
  uint64_t first;  // its first element's number, those that a mask leaves out counted
};

// A vector instruction may read behind the buffer of its operand, as far as the memory goes. What it finds there is
// nobody's: of this operand it counts as never computed.
class Behind {
 public:
  explicit Behind(Operation& op) : op_(op) { op.behind = this; }
  Behind(const Behind&) = delete;
  ~Behind() { op_.behind = nullptr; }
  // Whether the bytes can be read.
  bool reads(const Local& tensor, uint64_t first, uint64_t bytes, const char* role);
  // How many of them are the operand's own.
  uint64_t own(const Local& tensor, uint64_t first, uint64_t bytes) const;
  // Which bytes of an operand hold values, with those behind its buffer; NULL: it was not read so far.
  std::vector<uint8_t>* far(const Local& tensor);

 private:
  uint64_t end(const Local& tensor) const;
  Operation& op_;
  std::vector<std::pair<Local, std::vector<uint8_t>>> far_;
};

void cut(const Operation& op, Cover& cover, uint32_t lanes);  // a mask to what a repeat has, with a note

// Checks the operands and calls visit for every run. False: a finding, and nothing was visited.
// What a call's mask means: kCount, kLanes or kBits. In counter mode it is the number of all elements, and the repeats
// follow from it. The registers have it from then on; a call for the first elements of a tensor leaves them as a kernel
// finds them (掩码.md).
Cover meant(Core& c, Cover cover);

// Whether an instruction has a data type on this SoC; where not, a finding. The lists are those of vector_ops.inc.
bool has_type(const char* call, Dtype dtype, const char* types_220, const char* types_310, At at);
constexpr const char* kMoved = "f16 bf16 i16 u16 i32 u32 f32";  // what Atlas A2 and A3 move within local memory
constexpr const char* kMovedOf950 = "i8 u8 f16 bf16 i16 u16 i32 u32 f32 i64 u64";

class Walk {
 public:
  Walk(Operation& op, const Operand* operands, int count, Cover cover);
  template <typename F>
  void each(F visit);
  uint64_t elements() const { return total_; }
  // For an instruction whose iterations follow each other: what one writes, a later one should not read.
  void apart();
  // It computes: half and bfloat16_t that overflow are the largest ones, and NaN is 0, where the kernel has said so.
  void computes() { clamps_ = op_.core.clamps; }
  uint64_t end() const { return runs_.empty() ? one_.count : runs_.back().first + runs_.back().count; }

 private:
  bool check();
  void collect();
  void clamp(const Run& run);
  void rereads(const Operand& to, const Operand& from);
  bool reaches(const Operand& operand, uint64_t first, uint64_t count) {
    const uint64_t bytes = count * operand.size;
    return operand.writes ? op_.inside(*operand.tensor, first, bytes, operand.role)
                          : behind_.reads(*operand.tensor, first, bytes, operand.role);
  }
  Operation& op_;
  Behind behind_;
  const Operand* operands_;
  const int count_;
  Cover cover_;
  uint32_t widest_ = 1;
  uint64_t total_ = 0;
  uint64_t most_ = ~uint64_t{0};  // of counter mode: so many elements over as many repeats as they take
  bool good_ = false, clamps_ = false;
  std::vector<Run> runs_;
  Run one_{};
};

template <typename F>
void Walk::each(F visit) {
  if (!good_) return;
  auto touch = [&](const Run& run) {
    for (int i = 0; i < count_; ++i)
      if (const Local& from = *operands_[i].tensor; !operands_[i].writes)
        op_.reads(from, run.offsets[i], behind_.own(from, run.offsets[i], uint64_t(run.count) * operands_[i].size));
    for (int i = 0; i < count_; ++i)
      if (operands_[i].writes)
        op_.writes(*operands_[i].tensor, run.offsets[i], uint64_t(run.count) * operands_[i].size);
    visit(run);
    if (clamps_) clamp(run);
  };
  if (runs_.empty()) {
    if (one_.count) touch(one_);
    return;
  }
  for (const Run& run : runs_) touch(run);
}

// The result holds a value where all sources do.
void carry(Operation& op, const Operand* operands, int count, const Run& run);

// A temporary tensor holds whatever the device's sequence leaves there. `most`: bytes that the function may need; a
// tensor that goes on to the end of the memory, as CATLASS makes them, is not its own behind them. False, after a
// finding, where its first elements lie over what the function reads or writes, which the pages forbid.
struct Span {
  const Local* tensor;
  uint64_t bytes;
};
bool scratch(Operation& op, const Local* work, const std::vector<Span>& operands, uint64_t most = ~uint64_t{0});
// A note where a source lies over a destination although the function's page allows that nowhere.
void in_place(const Operation& op, const Local& dst, uint64_t bytes, const std::vector<Span>& sources);
// Of a function of each element: twice all of it in float, as the host's functions say.
inline uint64_t most_of(int64_t count) { return count > 0 ? uint64_t(count) * 8 + 256 : 0; }

}  // namespace ophook::rt
