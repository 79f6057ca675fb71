"""Where the time goes: by operator, module and shape; with device time, memory and FLOPs."""

from __future__ import annotations

import dataclasses
import json
import math
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import torch
from typing_extensions import Unpack

from ophook_npu import untrusted
from ophook_npu.errors import OphookError
from ophook_npu.hooks import Hook, record_function
from ophook_npu.hooks._call import Proceed
from ophook_npu.hooks._record import record
from ophook_npu.hooks._recorder import Recorder
from ophook_npu.observe._cost import By, Cost
from ophook_npu.observe._describe import columns, hinted, is_recorded, is_shaped, size
from ophook_npu.observe._fused_flops import formula_of
from ophook_npu.observe._measured import DeviceEvent, Measured, device_time, new_kind
from ophook_npu.observe._observer import EVERYTHING, Filters, Observer
from ophook_npu.observe._place import Place, place_of
from ophook_npu.plural import counted
from ophook_npu.untrusted import Wrong

_HOST = frozenset({"cpu", "meta"})
_Tensor = torch.Tensor


class _OfThread:
    """What one thread measured. Nothing is shared, so nothing has to be locked."""

    __slots__ = ("fused", "inside", "kinds")

    def __init__(self) -> None:
        self.kinds: dict[Any, Measured] = {}
        self.inside = 0  # ns in observed calls inside the running one
        self.fused: dict[int, Any] = {}  # operators by identity, because their hash is a function in Python


class _Mine(threading.local):
    """One attribute, because reading one of such an object takes several times what another's does."""

    def __init__(self, threads: list[tuple[int, dict[Any, Measured]]]) -> None:
        self.own = _OfThread()
        threads.append((threading.get_ident(), self.own.kinds))


@dataclasses.dataclass
class _Group:
    """Calls that look the same, from whichever source."""

    op: str
    place: Place | None
    shapes: list[Any]
    calls: int
    total: int  # ns
    own: int
    memory: int
    flops: int
    times: Iterable[tuple[int, int]]  # duration, how many
    events: list[tuple[Any, Any]]


