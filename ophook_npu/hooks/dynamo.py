"""``via="dynamo"``: operators inside compiled functions, forward and backward, with any compiler after it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, cast

from torch import fx
from torch._ops import OpOverload

from ophook_npu.hooks import _graph, _opaque, _stance
from ophook_npu.hooks._protocol import Installed, Spec
from ophook_npu.hooks.targets import is_composite

__all__ = ["KINDS", "NAME", "OPTIONS", "SEES", "SUMMARY", "install", "refuse"]

_graphs = itertools.count()

NAME = "dynamo"
SUMMARY = (
    "a compiler backend that rewrites the ATen graphs of compiled functions and hands them on; eager calls are not seen"
)
KINDS = frozenset({"op"})
SEES = {
    # Where graphs are recorded and replayed (npugraph_ex), Python runs while they are recorded; a call then warns.
    "compile": "yes",
    "autograd": "yes",
    "threads": "yes",
    "vmap": "inside a compiled function vmap has turned the operator into its batched form already",
    "inference": "yes",
}
OPTIONS = {
    "admit": "asked for each node of a graph that would be replaced; False leaves it",
    "backend": "the compiler to hand the graphs to, a name or a callable; default: that of each function",
}


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
    return _InGraphs(spec)


def _can_stand_in(op: OpOverload) -> bool:
    return _opaque.refuses(op) is None and not is_composite(op)


class _InGraphs:
    per_thread = False

    def __init__(self, spec: Spec) -> None:
        assert spec.targets is not None
        self._handler = handler = spec.handler
        self._where = f"hook {spec.label}"
        spec.handler.below_autograd = True
        self._ops = frozenset(op for op in spec.targets.ops if _can_stand_in(op))
        self._on = False
        self._admit = spec.options.get("admit") or self._default_admit
        self._opaque = _opaque.Opaque(handler, lambda: self._on, nodes=True)
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
            self.notes.append(
                f"{skipped} overloads never occur in compiled graphs or cannot be replaced (views, in-place, out)"
            )

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
        found = [node for node in self._targets_in(gm) if self._admit(node)]
        nodes = [node for node in found if node.target in self._ops]
        for node in set(found) - set(nodes):
            # Another hook is there already; it stays, inside this one.
            node.target = self._opaque.standin(cast(OpOverload, node.target), _opaque.numbers_for_tensors(node))
        for node in nodes:
            taken = {argument.name for argument in self._operator._schema.arguments}
            node.kwargs = {name: value for name, value in node.kwargs.items() if name in taken}
            node.target = self._operator
        return len(nodes)

    def _rewrite_opaque(self, gm: fx.GraphModule) -> int:
        nodes = [node for node in self._targets_in(gm) if self._admit(node)]
        number = next(_graphs) if nodes else -1
        for node in nodes:
            node.target = self._opaque.standin(cast(OpOverload, node.target), _opaque.numbers_for_tensors(node))
            _opaque.tell_node(node, number)
        return 0

    def _targets_in(self, gm: fx.GraphModule) -> list[fx.Node]:
        return [node for node in _graph.operator_nodes(gm) if _opaque.origin(node.target) in self._ops]

    def _default_admit(self, node: fx.Node) -> bool:
        """An operator as replacement is called by the compiled code itself, so what it cannot take must be known
        now."""
        if self._operator is None:
            return True
        arguments = node.target._schema.arguments  # type: ignore[union-attr]
        taken = {argument.name for argument in self._operator._schema.arguments}
        numbers = [
            argument.name
            for argument, value in zip(arguments, node.args, strict=False)
            if str(argument.type) == "Tensor" and not isinstance(value, fx.Node)
        ]
        extra = [name for name in node.kwargs if name not in taken] + numbers
        if extra or len(node.args) > len(self._operator._schema.arguments):
            self._handler.miss(
                f"{node.target} was called with {', '.join(extra)}, which {self._operator._name} does not take"
            )
            return False
        return True
