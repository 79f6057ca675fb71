"""Numbers of 8 and 4 bits in blocks that share a scale, a power of two, against lists of what the formats hold."""

from __future__ import annotations

import math

import pytest
import torch
import torch_npu
from ascend950 import on_ascend950
from interfaces import Pairs, Refused, aclnn
from values import close, real

E5M2, E4M3, E2M1, E1M2 = 35, 36, 40, 41
LARGEST = {E5M2: 57344.0, E4M3: 448.0, E2M1: 6.0, E1M2: 1.75}
EMAX = {E5M2: 15, E4M3: 8, E2M1: 2, E1M2: 0}
SMALL = {E2M1: [0, 0.5, 1, 1.5, 2, 3, 4, 6], E1M2: [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75]}
TYPES = {E5M2: torch.float8_e5m2, E4M3: torch.float8_e4m3fn}


def grid(code: int) -> torch.Tensor:
    """All numbers of the format, in float64."""
    if code in SMALL:
        positive = torch.tensor(SMALL[code], dtype=torch.float64)
    else:
        positive = torch.arange(128, dtype=torch.uint8).view(TYPES[code]).double()
        positive = positive[positive.isfinite()]
    return torch.cat([-positive.flip(0)[:-1], positive])


def cast(value: torch.Tensor, code: int, mode: str = "rint") -> torch.Tensor:
    """To the number of the format that the mode chooses, by its place in the list of all."""
    numbers = grid(code)
    value = value.clamp(numbers[0], numbers[-1])
    low = (torch.searchsorted(numbers, value, right=True) - 1).clamp(0, len(numbers) - 2)
    below, above = numbers[low], numbers[low + 1]
    at_half = (value - below) == (above - value)
    nearer = torch.where(value - below < above - value, below, above)
    if mode == "floor":
        return torch.where(value == above, above, below)
    if mode == "round":
        return torch.where(at_half, torch.where(value < 0, below, above), nearer)
    even = torch.where((low - (len(numbers) // 2)) % 2 == 0, below, above)
    return torch.where(at_half, even, nearer)


def exponent(most: float, code: int, algorithm: int, top: float = 0) -> int:
    """Of the scale, with its bias."""
    if most == 0:
        return 0
    if algorithm == 0:
        return max(math.floor(math.log2(most)) - EMAX[code] + 127, 0)
    return max(math.ceil(math.log2(most / (top or LARGEST[code]))) + 127, 0)


def quantized(x, code, axis, *, algorithm=0, top=0.0, least=0.0, block=32, mode="rint"):
    """The numbers and the scales' bytes, (…, blocks along the axis, …), by loops over the blocks."""
    last = x.double().movedim(axis, -1)
    out = torch.empty(last.shape, dtype=torch.float64)
    count = -(-last.shape[-1] // block)
    scales = torch.zeros(*last.shape[:-1], count, dtype=torch.uint8)
    for row in range(last[..., 0].numel()):
        line, to = last.reshape(-1, last.shape[-1])[row], out.view(-1, last.shape[-1])[row]
        for i in range(count):
            part = line[i * block : (i + 1) * block]
            byte = exponent(max(part.abs().max().item(), least), code, algorithm, top)
            to[i * block : (i + 1) * block] = cast(part / 2.0 ** (byte - 127), code, mode)
            scales.view(-1, count)[row, i] = byte
    return out.movedim(-1, axis), scales.movedim(-1, axis)


def in_pairs(scales: torch.Tensor, axis: int) -> torch.Tensor:
    """As they lie: (…, pairs along the axis, …, 2), a missing second one 0."""
    last = scales.movedim(axis, -1)
    if last.shape[-1] % 2:
        last = torch.cat([last, torch.zeros_like(last[..., :1])], -1)
    return last.unflatten(-1, (-1, 2)).movedim(-2, axis % scales.dim())


def empty(code: int, *shape: int) -> torch.Tensor | Pairs:
    if code in SMALL:
        return Pairs(torch.zeros(*shape[:-1], shape[-1] // 2, dtype=torch.uint8), code)
    return torch.zeros(*shape, dtype=TYPES[code])


def numbers(got: torch.Tensor | Pairs) -> torch.Tensor:
    if not isinstance(got, Pairs):
        return got.double()
    codes = torch.stack([got.data & 15, got.data >> 4], -1).flatten(-2).long()
    return torch.tensor(SMALL[got.code], dtype=torch.float64)[codes & 7] * torch.where(codes < 8, 1, -1)


def scale(*shape: int) -> torch.Tensor:
    return torch.full(shape, 9, dtype=torch.uint8).view(torch.float8_e8m0fnu)


def bytes_of(scales: torch.Tensor) -> torch.Tensor:
    return scales.view(torch.uint8)


def same(got, want) -> None:
    """The numbers of two casts: one step apart is a mistake, so they are equal."""
    torch.testing.assert_close(got.double(), want.double().reshape(got.shape), rtol=0, atol=0)


def check(out, scales, want, axis: int) -> None:
    same(numbers(out), want[0])
    same(bytes_of(scales), in_pairs(want[1], axis))


CASES = [(E5M2, "rint"), (E4M3, "rint"), *((code, mode) for code in SMALL for mode in ("rint", "floor", "round"))]


@pytest.mark.parametrize(("code", "mode"), CASES)
@pytest.mark.parametrize(("axis", "shape"), [(-1, (5, 3, 70)), (0, (70, 3, 6)), (1, (4, 70, 6))])
@on_ascend950
def test_along_a_dimension(code: int, mode: str, axis: int, shape: tuple[int, ...]) -> None:
    sizes = torch.logspace(-3, 3, math.prod(shape)).bfloat16().reshape(shape)
    x = real(*shape, dtype=torch.bfloat16) * sizes
    want = quantized(x, code, axis, mode=mode)
    out, scales = empty(code, *x.shape), scale(*in_pairs(want[1], axis).shape)
    aclnn("aclnnDynamicMxQuant", x, axis, mode, code, 32, 0, out, scales)
    check(out, scales, want, axis)


@pytest.mark.parametrize(("code", "algorithm", "top", "least"), [
    (E4M3, 1, 0.0, 0.0), (E5M2, 1, 0.0, 0.5), (E2M1, 2, 0.0, 0.0), (E2M1, 2, 7.0, 0.0), (E2M1, 2, 10.0, 0.0),
])  # fmt: skip
@on_ascend950
def test_how_the_scale_is_found(code: int, algorithm: int, top: float, least: float) -> None:
    x = real(4, 96, dtype=torch.float16)
    x[0, :32] = 0
    x[1, 32:64] = 6.0 if top != 7.0 else 7.0  # fits exactly
    want = quantized(x, code, -1, algorithm=algorithm, top=top, least=least)
    out, scales = empty(code, 4, 96), scale(4, 2, 2)
    aclnn("aclnnDynamicMxQuantV3", x, -1, None, code, 32, algorithm, top, least, out, scales)
    check(out, scales, want, -1)
    if not least:
        out, scales = empty(code, 4, 96), scale(4, 2, 2)
        aclnn("aclnnDynamicMxQuantV2", x, -1, None, code, 32, algorithm, top, out, scales)
        check(out, scales, want, -1)


@on_ascend950
def test_blocks_of_another_size_and_what_is_no_number() -> None:
    x = real(2, 200)
    x[0, 3], x[1, 190] = math.inf, math.nan
    out, scales = empty(E4M3, 2, 200), scale(2, 2, 2)
    aclnn("aclnnDynamicMxQuant", x.half(), 1, "rint", E4M3, 64, 0, out, scales)
    bad = torch.zeros(2, 200, dtype=torch.bool)
    bad[0, :64], bad[1, 192:] = True, False
    bad[1, 128:192] = True
    want, bytes_ = quantized(x.half().masked_fill(bad, 0), E4M3, 1, block=64)
    bytes_[0, 0] = bytes_[1, 2] = 255
    check(out, scales, (want, bytes_), 1)


@on_ascend950
def test_through_torch_and_back() -> None:
    x = real(5, 96, dtype=torch.bfloat16)
    for axis in (-1, 0):
        want, scales = quantized(x, E4M3, axis)
        got, got_scale = torch_npu.npu_dynamic_mx_quant(x.npu(), axis=axis, dst_type=torch_npu.float8_e4m3fn)
        same(got.cpu(), want)
        same(got_scale.cpu().view(torch.uint8), in_pairs(scales, axis))
        back = torch_npu.npu_anti_mx_quant(
            got, got_scale.view(torch.float8_e8m0fnu), axis=axis, dst_type=torch_npu.bfloat16
        )
        factor = 2.0 ** (scales.double() - 127)
        spread = factor.repeat_interleave(32, axis).narrow(axis, 0, x.shape[axis])
        same(back.cpu(), (want * spread).bfloat16())
    got, got_scale = torch_npu.npu_dynamic_mx_quant(x.npu(), dst_type=torch_npu.float4_e2m1fn_x2)
    want, scales = quantized(x, E2M1, -1)
    same(numbers(Pairs(got.cpu().view(torch.uint8), E2M1)), want)


@pytest.mark.parametrize("code", [E2M1, E1M2, E5M2])
@on_ascend950
def test_back_to_numbers(code: int) -> None:
    x = empty(code, 3, 80)
    (x.data if isinstance(x, Pairs) else x.view(torch.uint8)).copy_(
        torch.arange(3 * 80 // (2 if code in SMALL else 1)).reshape(3, -1) % 120
    )
    scales = torch.randint(120, 135, (3, 2, 2), dtype=torch.uint8)
    out = torch.zeros(3, 80)
    aclnn("aclnnAntiMxQuant", x, scales.view(torch.float8_e8m0fnu), 1, 0, out)
    factor = 2.0 ** (scales.double().flatten(1) - 127)
    close(out, numbers(x) * factor.repeat_interleave(32, 1)[:, :80])


@pytest.mark.parametrize(("code", "algorithm", "top"), [(E4M3, 0, 0.0), (E4M3, 1, 0.0), (E2M1, 2, 8.0)])
@on_ascend950
def test_both_dimensions(code: int, algorithm: int, top: float) -> None:
    x = real(2, 40, 70, dtype=torch.float16)
    outs, scales = [empty(code, *x.shape) for _ in range(2)], [scale(2, 40, 2, 2), scale(2, 1, 70, 2)]
    aclnn("aclnnDynamicMxQuantWithDualAxisV2", x, "rint", code, algorithm, top, outs[0], scales[0], outs[1], scales[1])
    for axis, out, own in zip((-1, -2), outs, scales, strict=True):
        check(out, own, quantized(x, code, axis, algorithm=algorithm, top=top), axis)
    if top:
        return
    got = torch_npu.npu_dynamic_mx_quant_with_dual_axis(x.npu(), dst_type=torch_npu.float8_e4m3fn, scale_alg=algorithm)
    for i in range(2):
        same(got[2 * i].cpu(), outs[i])
        same(got[2 * i + 1].cpu().view(torch.uint8), bytes_of(scales[i]))


@pytest.mark.parametrize(("code", "algorithm", "top"), [(E5M2, 0, 0.0), (E2M1, 2, 6.0), (E2M1, 2, 7.0)])
@on_ascend950
def test_square_blocks(code: int, algorithm: int, top: float) -> None:
    x = real(40, 70, dtype=torch.bfloat16)
    out, rows, columns = empty(code, 40, 70), scale(40, 2, 2), scale(1, 70, 2)
    aclnn("aclnnDynamicBlockMxQuant", x, "rint", code, algorithm, top, out, rows, columns)
    want, scales = torch.empty(40, 70, dtype=torch.float64), torch.zeros(2, 3, dtype=torch.uint8)
    for i in range(2):
        for j in range(3):
            part = x.double()[32 * i : 32 * i + 32, 32 * j : 32 * j + 32]
            scales[i, j] = exponent(part.abs().max().item(), code, algorithm, top)
            want[32 * i : 32 * i + 32, 32 * j : 32 * j + 32] = cast(part / 2.0 ** (int(scales[i, j]) - 127), code)
    same(numbers(out), want)
    same(bytes_of(rows), in_pairs(scales.repeat_interleave(32, 0)[:40], 1))
    same(bytes_of(columns), in_pairs(scales.repeat_interleave(32, 1)[:, :70], 0))


@pytest.mark.parametrize("smooth", [False, True])
@on_ascend950
def test_two_levels(smooth: bool) -> None:
    x = real(3, 600, dtype=torch.float16)
    factor = real(600, seed=1, dtype=torch.float16) if smooth else None
    out, first, second = empty(E2M1, 3, 600), torch.zeros(3, 2), scale(3, 10, 2)
    aclnn("aclnnDynamicDualLevelMxQuant", x, factor, "rint", 512, 32, out, first, second)
    value = x.double() * factor.double() if smooth else x.double()
    want = torch.stack([value[:, :512].abs().amax(1), value[:, 512:].abs().amax(1)], 1) / 6
    close(first, want, 1e-6)
    # The quotient in float, as the scale is.
    inner = (value.float() / want.float().repeat_interleave(512, 1)[:, :600]).half()
    check(out, second, quantized(inner, E2M1, -1), -1)


@pytest.mark.parametrize(("code", "algorithm", "top"), [(E4M3, 0, 0.0), (E5M2, 1, 0.0), (E2M1, 2, 7.0), (E1M2, 2, 3.0)])
@on_ascend950
def test_groups_of_rows(code: int, algorithm: int, top: float) -> None:
    x, ends = real(150, 6, dtype=torch.bfloat16), [70, 70, 100, 150]
    groups = torch.tensor(ends, dtype=torch.int32)
    out, scales = empty(code, 150, 6), scale(150 // 64 + 4, 6, 2)
    aclnn("aclnnGroupedDynamicMxQuantV2", x, groups, "rint", code, 32, algorithm, top, out, scales)
    want = torch.zeros(6, 6, 2, dtype=torch.uint8)
    start = 0
    for group, end in enumerate(ends):
        if end > start:
            values, own = quantized(x[start:end], code, 0, algorithm=algorithm, top=top)
            same(numbers(out)[start:end], values)
            own = in_pairs(own, 0)
            want[start // 64 + group : start // 64 + group + len(own)] = own
        start = end
    same(bytes_of(scales), want)
    if algorithm == 0:
        got, got_scale = torch_npu.npu_grouped_dynamic_mx_quant(x.npu(), groups.npu(), dst_type=torch_npu.float8_e4m3fn)
        same(got.cpu(), out)
        same(got_scale.cpu().view(torch.uint8), want)


@pytest.mark.parametrize(("arguments", "says"), [
    ((-1, "floor", E4M3, 32, 0), "roundMode floor"), ((-1, "rint", E5M2, 32, 0), "dstType 35"),
    ((-1, "rint", E4M3, 48, 0), "blocksize 48"), ((-1, "rint", E4M3, 32, 2), "scaleAlg 2"),
    ((2, "rint", E4M3, 32, 0), ""),
])  # fmt: skip
@on_ascend950
def test_what_is_refused(arguments, says: str) -> None:
    with pytest.raises(Refused, match=says):
        aclnn("aclnnDynamicMxQuant", real(2, 64).half(), *arguments, empty(E4M3, 2, 64), scale(2, 1, 2))


@on_ascend950
def test_shapes_that_are_refused() -> None:
    with pytest.raises(Refused, match="shape"):
        aclnn("aclnnDynamicMxQuant", real(2, 64).half(), -1, None, E4M3, 32, 0, empty(E4M3, 2, 64), scale(2, 2, 2))
    with pytest.raises(Refused, match="is odd"):
        aclnn("aclnnDynamicMxQuant", real(2, 65).half(), -1, None, E2M1, 32, 0, empty(E2M1, 2, 64), scale(2, 2, 2))
    with pytest.raises(Refused, match="dstTypeMax 5"):
        out, scales = empty(E2M1, 2, 64), scale(2, 1, 2)
        aclnn("aclnnDynamicMxQuantV2", real(2, 64).half(), -1, None, E2M1, 32, 2, 5.0, out, scales)


@on_ascend950
def test_padding() -> None:
    """Numbers of 4 bits in pairs, which the padding leaves whole; no small number is cut off."""
    codes = torch.randint(0, 16, (3, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    x = Pairs(codes[:, ::2] | codes[:, 1::2] << 4, E2M1)
    out = empty(E2M1, 6, 14)
    aclnn("aclnnConstantPadNd", x, [2, 4, 1, 2], 3.0, out)
    same(numbers(out), torch.nn.functional.pad(numbers(x), (2, 4, 1, 2), value=3.0))
    got = torch.constant_pad_nd(x.data.view(torch.float4_e2m1fn_x2).npu(), (0, 2, 1, 0), 0).cpu()
    same(numbers(Pairs(got.view(torch.uint8), E2M1)), torch.nn.functional.pad(numbers(x), (0, 2, 1, 0)))
    with pytest.raises(Refused, match="even"):
        aclnn("aclnnConstantPadNd", x, [1, 1], 0.0, empty(E2M1, 3, 10))
    for small, to in ((x, empty(E2M1, 3, 6)), (torch.zeros(3, 8).to(TYPES[E4M3]), empty(E4M3, 3, 6))):
        with pytest.raises(Refused, match="negative"):
            aclnn("aclnnConstantPadNd", small, [-2, 0], 0.0, to)


@pytest.mark.parametrize("code", [E2M1, E1M2])
@on_ascend950
def test_casts_of_4_bits(code: int) -> None:
    x = real(3, 6, dtype=torch.bfloat16) * 3
    small = empty(code, 3, 6)
    aclnn("aclnnCast", x, code, small)
    same(numbers(small), cast(x.double(), code))
    if code == E2M1:
        for dtype, back in ((0, torch.float32), (1, torch.float16), (E4M3, TYPES[E4M3])):
            out = torch.zeros(3, 6, dtype=back)
            aclnn("aclnnCast", small, dtype, out)
            same(out, numbers(small))
        got = torch_npu.npu_dtype_cast(x.npu(), torch_npu.float4_e2m1fn_x2).cpu()
        assert torch.equal(got.view(torch.uint8), small.data)


@on_ascend950
def test_cast_to_int4() -> None:
    """Whole words or bytes, the first number in the lowest bits."""
    x = torch.tensor([[1, 2, 3, -4], [-8, 7, 0, 5]], dtype=torch.int32)
    want = [[0x21, 0xC3], [0x78, 0x50]]
    assert torch_npu.npu_dtype_cast(x.npu(), torch_npu.int4).cpu().tolist() == want
    words = torch_npu.npu_dtype_cast(x.flatten().npu(), torch_npu.int4).cpu()
    assert words.view(torch.uint8).tolist() == [*want[0], *want[1]]
    out = Pairs(torch.zeros(2, 2, dtype=torch.uint8), 29)
    aclnn("aclnnCast", x, 29, out)
    assert out.data.tolist() == want
    with pytest.raises(Refused, match="contiguous"):
        aclnn("aclnnCast", torch.zeros(4, 2, dtype=torch.int32).T, 29, out)
