"""Races in memory that several processes have: what the ranks of a program wrote of it, read when all have ended.

The core of each process appends records to one file (``csrc/core/order_ranks.cpp``): what its tasks do with such
memory, and what orders them with others' tasks. A rank that is ahead launches what follows a collective before another
launches what comes before it, so only the whole file shows the order.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

Clock = dict[int, list[int]]  # by process and line: how many tasks came before
_NOW = 2**64 - 1  # what is launched when it is told, nearly all
_MOST = 1024  # accesses of a line that one of another is compared with, of those that nothing orders with it


def _join(clock: Clock, other: Clock) -> None:
    for process, counts in other.items():
        mine = clock.setdefault(process, [])
        mine.extend([0] * (len(counts) - len(mine)))
        for line, count in enumerate(counts):
            mine[line] = max(mine[line], count)


def _seen(clock: Clock, process: int, line: int) -> int:
    counts = clock.get(process, [])
    return counts[line] if line < len(counts) else 0


@dataclass
class _Join:
    """From this task of a line on, others' tasks came before: those of the members, or ``known`` at once."""

    count: int
    members: list[_Start] = field(default_factory=list)
    known: Clock = field(default_factory=dict)
    before: _Join | None = None  # on the same line
    value: Clock | None = None


@dataclass
class _Start:
    """What came before a task as far as its own process and the hosts of all know."""

    process: int
    clock: Clock


@dataclass
class _Access:
    start: _Start
    line: int
    count: int
    begin: int
    run: int
    dims: list[tuple[int, int]]
    writes: bool
    task: str
    stream: int
    frames: list[str]
    number: int  # in the order of the launches
    closed: Clock | None = None

    @property
    def end(self) -> int:
        return self.begin + self.run + sum((size - 1) * stride for size, stride in self.dims)


