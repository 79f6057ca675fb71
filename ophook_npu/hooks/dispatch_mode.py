"""``via="dispatch_mode"``: a ``TorchDispatchMode`` sees every operator below autograd on the thread that enabled it."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from ophook_npu.hooks import _batching, _compat, _opaque, _stance
from ophook_npu.hooks._handler import Handler
from ophook_npu.hooks._protocol import Installed, Spec
from ophook_npu.hooks._tracing import entering, has_nested
from ophook_npu.hooks.targets import is_composite, is_dispatched, is_one_composite
from ophook_npu.plural import counted

__all__ = ["KINDS", "NAME", "OPTIONS", "SEES", "SUMMARY", "install", "refuse"]

NAME = "dispatch_mode"
SUMMARY = "a TorchDispatchMode: every operator below autograd, on this thread"
KINDS = frozenset({"op"})
SEES = {
    "compile": "compiled functions run eagerly while the hook is on",
    "autograd": "yes",
    "threads": "a dispatch mode belongs to one thread",
    "vmap": "yes",
    "inference": "yes",
}
OPTIONS: dict[str, str] = {}


def refuse(spec: Spec) -> str | None:
    assert spec.targets is not None
    if is_one_composite(spec.targets):
        return (
            f"{spec.targets.label} is composite: it is taken apart above the level of dispatch modes; "
            "hook the operators it calls, or use via='impl_override' or via='custom_op'"
        )
    return None


def install(spec: Spec) -> Installed:
    return _InMode(spec)


class _InMode:
    per_thread = True

    def __init__(self, spec: Spec) -> None:
        assert spec.targets is not None
        self._ops = tuple(op for op in spec.targets.ops if not is_composite(op))
        self._handler = spec.handler
        spec.handler.below_autograd = True
        self._local = threading.local()
        self.notes: list[str] = []
        composite = len(spec.targets.ops) - len(self._ops)
        if composite:
            self.notes.append(
                f"seen as the operators they call: {counted(composite, 'composite operator')} among the targets"
            )

    def enable(self) -> None:
        with contextlib.ExitStack() as undo:
            _stance.enter(undo, _stance.for_unseen_regions(self._handler))
            _batching.install(undo, self._ops, self._handler)
            stack = _compat.modes()
            kind = _EagerRouter if self._handler.on_miss == "handle" else _Router
            # Hooks enabled in a row share one mode: two modes cost twice, and one of a list can leave it in any order.
            if stack and type(stack[-1]) is kind:
                router = stack[-1]
            else:
                router = kind()
                _compat.enter_mode(router)
            undo.callback(self._leave, router)
            router.add(self._handler, self._ops)
            self._local.undo = undo.pop_all()

    def disable(self) -> None:
        self._local.undo.close()

    def _leave(self, router: Any) -> None:
        router.remove(self._handler)
        if not router.entries:
            _compat.leave_mode(router)

    def remove(self) -> None:
        from ophook_npu.hooks import _trampoline

        _trampoline.purge_if_alone()


Run = Callable[[OpOverload, Any, Any, Callable[..., Any]], Any]


class _Plan:
    """What to do with each operator. Composite ones (they arrive in inference mode) and stand-ins are taken apart.

    Operators are told by identity: their hash is a function in Python, which each call would pay for. What runs them is
    what their own ``__call__`` in Python only hands on to.
    """

    def __init__(self, router: Any) -> None:
        self._router = router
        self._known: dict[int, tuple[Any, Callable[..., Any], Run | None]] = {}
        self.find = self._known.get  # an operator is kept, so that its identity stays its own

    def put(self, op: Any, run: Run | None) -> tuple[Any, Callable[..., Any], Run | None]:
        found = self._known[id(op)] = op, op._op if type(op) is OpOverload else op, run
        return found

    def make(self, op: Any) -> tuple[Any, Callable[..., Any], Run | None]:
        if isinstance(op, HigherOrderOperator):
            return self.put(op, self._router.look_inside)
        apart = op in _opaque.bodies or (isinstance(op, OpOverload) and is_composite(op))
        return self.put(op, self._router.take_apart if apart else None)


class _RouterMixin:
    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[tuple[Handler, frozenset[OpOverload]]] = []  # newest last
        self.plan = _Plan(self)
        self.find = self.plan.find

    def add(self, handler: Handler, ops: tuple[OpOverload, ...]) -> None:
        self.entries.append((handler, frozenset(ops)))
        self._rebuild()

    def remove(self, handler: Handler) -> None:
        self.entries = [entry for entry in self.entries if entry[0] is not handler]
        self._rebuild()

    def _rebuild(self) -> None:
        plan = _Plan(self)
        for handler, ops in self.entries:
            for op in ops:
                inner = (plan.find(id(op)) or (op, op, None))[2]
                run = _resolved(handler.run) if handler.reads and _is_lazy(op) else handler.run
                plan.put(op, run if inner is None else _around(run, inner))
        self.plan, self.find = plan, plan.find

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _, proceed, run = self.find(id(func)) or self.plan.make(func)
        if run is None:
            return proceed(*args, **kwargs) if kwargs else proceed(*args)
        return run(func, args, {} if kwargs is None else kwargs, proceed)

    def take_apart(self, op: Any, args: Any, kwargs: Any, proceed: Any) -> Any:
        body = _opaque.bodies.get(op)
        if body is None:
            if any(map(has_nested, (*args, *kwargs.values()))):
                return proceed(*args, **kwargs)
            body = op.decompose
        with self:  # type: ignore[attr-defined]
            result = body(*args, **kwargs)
        return proceed(*args, **kwargs) if result is NotImplemented else result

    def look_inside(self, op: Any, args: Any, kwargs: Any, proceed: Any) -> Any:
        args, kwargs = entering(self, (args, kwargs))
        return proceed(*args, **kwargs)


class _Router(_RouterMixin, TorchDispatchMode):
    """Leaves compiled code alone; what is to be done about it is the stance's business."""

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    if not _compat.HAS_IGNORE_COMPILE_INTERNALS:

        @classmethod
        def is_infra_mode(cls) -> bool:
            return True

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if _compat.is_compiling_here():
                return func(*args, **(kwargs or {}))
            return super().__torch_dispatch__(func, types, args, kwargs)


