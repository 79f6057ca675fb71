"""The porting report as a page."""

from __future__ import annotations

from ophook_npu.observe._describe import size
from ophook_npu.observe.pages import parts
from ophook_npu.observe.port.finding import Finding
from ophook_npu.observe.port.memory import products
from ophook_npu.observe.port.report import Report, heading, line_of, module_of
from ophook_npu.observe.port.terms import counted, term
from ophook_npu.observe.port.where import BEFORE
from ophook_npu.observe.port.words import say

_BARS = 12


def port_page(report: Report, title: str, lang: str = "en") -> str:
    """One self-contained page in English (``en``) or Chinese (``zh``)."""
    cards: list[parts.Card] = [
        (term("cards_calls", lang), f"{report.calls:,}"),
        (term("cards_steps", lang), f"{report.steps:,}"),
    ]
    for kind in ("refused", "fallback", "synchronizes", "copies"):
        text = report.amount(kind, lang).partition("; ")[0] or str(len(report.grouped(kind)))
        cards.append((term(kind, lang), text, "bad" if report.of(kind) else "good"))
    body = [parts.verdict("\n".join(report.verdict(lang)), report.stops), _first(report, lang)]
    body.append(_memory(report, lang))
    body += [_kind(report, kind, lang) for kind in report.kinds]
    return parts.page(term("title", lang), title or report.product, cards, body, report.how(lang), lang)


def _first(report: Report, lang: str) -> str:
    """What to look at first."""
    rows = report.first()[:_BARS]
    step = "calls_per_step" if report.steps else "calls_per_step_in_all"
    values = [
        (
            f"{one.key.operator}  {one.place}".rstrip(),
            float(one.count),
            f"{term(one.kind, lang)}, {counted(step, f'{report.per_step(one.count):.3g}', lang)}",
        )
        for one in rows
    ]
    bad = frozenset(i for i, one in enumerate(rows) if one.kind in ("refused", "fallback"))
    return parts.bars(term("first", lang), values, bad=bad)


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
    moves = any(one.bytes for one in found)
    head = [term(name, lang) for name in ("operator", heading(kind), "share", "per_step")]
    head += [term("bytes", lang)] if moves else []
    head += [term(name, lang) for name in ("line", "what", "todo", "known")]
    rows = [_row(report, one, moves, lang) for one in found]
    left = frozenset({0})
    wrap = frozenset(range(4 + moves, 8 + moves))
    bad = frozenset(i for i, one in enumerate(found) if report.refused_here(one))
    amount = report.amount(kind, lang)
    aside = term("found_amount" if amount else "found", lang, count=len(found), amount=amount)
    return parts.table(
        term(kind, lang), head, rows, left=left, wrap=wrap, share=2, bad=bad, aside=aside, find=term("filter", lang)
    )


def _row(report: Report, one: Finding, moves: bool, lang: str) -> list[object]:
    what, todo = say(one.key.code, dict(one.key.values), lang)
    share, steps = report.share(one), report.per_step(one.count)
    row: list[object] = [one.key.operator, (one.count, f"{one.count:,}" if one.count else "")]
    once = term("once", lang) if one.key.where.phase == BEFORE else ""
    row.append((share, f"{100 * share:.1f} %" if one.is_operator else ""))
    row.append((steps, f"{steps:.3g}" if one.in_steps else once))
    row += [(one.bytes, size(one.bytes) if one.bytes else "")] if moves else []
    module, source = module_of(one, lang), one.key.where.text
    line = " · ".join(part for part in (line_of(one), source, "" if module == "-" else module) if part)
    known = term(one.key.known, lang)
    products = f" ({', '.join(one.key.products)})" if one.key.products else ""
    return [*row, line, what, todo, known + products]
