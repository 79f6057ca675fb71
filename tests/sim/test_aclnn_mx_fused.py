"""What ends in small floating-point numbers, after normalizations, gated units and products: against float64."""

from __future__ import annotations

import math

import pytest
import torch
import torch_npu
from ascend950 import on_ascend950
from interfaces import Refused, aclnn
from test_aclnn_mx import E2M1, E4M3, E5M2, LARGEST, TYPES, bytes_of, cast, empty, in_pairs, numbers, quantized, scale
from values import close, gradients, real, steps_close


def worth(out, scales: torch.Tensor, axis: int) -> torch.Tensor:
    """What the numbers of blocks stand for."""
    values = numbers(out)
    flat = (
        bytes_of(scales)
        .double()
        .movedim(-1, axis % values.dim() + 1)
        .flatten(axis % values.dim(), axis % values.dim() + 1)
    )
    return values * (2.0 ** (flat - 127)).repeat_interleave(32, axis).narrow(axis, 0, values.shape[axis])


def is_quantized(out, scales, value: torch.Tensor, axis: int, code: int, algorithm: int = 0) -> None:
    """All scales as by the formula, and the numbers but for those that lie on a bound between two."""
    want, bytes_ = quantized(value, code, axis, algorithm=algorithm)
    torch.testing.assert_close(bytes_of(scales).long(), in_pairs(bytes_, axis).long(), rtol=0, atol=0)
    assert (numbers(out) != want).double().mean() < 0.01
    exact = worth(out, scales, axis)
    step = 2.0 ** (in_pairs(bytes_, axis).double().max() - 127) * LARGEST[code]
    assert (exact - value.double()).abs().max() <= step * 0.5


