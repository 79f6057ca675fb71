"""docs/ascend-c.md lists every kind of finding with its planted faults, and which much used functions are there."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from test_faults import planted

from ophook_npu.kernel.kinds import kinds
from ophook_npu.sim.build import CSRC

DOCS = Path(__file__).parents[3] / "docs"


def table() -> str:
    shown = defaultdict(list)
    for path, name, kind, _ in planted():
        shown[kind].append(f"`{name}` ({path.name})")
    rows = ["| kind | level | what to do | planted faults |", "|---|---|---|---|"]
    rows += [f"| `{k.name}` | {k.severity} | {k.todo} | {', '.join(shown[k.name])} |" for k in kinds()]
    return "\n".join(rows)


def used() -> str:
    """The functions of used.inc, most used first, by whether a header of ours has them."""
    files = [path for path in (CSRC / "ascendc" / "include").rglob("*") if path.is_file()]
    code = "\n".join(re.sub(r"//.*", "", path.read_text()) for path in files)
    words = set(re.findall(r"\w+", code))
    rows: dict[bool, list[str]] = {True: [], False: []}
    for name, count in re.findall(r"USED\((\w+), (\d+)\)", (CSRC / "ascendc" / "used.inc").read_text()):
        rows[name in words].append(f"`{name}` {count}")
    return f"| there | not there |\n|---|---|\n| {', '.join(rows[True])} | {', '.join(rows[False])} |"


@pytest.mark.parametrize("name", ["ascend-c.md", "ascend-c.zh.md"])
def test_list_of_used_functions_is_current(name: str) -> None:
    text = (DOCS / name).read_text()
    assert text.split("<!-- used -->\n")[1].split("\n<!-- end of used -->")[0] == used()


@pytest.mark.parametrize("name", ["ascend-c.md", "ascend-c.zh.md"])
def test_table_of_kinds_is_current(name: str) -> None:
    text = (DOCS / name).read_text()
    assert text.split("<!-- kinds -->\n")[1].split("\n<!-- end of kinds -->")[0] == table()


def test_every_error_but_few_has_a_planted_fault() -> None:
    shown = {kind for _, _, kind, _ in planted()}
    missing = {k.name for k in kinds() if k.severity == "error"} - shown
    assert missing <= {"repeat", "pipe_buffers", "tiling_size"}
