"""What the checks find, read from the table that the C++ compiles in."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ophook_npu.soc import CSRC

_ROW = re.compile(r'^FINDING\((\w+),\s*(\w+),\s*"([^"]*)"\)', re.MULTILINE)


@dataclass(frozen=True)
class FindingKind:
    name: str
    severity: str
    todo: str


def kinds() -> tuple[FindingKind, ...]:
    text = (CSRC / "ascendc" / "runtime" / "findings.inc").read_text()
    return tuple(FindingKind(*row) for row in _ROW.findall(text))
