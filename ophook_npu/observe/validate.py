"""Find the call where something first goes wrong: NaN, infinity, overflow on a cast, a surprising dtype or device."""

from __future__ import annotations

import cmath
import dataclasses
import math
import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping
from threading import get_ident
from typing import Any, Literal

import torch
from typing_extensions import Unpack

from ophook_npu.errors import OphookError
from ophook_npu.hooks import Call
from ophook_npu.hooks._call import Proceed
from ophook_npu.hooks._tracing import is_ragged
from ophook_npu.hooks._trampoline import unhooked
from ophook_npu.observe._debug import debug
from ophook_npu.observe._describe import brief, columns, has_memory, is_real, tensors, user_stack
from ophook_npu.observe._observer import EVERYTHING, Filters, Observer
from ophook_npu.observe._operators import computed, leaves_memory_unwritten, only_moves, written
from ophook_npu.plural import counted

_Tensor = torch.Tensor
_strided = torch.strided
_NOTHING: dict[str, str | None] = {}
CHECKS = ("nan", "inf", "overflow", "dtype", "device")
Contract = Callable[[Call], "str | None"]


class ValidateWarning(UserWarning):
    """A call that :class:`Validate` objects to."""


@dataclasses.dataclass
class Problem:
    """One call that broke a rule.

    Attributes:
        kind: one of :data:`CHECKS`, or ``contract``.
        op, phase, module: of the call.
        text: what is wrong.
        inputs: the arguments as text.
        stack: ``(file, line, function)`` of the user's frames, outermost first.
        number: which of the calls that were looked at it was, from 1.
        node: in a compiled graph, the node, as in :attr:`Call.node`.
    """

    kind: str
    op: str
    phase: str
    module: str | None
    text: str
    inputs: list[str]
    stack: list[tuple[str, int, str]]
    number: int
    node: str | None = None

    def __str__(self) -> str:
        where = f" in {self.module or '(root)'}" if self.module is not None else ""
        place = ""
        if self.stack:
            file, line, function = self.stack[-1]
            place = f", called from {os.path.basename(file)}:{line} {function}"
        node = f", {self.node}" if self.node is not None else ""
        return f"{self.op} ({self.phase}{where}{node}): {self.text}{place}"


