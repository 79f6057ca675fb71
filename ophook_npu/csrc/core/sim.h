// The simulated Ascend's core: one process-wide set of devices, their memory, streams, events and captured models.
//
// Every simulated CANN library links libophook_sim_core.so and nothing else of ours. The interface is plain C, because
// the graph engine is compiled with the old C++ string ABI and the operator library with the new one.
//
// Functions that return int return an ACL error code (acl/error_codes/rt_error_codes.h), 0 for success, and leave the
// reason in the calling thread's message (sim_error_message). Sizes are bytes, times microseconds.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SIM_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

// ---- errors ----------------------------------------------------------------------------------------------------
// Stores "[simulated Ascend] <message>" for this thread and returns `code`.
SIM_API int sim_fail(int code, const char* format, ...) __attribute__((format(printf, 2, 3)));
// The same for a call that the simulator does not implement: names it, returns ACL_ERROR_API_NOT_SUPPORT (200001).
SIM_API int sim_unimplemented(const char* what);
// The thread's last message, or NULL; reading clears it, as aclGetRecentErrMsg does. Valid until the next sim call.
SIM_API const char* sim_error_message(void);

// ---- devices ---------------------------------------------------------------------------------------------------
typedef struct sim_soc {
  const char* name;  // "Ascend910B4"
  uint64_t memory;   // device memory
  int cube_cores;    // AI cores
  int vector_cores;
  uint64_t l2;       // level 2 cache
  int aclnn_only;    // no aclop path on this SoC
  int malloc_added;  // bytes that aclrtMalloc adds to the multiple of 32
} sim_soc;

SIM_API int sim_init(void);                    // reads OPHOOK_SIM_SOC, OPHOOK_SIM_DEVICES, OPHOOK_SIM_MEMORY
SIM_API const sim_soc* sim_current_soc(void);  // NULL before sim_init
SIM_API int sim_device_count(void);
SIM_API int sim_set_device(int device);          // for the calling thread
SIM_API int sim_set_default_device(int device);  // for threads that set none; -1: they have none (the initial state)
SIM_API int sim_get_device(int* device);         // 107002 where the thread set none and there is no default
// The same for a call that asks for a context and touches no stream, as CANN's check does.
SIM_API int sim_require_device(const char* caller);
SIM_API int sim_reset_device(int device);  // drains and destroys its streams
// How often a device is in use is counted over all threads of the process; the last release resets it, or `all` does.
SIM_API void sim_retain_device(int device);  // one that sim_set_device took
SIM_API int sim_release_device(const char* caller, int device, int all);
SIM_API int sim_synchronize_device(int64_t timeout_ms);  // current device, -1 waits for ever
SIM_API void* sim_context(int device);                   // the device's one context
SIM_API int sim_context_device(void* context);           // -1 if it is not a context
// A context that the program made, for the calling thread until it sets a device; streams made in it are its own.
SIM_API void sim_use_context(void* context);
SIM_API void* sim_used_context(void);  // NULL: the device's one

// ---- memory ----------------------------------------------------------------------------------------------------
// OPHOOK_SIM_STRICT_MEMORY=1: the host faults where it reads or writes device memory itself, and is told what it was.
SIM_API int sim_malloc(size_t size, void** out);  // current device; 207001 when its memory is used up
SIM_API int sim_free(void* pointer);              // what runs now may use it to its end
SIM_API int sim_malloc_host(size_t size, void** out);
// The same for the function `call`, a literal, that was called at `caller`: for what is told of the memory. `reach` are
// the bytes that the function is documented to allocate for `size`; in strict mode only `size` may be used.
SIM_API int sim_malloc_by(const char* call, const void* caller, size_t size, size_t reach, void** out);
// With `one_address` a device has it at the host's address when it is registered, and copies take it from there.
SIM_API int sim_malloc_host_by(const char* call, const void* caller, size_t size, int one_address, void** out);
// Registers memory of the host: `mapped` for kernels, which find it at `device_address`, `pinned` to stay where it is.
SIM_API int sim_host_register(const char* call, void* pointer, size_t size, int mapped, int pinned,
                              void** device_address);
