// Faults on demand: what fails, where and when, as it was ordered (ophook_npu/sim/fault.py has the grammar). Where
// nothing is ordered, a launch and a run read one number more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sim.h"

extern "C" {
extern SIM_API std::atomic<int> sim_faults_armed;

// One order, as ophook_npu.sim.fault writes it: fields separated by tabs. 107000 and a message where it is none.
SIM_API int sim_fault_add(const char* line, uint64_t* id);
SIM_API void sim_fault_remove(uint64_t id);
SIM_API uint64_t
sim_fault_made(uint64_t id);  // how often it was made, and in `sim_fault_seen` how often its place came
SIM_API uint64_t sim_fault_seen(uint64_t id);
SIM_API void sim_fault_step(void);  // an optimizer of the program has made a step
// The rank of this process where no launcher said it (RANK): of its first communicator.
SIM_API void sim_fault_rank(int rank);
// What the call `name` returns in place of what it does, with its message; 0: it goes on.
SIM_API int sim_fault_call(const char* name);
// The same for what the device does within the call: of `site` "task" a blocking copy, "malloc", "stream".
SIM_API int sim_fault_here(const char* site, const char* name);

typedef enum sim_message_fault {
  sim_message_whole,
  sim_message_dropped,
  sim_message_doubled,
  sim_message_delayed,
  sim_message_no_link
} sim_message_fault;
// What happens to the message that `rank` sends to `peer` in `call`.
SIM_API sim_message_fault sim_fault_message(const char* call, uint32_t rank, uint32_t peer, uint64_t* milliseconds);
// Whether the disk is full for the next write of `file`; errno says so, too.
SIM_API int sim_fault_disk(const char* file);
// The version that a package says in place of its own; NULL: its own.
SIM_API const char* sim_fault_version(const char* package);

// ---- what follows a fault ------------------------------------------------------------------------------------------
typedef struct sim_bad_memory {
  void* address;
  size_t size;
} sim_bad_memory;
// The addresses of a device that an error of its memory told of and nobody has repaired; how many were written.
SIM_API size_t sim_bad_memory_list(int device, sim_bad_memory* out, size_t room);
SIM_API int sim_bad_memory_repaired(int device, const void* address);  // 0: it was not one
// How long a task may run, in milliseconds; 0: for ever. Only tasks that wait or were told to hang ever reach it.
SIM_API void sim_task_limit(uint64_t milliseconds);
SIM_API uint64_t sim_task_limit_ms(void);
// Ends what hangs on the device. `sim_abort_count` changes with every such call, for tasks that wait by themselves.
SIM_API void sim_end_hanging(int device);
SIM_API uint64_t sim_abort_count(int device);
}

namespace sim {
struct Task;

namespace fault {
inline bool on() { return sim_faults_armed.load(std::memory_order_relaxed) != 0; }
// `run(task)` with what was ordered for it.
int run_task(Task& task, int (*run)(Task&));
// What is wrong with the orders that the process began with: a message, or null.
const char* wrong_orders();
}  // namespace fault
}  // namespace sim
