"""``ophook-npu log|stats|trace|profile|validate|compare -- ARGS``: observe a program that nobody edited."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ophook_npu.cli._program import OutOption, observe, readable, watching, writable


def register(app: typer.Typer) -> None:
    @watching(app, "log")
    def log_command(
        program: list[str],
        filters: dict[str, Any],
        to: Annotated[str, typer.Option(help="File to write to; default: standard output.")] = "stdout",
        as_json: Annotated[bool, typer.Option("--json", help="JSON lines.")] = False,
        results: Annotated[bool, typer.Option(help="A line for each result too.")] = False,
    ) -> None:
        """Write a line for each operator call of a program."""
        from ophook_npu.observe import Log

        observe(program, Log(to=to, as_json=as_json, results=results, **filters), None)

    @watching(app, "stats")
    def stats_command(
        program: list[str],
        filters: dict[str, Any],
        by_module: Annotated[bool, typer.Option(help="Also by module.")] = False,
        out: OutOption = None,
    ) -> None:
        """Count a program's operator calls, with shapes, dtypes and bytes."""
        writable(out)
        from ophook_npu.observe import Stats

        observe(program, Stats(by_module=by_module, **filters), out)

    @watching(app, "trace")
    def trace_command(
        program: list[str],
        filters: dict[str, Any],
        depth: Annotated[int | None, typer.Option(help="How many of the program's frames to keep.")] = None,
        out: OutOption = None,
    ) -> None:
        """Show who calls which operator in a program."""
        writable(out)
        from ophook_npu.observe import Trace

        observe(program, Trace(depth=depth, **filters), out)

    @watching(app, "profile")
    def profile_command(
        program: list[str],
        filters: dict[str, Any],
        by_module: Annotated[bool, typer.Option(help="Also by module.")] = False,
        top: Annotated[int, typer.Option(help="How many rows to print.")] = 30,
        html: Annotated[Path | None, typer.Option(help="Write a report with charts here.")] = None,
        timeline: Annotated[Path | None, typer.Option(help="Write a Chrome/Perfetto trace here.")] = None,
        baseline: Annotated[Path | None, typer.Option(help="An earlier --json result to compare with.")] = None,
        out: OutOption = None,
    ) -> None:
        """Measure where the time of a program's operators goes."""
        writable(out, html, timeline)
        from ophook_npu.observe import Profile
        from ophook_npu.observe.profile import diff, read_baseline

        earlier = None if baseline is None else read_baseline(readable(baseline))
        profile = Profile(by_module=by_module, **filters)

        def finish() -> str:
            if html is not None:
                profile.html(html, title=" ".join(program))
            if timeline is not None:
                profile.chrome_trace(timeline)
            return profile.report(top) + ("" if earlier is None else f"\n\n{diff(earlier, profile)}")

        observe(program, profile, out, finish)

    @watching(app, "validate")
    def validate_command(
        program: list[str],
        filters: dict[str, Any],
        mode: Annotated[str, typer.Option(help="warn, raise (in the program) or record.")] = "record",
        debugger: Annotated[bool, typer.Option(help="Stop in the debugger at a problem.")] = False,
        check: Annotated[
            list[str] | None, typer.Option(help="Only this check: nan, inf, overflow, dtype, device. Repeatable.")
        ] = None,
        contracts: Annotated[
            Path | None,
            typer.Option(
                help="A Python file with CONTRACTS = {operator: function of the call that says what is wrong}."
            ),
        ] = None,
        out: OutOption = None,
    ) -> None:
        """Find the call that first makes a NaN, infinity or odd dtype.

        Or a result on another device than its arguments. Exit status: the program's, or 1 if there is a problem.
        """
        writable(out)
        from ophook_npu.observe import Validate
        from ophook_npu.observe.program import functions
        from ophook_npu.observe.validate import CHECKS

        meaning = "a function gets the Call and returns what is wrong, or None"
        rules = None if contracts is None else functions(contracts, "CONTRACTS", "validate", meaning)
        checks = CHECKS if check is None else tuple(check)
        validate = Validate(mode=mode, debugger=debugger, checks=checks, contracts=rules, **filters)  # type: ignore[arg-type]
        observe(program, validate, out, bad=lambda: validate.found)

    @watching(app, "compare")
    def compare_command(
        program: list[str],
        filters: dict[str, Any],
        reference: Annotated[
            str, typer.Option(help="float64 (on the CPU), or a device for the same dtype there.")
        ] = "float64",
        drift: Annotated[bool, typer.Option(help="Also follow the error that accumulates over the run.")] = False,
        html: Annotated[Path | None, typer.Option(help="Write a report here.")] = None,
        rows: Annotated[
            Path | None,
            typer.Option(help="Write each compared result here: Parquet if it ends in .parquet, else JSON lines."),
        ] = None,
        out: OutOption = None,
    ) -> None:
        """Compare each operator call of a program with a reference.

        Exit status: the program's, or 1 if a result is out of tolerance.
        """
        writable(out, html, rows)
        from ophook_npu.observe import Compare

        compare = Compare(reference=reference, drift=drift, to=rows, **filters)

        def finish() -> str:
            if html is not None:
                compare.html(html, title=" ".join(program))
            return compare.report()

        observe(program, compare, out, finish, bad=lambda: compare.failed)
