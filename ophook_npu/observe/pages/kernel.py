"""What the kernels of an operator project move and compute, as a page."""

from __future__ import annotations

from collections.abc import Sequence

from ophook_npu.kernel.check import Checked
from ophook_npu.kernel.report import HEAD, cells, used
from ophook_npu.kernel.socs import Soc
from ophook_npu.observe.pages import parts as page


def html(results: Sequence[Checked], soc: Soc, title: str) -> str:
    """What ``ophook-npu kernel report`` prints, as a page."""
    parts = []
    for result in results:
        rows = [used(outcome) for outcome in result.outcomes]
        bad = frozenset(i for i, row in enumerate(rows) if row.status != "pass")
        table = [[row.label, row.status, *cells(row, soc)] for row in rows]
        parts.append(page.table(result.operator, HEAD, table, left=frozenset({0, 1}), bad=bad, wrap=frozenset({0})))
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
        ("local memory", max((row.fullest(soc) for row in every), default=(0.0, "0%"))[1]),
    ]
    how = (
        f"Run on the CPU for {soc.name}: {soc.ub:,} bytes of UB in a vector core, {soc.l1:,} of L1 in a "
        "cube core. Bytes and elements are counted; "
        "times are not known."
    )
    return page.page("Ascend C", title, cards, parts, how)
