"""The data types that PyTorch promises of an operator's results, against those that torch_npu gives."""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._pytree import tree_leaves, tree_map


def broken(op: Any, args: Any, kwargs: Any, result: Any) -> tuple[tuple[torch.dtype, torch.dtype], ...]:
    """(promised, given) of the results whose type is another than that of the operator's meta function.

    Nothing where that cannot be asked: an operator without one, results whose shape is in the values, several ranks.
    """
    if not isinstance(op, OpOverload) or not _is_pure(op):
        return ()
    try:
        promised = op(*tree_map(_without_data, args), **tree_map(_without_data, kwargs))
    except Exception:  # whatever a meta function says: it was not asked by the program
        return ()
    pairs = zip(tree_leaves(promised), tree_leaves(result), strict=False)
    return tuple(
        dict.fromkeys(
            (one.dtype, other.dtype)
            for one, other in pairs
            if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor) and one.dtype != other.dtype
        )
    )


def _is_pure(op: OpOverload) -> bool:
    """Whether to run it once more changes nothing and concerns nobody else."""
    return op.namespace == "aten" and not op._schema.is_mutable and torch.Tag.nondeterministic_seeded not in op.tags


def _without_data(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    return torch.device("meta") if isinstance(value, torch.device) else value
