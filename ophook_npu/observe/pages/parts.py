"""The parts of a report: one HTML file each, without scripts or styles from elsewhere, readable without a network."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

from ophook_npu.plural import counted
from ophook_npu.untrusted import shown

_STYLE = """
:root { --back: #f5f6f8; --panel: #fff; --text: #16202b; --soft: #5d6b7a; --line: #e2e6eb; --bar: #3867d6;
  --bad: #c0392b; --bad-back: #fdecea; --good: #1e7d4f; --good-back: #e7f5ee; --track: #eef0f4;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; color-scheme: light dark }
@media (prefers-color-scheme: dark) { :root { --back: #0f1419; --panel: #182028; --text: #dfe6ee; --soft: #93a1b0;
  --line: #2a343f; --bar: #5b8def; --bad: #ff8a7a; --bad-back: #3d1f1d; --good: #6fd3a0; --good-back: #16321f;
  --track: #232d37 } }
* { box-sizing: border-box }
body { font: 14px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; margin: 0; background: var(--back);
  color: var(--text) }
main { max-width: 1320px; margin: 0 auto; padding: 1.6rem 1.2rem 3rem }
h1 { font-size: 1.45rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere }
h2 { font-size: 1.02rem; margin: 0 }
.eyebrow { color: var(--soft); font-size: .78rem; letter-spacing: .08em; text-transform: uppercase; margin: 0 0 .2rem }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: .8rem; margin: 1.2rem 0 }
.card, .panel { background: var(--panel); border: 1px solid var(--line); border-radius: 10px }
.card { padding: .7rem .95rem; color: var(--soft) }
.card b { display: block; font-size: 1.35rem; font-weight: 600; color: var(--text); font-variant-numeric: tabular-nums }
.card.bad b { color: var(--bad) } .card.good b { color: var(--good) }
.panel { padding: 1rem 1.1rem; margin: 0 0 1rem; min-width: 0 }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(430px, 100%), 1fr)); gap: 0 1rem;
  align-items: start }
.head { display: flex; gap: .3rem .7rem; align-items: baseline; flex-wrap: wrap; margin-bottom: .7rem }
.head span { color: var(--soft); font-size: .85rem }
.verdict { border-left: 4px solid var(--good); background: var(--good-back); white-space: pre-line;
  overflow-wrap: anywhere; padding: .8rem 1rem; border-radius: 6px; margin: 0 0 1rem }
.verdict.bad { border-color: var(--bad); background: var(--bad-back) }
.bars { display: grid; grid-template-columns: minmax(0, max-content) minmax(4rem, 1fr) max-content; gap: .28rem .7rem;
  align-items: center }
.bars code { overflow-wrap: anywhere; text-align: right }
.bars i { display: block; height: .95rem; background: var(--track); border-radius: 3px; overflow: hidden }
.bars i b { display: block; height: 100%; background: var(--bar); border-radius: 3px; min-width: 2px }
.bars i b.bad { background: var(--bad) }
.bars span { font-variant-numeric: tabular-nums; color: var(--soft); text-align: right }
code, td.name { font: 12px/1.45 var(--mono) }
.wide { overflow-x: auto } .wide svg { min-width: 640px }
svg { display: block; width: 100% } svg text { font: 11px var(--mono); fill: var(--soft) }
.strip svg { height: 26px; border-radius: 5px }
.key { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin-top: .6rem; font-size: .88rem }
.key span { white-space: nowrap } .key u { display: inline-block; width: .7rem; height: .7rem; border-radius: 2px;
  margin-right: .4rem; vertical-align: -1px }
.scroll { overflow: auto; max-height: 34rem; border: 1px solid var(--line); border-radius: 6px }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .55rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line) }
tbody tr:last-child td { border-bottom: 0 } tbody tr:hover td { background: var(--track) }
th { white-space: normal; vertical-align: bottom }
th { position: sticky; top: 0; background: var(--panel); color: var(--soft); font-weight: 600; cursor: pointer;
  user-select: none; box-shadow: 0 1px var(--line) }
th.left, td.left { text-align: left } td.wrap { white-space: normal; overflow-wrap: anywhere; min-width: 12rem }
th[data-down="1"]::after { content: " \\2193" } th[data-down="0"]::after { content: " \\2191" }
td.share { background: linear-gradient(to left, color-mix(in srgb, var(--bar) 24%, transparent) var(--p), transparent
  var(--p)) }
tr.bad td { background: var(--bad-back) }
input { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--line); border-radius: 6px;
  padding: .2rem .6rem; width: 14rem; max-width: 100%; margin-left: auto }
