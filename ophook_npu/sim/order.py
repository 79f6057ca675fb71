"""What the check of order finds: read, suppressed with a reason, and told as text, JSON, HTML or SARIF.

The core finds it (``csrc/core/order.cpp``) and writes a JSON line for each two places of a program.
"""

from __future__ import annotations

import ctypes
import html
import json
import linecache
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ophook_npu import sarif
from ophook_npu.errors import OphookError
from ophook_npu.plural import counted
from ophook_npu.sim.activate import active

SETTINGS = {
    "OPHOOK_SIM_CHECK_ORDER": "1",
    "TASK_QUEUE_ENABLE": "0",  # operators are launched by the thread, and at the line, that calls them
}
REPORT = "OPHOOK_SIM_ORDER_REPORT"
PINNED_COPIES = "OPHOOK_SIM_ORDER_PINNED_COPIES"  # "unordered": beside the kernels of their stream
RANKS = "OPHOOK_SIM_ORDER_RANKS"  # a folder where ranks of a program tell each other what they launch
_RULES = {
    "write-and-read": "A write and a read of the same memory, and nothing orders them.",
    "write-and-write": "Two writes of the same memory, and nothing orders them.",
    "read-and-write": "A read and a later write of the same memory, and nothing orders them.",
    "order-of-collectives": "Two ranks launch collectives of two communicators in a different order.",
    "outside-of-a-capture": "A task on a stream that no capture has, with memory of the capture: no replay runs it.",
}


@dataclass(frozen=True)
class Access:
    """One of the two: the task, its stream (-1: the host) and the lines of the program that called, innermost first."""

    task: str
    stream: int
    writes: bool
    frames: tuple[str, ...]

    @property
    def place(self) -> tuple[str, int]:
        """The file and the line that called; ``("", 0)`` where it is no line of Python."""
        where, _, line = (self.frames[0].split(" ")[0] if self.frames else "").rpartition(":")
        return (where, int(line)) if where and line.isdigit() else ("", 0)

    @property
    def code(self) -> str:
        """That line, where its file is here."""
        file, line = self.place
        return linecache.getline(file, line).strip() if line else ""

    @property
    def text(self) -> str:
        who = "the host" if self.stream < 0 else f"stream {self.stream}"
        return f"{self.task} on {who} {'writes' if self.writes else 'reads'}"


@dataclass(frozen=True)
class Race:
    """Two accesses to the same memory that nothing orders."""

    kind: str
    in_graph: bool
    first: Access
    second: Access
    memory: str
    todo: str  # what would order them, and before which line
    count: int = 1  # how often it was seen

    @property
    def words(self) -> str:
        """What a line of a suppressions file is looked for in."""
        parts = [self.kind, *(part for one in (self.first, self.second) for part in (one.task, *one.frames))]
        return "\n".join(parts)

    def text(self) -> str:
        lines = [f"order: {self.kind} of the same memory, and nothing orders them"]
        for which, access in (("first", self.first), ("second", self.second)):
            lines.append(f"  {which}: {access.text}" + (f": {access.code}" if access.code else ""))
            lines += [f"    {frame}" for frame in access.frames]
        lines.append(f"  memory: {self.memory}")
        if self.count > 1:
            lines.append(f"  seen: {self.count} times")
        return "\n".join([*lines, *([f"  next: {self.todo}"] if self.todo else [])])


def read(text: str) -> list[Race]:
    """The races of JSON lines that the core wrote, each once: ranks of one program find the same."""
    races: dict[str, Race] = {}
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines()):
        data = json.loads(line)
        name = data.get("race", str(number))
        if "count" in data:
            counts[name] = data["count"]
            continue
        first, second = (
            Access(one["task"], one["stream"], one["writes"], tuple(one["from"]))
            for one in (data["first"], data["second"])
        )
        races[name] = Race(data["kind"], data["graph"], first, second, data["memory"], data["missing"])
    found: dict[tuple[str, str], Race] = {}
    for name, race in races.items():
        key = (race.kind, race.words)
        before = found[key].count if key in found else 0
        found[key] = replace(found.get(key, race), count=before + counts.get(name, 1))
    return list(found.values())


@dataclass(frozen=True)
class Suppression:
    """Words that are all in a race's kind, tasks and lines; and why it is none."""

    words: tuple[str, ...]
    reason: str

    def fits(self, race: Race) -> bool:
        return all(word in race.words for word in self.words)


