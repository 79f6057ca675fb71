"""Formulas of torch_npu's activations, casts, moves and losses.

Arguments are those of the operators' schemas; results have the dtype of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.nn import functional as F

from ophook_npu.observe._npu_attention import refuse, wide
from ophook_npu.observe._references import Unspecified

Tensor = torch.Tensor
_aten = torch.ops.aten


# ---- activations -----------------------------------------------------------------------------------------------------
def _fast_gelu(input: Tensor) -> Tensor:
    x = wide(input)
    return (x * torch.sigmoid(1.702 * x)).to(input.dtype)


def _fast_gelu_backward(grad: Tensor, input: Tensor) -> Tensor:
    x = wide(input)
    s = torch.sigmoid(1.702 * x)
    return (wide(grad) * s * (1 + 1.702 * x * (1 - s))).to(input.dtype)


def _gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    return F.gelu(input, approximate=approximate)


def _gelu_backward(grad_output: Tensor, input: Tensor, *, approximate: str = "none") -> Tensor:
    result: Tensor = _aten.gelu_backward(grad_output, input, approximate=approximate)
    return result


def _silu_in_place(input: Tensor) -> Tensor:
    return input.copy_(F.silu(input))


def _silu_backward(grad_output: Tensor, x0: Tensor, x1: Tensor) -> Tensor:
    result: Tensor = _aten.silu_backward(grad_output, x0)
    return result


def _masked(x: Tensor, mask: Tensor, fixed_triu_mask: bool) -> Tensor:
    return torch.ones_like(x, dtype=torch.bool).triu(1) if fixed_triu_mask else mask.bool()


def _scaled_masked_softmax(x: Tensor, mask: Tensor, scale: float = 1, fixed_triu_mask: bool = False) -> Tensor:
    hidden = _masked(x, mask, fixed_triu_mask)
    return (wide(x) * scale).masked_fill(hidden, -10000.0).softmax(-1).to(x.dtype)


def _scaled_masked_softmax_backward(
    y_grad: Tensor, y: Tensor, mask: Tensor, scale: float, fixed_triu_mask: bool
) -> Tensor:
    to, p = wide(y_grad), wide(y)
    result = p * (to - (to * p).sum(-1, True)) * scale
    return result.masked_fill(_masked(result, mask, fixed_triu_mask), 0).to(y.dtype)


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


# ---- losses ----------------------------------------------------------------------------------------------------------
def _reduced(grad: Tensor, of: Tensor, reduction: int) -> Tensor:
    """The gradient of each element: reduction is 0 for none, 1 for the mean, 2 for the sum."""
    return wide(grad) / of.numel() if reduction == 1 else wide(grad)


def _l1_loss_backward(grad_output: Tensor, input: Tensor, target: Tensor, reduction: int) -> Tensor:
    return (_reduced(grad_output, input, reduction) * (wide(input) - wide(target)).sign()).to(input.dtype)


def _kl_div_backward(
    grad_output: Tensor, input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False
) -> Tensor:
    weight = wide(target).exp() if log_target else wide(target).clamp_min(0)
    return (-_reduced(grad_output, input, reduction) * weight).expand(input.shape).to(input.dtype)


def _kl_div_target_backward(
    grad_output: Tensor, input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False
) -> Tensor:
    x, t = wide(input), wide(target)
    to = _reduced(grad_output, input, reduction)
    if log_target:
        return (to * t.exp() * (t + 1 - x)).to(target.dtype)
    return torch.where(t > 0, to * (t.log() + 1 - x), 0.0).to(target.dtype)


def _bce_backward(
    grad_output: Tensor, input: Tensor, target: Tensor, weight_opt: Tensor | None, pos_weight_opt: Tensor | None,
    reduction: int,
) -> Tensor:  # fmt: skip
    x, t = wide(input), wide(target)
    positive = t if pos_weight_opt is None or not pos_weight_opt.numel() else t * wide(pos_weight_opt)
    # -positive log s - (1 - t) log(1 - s), where s = sigmoid(x)
    slope = (1 - t) * torch.sigmoid(x) - positive * torch.sigmoid(-x)
    if weight_opt is not None and weight_opt.numel():
        slope = slope * wide(weight_opt)
    return (_reduced(grad_output, input, reduction) * slope).to(input.dtype)


def _softmax_cross_entropy(input: Tensor, labels: Tensor) -> Tensor:
    return -(wide(labels) * wide(input).log_softmax(-1)).sum(-1).to(input.dtype)


def _softmax_cross_entropy_backward(grad: Tensor, input: Tensor, labels: Tensor) -> Tensor:
    return (wide(grad).unsqueeze(-1) * (wide(input).softmax(-1) - wide(labels))).to(input.dtype)


def _class_weights(like: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> Tensor:
    """The weight of each sample: its class's, or zero if it is ignored."""
    kept = target != ignore_index if ignore_index >= 0 else torch.ones_like(target, dtype=torch.bool)
    each = like.new_ones(target.shape) if weight is None else weight.to(like.dtype)[target]
    return each * kept


