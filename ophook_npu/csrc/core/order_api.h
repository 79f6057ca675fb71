// For the libraries above: what the check of order takes beside memory (order.h). Beside sim.h, which everything
// includes.
#pragma once

#include "sim.h"

#ifdef __cplusplus
extern "C" {
#endif

SIM_API int sim_order_on(void);
// A mistake in the order of two things that is none of memory, for the report: each is a text, the places may be empty.
SIM_API void sim_order_tell(const char* kind, const char* first, const char* first_at, const char* second,
                            const char* second_at, const char* where, const char* missing);

#ifdef __cplusplus
}
#endif