footer { color: var(--soft); font-size: .85rem; white-space: pre-line; overflow-wrap: anywhere }
@media (max-width: 560px) { main { padding: 1rem .7rem 2rem } .bars { grid-template-columns: 1fr max-content }
  .bars code { grid-column: 1 / 3; text-align: left; margin-bottom: -.25rem } .card b { font-size: 1.15rem }
  input { margin-left: 0; width: 100% }
  td.wrap { min-width: 8rem } th, td { padding: .3rem .4rem }
  /* More to the right: a shadow, until it is scrolled to. */
  .scroll { background: linear-gradient(to left, var(--panel) 1rem, transparent) right / 2rem 100% no-repeat local,
    linear-gradient(to left, color-mix(in srgb, var(--text) 28%, transparent), transparent) right / .8rem 100%
    no-repeat } }
@media print { .scroll { max-height: none } input { display: none } }
"""
# Sorting a table by a column and showing only the rows that contain a word.
_SCRIPT = """
document.querySelectorAll('th').forEach(th => th.onclick = () => {
  const heads = [...th.parentNode.children], i = heads.indexOf(th), body = th.closest('table').tBodies[0];
  const down = th.dataset.down !== '1'; heads.forEach(h => delete h.dataset.down); th.dataset.down = down ? '1' : '0';
  const value = row => { const c = row.children[i], v = c.dataset.v ?? c.textContent; return v === '' ? -Infinity :
    isNaN(v) ? v : +v; };
  [...body.rows].sort((a, b) => { const x = value(a), y = value(b);
    return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1); }).forEach(r => body.append(r)); });
document.querySelectorAll('input').forEach(input => input.oninput = () => {
  const word = input.value.toLowerCase();
  for (const row of input.closest('section').querySelector('tbody').rows)
    row.hidden = !row.textContent.toLowerCase().includes(word); });
