"""One thing that the report found, and the kinds there are."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from ophook_npu.observe.port.where import BEFORE, Where

KINDS = (
    "refused", "fallback", "synchronizes", "copies", "graph", "fused", "cuda", "numerics", "memory", "collective",
    "rules",
)  # fmt: skip
"""In the order of the report, where none of a later one is worse."""

PLACES = ("graph", "fused")
"""Kinds that count places in graphs, not calls."""

KNOWN = ("torch_npu", "pages", "simulator", "list", "source")
"""How a finding is known: torch_npu itself did it here, as it would on hardware; CANN's pages say it; only the
simulator saw it; a list of ours says it; it was read in the program's source and has not run."""

ENDING = ("refused_here", "mixed", "in_host_memory", "generator")
"""What a call of the device ended with, or would have, had the CPU not gone on with it."""

_WORST: tuple[tuple[str, ...], ...] = (
    # The program ends, or is no program for an NPU.
    (*ENDING, "missing_module", "cuda_import", "cuda_call", "cuda_extension", "cuda_transfer"),
    # It goes on with other numbers.
    ("narrowed", "overflow", "off", "off_whole"),
    # The host computes, then waits.
    ("fallback",),
    ("item", "shape", "to_host", "print", "waits", "waits_as_written", "pageable", "blocking", "too_small"),
    # The device does more than it must.
    ("converted", "contiguous", "made_contiguous", "format"),
    # A compiled program would mind; another operator would do better.
    ("break", "no_converter", "recompile", "not_traced", "capture"),
    ("fused_off", "fused_failed", "optimizer_off", "optimizer_failed", "whole_failed"),
    ("fused", "fused_tried", "fused_whole", "optimizer", "optimizer_tried"),
    # It may matter, or not.
)
_RANK = {code: rank for rank, codes in enumerate(_WORST) for code in codes}
_AS_A_CALL = 200_000  # bytes that take the bus about as long as a call takes the host: 10 µs, at 20 GB/s


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
    def is_operator(self) -> bool:
        """Whether it counts calls of an operator on the device, which have a share in all of them."""
        return self.count > 0 and self.kind not in PLACES and "::" in self.key.operator

    @property
    def rank(self) -> int:
        """0 for what ends the program, more for what matters less."""
        if self.key.code == "narrowed" and "inside" in dict(self.key.values):
            return len(_WORST)  # those who wrote that function know of it
        return _RANK.get(self.key.code, len(_WORST))

    @property
    def weight(self) -> tuple[int, bool, float, str]:
        """Sorts findings: what breaks or costs most comes first. What runs in no step costs once."""
        return self.rank, not self.in_steps, -(self.count + self.bytes / _AS_A_CALL), self.place

    @property
    def place(self) -> str:
        """``train.py:12``, or what there is instead."""
        where = self.key.where
        return f"{os.path.basename(where.file)}:{where.line}" if where.file else ""


def key(kind: str, code: str, operator: str, where: Where, known: str = "torch_npu", **values: Any) -> Key:
    products = tuple(values.pop("products", ()))
    told = tuple((k, str(v)) for k, v in values.items() if k != "inside" or v)
    return Key(kind, code, operator, where, told, products, known)


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
        """By kind, in the order of :data:`KINDS`; what breaks or costs most is first in each."""
        return sorted(self._found.values(), key=lambda one: (KINDS.index(one.kind), one.weight))

    def clear(self) -> None:
        self._found.clear()
