"""Attention in training with numbers of HIFLOAT8, forward and backward, by formula.

The scales of query, key, value and gradient, one for each head and block of a sequence, say what a number is worth;
those of weights and of the gradients of scores are factors before these are rounded.
"""

from __future__ import annotations

import pytest
import torch
import torch_npu
from ascend950 import on_ascend950
from interfaces import HiFloat8, Refused, aclnn
from values import close, real

BF16 = torch.bfloat16
FAR = (1 << 31) - 1
SCALE = 0.09
BLOCKS = {"query": 128, "key": 256, "value": 512}  # of the forward; all of the backward are 512


def rounded(x: torch.Tensor) -> torch.Tensor:
    """To HIFLOAT8: 3 bits of fraction near 1, fewer the further away, half away from 0."""
    size = x.double().abs()
    exponent = torch.where(size > 0, torch.frexp(size).exponent - 1, 0).clamp(min=-22)
    far = exponent.abs()
    bits = torch.where(far < 4, 3, torch.where(far < 8, 2, torch.where(exponent > -16, 1, 0)))
    step = torch.ldexp(torch.ones_like(size), exponent - bits)
    return x.sign() * torch.floor(size / step + 0.5) * step


def small(*shape: int, seed: int) -> tuple[HiFloat8, torch.Tensor]:
    """Random numbers of HIFLOAT8, and their values."""
    values = rounded(2 * real(*shape, seed=seed))
    codes = torch.zeros(shape, dtype=torch.uint8)
    aclnn("aclnnCast", values.float(), 34, HiFloat8(codes))
    return HiFloat8(codes), values


