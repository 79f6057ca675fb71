"""Formulas of torch_npu's fused layers: normalizations, rotary embedding, gated activations, products.

Arguments are those of the operators' schemas; results have the dtype of the input, statistics at least float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.nn import functional as F

from ophook_npu.observe._npu_attention import refuse, wide
from ophook_npu.observe._references import Unspecified, matmul_backward

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


# ---- rotary position embedding: x cos + rotated(x) sin ---------------------------------------------------------------
def _rotated(x: Tensor, mode: str) -> Tensor:
    if mode == "half":
        first, second = x.chunk(2, -1)
        return torch.cat((-second, first), -1)
    if mode == "interleave":
        return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    raise NotImplementedError(f"no formula for rotary_mode {mode}")


def _rotary(input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half", rotate: Tensor | None = None) -> Tensor:
    x = wide(input)
    turned = _rotated(x, rotary_mode) if rotate is None else x @ wide(rotate)
    return (x * wide(r1) + turned * wide(r2)).to(input.dtype)


def _rotary_backward(
    grad: Tensor, input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half"
) -> tuple[Tensor, ...]:
    to, x = wide(grad), wide(input)
    # A quarter turn back is three quarter turns on: the transpose of the rotation is its negative.
    to_input = to * wide(r1) - _rotated(to * wide(r2), rotary_mode)
    to_cos, to_sin = (to * x).sum_to_size(r1.shape), (to * _rotated(x, rotary_mode)).sum_to_size(r2.shape)
    return to_input.to(input.dtype), to_cos.to(r1.dtype), to_sin.to(r2.dtype)


def _apply_rotary(
    query: Tensor, key: Tensor, cos: Tensor, sin: Tensor, layout: str = "BSND", rotary_mode: str = "half"
) -> tuple[Tensor, Tensor]:
    if cos.shape[-1] != query.shape[-1]:
        raise NotImplementedError("no formula for argument cos narrower than query")
    results = [_rotary(x, cos, sin, rotary_mode) for x in (query, key)]
    return query.copy_(results[0]), key.copy_(results[1])


# ---- gated activations -----------------------------------------------------------------------------------------------
def _swiglu(input: Tensor, dim: int = -1) -> Tensor:
    gate, value = wide(input).chunk(2, dim)
    return (gate * torch.sigmoid(gate) * value).to(input.dtype)


def _swiglu_backward(grad_output: Tensor, input: Tensor, dim: int = -1) -> Tensor:
    gate, value = wide(input).chunk(2, dim)
    to, s = wide(grad_output), torch.sigmoid(gate)
    return torch.cat((to * value * s * (1 + gate * (1 - s)), to * gate * s), dim).to(input.dtype)


def _clipped_swiglu(
    x: Tensor, *, group_index: Tensor | None = None, dim: int = -1, alpha: float = 1.702, limit: float = 7.0,
    bias: float = 1.0, interleaved: bool = True,
) -> Tensor:  # fmt: skip
    refuse(group_index=group_index)
    if dim not in (-1, x.dim() - 1):
        raise NotImplementedError("no formula for argument dim before the last dimension")
    both = wide(x)
    gate, value = (both[..., ::2], both[..., 1::2]) if interleaved else both.chunk(2, -1)
    gate, value = gate.clamp(max=limit), value.clamp(-limit, limit)
    return (gate * torch.sigmoid(alpha * gate) * (value + bias)).to(x.dtype)


def _approximation(mode: int) -> str:
    return "tanh" if mode == 1 else "none"


def _geglu(input: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False) -> tuple[Tensor, Tensor]:
    first, second = wide(input).chunk(2, dim)
    gelu = F.gelu(first if activate_left else second, approximate=_approximation(approximate))
    return (gelu * (second if activate_left else first)).to(input.dtype), gelu.to(input.dtype)


def _geglu_grad(
    grad_output: Tensor, input: Tensor, gelu: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False
) -> Tensor:
    first, second = wide(input).chunk(2, dim)
    gate, value = (first, second) if activate_left else (second, first)
    to = wide(grad_output)
    to_gate = torch.ops.aten.gelu_backward(to * value, gate, approximate=_approximation(approximate))
    to_value = to * wide(gelu)
    return torch.cat((to_gate, to_value) if activate_left else (to_value, to_gate), dim).to(input.dtype)


def _gelu_mul(input: Tensor, *, approximate: str = "none") -> Tensor:
    first, second = wide(input).chunk(2, -1)
    return (F.gelu(first, approximate=approximate) * second).to(input.dtype)


# ---- products --------------------------------------------------------------------------------------------------------
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


LAYERS: Mapping[str, Callable[..., Any]] = {
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
    "npu_rotary_mul": _rotary,
    "npu_rotary_mul_backward": _rotary_backward,
    "npu_apply_rotary_pos_emb": _apply_rotary,
    "npu_swiglu": _swiglu,
    "npu_swiglu_backward": _swiglu_backward,
    "npu_clipped_swiglu": _clipped_swiglu,
    "npu_geglu": _geglu,
    "npu_geglu_grad": _geglu_grad,
    "npu_gelu_mul": _gelu_mul,
    "npu_linear": _linear,
    "npu_linear_backward": _linear_backward,
    "npu_bmmV2": _bmm_v2,
    "npu_bmm_v2_mat1_backward": _bmm_v2_mat1_backward,
    "npu_bmm_v2_mat2_backward": _bmm_v2_mat2_backward,
    "npu_transpose_batchmatmul": _transpose_batchmatmul,
}
