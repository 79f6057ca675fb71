// Found only where the torch_npu wheel has no such header (2.10 and before): codes of the graph engine that are used here.
// Some of those wheels have them in another one, which their headers of graphs include as well.
#pragma once
#include <cstdint>

#if __has_include(<ge/ge_error_codes.h>)
#include <ge/ge_error_codes.h>
#else
static const uint32_t ACL_ERROR_GE_PARAM_INVALID = 145000;
static const uint32_t ACL_ERROR_GE_INTERNAL_ERROR = 545000;
#endif
