"""Device memory: the peak of each step, what is alive at the highest, and which products have room for it.

torch_npu's own allocator is asked, so the figures are those of a device, but for what CANN itself takes there. Places
come from the allocator's history, which is kept for the first steps only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

import torch

from ophook_npu.observe.port.finding import Findings, key
from ophook_npu.observe.port.where import FRAMEWORK, NOWHERE, OWN, Where, kind_of
from ophook_npu.soc import CSRC

_STEPS = 2  # that the allocator's history is kept for
_EVENTS = 200_000
_TOP = 8
_SPARE = 0.9  # of a product's memory, before the report says that it is tight


def products() -> dict[str, int]:
    """Product -> bytes of device memory, from the table of SoCs that the simulator has."""
    text = (CSRC / "core" / "socs.inc").read_text()
    return {name: int(size) for name, size in re.findall(r'^SOC\("([^"]+)",\s*(\d+)', text, re.MULTILINE)}


class MemoryCourse:
    """Watches the allocator while its block runs.

    Attributes:
        peaks: bytes at the highest of each step.
        alive: (place, bytes, tensors) of what was alive at the highest point of the first steps, the largest first.
    """

    def __init__(self) -> None:
        self.peaks: list[int] = []
        self.alive: list[tuple[Where, int, int]] = []
        self._npu: Any = getattr(torch, "npu", None)
        self._records = False

    def __enter__(self) -> MemoryCourse:
        if self._npu is not None and self._npu.is_available() and len(self.peaks) < _STEPS:
            self._npu.memory._record_memory_history("all", context="alloc", stacks="python", max_entries=_EVENTS)
            self._records = True
        return self

    def stepped(self) -> None:
        """After a step."""
        if self._npu is None or not self._npu.is_initialized():
            return
        self.peaks.append(self._peak())
        self._npu.reset_peak_memory_stats()
        if len(self.peaks) >= _STEPS:
            self._stop()

    def __exit__(self, *exc: object) -> None:
        if not self.peaks and self._npu is not None and self._npu.is_initialized():
            self.peaks.append(self._peak())
        self._stop()

    def _peak(self) -> int:
        """As max_memory_allocated, which makes one flat dictionary of all figures that the allocator has."""
        return int(self._npu.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["peak"])

    def _stop(self) -> None:
        if not self._records:
            return
        self._records = False
        history = self._npu.memory._snapshot()["device_traces"]
        self._npu.memory._record_memory_history(None)
        for trace in history:
            self.alive = max(self.alive, _alive_at_peak(trace), key=lambda rows: sum(size for _, size, _ in rows))

    def judge(self, product: str, into: Findings) -> None:
        """Adds the peak, where it comes from, and the products that are too small for it."""
        peak = max(self.peaks, default=0)
        if not peak:
            return
        too_small = [name for name, size in products().items() if peak > size * _SPARE]
        if too_small:
            into.add(
                key("memory", "too_small", "peak", NOWHERE, products=too_small, socs=", ".join(too_small)), 0, peak
            )


def _alive_at_peak(trace: Any) -> list[tuple[Where, int, int]]:
    now = most = 0
    at = -1
    alive: dict[int, int] = {}
    for index, event in enumerate(trace):
        if event["action"] == "alloc":
            alive[event["addr"]] = event["size"]
            now += event["size"]
            if now > most:
                most, at = now, index
        elif event["action"] == "free_completed":
            now -= alive.pop(event["addr"], 0)
    there: dict[int, Any] = {}
    for event in trace[: at + 1]:
        if event["action"] == "alloc":
            there[event["addr"]] = event
        elif event["action"] == "free_completed":
            there.pop(event["addr"], None)
    sizes: dict[Where, list[int]] = defaultdict(lambda: [0, 0])
    for event in there.values():
        entry = sizes[_place(event.get("frames") or ())]
        entry[0] += event["size"]
        entry[1] += 1
    rows = sorted(((where, size, count) for where, (size, count) in sizes.items()), key=lambda row: -row[1])
    return rows[:_TOP]


def _place(frames: Any) -> Where:
    for frame in frames:  # the innermost first
        if (kind := kind_of(frame["filename"])) != FRAMEWORK:
            own = (frame["filename"], frame["line"]) if kind == OWN else ("", 0)
            return Where(frame["filename"], frame["line"], frame["name"], *own)
    return NOWHERE
