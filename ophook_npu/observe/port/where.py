"""The line of the user's code and the module that an operator is called from, cheaply enough to ask for every call.

In backward no user code is on the stack: the autograd engine runs on a thread of the device. Each node of the graph has
the sequence number that the forward operator drew, so the place of the forward operator is remembered under it.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
import threading
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch
from torch import nn

from ophook_npu.hooks._call import _path
from ophook_npu.observe import program

_TORCH = torch.__path__[0]
_PACKAGE = str(__file__).removesuffix("observe/port/where.py")
_PLACES = tuple({f"{sysconfig.get_path(name)}{os.sep}" for name in ("purelib", "platlib")})
_FRAMEWORK = (f"{_TORCH}{os.sep}", _PACKAGE, f"{sysconfig.get_path('stdlib')}{os.sep}", "<frozen ")
_MOST = 200_000  # forward operators that wait for their backward; more are forgotten, oldest step first

# What a frame's code is.
FRAMEWORK, LIBRARY, OWN, MODULE, END = range(5)


class Where(NamedTuple):
    """A place in the program.

    Attributes:
        file, line, function: the innermost frame that is neither torch's nor the interpreter's; ``""`` and 0 where
            there is none.
        own_file, own_line: the innermost frame outside site-packages; the same where the code is the user's.
        module: path below the outermost running module; ``None`` outside any.
        phase: ``forward`` or ``backward``; in backward the rest describes the forward operator.
    """

    file: str = ""
    line: int = 0
    function: str = ""
    own_file: str = ""
    own_line: int = 0
    module: str | None = None
    phase: str = "forward"

    @property
    def text(self) -> str:
        """The source line, stripped; empty where the file cannot be read."""
        return linecache.getline(self.file, self.line).strip() if self.file else ""


NOWHERE = Where()


class Finder:
    """Finds the place of the running call; remembers forward places for backward."""

    def __init__(self) -> None:
        # By identity: a code object's hash goes through all of its instructions. They are kept, so that none is given
        # the identity of another.
        self._kinds: dict[int, int] = {id(nn.Module._call_impl.__code__): MODULE}
        self._codes: list[CodeType] = []
        self._later: dict[int, Where] = {}  # of a place, also by identity, what it is in backward
        self._kept: list[Where] = []
        self._known: dict[Any, Where] = {}
        self._forward: dict[int, Where] = {}
        self._lock = threading.Lock()
        # Modules are told by identity; they are kept, so that an identity is not given twice.
        self._roots: dict[int, nn.Module] = {}
        self.outermost: nn.Module | None = None

    def here(self) -> Where:
        """Of the running call."""
        if torch._C._current_graph_task_id() != -1:
            node = torch._C._current_autograd_node()
            found = None if node is None else self._forward.get(node._sequence_nr())
            if found is not None:
                return found
        return self._walk(sys._getframe(1))

    def remember(self, where: Where) -> None:
        """``where`` is that of the forward operator that has just drawn a sequence number."""
        number = torch._C._autograd._get_sequence_nr() - 1
        if number not in self._forward and where.phase == "forward":
            if len(self._forward) >= _MOST:
                self.forget()
            later = self._later.get(id(where))
            if later is None:
                self._kept.append(where)
                later = self._later[id(where)] = where._replace(phase="backward")
            self._forward[number] = later

    def forget(self) -> None:
        """After a step: what was remembered for its backward."""
        self._forward.clear()

    def _walk(self, frame: FrameType | None) -> Where:
        kinds = self._kinds
        inner: Any = None
        own: Any = None
        first: Any = None
        last: Any = None
        while frame is not None:
            code = frame.f_code
            try:
                kind = kinds[id(code)]
            except KeyError:
                kind = kinds[id(code)] = classify(code)
                self._codes.append(code)
            if kind:
                if kind == MODULE:
                    if first is None:
                        first = frame
                    last = frame
                elif kind == OWN:
                    if own is None:
                        own = (code, frame.f_lineno)
                        inner = inner or own
                elif kind == LIBRARY:
                    inner = inner or (code, frame.f_lineno)
                else:
                    break
            frame = frame.f_back
        module = None
        if first is not None:
            called, root = first.f_locals.get("self"), (first if last is first else last).f_locals.get("self")
            if isinstance(called, nn.Module) and isinstance(root, nn.Module):
                self.outermost = root
                module = _path(called, root)
        backward = torch._C._current_graph_task_id() != -1
        key = (inner and (id(inner[0]), inner[1]), own and (id(own[0]), own[1]), module, backward)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _where(inner, own, module, backward)
        return known


def _where(inner: Any, own: Any, module: str | None, backward: bool) -> Where:
    phase = "backward" if backward else "forward"
    if inner is None:
        return Where(module=module, phase=phase)
    (code, line), (own_code, own_line) = inner, own or inner
    return Where(
        code.co_filename, line, code.co_name, own_code.co_filename if own else "", own_line if own else 0, module, phase
    )  # fmt: skip


def classify(code: CodeType) -> int:
    """What kind of frame a code object makes."""
    return END if code is program._with_argv.__code__ else kind_of(code.co_filename)


def kind_of(file: str) -> int:
    """What kind of code a file holds."""
    if file.startswith(_PLACES):
        return FRAMEWORK if file.startswith(_FRAMEWORK) or _is_torch_npu(file) else LIBRARY
    if file.startswith(_FRAMEWORK):
        return FRAMEWORK
    return OWN


def _is_torch_npu(file: str) -> bool:
    return any(file.startswith(f"{place}torch_npu{os.sep}") for place in _PLACES)