def scales(x: torch.Tensor, block: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(B, N, blocks, 1), and for each number of x (B, S, N, D)."""
    batch, length, heads, _ = x.shape
    given = 0.3 + torch.rand(batch, heads, -(-length // block), 1, generator=torch.Generator().manual_seed(seed))
    return given, given.double()[:, :, torch.arange(length) // block].transpose(1, 2)


def weights(query: torch.Tensor, key: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of (B, S, N, D): over their sum, with the largest score and the sum, (B, N, S, 1)."""
    each = query.shape[2] // key.shape[2]
    score = torch.einsum("bqnd,bknd->bnqk", query, key.repeat_interleave(each, 2)) * SCALE
    top = score.amax(-1, True)
    total = (score - top).exp().sum(-1, True)
    return (score - top).exp() / total, top, total


def forward_formula(query, key, value, factor: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """By the page, from what the numbers are worth; the weights are rounded after the factor."""
    weight, top, total = weights(query, key)
    value = value.repeat_interleave(query.shape[2] // value.shape[2], 2)
    return torch.einsum("bnqk,bknd->bqnd", rounded(weight * factor) / factor, value), top, total


def outputs(query: HiFloat8, value: HiFloat8) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    batch, length, heads, _ = query.data.shape
    top, total = (torch.zeros(batch, heads, length, 1) for _ in range(2))
    return top, total, torch.zeros(batch, length, heads, value.data.shape[3], dtype=BF16)


def forward(q, k, v, scale_q, scale_k, scale_v, scale_p, layout="BSND", mask=None, mode=0):
    top, total, out = outputs(q, v)
    aclnn(
        "aclnnQuantFlashAttentionScore", q, k, v, mask, scale_q, scale_k, scale_v, scale_p, SCALE, FAR, FAR,
        q.data.shape[2], layout, mode, top, total, None, out,
    )  # fmt: skip
    return top, total, out


@pytest.mark.parametrize(("queries", "keys", "heads", "depth"), [(300, 700, 2, 64), (5, 3, 4, 48)])
@on_ascend950
def test_the_forward(queries: int, keys: int, heads: int, depth: int) -> None:
    (q, query), (k, key), (v, value) = (
        small(2, *shape, seed=n) for n, shape in enumerate([(queries, 4, 64), (keys, heads, 64), (keys, heads, depth)])
    )
    (scale_q, of_q), (scale_k, of_k), (scale_v, of_v) = (
        scales(x, block, 10 + n) for n, (x, block) in enumerate(zip((query, key, value), BLOCKS.values(), strict=True))
    )
    scale_p = torch.tensor([300.0])
    want, want_top, want_total = forward_formula(query * of_q, key * of_k, value * of_v, 300)
    top, total, out = forward(q, k, v, scale_q, scale_k, scale_v, scale_p)
    close(top, want_top, 1e-4)
    close(total, want_total, 1e-4)
    close(out, want, 1e-2)


@on_ascend950
def test_weights_are_rounded_after_their_factor() -> None:
    """Two keys of weights 2 / 3 and 1 / 3: of 3 bits of fraction, 0.6875 and 0.34375 without a factor."""
    q, k, v = (torch.zeros(1, length, 1, 16, dtype=torch.uint8) for length in (1, 3, 3))
    aclnn("aclnnCast", torch.tensor([[[1.0]], [[0.0]], [[0.0]]]).expand(3, 1, 16)[None], 34, HiFloat8(v))
    one = torch.ones(1, 1, 1, 1)
    for factor, want in ((1.0, 0.34375), (3.0, 1 / 3), (48.0, 1 / 3)):
        out = forward(HiFloat8(q), HiFloat8(k), HiFloat8(v), one, one, one, torch.tensor([factor]))[2]
        close(out, torch.full((1, 1, 1, 16), want), 2e-3)


def backward_formula(query, key, value, grad, factor, gradient_factor):
    """By the page: gradients of weights and scores from what the numbers are worth."""
    weight, top, total = weights(query, key)
    out = torch.einsum("bnqk,bknd->bqnd", weight, value).to(BF16)
    to_weight = torch.einsum("bqnd,bknd->bnqk", grad, value)
    common = (grad * out.double()).sum(-1).transpose(1, 2).unsqueeze(-1)
    to_score = rounded(weight * (to_weight - common) * gradient_factor) / gradient_factor
    to_query = torch.einsum("bnqk,bknd->bqnd", to_score, key) * SCALE
    to_key = torch.einsum("bnqk,bqnd->bknd", to_score, query) * SCALE
    to_value = torch.einsum("bnqk,bqnd->bknd", rounded(weight * factor) / factor, grad)
    return (to_query, to_key, to_value), (top.float(), total.float(), out)


def of_backward(queries: int, keys: int):
    """Numbers with their values, their scales, and what the forward gives."""
    numbers = [small(1, n, 2, 128, seed=i) for i, n in enumerate((queries, keys, keys, queries))]
    given = [scales(x, 512, 20 + i) for i, (_, x) in enumerate(numbers)]
    worth = [x * each for (_, x), (_, each) in zip(numbers, given, strict=True)]
    return [x for x, _ in numbers], [scale for scale, _ in given], worth


def call_backward(numbers, given, told, factors, dtype=1, mask=None, results=None):
    results = results or [torch.zeros(x.data.shape, dtype=BF16 if dtype else torch.half) for x in numbers[:3]]
    aclnn(
        "aclnnQuantFlashAttentionScoreGrad", *numbers, mask, *told, *given, *factors, SCALE, FAR, FAR, 2, "BSND", 0,
        dtype, *results,
    )  # fmt: skip
    return results


@pytest.mark.parametrize("dtype", [0, 1])
@on_ascend950
def test_the_backward(dtype: int) -> None:
    numbers, given, worth = of_backward(600, 520)
    want, told = backward_formula(*worth, 200.0, 40.0)
    factors = torch.tensor([40.0]), torch.tensor([200.0])  # of the gradients of scores, then of the weights
    for got, one in zip(call_backward(numbers, given, told, factors, dtype), want, strict=True):
        assert (got.double() - one).norm() < 1e-2 * one.norm()


@pytest.mark.slow
@on_ascend950
def test_long_sequences_go_in_parts() -> None:
    """More scores than are held at once."""
    numbers, given, worth = of_backward(2100, 4200)
    want, told = backward_formula(*worth, 200.0, 40.0)
    factors = torch.tensor([40.0]), torch.tensor([200.0])
    for got, one in zip(call_backward(numbers, given, told, factors), want, strict=True):
        assert (got.double() - one).norm() < 1e-2 * one.norm()
    scale_q, scale_k = (
        given[i].repeat_interleave(512 // block, 2)[:, :, : -(-n // block)]
        for i, block, n in ((0, 128, 2100), (1, 256, 4200))
    )
    top, total, out = forward(*numbers[:3], scale_q, scale_k, given[2], torch.tensor([200.0]))
    want_out, want_top, want_total = forward_formula(*worth[:3], 200.0)
    for got, one in ((top, want_top), (total, want_total), (out, want_out)):
        assert (got.double() - one).norm() < 1e-2 * one.norm()


@on_ascend950
def test_both_through_torch_npu() -> None:
    numbers, given, worth = of_backward(96, 80)
    want, told = backward_formula(*worth, 200.0, 40.0)
    q, k, v, grad = (x.data.npu() for x in numbers)
    on = [scale.npu() for scale in given]
    factor, gradient_factor = torch.tensor([200.0]).npu(), torch.tensor([40.0]).npu()
    out, top, total, *_ = torch_npu.npu_quant_fusion_attention(
        q, k, v, 2, "BSND", d_scale_q=on[0], d_scale_k=on[1], d_scale_v=on[2], p_scale=factor, scale=SCALE,
        query_dtype=torch_npu.hifloat8,
    )  # fmt: skip
    assert out.dtype == BF16
    want_out = forward_formula(*worth[:3], 200.0)[0]
    assert (out.cpu().double() - want_out).norm() < 1e-2 * want_out.norm()
    close(top.cpu(), told[0])
    close(total.cpu(), told[1])
    results = torch_npu.npu_quant_fusion_attention_backward(
        q, k, v, grad, 2, "BSND", *on, p_scale=factor, ds_scale=gradient_factor, softmax_max=top, softmax_sum=total,
        attention_in=told[2].npu(), scale_value=SCALE, query_dtype=torch_npu.hifloat8,
    )  # fmt: skip
    for got, one in zip(results, want, strict=False):
        assert (got.cpu().double() - one).norm() < 1e-2 * one.norm()


@on_ascend950
def test_what_does_not_fit_is_refused() -> None:
    (q, _), (k, _), (v, _) = (small(1, 300, heads, 64, seed=heads) for heads in (2, 2, 2))
    scale_q, scale_k, scale_v = (torch.ones(1, 2, n, 1) for n in (3, 2, 1))
    right = {"scale_q": scale_q, "scale_k": scale_k, "scale_v": scale_v, "scale_p": torch.ones(1)}
    assert forward(q, k, v, **right)[2].isfinite().all()
    for wrong, message in (
        ({"scale_q": scale_k}, "dScaleQ has shape"),
        ({"scale_k": scale_q}, "dScaleK has shape"),
        ({"scale_v": scale_v.half()}, "dScaleV has data type FLOAT16"),
        ({"scale_p": torch.ones(2)}, "expected"),
        ({"layout": "BNSD"}, "layout BNSD"),
        ({"mode": 2}, "sparseMode 2"),
        ({"mask": torch.zeros(300, 300, dtype=torch.bool)}, "attenMaskOptional"),
    ):
        with pytest.raises(Refused, match=message):
            forward(q, k, v, **(right | wrong))
    with pytest.raises(Refused, match="FLOAT; Ascend950 allows HIFLOAT8"):
        aclnn(
            "aclnnQuantFlashAttentionScore", real(1, 300, 2, 64), k, v, None, *right.values(), SCALE, FAR, FAR, 2,
            "BSND", 0, *outputs(q, v)[:2], None, outputs(q, v)[2],
        )  # fmt: skip


@on_ascend950
def test_what_does_not_fit_the_backward_is_refused() -> None:
    numbers, given, worth = of_backward(8, 6)
    told, factors = backward_formula(*worth, 1.0, 1.0)[1], (torch.ones(1), torch.ones(1))
    shorter = [HiFloat8(x.data[..., :64].contiguous()) for x in numbers]
    halves = [torch.zeros(x.data.shape, dtype=torch.half) for x in numbers[:3]]
    for arguments, message in (
        ((shorter, given, (*told[:2], told[2][..., :64].contiguous()), factors), "depth 128"),
        ((numbers, given, (told[0], told[1].expand(1, 2, 8, 6), told[2]), factors), "expected"),
        ((numbers, given, told, factors, 2), "outDtype 2"),
        ((numbers, given, told, factors, 1, None, halves), "dqOut"),
        ((numbers, given, (None, *told[1:]), factors), "161001: .*softmaxMax"),
        ((numbers, [*given[:3], given[1].expand(1, 2, 2, 1)], told, factors), "dScaleDy has shape"),
    ):
        with pytest.raises(Refused, match=message):
            call_backward(*arguments)
