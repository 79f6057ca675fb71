"""``ophook-npu sim build|info|wheel``."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from ophook_npu.cli import _rules
from ophook_npu.errors import OphookError
from ophook_npu.pace import BuildStep, OnStep
from ophook_npu.sim import build, developer, info, operators
from ophook_npu.sim.build import not_ready
from ophook_npu.sim.operators import api
from ophook_npu.wheel import write_wheel

_EVERY = 15.0  # seconds between two lines of progress in a log


@contextmanager
def progress_line(console: Console) -> Iterator[OnStep]:
    """What to tell a build to say on ``console``: a bar on a terminal, in a log a line now and then."""
    columns = (TextColumn("simulated Ascend"), BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=1, visible=False)
        said = time.perf_counter()

        def progress(step: BuildStep) -> None:
            nonlocal said
            left = f"about {max(1, round(step.left))} s left"
            bar.update(task, completed=step.done, description=left, visible=True)
            if not console.is_terminal and time.perf_counter() - said > _EVERY:
                said = time.perf_counter()
                console.print(f"  simulated Ascend: {step.done:.0%} compiled, {left}", highlight=False)

        yield progress


def build_with_progress(console: Console, *, kernels: bool = False) -> tuple[Path, float]:
    """`build` with a progress line on ``console``; gives the root and the seconds it took."""

    def on_start() -> None:
        reason = not_ready()
        if reason:
            console.print(f"[yellow]{escape(reason)}; compiling[/]", highlight=False)

    start = time.perf_counter()
    with progress_line(console) as progress:
        root = build(progress, on_start, kernels=kernels)
    return root, time.perf_counter() - start


def register(app: typer.Typer) -> None:
    sim = typer.Typer(help="The simulated Ascend: build it, look at it.", no_args_is_help=True)

    @sim.command("build")
    def build_command(
        dev: Annotated[
            bool | None,
            typer.Option(
                "--dev/--no-dev",
                help="From now on this checkout has a developer build, or has none: see CONTRIBUTING.md.",
                show_default="as before",
            ),
        ] = None,
        debug: Annotated[
            list[str] | None,
            typer.Option("--debug", metavar="FILE", help="With --dev: a source to compile for a debugger."),
        ] = None,
    ) -> None:
        """Build the simulator for the installed torch and the kernels that ship, if they are not built."""
        console = Console(stderr=True)
        if debug and not dev:
            raise OphookError("sim build", "--debug without --dev", todo="ophook-npu sim build --dev --debug FILE")
        if dev:
            developer.begin(debug or [])
        elif dev is not None:
            developer.end()
        root, seconds = build_with_progress(console, kernels=True)
        console.print(f"simulated Ascend ready in {seconds:.1f} s", highlight=False)
        print(root)

    @sim.command("info")
    def info_command(
        names: Annotated[bool, typer.Option("--operators", help="List every operator.")] = False,
        functions: Annotated[
            bool, typer.Option("--api", help="List every function of AscendCL: simulated, or refused by its name.")
        ] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every operator.")] = False,
    ) -> None:
        """Show what is built, where, and which operators it has."""
        root = build()
        if functions:
            told = api(root)
            if as_json:
                print(json.dumps({name: {"state": state, "of": of} for name, (state, of) in told.items()}, indent=2))
                return
            for name, (state, of) in told.items():
                print(f"{name}: {state}{f' ({of})' if of else ''}")
            counts = Counter(state for state, _ in told.values())
            print(f"{counts['simulated']} simulated, {counts['refused']} refused (200001, and the name)")
            return
        known = operators(root)
        facts: dict[str, object] = {"root": str(root), **info(root)}
        if as_json:
            print(json.dumps({**facts, "operators": known}, indent=2))
            return
        table = Table(show_header=False)
        for key, value in facts.items():
            table.add_row(key, "\n".join(map(str, value)) if isinstance(value, list) else str(value))
        for kind, of_kind in known.items():
            table.add_row(f"{kind} operators", str(len(of_kind)))
        Console().print(table)
        if names:
            for kind, of_kind in known.items():
                print(f"\n{kind}: {' '.join(of_kind)}")

    @sim.command("wheel")
    def wheel_command(
        out: Annotated[Path, typer.Option("--out", help="The folder to write it to.")],
    ) -> None:
        """Write a wheel of the built simulator, for machines without a compiler.

        It fits the installed versions of torch and torch_npu.
        """
        console = Console(stderr=True)
        with progress_line(console) as progress:
            print(write_wheel(out, progress))

    _rules.register(sim)
    app.add_typer(sim, name="sim")
