"""One thing that the report found, and the kinds there are."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from ophook_npu.observe.port.where import BEFORE, Where

KINDS = ("refused", "fallback", "synchronizes", "copies", "graph", "fused", "cuda", "numerics", "memory", "collective")
"""In the order of the report."""

PLACES = ("graph", "fused")
"""Kinds that count places in graphs, not calls."""

KNOWN = ("torch_npu", "pages", "simulator", "list", "source")
"""How a finding is known: torch_npu itself did it here, as it would on hardware; CANN's pages say it; only the
simulator saw it; a list of ours says it; it was read in the program's source and has not run."""


@dataclasses.dataclass(frozen=True)
class Key:
    """What makes two findings one: kind, what is said of it, operator, and place.

    Attributes:
        code: names the sentences of :mod:`words`.
        values: what they are filled with, as pairs, so that a key can be hashed.
        products: the product families that it holds for; empty for all.
    """

    kind: str
    code: str
    operator: str
    where: Where
    values: tuple[tuple[str, str], ...] = ()
    products: tuple[str, ...] = ()
    known: str = "torch_npu"


@dataclasses.dataclass
class Finding:
    """A key with its counts: calls, and bytes that were moved or copied."""

    key: Key
    count: int = 0
    bytes: int = 0

    @property
    def kind(self) -> str:
        return self.key.kind

    @property
    def in_steps(self) -> bool:
        """Whether a number by step means something: it did not run before the first step only, and counts calls."""
        return self.key.where.phase != BEFORE and self.kind not in PLACES

    @property
    def place(self) -> str:
        """``train.py:12``, or what there is instead."""
        where = self.key.where
        return f"{os.path.basename(where.file)}:{where.line}" if where.file else ""


def key(kind: str, code: str, operator: str, where: Where, known: str = "torch_npu", **values: Any) -> Key:
    products = tuple(values.pop("products", ()))
    return Key(kind, code, operator, where, tuple((k, str(v)) for k, v in values.items()), products, known)


class Findings:
    """Findings by key."""

    def __init__(self) -> None:
        self._found: dict[Key, Finding] = {}

    def add(self, of: Key, count: int = 1, size: int = 0) -> Finding:
        """Counts one more of ``of``; ``size`` in bytes."""
        found = self._found.get(of)
        if found is None:
            found = self._found[of] = Finding(of)
        found.count += count
        found.bytes += size
        return found

    def settle(self) -> None:
        """What also ran in steps is none of what ran before them only."""
        for of, one in list(self._found.items()):
            if of.where.phase == BEFORE:
                again = dataclasses.replace(of, where=of.where._replace(phase="forward"))
                if again in self._found:
                    self.add(again, one.count, one.bytes)
                    del self._found[of]

    def all(self) -> list[Finding]:
        """In the order of :data:`KINDS`, the most frequent of each first."""
        return sorted(self._found.values(), key=lambda one: (KINDS.index(one.kind), -one.count, one.place))

    def clear(self) -> None:
        self._found.clear()
