"""Each call of the device against the same operator on the CPU in float64, for the report that was asked for it."""

from __future__ import annotations

from typing import Any

import torch

from ophook_npu.hooks import Call
from ophook_npu.observe._comparison import Comparison
from ophook_npu.observe._describe import tensors
from ophook_npu.observe.compare import Compare
from ophook_npu.observe.port.calls import Calls
from ophook_npu.observe.port.finding import Findings, key
from ophook_npu.observe.port.where import Finder, Where


class AgainstFloat64(Compare):
    """Keeps the worst result of each operator and place that is out of tolerance, and what overflowed.

    It stands below ``calls``, which is told to look away from the copies and the operators of the reference.
    """

    def __init__(self, calls: Calls, finder: Finder) -> None:
        super().__init__(keep=1)
        self._calls, self._finder = calls, finder
        self._worst: dict[tuple[str, Where], Comparison] = {}
        self._counts: dict[tuple[str, Where], int] = {}
        self._overflows: dict[tuple[str, Where, str], int] = {}

    def before(self, call: Call) -> None:
        if any(one.device.type not in ("cpu", "meta") for one in tensors(*call.args, *call.kwargs.values())):
            with self._calls.looking_away():
                super().before(call)
        else:
            call.state = ("not on the device", None)

    def after(self, call: Call) -> None:
        with self._calls.looking_away():
            super().after(call)

    def _record(self, call: Call, index: int, given: Any, wanted: Any, drifted: Any) -> None:
        super()._record(call, index, given, wanted, drifted)
        if given.is_floating_point() and not given.isfinite().all() and wanted.isfinite().all():
            # An infinity is right in the data type, and no less the end of a training.
            place = (call.name, self._finder.here(), str(given.dtype).removeprefix("torch."))
            self._overflows[place] = self._overflows.get(place, 0) + 1
        if not self.failures:
            return
        row = self.failures.pop()
        found = (call.name, self._finder.here())
        self._counts[found] = self._counts.get(found, 0) + 1
        worst = self._worst.setdefault(found, row)
        if row.max_rel > worst.max_rel:
            self._worst[found] = row

    def judge(self, into: Findings) -> None:
        """Adds what was out of tolerance, the worst figure of each place, and what overflowed."""
        for (name, where, dtype), count in self._overflows.items():
            into.add(key("numerics", "overflow", name, where, "simulator", dtype=dtype), count)
        for (name, where), row in self._worst.items():
            dtype = getattr(torch, row.dtype)
            code = "off" if dtype.is_floating_point or dtype.is_complex else "off_whole"
            off = f"{row.max_rel:.2g}" if code == "off" else f"{row.ulp:.0f}"
            found = key("numerics", code, name, where, "simulator", dtype=row.dtype, off=off)
            into.add(found, self._counts[name, where])
