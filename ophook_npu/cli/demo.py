"""``ophook-npu demo``: a custom operator on every route, without a checkout."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ophook_npu import soc as socs
from ophook_npu.cli.sim import build_with_progress
from ophook_npu.npu import autoload, place

_STEPS = 4


def register(app: typer.Typer) -> None:
    @app.command("demo")
    def demo_command(
        folder: Annotated[Path, typer.Argument(help="The folder for the files to go on from.")] = Path("ophook-demo"),
        device: Annotated[str, typer.Option(help="auto: an NPU if there is one, else sim; sim; npu.")] = "auto",
        soc: Annotated[str | None, typer.Option(help="The SoC to simulate.")] = None,
    ) -> None:
        """Build and run a custom operator: eager, torchair, npugraph_ex.

        Writes its sources and programs to a folder, to go on from. Exit status: 0 all passed; 1 something failed;
        2 wrong use, or it cannot be built.
        """
        from ophook_npu import demo
        from ophook_npu.demo import report
        from ophook_npu.npu.installed import require

        chosen = place.choose(device, place.detect())
        if soc is not None:
            socs.check(soc)
        require()
        console = Console(highlight=False, soft_wrap=True)
        step = _numbered(console)
        with step("write what you go on from"):
            demo.write(folder)
        with step("build the simulated Ascend" if chosen == "sim" else "find the NPU", quiet=True):
            if chosen == "sim":
                build_with_progress(Console(stderr=True))  # it has a bar of its own
        with step("build AddCustom for torch_npu"):
            from ophook_npu.ops.extension import build

            build()
        with step("run it in eager mode and in graphs"):
            found = report.results(demo.run(folder, chosen, soc))
        failed = report.failures(found)
        for failure in failed:
            console.print(failure, markup=False)
        if failed:
            raise typer.Exit(1)
        report.show(report.table(found, "extension", chosen, soc))
        console.print(f"\nin {folder}/: the operator's Ascend C project and the programs; README.md says what to try")
        console.print("\nnext, in your shell, after which python, pytest, torchrun … have an npu:")
        for line in autoload.next_lines():
            console.print(f"    {line}", markup=False)


def _numbered(console: Console) -> Callable[..., AbstractContextManager[None]]:
    count = 0

    @contextmanager
    def step(name: str, quiet: bool = False) -> Iterator[None]:
        nonlocal count
        count += 1
        text, start = f"[{count}/{_STEPS}] {name:34} ", time.perf_counter()
        try:
            with nullcontext() if quiet else console.status(escape(text)):
                yield
        except BaseException:
            console.print(f"{text}FAILED", markup=False)
            raise
        console.print(f"{text}{time.perf_counter() - start:6.1f} s", markup=False)

    return step
