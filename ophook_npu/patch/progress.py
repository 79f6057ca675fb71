"""Follow a build's output: everything goes to a log file, one line tells files done, total and time left.

``command | python -m ophook_npu.patch.progress LOG``. ninja prints ``[12/1224]``, make ``[ 12%]``.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

_NINJA = re.compile(r"^\[(\d+)/(\d+)\]")
_MAKE = re.compile(r"^\[\s*(\d+)%\]")


class Progress:
    """What one line at a time tells about a build."""

    def __init__(self, start: float) -> None:
        self._start = start
        self._first: tuple[float, float] | None = (
            None  # share done and time at the first sign; a resumed build starts high
        )
        self.share = 0.0
        self.count = ""

    def feed(self, line: str, now: float) -> bool:
        """True where the line moved the build on."""
        if match := _NINJA.match(line):
            done, total = int(match[1]), int(match[2])
            self.share = done / total if total else 1.0
            self.count = f"{done} of {total} files"
        elif match := _MAKE.match(line):
            self.share = int(match[1]) / 100
            self.count = f"{match[1]}%"
        else:
            return False
        if self._first is None:
            self._first = (self.share, now)
        return True

    def text(self, now: float) -> str:
        passed = f"{_clock(now - self._start)} passed"
        if not self.count:
            return f"preparing, {passed}"
        assert self._first is not None
        share, since = self._first
        gained = self.share - share
        if gained <= 0:
            return f"{self.count}, {passed}"
        return f"{self.count}, {passed}, about {_clock((1 - self.share) * (now - since) / gained)} left"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def follow(lines: Iterable[str], log: Path, out: TextIO, *, every: float = 1.0) -> None:
    """A terminal gets one line that changes; a file or pipe gets a line now and then."""
    terminal = out.isatty()
    pause = every if terminal else every * 60
    progress = Progress(time.monotonic())
    last = -math.inf
    with log.open("a", encoding="utf-8", errors="replace") as file:
        for line in lines:
            file.write(line)
            file.flush()
            now = time.monotonic()
            if progress.feed(line, now) and now - last >= pause:
                if last < 0:
                    out.write("\n")  # the step's name stands on the line before
                out.write(f"\r\033[K  {progress.text(now)}" if terminal else f"  {progress.text(now)}\n")
                out.flush()
                last = now
    if terminal and last > 0:
        out.write("\n")


if __name__ == "__main__":
    sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    follow(sys.stdin, Path(sys.argv[1]), sys.stdout)
