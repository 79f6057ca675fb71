"""The estimated time line of a kernel: as a trace for Perfetto, and how long each pipe is at work.

Times are cycles by an estimate from bytes and elements (``csrc/ascendc/runtime/timeline.cpp``), never a measurement:
they show which pipes work side by side, and so whether double buffering overlaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ophook_npu.kernel.check import Checked
from ophook_npu.kernel.findings import KernelReport

PIPES = ("S", "MTE2", "MTE1", "M", "V", "FIX", "MTE3")


def trace(results: Sequence[Checked]) -> dict[str, Any]:
    """Chrome's trace format: a process for each case and core, a thread for each pipe. One cycle is shown as 1 ns."""
    events: list[dict[str, Any]] = []
    process = 0
    for result in results:
        for outcome in result.outcomes:
            cores: dict[int, int] = {}
            for step in outcome.report.timeline:
                if step.core not in cores:
                    cores[step.core] = process = process + 1
                    kind = "vector" if step.is_vector else "cube"
                    name = f"{result.operator} {outcome.label}: {kind} core {step.core} (estimate)"
                    events.append(_name("process_name", process, 0, name))
                    events += [_name("thread_name", process, i, pipe) for i, pipe in enumerate(PIPES)]
                events.append({
                    "ph": "X", "pid": cores[step.core], "tid": PIPES.index(step.pipe), "name": step.call,
                    "ts": step.start / 1000, "dur": (step.end - step.start) / 1000,
                    "args": {"line": f"{step.file}:{step.line}", "bytes": step.bytes, "elements": step.elements},
                })  # fmt: skip
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"times": "estimated cycles, not measured"}}


def busy(report: KernelReport) -> dict[str, float]:
    """For each pipe of the core that is the last to end, the share of its time that it is at work."""
    if not report.timeline:
        return {}
    slowest = max(report.timeline, key=lambda step: step.end).core
    steps = [step for step in report.timeline if step.core == slowest]
    whole = max(step.end for step in steps)
    shares = {pipe: sum(s.end - s.start for s in steps if s.pipe == pipe) / whole for pipe in PIPES}
    return {pipe: share for pipe, share in shares.items() if share}


def _name(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}
