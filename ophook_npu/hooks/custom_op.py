"""``via="custom_op"``: a custom operator in place of the Python function that calls the hooked one."""

from __future__ import annotations

import threading
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
    usable = [op for op in spec.targets.ops if _opaque.refuses(op) is None]
    if not usable:
        return f"{spec.targets.ops[0]._name}: {_opaque.refuses(spec.targets.ops[0])}"
    if not any(_functions(op) for op in usable):
        return f"{spec.targets.label} has no Python function of its name"
    return None


def install(spec: Spec) -> Installed:
    return _Installed(spec)


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
        ops = [op for op in spec.targets.ops if _opaque.refuses(op) is None]
        self._local = threading.local()
        self._opaque = _opaque.Opaque(spec.handler, lambda: True, autograd=True)
        spec.handler.below_autograd = True
        self._table: dict[Any, Any] = {}
        for op in ops:
            standin = self._opaque.standin(op)
            for function in _functions(op):
                self._table.setdefault(function, standin.overloadpacket)
        self.notes = [
            "seen are Python calls by name: " + ", ".join(sorted({_spelling(f) for f in self._table})),
            "calls that other operators make in C++ (a @ b makes one of mm) are not",
        ]

    def enable(self) -> None:
        self._local.mode = _Redirect(self._table)
        self._local.mode.__enter__()

    def disable(self) -> None:
        _compat.leave_function_mode(self._local.mode)

    def remove(self) -> None:
        # Compiled code may still call the custom operators: they stay defined.
        pass


def _spelling(function: Any) -> str:
    return getattr(function, "__name__", None) or str(function)


class _Redirect(TorchFunctionMode):
    def __init__(self, table: dict[Any, Any]) -> None:
        super().__init__()
        self.table = table

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in self.table:
            return self.table[func](*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))
