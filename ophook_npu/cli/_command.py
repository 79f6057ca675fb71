"""Where a program begins on a command line, and what it is: a Python program, or any other executable.

Of every command that takes a program, options before the program are the command's, and all that follows the program's
name is the program's own. The program begins at the first word that is no option, at ``-m`` or ``-c``, or after ``--``.

Python runs ``-m module``, ``-c code`` and the other options of ``python``, files named ``*.py``, ``*.pyc`` and
``*.pyz``, and folders with a ``__main__.py``. Anything else is started as it is: a name without a slash is looked up
next to this Python (a virtual environment's ``pytest``, ``torchrun``, ``python``) and then on PATH; one with a slash is
a file that may be executed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from ophook_npu.errors import OphookError

_PYTHON_FILES = (".py", ".pyc", ".pyz")
_ALLOWED = "a Python file, -m module, -c code, or a program"


class ProgramCommand(TyperCommand):
    """A command that takes a program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = [one for one in self.params if one.param_type_name == "option" and not getattr(one, "is_flag", False)]
        start = program_at(args, {name: one.nargs for one in options for name in one.opts})
        if start < len(args) and args[start] != "--":
            args = [*args[:start], "--", *args[start:]]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", "PROGRAM [ARGS]..."]


def program_at(arguments: Sequence[str], valued: Mapping[str, int]) -> int:
    """The index at which the program begins, or the ``--`` before it stands.

    Args:
        valued: the command's options that take values, and how many each.
    """
    index = 0
    while index < len(arguments):
        word = arguments[index]
        if word in ("--", "-") or not word.startswith("-") or (word[:2] in ("-m", "-c") and word not in valued):
            return index
        index += 1 + valued.get(word, 0)
    return len(arguments)


def no_program(arguments: Sequence[str]) -> str:
    """What is wrong with a command line that names no program; perhaps the last option took it for its value."""
    option, value = arguments[-2:] if len(arguments) > 1 else ("", "")
    taken = option.startswith("-") and Path(value).suffix in _PYTHON_FILES and Path(value).is_file()
    return f"no program: {option} takes {value} for its value" if taken else "no program"


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
    if found is None and name and Path(name).is_dir():
        return _file(name)
    if found is None:
        here = f"./{name} is a file here: write `./{name}`, or `python {name}`" if Path(name).is_file() else ""
        raise OphookError(
            "run",
            f"no such program: {name or repr(name)} is not on PATH",
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
    file, argv = _started(arguments, environ)
    try:
        os.execve(file, argv, dict(environ))
    except OSError as error:
        raise _no_start(file, error, arguments) from error


def beside(arguments: list[str], environ: Mapping[str, str]) -> int:
    """Run the program as a child and return its exit status as a shell has it: 128 more than the signal that ended it.

    Raises:
        OphookError: there is no such program, or the system does not know how to start it.
    """
    file, argv = _started(arguments, environ)
    try:
        child = subprocess.Popen(argv, executable=file, env=dict(environ))
    except OSError as error:
        raise _no_start(file, error, arguments) from error
    # Ctrl-C reaches both; what else ends this process ends the program.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _: child.send_signal(number))
    status = child.wait()
    return status if status >= 0 else 128 - status


def _started(arguments: list[str], environ: Mapping[str, str]) -> tuple[str, list[str]]:
    file, argv = command(arguments, environ)
    sys.stdout.flush()
    sys.stderr.flush()
    return file, argv


def _no_start(file: str, error: OSError, arguments: list[str]) -> OphookError:
    return OphookError(
        "run",
        f"{file} cannot be started: {error.strerror}",
        allowed="a binary of this machine, or a script whose first line names its interpreter (#!/bin/sh)",
        todo=f"start it by its interpreter, such as `bash {arguments[0]}`",
    )
