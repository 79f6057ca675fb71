"""What a run of a kernel found, and how it reads."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ophook_npu.plural import counted


@dataclass(frozen=True)
class Mistake:
    """One mistake: what, where in the kernel's source, on which core first, and how often."""

    kind: str
    severity: str  # error, strict or note
    call: str
    file: str
    line: int
    what: str
    core: int = -1
    tile: int = -1
    buffer: str = ""
    todo: str = ""
    count: int = 1
    followed: int = 0  # what is missing later because the operation was left out

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file else ""
        where = [f"core {self.core}"] if self.core >= 0 else []
        where += [f"tile {self.tile}"] if self.tile >= 0 else []
        where += [self.buffer] if self.buffer else []
        where += [f"{self.count} times"] if self.count > 1 else []
        where += [f"{counted(self.followed, 'finding')} of missing values behind it"] if self.followed else []
        text = f"{place}{self.severity}: {self.call}: {self.what} [{self.kind}]"
        if where:
            text += f"\n    {', '.join(where)}"
        return f"{text}\n    next: {self.todo}" if self.todo else text

    def short(self) -> str:
        """One line, with the file's name only."""
        place = f"{Path(self.file).name}:{self.line}: " if self.file else ""
        return f"{place}{self.severity}: {self.call}: {self.what} [{self.kind}]"


@dataclass(frozen=True)
class PipeStep:
    """One operation on the estimated time line of a core; times in cycles."""

    core: int
    is_vector: bool
    pipe: str
    call: str
    file: str
    line: int
    start: float
    end: float
    bytes: int
    elements: int


@dataclass
class KernelReport:
    """One run: findings, counters (bytes, elements, instructions), what it printed, its tiling and time line."""

    findings: list[Mistake] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    output: str = ""
    block_dim: int = 0
    tiling_key: int = 0
    timeline: list[PipeStep] = field(default_factory=list)

    @classmethod
    def parse(cls, text: str, block_dim: int, tiling_key: int) -> KernelReport:
        """The report of a run from the JSON that the run wrote."""
        data: dict[str, Any] = json.loads(text)
        steps = [PipeStep(*row) for row in data.get("timeline", ())]
        found = [Mistake(**f) for f in data["findings"]]
        return cls(found, data["counters"], data["output"], block_dim, tiling_key, steps)

    @property
    def errors(self) -> list[Mistake]:
        """The findings of severity ``error``."""
        return [finding for finding in self.findings if finding.severity == "error"]
