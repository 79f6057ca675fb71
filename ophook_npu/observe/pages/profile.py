"""The page of :class:`~ophook_npu.observe.Profile`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ophook_npu.observe._cost import By, Cost
from ophook_npu.observe._describe import size
from ophook_npu.observe.pages import parts as page
from ophook_npu.plural import counted

_TOP = 15


class Profiled(Protocol):
    """What the page asks a profile for."""

    @property
    def how(self) -> str: ...
    @property
    def total(self) -> float: ...
    @property
    def recorded(self) -> Sequence[By]: ...
    def rows(self, by: By = "operator") -> list[Cost]: ...


def profile_page(title: str, profile: Profiled) -> str:
    rows = profile.rows()
    by_self = sorted(rows, key=lambda row: -row.self_time)
    flops = sum(row.flops for row in rows)
    device = [row.device for row in rows if row.device is not None]
    calls = sum(row.calls for row in rows)
    cards: list[page.Card] = [
        ("calls", f"{calls:,}"),
        ("operators", str(len(rows))),
        ("host time", _time(profile.total)),
    ]
    if device:
        cards.append(("device time", _time(sum(device))))
    cards.append(("new memory", size(sum(row.memory for row in rows))))
    if flops:
        cards.append(("FLOP", _count(flops)))
    parts = [page.strip("Where the host time goes", [(row.name, row.self_time) for row in by_self], "self time")]
    charts = [page.bars("Self time by operator", _times(by_self), "host")]
    if device:
        on_device = sorted((row for row in rows if row.device), key=lambda row: -(row.device or 0.0))
        values = [(row.name, row.device or 0.0, _time(row.device or 0.0)) for row in on_device[:_TOP]]
        charts.append(page.bars("Device time by operator", values, "events"))
    places: list[By] = [by for by in profile.recorded if by in ("module", "node")]
    for by in places:
        found = sorted(profile.rows(by), key=lambda row: -row.self_time)
        charts.append(page.bars(f"Self time by {by}", _times(found), "host"))
    if "phase" in profile.recorded:
        phases = profile.rows("phase")
        parts.append(page.strip("Forward and backward", [(row.name, row.self_time) for row in phases], "self time"))
    by_memory = sorted((row for row in rows if row.memory), key=lambda row: -row.memory)
    charts.append(page.bars("New memory by operator", [(r.name, r.memory, size(r.memory)) for r in by_memory[:_TOP]]))
    if flops:
        ranked = sorted((row for row in rows if row.flops), key=lambda row: -row.flops)
        charts.append(page.bars("FLOP by operator", [(r.name, r.flops, _count(r.flops)) for r in ranked[:_TOP]]))
    parts.append(page.pair(*charts))
    parts.append(_rows("By operator", rows))
    for by in places:
        parts.append(_some(by, profile))
    parts.append(_some("shape", profile))
    return page.page("Profile", title, cards, parts, profile.how)


def _some(by: By, profile: Profiled) -> str:
    rows = profile.rows(by)
    return _rows(f"By {by}", rows[:500], f"{min(500, len(rows))} of {counted(len(rows), 'row')}")


def _rows(title: str, rows: list[Cost], aside: str = "") -> str:
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
    return page.table(title, head, cells, share=3, aside=aside)


def _times(rows: list[Cost]) -> list[tuple[str, float, str]]:
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
