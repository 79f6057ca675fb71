"""What failed first in a run of several ranks, by what the ranks left behind: their logs, and flight recorder dumps.

Every rank that fails says something, most of them only that another is gone. Each line that says something is taken
for evidence against a rank: its own, or the one that it names. What was ordered of a simulated device is not read.
"""

from __future__ import annotations

import io
import json
import pickle
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ophook_npu.errors import OphookError

_MOST = 64 << 20  # bytes of a file that are read
_ORDERED = re.compile(r"\[simulated Ascend\] fault (not )?made")
_UNTIL_RESET = re.compile(r"; device \d+ answers so until it is reset.*")
_RANK_OF_LINE = re.compile(r"^\[(?:default\d+:)?\[?rank[: ]?(\d+)\]|RankID:(\d+)\)|^\[rank(\d+)\]", re.I)
_RANK_OF_FILE = re.compile(r"rank[_-]?(\d+)|(?:^|/)(\d+)/std(?:err|out)\.log$|(?:^|[._-])(\d+)(?:\.log|\.txt)?$", re.I)
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_STACK = re.compile(r"(\d+)_py_traceback$")
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python", "<frozen", "<string>")

# What a line says. Named groups: code, at (operator or collective), peer.
_COLLECTIVE = r"(?P<at>Hccl\w+)[^:]*?(?:, call (?P<call>\d+))?: "
_SAYINGS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("out of memory", r"NPU out of memory|error code is 207001"),
        ("memory error", r"UCE ERROR|HBM MULTI BIT ECC ERROR|SUSPECT MEM ERROR|error code is (?P<code>50705[345])"),
        ("link", _COLLECTIVE + r"the link to rank (?P<peer>\d+) is down|(?:HCCS|UB) LINK ERROR"),
        ("gone", _COLLECTIVE + r"rank (?P<peer>\d+) is gone"),
        ("waiting", _COLLECTIVE + r"after \d+ s still waiting for ranks? (?P<peer>\d+)"),
        ("calls differ", r"rank (?P<me>\d+) is in (?P<at>Hccl\w+).*?(?:, call (?P<mine>\d+))?, rank (?P<peer>\d+) in "
                         r"(?P<other>Hccl\w+).*?(?:, call (?P<theirs>\d+))?$"),
        ("timeout", r"Watchdog caught collective operation timeout: WorkHCCL\(SeqNum=\d+, OpType=(?P<at>\w+)"),
        ("remote", r"checkHcclComms found HcclComms .* got ERROR"),
        ("device", r"error code(?: is |:| )(?P<code>507\d{3}|107022)"),
        ("call", r"call (?P<at>\w+) failed, error code is (?P<code>\d+)|error code is (?P<other_code>\d+)|"
                 r"The Inner error is reported .* operator name is (?P<inner>\w+)"),
    )
)  # fmt: skip
_QUOTED = re.compile(r"rank (\d+) failed: ")
_OPERATOR = re.compile(r"\[simulated Ascend\] (\w+): .*error code (\d+)|operator name is (\w+)|^\[Error\].*?(aclnn\w+)")
_EXIT = re.compile(r"rank\s*:\s*(\d+).*?exitcode\s*:\s*(-?\d+)", re.S)
_NAMES = {
    "507010": "the device was lost (heartbeat)", "507011": "a model failed on the device", "507013": "DMA error",
    "507014": "an operator ran into its time limit", "507015": "aicore exception", "507016": "aicore trap",
    "507017": "aicpu timeout", "507018": "aicpu exception", "507034": "vector core timeout",
    "507035": "vector core exception", "507036": "vector core trap", "507048": "a notify was waited for too long",
    "507049": "FFTS+ exception", "507053": "uncorrectable memory error (UCE)", "507054": "multi-bit ECC error",
    "507055": "suspected memory error", "507056": "link error", "507899": "driver error",
    "507900": "aicpu internal error", "207001": "out of memory", "207008": "no more streams",
}  # fmt: skip


@dataclass
class Evidence:
    """One thing that a rank said."""

    rank: int
    kind: str
    text: str
    code: str = ""
    at: str = ""
    peer: int | None = None  # the rank that it names
    ahead: int = 0  # how many calls the other rank is ahead
    quoted: bool = False  # what another rank said


