"""Where the time goes: by operator, module and shape; with device time, memory and FLOPs."""

from __future__ import annotations

import dataclasses
import json
import math
import threading
from array import array
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Literal

import torch

from ophook_npu.errors import OphookError
from ophook_npu.hooks import Call
from ophook_npu.observe._describe import columns, size, tensors
from ophook_npu.observe._observer import EVERYTHING, Observer

By = Literal["operator", "module", "shape", "phase"]
_HOST = frozenset({"cpu", "meta"})


@dataclasses.dataclass
class Row:
    """What one operator, module or shape took. Times in µs, memory in bytes.

    Attributes:
        calls: how many.
        total: host time from before the call to after it, with what it called.
        self_time: the same without observed calls inside it.
        mean, p95: of one call's host time.
        device: time on the device, from events around the call; ``None`` where everything ran on the host.
        memory: bytes of the results that are new memory, not views of arguments.
        flops: floating point operations, by torch's own formulas; 0 for operators that have none.
    """

    name: str
    calls: int = 0
    total: float = 0.0
    self_time: float = 0.0
    mean: float = 0.0
    p95: float = 0.0
    device: float | None = None
    memory: int = 0
    flops: int = 0


class _Kind:
    """One different call: operator, place, phase and argument shapes."""

    __slots__ = ("events", "flops", "memory", "own", "times")

    def __init__(self) -> None:
        self.times = array("q")  # ns
        self.own = array("q")
        self.memory = 0
        self.flops = 0
        self.events: list[tuple[Any, Any]] = []


