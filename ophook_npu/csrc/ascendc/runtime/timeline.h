// When each operation of a core would run: an estimate from bytes and elements, and from what waits for what. It shows
// which pipes work side by side; it is no measurement.
#pragma once

#include <utility>
#include <vector>

#include "local_memory.h"
#include "launch.h"

namespace ophook::rt {

struct Slice {
  Pipe pipe;
  const char* call;
  At at{nullptr, 0};
  double start, end;  // cycles
  uint64_t bytes, elements;
};

class Timeline {
 public:
  // A new operation of `pipe`, which comes after `known`; the one before it is over as far as counting goes.
  void begin(Pipe pipe, uint32_t seq, const char* call, At at, const Clock& known, const Clock& issued,
             const Counters& counters);
  void finish(const Counters& counters);  // also before another core runs: counters are common to all
  double latest() const;
  double end_of(Pipe pipe) const { return free_[int(pipe)]; }
  void not_before(double time);
  const std::vector<Slice>& slices() const { return slices_; }

 private:
  double over(const Clock& clock) const;  // when all that the clock knows is over
  bool open_ = false;
  Slice now_{};
  uint32_t seq_ = 0;
  Counters mark_{};
  double free_[kPipes] = {};
  std::vector<std::pair<uint32_t, double>> ends_[kPipes];  // by number; both rise
  std::vector<Slice> slices_;
};

}  // namespace ophook::rt
