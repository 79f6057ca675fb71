"""HIFLOAT8, which neither torch nor ATen has, against its definition (arXiv:2409.16626)."""

import itertools
import math
import random
from collections.abc import Iterator

import pytest
import torch
from interfaces import HiFloat8, Refused, aclnn, rules_of

PREFIXES = {0: "0001", 1: "001", 2: "01", 3: "10", 4: "11"}  # by the bits of the exponent


@pytest.fixture(autouse=True)
def on_ascend950() -> Iterator[None]:
    with rules_of("Ascend950"):
        yield


def fraction_bits(exponent: int) -> int:
    return 3 if abs(exponent) < 4 else 2 if abs(exponent) < 8 else 1


def written(sign: int, exponent: int, fraction: int) -> int:
    """The byte of a number: its sign, prefix, exponent without its first 1, and fraction, one behind the other."""
    size = abs(exponent)
    field = "" if exponent == 0 else f"{int(exponent < 0)}{f'{size:b}'[1:]}"
    bits = f"{sign}{PREFIXES[len(field)]}{field}{fraction:0{fraction_bits(exponent)}b}"
    assert len(bits) == 8
    return int(bits, 2)


def all_numbers() -> dict[int, float]:
    numbers = {0: 0.0, 128: math.nan}
    for sign in (0, 1):
        for exponent in range(-15, 16):
            for fraction in range(2 ** fraction_bits(exponent)):
                value = (1 + fraction / 2 ** fraction_bits(exponent)) * 2.0**exponent
                numbers[written(sign, exponent, fraction)] = (-1) ** sign * (math.inf if value > 2**15 else value)
        for small in range(1, 8):
            numbers[sign << 7 | small] = (-1) ** sign * 2.0 ** (small - 23)
    return numbers


NUMBERS = all_numbers()


def nearest(value: float) -> int:
    """Half away from 0: by the steps of the value's own exponent."""
    if math.isnan(value):
        return 128
    size, sign = abs(value), int(value < 0)
    if size >= 1.25 * 2**15:
        size = math.inf
    else:
        exponent = max(math.frexp(size)[1] - 1, -22)
        step = 2.0 ** (exponent - (fraction_bits(exponent) if exponent > -16 else 0))
        size = math.floor(size / step + 0.5) * step
    return next(code for code, number in NUMBERS.items() if number == (-1) ** sign * size)


