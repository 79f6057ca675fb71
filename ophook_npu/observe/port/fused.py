"""Patterns of operators that torch_npu has one operator for, sought in the graphs of the program's modules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import fx

from ophook_npu.hooks import _compat, _match
from ophook_npu.observe.port.finding import Findings, key
from ophook_npu.observe.port.graphs import of_node


class Fusion(NamedTuple):
    """A pattern and the operator that does the same.

    ``formula`` takes tensors of ``shapes``; ``free``: whole numbers in the traced pattern stand for any.
    """

    name: str
    operator: str
    formula: Callable[..., torch.Tensor]
    shapes: tuple[tuple[int, ...], ...]
    free: bool = False
    dtypes: tuple[torch.dtype, ...] = (torch.float32, torch.bfloat16)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: torch.Tensor) -> torch.Tensor:
    wide = x.to(torch.float32)
    normal = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return weight * normal.to(x.dtype)


def rms_norm_weight_last(x: torch.Tensor, weight: torch.Tensor, eps: torch.Tensor) -> torch.Tensor:
    wide = x.to(torch.float32)
    normal = wide * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + eps)
    return normal.to(x.dtype) * weight


def swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(gate) * up


def rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return torch.matmul(torch.softmax(torch.matmul(q, k.transpose(-2, -1)) * scale, -1), v)


def attention_divided(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return torch.matmul(torch.softmax(torch.matmul(q, k.transpose(-2, -1)) / scale, -1), v)


def attention_masked(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    return torch.matmul(torch.softmax(torch.matmul(q, k.transpose(-2, -1)) * scale + mask, -1), v)


def attention_masked_divided(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    return torch.matmul(torch.softmax(torch.matmul(q, k.transpose(-2, -1)) / scale + mask, -1), v)


_HEADS = ((2, 2, 4, 8), (2, 2, 4, 8), (2, 2, 4, 8), ())
_ATTENTION = "torch_npu.npu_fusion_attention, or torch.nn.functional.scaled_dot_product_attention"
FUSIONS = (
    Fusion("RMSNorm", "torch_npu.npu_rms_norm(x, weight, eps)[0]", rms_norm, ((2, 8), (8,), ())),
    Fusion("RMSNorm", "torch_npu.npu_rms_norm(x, weight, eps)[0]", rms_norm_weight_last, ((2, 8), (8,), ())),
    Fusion("SwiGLU", "torch_npu.npu_swiglu(torch.cat([gate, up], -1))", swiglu, ((2, 8), (2, 8))),
    Fusion("rotary embedding", "torch_npu.npu_rotary_mul(x, cos, sin)", rotary, ((2, 2, 4, 8),) * 3, free=True),
    Fusion("attention", _ATTENTION, attention, _HEADS, free=True),
    Fusion(
        "attention", _ATTENTION, attention_divided, _HEADS, free=True
    ),
    Fusion(
        "attention", _ATTENTION, attention_masked,
        (*_HEADS, (2, 1, 4, 4)), free=True,
    ),
    Fusion(
        "attention", _ATTENTION, attention_masked_divided,
        (*_HEADS, (2, 1, 4, 4)), free=True,
    ),
)  # fmt: skip
OPTIMIZERS = {
    "Adam": "torch_npu.optim.NpuFusedAdam",
    "AdamW": "torch_npu.optim.NpuFusedAdamW",
    "RMSprop": "torch_npu.optim.NpuFusedRMSprop",
    "Adadelta": "torch_npu.optim.NpuFusedAdadelta",
}
"""Optimizers of torch that torch_npu has in one operator for all parameters."""


def missed(graphs: list[fx.GraphModule], into: Findings) -> None:
    """Adds each occurrence of a pattern."""
    for graph in graphs:
        _skip_idle_casts(graph)
        seen: set[fx.Node] = set()  # two patterns may be one for the program's data type
        for fusion, pattern in _patterns():
            for binding in _match.find_all(graph, pattern):
                node = binding[_match.output_of(pattern)]
                if node not in seen:
                    seen.add(node)
                    into.add(key("fused", "fused", fusion.name, of_node(node), fused=fusion.operator))


@functools.cache
def _traced(fusion: Fusion, dtype: torch.dtype) -> fx.GraphModule:
    inputs = [torch.rand(shape, dtype=dtype if shape else torch.float32) for shape in fusion.shapes]
    pattern = _compat.trace_pattern(fusion.formula, inputs, before_autograd=True)
    _skip_idle_casts(pattern)
    if fusion.free:
        _free_numbers(pattern)
    return pattern


def _patterns() -> Iterator[tuple[Fusion, fx.GraphModule]]:
    for fusion in FUSIONS:
        for dtype in fusion.dtypes:
            yield fusion, _traced(fusion, dtype)


def _skip_idle_casts(graph: fx.GraphModule) -> None:
    """A cast to the type that a tensor has gives the tensor itself, which later operators may use as well."""
    for node in list(graph.graph.nodes):
        if node.op == "call_function" and node.target is torch.ops.aten.to.dtype:
            given, made = node.args[0].meta.get("val"), node.meta.get("val")
            if given is not None and made is not None and given.dtype is made.dtype:
                node.replace_all_uses_with(node.args[0])
                graph.graph.erase_node(node)


def _free_numbers(pattern: fx.GraphModule) -> None:
    """Where a slice begins and ends, and which of the last two dimensions is named how, depends on the program."""
    first = next(iter(pattern.graph.nodes))
    for node in list(pattern.graph.nodes):
        if node.op == "call_function" and node.target in _SHAPED:
            with pattern.graph.inserting_before(first):
                args = [
                    pattern.graph.placeholder(f"number_{node.name}_{i}") if isinstance(one, int) else one
                    for i, one in enumerate(node.args)
                ]
            node.args = tuple(args)


_SHAPED = {torch.ops.aten.slice.Tensor, torch.ops.aten.transpose.int}