class _EagerRouter(_RouterMixin, TorchDispatchMode):
    """Used while compiled functions run eagerly, so that nothing of Dynamo needs to be kept off the handlers."""

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


# Keys above Python: they compute what a tensor stands for that is conjugate or negative by a bit only, or zero without
# memory. In a mode torch has them off: a sum over the first would be that of other numbers, and one over the last ends
# the process. Only operators that these keys let through see such tensors, or the one that makes them.
_LAZY = tuple(torch._C.DispatchKey.__members__[name] for name in ("Conjugate", "Negative", "ZeroTensor"))
_is_off, _turn_off = torch._C._dispatch_tls_is_dispatch_key_excluded, torch._C._dispatch_tls_set_dispatch_key_excluded


@functools.cache
def _is_lazy(op: OpOverload) -> bool:
    has, passes = (
        getattr(torch._C, f"_dispatch_{name}")
        for name in ("has_kernel_for_dispatch_key", "kernel_for_dispatch_key_is_fallthrough")
    )
    names = [(op._name, key.name) for key in _LAZY] if is_dispatched(op) else []
    return op is torch.ops.aten._efficientzerotensor.default or any(has(*one) and passes(*one) for one in names)


def _resolved(run: Run) -> Run:
    """``run`` with these keys on, so that its arithmetic is that of the program."""

    conjugate, negative, zero = _LAZY

    def resolved(op: Any, args: Any, kwargs: Any, proceed: Any) -> Any:
        if not _is_off(conjugate):  # inside another one: a mode has all three off
            return run(op, args, kwargs, proceed)
        _turn_off(conjugate, False)
        _turn_off(negative, False)
        _turn_off(zero, False)
        try:
            return run(op, args, kwargs, proceed)
        finally:
            _turn_off(conjugate, True)
            _turn_off(negative, True)
            _turn_off(zero, True)

    return resolved


def _around(run: Run, inner: Run) -> Run:
    """``run`` newest and outermost around ``inner``: modes run innermost (newest) first."""

    def both(op: Any, args: Any, kwargs: Any, proceed: Any) -> Any:
        return run(op, args, kwargs, lambda *a, **k: inner(op, a, k, proceed))

    return both