@dataclass
class Rank:
    number: int
    said: list[Evidence] = field(default_factory=list)
    line: str = ""  # of the program, where its first error left it
    exit: int | None = None
    calls: dict[int, tuple[str, str]] = field(default_factory=dict)  # of its flight recorder: name and line
    stays: str = ""  # the line that its main thread was in when the recorder was dumped

    def own(self, *kinds: str) -> list[Evidence]:
        return [one for one in self.said if one.kind in kinds and not one.quoted]


@dataclass
class FirstFailure:
    """What failed first: ``kind`` in words, ``code`` where there is one, ``at`` an operator or a collective."""

    rank: int | None
    kind: str
    code: str = ""
    at: str = ""
    line: str = ""
    link: int | None = None  # the other end
    evidence: str = ""

    def text(self) -> str:
        if not self.kind:
            return "nothing failed, as far as these files say"
        first = "first: these files do not say which rank" if self.rank is None else f"first: rank {self.rank}"
        parts = [first, f"what: {self.kind}" + (f" ({self.code})" if self.code else "")]
        if self.link is not None:
            parts.append(f"link: to rank {self.link}")
        parts += [f"{name}: {value}" for name, value in (("at", self.at), ("line", self.line)) if value]
        return "\n".join([*parts, f"says: {self.evidence}"] if self.evidence else parts)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class _Plain(pickle.Unpickler):
    """Numbers, texts and containers only: a dump may come from anywhere."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} in a flight recorder dump")


def _texts(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                yield path, file.read(_MOST)


def _library(file: str) -> bool:
    return any(one in file for one in _LIBRARIES)


def _dump(data: bytes) -> dict[int, tuple[str, str]] | None:
    """What a flight recorder noted: number of the call to its name and line; None where it is no dump."""
    try:
        found = json.loads(data) if data[:1] == b"{" else _Plain(io.BytesIO(data)).load()
    except (ValueError, EOFError, pickle.UnpicklingError, IndexError, KeyError, AttributeError, MemoryError, TypeError):
        return None
    entries = found.get("entries") if isinstance(found, dict) else None
    if not isinstance(entries, list):
        return None
    calls = {}
    for one in entries:
        if isinstance(one, dict) and isinstance(one.get("collective_seq_id"), int):
            frames = [frame for frame in one.get("frames") or () if isinstance(frame, dict)]
            # torch_npu leaves the name empty: then the function that the program called.
            name = one.get("profiling_name") or (frames[0].get("name", "") if frames else "")
            lines = (
                f"{frame.get('filename')}:{frame.get('line')} {frame.get('name')}"
                for frame in frames
                if not _library(str(frame.get("filename")))
            )
            calls[one["collective_seq_id"]] = str(name), next(lines, "")
    return calls


def _number(match: re.Match[str] | None) -> int | None:
    return next((int(one) for one in match.groups() if one), None) if match else None


def _say(rank: int, line: str) -> Evidence | None:
    for kind, pattern in _SAYINGS:
        match = pattern.search(line)
        if not match:
            continue
        given = match.groupdict()
        code = given.get("code") or given.get("other_code") or ""
        if kind == "memory error" and not code:
            code = "507053" if "UCE" in line else "507054" if "ECC" in line else "507055"
        peer = int(given["peer"]) if given.get("peer") else None
        quoted = _QUOTED.search(line)
        at = given.get("at") or given.get("inner") or ""
        found = Evidence(int(quoted[1]) if quoted else rank, kind, line.strip(), code, at, peer)
        found.quoted = quoted is not None
        if kind == "calls differ" and given.get("mine") and given.get("theirs"):
            found.rank = int(given["me"])
            found.ahead = int(given["theirs"]) - int(given["mine"])
        return found
    return None


def read(folder: Path) -> dict[int, Rank]:
    """What each rank said.

    Raises:
        OphookError: there is no such folder.
    """
    if not folder.is_dir():
        raise OphookError("diagnose", f"no such folder: {folder}", allowed="a folder with the ranks' logs")
    ranks: dict[int, Rank] = {}
    for path, data in _texts(folder):
        name = path.relative_to(folder).as_posix()
        of_file = _number(_RANK_OF_FILE.search(name))
        calls = _dump(data)
        if calls is not None:
            if of_file is not None:
                ranks.setdefault(of_file, Rank(of_file)).calls.update(calls)
            continue
        if b"\0" in data[:4096]:
            continue
        text = data.decode(errors="replace")
        if stack := _STACK.search(name):
            _read_stack(text, ranks.setdefault(int(stack[1]), Rank(int(stack[1]))))
            continue
        if of_file is not None:
            ranks.setdefault(of_file, Rank(of_file))
        for rank, status in _EXIT.findall(text):
            ranks.setdefault(int(rank), Rank(int(rank))).exit = int(status)
        _read_lines(text, of_file, ranks)
    return ranks


def _read_stack(text: str, rank: Rank) -> None:
    """The stacks of a rank's threads, which a flight recorder writes next to its dump."""
    main = text.partition("MainThread")[2].partition("\nthread ")[0]
    frames = [at for at in _FRAME.finditer(main) if not _library(at[1])]
    if frames:
        rank.stays = f"{frames[-1][1]}:{frames[-1][2]} {frames[-1][3]}"


