"""``ophook-npu kernel report``: what a kernel moves and computes in each case, and how much local memory it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ophook_npu.kernel.check import CaseResult, Checked
from ophook_npu.kernel.socs import Soc


@dataclass(frozen=True)
class Used:
    """One case, over all cores. Sizes in bytes; ``local`` is the most that one core took."""

    label: str
    status: str
    cores: int
    copied_in: int
    copied_out: int
    copies: int
    unaligned: int
    elements: int
    instructions: int
    local: int

    @property
    def unaligned_share(self) -> float:
        """Copies whose length is no multiple of 32 bytes."""
        return self.unaligned / self.copies if self.copies else 0.0

    @property
    def per_copy(self) -> float:
        """Bytes that one copy moves: short ones leave the memory idle."""
        return (self.copied_in + self.copied_out) / self.copies if self.copies else 0.0


def used(outcome: CaseResult) -> Used:
    n = {"copied_in": 0, "copied_out": 0, "copies": 0, "unaligned": 0, "elements": 0, "instructions": 0, "ub_used": 0}
    n |= outcome.report.counters
    return Used(
        outcome.label, outcome.status, outcome.report.block_dim, n["copied_in"], n["copied_out"], n["copies"],
        n["unaligned"], n["elements"], n["instructions"], n["ub_used"],
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
        (row.local / soc.ub, f"{row.local / soc.ub:.0%}"),
    ]


def html(results: Sequence[Checked], soc: Soc, title: str) -> str:
    """The same as a page."""
    from ophook_npu.observe.pages import parts as page

    parts = []
    for result in results:
        rows = [used(outcome) for outcome in result.outcomes]
        bad = frozenset(i for i, row in enumerate(rows) if row.status != "pass")
        table = [[row.label, row.status, *cells(row, soc)] for row in rows]
        parts.append(page.table(result.operator, HEAD, table, left=frozenset({0, 1}), bad=bad))
        if result.findings:
            told = [[f.severity, f.kind, f"{f.file}:{f.line}", f"{f.call}: {f.what}"] for f in result.findings]
            head = ("level", "kind", "where", "what")
            parts.append(page.table(f"{result.operator}: findings", head, told, wrap=frozenset({3})))
    every = [used(outcome) for result in results for outcome in result.outcomes]
    findings = sum(len(result.findings) for result in results)
    cards: list[page.Card] = [
        ("operators", str(len(results))),
        ("cases", str(len(every))),
        ("findings", str(findings), "bad" if findings else "good"),
        ("local memory", f"{max((row.local for row in every), default=0) / soc.ub:.0%}"),
    ]
    how = (
        f"Run on the CPU for {soc.name}: {soc.ub:,} bytes of local memory a core. Bytes and elements are counted; "
        "times are not known."
    )
    return page.page("Ascend C", title, cards, parts, how)
