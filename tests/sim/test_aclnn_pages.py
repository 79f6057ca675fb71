"""Functions whose page is more than one formula in float64: random ones, lists, several results, earlier forms."""

from __future__ import annotations

import math

import pytest
import torch
from interfaces import Pairs, Refused, aclnn, rules_of

torch.manual_seed(0)


def close(got: torch.Tensor, want: torch.Tensor, off: float = 1e-4) -> None:
    assert got.shape == want.shape
    assert ((got.double() - want.double()).abs() <= off * (want.double().abs() + 1)).all(), (got, want)


# ---- ops-math --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("norm", [1, 2, 3])
def test_a_spectrum_has_pairs_of_real_and_imaginary_part(norm: int) -> None:
    x, out = torch.randn(3, 6, 2), torch.empty(3, 5, 2, 2)
    aclnn("aclRfft1D", x, 8, 1, norm, out)
    signal = torch.cat([x.double(), torch.zeros(3, 2, 2, dtype=torch.float64)], 1)
    turns = -2 * math.pi * torch.outer(torch.arange(5), torch.arange(8)).double() / 8
    factor = {1: 1, 2: 1 / 8, 3: 1 / math.sqrt(8)}[norm]
    want = [torch.einsum("kn,bnc->bkc", part, signal) * factor for part in (torch.cos(turns), torch.sin(turns))]
    close(out, torch.stack(want, -1))
    with pytest.raises(Refused, match="161002"):
        aclnn("aclRfft1D", x, 8, 1, 4, out)


def test_signs_packed_come_back() -> None:
    x, bits, back = torch.randn(32), torch.empty(2, 2, dtype=torch.uint8), torch.empty(4, 8)
    aclnn("aclnnSignBitsPack", x, 2, bits)
    aclnn("aclnnSignBitsUnpack", bits.reshape(4), 4, torch.float32, back)
    assert back.flatten().equal(torch.where(x >= 0, 1.0, -1.0))
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnSignBitsPack", x, 3, bits)


def test_the_last_part_may_be_shorter() -> None:
    x, parts = torch.randn(2, 7), [torch.empty(2, 3), torch.empty(2, 3), torch.empty(2, 1)]
    aclnn("aclnnSplitTensor", x, 3, 1, parts)
    assert torch.cat(parts, 1).equal(x)
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnSplitTensor", x, 0, 1, parts)


@pytest.mark.parametrize(("some", "inner"), [(True, 3), (False, 5)])
def test_a_matrix_is_the_product_of_its_factors(some: bool, inner: int) -> None:
    a, q, r = torch.randn(2, 5, 3), torch.empty(2, 5, inner), torch.empty(2, inner, 3)
    aclnn("aclnnQr", a, some, q, r)
    close(q @ r, a)
    close(q.mT @ q, torch.eye(inner).expand(2, -1, -1))
    assert r.tril(-1).eq(0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.bool])
@pytest.mark.parametrize("function", ["aclnnBernoulli", "aclnnBernoulliTensor"])
def test_as_many_are_one_as_the_probability_says(function: str, dtype: torch.dtype) -> None:
    shape = torch.empty(100, 100, dtype=dtype)
    p = 0.25 if function == "aclnnBernoulli" else torch.full((100, 1), 0.25)
    first, second = torch.empty_like(shape), torch.empty_like(shape)
    for out in (first, second):
        aclnn(function, shape, p, 7, 0, out)
    assert first.equal(second) and set(first.unique().tolist()) == {0.0, 1.0}
    assert abs(first.float().mean() - 0.25) < 0.03


def test_dropout_leaves_what_its_mask_says_and_its_gradient_too() -> None:
    x, out, mask = torch.ones(16, 8), torch.empty(16, 8), torch.zeros(16, dtype=torch.uint8)
    aclnn("aclnnDropout", x, 0.5, True, 3, 0, out, mask)
    bits = ((mask[:, None] >> torch.arange(8, dtype=torch.uint8)) & 1).flatten()[:128].reshape(16, 8)
    assert out.equal(bits * 2.0) and 30 < bits.sum() < 98
    gradient = torch.empty(16, 8)
    aclnn("aclnnDropoutBackward", x, mask, 2.0, gradient)
    assert gradient.equal(out)
    aclnn("aclnnDropout", x, 0.5, False, 3, 0, out, mask)
    assert out.equal(x)


def test_numbers_that_differ_have_a_code() -> None:
    x, other, out = torch.randn(5), torch.randn(5), torch.empty((), dtype=torch.uint32)
    for golden, want in ((x, 0), (other, 503)):
        aclnn("aclnnPrecisionCompare", golden, x, out)
        assert out.item() == want


