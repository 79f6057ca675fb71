"""A Python program in a fork of a process that has imported what the program needs."""

from __future__ import annotations

import atexit
import ctypes
import os
import runpy
import sys
import threading
import types
from collections.abc import Sequence
from typing import NoReturn


def run_program(arguments: Sequence[str]) -> None:
    """As Python's own command line does it: ``-c code``, ``-m module`` or a script."""
    if arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        sys.path[0] = ""
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        exec(compile(arguments[1], "<string>", "exec"), module.__dict__)
    elif arguments[0] == "-m":
        sys.argv = list(arguments[1:])
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(arguments)
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")


def run_to_the_end(arguments: Sequence[str]) -> NoReturn:
    """Run the program, wait for its threads and run what it registered for its exit, and end without taking apart what
    the server imported: Python's modules and C++'s static objects take half a second, more than most programs. A
    program that raises ends in Python's own way. What a test checks about the end itself needs a process started anew.
    """
    status = 0
    try:
        run_program(arguments)
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            raise
        status = end.code or 0
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as Python does before it ends
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)
    os._exit(status)
