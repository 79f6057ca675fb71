"""``ophook-npu patch``: put operators into op-plugin's source tree, look, check, take out."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ophook_npu.errors import OphookError
from ophook_npu.patch.finding import TreeCheck
from ophook_npu.untrusted import shown

patch_app = typer.Typer(help="Put operators into op-plugin's source tree, and take them out.", no_args_is_help=True)

_OpPlugin = Annotated[
    Path, typer.Option("--op-plugin", help="op-plugin's folder: third_party/op-plugin of torch_npu's tree.")
]
_Op = Annotated[
    list[Path] | None,
    typer.Option(
        "--op", help="Folder with op_plugin_functions.yaml and kernel; may be repeated. Default: op_plugin_patch."
    ),
]
_Torch = Annotated[
    str | None, typer.Option("--torch-version", help="Version to build for. Default: the installed torch.")
]
_Autograd = Annotated[bool, typer.Option("--autograd", help="Also write the derivative (C++ autograd).")]


def register(app: typer.Typer) -> None:
    app.add_typer(patch_app, name="patch")


@patch_app.command()
def apply(
    op_plugin: _OpPlugin,
    op: _Op = None,
    torch_version: _Torch = None,
    autograd: _Autograd = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes, write nothing.")] = False,
    allow_dirty: Annotated[bool, typer.Option("--allow-dirty", help="Keep uncommitted changes of others.")] = False,
) -> None:
    """Put operators in; a second run changes nothing, a run after an interrupted one finishes it."""
    from ophook_npu import patch

    operators = [patch.load_operator(path) for path in _folders(op)]
    results = patch.apply(
        op_plugin, operators, _version(torch_version), autograd=autograd, dry_run=dry_run, allow_dirty=allow_dirty
    )
    for result in results:
        verb = ("would be applied" if dry_run else "applied") if result.changed else "already applied"
        _say(f"{result.name}: {verb}", result.notes)
        if dry_run:
            sys.stdout.write(shown(result.diff) if sys.stdout.isatty() else result.diff)


@patch_app.command()
def revert(
    op_plugin: _OpPlugin,
    op: Annotated[
        list[str] | None, typer.Option("--op", help="Operator's name or folder; may be repeated. Default: all applied.")
    ] = None,
) -> None:
    """Take operators out; every file is again what it was, byte for byte, unless others changed it since."""
    from ophook_npu import patch

    names = [patch.load_operator(Path(item)).name if Path(item).exists() else item for item in op or []]
    results = patch.revert(op_plugin, names)
    if not results:
        _say("nothing is applied")
    for result in results:
        exact = "restored byte for byte" if result.exact else "taken out"
        _say(f"{result.name}: {exact if result.changed else 'not applied'}", result.notes)


@patch_app.command()
def status(op_plugin: _OpPlugin, op: _Op = None, torch_version: _Torch = None) -> None:
    """Say for each operator: patched, partly, not, or foreign (changed, or put in by other means)."""
    from ophook_npu import patch

    # What is recorded can be told without a folder to compare with.
    folders = _folders(op) if op or _default_folder() else []
    operators = [patch.load_operator(path) for path in folders]
    for found in patch.status(op_plugin, operators, _version(torch_version)):
        _say(f"{found.name}: {found.state}", found.details)


@patch_app.command()
def check(
    op_plugin: _OpPlugin,
    op: _Op = None,
    torch_version: _Torch = None,
    autograd: _Autograd = False,
    allow_dirty: Annotated[bool, typer.Option("--allow-dirty", help="Accept uncommitted changes of others.")] = False,
    torch_npu_dir: Annotated[
        Path | None, typer.Option("--torch-npu-dir", help="Also check that this tree can be built here.")
    ] = None,
    python: Annotated[str, typer.Option("--python", help="Interpreter to build with.")] = sys.executable,
    jobs: Annotated[int | None, typer.Option("--jobs", help="Parallel compilers to have memory for.")] = None,
    generated: Annotated[
        bool, typer.Option("--generated", help="Also judge the generated code in --torch-npu-dir.")
    ] = False,
    codegen_log: Annotated[Path | None, typer.Option("--codegen-log", help="What the code generation printed.")] = None,
) -> None:
    """Say whether the operators can be applied and, with --torch-npu-dir, whether the tree can be built."""
    from ophook_npu import patch

    version = _version(torch_version)
    operators = [patch.load_operator(path) for path in _folders(op)]
    results = patch.apply(op_plugin, operators, version, autograd=autograd, dry_run=True, allow_dirty=allow_dirty)
    for result in results:
        _say(f"{result.name}: {'can be applied' if result.changed else 'applied'}", result.notes)
    findings: list[tuple[str, patch.Finding]] = []
    if torch_npu_dir is not None and not generated:
        findings += [("tree", one) for one in patch.preflight(torch_npu_dir, python, jobs, other_commits=allow_dirty)]
    if generated:
        if torch_npu_dir is None:
            raise OphookError("patch check", "--generated needs --torch-npu-dir")
        layout = patch.find_layout(op_plugin, version)
        log = codegen_log.read_text(encoding="utf-8", errors="replace") if codegen_log else None
        for operator in operators:
            found = patch.check_generated(torch_npu_dir, layout, operator, log=log, autograd=autograd)
            findings += [(operator.name, one) for one in found]
    if findings:
        _table(findings)
    if any(not one.ok for _, one in findings):
        raise typer.Exit(1)


def _table(findings: list[tuple[str, TreeCheck]]) -> None:
    table = Table("of", "what", "", "found", "next")
    for of, one in findings:
        ok = Text("ok", "green") if one.ok else Text("no", "red")
        words = [Text(shown(word)) for word in (of, one.what, one.detail, "" if one.ok else one.todo)]
        table.add_row(*words[:2], ok, *words[2:])
    Console().print(table)


def _say(line: str, details: tuple[str, ...] = ()) -> None:
    # Plain text: paths must not be wrapped or coloured, scripts read this.
    typer.echo(shown("\n".join([line, *(f"  {detail}" for detail in details)])))


def _version(given: str | None) -> str:
    if given is not None:
        return given
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        raise OphookError("patch", "torch is not installed", todo="pass --torch-version") from None


def _folders(given: list[Path] | None) -> list[Path]:
    if given:
        for path in given:
            if not path.exists():
                raise OphookError("patch", f"no folder {path}", todo="name an operator's folder with --op")
        return given
    default = _default_folder()
    if default is None:
        raise OphookError("patch", "no folder op_plugin_patch here", todo="name an operator's folder with --op")
    return [default]


def _default_folder() -> Path | None:
    """op_plugin_patch of the working directory, else of the checkout that this package runs from."""
    checkout = Path(__file__).resolve().parents[2] / "op_plugin_patch"
    return next((folder for folder in (Path("op_plugin_patch"), checkout) if folder.is_dir()), None)
