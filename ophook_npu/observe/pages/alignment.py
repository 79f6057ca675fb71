"""The page of :class:`~ophook_npu.observe.Alignment`."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from ophook_npu.observe._course import Course
from ophook_npu.observe._pair import Pair, distance, line
from ophook_npu.observe.pages import parts as page

_TOP = 15


class Aligned(Protocol):
    """What the page asks an alignment for."""

    pairs: int
    differing: int
    apart: list[Pair]
    fresh: list[Pair] | None
    ops_a: Counter[str]
    ops_b: Counter[str]
    course: Course

    def verdict(self) -> str: ...


def align_page(title: str, found: Aligned) -> str:
    a_only, b_only = found.ops_a.total(), found.ops_b.total()
    cards: list[page.Card] = [
        ("pairs", f"{found.pairs:,}"),
        ("apart", f"{found.differing:,}", "bad" if found.differing else "good"),
        ("only in a", f"{a_only:,}"),
        ("only in b", f"{b_only:,}"),
    ]
    if found.fresh is not None:
        cards.insert(2, ("made here", f"{len(found.fresh):,}", "bad" if found.fresh else "good"))
    parts = [page.verdict(found.verdict(), bad=bool(found.differing or not found.pairs))]
    points = [(p.number, p.max_rel, not p.ok, f"call {p.number}: {p.op} {p.max_rel:.2g}") for p in found.course.points]
    parts.append(page.course("Relative distance along run a", points, "the largest of each stretch; logarithmic"))
    only = [("Only in a", found.ops_a), ("Only in b", found.ops_b)]
    charts = [
        page.bars(name, [(op, float(n), f"{n:,}") for op, n in ops.most_common(_TOP)], "calls") for name, ops in only
    ]
    parts.append(page.pair(*charts))
    head = ["in a", "in b", "operator", "phase", "module", "result", "apart"]
    tables = [("Pairs that differ though their inputs agree", found.fresh or []), ("Pairs that differ", found.apart)]
    for name, pairs in tables:
        if pairs:
            rows = [[*line(pair)[:6], (distance(pair), line(pair)[6])] for pair in pairs]
            parts.append(page.table(name, head, rows, left=frozenset({2, 3, 4, 5})))
    return page.page("Two runs", title, cards, parts, "a and b are compared by figures of each call's results.")
