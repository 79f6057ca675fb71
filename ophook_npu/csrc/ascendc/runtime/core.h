// One run of a kernel: the launch, its cores, and what each of them knows.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "ascendc/runtime.h"
#include "device_memory.h"
#include "launch.h"
#include "local_memory.h"
#include "timeline.h"

namespace ophook::rt {

enum class Kind : uint8_t {
#define FINDING(kind, severity, todo) kind,
#include "findings.inc"
#undef FINDING
  kCount
};
enum class Severity : uint8_t { error, strict, note };
Severity severity_of(Kind kind);
const char* name_of(Kind kind);
const char* advice_of(Kind kind);
const char* name_of(Dtype dtype);
const char* name_of(Pipe pipe);
uint32_t size_of(Dtype dtype);
std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));

struct Finding {
  Kind kind;
  std::string call, file, buffer, what;
  int line;
  int core;
  int64_t tile;
  uint64_t count = 1;
  uint64_t followed = 0;  // findings that follow from it
};

// Which call a sequence number belongs to, and what it comes after. Old ones are forgotten.
struct Site {
  uint32_t seq = 0;
  const char* call = nullptr;
  At at{nullptr, 0};
  bool fills = false;  // a copy from device memory to local memory
  Clock after;
};

struct Buffer {
  enum State : uint8_t { kFree, kTaken, kQueued, kOut, kPlain } state = kFree;
  Memory memory = Memory::ub;
  uint32_t offset = 0, bytes = 0, generation = 0;
  int32_t queue = -1;
  int position = 0;
  const char* call = "";     // that made it
  At at{nullptr, 0};         // of that call
  At taken{nullptr, 0};      // of the last AllocTensor, EnQue or DeQue
  Clock ready{}, emptied{};  // what EnQue and FreeTensor let the other side know
  Clock copied{}, sent{};    // of a queue of VECCALC the same, between MTE2 and MTE3
  bool freed = false;        // FreeTensor took an event for it, until AllocTensor
  bool given_back = false;   // by the pipe that took it, without EnQue
  Clock filled{};            // what that pipe knew then
};
// As a vector; the first four take no memory of their own, and seldom are there more.
template <typename T>
class Few {
 public:
  size_t size() const { return size_; }
  bool empty() const { return !size_; }
  T* begin() { return size_ > std::size(few_) ? more_.data() : few_; }
  T* end() { return begin() + size_; }
  const T* begin() const { return const_cast<Few*>(this)->begin(); }
  const T* end() const { return begin() + size_; }
  T& operator[](size_t i) { return begin()[i]; }
  void push_back(T value) {
    if (size_ == std::size(few_)) more_.assign(few_, few_ + size_);
    if (size_ >= std::size(few_)) more_.push_back(value);
    else few_[size_] = value;
    ++size_;
  }
  void erase(T* one) {
    std::copy(one + 1, end(), one);
    if (size_ == std::size(few_) + 1) std::copy_n(more_.data(), std::size(few_), few_);
    else if (size_ > std::size(few_)) more_.pop_back();
    --size_;
  }

 private:
  T few_[4];
  std::vector<T> more_;  // all of them, where it is more than four
  size_t size_ = 0;
};
struct QueueState {
  int from = 0, to = 0, depth = 0;
  Few<int32_t> buffers, waiting;
  size_t next = 0;  // the buffer that AllocTensor looks at first
  At at{nullptr, 0};
};
// A part of a local memory that queues and buffers are made in.
struct PoolState {
  Memory memory = Memory::ub;
  uint32_t offset = 0, bytes = 0, used = 0, most = 0, count = 0;  // most: of buffers
  std::vector<int32_t> buffers;
};
struct Flag {
  bool set = false;
  uint32_t before = 0;  // the operation that it is set with comes behind this one; 0: it is over
  Clock clock{};
  At at{nullptr, 0};
};
// What pipes of a core hold by turns.
struct Mutex {
  int held = -1;  // by which pipe
  bool waits = true;
  Clock over{};  // what was done before its unlocks
  At at{nullptr, 0};
};
constexpr int kMutexes = 32;
// What CrossCoreSetFlag tells the cores that wait: which operations of every core are over.
struct Message {
  std::vector<Clock> over;  // by core
  double time = 0;          // on the time line
  At at{nullptr, 0};
};
constexpr int kCrossFlags = 16;
// Lines of a core's data cache: those that it wrote and has not written back, and those that it fetches anew when it
// reads them.
struct CacheLines {
  static constexpr uint64_t kBytes = 64;
  std::set<uint64_t> dirty, fresh, fetched;  // fetched: since all were fresh
  bool all_fresh = false;
  bool fetch(uint64_t line) { return fresh.erase(line) || (all_fresh && fetched.insert(line).second); }
};
// A copy that has not taken effect yet (--dma on-wait).
struct Pending {
  uint32_t seq;
  Pipe pipe;
  std::function<void()> run;
};

