"""Formulas of products of matrices: torch_npu's, and torch's own backward that only accelerators have.

Arguments are those of the operators' schemas; results have the dtype of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ophook_npu.observe.references.arguments import refuse, wide

Tensor = torch.Tensor


def matmul_backward(
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


def _floating(**arguments: Tensor) -> None:
    for name, value in arguments.items():
        if not value.is_floating_point():
            raise NotImplementedError(f"no formula for argument {name} in {value.dtype}")


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    _floating(input=input, weight=weight)
    product = wide(input) @ wide(weight).mT
    return (product if bias is None else product + wide(bias)).to(input.dtype)


def _linear_backward(grad: Tensor, input: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    to = wide(grad)
    return (to @ wide(weight)).to(input.dtype), (to.mT @ wide(input)).to(weight.dtype)


def _bmm_v2(input: Tensor, mat2: Tensor, output_sizes: Sequence[int]) -> Tensor:
    _floating(input=input, mat2=mat2)
    product = (wide(input) @ wide(mat2)).to(input.dtype)
    return product.reshape(output_sizes) if output_sizes else product


def _bmm_v2_mat1_backward(grad: Tensor, mat1: Tensor, mat2: Tensor, size: Sequence[int]) -> Tensor:
    (result, _) = matmul_backward(wide(grad), wide(mat1), wide(mat2), [True, False])
    assert result is not None
    return result.reshape(size).to(mat1.dtype)


def _bmm_v2_mat2_backward(grad: Tensor, mat1: Tensor, mat2: Tensor, size: Sequence[int]) -> Tensor:
    (_, result) = matmul_backward(wide(grad), wide(mat1), wide(mat2), [False, True])
    assert result is not None
    return result.reshape(size).to(mat2.dtype)


def _transpose_batchmatmul(
    input: Tensor, weight: Tensor, *, bias: Tensor | None = None, scale: Tensor | None = None,
    perm_x1: Sequence[int] | None = None, perm_x2: Sequence[int] | None = None, perm_y: Sequence[int] | None = None,
    batch_split_factor: int | None = 1,
) -> Tensor:  # fmt: skip
    refuse(bias=bias, scale=scale)
    a, b = wide(input).permute(*(perm_x1 or (0, 1, 2))), wide(weight).permute(*(perm_x2 or (0, 1, 2)))
    out = (a @ b).permute(*(perm_y or (1, 0, 2))).to(input.dtype)
    if not batch_split_factor or batch_split_factor == 1:
        return out
    # (M, B, N) -> (parts, M, B N / parts)
    return out.reshape(out.shape[0], batch_split_factor, -1).transpose(0, 1)


PRODUCTS: Mapping[str, Callable[..., Any]] = {
    "npu_linear": _linear,
    "npu_linear_backward": _linear_backward,
    "npu_bmmV2": _bmm_v2,
    "npu_bmm_v2_mat1_backward": _bmm_v2_mat1_backward,
    "npu_bmm_v2_mat2_backward": _bmm_v2_mat2_backward,
    "npu_transpose_batchmatmul": _transpose_batchmatmul,
}
