"""Formulas of torch_npu's losses.

Arguments are those of the operators' schemas; results have the dtype of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import functional as F

from ophook_npu.observe.references.arguments import refuse, wide
from ophook_npu.observe.references.results import Unspecified

Tensor = torch.Tensor


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


LOSSES: Mapping[str, Callable[..., Any]] = {
    "l1_loss_backward": _l1_loss_backward,
    "kl_div_backward": _kl_div_backward,
    "kl_div_target_backward": _kl_div_target_backward,
    "npu_binary_cross_entropy_with_logits_backward": _bce_backward,
    "npu_softmax_cross_entropy_with_logits": _softmax_cross_entropy,
    "npu_softmax_cross_entropy_with_logits_backward": _softmax_cross_entropy_backward,
    "npu_cross_entropy_loss": _cross_entropy,
    "npu_cross_entropy_loss_backward": _cross_entropy_backward,
}
