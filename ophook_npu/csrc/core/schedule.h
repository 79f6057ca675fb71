// OPHOOK_SIM_JITTER: one order of tasks that no edge forbids, decided by a number and not by time.
//
// Tasks run one at a time, each before its launch returns; those that are delayed run when the host waits for something
// and nothing else can run. What waits for others (collectives, notifies, the host's functions) runs beside them. So a
// program with one thread gets the same order from the same number, and a missing edge the same wrong result.
//   OPHOOK_SIM_JITTER=SEED          every fourth launch is delayed, which ones is the seed's
//   OPHOOK_SIM_JITTER=only:3,17,40  these, counted from 1 in the order of launches of the process; only: none
//   OPHOOK_SIM_SCHEDULE_LOG=FILE    a JSON line for each delayed launch
#pragma once

#include <functional>

namespace sim {

struct Recording;
struct Stream;
struct Task;

namespace schedule {

extern const bool deciding;
inline bool on() { return deciding; }

void numbered(const Stream& on, Task& task);  // by the host, with nothing locked
void launched(const Stream& on, Task& task);  // it is in the stream's queue
void settle();                                // by the host: what may run has run
void turn(const Stream& of);                  // by the stream's thread: waits until the task may run
void ran(const Stream& of);

// The host waits within its scope; delayed tasks run as far as that needs them.
class HostWait {
 public:
  explicit HostWait(const Stream& of);  // all that was launched on it
  explicit HostWait(Recording& recording);
  HostWait();  // for nothing in particular: one delayed task runs
  ~HostWait();
  HostWait(const HostWait&) = delete;

 private:
  void begin(std::function<bool()> over);
  std::function<bool()> over_;
};

}  // namespace schedule
}  // namespace sim
