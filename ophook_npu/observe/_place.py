"""Where a call came from, as Stats and Profile group by it."""

from __future__ import annotations

from typing import NamedTuple

import torch

from ophook_npu.hooks._call import graph, module_path

_current_graph_task_id = torch._C._current_graph_task_id


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


def place_of(with_module: bool) -> tuple[str | None, str, str | None]:
    """Of the running call, what :class:`Place` is made of. The module costs a walk over the stack."""
    node = graph.node
    phase = "forward" if _current_graph_task_id() == -1 else "backward"
    return module_path() if with_module else None, phase, None if node is None else node.name
