"""Quantization, quantized products against formulas in float64 and on integers; what routing and inference refuse."""

from __future__ import annotations

import pytest
import torch
import torch_npu

HALF = [torch.float16, torch.bfloat16]


def nibbles(words: torch.Tensor) -> torch.Tensor:
    """The signed numbers of 4 bits in int32, the first in the lowest bits."""
    parts = [(words.long() >> (4 * i)) & 15 for i in range(8)]
    numbers = torch.stack(parts, -1).flatten(-2)
    return torch.where(numbers > 7, numbers - 16, numbers)


def by_group(rows: torch.Tensor, smooth: torch.Tensor | None, ends: list[int] | None) -> torch.Tensor:
    rows = rows.double()
    if smooth is None:
        return rows
    if ends is None:
        return rows * smooth.double()
    flat = rows.reshape(-1, rows.shape[-1])
    experts = torch.bucketize(torch.arange(len(flat)), torch.tensor(ends), right=True)
    return (flat * smooth.double()[experts]).reshape(rows.shape)


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("ends", [None, [2, 2, 6]], ids=["one", "groups, one empty"])
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("offset", [False, True], ids=["symmetric", "asymmetric"])
def test_dynamic(dtype: torch.dtype, ends: list[int] | None, bits: int, offset: bool) -> None:
    torch.manual_seed(0)
    top = 127 if bits == 8 else 7
    x = torch.randn(2, 3, 16).to(dtype)
    smooth = (torch.rand(3, 16) + 0.5).to(dtype) if ends else (torch.rand(16) + 0.5).to(dtype)
    index = torch.tensor(ends, dtype=torch.int32).npu() if ends else None
    function = torch_npu.npu_dynamic_quant_asymmetric if offset else torch_npu.npu_dynamic_quant
    got, *factors = function(
        x.npu(), smooth_scales=smooth.npu(), group_index=index, dst_type=torch.int8 if bits == 8 else torch.quint4x2
    )
    assert got.dtype == (torch.int8 if bits == 8 else torch.int32)
    want = by_group(x, smooth, ends)
    if offset:
        scale = (want.amax(-1) - want.amin(-1)) / (2 * top + 1)
        zero = top - want.amax(-1) / scale
        torch.testing.assert_close(factors[1].cpu().double(), zero, rtol=1e-4, atol=1e-4)
    else:
        scale, zero = want.abs().amax(-1) / top, torch.zeros(2, 3)
    torch.testing.assert_close(factors[0].cpu().double(), scale, rtol=1e-5, atol=0)
    steps = want / scale.unsqueeze(-1) + zero.unsqueeze(-1)
    numbers = got.cpu().long() if bits == 8 else nibbles(got.cpu())
    assert (numbers - steps).abs().max() <= 0.5 + 1e-3
    assert numbers.abs().max() >= top  # the range is used


def test_dynamic_of_zeros() -> None:
    values, scale = torch_npu.npu_dynamic_quant(torch.tensor([[0.0, 0.0], [1.0, -2.0]], dtype=torch.float16).npu())
    assert values.tolist() == [[0, 0], [64, -127]] and scale[0] == 0


@pytest.mark.parametrize("dtype", [torch.float32, *HALF], ids=str)
def test_static(dtype: torch.dtype) -> None:
    x = torch.tensor([[-300.0, -1.5, -0.5, 0.5, 1.5, 2.5, 300.0, 7.0]]).to(dtype)
    one, none = torch.ones(1, dtype=dtype), None

    def quantize(scales: torch.Tensor, zeros: torch.Tensor | None, kind: torch.dtype, axis: int = -1) -> torch.Tensor:
        zeros = zeros if zeros is None else zeros.npu()
        return torch_npu.npu_quantize(x.npu(), scales.npu(), zeros, kind, axis, False).cpu()

    assert quantize(one, none, torch.qint8).tolist() == [[-128, -2, 0, 0, 2, 2, 127, 7]]
    assert quantize(one, one, torch.qint8).tolist() == [[-128, 0, 0, 2, 2, 4, 127, 8]]
    assert nibbles(quantize(one, none, torch.quint4x2)).tolist() == [[-8, -2, 0, 0, 2, 2, 7, 7]]
    each = torch.arange(8).to(dtype)
    assert quantize(each, none, torch.qint8).tolist() == [[0, -2, -1, 2, 6, 12, 127, 49]]
    assert quantize(one * 2, none, torch.qint8, axis=-2).tolist() == [[-128, -3, -1, 1, 3, 5, 127, 14]]


