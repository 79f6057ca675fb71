// Ranks that no process runs. Each repeats a rank that one does run, its twin: what it gives to a collective is what
// its twin gives. So a few processes run a program of many ranks, and their results are right where those ranks hold
// the same, as the replicas of data parallel training do.
//
// OPHOOK_SIM_REAL_RANKS names the ranks that run: "0,1,8". The neighbours among them are repeated up to the next of
// them: here 0 and 1 by 2 to 7, and 8 by all above it.
#pragma once

#include <cstdint>
#include <vector>

namespace sim::hccl {

// By place in a communicator of these ranks: the place of its twin, or its own. Throws Refused where a twin is
// elsewhere.
std::vector<uint32_t> twins_of(const std::vector<uint32_t>& ranks);

// Whether there may be such ranks.
bool ranks_repeated();

}  // namespace sim::hccl