struct Stopped {};  // thrown through the kernel to end a core
// What a core saw when it last looked at memory that other ranks write.
struct Look {
  const uint8_t* data = nullptr;
  std::vector<uint8_t> seen;
  std::chrono::steady_clock::time_point since;
};

struct Launch;
class SimtShadow;
namespace comm {
struct Communication;
}
class Fiber;
// What a core needs while it runs, too large to be made for each: one that has ended leaves it to the next.
struct Workplace {
  explicit Workplace(const LocalSizes& sizes);
  ~Workplace();
  LocalMemories memory;
  std::unique_ptr<Fiber> fiber;
  std::vector<Buffer> buffers;     // without contents between two cores: their room is what it keeps
  std::vector<QueueState> queues;  // as buffers
  bool flagged = false;            // an event was set
  bool abandoned = false;          // its fiber left for good
  Flag flags[kPipes][kPipes][8];
  Site sites[4096];  // those of a core before have numbers that this one has not come to
  void reset();
};

class Core {
 public:
  Core(Launch& launch, int index, int block, int sub, bool vector);
  Launch& launch;
  const int index, block, sub;
  const bool is_vector;
  // kTask: it waits for a task of communication, or for a message.
  enum State : uint8_t { kReady, kSyncAll, kCross, kTask, kDone } state = kReady;
  bool syncs_vectors = false;  // kSyncAll: without the cube cores
  bool serves = false;         // a group of cube cores
  uint32_t asked = 0;          // how often in a row for a message that is not free
  uint32_t ub_end = 0;         // bytes at the end of UB that are no buffer's
  int phase = 0;               // how many SyncAll lie behind it
  At waits_at{nullptr, 0};
  std::function<bool()> until;         // kTask: whether it is over
  std::function<std::string()> never;  // kTask: why it never will be, where nothing is under way
  Look look;

  std::unique_ptr<Workplace> place;  // while it runs
  LocalMemories* memory = nullptr;   // of its place
  std::vector<Buffer> buffers;
  size_t past = 0;  // so many of them were an earlier TPipe's: tensors and TBufs of them lie where they lay
  std::span<Buffer> given_away() { return std::span(buffers).subspan(past); }
  std::map<std::tuple<std::string, int, std::string, uint64_t>, int32_t>
      arrays;  // buffers of the C interface, by declaration
  std::vector<QueueState> queues;
  std::vector<PoolState> pools;
  uint32_t used[8] = {};        // bytes of each local memory that InitBuffer gave away
  const void* giver = nullptr;  // the TPipe whose buffers there are, and where it gave the first one
  At gave_at{nullptr, 0};
  Few<void*> pipes;  // TPipe objects, newest last

  uint32_t seq = 0, told = 0;  // told: at the newest message to other cores
  Clock known[kPipes] = {};    // known[p][q]: the newest operation of q that p's next one comes after
  uint32_t newest[kPipes] = {};
  uint32_t fence[kPipes] = {};  // PipeBarrier
  uint8_t held_events[kPipes][kPipes] = {};
  std::vector<Pending> pending;
  Timeline timeline;
  std::map<int, std::vector<Message>> outbox, inbox;  // by flag: set here; set for this core
  int waits_for = -1;                                 // a flag of the inbox
  int waits_between = -1;                             // IBWait: the core whose event it waits for
  std::vector<Clock> seen;                            // operations of other cores that are over, by core
  CacheLines cache;
  uint32_t merged[4] = {};  // what the last MrgSort took of each list

