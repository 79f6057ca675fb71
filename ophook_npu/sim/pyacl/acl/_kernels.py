"""Kernels of the program's own: a binary, its functions, their arguments, and launches."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from acl._library import INT32, POINTER, SIZE, TEXT, UINT32, Out, bind, value

_load_file = bind("aclrtBinaryLoadFromFile", TEXT, POINTER, Out(POINTER))
_load_data = bind("aclrtBinaryLoadFromData", POINTER, SIZE, POINTER, Out(POINTER))
create_binary = value("aclrtCreateBinary", POINTER, POINTER, SIZE)
destroy_binary = bind("aclrtDestroyBinary", POINTER)
binary_load = bind("aclrtBinaryLoad", POINTER, Out(POINTER))
binary_unload = bind("aclrtBinaryUnLoad", POINTER)
binary_get_function = bind("aclrtBinaryGetFunction", POINTER, TEXT, Out(POINTER))
_function_name = bind("aclrtGetFunctionName", POINTER, UINT32, POINTER)

kernel_args_init = bind("aclrtKernelArgsInit", POINTER, Out(POINTER))
kernel_args_init_by_user_mem = bind("aclrtKernelArgsInitByUserMem", POINTER, POINTER, POINTER, SIZE)
kernel_args_get_handle_mem_size = bind("aclrtKernelArgsGetHandleMemSize", POINTER, Out(SIZE))
kernel_args_get_mem_size = bind("aclrtKernelArgsGetMemSize", POINTER, SIZE, Out(SIZE))
kernel_args_append = bind("aclrtKernelArgsAppend", POINTER, POINTER, SIZE, Out(POINTER))
kernel_args_append_place_holder = bind("aclrtKernelArgsAppendPlaceHolder", POINTER, Out(POINTER))
kernel_args_get_place_holder_buffer = bind("aclrtKernelArgsGetPlaceHolderBuffer", POINTER, POINTER, SIZE, Out(POINTER))
kernel_args_para_update = bind("aclrtKernelArgsParaUpdate", POINTER, POINTER, POINTER, SIZE)
kernel_args_finalize = bind("aclrtKernelArgsFinalize", POINTER)
launch_kernel = bind("aclrtLaunchKernel", POINTER, UINT32, POINTER, SIZE, POINTER)
_launch_with_config = bind("aclrtLaunchKernelWithConfig", POINTER, UINT32, POINTER, POINTER, POINTER, POINTER)


class _Setting(ctypes.Structure):
    """An option of a load, or an attribute of a launch."""

    _fields_ = (("which", INT32), ("value", UINT32 * 4))


class _Settings(ctypes.Structure):
    _fields_ = (("first", ctypes.POINTER(_Setting)), ("count", SIZE))


def _settings(given: Sequence[dict[str, int]], which: str) -> Any:
    """C's form of ``[{which: 1, "value": 0}]``; None for an empty list.

    Raises:
        ValueError: it is no list of such.
    """
    if not isinstance(given, list) or not all(isinstance(one, dict) and {which, "value"} <= set(one) for one in given):
        raise ValueError(f'options are a list of {{"{which}": …, "value": …}}, not {given!r}')
    if not given:
        return None
    all_of_them = (_Setting * len(given))(*(_Setting(one[which], (UINT32 * 4)(one["value"])) for one in given))
    return ctypes.byref(_Settings(all_of_them, len(given)))


def binary_load_from_file(path: str, options: Sequence[dict[str, int]]) -> tuple[int, int]:
    """Load what holds kernels; gives its handle and the error code."""
    loaded: tuple[int, int] = _load_file(path, _settings(options, "type"))
    return loaded


def binary_load_from_data(data: int, size: int, options: Sequence[dict[str, int]]) -> tuple[int, int]:
    """The same from the host's memory."""
    loaded: tuple[int, int] = _load_data(data, size, _settings(options, "type"))
    return loaded


def get_function_name(function: int, room: int) -> tuple[str, int]:
    """A kernel's name, and the error code."""
    name = ctypes.create_string_buffer(room + 1)
    code: int = _function_name(function, room, name)
    return name.value.decode(), code


def launch_kernel_with_config(
    function: int, blocks: int, stream: int, config: Sequence[dict[str, int]], arguments: int, reserved: int
) -> int:
    """Launch a kernel with a list of arguments; gives the error code."""
    code: int = _launch_with_config(function, blocks, stream, _settings(config, "id"), arguments, reserved)
    return code
