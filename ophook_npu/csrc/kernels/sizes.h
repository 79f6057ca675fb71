// Sizes of results, of dimensions that may be unknown, where a pattern does not say them: aclnn's first phase compares
// outputs with them, and the graph engine infers them.
#pragma once

#include "kernels/dim.h"

namespace sim {

Dim joined(Dim x, Dim y);  // of two that broadcast
// What both broadcast to; false where they do not.
bool broadcast_into(Sizes& all, const Sizes& other);
// Without the dimensions that are gone, or with ones in their place.
Sizes reduced_sizes(const Sizes& in, const Checked<bool>& gone, bool keep);
inline Sizes sizes_of(at::IntArrayRef sizes) { return Sizes(sizes.begin(), sizes.end()); }
Dims known_sizes(const Sizes& sizes);

}  // namespace sim
