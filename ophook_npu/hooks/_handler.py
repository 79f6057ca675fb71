"""What one hook does with one call. Mechanisms bring calls here; everything else about a hook is the same for all
of them."""

from __future__ import annotations

import inspect
import warnings
from collections import defaultdict
from collections.abc import Callable
from threading import get_ident
from typing import Any, Literal

import torch
from torch._ops import OpOverload

from ophook_npu.errors import OphookError
from ophook_npu.hooks._call import Call, Proceed, frames
from ophook_npu.hooks._check import ResultCheck, reshapes_argument, returns_several

OnMiss = Literal["handle", "warn", "raise", "ignore"]
Check = Literal["off", "new", "always"]
Around = Callable[[Any, tuple[Any, ...], dict[str, Any], Proceed], Any]


substitutions: list[Callable[[Any], None]] = []
"""Who is told the operator of each call before a hook's ``replace`` runs in its place."""


class MissWarning(UserWarning):
    """A call passed a hook unseen, or was seen only by doing more than asked (compiled code run eagerly)."""


class Handler:
    """Runs a hook's functions around one call and counts.

    ``run(op, args, kwargs, proceed)`` is the one entry: ``proceed(*args, **kwargs)`` is what would have run otherwise.

    ``around`` takes the place of ``before`` and ``after`` where a :class:`Call` for each call would cost more than what
    is done with it: it is ``run`` itself, and counts by itself; ``counted`` says how many.
    """

    def __init__(
        self,
        label: str,
        *,
        replace: Callable[..., Any] | None = None,
        before: Callable[[Call], None] | None = None,
        after: Callable[[Call], None] | None = None,
        when: Callable[[Call], bool] | None = None,
        around: Around | None = None,
        counted: Callable[[], int] | None = None,
        check: Check = "new",
        on_miss: OnMiss = "handle",
        reads: bool = True,
    ) -> None:
        self.label = label
        self.reads = reads  # whether its functions may compute with what a call gets and gives
        self.replace = replace
        self.before = before
        self.after = after
        self.when = when
        self.around = around
        self._counted = counted
        self._counted_before = 0
        self.on_miss = on_miss
        self._accepts = None if replace is None else _accepted_names(replace)
        # Set by mechanisms below autograd. There grad mode is still the caller's, but means nothing, and would keep
        # replacements from calling .numpy() on tensors that require grad.
        self.below_autograd = False
        self._checker = None if replace is None or check == "off" else ResultCheck(label, always=check == "always")
        # One slot a thread: += on a shared integer loses counts, a lock costs more than the call it counts.
        self._hits: dict[int, int] = defaultdict(int)
        self.misses: dict[str, int] = defaultdict(int)
        self.run: Around = self._observe if replace is None else self._substitute
        if around is not None:
            self.run = around if when is None else self._around_some
        if replace is not None and before is None and after is None and when is None:
            self.run = self._substitute_only

    @property
    def hits(self) -> int:
        hits = sum(list(self._hits.values()))
        return hits if self._counted is None else hits + self._counted() - self._counted_before

    def count(self, runs: int = 1) -> None:
        """Adds hits of calls that ran without passing :attr:`run` (operators rewritten inside a compiled graph)."""
        self._hits[get_ident()] += runs

    def counting(self, function: Callable[..., Any], runs: int) -> Callable[..., Any]:
        """``function``, each call of which adds hits as :meth:`count` does, for the price of one Python call."""
        hits = self._hits

        def run(*args: Any) -> Any:
            hits[get_ident()] += runs
            return function(*args)

        return run

    def reset(self, recorded: int | None = None) -> None:
        self._hits.clear()
        if recorded is None:
            recorded = 0 if self._counted is None else self._counted()
        self._counted_before = recorded
        self.misses.clear()

    def _observe(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Proceed) -> Any:
        call = Call(op, args, kwargs)
        if self.when is not None and not self.when(call):
            return proceed(*args, **kwargs)
        self._hits[get_ident()] += 1
        if self.before is not None:
            self.before(call)
        if self.after is None:
            return proceed(*call.args, **call.kwargs)
        call.result = proceed(*call.args, **call.kwargs)
        self.after(call)
        return call.result

    def _around_some(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Proceed) -> Any:
        assert self.when is not None and self.around is not None
        if not self.when(Call(op, args, kwargs)):
            return proceed(*args, **kwargs)
        return self.around(op, args, kwargs, proceed)

    def _substitute(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Proceed) -> Any:
        call = Call(op, args, kwargs)
        if self.when is not None and not self.when(call):
            return proceed(*args, **kwargs)
        if kwargs and self._accepts is not None:
            extra = [name for name in kwargs if name not in self._accepts and not _is_default(op, name, kwargs[name])]
            if extra and not _is_out(op):
                self.miss(f"{call.name} was called with {', '.join(extra)}, which the replacement does not take")
                return proceed(*args, **kwargs)
        self._hits[get_ident()] += 1
        if self.before is not None:
            self.before(call)
        call.result = self._replaced(op, call.args, call.kwargs, proceed)
        if self.after is not None:
            self.after(call)
        return call.result

    def _substitute_only(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Proceed) -> Any:
        """:meth:`_substitute` where nobody wants a :class:`Call`."""
        if kwargs:
            return self._substitute(op, args, kwargs, proceed)
        self._hits[get_ident()] += 1
        return self._replaced(op, args, kwargs, proceed)

    def _replaced(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Proceed) -> Any:
        replace = self.replace
        assert replace is not None
        for told in substitutions:
            told(op)
        stack = frames.stack
        own: list[Any] = []
        checker = self._checker
        several, promise = False, None
        if checker is not None and isinstance(op, OpOverload):
            several = returns_several(op)
            promise = checker.promise(op, args, kwargs) if reshapes_argument(op) else None
        if several:
            proceed = _recorded(proceed, own)
        quiet = self.below_autograd and torch._C.is_grad_enabled()
        stack.append((op, _as_called(proceed) if quiet else proceed))
        if quiet:
            torch._C._set_grad_enabled(False)
        try:
            if self._accepts is not None and kwargs:
                outs = [kwargs[name] for name in kwargs if name not in self._accepts and name in _out_names(op)]
                kwargs_taken = {name: value for name, value in kwargs.items() if name in self._accepts}
                result = replace(*args, **kwargs_taken)
                if outs:
                    result = _write_out(outs, result)
            else:
                result = replace(*args, **kwargs)
        finally:
            if quiet:
                torch._C._set_grad_enabled(True)
            stack.pop()
        if checker is not None:
            checker(op, args, kwargs, result, own, promise)
        return result

    def miss(self, reason: str, *, todo: str | None = None, handled: bool = True) -> None:
        """A call passes this hook unseen, for ``reason``: count it, and warn or raise as ``on_miss`` says.

        Args:
            handled: something was done about it, or it is as documented; if not, ``on_miss="handle"`` warns too.

        Raises:
            OphookError: ``on_miss="raise"``.
        """
        self.misses[reason] += 1
        if self.on_miss == "raise":
            raise OphookError(
                f"hook {self.label}", f"a call would pass unseen: {reason}", todo=todo or "on_miss='warn' lets it pass"
            )
        warns = self.on_miss == "warn" or (self.on_miss == "handle" and not handled)
        if warns and self.misses[reason] == 1:
            warnings.warn(f"[hook {self.label}] {reason}", MissWarning, stacklevel=4)


