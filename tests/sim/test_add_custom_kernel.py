"""op_plugin_patch/AddCustomKernelNpuApi.cpp over the real torch_npu: results, and every refusal by its text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ophook_npu import ops
from ophook_npu.npu.installed import built_in

DEVICE = "npu:0"


@pytest.fixture(scope="module")
def add() -> Callable[..., Any]:
    operator = ops.npu_add_custom
    assert torch._C._dispatch_has_kernel_for_dispatch_key("npu::npu_add_custom", "PrivateUse1")
    return operator


def base() -> torch.Tensor:
    return torch.arange(20, dtype=torch.float32, device=DEVICE).reshape(4, 5)


@pytest.mark.parametrize(
    "pair",
    [
        lambda x: (x, x),
        lambda x: (x, x.t().contiguous().t()),
        lambda x: (x, x[0]),
        lambda x: (x[0], x),
        lambda x: (x[:, ::2], x[:, 1:2]),
        lambda x: (x.t()[1], x[0, :4]),
        lambda x: (x[1:, None], x[None, 2]),
        lambda x: (x[0, 0], x[1, 1]),
        lambda x: (x[0, 0], x),
        lambda x: (x[:1].expand(4, 5), x),
        lambda x: (x[:0], x[:1]),
        lambda x: (x[:0, :1], x[:1]),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.bfloat16, torch.int32], ids=str)
def test_equals_aten(
    add: Callable[..., Any], pair: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]], dtype: torch.dtype
) -> None:
    x, y = pair(base().to(dtype))
    z = add(x, y)
    assert (z.dtype, z.device, z.is_contiguous()) == (dtype, x.device, True)
    assert torch.equal(z.cpu(), x.cpu() + y.cpu())


@pytest.mark.parametrize(
    ("pair", "text"),
    [
        (
            lambda x: (x, x.half()),
            "x has dtype Float, y has dtype Half; allowed: one dtype for both; next: convert one of them with .to()",
        ),
        (lambda x: (x.bool(), x.bool()), "x and y have dtype Bool; allowed: Half, Float, BFloat16, Int"),
        (
            lambda x: (x, x.cpu()),
            "x is on npu:0, y is on cpu; allowed: both on one device; next: move one of them with .to()",
        ),
        (lambda x: (x.cpu(), x), "x is on cpu, y is on npu:0; allowed: both on one device"),
        (
            lambda x: (x, x[0, :3]),
            "x has shape [4, 5], y has shape [3], which do not broadcast: dimension -1 is 5 and 3; "
            "allowed: equal sizes, or one of them 1",
        ),
        (
            lambda x: (x[:0], x[:2]),
            "x has shape [0, 5], y has shape [2, 5], which do not broadcast: dimension -2 is 0 and 2",
        ),
        (
            lambda x: (x[:1, :1].expand(65536, 32768), x[:1, :1]),
            "x has shape [65536, 32768], more than 2147483647 elements; allowed: at most that many; next: split",
        ),
        (
            lambda x: (x[:1, :1].expand(65536, 1), x[:1, :1].expand(1, 32768)),
            "the result has shape [65536, 32768], more than 2147483647 elements",
        ),
        (
            lambda x: (x[:1, :1].expand(2**31 - 1, 1, 1), x[0, 0].expand(2**31 - 1, 2**31 - 1)),
            "y has shape [2147483647, 2147483647], more than 2147483647 elements",
        ),
    ],
)
def test_refused_at_the_call(
    add: Callable[..., Any], pair: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]], text: str
) -> None:
    """In the first phase: with the task queue on, a later failure would be raised by some other call."""
    x, y = pair(base())
    text = f"[npu_add_custom] {text}"
    if x.device != y.device and built_in(["npu_add_custom"]):
        text = "Expected all tensors to be on the same device"  # torch_npu's generated wrapper, before the kernel
    with pytest.raises(RuntimeError, match=re.escape(text)):
        add(x, y)
