"""``via="custom_op"``: a custom operator in place of the Python function that calls the hooked one."""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload
from torch.overrides import TorchFunctionMode

from ophook_npu.hooks import _compat, _opaque
from ophook_npu.hooks._protocol import Installed, Spec

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
    return _Installed(spec)


def _refuses(op: OpOverload) -> str | None:
    """Why no operator with a gradient can stand for ``op``, or ``None``."""
    if any(a.kwarg_only and "Tensor" in str(a.type) for a in op._schema.arguments):
        return _opaque.refuses(op) or "it takes tensors by keyword only, for which torch registers no gradient"
    return _opaque.refuses(op)


def _functions(op: OpOverload) -> list[Any]:
    space, _, name = op._schema.name.partition("::")
    if space != "aten":
        return [op, op.overloadpacket]
    places = (torch, torch.Tensor, torch._C._nn, torch.nn.functional)
    found = [getattr(place, name, None) for place in places]
    found += [getattr(torch.Tensor, dunder) for dunder in _DUNDERS.get(name, ())]
    return [f for f in found if f is not None] + [op, op.overloadpacket]


class _Installed:
    per_thread = True

    def __init__(self, spec: Spec) -> None:
        assert spec.targets is not None
        self.ops = tuple(op for op in spec.targets.ops if _refuses(op) is None)
        spec.handler.below_autograd = True
        self.opaque = _opaque.Opaque(spec.handler, lambda: True, autograd=True)
        packets = dict.fromkeys(op.overloadpacket for op in self.ops)
        every = [getattr(packet, name) for packet in packets for name in packet.overloads()]
        self.family = tuple(op for op in every if _refuses(op) is None)
        names = sorted({getattr(f, "__name__", None) or str(f) for op in self.ops for f in _functions(op)})
        self.notes = [
            f"seen are Python calls by name: {', '.join(names)}",
            "calls that other operators make in C++ (a @ b makes one of mm) are not",
        ]

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


class _Redirect(TorchFunctionMode):
    """Never changed once it is entered: Dynamo guards on what it read here."""

    def __init__(self, hooks: list[_Installed]) -> None:
        super().__init__()
        self.hooks = hooks  # oldest first
        reached: dict[OpOverload, OpOverload] = {}
        for hook in hooks:
            # All overloads of a packet, so that a call finds the one that takes its arguments.
            inner = [reached.get(op, op) for op in hook.family]
            passing = frozenset(i for i, op in zip(inner, hook.family, strict=True) if op not in hook.ops)
            reached.update(zip(hook.family, hook.opaque.standins(tuple(inner), passing), strict=True))
        self.table: dict[Any, Any] = {}
        for op, standin in reached.items():
            for function in _functions(op):
                self.table[function] = standin if function is op else standin.overloadpacket

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in self.table and not (kwargs and "out" in kwargs):
            return self.table[func](*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))
