#include "twins.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "communicator.h"

namespace sim::hccl {
namespace {

const char* named_ranks() { return std::getenv("OPHOOK_SIM_REAL_RANKS"); }

// Neighbours that run.
struct Run {
  uint32_t first, size;
};

std::vector<Run> runs() {
  std::vector<Run> out;
  std::istringstream names(named_ranks());
  for (std::string each; std::getline(names, each, ',');) {
    const auto rank = uint32_t(std::atoi(each.c_str()));
    if (!out.empty() && out.back().first + out.back().size == rank) ++out.back().size;
    else out.push_back({rank, 1});
  }
  return out;
}

uint32_t twin(const std::vector<Run>& runs, uint32_t rank) {
  const auto after = std::find_if(runs.begin(), runs.end(), [&](const Run& run) { return run.first > rank; });
  if (after == runs.begin()) throw Refused{HCCL_E_PARA, "OPHOOK_SIM_REAL_RANKS has to begin with rank 0"};
  const Run& run = *std::prev(after);
  return run.first + (rank - run.first) % run.size;
}

}  // namespace

bool ranks_repeated() { return named_ranks() && *named_ranks(); }

std::vector<uint32_t> twins_of(const std::vector<uint32_t>& ranks) {
  std::vector<uint32_t> out;
  if (!ranks_repeated()) {
    for (uint32_t i = 0; i < ranks.size(); ++i) out.push_back(i);
    return out;
  }
  const auto all = runs();
  for (const uint32_t rank : ranks) {
    const uint32_t of = twin(all, rank);
    const auto found = std::find(ranks.begin(), ranks.end(), of);
    if (found == ranks.end())
      throw Refused{HCCL_E_NOT_SUPPORT, "rank " + std::to_string(rank) + " does not run, and rank " +
                                            std::to_string(of) +
                                            ", which it repeats, is not in this group: what it gives does not follow "
                                            "(docs/many-ranks.md)"};
    out.push_back(uint32_t(found - ranks.begin()));
  }
  return out;
}

}  // namespace sim::hccl
