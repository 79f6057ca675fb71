"""``ophook-npu run -- ARGS``: like ``python ARGS``, with an NPU or the simulated Ascend under it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ophook_npu import sim
from ophook_npu.cli.sim import build_with_progress
from ophook_npu.errors import OphookError
from ophook_npu.npu import place


def register(app: typer.Typer) -> None:
    @app.command("run", context_settings={"ignore_unknown_options": True})
    def run(
        arguments: Annotated[
            list[str], typer.Argument(help="What follows `python`: a script, -m module or -c code, with arguments.")
        ],
        device: Annotated[
            str, typer.Option(help="auto: an NPU if there is one, else the simulator; sim; npu; cpu.")
        ] = "auto",
        soc: Annotated[str | None, typer.Option(help="The SoC to simulate.")] = None,
        devices: Annotated[int, typer.Option(help="How many devices to simulate.")] = 1,
        memory: Annotated[int | None, typer.Option(help="Memory of each simulated device, in MiB.")] = None,
        sync: Annotated[
            bool, typer.Option("--sync", help="Run every operator before its call returns (debugging).")
        ] = False,
    ) -> None:
        """Run a Python program on an NPU, or on the simulated Ascend where there is none.

        The program, its exit status and its signals are its own: this process becomes it.
        """
        _check_program(arguments)
        host = place.detect()
        chosen = place.choose(device, host)
        environ = dict(os.environ)
        if chosen == "cpu":
            environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        elif chosen == "npu":
            assert host.home is not None
            environ = place.ascend_environment(host.home, environ)
        else:
            variables = sim.environment(
                build_with_progress(Console(stderr=True))[0], soc=soc, devices=devices,
                memory=None if memory is None else memory << 20, synchronous=sync,
            )  # fmt: skip
            sim.apply(environ, variables)
        if chosen != "cpu":
            # Machines without CANN often have autoloading switched off for all of torch; this program gets its npu.
            environ.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(sys.executable, [sys.executable, *arguments], environ)


def _check_program(arguments: list[str]) -> None:
    program = arguments[0]
    if program.startswith("-") or Path(program).exists():
        return
    raise OphookError(
        "run", f"no such script: {program}", allowed="a Python script, -m module or -c code", todo="check the path"
    )
