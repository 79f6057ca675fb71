"""Where a call came from, as Stats and Profile group by it."""

from __future__ import annotations

from typing import NamedTuple

from ophook_npu.hooks import Call


class Place(NamedTuple):
    """``module`` is ``None`` outside modules and where they are not recorded; ``node`` outside compiled graphs."""

    module: str | None
    phase: str
    node: str | None = None

    @property
    def module_name(self) -> str:
        """As reports name it."""
        if self.module is None:
            return "(backward)" if self.phase == "backward" else "(no module)"
        return self.module or "(root)"

    @property
    def node_name(self) -> str:
        return self.node or "(no node)"


def place_of(call: Call, with_module: bool) -> Place:
    """Of a running call. The module costs a walk over the stack."""
    return Place(call.module_path if with_module else None, call.phase, call.node)
