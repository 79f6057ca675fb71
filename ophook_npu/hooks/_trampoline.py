"""Python kernels registered once for each operator and place in the dispatcher, and switched by a table of handlers.

Taking a kernel out of the dispatcher while another thread runs the operator crashes the process, so hooks come and
go in the table, and the kernel itself is deregistered by :func:`purge` alone.

The place is the key ``BackendSelect``: it is in the key set of every call, is a fall-through for all operators but the
factories, and lies below autograd, dispatch modes and vmap, right above the backends. So one kernel serves every
device, and what it stands in front of is reached by redispatching, which releases the GIL. A kernel at the
backend's own key would have to call its predecessor through ``torch.library.get_kernel``, which keeps the GIL:
other threads wait, and a C++ kernel that calls a hooked operator from its worker threads never returns.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
from torch._ops import OpOverload

from ophook_npu.hooks import _compat
from ophook_npu.hooks._handler import Handler
from ophook_npu.hooks._tracing import is_traced
from ophook_npu.hooks.targets import is_composite

KernelFunction = Callable[..., Any]
Body = Callable[["Trampoline"], KernelFunction]

_DispatchKey = torch._C.DispatchKey


class _Busy(threading.local):
    def __init__(self) -> None:
        self.handlers: set[Handler] = set()


class _Everyone(set[Handler]):
    def __contains__(self, handler: object) -> bool:
        return True


_EVERYONE = _Everyone()
_busy = _Busy()
_lock = threading.RLock()
_registered: dict[tuple[OpOverload, str], Trampoline] = {}


class Trampoline:
    """The kernel of one operator at one place.

    Attributes:
        handlers: by backend key, those whose hook is on, newest first. Replaced as a whole, never changed in place: the
            kernel reads it without a lock.
    """

    def __init__(self, op: OpOverload, place: str, body: Body) -> None:
        self.op = op
        self.place = place
        self.handlers: dict[Any, tuple[Handler, ...]] = {}
        space, name = op._name.split("::")
        kernel = body(self)
        self.library = torch.library.Library(space, "IMPL")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"(?s).*Overriding a previously registered kernel.*")
            self.library.impl(name, kernel, place, with_keyset=True)


def refuses(op: OpOverload) -> str | None:
    """Why ``op`` cannot have a Python kernel, or ``None``."""
    if op._name in ("aten::detach", "aten::alias"):
        # Tensor._make_subclass and as_subclass give what the kernel returns its Python type, which a tensor gets once:
        # nn.Parameter, the fake tensors of torch.compile and tensors of a program's own class could no longer be made,
        # also after the hook is off.
        return "torch gives what it returns another class, a parameter's, which must not have been in Python before"
    return None


def install(op: OpOverload, backend: str, handler: Handler) -> None:
    """Lets ``handler`` see the calls of ``op`` on a backend, before those installed earlier."""
    for place, body in _places(op, backend):
        add(op, place, body, getattr(_DispatchKey, backend), handler)


def uninstall(op: OpOverload, backend: str, handler: Handler) -> None:
    for place, _ in _places(op, backend):
        drop(op, place, getattr(_DispatchKey, backend), handler)


def add(op: OpOverload, place: str, body: Body, key: Any, handler: Handler) -> None:
    with _lock:
        trampoline = _registered.get((op, place))
        if trampoline is None:
            trampoline = _registered[op, place] = Trampoline(op, place, body)
        trampoline.handlers = {**trampoline.handlers, key: (handler, *trampoline.handlers.get(key, ()))}


def drop(op: OpOverload, place: str, key: Any, handler: Handler) -> None:
    with _lock:
        trampoline = _registered.get((op, place))
        if trampoline is not None:
            left = tuple(h for h in trampoline.handlers.get(key, ()) if h is not handler)
            others = {k: v for k, v in trampoline.handlers.items() if k != key}
            trampoline.handlers = {**others, key: left} if left else others


class Blindfold:
    """Makes handlers blind to what an operator's own implementation calls."""

    def __init__(self, handlers: list[Handler]) -> None:
        self._handlers = handlers
        self._keys = [torch._C._dispatch_key_for_device(device) for device in _compat.devices()]

    def install(self, op: OpOverload) -> None:
        for key in self._keys:
            install(op, key, self)  # type: ignore[arg-type]

    def uninstall(self, op: OpOverload) -> None:
        for key in self._keys:
            uninstall(op, key, self)  # type: ignore[arg-type]

    def run(self, op: OpOverload, args: Any, kwargs: Any, proceed: KernelFunction) -> Any:
        busy = _busy.handlers
        mine = [handler for handler in self._handlers if handler not in busy]
        busy.update(mine)
        try:
            return proceed(*args, **kwargs)
        finally:
            busy.difference_update(mine)


