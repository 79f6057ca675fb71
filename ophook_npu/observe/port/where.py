"""The line of the user's code and the module that an operator is called from, cheaply enough to ask for every call.

In backward no user code is on the stack, but for backward functions and hooks of the program's own: the autograd engine
runs on a thread of the device. Each node of the graph has the sequence number that the forward operator drew, so the
place of the forward operator is remembered under it.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple, cast

import torch
from torch import nn

from ophook_npu import native
from ophook_npu.errors import OphookError
from ophook_npu.hooks._call import _path
from ophook_npu.observe import program

_TORCH = torch.__path__[0]
_PACKAGE = str(__file__).removesuffix("observe/port/where.py")
_PLACES = tuple({f"{sysconfig.get_path(name)}{os.sep}" for name in ("purelib", "platlib")})
# Another environment's packages are no less installed: with --system-site-packages, or through a .pth file.
_NAMED = tuple(f"{os.sep}{name}-packages{os.sep}" for name in ("site", "dist"))
_FRAMEWORK = (f"{_TORCH}{os.sep}", _PACKAGE)
_PYTHON = (f"{sysconfig.get_path('stdlib')}{os.sep}", "<frozen ")  # outside a virtual environment packages lie in it
_MOST = 200_000  # forward operators that wait for their backward; more are forgotten, oldest step first

# Of torch's files, those that only hand a call on: what they do is what the line says.
_HANDS_ON = tuple(
    os.path.join(*one.split("/"))
    for one in (
        "torch/_compile.py", "torch/_jit_internal.py", "torch/_ops.py", "torch/_tensor.py",
        "torch/functional.py", "torch/overrides.py", "torch/utils/_contextlib.py",
        "torch/utils/_device.py", "torch/utils/_python_dispatch.py", "torch/utils/backend_registration.py",
        "torch_npu/contrib/transfer_to_npu.py",
    )
)  # fmt: skip

_graph_task = torch._C._current_graph_task_id
_sequence_number = torch._C._autograd._get_sequence_nr

# What a frame's code is.
FRAMEWORK, LIBRARY, OWN, MODULE, END = range(5)


class Where(NamedTuple):
    """A place in the program.

    Attributes:
        file, line, function: the innermost frame that is neither torch's nor the interpreter's; ``""`` and 0 where
            there is none.
        own_file, own_line: the innermost frame outside site-packages; the same where the code is the user's.
        module: path below the outermost running module; ``None`` outside any.
        phase: ``forward`` or ``backward``; in backward the rest describes the forward operator, unless the program's
            own backward function or hook makes the call. ``before``: it ran before the first step only.
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
BEFORE = "before"


class _Outside(NamedTuple):
    """What leads to a module's call.

    Attributes:
        inner, own: (code, instruction) of the innermost frames outside it: the one that is neither torch's nor the
            interpreter's, and the one that is the program's own; ``None`` where there is none.
        path: of the module below the outermost.
    """

    inner: Any
    own: Any
    path: str


class _Entered(NamedTuple):
    """A module's call that is on the stack."""

    frame: FrameType
    outside: _Outside
    module: nn.Module
    root: nn.Module


class _Inside(threading.local):
    def __init__(self) -> None:
        self.calls: list[_Entered] = []
        self.number = -1  # the sequence number that was remembered last


