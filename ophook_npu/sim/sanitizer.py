"""The command ``mssanitizer`` of the simulated toolkit: runs a program and tells what the checks of its kernels found.
Each run is checked in any case; a tool of the sanitizer is a choice of what is told.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.kernel.findings import KernelReport, Mistake
from ophook_npu.plural import counted
from ophook_npu.sim.about import about

_WHERE = "mssanitizer"
_REPORT, _STRICT, _LEAKS = "OPHOOK_KERNEL_REPORT", "OPHOOK_KERNEL_STRICT", "OPHOOK_SIM_LEAKS"
# Kinds of csrc/ascendc/runtime/findings.inc; what is in none of them is told by each tool.
TOOLS = {
    "memcheck": {
        "alignment", "local_bounds", "local_capacity", "local_overcommit", "beyond_tensor", "beyond_buffer",
        "global_bounds", "beyond_argument", "global_padding", "cores_overlap", "written_twice",
        "input_written", "input_changed", "use_after_free", "free_and_used", "not_freed",
    },
    "racecheck": {
        "missing_sync", "missing_scalar_sync", "missing_barrier", "iterations_overlap", "copies_overlap",
        "missing_sync_all", "overlap",
        "missing_sync_threads", "missing_warp_sync", "missing_block_order", "threads_overlap",
    },
    "initcheck": {"uninitialized", "uncomputed_tail", "unwritten"},
    "synccheck": {"event_id", "wait_without_set", "set_without_wait", "set_twice", "deadlock"},
}  # fmt: skip
_SWITCHES = {"--leak-check": ("yes", "no"), "--check-unused-memory": ("no",), "--check-device-heap": ("no",),
             "--check-cann-heap": ("no",)}  # fmt: skip


@dataclass
class _Wanted:
    command: list[str] = field(default_factory=list)
    tool: str = "memcheck"
    leaks: bool = False
    log: Path | None = None


def _asked(arguments: Sequence[str]) -> _Wanted:
    """The tool's own options are taken before the program's name and behind it, as its guides write them; behind ``--``
    everything is the program's.
    """
    job, rest = _Wanted(), list(arguments)
    own = ("-t", "--tool", "--log-file", "--log-level", "--max-debuglog-size", *_SWITCHES)
    while rest:
        one = rest.pop(0)
        option, has_value, value = one.partition("=")
        if one == "--":
            job.command += rest
            break
        if option not in own:
            if one.startswith("-") and not job.command:
                raise OphookError(_WHERE, f"{option} is not simulated", allowed=", ".join(own))
            job.command.append(one)
            continue
        if not has_value:
            value = rest.pop(0) if rest else ""
        if option in _SWITCHES and value not in _SWITCHES[option]:
            raise OphookError(_WHERE, f"{option}={value} is not simulated", allowed=", ".join(_SWITCHES[option]))
        if option in ("-t", "--tool"):
            if value not in TOOLS:
                raise OphookError(_WHERE, f"{option} {value}", allowed=", ".join(TOOLS))
            job.tool = value
        elif option == "--leak-check":
            job.leaks = value == "yes"
        elif option == "--log-file":
            job.log = Path(value)
    if not job.command:
        raise OphookError(_WHERE, "no program", allowed=f"{_WHERE} [--tool=memcheck] PROGRAM [ARGUMENT …]")
    return job


def _told(tool: str, found: Sequence[tuple[str, Mistake]], leaks: Sequence[str]) -> list[str]:
    lines: list[str] = []
    others = Counter[str]()
    for kernel, finding in found:
        of = [name for name, kinds in TOOLS.items() if finding.kind in kinds]
        if not of or tool in of:
            lines.append(f"kernel {kernel}: {finding}")
        else:
            others[of[0]] += 1
    for line in leaks:
        device, size, call, library = line.split("\t")
        place = f" in {Path(library).name}" if library else ""
        lines.append(f"leak: {size} bytes of device {device} are never freed ({call}{place})")
    lines.append(f"{_WHERE}: {tool}: {counted(len(lines), 'finding') if lines else 'nothing found'}")
    return lines + [f"{_WHERE}: {counted(number, 'other')} with --tool={name}" for name, number in others.items()]


def check(arguments: Sequence[str]) -> tuple[int, list[str]]:
    """Run a program.

    Returns:
        Its exit status, and what is to be told.

    Raises:
        OphookError: an option that is not simulated, no program, or one that does not start.
    """
    job = _asked(arguments)
    outer = os.environ.get(_REPORT)
    with tempfile.TemporaryDirectory() as name:
        reports, leaks = Path(name) / "reports", Path(name) / "leaks"
        environ = os.environ | {_REPORT: str(reports)}
        environ |= {_LEAKS: str(leaks)} if job.leaks else {}
        environ |= {_STRICT: "1"} if job.tool == "racecheck" else {}
        try:
            status = subprocess.run(job.command, env=environ, check=False).returncode
        except OSError as error:
            raise OphookError(_WHERE, f"{job.command[0]} does not start: {error.strerror}") from None
        text = reports.read_text(errors="replace") if reports.exists() else ""
        leaked = leaks.read_text(errors="replace").splitlines() if leaks.exists() else []
    if outer:
        with Path(outer).open("a") as file:
            file.write(text)
    found = []
    for row in map(json.loads, text.splitlines()):
        report = KernelReport.parse(json.dumps(row["report"]), row["blocks"], 0)
        found += [(row["kernel"], finding) for finding in report.findings]
    told = _told(job.tool, found, leaked)
    if job.log:
        job.log.write_text("\n".join(told) + "\n")
    return status, told


def main() -> int:
    if (text := about(_WHERE, sys.argv[1:])) is not None:
        print(text)
        return 0
    try:
        status, told = check(sys.argv[1:])
    except OphookError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(told))
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
