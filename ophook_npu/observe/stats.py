"""How often each operator is called, with which shapes and dtypes, and how many bytes go through it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import torch

from ophook_npu.hooks import Call
from ophook_npu.observe._describe import columns, size
from ophook_npu.observe._observer import EVERYTHING, Observer

_Tensor = torch.Tensor


class Stats(Observer):
    """Counts calls by operator, shapes and dtypes, and, with ``by_module``, by module.

    Args:
        target, modules, phase, every, via, on_miss: see :class:`Observer`.
        by_module: also by module path and phase, which costs a walk over the stack for each call.

    Bytes are those of the tensors that go in and come out, by shape; two arguments that share memory count twice.
    """

    NAME = "stats"

    def __init__(self, target: Any = EVERYTHING, *, by_module: bool = False, **filters: Any) -> None:
        self._by_module = by_module
        # One key for each different call: operator, place, shapes and dtypes in, None, shapes and dtypes out.
        self._calls: dict[Any, int] = defaultdict(int)
        super().__init__(target, **filters)

    def after(self, call: Call) -> None:
        # Flat and cheap: this runs for every call; the sums are made for the report.
        key: list[Any] = [call.op, (call.module_path, call.phase) if self._by_module else None]
        add = key.append
        for value in (*call.args, *call.kwargs.values()) if call.kwargs else call.args:
            kind = type(value)
            if kind is _Tensor or isinstance(value, _Tensor):
                add(value.shape)
                add(value.dtype)
            elif kind is list:
                add(tuple([(v.shape, v.dtype) for v in value if isinstance(v, _Tensor)]))
        add(None)
        result = call.result
        if type(result) is _Tensor or isinstance(result, _Tensor):
            add(result.shape)
            add(result.dtype)
        elif isinstance(result, (list, tuple)):
            add(tuple([(v.shape, v.dtype) for v in result if isinstance(v, _Tensor)]))
        self._calls[tuple(key)] += 1

    def clear(self) -> None:
        super().clear()
        self._calls.clear()

    @property
    def by_operator(self) -> dict[str, dict[str, Any]]:
        """For each operator ``calls``, ``bytes_in``, ``bytes_out``, ``shapes`` (how often each) and ``dtypes``."""
        return self._table(lambda op, place: op._name if hasattr(op, "_name") else type(op).__name__)

    @property
    def by_module(self) -> dict[str, dict[str, Any]]:
        """The same by module path; ``(backward)`` for calls of the autograd engine."""
        return self._table(lambda op, place: _place_name(place))

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"how": self.how, "calls": self.seen, "operators": self.by_operator}
        if self._by_module:
            data["modules"] = self.by_module
        return data

    def report(self) -> str:
        parts = [_report("operator", self.by_operator)]
        if self._by_module:
            parts.append(_report("module", self.by_module))
        parts.append(f"{self.seen} calls. {self.how}")
        return "\n\n".join(parts)

    def _table(self, name_of: Any) -> dict[str, dict[str, Any]]:
        table: dict[str, dict[str, Any]] = {}
        for (op, place, *parts), count in list(self._calls.items()):
            entry = table.setdefault(
                name_of(op, place), {"calls": 0, "bytes_in": 0, "bytes_out": 0, "shapes": {}, "dtypes": {}}
            )
            cut = parts.index(None)
            ins, outs = list(_flat(parts[:cut])), list(_flat(parts[cut + 1 :]))
            entry["calls"] += count
            entry["bytes_in"] += count * sum(map(_bytes, ins))
            entry["bytes_out"] += count * sum(map(_bytes, outs))
            shapes = ", ".join("x".join(map(str, shape)) or "scalar" for shape, _ in ins) or "no tensor"
            entry["shapes"][shapes] = entry["shapes"].get(shapes, 0) + count
            for dtype in {str(dtype).removeprefix("torch.") for _, dtype in (*ins, *outs)}:
                entry["dtypes"][dtype] = entry["dtypes"].get(dtype, 0) + count
        return dict(sorted(table.items(), key=lambda item: -item[1]["calls"]))


def _flat(parts: list[Any]) -> Iterator[tuple[torch.Size, torch.dtype]]:
    """(shape, dtype) of each tensor: tensors stand as two entries, lists of tensors as one tuple of pairs."""
    rest = iter(parts)
    for part in rest:
        if isinstance(part, torch.Size):
            yield part, next(rest)
        else:
            yield from part


def _bytes(tensor: tuple[Any, torch.dtype]) -> int:
    return math.prod(tensor[0]) * tensor[1].itemsize


def _place_name(place: tuple[str | None, str] | None) -> str:
    if place is None:
        return "(not recorded)"
    path, phase = place
    if path is None:
        return "(backward)" if phase == "backward" else "(no module)"
    return path or "(root)"


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
