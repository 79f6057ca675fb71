// For the libraries above: what the check of order takes beside memory (order.h). Beside sim.h, which everything
// includes.
#pragma once

#include "sim.h"

extern "C" {

SIM_API int sim_order_on(void);
// As sim_launch, for a task that knows what it reads and writes only when it has run: it says so meanwhile, by
// sim_order_touched. With the check, the launch waits for it, two seconds at most, and orders nothing by that.
SIM_API int sim_launch_telling_later(void* stream, const char* name, sim_run run, void* argument, sim_drop drop);
SIM_API void sim_order_touched(int writes, const void* pointer, uint64_t bytes);
// Within what a task of a stream gives back when it has run (sim_drop): an allocation of the device which others may
// have as well. Whoever frees it in the end has what was launched up to this task behind it.
SIM_API void sim_order_let_go(const void* allocation);
// Memory that other processes have as well: pages of this file, which begin there; till it is taken back.
SIM_API void sim_order_share(const void* memory, uint64_t bytes, uint64_t file, uint64_t offset);
SIM_API void sim_order_unshare(const void* memory, uint64_t bytes);
// Within a task that runs: it has written there; it has waited for what other processes write.
SIM_API void sim_order_put(const void* memory, uint64_t bytes);
SIM_API void sim_order_awaited(void);
// An event that processes share, by a name that they all know: after the launch of its record of this number, or of a
// wait for all up to it.
SIM_API void sim_order_event(void* stream, const char* name, uint64_t number, int waits);
SIM_API void sim_order_event_came(const char* name, uint64_t number);  // the host has seen it
// A mistake in the order of two things that is none of memory, for the report: each is a text. Of the
// places, NULL is the caller's, and one may be empty.
SIM_API void sim_order_tell(const char* kind, const char* first, const char* first_at, const char* second,
                            const char* second_at, const char* where, const char* missing);
}
