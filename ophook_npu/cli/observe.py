"""``ophook-npu log|stats|trace|profile|validate|compare -- ARGS``: observe a program that nobody edited."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ophook_npu.errors import OphookError

if TYPE_CHECKING:
    from ophook_npu.observe import Observer

_PROGRAM = {"ignore_unknown_options": True}
Program = Annotated[
    list[str], typer.Argument(help="What follows `python`: a script, -m module or -c code, with arguments.")
]
Ops = Annotated[list[str] | None, typer.Option("--op", help="Only these operators: aten::mm or a glob. Repeatable.")]
Modules = Annotated[
    list[str] | None, typer.Option("--module", help="Only calls from these modules; globs. Repeatable.")
]
Phase = Annotated[str | None, typer.Option(help="forward or backward.")]
Every = Annotated[int, typer.Option(help="Look at one call in so many.")]
Via = Annotated[str, typer.Option(help="Hook mechanism; see `ophook-npu hooks guide`.")]
Out = Annotated[Path | None, typer.Option("--json", help="Write the result here as JSON.")]
Device = Annotated[
    str | None, typer.Option(help="Start over with this under the program: auto, sim, npu, cpu (see run).")
]


def register(app: typer.Typer) -> None:
    @app.command("log", context_settings=_PROGRAM)
    def log_command(
        program: Program,
        op: Ops = None,
        module: Modules = None,
        phase: Phase = None,
        every: Every = 1,
        via: Via = "auto",
        device: Device = None,
        to: Annotated[str, typer.Option(help="File to write to; default: standard output.")] = "stdout",
        as_json: Annotated[bool, typer.Option("--json", help="JSON lines.")] = False,
        results: Annotated[bool, typer.Option(help="A line for each result too.")] = False,
    ) -> None:
        """Write a line for each operator call of a program."""
        _start_over(device)
        from ophook_npu.observe import Log

        filters = _filters(op, module, phase, every, via)
        _observe(program, Log(to=to, as_json=as_json, results=results, **filters), None)

    @app.command("stats", context_settings=_PROGRAM)
    def stats_command(
        program: Program,
        op: Ops = None,
        module: Modules = None,
        phase: Phase = None,
        every: Every = 1,
        via: Via = "auto",
        device: Device = None,
        by_module: Annotated[bool, typer.Option(help="Also by module.")] = False,
        out: Out = None,
    ) -> None:
        """Count the operator calls of a program, with shapes, dtypes and bytes."""
        _start_over(device)
        from ophook_npu.observe import Stats

        _observe(program, Stats(by_module=by_module, **_filters(op, module, phase, every, via)), out)

    @app.command("trace", context_settings=_PROGRAM)
    def trace_command(
        program: Program,
        op: Ops = None,
        module: Modules = None,
        phase: Phase = None,
        every: Every = 1,
        via: Via = "auto",
        device: Device = None,
        depth: Annotated[int | None, typer.Option(help="How many of the program's frames to keep.")] = None,
        out: Out = None,
    ) -> None:
        """Show who calls which operator in a program."""
        _start_over(device)
        from ophook_npu.observe import Trace

        _observe(program, Trace(depth=depth, **_filters(op, module, phase, every, via)), out)

    @app.command("profile", context_settings=_PROGRAM)
    def profile_command(
        program: Program,
        op: Ops = None,
        module: Modules = None,
        phase: Phase = None,
        every: Every = 1,
        via: Via = "auto",
        device: Device = None,
        by_module: Annotated[bool, typer.Option(help="Also by module.")] = False,
        top: Annotated[int, typer.Option(help="How many rows to print.")] = 30,
        html: Annotated[Path | None, typer.Option(help="Write a report with charts here.")] = None,
        timeline: Annotated[Path | None, typer.Option(help="Write a Chrome/Perfetto trace here.")] = None,
        baseline: Annotated[Path | None, typer.Option(help="An earlier --json result to compare with.")] = None,
        out: Out = None,
    ) -> None:
        """Measure where the time of a program's operators goes."""
        _start_over(device)
        from ophook_npu.observe import Profile
        from ophook_npu.observe.profile import diff

        earlier = None if baseline is None else json.loads(_readable(baseline).read_text())
        profile = Profile(by_module=by_module, **_filters(op, module, phase, every, via))

        def finish() -> str:
            if html is not None:
                profile.html(html, title=" ".join(program))
            if timeline is not None:
                profile.chrome_trace(timeline)
            return profile.report(top) + ("" if earlier is None else f"\n\n{diff(earlier, profile)}")

        _observe(program, profile, out, finish)

    @app.command("validate", context_settings=_PROGRAM)
    def validate_command(
        program: Program,
        op: Ops = None,
        module: Modules = None,
        phase: Phase = None,
        every: Every = 1,
        via: Via = "auto",
        device: Device = None,
        mode: Annotated[str, typer.Option(help="warn, raise (in the program) or record.")] = "record",
        debugger: Annotated[bool, typer.Option(help="Stop in the debugger at a problem.")] = False,
        out: Out = None,
    ) -> None:
        """Find where a program first makes a NaN, infinity or surprising dtype or device; then exit status 1."""
        _start_over(device)
        from ophook_npu.observe import Validate

        filters = _filters(op, module, phase, every, via)
        validate = Validate(mode=mode, debugger=debugger, **filters)  # type: ignore[arg-type]
        _observe(program, validate, out, bad=lambda: validate.found)

    @app.command("compare", context_settings=_PROGRAM)
    def compare_command(
        program: Program,
        op: Ops = None,
        module: Modules = None,
        phase: Phase = None,
        every: Every = 1,
        via: Via = "auto",
        device: Device = None,
        reference: Annotated[
            str, typer.Option(help="float64 (on the CPU), or a device for the same dtype there.")
        ] = "float64",
        drift: Annotated[bool, typer.Option(help="Also follow the error that accumulates over the run.")] = False,
        html: Annotated[Path | None, typer.Option(help="Write a report here.")] = None,
        rows: Annotated[Path | None, typer.Option(help="Write a JSON line for each compared call here.")] = None,
        out: Out = None,
    ) -> None:
        """Run each operator of a program in a reference too and compare. Exit status 1 if one is out of tolerance."""
        _start_over(device)
        from ophook_npu.observe import Compare

        filters = _filters(op, module, phase, every, via)
        compare = Compare(reference=reference, drift=drift, to=rows, **filters)

        def finish() -> str:
            if html is not None:
                compare.html(html, title=" ".join(program))
            return compare.report()

        _observe(program, compare, out, finish, bad=lambda: compare.failed)


