"""Other orders of a program's tasks: runs with delays, and the shortest list of delays that makes it fail.

A schedule is a set of launches that are delayed (``csrc/core/schedule.h``); everything else follows from it. So a
schedule is run again by its list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ophook_npu.errors import OphookError

VARIABLE, LOG = "OPHOOK_SIM_JITTER", "OPHOOK_SIM_SCHEDULE_LOG"


def check(text: str) -> str:
    """``text``, if it is a seed or ``only:3,17``; raises OphookError."""
    listed = text.startswith("only:")
    parts = [part for part in text[5:].split(",") if part] if listed else [text]
    if not all(part.isascii() and part.isdigit() and int(part) < 1 << 63 for part in parts):
        raise OphookError("run", f"--jitter {text}", allowed="a whole number, or only:3,17 with numbers of launches")
    return text


def only(numbers: Sequence[int]) -> str:
    return "only:" + ",".join(map(str, numbers))


@dataclass(frozen=True)
class Delay:
    number: int
    task: str
    stream: int
    frames: tuple[str, ...]

    @property
    def text(self) -> str:
        where = f" at {self.frames[0]}" if self.frames else ""
        return f"launch {self.number}: {self.task} on stream {self.stream}{where}"


def delays(text: str) -> dict[int, Delay]:
    """The delayed launches of the JSON lines that the core wrote, by number."""
    found = {}
    for line in text.splitlines():
        data = json.loads(line)
        found[data["number"]] = Delay(data["number"], data["task"], data["stream"], tuple(data["from"]))
    return found


@dataclass(frozen=True)
class Ending:
    """How a run ended, and what was delayed in it."""

    status: int
    output: bytes
    delayed: dict[int, Delay] = field(default_factory=dict)


Run = Callable[[str], Ending]
"""Runs the program with this schedule."""


@dataclass
class Explored:
    """``schedule`` is the first that failed, and ``shortest`` the fewest delays that still do; None: none failed."""

    runs: int
    schedule: str | None = None
    why: str = ""
    shortest: tuple[Delay, ...] = ()

    def text(self) -> str:
        if self.schedule is None:
            return f"explore: the program ends as without delays in {self.runs} schedules"
        lines = [f"explore: with --jitter {self.schedule} {self.why}; as few delays as this do the same:"]
        lines += [f"  {delay.text}" for delay in self.shortest]
        return "\n".join([*lines, f"  again: --jitter {only([delay.number for delay in self.shortest])}"])


def explore(run: Run, schedules: int, first: int = 1) -> Explored:
    """Run as many schedules, stop at the first that ends otherwise than without delays, and shorten its list.

    A run differs by its exit status, or by its standard output where two runs without delays print the same.

    Raises:
        OphookError: the program fails without delays too.
    """
    plain = run(only([]))
    if plain.status:
        raise OphookError(
            "explore", f"without delays the program ends with status {plain.status}", todo="mend that first"
        )
    prints = run(only([])).output == plain.output

    def why(outcome: Ending) -> str:
        if outcome.status:
            return f"it ends with status {outcome.status}"
        return "it prints something else" if prints and outcome.output != plain.output else ""

    for seed in range(first, first + schedules):
        outcome = run(str(seed))
        if why(outcome):
            return _shortened(Explored(seed - first + 1, str(seed), why(outcome)), outcome.delayed, run, why)
    return Explored(schedules)


def _shortened(found: Explored, delayed: Mapping[int, Delay], run: Run, why: Callable[[Ending], str]) -> Explored:
    known = dict(delayed)

    def fails(numbers: Sequence[int]) -> bool:
        again = run(only(numbers))
        known.update(again.delayed)
        return bool(why(again))

    return replace(found, shortest=tuple(known[number] for number in shrink(sorted(known), fails)))


def shrink(numbers: Sequence[int], fails: Callable[[Sequence[int]], bool]) -> list[int]:
    """A part of ``numbers`` that fails, and no longer does without any one of them (Zeller's ddmin)."""
    left, parts = list(numbers), 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        pieces = [left[at : at + size] for at in range(0, len(left), size)]
        rests = [[one for one in left if one not in piece] for piece in pieces] if len(pieces) > 2 else []
        smaller = next((part for part in (*pieces, *rests) if fails(part)), None)
        if smaller is not None:
            parts = 2 if len(smaller) <= size else max(parts - 1, 2)
            left = list(smaller)
        elif size == 1:
            break
        else:
            parts = min(2 * parts, len(left))
    return left