class Validate(Observer):
    """Looks at each result, and says in which call a problem is born.

    Args:
        target, modules, phase, every, via, on_miss: see :class:`Observer`.
        mode: on a problem ``"warn"``, ``"raise"`` (an :class:`OphookError`, from inside the program) or ``"record"``.
        checks: which of ``nan``, ``inf``, ``overflow`` (a cast made infinity of a finite value), ``dtype`` (a result
            of more bits than every floating-point argument), ``device`` (a result elsewhere than the arguments,
            other than by a copy).
        contracts: operator name -> function of the :class:`Call` that returns what is wrong, or ``None``.
        debugger: stop in the debugger at a problem, in the line of the program that made the call.
        limit: how many problems to keep; later ones only count.

    A NaN or infinity that an argument already had (as a tensor's element or as a number) is *inherited*: counted in
    :attr:`inherited`, not a problem. Memory that nobody has written yet (``empty``) is not looked at. Reading a
    result means
    waiting for it: on an accelerator the program runs in step with the host.
    """

    NAME = "validate"
    COMPUTES = True

    def __init__(
        self,
        target: Any = EVERYTHING,
        *,
        mode: Literal["warn", "raise", "record"] = "warn",
        checks: tuple[str, ...] = CHECKS,
        contracts: Mapping[str, Contract] | None = None,
        debugger: bool = False,
        limit: int = 1000,
        **filters: Unpack[Filters],
    ) -> None:
        if mode not in ("warn", "raise", "record"):
            raise OphookError("validate", f"unknown mode {mode!r}", allowed="warn, raise, record")
        for check in checks:
            if check not in CHECKS:
                raise OphookError("validate", f"unknown check {check!r}", allowed=", ".join(CHECKS))
        self.problems: list[Problem] = []
        self.inherited = 0
        self.found = 0
        self._mode = mode
        self._checks = frozenset(checks)
        self._contracts = dict(contracts or {})
        self._looks_at_values = not self._checks.isdisjoint({"nan", "inf", "overflow"})
        self._looks_at_kinds = not self._checks.isdisjoint({"dtype", "device"})
        self._calls: dict[int, int] = defaultdict(int)  # by thread: += on a shared one would lose counts
        self._plans: dict[int, tuple[Any, frozenset[str], bool, bool, Contract | None]] = {}
        self._debugger = debugger
        self._limit = limit
        super().__init__(target, **filters)

    @property
    def first(self) -> Problem | None:
        """The first problem."""
        return self.problems[0] if self.problems else None

    def around(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], proceed: Proceed) -> Any:
        self._calls[get_ident()] += 1
        _, overwritten, unwritten, moves, contract = self._plans.get(id(op)) or self._plan(op)
        # What an in-place operator overwrites has to be looked at now; other arguments only if the result is bad.
        state = _NOTHING
        if overwritten:
            with unhooked():
                state = _looked_at(op, args, kwargs, overwritten)
        result = proceed(*args, **kwargs) if kwargs else proceed(*args)
        if unwritten or (moves and isinstance(result, _Tensor) and not has_memory(result)):
            return result
        bad, odd = self._looks_at_values, self._looks_at_kinds
        if type(result) is _Tensor and result.is_cpu and result.layout is _strided and not result.is_nested:
            dtype = result.dtype
            if bad:
                is_finite = _IS_FINITE.get(dtype)
                with unhooked():
                    bad = is_finite is not None and (dtype in _FEW_KERNELS or not is_finite(result.sum().item()))
            if odd and args:
                # With the kind of the first argument, which has a dimension, it can be no surprise.
                first = args[0]
                odd = not (isinstance(first, _Tensor) and first.is_cpu and first.dtype is dtype and first.dim())
        if bad or odd or contract is not None:
            call = Call(op, args, kwargs)
            call.result, call.state = result, state
            if bad:
                with unhooked():
                    self._values(call)
            if odd:
                self._kinds(call)
            if contract is not None:
                text = contract(call)
                if text:
                    self._problem(call, "contract", text)
        return result

    def counted(self) -> int:
        return sum(list(self._calls.values()))

    def _plan(self, op: Any) -> tuple[Any, frozenset[str], bool, bool, Contract | None]:
        """What is to be done with calls of an operator, which is told by identity: its hash is a function in Python."""
        name = Call(op, (), {}).name
        contract = self._contracts.get(name) or self._contracts.get(name.split(".")[0])
        found = self._plans[id(op)] = op, written(op), leaves_memory_unwritten(op), only_moves(op), contract
        return found

    def clear(self) -> None:
        self._calls.clear()
        super().clear()
        self.problems.clear()
        self.inherited = self.found = 0

    def to_json(self) -> dict[str, Any]:
        problems = [dataclasses.asdict(problem) for problem in self.problems]
        counts = {"calls": self.seen, "found": self.found, "inherited": self.inherited}
        return {"how": self.how, **counts, "problems": problems}

    def report(self) -> str:
        rows = [["#", "kind", "operator", "phase", "module", "what", "called from"]]
        for p in self.problems[:50]:
            place = f"{os.path.basename(p.stack[-1][0])}:{p.stack[-1][1]} {p.stack[-1][2]}" if p.stack else ""
            module = "-" if p.module is None else p.module or "(root)"
            rows.append([str(p.number), p.kind, p.op, p.phase, module, p.text, place])
        none = "no problem found" if self.cut_short is None else "no problem before the program ended early"
        table = columns(rows, frozenset({0})) if self.problems else none
        inherited = f", inherited by {counted(self.inherited, 'result')}" if self.inherited else ""
        counts = f"{counted(self.found, 'problem')}{inherited} in {counted(self.seen, 'call')}"
        return f"{table}\n\n{counts}. {self.how}"

    def _values(self, call: Call) -> None:
        for result in tensors(call.result):
            kind = _bad(result)
            if kind is None:
                continue
            state = call.state
            if any(
                state[name] if name in state else _is_bad(value)
                for name, value in _named(call.op, call.args, call.kwargs)
            ):
                self.inherited += 1
                continue
            if kind == "inf" and "to_copy" in call.name and "overflow" in self._checks:
                largest = max(float(_numbers(t).abs().max()) for t in tensors(*call.args) if t.numel())
                most = torch.finfo(result.dtype).max
                text = f"cast to {_short(result.dtype)} overflowed: {largest:.6g} is over {most:.6g}"
                self._problem(call, "overflow", text)
            elif kind in self._checks:
                count = int((~torch.isfinite(_numbers(result))).sum())
                word = "NaN" if kind == "nan" else "infinity"
                self._problem(call, kind, f"{word} in {count} of {result.numel()} elements; no argument had one")
            return

    def _kinds(self, call: Call) -> None:
        given = list(tensors(*call.args, *call.kwargs.values()))
        floats = [t.dtype for t in given if t.dtype.is_floating_point]
        for result in computed(call.op, call.result):
            wider = (
                result.dtype.is_floating_point and floats and result.dtype.itemsize > max(d.itemsize for d in floats)
            )
            if "dtype" in self._checks and wider and "dtype" not in call.kwargs and "to_copy" not in call.name:
                told = ", ".join(sorted({_short(d) for d in floats}))
                self._problem(call, "dtype", f"the result is {_short(result.dtype)}, the arguments are {told}")
            places = {t.device for t in given if t.dim() or len(given) == 1}
            asked = "device" in call.kwargs or "copy" in call.name
            if "device" in self._checks and places and result.device not in places and not asked:
                self._problem(call, "device", f"the result is on {result.device}, the arguments on {_devices(places)}")

    def _problem(self, call: Call, kind: str, text: str) -> None:
        self.found += 1
        if len(self.problems) >= self._limit:
            return
        stack = [(f.filename, f.lineno or 0, f.name) for f in user_stack(call)]
        inputs = [brief(value) for value in (*call.args, *call.kwargs.values())]
        problem = Problem(kind, call.name, call.phase, call.module_path, text, inputs, stack, self.seen, call.node)
        self.problems.append(problem)
        if self._debugger:
            print(problem)
            debug()
        if self._mode == "raise":
            raise OphookError(
                f"validate {problem.op}",
                str(problem).removeprefix(f"{problem.op} "),
                todo="look at .problems[0] for the arguments and the whole stack",
            )
        if self._mode == "warn":
            warnings.warn(f"[validate] {problem}", ValidateWarning, stacklevel=2)


