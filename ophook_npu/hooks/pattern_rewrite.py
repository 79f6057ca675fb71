"""``via="pattern_rewrite"``: a pattern of operators, given as a Python function, becomes one call of something else."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from ophook_npu.errors import OphookError
from ophook_npu.hooks import _compat, _graph, _match, _stance
from ophook_npu.hooks._protocol import Installed, Spec

__all__ = ["KINDS", "NAME", "OPTIONS", "SEES", "SUMMARY", "install", "refuse"]

NAME = "pattern_rewrite"
SUMMARY = "a pattern of operators is replaced in the graphs of compiled functions, or in one fx.GraphModule"
KINDS = frozenset({"pattern"})
SEES = {
    "compile": "yes",
    "autograd": "yes",
    "threads": "yes",
    "vmap": "inside a compiled function vmap has turned the operators into their batched forms already",
    "inference": "yes",
}
OPTIONS = {
    "backend": "the compiler to hand the graphs to, a name or a callable; default: that of each function",
    "level": "'forward': before autograd, the replacement has its own gradient (default); 'aot': the forward and the "
    "backward graph after autograd, where also patterns of backward are found",
    "example_inputs": "tensors to trace the pattern with; default: float32 of shape (2, 4) for each parameter",
    "graph": "an fx.GraphModule to rewrite in place while the hook is on, instead of compiled functions",
}


def refuse(spec: Spec) -> str | None:
    handler = spec.handler
    if handler.replace is None or handler.before or handler.after or handler.when:
        return "a pattern can be replaced, not observed: in a compiled graph there is no call of a pattern to stop at"
    if "backend" in spec.options:
        _graph.lookup(spec.options["backend"], f"hook {spec.label}")
    if spec.options.get("level", "forward") not in ("forward", "aot"):
        return f"unknown level {spec.options['level']!r}; choose 'forward' or 'aot'"
    graph = spec.options.get("graph")
    if graph is not None and not isinstance(graph, fx.GraphModule):
        return f"graph= wants an fx.GraphModule, not a {type(graph).__name__}; make one with torch.fx.symbolic_trace"
    return None


def install(spec: Spec) -> Installed:
    return _OneGraph(spec) if spec.options.get("graph") is not None else _Compiled(spec)


class _Compiled:
    """Rewrites what torch.compile compiles while the hook is on."""

    per_thread = False

    def __init__(self, spec: Spec) -> None:
        assert spec.pattern is not None
        self._handler = spec.handler
        self._where = f"hook {spec.label}"
        self._level = spec.options.get("level", "forward")
        self._pattern = _one_value(_trace(spec, before_autograd=self._level == "forward"), spec.label)
        fixed = spec.options.get("backend")
        self._request = _stance.Request(spec.handler, lambda found: self.backend(fixed or found), self._level)
        self.notes = [f"the pattern is {_describe(self._pattern)}, sought at level {self._level!r}"]

    def enable(self) -> None:
        _stance.push(self._request)

    def disable(self) -> None:
        _stance.pop(self._request)

    def remove(self) -> None:
        _stance.forget(self._request)

    def backend(self, inner: Any) -> Callable[..., Any]:
        level = _graph.forward if self._level == "forward" else _graph.aot
        return level(_graph.lookup(inner, self._where), self._rewrite, self._handler)

    def _rewrite(self, gm: fx.GraphModule) -> int:
        return _replace(gm, self._pattern, self._handler.replace)


class _OneGraph:
    """Rewrites one GraphModule in place and puts its graph back."""

    per_thread = False

    def __init__(self, spec: Spec) -> None:
        assert spec.pattern is not None
        self._handler = spec.handler
        self._gm: fx.GraphModule = spec.options["graph"]
        self._pattern = _one_value(fx.symbolic_trace(spec.pattern), spec.label)
        self._original = self._gm.graph
        self._counter: Any = None
        self.notes = [f"the pattern is {_describe(self._pattern)}, sought in the graph as it was traced"]

    def enable(self) -> None:
        self._original = self._gm.graph
        graph = fx.Graph()
        graph.output(graph.graph_copy(self._original, {}))
        self._gm.graph = graph
        found = _replace(self._gm, self._pattern, self._handler.replace)
        if found:
            self._counter = self._gm.register_forward_hook(lambda *_: self._handler.count(found))

    def disable(self) -> None:
        if self._counter is not None:
            self._counter.remove()
            self._counter = None
        self._gm.graph = self._original

    def remove(self) -> None:
        pass


def _trace(spec: Spec, *, before_autograd: bool) -> fx.GraphModule:
    assert spec.pattern is not None
    inputs = spec.options.get("example_inputs")
    if inputs is None:
        wanted = [p for p in inspect.signature(spec.pattern).parameters.values() if p.default is p.empty]
        inputs = [torch.rand(2, 4) for _ in wanted]
    # Tensors given twice would be traced as one input.
    inputs = [value.detach().clone() if isinstance(value, torch.Tensor) else value for value in inputs]
    try:
        return _compat.trace_pattern(spec.pattern, list(inputs), before_autograd=before_autograd)
    except Exception as error:
        raise OphookError(
            f"hook {spec.label}",
            f"the pattern does not run on {', '.join(str(tuple(i.shape)) for i in inputs)}: {error}",
            todo="give example_inputs=[…] with shapes and dtypes it runs on",
        ) from error


def _describe(pattern: fx.GraphModule) -> str:
    return " → ".join(str(n.target) for n in pattern.graph.nodes if n.op in ("call_function", "call_method"))


def _replace(gm: fx.GraphModule, pattern: fx.GraphModule, replacement: Any) -> int:
    target = replacement
    if isinstance(target, torch._ops.OpOverloadPacket):
        target = target.default
    elif hasattr(target, "_opoverload"):  # what @torch.library.custom_op returns
        target = target._opoverload
    return _match.replace_all(gm, pattern, target)


def _one_value(pattern: fx.GraphModule, label: str) -> fx.GraphModule:
    root = _match.output_of(pattern)
    if not isinstance(root, fx.Node) or root.op == "placeholder":
        raise OphookError(
            f"hook {label}", "a pattern returns one value that it computes", todo="write one pattern for each value"
        )
    return pattern
