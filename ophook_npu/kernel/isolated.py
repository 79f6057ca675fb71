"""Run something in a process of its own: a crash or an endless loop in it is a result."""

from __future__ import annotations

import faulthandler
import os
import pickle
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from ophook_npu.errors import OphookError


def call(
    function: Callable[[], Any],
    timeout: float,
    watch: Callable[[int], None] = lambda fd: None,
    place: Callable[[str], str] = lambda told: "",
) -> Any:
    """What ``function()`` returns, from a fork of this process.

    Args:
        timeout: seconds.
        watch: called there first with a file descriptor, to which it may write where a crash was.
        place: what an error says of that, such as " at a.cpp:3".

    Raises:
        OphookError: the process crashed (which signal) or did not end in time; and what ``function`` raised.
    """
    reader, writer = os.pipe()
    crash = os.memfd_create("crash")

    def watched() -> Any:
        watch(crash)
        return function()

    child = os.fork()
    if child == 0:
        os.close(reader)
        _serve(watched, writer)
    os.close(writer)
    data = bytearray()
    late = False
    end = time.monotonic() + timeout
    try:
        while True:
            left = end - time.monotonic()
            ready, _, _ = select.select([reader], [], [], max(0.0, left))
            if not ready:
                late = True
                os.kill(child, signal.SIGKILL)
                break
            piece = os.read(reader, 1 << 20)
            if not piece:
                break
            data += piece
    finally:
        os.close(reader)
        status = _end(child)
        with os.fdopen(crash, "rb") as file:
            file.seek(0)
            told = file.read().decode(errors="replace")
    if late or not (data or status):
        raise OphookError("timeout", f"the kernel did not end within {timeout:g} s: an endless loop?", todo="--timeout")
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        what = f"the kernel ends its process: {name}{place(told)}"
        raise OphookError("crash", what, todo="`--debug` tells how to run it under gdb")
    kind, value = pickle.loads(bytes(data))
    if kind == "raised":
        raise value
    return value


def _end(child: int) -> int:
    """The wait status of a child that answered or was killed; one that stays is killed, and its answer counts."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        gone, status = os.waitpid(child, os.WNOHANG)
        if gone:
            return status
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 0


def _serve(function: Callable[[], Any], writer: int) -> None:
    """In the child: never returns."""
    faulthandler.disable()  # the parent tells of a crash
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)  # the parent's threads are not here: work for several would wait for ever
    try:
        try:
            answer = ("value", function())
        except OphookError as error:
            answer = ("raised", _Carried(error.where, error.what, error.allowed, error.todo))
        except Exception:  # of the inputs' file, say
            answer = ("raised", _Carried("crash", traceback.format_exc().strip(), None, None))
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(answer, pipe)
    finally:
        os._exit(0)


class _Carried(OphookError):
    """An OphookError that can be pickled."""

    def __init__(self, where: str, what: str, allowed: str | None, todo: str | None) -> None:
        super().__init__(where, what, allowed=allowed, todo=todo)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Carried, (self.where, self.what, self.allowed, self.todo)