# ---- ops-nn ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.parametrize("two", [True, False])
def test_a_norm_of_a_sum_ends_in_steps(mode: str, two: bool) -> None:
    a, b = torch.randn(4, 16).half(), torch.randn(4, 16).half()
    gamma, beta, zero = torch.randn(16).half(), torch.randn(16).half(), torch.full((16,), 2.0).half()
    scales = [torch.rand(16).half() + 0.5, torch.rand(16).half() + 0.5 if two else None]
    outs = [torch.empty(4, 16, dtype=torch.int8) for _ in range(2)]
    total, steps = torch.empty(4, 16).half(), [torch.empty(4) for _ in range(2)]
    with rules_of("Ascend950"):
        aclnn("aclnnAddLayerNormQuant", a, b, gamma, beta, None, *scales, zero, zero if two else None, mode, 1e-5, True,
              False, *outs, total, *steps)  # fmt: skip
    sum_ = a.double() + b.double()
    value = (sum_ - sum_.mean(-1, keepdim=True)) / (sum_.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()
    value = value * gamma + beta
    close(total, sum_, 2e-3)
    for scale, out, step in list(zip(scales, outs, steps, strict=True))[: 1 + two]:
        exact = value * scale
        if mode == "dynamic":
            close(step, exact.abs().amax(-1) / 127, 1e-3)
            exact = exact / (exact.abs().amax(-1, keepdim=True) / 127)
        else:
            exact = exact + zero
        assert ((out.double() - exact.clamp(-128, 127)).abs() < 0.6).all()


def test_blocks_of_a_gated_unit_share_a_power_of_two() -> None:
    x = torch.randn(2, 128).half()
    out, scale = torch.empty(2, 64).to(torch.float8_e4m3fn), torch.empty(2, 1, 2).to(torch.float8_e8m0fnu)
    with rules_of("Ascend950"):
        aclnn("aclnnSituMxQuant", x, 2.0, 0.0, True, -1, 36, "rint", out, scale)
    gate, value = x.double().chunk(2, -1)
    exact = 2 * torch.tanh(gate / 2) * torch.sigmoid(gate) * value
    restored = out.double() * scale.double().reshape(2, 2).repeat_interleave(32, 1)
    assert ((restored - exact).abs() <= exact.abs().reshape(2, 2, 32).amax(-1).repeat_interleave(32, 1) / 8).all()


def test_rows_and_columns_of_groups_are_quantized() -> None:
    x, ends = torch.randn(64, 64).half(), torch.tensor([32, 64])
    outs = [torch.empty(64, 64).to(torch.float8_e4m3fn) for _ in range(2)]
    scales = [torch.empty(*shape).to(torch.float8_e8m0fnu) for shape in ((64, 1, 2), (3, 64, 2))]
    with rules_of("Ascend950"):
        aclnn("aclnnGroupedDynamicMxQuantWithDualAxis", x, ends, "rint", 1, 36, 0.0, outs[0], scales[0], outs[1],
              scales[1])  # fmt: skip
    by_row = scales[0].double().reshape(64, 2).repeat_interleave(32, 1)
    close(outs[0].double() * by_row, x.double(), 0.07)
    by_column = scales[1].double()  # each group has a pair of scales, of which 32 rows use the first
    close(outs[1].double() * torch.cat([by_column[0, :, 0].expand(32, 64), by_column[1, :, 0].expand(32, 64)]),
          x.double(), 0.07)  # fmt: skip


def test_blocks_of_rows_become_blocks_of_both() -> None:
    codes = torch.randint(0, 256, (64, 16), dtype=torch.uint8)
    powers = torch.randint(120, 124, (64, 1, 2), dtype=torch.uint8)
    powers[..., 1] = 0  # the other of a pair, which is not there
    out = torch.empty(64, 32).to(torch.float8_e4m3fn)
    scales = [torch.empty(*shape).to(torch.float8_e8m0fnu) for shape in ((64, 1, 2), (1, 32, 2))]
    with rules_of("Ascend950"):
        aclnn("aclnnMxToBlockMxQuant", Pairs(codes, 40), powers.view(torch.float8_e8m0fnu), 36, out, *scales)
    steps = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64)
    nibbles = torch.stack([codes & 15, codes >> 4], -1).flatten(1)
    exact = steps[(nibbles & 7).long()] * torch.where(nibbles >= 8, -1, 1) * 2.0 ** (powers[:, 0, :1].double() - 127)
    by_row = scales[0].double()[:, 0, :1]
    assert (out.double() * by_row).equal(exact)
    assert by_row[:32].unique().numel() == 1  # a block has one scale, told for its rows and for its columns
    assert scales[1].double()[0, 0].tolist() == [by_row[0, 0].item(), by_row[32, 0].item()]