def _read_lines(text: str, of_file: int | None, ranks: dict[int, Rank]) -> None:
    frame: dict[int, str] = {}
    for whole in text.splitlines():
        if _ORDERED.search(whole):
            continue
        line = _UNTIL_RESET.sub("", whole)
        said_by = _number(_RANK_OF_LINE.search(line))
        number = of_file if said_by is None else said_by
        if number is None:
            continue
        rank = ranks.setdefault(number, Rank(number))
        if (at := _FRAME.search(line)) and not _library(at[1]):
            frame[number] = f"{at[1]}:{at[2]} {at[3]}"
        found, named = _say(number, line), _OPERATOR.search(line)
        last = rank.said[-1] if rank.said else None
        # A line that only says whose code it was that the line before told.
        if found and not (named and last and not last.at and last.code == found.code):
            rank.line = rank.line or frame.get(number, "")
            rank.said.append(found)
        if named and rank.said and not rank.said[-1].at:
            rank.said[-1].at = named[1] or named[3] or named[4] or ""


def diagnose(folder: Path) -> FirstFailure:
    """What failed first, by the files in ``folder``.

    Raises:
        OphookError: there is no such folder, or no rank's log in it.
    """
    ranks = read(folder)
    if not ranks:
        raise OphookError("diagnose", f"no rank's log in {folder}", allowed="rank0.log …, or torchrun's --log-dir")
    for judge in (_by_own_error, _by_link, _by_calls, _by_end, _by_silence, _by_recorder, _by_absence, _by_watchdog):
        found = judge(ranks)
        if found:
            return found
    return FirstFailure(None, "")


def _made(rank: Rank, one: Evidence, kind: str, **more: Any) -> FirstFailure:
    return FirstFailure(rank.number, kind, one.code, one.at, rank.line, evidence=one.text, **more)


def _failing(rank: Rank, elsewhere: bool) -> Evidence | None:
    """The first error of the rank's own device or calls. 507015 or 507048 of a collective may be another rank's, and
    what is called after it gets the same; ``elsewhere``: some rank says that it failed between ranks.
    """
    blamed = any(one.kind in ("gone", "waiting", "calls differ", "link") for one in rank.said)
    blamed = blamed or any(one.quoted for one in rank.said)
    others = ("507015", "507048", "507056", "507057")
    unnamed = None  # torch_npu's queue ended by what it does not say: what else is said comes first
    for one in rank.own("out of memory", "memory error", "device", "call"):
        shared = one.code in others and (one.at.startswith("Hccl") or not one.at)
        after = one.kind == "call" and (not one.code or one.code.startswith("507"))
        if (blamed and (shared or after)) or (elsewhere and shared):
            continue
        if one.kind != "call" or one.code:
            return one
        unnamed = unnamed or one
    return unnamed


def _by_own_error(ranks: dict[int, Rank]) -> FirstFailure | None:
    accused = {one.peer for rank in ranks.values() for one in rank.said if one.kind in ("gone", "waiting")}
    elsewhere = any(one.kind in ("link", "calls differ") for rank in ranks.values() for one in rank.said)
    found = [(rank, one) for rank in ranks.values() if (one := _failing(rank, elsewhere))]
    # Where several fail by themselves, one that others miss; then one that names an operator.
    found.sort(key=lambda pair: (pair[0].number not in accused, not pair[1].at))
    if not found:
        return None
    rank, one = found[0]
    words = {"call": f"{one.at or 'a call'} was refused", "device": "the device failed"}
    return _made(rank, one, _NAMES.get(one.code) or words.get(one.kind, one.kind))


