"""What torch.compile does while hooks are on: one list of requests for the whole process.

Two kinds. Some hooks need compiled functions to run eagerly; others put a compiler of their own in front of the one
a function was compiled with. The stance is one per process, so hooks enabled and disabled in any order must not
each set and restore it: the list is what is wanted, and what torch is set to follows from it. Where the two kinds
meet, eager wins, and the other hook's ``misses`` say so.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal

import torch

from ophook_npu.errors import OphookError
from ophook_npu.hooks import _compat
from ophook_npu.hooks._handler import Handler
from ophook_npu.imported import WhenImported

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


class Request:
    """One hook's wish.

    Args:
        wrap: makes a compiler out of the function's own; ``None`` asks for eager execution.
        level: where the wrapper works; those before autograd come first.
    """

    def __init__(self, handler: Handler, wrap: Wrap | None = None, level: Literal["forward", "aot"] = "aot") -> None:
        self.handler = handler
        self.wrap = wrap
        self.level = level


_lock = threading.RLock()
_requests: list[Request] = []
_found: Any = None
_is_eager = False
# A compiler must stay the same object for the same hooks, or torch.compile would compile anew at each enable.
_wrapped: dict[tuple[Any, ...], Callable[..., Any]] = {}


def push(request: Request) -> None:
    """Adds a request.

    Raises:
        OphookError: called from code that torch.compile is tracing.
    """
    with _lock:
        _requests.append(request)
        try:
            _apply()
        except RuntimeError as error:
            _requests.remove(request)
            raise OphookError(
                f"hook {request.handler.label}",
                "enabled inside a function that torch.compile is running",
                todo="enable the hook around the call of the compiled function",
            ) from error


def pop(request: Request) -> None:
    """Takes a request back, from wherever it is in the list; without effect if it is not there."""
    with _lock:
        if request in _requests:
            _requests.remove(request)
            _apply()


def enter(undo: contextlib.ExitStack, request: Request | None) -> None:
    """Adds a request, if there is one, until ``undo`` is closed."""
    if request is not None:
        push(request)
        undo.callback(pop, request)


def forget(request: Request) -> None:
    """Lets go of the compilers made for a hook that will not come back."""
    with _lock:
        for key in [key for key in _wrapped if request in key]:
            del _wrapped[key]


def for_unseen_regions(handler: Handler) -> Request | None:
    """The request of a mechanism that sees operators only where they really run one by one, by the hook's ``on_miss``.

    ``handle``: compiled functions run eagerly while the hook is on. ``warn``: the same, and says so once.
    ``raise``: they raise. ``ignore``: they are left alone, and only the kernels they call one by one are seen.
    """
    if handler.on_miss == "handle":
        return Request(handler)
    if handler.on_miss == "ignore":
        return None

    def instead(gm: torch.fx.GraphModule, example_inputs: Any) -> Callable[..., Any]:
        handler.miss(
            "a function compiled by torch.compile would pass unseen, so it runs operator by operator"
            if handler.on_miss == "warn"
            else "a function compiled by torch.compile was called",
            todo="on_miss='handle' runs it eagerly while the hook is on; via='dynamo' rewrites the compiled graph",
        )
        return gm.forward

    return Request(handler, lambda compiler: instead)


def is_eager() -> bool:
    """Whether compiled functions run eagerly now because of a hook."""
    return _is_eager


# Importing it takes as long as a third of torch, and most programs under a hook compile nothing.
_DYNAMO = "torch._dynamo"
_importing: WhenImported | None = None


def _imported(_: ModuleType) -> None:
    global _importing
    with _lock:
        _importing = None
        if _requests:
            _apply_now()


def _apply() -> None:
    global _importing
    if _importing is None and _DYNAMO in sys.modules:
        _apply_now()
    elif _importing is None and _requests:
        _importing = WhenImported(_DYNAMO, _imported)
    elif _importing is not None and not _requests and _importing.cancel():
        _importing = None


def _apply_now() -> None:
    global _found, _is_eager
    eager = any(request.wrap is None for request in _requests)
    wrapping = [request for request in _requests if request.wrap is not None]
    if eager and not _is_eager:
        found = _compat.get_stance()
        torch.compiler.set_stance("force_eager")
        _found, _is_eager = found, True
    elif not eager and _is_eager:
        _compat.restore_stance(_found)
        _found, _is_eager = None, False
    _compat.wrap_compilers(_compiler_for if wrapping else None, _gave_up)
    if eager:
        for request in wrapping:
            request.handler.misses["compiled functions run eagerly, because another hook that is on needs it"] += 1


def _gave_up(function: str) -> None:
    for request in [request for request in _requests if request.wrap is not None]:
        request.handler.miss(
            f"torch.compile reached its limit of compilations of {function}; further kinds of calls run uncompiled",
            todo="raise torch._dynamo.config.recompile_limit, or compile it with dynamic=True",
            handled=False,
        )


def _compiler_for(compiler: Callable[..., Any]) -> Callable[..., Any]:
    with _lock:
        # The first of the list is the innermost compiler, which gets the graph last: what works before autograd must
        # come before what works after it, and the newest hook stands around the older ones, as everywhere.
        wanted = [r for r in _requests if r.wrap is not None]
        wrapping = [*(r for r in reversed(wanted) if r.level == "aot"), *(r for r in wanted if r.level == "forward")]
        key = (compiler, *wrapping)
        if key not in _wrapped:
            made = compiler
            for request in wrapping:
                assert request.wrap is not None
                made = request.wrap(made)
            _wrapped[key] = made
        return _wrapped[key]
