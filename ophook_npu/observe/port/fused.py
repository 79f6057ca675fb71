"""Patterns of operators that torch_npu has one operator for, sought in the graphs of the program's modules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import fx

from ophook_npu.hooks import _compat, _match
from ophook_npu.observe.port.finding import Findings, Key, key
from ophook_npu.observe.port.graphs import of_node


class Fusion(NamedTuple):
    """A pattern and the operator that does the same.

    ``formula`` takes tensors of ``shapes``; ``()`` stands for a number as well. ``fits``: whole numbers in the traced
    pattern (where a slice begins, which dimensions are exchanged) stand for any for which it is true, given them and
    the shape of the first argument.
    """

    name: str
    operator: str
    formula: Callable[..., torch.Tensor]
    shapes: tuple[tuple[int, ...], ...]
    fits: Callable[[Sequence[Any], Sequence[int]], bool] | None = None
    dtypes: tuple[torch.dtype, ...] = (torch.float32, torch.bfloat16, torch.float16)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: torch.Tensor) -> torch.Tensor:
    wide = x.to(torch.float32)
    normal = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return weight * normal.to(x.dtype)


def rms_norm_weight_last(x: torch.Tensor, weight: torch.Tensor, eps: torch.Tensor) -> torch.Tensor:
    wide = x.to(torch.float32)
    normal = wide * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + eps)
    return normal.to(x.dtype) * weight


def rms_norm_of_torch(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.rms_norm(x, (8,), weight)  # torch_npu runs it as several operators


def rms_norm_of_torch_with_eps(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.rms_norm(x, (8,), weight, 1e-6)


def swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(gate) * up


def rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


def _attention(divided: bool, masked: bool, wide: bool) -> Callable[..., torch.Tensor]:
    """Attention written out: its scale multiplied or divided by, with a mask or none, a softmax in float32 or not."""

    def attention(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: torch.Tensor, *mask: torch.Tensor
    ) -> torch.Tensor:
        weights = torch.matmul(q, k.transpose(-2, -1))
        weights = weights / scale if divided else weights * scale
        weights = weights + mask[0] if masked else weights
        softmax = torch.softmax(weights, -1, torch.float32).to(q.dtype) if wide else torch.softmax(weights, -1)
        return torch.matmul(softmax, v)

    attention.__name__ = f"attention{'_divided' * divided}{'_masked' * masked}{'_wide' * wide}"
    return attention


def _halves(numbers: Sequence[Any], shape: Sequence[int]) -> bool:
    """The second half of the last dimension, then the first."""
    dims, (at, end), (start, until) = numbers[::3], numbers[1:3], numbers[4:6]
    half, last = shape[-1] // 2, len(shape) - 1
    return (
        all(dim in (-1, last) for dim in dims) and at in (half, -half) and (start, until) == (0, half) and end >= half
    )


def _last_two(numbers: Sequence[Any], shape: Sequence[int]) -> bool:
    return {number % len(shape) for number in numbers} == {len(shape) - 2, len(shape) - 1}


def _width(numbers: Sequence[Any], shape: Sequence[int]) -> bool:
    return bool(numbers[0] == shape[-1])


_HEADS = ((2, 2, 4, 8), (2, 2, 4, 8), (2, 2, 4, 8), ())
_MASK = (2, 1, 4, 4)
_ATTENTION = "torch_npu.npu_fusion_attention, or torch.nn.functional.scaled_dot_product_attention"
_RMS_NORM = "torch_npu.npu_rms_norm(x, weight, eps)[0]"
FUSIONS = (
    Fusion("RMSNorm", _RMS_NORM, rms_norm, ((2, 8), (8,), ())),
    Fusion("RMSNorm", _RMS_NORM, rms_norm_weight_last, ((2, 8), (8,), ())),
    Fusion("RMSNorm", _RMS_NORM, rms_norm_of_torch, ((2, 8), (8,)), _width),
    Fusion("RMSNorm", _RMS_NORM, rms_norm_of_torch_with_eps, ((2, 8), (8,)), _width),
    Fusion("SwiGLU", "torch_npu.npu_swiglu(torch.cat([gate, up], -1))", swiglu, ((2, 8), (2, 8))),
    Fusion("rotary embedding", "torch_npu.npu_rotary_mul(x, cos, sin)", rotary, ((2, 2, 4, 8),) * 3, _halves),
    *(
        Fusion(
            "attention", _ATTENTION, _attention(divided, masked, wide),
            (*_HEADS, _MASK) if masked else _HEADS, _last_two,
        )
        for divided in (False, True) for masked in (False, True) for wide in (False, True)
    ),
)  # fmt: skip
OPTIMIZERS = {
    "Adam": "torch_npu.optim.NpuFusedAdam",
    "AdamW": "torch_npu.optim.NpuFusedAdamW",
    "RMSprop": "torch_npu.optim.NpuFusedRMSprop",
    "Adadelta": "torch_npu.optim.NpuFusedAdadelta",
}
"""Optimizers of torch that torch_npu has in one operator for all parameters."""


class Occurrence(NamedTuple):
    """A pattern found in a graph.

    Attributes:
        node: that computes its result. given: the arguments of the formula: nodes, or numbers.
        numbers: what stands for the pattern's own numbers.
    """

    fusion: Fusion
    node: fx.Node
    given: tuple[Any, ...]
    numbers: tuple[Any, ...]


def missed(graphs: list[fx.GraphModule], into: Findings, tried: Mapping[Any, Key] | None = None) -> None:
    """Adds each occurrence of a pattern; what was said of one that was tried stands in ``tried``, by name and place."""
    for graph in graphs:
        for found in occurrences(graph):
            where = of_node(found.node)
            plain = key("fused", "fused", found.fusion.name, where, fused=found.fusion.operator)
            into.add((tried or {}).get((found.fusion.name, where), plain))


def occurrences(graph: fx.GraphModule) -> list[Occurrence]:
    """Each pattern in a graph, which loses the operators that do nothing."""
    _skip_idle(graph)
    found: dict[fx.Node, Occurrence] = {}  # two patterns may be one for the program's data type
    for fusion, pattern in _patterns():
        for binding in _match.find_all(graph, pattern):
            one = _bound(fusion, pattern, binding)
            if one is not None:
                found.setdefault(one.node, one)
    return list(found.values())


def _bound(fusion: Fusion, pattern: fx.GraphModule, binding: _match.Binding) -> Occurrence | None:
    inputs = {node.name: value for node, value in binding.items() if node.op == "placeholder"}
    names = [node.name for node in pattern.graph.nodes if node.op == "placeholder"]
    given = tuple(inputs[name] for name in names if not name.startswith(_NUMBER))
    numbers = tuple(inputs[name] for name in names if name.startswith(_NUMBER))
    if fusion.fits is not None:
        first = given[0].meta.get("val") if isinstance(given[0], fx.Node) else None
        if first is None or not fusion.fits(numbers, tuple(first.shape)):
            return None
    return Occurrence(fusion, binding[_match.output_of(pattern)], given, numbers)


@functools.cache
def _traced(fusion: Fusion, dtype: torch.dtype) -> fx.GraphModule:
    inputs = [torch.rand(shape, dtype=dtype if shape else torch.float32) for shape in fusion.shapes]
    pattern = _compat.trace_pattern(fusion.formula, inputs, before_autograd=True)
    _skip_idle(pattern)
    if fusion.fits is not None:
        _free_numbers(pattern)
    return pattern


def _patterns() -> Iterator[tuple[Fusion, fx.GraphModule]]:
    for fusion in FUSIONS:
        for dtype in fusion.dtypes:
            yield fusion, _traced(fusion, dtype)


def _skip_idle(graph: fx.GraphModule) -> None:
    """A cast to the type that a tensor has, and a dropout of nothing, give the tensor itself; later operators may use
    it as well. A softmax in the type that it is given is one without a type."""
    for node in list(graph.graph.nodes):
        if node.op != "call_function":
            continue
        given, made = (getattr(one, "meta", {}).get("val") for one in (node.args[0] if node.args else None, node))
        same = given is not None and getattr(given, "dtype", None) is getattr(made, "dtype", "none")
        idle = node.target is torch.ops.aten.to.dtype and same
        if node.target is torch.ops.aten.dropout.default:
            idle = node.args[1] == 0 or node.args[2] is False
        if idle:
            node.replace_all_uses_with(node.args[0])
            graph.graph.erase_node(node)
        elif node.target is torch.ops.aten.softmax.int and len(node.args) == 3 and same:
            node.args = node.args[:2]


_NUMBER = "number_"
_SHAPED = {torch.ops.aten.slice.Tensor, torch.ops.aten.transpose.int, torch.ops.aten.rms_norm.default}


def _free_numbers(pattern: fx.GraphModule) -> None:
    """Where a slice begins and ends, and which of the last two dimensions is named how, depends on the program."""
    first = next(iter(pattern.graph.nodes))
    for node in list(pattern.graph.nodes):
        if node.op == "call_function" and node.target in _SHAPED:
            with pattern.graph.inserting_before(first):
                node.args = tuple(
                    [_free(pattern, f"{node.name}_{i}", each) for each in one]
                    if isinstance(one, (list, tuple))
                    else _free(pattern, f"{node.name}_{i}", one)
                    for i, one in enumerate(node.args)
                )


def _free(pattern: fx.GraphModule, name: str, value: Any) -> Any:
    return pattern.graph.placeholder(f"{_NUMBER}{name}") if isinstance(value, (int, float)) else value
