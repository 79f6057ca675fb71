"""The porting report as a page."""

from __future__ import annotations

from ophook_npu.observe._describe import size
from ophook_npu.observe.pages import parts
from ophook_npu.observe.port.finding import KINDS, Finding
from ophook_npu.observe.port.memory import products
from ophook_npu.observe.port.report import Report, line_of, module_of
from ophook_npu.observe.port.terms import term
from ophook_npu.observe.port.where import BEFORE
from ophook_npu.observe.port.words import say

_BARS = 12


def port_page(report: Report, title: str, lang: str = "en") -> str:
    """One self-contained page in English (``en``) or Chinese (``zh``)."""
    waits, moved = (sum(values) for values in _costs(report))
    cards: list[parts.Card] = [
        (term("cards_calls", lang), f"{report.calls:,}"),
        (term("cards_steps", lang), f"{report.steps:,}"),
        (term("cards_waits", lang), f"{report.per_step(waits):.3g}", *(("bad",) if waits else ())),
        (term("cards_bus", lang), size(report.per_step(moved)), *(("bad",) if moved else ())),
    ]
    for kind in ("refused", "fallback"):
        count = sum(not one.key.products for one in report.grouped(kind))  # what only pages say is no verdict
        cards.append((term(kind, lang), str(count), "bad" if count else "good"))
    body = [parts.verdict("\n".join(report.verdict(lang)), report.stops), _first(report, lang)]
    body.append(_memory(report, lang))
    body += [_kind(report, kind, lang) for kind in KINDS]
    return parts.page(term("title", lang), title or report.product, cards, body, report.how(lang), lang)


def _costs(report: Report) -> tuple[list[int], list[int]]:
    steady = [one for one in report.findings if one.in_steps]
    waiting = [one.count for one in steady if one.kind in ("synchronizes", "fallback")]
    waiting += [one.count for one in steady if one.key.code in ("pageable", "blocking")]
    crossing = [one.bytes for one in steady if one.kind == "fallback"]
    crossing += [one.bytes for one in steady if one.key.code in ("pageable", "blocking", "to_host", "print")]
    return waiting, crossing


def _first(report: Report, lang: str) -> str:
    """What to look at first: the operators with most calls that something stands in the way of."""
    by_place: dict[tuple[str, str], int] = {}
    for one in report.findings:
        if one.count and one.in_steps:
            name = (one.key.operator, one.place)
            by_place[name] = by_place.get(name, 0) + one.count
    rows = sorted(by_place.items(), key=lambda item: -item[1])[:_BARS]
    worst = [one for one in report.findings if one.kind in ("refused", "fallback") and not one.key.products]
    bad = {(one.key.operator, one.place) for one in worst}
    marks = frozenset(i for i, (name, _) in enumerate(rows) if name in bad)
    values = [
        (f"{name}  {place}".rstrip(), float(count), term("calls_per_step", lang, count=f"{report.per_step(count):.3g}"))
        for (name, place), count in rows
    ]
    return parts.bars(term("first", lang), values, bad=marks)


def _memory(report: Report, lang: str) -> str:
    if not report.peaks:
        return ""
    room = size(products().get(report.product, 0))
    steps = [(term("step", lang, number=i + 1), float(peak), size(peak)) for i, peak in enumerate(report.peaks)]
    shown = steps if len(steps) <= _BARS else [*steps[: _BARS - 1], max(steps, key=lambda step: step[1])]
    alive = [(place or term("elsewhere_line", lang), float(of), f"{size(of)} / {n}") for place, of, n in report.alive]
    return parts.pair(
        parts.bars(term("peaks", lang, size=room, product=report.product), shown),
        parts.bars(term("alive", lang), alive),
    )


def _kind(report: Report, kind: str, lang: str) -> str:
    found = report.grouped(kind)
    if not found:
        return ""
    moves = any(one.bytes for one in found)
    head = [term(name, lang) for name in ("operator", "count", "share", "per_step")]
    head += [term("bytes", lang)] if moves else []
    head += [term(name, lang) for name in ("line", "what", "todo", "known")]
    rows = [_row(report, one, moves, lang) for one in found]
    left = frozenset({0})
    wrap = frozenset(range(4 + moves, 8 + moves))
    bad = frozenset(i for i, one in enumerate(found) if report.refused_here(one))
    aside = term("found", lang, count=len(found))
    return parts.table(
        term(kind, lang), head, rows, left=left, wrap=wrap, share=2, bad=bad, aside=aside, find=term("filter", lang)
    )


def _row(report: Report, one: Finding, moves: bool, lang: str) -> list[object]:
    what, todo = say(one.key.code, dict(one.key.values), lang)
    share, steps = report.share(one), report.per_step(one.count)
    row: list[object] = [one.key.operator, (one.count, f"{one.count:,}" if one.count else "")]
    once = term("once", lang) if one.key.where.phase == BEFORE else ""
    row += [(share, f"{100 * share:.1f} %"), (steps, f"{steps:.3g}" if one.in_steps else once)]
    row += [(one.bytes, size(one.bytes) if one.bytes else "")] if moves else []
    module, source = module_of(one, lang), one.key.where.text
    line = " · ".join(part for part in (line_of(one), source, "" if module == "-" else module) if part)
    known = term(one.key.known, lang)
    products = f" ({', '.join(one.key.products)})" if one.key.products else ""
    return [*row, line, what, todo, known + products]
