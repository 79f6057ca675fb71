"""Batching rules by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ophook_npu.ops.declare import Operator


def rule(op: Operator) -> Callable[..., Any] | None:
    """A function for `torch.library.register_vmap`, or None where the declaration gives no rule."""
    if op.vmap == "broadcast":
        return _broadcast(op)
    if op.vmap == "loop":
        return _loop(op)
    assert not isinstance(op.vmap, str)
    return op.vmap


def _broadcast(op: Operator) -> Callable[..., Any]:
    # The batch goes first, and the ranks are made equal, so that the batch dimension never broadcasts with another.
    def batched(info: Any, dims: Sequence[Any], /, *args: Any, **kwargs: Any) -> Any:
        logical = [
            arg.dim() - (dim is not None) for arg, dim in zip(args, dims, strict=True) if isinstance(arg, torch.Tensor)
        ]

        def aligned(value: Any, dim: int | None) -> Any:
            if dim is None:
                return value
            value = value.movedim(dim, 0)
            return value.reshape(value.shape[0], *(1,) * (max(logical) - value.dim() + 1), *value.shape[1:])

        result = op.packet(*(aligned(arg, dim) for arg, dim in zip(args, dims, strict=True)), **kwargs)
        return result, (0,) * len(result) if isinstance(result, tuple) else 0

    return batched


def _loop(op: Operator) -> Callable[..., Any]:
    positional = [a.name for a in op.arguments if not a.kwarg_only]

    def looped(info: Any, dims: Sequence[Any], /, *args: Any, **kwargs: Any) -> Any:
        for name, dim in zip(positional, dims, strict=False):
            if name in op.mutated and dim is None:
                raise RuntimeError(
                    f"[{op.name}] vmap writes into {name}, which has no batch dimension; allowed: in_dims that gives "
                    "it one"
                )
        results = []
        for i in range(info.batch_size):
            one = [_select(arg, dim, i) for arg, dim in zip(args, dims, strict=True)]
            results.append(op.packet(*one, **kwargs))
        if not op.outputs:
            return None, None
        if isinstance(results[0], tuple):
            return tuple(torch.stack(part) for part in zip(*results, strict=True)), (0,) * len(results[0])
        return torch.stack(results), 0

    return looped


def _select(value: Any, dim: Any, index: int) -> Any:
    if isinstance(dim, (list, tuple)):
        return type(value)(_select(v, d, index) for v, d in zip(value, dim, strict=True))
    return value if dim is None else value.select(dim, index)
