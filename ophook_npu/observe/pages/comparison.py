"""The page of :class:`~ophook_npu.observe.Compare`."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, Protocol

from ophook_npu.observe._comparison import HEAD, Comparison, line
from ophook_npu.observe._course import Point
from ophook_npu.observe.pages import parts as page

_TOP = 15


class Compared(Protocol):
    """What the page asks a comparison for."""

    failed: int
    drifted: int
    compared: int
    skipped: Counter[str]
    worst: dict[str, Comparison]
    failures: list[Comparison]

    @property
    def how(self) -> str: ...
    @property
    def seen(self) -> int: ...
    @property
    def follows_drift(self) -> bool: ...
    @property
    def course(self) -> list[Point]: ...
    def verdict(self) -> str: ...


def compare_page(title: str, compare: Compared) -> str:
    failed, drifted = compare.failed, compare.drifted
    cards: list[page.Card] = [
        ("calls", f"{compare.seen:,}"),
        ("results compared", f"{compare.compared:,}"),
        ("out of tolerance", f"{failed:,}", "bad" if failed else "good"),
    ]
    if compare.follows_drift:
        cards.append(("accumulated too far", f"{drifted:,}", "bad" if drifted else "good"))
    cards.append(("not compared", f"{sum(compare.skipped.values()):,}"))
    worst = sorted(compare.worst.values(), key=lambda row: -row.max_rel)
    good = "Every compared result is within tolerance." if compare.compared else "Nothing was compared."
    parts = [page.verdict(compare.verdict() or good, bad=bool(failed or drifted or not compare.compared))]
    points = [(p.number, p.max_rel, not p.ok, f"call {p.number}: {p.op} {p.max_rel:.2g}") for p in compare.course]
    parts.append(page.course("Relative error along the run", points, "the largest of each stretch; logarithmic"))
    shown = [row for row in worst if row.max_rel > 0][:_TOP]
    # Lengths on a logarithmic scale, from the smallest shown: errors differ by orders of magnitude.
    lengths = _decades([row.max_rel for row in shown])
    values = [(row.op, length, f"{row.max_rel:.2g}") for row, length in zip(shown, lengths, strict=True)]
    bad = frozenset(index for index, row in enumerate(shown) if not row.ok)
    charts = [page.bars("Largest relative error by operator", values, "logarithmic", bad)]
    skipped = [(reason, float(count), f"{count:,}") for reason, count in compare.skipped.most_common(_TOP)]
    charts.append(page.bars("Not compared, and why", skipped, "calls"))
    parts.append(page.pair(*charts))
    if compare.failures:
        aside = f"the first {len(compare.failures)} of {failed}" if failed > len(compare.failures) else ""
        parts.append(_comparisons("Out of tolerance", compare.failures, aside))
    parts.append(_comparisons("Worst result of each operator", worst))
    return page.page("Comparison", title, cards, parts, compare.how)


def _comparisons(title: str, rows: list[Comparison], aside: str = "") -> str:
    drift = any(row.drift is not None for row in rows)
    places = any(row.stack for row in rows)
    head = HEAD[: 10 if drift else 9] + (["called from"] if places else [])
    cells: list[list[Any]] = []
    for row in rows:
        text: list[Any] = line(row)
        text[5:8] = zip((row.max_abs, row.max_rel, row.ulp), text[5:8], strict=True)
        if row.drift is not None:
            text[9] = (row.drift, text[9])
        place = f"{row.stack[-1][0].rpartition('/')[2]}:{row.stack[-1][1]}" if row.stack else ""
        cells.append([*text[: 10 if drift else 9], *([place] if places else [])])
    bad = frozenset(index for index, row in enumerate(rows) if not row.ok)
    left = frozenset({1, 2, 3, 4, *([len(head) - 1] if places else [])})
    return page.table(title, head, cells, left=left, bad=bad, aside=aside)


def _decades(values: list[float]) -> list[float]:
    if not values:
        return []
    logs = [math.log10(min(value, 1e30)) for value in values]
    return [value - min(logs) + 0.5 for value in logs]
