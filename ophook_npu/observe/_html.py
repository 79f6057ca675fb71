"""Reports as one HTML file each: no scripts or styles from elsewhere, readable without a network."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from ophook_npu.observe._describe import size

if TYPE_CHECKING:
    from ophook_npu.observe.profile import Profile, Row

_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1200px; padding: 0 1rem; color: #1c2733;
background: #fff } h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem } p.how { color: #5b6875 }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #e3e8ee; white-space: nowrap }
th { cursor: pointer; background: #f4f6f9; position: sticky; top: 0 } th:first-child, td:first-child { text-align:
left } td:first-child { font-family: ui-monospace, monospace; font-size: 12.5px }
.cards { display: flex; gap: 1rem; flex-wrap: wrap } .card { background: #f4f6f9; border-radius: 8px; padding: .7rem
1.1rem } .card b { display: block; font-size: 1.3rem } svg text { font: 12px ui-monospace, monospace; fill: #1c2733 }
tr.bad td { background: #fdecea }
@media (prefers-color-scheme: dark) {
  body { background: #12171d; color: #dde4ec } th, .card { background: #1d242c } th, td { border-color: #2b343e }
  svg text { fill: #dde4ec } p.how { color: #93a1b0 } tr.bad td { background: #4a2320 } }
"""
# Sorting by a column is all that the pages' script does.
_SCRIPT = """
document.querySelectorAll('th').forEach(th => th.onclick = () => {
  const i = [...th.parentNode.children].indexOf(th), body = th.closest('table').tBodies[0], down = th.dataset.down
  !== '1'; th.dataset.down = down ? '1' : '0';
  const value = row => { const c = row.children[i], v = c.dataset.v ?? c.textContent; return isNaN(v) || v === '' ? v
  : +v; }; [...body.rows].sort((a, b) => { const x = value(a), y = value(b);
    return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1); }).forEach(r => body.append(r));
});
"""


def page(title: str, cards: list[tuple[str, str]], parts: list[str], how: str) -> str:
    """A page with a row of figures, then ``parts`` (HTML), and how it was observed."""
    figures = "".join(f'<div class="card">{escape(name)}<b>{escape(value)}</b></div>' for name, value in cards)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
        f'<h1>{escape(title)}</h1><div class="cards">{figures}</div>{"".join(parts)}'
        f'<p class="how">{escape(how)}</p><script>{_SCRIPT}</script></html>\n'
    )


def table(title: str, head: list[str], rows: list[list[Any]], bad: set[int] | None = None) -> str:
    """A sortable table. A cell is text, or (number to sort by, text). Rows whose index is in ``bad`` stand out."""
    lines = [
        f"<h2>{escape(title)}</h2><table><thead><tr>",
        *(f"<th>{escape(h)}</th>" for h in head),
        "</tr></thead><tbody>",
    ]
    for index, row in enumerate(rows):
        cells = []
        for cell in row:
            if isinstance(cell, tuple):
                cells.append(f'<td data-v="{cell[0]}">{escape(cell[1])}</td>')
            else:
                cells.append(f"<td>{escape(cell)}</td>")
        mark = ' class="bad"' if bad and index in bad else ""
        lines.append(f"<tr{mark}>{''.join(cells)}</tr>")
    return "".join([*lines, "</tbody></table>"])


def bars(title: str, values: list[tuple[str, float]], unit: str) -> str:
    """A horizontal bar chart, drawn as SVG."""
    if not values:
        return ""
    largest = max(value for _, value in values) or 1.0
    rows = []
    for index, (name, value) in enumerate(values):
        y, width = index * 24, 620 * value / largest
        colour = f"hsl({(index * 47) % 360} 55% 55%)"
        rows.append(
            f'<text x="330" y="{y + 16}" text-anchor="end">{escape(name[-44:])}</text>'
            f'<rect x="340" y="{y + 3}" width="{width:.1f}" height="17" rx="3" fill="{colour}"/>'
            f'<text x="{345 + width:.1f}" y="{y + 16}">{value:.3g} {escape(unit)}</text>'
        )
    height = 24 * len(values) + 6
    return (
        f"<h2>{escape(title)}</h2>"
        f'<svg viewBox="0 0 1100 {height}" width="100%" role="img" aria-label="{escape(title)}">{"".join(rows)}</svg>'
    )


def escape(value: Any) -> str:
    return html.escape(str(value))


def profile_page(title: str, profile: Profile) -> str:
    rows = profile.rows()
    flops = sum(row.flops for row in rows)
    device = [row.device for row in rows if row.device is not None]
    cards = [("calls", str(profile.seen)), ("host time", f"{profile.total / 1e3:.2f} ms")]
    if device:
        cards.append(("device time", f"{sum(device) / 1e3:.2f} ms"))
    cards.append(("new memory", size(sum(row.memory for row in rows))))
    if flops:
        cards.append(("FLOP", f"{flops / 1e6:.2f} M"))
    parts = [bars("Self time by operator", [(row.name, row.self_time / 1e3) for row in rows[:20]], "ms")]
    if flops:
        ranked = sorted((row for row in rows if row.flops), key=lambda row: -row.flops)
        parts.append(bars("FLOP by operator", [(row.name, row.flops / 1e6) for row in ranked[:20]], "M"))
    parts.append(_rows("By operator", rows))
    if profile.has_modules:
        modules = profile.rows("module")
        parts.insert(1, bars("Self time by module", [(row.name, row.self_time / 1e3) for row in modules[:20]], "ms"))
        parts.append(_rows("By module", modules))
    parts.append(_rows("By shape", profile.rows("shape")[:500]))
    return page(title, cards, parts, profile.how)


def _rows(title: str, rows: list[Row]) -> str:
    head = ["name", "calls", "total ms", "self ms", "mean µs", "p95 µs", "device ms", "memory", "MFLOP"]
    cells: list[list[Any]] = []
    for row in rows:
        device: Any = "" if row.device is None else f"{row.device / 1e3:.3f}"
        memory = (row.memory, size(row.memory))
        flops = f"{row.flops / 1e6:.2f}" if row.flops else ""
        times = [f"{row.total / 1e3:.3f}", f"{row.self_time / 1e3:.3f}", f"{row.mean:.1f}", f"{row.p95:.1f}"]
        cells.append([row.name, str(row.calls), *times, device, memory, flops])
    return table(title, head, cells)
