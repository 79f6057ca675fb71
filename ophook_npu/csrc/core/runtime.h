// What libascendcl alone asks of the core, apart from sim.h: that header is in the precompiled one of all operators.
#pragma once

#include "sim.h"

extern "C" {

// The code of the thread's newest failure where it is one of the runtime's (107…, 207…, 507…), else 0. A failure of
// another library ends it: who asks after that failure must not be told of an older one.
SIM_API int sim_last_runtime_error(int clear);
// The file of such memory, for another process; the caller closes the descriptor. And that process's handle of it,
// which takes the descriptor.
SIM_API int sim_share_physical(const char* call, void* handle, int* file, size_t* size, int* device);
SIM_API int sim_import_physical(const char* call, int file, size_t size, int device, void** handle);
// The handle that is mapped at an address; null where none is.
SIM_API void* sim_physical_at(const void* pointer);
// One whose tasks are kept until it belongs to a model that is built (sim_built_bind); cleaning it forgets them.
SIM_API int sim_stream_create_persistent(void** out);
SIM_API int sim_stream_clean(void* stream);
// What is queued is not run any more, but for records of events; who waits for the stream is told 107023.
SIM_API int sim_stream_abort(void* stream);
SIM_API int sim_stream_destroy_by_force(void* stream);  // what has not begun is dropped
SIM_API int sim_streams_left(uint32_t* count);          // that the current device can still have
// A task that failed, for whoever wants to know of all of them; in the stream's own thread.
typedef struct sim_failure {
  uint32_t task;                    // its number on its stream
  uint32_t stream, thread, device;  // the thread that launched it
  int code;
} sim_failure;
SIM_API void sim_on_failure(void (*told)(const sim_failure* failure));  // null: nobody
SIM_API uint32_t sim_last_task(void);  // the number of the task that the calling thread launched last

SIM_API uint32_t sim_next_event_id(void);
SIM_API int sim_event_id(void* event, uint32_t* id);
// One of those that a device has: it is given back when the event is destroyed. 207007 where there is none left.
SIM_API int sim_event_take(const char* caller, void* event);
SIM_API int sim_events_left(uint32_t* count);  // that the current device can still have
SIM_API int sim_event_wait_for(void* stream, void* event, int64_t timeout_ms);  // 107019, as the task's failure
// In a capture, of an event that streams outside of the model wait for, or record: each replay records or waits anew.
SIM_API int sim_event_record_outside(void* event, void* stream);
SIM_API int sim_event_wait_outside(void* stream, void* event);
SIM_API int sim_capture_begin_as(void* stream, int mode);  // aclmdlRICaptureMode; sim_capture_begin: GLOBAL
// 0, or 107030 and a message: what goes on in captures does not allow this thread a call that is no task and touches
// memory of the device now. The thread's own mode may lift that.
SIM_API int sim_capture_allows(const char* call);
SIM_API int sim_capture_exchange_mode(int* mode);
SIM_API int sim_capture_refuses(const char* call, void* stream);          // 0, or 107027: the stream is captured
SIM_API int sim_capture_begin_into(void* stream, void* model, int mode);  // one that sim_model_create made
SIM_API int sim_model_task_stream(void* model, size_t index, int32_t* stream);
SIM_API int sim_model_create(void** model);  // empty
// Of a model that is finished, as the two calls of aclmdlRIGetStreams: `count` alone, or what there is room for. A
// stream of it is a handle of its own, since the stream that was captured may be gone, or be captured again.
typedef enum sim_model_task_type {  // aclmdlRITaskType
  sim_model_task_other,
  sim_model_task_kernel,
  sim_model_task_record,
  sim_model_task_wait,
  sim_model_task_reset,
  sim_model_task_value_write,
  sim_model_task_value_wait,
} sim_model_task_type;
SIM_API int sim_model_streams(void* model, void** streams, uint32_t* count);
SIM_API int sim_stream_tasks(void* stream, void** tasks, uint32_t* count);
SIM_API int sim_model_task(const char* caller, void* task, sim_model_task_type* type, uint32_t* index);
SIM_API int sim_model_task_disable(void* task);  // from the next update of its model on
SIM_API int sim_model_update(void* model);
SIM_API int sim_model_run(void* model);  // in the calling thread, now: a part of another model's replay
// What runs at the beginning of each replay; dropped with the model.
SIM_API int sim_model_starts_with(void* model, sim_run run, void* argument, sim_drop drop);
// Models that are built stream by stream. Those that are heads run from the beginning, the others when a task of the
// model activates them.
SIM_API int sim_built_begin(void** model);
SIM_API int sim_built_bind(void* model, void* stream, int head);
SIM_API int sim_built_unbind(void* model, void* stream);
SIM_API int sim_built_end(void* model);
SIM_API int sim_built_label(void* label, void* stream);  // a place that tasks go on at
typedef struct sim_place {
  void* stream;  // from its beginning on, or NULL: at
  void* label;
} sim_place;
// A task of a bound stream: `choose` says with which place the model goes on (SIZE_MAX: none), in parallel or, where
// `leaves` is set and one was chosen, in place of the stream.
typedef int (*sim_choose)(void* argument, size_t* chosen);
SIM_API int sim_built_flow(void* stream, const char* name, const sim_place* places, size_t count, int leaves,
                           sim_choose choose, void* argument, sim_drop drop);
// From the host to a channel of sim_channel_open (channel.h): 207014 where it stays full. Emptied, or stopped: who
// waits for it is woken, and nothing goes in any more.
SIM_API int sim_channel_put(const void* channel, int timeout_ms, const char* data, size_t size);
SIM_API int sim_channel_size(const void* channel, size_t* size);
SIM_API int sim_channel_empty(void* channel, int stop);
}
