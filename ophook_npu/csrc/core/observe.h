// What ran, and when, for one who asks: a profiler. Where nobody does, a launch and a run read one pointer more.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "sim.h"

namespace sim {

struct Task;

// Where a task comes from: what a trace draws between a call of the host and its task. All zero where nobody observed.
struct Launch {
  uint64_t connection = 0;  // one a launch, counted from 1
  uint64_t ns = 0;
  uint32_t thread = 0;
};

extern std::atomic<const sim_observer*> watching;
inline const sim_observer* observer() { return watching.load(std::memory_order_relaxed); }

inline uint64_t nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}
// The clock that torch_npu's profiler stamps its operators with.
inline uint64_t raw_ns() { return nanoseconds(CLOCK_MONOTONIC_RAW); }

uint32_t this_thread();  // as the system numbers it
Launch launch_now();
void tell_launched(const Task& task);  // the launch is over
// On a stream's thread: `run(task)`, told to the observer as launched by `launch`, out of captured model `model`.
constexpr uint32_t kNoModel = UINT32_MAX;
int run_observed(Task& task, const Launch& launch, uint32_t model, int (*run)(Task&));

}  // namespace sim
