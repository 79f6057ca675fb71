"""Where the device rounds: what op-plugin's own tests expect of it."""

from __future__ import annotations

import pytest
import torch

F16 = torch.float16


def lists(dtype: torch.dtype) -> list[list[torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    return [[torch.randn(40, 40, generator=generator).to(dtype) for _ in range(3)] for _ in range(3)]


def on_npu(*many: list[torch.Tensor]) -> list[list[torch.Tensor]]:
    return [[x.npu() for x in one] for one in many]


def test_lists_of_half_round_after_each_step() -> None:
    x, y, z = lists(F16)
    scale = torch.tensor([0.3, 1.7, -2.5], dtype=F16)
    u, v, w = on_npu(x, y, z)
    difference = torch._foreach_sub(u, v, alpha=5.0)
    quotient = torch._foreach_addcdiv(u, v, w, scale)
    for i in range(3):
        torch.testing.assert_close(difference[i].cpu(), x[i] - y[i] * 5.0, rtol=0, atol=0)
        torch.testing.assert_close(quotient[i].cpu(), x[i] + y[i] / z[i] * scale[i], rtol=0, atol=0)
    # The test can tell: rounded once, some elements differ.
    once = (x[0].float() - y[0].float() * 5.0).half()
    assert (once != x[0] - y[0] * 5.0).any()


def test_lists_of_bfloat16_round_once() -> None:
    x, y, _ = lists(torch.bfloat16)
    u, v = on_npu(x, y)
    for got, a, b in zip(torch._foreach_sub(u, v, alpha=5.0), x, y, strict=True):
        torch.testing.assert_close(got.cpu(), (a.float() - b.float() * 5.0).bfloat16(), rtol=0, atol=0)


@pytest.mark.parametrize("in_place", [False, True])
def test_hard_sigmoid_takes_integers(in_place: bool) -> None:
    x = torch.arange(-6, 6, dtype=torch.int32)
    got = torch.nn.functional.hardsigmoid(x.npu(), inplace=in_place)
    assert got.cpu().tolist() == [0] * 9 + [1] * 3