def test_the_largest_of_each_cell_of_a_region_and_its_gradient() -> None:
    x = torch.arange(32.0).reshape(1, 2, 4, 4)
    rois, out = torch.tensor([[0.0, 0, 0, 3, 3]]), torch.empty(1, 2, 2, 2)
    places = torch.empty(1, 2, 2, 2, dtype=torch.int32)
    with rules_of("Ascend950"):
        aclnn("aclnnRoiPoolingWithArgMax", x, rois, 2, 2, 1.0, 1.0, out, places)
        assert out[0].tolist() == [[[5, 7], [13, 15]], [[21, 23], [29, 31]]]
        assert places[0, 1].tolist() == [[5, 7], [13, 15]]
        gradient = torch.zeros_like(x)
        aclnn("aclnnRoiPoolingGradWithArgMax", torch.ones_like(out), gradient, rois, places, 2, 2, 1.0)
    assert gradient.sum() == 8 and gradient[0, 0, 1, 1] == 1


# ---- ops-transformer -------------------------------------------------------------------------------------------------
ALL = 2147483647  # preTokens and nextTokens


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, hidden: torch.Tensor | None = None) -> torch.Tensor:
    scores = (q.double() @ k.double().mT) * 0.5
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    return torch.softmax(scores, -1) @ v.double()


def test_earlier_forms_of_attention() -> None:
    q, k, v = (torch.randn(2, 4, tokens, 16).half() for tokens in (8, 8, 8))
    out, mask = torch.empty_like(q), torch.ones(8, 8, dtype=torch.bool).triu(1)
    aclnn("aclnnPromptFlashAttention", q, k, v, None, mask, None, 4, 0.5, ALL, ALL, "BNSD", 4, out)
    close(out, attention(q, k, v, mask), 4e-3)
    aclnn("aclnnPromptFlashAttentionV2", q, k, v, None, mask, None, None, *[None] * 5, 4, 0.5, ALL, ALL, "BNSD", 4,
          0, out)  # fmt: skip
    close(out, attention(q, k, v, mask), 4e-3)
    aclnn("aclnnFusedInferAttentionScore", q, [k], [v], None, mask, None, None, *[None] * 5, None, None, None, None,
          None, 4, 0.5, ALL, ALL, "BNSD", 4, 0, 1, 0, 0, False, out, torch.empty(1))  # fmt: skip
    close(out, attention(q, k, v, mask), 4e-3)
    one = torch.empty_like(q[:, :, :1])
    hidden = torch.arange(8).expand(2, 1, 1, 8) >= torch.tensor([5, 8]).reshape(2, 1, 1, 1)
    for function, more in (("aclnnIncreFlashAttention", ()), ("aclnnIncreFlashAttentionV2", (None,) * 5)):
        aclnn(function, q[:, :, :1].contiguous(), [k], [v], None, None, [5, 8], *more, 4, 0.5, "BNSD", 4, one)
        close(one, attention(q[:, :, :1], k, v, hidden), 4e-3)
    aclnn("aclnnIncreFlashAttentionV3", q[:, :, :1].contiguous(), [k], [v], None, None, [5, 8], *[None] * 8, 4, 0.5,
          "BNSD", 4, 0, 1, one)  # fmt: skip
    close(one, attention(q[:, :, :1], k, v, hidden), 4e-3)
    aclnn("aclnnPromptFlashAttention", q, k, v, None, mask & False, None, 4, 0.5, ALL, 0, "BNSD", 4, out)
    close(out, attention(q, k, v), 4e-3)
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnIncreFlashAttention", q, [k], [v], None, None, None, 4, 0.5, "BNSD", 4, out)


@pytest.mark.parametrize("version", ["V2", "V3"])
def test_earlier_forms_of_grouped_products(version: str) -> None:
    x, weight, out = torch.randn(6, 16).half(), torch.randn(2, 16, 8).half(), torch.empty(6, 8).half()
    ends = [2, 6] if version == "V2" else torch.tensor([2, 6])
    aclnn(f"aclnnGroupedMatmul{version}", [x], [weight], [], [], [], [], [], ends, 3, 0, [out])
    want = torch.cat([x[:2].double() @ weight[0].double(), x[2:].double() @ weight[1].double()])
    close(out, want, 4e-3)