class Finder:
    """Finds the place of the running call; remembers forward places for backward."""

    def __init__(self) -> None:
        # By identity: a code object's hash goes through all of its instructions. They are kept, so that none is given
        # the identity of another.
        self._kinds: dict[int, int] = {id(nn.Module._call_impl.__code__): MODULE}
        self._codes: list[CodeType] = []
        self._later: dict[int, Where] = {}  # of a place, also by identity, what it is in backward
        self._known: dict[Any, Where] = {}
        self._one: dict[Where, Where] = {}  # equal places are one object, which is kept
        self._forward: dict[int, Where] = {}
        # What leads to a running module does not change while it runs, so a walk ends at the innermost that is known.
        self._inside = _Inside()
        self._outsides: dict[Any, _Outside] = {}  # equal ones are one object, which is kept
        self.outermost: nn.Module | None = None

    def here(self) -> Where:
        """Of the running call."""
        backward = _graph_task() != -1
        where = self._walk(sys._getframe(2), backward)  # who asks is none of the program
        if backward:
            node = torch._C._current_autograd_node()
            found = None if node is None else self._forward.get(node._sequence_nr())
            if found is not None:
                if not where.file:
                    return found
                if where.module is None:
                    where = where._replace(module=found.module)
                    where = self._one.setdefault(where, where)
        return where

    def inside(self) -> str:
        """The function of torch's or the interpreter's that the line calls and that makes the running call; ``""``
        where the line itself makes it, in backward too."""
        frame: FrameType | None = sys._getframe(2)
        name = ""
        while frame is not None:
            code = frame.f_code
            kind = self._kind(code)
            if kind in (OWN, LIBRARY):
                return name
            if kind in (MODULE, END):
                return name if kind == MODULE else ""
            if not code.co_filename.startswith(_PACKAGE) and not code.co_filename.endswith(_HANDS_ON):
                name = _named(frame)
            frame = frame.f_back
        return ""

    def remember(self, where: Where) -> None:
        """``where`` is that of the forward operator that has just drawn a sequence number."""
        number = _sequence_number() - 1
        if number == self._inside.number:
            return
        self._inside.number = number
        if number not in self._forward and where.phase == "forward":
            if len(self._forward) >= _MOST:
                self._forward.clear()
            later = self._later.get(id(where))
            if later is None:
                later = self._later[id(where)] = where._replace(phase="backward")
            self._forward[number] = later

    def forget(self) -> None:
        """After a step: what was remembered for its backward."""
        self._forward.clear()
        self._inside.number = -1

    def left(self, module: nn.Module) -> None:
        """This thread is about to leave ``module``: its call is not held any longer."""
        calls = self._inside.calls
        if calls and calls[-1].module is module:
            calls.pop()

    def ended(self) -> None:
        """No call of a module is held any longer."""
        self._inside.calls.clear()

    def _walk(self, frame: FrameType | None, backward: bool) -> Where:
        inner, own, entered = self._outwards(frame)
        path = None
        if entered is not None:
            outside = entered.outside
            inner, own, path = inner or outside.inner, own or outside.own, outside.path
        key = (inner and (id(inner[0]), inner[1]), own and (id(own[0]), own[1]), path, backward)
        known = self._known.get(key)
        if known is None:
            where = _where(inner, own, path, backward)
            known = self._known[key] = self._one.setdefault(where, where)
        return known

    def _outwards(self, frame: FrameType | None) -> tuple[Any, Any, _Entered | None]:
        """From a frame on: (innermost, innermost of the program's own) up to a module's call, and that call."""
        kinds = self._kinds
        inner: Any = None
        own: Any = None
        while frame is not None:
            code = frame.f_code
            kind = kinds.get(id(code))
            if kind is None:
                kind = self._kind(code)
            if kind:
                if kind == MODULE:
                    entered = self._entered(frame)
                    if entered is not None:
                        return inner, own, entered
                elif kind == OWN:
                    if own is None:
                        own = (code, frame.f_lasti)
                        inner = inner or own
                elif kind == LIBRARY:
                    inner = inner or (code, frame.f_lasti)
                else:
                    break
            frame = frame.f_back
        return inner, own, None

    def _entered(self, frame: FrameType) -> _Entered | None:
        """The call of a module whose frame this is; ``None`` if it is of something else."""
        calls = self._inside.calls
        if calls and calls[-1].frame is frame:
            return calls[-1]
        for at in range(len(calls) - 2, -1, -1):
            if calls[at].frame is frame:
                del calls[at + 1 :]  # those were left
                return calls[at]
        module = frame.f_locals.get("self")
        if not isinstance(module, nn.Module):
            return None
        inner, own, outer = self._outwards(frame.f_back)
        if outer is None:
            calls.clear()
            root = self.outermost = module
        else:
            inner, own, root = inner or outer.outside.inner, own or outer.outside.own, outer.root
        path = _path(module, root)
        key = (inner and (id(inner[0]), inner[1]), own and (id(own[0]), own[1]), path)
        outside = self._outsides.setdefault(key, _Outside(inner, own, path))
        calls.append(_Entered(frame, outside, module, root))
        return calls[-1]

    def looks(self, sort: Callable[[type], int]) -> Callable[..., Any] | None:
        """In C++, what tells one call from another; ``None`` where it cannot be compiled.

        Called with an operator, its arguments and its keywords, it gives a key, which is the same for calls of one
        :meth:`here`, data types, ranks and layouts; or ``None``, if a tensor has no data. ``sort`` says what there is
        to see of arguments of a type.
        """
        try:
            module = native.extension("ophook_look")
        except OphookError:
            return None
        task, node = torch._C._current_graph_task_id, torch._C._current_autograd_node
        inside, forward = self._inside, self._forward
        look = module.Look(sort, self._kind, self._entered, inside, task, node, forward, torch.strided).look
        return cast("Callable[..., Any]", look)

    def _kind(self, code: CodeType) -> int:
        kind = self._kinds.get(id(code))
        if kind is None:
            kind = self._kinds[id(code)] = classify(code)
            self._codes.append(code)
        return kind


def _named(frame: FrameType) -> str:
    """The function of a frame, with its class also where it was put into that class from elsewhere."""
    code = frame.f_code
    name = str(getattr(code, "co_qualname", code.co_name))  # Python 3.10 has the name alone
    name = name.replace(".<locals>", "")
    of = None if "." in name else frame.f_locals.get("self")
    return name if of is None else f"{'Module' if isinstance(of, nn.Module) else type(of).__name__}.{name}"


def _where(inner: Any, own: Any, module: str | None, backward: bool) -> Where:
    phase = "backward" if backward else "forward"
    if inner is None:
        return Where(module=module, phase=phase)
    (code, line), (own_code, own_line) = ((code, _line(code, at)) for code, at in (inner, own or inner))
    return Where(
        code.co_filename, line, code.co_name, own_code.co_filename if own else "", own_line if own else 0, module, phase
    )  # fmt: skip


def _line(code: CodeType, instruction: int) -> int:
    """Asked of a frame, it would be looked up in each call."""
    for start, end, line in code.co_lines():
        if start <= instruction < end:
            return line or code.co_firstlineno
    return code.co_firstlineno


_ENDS = (program._with_argv.__code__, torch.autograd.graph._engine_run_backward.__code__)


def classify(code: CodeType) -> int:
    """What kind of frame a code object makes."""
    return END if code in _ENDS else kind_of(code.co_filename)


def kind_of(file: str) -> int:
    """What kind of code a file holds."""
    places = [*(place for place in _PLACES if file.startswith(place)), *(name for name in _NAMED if name in file)]
    if file.startswith(_FRAMEWORK) or any(f"{place}torch_npu{os.sep}" in file for place in places):
        return FRAMEWORK
    if places:
        return LIBRARY
    return FRAMEWORK if file.startswith(_PYTHON) else OWN