def _by_link(ranks: dict[int, Rank]) -> FirstFailure | None:
    found = [(rank, one) for rank in ranks.values() for one in rank.own("link")]
    found.sort(key=lambda pair: pair[1].peer is None)  # "LINK ERROR" names no other end
    return _made(*found[0], "the link is down", link=found[0][1].peer) if found else None


def _by_calls(ranks: dict[int, Rank]) -> FirstFailure | None:
    for one in (one for rank in ranks.values() for one in rank.said if one.kind == "calls differ"):
        if not one.ahead or one.peer is None:
            return FirstFailure(one.rank, "ranks are in different calls", at=one.at, link=one.peer, evidence=one.text)
        kind = "a message was lost" if one.ahead > 0 else "a message came twice"
        return FirstFailure(one.peer, kind, at=one.at, link=one.rank, evidence=one.text)
    return None


def _by_end(ranks: dict[int, Rank]) -> FirstFailure | None:
    for rank in ranks.values():
        for one in rank.said:
            if one.kind == "gone" and one.peer is not None:
                gone = ranks.get(one.peer, Rank(one.peer))
                signal = f" (signal {-gone.exit})" if gone.exit is not None and gone.exit < 0 else ""
                kind = f"the process was killed{signal}" if not gone.own("call", "device") else "the process ended"
                return FirstFailure(one.peer, kind, at=one.at, line=gone.line, evidence=one.text)
    ended = [rank for rank in ranks.values() if rank.exit == -9]
    return FirstFailure(ended[0].number, "the process was killed (signal 9)") if len(ended) == 1 else None


def _by_silence(ranks: dict[int, Rank]) -> FirstFailure | None:
    for rank in ranks.values():
        for one in rank.own("waiting"):
            if one.peer is None:
                continue
            other = ranks.get(one.peer, Rank(one.peer))
            if any(heard.quoted and heard.kind == "waiting" for heard in other.said):
                return FirstFailure(one.peer, "a message was lost", at=one.at, link=rank.number, evidence=one.text)
            kind, line = "no answer: it hangs or is stopped", other.stays or other.line
            return FirstFailure(one.peer, kind, at=one.at, line=line, evidence=one.text)
    return None


def _by_recorder(ranks: dict[int, Rank]) -> FirstFailure | None:
    """Who never came to a call in which the others wait."""
    noted = {number: rank.calls for number, rank in ranks.items() if rank.calls}
    if len(noted) < 2:
        return None
    last = {number: max(calls) for number, calls in noted.items()}
    behind, newest = min(last, key=lambda one: last[one]), max(last.values())
    if last[behind] == newest:
        return None
    name = next(calls[newest][0] for calls in noted.values() if newest in calls)
    line = ranks[behind].stays or noted[behind][last[behind]][1]
    text = f"its last call is {last[behind]}, others are in {newest}"
    return FirstFailure(behind, "no answer: it hangs or is stopped", at=name, line=line, evidence=text)


def _by_absence(ranks: dict[int, Rank]) -> FirstFailure | None:
    """The watchdogs of the others end them before their own errors are told: then the one that says nothing."""
    told = [one for rank in ranks.values() for one in rank.own("remote")]
    late = [one for rank in ranks.values() for one in rank.own("timeout")]
    silent = [rank for rank in ranks.values() if not rank.said]
    if not (told or late) or len(silent) != 1:
        return None
    kind = "the process was killed" if told else "no answer: it hangs or is stopped"
    first = (told or late)[0]
    return FirstFailure(silent[0].number, kind, at=first.at, line=silent[0].stays, evidence=first.text)


def _by_watchdog(ranks: dict[int, Rank]) -> FirstFailure | None:
    """All have launched the collective, and all wait for it: one's device has not come to it."""
    for one in (one for rank in ranks.values() for one in rank.own("timeout")):
        return FirstFailure(None, "a collective timed out, which every rank had launched", at=one.at, evidence=one.text)
    return None