  int64_t control = 0;  // the control register: bits that are not as usual
  int64_t flags_address = 0;
  bool saturates = true;  // what GetSaturationFlag says of floats
  bool clamps = false;    // the kernel asked for it: until then they are infinite, as a host leaves a device
  bool cuts = false;      // conversions to whole numbers: its bit 59, by set_ctrl
  float deq_scale = 0;    // what SetDeqScale set
  bool has_deq_scale = false;
  std::optional<uint64_t> dequantization;  // what SetDeqScale set for int16_t
  std::optional<Local> dequantization_table;
  std::array<std::array<uint64_t, 8>, 8> address_registers{};  // VA0 to VA7 of asc_set_va_reg
  uint64_t last_sum = 0;                                       // of ReduceSum: its bits
  float last_extreme = 0;                                      // of ReduceMax, ReduceMin and ReduceRepeat with either
  uint32_t last_place = 0;
  uint64_t gathered = 0;  // by the last GatherMask
  struct Overcommit {
    Memory memory;
    const char* call;
    At at;
    std::string what;
  };
  std::vector<Overcommit> overcommits;  // of each memory the first buffer that ends beyond it
  const Overcommit* overcommitted(Memory memory) const {
    for (const Overcommit& one : overcommits)
      if (one.memory == memory) return &one;
    return nullptr;
  }
  SqueezedBytes squeezed;
  CopyLoops loops_in, loops_out;
  Dimensions dimensions;
  std::map<int, Mutex> mutexes;
  uint32_t allocated_mutexes = 0;  // a bit of each that AllocMutexID gave
  bool mask_by_count = false;
  uint64_t mask_low = ~uint64_t{0}, mask_high = ~uint64_t{0};
  int atomic_operation = 0;
  uint16_t store_type = 0;
  Dtype atomic_dtype = Dtype::other;
  // What a copy out does: an operation needs a type, which the control register has by itself.
  int atomic_kind() const { return atomic_dtype == Dtype::other ? 0 : atomic_operation; }
  std::vector<std::vector<char>> kept;            // what tensors point to
  std::vector<uint8_t> sparse;                    // the index of each fractal in L0B, a quarter of its size
  std::string not_loaded;                         // which factor of the last product was not, and where
  bool hf32 = false;                              // factors of float are rounded
  int hf32_ties = 0;                              // Ties
  std::shared_ptr<void> fixpipe, image, picture;  // FixpipeSettings, ImageSettings, ImageFunctions
  uint8_t compared[16] = {};                      // the register that Compare without a destination writes
  std::optional<uint64_t> pad_value;              // the bits that SetPadValue set
  At last_at{nullptr, 0};                         // the last operation's place and name
  const char* last_call = "kernel";
  void* stray = nullptr;   // the address of a plain access that failed; none: the stack is used up
  At tile_at{nullptr, 0};  // the first copy from device memory: how often it ran numbers the tiles
  int64_t tile = -1;

  // The next operation of `pipe`; `call` must live as long as the process.
  uint32_t begin(Pipe pipe, const char* call, At at);
  void join(Pipe pipe, const Clock& clock, bool from_another = true);
  Clock snapshot(Pipe pipe) const;
  // Runs the pending copies that somebody has waited for.
  void settle() {
    if (!pending.empty()) run_settled();
  }
  void settle_all();
  const Site* site(uint32_t number) const;
  std::string where(uint32_t number) const;  // "DataCopy at line 12"

  int cause = -1;  // the first finding of this core that left something undone: what is missing later follows from it
  void report(Kind kind, const char* call, At at, std::string what, std::string buffer = {});
  [[noreturn]] void stop();     // ends this core
  [[noreturn]] void abandon();  // the same, where nothing may be unwound
  std::string describe(const Local& tensor) const;
  // The end of the buffer that it was taken from.
  uint64_t end_of(const Local& tensor) const {
    const Buffer& b = buffers[size_t(tensor.buffer)];
    return uint64_t(b.offset) + b.bytes;
  }
  bool saw(int other, Pipe pipe, uint32_t number) const {
    return size_t(other) < seen.size() && number <= seen[size_t(other)].at[int(pipe)];
  }
  // False, after a finding, where the tensor cannot be used at all.
  bool usable(const Local& tensor, const char* call, At at);

