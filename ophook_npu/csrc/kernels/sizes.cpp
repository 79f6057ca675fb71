#include "kernels/sizes.h"

#include <algorithm>

namespace sim {

Dim joined(Dim x, Dim y) { return x == 1 ? y : (y == 1 || !y.known()) ? x : y; }

bool broadcast_into(Sizes& all, const Sizes& other) {
  if (all.size() < other.size()) all.insert(all.begin(), other.size() - all.size(), Dim(1));
  const size_t lead = all.size() - other.size();
  for (size_t i = 0; i < other.size(); ++i) {
    Dim& one = all[lead + i];
    if (one != other[i] && one != 1 && other[i] != 1) return false;
    one = joined(one, other[i]);
  }
  return true;
}

Sizes reduced_sizes(const Sizes& in, const Checked<bool>& gone, bool keep) {
  Sizes out;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!gone[i]) out.push_back(in[i]);
    else if (keep) out.push_back(1);
  }
  return out;
}

Dims known_sizes(const Sizes& sizes) {
  Dims out;
  for (const Dim& dim : sizes) out.push_back(dim.size());
  return out;
}

}  // namespace sim
