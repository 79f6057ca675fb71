"""``ophook-npu hooks matrix`` and ``ophook-npu hooks guide``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

console = Console()


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Ways to intercept operators: what each sees, which to use.", no_args_is_help=True)
    group.command()(matrix)
    group.command()(guide)
    app.add_typer(group, name="hooks")


def matrix(
    device: Annotated[str, typer.Option(help="cpu, or npu inside `ophook-npu run`.")] = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object for each experiment.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="The table as in docs/hooks-matrix.md.")] = False,
    update: Annotated[
        Path | None, typer.Option(help="Write the table into this document, in place of the table for this device.")
    ] = None,
) -> None:
    """Try every mechanism in every situation on the installed torch."""
    from ophook_npu.hooks import matrix as experiments

    cells = experiments.run(device)
    if as_json:
        print(json.dumps(experiments.as_rows(cells), indent=1))
        return
    if as_markdown:
        print(experiments.markdown(cells, device), end="")
        return
    if update is not None:
        document = update.read_text(encoding="utf-8") if update.exists() else ""
        update.write_text(experiments.updated(document, cells, device), encoding="utf-8")
        return
    mechanisms = list(dict.fromkeys(cell.mechanism for cell in cells))
    table = Table("", *mechanisms, title=f"hooks on {device}")
    color = {"yes": "green", "eager": "yellow", "capture": "yellow", "no": "red", "-": "dim"}
    at = {(cell.mechanism, cell.situation): cell for cell in cells}
    for situation in experiments.SITUATIONS:
        answers = [at[m, situation].answer for m in mechanisms]
        table.add_row(situation, *(f"[{color[answer]}]{answer}[/]" for answer in answers))
    console.print(table)
    for cell in cells:
        if cell.reason:
            console.print(f"{cell.mechanism}, {cell.situation}: {cell.reason}", markup=False, highlight=False)


def guide(
    op: Annotated[
        str, typer.Option(help="The operator, such as aten::mm; a glob or namespace works too.")
    ] = "aten::mm",
    needs: Annotated[str, typer.Option(help="comma-separated: compile, autograd, threads, vmap, inference.")] = "",
    replace: Annotated[bool, typer.Option(help="Replace the operator instead of observing it.")] = False,
) -> None:
    """Say which mechanism to use for an operator, and why not the others."""
    from ophook_npu.hooks import guide as advice

    answer = advice.advise(op, [need.strip() for need in needs.split(",") if need.strip()], replace=replace)
    console.print(f"[bold green]{answer.via}[/]  {answer.summary}")
    for note in answer.notes:
        console.print(f"  {note}", markup=False, highlight=False)
    if answer.rejected:
        console.print("\nnot:")
        for name, reason in answer.rejected.items():
            console.print(f"  {name}: {reason}", markup=False, highlight=False)
    console.print(f"\n{answer.example}", markup=False, highlight=False)
