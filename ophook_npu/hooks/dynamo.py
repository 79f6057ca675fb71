"""``via="dynamo"``: operators inside compiled functions, forward and backward, with any compiler behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import fx
from torch._ops import OpOverload

from ophook_npu.hooks import _graph, _opaque, _stance
from ophook_npu.hooks._protocol import Installed, Spec
from ophook_npu.hooks._targets import is_composite

__all__ = ["KINDS", "NAME", "OPTIONS", "SEES", "SUMMARY", "install", "refuse"]

NAME = "dynamo"
SUMMARY = "a compiler backend that rewrites the ATen graphs of compiled functions and hands them on; eager calls are not seen"
KINDS = frozenset({"op"})
SEES = {
    "compile": "yes",
    "autograd": "yes",
    "threads": "yes",
    "vmap": "inside a compiled function vmap has turned the operator into its batched form already",
    "inference": "yes",
}
OPTIONS = {"backend": "the compiler to hand the graphs to, a name or a callable; default: the one each function was compiled with"}


def refuse(spec: Spec) -> str | None:
    assert spec.targets is not None
    if not any(_can_stand_in(op) for op in spec.targets.ops):
        op = spec.targets.ops[0]
        if is_composite(op):
            return f"{op._name} is composite: compiled graphs contain the operators it calls; hook those"
        return f"{op._name}: {_opaque.refuses(op)}"
    if "backend" in spec.options:
        _graph.lookup(spec.options["backend"], f"hook {spec.label}")
    return None


def install(spec: Spec) -> Installed:
    return _Installed(spec)


def _can_stand_in(op: OpOverload) -> bool:
    return _opaque.refuses(op) is None and not is_composite(op)


class _Installed:
    per_thread = False

    def __init__(self, spec: Spec) -> None:
        assert spec.targets is not None
        self._handler = handler = spec.handler
        self._where = f"hook {spec.label}"
        self._ops = frozenset(op for op in spec.targets.ops if _can_stand_in(op))
        self._on = False
        self._opaque = _opaque.Opaque(handler, lambda: self._on)
        # An operator given as replacement needs no Python at run time: the compiler sees it, and may fuse around it.
        plain = handler.before is None and handler.after is None and handler.when is None
        self._operator = handler.replace if plain and isinstance(handler.replace, OpOverload) else None
        fixed = spec.options.get("backend")
        self._request = _stance.Request(
            handler, lambda found: _graph.aot(_graph.lookup(fixed or found, self._where), self._rewrite, handler)
        )
        self.notes = ["compiled functions are compiled once more when first called under the hook"]
        skipped = len(spec.targets.ops) - len(self._ops)
        if skipped:
            self.notes.append(f"{skipped} overloads never occur in compiled graphs or cannot be stood for (views, in-place, out)")

    def enable(self) -> None:
        self._on = True
        _stance.push(self._request)

    def disable(self) -> None:
        _stance.pop(self._request)
        self._on = False

    def remove(self) -> None:
        # Code compiled with the stand-ins may still be called through its own handle: they stay, switched off.
        _stance.forget(self._request)

    def backend(self, inner: Any) -> Callable[..., Any]:
        return _graph.aot(_graph.lookup(inner, self._where), self._rewrite_opaque, self._handler)

    def _rewrite(self, gm: fx.GraphModule) -> int:
        if self._operator is None:
            return self._rewrite_opaque(gm)
        nodes = [node for node in _graph.operator_nodes(gm) if node.target in self._ops]
        replaced = 0
        for node in nodes:
            if _takes(self._operator, node):
                node.target = self._operator
                replaced += 1
            else:
                self._handler.miss(f"{node.target} was called with arguments that {self._operator._name} does not take")
        return replaced

    def _rewrite_opaque(self, gm: fx.GraphModule) -> int:
        for node in _graph.operator_nodes(gm):
            if node.target in self._ops:
                node.target = self._opaque.standin(node.target)
        return 0


def _takes(operator: OpOverload, node: fx.Node) -> bool:
    names = {argument.name for argument in operator._schema.arguments}
    tensors_only = [a for a in operator._schema.arguments if str(a.type) == "Tensor"]
    numbers = [a for a in node.args[: len(tensors_only)] if not isinstance(a, fx.Node)]
    return set(node.kwargs) <= names and len(node.args) <= len(operator._schema.arguments) and not numbers
