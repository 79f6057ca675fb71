"""Operators with loops of their own (csrc/kernels/loops.inc): each length, type and special value as the formula."""

from __future__ import annotations

import math

import pytest
import torch
import torch_npu
from torch.nn import functional

pytestmark = pytest.mark.numbers
TYPES = [torch.float32, torch.float16, torch.bfloat16]
LENGTHS = [1, 7, 15, 16, 17, 31, 33, 64, 100, 1000]


def close(got: torch.Tensor, expected: torch.Tensor) -> None:
    """Within the rounding of the type, and two steps of float's."""
    step = torch.finfo(got.dtype).eps
    torch.testing.assert_close(got.cpu().double(), expected, rtol=max(step, 4e-6), atol=max(step, 4e-6), equal_nan=True)


def test_gelu_by_tanh_and_its_gradient() -> None:
    for dtype in TYPES:
        for length in LENGTHS:
            x = torch.linspace(-12, 12, length, dtype=torch.float64).to(dtype)
            grad = torch.linspace(-2, 3, length, dtype=torch.float64).to(dtype)
            y = functional.gelu(x.npu(), approximate="tanh")
            close(y, functional.gelu(x.double(), approximate="tanh"))
            leaf = x.double().requires_grad_()
            (expected,) = torch.autograd.grad(functional.gelu(leaf, approximate="tanh"), leaf, grad.double())
            there = x.npu().requires_grad_()
            close(torch.autograd.grad(functional.gelu(there, approximate="tanh"), there, grad.npu())[0], expected)
        x = torch.tensor([math.inf, -math.inf, math.nan, 0.0, -0.0, 100, -100, 3e4, -3e4]).to(dtype)
        got, expected = functional.gelu(x.npu(), approximate="tanh").cpu(), functional.gelu(x, approximate="tanh")
        assert torch.equal(got.isnan(), expected.isnan()) and torch.equal(got.isinf(), expected.isinf())
        close(got.nan_to_num(0, 0, 0), expected.double().nan_to_num(0, 0, 0))


def test_a_nan_stays_one_whatever_its_bits_are() -> None:
    bits = torch.tensor([0x7FC00000, 0x7FC00001, 0x7F800001, 0x7FFFFFFF, -1, -0x3FFFFF, -0x7FFFFF], dtype=torch.int32)
    x = torch.zeros(7, 33)
    for place in (0, 5, 32):
        x[:, place] = bits.view(torch.float32)
        assert functional.gelu(x.npu(), approximate="tanh").cpu().isnan().equal(x.isnan())
        assert torch.softmax(x.npu(), -1).isnan().all()
    q, k, v = torch.randn(3, 1, 40, 1, 64).npu()
    for each in x[:, 32]:
        k[0, 3, 0, 5] = each
        out, _, total, *_ = torch_npu.npu_fusion_attention(q, k, v, 1, "BSND")
        assert out.isnan().all() and total.isnan().all()


