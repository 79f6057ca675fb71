#include "timeline.h"

#include <algorithm>

namespace ophook::rt {
namespace {

constexpr size_t kMostSlices = 100000;  // of a core

// Cycles: what an operation takes at least, and how many bytes and elements (products, in the cube) pass in one. Round
// figures of the right size, from the widths of the units; nothing was measured.
struct Cost {
  double least, bytes, elements;
};
constexpr Cost kCosts[kPipes] = {
    {2, 8, 1e9},      // S
    {16, 256, 64},    // V
    {16, 256, 4096},  // M: 16 by 16 by 16 in a cycle
    {24, 256, 1e9},   // MTE1
    {200, 32, 1e9},   // MTE2: device memory
    {200, 32, 1e9},   // MTE3
    {64, 64, 4096},   // FIX
};

}  // namespace

double Timeline::over(const Clock& clock) const {
  double time = 0;
  for (int q = 0; q < kPipes; ++q) {
    auto it = std::upper_bound(ends_[q].begin(), ends_[q].end(), clock.at[q],
                               [](uint32_t seq, const auto& end) { return seq < end.first; });
    if (it != ends_[q].begin()) time = std::max(time, std::prev(it)->second);
  }
  return time;
}

void Timeline::begin(Pipe pipe, uint32_t seq, const char* call, At at, const Clock& known, const Clock& issued,
                     const Counters& counters) {
  finish(counters);
  double& scalar = free_[int(Pipe::S)];
  scalar = std::max(scalar, over(issued)) + 1;  // it issues everything, one in a cycle
  now_ = {pipe, call, at, std::max({free_[int(pipe)], over(known), scalar}), 0, 0, 0};
  seq_ = seq, mark_ = counters, open_ = true;
}

void Timeline::finish(const Counters& counters) {
  if (!open_) return;
  open_ = false;
  now_.bytes =
      counters.copied_in + counters.copied_out + counters.moved - mark_.copied_in - mark_.copied_out - mark_.moved;
  now_.elements = counters.elements - mark_.elements;
  const Cost& cost = kCosts[int(now_.pipe)];
  now_.end = now_.start;
  if (now_.bytes || now_.elements) {
    now_.end += std::max(cost.least, std::max(double(now_.bytes) / cost.bytes, double(now_.elements) / cost.elements));
    if (slices_.size() < kMostSlices) slices_.push_back(now_);
  }
  free_[int(now_.pipe)] = now_.end;
  ends_[int(now_.pipe)].emplace_back(seq_, now_.end);
}

double Timeline::latest() const { return *std::max_element(std::begin(free_), std::end(free_)); }
void Timeline::not_before(double time) {
  for (double& each : free_) each = std::max(each, time);
}

}  // namespace ophook::rt
