// Memory of which a device lets more pass than it gave out, and what is said of that.
#pragma once

#include "sim.h"

extern "C" {

// As sim_malloc_by; `pages` are the bytes of the pages that hold the allocation: what goes on to their end passes, with
// a warning. In strict mode only `size` may be used.
SIM_API int sim_malloc_pages(const char* call, const void* caller, size_t size, size_t reach, size_t pages, void** out);

// What goes well on a device and is not meant to: in CANN's log where it is printed, else on standard error.
SIM_API void sim_warn(const char* format, ...) __attribute__((format(printf, 1, 2)));
SIM_API int sim_is_reserved(const void* pointer);  // by sim_reserve_address, mapped or not
}
