"""What `run --check-order`, `--jitter` and `--explore` do with a program."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ophook_npu.cli._command import beside, command
from ophook_npu.errors import OphookError
from ophook_npu.sim import order, ranks, schedules


def checked(
    arguments: list[str], environ: dict[str, str], report: Path | None, known: Sequence[order.Suppression]
) -> int:
    """The exit status of a program whose order is checked: its own, or 1 where something was found."""
    with tempfile.TemporaryDirectory() as folder:
        lines = report if report and report.suffix not in (".html", ".sarif") else Path(folder) / "order.jsonl"
        watched = order.Watched(lines, known)
        watched.new()  # what an earlier run wrote
        status = beside(arguments, environ | order.settings(lines) | {order.RANKS: folder})
        own = watched.new()
        memory = Path(folder) / "memory"
        between = ranks.lines(memory.read_text(encoding="utf-8", errors="surrogateescape")) if memory.exists() else ""
        for race in order.read(between):
            print(f"[simulated Ascend] {race.text()}", file=sys.stderr)
        with lines.open("a", encoding="utf-8") as out:
            out.write(between)
        findings = watched.new()
        findings.races[:0], findings.suppressed[:0] = own.races, own.suppressed
    if report:
        order.write(findings, report)
    if findings.races or findings.suppressed:
        print(findings.summary(), file=sys.stderr)
    return status or int(bool(findings.races))


def jitter(schedule: str | None, explore: int | None, checks: bool) -> dict[str, str]:
    """The environment that `--jitter` asks for."""
    if explore is not None and (schedule is not None or checks):
        other = "--jitter" if schedule is not None else "--check-order"
        raise OphookError("run", f"--explore and {other}", allowed="one of them")
    if schedule is None:
        return {}
    return {schedules.VARIABLE: schedules.check(schedule), "TASK_QUEUE_ENABLE": "0"}


def explored(arguments: list[str], environ: dict[str, str], runs: int) -> int:
    """1 where one of as many schedules ends otherwise than the program does without delays."""
    file, argv = command(arguments, environ)

    def run(schedule: str) -> schedules.Ending:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "schedule.jsonl"
            settings = {schedules.VARIABLE: schedule, schedules.LOG: str(log), "TASK_QUEUE_ENABLE": "0"}
            done = subprocess.run(argv, executable=file, env=environ | settings, capture_output=True, check=False)
            delayed = schedules.delays(log.read_text(encoding="utf-8")) if log.exists() else {}
        return schedules.Ending(done.returncode, done.stdout, delayed)

    found = schedules.explore(run, runs)
    print(found.text())
    return int(found.schedule is not None)