def suppressions(path: Path) -> list[Suppression]:
    """A file of lines ``WORD … # REASON``; lines that begin with # and empty ones say nothing.

    Raises:
        OphookError: it cannot be read, or a line has no words or no reason.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OphookError("order", f"cannot read {path}: {error}") from error
    found = []
    for number, line in enumerate(lines, 1):
        words, _, reason = line.partition("#")
        if not words.strip() and (line.lstrip().startswith("#") or not line.strip()):
            continue
        if not words.strip() or not reason.strip():
            raise OphookError(
                "order", f"{path}:{number} has no reason", allowed="WORD … # REASON, such as `aclnnAdds train.py:8 # …`"
            )
        found.append(Suppression(tuple(words.split()), reason.strip()))
    return found


@dataclass
class Races:
    """The races of a run. ``suppressed`` are those that a suppression fits, each with it."""

    races: list[Race] = field(default_factory=list)
    suppressed: list[tuple[Race, Suppression]] = field(default_factory=list)

    def add(self, races: Iterable[Race], known: Iterable[Suppression] = ()) -> None:
        known = list(known)
        for race in races:
            fits = next((one for one in known if one.fits(race)), None)
            if fits is None:
                self.races.append(race)
            else:
                self.suppressed.append((race, fits))

    def summary(self) -> str:
        text = f"order: {counted(len(self.races), 'place')} where nothing orders two accesses"
        return text + (f", {len(self.suppressed)} suppressed" if self.suppressed else "")

    def text(self) -> str:
        return "\n".join([*(race.text() for race in self.races), self.summary()])

    def sarif(self) -> str:
        return sarif.render("sarif", "run --check-order", [_annotation(race) for race in self.races], _RULES)

    def html(self) -> str:
        rows = "".join(_row(race, race.todo) for race in self.races)
        quiet = "".join(_row(race, f"suppressed: {why.reason}") for race, why in self.suppressed)
        head = "<tr><th>what</th><th>first</th><th>second</th><th>memory</th><th>next</th></tr>"
        return (
            "<!doctype html><html lang=en><meta charset=utf-8><title>order</title><style>body{font:14px sans-serif}"
            "td,th{border:1px solid #ccc;padding:6px;vertical-align:top;text-align:left}table{border-collapse:collapse}"
            f"</style><h1>Order</h1><p>{html.escape(self.summary())}</p><table>{head}{rows}{quiet}</table></html>\n"
        )


def _annotation(race: Race) -> sarif.Annotation:
    (file, line), (other, at) = race.second.place, race.first.place
    message = f"{race.second.text} what {race.first.text}, and nothing orders them"
    message += f" (seen {race.count} times)" if race.count > 1 else ""
    related = ((race.first.text, other, at),) if other else ()
    return sarif.Annotation(race.kind.replace(" ", "-"), "error", message, race.todo, file, line, related)


def _row(race: Race, last: str) -> str:
    def cell(*lines: str, code: str = "") -> str:
        text = [html.escape(line) for line in lines]
        return (
            "<td>"
            + "<br>".join(text[:1] + ([f"<code>{html.escape(code)}</code>"] if code else []) + text[1:])
            + "</td>"
        )

    both = "".join(cell(one.text, *one.frames, code=one.code) for one in (race.first, race.second))
    what = [race.kind + (" in a graph" if race.in_graph else "")]
    what += [f"{race.count} times"] if race.count > 1 else []
    return f"<tr>{cell(*what)}{both}{cell(race.memory)}{cell(last)}</tr>"


_FORMS: Mapping[str, Callable[[Races], str]] = {".html": Races.html, ".sarif": Races.sarif}


def write(findings: Races, path: Path) -> bool:
    """Write what the file's name asks for, ``.html`` or ``.sarif``; False where that is neither."""
    form = _FORMS.get(path.suffix)
    if form is None:
        return False
    path.write_text(form(findings), encoding="utf-8")
    return True


def _core() -> ctypes.CDLL:
    if active() is None:
        raise OphookError(
            "sim.check_order", "no simulated Ascend is under this process", todo="call ophook_npu.sim.enable() first"
        )
    return ctypes.CDLL("libophook_sim_core.so")


@contextmanager
def check_order(suppress: Path | None = None, pinned_copies_ordered: bool = True) -> Iterator[Races]:
    """Check the order of what is launched within the block; at its end the findings hold what was found.

    What came before the block is taken to be over. Streams are not waited for. With ``pinned_copies_ordered=False``
    copies of pinned memory to a device are taken to run beside the kernels of their stream, until something waits.

    Raises:
        OphookError: no simulator is under the process, or torch_npu launches operators from a thread of its own.
    """
    known = suppressions(suppress) if suppress else []
    core = _core()
    if os.environ.get("TASK_QUEUE_ENABLE") != "0":
        if "torch_npu" in sys.modules:
            raise OphookError(
                "sim.check_order",
                "torch_npu launches operators from a thread of its own, later than they are called",
                todo="set TASK_QUEUE_ENABLE=0 before torch is imported",
            )
        os.environ["TASK_QUEUE_ENABLE"] = "0"
    findings = Races()
    before = os.environ.get(REPORT)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "order.jsonl"
        os.environ[REPORT] = str(file)
        ordered = core.sim_order_pinned_copies(int(pinned_copies_ordered))
        was = core.sim_order_check(1)
        try:
            yield findings
        finally:
            core.sim_order_check(was)
            core.sim_order_pinned_copies(ordered)
            if before is None:
                del os.environ[REPORT]
            else:
                os.environ[REPORT] = before
            findings.add(read(file.read_text() if file.exists() else ""), known)


class Watched:
    """New races since the last look at a report that this process writes: for tests, one after the other."""

    def __init__(self, path: Path, known: Iterable[Suppression] = ()) -> None:
        self._path, self._known, self._seen = path, list(known), 0

    def new(self) -> Races:
        text = self._path.read_bytes()[self._seen :] if self._path.exists() else b""
        self._seen += len(text)
        findings = Races()
        findings.add(read(text.decode("utf-8", "replace")), self._known)
        return findings


def settings(report: Path) -> dict[str, Any]:
    """The environment of a program whose order is checked."""
    return {**SETTINGS, REPORT: str(report)}
