"""One intercepted call as a hook's functions see it, and ``original()``: what would have run without the hook."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, Literal
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.fx import GraphModule

from ophook_npu.errors import OphookError
from ophook_npu.plural import counted

Proceed = Callable[..., Any]

_current_graph_task_id = torch._C._current_graph_task_id
_MODULE_CALL = nn.Module._call_impl.__code__


class Call:
    """One call of one operator or module on its way through a hook.

    Attributes:
        op: the ``OpOverload`` that runs (for ``via="module_hook"``: the module).
        args, kwargs: what it runs with. ``before`` may assign them; defaults that the caller left out are absent.
        result: what came out; ``None`` until ``after``. ``after`` may assign it.
        state: free for the hook's functions, to hand something from ``before`` to ``after``.

    ``phase``, ``module_path``, ``node`` and ``stack()`` are worked out when asked, so that a hook that does not ask
    does not pay. Ask inside ``before``, ``after``, ``when`` or ``replace``: later the call is over and the answer
    describes another place.
    """

    __slots__ = ("args", "kwargs", "op", "result", "state")

    def __init__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.op = op
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.state: Any = None

    @property
    def name(self) -> str:
        """``aten::mm`` or ``aten::add.Tensor``; for a module its class name."""
        op = self.op
        return op._name if hasattr(op, "_name") and not isinstance(op, nn.Module) else type(op).__name__

    @property
    def phase(self) -> Literal["forward", "backward"]:
        """``backward`` while the autograd engine runs a node on this thread."""
        return "forward" if _current_graph_task_id() == -1 else "backward"

    @property
    def module(self) -> nn.Module | None:
        """The innermost module whose ``forward`` is running on this thread."""
        modules = _running_modules(innermost_only=True)
        return modules[0] if modules else None

    @property
    def module_path(self) -> str | None:
        """Qualified name of :attr:`module` below the outermost running module, ``""`` for that one itself.

        ``None`` outside any module, so also in backward, which the autograd engine calls. In a compiled graph it is the
        module that the graph remembers for the node.
        """
        return module_path()

    @property
    def node(self) -> str | None:
        """``graph 0: mm_1``, the node of a compiled graph that is running; ``None`` outside compiled graphs."""
        return None if graph.node is None else graph.node.name

    def stack(self, limit: int | None = None) -> traceback.StackSummary:
        """The Python stack that led to the call, outermost first; ``limit`` keeps the innermost frames.

        Left out: the hook's own function and the frames of this package and of torch's dispatch below the call. In a
        compiled graph the innermost frames are those that led to the node when it was traced; in backward, to the
        operator whose gradient it is.
        """
        walk = list(traceback.walk_stack(sys._getframe(1)))
        ours = [i for i, (frame, _) in enumerate(walk) if frame.f_code.co_filename.startswith(_PACKAGE)]
        if ours:
            walk = walk[ours[0] :]
        found = [pair for pair in walk if not _is_hidden(pair[0].f_code.co_filename)]
        traced = [] if graph.node is None else graph.node.frames()
        if traced:
            # The compiled function's own frame, which only knows its first line, is among the traced ones.
            own = [i for i, (f, _) in enumerate(found) if (f.f_code.co_filename, f.f_code.co_name) == traced[0][::2]]
            outer = traceback.StackSummary.extract(iter(found[own[0] + 1 if own else 0 :][::-1]), lookup_lines=False)
            frames = [*outer, *(traceback.FrameSummary(*frame, lookup_line=False) for frame in traced)]
            return traceback.StackSummary.from_list(frames[-limit:] if limit else frames)
        return traceback.StackSummary.extract(iter(found[:limit][::-1]), lookup_lines=False)

    def __repr__(self) -> str:
        given = "".join([counted(len(self.args), "arg"), *(f", {k}=" for k in self.kwargs)])
        return f"Call({self.name}, {given}, {self.phase})"


_PACKAGE = __file__.removesuffix("_call.py")
_TORCH = torch.__path__[0]
_HIDDEN = (
    _PACKAGE,
    f"{_TORCH}/_ops.py",
    f"{_TORCH}/utils/_python_dispatch.py",
    f"{_TORCH}/_dynamo/",
    "<eval_with_key>",  # code that torch.fx made of a graph
)


def _is_hidden(file: str) -> bool:
    return file.startswith(_HIDDEN) or f"{os.sep}torchinductor_" in file  # what Inductor wrote


def _running_modules(innermost_only: bool = False) -> list[nn.Module]:
    """Modules whose call is on this thread's stack, innermost first.

    Walking the stack costs nothing until asked, needs no hook on any module and is right for modules that call each
    other in ways ``named_modules`` does not know.
    """
    found: list[nn.Module] = []
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code is _MODULE_CALL:  # "in" would hash the whole of its bytes, for each frame
            module = frame.f_locals.get("self")
            # A compiled graph may itself be run as a module, inside the one that it was made of.
            generated = graph.node is not None and not found and isinstance(module, GraphModule)
            if isinstance(module, nn.Module) and not generated and (not found or found[-1] is not module):
                found.append(module)
                if innermost_only:
                    break
        frame = frame.f_back
    return found


def module_path() -> str | None:
    """:attr:`Call.module_path` of the call that is running."""
    modules = _running_modules()
    outside = _path(modules[0], modules[-1]) if modules else None
    node = graph.node
    return outside if node is None else node.module_path(outside)


@dataclasses.dataclass(frozen=True)
class GraphNode:
    """What a compiled graph remembers of one of its calls.

    Attributes:
        name: ``graph 0: mm_1``.
        modules: what dynamo calls the modules around it, outermost first: ``L['self'].layers.0``.
        trace: the Python stack that led to it, as printed in a traceback.
    """

    name: str
    modules: tuple[str, ...]
    trace: str

    def module_path(self, outside: str | None) -> str | None:
        """As :attr:`Call.module_path`; ``outside`` is that of the code that called the compiled function."""
        if not self.modules:
            return outside
        # torch before 2.10 writes L['self']._modules['layers']._modules['0'].
        inner, root = (_MODULES.sub(r"\1", path) for path in (self.modules[-1], self.modules[0]))
        if inner.startswith("L['self']"):
            root = "L['self']"  # the compiled function is a module's own forward, which runs inside that module
        path = inner.removeprefix(root).lstrip(".")
        return ".".join(filter(None, [outside, path]))

    def frames(self) -> list[tuple[str, int, str]]:
        """``(file, line, function)``, outermost first."""
        return [(file, int(line), function) for file, line, function in _FRAME.findall(self.trace)]


class _Graph(threading.local):
    node: GraphNode | None = None


graph = _Graph()
"""``node``: which node of a compiled graph this thread is running a hook for."""

_MODULES = re.compile(r"_modules\['(.+?)'\]")
_FRAME = re.compile(r'^ *File "(.+?)", line (\d+), in (.+)$', re.MULTILINE)

_paths: WeakKeyDictionary[nn.Module, dict[int, str]] = WeakKeyDictionary()


def _path(module: nn.Module, root: nn.Module) -> str:
    known = _paths.get(root)
    if known is None or id(module) not in known:
        # A module added or replaced since the last look is simply found by looking again.
        known = {id(child): _without_compiler(name) for name, child in root.named_modules()}
        _paths[root] = known
    return known.get(id(module), type(module).__name__)


def _without_compiler(name: str) -> str:
    """A compiled module's own name: torch.compile puts the module into one of its own, as ``_orig_mod``."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