@pytest.mark.parametrize("function", ["aclnnFFN", "aclnnFFNV3"])
def test_earlier_forms_of_a_feed_forward_network(function: str) -> None:
    x, up, down = torch.randn(6, 16).half() / 4, torch.randn(2, 16, 32).half() / 4, torch.randn(2, 32, 16).half() / 4
    out, tokens = torch.empty(6, 16).half(), [2, 4] if function == "aclnnFFN" else torch.tensor([2, 4])
    ends = () if function == "aclnnFFN" else (False,)
    aclnn(function, x, up, down, tokens, *[None] * 10, "relu", 0, *ends, out)
    want = [torch.relu(part.double() @ up[i].double()) @ down[i].double() for i, part in enumerate(x.split([2, 4]))]
    close(out, torch.cat(want), 4e-3)


def test_rows_of_a_range_of_experts_go_and_come_back() -> None:
    tokens, indices = torch.randn(3, 4), torch.tensor([[1, 0], [2, 1], [0, 2]], dtype=torch.int32)
    probs, places = torch.rand(3, 2), torch.empty(6, dtype=torch.int32)
    rows, weights = torch.empty(3, 4), torch.empty(3)
    aclnn("aclnnMoeTokenPermuteWithEp", tokens, indices, probs, [1, 4], 0, False, rows, places, weights)
    order = sorted(range(6), key=lambda at: indices.flatten()[at].item())
    assert [order.index(at) for at in range(6)] == places.tolist()
    here = order[1:4]
    assert rows.equal(tokens[[at // 2 for at in here]]) and weights.equal(probs.flatten()[here])
    out = torch.empty(3, 4)
    aclnn("aclnnMoeTokenUnpermuteWithEp", rows, places, probs, 2, [1, 4], False, None, out)
    want = torch.zeros(3, 4).double()
    for place, at in enumerate(here):
        want[at // 2] += rows[place].double() * probs.flatten()[at].double()
    close(out, want)
    grad, grad_probs = torch.empty(3, 4), torch.empty(3, 2)
    aclnn("aclnnMoeTokenPermuteWithEpGrad", rows, places, weights, 2, [1, 4], False, grad, grad_probs)
    want = torch.zeros(3, 4).double()
    for place, at in enumerate(here):
        want[at // 2] += rows[place].double()
    close(grad, want)
    back, back_probs = torch.empty(3, 4), torch.empty(3, 2)
    aclnn("aclnnMoeTokenUnpermuteWithEpGrad", grad, places, rows, probs, False, None, [1, 4], 2, back, back_probs)
    for place, at in enumerate(here):
        close(back[place], grad[at // 2].double() * probs.flatten()[at].double())
        close(back_probs.flatten()[at], (grad[at // 2].double() * rows[place].double()).sum())
    again = torch.empty(3, 4)  # the probabilities say how many choices a token has, whatever topK says
    aclnn("aclnnMoeTokenUnpermuteWithEpGrad", grad, places, rows, probs, False, None, [1, 4], 1, again, back_probs)
    assert again.equal(back)


def test_gradients_of_routing() -> None:
    places, k = torch.tensor([2, 0, 3, 1], dtype=torch.int32), 2
    rows, out = torch.randn(4, 8), torch.empty(2, 8)
    aclnn("aclnnMoeInitRoutingV2Grad", rows, places, k, 0, 0, out)
    close(out, torch.stack([rows[2].double() + rows[0], rows[3].double() + rows[1]]))
    grad, scales, bias = torch.randn(2, 8), torch.rand(2, 2), torch.randn(3, 8)
    experts = torch.tensor([[0, 2], [1, 0]], dtype=torch.int32)
    of_rows, of_scales = torch.empty(4, 8), torch.empty(2, 2)
    aclnn("aclnnMoeFinalizeRoutingV2Grad", grad, places, rows, scales, experts, bias, 0, 0, 3, 0, of_rows, of_scales)
    for at, place in enumerate(places.tolist()):
        close(of_rows[place], grad[at // 2].double() * scales.flatten()[at].double())
        value = rows[place].double() + bias[experts.flatten()[at]].double()
        close(of_scales.flatten()[at], (value * grad[at // 2].double()).sum())
    x, order = torch.randn(2, 4).half(), torch.tensor([[0, 2], [1, 3]], dtype=torch.int32)
    steps, place, expert = (torch.empty(4, 4).to(torch.int8), *(torch.empty(4, dtype=torch.int32) for _ in range(2)))
    aclnn("aclnnMoeInitRoutingQuant", x, order, experts[:, :2].contiguous(), 2, 20.0, 1.0, steps, place, expert)
    assert expert.tolist() == [0, 0, 1, 2]
    assert steps[0].equal((x[0].double() * 20 + 1).round().clamp(-128, 127).to(torch.int8))
