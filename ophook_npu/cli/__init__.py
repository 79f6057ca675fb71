"""``ophook-npu``: prints what the package finds and decides nothing by itself. One command group a module."""

from __future__ import annotations

import sys
from importlib import import_module

import typer
from rich.console import Console

from ophook_npu.errors import OphookError
from ophook_npu.npu import autoload

app = typer.Typer(
    name="ophook-npu",
    help="Custom Ascend operators, operator hooks and a simulated Ascend for PyTorch.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Keeps sub-commands sub-commands, also while there is only one."""


# Each module adds its commands to the app in `register(app)`.
_COMMANDS: tuple[str, ...] = (
    "dispatch",
    "doctor",
    "hooks",
    "observe",
    "op",
    "patch",
    "run",
    "runs",
    "sim",
)


def main() -> None:
    # Without --device a command works in the place that this process is in; where torch_npu has no CANN, on the CPU.
    autoload.settle()
    for module in _COMMANDS:
        import_module(f"{__name__}.{module}").register(app)
    try:
        app()
    except OphookError as error:
        console = Console(stderr=True)
        console.print(f"[bold red]error[/] [bold]\\[{error.where}][/] ", end="")
        console.print(error.what, markup=False, highlight=False, soft_wrap=True)
        if error.allowed:
            console.print(f"  allowed: {error.allowed}", markup=False, highlight=False, soft_wrap=True)
        if error.todo:
            console.print(f"  next: {error.todo}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