class Profile(Observer):
    """Measures each call.

    Args:
        target, modules, phase, every, via, on_miss: see :class:`Observer`.
        by_module: also record the module path, which costs a walk over the stack for each call.
        timeline: how many calls to keep for :meth:`chrome_trace`; later ones only count.
        device_time: put an event before and after each call on an accelerator; without it host time alone is measured.

    Host times contain the Python part of the call below the hook, a few µs; operators of that size look slower than
    they are.
    """

    NAME = "profile"

    def __init__(
        self,
        target: Any = EVERYTHING,
        *,
        by_module: bool = False,
        timeline: int = 100_000,
        device_time: bool = True,
        **filters: Any,
    ) -> None:
        self._by_module = by_module
        self._timeline = timeline
        self._device_time = device_time
        self._kinds: dict[Any, _Kind] = {}
        self._spans: list[tuple[Any, int, int, int, Any]] = []
        self._local = threading.local()
        super().__init__(target, **filters)

    def before(self, call: Call) -> None:
        local = self._local
        try:
            stack = local.stack
        except AttributeError:
            stack = local.stack = []
        event = None
        if self._device_time:
            # Looking at the first argument is enough: operators do not mix accelerators.
            first = call.args[0] if call.args else None
            if isinstance(first, torch.Tensor) and first.device.type not in _HOST:
                event = _event(first.device)
        stack.append(0)
        call.state = (event, len(stack) - 1, perf_counter_ns())

    def after(self, call: Call) -> None:
        now = perf_counter_ns()
        event, depth, start = call.state
        took = now - start
        stack = self._local.stack
        inside = stack[depth]
        del stack[depth:]  # calls inside that raised left theirs behind
        if stack:
            stack[-1] += took
        place = (call.module_path, call.phase) if self._by_module else None
        key = (call.op, place, *[a.shape for a in call.args if isinstance(a, torch.Tensor)])
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = _Kind()
            kind.flops = _flops(call)
            kind.memory = _new_memory(call)
        kind.times.append(took)
        kind.own.append(took - inside)
        if event is not None:
            kind.events.append((event, _event(event.ophook_device)))
        if len(self._spans) < self._timeline:
            self._spans.append((call.op, start, took, threading.get_ident(), key))

    def clear(self) -> None:
        super().clear()
        self._kinds.clear()
        self._spans.clear()

    def rows(self, by: By = "operator") -> list[Row]:
        """What was measured, the largest total first.

        Args:
            by: ``"operator"``, ``"module"`` (needs ``by_module=True``), ``"shape"`` (operator with argument shapes),
                ``"phase"`` (needs ``by_module=True``).

        Raises:
            OphookError: modules were not recorded.
        """
        if by in ("module", "phase") and not self._by_module:
            raise OphookError("profile", f"rows by {by} were not recorded", todo="make it with by_module=True")
        name_of: Callable[[Any, Any, Any], str] = {
            "operator": lambda op, place, shapes: _name(op),
            "shape": lambda op, place, shapes: (
                f"{_name(op)}({', '.join('x'.join(map(str, s)) or '-' for s in shapes)})"
            ),
            "module": lambda op, place, shapes: _place(place),
            "phase": lambda op, place, shapes: place[1],
        }[by]
        found: dict[str, tuple[Row, list[int]]] = {}
        for (op, place, *shapes), kind in list(self._kinds.items()):
            name = name_of(op, place, shapes)
            row, times = found.setdefault(name, (Row(name), []))
            calls = len(kind.times)
            times.extend(kind.times)
            row.calls += calls
            row.total += sum(kind.times) / 1e3
            row.self_time += sum(kind.own) / 1e3
            row.memory += kind.memory * calls
            row.flops += kind.flops * calls
            if kind.events:
                row.device = (row.device or 0.0) + _device_time(kind.events)
        for row, times in found.values():
            times.sort()
            row.mean = row.total / row.calls
            row.p95 = times[max(0, math.ceil(0.95 * len(times)) - 1)] / 1e3
        return sorted((row for row, _ in found.values()), key=lambda row: -row.total)

    @property
    def has_modules(self) -> bool:
        """Whether :meth:`rows` by module and phase can be had."""
        return self._by_module

    @property
    def total(self) -> float:
        """Host time in observed operators, µs."""
        return sum(sum(kind.own) for kind in self._kinds.values()) / 1e3

    def to_json(self) -> dict[str, Any]:
        tables: list[By] = ["operator", "shape", *(["module", "phase"] if self._by_module else [])]  # type: ignore[list-item]
        return {
            "how": self.how,
            "calls": self.seen,
            "total_us": self.total,
            **{f"by_{by}": [dataclasses.asdict(row) for row in self.rows(by)] for by in tables},
        }

    def report(self, top: int = 30) -> str:
        parts = [_table("operator", self.rows(), self.total, top)]
        if self._by_module:
            parts.append(_table("module", self.rows("module"), self.total, top))
        parts.append(f"{self.seen} calls, {self.total / 1e3:.2f} ms on the host. {self.how}")
        return "\n\n".join(parts)

    def chrome_trace(self, path: str | Path) -> None:
        """Writes the calls on a time line, for chrome://tracing or ui.perfetto.dev."""
        spans = list(self._spans)
        origin = min((start for _, start, *_ in spans), default=0)
        events = []
        for op, start, took, thread, (_, place, *shapes) in spans:
            args: dict[str, Any] = {"shapes": [list(shape) for shape in shapes]}
            if place is not None:
                args |= {"module": place[0], "phase": place[1]}
            events.append(
                {
                    "name": _name(op),
                    "ph": "X",
                    "ts": (start - origin) / 1e3,
                    "dur": took / 1e3,
                    "pid": 0,
                    "tid": thread,
                    "args": args,
                }
            )
        data: dict[str, Any] = {"traceEvents": events, "displayTimeUnit": "ms"}
        if self.seen > len(spans):
            data["otherData"] = {"left out": self.seen - len(spans)}
        Path(path).write_text(json.dumps(data))

    def html(self, path: str | Path, title: str = "Profile") -> None:
        """Writes the report as one self-contained file with charts."""
        from ophook_npu.observe._html import profile_page

        Path(path).write_text(profile_page(title, self), encoding="utf-8")


