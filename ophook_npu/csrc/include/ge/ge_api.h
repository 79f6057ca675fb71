// The wheel's header, and what newer releases have beside its functions with std::string.
#pragma once
#include "ge/ge_allocator.h"
#include "ge/ge_api_wheel.h"
#include "graph/ascend_string.h"

namespace ge {
GE_FUNC_VISIBILITY AscendString GEGetErrorMsgV2();
GE_FUNC_VISIBILITY AscendString GEGetWarningMsgV2();
}  // namespace ge
