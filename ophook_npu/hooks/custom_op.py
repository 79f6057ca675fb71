"""``via="custom_op"``: a custom operator in place of the Python function that calls the hooked one."""

from __future__ import annotations

import inspect
import types
from typing import Any

import torch
from torch._C._functorch import TransformType, get_interpreter_stack
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode

from ophook_npu.hooks import _compat, _opaque
from ophook_npu.hooks._handler import Handler
from ophook_npu.hooks._protocol import Installed, Spec
from ophook_npu.hooks._tracing import computes_by_itself, entering, is_ragged
from ophook_npu.plural import counted

__all__ = ["KINDS", "NAME", "OPTIONS", "SEES", "SUMMARY", "install", "refuse"]

NAME = "custom_op"
SUMMARY = (
    "Python calls such as torch.mm(a, b), a.mm(b) or a + b go to an opaque custom operator, also in compiled functions"
)
KINDS = frozenset({"op"})
SEES = {
    "compile": "yes",
    "autograd": "the gradient is the operator's own, but the calls that backward makes are made in C++ and not seen",
    "threads": "torch functions are redirected on one thread",
    "vmap": "yes",
    "inference": "yes",
}
OPTIONS: dict[str, str] = {}

# Operators of the language and the ATen name they stand for.
_DUNDERS = {
    "add": ("__add__", "__radd__"),
    "sub": ("__sub__",),
    "mul": ("__mul__", "__rmul__"),
    "div": ("__truediv__",),
    "matmul": ("__matmul__",),
    "neg": ("__neg__",),
    "pow": ("__pow__",),
}


def refuse(spec: Spec) -> str | None:
    assert spec.targets is not None
    usable = [op for op in spec.targets.ops if _refuses(op) is None]
    if not usable:
        return f"{spec.targets.ops[0]._name}: {_refuses(spec.targets.ops[0])}"
    if not any(_functions(op) for op in usable):
        return f"{spec.targets.label} has no Python function of its name"
    return None


def install(spec: Spec) -> Installed:
    return _OnFunction(spec)


def _refuses(op: OpOverload) -> str | None:
    """Why no operator with a gradient can stand for ``op``, or ``None``."""
    if any(a.kwarg_only and "Tensor" in str(a.type) for a in op._schema.arguments):
        return _opaque.refuses(op) or "it takes tensors by keyword only, for which torch registers no gradient"
    return _opaque.refuses(op)


def _left_out(ops: tuple[OpOverload, ...]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for op in ops:
        reason = _refuses(op)
        if reason is not None:
            reasons.setdefault(reason, []).append(op._name)
    return [
        f"left out: {counted(len(names), 'operator')}, because each {reason.removeprefix('it ')}: "
        + ", ".join(names[:_MOST_NAMED] if len(names) > _MOST_NAMED else names)
        + (", …" if len(names) > _MOST_NAMED else "")
        for reason, names in reasons.items()
    ]


_MOST_NAMED = 12


def _functions(op: OpOverload) -> list[Any]:
    space, _, name = op._schema.name.partition("::")
    if space != "aten":
        return [op, op.overloadpacket]
    places = (torch, torch.Tensor, torch._C._nn, torch.nn.functional)
    found = [getattr(place, name, None) for place in places]
    found += [getattr(torch.Tensor, dunder) for dunder in _DUNDERS.get(name, ())]
    return [f for f in found if f is not None] + [op, op.overloadpacket]


class _Arguments:
    """How the arguments of a function written in Python (``F.softmax``) are named in an operator's schemas.

    Functions bound in C++ take them in the order of the schemas.
    """

    def __init__(self, function: types.FunctionType, packet: OpOverloadPacket) -> None:
        parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
        self.is_open = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)
        known = {a.name for name in _compat.overloads(packet) for a in getattr(packet, name)._schema.arguments}
        self._order = [p.name for p in parameters]
        self._defaults = {p.name: p.default for p in parameters}
        self._names = {name: name for name in self._order if name in known}
        if "input" in self._order and "input" not in known and "self" in known:
            self._names["input"] = "self"

    def renamed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """``None`` for a call with an argument that the schemas do not have, and that is not its default."""
        found: dict[str, Any] = {}
        for name, value in [*zip(self._order, args, strict=False), *kwargs.items()]:
            if name in self._names:
                found[self._names[name]] = value
            elif value is not self._defaults[name] and value != self._defaults[name]:
                return None
        return found


class _OnFunction:
    per_thread = True

    def __init__(self, spec: Spec) -> None:
        assert spec.targets is not None
        self.ops = tuple(op for op in spec.targets.ops if _refuses(op) is None)
        spec.handler.below_autograd = True
        self.handler = spec.handler
        self.opaque = _opaque.Opaque(spec.handler, lambda: True, autograd=True)
        packets = dict.fromkeys(op.overloadpacket for op in self.ops)
        every = [getattr(packet, name) for packet in packets for name in _compat.overloads(packet)]
        self.family = tuple(op for op in every if _refuses(op) is None)
        names = sorted({getattr(f, "__name__", None) or str(f) for op in self.ops for f in _functions(op)})
        self.notes = [
            f"seen are Python calls by name: {', '.join(names)}",
            "calls that other operators make in C++ (a @ b makes one of mm) are not",
        ]
        if len(names) > 12:
            self.notes[0] = f"seen are Python calls of {counted(len(names), 'function')} by name"
        self.notes += _left_out(spec.targets.ops)

    def enable(self) -> None:
        top = _compat.function_modes()[-1:]
        # Hooks enabled in a row share one mode, so that each runs inside the next and may leave in any order.
        below = top[0] if top and type(top[0]) is _Redirect else None
        _compat.exchange_function_mode(below, _Redirect([*(below.hooks if below else []), self]))

    def disable(self) -> None:
        mode = next(m for m in _compat.function_modes() if type(m) is _Redirect and self in m.hooks)
        left = [hook for hook in mode.hooks if hook is not self]
        _compat.exchange_function_mode(mode, _Redirect(left) if left else None)

    def remove(self) -> None:
        # Compiled code may still call the custom operators: they stay defined.
        pass