class _Unhooked:
    def __enter__(self) -> None:
        self._found, _busy.handlers = _busy.handlers, _EVERYONE

    def __exit__(self, *exc: object) -> None:
        _busy.handlers = self._found


class _Untraced(_Unhooked):
    def __enter__(self) -> None:
        super().__enter__()
        self._modes = torch.utils._python_dispatch._disable_current_modes()
        self._modes.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._modes.__exit__(*exc)
        super().__exit__(*exc)


_AS_IT_IS = nullcontext()


def unhooked() -> AbstractContextManager[None]:
    """No handler sees what this thread calls meanwhile, and no tracer records it: the arithmetic of an observer is not
    the program's."""
    if is_traced():
        return _Untraced()
    return _Unhooked() if _registered else _AS_IT_IS


def purge() -> int:
    """Deregisters every kernel that no hook uses any more; the dispatch tables are then as if it had never been there.

    Call it only while no other thread runs operators: the dispatcher does not lock its tables against its callers.

    Returns:
        How many kernels were deregistered.
    """
    with _lock:
        # Newest first: a table entry goes back to what was there when the kernel came.
        idle = [slot for slot, trampoline in reversed(_registered.items()) if not trampoline.handlers]
        for slot in idle:
            _compat.destroy(_registered.pop(slot).library)
        return len(idle)


def purge_if_alone() -> None:
    """:func:`purge`, if this is the only Python thread."""
    if threading.active_count() == 1:
        purge()


def registered() -> list[tuple[str, str, bool]]:
    """(operator, dispatch key, in use) of every kernel this package has in the dispatcher."""
    with _lock:
        return [(op._name, place, bool(trampoline.handlers)) for (op, place), trampoline in _registered.items()]


def _places(op: OpOverload, backend: str) -> list[tuple[str, Body]]:
    if is_composite(op):
        # A composite operator is a program at the autograd key; below it, only inference mode arrives.
        return [("Autograd" + backend, _composite), ("BackendSelect", _composite)]
    if torch._C._dispatch_has_kernel_for_dispatch_key(op._name, "BackendSelect"):
        if (op, "BackendSelect") in _registered or not _compat.HAS_GET_KERNEL:
            return [("BackendSelect", _selecting)]
        return [(backend, _factory)]
    return [("BackendSelect", _ordinary)]


