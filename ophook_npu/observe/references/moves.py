"""Formulas of torch_npu's casts and moves.

Arguments are those of the operators' schemas; results have the dtype of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.nn import functional as F

from ophook_npu.observe.references.arguments import refuse

Tensor = torch.Tensor
_aten = torch.ops.aten


# ---- casts -----------------------------------------------------------------------------------------------------------
# As the operators number them.
_DTYPES = {
    0: torch.uint8, 1: torch.int8, 2: torch.int16, 3: torch.int32, 4: torch.int64, 5: torch.float16, 6: torch.float32,
    7: torch.float64, 11: torch.bool, 15: torch.bfloat16,
}  # fmt: skip


def _cast(input: Tensor, dtype: int | torch.dtype, input_dtype: int | None = None) -> Tensor:
    refuse(input_dtype=input_dtype)
    to = dtype if isinstance(dtype, torch.dtype) else _DTYPES.get(dtype)
    if to is None:
        raise NotImplementedError(f"no formula for dtype {dtype}")
    # A reference in more bits stays there.
    stays = input.dtype == torch.float64 and to.is_floating_point
    return input.clone() if stays else input.to(to, copy=True)


def _cast_in_place(input: Tensor, src: Tensor) -> Tensor:
    return input.copy_(src)


def _cast_backward(
    grad: Tensor, dtype: torch.dtype, grad_dtype: int | None = None, input_dtype: int | None = None
) -> Tensor:
    return _cast(grad, dtype, input_dtype)


def _plain_cast_backward(grad: Tensor, dtype: torch.dtype) -> Tensor:
    return _cast(grad, dtype)


def _plain_cast(input: Tensor, dtype: torch.dtype) -> Tensor:
    return _cast(input, dtype)


def _same(
    input: Tensor, acl_format: Any, *, customize_dtype: int | None = None, input_dtype: int | None = None
) -> Tensor:
    # Only the order in memory changes.
    refuse(customize_dtype=customize_dtype, input_dtype=input_dtype)
    return input.clone()


# ---- moves -----------------------------------------------------------------------------------------------------------
def _confusion_transpose(input: Tensor, perm: Sequence[int], shape: Sequence[int], transpose_first: bool) -> Tensor:
    return input.permute(*perm).reshape(shape) if transpose_first else input.reshape(shape).permute(*perm)


def _confusion_transpose_backward(
    grad: Tensor, perm: Sequence[int], shape: Sequence[int], transpose_first: bool
) -> Tensor:
    # shape is the forward's input's, and transpose_first is the opposite of the forward's.
    back = [list(perm).index(i) for i in range(len(perm))]
    if transpose_first:
        return grad.permute(back).reshape(shape)
    return grad.reshape([shape[i] for i in perm]).permute(back)


def _transpose(input: Tensor, perm: Sequence[int], require_contiguous: bool = True) -> Tensor:
    return input.permute(*perm)


def _reshape(input: Tensor, shape: Sequence[int], can_refresh: bool = False) -> Tensor:
    return input.reshape(shape)


def _slice(input: Tensor, offsets: Sequence[int], size: Sequence[int]) -> Tensor:
    for dim, (start, length) in enumerate(zip(offsets, size, strict=True)):
        input = input.narrow(dim, start, length if length >= 0 else input.shape[dim] - start)
    return input


def _pad(input: Tensor, paddings: Sequence[int]) -> Tensor:
    # From the first dimension on; torch counts from the last.
    pairs = [list(paddings[i : i + 2]) for i in range(0, len(paddings), 2)]
    return F.pad(input, [n for pair in reversed(pairs) for n in pair])


def _broadcast(input: Tensor, size: Sequence[int]) -> Tensor:
    return input.expand(size)


def _gather_backward(grad: Tensor, self_size: Sequence[int], dim: int, index: Tensor, sparse_grad: bool) -> Tensor:
    return grad.new_zeros(self_size).scatter_add(dim, index, grad)


def _max(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return tuple(input.max(dim, keepdim))  # type: ignore[return-value]


def _min(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return tuple(input.min(dim, keepdim))  # type: ignore[return-value]


def _max_backward(grad: Tensor, dim: int, indices: Tensor, sizes: Sequence[int], keepdim: bool) -> Tensor:
    if not keepdim:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(sizes).scatter(dim, indices.long(), grad)


def _repeat_backward_int(grad: Tensor, input: Tensor, repeats: int, dim: int | None = None) -> Tensor:
    if dim is None:
        return grad.reshape(-1, repeats).sum(-1).reshape(input.shape)
    dim %= input.dim()
    groups: Tensor = grad.unflatten(dim, (-1, repeats))
    return groups.sum(dim + 1)


def _repeat_backward_tensor(grad: Tensor, input: Tensor, repeats: Tensor, dim: int | None = None) -> Tensor:
    flat = input.flatten() if dim is None else input
    dim = 0 if dim is None else dim
    count = flat.shape[dim]
    place = torch.arange(count).repeat_interleave(repeats.expand(count) if repeats.numel() == 1 else repeats)
    return torch.zeros_like(flat).index_add(dim, place, grad.reshape(grad.shape)).reshape(input.shape)


def _fft_r2c_backward(
    grad: Tensor, dim: Sequence[int], normalization: int, onesided: bool, last_dim_size: int
) -> Tensor:
    if onesided:
        missing = last_dim_size - grad.shape[dim[-1]]
        shape = list(grad.shape)
        shape[dim[-1]] = missing
        grad = torch.cat((grad, grad.new_zeros(shape)), dim[-1])
    return torch.real(_aten._fft_c2c(grad, list(dim), normalization, False))


def _fft_c2r_backward(grad: Tensor, dim: Sequence[int], normalization: int) -> Tensor:
    result: Tensor = _aten._fft_r2c(grad, list(dim), normalization, True)
    # The other half of the spectrum is the conjugate of these.
    twice = grad.shape[dim[-1]] - result.shape[dim[-1]]
    if twice > 0:
        result.narrow(dim[-1], 1, twice).mul_(2)
    return result


MOVES: Mapping[str, Callable[..., Any]] = {
    "npu_dtype_cast": _cast,
    "npu_dtype_cast_": _cast_in_place,
    "npu_dtype_cast_backward": _cast_backward,
    "_npu_dtype_cast": _plain_cast,
    "_npu_dtype_cast_backward": _plain_cast_backward,
    "npu_format_cast": _same,
    "_npu_format_cast": _same,
    "npu_confusion_transpose": _confusion_transpose,
    "npu_confusion_transpose_backward": _confusion_transpose_backward,
    "npu_transpose": _transpose,
    "npu_reshape": _reshape,
    "npu_slice": _slice,
    "npu_pad": _pad,
    "npu_broadcast": _broadcast,
    "npu_gather_backward": _gather_backward,
    "npu_max.dim": _max,
    "npu_min.dim": _min,
    "npu_max_backward": _max_backward,
    "npu_min_backward": _max_backward,
    "repeat_interleave_backward_int": _repeat_backward_int,
    "repeat_interleave_backward_tensor": _repeat_backward_tensor,
    "fft_r2c_backward": _fft_r2c_backward,
    "fft_c2r_backward": _fft_c2r_backward,
}
