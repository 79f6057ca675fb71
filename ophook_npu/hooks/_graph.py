"""Compiler backends that rewrite a graph on its way to another backend.

Two levels. ``aot``: the forward and the backward graph, made of ATen operators, after autograd; operators that are
hooked are found there whatever Python spelling led to them. ``forward``: the graph of ATen operators before
autograd, so that what is put in gets its own gradient and a pattern is found also where backward needs its
intermediate values.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from ophook_npu.errors import OphookError
from ophook_npu.hooks import _compat
from ophook_npu.hooks._handler import Handler

Backend = Callable[[fx.GraphModule, Sequence[Any]], Callable[..., Any]]
Rewrite = Callable[[fx.GraphModule], int]
"""Changes the graph and returns how many of its operators (or patterns) now run something else, uncounted by
themselves."""


class _Running(threading.local):
    depth = 0


running = _Running()
"""``depth`` is not 0 while this thread runs a graph that a hook on operators (:func:`aot`) has been through."""


def lookup(backend: str | Backend, where: str) -> Backend:
    """A backend by the name ``torch.compile`` knows it by, or itself.

    Raises:
        OphookError: no such backend is registered.
    """
    if callable(backend):
        return backend
    try:
        found: Backend = _compat.lookup_backend(backend)
        return found
    except Exception as error:
        raise OphookError(
            where,
            f"unknown compiler backend {backend!r}",
            allowed=", ".join(_compat.backends()),
            todo="or pass a callable",
        ) from error


def aot(inner: Backend, rewrite: Rewrite, handler: Handler) -> Backend:
    """A backend that rewrites the forward and backward graph and gives both to ``inner``."""

    def compiler(gm: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        return _compat.boxed(_marked(_compile(inner, gm, example_inputs, rewrite, handler)))

    made: Backend = _compat.aot_backend(compiler)
    return made


def forward(inner: Backend, rewrite: Rewrite, handler: Handler) -> Backend:
    """A backend that rewrites the graph before autograd and gives it to ``inner``."""

    def backend(gm: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        lowered = _compat.lower_before_autograd(gm, example_inputs)
        return _compile(inner, lowered, example_inputs, rewrite, handler)

    return backend


def _compile(inner: Backend, gm: Any, example_inputs: Any, rewrite: Rewrite, handler: Handler) -> Callable[..., Any]:
    found = rewrite(gm)
    gm.graph.lint()
    gm.recompile()
    with _compat.nested_compilation(example_inputs):
        compiled = inner(gm, example_inputs)

    return handler.counting(compiled, found) if found else compiled


def _marked(compiled: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        running.depth += 1
        try:
            return compiled(*args)
        finally:
            running.depth -= 1

    return run


def operator_nodes(gm: fx.GraphModule) -> list[fx.Node]:
    return [
        node for node in gm.graph.nodes if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload)
    ]