class _Frames(threading.local):
    def __init__(self) -> None:
        self.stack: list[tuple[Any, Proceed]] = []


frames = _Frames()


def original(op: Any = None) -> Proceed:
    """What would have run had the hook whose ``replace`` is running not been there.

    Args:
        op: the operator (overload, packet or name), or nothing for the one being replaced.

    Inside ``replace`` the returned function continues with the next hook or the kernel and does not re-enter this hook.

    Raises:
        OphookError: outside any ``replace``, or for an operator that no running ``replace`` stands in for.
    """
    stack = frames.stack
    if op is None and stack:
        return stack[-1][1]
    for running, proceed in reversed(stack):
        if op is running or getattr(running, "overloadpacket", None) is op or _named(running, op):
            found: Proceed = proceed
            return found
    where = f"original {op}" if op is not None else "original"
    if not stack:
        raise OphookError(
            where,
            "called outside a replacement",
            allowed="calls from the function given as replace=",
            todo="call the operator itself: no hook is between you and it",
        )
    raise OphookError(
        where,
        "this operator is not being replaced here",
        allowed=", ".join(dict.fromkeys(str(running) for running, _ in stack)),
        todo="call the operator itself; the running hook does not see calls made by its own replacement",
    )


def _named(running: Any, op: Any) -> bool:
    if not isinstance(op, str):
        return False
    full = getattr(running, "_name", "")
    return op in (full, full.split(".")[0], str(running))