 private:
  void order(Pipe pipe, const char* call, At at);
  void run_settled();
};

// Cores lie in one piece of memory, which a thread keeps for its next launch.
struct EndsCore {
  void operator()(Core* core) const { std::destroy_at(core); }
};

// A copy of what was never computed to device memory.
struct Uncomputed {
  Core* core;
  Argument* argument;
  const char* call;
  At at;
  std::string what, buffer;
  int64_t tile;
};

struct Launch {
  Launch(const Options& chosen, const LocalSizes& local)
      : options(chosen), orders(chosen.checks || chosen.on_wait || chosen.timeline), sizes(local) {}
  const Options& options;
  const bool orders;  // somebody asks which operations are over when another begins
  const LocalSizes sizes;
  const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  std::vector<char> room;  // of the cores
  std::vector<std::unique_ptr<Core, EndsCore>> cores;
  DeviceMemory memory;
  std::vector<Uncomputed> uncomputed;
  std::vector<Finding> findings;
  std::map<std::string, size_t> known;  // finding by kind, place and text
  uint64_t tiling_key = 0;
  const uint8_t* tiling = nullptr;
  uint64_t tiling_bytes = 0;
  uint8_t* workspace = nullptr;
  const ascendc_wires* wires = nullptr;
  std::vector<const void*> contexts;  // of its groups
  int blocks = 1, subs = 1;
  std::map<std::pair<int, int>, std::vector<Message>> between;  // IBSet, by core and event
  std::map<uint64_t, Message> written_back;                     // by line: what its writers had done
  std::map<const void*, Message> sent;                          // by place: what the writer of a message had done
  std::map<const void*, int> bound;                             // queues of messages, and whose they are
  std::shared_ptr<SimtShadow> simt;                             // where it has threads
  uint64_t dynamic_ub = 0;                                      // bytes that <<<>>> gave `extern __ubuf__` arrays
  bool failed = false;
  std::string output;  // of printf and DumpTensor
  std::vector<std::unique_ptr<Workplace>> spare;
  Counters counters{};
  std::shared_ptr<comm::Communication> communication;  // nullptr: no Hccl object was used

  bool checks() const { return options.checks; }
  bool wanted(Severity severity) const { return severity != Severity::strict || options.strict; }
};

// Every operation comes through these: where nobody asks for an order, they do no more than count.
inline uint32_t Core::begin(Pipe pipe, const char* call, At at) {
  ++seq;
  ++launch.counters.instructions;
  last_call = call, last_at = at;
  if (launch.orders) order(pipe, call, at);
  return seq;
}
inline void Core::join(Pipe pipe, const Clock& clock, bool from_another) {
  if (!launch.orders) return;
  // What another pipe waited for of this one's is over, as after a PipeBarrier.
  if (from_another) fence[int(pipe)] = std::max(fence[int(pipe)], clock.at[int(pipe)]);
  known[int(pipe)].learn(clock);
}
inline Clock Core::snapshot(Pipe pipe) const {
  if (!launch.orders) return {};
  Clock clock = known[int(pipe)];
  clock.learn(known[int(Pipe::S)]);  // an instruction is issued after what the scalar unit waited for
  clock.at[int(pipe)] = newest[int(pipe)];
  return clock;
}

// Which operations are over (sync.cpp): when `pipe` comes here, of two messages, and what a core knows after one.
Message message_of(Core& c, Pipe pipe, At at);
void merge(Message& into, const Message& other);
void learn(Core& c, const Message& message);

extern constinit thread_local Core* running_core;
inline Core& core() { return *running_core; }  // that runs now
inline Core* core_or_null() { return running_core; }
inline void set_core(Core* now) { running_core = now; }
void yield_core();  // lets another core run

}  // namespace ophook::rt