def _filters(op: Any, module: Any, phase: Any, every: int, via: str) -> dict[str, Any]:
    from ophook_npu.observe import EVERYTHING

    return {"target": op or EVERYTHING, "modules": module or None, "phase": phase, "every": every, "via": via}


def _observe(program: list[str], observer: Observer, out: Path | None, finish: Any = None, bad: Any = None) -> None:
    from ophook_npu.observe.program import run

    console = Console(stderr=True)
    with _progress(console, observer):
        status = run(program, observer)
    text = (finish or observer.report)()
    if out is not None:
        out.write_text(json.dumps(observer.to_json(), indent=1) + "\n")
    sys.stdout.flush()
    # On standard error, so that the program's own output stays its own.
    print(text, file=sys.stderr)
    raise typer.Exit(status or int(bool(bad is not None and bad())))


class _progress:
    """On a terminal, after a while: how many calls were seen. Never in the way of a program that prints to a pipe."""

    def __init__(self, console: Console, observer: Observer) -> None:
        self._console, self._observer = console, observer
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def _show(self) -> None:
        if self._over.wait(2):
            return
        with self._console.status("observing", spinner="dots") as status:
            while not self._over.wait(0.5):
                status.update(
                    f"{self._observer.NAME}: {self._observer.seen} calls; Ctrl-C ends with a report of what ran"
                )

    def __enter__(self) -> None:
        if self._console.is_terminal:
            self._thread.start()

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()


def _readable(path: Path) -> Path:
    if not path.is_file():
        raise OphookError("observe", f"no such file: {path}", todo="write one with --json first")
    return path


def _start_over(device: str | None) -> None:
    """Become the same command inside ``ophook-npu run``, which puts an NPU or the simulator under it."""
    if device is None:
        return
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept: list[str] = []
    skip = False
    for argument in arguments[:end]:
        if skip or argument.startswith("--device="):
            skip = False
        elif argument == "--device":
            skip = True
        else:
            kept.append(argument)
    again = [
        sys.executable,
        "-m",
        "ophook_npu",
        "run",
        "--device",
        device,
        "--",
        "-m",
        "ophook_npu",
        *kept,
        *arguments[end:],
    ]
    sys.stdout.flush()
    os.execv(sys.executable, again)
