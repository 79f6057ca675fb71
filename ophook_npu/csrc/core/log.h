// CANN's application log, as its pages "Log reference" and "Environment variables" have it: lines of one form, on
// standard output (ASCEND_LOG_PRINT_TO_STDOUT=1) or in debug/plog under ASCEND_PROCESS_LOG_PATH or ASCEND_WORK_PATH.
// Without any of the three nothing is written: a device would fill ~/ascend/log, a laptop's home is left alone.
#pragma once
#include "sim.h"

extern "C" {
enum sim_log_level { sim_log_debug, sim_log_info, sim_log_warning, sim_log_error };
// Whether a line of this module and level would be written: ASCEND_GLOBAL_LOG_LEVEL, ASCEND_MODULE_LOG_LEVEL.
SIM_API int sim_log_wanted(const char* module, int level);
// Writes it if it is wanted. `place` is "file:line", or what takes its place.
SIM_API void sim_log(const char* module, int level, const char* place, const char* text);
// A line for a task that is put on a stream.
SIM_API void sim_log_task(const char* name, int stream, int device);
}
