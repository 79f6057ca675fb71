"""How far a build is, and how long it will take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class BuildStep:
    """How far a build is: ``done`` is its share, 0 to 1; ``left`` the seconds from here to its end, estimated."""

    done: float
    left: float


OnStep = Callable[[BuildStep], None]
"""Called when compiling begins, about once a second while it goes on, and when it has ended."""


class Pace:
    """How long a set of jobs will take: as their weights say, at the pace of those that are done."""

    def __init__(self, weights: Sequence[float], lanes: int) -> None:
        self._weights, self._lanes = weights, lanes
        self._started: dict[int, float] = {}
        self._took: dict[int, float] = {}
        self._done = 0.0

    @contextmanager
    def job(self, index: int) -> Iterator[None]:
        self._started[index] = time.monotonic()
        yield
        self._took[index] = time.monotonic() - self._started[index]

    def step(self) -> BuildStep:
        now = time.monotonic()
        took, all_of_it = dict(self._took), sum(self._weights)
        weighed = sum(self._weights[index] for index in took)
        pace = sum(took.values()) / weighed if weighed else 1.0
        running = {index: now - start for index, start in list(self._started.items()) if index not in took}
        # A job that takes longer than it should is about to end.
        left = pace * (all_of_it - weighed) - sum(min(t, pace * self._weights[index]) for index, t in running.items())
        self._done = max(self._done, 1 - left / (pace * all_of_it))  # a slower pace takes nothing back
        return BuildStep(self._done, left / self._lanes)