@pytest.mark.parametrize("bits", [8, 4])
def test_group_quant(bits: int) -> None:
    torch.manual_seed(0)
    x, scale, ends = torch.randn(6, 8), torch.rand(3, 8) * 4, [2, 2, 6]
    kind = torch.qint8 if bits == 8 else torch.quint4x2
    got = torch_npu.npu_group_quant(
        x.npu(), scale.npu(), torch.tensor(ends, dtype=torch.int32).npu(), offset=torch.ones(1).npu(), dst_dtype=kind
    ).cpu()
    want = (by_group(x, scale, ends) + 1).round().clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    assert torch.equal((got if bits == 8 else nibbles(got)).double(), want)


def test_scatter_of_quantized_updates() -> None:
    cache = torch.zeros(2, 5, 4, dtype=torch.int8)
    updates, scale = torch.tensor([[[1.0, -2, 3, 400]], [[5, 6, 7, 8]]]).bfloat16(), torch.tensor([[[0.5, 1, 2, 1]]])
    places, zero = torch.tensor([4, 1], dtype=torch.int32), torch.ones(1, 1, 4).bfloat16()
    got = torch_npu.npu_quant_scatter(
        cache.npu(), places.npu(), updates.npu(), scale.bfloat16().npu(), zero.npu(), -2, -1, "update"
    ).cpu()
    cache[0, 4], cache[1, 1] = torch.tensor([3, -1, 2, 127]), torch.tensor([11, 7, 4, 9])  # 1.5 + 1, 3.5 + 1: to even
    assert torch.equal(got, cache)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("mode", [0, 1], ids=["static", "dynamic"])
def test_swiglu_quant(left: bool, counts: bool, mode: int) -> None:
    torch.manual_seed(0)
    x, smooth, offsets = torch.randn(7, 12), torch.rand(3, 6) * 9, torch.randn(3, 6)
    ends = [3, 3, 7]
    index = torch.tensor([3, 0, 4] if counts else ends, dtype=torch.int32)
    got, factor = torch_npu.npu_swiglu_quant(
        x.npu(),
        smooth_scales=smooth.npu(),
        offsets=offsets.npu(),
        group_index=index.npu(),
        activate_left=left,
        quant_mode=mode,
        group_list_type=int(counts),
    )
    first, second = x.double().chunk(2, -1)
    value = torch.nn.functional.silu(first if left else second) * (second if left else first)
    experts = torch.bucketize(torch.arange(7), torch.tensor(ends), right=True)
    value = value * smooth[experts]
    if mode:
        want_factor = 127 / value.abs().amax(-1)
        torch.testing.assert_close(factor.cpu().double(), want_factor, rtol=1e-5, atol=0)
        value = value * want_factor.unsqueeze(-1)
    else:
        value = value + offsets[experts]
    assert (got.cpu() - value.clamp(-128, 127)).abs().max() <= 0.5 + 1e-3


