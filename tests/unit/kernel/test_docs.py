"""docs/ascend-c.md lists every kind of finding, with the planted faults that show it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from test_faults import planted

from ophook_npu.kernel.kinds import kinds

DOCS = Path(__file__).parents[3] / "docs"


def table() -> str:
    shown = defaultdict(list)
    for path, name, kind, _ in planted():
        shown[kind].append(f"`{name}` ({path.name})")
    rows = ["| kind | level | what to do | planted faults |", "|---|---|---|---|"]
    rows += [f"| `{k.name}` | {k.severity} | {k.todo} | {', '.join(shown[k.name])} |" for k in kinds()]
    return "\n".join(rows)


@pytest.mark.parametrize("name", ["ascend-c.md", "ascend-c.zh.md"])
def test_table_of_kinds_is_current(name: str) -> None:
    text = (DOCS / name).read_text()
    assert text.split("<!-- kinds -->\n")[1].split("\n<!-- end of kinds -->")[0] == table()


def test_every_error_but_few_has_a_planted_fault() -> None:
    shown = {kind for _, _, kind, _ in planted()}
    missing = {k.name for k in kinds() if k.severity == "error"} - shown
    assert missing <= {"repeat", "pipe_buffers", "tiling_size"}
