"""``ophook-npu kernel check``, ``kernel build`` and ``kernel report``."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from ophook_npu.cli._command import ProgramCommand
from ophook_npu.plural import counted

console = Console(soft_wrap=True, highlight=False, markup=False)


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Ascend C kernels on the CPU: check, build, report.", no_args_is_help=True)
    group.command()(check)
    group.command(cls=ProgramCommand)(run)
    group.command()(build)
    group.command()(report)
    app.add_typer(group, name="kernel")


def check(
    project: Annotated[
        Path,
        typer.Argument(
            metavar="PROJECT", help="The folder with op_host and op_kernel; a program (.asc), or a folder of them."
        ),
    ],
    op: Annotated[str | None, typer.Option(help="Only this operator, such as AddCustom.")] = None,
    inputs: Annotated[
        list[Path] | None, typer.Option(help="A .py file with inputs() and perhaps reference(…), or .npy files.")
    ] = None,
    include: Annotated[list[Path] | None, typer.Option("--include", "-I", help="A folder with headers.")] = None,
    soc: Annotated[str | None, typer.Option(help="The SoC to check for.")] = None,
    cores: Annotated[int | None, typer.Option(help="Assume a SoC with this many vector cores.")] = None,
    strict: Annotated[bool, typer.Option(help="Also report what the device compiler may correct by itself.")] = False,
    checks: Annotated[bool, typer.Option(help="--no-checks: only compute and compare.")] = True,
    dma: Annotated[
        str, typer.Option(help="When a copy takes effect: eager, at once; on-wait, when something waits for it.")
    ] = "eager",
    timeout: Annotated[float, typer.Option(help="Seconds for one case.")] = 60,
    out: Annotated[Path | None, typer.Option("--json", help="Write the result as JSON to this file.")] = None,
    form: Annotated[
        str, typer.Option("--format", help="text; github: annotations; sarif: SARIF, in --json's file if there is one.")
    ] = "text",
    debug: Annotated[bool, typer.Option(help="Print how to step through the kernel in gdb.")] = False,
    watch: Annotated[bool, typer.Option(help="Check again whenever a source changes, until you end it.")] = False,
) -> None:
    """Run an operator project's kernel on the CPU and say what is wrong, with the line.

    Exit status: 0 nothing found, 1 findings or wrong results, 2 it cannot be checked at all.
    """
    from ophook_npu import sarif
    from ophook_npu.errors import OphookError
    from ophook_npu.kernel.check import Checked, for_review
    from ophook_npu.kernel.check import check as run
    from ophook_npu.kernel.kinds import kinds
    from ophook_npu.sim import program

    sarif.check_format("kernel check", form)
    if dma not in ("eager", "on-wait"):
        raise OphookError("kernel check", f"--dma {dma}", allowed="eager, on-wait")
    if timeout <= 0:
        raise OphookError("kernel check", f"--timeout {timeout:g}", allowed="more than 0 seconds")
    _writable(out)
    settings: dict[str, Any] = {
        "soc": soc,
        "cores": cores,
        "strict": strict,
        "checks": checks,
        "on_wait": dma == "on-wait",
        "include": include or (),
    }
    if debug:
        _tell_gdb(project, op, inputs or ())
        return

    def once() -> list[Checked]:
        programs = [project] if project.suffix == ".asc" else sorted(project.glob("*.asc"))
        if programs:
            return [result for source in programs for result in program.check(source, **settings)]
        return run(project, op, inputs or (), declared=_shipped_cases, timeout=timeout, **settings)

    if watch:
        _watch(project, lambda: _tell(once()))
    results = once()
    reviewed = ""
    if form != "text":
        meanings = {kind.name: kind.todo for kind in kinds()}
        reviewed = sarif.render(form, "kernel check", for_review(results), meanings)
    if form == "text" or (form == "sarif" and out is not None):
        _tell(results)
    else:
        sys.stdout.write(reviewed)
    if out is not None:
        plain = json.dumps([_plain(result) for result in results], indent=1) + "\n"
        out.write_text(reviewed if form == "sarif" else plain)
    raise typer.Exit(1 if any(result.failed for result in results) else 0)


def _shipped_cases(prototype: Any) -> Any:
    from ophook_npu.ops.check.kernel import shipped_cases  # loads torch, while the compilers run

    return shipped_cases(prototype)


def _watch(project: Path, once: Callable[[], None]) -> NoReturn:
    """Call ``once`` now and after each change of a source. It ends when the user interrupts it."""
    from ophook_npu.errors import OphookError

    def state() -> list[tuple[Path, int]]:
        files = [project] if project.is_file() else sorted(project.rglob("*"))
        return [(f, f.stat().st_mtime_ns) for f in files if f.suffix in (".asc", ".cpp", ".h", ".py") and f.is_file()]

    while True:
        seen = state()
        try:
            once()
        except OphookError as error:
            console.print(str(error))
        console.print("watching; Ctrl-C ends it")
        while state() == seen:
            time.sleep(0.5)


def _tell(results: Sequence[Any]) -> None:
    for result in results:
        for outcome in result.outcomes:
            console.print(f"{outcome.status:5} {result.operator} {outcome.label}", style=_STYLE[outcome.status])
            if outcome.reason:
                console.print(f"      {outcome.reason}")
            if outcome.report.output:
                console.print(outcome.report.output.rstrip("\n"))
        for finding in result.findings:
            console.print(str(finding))
        findings = result.findings
        errors = sum(f.severity == "error" for f in findings)
        others, runs = len(findings) - errors, len(result.outcomes)
        failed = sum(o.status != "pass" for o in result.outcomes)
        found = f"{counted(errors, 'error')}, {counted(others, 'other')}"
        console.print(f"{result.operator}: {counted(runs, 'run')}, {failed} failed; {found}")


def run(
    program: Annotated[
        list[str],
        typer.Argument(metavar="PROGRAM", help="An .asc file with main and kernels, and its arguments."),
    ],
    soc: Annotated[str | None, typer.Option(help="The SoC to run on.")] = None,
    strict: Annotated[bool, typer.Option(help="Also report what the device compiler may correct by itself.")] = False,
    checks: Annotated[bool, typer.Option(help="--no-checks: only compute.")] = True,
    dma: Annotated[
        str, typer.Option(help="When a copy takes effect: eager, at once; on-wait, when something waits for it.")
    ] = "eager",
    define: Annotated[list[str] | None, typer.Option("--define", "-D", help="A macro, NAME or NAME=VALUE.")] = None,
    include: Annotated[list[Path] | None, typer.Option("--include", "-I", help="A folder with headers.")] = None,
) -> None:
    """Compile and run a program that launches its own kernels (kernel<<<blocks, l2ctrl, stream>>>(…)).

    The device is a simulated one. What is wrong with a kernel is printed behind the program's own output.

    Exit status: the program's; 1 where it is 0 and a kernel has errors; 2 it does not compile.
    """
    from ophook_npu.errors import OphookError
    from ophook_npu.kernel.source import Settings
    from ophook_npu.sim.program import run as start

    if dma not in ("eager", "on-wait"):
        raise OphookError("kernel run", f"--dma {dma}", allowed="eager, on-wait")
    flags = [f"-D{one}" for one in define or ()] + [f"-I{folder}" for folder in include or ()]
    settings = Settings(soc=soc, strict=strict, checks=checks, on_wait=dma == "on-wait")
    seen = start(Path(program[0]), program[1:], flags=flags, settings=settings)
    told = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    errors = others = 0
    for finding in dict.fromkeys(finding for _, report in seen.reports for finding in report.findings):
        told.print(str(finding))
        errors, others = errors + (finding.severity == "error"), others + (finding.severity != "error")
    if errors or others:
        launches = counted(len(seen.reports), "launch", "launches")
        told.print(f"{program[0]}: {launches}; {counted(errors, 'error')}, {counted(others, 'other')}")
    raise typer.Exit(128 - seen.status if seen.status < 0 else seen.status or int(errors > 0))


def build(
    project: Annotated[Path, typer.Argument(metavar="PROJECT", help="The folder with op_host and op_kernel.")],
    out: Annotated[Path, typer.Option(help="The package's folder; ASCEND_CUSTOM_OPP_PATH=DIR finds it.")],
    include: Annotated[list[Path] | None, typer.Option("--include", "-I", help="A folder with headers.")] = None,
) -> None:
    """Build a vendor package for the simulated Ascend.

    Its operators run the project's own kernels, core by core.
    """
    from ophook_npu.sim.packages import build as make

    for path in make(project, out.absolute(), include or ()):
        console.print(str(path))
    console.print(f"next: ASCEND_CUSTOM_OPP_PATH={shlex.quote(str(out.absolute()))} ophook-npu run -- YOUR_PROGRAM")


def report(
    project: Annotated[Path, typer.Argument(metavar="PROJECT", help="The folder with op_host and op_kernel.")],
    op: Annotated[str | None, typer.Option(help="Only this operator, such as AddCustom.")] = None,
    inputs: Annotated[
        list[Path] | None, typer.Option(help="A .py file with inputs() and perhaps reference(…), or .npy files.")
    ] = None,
    include: Annotated[list[Path] | None, typer.Option("--include", "-I", help="A folder with headers.")] = None,
    soc: Annotated[str | None, typer.Option(help="The SoC to count for.")] = None,
    page: Annotated[Path | None, typer.Option("--html", help="Write a page here.")] = None,
    timeline: Annotated[
        Path | None, typer.Option(help="Write an estimate of when each pipe works here, for ui.perfetto.dev.")
    ] = None,
) -> None:
    """Say what a kernel moves and computes, and how much local memory it takes.

    Exit status: 0 it ran in every case, 1 it did not.
    """
    from rich.table import Table

    from ophook_npu.kernel import report as pages
    from ophook_npu.kernel import timeline as lines
    from ophook_npu.kernel.check import check as run
    from ophook_npu.kernel.socs import find
    from ophook_npu.observe.pages import kernel as drawn

    for path in (page, timeline):
        _writable(path)
    results, chosen = (
        run(
            project,
            op,
            inputs or (),
            include=include or (),
            declared=_shipped_cases,
            soc=soc,
            timeline=timeline is not None,
        ),
        find(soc),
    )
    for result in results:
        table = Table(*pages.HEAD, title=result.operator)
        for outcome in result.outcomes:
            row = pages.used(outcome)
            table.add_row(row.label, row.status, *(text for _, text in pages.cells(row, chosen)))
        (console if console.is_terminal else Console(width=220)).print(table)
    if timeline is not None:
        timeline.write_text(json.dumps(lines.trace(results)) + "\n", encoding="utf-8")
        for result in results:
            for outcome in result.outcomes:
                told = ", ".join(f"{pipe} {share:.0%}" for pipe, share in lines.busy(outcome.report).items())
                console.print(
                    f"{result.operator} {outcome.label}: pipes of the slowest core at work (estimate): {told}"
                )
        console.print(str(timeline))
    if page is not None:
        page.write_text(drawn.html(results, chosen, project.resolve().name), encoding="utf-8")
        console.print(str(page))
    raise typer.Exit(1 if any(o.status != "pass" for result in results for o in result.outcomes) else 0)


_STYLE = {"pass": "green", "fail": "red", "error": "red"}


def _plain(result: Any) -> dict[str, Any]:
    return {
        "operator": result.operator,
        "failed": result.failed,
        "outcomes": [dataclasses.asdict(outcome) for outcome in result.outcomes],
        "findings": [dataclasses.asdict(finding) for finding in result.findings],
    }


def _writable(path: Path | None) -> None:
    """Said before the work, not after it."""
    from ophook_npu.errors import OphookError

    if path is not None and (
        path.is_dir() or not os.access(path if path.exists() else path.absolute().parent, os.W_OK)
    ):
        raise OphookError("kernel", f"{path} cannot be written", allowed="a file in a folder that is there")


def _tell_gdb(project: Path, op: str | None, inputs: Sequence[Path]) -> None:
    from ophook_npu.kernel import load
    from ophook_npu.kernel.cases import cases
    from ophook_npu.ops.check.kernel import shipped_cases

    kernel = load(project, op)
    cases(kernel.prototype, inputs, shipped_cases)  # what is wrong with them is told now
    chosen, given = str(kernel.project.path), [str(path.absolute()) for path in inputs]
    code = "from ophook_npu.kernel.check import debug; from ophook_npu.ops.check.kernel import shipped_cases; "
    code += f"debug({chosen!r}, {kernel.prototype.type!r}, {given!r}, shipped_cases)"
    function = kernel.prototype.function
    console.print(f"gdb -ex 'set breakpoint pending on' -ex 'break {function}' -ex run --args \\")
    console.print(f"    {shlex.quote(sys.executable)} -c {shlex.quote(code)}")
    console.print(
        "the first case runs; cores run one after the other on one thread; `next`, `info locals` and `finish`"
    )
    console.print("work as in any C++ program, and the kernel is compiled without optimisation")