def _cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean", ignore_index: int = -100,
    label_smoothing: float = 0.0, lse_square_scale_for_zloss: float = 0.0, return_zloss: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    refuse(label_smoothing=label_smoothing or None, lse_square_scale_for_zloss=lse_square_scale_for_zloss or None)
    log_prob = wide(input).log_softmax(-1)
    each = _class_weights(log_prob, target, weight, ignore_index)
    losses = -each * log_prob.gather(1, target.unsqueeze(1)).squeeze(1)
    if reduction != "none":
        losses = (losses.sum() / each.sum() if reduction == "mean" else losses.sum()).reshape(1)
    unused = Unspecified("zloss is not supported by the operator's documentation")
    return losses.to(input.dtype), log_prob.to(input.dtype), unused, unused


def _cross_entropy_backward(
    grad_loss: Tensor, log_prob: Tensor, target: Tensor, weight: Tensor | None = None,
    grad_zloss: Tensor | None = None, lse_for_zloss: Tensor | None = None, reduction: str = "mean",
    ignore_index: int = -100, label_smoothing: float = 0.0, lse_square_scale_for_zloss: float = 0.0,
) -> Tensor:  # fmt: skip
    refuse(label_smoothing=label_smoothing or None, lse_square_scale_for_zloss=lse_square_scale_for_zloss or None)
    p = wide(log_prob).exp()
    each = _class_weights(p, target, weight, ignore_index)
    to = wide(grad_loss).reshape(-1) * (each / each.sum() if reduction == "mean" else each)
    return (to.unsqueeze(1) * (p - F.one_hot(target, p.shape[1]))).to(log_prob.dtype)


POINTWISE: Mapping[str, Callable[..., Any]] = {
    "fast_gelu": _fast_gelu,
    "npu_fast_gelu": _fast_gelu,
    "npu_fast_gelu_backward": _fast_gelu_backward,
    "npu_gelu": _gelu,
    "npu_gelu_backward": _gelu_backward,
    "npu_silu": F.silu,
    "npu_silu_": _silu_in_place,
    "npu_silu_backward": _silu_backward,
    "npu_mish": F.mish,
    "npu_mish_backward": _aten.mish_backward,
    "npu_scaled_masked_softmax": _scaled_masked_softmax,
    "npu_scaled_masked_softmax_backward": _scaled_masked_softmax_backward,
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
    "l1_loss_backward": _l1_loss_backward,
    "kl_div_backward": _kl_div_backward,
    "kl_div_target_backward": _kl_div_target_backward,
    "npu_binary_cross_entropy_with_logits_backward": _bce_backward,
    "npu_softmax_cross_entropy_with_logits": _softmax_cross_entropy,
    "npu_softmax_cross_entropy_with_logits_backward": _softmax_cross_entropy_backward,
    "npu_cross_entropy_loss": _cross_entropy,
    "npu_cross_entropy_loss_backward": _cross_entropy_backward,
}