def diff(before: dict[str, Any] | Profile, after: dict[str, Any] | Profile) -> str:
    """What changed from one profile to another, by operator, the largest change first.

    Args:
        before, after: profiles, or what their ``to_json`` gave.
    """
    old, new = (p.to_json() if isinstance(p, Profile) else p for p in (before, after))
    a = {row["name"]: row for row in old["by_operator"]}
    b = {row["name"]: row for row in new["by_operator"]}
    none = dataclasses.asdict(Row(""))
    changes = [(name, a.get(name, none), b.get(name, none)) for name in {**a, **b}]
    changes.sort(key=lambda change: -abs(change[2]["total"] - change[1]["total"]))
    rows = [["operator", "calls", "", "total µs", "", "change µs", "ratio"]]
    for name, x, y in changes:
        ratio = f"{y['total'] / x['total']:.2f}" if x["total"] and y["total"] else "new" if y["total"] else "gone"
        rows.append(
            [
                name,
                str(x["calls"]),
                str(y["calls"]),
                f"{x['total']:.1f}",
                f"{y['total']:.1f}",
                f"{y['total'] - x['total']:+.1f}",
                ratio,
            ]
        )
    last = f"all: {old['total_us']:.1f} -> {new['total_us']:.1f} µs"
    return f"{columns(rows, frozenset(range(1, 7)))}\n\n{last}"


class _DeviceEvent:
    def __init__(self, device: torch.device) -> None:
        module = torch.get_device_module(device)
        self.ophook_device = device
        self.event = module.Event(enable_timing=True)
        self.event.record(module.current_stream(device))


def _event(device: torch.device) -> _DeviceEvent:
    return _DeviceEvent(device)


def _device_time(events: list[tuple[_DeviceEvent, _DeviceEvent]]) -> float:
    for _, end in events:
        end.event.synchronize()
    return sum(start.event.elapsed_time(end.event) for start, end in events) * 1e3


def _flops(call: Call) -> int:
    from torch.utils.flop_counter import flop_registry

    formula = flop_registry.get(getattr(call.op, "overloadpacket", None))
    if formula is None:
        return 0
    try:
        return int(formula(*call.args, **call.kwargs, out_val=call.result))
    except Exception:
        # The formulas assert on layouts they were not written for; an unknown count must not stop the program.
        return 0


def _new_memory(call: Call) -> int:
    old = {t.untyped_storage()._cdata for t in tensors(*call.args, *call.kwargs.values()) if t.layout == torch.strided}
    return sum(
        t.numel() * t.element_size()
        for t in tensors(call.result)
        if t.layout == torch.strided and t.untyped_storage()._cdata not in old
    )


def _name(op: Any) -> str:
    return op._name if hasattr(op, "_schema") else type(op).__name__


def _place(place: tuple[str | None, str]) -> str:
    path, phase = place
    if path is None:
        return "(backward)" if phase == "backward" else "(no module)"
    return path or "(root)"


def _table(first: str, rows: list[Row], all_of_it: float, top: int) -> str:
    device = any(row.device is not None for row in rows)
    flops = any(row.flops for row in rows)
    head = [first, "calls", "total ms", "self ms", "%", "mean µs", "p95 µs", "memory"]
    lines = [head + (["device ms"] if device else []) + (["MFLOP"] if flops else [])]
    for row in rows[:top]:
        line = [
            row.name,
            str(row.calls),
            f"{row.total / 1e3:.3f}",
            f"{row.self_time / 1e3:.3f}",
            f"{100 * row.self_time / all_of_it:.1f}" if all_of_it else "",
            f"{row.mean:.1f}",
            f"{row.p95:.1f}",
            size(row.memory),
        ]
        if device:
            line.append("" if row.device is None else f"{row.device / 1e3:.3f}")
        if flops:
            line.append(f"{row.flops / 1e6:.2f}" if row.flops else "")
        lines.append(line)
    text = columns(lines, frozenset(range(1, 10)))
    return text + (f"\n… {len(rows) - top} more" if len(rows) > top else "")
