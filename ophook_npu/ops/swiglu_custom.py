"""``npu::npu_swiglu_custom(Tensor x, int dim=-1) -> Tensor``: silu(a) * b, where a and b are x's halves along dim.

x: fp16, fp32 or bf16, an even extent along dim. Returns half of that extent, x's dtype; silu is computed in fp32.
"""

from __future__ import annotations

from typing import Any

import torch

from ophook_npu.ops.declare import Operator
from ophook_npu.ops.rules import divided

DTYPES = (torch.float16, torch.float32, torch.bfloat16)


def cpu(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    a, b = x.float().chunk(2, dim)
    return (torch.nn.functional.silu(a) * b).to(x.dtype).contiguous()


def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    x, ctx.dim = inputs
    ctx.save_for_backward(x)


def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
    (x,) = ctx.saved_tensors
    a, b = x.float().chunk(2, ctx.dim)
    gate, wide = torch.sigmoid(a), grad.float()
    silu = a * gate
    grad_a = wide * b * (gate + silu * (1 - gate))
    return torch.cat([grad_a, wide * silu], ctx.dim).to(x.dtype), None


def examples() -> list[tuple[Any, ...]]:
    return [
        (torch.randn(4, 8, requires_grad=True),),
        (torch.randn(2, 6, 3, requires_grad=True), 1),
        (torch.randn(6, 4).half().t(), -1),
        (torch.randn(10).bfloat16(), 0),
        (torch.randn(0, 8),),
    ]


OPERATOR = Operator(
    schema="npu::npu_swiglu_custom(Tensor x, int dim=-1) -> Tensor",
    summary="silu(a) * b for the halves a and b of x along dim",
    cpu=cpu,
    outputs={"y": divided("x", 2, "dim")},
    dtypes={"x": DTYPES},
    backward=backward,
    setup_context=setup_context,
    ge="SwigluCustom",
    examples=examples,
)
