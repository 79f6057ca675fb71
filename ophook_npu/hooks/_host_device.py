"""Builds and loads the PrivateUse1 device of ``_host_device.cpp``, where no other PrivateUse1 device is in this
process."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import types
from pathlib import Path

import torch
from torch.utils import backend_registration

from ophook_npu import native
from ophook_npu.errors import OphookError

NAME = "hostdev"


@functools.cache
def ensure() -> str:
    """The name of this process's PrivateUse1 device: ``npu`` where torch_npu is loaded, else that of the one built
    here.

    Raises:
        OphookError: there is no C++ compiler, or it cannot compile the device against the installed torch.
    """
    present = torch._C._get_privateuse1_backend_name()
    if present != "privateuseone":
        return present
    torch.ops.load_library(str(_library()))
    backend_registration.rename_privateuse1_backend(NAME)
    module = types.ModuleType(f"torch.{NAME}")
    vars(module).update(
        is_available=lambda: True,
        is_initialized=lambda: True,
        device_count=lambda: 1,
        current_device=lambda: 0,
        set_device=lambda index: None,
        _is_in_bad_fork=lambda: False,
        manual_seed_all=lambda seed: None,
        get_amp_supported_dtype=list,
    )
    torch._register_device_module(NAME, module)
    # At exit torch wakes the engine's thread of every accelerator, which may then want the interpreter that is gone and
    # abort a program that has done its work (measured: a third of the runs). This leaves the thread asleep.
    os.environ.setdefault("TORCH_AUTOGRAD_SHUTDOWN_WAIT_LIMIT", "0")
    atexit.register(_let_the_engine_finish, torch.zeros(1, device=NAME, requires_grad=True), torch.ones(1, device=NAME))
    backend_registration.generate_methods_for_privateuse1_backend()
    return NAME


def _let_the_engine_finish(leaf: torch.Tensor, gradient: torch.Tensor) -> None:
    """A backward that nobody needs: the engine's thread takes one after the other, so when this one is through, it has
    let go of what the last one held; the interpreter is still there for it. Without, 4 of 60 runs aborted on a busy
    machine.

    Of this one it may let go after the interpreter has gone, so it must hold nothing that takes the interpreter to
    free: the tensors with a Python object are never freed, and the engine is called below torch.autograd.backward,
    which gives every backward a copy of the context (with that, 5 of 12 runs aborted; without, 0 of 50).
    """
    with torch.enable_grad():
        result = leaf * 1
    for tensor in (leaf, gradient, result):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(tensor))
    engine = torch.autograd.Variable._execution_engine
    engine.run_backward((result,), (gradient,), False, False, (), allow_unreachable=True, accumulate_grad=True)


def _library() -> Path:
    try:
        return native.library("libophook_host_device.so")
    except OphookError as error:
        raise OphookError(
            "hook via backend",
            f"this process has no PrivateUse1 device, and compiling one failed: {error}",
            todo="import torch_npu first, or mend what the message names",
        ) from error
