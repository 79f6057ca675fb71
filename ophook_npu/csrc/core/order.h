// OPHOOK_SIM_CHECK_ORDER=1: happens-before between streams and the host, and what is not ordered by it.
//
// A stream runs its tasks in the order of their launch, so all that orders them is known when they are launched: the
// check follows the calls of the host and finds a missing event whatever the timing. Lines are the host, whose threads
// count as one in the order of their calls, and each stream. Without the variable nothing here costs more than a look
// at one flag.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace sim {

struct Model;
struct Recording;
struct Stream;
struct Task;

namespace order {

using Clock = std::vector<uint32_t>;  // by line: how many of its tasks came before

struct Line {
  int index = -1;
  Clock clock;
  std::shared_ptr<Line> copies;  // of a stream, where they are not ordered with its kernels
};

struct Bytes {
  bool written;
  const void* pointer;
  uint64_t count;
};

// The memory and the lines of one capture: a graph's own order, before any replay.
struct Inside;

extern std::atomic<bool> checking;
inline bool on() { return checking.load(std::memory_order_relaxed); }

void called();  // by whom: for what this thread launches next; with nothing locked
void launched(Stream& on, Task& task);
void ran(Stream& on, Task& task);  // one that tells later
void captured(Model& model, const Stream& on, const Task& task);
void capture_begun(Model& model);
void capture_ended(Model& model);
void replayed(Stream& on, Model& model);
void recorded(Stream& on, Recording& recording, Model* capture);
void waits(Stream& on, const Recording& recording, Model* capture);
void host_waited(Stream& of);
void host_waited(const Recording& of);
void host_reached(const Clock& clock);            // a host function runs
void ended(Stream& stream, bool waited);          // whether for its tasks
void freed(const char* by, const void* pointer);  // all of its allocation
void freed_host(const char* by, const void* pointer, size_t size);

}  // namespace order
}  // namespace sim

// From here on, or no longer; what it was. What came before is taken to be over.
extern "C" __attribute__((visibility("default"))) int sim_order_check(int on);
// Whether pinned copies to the device are ordered with the kernels of their stream; what it was.
extern "C" __attribute__((visibility("default"))) int sim_order_pinned_copies(int ordered);
