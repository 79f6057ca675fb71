"""``npu::npu_add_custom(Tensor x, Tensor y) -> Tensor``: x + y with broadcasting.

x, y: any shapes that broadcast, fp16, fp32, bf16 or int32, the same dtype, on the same device; at most 2^31 - 1
elements.
Returns the broadcast shape, x's dtype, contiguous.
"""

from __future__ import annotations

import torch

from ophook_npu.ops.declare import Operator
from ophook_npu.ops.rules import broadcast

DTYPES = (torch.float16, torch.float32, torch.bfloat16, torch.int32)


def cpu(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.add(x, y).contiguous()


def examples() -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [
        (torch.randn(8, 2048), torch.randn(8, 2048)),
        (torch.randn(3, 1, 5, requires_grad=True), torch.randn(4, 1, requires_grad=True)),
        (torch.randn(6, 4).half().t(), torch.randn(8, 6).half()[::2]),
        (torch.tensor(2.0).bfloat16(), torch.randn(2, 3).bfloat16()),
        (torch.randint(-9, 9, (0, 4), dtype=torch.int32), torch.randint(-9, 9, (1, 4), dtype=torch.int32)),
    ]


OPERATOR = Operator(
    schema="npu::npu_add_custom(Tensor x, Tensor y) -> Tensor",
    summary="z = x + y with broadcasting",
    cpu=cpu,
    outputs={"z": broadcast("x", "y")},
    dtypes={"x y": DTYPES},
    derivatives={"x": "grad", "y": "grad"},
    vmap="broadcast",
    ge="AddCustom",
    max_elements=2**31 - 1,  # the kernel counts in 32 bits
    examples=examples,
)
