"""``ophook-npu sim rules``: what a function accepts, and what a run was refused."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ophook_npu.errors import OphookError
from ophook_npu.plural import counted
from ophook_npu.sim import rules


def register(sim: typer.Typer) -> None:
    @sim.command("rules")
    def rules_command(
        function: Annotated[
            str | None, typer.Argument(help="A function of the operator interface: aclnnMatmul.")
        ] = None,
        soc: Annotated[str | None, typer.Option(help="Only this SoC's product family.")] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
        report: Annotated[
            Path | None, typer.Option(help="Sum up a file that `run --rules-report FILE` wrote, by product.")
        ] = None,
    ) -> None:
        """Show what an aclnn function accepts on each product, as CANN's pages say it."""
        families = (rules.family(soc),) if soc else rules.FAMILIES
        console = Console()
        if report is not None:
            _print_report(console, report)
        elif function is None:
            names = sorted(rules.table())
            print(
                json.dumps(names)
                if as_json
                else f"{counted(len(names), 'function')}, from {'; '.join(rules.sources())}"
            )
        else:
            _print_function(console, _known(function), families, as_json)


def _known(name: str) -> rules.Function:
    found = rules.table().get(name) or rules.table().get(f"aclnn{name}")
    if found:
        return found
    near = difflib.get_close_matches(name if name.startswith("aclnn") else f"aclnn{name}", rules.table(), 3)
    raise OphookError(
        "rules",
        f"no rules for {name}: it is on none of the pages",
        allowed=", ".join(near) or None,
        todo="check the name",
    )


def _print_function(console: Console, one: rules.Function, families: tuple[str, ...], as_json: bool) -> None:
    if as_json:
        print(json.dumps(rules.as_json(one, families), indent=1))
        return
    console.print(f"{one.name}  [dim]{one.page}[/]", highlight=False, soft_wrap=True)
    for family in families:
        if family not in one.families:
            says = "does not exist" if family in one.absent else "is not mentioned by the page"
            console.print(f"\n{family}: {says}", highlight=False)
            continue
        table = Table(title=family, title_justify="left")
        for head in ("parameter", "type", "", "null", "data types", "dimensions", "also"):
            table.add_column(head, overflow="fold")
        for parameter in one.parameters:
            table.add_row(
                parameter.name,
                parameter.kind,
                parameter.direction,
                ("161001" if parameter.required else "allowed or not said") if parameter.kind.endswith("*") else "",
                " ".join(parameter.dtypes.get(family, ())) or "-",
                rules.ranks_text(parameter.ranks),
                "; ".join([*_formats(parameter, family), *_relations(parameter, family)]),
            )
        console.print(table)
    if one.shapes:
        console.print(f"Shapes: {one.shapes}", highlight=False, soft_wrap=True, markup=False)
    if rules.TILING in (one.shape_code, one.invalid_code):
        codes = f"A wrong shape or number of dimensions: {one.shape_code}; what else is wrong: {one.invalid_code}."
        console.print(codes, highlight=False)


def _formats(parameter: rules.Parameter, family: str) -> list[str]:
    """Those that are enforced: a list of the page alone refuses private formats."""
    listed = parameter.formats.get(family) if "formats" in parameter.relations.get("checked", ()) else None
    return [f"format one of {', '.join(listed)}"] if listed else []


def _relations(parameter: rules.Parameter, family: str) -> list[str]:
    said = {key.partition(":"): names for key, names in parameter.relations.items()}
    return [_relation(key, names) for (key, _, only), names in said.items() if only in ("", family)]


def _relation(key: str, names: tuple[str, ...]) -> str:
    if key in ("values", "length", "sizes"):
        return f"{key}: {', '.join(names)}"
    if key == "columns":
        return "in turn with the others: " + ", ".join(names)
    words = {
        "either": "161001 where null like",
        "shape_of_broadcast": "shape of the broadcast of",
        "any_format": "any format",
        "free_if_empty": "not looked at where one is empty:",
        "format": "format of",
        "contiguous": "contiguous",
        "null_is_invalid": "161002 where null",
        "tiled": "storage in tiles of FRACTAL_NZ",
        "dtype": "data type of",
        "cast": "data type that can be converted from that of",
        "checked": "by CANN's own check, not the page:",
    }
    return " ".join([words.get(key, f"{key} of"), " and ".join(names)]).strip()


def _print_report(console: Console, path: Path) -> None:
    if not path.is_file():
        raise OphookError(
            "rules", f"no such file: {path}", todo="write one with `ophook-npu run --rules-report FILE -- …`"
        )
    found: dict[str, dict[str, None]] = {family: {} for family in rules.FAMILIES}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            record = json.loads(line)
            found[record["family"]][str(record["message"])] = None
        except (ValueError, KeyError, TypeError) as error:
            raise OphookError("rules", f"{path}, line {number} is not a report: {error}") from error
    for family, messages in found.items():
        verdict = f"{len(messages)} refused" if messages else "no known rule refuses anything"
        console.print(f"[bold]{family}[/]: {verdict}", highlight=False)
        for message in messages:
            console.print(f"  {message}", markup=False, highlight=False, soft_wrap=True)
