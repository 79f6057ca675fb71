"""Formulas of torch_npu's normalizations.

Arguments are those of the operators' schemas; results have the dtype of the input, statistics at least float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.nn import functional as F

from ophook_npu.observe.references.arguments import wide
from ophook_npu.observe.references.results import Unspecified

Tensor = torch.Tensor


# ---- normalizations: (x - mean) * rstd * gamma + beta over the last dimensions, those of gamma -----------------------
def _over(gamma: Tensor) -> list[int]:
    return list(range(-gamma.dim(), 0))


def _rms(x: Tensor, gamma: Tensor, epsilon: float, offset: float = 0.0) -> tuple[Tensor, Tensor]:
    rstd = (x.square().mean(_over(gamma), True) + epsilon).rsqrt()
    return x * rstd * (wide(gamma) + offset), rstd


def _layer(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    mean = x.mean(_over(gamma), True)
    rstd = ((x - mean).square().mean(_over(gamma), True) + epsilon).rsqrt()
    return (x - mean) * rstd * wide(gamma) + wide(beta), mean, rstd


def _norm_backward(
    dy: Tensor, x: Tensor, gamma: Tensor, rstd: Tensor, mean: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of x, gamma and beta. Without a mean it was not subtracted."""
    shape = [*x.shape[: x.dim() - gamma.dim()], *[1] * gamma.dim()]
    rstd = rstd.reshape(shape).to(x.dtype)
    normal = (x if mean is None else x - mean.reshape(shape).to(x.dtype)) * rstd
    to = dy * wide(gamma)
    to_normal = to - normal * (to * normal).mean(_over(gamma), True)
    if mean is not None:
        to_normal = to_normal - to.mean(_over(gamma), True)
    return to_normal * rstd, (dy * normal).sum_to_size(gamma.shape), dy.sum_to_size(gamma.shape)


