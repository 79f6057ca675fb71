"""Between addresses and Python's objects, and threads for callbacks."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from acl._library import absent

if TYPE_CHECKING:
    import numpy

_threads: dict[int, threading.Thread] = {}


def bytes_to_ptr(data: bytes) -> int:
    """Where the bytes lie. The caller keeps them alive."""
    if not isinstance(data, bytes):
        raise TypeError(f"bytes are needed, not {type(data).__name__}")
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def ptr_to_bytes(ptr: int, size: int) -> bytes:
    """A copy of ``size`` bytes of host memory."""
    return ctypes.string_at(ptr, size)


def numpy_to_ptr(array: numpy.ndarray[Any, Any]) -> int:
    """Where a contiguous array lies. The caller keeps it alive."""
    if not array.flags["C_CONTIGUOUS"]:
        raise ValueError("the array is not contiguous")
    return int(array.ctypes.data)


numpy_contiguous_to_ptr = numpy_to_ptr


def ptr_to_numpy(ptr: int, shape: Sequence[int], type: int) -> numpy.ndarray[Any, Any]:
    """The host memory at ``ptr`` as an array, without a copy; ``type`` is numpy's number of a type, 11 for float32."""
    import numpy

    kinds = {numpy.dtype(code).num: numpy.dtype(code) for code in "?bBhHiIlLqQefd"}
    if type not in kinds:
        raise ValueError(f"type {type} is not one of {sorted(kinds)}")
    count = 1
    for size in shape:
        count *= size
    memory: Any = (ctypes.c_char * (count * kinds[type].itemsize)).from_address(ptr)
    found: numpy.ndarray[Any, Any] = numpy.frombuffer(memory, dtype=kinds[type]).reshape(tuple(shape))
    return found


def start_thread(function: Callable[..., Any], parameters: Sequence[Any] = ()) -> tuple[int, int]:
    """Call ``function(*parameters)`` on a thread of its own; gives ``(thread_id, ret)``."""
    thread = threading.Thread(target=function, args=tuple(parameters), daemon=True)
    thread.start()
    assert thread.ident is not None
    _threads[thread.ident] = thread
    return thread.ident, 0


def stop_thread(thread_id: int) -> int:
    """Wait for the end of a thread of `start_thread`; gives the error code."""
    thread = _threads.pop(thread_id, None)
    if thread is None:
        return 100000  # ACL_ERROR_INVALID_PARAM
    thread.join()
    return 0


def __getattr__(name: str) -> Any:
    absent("acl.util", name)