def _holds(one: _Access, begin: int, end: int, base: int, rank: int) -> bool:
    """Whether bytes from begin to end are some of its first ``rank`` dimensions', from ``base`` on."""
    if not rank:
        return base < end and begin < base + one.run
    size, stride = one.dims[rank - 1]
    extent = one.run + sum((more - 1) * step for more, step in one.dims[: rank - 1])
    if end <= base:
        return False
    first = 0 if begin < base + extent else (begin - base - extent) // stride + 1
    last = min(size - 1, (end - 1 - base) // stride)
    return any(_holds(one, begin, end, base + i * stride, rank - 1) for i in range(first, last + 1))


def _pieces(one: _Access) -> Iterator[int]:
    """Where each run of bytes begins."""
    begins = [one.begin]
    for size, stride in one.dims:
        begins = [begin + i * stride for i in range(size) for begin in begins]
    return iter(begins)


def _count(one: _Access) -> int:
    pieces = 1
    for size, _ in one.dims:
        pieces *= size
    return pieces


def _meet(one: _Access, other: _Access) -> bool:
    if one.end <= other.begin or other.end <= one.begin:
        return False
    if _count(one) > _count(other):
        one, other = other, one
    return any(_holds(other, begin, begin + one.run, other.begin, len(other.dims)) for begin in _pieces(one))


class _Records:
    """The file as a whole."""

    def __init__(self, text: str) -> None:
        self.names: dict[int, str] = {}
        self.accesses: dict[int, list[_Access]] = defaultdict(list)  # by file
        self._joins: dict[tuple[int, int], list[_Join]] = defaultdict(list)  # by process and line
        self._meetings: dict[tuple[str, int], list[tuple[_Start, bool, _Join | None]]] = defaultdict(list)
        self._recorded: dict[str, list[tuple[int, _Start]]] = defaultdict(list)  # events
        self._waiting: list[tuple[str, int, _Join]] = []
        self._hosts: Clock = {}  # what the hosts have waited for so far; they are one in the order of their calls
        self._history: list[tuple[int, Clock]] = []  # of that, up to a place in the text
        self._launched: Clock = {}  # everything so far
        self._callers: dict[tuple[int, int], list[str]] = {}
        at = 0  # bytes
        for line in text.splitlines(keepends=True):
            at += len(line.encode("utf-8", "surrogateescape"))
            try:
                kind, process, *rest = json.loads(line)
            except ValueError:
                continue  # of a process that was killed
            if kind == "host":
                self._history.append((at, {of: list(counts) for of, counts in self._hosts.items()}))
            getattr(self, f"_read_{kind}")(process, *rest)
        for met in self._meetings.values():
            for start, _, join in met:
                if join:
                    join.members += [other for other, gives, _ in met if gives and other is not start]
        for name, number, join in self._waiting:
            join.members += [start for recorded, start in self._recorded[name] if recorded <= number]

    def _start(self, process: int, clock: list[int], launched: int = _NOW) -> _Start:
        start: Clock = {process: list(clock)}
        later = bisect_right(self._history, launched, key=lambda one: one[0])
        _join(start, self._history[later][1] if later < len(self._history) else self._hosts)
        return _Start(process, start)

    def _before(self, process: int, line: int, count: int, clock: list[int], launched: int = _NOW) -> _Start:
        """As of a task: others' tasks that come with it come before what follows it, not before itself."""
        _join(self._launched, {process: [0] * line + [count]})
        return self._start(process, [*clock[:line], count - 1, *clock[line + 1 :]], launched)

    def _add(self, process: int, line: int, join: _Join) -> _Join:
        on_line = self._joins[process, line]
        join.before = on_line[-1] if on_line else None
        on_line.append(join)
        return join

    def _read_process(self, process: int, rank: str) -> None:
        self.names[process] = f"rank {rank}" if rank else f"process {process}"

    def _read_caller(self, process: int, number: int, frames: list[str]) -> None:
        self._callers[process, number] = frames

    def _read_access(self, process: int, line: int, count: int, clock: list[int], *rest: Any) -> None:
        file, begin, run, dims, launched, writes, task, stream, caller = rest
        start = self._before(process, line, count, clock, launched)
        frames = self._callers.get((process, caller), [])
        sizes = [(size, stride) for size, stride in dims]
        others = self.accesses[file]
        others.append(_Access(start, line, count, begin, run, sizes, writes, task, stream, frames, len(others)))

    def _read_meets(self, process: int, line: int, count: int, clock: list[int], *rest: Any) -> None:
        name, turn, gives, takes = rest
        start = self._before(process, line, count, clock)
        self._meetings[name, turn].append((start, gives, self._add(process, line, _Join(count)) if takes else None))

    def _read_records(self, process: int, line: int, count: int, clock: list[int], name: str, number: int) -> None:
        self._recorded[name].append((number, self._start(process, clock)))

    def _read_waits(self, process: int, line: int, count: int, clock: list[int], name: str, number: int) -> None:
        self._waiting.append((name, number, self._add(process, line, _Join(count))))

    def _read_all(self, process: int, line: int, count: int) -> None:
        join = self._add(process, line, _Join(count))
        _join(join.known, self._launched)

    def _read_host(self, process: int, clock: list[int]) -> None:
        _join(self._hosts, {process: clock})

    def _needed(self, clock: Clock) -> list[_Join]:
        """The last join of each line that comes before."""
        found = []
        for (process, line), joins in self._joins.items():
            place = bisect_right(joins, _seen(clock, process, line), key=lambda join: join.count)
            if place:
                found.append(joins[place - 1])
        return found

    def closed(self, start: _Start) -> Clock:
        """All that comes before."""
        clock: Clock = {}
        _join(clock, start.clock)
        done: set[int] = set()
        while more := [one for one in self._needed(clock) if id(one) not in done]:
            for one in more:
                done.add(id(one))
                _join(clock, self._value(one))
        return clock

    def _value(self, wanted: _Join) -> Clock:
        stack = [wanted]
        entered: set[int] = set()
        while stack:
            join = stack[-1]
            if join.value is not None:
                stack.pop()
                continue
            needed = [one for member in join.members for one in self._needed(member.clock)]
            needed += [join.before] if join.before else []
            waiting = [one for one in needed if one.value is None and id(one) not in entered]
            if waiting and id(join) not in entered:
                entered.add(id(join))
                stack += waiting
                continue
            entered.add(id(join))
            value: Clock = {}
            for clock in [join.known, *(one.value for one in needed if one.value), *(m.clock for m in join.members)]:
                _join(value, clock)
            join.value = value
            stack.pop()
        assert wanted.value is not None
        return wanted.value

    def before(self, access: _Access) -> Clock:
        if access.closed is None:
            access.closed = self.closed(access.start)
        return access.closed

    def unordered(self, ones: list[_Access], others: list[_Access]) -> Iterator[tuple[_Access, _Access]]:
        """Of two lines of two processes: what comes before one of the other line is all up to a place on its own."""
        counts = [one.count for one in ones]
        mine, theirs = ones[0].start.process, others[0].start.process
        for other in others:
            begin = bisect_right(counts, _seen(self.before(other), mine, ones[0].line))
            for one in ones[begin : begin + _MOST]:
                if other.count <= _seen(self.before(one), theirs, other.line):
                    break
                yield one, other


def lines(text: str) -> str:
    """Lines of a report, as the core writes them: each two places once, and how often they were seen."""
    records = _Records(text)
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for accesses in records.accesses.values():
        by_line: dict[tuple[int, int], list[_Access]] = defaultdict(list)
        for access in accesses:
            by_line[access.start.process, access.line].append(access)
        for each in by_line.values():
            each.sort(key=lambda access: access.count)
        for one, other in combinations(by_line, 2):
            if one[0] == other[0]:
                continue  # the process itself has seen it
            for first, second in records.unordered(by_line[one], by_line[other]):
                if (first.writes or second.writes) and _meet(first, second):
                    _tell(found, records, *sorted((first, second), key=lambda access: access.number))
    report = []
    for race in found.values():
        report += [race, {"race": race["race"], "count": race.pop("seen")}]
    return "".join(f"{json.dumps(one)}\n" for one in report)


def _tell(found: dict[tuple[Any, ...], dict[str, Any]], records: _Records, first: _Access, second: _Access) -> None:
    def shown(one: _Access) -> dict[str, Any]:
        task = f"{one.task} of {records.names[one.start.process]}"
        return {"task": task, "stream": one.stream, "writes": one.writes, "from": one.frames}

    sides = shown(first), shown(second)
    key = tuple((side["task"], side["writes"], *side["from"]) for side in sides)
    if key in found:
        found[key]["seen"] += 1
        return
    kind = "write and write" if second.writes else "write and read"
    begin, end = max(first.begin, second.begin), min(first.end, second.end)
    found[key] = {
        "race": f"ranks.{len(found) + 1}",
        "kind": kind if first.writes else "read and write",
        "graph": False,
        "first": sides[0],
        "second": sides[1],
        "memory": f"{end - begin} bytes at {begin} of memory that both have",
        "missing": "between the two, a collective that both ranks launch, or an event of ACL_EVENT_IPC that one "
        "records and the other waits for; or synchronize the first stream before its process tells the other of it",
        "seen": 1,
    }
