"""Who calls which operator: places in the user's code, module paths, and how often."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from typing_extensions import Unpack

from ophook_npu.hooks import Call
from ophook_npu.observe._describe import columns, user_stack
from ophook_npu.observe._observer import EVERYTHING, Filters, Observer
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


class Trace(Observer):
    """Collects the distinct ways in which operators are reached.

    Args:
        target, modules, phase, every, via, on_miss: see :class:`Observer`.
        depth: how many of the user's frames to keep, the innermost; ``None`` for all.
    """

    NAME = "trace"

    def __init__(self, target: Any = EVERYTHING, *, depth: int | None = None, **filters: Unpack[Filters]) -> None:
        self._depth = depth
        self._sites: dict[Any, Site] = {}
        super().__init__(target, **filters)

    def before(self, call: Call) -> None:
        stack = tuple((f.filename, f.lineno or 0, f.name) for f in user_stack(call, self._depth))
        key = (call.op, call.phase, call.module_path, stack, call.node)
        site = self._sites.get(key)
        if site is None:
            site = self._sites[key] = Site(call.name, call.phase, call.module_path, stack, node=call.node)
        site.count += 1

    def clear(self) -> None:
        super().clear()
        self._sites.clear()

    @property
    def sites(self) -> list[Site]:
        """Most frequent first; those of equal count in the order they were first seen."""
        return sorted(self._sites.values(), key=lambda site: -site.count)

    def to_json(self) -> dict[str, Any]:
        return {"how": self.how, "calls": self.seen, "sites": [dataclasses.asdict(site) for site in self.sites]}

    def report(self) -> str:
        rows = [["count", "operator", "phase", "module", "called from"]]
        for site in self.sites:
            module = "-" if site.module is None else site.module or "(root)"
            place = site.place if site.node is None else f"{site.place}, {site.node}"
            rows.append([str(site.count), site.op, site.phase, module, place])
        count = f"{counted(self.seen, 'call')} from {counted(len(self._sites), 'site')}"
        return f"{columns(rows, frozenset({0}))}\n\n{count}. {self.how}"
