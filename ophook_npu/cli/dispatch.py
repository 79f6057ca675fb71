"""``ophook-npu dispatch OP``."""

from __future__ import annotations

import dataclasses
import json
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from ophook_npu import collector
from ophook_npu.cli._program import DeviceOption, start_over
from ophook_npu.plural import counted

if TYPE_CHECKING:
    from ophook_npu.dispatch import Change, Row, Table

_COLOURS = {
    "registered": "green",
    "autograd": "cyan",
    "composite explicit": "yellow",
    "composite implicit": "yellow",
    "backend fallback": "magenta",
    "fallthrough": "dim",
    "ambiguous": "red",
}


def register(app: typer.Typer) -> None:
    @app.command("dispatch")
    def dispatch_command(
        op: str = typer.Argument(help="Operator, such as aten::add or aten::add.Tensor."),
        keys: str = typer.Option("", help="Only these keys, with commas between; also ones without a kernel."),
        diff: str = typer.Option("", help="Show where this other operator's table differs."),
        after: str = typer.Option("", metavar="FILE", help="Run a Python file and show what it changed in the table."),
        why: str | None = typer.Option(
            None,
            metavar="WORDS",
            help='Call it in a situation such as "npu,requires_grad,vmap"; show what ran and why.',
        ),
        args: str = typer.Option("", help='Arguments for --why, such as "f32[2,3], f32[3,4], alpha=2".'),
        as_json: bool = typer.Option(False, "--json", help="Print JSON."),
        device: DeviceOption = None,
    ) -> None:
        """Show an operator's kernels, or which of them run and why."""
        start_over(device)
        from ophook_npu import dispatch

        out = Console()
        if why is not None:
            explanation = dispatch.why(op, why, args or None)
            if as_json:
                print(json.dumps(explanation.to_json(), indent=2))
            else:
                out.print(Text(str(explanation)), soft_wrap=True)
            if explanation.error:
                raise typer.Exit(1)
            return
        table = dispatch.table(op)
        if diff or after:
            if after:
                with collector.usually():
                    runpy.run_path(str(Path(after)), run_name="__main__")
            changes = dispatch.diff(table, dispatch.table(diff or table.op))
            if as_json:
                print(json.dumps([dataclasses.asdict(change) for change in changes], indent=2))
            else:
                _wide(out).print(_changes(table, diff or f"after {after}", changes))
            return
        if as_json:
            data = table.to_json()
            if keys:
                wanted = table.only(keys.split(","))
                data["rows"] = [{"key": r} if isinstance(r, str) else dataclasses.asdict(r) for r in wanted]
            print(json.dumps(data, indent=2))
            return
        out.print(Text(table.schema), soft_wrap=True)
        if keys:
            _wide(out).print(_rows({"": table.only(keys.split(","))}))
            return
        _wide(out).print(_rows(dict(table.by_group())))
        if table.inactive:
            out.print(
                Text("hidden by later registrations: " + ", ".join(f"{r.key} ({r.file})" for r in table.inactive))
            )
        if table.others:
            out.print(Text("other overloads: " + ", ".join(table.others)), soft_wrap=True)


def _wide(out: Console) -> Console:
    """Not on a terminal, lines are as long as they need to be, so that grep finds whole rows."""
    return out if out.is_terminal else Console(width=220)


def _rows(groups: dict[str, Any]) -> Grid:
    from ophook_npu.dispatch._keys import GROUPS, label

    grid = Grid(box=None, pad_edge=False)
    for name in ("key", "kernel", "registered for"):
        grid.add_column(name, no_wrap=True)
    grid.add_column("file", overflow="fold")
    for group, rows in groups.items():
        if group:
            grid.add_row(Text(group, style="bold"), "", "", Text(GROUPS[group][1], style="dim italic"))
        for row in rows:
            if isinstance(row, str):
                grid.add_row(Text("  " + label(row)), Text("no kernel", style="red"), "", "")
            else:
                source = "" if row.source == row.key else "every operator" if row.source == "*" else row.source
                grid.add_row(Text("  " + label(row.key)), Text(row.kind, style=_COLOURS[row.kind]), source, _file(row))
    return grid


def _changes(before: Table, name: str, changes: list[Change]) -> Grid:
    from ophook_npu.dispatch._keys import label

    grid = Grid(
        "key",
        before.op,
        name,
        box=None,
        pad_edge=False,
        title=f"{counted(len(changes), 'difference')}",
        title_justify="left",
    )
    for change in changes:
        grid.add_row(label(change.key), *(_cell(row) for row in (change.before, change.after)))
    return grid


def _cell(row: Row | None) -> Text:
    if row is None:
        return Text("no kernel", style="red")
    return Text.assemble((row.kind, _COLOURS[row.kind]), " ", (row.file, "dim"))


def _file(row: Row) -> Text:
    return Text(row.file, style="dim")