def _as_called(proceed: Proceed) -> Proceed:
    """``proceed`` with grad mode on, as the program called it: some kernels keep more for backward then, such as the
    indices of _sparse_mm_reduce_impl, without which its backward reads what is not there."""

    def run(*args: Any, **kwargs: Any) -> Any:
        found = torch._C.is_grad_enabled()
        torch._C._set_grad_enabled(True)
        try:
            return proceed(*args, **kwargs)
        finally:
            torch._C._set_grad_enabled(found)

    return run


def _recorded(proceed: Proceed, results: list[Any]) -> Proceed:
    def run(*args: Any, **kwargs: Any) -> Any:
        result = proceed(*args, **kwargs)
        results.append(result)
        return result

    return run


def takes(replace: Callable[..., Any], op: OpOverload) -> str | None:
    """``None`` if ``replace`` can be called with the required arguments of ``op``, or what is wrong.

    An ``.out`` overload is taken by a function without ``out``: its result is copied into what the caller gave.
    """
    try:
        signature = inspect.signature(replace)
    except (TypeError, ValueError):
        return None  # a builtin without a signature: the call itself will tell
    arguments = op._schema.arguments
    positional = [a for a in arguments if not a.kwarg_only and not a.has_default_value()]
    keywords = [a.name for a in arguments if a.kwarg_only and not a.has_default_value() and not a.is_out]
    outs = [a.name for a in arguments if a.is_out]
    for names in (keywords + outs, keywords):
        try:
            signature.bind(*([None] * len(positional)), **dict.fromkeys(names))
            return None
        except TypeError as error:
            problem = str(error)
    return problem


def _accepted_names(replace: Callable[..., Any]) -> frozenset[str] | None:
    """Keyword names a replacement takes; ``None`` if it takes any."""
    if isinstance(replace, OpOverload):
        return frozenset(a.name for a in replace._schema.arguments)
    try:
        parameters = inspect.signature(replace).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))


def _out_names(op: Any) -> tuple[str, ...]:
    return tuple(a.name for a in op._schema.arguments if a.is_out) if isinstance(op, OpOverload) else ()


def _is_out(op: Any) -> bool:
    return bool(_out_names(op))


def _is_default(op: Any, name: str, value: Any) -> bool:
    """A keyword the caller spelled out although it is the default says nothing the replacement would have to know."""
    if not isinstance(op, OpOverload):
        return False
    for argument in op._schema.arguments:
        if argument.name == name:
            return (
                argument.has_default_value()
                and type(argument.default_value) is type(value)
                and argument.default_value == value
            )
    return False


def _write_out(outs: list[torch.Tensor], result: Any) -> Any:
    results = result if isinstance(result, (tuple, list)) else (result,)
    for out, value in zip(outs, results, strict=True):
        if out.shape != value.shape:
            out.resize_(value.shape)
        out.copy_(value)
    return outs[0] if len(outs) == 1 else tuple(outs)
