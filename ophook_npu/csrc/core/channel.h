// Channels from a device to the host, by name: what a graph prints comes through one ("_npu_log").
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
}
