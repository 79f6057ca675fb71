"""What the programs of one grid do to the same global memory: they run in any order, on several cores."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
from ophook_sim_triton.needs import running_line

_MOST = 1 << 24  # accesses of one launch that are kept: 24 bytes each


class Accesses:
    def __init__(self, kernel: Callable[..., Any]) -> None:
        self.kernel = kernel
        self.program = 0
        self._kept: dict[str, list[tuple[Any, int, int, Any]]] = {"load": [], "store": [], "atomic": []}
        self._count = 0

    def operation(self, name: str, *args: Any) -> None:
        if self._count > _MOST:
            return
        pointers, mask, values = self._parts(name, args)
        at = pointers.data if mask is None else pointers.data[np.broadcast_to(mask, pointers.data.shape)]
        if values is not None:
            values = np.broadcast_to(values, pointers.data.shape)
            values = values if mask is None else values[np.broadcast_to(mask, values.shape)]
        self._count += at.size
        kind = "load" if name == "masked_load" else "store" if name == "masked_store" else "atomic"
        self._kept[kind].append(
            (at.ravel(), self.program, running_line(self.kernel), None if values is None else values.ravel())
        )

    def _parts(self, name: str, args: tuple[Any, ...]) -> tuple[Any, Any, Any]:
        """Pointers, mask, and values of a store. A mask may be an array or a handle."""
        if name == "masked_load":
            pointers, mask, values = args[0], args[1], None
        elif name == "masked_store":
            pointers, mask, values = args[0], args[2], args[1].data
        elif name == "atomic_rmw":
            pointers, mask, values = args[1], args[3], None
        else:
            pointers, mask, values = args[0], None, None
        return pointers, getattr(mask, "data", mask) if not isinstance(mask, np.ndarray) else mask, values

    def told(self, interpreter: ModuleType) -> Iterator[tuple[str, Exception]]:
        stores, loads, atomics = (self._joined(kind) for kind in ("store", "load", "atomic"))
        found = self._two_writers(stores) or self._two(stores, loads, "writes what program {} reads") or self._two(
            stores, atomics, "writes what program {} changes atomically"
        ) or self._two(atomics, loads, "changes atomically what program {} reads")  # fmt: skip
        if not found:
            return
        (first, line), (second, other), what = found
        text = (
            f"triton kernel {self.kernel.__name__} ({self.kernel.__code__.co_filename}:{line}): program {first - 1} "
            f"{what.format(second - 1)}, with nothing to order them: {self._text(line)}"
        )
        if other != line:
            text += f"; line {other}: {self._text(other)}"
        yield text, interpreter.InterpreterError(text)

    def _joined(self, kind: str) -> tuple[Any, Any, Any, list[Any]]:
        kept = self._kept[kind]
        if not kept:
            return np.empty(0, np.uint64), np.empty(0, np.int32), np.empty(0, np.int32), []
        at = np.concatenate([one[0] for one in kept])
        programs = np.concatenate([np.full(one[0].size, one[1], np.int32) for one in kept])
        lines = np.concatenate([np.full(one[0].size, one[2], np.int32) for one in kept])
        return at, programs, lines, [one[3] for one in kept]

    def _two_writers(self, stores: Any) -> Any:
        """Two programs that write different values to one address; equal values make no difference."""
        at, programs, lines, parts = stores
        if not at.size or programs[0] == programs[-1]:
            return None
        values = np.concatenate([part.astype(np.float64) for part in parts])
        order = np.lexsort((programs, at))
        at, programs, lines, values = at[order], programs[order], lines[order], values[order]
        same = (at[1:] == at[:-1]) & (programs[1:] != programs[:-1])
        differ = same & (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
        where = np.flatnonzero(differ)
        if not where.size:
            return None
        i = int(where[0])
        return (
            (int(programs[i]), int(lines[i])),
            (int(programs[i + 1]), int(lines[i + 1])),
            "writes what program {} writes, too",
        )

    def _two(self, writes: Any, others: Any, what: str) -> Any:
        """An address that one program writes and another uses."""
        if not writes[0].size or not others[0].size:
            return None
        order = np.argsort(writes[0], kind="stable")
        at, programs, lines = (part[order] for part in writes[:3])
        for end in ("left", "right"):  # of several writers of an address, the first and the last
            place = np.searchsorted(at, others[0], side=end) - (end == "right")
            place = np.clip(place, 0, at.size - 1)
            meets = (at[place] == others[0]) & (programs[place] != others[1])
            where = np.flatnonzero(meets)
            if where.size:
                i, j = int(place[where[0]]), int(where[0])
                return (int(programs[i]), int(lines[i])), (int(others[1][j]), int(others[2][j])), what
        return None

    def _text(self, line: int) -> str:
        return linecache.getline(self.kernel.__code__.co_filename, line).strip()
