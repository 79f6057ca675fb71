"""What the commands share that watch a program nobody edited."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ophook_npu.cli._command import ProgramCommand
from ophook_npu.errors import OphookError
from ophook_npu.npu import autoload
from ophook_npu.plural import counted
from ophook_npu.untrusted import shown

if TYPE_CHECKING:
    from ophook_npu.observe import Observer

ProgramArgument = Annotated[
    list[str],
    typer.Argument(metavar="PROGRAM", help="What follows `python`: a script, -m module or -c code, with arguments."),
]
OpsOption = Annotated[
    list[str] | None, typer.Option("--op", help="Only these operators: aten::mm or a glob. Repeatable.")
]
ModulesOption = Annotated[
    list[str] | None, typer.Option("--module", help="Only calls from these modules; globs. Repeatable.")
]
PhaseOption = Annotated[str | None, typer.Option(help="forward or backward.")]
EveryOption = Annotated[int, typer.Option(help="Look at every n-th call only.")]
ViaOption = Annotated[str, typer.Option(help="Hook mechanism; see `ophook-npu hooks guide`.")]
OutOption = Annotated[Path | None, typer.Option("--json", help="Write the result as JSON to this file.")]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        help="Where to run: auto, sim, npu or cpu, as for `run`. Without it: what this shell has, or else the CPU."
    ),
]


def watching(app: typer.Typer, name: str) -> Callable[[Callable[..., None]], None]:
    """Registers ``function(program, filters, **options)`` as a command with the options of all that watch a program.

    ``filters`` is what every observer takes; the function's own options stand after the shared ones. --device has
    been dealt with before it is called.
    """

    def register(function: Callable[..., None]) -> None:
        def command(
            program: ProgramArgument,
            op: OpsOption = None,
            module: ModulesOption = None,
            phase: PhaseOption = None,
            every: EveryOption = 1,
            via: ViaOption = "auto",
            device: DeviceOption = None,
            **own: Any,
        ) -> None:
            start_over(device)
            from ophook_npu.observe import EVERYTHING

            target, modules = op or EVERYTHING, module or None
            filters = {"target": target, "modules": modules, "phase": phase, "every": every, "via": via}
            function(program, filters, **own)

        shared = list(inspect.signature(command, eval_str=True).parameters.values())[:-1]
        own = list(inspect.signature(function, eval_str=True).parameters.values())[2:]
        command.__signature__ = inspect.Signature([*shared, *own])  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in (*shared, *own)}
        command.__doc__ = function.__doc__
        app.command(name, cls=ProgramCommand)(command)

    return register


def observe(
    program: list[str],
    observer: Observer,
    out: Path | None,
    finish: Callable[[], str] | None = None,
    bad: Callable[[], Any] | None = None,
) -> None:
    """Runs ``program`` under ``observer``, writes the reports, and exits with the program's status, or 1 if ``bad``."""

    def report(status: int) -> int:
        sys.stdout.flush()
        # On standard error, so that the program's own output stays its own.
        if observer.seen == 0 and observer.chosen:
            early = f" before it ended early by {observer.cut_short}" if observer.cut_short else ""
            text = f"[{observer.NAME}] none of the program's calls matches {observer.chosen}{early}"
            print(shown(text), file=sys.stderr)
            return status or 1
        try:
            text = (finish or observer.report)()
            if out is not None:
                out.write_text(json.dumps(observer.to_json(), indent=1) + "\n")
        except OSError as error:
            text, status = f"{observer.report()}\n[{observer.NAME}] cannot write a report: {error}", status or 1
        print(shown(text), file=sys.stderr, flush=True)
        return status or int(observer.unwritten is not None or bool(bad is not None and bad()))

    observer.warns = not observer.chosen  # it is said above
    watched(program, observer, report, lambda: f"{observer.NAME}: {counted(observer.seen, 'call')}")


def watched(
    program: list[str],
    observer: AbstractContextManager[Any],
    report: Callable[[int], int],
    doing: Callable[[], str],
) -> NoReturn:
    """Runs ``program`` under ``observer``, reports, and ends as the program did: with its status, or by its signal.

    Args:
        report: gets the program's status, negative if a signal ended it, and gives the status to end with.
        doing: what a bar says of a long run.
    """
    from ophook_npu.observe.program import run

    no_npu = False

    @contextmanager
    def noticing() -> Iterator[None]:
        nonlocal no_npu
        try:
            with observer:
                yield
        except BaseException as error:
            no_npu = _misses_npu(error)
            raise

    bar = progress(Console(stderr=True), lambda: f"{doing()}; Ctrl-C ends with a report of what ran")

    def leaving(status: int) -> int:
        bar.__exit__()
        return report(status)

    with bar:
        status = run(program, noticing(), leaving)
    status = report(status)
    if no_npu:
        print("next: there is no npu in this process; --device auto before the program gives it one", file=sys.stderr)
    if status < 0:
        sys.stderr.flush()
        os.kill(os.getpid(), -status)
    raise typer.Exit(status)


def _misses_npu(error: BaseException | None) -> bool:
    """Whether the program asked for an npu, in a process that has none."""
    if "torch_npu" in sys.modules and not autoload.fails():
        return False
    while error is not None:
        if re.search(r"(?<![a-z])npu|libhccl|libascend", str(error).lower()):  # not an "input"
            return True
        error = error.__cause__ or error.__context__
    return False


class progress:
    """On a terminal, after a while: a bar that says how many calls were seen. Silent where a program prints to a pipe.

    Args:
        text: asked twice a second.
    """

    def __init__(self, console: Console, text: Callable[[], str]) -> None:
        self._console, self._text = console, text
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def _show(self) -> None:
        if self._over.wait(2):
            return
        # The program's own standard output must not be redirected to this console.
        with Progress(
            BarColumn(bar_width=24), TextColumn("{task.description}"), TimeElapsedColumn(),
            console=self._console, transient=True, redirect_stdout=False, redirect_stderr=False,
        ) as bar:  # fmt: skip
            task = bar.add_task(self._text(), total=None)
            while not self._over.wait(0.5):
                bar.update(task, description=self._text())

    def __enter__(self) -> None:
        if self._console.is_terminal:
            self._thread.start()

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()


def readable(path: Path) -> Path:
    """``path``, if it is a file.

    Raises:
        OphookError: it is not.
    """
    if not path.is_file():
        raise OphookError("observe", f"no such file: {path}", todo="write one with --json first")
    return path


def writable(*paths: Path | None) -> None:
    """Looks before the program runs, perhaps for hours, whether the reports can be written after it.

    Raises:
        OphookError: a folder that is not there.
    """
    for path in paths:
        if path is not None and (not path.parent.is_dir() or path.is_dir()):
            what = f"no such folder: {path.parent}" if not path.parent.is_dir() else f"{path} is a folder"
            raise OphookError("observe", what, allowed="a file in a folder that is there", todo="make it first")


def start_over(device: str | None, *, cases: bool = False) -> None:
    """Become the same command inside ``ophook-npu run``, which puts an NPU or the simulator under it.

    Args:
        cases: it runs cases one after the other, and one that fails on the simulator must not fail the next.
    """
    if cases:
        os.environ.setdefault("OPHOOK_SIM_AFTER_FAILURE", "continue")
    if os.environ.pop(_STARTED, None) is not None or device is None:
        return
    os.environ[_STARTED] = "1"
    again = ["-m", "ophook_npu", "run", "--device", device, "--", "-m", "ophook_npu", *sys.argv[1:]]
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *again])


_STARTED = "OPHOOK_NPU_STARTED_OVER"  # this process is the same command once more, and on its device
