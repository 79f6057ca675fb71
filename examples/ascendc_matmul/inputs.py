"""Inputs for ``ophook-npu kernel check examples/ascendc_matmul --inputs examples/ascendc_matmul/inputs.py``."""

import torch

# (m, n, k): fractals, one row, tails in all directions, more tiles than one core takes, nothing
SHAPES = [(64, 64, 64), (1, 33, 70), (130, 517, 95), (512, 640, 300), (0, 16, 8)]


def inputs() -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor, bool]]:
    generator = torch.Generator().manual_seed(0)
    cases = []
    for dtype, bias in (
        (torch.float16, torch.float16),
        (torch.float32, torch.float32),
        (torch.bfloat16, torch.float32),
    ):
        for number, (m, n, k) in enumerate(SHAPES):
            transposed = number % 2 == 1
            x = torch.randn(m, k, generator=generator)
            weight = torch.randn((n, k) if transposed else (k, n), generator=generator)
            cases.append((x.to(dtype), weight.to(dtype), torch.randn(n, generator=generator).to(bias), transposed))
    return cases


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, transposed: bool) -> torch.Tensor:
    return (x.float() @ (weight.t() if transposed else weight).float() + bias.float()).to(x.dtype)
