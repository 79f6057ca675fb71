"""How two ways are compared on a machine where other things run: in turns, in one process, and by ratios.

A round runs every candidate for about as long as ``seconds`` says, in an order that turns around with each round. A
candidate's time is the median of its rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


def nothing() -> None:
    """For what has ended when it returns."""


@dataclass(frozen=True)
class Cost:
    """Of one call, in µs: by the clock, and of the processors over all threads of this process."""

    wall: float
    cpu: float


def once(call: Callable[[], object], wait: Callable[[], None], count: int) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        call()
    wait()
    return Cost((time.perf_counter() - wall) / count * 1e6, (time.process_time() - cpu) / count * 1e6)


def alternate(
    calls: dict[str, Callable[[], object]], wait: Callable[[], None] = nothing, rounds: int = 40, seconds: float = 0.02
) -> dict[str, Cost]:
    counts: dict[str, int] = {}
    for name, call in calls.items():
        once(call, wait, 2)  # what is done once
        counts[name] = max(1, int(seconds * 1e6 / once(call, wait, 3).wall))
    found: dict[str, list[Cost]] = {name: [] for name in calls}
    for number in range(rounds):
        for name in list(calls)[:: -1 if number % 2 else 1]:
            found[name].append(once(calls[name], wait, counts[name]))
    return {
        name: Cost(median(cost.wall for cost in costs), median(cost.cpu for cost in costs))
        for name, costs in found.items()
    }
