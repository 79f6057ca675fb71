// The threads of one block, while they run.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

// Here they change.
#define threadIdx ophook_constant_threadIdx
#define blockIdx ophook_constant_blockIdx
#define blockDim ophook_constant_blockDim
#define gridDim ophook_constant_gridDim
#include "ascendc/simt.h"
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
extern "C" OPHOOK_RT __thread OphookIndex threadIdx, blockIdx, blockDim, gridDim;

#include "core.h"
#include "fiber.h"

namespace ophook::rt {

struct SimtThread {
  explicit SimtThread(const dim3& where) : index(where) {}
  dim3 index;
  enum State : uint8_t { kNew, kReady, kAccess, kSpins, kBarrier, kMeets, kDone } state = kNew;
  const void* pc = nullptr;  // kAccess: of the instruction
  uint32_t fenced = 0;       // the interval in which it last made its work visible to others
  std::unique_ptr<Fiber> fiber;
  At at{nullptr, 0};  // where it waits
  uint32_t idle = 0;  // reads since it last changed something
  // What it brings to a meeting of its warp, and takes from it.
  Meet what = Meet::active;
  const char* call = "";
  Dtype dtype = Dtype::other;
  uint32_t bytes = 0;
  int64_t lane = 0;
  int32_t width = 0;
  uint8_t brings[16] = {}, takes[16] = {};
  uint8_t* everybody = nullptr;         // Meet::gather
  uint32_t group = 0, group_count = 0;  // whom a barrier is for: threads from this number on; 0: the whole block
  // A write to where another thread writes, before it takes effect: the same value does no harm.
  struct {
    uint8_t* data = nullptr;
    uint32_t bytes = 0, other = 0;
    uint8_t before[16] = {};
    const void* pc = nullptr;
  } doubtful;
};

// Who read and wrote four bytes last, and when: `interval` is the time of one block between two barriers.
struct SimtCell {
  static constexpr uint32_t kMany = 4095;  // threads
  static constexpr uint32_t kIntervals = (1u << 19) - 1;
  uint32_t write = 0, read = 0;
  static uint32_t stamp(uint32_t interval, uint32_t thread, bool atomic) {
    return uint32_t(atomic) << 31 | interval << 12 | thread;
  }
  static uint32_t interval(uint32_t stamp) { return stamp >> 12 & kIntervals; }
  static uint32_t thread(uint32_t stamp) { return stamp & 4095; }
  static bool atomic(uint32_t stamp) { return stamp >> 31; }
};

// What a launch knows of the accesses of its threads.
class SimtShadow {
 public:
  static constexpr uint64_t kPage = 4096;
  // Cells stand for four bytes each, and for one where somebody used fewer at a time.
  struct Page {
    std::vector<SimtCell> cells{kPage / 4};
    uint32_t unit = 4;
  };
  Page& page(const void* address, uint32_t bytes) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (at / kPage != last_page_) {
      if (cells_ > kMostCells) make_room();
      last_page_ = at / kPage;
      const auto [it, fresh] = pages_.try_emplace(last_page_);
      last_ = &it->second;
      if (fresh) cells_ += last_->cells.size();
    }
    if (last_->unit > 1 && (at | bytes) % 4) refine(*last_), cells_ += kPage;
    return *last_;
  }
  uint32_t next(int block) {  // an interval
    if (blocks_.size() > SimtCell::kIntervals) make_room(), blocks_.clear();
    if (blocks_.empty()) blocks_.push_back(-1);
    blocks_.push_back(block);
    return uint32_t(blocks_.size() - 1);
  }
  int block(uint32_t interval) const { return interval < blocks_.size() ? blocks_[interval] : -1; }
  std::vector<bool> fenced;  // by block: it made what it wrote visible to others
  explicit SimtShadow(Launch& launch) : launch_(launch) {}
  void fold();  // tells the arguments what was read and written

 private:
  static constexpr size_t kMostCells = 32 << 20;  // 256 MiB of them; then what was seen before is forgotten
  static void refine(Page& page);
  void make_room();
  std::unordered_map<uint64_t, Page> pages_;
  std::vector<int> blocks_;
  Launch& launch_;
  size_t cells_ = 0;
  uint64_t last_page_ = ~uint64_t{0};
  Page* last_ = nullptr;
};

class Simt {
 public:
  Simt(Core& core, const SimtLaunch* kernel, dim3 threads, SimtBody body, At at);  // kernel: one of threads, or NULL
  ~Simt();
  void run();

  Core& core;
  const At at;
  const bool whole;  // the kernel is one of threads: it has no other local memory than arrays
  SimtThread* current = nullptr;
  std::vector<SimtThread> threads;

  const Fiber& fiber() const { return *current->fiber; }  // the running thread's
  [[noreturn]] void abandon();  // the running thread, and with it the block: nothing of it runs again
  void wait(SimtThread::State state, At where);
  void access(const void* address, uint32_t bytes, bool write, bool atomic, const void* pc, const At* where = nullptr);
  void step(const void* pc);  // goes on when it is the turn of this instruction in the warp
  void settle();              // looks at the doubtful write of the running thread
  void idles(uint32_t how);   // the running thread did nothing that others see
  void fence();
  void fetch(const uint8_t* address, At where);  // drops a line of the data cache
  void changed() { current->idle = 0, ++changes_; }

 private:
  friend void simt_main();
  std::string shown(const dim3& thread) const;
  void run_warp(size_t first);
  void enter(SimtThread& thread);
  void meet(size_t first);
  bool release();
  bool release_groups();
  bool is_stopped() const { return stopped_; }
  void stuck();
  void forget(SimtThread& thread);
  bool given(const uint8_t* data) const;
  bool in_ub(const uint8_t* data, uint32_t bytes, bool write, bool atomic, At where);
  bool in_global(uint8_t* data, uint32_t bytes, bool write, At where);
  void race(const uint8_t* data, uint32_t bytes, bool write, bool atomic, const void* pc, const At* where);
  void told(Kind kind, const void* pc, const At* where, std::string what, const uint8_t* data);
  std::string who(uint32_t stamp) const;

  const dim3 sizes_, block_, blocks_;
  const SimtBody body_;
  uint32_t interval_ = 0;
  bool stopped_ = false, impatient_ = false, alone_ = false;  // alone_: no other lane of the warp is there
  uint64_t changes_ = 0;                                      // writes, ends and meetings so far
  // Known ranges, so that most accesses look nothing up.
  uint8_t *ub_ = nullptr, *ub_end_ = nullptr;
  uint8_t *argument_ = nullptr, *argument_end_ = nullptr;  // the last that was read or written
  bool argument_written_ = false;                          // may be
  uint32_t buffer_ = 0, buffer_end_ = 0;                   // the last of UB
  std::vector<uint8_t> touched_;                           // of UB by block of 32 bytes: 1 read, 2 written
};

Simt* simt();  // that runs now, or nullptr

// One element: as an atomic operation leaves it. `compared`: of Atomic::compare.
void simt_combine(Atomic what, Dtype dtype, void* to, const void* value, const void* compared);

// Where in the source an instruction stands.
At place_of(const void* pc);

}  // namespace ophook::rt
