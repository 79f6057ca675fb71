"""``ophook-npu port -- ARGS``: will it run on Ascend? A report of a program that nobody edited."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ophook_npu import sarif
from ophook_npu import soc as socs
from ophook_npu.cli._command import ProgramCommand, no_program
from ophook_npu.cli._program import OutOption, ProgramArgument, progress, readable, start_over, watched, writable
from ophook_npu.errors import OphookError
from ophook_npu.npu import autoload
from ophook_npu.plural import counted
from ophook_npu.untrusted import shown

if TYPE_CHECKING:
    from ophook_npu.observe.port import Port
    from ophook_npu.observe.port.report import Report


def register(app: typer.Typer) -> None:
    @app.command("port", cls=ProgramCommand)
    def port_command(
        program: ProgramArgument = [],  # noqa: B006 (typer copies it)
        from_cuda: Annotated[
            bool, typer.Option("--from-cuda", help="The program is made for CUDA: apply torch_npu's transfer_to_npu.")
        ] = False,
        from_cpu: Annotated[
            bool,
            typer.Option("--from-cpu", help="The program asks for no device: make the NPU torch's default device."),
        ] = False,
        steps: Annotated[int | None, typer.Option(help="Stop after so many optimizer steps.")] = None,
        stop: Annotated[
            bool, typer.Option("--stop", help="End at the first call that the device refuses, as a device would.")
        ] = False,
        fail_on: Annotated[
            str | None, typer.Option(help="Exit status 1 if one of these kinds was found: fallback,refused")
        ] = None,
        graph: Annotated[
            bool,
            typer.Option(help="Trace the outermost modules after the program: graph breaks, fused operators missed."),
        ] = True,
        compare: Annotated[
            bool,
            typer.Option("--compare", help="Also compare each call with float64 on the CPU; much slower."),
        ] = False,
        apply: Annotated[
            bool,
            typer.Option("--apply", help="Also try the fused operators that were missed: how far off from the CPU?"),
        ] = False,
        diff: Annotated[
            tuple[Path, Path] | None, typer.Option(help="Instead of a program: two --json reports to compare.")
        ] = None,
        html: Annotated[Path | None, typer.Option(help="Write one page here.")] = None,
        lang: Annotated[str, typer.Option(help="en or zh.")] = "en",
        out: OutOption = None,
        form: Annotated[
            str, typer.Option("--format", help="text; github: annotations too; sarif: SARIF in --json's file.")
        ] = "text",
        soc: Annotated[str | None, typer.Option(help="The SoC to simulate.")] = None,
        device: Annotated[str, typer.Option(help="sim, or auto: an NPU if there is one.")] = "sim",
    ) -> None:
        """Will it run on Ascend? What is refused, slow or left to the CPU.

        Runs the program on the simulated Ascend and reports what a device refuses, what it leaves to the CPU, what it
        waits for, and what to do. Exit status: the program's, or 1 if a kind of --fail-on was found.
        """
        wanted = _kinds(fail_on)
        _language(lang)
        if sarif.check_format("port", form) == "sarif" and out is None:
            todo = "--format sarif --json FILE: standard output is the program's"
            raise OphookError("port", "--format sarif without a file", todo=todo)
        writable(html, out)
        if diff is not None:
            from ophook_npu.observe.port import differences, grown, read

            before, after = (read(readable(path)) for path in diff)
            print(shown(differences(before, after)))
            raise typer.Exit(int(grown(before, after, wanted)))
        if not program:
            raise OphookError("port", no_program(sys.argv), allowed="ophook-npu port -- train.py")
        _become_inside(device, soc)
        from ophook_npu.observe.port import Port
        from ophook_npu.observe.program import file_of

        if from_cuda:
            import torch_npu.contrib.transfer_to_npu  # noqa: F401
        if from_cpu:
            import torch

            torch.set_default_device("npu")
        port = Port(
            steps=steps, transferred=from_cuda, go_on=not stop, graph=graph, compare=compare, apply=apply
        )  # fmt: skip
        console = Console(stderr=True)
        of = "" if steps is None else f" of {steps}"
        page, data = (_of_rank(path) for path in (html, out))

        def finish(status: int) -> int:
            # Now: what it takes to find the file may be imported, which is not to be seen as the program's doing.
            port.main = file_of(program)
            if graph and not port.interrupted:
                with progress(console, lambda: "port: graph mode; Ctrl-C leaves the rest of it out"):
                    status = _traced(port) or status
            report = port.result()
            if page is not None:
                port.html(page, title=" ".join(program), lang=lang)
            if data is not None:
                plain = json.dumps(report.to_json(), indent=1, ensure_ascii=False) + "\n"
                data.write_text(_reviewed(report, form) if form == "sarif" else plain)
            sys.stdout.flush()
            if os.environ.get("RANK", "0") == "0":
                print(shown(report.text(lang)), file=sys.stderr, flush=True)
                if form == "github":
                    print(_reviewed(report, form), end="", file=sys.stderr, flush=True)
            return status or int(any(report.of(kind) for kind in wanted))

        watched(program, port, finish, lambda: f"port: step {port.steps}{of}, {counted(port.seen, 'call')}")


def _reviewed(report: Report, form: str) -> str:
    """The findings as ``--format`` asks for them."""
    from ophook_npu.observe.port.review import for_review, meanings

    return sarif.render(form, "port", for_review(report), meanings())


def _of_rank(path: Path | None) -> Path | None:
    """Where this rank writes: ``{rank}`` in a name is its number; without it, only rank 0 writes."""
    rank = os.environ.get("RANK", "0")
    if path is None or (rank != "0" and "{rank}" not in path.name):
        return None
    return path.with_name(path.name.replace("{rank}", rank))


def _traced(port: Port) -> int:
    """Graph mode, and 0; or 130 if Ctrl-C ended it: the rest is reported all the same."""
    try:
        port.trace()
    except KeyboardInterrupt:
        print("interrupted: graph mode is reported as far as it was traced", file=sys.stderr)
        port.interrupted = True
        return 130
    return 0


def _kinds(text: str | None) -> list[str]:
    from ophook_npu.observe.port.finding import KINDS

    kinds = [] if text is None else [one.strip() for one in text.split(",") if one.strip()]
    for kind in kinds:
        if kind not in KINDS:
            raise OphookError("port", f"unknown kind {kind!r}", allowed=", ".join(KINDS))
    return kinds


def _language(lang: str) -> None:
    from ophook_npu.observe.port.words import LANGUAGES

    if lang not in LANGUAGES:
        raise OphookError("port", f"unknown language {lang!r}", allowed=", ".join(LANGUAGES))


def _become_inside(device: str, soc: str | None) -> None:
    """Puts the simulator, or an NPU, under this process, unless it is there."""
    if soc is not None:
        os.environ["OPHOOK_SIM_SOC"] = socs.check(soc)
    start_over(None if device == "sim" and "OPHOOK_SIM_ROOT" in os.environ else device)
    os.environ.pop(autoload.VARIABLE, None)  # the program gets its npu, whatever was set for all of torch
