"""``ophook-npu op check``, ``op export``, ``op new`` and ``op simulate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ophook_npu.cli._program import DeviceOption, start_over

console = Console()


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Custom operators: new, check, export, simulate.", no_args_is_help=True)
    group.command()(check)
    group.command()(export)
    group.command()(new)
    group.command()(simulate)
    app.add_typer(group, name="op")


def check(
    operator: Annotated[
        str, typer.Argument(metavar="NAME|FILE", help="An operator that ships here, or a Python file.")
    ],
    only: Annotated[list[str] | None, typer.Option(help="Run only this check. Repeatable.")] = None,
    strict: Annotated[bool, typer.Option(help="Also fail if there is nothing to run a check on.")] = False,
    device: DeviceOption = None,
) -> None:
    """Run every check that can run here, and say why each failed.

    The device's routes need a device: --device sim, or a shell that has one.
    Exit status: 0 all passed, 1 some failed, 2 the operator cannot be checked at all.
    """
    start_over(device, cases=True)
    from ophook_npu.errors import OphookError
    from ophook_npu.ops.check import CHECKS
    from ophook_npu.ops.check import check as run_checks
    from ophook_npu.ops.load import load

    for name in only or ():
        if name not in CHECKS:
            raise OphookError("op check", f"no check {name!r}", allowed=", ".join(CHECKS))
    failed = False
    color = {"pass": "green", "fail": "red", "not here": "yellow"}
    for op in load(operator):
        table = Table("check", "", "what was found", title=op.schema, title_justify="left", title_style="bold")
        for outcome in run_checks(op, only):
            status = f"[{color[outcome.status]}]{outcome.status}[/]"
            table.add_row(outcome.check, status, outcome.reason.replace("[", "\\["))
            failed |= outcome.status == "fail" or (strict and outcome.status == "not here")
        console.print(table)
    raise typer.Exit(1 if failed else 0)


def export(
    operator: Annotated[
        str, typer.Argument(metavar="NAME|FILE", help="An operator that ships here, or a Python file.")
    ],
    out: Annotated[Path, typer.Option(help="The folder to write into; it is created if it does not exist.")],
    torch_npu: Annotated[
        str | None, typer.Option(help="The first version that the YAML entry is for. Default: all.")
    ] = None,
) -> None:
    """Write the files that torch_npu and CANN build an operator from.

    They are op-plugin's YAML entries and C++ kernel, msopgen's JSON, the REG_OP prototype and the host skeleton.
    """
    from ophook_npu.ops.export import write
    from ophook_npu.ops.load import load

    operators = load(operator)
    for op in operators:
        for path in write(op, out if len(operators) == 1 else out / op.name, torch_npu):
            console.print(str(path), markup=False, highlight=False, soft_wrap=True)


def new(
    name: Annotated[str, typer.Argument(help="namespace::operator, such as npu::npu_scale_custom.")],
    out: Annotated[Path, typer.Option(help="The package's folder; it must not exist yet.")],
    schema: Annotated[
        str, typer.Option(help='Arguments and results, such as "(Tensor x, float scale) -> Tensor".')
    ] = "",
    template: Annotated[
        str, typer.Option(help="elementwise (any schema), reduction, row_norm, matmul or attention.")
    ] = "elementwise",
) -> None:
    """Start a package of your own: declaration, kernels, tests and README.

    It can be installed, and passes `op check` and `kernel check --strict` as it is.
    """
    from ophook_npu.ops.new import write

    for path in write(name, schema, out, template):
        console.print(str(path), markup=False, highlight=False, soft_wrap=True)
    console.print(f"next: ophook-npu op check {out}/{name.split('::')[-1]}/operator.py", markup=False, highlight=False)


def simulate(
    folder: Annotated[Path, typer.Argument(help="The folder with *_aclnn.cpp and *_proto.cpp.")],
) -> None:
    """Build a custom operator package for the simulated Ascend.

    Prints the folder, for ASCEND_CUSTOM_OPP_PATH.
    """
    from ophook_npu.ops import packages

    print(packages.simulate(folder))
