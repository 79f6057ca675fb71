"""Devices, contexts, streams, events, memory and kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from acl._kernels import (  # noqa: F401
    binary_get_function,
    binary_load,
    binary_load_from_data,
    binary_load_from_file,
    binary_unload,
    create_binary,
    destroy_binary,
    get_function_name,
    kernel_args_append,
    kernel_args_append_place_holder,
    kernel_args_finalize,
    kernel_args_get_handle_mem_size,
    kernel_args_get_mem_size,
    kernel_args_get_place_holder_buffer,
    kernel_args_init,
    kernel_args_init_by_user_mem,
    kernel_args_para_update,
    launch_kernel,
    launch_kernel_with_config,
)
from acl._library import FLOAT, INT32, INT64, POINTER, SIZE, UINT32, UINT64, Out, absent, bind

# ---- devices ----
set_device = bind("aclrtSetDevice", INT32)
reset_device = bind("aclrtResetDevice", INT32)
reset_device_force = bind("aclrtResetDeviceForce", INT32)
get_device = bind("aclrtGetDevice", Out(INT32))
get_device_count = bind("aclrtGetDeviceCount", Out(UINT32))
get_device_info = bind("aclrtGetDeviceInfo", UINT32, INT32, Out(INT64))
get_run_mode = bind("aclrtGetRunMode", Out(INT32))
get_version = bind("aclrtGetVersion", Out(INT32), Out(INT32), Out(INT32))
synchronize_device = bind("aclrtSynchronizeDevice")
synchronize_device_with_timeout = bind("aclrtSynchronizeDeviceWithTimeout", INT32)
device_can_access_peer = bind("aclrtDeviceCanAccessPeer", Out(INT32), INT32, INT32)
device_enable_peer_access = bind("aclrtDeviceEnablePeerAccess", INT32, UINT32)

# ---- contexts ----
create_context = bind("aclrtCreateContext", Out(POINTER), INT32)
destroy_context = bind("aclrtDestroyContext", POINTER)
set_context = bind("aclrtSetCurrentContext", POINTER)
get_context = bind("aclrtGetCurrentContext", Out(POINTER))

# ---- memory ----
malloc = bind("aclrtMalloc", Out(POINTER), SIZE, INT32)
malloc_align32 = bind("aclrtMallocAlign32", Out(POINTER), SIZE, INT32)
malloc_cached = bind("aclrtMallocCached", Out(POINTER), SIZE, INT32)
free = bind("aclrtFree", POINTER)
malloc_host = bind("aclrtMallocHost", Out(POINTER), SIZE)
free_host = bind("aclrtFreeHost", POINTER)
mem_flush = bind("aclrtMemFlush", POINTER, SIZE)
mem_invalidate = bind("aclrtMemInvalidate", POINTER, SIZE)
memset = bind("aclrtMemset", POINTER, SIZE, INT32, SIZE)
memset_async = bind("aclrtMemsetAsync", POINTER, SIZE, INT32, SIZE, POINTER)
memcpy = bind("aclrtMemcpy", POINTER, SIZE, POINTER, SIZE, INT32)
memcpy_async = bind("aclrtMemcpyAsync", POINTER, SIZE, POINTER, SIZE, INT32, POINTER)
memcpy_2d = bind("aclrtMemcpy2d", POINTER, SIZE, POINTER, SIZE, SIZE, SIZE, INT32)
memcpy_2d_async = bind("aclrtMemcpy2dAsync", POINTER, SIZE, POINTER, SIZE, SIZE, SIZE, INT32, POINTER)
get_mem_info = bind("aclrtGetMemInfo", INT32, Out(SIZE), Out(SIZE))
reserve_mem_address = bind("aclrtReserveMemAddress", Out(POINTER), SIZE, SIZE, POINTER, UINT64)
release_mem_address = bind("aclrtReleaseMemAddress", POINTER)
map_mem = bind("aclrtMapMem", POINTER, SIZE, SIZE, POINTER, UINT64)
unmap_mem = bind("aclrtUnmapMem", POINTER)
free_physical = bind("aclrtFreePhysical", POINTER)

# ---- streams ----
create_stream = bind("aclrtCreateStream", Out(POINTER))
create_stream_with_config = bind("aclrtCreateStreamWithConfig", Out(POINTER), UINT32, UINT32)
destroy_stream = bind("aclrtDestroyStream", POINTER)
destroy_stream_force = bind("aclrtDestroyStreamForce", POINTER)
synchronize_stream = bind("aclrtSynchronizeStream", POINTER)
synchronize_stream_with_timeout = bind("aclrtSynchronizeStreamWithTimeout", POINTER, INT32)
stream_query = bind("aclrtStreamQuery", POINTER, Out(INT32))
stream_wait_event = bind("aclrtStreamWaitEvent", POINTER, POINTER)

# ---- events ----
create_event = bind("aclrtCreateEvent", Out(POINTER))
create_event_with_flag = bind("aclrtCreateEventWithFlag", Out(POINTER), UINT32)
create_event_ex_with_flag = bind("aclrtCreateEventExWithFlag", Out(POINTER), UINT32)
destroy_event = bind("aclrtDestroyEvent", POINTER)
record_event = bind("aclrtRecordEvent", POINTER, POINTER)
reset_event = bind("aclrtResetEvent", POINTER, POINTER)
query_event = bind("aclrtQueryEvent", POINTER, Out(INT32))
query_event_status = bind("aclrtQueryEventStatus", POINTER, Out(INT32))
query_event_wait_status = bind("aclrtQueryEventWaitStatus", POINTER, Out(INT32))
synchronize_event = bind("aclrtSynchronizeEvent", POINTER)
synchronize_event_with_timeout = bind("aclrtSynchronizeEventWithTimeout", POINTER, INT32)
event_elapsed_time = bind("aclrtEventElapsedTime", Out(FLOAT), POINTER, POINTER)
event_get_timestamp = bind("aclrtEventGetTimestamp", POINTER, Out(UINT64))

# ---- callbacks: they run on the stream's own thread, and the thread that subscribes has nothing to do ----
subscribe_report = bind("aclrtSubscribeReport", UINT64, POINTER)
unsubscribe_report = bind("aclrtUnSubscribeReport", UINT64, POINTER)
process_report = bind("aclrtProcessReport", INT32)

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_launch_callback = bind("aclrtLaunchCallback", _CALLBACK, POINTER, INT32, POINTER)
_waiting: dict[int, Any] = {}  # what C holds a pointer to until it has run


def launch_callback(function: Callable[[Any], Any], user_data: Any, block_type: int, stream: int) -> int:
    """Call ``function(user_data)`` when the stream has done what was launched before; gives the error code."""
    key = 0

    def run(_: object) -> None:
        function(user_data)
        _done.append(key)

    for old in [_done.pop() for _ in range(len(_done))]:  # not in the call itself: it is still running there
        _waiting.pop(old, None)
    called = _CALLBACK(run)
    key = id(called)
    _waiting[key] = called
    code: int = _launch_callback(called, None, block_type, stream)
    if code:
        del _waiting[key]
    return code


_done: list[int] = []


def __getattr__(name: str) -> Any:
    absent("acl.rt", name)
