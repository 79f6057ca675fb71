"""Run a Python program under an observer, in this process, as ``python`` would run it."""

from __future__ import annotations

import importlib.util
import os
import runpy
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NoReturn

from ophook_npu import collector
from ophook_npu.errors import OphookError
from ophook_npu.npu import autoload


class Terminated(BaseException):
    """SIGTERM came."""


def run(
    arguments: list[str],
    observer: AbstractContextManager[Any],
    leaving: Callable[[int], int] | None = None,
) -> int:
    """Runs ``python ARGUMENTS`` under ``observer`` (or any context manager) and returns its exit status.

    Args:
        arguments: a script, ``-m module`` or ``-c code``, and what it takes. The program sees ``sys.argv``,
            ``sys.path`` and ``__main__`` as without the observer.
        leaving: called with the status when the program calls ``os._exit``, which returns to nobody; gives the status
            to end with.

    An uncaught exception is printed as Python prints it (without the frames of this package) and gives 1; Ctrl-C
    gives 130, SIGTERM -15. Either way the observer keeps what it saw.

    Raises:
        OphookError: there is no such script.
    """
    execute = _program(arguments)
    status = 0
    try:
        with autoload.not_found(), _told_of_the_end(observer, leaving), observer:
            execute()
    except Terminated:
        print("terminated: the report covers what ran until then", file=sys.stderr)
        status = -signal.SIGTERM
    except SystemExit as ended:
        status = _status(ended.code)
    except KeyboardInterrupt:
        print("interrupted: the report covers what ran until then", file=sys.stderr)
        status = 130
    except BaseException as error:
        _print_as_python_does(error)
        status = 1
    return status


def file_of(arguments: list[str]) -> Path | None:
    """The source that ``python ARGUMENTS`` begins with; ``None`` of ``-c`` and of what cannot be found.

    Of ``-m package`` it is ``package/__main__.py``. Packages above it are imported to find it, as Python does.
    """
    first, rest = arguments[0], arguments[1:]
    if first != "-m" or not rest:
        return Path(first) if first != "-c" and Path(first).is_file() else None
    with _as(sys, path=[os.getcwd(), *sys.path]):
        try:
            spec = importlib.util.find_spec(rest[0])
            if spec is not None and spec.submodule_search_locations is not None:
                spec = importlib.util.find_spec(f"{rest[0]}.__main__")
        except (ImportError, ValueError):
            return None  # running it says why
    return Path(spec.origin) if spec is not None and spec.origin and Path(spec.origin).is_file() else None


def functions(path: Path, name: str, where: str, meaning: str) -> dict[str, Callable[..., Any]]:
    """The dictionary ``name``, operator -> function, that a Python file of the user defines.

    Raises:
        OphookError: no such file, or it defines no such dictionary; ``meaning`` says what a function is for.
    """
    if not path.is_file():
        raise OphookError(where, f"no such file: {path}", todo=f"give a Python file that defines {name}")
    found = runpy.run_path(str(path)).get(name)
    if not isinstance(found, dict) or not all(callable(function) for function in found.values()):
        raise OphookError(
            where,
            f"{path} does not define {name}",
            allowed=f"{name} = {{'aten::relu': function, …}}; {meaning}",
        )
    return found


@contextmanager
def _told_of_the_end(observer: AbstractContextManager[Any], leaving: Callable[[int], int] | None) -> Iterator[None]:
    """Where the process would end at once, by SIGTERM or ``os._exit``, the observer ends first. Not in children."""
    if leaving is None:
        yield
        return
    process = os.getpid()

    def leave(status: int) -> NoReturn:
        if os.getpid() == process:
            os._exit = end
            observer.__exit__(SystemExit, SystemExit(status), None)
            status = leaving(status)
        end(status)

    def terminated(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if os.getpid() != process:
            os.kill(os.getpid(), signal.SIGTERM)
        raise Terminated("SIGTERM")

    end = os._exit
    mine = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    with _as(os, _exit=leave):
        if mine:
            signal.signal(signal.SIGTERM, terminated)
        try:
            yield
        finally:
            if signal.getsignal(signal.SIGTERM) is terminated:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _program(arguments: list[str]) -> Any:
    first, rest = arguments[0], arguments[1:]
    if first == "-m" and rest:
        return lambda: _with_argv(
            rest, os.getcwd(), lambda: runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        )
    if first == "-c" and rest:
        return lambda: _with_argv(["-c", *rest[1:]], "", lambda: _as_main(compile(rest[0], "<string>", "exec"), None))
    if not first.startswith("-") and Path(first).is_file():
        folder = str(Path(first).resolve().parent)
        return lambda: _with_argv([first, *rest], folder, lambda: _as_main(_compiled(first), first))
    allowed = "a Python script, -m module or -c code, with its arguments"
    if first in ("-m", "-c"):
        raise OphookError("observe", f"nothing follows {first}", allowed=allowed)
    if first.startswith("-"):
        raise OphookError(
            "observe",
            f"{first} is an option of Python, and the program runs in this process",
            allowed=allowed,
            todo=f"give it to this process: python {first} -m ophook_npu …",
        )
    raise OphookError(
        "observe", f"no such program: {first or repr(first)}", allowed=allowed, todo=_where_it_may_be(first)
    )


def _where_it_may_be(first: str) -> str:
    if first and Path(first).is_dir():
        return "it is a folder: name a file in it, or -m with a package"
    found = shutil.which(first)
    if found is not None and Path(found).read_bytes()[:2] == b"#!" and b"python" in Path(found).read_bytes()[:200]:
        return f"it is a Python script on PATH: give its path, {found}"
    return (
        "check the path; a program that is not Python runs under `ophook-npu run` only" if found else "check the path"
    )


def _compiled(path: str) -> CodeType:
    return compile(Path(path).read_bytes(), path, "exec")


def _as_main(code: CodeType, path: str | None) -> None:
    # A real module in sys.modules: pickling and multiprocessing look for what the program defines there.
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    if path is not None:
        main.__file__ = path
    saved = sys.modules["__main__"]
    sys.modules["__main__"] = main
    try:
        exec(code, main.__dict__)
    finally:
        sys.modules["__main__"] = saved


def _with_argv(argv: list[str], folder: str, execute: Any) -> None:
    with collector.usually(), _as(sys, argv=argv, path=[folder, *sys.path]):
        execute()


@contextmanager
def _as(thing: Any, **values: Any) -> Iterator[None]:
    saved = {name: getattr(thing, name) for name in values}
    for name, value in values.items():
        setattr(thing, name, value)
    try:
        yield
    finally:
        for name, value in saved.items():
            setattr(thing, name, value)


def _status(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _print_as_python_does(error: BaseException) -> None:
    hidden = (str(Path(__file__).parents[1]), "<frozen runpy>")
    printed = traceback.TracebackException.from_exception(error)
    printed.stack = traceback.StackSummary.from_list([f for f in printed.stack if not f.filename.startswith(hidden)])
    print("".join(printed.format()), end="", file=sys.stderr)
