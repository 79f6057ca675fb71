"""What the checks find, read from the table that the C++ compiles in."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ophook_npu.sim.build import CSRC

_ROW = re.compile(r'^FINDING\((\w+),\s*(\w+),\s*"([^"]*)"\)', re.MULTILINE)


@dataclass(frozen=True)
class Kind:
    name: str
    severity: str
    todo: str


def kinds() -> tuple[Kind, ...]:
    text = (CSRC / "ascendc" / "runtime" / "findings.inc").read_text()
    return tuple(Kind(*row) for row in _ROW.findall(text))
