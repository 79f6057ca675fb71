// Found only where the torch_npu wheel has no such header (2.10 and before): codes of the graph engine that are used here.
#pragma once
#include <cstdint>

static const uint32_t ACL_ERROR_GE_PARAM_INVALID = 145000;
static const uint32_t ACL_ERROR_GE_INTERNAL_ERROR = 545000;