SIM_API int sim_host_unregister(void* pointer);
SIM_API int sim_host_device_pointer(void* pointer, void** out);
// Whether the program has pages at all of these bytes; a copy of others would end it.
SIM_API int sim_host_has(const void* pointer, size_t size);
// Whether a copy takes these bytes as a device's (`as_device`), which have to lie in one allocation, or in mapped
// handles that adjoin; or as the host's: what is known to be no memory of the host is not.
SIM_API int sim_copy_takes(const void* pointer, size_t size, int as_device);
SIM_API int sim_free_host(void* pointer);
SIM_API int sim_memory_info(size_t* free_bytes, size_t* total);  // current device
// The device that `pointer` lies in and the bytes left behind it; -1 for memory that is not a device's.
SIM_API int sim_memory_device(const void* pointer, size_t* bytes_left);
SIM_API int sim_memory_block(const void* pointer, void** begin, size_t* bytes);  // the same, with all of its allocation
SIM_API int sim_is_pinned(const void* pointer);
// Whether the address is, was or adjoins memory that a call gave out, registered or reserved; what the host has mapped
// since at addresses that were freed is not.
SIM_API int sim_memory_known(const void* pointer);
// Whether a kernel can reach all of these bytes: they lie in one piece of memory, of a device or registered for it.
SIM_API int sim_memory_reach(const void* pointer, size_t size);
// What these bytes are: the pointer, the allocation, what made it, and whether they leave it. Valid until the thread's
// next call.
SIM_API const char* sim_memory_text(const void* pointer, size_t size);
// NULL where a kernel can reach these bytes, or there are none; else the sentence that its failure
// (ACL_ERROR_RT_AICORE_EXCEPTION) says of `what`: how many they are, that they are not in device memory, and the text
// above. Valid as long.
SIM_API const char* sim_memory_problem(const char* what, const void* pointer, size_t size);
// Between these two the calling thread uses device memory: what others free meanwhile stays mapped, and in strict mode
// it can be read and written. Tasks are within such a pair. They nest.
SIM_API void sim_memory_open(void);
SIM_API void sim_memory_close(void);
// The file by which other processes map these bytes of device memory too, and where in it they begin; the caller closes
// the descriptor. The first time the pages of their allocation become a file's: nothing may use it meanwhile.
SIM_API int sim_share_memory(const char* call, void* pointer, size_t size, int* file, size_t* offset);
// Virtual memory, as torch_npu's expandable segments use it.
SIM_API int sim_reserve_address(size_t size, void** out);
SIM_API int sim_release_address(void* pointer);
SIM_API int sim_malloc_physical(size_t size, int device, void** handle);
SIM_API int sim_free_physical(void* handle);
SIM_API int sim_map(void* pointer, size_t size, size_t offset, void* handle);
SIM_API int sim_unmap(void* pointer);

// ---- streams ---------------------------------------------------------------------------------------------------
// A NULL stream is the current device's default stream.
SIM_API int sim_stream_create(void** out);
SIM_API int sim_stream_destroy(void* stream);                          // waits for its work
SIM_API int sim_stream_synchronize(void* stream, int64_t timeout_ms);  // returns the first failure of its work
SIM_API int sim_stream_query(void* stream, int* done);
SIM_API int sim_stream_id(void* stream, int32_t* id);
SIM_API int sim_stream_device(void* stream, int* device);
SIM_API void* sim_default_stream(int device);
// Stop on failure: what is queued behind a failed task is not run, and the failure stays with the device until it is
// reset or its tasks are aborted (failure.h); OPHOOK_SIM_AFTER_FAILURE=continue: until a synchronization has told it.
SIM_API int sim_stream_stop_on_failure(void* stream, int on);

// Runs `run(argument)` on the stream's thread after everything launched before. A result other than 0 becomes the
// stream's sticky error. `drop(argument)` is called once, when the task can run no more: after its run, or, where the
// stream is being captured, when the captured model is destroyed (run is then called once for each replay).
// With OPHOOK_SIM_SYNC=1 the task runs before the call returns and its error is returned here.
typedef int (*sim_run)(void* argument);
typedef void (*sim_drop)(void* argument);
SIM_API int sim_launch(void* stream, const char* name, sim_run run, void* argument, sim_drop drop);

// ---- what ran, and when ----------------------------------------------------------------------------------------
// One observer (libmsprofiler) is told of each task that ran on a stream, by the stream's own thread, and of calls of
// the host. Times are nanoseconds of CLOCK_MONOTONIC_RAW. A task that was launched before, or still runs when nobody
// observes any more, is not told of as a whole.
typedef enum sim_task_kind { sim_task_other, sim_task_operator, sim_task_communication, sim_task_host } sim_task_kind;
// Takes what a task says of itself. Strings and dims are valid during the call; dtype is an aclDataType.
typedef struct sim_listener {
  void (*type)(struct sim_listener* self, const char* type);  // the operator's; else it is the task's name
  void (*node)(struct sim_listener* self, const char* name);  // in a graph, or the communicator's name
  void (*tensor)(struct sim_listener* self, int is_output, int dtype, const int64_t* dims, size_t rank);
  // Memory that it reads or writes (1; 2: it reads what it writes), of elements of `item` bytes; strides are in
  // elements, NULL: contiguous. NULL where the listener does not ask.
  void (*touch)(struct sim_listener* self, int writes, const void* pointer, size_t item, const int64_t* sizes,
                const int64_t* strides, size_t rank);
  // Other ranks whose task of the same name and turn belongs to it: each that writes waits for those that read, or
  // where `both` each for the other. NULL: does not ask.
  void (*meet)(struct sim_listener* self, const char* name, int both);
  void (*graph)(struct sim_listener* self, const char* name);  // that the node is of. NULL: does not ask
} sim_listener;
typedef struct sim_about {
  sim_task_kind kind;
  void (*tell)(const void* argument, sim_listener* listener);  // of the launch's argument; NULL: nothing to tell
} sim_about;
// As sim_launch; `about` must live for ever.
SIM_API int sim_launch_about(void* stream, const char* name, const sim_about* about, sim_run run, void* argument,
                             sim_drop drop);

