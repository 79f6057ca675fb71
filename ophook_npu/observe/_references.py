"""References for operators that only an accelerator has a kernel for, written with operators that every device has.

They run below autograd, where only formulas work: no ``torch.autograd``, no ``torch.func``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch


def _matmul_backward(
    grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor, mask: list[bool]
) -> tuple[torch.Tensor | None, ...]:
    """matmul_backward(Tensor grad, Tensor self, Tensor other, bool[2] mask) -> (Tensor, Tensor)"""
    left = a.unsqueeze(0) if a.dim() == 1 else a
    right = b.unsqueeze(-1) if b.dim() == 1 else b
    if b.dim() == 1:
        grad = grad.unsqueeze(-1)
    if a.dim() == 1:
        grad = grad.unsqueeze(-2)
    # Batch dimensions that were broadcast are summed again.
    of_a = (grad @ right.mT).sum_to_size(left.shape).reshape(a.shape) if mask[0] else None
    of_b = (left.mT @ grad).sum_to_size(right.shape).reshape(b.shape) if mask[1] else None
    return of_a, of_b


REFERENCES: Mapping[str, Callable[..., Any]] = {"aten::matmul_backward": _matmul_backward}