def to_float(codes: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    out = torch.full(codes.shape, 7, dtype=dtype)
    aclnn("aclnnCast", HiFloat8(codes), 0 if dtype == torch.float32 else 1, out)
    return out


def to_codes(values: torch.Tensor) -> torch.Tensor:
    out = torch.full(values.shape, 7, dtype=torch.uint8)
    aclnn("aclnnCast", values, 34, HiFloat8(out))
    return out


def test_the_definition_gives_a_number_to_every_byte() -> None:
    assert sorted(NUMBERS) == list(range(256))


def test_every_byte_has_the_value_of_the_definition() -> None:
    wanted = torch.tensor([NUMBERS[code] for code in range(256)])
    torch.testing.assert_close(to_float(torch.arange(256, dtype=torch.uint8)), wanted, rtol=0, atol=0, equal_nan=True)


def test_float16_has_every_number() -> None:
    codes = torch.arange(256, dtype=torch.uint8)
    wanted = torch.tensor([NUMBERS[code] for code in range(256)]).half()
    torch.testing.assert_close(to_float(codes, torch.float16), wanted, rtol=0, atol=0, equal_nan=True)


def test_casts_round_half_away_from_zero() -> None:
    draw = random.Random(0)
    values = [draw.choice([-1, 1]) * math.ldexp(draw.uniform(1, 2), draw.randint(-26, 18)) for _ in range(3000)]
    sizes = sorted(number for number in NUMBERS.values() if 0 <= number < math.inf)
    halves = [(a + b) / 2 for a, b in itertools.pairwise(sizes)]
    values += [sign * half for half in halves for sign in (-1, 1)]
    values += [0.0, -0.0, math.inf, -math.inf, math.nan, 40959.0, 40960.0, 3e38, 2.0**-23, 2.0**-24, -(2.0**-24)]
    got = to_codes(torch.tensor(values, dtype=torch.float32))
    wanted = [nearest(value) for value in torch.tensor(values, dtype=torch.float32).tolist()]
    assert [(v, g, w) for v, g, w in zip(values, got.tolist(), wanted, strict=True) if g != w] == []


def test_what_only_moves_numbers_keeps_every_byte() -> None:
    codes = torch.randperm(256, generator=torch.Generator().manual_seed(0)).to(torch.uint8).reshape(16, 16)
    joined = torch.zeros(16, 32, dtype=torch.uint8)
    aclnn("aclnnCat", [HiFloat8(codes), HiFloat8(codes.flip(0))], 1, HiFloat8(joined))
    assert torch.equal(joined, torch.cat([codes, codes.flip(0)], 1))
    turned = torch.zeros(16, 16, dtype=torch.uint8)
    aclnn("aclnnPermute", HiFloat8(codes), [1, 0], HiFloat8(turned))
    assert torch.equal(turned, codes.T)


def test_a_view_is_read_and_written_by_its_strides() -> None:
    values = torch.linspace(-4, 4, 12).reshape(3, 4)
    room = torch.full((3, 8), 9, dtype=torch.uint8)
    aclnn("aclnnCast", values, 34, HiFloat8(room[:, 2:6]))
    assert torch.equal(room[:, 2:6], to_codes(values))
    assert (room[:, :2] == 9).all() and (room[:, 6:] == 9).all()
    assert torch.equal(to_float(room[:, 2:6]), to_float(to_codes(values)))


@pytest.mark.parametrize("function", ["aclnnQuantMax", "aclnnGroupedQuantMax"])
def test_quantization_multiplies_and_rounds(function: str) -> None:
    x, scale = torch.linspace(-90, 90, 60).reshape(6, 10), torch.tensor([0.37])
    y, most = torch.zeros(6, 10, dtype=torch.uint8), torch.zeros(1)
    groups = [torch.tensor([6])] if function == "aclnnGroupedQuantMax" else []
    aclnn(function, x, scale, *groups, "round", 34, HiFloat8(y), most)
    assert torch.equal(y, to_codes(x * scale)) and most.item() == 90


def test_what_rounds_at_random_is_refused() -> None:
    x, y = torch.ones(2, 2), HiFloat8(torch.zeros(2, 2, dtype=torch.uint8))
    with pytest.raises(Refused, match="roundMode hybrid is not simulated"):
        aclnn("aclnnQuantMax", x, torch.ones(1), "hybrid", 34, y, torch.zeros(1))
    with pytest.raises(Refused, match="roundMode rint; allowed: round"):
        aclnn("aclnnQuantMax", x, torch.ones(1), "rint", 34, y, torch.zeros(1))


def test_another_product_refuses_it() -> None:
    with rules_of("Ascend910B"), pytest.raises(Refused, match=r"161002: .*HIFLOAT8"):
        to_codes(torch.ones(2))


def test_static_quantization_and_norms_end_in_it() -> None:
    x = torch.linspace(-30, 30, 24).reshape(4, 6)
    scale, y = torch.linspace(0.5, 3, 6), torch.zeros(4, 6, dtype=torch.uint8)
    aclnn("aclnnAscendQuantV3", x, scale, None, False, "round", 34, -1, HiFloat8(y))
    assert torch.equal(y, to_codes(x * scale))
    with pytest.raises(Refused, match="round mode floor; allowed for y of floating point: round"):
        aclnn("aclnnAscendQuantV3", x, scale, None, False, "floor", 34, -1, HiFloat8(y))
    half, gamma, one = x.half(), torch.linspace(1, 2, 6).half(), torch.tensor([0.25]).half()
    aclnn("aclnnRmsNormQuant", half, gamma, torch.zeros_like(gamma), one, torch.zeros_like(one), 1e-6, HiFloat8(y))
    normal = half.double() * (half.double().square().mean(-1, keepdim=True) + 1e-6).rsqrt() * gamma.double()
    wanted = normal / 0.25
    # A value next to the middle between two numbers may come out as either.
    assert ((to_float(y) - wanted).abs() <= wanted.abs() * (0.0625 + 1e-3)).all()


def test_float8_is_quantized_to_as_well() -> None:
    x, scale = torch.linspace(-30, 30, 24).reshape(4, 6), torch.tensor([0.7])
    for dtype, code in ((torch.float8_e5m2, 35), (torch.float8_e4m3fn, 36)):
        y = torch.zeros(4, 6).to(dtype)
        aclnn("aclnnAscendQuantV3", x, scale, None, False, "round", code, -1, y)
        assert torch.equal(y.float(), (x * scale).to(dtype).float())


@pytest.mark.parametrize("most", [0.0, 8.0])
def test_dynamic_quantization_fills_the_range_that_is_told(most: float) -> None:
    x = torch.linspace(-90, 90, 64).reshape(4, 16).half()
    y, scale = torch.zeros(4, 16, dtype=torch.uint8), torch.zeros(4)
    aclnn("aclnnDynamicQuantV4", x, None, None, 34, True, "pertoken", most, HiFloat8(y), scale, None)
    wanted = x.float().abs().amax(-1) / (most or 32768)
    torch.testing.assert_close(scale, wanted)
    assert (y != to_codes(x.float() / wanted[:, None])).double().mean() < 0.05  # where a division ends between two
    with pytest.raises(Refused, match="dstTypeMax"):
        aclnn("aclnnDynamicQuantV4", x, None, None, 34, True, "pertoken", -1.0, HiFloat8(y), scale, None)


def exact(rows: int, columns: int) -> tuple[torch.Tensor, HiFloat8]:
    """Numbers that HIFLOAT8 holds, and their bytes."""
    values = torch.randint(-8, 9, (rows, columns), generator=torch.Generator().manual_seed(rows)).float()
    return values, HiFloat8(to_codes(values))


def test_the_gradient_of_a_norm_in_hifloat8() -> None:
    grad, x, gamma = torch.randn(4, 16), torch.randn(4, 16), torch.rand(16) + 0.5
    rstd = x.square().mean(-1, keepdim=True).add(1e-6).rsqrt()
    wanted = torch.autograd.functional.vjp(
        lambda x: x * x.square().mean(-1, keepdim=True).add(1e-6).rsqrt() * gamma, x, grad
    )[1]
    out, to_gamma = torch.zeros(4, 16, dtype=torch.uint8), torch.zeros(16)
    scale = torch.full((1,), 0.25)
    aclnn("aclnnRmsNormGradQuant", grad, x, rstd.flatten(), gamma, scale, None, "static", True, HiFloat8(out), to_gamma)
    torch.testing.assert_close(to_float(out), wanted / 0.25, rtol=0.13, atol=1e-3)
    torch.testing.assert_close(to_gamma, (grad * x * rstd).sum(0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.float8_e4m3fn, None])
def test_numbers_of_8_bits_are_scaled_back(dtype: torch.dtype | None) -> None:
    values, codes = exact(3, 5)
    out = torch.zeros(3, 5, dtype=torch.half)
    given = codes if dtype is None else values.to(dtype)
    aclnn("aclnnAscendAntiQuant", given, torch.tensor([0.5]), None, 1, False, out)
    torch.testing.assert_close(out.float(), values / 2, rtol=0, atol=0)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_a_product_between_rows(turned: bool, scaled: bool) -> None:
    x, w = (torch.randint(-4, 5, shape).float() for shape in ((5, 2, 32), (2, 32, 8)))
    scale, encoded, half = torch.rand(8) + 0.5, torch.zeros(8, dtype=torch.uint64), torch.zeros(1, dtype=torch.uint64)
    aclnn("aclnnTransQuantParamV2", scale, None, encoded)
    aclnn("aclnnTransQuantParamV2", torch.tensor([0.5]), None, half)
    kept = scale.view(torch.int32).bitwise_and(~0x1FFF).view(torch.float32)
    out = torch.zeros(5, 2, 8, dtype=torch.half)
    weight = w.transpose(1, 2).contiguous() if turned else w
    aclnn(
        "aclnnTransposeQuantBatchMatMul", HiFloat8(to_codes(x)), HiFloat8(to_codes(weight)), None,
        half if scaled else None, encoded, 1, 0, [1, 0, 2], [0, 2, 1] if turned else [0, 1, 2],
        [1, 0, 2], 1, out,
    )  # fmt: skip
    wanted = torch.einsum("mbk,bkn->mbn", x, w) * kept * (0.5 if scaled else 1)
    torch.testing.assert_close(out.float(), wanted, rtol=2e-3, atol=2e-3)


def test_products_that_are_added() -> None:
    (x, x_codes), (w, w_codes) = exact(64, 6), exact(64, 8)
    y = torch.randn(6, 8)
    wanted = y + x.T @ w * 0.125
    aclnn(
        "aclnnQuantBatchMatmulInplaceAdd", x_codes, w_codes, torch.tensor([0.5]), torch.tensor([0.25]), y, True, False,
        0,
    )  # fmt: skip
    torch.testing.assert_close(y, wanted)


@pytest.mark.parametrize("columns", [1, 8])
def test_products_of_groups_that_are_added(columns: int) -> None:
    (x, x_codes), (w, w_codes) = exact(64, 6), exact(64, 8)
    y, scale = torch.randn(2, 6, 8), torch.rand(2, columns) + 0.5
    wanted = [y[i] + x[at].T @ w[at] * scale[i] * (i + 1) for i, at in enumerate((slice(24), slice(24, 64)))]
    aclnn(
        "aclnnQuantGroupedMatmulInplaceAdd", x_codes, w_codes, torch.tensor([1.0, 2.0]), scale, torch.tensor([24, 64]),
        y, 0, 0,
    )  # fmt: skip
    torch.testing.assert_close(y, torch.stack(wanted))


@pytest.mark.parametrize("small", [False, True])
def test_a_convolution_of_numbers_of_8_bits(small: bool) -> None:
    x, w = (torch.randint(-4, 5, shape).float() for shape in ((1, 4, 6, 6), (8, 4, 3, 3)))
    given = [value.to(torch.float8_e4m3fn) if small else HiFloat8(to_codes(value)) for value in (x, w)]
    encoded, out = torch.zeros(8, dtype=torch.uint64), torch.zeros(1, 8, 4, 4, dtype=torch.half)
    aclnn("aclnnTransQuantParamV2", torch.full((8,), 0.5), None, encoded)
    aclnn(
        "aclnnQuantConvolution", *given, None, encoded, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, 0, "rint", out
    )
    torch.testing.assert_close(out.float(), torch.conv2d(x, w) / 2, rtol=1e-3, atol=1e-3)