def _rms_norm(input: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    out, rstd = _rms(wide(input), gamma, epsilon)
    return out.to(input.dtype), rstd


def _gemma_rms_norm(input: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    out, rstd = _rms(wide(input), gamma, epsilon, 1.0)
    return out.to(input.dtype), rstd


def _rms_norm_backward(dy: Tensor, input: Tensor, gamma: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor]:
    to_input, to_gamma, _ = _norm_backward(wide(dy), wide(input), gamma, rstd, None)
    return to_input.to(input.dtype), to_gamma


def _add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor, Tensor]:
    total = wide(x1) + wide(x2)
    out, rstd = _rms(total, gamma, epsilon)
    return out.to(x1.dtype), rstd, total.to(x1.dtype)


def _add_rms_norm_v2(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> Tensor:
    out, rstd, total = _add_rms_norm(x1, x2, gamma, epsilon)
    x1.copy_(out)
    x2.copy_(total)
    return rstd


def _add_rms_norm_v2_functional(
    x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    out, rstd, total = _add_rms_norm(x1, x2, gamma, epsilon)
    return rstd, out, total


def _add_rms_norm_cast(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, ...]:
    out, rstd, total = _add_rms_norm(x1, x2, gamma, epsilon)
    return _rms(wide(x1) + wide(x2), gamma, epsilon)[0], out, rstd, total


def _add_layer_norm(
    x1: Tensor, x2: Tensor, gamma: Tensor, beta: Tensor, epsilon: float = 1e-5, additional_output: bool = False
) -> tuple[Any, ...]:
    total = wide(x1) + wide(x2)
    dtype = torch.promote_types(x1.dtype, x2.dtype)
    out, mean, rstd = _layer(total, gamma, beta, epsilon)
    unused = Unspecified("the sum is only written with additional_output")
    return out.to(dtype), mean, rstd, total.to(dtype) if additional_output else unused


def _add_layer_norm_backward(
    dy_opt: Tensor | None, x1: Tensor, x2: Tensor, rstd: Tensor, mean: Tensor, gamma: Tensor, dsum_opt: Tensor | None
) -> tuple[Tensor, ...]:
    if dy_opt is None or dy_opt.numel() == 0:
        raise NotImplementedError("no formula without argument dy_opt")
    to, to_gamma, to_beta = _norm_backward(wide(dy_opt), wide(x1) + wide(x2), gamma, rstd, mean)
    if dsum_opt is not None and dsum_opt.numel():
        to = to + wide(dsum_opt)
    return to.to(x1.dtype), to.to(x2.dtype), to_gamma, to_beta


def _deep_norm(
    x: Tensor, gx: Tensor, beta: Tensor, gamma: Tensor, alpha: float = 0.3, epsilon: float = 1e-6
) -> tuple[Tensor, ...]:
    out, mean, rstd = _layer(alpha * wide(x) + wide(gx), gamma, beta, epsilon)
    return mean, rstd, out.to(x.dtype)


def _deep_norm_backward(
    dy: Tensor, x: Tensor, gx: Tensor, gamma: Tensor, mean: Tensor, rstd: Tensor, alpha: float = 0.3
) -> tuple[Tensor, ...]:
    to, to_gamma, to_beta = _norm_backward(wide(dy), alpha * wide(x) + wide(gx), gamma, rstd, mean)
    return (alpha * to).to(x.dtype), to.to(gx.dtype), to_beta, to_gamma


def _layer_norm_eval(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def _group_norm(
    input: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, eps: float, swish_scale: float
) -> tuple[Tensor, ...]:
    x = wide(input).reshape(input.shape[0], groups, -1)
    mean = x.mean(-1)
    rstd = ((x - mean.unsqueeze(-1)).square().mean(-1) + eps).rsqrt()
    normal = ((x - mean.unsqueeze(-1)) * rstd.unsqueeze(-1)).reshape(input.shape)
    channels = [1, -1, *[1] * (input.dim() - 2)]
    out = normal if weight is None else normal * wide(weight).reshape(channels)
    out = out if bias is None else out + wide(bias).reshape(channels)
    return (out * torch.sigmoid(swish_scale * out)).to(input.dtype), mean, rstd


def _group_norm_silu(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, group: int, eps: float = 1e-5
) -> tuple[Tensor, ...]:
    out, mean, rstd = _group_norm(input, group, weight, bias, eps, 1.0)
    return out, mean.to(input.dtype), rstd.to(input.dtype)


def _group_norm_swish(
    input: Tensor, num_groups: int, weight: Tensor, bias: Tensor, eps: float | None = 1e-5,
    swish_scale: float | None = 1.0,
) -> tuple[Tensor, ...]:  # fmt: skip
    return _group_norm(
        input, num_groups, weight, bias, 1e-5 if eps is None else eps, 1.0 if swish_scale is None else swish_scale
    )


def _group_norm_swish_grad(
    grad: Tensor, input: Tensor, num_groups: int, weight: Tensor, bias: Tensor, mean: Tensor, rstd: Tensor,
    grad_input_mask: Sequence[bool], swish_scale: float | None = 1.0,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    scale = 1.0 if swish_scale is None else swish_scale
    shape = (input.shape[0], num_groups, -1)
    channels = [1, -1, *[1] * (input.dim() - 2)]
    spread = wide(rstd).reshape(shape).to(wide(input).dtype)
    normal = (wide(input).reshape(shape) - wide(mean).reshape(shape)) * spread
    out = normal.reshape(input.shape) * wide(weight).reshape(channels) + wide(bias).reshape(channels)
    s = torch.sigmoid(scale * out)
    to = wide(grad) * s * (1 + scale * out * (1 - s))
    others = [d for d in range(input.dim()) if d != 1]
    to_weight, to_bias = (to * normal.reshape(input.shape)).sum(others), to.sum(others)
    of_normal = (to * wide(weight).reshape(channels)).reshape(shape)
    centered = of_normal - of_normal.mean(-1, True) - normal * (of_normal * normal).mean(-1, True)
    grads = ((centered * spread).reshape(input.shape).to(input.dtype), to_weight, to_bias)
    return tuple(g if asked else None for g, asked in zip(grads, grad_input_mask, strict=True))


NORMS: Mapping[str, Callable[..., Any]] = {
    "npu_rms_norm": _rms_norm,
    "npu_rms_norm_backward": _rms_norm_backward,
    "npu_gemma_rms_norm": _gemma_rms_norm,
    "npu_add_rms_norm": _add_rms_norm,
    "npu_add_rms_norm_v2": _add_rms_norm_v2,
    "npu_add_rms_norm_v2_functional": _add_rms_norm_v2_functional,
    "npu_add_rms_norm_cast": _add_rms_norm_cast,
    "npu_add_layer_norm": _add_layer_norm,
    "npu_add_layer_norm_backward": _add_layer_norm_backward,
    "npu_deep_norm": _deep_norm,
    "npu_deep_norm_backward": _deep_norm_backward,
    "npu_layer_norm_eval": _layer_norm_eval,
    "npu_group_norm_silu": _group_norm_silu,
    "npu_group_norm_swish": _group_norm_swish,
    "npu_group_norm_swish_grad": _group_norm_swish_grad,
}