# That only the Python function knows: ``torch.ones(2, 3)``, ``x.sum(axis=0)``.
_OWN_FORM = "in a form that no overload of its operator takes"
_TRANSFORMS = frozenset({TransformType.Grad, TransformType.Jvp})


def _beyond(args: Any, kwargs: Any) -> str | None:
    """In what kind of call no operator of this package's own can stand in, or ``None``."""
    if forward_ad._current_level >= 0 or any(one.key() in _TRANSFORMS for one in get_interpreter_stack() or ()):
        return "in forward mode, or under torch.func's grad, which see into no custom operator"
    for value in (*args, *kwargs.values()):
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, torch.Tensor) and computes_by_itself(one):
                return f"with a {type(one).__name__}, which runs operators itself and knows torch's alone"
            if isinstance(one, torch.Tensor) and is_ragged(one):
                return "with a nested tensor, which only operators with a kernel for it take"
    return None


class _Redirect(TorchFunctionMode):
    """Never changed once it is entered: Dynamo guards on what it read here."""

    def __init__(self, hooks: list[_OnFunction]) -> None:
        super().__init__()
        self.hooks = hooks  # oldest first
        reached: dict[OpOverload, OpOverload] = {}
        for hook in hooks:
            # All overloads of a packet, so that a call finds the one that takes its arguments.
            inner = [reached.get(op, op) for op in hook.family]
            passing = frozenset(i for i, op in zip(inner, hook.family, strict=True) if op not in hook.ops)
            reached.update(zip(hook.family, hook.opaque.standins(tuple(inner), passing), strict=True))
        self.table: dict[Any, Any] = {}
        self.arguments: dict[Any, _Arguments] = {}
        self.structures: dict[Any, Any] = {}
        self.handlers: dict[Any, list[Handler]] = {}
        for op, standin in reached.items():
            for function in _functions(op):
                self.table[function] = standin if function is op else standin.overloadpacket
                if isinstance(function, types.FunctionType) and function not in self.arguments:
                    arguments = _Arguments(function, op.overloadpacket)
                    if arguments.is_open and not hasattr(function, "__wrapped__"):
                        del self.table[function]  # unique_consecutive: what it returns depends on its arguments
                    elif not arguments.is_open:
                        self.arguments[function] = arguments
                if not isinstance(function, (OpOverload, OpOverloadPacket)):
                    # What torch.max(x, 0) returns has names, what an operator returns has none.
                    self.structures[function] = getattr(torch.return_types, op._schema.name.partition("::")[2], None)

        for hook in hooks:
            for function in dict.fromkeys(f for op in hook.ops for f in _functions(op)):
                self.handlers.setdefault(function, []).append(hook.handler)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, HigherOrderOperator) and not torch.compiler.is_compiling():
            args, kwargs = entering(self, (args, kwargs))
        if func not in self.table or "out" in kwargs:
            return func(*args, **kwargs)
        # Dynamo traces this function, and makes the gradient itself.
        beyond = None if torch.compiler.is_compiling() else _beyond(args, kwargs)
        if beyond is not None:
            return self._passed(func, args, kwargs, beyond)
        standin = self.table[func]
        taken = (args, kwargs)
        if func in self.arguments:
            renamed = self.arguments[func].renamed(args, kwargs)
            if renamed is None:
                return self._passed(func, args, kwargs)
            taken = ((), renamed)
        try:
            result = standin(*taken[0], **taken[1])
        except (RuntimeError, TypeError):
            if _fits(standin, *taken):
                raise
            return self._passed(func, args, kwargs)
        return result if func not in self.structures else _as_function_returns(result, self.structures[func])

    def _passed(self, func: Any, args: Any, kwargs: Any, why: str = _OWN_FORM) -> Any:
        for handler in self.handlers[func]:
            handler.miss(f"{func.__name__} was called {why}")
        return func(*args, **kwargs)


def _as_function_returns(result: Any, structure: Any) -> Any:
    """An operator returns lists and plain tuples; ``torch.max`` a tuple with names, ``torch.gradient`` a tuple."""
    if isinstance(result, list):
        return tuple(result)
    if isinstance(result, tuple) and structure is not None:
        return structure([_as_function_returns(value, None) for value in result])
    return result


def _fits(standin: Any, args: Any, kwargs: Any) -> bool:
    """Whether some overload takes the arguments, so that the call failed inside it."""
    if isinstance(standin, OpOverload):
        return True
    try:
        torch._C._jit_resolve_packet(standin._qualified_op_name, *args, **kwargs)
    except RuntimeError:
        return False
    return True
