"""``npu::npu_rms_norm_custom(Tensor x, Tensor gamma, float epsilon=1e-6) -> (Tensor, Tensor)``: x / rms(x) * gamma.

x: (…, D), gamma: (D,), fp16, fp32 or bf16, the same dtype.
Returns y, like x, and rstd (…, 1), fp32: 1 / sqrt(mean(x²) + epsilon) over the last dimension, computed in fp32.
"""

from __future__ import annotations

from typing import Any

import torch

from ophook_npu.ops.declare import Operator
from ophook_npu.ops.rules import reduced, same_as

DTYPES = (torch.float16, torch.float32, torch.bfloat16)


def cpu(x: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6) -> tuple[torch.Tensor, torch.Tensor]:
    wide = x.float()
    rstd = torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
    return (wide * rstd * gamma.float()).to(x.dtype).contiguous(), rstd.contiguous()


def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    x, gamma, _ = inputs
    ctx.set_materialize_grads(False)  # rstd is rarely used: no zeros for its gradient
    ctx.save_for_backward(x, gamma, output[1])


def backward(ctx: Any, grad_y: torch.Tensor | None, grad_rstd: torch.Tensor | None) -> tuple[Any, ...]:
    x, gamma, rstd = ctx.saved_tensors
    normal = x.float() * rstd
    grad_x = grad_gamma = None
    if grad_y is not None:
        grad = grad_y.float()
        if ctx.needs_input_grad[0]:
            scaled = grad * gamma.float()
            grad_x = (scaled - normal * (scaled * normal).mean(-1, keepdim=True)) * rstd
        if ctx.needs_input_grad[1]:
            grad_gamma = (grad * normal).sum_to_size(gamma.shape).to(gamma.dtype)
    if grad_rstd is not None and ctx.needs_input_grad[0]:
        # rstd's derivative by x is -x · rstd³ / D
        through = normal * (grad_rstd * rstd.square() / -x.shape[-1])
        grad_x = through if grad_x is None else grad_x + through
    return None if grad_x is None else grad_x.to(x.dtype), grad_gamma, None


def examples() -> list[tuple[Any, ...]]:
    return [
        (torch.randn(4, 8, requires_grad=True), torch.randn(8, requires_grad=True)),
        (torch.randn(2, 3, 16), torch.randn(16), 1e-5),
        (torch.randn(16, 6).half().t(), torch.randn(16).half()),
        (torch.randn(5).bfloat16(), torch.randn(5).bfloat16(), 0.1),
        (torch.randn(0, 8), torch.randn(8)),
    ]


OPERATOR = Operator(
    schema="npu::npu_rms_norm_custom(Tensor x, Tensor gamma, float epsilon=1e-6) -> (Tensor, Tensor)",
    summary="y = x / sqrt(mean(x²) + epsilon) * gamma over the last dimension, and rstd",
    cpu=cpu,
    outputs={"y": same_as("x"), "rstd": reduced("x", -1, dtype=torch.float32)},
    dtypes={"x gamma": DTYPES},
    shapes={"x": "... d", "gamma": "d"},
    backward=backward,
    setup_context=setup_context,
    ge="RmsNormCustom",
    examples=examples,
)