class Profile(Observer):
    """Measures each call.

    Args:
        target, modules, phase, every, via, on_miss: see :class:`Observer`.
        by_module: also record the module path, which costs a walk over the stack for each call.
        timeline: how many calls, from the first on, :meth:`chrome_trace` shows.
        device_time: put an event before and after each call on an accelerator; without it host time alone is measured.

    Host times contain the Python part of the call below the hook, a few µs; operators of that size look slower than
    they are. With ``via="record_function"`` they do not, but composite operators and what kernels call are calls of
    their own there, and there are no FLOPs, no device time and no modules; ``p95`` is within 3.2 %.

    Calls that raise are not counted. Each call takes 16 bytes, with ``via="record_function"`` 32 up to ``timeline``.

    Raises:
        OphookError: ``via="record_function"`` and modules, which it does not know.
    """

    NAME = "profile"

    def __init__(
        self,
        target: Any = EVERYTHING,
        *,
        by_module: bool = False,
        timeline: int = 100_000,
        device_time: bool = True,
        **filters: Unpack[Filters],
    ) -> None:
        self._by_module = by_module
        self._timeline = timeline
        # Where there is no accelerator no tensor needs to be asked, which takes 0.1 µs a call.
        self._device_time = device_time and torch.accelerator.is_available()
        self._threads: list[tuple[int, dict[Any, Measured]]] = []
        self._mine = _Mine(self._threads)
        super().__init__(target, **filters)
        self._places = by_module or self.in_graphs

    def around(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Proceed) -> Any:
        mine = self._mine.own
        parts: list[Any] = [id(op), place_of(self._by_module) if self._places else None]
        try:
            for value in args:
                if type(value) is _Tensor or isinstance(value, _Tensor):
                    parts.append(value.shape)
        except RuntimeError:  # a nested tensor, or one of a lazy module
            parts[2:] = [value.shape for value in args if is_shaped(value)]
        if mine.fused and id(op) in mine.fused:
            parts.append(_numbers(args, kwargs))
        event = None
        if self._device_time and args:
            # Looking at the first argument is enough: operators do not mix accelerators.
            first = args[0]
            if (
                isinstance(first, _Tensor)
                and not first.is_cpu
                and first.device.type not in _HOST
                and not is_recorded(first)
            ):
                event = DeviceEvent(first.device)
        outer, mine.inside = mine.inside, 0
        try:
            start = perf_counter_ns()
            result = proceed(*args, **kwargs) if kwargs else proceed(*args)
            took = perf_counter_ns() - start
        except BaseException:
            mine.inside = outer
            raise
        below, mine.inside = mine.inside, outer + took
        try:
            kind = mine.kinds[tuple(parts)]
        except (KeyError, TypeError):
            if id(op) not in mine.fused and getattr(op, "namespace", "") == "npu" and formula_of(op) is not None:
                mine.fused[id(op)] = op
                parts.append(_numbers(args, kwargs))
            key = tuple(map(hinted, parts))
            kind = mine.kinds.get(key) or mine.kinds.setdefault(key, new_kind(op, args, kwargs, result))
        kind.starts.append(start)
        kind.times.append(took)
        if below:
            kind.inside += below
        if event is not None:
            kind.events.append((event, DeviceEvent(event.device)))
        return result

    def counted(self) -> int:
        return sum(len(kind.times) for _, kinds in self._threads for kind in list(kinds.values()))

    def clear(self) -> None:
        for _, kinds in self._threads:
            kinds.clear()
        super().clear()

    def _record_natively(self, target: Any, everything: bool, **filters: Any) -> tuple[Hook, Recorder]:
        if self._by_module:
            raise OphookError(
                self.NAME, f"by_module=True: via={record_function.NAME!r} knows no modules", todo="leave out via"
            )
        return record(self.NAME, target, everything, times=True, spans=self._timeline, **filters)

    def _groups(self) -> Iterator[_Group]:
        if self.recorder is not None:
            for kind in self.recorder.kinds():
                yield _Group(
                    kind.op, Place(None, kind.phase), [t.shape for t in kind.ins], kind.calls, kind.total, kind.own,
                    kind.memory, 0, kind.times.items(), [],
                )  # fmt: skip
            return
        for _, kinds in self._threads:
            for (_, place, *shapes), mine in list(kinds.items()):
                calls, total = len(mine.times), sum(mine.times)
                yield _Group(
                    _name(mine.op), place and Place(*place), _only_shapes(shapes), calls, total, total - mine.inside,
                    mine.memory, mine.flops, ((took, 1) for took in mine.times), mine.events,
                )  # fmt: skip

    def rows(self, by: By = "operator") -> list[Cost]:
        """What was measured, the largest total first.

        Args:
            by: ``"operator"``, ``"shape"`` (operator with argument shapes), ``"module"`` (needs ``by_module=True``),
                ``"node"`` (of a compiled graph; needs ``via="dynamo"``), ``"phase"`` (needs one of both, or
                ``via="record_function"``).

        Raises:
            OphookError: that was not recorded.
        """
        if by not in self.recorded:
            todo = "make it with via='dynamo'" if by == "node" else "make it with by_module=True"
            raise OphookError("profile", f"rows by {by} were not recorded", allowed=", ".join(self.recorded), todo=todo)
        name_of: Callable[[_Group], str] = {
            "operator": lambda group: group.op,
            "shape": lambda group: f"{group.op}({', '.join(map(_shape, group.shapes))})",
            "module": lambda group: group.place.module_name,
            "phase": lambda group: group.place.phase,
            "node": lambda group: group.place.node_name,
        }[by]
        found: dict[str, tuple[Cost, list[tuple[int, int]]]] = {}
        for group in self._groups():
            name = name_of(group)
            row, times = found.setdefault(name, (Cost(name), []))
            times.extend(group.times)
            row.calls += group.calls
            row.total += group.total / 1e3
            row.self_time += group.own / 1e3
            row.memory += group.memory * group.calls
            row.flops += group.flops * group.calls
            if group.events:
                row.device = (row.device or 0.0) + device_time(group.events)
        for row, times in found.values():
            row.mean = row.total / row.calls
            row.p95 = _p95(times) / 1e3
        return sorted((row for row, _ in found.values()), key=lambda row: -row.total)

    @property
    def recorded(self) -> tuple[By, ...]:
        """What :meth:`rows` can be had by."""
        modules: tuple[By, ...] = ("module",) if self._by_module else ()
        nodes: tuple[By, ...] = ("node",) if self.in_graphs else ()
        phases: tuple[By, ...] = ("phase",) if self._places or self.recorder is not None else ()
        return ("operator", "shape", *modules, *phases, *nodes)

    @property
    def total(self) -> float:
        """Host time in observed operators, µs."""
        return sum(group.own for group in self._groups()) / 1e3

    def to_json(self) -> dict[str, Any]:
        return {
            "how": self.how,
            "calls": self.seen,
            "total_us": self.total,
            **{f"by_{by}": [dataclasses.asdict(row) for row in self.rows(by)] for by in self.recorded},
        }

    def report(self, top: int = 30) -> str:
        shown: tuple[By, ...] = ("operator", "module", "node")
        parts = [_table(by, self.rows(by), self.total, top) for by in shown if by in self.recorded]
        parts.append(f"{counted(self.seen, 'call')}, {self.total / 1e3:.2f} ms on the host. {self.how}")
        return "\n\n".join(parts)

    def chrome_trace(self, path: str | Path) -> None:
        """Writes the calls on a time line, for chrome://tracing or ui.perfetto.dev."""
        spans = self._spans()
        origin = min((start for start, *_ in spans), default=0)
        events = []
        for start, took, thread, op, place, shapes in spans:
            args: dict[str, Any] = {"shapes": [None if shape is None else list(shape) for shape in shapes]}
            if place is not None:
                args |= place._asdict()
            events.append(
                {
                    "name": op,
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

    def _spans(self) -> list[tuple[int, int, int, str, Any, list[Any]]]:
        """Start, duration, thread, operator, place and shapes of the first calls."""
        spans: list[tuple[int, int, int, str, Any, list[Any]]] = []
        if self.recorder is not None:
            for span in self.recorder.spans():
                kind = span.kind
                shapes = [tensor.shape for tensor in kind.ins]
                spans.append((span.start, span.took, span.thread, kind.op, Place(None, kind.phase), shapes))
        for thread, kinds in self._threads:
            for (_, place, *shapes), calls in list(kinds.items()):
                for start, took in zip(calls.starts, calls.times, strict=False):
                    spans.append((start, took, thread, _name(calls.op), place and Place(*place), _only_shapes(shapes)))
        spans.sort(key=lambda span: span[0])
        return spans[: self._timeline]

    def html(self, path: str | Path, title: str = "Profile") -> None:
        """Writes the report as one self-contained file with charts."""
        from ophook_npu.observe.pages.profile import profile_page

        Path(path).write_text(profile_page(title, self), encoding="utf-8")


def diff(before: dict[str, Any] | Profile, after: dict[str, Any] | Profile) -> str:
    """What changed from one profile to another, by operator, the largest change first.

    Args:
        before, after: profiles, or what their ``to_json`` gave.

    Raises:
        OphookError: one of them is no such result: it may be somebody else's.
    """
    old, new = (p.to_json() if isinstance(p, Profile) else _checked(p) for p in (before, after))
    a = {row["name"]: row for row in old["by_operator"]}
    b = {row["name"]: row for row in new["by_operator"]}
    none = dataclasses.asdict(Cost(""))
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


def read_baseline(path: Path) -> dict[str, Any]:
    """What ``to_json`` gave once and ``--json`` wrote, for :func:`diff`.

    Raises:
        OphookError: no such file, or no such result.
    """
    return _checked(untrusted.json_file(path, "profile", "write one with ophook-npu profile --json"))


def _checked(result: Any) -> dict[str, Any]:
    try:
        if not isinstance(result, dict) or not {"by_operator", "total_us"} <= result.keys():
            raise Wrong("there are no by_operator and total_us")
        rows = []
        for row in untrusted.items(result["by_operator"], "by_operator"):
            if not isinstance(row, dict) or not {"name", "calls", "total"} <= row.keys():
                raise Wrong("a row has no name, calls and total")
            calls, total = untrusted.integer(row["calls"], "calls", 0), untrusted.number(row["total"], "total")
            rows.append({"name": untrusted.text(row["name"], "name"), "calls": calls, "total": total})
        return {"by_operator": rows, "total_us": untrusted.number(result["total_us"], "total_us")}
    except Wrong as error:
        todo = "write one with ophook-npu profile --json"
        raise OphookError("profile", f"the baseline is no profile: {error}", todo=todo) from error


def _p95(times: list[tuple[int, int]]) -> int:
    """Of durations with how often each occurred."""
    times.sort()
    left = math.ceil(0.95 * sum(count for _, count in times))
    for took, count in times:
        left -= count
        if left <= 0:
            return took
    return 0


def _name(op: Any) -> str:
    return op._name if hasattr(op, "_schema") else type(op).__name__


class _Numbers(tuple[Any, ...]):
    """Of a fused operator's arguments, those that are no tensors, and the shapes in its lists of tensors: its FLOP
    depend on them."""


def _numbers(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Numbers:
    return _Numbers(map(_number, (*args, *kwargs.values())))


def _number(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_number, value))
    return value.shape if isinstance(value, _Tensor) else value


def _only_shapes(parts: list[Any]) -> list[Any]:
    return [part for part in parts if not isinstance(part, _Numbers)]


def _shape(shape: Any) -> str:
    return "?" if shape is None else "x".join(map(str, shape)) or "-"


def _table(first: str, rows: list[Cost], all_of_it: float, top: int) -> str:
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
