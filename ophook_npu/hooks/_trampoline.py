"""Python kernels registered once for each (operator, dispatch key) and switched by a list of handlers.

Taking a kernel out of the dispatcher while another thread runs the operator crashes the process, so hooks come and go in
the list, and the kernel itself is deregistered by :func:`purge` alone.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch._ops import OpOverload

from ophook_npu.hooks import _compat
from ophook_npu.hooks._handler import Handler


class _Busy(threading.local):
    def __init__(self) -> None:
        self.handlers: set[Handler] = set()


_busy = _Busy()
_lock = threading.RLock()
_registered: dict[tuple[OpOverload, str], Trampoline] = {}


class Trampoline:
    """The kernel of one operator at one key: runs the handlers, newest first, and then what was registered before."""

    def __init__(self, op: OpOverload, key: str, around: Callable[[Trampoline, Callable[..., Any]], Callable[..., Any]]) -> None:
        self.op = op
        self.key = key
        self.handlers: tuple[Handler, ...] = ()
        self.kernel = _accepting_numbers(op, _compat.kernel(op, key))
        space, name = op._name.split("::")
        self.library = torch.library.Library(space, "IMPL")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"(?s).*Overriding a previously registered kernel.*")
            self.library.impl(name, around(self, self.kernel), key, with_keyset=True)


def run_handlers(trampoline: Trampoline, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The body of a kernel that stands in for another one."""
    op = trampoline.op
    is_autograd = trampoline.key.startswith("Autograd")

    def body(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        handlers = trampoline.handlers
        # Above autograd the kernel also meets the fake tensors of torch.compile, which replacements cannot compute with.
        if not handlers or (is_autograd and _compat.is_compiling_here()):
            return kernel(keyset, *args, **kwargs)
        return _through(handlers, op, partial(kernel, keyset), args, kwargs)

    return body


def _through(handlers: tuple[Handler, ...], op: OpOverload, proceed: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    busy = _busy.handlers
    for position, handler in enumerate(handlers):
        if handler in busy:
            continue  # called from this handler's own replacement: it does not see itself
        rest = handlers[position + 1 :]
        following = proceed if not rest else _following(rest, op, proceed)
        busy.add(handler)
        try:
            return handler.run(op, args, kwargs, following)
        finally:
            busy.discard(handler)
    return proceed(*args, **kwargs)


def _following(rest: tuple[Handler, ...], op: OpOverload, proceed: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: _through(rest, op, proceed, args, kwargs)


def install(
    op: OpOverload,
    key: str,
    handler: Handler,
    around: Callable[[Trampoline, Callable[..., Any]], Callable[..., Any]] = run_handlers,
) -> None:
    """Lets ``handler`` see the calls of ``op`` at ``key``, before those installed earlier."""
    with _lock:
        trampoline = _registered.get((op, key))
        if trampoline is None:
            trampoline = _registered[op, key] = Trampoline(op, key, around)
        trampoline.handlers = (handler, *trampoline.handlers)


def uninstall(op: OpOverload, key: str, handler: Handler) -> None:
    with _lock:
        trampoline = _registered.get((op, key))
        if trampoline is not None:
            trampoline.handlers = tuple(h for h in trampoline.handlers if h is not handler)


def purge() -> int:
    """Deregisters every kernel that no hook uses any more; the dispatch tables are then as if it had never been there.

    Call it only while no other thread runs operators: the dispatcher does not lock its tables against its callers.

    Returns:
        How many kernels were deregistered.
    """
    with _lock:
        # Newest first: a table entry goes back to what was there when the kernel came.
        idle = [place for place, trampoline in reversed(_registered.items()) if not trampoline.handlers]
        for place in idle:
            _compat.destroy(_registered.pop(place).library)
        return len(idle)


def purge_if_alone() -> None:
    """:func:`purge`, if this is the only Python thread."""
    if threading.active_count() == 1:
        purge()


def registered() -> list[tuple[str, str, bool]]:
    """(operator, key, in use) of every kernel this package has in the dispatcher."""
    with _lock:
        return [(op._name, key, bool(trampoline.handlers)) for (op, key), trampoline in _registered.items()]


def _accepting_numbers(op: OpOverload, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """``x + 1`` reaches a Python kernel as ``add.Tensor(x, 1)``, but a kernel called from Python wants a Tensor there."""
    if not _compat.takes_numbers(op):
        return kernel
    places = [i for i, a in enumerate(op._schema.arguments) if str(a.type) == "Tensor" and not a.kwarg_only]

    def call(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        for place in places:
            if place < len(args) and isinstance(args[place], (bool, int, float, complex)):
                tensors = [a for a in args if isinstance(a, torch.Tensor)]
                args = (*args[:place], _as_tensor(args[place], tensors), *args[place + 1 :])
        return kernel(keyset, *args, **kwargs)

    return call


def _as_tensor(number: bool | int | float | complex, tensors: list[torch.Tensor]) -> torch.Tensor:
    """A 0-dim tensor that promotes as the number would: in full precision where that gives the same dtype."""
    wide = torch.tensor(number, dtype=_WIDE[type(number)])
    if not tensors:
        return wide
    wanted = torch.result_type(tensors[0], number)
    return wide if torch.result_type(tensors[0], wide) == wanted else wide.to(wanted)


_WIDE = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
