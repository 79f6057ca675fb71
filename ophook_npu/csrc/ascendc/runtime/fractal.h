// What the operations of the cube unit share.
#pragma once

#include "access.h"

namespace ophook::rt {

constexpr uint64_t kFractal = 512;  // bytes: 16 rows of 32

// False, after a finding.
bool within(Operation& op, const char* name, uint64_t value, uint64_t least, uint64_t most);
bool placed(Operation& op, const Local& tensor, bool right, const char* role, const char* where);

}  // namespace ophook::rt
