"""What follows ``ophook-npu run --``: a Python program, or any other executable.

Python runs ``-m module``, ``-c code`` and the other options of ``python``, files named ``*.py``, ``*.pyc`` and
``*.pyz``, and folders with a ``__main__.py``. Anything else is started as it is: a name without a slash is looked up
next to this Python (a virtual environment's ``pytest``, ``torchrun``, ``python``) and then on PATH; one with a slash is
a file that may be executed.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from ophook_npu.errors import OphookError

_PYTHON_FILES = (".py", ".pyc", ".pyz")
_ALLOWED = "a Python file, -m module, -c code, or a program"


def command(arguments: list[str], environ: Mapping[str, str]) -> tuple[str, list[str]]:
    """The file to execute and its arguments, its own name first.

    Raises:
        OphookError: there is no such program, or it may not be executed.
    """
    program = arguments[0]
    path = Path(program)
    if program.startswith("-") or path.suffix in _PYTHON_FILES or (path / "__main__.py").is_file():
        if not program.startswith("-") and not path.exists():
            raise OphookError("run", f"no such script: {program}", allowed=_ALLOWED, todo="check the path")
        return sys.executable, [sys.executable, *arguments]
    return (_file(program) if "/" in program else _found(program, environ)), arguments


def _found(name: str, environ: Mapping[str, str]) -> str:
    # An ophook-npu that was started by its path means the programs of its own environment.
    where = os.pathsep.join([str(Path(sys.executable).parent), environ.get("PATH", os.defpath)])
    found = shutil.which(name, path=where)
    if found is None:
        here = f"./{name} is a file here: say `./{name}`, or `python {name}`" if Path(name).is_file() else ""
        raise OphookError(
            "run",
            f"no such program: {name} is not on PATH",
            allowed=_ALLOWED,
            todo=here or "check the name",
        )
    return found


def _file(program: str) -> str:
    path = Path(program)
    if not path.exists():
        raise OphookError("run", f"no such program: {program}", allowed=_ALLOWED, todo="check the path")
    if path.is_dir():
        raise OphookError("run", f"{program} is a folder without __main__.py", allowed=_ALLOWED)
    if not os.access(path, os.X_OK):
        raise OphookError(
            "run",
            f"{program} is neither named *.py nor executable",
            allowed=_ALLOWED,
            todo=f"`python {program}` if it is Python, else chmod +x {program}",
        )
    return program


def become(arguments: list[str], environ: Mapping[str, str]) -> None:
    """Become the program: its exit status and signals are then this process's own.

    Raises:
        OphookError: there is no such program, or the system does not know how to start it.
    """
    file, argv = command(arguments, environ)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(file, argv, dict(environ))
    except OSError as error:
        raise OphookError(
            "run",
            f"{file} cannot be started: {error.strerror}",
            allowed="a binary of this machine, or a script whose first line names its interpreter (#!/bin/sh)",
            todo=f"start it by its interpreter, such as `bash {arguments[0]}`",
        ) from error
