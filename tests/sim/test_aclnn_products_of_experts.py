"""Products of groups of rows, and those with swiglu behind them, quantized again: against float64."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from ascend950 import on_ascend950
from interfaces import Pairs, Refused, Tiles, aclnn, rules_of
from test_aclnn_mx import E1M2, E2M1, E4M3, E5M2, bytes_of, empty, in_pairs, numbers, quantized
from test_aclnn_products import (
    ENDS_ALONG_K,
    FLOAT4,
    added_by_groups,
    along_k,
    float4,
    float4_matrices,
    in_full,
    powers,
)
from values import close, real, whole

E8M0 = torch.float8_e8m0fnu


# ---- swiglu behind a product, quantized again ------------------------------------------------------------------------
TOKENS = [3, 3, 7]  # where the experts' rows end; of 8 rows


def gated(products: torch.Tensor) -> torch.Tensor:
    a, b = products.chunk(2, 1)
    return a / (1 + (-a).exp()) * b


def each_expert(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    parts = enumerate(zip([0, *TOKENS], TOKENS, strict=False))
    return torch.cat([x[first:last].double() @ weight[expert].double() for expert, (first, last) in parts])


@pytest.mark.parametrize("dequant", [0, 1, 27])
def test_grouped_matmul_swiglu_quant_of_8_bits_by_rows(dequant: int) -> None:
    x, weight = real(8, 32).to(torch.float8_e4m3fn), real(3, 32, 64, seed=1).to(torch.float8_e5m2)
    scale, row_scale = real(3, 64, seed=2).abs() * 0.1, real(8, seed=3).abs() * 0.1
    factors = row_scale[:7, None].double() * scale.double()[[0, 0, 0, 2, 2, 2, 2]]
    value = gated(each_expert(x, weight) * factors)
    out, out_scale = torch.zeros(8, 32, dtype=torch.float8_e4m3fn), torch.zeros(8)
    modes = (0, dequant, 0, 0, None)
    given = (None, None, row_scale, None, torch.tensor(TOKENS))
    for weights, scales in (([weight], [scale]), ([weight.transpose(1, 2).contiguous().transpose(1, 2)], [scale])):
        out_scale.zero_()
        aclnn("aclnnGroupedMatmulSwigluQuantV2", x, weights, scales, *given, *modes, out, out_scale)
        close(out_scale[:7], value.abs().amax(1) / 448, 1e-4 if dequant == 0 else 2e-2)
        want = value / out_scale[:7, None].double()  # a number of 8 bits is off by a 16th, or by half the least step
        torch.testing.assert_close(out[:7].double(), want, rtol=0.07 if dequant == 0 else 0.1, atol=2.0)
        assert out_scale[7] == 0
    for other, message in [
        ((0, 3, 0, 0, None), "dequantDtype 3; allowed: 0, 1, 27"),
        ((1, 0, 1, 0, None), "dequantMode 1 and quantMode 1 are not simulated"),
        ((1, 0, 0, 0, None), "dequantMode 1 with a weightScale"),
        ((0, 0, 0, 2, None), "groupListType 2"),
    ]:
        with pytest.raises(Refused, match=message):
            aclnn("aclnnGroupedMatmulSwigluQuantV2", x, [weight], [scale], *given, *other, out, out_scale)
    with pytest.raises(Refused, match="a bias or an offset"):
        aclnn("aclnnGroupedMatmulSwigluQuantV2", x, [weight], [scale], None, scale, *given[2:], *modes, out, out_scale)
    with pytest.raises(Refused, match="weightAssistMatrix goes with"):
        aclnn("aclnnGroupedMatmulSwigluQuantV2", x, [weight], [scale], [scale], *given[1:], *modes, out, out_scale)
    with pytest.raises(Refused, match="smoothScale goes with"):
        smoothed = (*given[:3], row_scale[:3].clone(), given[4])
        aclnn("aclnnGroupedMatmulSwigluQuantV2", x, [weight], [scale], *smoothed, *modes, out, out_scale)


@pytest.mark.parametrize(
    ("code", "of_4_bits"), [(E4M3, False), (E5M2, False), (E4M3, True), (E5M2, True), (E2M1, True)]
)
@pytest.mark.parametrize("apart", [False, True])
def test_grouped_matmul_swiglu_quant_in_blocks(code: int, of_4_bits: bool, apart: bool) -> None:
    """A scale for each 32 numbers: the factors of the products, and those of the results."""
    k, n = 96, 256
    if of_4_bits:
        (data, left), (weight, right) = float4(8, k, 0), float4_matrices(3, k, n, 1)
        x = Pairs(data, FLOAT4)
        each = [Pairs(one.contiguous(), FLOAT4) for one in weight.data]
    else:
        x, weight = real(8, k).to(torch.float8_e4m3fn), real(3, k, n, seed=1).to(torch.float8_e4m3fn)
        left, right, each = x.double(), weight.double(), list(weight)
    row_scale, scale = powers(8, 2, 2, seed=2), powers(3, 2, n, 2, seed=3)
    value = gated(each_expert(left * in_full(row_scale.transpose(0, 1), k).t(), right * in_full(scale, k)))
    weights, scales = ([*map(Tiles, each)], [one.contiguous() for one in scale]) if apart else ([weight], [scale])
    out, out_scale = empty(code, 8, n // 2), torch.zeros(8, 2, 2, dtype=torch.uint8).view(E8M0)
    given = (None, None, row_scale, None, torch.tensor(TOKENS), 2, 0, 2, 0, None)
    aclnn("aclnnGroupedMatmulSwigluQuantV2", x, weights, scales, *given, out, out_scale)
    want, exponents = quantized(value, code, -1)
    assert torch.equal(bytes_of(out_scale)[:7], in_pairs(exponents, -1))
    got = numbers(out)
    assert (got[:7] != want).double().mean() < 0.01 and not got[7].any()
    wrong = torch.zeros(8, 1, 2, dtype=torch.uint8).view(E8M0)
    with pytest.raises(Refused, match=r"the output has shape \[8, 1, 2\], expected \[8, 2, 2\]"):
        aclnn("aclnnGroupedMatmulSwigluQuantV2", x, weights, scales, *given, out, wrong)


def test_lists_of_weights_of_float4_with_two_bits_of_fraction() -> None:
    k, n, drawn = 96, 256, torch.Generator().manual_seed(2)
    data = [torch.randint(0, 256, (rows, columns // 2), generator=drawn, dtype=torch.uint8) for rows, columns in
            ((8, k), (k, n), (k, n), (k, n))]  # fmt: skip
    x, *weights = (Pairs(one, E1M2) for one in data)
    row_scale, scale = powers(8, 2, 2, seed=2), powers(3, 2, n, 2, seed=3)
    right = torch.stack([numbers(one) for one in weights])
    value = gated(each_expert(numbers(x) * in_full(row_scale.transpose(0, 1), k).t(), right * in_full(scale, k)))
    out, out_scale = empty(E1M2, 8, n // 2), torch.zeros(8, 2, 2, dtype=torch.uint8).view(E8M0)
    with rules_of("Ascend950"):
        aclnn(
            "aclnnGroupedMatmulSwigluQuantWeightNzV2", x, [*map(Tiles, weights)], [one.contiguous() for one in scale],
            None, None, row_scale, None, torch.tensor(TOKENS), 2, 0, 2, 0, None, out, out_scale,
        )  # fmt: skip
    want, exponents = quantized(value, E1M2, -1)
    assert torch.equal(bytes_of(out_scale)[:7], in_pairs(exponents, -1))
    assert (numbers(out)[:7] != want).double().mean() < 0.01


@pytest.mark.parametrize(
    ("family", "k", "n", "groups", "dequant", "plain", "message"),
    [
        ("Ascend910B", 32, 64, 3, 0, False, "a groupList of 3 for 2 experts"),
        ("Ascend910B", 32, 10272, 2, 0, False, "n of 10272"),
        ("Ascend910B", 65536, 64, 2, 0, False, "k of 65536"),
        ("Ascend910B", 32, 64, 2, 0, True, "weight of INT8 has format ND; Ascend910B allows FRACTAL_NZ"),
        ("Ascend950", 64, 128, 3, 0, True, "a groupList of 3 for 2 experts"),
        ("Ascend950", 64, 128, 2, 1, True, "dequantDtype 1 with scales of 32 numbers"),
    ],
)
def test_what_a_gated_product_is_limited_to(
    family: str, k: int, n: int, groups: int, dequant: int, plain: bool, message: str
) -> None:
    small = family == "Ascend950"
    x, weight = torch.zeros(1, k, dtype=torch.int8), torch.zeros(2, k, n, dtype=torch.int8)
    scale, row_scale, out, out_scale = torch.zeros(2, n), torch.zeros(1), x.new_zeros(1, n // 2), torch.zeros(1)
    if small:
        x, weight, out = (one.to(torch.float8_e4m3fn) for one in (x, weight, out))
        scale, row_scale, out_scale = (powers(*sizes, seed=1) for sizes in ((2, 1, n, 2), (1, 1, 2), (1, 1, 2)))
    modes = (2, dequant, 2, 0, None) if small else (0, dequant, 0, 0, None)
    with rules_of(family), pytest.raises(Refused, match=message):
        aclnn(
            "aclnnGroupedMatmulSwigluQuantV2", x, [weight if plain else Tiles(weight)], [scale], None, None, row_scale,
            None, torch.ones(groups, dtype=torch.long), *modes, out, out_scale,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("n", "given", "message"),
    [
        (64, {}, "161002: .*n of 64 of int8 by int8"),
        (256, {"logit": None}, "161001: .*logit"),
        (256, {"shared": torch.zeros(0, 256, dtype=torch.bfloat16)}, "161002: .*no input may be empty"),
        (256, {"out": torch.zeros(7, 256)}, "161002: .*7 rows of out for 6 of x1"),
        (256, {}, ""),
    ],
)
def test_what_a_combined_product_is_limited_to(n: int, given: dict[str, torch.Tensor | None], message: str) -> None:
    x, weight = torch.ones(6, 32, dtype=torch.int8), torch.ones(2, 32, n, dtype=torch.int8)
    every = {"shared": None, "logit": torch.ones(6), "out": torch.zeros(3, n), **given}
    call = (
        "aclnnGroupedMatmulFinalizeRoutingWeightNz", x, Tiles(weight), torch.ones(2, n), None, torch.ones(6),
        torch.tensor([2, 6]), every["shared"], every["logit"], torch.tensor([2, 0, 1, 1, 0, 2]), 0, 1.0, 0, False,
        False, 0, every["out"],
    )  # fmt: skip
    if message:
        with pytest.raises(Refused, match=message):
            aclnn(*call)
        return
    aclnn(*call)
    assert (every["out"] == 64).all()


# ---- products of groups of rows --------------------------------------------------------------------------------------
ABSENT = (None,) * 3  # of an activation's quantization


@pytest.mark.parametrize("form", ["8 by 8", "4 by 4", "8 by 4"])
@on_ascend950
def test_grouped_matmul_in_blocks(form: str) -> None:
    k, n = 96, 64
    x, left, weight, right = real(8, k).to(torch.float8_e4m3fn), None, None, None
    if form == "4 by 4":
        data, left = float4(8, k, 0)
        x = Pairs(data, FLOAT4)
    if form == "8 by 8":
        weight = real(3, k, n, seed=1).to(torch.float8_e4m3fn)
    else:
        weight, right = float4_matrices(3, k, n, 1)
    left, right = x.double() if left is None else left, weight.double() if right is None else right
    row_scale, scale, bias = powers(8, 2, 2, seed=2), powers(3, 2, n, 2, seed=3), real(3, n, seed=4)
    want = each_expert(left * in_full(row_scale.transpose(0, 1), k).t(), right * in_full(scale, k))
    want = want + bias.double()[[0, 0, 0, 2, 2, 2, 2]]
    scales = ([scale], None, None) if form != "8 by 4" else (None, None, [scale])
    out, groups = torch.zeros(8, n, dtype=torch.bfloat16), torch.tensor(TOKENS)
    rest = ([row_scale], groups, *ABSENT, 3, 0, 0, 0, None, 0, [out], None, None)
    aclnn("aclnnGroupedMatmulWeightNz", [x], [weight], [bias], *scales, None, *rest)
    torch.testing.assert_close(out[:7].double(), want, rtol=1e-2, atol=1e-2)
    for given, message in [
        (([x], [weight], None, None, None, None, None, *rest), "needs a scale of the weight"),
        (([x], [weight], None, *scales, None, None, *rest[1:]), "need the scales of the rows"),
        (([left.half()], [weight], None, *scales, None, *rest), "needs antiquant_scale|antiquantScale .* of Half"),
        (([x], [weight], None, *scales, None, [row_scale[:, :1].contiguous()], *rest[1:]), "CheckShape failed"),
    ]:
        with pytest.raises(Refused, match=message):
            aclnn("aclnnGroupedMatmulWeightNz", *given)


@on_ascend950
def test_grouped_matmul_of_8_bits_by_rows_and_columns() -> None:
    x, weight = real(8, 32).to(torch.float8_e4m3fn), real(3, 32, 64, seed=1).to(torch.float8_e4m3fn)
    scale, row_scale, out = real(3, 64, seed=2), real(8, seed=3), torch.zeros(8, 64)
    factors = row_scale[:7, None].double() * scale.double()[[0, 0, 0, 2, 2, 2, 2]]
    rest = (torch.tensor(TOKENS), *ABSENT, 3, 0, 0, 0, None, 0, [out], None, None)
    aclnn("aclnnGroupedMatmulWeightNz", [x], [weight], None, [scale], None, None, None, [row_scale], *rest)
    close(out[:7], each_expert(x, weight) * factors, 1e-3)
    got = torch_npu.npu_grouped_matmul(
        [x.npu()], [weight.npu()], scale=[scale.npu()], per_token_scale=[row_scale.npu()],
        group_list=torch.tensor(TOKENS).npu(), split_item=3, group_type=0, group_list_type=0,
        output_dtype=torch.float32,
    )  # fmt: skip
    close(got[0].cpu()[:7], each_expert(x, weight) * factors, 1e-3)


def test_grouped_matmul_of_8_bits_by_4() -> None:
    """A scale for each 256 numbers along k; what is left out of x is in the bias."""
    k, n, groups = 512, 16, torch.tensor(TOKENS)
    x, weight = whole(8, k), whole(3, k, n, seed=1, low=-8, high=8)
    words = ((weight.long() & 15).unflatten(-1, (-1, 8)) << torch.arange(0, 32, 4)).sum(-1)
    words = torch.where(words >= 2**31, words - 2**32, words).to(torch.int32)
    scale, row_scale = torch.randint(1, 9, (3, 2, n)).float() / 64, real(8, seed=2).abs()
    scaled = weight.double() * scale.double().repeat_interleave(256, 1)
    given = ([x], [words], [8 * scaled.sum(1).float()], [scale.view(torch.int32).long()], None, None, None, [row_scale])
    out = torch.zeros(8, n, dtype=torch.bfloat16)
    rest = (groups, *ABSENT, 3, 0, 0, 0, None)
    aclnn("aclnnGroupedMatmulWeightNz", *given, *rest, 256, [out], None, None)
    want = each_expert(x, scaled) * row_scale[:7, None].double()
    torch.testing.assert_close(out[:7].double(), want, rtol=1e-2, atol=1e-1)
    with pytest.raises(Refused, match="for quantGroupSize 128 and k of 512"):
        aclnn("aclnnGroupedMatmulWeightNz", *given, *rest, 128, [out], None, None)
    with pytest.raises(Refused, match="offset of a product of int8 by int4"):
        offset = (*given[:4], [scale], *given[5:])
        aclnn("aclnnGroupedMatmulWeightNz", *offset, *rest, 256, [out], None, None)
    halves = ([real(8, k).half()], [real(3, k, n).half()], *[None] * 6)
    with pytest.raises(Refused, match="quantGroupSize 256 of Half by Half; allowed: 0"):
        aclnn("aclnnGroupedMatmulWeightNz", *halves, *rest, 256, [out], None, None)


@on_ascend950
def test_weight_quant_preprocess() -> None:
    """A weight of FLOAT4 for rows of FLOAT8: into tiles as a cast makes them, its scales as they are."""
    torch.npu.config.allow_internal_format = True
    k, n = 128, 48
    data, values = float4(3 * n, k, 0)
    data, values = data.view(3, n, k // 2), values.view(3, n, k)
    x, scale, row_scale = real(8, k).to(torch.float8_e4m3fn), powers(3, n, 2, 2, seed=2), powers(8, 2, 2, seed=3)
    codes = {"weight_dtype": torch_npu.float4_e2m1fn_x2, "x_dtype": torch.float8_e4m3fn, "k_group_size": 32}
    codes |= {"weight_scale_dtype": torch_npu.float8_e8m0fnu, "x_scale_dtype": torch_npu.float8_e8m0fnu}
    weight, factors = data.npu().transpose(1, 2), scale.view(torch.uint8).npu().transpose(1, 2)
    tiled, same, _, _ = torch_npu.npu_weight_quant_preprocess(weight, factors, **codes)
    assert torch_npu.get_npu_format(tiled) == 50 and tiled.stride() == weight.stride()
    assert torch.equal(same.cpu(), factors.cpu()) and same.stride() == factors.stride()
    cast = torch_npu.npu_format_cast(
        data.npu(), 29, customize_dtype=torch.float8_e4m3fn, input_dtype=torch_npu.float4_e2m1fn_x2
    )
    left = x.double() * in_full(row_scale.transpose(0, 1), k).t()
    want = each_expert(left, values.transpose(1, 2) * in_full(scale.transpose(1, 2), k))
    for on_npu in (tiled, cast.transpose(1, 2)):
        (got,) = torch_npu.npu_grouped_matmul(
            [x.npu()], [on_npu], antiquant_scale=[same], per_token_scale=[row_scale.view(torch.uint8).npu()],
            group_list=torch.tensor(TOKENS).npu(), split_item=3, group_type=0, group_list_type=0,
            output_dtype=torch.float16, weight_dtype=torch_npu.float4_e2m1fn_x2,
            per_token_scale_dtype=torch_npu.float8_e8m0fnu,
        )  # fmt: skip
        torch.testing.assert_close(got.cpu()[:7].double(), want, rtol=2e-3, atol=2e-3)
    one, scales, _, _ = torch_npu.npu_weight_quant_preprocess(weight[1], factors[1], **codes)
    assert one.shape == (k // 2, n) and torch.equal(scales.cpu(), factors[1].cpu())
    short = powers(3, n, 1, 2, seed=2).view(torch.uint8).npu().transpose(1, 2)
    for wrong, changed, message in [(factors, {"k_group_size": 64}, "kGroupSize 64"), (short, {}, "CheckShape failed")]:
        with pytest.raises(RuntimeError, match=message):
            torch_npu.npu_weight_quant_preprocess(weight, wrong, **(codes | changed))
            torch.npu.synchronize()


# ---- as torch_npu calls them on an Ascend950 -------------------------------------------------------------------------
@on_ascend950
def test_as_torch_npu_calls_them_there() -> None:
    k, m, n = 80, 6, 8
    x, weight = real(k, m).to(torch.float8_e4m3fn), real(k, n, seed=1).to(torch.float8_e4m3fn)
    row_scale, scale, y = powers(2, m, 2, seed=2), powers(2, n, 2, seed=3), real(m, n, seed=4)
    want = y.double() + (x.double() * in_full(row_scale, k)).t() @ (weight.double() * in_full(scale, k))
    on_npu, codes = y.npu(), {"x1_scale_dtype": torch_npu.float8_e8m0fnu, "x2_scale_dtype": torch_npu.float8_e8m0fnu}
    torch_npu.npu_add_quant_matmul_(
        on_npu, x.npu().t(), weight.npu(), scale.view(torch.int8).npu(),
        x1_scale=row_scale.view(torch.int8).npu().transpose(0, 1), group_sizes=[1, 1, 32], **codes,
    )  # fmt: skip
    close(on_npu.cpu(), want)

    m, batch, k, n = 3, 2, 128, 8
    x = real(m, batch, k).to(torch.float8_e4m3fn)
    weight = real(batch, k, n, seed=1).to(torch.float8_e4m3fn)
    row_scale, scale = powers(m, batch, k // 64, 2, seed=2), powers(batch, k // 64, n, 2, seed=3)
    left = x.double().permute(1, 0, 2) * in_full(row_scale.permute(1, 2, 0, 3), k).transpose(1, 2)
    want = (left @ (weight.double() * in_full(scale, k))).permute(1, 0, 2)
    got = torch_npu.npu_transpose_quant_batchmatmul(
        x.npu(), weight.npu(), dtype=torch.bfloat16, x1_scale=row_scale.npu(), x2_scale=scale.npu(),
        group_sizes=[0, 0, 32], perm_x1=[1, 0, 2], perm_x2=[0, 1, 2], perm_y=[1, 0, 2],
    )  # fmt: skip
    close(got.cpu(), want, 2e-2)

    torch.npu.config.allow_internal_format = True
    blocks = torch_npu.npu_format_cast(weight.npu(), 29)
    got = torch_npu.npu_transpose_quant_batchmatmul(
        x.npu(), blocks, dtype=torch.bfloat16, x1_scale=row_scale.npu(), x2_scale=scale.npu(),
        group_sizes=[0, 0, 32], perm_x1=[1, 0, 2], perm_x2=[0, 1, 2], perm_y=[1, 0, 2],
    )  # fmt: skip
    close(got.cpu(), want, 2e-2)

    x, weight, row_scale, scale, y = along_k(6, 8)
    on_npu = y.npu()
    torch_npu.npu_add_quant_gmm_(
        on_npu, x.npu(), weight.npu(), scale.view(torch.int8).npu(), torch.tensor(ENDS_ALONG_K).npu(),
        x1_scale=row_scale.view(torch.int8).npu(), **codes,
    )  # fmt: skip
    close(on_npu.cpu(), added_by_groups(x, weight, row_scale, scale, y))

    (x, left), (weight, right) = float4(16, 1024, 0), float4(32, 1024, 1)
    row_scale0, scale0 = torch.ones(16, 2), torch.ones(2, 32)
    row_scale1, scale1 = powers(16, 16, 2, seed=4), powers(32, 16, 2, seed=5)
    want = (
        left * in_full(row_scale1.transpose(0, 1), 1024).t() @ (right * in_full(scale1.transpose(0, 1), 1024).t()).t()
    )
    blocks = torch_npu.npu_format_cast(weight.view(torch.int8).npu(), 29)
    got = torch_npu.npu_dual_level_quant_matmul(
        x.npu(), blocks, row_scale0.npu(), scale0.npu(), row_scale1.view(torch.uint8).npu(),
        scale1.view(torch.uint8).npu(), output_dtype=torch.bfloat16,
    )  # fmt: skip
    torch.testing.assert_close(got.cpu().double(), want, rtol=1e-2, atol=1e-2)

    x, weight, scale = whole(16, 320), whole(320, 64, seed=1), real(1, seed=2)
    want = x.double() @ weight.double() * scale.double()
    blocks = torch_npu.npu_format_cast(weight.npu(), 29)  # with it comes an empty offset of the output's data type
    got = torch_npu.npu_quant_matmul(x.npu(), blocks, scale.npu(), output_dtype=torch.bfloat16)
    torch.testing.assert_close(got.cpu().double(), want, rtol=1e-2, atol=1e-2)

    x, weight = real(8, 96).to(torch.float8_e4m3fn), real(3, 96, 256, seed=1).to(torch.float8_e4m3fn)
    row_scale, scale = powers(8, 2, 2, seed=2), powers(3, 2, 256, 2, seed=3)
    left, right = x.double() * in_full(row_scale.transpose(0, 1), 96).t(), weight.double() * in_full(scale, 96)
    want, exponents = quantized(gated(each_expert(left, right)), E4M3, -1)
    codes = {"weight_scale_dtype": torch_npu.float8_e8m0fnu, "x_scale_dtype": torch_npu.float8_e8m0fnu}
    modes = {"dequant_mode": 2, "quant_mode": 2, "dequant_dtype": torch.float32, "quant_dtype": torch.float8_e4m3fn}
    for on_npu in (weight.npu(), torch_npu.npu_format_cast(weight.npu(), 29)):
        got, got_scale = torch_npu.npu_grouped_matmul_swiglu_quant_v2(
            x.npu(), [on_npu], [scale.view(torch.uint8).npu()], row_scale.view(torch.uint8).npu(),
            torch.tensor(TOKENS).npu(), **modes, **codes,
        )  # fmt: skip
        assert torch.equal(got_scale.cpu().view(torch.uint8)[:7], in_pairs(exponents, -1))
        assert (got.cpu()[:7].double() != want).double().mean() < 0.01
