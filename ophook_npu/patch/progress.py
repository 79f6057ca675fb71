"""Follow a build's output: everything goes to a log file, one line tells files done, total and time left.

``command | python -m ophook_npu.patch.progress LOG [COMPILE_COMMANDS]``. ninja prints ``[12/1224]``, make ``[ 12%]``,
which counts a file of 2 MB, minutes of compiling, like one of 2 KB. With CMake's compile_commands.json, as soon as it
is there, the time left goes by the sizes of the files that are still to be compiled.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from ophook_npu.patch.unity import members

_NINJA = re.compile(r"^\[(\d+)/(\d+)\]")
_MAKE = re.compile(r"^\[\s*(\d+)%\]")
_BUILDING = re.compile(r"Building (?:CXX|C) object (\S+)")
# Compiling takes about as long for the headers that every unit reads as for 100 KB of its own text (measured on
# torch_npu: 10 to 14 s for 5 KB, 71 s for 938 KB, 213 s for 1948 KB).
HEADERS = 100_000


class Units:
    """The files that a build still has to compile, each weighed by its size."""

    def __init__(self, commands: Path, jobs: int) -> None:
        """Raises OSError or ValueError where the file cannot be read."""
        self._weights: dict[str, int] = {}
        self._jobs = jobs
        self._order: list[str] = []
        present = set()
        for one in json.loads(commands.read_text(encoding="utf-8")):
            object_file = re.search(r" -o (\S+)", one["command"])
            source = Path(one["directory"], one["file"])
            if object_file is None or not source.is_file():
                continue
            # make prints it as seen from the top of the build.
            output = os.path.relpath(Path(one["directory"], object_file[1]), commands.parent)
            # A unity unit is as long as the sources of which CMake made it.
            texts = [Path(name) for name in members(source)] if source.name.startswith("unity_") else [source]
            self._weights[output] = HEADERS + sum(text.stat().st_size for text in texts if text.is_file())
            if (commands.parent / output).is_file():
                present.add(output)
        # What an interrupted build compiled is not printed again, unless it has become stale.
        self._present = present

    def start(self, output: str) -> bool:
        """False where the object is not one of these (torchair's build is a build of its own, in the middle)."""
        if output not in self._weights:
            return False
        self._present.discard(output)
        if output not in self._order:
            self._order.append(output)
        return True

    def counted(self) -> tuple[int, int, float]:
        """Files done, files in all, and the share that is done of their weight."""
        # A file is printed when its compiler starts.
        running = set(self._order[-self._jobs :])
        wanted = [name for name in self._weights if name not in self._present]
        total = sum(self._weights[name] for name in wanted)
        finished = [name for name in self._order if name not in running]
        return len(finished), len(wanted), sum(self._weights[name] for name in finished) / total if total else 1.0


class Progress:
    """What one line at a time tells about a build."""

    def __init__(self, start: float, commands: Path | None = None, jobs: int = 1) -> None:
        self._start = start
        # Share done and time at the first sign: a resumed build starts high.
        self._first: tuple[float, float] | None = None
        self._commands = commands
        self._jobs = jobs
        self._units: Units | None = None
        self.share = 0.0
        self.count = ""

    def feed(self, line: str, now: float) -> bool:
        """True where the line moved the build on."""
        building = _BUILDING.search(line)
        if building and self._units is None and self._commands is not None:
            try:
                self._units = Units(self._commands, self._jobs)
            except (OSError, ValueError, KeyError):
                self._commands = None  # the build's own count has to do
        if self._units is not None:
            if building is None or not self._units.start(building[1]):
                return False
            done, total, self.share = self._units.counted()
            self.count = f"{done} of {total} files"
        elif match := _NINJA.match(line):
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


def follow(
    lines: Iterable[str], log: Path, out: TextIO, *, commands: Path | None = None, jobs: int = 1, every: float = 1.0
) -> None:
    """A terminal gets one line that changes; a file or pipe gets a line now and then."""
    terminal = out.isatty()
    pause = every if terminal else every * 60
    progress = Progress(time.monotonic(), commands, jobs)
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
    jobs = os.environ.get("MAX_JOBS", "")
    follow(
        sys.stdin,
        Path(sys.argv[1]),
        sys.stdout,
        commands=Path(sys.argv[2]) if len(sys.argv) > 2 else None,
        jobs=int(jobs) if jobs.isdigit() and int(jobs) else 1,
    )
