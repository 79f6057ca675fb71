"""The reports of observers as pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ophook_npu.observe import _page
from ophook_npu.observe._describe import size

if TYPE_CHECKING:
    from ophook_npu.observe._align import Alignment
    from ophook_npu.observe._comparison import Comparison
    from ophook_npu.observe.compare import Compare
    from ophook_npu.observe.profile import By, Profile, Row

_TOP = 15


def profile_page(title: str, profile: Profile) -> str:
    rows = profile.rows()
    by_self = sorted(rows, key=lambda row: -row.self_time)
    flops = sum(row.flops for row in rows)
    device = [row.device for row in rows if row.device is not None]
    calls = sum(row.calls for row in rows)
    cards: list[_page.Card] = [
        ("calls", f"{calls:,}"),
        ("operators", str(len(rows))),
        ("host time", _time(profile.total)),
    ]
    if device:
        cards.append(("device time", _time(sum(device))))
    cards.append(("new memory", size(sum(row.memory for row in rows))))
    if flops:
        cards.append(("FLOP", _count(flops)))
    parts = [_page.strip("Where the host time goes", [(row.name, row.self_time) for row in by_self], "self time")]
    charts = [_page.bars("Self time by operator", _times(by_self), "host")]
    if device:
        on_device = sorted((row for row in rows if row.device), key=lambda row: -(row.device or 0.0))
        values = [(row.name, row.device or 0.0, _time(row.device or 0.0)) for row in on_device[:_TOP]]
        charts.append(_page.bars("Device time by operator", values, "events"))
    places: list[By] = [by for by in profile.recorded if by in ("module", "node")]
    for by in places:
        found = sorted(profile.rows(by), key=lambda row: -row.self_time)
        charts.append(_page.bars(f"Self time by {by}", _times(found), "host"))
    if "phase" in profile.recorded:
        phases = profile.rows("phase")
        parts.append(_page.strip("Forward and backward", [(row.name, row.self_time) for row in phases], "self time"))
    by_memory = sorted((row for row in rows if row.memory), key=lambda row: -row.memory)
    charts.append(_page.bars("New memory by operator", [(r.name, r.memory, size(r.memory)) for r in by_memory[:_TOP]]))
    if flops:
        ranked = sorted((row for row in rows if row.flops), key=lambda row: -row.flops)
        charts.append(_page.bars("FLOP by operator", [(r.name, r.flops, _count(r.flops)) for r in ranked[:_TOP]]))
    parts.append(_page.pair(*charts))
    parts.append(_rows("By operator", rows))
    for by in places:
        parts.append(_some(by, profile))
    parts.append(_some("shape", profile))
    return _page.page("Profile", title, cards, parts, profile.how)


def compare_page(title: str, compare: Compare) -> str:
    failed, drifted = compare.failed, compare.drifted
    cards: list[_page.Card] = [
        ("calls", f"{compare.seen:,}"),
        ("results compared", f"{compare.compared:,}"),
        ("out of tolerance", f"{failed:,}", "bad" if failed else "good"),
    ]
    if compare.follows_drift:
        cards.append(("accumulated too far", f"{drifted:,}", "bad" if drifted else "good"))
    cards.append(("not compared", f"{sum(compare.skipped.values()):,}"))
    worst = sorted(compare.worst.values(), key=lambda row: -row.max_rel)
    good = "Every compared result is within tolerance." if compare.compared else "Nothing was compared."
    parts = [_page.verdict(compare.verdict() or good, bad=bool(failed or drifted or not compare.compared))]
    points = [(p.number, p.max_rel, not p.ok, f"call {p.number}: {p.op} {p.max_rel:.2g}") for p in compare.course]
    parts.append(_page.course("Relative error along the run", points, "the largest of each stretch; logarithmic"))
    shown = [row for row in worst if row.max_rel > 0][:_TOP]
    # Lengths on a logarithmic scale, from the smallest shown: errors differ by orders of magnitude.
    lengths = _decades([row.max_rel for row in shown])
    values = [(row.op, length, f"{row.max_rel:.2g}") for row, length in zip(shown, lengths, strict=True)]
    bad = frozenset(index for index, row in enumerate(shown) if not row.ok)
    charts = [_page.bars("Largest relative error by operator", values, "logarithmic", bad)]
    skipped = [(reason, float(count), f"{count:,}") for reason, count in compare.skipped.most_common(_TOP)]
    charts.append(_page.bars("Not compared, and why", skipped, "calls"))
    parts.append(_page.pair(*charts))
    if compare.failures:
        aside = f"the first {len(compare.failures)} of {failed}" if failed > len(compare.failures) else ""
        parts.append(_comparisons("Out of tolerance", compare.failures, aside))
    parts.append(_comparisons("Worst result of each operator", worst))
    return _page.page("Comparison", title, cards, parts, compare.how)


def align_page(title: str, found: Alignment) -> str:
    from ophook_npu.observe._align import distance, line

    a_only, b_only = found.ops_a.total(), found.ops_b.total()
    cards: list[_page.Card] = [
        ("pairs", f"{found.pairs:,}"),
        ("apart", f"{found.differing:,}", "bad" if found.differing else "good"),
        ("only in a", f"{a_only:,}"),
        ("only in b", f"{b_only:,}"),
    ]
    if found.fresh is not None:
        cards.insert(2, ("made here", f"{len(found.fresh):,}", "bad" if found.fresh else "good"))
    parts = [_page.verdict(found.verdict(), bad=bool(found.differing or not found.pairs))]
    points = [(p.number, p.max_rel, not p.ok, f"call {p.number}: {p.op} {p.max_rel:.2g}") for p in found.course.points]
    parts.append(_page.course("Relative distance along run a", points, "the largest of each stretch; logarithmic"))
    only = [("Only in a", found.ops_a), ("Only in b", found.ops_b)]
    charts = [
        _page.bars(name, [(op, float(n), f"{n:,}") for op, n in ops.most_common(_TOP)], "calls") for name, ops in only
    ]
    parts.append(_page.pair(*charts))
    head = ["in a", "in b", "operator", "phase", "module", "result", "apart"]
    tables = [("Pairs that differ though their inputs agree", found.fresh or []), ("Pairs that differ", found.apart)]
    for name, pairs in tables:
        if pairs:
            rows = [[*line(pair)[:6], (distance(pair), line(pair)[6])] for pair in pairs]
            parts.append(_page.table(name, head, rows, left=frozenset({2, 3, 4, 5})))
    return _page.page("Two runs", title, cards, parts, "a and b are compared by figures of each call's results.")


def _comparisons(title: str, rows: list[Comparison], aside: str = "") -> str:
    from ophook_npu.observe._comparison import HEAD, line

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
    return _page.table(title, head, cells, left=left, bad=bad, aside=aside)


def _some(by: By, profile: Profile) -> str:
    rows = profile.rows(by)
    return _rows(f"By {by}", rows[:500], f"{min(500, len(rows))} of {len(rows)} rows")


def _rows(title: str, rows: list[Row], aside: str = "") -> str:
    device = any(row.device is not None for row in rows)
    flops = any(row.flops for row in rows)
    head = [title.removeprefix("By "), "calls", "total ms", "self ms", "mean µs", "p95 µs", "memory"]
    head += (["device ms"] if device else []) + (["MFLOP"] if flops else [])
    cells: list[list[Any]] = []
    for row in rows:
        cell: list[Any] = [row.name, str(row.calls), f"{row.total / 1e3:.3f}", f"{row.self_time / 1e3:.3f}"]
        cell += [f"{row.mean:.1f}", f"{row.p95:.1f}", (row.memory, size(row.memory))]
        if device:
            cell.append("" if row.device is None else f"{row.device / 1e3:.3f}")
        if flops:
            cell.append(f"{row.flops / 1e6:.2f}" if row.flops else "")
        cells.append(cell)
    return _page.table(title, head, cells, share=3, aside=aside)


def _times(rows: list[Row]) -> list[tuple[str, float, str]]:
    return [(row.name, row.self_time, _time(row.self_time)) for row in rows[:_TOP]]


def _time(us: float) -> str:
    if us < 1e3:
        return f"{us:.0f} µs"
    return f"{us / 1e3:.2f} ms" if us < 1e6 else f"{us / 1e6:.2f} s"


def _count(number: float) -> str:
    for unit in ("", "K", "M", "G", "T"):
        if number < 1000 or unit == "T":
            return f"{number:.0f}" if not unit else f"{number:.2f} {unit}"
        number /= 1000
    raise AssertionError


def _decades(values: list[float]) -> list[float]:
    import math

    if not values:
        return []
    logs = [math.log10(min(value, 1e30)) for value in values]
    return [value - min(logs) + 0.5 for value in logs]
