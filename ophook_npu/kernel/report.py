"""``ophook-npu kernel report``: what a kernel moves and computes in each case, and how much local memory it takes."""

from __future__ import annotations

from dataclasses import dataclass

from ophook_npu.kernel.check import CaseResult
from ophook_npu.kernel.socs import Soc

MEMORIES = ("ub", "l1", "l0a", "l0b", "l0c", "bt", "fb")


@dataclass(frozen=True)
class Used:
    """One case, over all cores. Sizes in bytes; ``local`` is the most that one core took of each local memory."""

    label: str
    status: str
    cores: int
    copied_in: int
    copied_out: int
    copies: int
    unaligned: int
    elements: int
    instructions: int
    local: dict[str, int]

    @property
    def unaligned_share(self) -> float:
        """Copies whose length is no multiple of 32 bytes."""
        return self.unaligned / self.copies if self.copies else 0.0

    @property
    def per_copy(self) -> float:
        """Bytes that one copy moves: short ones leave the memory idle."""
        return (self.copied_in + self.copied_out) / self.copies if self.copies else 0.0

    def fullest(self, soc: Soc) -> tuple[float, str]:
        """The local memory of which the largest share is taken: the share, and as text."""
        share, name = max((self.local[name] / getattr(soc, name), name) for name in MEMORIES)
        return share, f"{share:.0%}" if name == "ub" or not share else f"{name.upper()} {share:.0%}"


def used(outcome: CaseResult) -> Used:
    n = {"copied_in": 0, "copied_out": 0, "copies": 0, "unaligned": 0, "elements": 0, "instructions": 0}
    n |= dict.fromkeys((f"{name}_used" for name in MEMORIES), 0) | outcome.report.counters
    return Used(
        outcome.label, outcome.status, outcome.report.block_dim, n["copied_in"], n["copied_out"], n["copies"],
        n["unaligned"], n["elements"], n["instructions"],
        {name: n[f"{name}_used"] for name in MEMORIES},
    )  # fmt: skip


HEAD = (
    "case", "", "cores", "bytes in", "bytes out", "copies", "bytes a copy", "unaligned", "elements", "instructions",
    "local memory",
)  # fmt: skip


def cells(row: Used, soc: Soc) -> list[tuple[float, str]]:
    """The figures of a row in the order of HEAD, from its third column on: numbers to sort by, and text."""
    return [
        (row.cores, str(row.cores)),
        (row.copied_in, f"{row.copied_in:,}"),
        (row.copied_out, f"{row.copied_out:,}"),
        (row.copies, f"{row.copies:,}"),
        (row.per_copy, f"{row.per_copy:,.0f}"),
        (row.unaligned_share, f"{row.unaligned_share:.0%}"),
        (row.elements, f"{row.elements:,}"),
        (row.instructions, f"{row.instructions:,}"),
        row.fullest(soc),
    ]
