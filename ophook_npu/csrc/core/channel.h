// Channels between the host and a device, by name: what a graph prints comes through one ("_npu_log"), and the rows of
// a dataset that a graph reads go through another.
#pragma once

#include <stddef.h>

#include "sim.h"

extern "C" {

// Null where there is no such device, or the device has a channel of this name.
SIM_API void* sim_channel_open(int device, const char* name, size_t capacity);
// Who waits for the channel is woken.
SIM_API int sim_channel_close(void* channel);
// For whoever opened the channel; the text is lost where nobody did. Never waits: a channel is as long as it has to be.
SIM_API void sim_channel_send(int device, const char* name, const char* text, size_t size);
// Takes the oldest text, for the caller to free; -1 waits for ever. 207013 where none came in time.
SIM_API int sim_channel_receive(const void* channel, int timeout_ms, char** text, size_t* size);
// The same for a task, which knows the name alone. The host may open the channel only then: it has a minute. 507017
// past aclrtSetOpExecuteTimeOut's limit, 107022 where the device's tasks are aborted.
SIM_API int sim_channel_take(int device, const char* name, char** text, size_t* size);
}
