// Operators of installed packages, run by their type and one by one: libascendcl, which names its operators in the
// order of the prototype, asks libge_runner, which knows the packages. Plain C, as kernels.h.
#pragma once

#include "kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

// Whether a package registers the type and has functions or an AI CPU kernel that run it.
GE_KERNELS_API int ophook_ge_custom_exists(const char* type);
// As ophook_ge_infer; the inputs' values are not looked at.
GE_KERNELS_API int ophook_ge_custom_infer(const ge_call* call, char* error, size_t capacity);
// Puts it onto the stream, all tensors in device memory. Waits for a kernel that tells the shapes of its outputs, which
// are written there: a code greater than 1 is what the stream failed with then.
GE_KERNELS_API int ophook_ge_custom_launch(const ge_call* call, void* stream, char* error, size_t capacity);

#ifdef __cplusplus
}
#endif
