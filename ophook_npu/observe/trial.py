"""Run a program that nobody edited again and again in processes of their own, each time with other operators replaced.

``python -m ophook_npu.observe.trial SPECIFICATION PROGRAM…`` is one such run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ophook_npu.errors import OphookError
from ophook_npu.observe.program import functions

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf)\b", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class RunEnd:
    """How a run ended: exit status, and what it wrote to standard output."""

    status: int
    output: str


@dataclasses.dataclass
class Trials:
    """Runs of one program.

    Args:
        program: what follows ``python``.
        replacements: a Python file that defines ``REPLACEMENTS``, operator -> function, for :meth:`replacing`.
        device: where :meth:`moving` runs operators.
        via: hook mechanism.
    """

    program: list[str]
    replacements: Path | None = None
    device: str = "cpu"
    via: str = "auto"
    _said: set[str] = dataclasses.field(default_factory=set, repr=False)

    def names(self) -> list[str]:
        """The suspects: what ``replacements`` replaces, or else what the program calls."""
        if self.replacements is not None:
            return list(load(self.replacements))
        with tempfile.TemporaryDirectory() as folder:
            to = Path(folder) / "called.json"
            outcome = self._run({"list": str(to)})
            if not to.is_file():
                raise OphookError("bisect", f"the program ended with status {outcome.status} before it called anything")
            return list(json.loads(to.read_text()))

    def replacing(self, names: list[str]) -> RunEnd:
        """A run with these operators replaced."""
        return self._run({"replace": names, "file": str(self.replacements)})

    def moving(self, names: list[str]) -> RunEnd:
        """A run with these operators moved to the device."""
        return self._run({"move": names, "device": self.device})

    def _run(self, what: Mapping[str, Any]) -> RunEnd:
        specification = json.dumps({**what, "via": self.via})
        command = [sys.executable, "-m", __name__, specification, *self.program]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == _NO_TRIAL:
            raise OphookError("bisect", done.stderr.strip().splitlines()[-1])
        for warning in {line[line.index("[bisect]") :] for line in done.stderr.splitlines() if "[bisect]" in line}:
            if warning not in self._said:
                self._said.add(warning)
                print(warning, file=sys.stderr)
        return RunEnd(done.returncode, done.stdout)


def load(path: Path) -> dict[str, Callable[..., Any]]:
    """``REPLACEMENTS`` of a Python file; see :func:`functions`."""
    return functions(path, "REPLACEMENTS", "bisect", "a function gets the operator's arguments")


def same_output(given: str, wanted: str, tolerance: float) -> bool:
    """Whether two outputs are the same text, with numbers that may differ by ``tolerance``, relative."""
    pairs = _numbers(given, wanted)
    return pairs is not None and all(_close(a, b, tolerance) for a, b in pairs)


def difference(given: str, wanted: str) -> float:
    """The largest relative difference of the numbers in two outputs whose text is the same."""
    pairs = _numbers(given, wanted) or []
    return max((abs(a - b) / max(abs(a), abs(b)) for a, b in pairs if a != b and math.isfinite(a - b)), default=0.0)


def _numbers(given: str, wanted: str) -> list[tuple[float, float]] | None:
    if _NUMBER.sub("#", given) != _NUMBER.sub("#", wanted):
        return None
    return list(zip(map(float, _NUMBER.findall(given)), map(float, _NUMBER.findall(wanted)), strict=True))


def _close(a: float, b: float, tolerance: float) -> bool:
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance * 1e-3) or (math.isnan(a) and math.isnan(b))


_NO_TRIAL = 121  # a status that programs do not use: the run could not be set up


def main(arguments: list[str]) -> int:
    specification = json.loads(arguments[0])
    program = arguments[1:]
    from ophook_npu.observe.bisect import can_move, on, operator, replaced
    from ophook_npu.observe.program import run
    from ophook_npu.observe.stats import Stats

    if "list" in specification:
        stats = Stats()
        status = run(program, stats)
        names = [name for name in stats.by_operator if can_move(operator(name))]
        Path(specification["list"]).write_text(json.dumps(names))
        return status
    context = contextlib.ExitStack()
    try:
        if "replace" in specification:
            every = load(Path(specification["file"]))
            chosen = {name: every[name] for name in specification["replace"]}
        else:
            chosen = {name: on(specification["device"], operator(name)) for name in specification["move"]}
        context.enter_context(replaced(chosen, specification["via"]))
    except OphookError as error:
        print(str(error).replace("\n", " "), file=sys.stderr)
        return _NO_TRIAL
    with context:
        return run(program, contextlib.nullcontext())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