typedef struct sim_task_run {
  const char* name;
  sim_task_kind kind;
  int device;
  int32_t stream;
  uint32_t number;      // on its stream
  uint32_t model;       // the captured model that was replayed; UINT32_MAX: none
  uint64_t connection;  // of the launch; 0: nobody observed then
  uint64_t launched_ns, begin_ns, end_ns;
  uint32_t thread;  // that launched it
  int failed;
} sim_task_run;
typedef enum sim_call_level { sim_level_acl, sim_level_node } sim_call_level;
typedef struct sim_call_made {
  const char* name;
  sim_call_level level;
  uint64_t connection;  // of the launch that a call of sim_level_node is
  uint64_t begin_ns, end_ns;
  uint32_t thread;
} sim_call_made;
typedef struct sim_observer {
  void (*task)(const sim_task_run* run, const void* task);  // sim_task_tell(task, …) within it
  void (*call)(const sim_call_made* call);
} sim_observer;
typedef enum sim_watcher { sim_watcher_profiler, sim_watcher_dump, sim_watcher_tool, sim_watchers } sim_watcher;
// Never freed: threads may be within a call. NULL: nobody.
SIM_API void sim_observe(sim_watcher watcher, const sim_observer* who);
SIM_API void sim_task_tell(const void* task, sim_listener* listener);
// Around a call of the host, for the observer: 0, and nothing, where there is none.
SIM_API uint64_t sim_call_begin(void);
SIM_API void sim_call_end(const char* name, uint64_t begin);

// ---- order (order.h); nothing without OPHOOK_SIM_CHECK_ORDER=1 ---------------------------------------------------
// The host itself reads or writes device memory in `call`, a blocking copy.
SIM_API void sim_order_host(const char* call, const void* pointer, size_t size, int writes);
// Where a task gets at these bytes: pinned memory that a copy uses is protected against the host.
SIM_API void* sim_order_second_address(const void* pointer, size_t size);
// A stream writes, or waits for, a value at an address: what came before the write comes before what follows the wait.
SIM_API void sim_order_value(void* stream, const void* value, int waits);

// ---- events ----------------------------------------------------------------------------------------------------
SIM_API int sim_event_create(void** out);
// One that captured streams wait for and reset in every replay: it is recorded outside the model.
SIM_API int sim_event_create_external(void** out);
SIM_API int sim_event_destroy(void* event);
SIM_API int sim_event_record(void* event, void* stream);
SIM_API int sim_event_wait(void* stream, void* event);  // the stream waits for the newest recording
SIM_API int sim_event_synchronize(void* event, int64_t timeout_ms);
SIM_API int sim_event_query(void* event, int* done);
SIM_API int sim_event_reset(void* event, void* stream);
SIM_API int sim_event_time(void* event, uint64_t* microseconds);
SIM_API int sim_event_elapsed(void* start, void* end, float* milliseconds);

// ---- capture ---------------------------------------------------------------------------------------------------
SIM_API int sim_capture_begin(void* stream);
SIM_API int sim_capture_end(void* stream, void** model);
SIM_API int sim_capture_info(void* stream, int* active, void** model);
// The tasks launched on a captured stream between the first two can be replaced by those that are launched on another
// stream between the last two, as many as they are.
SIM_API int sim_group_begin(void* stream);
SIM_API int sim_group_end(void* stream, void** group);
SIM_API int sim_update_begin(void* stream, void* group);
SIM_API int sim_update_end(void* stream);
SIM_API int sim_model_execute(void* model, void* stream);
SIM_API int sim_model_destroy(void* model);
SIM_API int sim_model_id(void* model, uint32_t* id);
SIM_API int sim_model_size(void* model, size_t* tasks);
SIM_API const char* sim_model_task_name(void* model, size_t index);

// ---- the operator library --------------------------------------------------------------------------------------
// A function of libopapi.so, for the libraries that cannot link it (it needs ATen); NULL where it has none of this
// name, or is not there (yet).
SIM_API void* sim_opapi_symbol(const char* name);
// The same of the graph engine, libge_runner.so, which has another ABI of C++ strings.
SIM_API void* sim_engine_symbol(const char* name);
// A member that is what one of the two finds: SIM_FOUND(sim_engine_symbol, ophook_om_open, open);
#define SIM_FOUND(look, function, name) \
  decltype(&function) name = reinterpret_cast<decltype(&function)>(look(#function))

// ---- counters (for tests, doctor and benchmarks) ---------------------------------------------------------------
typedef struct sim_counters {
  uint64_t tasks_run;  // on all streams
  uint64_t tasks_failed;
  uint64_t models_executed;
  uint64_t bytes_in_use;  // device memory over all devices
} sim_counters;
SIM_API void sim_read_counters(sim_counters* out);

#ifdef __cplusplus
}
#endif