def _bad(value: Any) -> str | None:
    """``nan`` or ``inf`` if a tensor (or one of a list) has one; NaN wins."""
    found = None
    for tensor in tensors(value):
        if is_ragged(tensor):
            tensor = tensor.values()
        is_finite = _IS_FINITE.get(tensor.dtype)
        if is_finite is None or not is_real(tensor):
            continue
        values = _numbers(tensor)
        # A finite sum proves that every element is finite, in one pass; one that is not may have overflowed itself.
        if not is_finite(values.sum().item()) and not bool(torch.isfinite(values).all()):
            if bool(torch.isnan(values).any()):
                return "nan"
            found = "inf"
    return found


def _numbers(tensor: torch.Tensor) -> torch.Tensor:
    values = tensor.detach()
    if values.layout is not _strided or values.is_nested:
        values = values.to_dense() if values.is_sparse else values.values()
    if values.dtype in _FEW_KERNELS:
        return values.cpu().to(torch.complex64 if values.is_complex() else torch.float32)
    return values


_FLOATS = {
    dtype
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype) and (dtype.is_floating_point or dtype.is_complex) and "float4" not in str(dtype)
}
# Few kernels but casts take eight bits, or two halves as a complex number.
_FEW_KERNELS = {dtype for dtype in _FLOATS if dtype.itemsize == 1} | {torch.complex32}
_IS_FINITE: dict[torch.dtype, Callable[[Any], bool]] = {
    dtype: cmath.isfinite if dtype.is_complex else math.isfinite for dtype in _FLOATS
}


def _is_bad(value: Any) -> bool:
    return not math.isfinite(value) if isinstance(value, float) else _bad(value) is not None


def _looked_at(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], names: frozenset[str]) -> dict[str, str | None]:
    return {name: _bad(value) for name, value in _named(op, args, kwargs) if name in names}


def _named(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
    schema = getattr(op, "_schema", None)
    names = [a.name for a in schema.arguments] if schema is not None else [str(i) for i in range(len(args))]
    return [*zip(names, args, strict=False), *kwargs.items()]


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _devices(places: set[torch.device]) -> str:
    return ", ".join(sorted(map(str, places)))
