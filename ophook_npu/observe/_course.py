"""The errors of a whole run in a bounded number of points."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Point:
    """The largest relative error in a stretch of calls, and the call that it is in."""

    number: int
    op: str
    max_rel: float
    ok: bool


class Course:
    """Points along a run of any length: as it grows, stretches grow too."""

    _MOST = 600

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._stretch = 1

    def add(self, point: Point) -> None:
        points = self.points
        if points and points[-1].number // self._stretch == point.number // self._stretch:
            points[-1] = max(points[-1], point, key=_badness)
            return
        points.append(point)
        if len(points) > self._MOST:
            self._stretch *= 2
            old, self.points = points, []
            for each in old:
                self.add(each)


def _badness(point: Point) -> tuple[bool, float]:
    return not point.ok, point.max_rel