"""
# Told apart also by people who do not see red and green alike, on light and on dark.
_COLOURS = ("#3867d6", "#e59a1c", "#1b998b", "#c2527d", "#7a5cc4", "#5aa9e6", "#a3b035", "#b5651d")
_REST = "#98a4b1"

Card = tuple[str, str] | tuple[str, str, str]


def page(kind: str, title: str, cards: Iterable[Card], parts: list[str], how: str, lang: str = "en") -> str:
    """A page with a row of figures, then ``parts`` (HTML), and how it was observed.

    Args:
        cards: (name, figure), and ``"good"`` or ``"bad"`` for a figure that is.
        lang: the language of the text, as HTML names it.
    """
    figures = "".join(
        f'<div class="card {escape(tone[0]) if tone else ""}">{escape(name)}<b>{escape(value)}</b></div>'
        for name, value, *tone in cards
    )
    return (
        f'<!doctype html><html lang="{escape(lang)}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>"
        f'<p class="eyebrow">{escape(kind)}</p><h1>{escape(title)}</h1><div class="cards">{figures}</div>'
        f"{''.join(parts)}<footer>{escape(how)}</footer></main><script>{_SCRIPT}</script></body></html>\n"
    )


def panel(title: str, body: str, aside: str = "", extra: str = "") -> str:
    """A titled box; ``extra`` is HTML that goes into its head."""
    note = f"<span>{escape(aside)}</span>" if aside else ""
    return f'<section class="panel"><div class="head"><h2>{escape(title)}</h2>{note}{extra}</div>{body}</section>'


def pair(*panels: str) -> str:
    """Panels side by side where there is room."""
    return f'<div class="pair">{"".join(panels)}</div>'


def verdict(text: str, bad: bool) -> str:
    lines = "\n".join(line[:1].upper() + line[1:] for line in text.splitlines())
    return f'<p class="verdict{" bad" if bad else ""}">{escape(lines)}</p>'


def table(
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    left: frozenset[int] = frozenset({0}),
    share: int | None = None,
    bad: frozenset[int] = frozenset(),
    aside: str = "",
    wrap: frozenset[int] = frozenset(),
    find: str = "filter",
) -> str:
    """A table that sorts and filters itself.

    Args:
        rows: a cell is text, or (number to sort by, text).
        left: columns set flush left, in fixed width.
        share: the column whose numbers are drawn behind it as bars.
        bad: rows that stand out.
        wrap: columns set flush left in several lines: sentences, long names.
        find: what the field says that filters.
    """
    most = max((_number(row[share]) for row in rows), default=0.0) if share is not None else 0.0
    lines = [f"<th{' class=left' if i in left | wrap else ''}>{escape(name)}</th>" for i, name in enumerate(head)]
    text = [f'<div class="scroll"><table><thead><tr>{"".join(lines)}</tr></thead><tbody>']
    for index, row in enumerate(rows):
        cells = []
        for column, cell in enumerate(row):
            value, shown = cell if isinstance(cell, tuple) else (None, cell)
            kinds = ["left"] * (column in left | wrap) + ["name"] * (column in left) + ["wrap"] * (column in wrap)
            style = ""
            if column == share and most > 0:
                kinds.append("share")
                style = f' style="--p:{100 * _number(cell) / most:.1f}%"'
            sort = "" if value is None else f' data-v="{value}"'
            mark = f' class="{" ".join(kinds)}"' if kinds else ""
            cells.append(f"<td{mark}{sort}{style}>{escape(shown)}</td>")
        text.append(f"<tr{' class=bad' if index in bad else ''}>{''.join(cells)}</tr>")
    text.append("</tbody></table></div>")
    field = f'<input placeholder="{escape(find)}" aria-label="{escape(find)} {escape(title)}">' if len(rows) > 8 else ""
    return panel(title, "".join(text), aside or f"{len(rows)} row{'' if len(rows) == 1 else 's'}", field)


def bars(
    title: str, values: Sequence[tuple[str, float, str]], aside: str = "", bad: frozenset[int] = frozenset()
) -> str:
    """A bar chart: (name, length, text)."""
    if not values:
        return ""
    most = max(value for _, value, _ in values) or 1.0
    rows = [
        f"<code>{escape(name)}</code><i><b{' class=bad' if index in bad else ''} "
        f'style="width:{100 * value / most:.2f}%"></b></i><span>{escape(text)}</span>'
        for index, (name, value, text) in enumerate(values)
    ]
    return panel(title, f'<div class="bars">{"".join(rows)}</div>', aside)


def strip(title: str, values: Sequence[tuple[str, float]], aside: str = "") -> str:
    """One bar made of all values, the largest named below it."""
    total = sum(value for _, value in values)
    if total <= 0:
        return ""
    named = [*values[: len(_COLOURS)]]
    rest = total - sum(value for _, value in named)
    parts = [(name, value, colour) for (name, value), colour in zip(named, _COLOURS, strict=False)]
    if rest > total * 1e-6:
        parts.append((counted(len(values) - len(named), "other"), rest, _REST))
    x, boxes, keys = 0.0, [], []
    for name, value, colour in parts:
        width = 1000 * value / total
        label = f"{name}: {100 * value / total:.1f} %"
        boxes.append(
            f'<rect x="{x:.2f}" y="0" width="{max(0.0, width - 1.5):.2f}" height="26" fill="{colour}">'
            f"<title>{escape(label)}</title></rect>"
        )
        keys.append(
            f'<span><u style="background:{colour}"></u><code>{escape(name)}</code> {100 * value / total:.1f} %</span>'
        )
        x += width
    drawing = (
        f'<div class="strip"><svg viewBox="0 0 1000 26" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(title)}">{"".join(boxes)}</svg></div><div class="key">{"".join(keys)}</div>'
    )
    return panel(title, drawing, aside)


def course(title: str, points: Sequence[tuple[int, float, bool, str]], aside: str = "") -> str:
    """Values along a run, on a logarithmic scale: (place in the run, value, bad, what a pointer on it shows)."""
    points = [point for point in points if point[1] > 0]
    if len(points) < 2:
        return ""
    wide, high, left, foot = 1000, 230, 46, 24
    first, last = points[0][0], points[-1][0]
    logs = [math.log10(min(value, 1e30)) for _, value, _, _ in points]
    low, top = math.floor(min(logs)), max(math.ceil(max(logs)), math.floor(min(logs)) + 1)
    step = max(1, math.ceil((top - low) / 6))

    def across(place: int) -> float:
        return left + (wide - left - 12) * (place - first) / max(1, last - first)

    def up(value: float) -> float:
        return 8 + (high - foot - 8) * (top - value) / (top - low)

    drawing = []
    for decade in range(low, top + 1, step):
        y = up(decade)
        drawing.append(
            f'<line x1="{left}" x2="{wide}" y1="{y:.1f}" y2="{y:.1f}" stroke="var(--line)"/>'
            f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">1e{decade}</text>'
        )
    for place in dict.fromkeys((first, (first + last) // 2, last)):
        anchor = "start" if place == first else "end" if place == last else "middle"
        drawing.append(f'<text x="{across(place):.1f}" y="{high - 6}" text-anchor="{anchor}">call {place}</text>')
    for (place, _, bad, label), value in sorted(zip(points, logs, strict=True), key=lambda pair: pair[0][2]):
        colour = "var(--bad)" if bad else "var(--bar)"
        drawing.append(
            f'<circle cx="{across(place):.1f}" cy="{up(value):.1f}" r="{5 if bad else 3}" fill="{colour}" '
            f'fill-opacity="{1 if bad else 0.65}"><title>{escape(label)}</title></circle>'
        )
    return panel(
        title,
        f'<div class="wide"><svg viewBox="0 0 {wide} {high}" role="img" aria-label="{escape(title)}">'
        f"{''.join(drawing)}</svg></div>",
        aside,
    )


def escape(value: Any) -> str:
    return html.escape(shown(value))


def _number(cell: Any) -> float:
    try:
        return float(cell[0] if isinstance(cell, tuple) else cell)
    except ValueError:
        return 0.0
