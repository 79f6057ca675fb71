"""Formulas of torch_npu's activations, gated or not.

Arguments are those of the operators' schemas; results have the dtype of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import functional as F

from ophook_npu.observe.references.arguments import refuse, wide

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


ACTIVATIONS: Mapping[str, Callable[..., Any]] = {
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
    "npu_swiglu": _swiglu,
    "npu_swiglu_backward": _swiglu_backward,
    "npu_clipped_swiglu": _clipped_swiglu,
    "npu_geglu": _geglu,
    "npu_geglu_grad": _geglu_grad,
    "npu_gelu_mul": _gelu_mul,
}
