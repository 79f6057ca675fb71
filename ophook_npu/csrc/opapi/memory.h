// What an aclnn call needs of the device's memory: the workspace that its caller has to bring, and that all of its
// tensors can be reached when it runs.
#pragma once

#include <string>

#include "opapi/aclnn.h"

namespace sim::aclnn {

// What phase 1 asks for, in bytes.
uint64_t workspace_of(c10::ArrayRef<Given> parameters);

bool in_reach(const Held& parameter);
// Throws what reachable() does, for the tensor that is not.
void tell_unreachable(const std::string& name, const Held& parameter);

}  // namespace sim::aclnn
