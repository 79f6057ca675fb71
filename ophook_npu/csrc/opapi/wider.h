// Where ATen has no kernel for the data types of a call, or wants one type for tensors that have several, and the
// device takes them: the same row on copies in wider types.
#pragma once

#include "opapi/places.h"

namespace sim::aclnn {

// Whether it was computed so. ATen refuses types before it writes anything, but a row that updates several tensors may
// have written some of them: such a row is not begun anew.
bool compute_wider(const Row& row, const GivenList& given, HeldList& held);

}  // namespace sim::aclnn