@pytest.mark.parametrize("dtype", HALF, ids=str)
def test_quantized_sum_and_norm(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(2, 3, 8).to(dtype), torch.randn(2, 3, 8).to(dtype)
    gamma, beta, smooth = (torch.rand(3, 8) + 0.5).to(dtype)
    out1, out2, total, scale1, scale2 = torch_npu.npu_add_rms_norm_dynamic_quant(
        a.npu(), b.npu(), gamma.npu(), smooth_scale1=smooth.npu(), beta=beta.npu(), output_mask=[True, True]
    )
    both = a.double() + b.double()
    norm = both / (both.square().mean(-1, keepdim=True) + 1e-6).sqrt() * gamma.double() + beta.double()
    torch.testing.assert_close(total.cpu(), both.to(dtype), rtol=1e-2, atol=1e-3)
    for out, scale, value in ((out1, scale1, norm * smooth.double()), (out2, scale2, norm)):
        want = value.abs().amax(-1) / 127
        torch.testing.assert_close(scale.cpu().double(), want, rtol=1e-4, atol=0)
        assert (out.cpu() - value / want.unsqueeze(-1)).abs().max() <= 0.5 + 1e-2
    half = dtype == torch.float16  # with it, factors are float and offsets whole
    scale = (torch.rand(8) + 0.1).to(torch.float32 if half else dtype)
    zero = torch.full((8,), 3).to(torch.int32 if half else dtype)
    out1, _, total = torch_npu.npu_add_rms_norm_quant(a.npu(), b.npu(), gamma.npu(), scale.npu(), zero.npu())
    plain = (norm - beta.double()) / scale.double() + 3
    assert (out1.cpu() - plain.clamp(-128, 127)).abs().max() <= 0.5 + 1e-2


# ---- products --------------------------------------------------------------------------------------------------------
def encoded(scale: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A scale as the device has it, and what is left of it as a number: 10 bits of the mantissa."""
    device = torch_npu.npu_trans_quant_param(scale.npu())
    bits = scale.view(torch.int32) & ~0x1FFF
    assert torch.equal(device.cpu(), (bits.long() & 0xFFFFFFFF) | 1 << 46)
    return device, bits.view(torch.float32)


def test_scale_with_an_offset() -> None:
    got = torch_npu.npu_trans_quant_param(torch.ones(1).npu(), torch.tensor([3.0, -1.0, 400.0, -400.0]).npu()).cpu()
    assert ((got >> 37) & 0x1FF).tolist() == [3, 511, 255, 256] and (got >> 46).tolist() == [1] * 4
    assert ((got & 0xFFFFFFFF) == 0x3F800000).all()


@pytest.mark.parametrize("inner", [24, 2048], ids=["sums in float", "sums beyond float"])
def test_quant_matmul(inner: int) -> None:
    torch.manual_seed(0)
    x, weight = (torch.randint(-128, 128, size, dtype=torch.int8) for size in ((5, inner), (inner, 6)))
    sums = x.long() @ weight.long()
    scale, rows = torch.rand(6) * 1e-3 + 1e-4, torch.rand(5) + 0.5
    bias = torch.randint(-9, 9, (6,), dtype=torch.int32)

    def run(with_scale: torch.Tensor, dtype: torch.dtype | None, **more: torch.Tensor) -> torch.Tensor:
        others = {name: value.npu() for name, value in more.items()}
        return torch_npu.npu_quant_matmul(x.npu(), weight.npu(), with_scale.npu(), output_dtype=dtype, **others).cpu()

    assert torch.equal(run(scale, torch.int32).long(), sums)
    device, used = encoded(scale)
    close = {"rtol": 1e-3, "atol": 1e-3}
    want = (sums + bias) * used.double()
    torch.testing.assert_close(run(device, torch.float16, bias=bias).double(), want, **close)
    torch.testing.assert_close(run(scale, torch.float16, bias=bias).double(), want, **close)
    got = run(device, torch.int8).double()
    assert (got - (sums * used.double()).clamp(-128, 127)).abs().max() <= 0.5
    shifted = run(scale, torch.int8, offset=torch.full((6,), 5.0)).double()
    assert (shifted - (sums * used.double() + 5).clamp(-128, 127)).abs().max() <= 0.5
    want = sums * scale.double() * rows.double().unsqueeze(-1)
    got = run(scale, torch.bfloat16, pertoken_scale=rows)
    torch.testing.assert_close(got.double(), want, rtol=1e-2, atol=1e-3)
    float_bias = torch.randn(6).bfloat16()
    got = run(scale, torch.bfloat16, pertoken_scale=rows, bias=float_bias)
    torch.testing.assert_close(got.double(), want + float_bias.double(), rtol=1e-2, atol=1e-2)


def test_quant_matmul_of_4_bits() -> None:
    torch.manual_seed(0)
    x, weight = torch.randint(-8, 8, (5, 16)), torch.randint(-8, 8, (16, 24))
    scale, rows, one = torch.rand(24) + 0.5, torch.rand(5) + 0.5, torch.ones(1).npu()

    def pack(values: torch.Tensor) -> torch.Tensor:
        return torch_npu.npu_quantize(values.float().npu(), one, None, torch.quint4x2, -1, False)

    want = (x @ weight) * scale.double() * rows.double().unsqueeze(-1)
    for packed in (pack(weight), pack(weight.t().contiguous()).t()):
        got = torch_npu.npu_quant_matmul(
            pack(x), packed, scale.npu(), pertoken_scale=rows.npu(), output_dtype=torch.float16
        )
        torch.testing.assert_close(got.cpu().double(), want, rtol=1e-3, atol=1e-3)
    # int8 by int4: a scale for each of two groups of k; what the offset makes good is exact here
    bytes_ = torch.randint(-128, 128, (5, 16), dtype=torch.int8)
    scales = torch.rand(2, 24).mul(8).round().div(8)
    by_k = weight * scales.double().repeat_interleave(8, 0)
    device = torch_npu.npu_trans_quant_param(scales.flatten().npu()).reshape(2, 24)
    got = torch_npu.npu_quant_matmul(
        bytes_.npu(),
        pack(weight),
        device,
        offset=(8 * by_k).sum(0).float().npu(),
        pertoken_scale=rows.reshape(5, 1).npu(),
        output_dtype=torch.float16,
        group_sizes=[0, 0, 8],
    )
    want = bytes_.double() @ by_k * rows.double().unsqueeze(-1)
    torch.testing.assert_close(got.cpu().double(), want, rtol=1e-3, atol=1e-2)


COUNTS = [3, 0, 4]


@pytest.mark.parametrize("dtype", [torch.float32, *HALF], ids=str)
@pytest.mark.parametrize("kind", [0, 1, 2], ids=["ends", "counts", "pairs"])
@pytest.mark.parametrize("stacked", [True, False])
def test_grouped_matmul(dtype: torch.dtype, kind: int, stacked: bool) -> None:
    torch.manual_seed(0)
    x, weight, bias = torch.randn(9, 8).to(dtype), torch.randn(3, 8, 6).to(dtype), torch.randn(3, 6)
    bias = bias.to(torch.float16 if dtype == torch.float16 else torch.float32)
    groups = [[3, 3, 7], COUNTS, [[0, 3], [1, 0], [2, 4]]][kind]
    got = torch_npu.npu_grouped_matmul(
        [x.npu()],
        [weight.npu()] if stacked else [each.npu() for each in weight],
        bias=[bias.npu()] if stacked else [each.npu() for each in bias],
        group_list=torch.tensor(groups).npu(),
        split_item=3,
        group_type=0,
        group_list_type=kind,
    )
    assert len(got) == 1 and got[0].dtype == dtype and got[0].shape == (9, 6)
    experts = torch.tensor([0, 1, 2]).repeat_interleave(torch.tensor(COUNTS))
    want = torch.einsum("mk,mkn->mn", x[:7].double(), weight.double()[experts]) + bias.double()[experts]
    close = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(got[0][:7].cpu().double(), want, rtol=close, atol=close)


def test_grouped_matmul_of_lists_and_along_k() -> None:
    torch.manual_seed(0)
    x = [torch.randn(2, 3, 4), torch.randn(5, 6)]
    weight = [torch.randn(4, 7), torch.randn(6, 5)]
    got = torch_npu.npu_grouped_matmul([each.npu() for each in x], [each.npu() for each in weight], group_type=-1)
    for result, rows, matrix in zip(got, x, weight, strict=True):
        torch.testing.assert_close(result.cpu(), rows @ matrix, rtol=1e-5, atol=1e-5)
    rows, matrix, ends = torch.randn(10, 4), torch.randn(10, 5), torch.tensor([4, 4, 10])
    (product,) = torch_npu.npu_grouped_matmul(
        [rows.t().npu()], [matrix.npu()], group_list=ends.npu(), split_item=3, group_type=2
    )
    want = [rows[:4].t() @ matrix[:4], torch.zeros(4, 5), rows[4:].t() @ matrix[4:]]
    torch.testing.assert_close(product.cpu(), torch.stack(want), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", ["float16", "bfloat16", "rows", "int8"])
def test_grouped_matmul_of_int8(form: str) -> None:
    torch.manual_seed(0)
    x, weight = (torch.randint(-128, 128, size, dtype=torch.int8) for size in ((7, 16), (3, 16, 6)))
    scale, rows = torch.rand(3, 6) * 1e-2 + 1e-3, torch.rand(7) + 0.5
    bias = torch.randint(-99, 99, (3, 6), dtype=torch.int32)
    given, used = (scale, scale) if form == "float16" else (scale.bfloat16(), scale.bfloat16().float())
    if form == "int8":
        given, used = encoded(scale)
    dtype = {"float16": torch.float16, "int8": torch.int8}.get(form, torch.bfloat16)
    (got,) = torch_npu.npu_grouped_matmul(
        [x.npu()],
        [weight.npu()],
        bias=[bias.npu()],
        scale=[given.npu()],
        per_token_scale=[rows.npu()] if form == "rows" else None,
        group_list=torch.tensor(COUNTS).npu(),
        split_item=3,
        group_type=0,
        group_list_type=1,
        output_dtype=dtype,
    )
    experts = torch.tensor([0, 1, 2]).repeat_interleave(torch.tensor(COUNTS))
    sums = torch.einsum("mk,mkn->mn", x.long(), weight.long()[experts]) + bias[experts]
    want = sums * used.double()[experts] * (rows.double().unsqueeze(-1) if form == "rows" else 1)
    if form == "int8":
        assert (got.cpu() - want.clamp(-128, 127)).abs().max() <= 0.5
    else:
        torch.testing.assert_close(got.cpu().double(), want, rtol=1e-2, atol=1e-2)


def test_grouped_matmul_with_weights_of_int8_only() -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(7, 16).half(), torch.randint(-128, 128, (3, 16, 6), dtype=torch.int8)
    scale, offset = (torch.rand(3, 6) * 1e-2).half(), torch.randint(-9, 9, (3, 6)).half()
    (got,) = torch_npu.npu_grouped_matmul(
        [x.npu()],
        [weight.npu()],
        antiquant_scale=[scale.npu()],
        antiquant_offset=[offset.npu()],
        group_list=torch.tensor(COUNTS).npu(),
        split_item=3,
        group_type=0,
        group_list_type=1,
    )
    experts = torch.tensor([0, 1, 2]).repeat_interleave(torch.tensor(COUNTS))
    real = ((weight.double() + offset.double().unsqueeze(1)) * scale.double().unsqueeze(1))[experts]
    want = torch.einsum("mk,mkn->mn", x.double(), real)
    torch.testing.assert_close(got.cpu().double(), want, rtol=1e-2, atol=3e-2)


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("precise", [0, 1])
def test_weights_of_integers_only(dtype: torch.dtype, bits: int, groups: int, precise: int) -> None:
    torch.manual_seed(0)
    top = 2 ** (bits - 1)
    x, weight = torch.randn(5, 64).to(dtype), torch.randint(-top, top, (64, 16), dtype=torch.int8)
    scale, offset = (torch.rand(groups, 16) / top).to(dtype), torch.randint(-3, 4, (groups, 16)).to(dtype)
    bias = torch.randn(16).to(torch.float16 if dtype == torch.float16 else torch.float32)
    matrix = weight.npu()
    if bits == 4:
        matrix = torch_npu.npu_convert_weight_to_int4pack(weight.int().npu())
    got = torch_npu.npu_weight_quant_batchmatmul(
        x.npu(),
        matrix,
        scale.npu(),
        offset.npu(),
        bias=bias.npu(),
        antiquant_group_size=0 if groups == 1 else 32,
        inner_precise=precise,
    )
    real = (weight + offset.repeat_interleave(64 // groups, 0).double()) * scale.repeat_interleave(64 // groups, 0)
    torch.testing.assert_close(got.cpu().double(), x.double() @ real + bias, rtol=2e-2, atol=0.1)


@pytest.mark.parametrize("mode", [0, 1], ids=["static", "dynamic"])
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("whole", [True, False], ids=["int32", "bfloat16"])
def test_dequant_swiglu_quant(mode: int, pairs: bool, whole: bool) -> None:
    torch.manual_seed(0)
    x = torch.randint(-2000, 2000, (7, 12), dtype=torch.int32) if whole else (torch.randn(7, 12) * 4).bfloat16()
    weight_scale, rows, bias = torch.rand(3, 12) * 0.01, torch.rand(7), torch.randint(-99, 99, (3, 12)).int()
    smooth, offset = torch.rand(3, 6) + 0.1, torch.randn(3, 6)
    more = {"weight_scale": weight_scale, "activation_scale": rows, "bias": bias} if whole else {}
    got, factor = torch_npu.npu_dequant_swiglu_quant(
        x.npu(),
        **{name: value.npu() for name, value in more.items()},
        quant_scale=smooth.npu(),
        quant_offset=offset.npu() if mode == 0 else None,
        group_index=torch.tensor(COUNTS).npu(),
        activate_left=True,
        quant_mode=mode,
        **({"swiglu_mode": 1, "clamp_limit": 2.0, "glu_alpha": 1.5, "glu_bias": 0.5} if pairs else {}),
    )
    experts = torch.tensor([0, 1, 2]).repeat_interleave(torch.tensor(COUNTS))
    value = x.double()
    if whole:
        value = (value + bias[experts]) * weight_scale[experts] * rows.unsqueeze(-1)
    if pairs:
        gate, other = value[:, ::2].clamp(max=2), value[:, 1::2].clamp(-2, 2)
        value = gate * torch.sigmoid(1.5 * gate) * (other + 0.5)
    else:
        value = torch.nn.functional.silu(value[:, :6]) * value[:, 6:]
    if mode == 0:
        value = value / smooth[experts] + offset[experts]
    else:
        value = value * smooth[experts]
        want = value.abs().amax(-1) / 127
        torch.testing.assert_close(factor.cpu().double(), want, rtol=1e-4, atol=0)
        value = value / want.unsqueeze(-1)
    assert (got.cpu() - value.clamp(-128, 127)).abs().max() <= 0.5 + 1e-3


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("name", ["relu", "gelu", "silu", "fastgelu"])
def test_ffn(dtype: torch.dtype, name: str) -> None:
    torch.manual_seed(0)
    x, first, second = torch.randn(7, 8).to(dtype), torch.randn(3, 8, 10).to(dtype), torch.randn(3, 10, 8).to(dtype)
    bias = torch.randn(3, 10).to(torch.float16 if dtype == torch.float16 else torch.float32)
    experts = torch.tensor([0, 1, 2]).repeat_interleave(torch.tensor(COUNTS))
    inner = torch.einsum("mk,mkn->mn", x.double(), first.double()[experts]) + bias.double()[experts]
    functional = torch.nn.functional
    inner = inner * torch.sigmoid(1.702 * inner) if name == "fastgelu" else getattr(functional, name)(inner)
    want = torch.einsum("mk,mkn->mn", inner, second.double()[experts])
    moved = x.npu(), first.npu(), second.npu(), name
    for tokens in ({"expert_tokens": COUNTS}, {"expert_tokens_index": [3, 3, 7]}):
        got = torch_npu.npu_ffn(*moved, bias1=bias.npu(), **tokens)
        torch.testing.assert_close(got.cpu().double(), want, rtol=3e-2, atol=0.1)
    got = torch_npu.npu_ffn(x.npu(), first[0].npu(), second[0].npu(), name)
    inner = x.double() @ first[0].double()
    inner = inner * torch.sigmoid(1.702 * inner) if name == "fastgelu" else getattr(functional, name)(inner)
    torch.testing.assert_close(got.cpu().double(), inner @ second[0].double(), rtol=3e-2, atol=0.1)


def test_what_is_not_simulated_is_refused_by_name(run_sim) -> None:
    code = """
import torch, torch_npu
half, byte = torch.ones(4, 8).half().npu(), torch.ones(4, 8, dtype=torch.int8).npu()
weight = torch.ones(1, 8, 8).half().npu()
one = torch.ones(1).npu()
def group(*values): return torch.tensor(values).npu()
def grouped(**more):
    arguments = dict(group_list=group(4), split_item=3, group_type=0) | more
    return torch_npu.npu_grouped_matmul([half], [weight], **arguments)
x, experts = torch.ones(4, 8).npu(), torch.zeros(4, 2, dtype=torch.int32).npu()
ranks, soft = torch.tensor([[1, 2]]).npu(), torch.ones(4, 1, 8).npu()
query, cache = torch.ones(1, 2, 4, 8).half().npu(), torch.ones(2, 4, 1, 8).npu()
def attention(**more):
    arguments = dict(num_heads=2, input_layout="BNSD") | more
    return torch_npu.npu_fused_infer_attention_score(query, query, query, **arguments)
def route(**more):
    arguments = dict(active_num=8, expert_num=8, drop_pad_mode=0, expert_tokens_num_type=1, expert_tokens_num_flag=True)
    arguments |= dict(active_expert_range=[0, 8], row_idx_type=0) | more
    return torch_npu.npu_moe_init_routing_v2(x, experts, **arguments)
calls = [
    lambda: torch_npu.npu_dynamic_quant(half.float()),
    lambda: torch_npu.npu_dynamic_quant(half, smooth_scales=half, group_index=group(2, 1, 4, 4).int()),
    lambda: torch_npu.npu_dynamic_quant(half, smooth_scales=half),
    lambda: torch_npu.npu_quantize(half, torch.ones(3).half().npu(), None, torch.qint8, -1, False),
    lambda: torch_npu.npu_ffn(half, torch.ones(8, 16).half().npu(), torch.ones(8, 8).half().npu(), "swiglu"),
    lambda: torch_npu.npu_ffn(half, weight[0], weight[0], "tanh"),
    lambda: torch_npu.npu_swiglu_quant(half, smooth_scales=one, quant_mode=1, dst_type=torch.quint4x2),
    lambda: grouped(group_list=group(9)),
    lambda: grouped(act_type=3),
    lambda: grouped(activation_input=[half]),
    lambda: torch_npu.npu_moe_gating_top_k(x, 2, renorm=1),
    lambda: torch_npu.npu_moe_gating_top_k(x, 5, k_group=1, group_count=2),
    lambda: torch_npu.npu_moe_gating_top_k(x, 2, norm_type=2),
    lambda: route(quant_mode=0),
    lambda: torch_npu.npu_moe_re_routing(x, ranks),
    lambda: torch_npu.npu_moe_re_routing(x, ranks, idx_type=1),
    lambda: torch_npu.npu_ring_attention_update(
        soft, soft, soft, soft, soft, soft, actual_seq_qlen=group(4), input_layout="TND", input_softmax_layout="SBH"
    ),
    lambda: torch_npu.npu_moe_finalize_routing(x, None, None, x, None, experts.flatten(), None, 2),
    lambda: attention(pse_shift=query[:, :, :2].contiguous()),
    lambda: attention(atten_mask=torch.zeros(2, 4, dtype=torch.bool).npu()),
    lambda: attention(block_table=torch.zeros(1, 1, dtype=torch.int32).npu()),
    lambda: torch_npu.npu_scatter_pa_kv_cache(soft.half(), soft.half(), cache.half(), cache.half(), group(0, 1, 2, 3)),
]
for call in calls:
    try:
        call()
        torch.npu.synchronize()
        print("done")
    except RuntimeError as error:
        print(next((line for line in str(error).splitlines() if "simulated Ascend" in line), str(error)))
"""
    result = run_sim(code, TASK_QUEUE_ENABLE="0")
    lines = [line.split("[simulated Ascend] ")[-1] for line in result.stdout.splitlines()]
    expected = [
        "aclnnDynamicQuantV2: x has data type FLOAT; Ascend910B allows FLOAT16, BFLOAT16",
        "aclnnDynamicQuantV2: group 1 has -1 rows from row 2 on, there are 4",
        "aclnnDynamicQuantV2: CheckShape failed",
        "aclnnAscendQuantV3: 3 scales for a dimension of size 8",
        "aclnnFFNV2: the layers do not fit: [8, 16] and [8, 8] (activations that halve are not simulated)",
        "aclnnFFNV2: activation tanh is not simulated; allowed: relu, gelu, gelu_tanh, fastgelu, silu",
        "aclnnSwiGluQuantV2: an output of 4 bits (shape [4, 2] for [4, 8]) is not simulated",
        "aclnnGroupedMatmulV5: group 0 has 9 rows from row 0 on, there are 4",
        "aclnnGroupedMatmulV5: act_type 3; allowed: 0, 1 (relu), 2 (gelu_tanh), 4 (fastgelu), 5 (silu)",
        "aclnnGroupedMatmulV5: activation_input, activation_quant_scale",
        "aclnnMoeGatingTopK: renorm 1 is not simulated; allowed: 0",
        "aclnnMoeGatingTopK: k 5; allowed: 1 to 4",
        "aclnnMoeGatingTopK: norm_type 2; allowed: 0 (softmax), 1 (sigmoid)",
        "aclnnMoeInitRoutingV3: static quantization needs scale and offset",
        "aclnnMoeReRouting: expert_token_num_per_rank has 3 tokens, there are 4",
        "aclnnMoeReRouting: idx_type 1 is not simulated; allowed: 0",
        "aclnnRingAttentionUpdateV2: input_softmax_layout 'SBH' for input_layout TND is not simulated",
        "aclnnMoeFinalizeRoutingV4: a bias needs the experts of the rows",
        "aclnnFusedInferAttentionScoreV3: pseShift has shape [1, 2, 2, 8] for 4 queries and 4 keys",
        "aclnnFusedInferAttentionScoreV3: attenMask has shape [2, 4] for 4 queries and 4 keys",
        "aclnnFusedInferAttentionScoreV3: paged keys need actual_seq_lengths_kv",
        "aclnnScatterPaKvCache: heads of 8 numbers for tiles of 16",
    ]
    assert len(lines) == len(expected), result.stdout + result.stderr
    for line, start in zip(lines, expected, strict=True):
        assert line.startswith(start), f"{line!r} does not start with {start!r}"


def test_one_scale_needs_no_axis() -> None:
    x, scale, offset = torch.tensor([0.1, -0.25, 0.5]), torch.tensor([0.125]), torch.tensor([2], dtype=torch.int32)
    got = torch_npu.npu_quantize(x.npu(), scale.npu(), offset.npu(), torch.quint8, 1)
    assert got.cpu().to(torch.int64).tolist() == [3, 0, 6]
    with pytest.raises(RuntimeError, match=r"aclnnQuantize[\s\S]*2 scales for an axis"):
        torch_npu.npu_quantize(x.npu(), scale.repeat(2).npu(), offset.repeat(2).npu(), torch.quint8, 0)
