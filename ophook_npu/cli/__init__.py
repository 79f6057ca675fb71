"""``ophook-npu``: prints what the package finds and decides nothing by itself. One command group a module."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from ophook_npu import __version__
from ophook_npu.errors import OphookError
from ophook_npu.npu import autoload
from ophook_npu.untrusted import shown

app = typer.Typer(
    name="ophook-npu",
    help="Custom Ascend operators, operator hooks and a simulated Ascend for PyTorch.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"ophook-npu {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version, and end.")
    ] = False,
) -> None:
    """Keeps sub-commands sub-commands, also while there is only one."""


# Each module adds its commands to the app in `register(app)`.
_COMMANDS: tuple[str, ...] = (
    "dispatch",
    "doctor",
    "hooks",
    "kernel",
    "observe",
    "op",
    "patch",
    "port",
    "run",
    "runs",
    "sim",
)


def register(app: typer.Typer) -> None:
    for module in _COMMANDS:
        import_module(f"{__name__}.{module}").register(app)


def main() -> None:
    # Without --device a command works in the place that this process is in; where torch_npu has no CANN, on the CPU.
    autoload.settle()
    register(app)
    try:
        app()
    except OphookError as error:
        # What it quotes may stand in somebody else's file: no markup, no control characters.
        console = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)
        console.print(Text("error", "bold red"), Text(f"[{shown(error.where)}]", "bold"), shown(error.what))
        if error.allowed:
            console.print(f"  allowed: {shown(error.allowed)}")
        if error.todo:
            console.print(f"  next: {shown(error.todo)}")
        sys.exit(2)