def test_gelu_of_what_does_not_lie_in_one_piece() -> None:
    x = torch.randn(33, 20)
    close(functional.gelu(x.npu().t(), approximate="tanh"), functional.gelu(x.double().t(), approximate="tanh"))
    close(functional.gelu(x.npu()[:, ::3], approximate="tanh"), functional.gelu(x.double()[:, ::3], approximate="tanh"))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_layer_norm_and_its_gradients(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    for length in LENGTHS[1:]:
        for affine in (True, False):
            tensors = [(torch.randn(150, length) * 3 + 5).to(dtype)]
            tensors += [torch.rand(length).to(dtype), torch.randn(length).to(dtype)] if affine else []
            grad = torch.randn(150, length).to(dtype)
            there = [each.npu().requires_grad_() for each in tensors]
            here = [each.double().requires_grad_() for each in tensors]
            got = functional.layer_norm(there[0], (length,), *there[1:])
            expected = functional.layer_norm(here[0], (length,), *here[1:])
            scale = torch.finfo(dtype).eps if dtype != torch.float32 else 1e-5
            torch.testing.assert_close(got.cpu().double(), expected, rtol=2 * scale, atol=2 * scale)
            for one, other in zip(
                torch.autograd.grad(got, there, grad.npu()),
                torch.autograd.grad(expected, here, grad.double()),
                strict=True,
            ):
                torch.testing.assert_close(one.cpu().double(), other, rtol=4 * scale, atol=40 * scale)


def test_layer_norm_of_millions_adds_as_exactly_as_of_few() -> None:
    x = torch.rand(1, 3_000_001)
    got = functional.layer_norm(x.npu(), (x.shape[1],))
    torch.testing.assert_close(got.cpu().double(), functional.layer_norm(x.double(), (x.shape[1],)), rtol=0, atol=2e-6)


def test_layer_norm_over_two_dimensions_of_a_view() -> None:
    x = torch.randn(5, 6, 7, 2)
    expected = functional.layer_norm(x.double()[..., 0], (6, 7))
    close(functional.layer_norm(x.npu()[..., 0], (6, 7)), expected)


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, hidden: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The result, and the maximum and the sum of its softmax."""
    scores = q.double() @ k.double().transpose(-1, -2) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    top = scores.amax(-1, True).clamp(min=-torch.finfo(torch.float32).max)
    weights = (scores - top).exp()
    total = weights.sum(-1, True)
    return weights / total.where(total != 0, 1) @ v.double(), top, total


@pytest.mark.parametrize("masked", [False, True])
def test_attention_in_parts_has_the_statistics_of_the_whole(masked: bool) -> None:
    """More rows of queries than one part holds, of lengths that no vector fits, and one that sees no key."""
    torch.manual_seed(0)
    heads, queries, keys = 2, 1500, 1031
    q, k, v = torch.randn(1, heads, queries, 16), torch.randn(1, heads, keys, 16), torch.randn(1, heads, keys, 16)
    hidden = None
    if masked:
        hidden = torch.rand(queries, keys) < 0.3
        hidden[77] = True
    got = torch_npu.npu_fusion_attention(
        q.npu(), k.npu(), v.npu(), heads, "BNSD", scale=0.3, atten_mask=None if hidden is None else hidden.npu()
    )
    for one, other in zip(got[:3], attention(q, k, v, 0.3, hidden), strict=True):
        expected = other if one.shape == other.shape else other.expand(one.shape)
        torch.testing.assert_close(one.cpu().double(), expected, rtol=2e-5, atol=2e-5)


def test_attention_of_few_heads_at_a_time_takes_their_keys_and_masks() -> None:
    """Two pairs of heads: each pair has keys of its own, each head a mask."""
    torch.manual_seed(0)
    heads, queries, keys = 4, 700, 701
    q, k, v = torch.randn(1, heads, queries, 16), torch.randn(1, 2, keys, 16), torch.randn(1, 2, keys, 16)
    hidden = torch.rand(1, heads, queries, keys) < 0.3
    got = torch_npu.npu_fusion_attention(q.npu(), k.npu(), v.npu(), heads, "BNSD", scale=0.3, atten_mask=hidden.npu())
    for_all = (each.repeat_interleave(2, 1) for each in (k, v))
    for one, other in zip(got[:3], attention(q, *for_all, 0.3, hidden), strict=True):
        torch.testing.assert_close(one.cpu().double(), other.expand(one.shape), rtol=2e-5, atol=2e-5)


def test_sums_of_bfloat16_are_floats() -> None:
    """In bfloat16 a sum of ones ends at 256."""
    ones = torch.ones(512, 512, dtype=torch.bfloat16).npu()
    assert torch.equal((ones @ ones).cpu().float(), torch.full((512, 512), 512.0))
    x, w = torch.ones(2, 64, 16, 16, dtype=torch.bfloat16).npu(), torch.ones(32, 64, 3, 3, dtype=torch.bfloat16).npu()
    assert torch.equal(functional.conv2d(x, w).cpu().float(), torch.full((2, 32, 14, 14), 576.0))
