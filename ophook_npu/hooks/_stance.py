"""What torch.compile does while hooks are on: one stack of requests over ``torch.compiler.set_stance``.

The stance is one per process, so hooks enabled and disabled in any order must not each set and restore it: the newest
request rules, and the stance found before the first one comes back after the last.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

from ophook_npu.errors import OphookError
from ophook_npu.hooks import _compat
from ophook_npu.hooks._handler import Handler


class Request:
    """One hook's wish: run compiled functions eagerly, or compile them with ``backend``."""

    def __init__(self, handler: Handler, backend: Callable[..., Any] | None = None) -> None:
        self.handler = handler
        self.backend = backend

    def apply(self) -> None:
        if self.backend is None:
            torch.compiler.set_stance("force_eager")
        else:
            torch.compiler.set_stance("default", force_backend=self.backend)


_lock = threading.RLock()
_requests: list[Request] = []
_found: Any = None


def push(request: Request) -> None:
    """Makes ``request`` rule.

    Raises:
        OphookError: called from code that torch.compile is tracing.
    """
    global _found
    with _lock:
        found = _compat.get_stance() if not _requests else None
        try:
            request.apply()
        except RuntimeError as error:
            raise OphookError(
                f"hook {request.handler.label}",
                "enabled inside a function that torch.compile is running",
                todo="enable the hook around the call of the compiled function",
            ) from error
        if not _requests:
            _found = found
        else:
            _tell_overruled(_requests[-1], request)
        _requests.append(request)


def pop(request: Request) -> None:
    """Takes ``request`` out, from wherever it is in the stack; without effect if it is not there."""
    with _lock:
        if request not in _requests:
            return
        was_ruling = _requests[-1] is request
        _requests.remove(request)
        if not _requests:
            _compat.restore_stance(_found)
        elif was_ruling:
            _requests[-1].apply()


def for_unseen_regions(handler: Handler) -> Request | None:
    """The request of a mechanism that sees operators only where they really run one by one, by the hook's ``on_miss``.

    ``handle``: compiled functions run eagerly while the hook is on. ``warn``: the same, and says so once. ``raise``: they
    raise. ``ignore``: they are left alone, and only the kernels they call one by one are seen.
    """
    if handler.on_miss == "handle":
        return Request(handler)
    if handler.on_miss == "ignore":
        return None

    def backend(gm: torch.fx.GraphModule, example_inputs: Any) -> Callable[..., Any]:
        handler.miss(
            "a function compiled by torch.compile would pass unseen, so it runs operator by operator"
            if handler.on_miss == "warn"
            else "a function compiled by torch.compile was called",
            todo="on_miss='handle' runs it eagerly while the hook is on; via='dynamo' rewrites the compiled graph",
        )
        return gm.forward

    return Request(handler, backend)


def _tell_overruled(old: Request, new: Request) -> None:
    if old.backend is not None and new.backend is None:
        old.handler.misses[f"compiled functions run eagerly because hook {new.handler.label} is on"] += 1
