"""``hook()`` and the ``Hook`` it returns."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable
from typing import Any

from torch import nn
from torch._ops import OpOverload
from typing_extensions import Unpack

from ophook_npu.errors import OphookError
from ophook_npu.hooks import _choose
from ophook_npu.hooks._call import Call
from ophook_npu.hooks._handler import Around, Check, Handler, OnMiss, takes
from ophook_npu.hooks._protocol import NEEDS, Mechanism, MechanismOptions, Spec, refuse_unknown
from ophook_npu.hooks.targets import Targets, resolve
from ophook_npu.plural import counted


class Hook:
    """A hook on operators, modules or patterns. Made by :func:`hook`; off until enabled.

    ``with h:`` enables it for the block and nests, also with itself; ``@h`` enables it for each call of a function.
    ``enable()`` and ``disable()`` do the same without a block; ``remove()`` disables it for good. Hooks may be
    enabled and disabled in any order; everything is as before when the last one is off.

    Attributes:
        hits: calls that ran the hook's functions since it was made (or since :meth:`reset`).
        misses: calls that passed it unseen, by reason.
        why: how it works here and why that mechanism was chosen.
        via: the mechanism's name.
    """

    def __init__(self, spec: Spec, mechanism: Mechanism, why: str) -> None:
        self.via: str = mechanism.NAME
        self.label = spec.label
        self._handler = spec.handler
        self._installed = mechanism.install(spec)
        self.why = ". ".join([why, *self._installed.notes])
        self.ops: tuple[OpOverload, ...] = spec.targets.ops if spec.targets is not None else ()
        self._depths: dict[int | None, int] = {}
        self._lock = threading.RLock()
        self._removed = False

    @property
    def hits(self) -> int:
        """Calls that ran the hook's functions since it was made or reset."""
        return self._handler.hits

    @property
    def misses(self) -> dict[str, int]:
        """Reason -> calls that passed the hook unseen."""
        return dict(self._handler.misses)

    @property
    def enabled(self) -> bool:
        """On now; for mechanisms that belong to a thread: on in this thread."""
        return self._depths.get(self._place(), 0) > 0

    def reset(self, *, recorded: int | None = None) -> None:
        """Sets ``hits`` and ``misses`` to zero.

        recorded: how many calls the hook's recorder held when it was last cleared, for who clears it: calls that other
        threads make in between are then in ``hits``, as they are in the recorder.
        """
        self._handler.reset(recorded)

    def enable(self) -> Hook:
        """Turns the hook on, if it is off.

        Raises:
            OphookError: it was removed, or this is inside a function that torch.compile is running.
        """
        with self._lock:
            if not self._depths.get(self._place()):
                self._switch_on()
        return self

    def disable(self) -> None:
        """Turns the hook off, if it is on, also inside its own ``with``."""
        with self._lock:
            if self._depths.pop(self._place(), 0):
                self._installed.disable()

    def remove(self) -> None:
        """Turns the hook off for good and gives back what it holds.

        Raises:
            OphookError: another thread is still inside it.
        """
        with self._lock:
            self.disable()
            if self._depths:
                raise OphookError(
                    f"hook {self.label}",
                    "another thread still has it enabled",
                    todo="disable it there first, then remove it",
                )
            if not self._removed:
                self._removed = True
                self._installed.remove()

    def __enter__(self) -> Hook:
        with self._lock:
            place = self._place()
            if self._depths.get(place):
                self._depths[place] += 1
            else:
                self._switch_on()
        return self

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            place = self._place()
            depth = self._depths.get(place, 0)
            if depth > 1:
                self._depths[place] = depth - 1
            else:
                self.disable()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def hooked(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return hooked

    def backend(self, inner: str | Callable[..., Any] = "inductor") -> Callable[..., Any]:
        """A backend for ``torch.compile(…, backend=…)`` that hooks the graph and hands it to ``inner``.

        The compiled code obeys ``enable()`` and ``disable()`` at run time if the mechanism is ``dynamo``; a pattern is
        rewritten for good.

        Raises:
            OphookError: the mechanism does not work on graphs, or torch.compile has no backend of that name.
        """
        make = getattr(self._installed, "backend", None)
        if make is None:
            raise OphookError(
                f"hook {self.label}",
                f"{self.via} does not work on graphs",
                allowed="via='dynamo' or via='pattern_rewrite'",
            )
        made: Callable[..., Any] = make(inner)
        return made

    def _place(self) -> int | None:
        return threading.get_ident() if self._installed.per_thread else None

    def _switch_on(self) -> None:
        if self._removed:
            raise OphookError(f"hook {self.label}", "it was removed", todo="make a new one with ophook_npu.hook()")
        self._installed.enable()
        self._depths[self._place()] = 1

    def __repr__(self) -> str:
        state = "removed" if self._removed else "on" if self.enabled else "off"
        return f"<Hook {self.label} via {self.via}, {state}, {counted(self.hits, 'hit')}>"


def hook(
    target: Any,
    *,
    replace: Callable[..., Any] | None = None,
    before: Callable[[Call], None] | None = None,
    after: Callable[[Call], None] | None = None,
    when: Callable[[Call], bool] | None = None,
    via: str = "auto",
    needs: Iterable[str] = (),
    on_miss: OnMiss = "handle",
    check: Check = "new",
    **options: Unpack[MechanismOptions],
) -> Hook:
    """A hook on an operator, a set of operators, modules or a pattern of operators. Use it with ``with``.

    Args:
        target: an overload, a packet (all its overloads), ``"aten::mm"``, ``"aten::add.Tensor"``, a glob such as
            ``"aten::*_backward"``, a ``torch.Tag``, a namespace, or a list of these · a module, a module class or
            ``(model, "layers.*.attn")`` · a Python function, as a pattern of operators.
        replace: runs instead, with the operator's own arguments; inside, :func:`original` is what would have run.
            A function without ``out`` also serves the ``.out`` overloads: its result is copied.
        before, after: get the :class:`Call`; may assign ``call.args`` and ``call.kwargs``, or ``call.result``.
            ``after`` is not run for a call that raised.
        when: asked for each call; ``False`` lets it pass untouched and uncounted.
        via: ``"auto"`` or a mechanism; see docs/choosing.md.
        needs: what must be seen, of ``compile``, ``autograd``, ``threads``, ``vmap``, ``inference``.
        on_miss: for calls the mechanism would not see by itself: ``"handle"`` makes them seen, quietly; ``"warn"``
            makes them seen if it can and warns once; ``"raise"`` refuses; ``"ignore"`` lets them pass.
        check: compare what ``replace`` returns with the operator's schema and meta kernel: for each ``"new"``
            combination of shapes and dtypes, ``"always"``, or ``"off"``.
        options: for the mechanism, such as ``devices=["cpu"]`` for ``impl_override``.

    Raises:
        OphookError: unknown target (with near matches), a ``replace`` that cannot take the operator's arguments, or
            needs that no mechanism, or not the chosen one, can meet.
    """
    return Hook(
        *plan(target, replace, before, after, when, via=via, needs=needs, on_miss=on_miss, check=check, **options)
    )


_KEYWORDS = inspect.getfullargspec(hook).kwonlyargs


def plan(
    target: Any,
    replace: Callable[..., Any] | None = None,
    before: Callable[[Call], None] | None = None,
    after: Callable[[Call], None] | None = None,
    when: Callable[[Call], bool] | None = None,
    *,
    around: Around | None = None,
    counted: Callable[[], int] | None = None,
    via: str = "auto",
    needs: Iterable[str] = (),
    on_miss: OnMiss = "handle",
    check: Check = "new",
    reads: bool = True,
    **options: Unpack[MechanismOptions],
) -> tuple[Spec, Mechanism, str]:
    """What :func:`hook` would make, with everything checked and nothing installed: spec, mechanism, why.

    ``around``, ``counted`` and ``reads`` are for this package's observers: see :class:`Handler`.
    """
    label = _label(target)
    where = f"hook {label}"
    refuse_unknown(where, options, {*_KEYWORDS, *MechanismOptions.__annotations__})
    if replace is None and before is None and after is None and around is None:
        raise OphookError(
            where, "nothing to do", allowed="replace=, before= or after=", todo="give at least one of them"
        )
    _one_of(where, "on_miss", on_miss, ("handle", "warn", "raise", "ignore"))
    _one_of(where, "check", check, ("off", "new", "always"))
    wanted = frozenset([needs] if isinstance(needs, str) else needs)
    for need in sorted(wanted):
        _one_of(where, "need", need, NEEDS)
    handler = Handler(
        label, replace=replace, before=before, after=after, when=when, around=around, counted=counted, check=check,
        on_miss=on_miss, reads=reads,
    )  # fmt: skip
    spec = Spec(label, "op", handler, needs=wanted, options={**options})
    if _is_modules(target):
        spec.kind, spec.modules = "module", target
    elif _is_pattern(target):
        spec.kind, spec.pattern = "pattern", target
    else:
        spec.targets = resolve(target)
        if replace is not None:
            spec.targets = _taken_by(replace, spec.targets, where)
    mechanism, why = _choose.choose(spec, via)
    return spec, mechanism, why


def _taken_by(replace: Callable[..., Any], targets: Targets, where: str) -> Targets:
    problems = {op: takes(replace, op) for op in targets.ops}
    good = [op for op, problem in problems.items() if problem is None]
    if not good or (targets.explicit and len(good) < len(targets.ops)):
        op, problem = next((op, problem) for op, problem in problems.items() if problem is not None)
        raise OphookError(
            where,
            f"the replacement cannot be called like {op._name}: {problem}",
            allowed=str(op._schema),
            todo="give it the operator's own arguments",
        )
    return Targets(targets.label, good, targets.explicit)


def _is_modules(target: Any) -> bool:
    return (
        isinstance(target, nn.Module)
        or (isinstance(target, type) and issubclass(target, nn.Module))
        or (
            isinstance(target, tuple)
            and len(target) == 2
            and isinstance(target[0], nn.Module)
            and isinstance(target[1], str)
        )
    )


def _is_pattern(target: Any) -> bool:
    import types

    return isinstance(target, (types.FunctionType, functools.partial))


def _label(target: Any) -> str:
    if isinstance(target, OpOverload):
        return target._name
    if isinstance(target, nn.Module):
        return type(target).__name__
    if isinstance(target, tuple) and len(target) == 2 and isinstance(target[1], str):
        return f"{type(target[0]).__name__}:{target[1]}"
    return getattr(target, "_qualified_op_name", None) or getattr(target, "__name__", None) or str(target)[:80]


def _one_of(where: str, what: str, given: Any, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        raise OphookError(where, f"unknown {what} {given!r}", allowed=", ".join(allowed))
