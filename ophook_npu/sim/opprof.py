"""The command ``msopprof`` of the simulated toolkit: what each launched kernel of a program moves and computes, and
which pipes work by the estimate of ``kernel report --timeline``. Nothing of it is measured.
"""

from __future__ import annotations

import csv
import json
import os
import secrets
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ophook_npu import sim
from ophook_npu.errors import OphookError
from ophook_npu.kernel.findings import KernelReport
from ophook_npu.kernel.timeline import PIPES, busy
from ophook_npu.sim.about import about
from ophook_npu.sim.variables import apply, environment

_WHERE = "msopprof"
_REPORT, _TIMELINE = "OPHOOK_KERNEL_REPORT", "OPHOOK_KERNEL_TIMELINE"
_COUNTED = ("copied_in", "copied_out", "copies", "elements", "instructions")
HEAD = (
    "Op Name", "Launch", "Block Dim", "Estimated Cycles", *(f"{pipe} Ratio (Estimate)" for pipe in PIPES),
    "Bytes In", "Bytes Out", "Copies", "Elements", "Instructions",
)  # fmt: skip


@dataclass
class _Asked:
    command: list[str] = field(default_factory=list)
    output: Path = Path()
    soc: str | None = None


def _asked(arguments: Sequence[str]) -> _Asked:
    job = _Asked()
    rest = list(arguments)
    if rest and rest[0] in ("simulator", "op"):  # both are this simulator
        rest.pop(0)
    while rest and rest[0].startswith("--"):
        option, has_value, value = rest.pop(0).partition("=")
        if not has_value and rest:
            value = rest.pop(0)
        if option == "--output":
            job.output = Path(value)
        elif option == "--soc-version":
            job.soc = value
        elif option == "--application":
            job.command = shlex.split(value)
        else:
            raise OphookError(
                _WHERE, f"{option} is not simulated", allowed="--output, --soc-version, --application, and a program"
            )
    job.command += rest
    if not job.command:
        raise OphookError(_WHERE, "no program", allowed="msopprof [--output=FOLDER] PROGRAM [ARGUMENT …]")
    return job


def rows(lines: Sequence[str]) -> list[list[object]]:
    """A row in the order of `HEAD` of each launch, from the lines that the launches wrote."""
    found: list[list[object]] = []
    for number, line in enumerate(lines):
        told = json.loads(line)
        report = KernelReport.parse(json.dumps(told["report"]), told["blocks"], 0)
        cycles = max((step.end for step in report.timeline), default=0.0)
        shares = busy(report)
        work = [f"{shares.get(pipe, 0.0):.4f}" for pipe in PIPES]
        moved = [report.counters[name] for name in _COUNTED]
        found.append([told["kernel"], number, told["blocks"], f"{cycles:.0f}", *work, *moved])
    return found


def profile(arguments: Sequence[str]) -> tuple[int, Path]:
    """Run a program and write its table.

    Returns:
        The program's exit status, and the folder with ``PipeUtilization.csv``.

    Raises:
        OphookError: an option that is not simulated, no program, or one that does not start.
    """
    job = _asked(arguments)
    environ = dict(os.environ)
    if job.soc:
        apply(environ, environment(sim.active() or sim.build(), soc=job.soc))
    outer = environ.get(_REPORT)
    with tempfile.TemporaryDirectory() as name:
        told = Path(name) / "reports"
        environ |= {_REPORT: str(told), _TIMELINE: "1"}
        try:
            status = subprocess.run(job.command, env=environ, check=False).returncode
        except OSError as error:
            raise OphookError(_WHERE, f"{job.command[0]} does not start: {error.strerror}") from None
        text = told.read_text(errors="replace") if told.exists() else ""
    if outer:
        with Path(outer).open("a") as file:
            file.write(text)
    folder = job.output / f"OPPROF_{time.strftime('%Y%m%d%H%M%S')}_{secrets.token_hex(4).upper()}"
    folder.mkdir(parents=True)
    table = rows(text.splitlines())
    if not table:
        print(f"{_WHERE}: no kernel that the program launches itself; those of operator packages are not counted")
    with (folder / "PipeUtilization.csv").open("w", newline="") as file:
        csv.writer(file).writerows([HEAD, *table])
    return status, folder


def main() -> int:
    if (text := about(_WHERE, sys.argv[1:])) is not None:
        print(text)
        return 0
    try:
        status, folder = profile(sys.argv[1:])
    except OphookError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{_WHERE}: {folder / 'PipeUtilization.csv'}: cycles and shares are estimates, nothing was measured")
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