def _ordinary(trampoline: Trampoline) -> KernelFunction:
    op = trampoline.op
    redispatch = _accepting_numbers(op, op.redispatch)
    routes: dict[int, tuple[Any, Any]] = {}

    def body(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            below, backend = routes[keyset.raw_repr()]
        except KeyError:
            below, backend = routes[keyset.raw_repr()] = _below_backend_select(keyset)
        # A fake tensor's kernel runs with the key Meta, for which no handler is installed.
        handlers = trampoline.handlers.get(backend)
        if handlers is None:
            return redispatch(below, *args, **kwargs)
        return _through(handlers, op, partial(redispatch, below), args, kwargs)

    return body


def _composite(trampoline: Trampoline) -> KernelFunction:
    op = trampoline.op
    is_autograd = trampoline.place.startswith("Autograd")
    key = getattr(_DispatchKey, trampoline.place.removeprefix("Autograd")) if is_autograd else None

    def body(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        handlers = trampoline.handlers.get(key or _below_backend_select(keyset)[1])
        # Above autograd the fake tensors of torch.compile come by too, which replacements cannot compute with.
        if handlers is None or (is_autograd and _compat.is_compiling_here()):
            return op.decompose(*args, **kwargs)
        return _through(handlers, op, op.decompose, args, kwargs)

    return body


def _factory(trampoline: Trampoline) -> KernelFunction:
    op = trampoline.op
    key = getattr(_DispatchKey, trampoline.place)
    found = _compat.kernel(op, trampoline.place)
    assert found is not None  # else _selecting
    kernel = _accepting_numbers(op, found)

    def body(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        handlers = trampoline.handlers.get(key)
        if handlers is None:
            return kernel(keyset, *args, **kwargs)
        return _through(handlers, op, partial(kernel, keyset), args, kwargs)

    return body


def _selecting(trampoline: Trampoline) -> KernelFunction:
    """A factory's kernel where the device's own cannot be asked for: in place of what chooses the device."""
    op = trampoline.op
    redispatch = _accepting_numbers(op, op.redispatch)
    choose = _compat.backend_of_factory(op)

    def body(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        below = choose(keyset, args, kwargs)
        handlers = trampoline.handlers.get(below.highestPriorityTypeId())
        if handlers is None:
            return redispatch(below, *args, **kwargs)
        return _through(handlers, op, partial(redispatch, below), args, kwargs)

    return body


def _through(handlers: tuple[Handler, ...], op: OpOverload, proceed: KernelFunction, args: Any, kwargs: Any) -> Any:
    busy = _busy.handlers
    if len(handlers) == 1:  # the common case, without the loop
        handler = handlers[0]
        if handler in busy:
            return proceed(*args, **kwargs)
        busy.add(handler)
        try:
            return handler.run(op, args, kwargs, proceed)
        finally:
            busy.discard(handler)
    for position, handler in enumerate(handlers):
        if handler in busy:
            continue  # called from inside this handler, or from inside the kernel it let run
        rest = handlers[position + 1 :]
        following = proceed if not rest else _following(rest, op, proceed)
        busy.add(handler)
        try:
            return handler.run(op, args, kwargs, following)
        finally:
            busy.discard(handler)
    return proceed(*args, **kwargs)


def _following(rest: tuple[Handler, ...], op: OpOverload, proceed: KernelFunction) -> KernelFunction:
    return lambda *args, **kwargs: _through(rest, op, proceed, args, kwargs)


_AFTER = torch._C._dispatch_keyset_full_after(_DispatchKey.BackendSelect)


def _below_backend_select(keyset: Any) -> tuple[Any, Any]:
    # The Python dispatcher stays in the set: what asks it about each kernel, dispatch.trace and torch.export, is asked
    # about the backend's too. It is no key that a handler is kept under.
    below = keyset & _AFTER
    return below, below.remove(_DispatchKey.PythonDispatcher).highestPriorityTypeId()


def _accepting_numbers(op: OpOverload, kernel: KernelFunction) -> KernelFunction:
    """A number that stands for a tensor (``x + 1``, and what kernels in C++ make of a Scalar) reaches a Python kernel
    as a number, ``add.Tensor(x, 1)``; but a kernel called from Python wants a Tensor there."""
    places = [i for i, a in enumerate(op._schema.arguments) if str(a.type) == "Tensor" and not a.kwarg_only]
    if not places:
        return kernel
    narrow = op.namespace == "prims"  # which ask for one dtype of all their arguments

    def call(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        for place in places:
            if place < len(args) and type(args[place]) in _WIDE:
                tensors = [a for a in args if isinstance(a, torch.Tensor)]
                args = (*args[:place], _as_tensor(args[place], tensors, narrow), *args[place + 1 :])
        return kernel(keyset, *args, **kwargs)

    return call


def _as_tensor(number: bool | int | float | complex, tensors: list[torch.Tensor], narrow: bool) -> torch.Tensor:
    """A 0-dim tensor that promotes as the number would: in full precision where that gives the same dtype, unless
    ``narrow``."""
    wide = torch.tensor(number, dtype=_WIDE[type(number)])
    if not tensors:
        return wide
    wanted = torch.result_type(tensors[0], number)
    return wide if not narrow and torch.result_type(tensors[0], wide) == wanted else wide.to(wanted)


_WIDE = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