def rms(
    x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor | None, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    rstd = 1 / torch.sqrt((x.double() ** 2).mean(-1, keepdim=True) + eps)
    y = x.double() * rstd * gamma.double()
    return (y if beta is None else y + beta.double()), rstd


@pytest.mark.parametrize(("code", "algorithm"), [(E4M3, 0), (E5M2, 1), (E2M1, 0)])
@pytest.mark.parametrize("biased", [False, True])
@on_ascend950
def test_rms_norm_into_blocks(code: int, algorithm: int, biased: bool) -> None:
    a, b = real(6, 96, dtype=torch.bfloat16), real(6, 96, seed=1, dtype=torch.bfloat16)
    gamma, beta = real(96, seed=2), real(96, seed=3) if biased else None
    out, scales, rstd = empty(code, 6, 96), scale(6, 2, 2), torch.zeros(6, 1)
    aclnn("aclnnRmsNormDynamicMxQuant", a, gamma, beta, 1e-6, algorithm, "rint", code, True, out, scales, rstd)
    want, want_rstd = rms(a, gamma, beta, 1e-6)
    is_quantized(out, scales, want, -1, code, algorithm)
    close(rstd, want_rstd)
    out, scales, sum_ = empty(code, 6, 96), scale(6, 2, 2), torch.zeros(6, 96, dtype=torch.bfloat16)
    aclnn(
        "aclnnAddRmsNormDynamicMxQuant",
        a,
        b,
        gamma,
        beta,
        1e-6,
        algorithm,
        "rint",
        code,
        False,
        out,
        sum_,
        scales,
        None,
    )
    close(sum_, (a.double() + b.double()).bfloat16())
    is_quantized(out, scales, rms(a.float() + b.float(), gamma, beta, 1e-6)[0], -1, code, algorithm)
    if code == E4M3:
        got = torch_npu.npu_rms_norm_dynamic_mx_quant(
            a.npu(), gamma.npu(), beta=None if beta is None else beta.npu(), dst_type=torch_npu.float8_e4m3fn
        )
        is_quantized(got[0].cpu(), got[1].cpu(), want, -1, code)
        got = torch_npu.npu_add_rms_norm_dynamic_mx_quant(
            a.npu(), b.npu(), gamma.npu(), beta=None if beta is None else beta.npu(), dst_type=torch_npu.float8_e4m3fn
        )
        close(got[1].cpu(), sum_)


@on_ascend950
def test_rms_norm_of_what_is_no_number() -> None:
    x = real(3, 32, dtype=torch.float16)
    x[0, 1], x[1, 1] = math.inf, math.nan
    out, scales, rstd = empty(E4M3, 3, 32), scale(3, 1, 2), torch.zeros(3, 1)
    aclnn("aclnnRmsNormDynamicMxQuant", x, torch.ones(32), None, 1e-6, 0, "rint", E4M3, True, out, scales, rstd)
    assert not numbers(out)[:2].any() and numbers(out)[2].any()
    assert bytes_of(scales)[:, 0].flatten().tolist()[0::2][:2] == [255, 255] and bytes_of(scales)[0, 0, 1] == 0
    assert rstd[0] == 0 and rstd[1].isnan()


@pytest.mark.parametrize("divide", [False, True])
@on_ascend950
def test_rms_norm_quant_v3(divide: bool) -> None:
    x, gamma, beta = real(6, 40), real(40, seed=1), real(40, seed=2)
    factor, zero = real(40, seed=3).abs() + 0.5, real(40, seed=4)
    normal, want_rstd = rms(x, gamma, beta, 1e-5)
    want = (normal / factor.double() if divide else normal * factor.double()) + zero.double()
    for dtype in (torch.int8, torch.float8_e4m3fn, torch.float8_e5m2):
        out, rstd = torch.zeros(6, 40, dtype=dtype), torch.zeros(6, 1)
        aclnn("aclnnRmsNormQuantV3", x, gamma, factor, zero, beta, 1e-5, divide, True, out, rstd)
        close(rstd, want_rstd)
        if dtype == torch.int8:
            steps_close(out, want)
        else:
            assert (
                out.double() != cast(want, next(code for code in TYPES if TYPES[code] == dtype))
            ).double().mean() < 0.01
    got, _ = torch_npu.npu_rms_norm_quant_v2(
        x.npu(), gamma.npu(), factor.npu(), offset=zero.npu(), beta=beta.npu(), epsilon=1e-5, div_mode=divide
    )
    steps_close(got.cpu(), want)


@pytest.mark.parametrize("divide", [False, True])
@on_ascend950
def test_rms_norm_grad_quant(divide: bool) -> None:
    x, gamma, grad = real(6, 40), real(40, seed=1), real(6, 40, seed=2)
    rstd = 1 / torch.sqrt((x**2).mean(-1) + 1e-6)
    dx, dgamma = gradients(lambda x, gamma: rms_of(x, gamma), x, gamma, grad=grad)
    factor, zero = torch.tensor([0.05 if divide else 20.0]), torch.tensor([3], dtype=torch.int32)
    out, out_gamma = torch.zeros(6, 40, dtype=torch.int8), torch.zeros(40)
    aclnn("aclnnRmsNormGradQuant", grad, x, rstd, gamma, factor, zero, "static", divide, out, out_gamma)
    steps_close(out, dx * 20 + 3)
    close(out_gamma, dgamma)
    with pytest.raises(Refused, match="quantMode dynamic"):
        aclnn("aclnnRmsNormGradQuant", grad, x, rstd, gamma, factor, zero, "dynamic", divide, out, out_gamma)


def rms_of(x: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    return x / torch.sqrt((x**2).mean(-1, keepdim=True) + 1e-6) * gamma


def swiglu(x: torch.Tensor, dim: int = -1, left: bool = True) -> torch.Tensor:
    a, b = x.double().chunk(2, dim)
    a, b = (a, b) if left else (b, a)
    return a / (1 + (-a).exp()) * b


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize(("dim", "axis"), [(-1, -1), (-1, -2), (-2, -1), (-2, -2)])
@on_ascend950
def test_swiglu_into_blocks(left: bool, dim: int, axis: int) -> None:
    x = real(3, 68, 80, dtype=torch.bfloat16)
    value = swiglu(x, dim, left)
    out, scales = empty(E4M3, *value.shape), scale(*in_pairs(quantized(value, E4M3, axis)[1], axis).shape)
    aclnn("aclnnSwigluMxQuant", x, None, dim, left, 0, 7.0, 1.702, 1.0, 0, axis, E4M3, "rint", 1, 0.0, out, scales)
    is_quantized(out, scales, value, axis, E4M3, 1)
    if dim == axis == -1:
        got = torch_npu.npu_swiglu_mx_quant(x.npu(), activate_left=left, dst_type=torch_npu.float8_e4m3fn, scale_alg=1)
        torch.testing.assert_close(got[0].cpu().double(), out.double(), rtol=0, atol=0)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("axis", [-1, 0])
@on_ascend950
def test_swiglu_in_pairs_and_groups(kind: int, axis: int) -> None:
    x, ends = real(90, 128, dtype=torch.float16) * 4, [40, 70]
    gate, value = x.double()[:, 0::2].clamp(max=3), x.double()[:, 1::2].clamp(-3, 3)
    want = gate / (1 + (-1.5 * gate).exp()) * (value + 0.5)
    groups = torch.tensor(ends if kind else [40, 30])
    out, scales = empty(E5M2, 90, 64), scale(*((90, 1, 2) if axis else (3, 64, 2)))
    aclnn("aclnnSwigluMxQuant", x, groups, 1, True, 1, 3.0, 1.5, 0.5, kind, axis, E5M2, None, 0, 0.0, out, scales)
    if axis:
        is_quantized(out[:70], scales[:70], want[:70], -1, E5M2)
        assert (bytes_of(scales)[70:] == 9).all()
    else:
        is_quantized(out[:40], scales[:1], want[:40], 0, E5M2)
        is_quantized(out[40:70], scales[1:2], want[40:70], 0, E5M2)
    assert not numbers(out)[70:].any()


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@on_ascend950
def test_swiglu_both_dimensions(left: bool, grouped: bool) -> None:
    x, grad = real(100, 128, dtype=torch.bfloat16), real(100, 64, seed=1, dtype=torch.bfloat16)
    ends = torch.tensor([30, 100]) if grouped else None
    parts = [(0, 30, 0), (30, 100, 1)] if grouped else [(0, 100, 0)]
    dx = gradients(lambda x: swiglu(x, -1, left), x, grad=grad)[0]
    for backward, want in ((False, swiglu(x, -1, left)), (True, dx)):
        width = want.shape[1]
        outs, rows = [empty(E4M3, 100, width) for _ in range(2)], scale(100, width // 64, 2)
        columns = scale(3 if grouped else 2, width, 2)
        name = "aclnnSwigluBackwardMxQuantWithDualAxis" if backward else "aclnnSwigluMxQuantWithDualAxis"
        given = (x, grad, ends) if backward else (x, ends)
        aclnn(name, *given, left, "rint", 1, E4M3, 0.0, outs[0], rows, outs[1], columns)
        is_quantized(outs[0], rows, want, -1, E4M3, 1)
        for start, end, place in parts:
            place += start // 64 if grouped else 0
            own = columns[place : place + -(-(end - start) // 64)]
            is_quantized(outs[1][start:end], own, want[start:end], 0, E4M3, 1)
    got = torch_npu.npu_swiglu_mx_quant_with_dual_axis(
        x.npu(), group_index=None if ends is None else ends.npu(), activate_left=left, dst_type=torch_npu.float8_e4m3fn
    )
    is_quantized(got[0].cpu(), got[1].cpu(), swiglu(x, -1, left), -1, E4M3, 1)


@pytest.mark.parametrize("limit", [-1.0, 0.7])
@pytest.mark.parametrize("powers", [False, True])
@on_ascend950
def test_swiglu_group_quant_in_wide_blocks(limit: float, powers: bool) -> None:
    x, weight, counts = real(2, 5, 512, dtype=torch.float16), real(10, seed=1), torch.tensor([4, 3])
    value = clipped(x.double().flatten(0, 1), limit) * weight.double()[:, None]
    value[1, :128] = 0
    x.flatten(0, 1)[1, :128] = 0
    out, scales = empty(E4M3, 2, 5, 256), torch.full((2, 5, 2), 5.0)
    origin = torch.zeros(0, dtype=torch.float16)
    aclnn("aclnnSwigluGroupQuant", x, weight, counts, None, E4M3, 0, 0, powers, limit, 0.0, False, out, scales, origin)
    factor = value.reshape(10, 2, 128).abs().amax(-1).clamp_min(1e-4) / 448
    factor = 2.0 ** factor.log2().ceil() if powers else factor
    close(scales.flatten(0, 1)[:7], factor[:7], 1e-5)
    assert (scales.flatten(0, 1)[7:] == 5).all() and not out.flatten(0, 1)[7:].double().any()
    want = cast(value / factor.repeat_interleave(128, 1), E4M3)
    assert (out.flatten(0, 1)[:7].double() != want[:7]).double().mean() < 0.01


def clipped(x: torch.Tensor, limit: float) -> torch.Tensor:
    a, b = x.chunk(2, -1)
    if limit > 0:
        a, b = a.clamp(max=limit), b.clamp(-limit, limit)
    return a / (1 + (-a).exp()) * b


@pytest.mark.parametrize("code", [E4M3, E2M1])
@on_ascend950
def test_swiglu_group_quant_in_mx_blocks(code: int) -> None:
    x = real(6, 256, dtype=torch.bfloat16)
    value = clipped(x.double(), -1)
    out, scales = empty(code, 6, 128), scale(6, 2, 2)
    origin = torch.zeros(0, dtype=torch.bfloat16)
    aclnn("aclnnSwigluGroupQuant", x, None, None, None, code, 1, 32, True, -1.0, 0.0, False, out, scales, origin)
    is_quantized(out, scales, value, -1, code, 1)
    with pytest.raises(Refused, match="roundScale"):
        aclnn("aclnnSwigluGroupQuant", x, None, None, None, code, 1, 32, False, -1.0, 0.0, False, out, scales, origin)


@pytest.mark.parametrize("limit", [-1.0, 0.7])
@pytest.mark.parametrize("weighted", [False, True])
@on_ascend950
def test_swiglu_group_quant_grad(limit: float, weighted: bool) -> None:
    x, grad = real(9, 64), real(9, 32, seed=1)
    weight, counts = (real(9, seed=2) if weighted else None), torch.tensor([3, 4])
    slope = grad.double() * (weight.double()[:, None] if weighted else 1)
    want = gradients(lambda x: clipped(x, limit), x, grad=slope)[0]
    want[7:] = 0
    origin = clipped(x.double(), limit)
    out, out_weight = torch.zeros(9, 64), torch.ones(9)
    aclnn("aclnnSwigluGroupQuantGrad", grad, x, weight, origin.float(), counts, limit, out, out_weight)
    close(out, want)
    if weighted:
        sums = (grad.double() * origin).sum(1)
        sums[7:] = 0
        close(out_weight, sums)
    got, _ = torch_npu.npu_swiglu_group_quant_backward(
        grad.npu(), x.npu(), weight=weight.npu() if weighted else None, y_origin=origin.float().npu(),
        group_index=counts.npu(), clamp_limit=limit,
    )  # fmt: skip
    close(got.cpu(), want)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn, torch.float8_e5m2])
@on_ascend950
def test_gelu_quant(approximate: str, dtype: torch.dtype) -> None:
    x, factor, zero = real(4, 5, 24), real(24, seed=1).abs() * 20, real(24, seed=2)
    x[0, 0] = 0
    value = torch.nn.functional.gelu(x.double(), approximate=approximate)
    code = {torch.int8: 2, torch.float8_e5m2: E5M2, torch.float8_e4m3fn: E4M3}[dtype]
    out = torch.zeros(4, 5, 24, dtype=dtype)

    def check(want: torch.Tensor) -> None:
        if dtype == torch.int8:
            steps_close(out, want)
        else:
            assert (out.double() != cast(want, code)).double().mean() < 0.01

    aclnn("aclnnGeluQuant", x, factor, zero, approximate, "static", "rint", code, out, None)
    check(value * factor.double() + zero.double())
    out_scale = torch.zeros(4, 5)
    aclnn("aclnnGeluQuant", x, factor, None, approximate, "dynamic", "rint", code, out, out_scale)
    scaled = value * factor.double()
    want_scale = scaled.abs().amax(-1) / {2: 127, **LARGEST}[code]
    close(out_scale, want_scale, 1e-5)
    check((scaled / want_scale[..., None]).nan_to_num(0))
    if dtype == torch.float8_e4m3fn:
        got = torch_npu.npu_gelu_quant(
            x.npu(), input_scale=factor.npu(), approximate=approximate, dst_type=torch_npu.float8_e4m3fn
        )
        torch.testing.assert_close(got[0].cpu().double(), out.double(), rtol=0, atol=0)
    with pytest.raises(Refused, match="roundMode round"):
        aclnn("aclnnGeluQuant", x, factor, None, approximate, "dynamic", "round", code, out, out_scale)


@pytest.mark.parametrize("code", [E5M2, E4M3])
@on_ascend950
def test_quant_max(code: int) -> None:
    x, factors, ends = real(10, 3, 7, dtype=torch.bfloat16), torch.tensor([100.0, 3.0]), torch.tensor([4, 10])
    out, most = empty(code, 10, 3, 7), torch.zeros(1, dtype=torch.bfloat16)
    aclnn("aclnnQuantMax", x, factors[:1], "rint", code, out, most)
    torch.testing.assert_close(out.double(), cast(x.double() * 100, code), rtol=0, atol=0)
    close(most, x.abs().max())
    out, most = empty(code, 10, 3, 7), torch.zeros(2, dtype=torch.bfloat16)
    aclnn("aclnnGroupedQuantMax", x, factors, ends, "rint", code, out, most)
    want = torch.cat([x[:4].double() * 100, x[4:].double() * 3])
    torch.testing.assert_close(out.double(), cast(want, code), rtol=0, atol=0)
    close(most, torch.stack([x[:4].abs().max(), x[4:].abs().max()]))
    if code == E4M3:
        got = torch_npu.npu_quant_max(x.npu(), factors.npu(), dst_dtype=torch_npu.float8_e4m3fn, group_list=ends.npu())
        torch.testing.assert_close(got[0].cpu().double(), out.double(), rtol=0, atol=0)
        close(got[1].cpu(), most)


@pytest.mark.parametrize(("rows", "columns"), [(1, 128), (128, 64)])
@pytest.mark.parametrize("least", [0.0, 500.0])
@on_ascend950
def test_grouped_blocks(rows: int, columns: int, least: float) -> None:
    x, ends = real(2, 300, 150, dtype=torch.float16), [130, 130, 300]
    x[0, :128, :64] = 0
    groups, height = torch.tensor(ends, dtype=torch.int32), 300 // rows + 3
    out, scales = empty(E4M3, 2, 300, 150), torch.full((2, height, -(-150 // columns)), 5.0)
    aclnn("aclnnGroupedDynamicBlockQuant", x, groups, least, "rint", E4M3, rows, columns, 0, out, scales)
    want, start = torch.zeros(2, height, scales.shape[2], dtype=torch.float64), 0
    values = torch.zeros(2, 300, 150, dtype=torch.float64)
    for group, end in enumerate(ends):
        for i, row in enumerate(range(start, end, rows)):
            for j, column in enumerate(range(0, 150, columns)):
                part = x[:, row : min(row + rows, end), column : column + columns].double()
                factor = part.abs().amax((1, 2)) / 448
                factor = factor.clamp(max=1 / least) if least else factor
                want[:, start // rows + group + i, j] = factor
                to = (part / factor[:, None, None]).nan_to_num(0)
                values[:, row : min(row + rows, end), column : column + columns] = to
        start = end
    close(scales, want, 1e-5)
    assert (out.double() != cast(values, E4M3)).double().mean() < 0.01
    if rows == 1 and not least:
        got = torch_npu.npu_grouped_dynamic_block_quant(x.npu(), groups.npu(), dst_type=torch_npu.float8_e4m3fn)
        torch.testing.assert_close(got[0].cpu().double(), out.double(), rtol=0, atol=0)
        out, other = empty(E4M3, 2, 300, 150), torch.zeros_like(scales)
        aclnn("aclnnGroupedDynamicBlockQuantV2", x, groups, 0.0, None, E4M3, 1, columns, 0, 0.0, out, other)
        close(other, scales)


@pytest.mark.parametrize("top", [0.0, 7.0])
@pytest.mark.parametrize("right", [False, True])
@on_ascend950
def test_flat_quant_into_blocks(top: float, right: bool) -> None:
    x, left = real(5, 6, 16, dtype=torch.float16), real(6, 6, seed=1, dtype=torch.float16)
    second = real(16, 16, seed=2, dtype=torch.float16) if right else torch.zeros(0, 0, dtype=torch.float16)
    value = left.double() @ (x.double() @ second.double() if right else x.double())
    out, scales = empty(E2M1, 5, 96), scale(5, 2, 2)
    aclnn("aclnnFlatQuantV2", x, left, second, 1.0, top, out, scales)
    want, bytes_ = quantized(value.flatten(1), E2M1, -1, algorithm=2 if top else 0, top=top)
    torch.testing.assert_close(bytes_of(scales).long(), in_pairs(bytes_, -1).long(), rtol=0, atol=0)
    assert (numbers(out) != want).double().mean() < 0.01


@on_ascend950
def test_flat_quant_into_whole_numbers() -> None:
    x, left, right = (
        real(*shape, seed=i, dtype=torch.float16) for i, shape in enumerate([(5, 6, 16), (6, 6), (16, 16)])
    )
    out, factor = torch.zeros(5, 6, 2, dtype=torch.int32), torch.zeros(5)
    aclnn("aclnnFlatQuantV2", x, left, right, 0.9, 0.0, out, factor)
    value = left.double() @ x.double() @ right.double()
    close(factor, value.abs().amax((1, 2)) / (7 / 0.9))
    with pytest.raises(Refused, match="dstTypeMax 7"):
        aclnn("aclnnFlatQuantV2", x, left, right, 0.9, 7.0, out, factor)


@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("by_batch", [False, True])
@on_ascend950
def test_quant_scatter(dtype: torch.dtype, by_batch: bool) -> None:
    target = torch.zeros(4, 8, 16, dtype=dtype)
    updates, factor = real(2, 3, 16, dtype=torch.float16), real(16, seed=1).abs() * 0.1 + 0.01
    zero = torch.arange(16, dtype=torch.int32)
    places = torch.tensor([[3, 1], [0, 4]] if by_batch else [2, 5])
    aclnn("aclnnInplaceQuantScatterV2", target, places, updates, factor, zero, 1, -1, 1, "rint")
    value, want = updates.double() / factor.double() + zero.double(), torch.zeros(4, 8, 16, dtype=torch.float64)
    for i, place in enumerate(places.tolist()):
        batch, start = place if by_batch else (i, place)
        want[batch, start : start + 3] = value[i]
    if dtype == torch.int8:
        steps_close(target, want)
    else:
        code = E4M3 if dtype == torch.float8_e4m3fn else E5M2
        assert (target.double() != cast(want, code)).double().mean() < 0.01


@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e5m2, torch.float8_e4m3fn])
@pytest.mark.parametrize("divide", [False, True])
@on_ascend950
def test_quantized_norm_of_a_sum(dtype: torch.dtype, divide: bool) -> None:
    a, b, gamma, beta = real(3, 4, 8), real(3, 4, 8, seed=1), real(4, 8, seed=2), real(4, 8, seed=3)
    factor, zero, second = real(4, 8, seed=4).abs() + 0.5, real(4, 8, seed=5), real(4, 8, seed=6).abs() + 0.5
    both = a.double() + b.double()
    normal = both / (both.square().mean((1, 2), keepdim=True) + 1e-6).sqrt() * gamma.double()

    def holds(got: torch.Tensor, value: torch.Tensor, scale: torch.Tensor, offset: float | torch.Tensor) -> None:
        want = (value / scale.double() if divide else value * scale.double()) + offset
        if dtype == torch.int8:
            return steps_close(got, want)
        off = got.double() != cast(want, next(code for code in TYPES if TYPES[code] == dtype))
        assert off.double().mean() < 0.02

    for scale2 in (None, second):
        out1, out2, total = [torch.zeros(3, 4, 8, dtype=kind) for kind in (dtype, dtype, torch.float32)]
        given = (a, b, gamma, factor, scale2, zero, None)
        aclnn("aclnnAddRmsNormQuant", *given, -1, 1e-6, divide, out1, out2, total)
        close(total, both)
        holds(out1, normal, factor, zero.double())
        holds(out2, normal, torch.ones(1) if scale2 is None else scale2, 0)
        plain = torch.zeros(3, 4, 8)
        aclnn("aclnnAddRmsNormQuantV2", *given, beta, -1, 1e-6, divide, out1, out2, total, plain)
        close(plain, normal)
        holds(out1, normal + beta.double(), factor, zero.double())
    got, _, _ = torch_npu.npu_add_rms_norm_quant(
        a.npu(), b.npu(), gamma.npu(), factor.npu(), zero.npu(), dst_type=dtype, div_mode=divide
    )
    holds(got.cpu(), normal, factor, zero.double())
    with pytest.raises(Refused, match="gamma"):
        aclnn("aclnnAddRmsNormQuant", a, b, gamma.T, *given[3:], -1, 1e-6, divide, out1, out2, total)


@on_ascend950
def test_inverse_root_is_rounded_once() -> None:
    x, gamma = torch.zeros(1, 2, 2, dtype=torch.bfloat16), torch.zeros(2)
    out, scales, rstd = empty(E5M2, 1, 2, 2), scale(1, 2, 1, 2), torch.zeros(1, 2, 1)
    aclnn("aclnnRmsNormDynamicMxQuant", x, gamma, gamma, 1e-6, 0, "rint", E5M2, True, out, scales, rstd)
    assert rstd.flatten().tolist() == [1000, 1000]


@pytest.mark.parametrize("mode", ["pertoken", "pertensor", "perchannel"])
@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e5m2, torch.float8_e4m3fn])
@pytest.mark.parametrize("offset", [False, True])
@on_ascend950
def test_dynamic_quant_modes(mode: str, dtype: torch.dtype, offset: bool) -> None:
    x = real(2, 6, 16, dtype=torch.bfloat16)
    channels = mode == "perchannel"
    smooth = real(6 if channels else 16, seed=1, dtype=torch.bfloat16).abs() + 0.5
    value = x.double() * (smooth.double()[:, None] if channels else smooth.double())
    dims = {"pertoken": (-1,), "pertensor": (0, 1, 2), "perchannel": (-2,)}[mode]
    code = next((code for code in TYPES if TYPES[code] == dtype), 2)
    top = LARGEST.get(code, 127.0)
    least = -top - (code == 2)
    most = value.amax(dims, True)
    if offset:
        factor = (most - value.amin(dims, True)) / (top - least)
        zero = top - most / factor
    else:
        factor, zero = value.abs().amax(dims, True) / top, torch.zeros(1)
    want = value / factor + zero

    def holds(got: torch.Tensor) -> None:
        if dtype == torch.int8:
            return steps_close(got, want)
        assert (got.double() != cast(want, code)).double().mean() < 0.02

    sizes = {"pertoken": (2, 6), "pertensor": (1,), "perchannel": (2, 16)}[mode]
    for name, more in (("V3", ()), ("V4", (0.0,))):
        out, scales, zeros = torch.zeros(2, 6, 16, dtype=dtype), torch.zeros(sizes), torch.zeros(sizes)
        outs = (out, scales, zeros if offset else None)
        aclnn(f"aclnnDynamicQuant{name}", x, smooth, None, code, not offset, mode, *more, *outs)
        close(scales, factor.reshape(sizes), 1e-5)
        if offset:
            close(zeros, zero.reshape(sizes))
        holds(out)
    function = torch_npu.npu_dynamic_quant_asymmetric if offset else torch_npu.npu_dynamic_quant
    holds(function(x.npu(), smooth_scales=smooth.npu(), dst_type=dtype, quant_mode=mode)[0].cpu())
    groups = torch.tensor([12], dtype=torch.int32)
    if mode != "pertoken":
        with pytest.raises(Refused, match="groupIndex"):
            aclnn("aclnnDynamicQuantV3", x, smooth, groups, code, not offset, mode, *outs)
    with pytest.raises(Refused, match="quantMode"):
        aclnn("aclnnDynamicQuantV3", x, smooth, None, code, not offset, "perblock", *outs)


@on_ascend950
def test_dynamic_quant_of_zeros() -> None:
    out, scales = torch.ones(2, 16, dtype=torch.float8_e4m3fn), torch.ones(2)
    aclnn("aclnnDynamicQuantV3", torch.zeros(2, 16).half(), None, None, E4M3, True, "pertoken", out, scales, None)
    assert not out.double().any() and not scales.any()


@pytest.mark.parametrize(("code", "mode"), [(E5M2, "rint"), (E4M3, "rint"), (E2M1, "rint"), (E2M1, "floor")])
@on_ascend950
def test_dequant_swiglu_quant(code: int, mode: str) -> None:
    x = torch.randint(-9, 9, (6, 64), dtype=torch.int32, generator=torch.Generator().manual_seed(0))
    weight, bias = real(64, seed=1), real(64, seed=2)
    value = swiglu(x.double() * weight.double() + bias.double(), -1, False)
    factor = value.abs().amax(-1) / LARGEST[code]
    out, scales = empty(code, 6, 32), torch.zeros(6)
    rest = (weight, None, bias, None, None, None, False, "dynamic")
    aclnn("aclnnDequantSwigluQuantV2", x, *rest, code, mode, -1, 0, 7.0, 1.702, 1.0, out, scales)
    close(scales, factor, 1e-5)
    off = numbers(out) != cast(value / factor[:, None], code, mode)
    assert off.double().mean() < 0.05  # the largest of each row lies on a bound
    for other, wrong in (((E5M2 if code != E5M2 else E4M3), mode), (code, "up")):
        with pytest.raises(Refused, match=r"dstType|roundMode"):
            aclnn("aclnnDequantSwigluQuantV2", x, *rest, other, wrong, -1, 0, 7.0, 1.702, 1.0, out, scales)
    if code == E5M2:
        got, got_scales = torch_npu.npu_dequant_swiglu_quant(
            x.npu(), weight_scale=weight.npu(), bias=bias.npu(), quant_mode=1, dst_type=torch.float8_e5m2, round_mode=0
        )
        close(got_scales.cpu(), factor, 1e-5)
        assert (got.cpu().double() != out.double()).double().mean() < 0.02
