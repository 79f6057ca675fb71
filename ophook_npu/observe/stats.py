"""How often each operator is called, with which shapes and dtypes, and how many bytes go through it."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import Any

import torch
from typing_extensions import Unpack

from ophook_npu.errors import OphookError
from ophook_npu.hooks import Hook, record_function
from ophook_npu.hooks._call import Proceed
from ophook_npu.hooks._record import record
from ophook_npu.hooks._recorder import Recorder
from ophook_npu.observe._describe import columns, hinted, is_shaped, size, tensors
from ophook_npu.observe._observer import EVERYTHING, Filters, Observer
from ophook_npu.observe._place import Place, place_of
from ophook_npu.plural import counted

_Tensor = torch.Tensor


Part = tuple[Any, int, str]  # shape (None where there is none), bytes of an element, dtype


class _Counts(threading.local):
    """One table a thread: += on a shared one would lose counts, a lock would cost more than the counting.

    Keys have the operator's identity, because its hash is a function in Python; values are lists of a count and the
    operator.
    """

    def __init__(self, tables: list[dict[Any, list[Any]]]) -> None:
        self.calls: dict[Any, list[Any]] = {}
        tables.append(self.calls)


class Stats(Observer):
    """Counts calls by operator, shapes and dtypes, and, with ``by_module``, by module.

    Args:
        target, modules, phase, every, via, on_miss: see :class:`Observer`.
        by_module: also by module path and phase, which costs a walk over the stack for each call.

    With ``via="dynamo"`` calls are also counted by the node of their compiled graph.

    Bytes are those of the tensors that go in and come out, by shape; two arguments that share memory count twice.
    Calls that raise are not counted.

    Raises:
        OphookError: ``via="record_function"`` and modules, which it does not know.
    """

    NAME = "stats"

    def __init__(self, target: Any = EVERYTHING, *, by_module: bool = False, **filters: Unpack[Filters]) -> None:
        self._by_module = by_module
        # One key for each different call: operator, place, shapes and dtypes in, None, shapes and dtypes out.
        self._tables: list[dict[Any, list[Any]]] = []
        self._counts = _Counts(self._tables)
        super().__init__(target, **filters)
        self._places = by_module or self.in_graphs

    def around(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Proceed) -> Any:
        # Flat and cheap: this runs for every call; the sums are made for the report.
        parts: list[Any] = [id(op), place_of(self._by_module) if self._places else None]
        try:
            for value in (*args, *kwargs.values()) if kwargs else args:
                kind = type(value)
                if kind is _Tensor or isinstance(value, _Tensor):
                    parts.append(value.shape)
                    parts.append(value.dtype)
                elif kind is list:
                    parts.append(tuple([(v.shape, v.dtype) for v in value if isinstance(v, _Tensor)]))
        except RuntimeError:
            parts[2:] = [_shapes_there_are((*args, *kwargs.values()))]
        parts.append(None)
        result = proceed(*args, **kwargs) if kwargs else proceed(*args)
        try:
            if type(result) is _Tensor or isinstance(result, _Tensor):
                parts.append(result.shape)
                parts.append(result.dtype)
            elif isinstance(result, (list, tuple)):
                parts.append(tuple([(v.shape, v.dtype) for v in result if isinstance(v, _Tensor)]))
        except RuntimeError:
            parts.append(_shapes_there_are([result]))
        key = tuple(parts)
        calls = self._counts.calls
        try:
            calls[key][0] += 1
        except KeyError:
            calls[key] = [1, op]
        except TypeError:
            calls.setdefault(tuple(map(hinted, parts)), [0, op])[0] += 1
        return result

    def counted(self) -> int:
        return sum(count for table in self._tables for count, _ in list(table.values()))

    def clear(self) -> None:
        for table in self._tables:
            table.clear()
        super().clear()

    def _record_natively(self, target: Any, everything: bool, **filters: Any) -> tuple[Hook, Recorder]:
        if self._by_module:
            raise OphookError(
                self.NAME, f"by_module=True: via={record_function.NAME!r} knows no modules", todo="leave out via"
            )
        return record(self.NAME, target, everything, times=False, **filters)

    @property
    def by_operator(self) -> dict[str, dict[str, Any]]:
        """For each operator ``calls``, ``bytes_in``, ``bytes_out``, ``shapes`` (how often each) and ``dtypes``."""
        return self._table(lambda op, place: op)

    @property
    def by_module(self) -> dict[str, dict[str, Any]]:
        """The same by module path; ``(backward)`` for calls of the autograd engine."""
        return self._table(lambda op, place: "(not recorded)" if place is None else place.module_name)

    @property
    def by_node(self) -> dict[str, dict[str, Any]]:
        """The same by node of a compiled graph (``graph 0: mm_1``); empty without ``via="dynamo"``."""
        return self._table(lambda op, place: place.node_name) if self.in_graphs else {}

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"how": self.how, "calls": self.seen, "operators": self.by_operator}
        if self._by_module:
            data["modules"] = self.by_module
        if self.in_graphs:
            data["nodes"] = self.by_node
        return data

    def report(self) -> str:
        parts = [_report("operator", self.by_operator)]
        if self._by_module:
            parts.append(_report("module", self.by_module))
        if self.in_graphs:
            parts.append(_report("node", self.by_node))
        parts.append(f"{counted(self.seen, 'call')}. {self.how}")
        return "\n\n".join(parts)

    def _table(self, name_of: Any) -> dict[str, dict[str, Any]]:
        table: dict[str, dict[str, Any]] = {}
        for op, place, ins, outs, count in self._kinds():
            entry = table.setdefault(
                name_of(op, place), {"calls": 0, "bytes_in": 0, "bytes_out": 0, "shapes": {}, "dtypes": {}}
            )
            entry["calls"] += count
            entry["bytes_in"] += count * sum(map(_bytes, ins))
            entry["bytes_out"] += count * sum(map(_bytes, outs))
            shapes = ", ".join(map(_shape, ins)) or "no tensor"
            entry["shapes"][shapes] = entry["shapes"].get(shapes, 0) + count
            for dtype in {dtype for _, _, dtype in (*ins, *outs)}:
                entry["dtypes"][dtype] = entry["dtypes"].get(dtype, 0) + count
        return dict(sorted(table.items(), key=lambda item: -item[1]["calls"]))

    def _kinds(self) -> Iterator[tuple[str, Place | None, list[Part], list[Part], int]]:
        """Operator, place, tensors in, tensors out, how many calls; the same more than once."""
        if self.recorder is not None:
            for kind in self.recorder.kinds():
                ins, outs = ([(t.shape, t.itemsize, t.dtype) for t in side] for side in (kind.ins, kind.outs))
                yield kind.op, None, ins, outs, kind.calls
            return
        for table in self._tables:
            for (_, place, *parts), (count, op) in list(table.items()):
                name = op._name if hasattr(op, "_name") else type(op).__name__
                cut = parts.index(None)
                yield name, place and Place(*place), list(_flat(parts[:cut])), list(_flat(parts[cut + 1 :])), count


def _shapes_there_are(values: Any) -> Any:
    """Shapes and dtypes of the tensors, also where some have no shape, as nested ones."""
    return tuple([(v.shape if is_shaped(v) else None, v.dtype) for v in tensors(*values)])


def _flat(parts: list[Any]) -> Iterator[Part]:
    """Tensors stand as two entries, shape and dtype; lists of tensors as one tuple of pairs."""
    rest = iter(parts)
    for part in rest:
        for shape, dtype in [(part, next(rest))] if isinstance(part, torch.Size) else part:
            yield shape, dtype.itemsize, str(dtype).removeprefix("torch.")


def _shape(part: Part) -> str:
    return "?" if part[0] is None else "x".join(map(str, part[0])) or "scalar"


def _bytes(part: Part) -> int:
    return 0 if part[0] is None else math.prod(part[0]) * part[1]


def _report(first: str, table: dict[str, dict[str, Any]]) -> str:
    rows = [[first, "calls", "in", "out", "dtypes", "shapes"]]
    for name, entry in table.items():
        shapes = sorted(entry["shapes"].items(), key=lambda item: -item[1])
        shown = "; ".join(f"{shape} ×{count}" for shape, count in shapes[:3]) + (" …" if len(shapes) > 3 else "")
        rows.append(
            [
                name,
                str(entry["calls"]),
                size(entry["bytes_in"]),
                size(entry["bytes_out"]),
                ",".join(entry["dtypes"]),
                shown,
            ]
        )
    return columns(rows, frozenset({1, 2, 3}))
