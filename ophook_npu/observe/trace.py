"""Who calls which operator: places in the user's code, module paths, and how often."""

from __future__ import annotations

import dataclasses
import os
import sys
import threading
from typing import Any

from typing_extensions import Unpack

from ophook_npu.hooks import Call
from ophook_npu.hooks._call import Proceed, graph
from ophook_npu.observe._describe import columns, user_stack
from ophook_npu.observe._observer import EVERYTHING, Filters, Observer
from ophook_npu.observe._place import place_of
from ophook_npu.plural import counted


@dataclasses.dataclass
class Site:
    """One way of reaching an operator.

    Attributes:
        op, phase, module: what was called, when, and from inside which module (``None`` outside any, so in backward).
        stack: ``(file, line, function)`` of the user's frames, outermost first. In backward: of what called
            ``backward``.
        count: how many calls came this way.
        node: in a compiled graph, the node, as in :attr:`Call.node`.
    """

    op: str
    phase: str
    module: str | None
    stack: tuple[tuple[str, int, str], ...]
    count: int = 0
    node: str | None = None

    @property
    def place(self) -> str:
        """``model.py:12 forward``: the innermost frame."""
        if not self.stack:
            return "(no user frame)"
        file, line, function = self.stack[-1]
        return f"{os.path.basename(file)}:{line} {function}"


_WAYS = 10_000  # how many stacks to know again; each takes some kB


class _Seen(threading.local):
    """What one thread saw: its sites, and those of the stacks that it knows again.

    A stack is told by its frames' code and place in it, which are read in less than the names and lines take. What they
    are the identities of is kept, so that they stay its own.
    """

    def __init__(self, threads: list[tuple[dict[Any, Site], dict[Any, Any]]]) -> None:
        self.sites: dict[Any, Site] = {}
        self.known: dict[Any, tuple[Site, list[Any]]] = {}
        threads.append((self.sites, self.known))


class Trace(Observer):
    """Collects the distinct ways in which operators are reached.

    Args:
        target, modules, phase, every, via, on_miss: see :class:`Observer`.
        depth: how many of the user's frames to keep, the innermost; ``None`` for all.
    """

    NAME = "trace"

    def __init__(self, target: Any = EVERYTHING, *, depth: int | None = None, **filters: Unpack[Filters]) -> None:
        self._depth = depth
        self._threads: list[tuple[dict[Any, Site], dict[Any, Any]]] = []
        self._mine = _Seen(self._threads)
        super().__init__(target, **filters)

    def around(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Proceed) -> Any:
        known = self._mine.known
        key: list[Any] = [id(op), id(graph.node), place_of(True)]
        frame: Any = sys._getframe(1)
        while frame is not None:
            key += id(frame.f_code), frame.f_lasti
            frame = frame.f_back
        found = known.get(tuple(key))
        if found is None:
            found = self._site(Call(op, args, kwargs)), [op, graph.node, *_codes()]
            if len(known) < _WAYS:
                known[tuple(key)] = found
        found[0].count += 1
        return proceed(*args, **kwargs) if kwargs else proceed(*args)

    def counted(self) -> int:
        return sum(site.count for sites, _ in self._threads for site in list(sites.values()))

    def clear(self) -> None:
        for thread in self._threads:
            for table in thread:
                table.clear()
        super().clear()

    @property
    def sites(self) -> list[Site]:
        """Most frequent first; those of equal count in the order they were first seen."""
        found: dict[Any, Site] = {}
        for sites, _ in self._threads:
            for key, site in list(sites.items()):
                found.setdefault(key, dataclasses.replace(site, count=0)).count += site.count
        return sorted(found.values(), key=lambda site: -site.count)

    def _site(self, call: Call) -> Site:
        stack = tuple((f.filename, f.lineno or 0, f.name) for f in user_stack(call, self._depth))
        key = (call.op, call.phase, call.module_path, stack, call.node)
        sites = self._mine.sites
        if key not in sites:
            sites[key] = Site(call.name, call.phase, call.module_path, stack, node=call.node)
        return sites[key]

    def to_json(self) -> dict[str, Any]:
        return {"how": self.how, "calls": self.seen, "sites": [dataclasses.asdict(site) for site in self.sites]}

    def report(self) -> str:
        rows = [["count", "operator", "phase", "module", "called from"]]
        for site in self.sites:
            module = "-" if site.module is None else site.module or "(root)"
            place = site.place if site.node is None else f"{site.place}, {site.node}"
            rows.append([str(site.count), site.op, site.phase, module, place])
        count = f"{counted(self.seen, 'call')} from {counted(len(self.sites), 'site')}"
        return f"{columns(rows, frozenset({0}))}\n\n{count}. {self.how}"


def _codes() -> list[Any]:
    """Of the caller's frame and those above it."""
    frame: Any = sys._getframe(1)
    found = []
    while frame is not None:
        found.append(frame.f_code)
        frame = frame.f_back
    return found
