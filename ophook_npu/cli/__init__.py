"""``ophook-npu``: prints what the package finds and decides nothing by itself. One command group a module."""

from __future__ import annotations

import difflib
import itertools
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from ophook_npu import __version__, collector
from ophook_npu.cli._command import ProgramCommand, no_program
from ophook_npu.errors import OphookError
from ophook_npu.npu import autoload
from ophook_npu.untrusted import shown

_NAME = "ophook-npu"

# The commands as the help groups them, by what a reader wants.
_PANELS: dict[str, tuple[str, ...]] = {
    "Run a program": ("demo", "run", "env", "port"),
    "Watch a program": ("log", "stats", "trace", "profile", "validate"),
    "Find what goes wrong": ("compare", "bisect", "digest", "align", "capture", "replay", "diagnose"),
    "Make an operator": ("op", "kernel", "patch"),
    "Look things up": ("doctor", "dispatch", "hooks", "sim"),
}


class _Grouped(TyperGroup):
    """Lists the commands in the order of _PANELS."""

    def list_commands(self, ctx: Any) -> list[str]:
        for panel, names in _PANELS.items():
            for name in names:
                self.commands[name].rich_help_panel = panel  # type: ignore[attr-defined]
        return [name for names in _PANELS.values() for name in names]


app = typer.Typer(
    name=_NAME,
    cls=_Grouped,
    context_settings={"help_option_names": ["-h", "--help"]},
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


# Each module adds its commands, these, to the app in `register(app)`.
_COMMANDS: dict[str, tuple[str, ...]] = {
    "demo": ("demo",),
    "diagnose": ("diagnose",),
    "dispatch": ("dispatch",),
    "doctor": ("doctor",),
    "hooks": ("hooks",),
    "kernel": ("kernel",),
    "observe": ("log", "stats", "trace", "profile", "validate", "compare"),
    "op": ("op",),
    "patch": ("patch",),
    "port": ("port",),
    "run": ("run", "env"),
    "runs": ("capture", "replay", "digest", "align", "bisect"),
    "sim": ("sim",),
}


def register(app: typer.Typer, word: str | None = None) -> None:
    """Add the commands: those of one module if ``word`` is one of them, for a quicker start, or else all."""
    for module in [name for name, commands in _COMMANDS.items() if word in commands] or _COMMANDS:
        import_module(f"{__name__}.{module}").register(app)


def main() -> None:
    collector.rarely()
    # Without --device a command works in the place that this process is in; where torch_npu has no CANN, on the CPU.
    autoload.settle()
    register(app, sys.argv[1] if sys.argv[1:] else None)
    try:
        sys.exit(app(prog_name=_NAME, standalone_mode=False) or 0)
    except OphookError as error:
        _tell(error)
    except OSError as error:  # of a file that was named on the command line; a program's own are printed with it
        if error.filename is None:
            raise
        _tell(
            OphookError(" ".join(sys.argv[1:2]) or _NAME, f"{error.filename}: {error.strerror}", todo="check the path")
        )
    except Exception as error:
        if not hasattr(error, "format_message"):  # a mistake on the command line; typer may have a click of its own
            raise
        if type(error).__name__ != "NoArgsIsHelpError":  # the help is printed
            _tell(_misuse(error))
    sys.exit(2)


def _tell(error: OphookError) -> None:
    # What it quotes may stand in somebody else's file: no markup, no control characters.
    console = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)
    console.print(Text("error", "bold red"), Text(f"[{shown(error.where)}]", "bold"), shown(error.what))
    if error.allowed:
        console.print(f"  allowed: {shown(error.allowed)}")
    if error.todo:
        console.print(f"  next: {shown(error.todo)}")


def _misuse(error: Any) -> OphookError:
    """What is wrong with a command line, as everything else here says it."""
    kind = type(error).__name__
    ctx: Any = getattr(error, "ctx", None)
    words = itertools.takewhile(lambda word: not word.startswith("-"), sys.argv[1:])
    path = " ".join([_NAME, *itertools.islice(words, 1)]) if ctx is None else ctx.command_path
    takes_program = ctx is not None and isinstance(ctx.command, ProgramCommand)
    what = error.format_message().rstrip(".")
    what, allowed, todo = what[0].lower() + what[1:], None, f"{path} --help"
    if kind == "NoSuchOption":
        known = [name for one in ctx.command.get_params(ctx) for name in (*one.opts, *one.secondary_opts)]
        long = [name for name in known if name.startswith("--")]
        begun = [name for name in long if name.startswith(error.option_name)]  # as if it could be cut short
        near = begun[:1] or difflib.get_close_matches(error.option_name, long, 1)
        what = f"no such option: {error.option_name}" + (f", did you mean {near[0]}?" if near else "")
        if takes_program:
            allowed = "this command's options before the program, the program's behind its name, Python's behind `--`"
    elif kind == "MissingParameter" and takes_program:
        what, allowed = no_program(sys.argv), f"{path} [OPTIONS] PROGRAM [ARGS]..."
    elif path == _NAME and sys.argv[1:] and Path(sys.argv[1]).is_file():
        todo = f"{path} run {sys.argv[1]}"
    return OphookError(path.removeprefix(_NAME).strip() or _NAME, what, allowed=allowed, todo=todo)
