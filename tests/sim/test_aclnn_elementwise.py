"""Elementwise operators on `npu:0` against the CPU, over the dtypes that training uses."""

import pytest
import torch

FLOATS = [torch.float32, torch.float16, torch.bfloat16]
# ATen's own kernels compute: only where a half type is rounded once more or once less may the last bit differ.
TOLERANCE = {torch.float32: 1e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def words(text: str) -> list[str]:
    return text.split()


UNARY = words(
    """abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc erfinv exp exp2 expm1 floor frac isfinite isneginf
    isposinf log log10 log1p log2 logical_not neg reciprocal round rsqrt sigmoid sign signbit sin sinc sinh sqrt tan
    tanh trunc angle relu square"""
)
IN_PLACE = words(
    """acos_ acosh_ asin_ asinh_ atan_ atanh_ ceil_ cos_ cosh_ erf_ erfc_ erfinv_ exp_ exp2_ expm1_ floor_ frac_ log_
    log10_ log1p_ log2_ reciprocal_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ tan_ tanh_ zero_ neg_ abs_ relu_"""
)
BINARY = words(
    """add sub mul div maximum minimum atan2 remainder fmod pow logaddexp logaddexp2 xlogy floor_divide eq ne gt ge lt
    le logical_and logical_or logical_xor isclose rsub"""
)
INTEGER = words(
    """add sub mul maximum minimum remainder fmod floor_divide bitwise_and bitwise_or bitwise_xor eq ne gt ge lt le
    logical_and logical_or logical_xor bitwise_left_shift bitwise_right_shift"""
)
IN_PLACE_BINARY = words(
    """add_ sub_ mul_ div_ remainder_ fmod_ pow_ floor_divide_ atan2_ eq_ ne_ gt_ ge_ lt_ le_ logical_and_
    logical_or_"""
)
SCALAR = words("add sub mul div remainder fmod pow floor_divide xlogy eq ne gt ge lt le rsub clamp_min clamp_max")
FOREACH = words(
    "abs acos cos cosh erf erfc exp expm1 log log10 log1p log2 neg reciprocal sigmoid sign sin sinh sqrt tan tanh"
)


def values(dtype: torch.dtype, *shape: int, seed: int = 0) -> torch.Tensor:
    """Between 0.1 and 1.9: inside most functions' domain and on both sides of 1."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(shape or (3, 4), generator=generator) * 1.8 + 0.1).to(dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary(same, name: str, dtype: torch.dtype) -> None:
    x = values(dtype) * (0.5 if name in ("acos", "asin", "atanh", "erfinv") else 1) + (1 if name == "acosh" else 0)
    same(getattr(torch, name), x, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(same, name: str) -> None:
    x = values(torch.float32) * (0.5 if name in ("acos_", "asin_", "atanh_", "erfinv_") else 1)
    same(lambda t: getattr(t, name)(), x + (1 if name == "acosh_" else 0))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary_broadcasts(same, name: str, dtype: torch.dtype) -> None:
    x, y = values(dtype, 2, 3, 4), values(dtype, 3, 1, seed=1)
    same(getattr(torch, name), x, y, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.int8], ids=str)
@pytest.mark.parametrize("name", INTEGER)
def test_integers(same, name: str, dtype: torch.dtype) -> None:
    x = torch.arange(1, 13, dtype=dtype).reshape(3, 4)
    same(getattr(torch, name), x, torch.tensor([1, 2, 3, 2], dtype=dtype))


def test_the_greatest_common_divisor_is_of_16_bits_or_more(same) -> None:
    for dtype in (torch.int16, torch.int32, torch.int64):
        same(torch.gcd, torch.arange(1, 13, dtype=dtype), torch.tensor([2, 3, 4] * 4, dtype=dtype))
    with pytest.raises(RuntimeError, match="aclnnGcd"):  # by CANN's own check, on an Ascend910B
        torch.gcd(torch.ones(2, dtype=torch.int8, device="npu"), torch.ones(2, dtype=torch.int8, device="npu"))


@pytest.mark.parametrize("name", IN_PLACE_BINARY)
@pytest.mark.parametrize("other", ["tensor", "number"])
def test_in_place_binary(same, name: str, other: str) -> None:
    if other == "number" and name in ("atan2_", "logical_and_", "logical_or_"):
        with pytest.raises(TypeError):  # torch has no such overload
            getattr(values(torch.float32), name)(1.5)
        return
    y = values(torch.float32, 4, seed=1) if other == "tensor" else 1.5
    same(lambda x, y: getattr(x, name)(y), values(torch.float32), y)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", SCALAR)
def test_scalar(same, name: str, dtype: torch.dtype) -> None:
    same(lambda x: getattr(torch, name)(x, 0.75), values(dtype), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("rounding", [None, "trunc", "floor"])
def test_rounded_division(same, rounding: str | None) -> None:
    x, y = torch.tensor([7.0, -7.0, 7.0, -7.0]), torch.tensor([2.0, 2.0, -2.0, -2.0])
    same(lambda x, y: torch.div(x, y, rounding_mode=rounding), x, y)
    same(lambda x: torch.div(x, 2, rounding_mode=rounding), x)
    same(lambda x, y: x.div_(y, rounding_mode=rounding), x, y)


@pytest.mark.parametrize("low, high", [(0.5, 1.5), (None, 1.5), (0.5, None)])
def test_clamp(same, low: float | None, high: float | None) -> None:
    same(lambda x: torch.clamp(x, low, high), values(torch.float32))
    bounds = [None if bound is None else torch.full((4,), bound) for bound in (low, high)]
    same(lambda x, *bounds: torch.clamp(x, *bounds), values(torch.float32), *bounds)
    same(lambda x, *bounds: torch.clamp(x, *bounds), values(torch.float32)[:, :1], *bounds)


def test_three_operands(same) -> None:
    x, a, b = (values(torch.float32, 3, 4, seed=seed) for seed in range(3))
    same(lambda x, a, b: torch.addcmul(x, a, b, value=0.5), x, a, b)
    same(lambda x, a, b: torch.addcdiv(x, a, b, value=0.5), x, a, b)
    same(lambda x, a, b: torch.lerp(x, a, b), x, a, b)
    same(lambda x, a: torch.lerp(x, a, 0.3), x, a)
    same(lambda x, a, b: torch.where(x > 1, a, b), x, a, b)
    same(lambda x, a, b: x.addcmul_(a, b).addcdiv_(a, b).lerp_(a, 0.3), x, a, b)


def test_special_values(same) -> None:
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0])
    for function in (
        torch.isfinite,
        torch.isnan,
        torch.isinf,
        torch.isposinf,
        torch.isneginf,
        torch.signbit,
        torch.nan_to_num,
        torch.sqrt,
        torch.sign,
    ):
        same(function, x)
    same(lambda x: torch.nan_to_num(x, 1.0, 2.0, 3.0), x)
    same(lambda x: x.nan_to_num_(1.0, 2.0, 3.0), x)


def test_complex(same) -> None:
    real, imaginary = values(torch.float32), values(torch.float32, 3, 4, seed=1)
    same(torch.complex, real, imaginary)
    same(torch.polar, real, imaginary)
    same(lambda a, b: torch.complex(a, b).abs(), real, imaginary)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_a_remainder_of_whole_numbers_by_zero_is_the_number(dtype: torch.dtype) -> None:
    """CANN's formula gives it: self - floor(self / other) * other."""
    x, y = torch.tensor([5, -7, 0, 9], dtype=dtype), torch.tensor([0, 3, 0, -4], dtype=dtype)
    expected = torch.tensor([5, 2, 0, -3], dtype=dtype)
    assert torch.equal(torch.remainder(x.npu(), y.npu()).cpu(), expected)
    assert torch.equal(x.npu().remainder_(y.npu()).cpu(), expected)
    assert torch.equal(torch.remainder(x.npu(), 0).cpu(), x)
    assert torch.equal(torch.remainder(7, y.npu()).cpu(), torch.tensor([7, 1, 7, -1], dtype=dtype))


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.expm1(torch.ones(3, dtype=torch.complex64).npu()),
        lambda: torch.erf(torch.ones(3, dtype=torch.uint8).npu()),
        lambda: torch.erfc(torch.ones(3, dtype=torch.uint8).npu()),
        lambda: torch.logit(torch.ones(3, dtype=torch.int64).npu()),
    ],
    ids=["expm1", "erf", "erfc", "logit"],
)
def test_a_data_type_that_the_device_has_not_is_refused_in_phase_1(call) -> None:
    with pytest.raises(RuntimeError, match=r"aclnn\w+: \w+ has data type (COMPLEX64|UINT8|INT64); \w+ allows") as error:
        call()
        torch.npu.synchronize()
    assert "161002" in str(error.value) and "507015" not in str(error.value)


@pytest.mark.parametrize(
    "call",
    [torch.norm, torch.linalg.vector_norm, torch.std, torch.var, torch.var_mean, lambda x: torch.vdot(x, x)],
    ids=["norm", "vector_norm", "std", "var", "var_mean", "vdot"],
)
def test_complex_numbers_are_refused_where_the_device_has_none(call) -> None:
    with pytest.raises(RuntimeError, match="has data type COMPLEX64; Ascend910B allows"):
        call(torch.ones(3, dtype=torch.complex64).npu())
        torch.npu.synchronize()


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.bool, torch.uint8], ids=str
)
def test_cast_there_and_back(same, dtype: torch.dtype) -> None:
    same(lambda x: (x.to(dtype), x.to(dtype).float()), values(torch.float32))


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (2, 0, 4)], ids=str)
def test_empty_and_zero_dimensional(same, shape: tuple[int, ...]) -> None:
    x = torch.full(shape, 0.5)
    same(lambda x: (torch.exp(x), x + 1, x * x, x > 0, x.sum()), x)


def test_views_are_read_and_written_in_place(same) -> None:
    def run(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        column, turned, every_other = x[:, 1], x.t(), x[::2, ::2]
        column.mul_(2)
        every_other.add_(turned[:2, :2])
        return x, turned.exp(), x.expand(2, 3, 4) + 1

    same(run, values(torch.float32))


def test_made_of_nothing(same) -> None:
    def run(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        d = x.device
        return (torch.arange(5, device=d), torch.arange(1, 2, 0.25, device=d), torch.linspace(0, 1, 7, device=d),
                torch.logspace(0, 2, 5, device=d), torch.eye(3, 4, device=d), torch.full((2, 2), 7.5, device=d),
                torch.ones(3, device=d), torch.zeros(3, dtype=torch.int64, device=d),
                torch.zeros(4, 4, device=d).fill_diagonal_(3))  # fmt: skip

    same(run, torch.zeros(1))


def test_foreach_lists(same) -> None:
    xs = [values(torch.float32, n, seed=n) for n in (1, 5, 12)]
    ys = [values(torch.float32, n, seed=n + 9) for n in (1, 5, 12)]
    for name in FOREACH:
        same(lambda xs: getattr(torch, f"_foreach_{name}")(xs), [x * 0.5 for x in xs])  # noqa: B023
    for name in ("floor", "ceil", "round", "trunc", "frac"):
        same(lambda xs: getattr(torch, f"_foreach_{name}")(xs), [x * 2 for x in xs])  # noqa: B023
    for name in ("add", "sub", "mul", "div", "maximum", "minimum", "pow"):
        call = getattr(torch, f"_foreach_{name}")
        same(lambda xs, ys: call(xs, ys), xs, ys)  # noqa: B023
        same(lambda xs: call(xs, 0.5), xs)  # noqa: B023
        same(lambda xs: call(xs, [0.5, 1.0, 2.0]), xs)  # noqa: B023
    same(lambda xs, ys: torch._foreach_lerp(xs, ys, 0.25), xs, ys)
    same(lambda xs, ys: torch._foreach_addcmul(xs, ys, ys, 0.5), xs, ys)
    same(lambda xs, ys: torch._foreach_addcdiv(xs, ys, ys, [0.5, 1.0, 2.0]), xs, ys)
    factors = torch.tensor([0.5, 1.0, 2.0])  # stays on the CPU: torch wants it there
    same(lambda xs, ys: torch._foreach_addcmul(xs, ys, ys, factors), xs, ys)
    same(lambda xs, ys: torch._foreach_addcdiv(xs, ys, ys, factors), xs, ys)
    same(lambda xs: torch._foreach_norm(xs), xs)


def test_foreach_in_place(same) -> None:
    def run(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        xs = [x.clone(), x[0].clone()]
        torch._foreach_add_(xs, 1.0)
        torch._foreach_mul_(xs, [y, y[0]])
        torch._foreach_sqrt_(xs)
        torch._foreach_zero_([xs[1]])
        torch._foreach_copy_([xs[1]], [y[1]])
        return xs

    same(run, values(torch.float32), values(torch.float32, 3, 4, seed=1))


@pytest.mark.parametrize(
    ("dtype", "lowest", "highest"),
    [(torch.qint8, -128, 127), (torch.quint8, 0, 255), (torch.qint32, -(2**31), 2**31 - 1)],
)
@pytest.mark.parametrize("per_channel", [False, True])
def test_quantize(dtype: torch.dtype, lowest: int, highest: int, per_channel: bool) -> None:
    import torch_npu

    x = torch.tensor([[0.06, -0.26, 1000.0, -1000.0], [0.24, 0.5, 5.0, -5.0]])
    scales = torch.tensor([0.1, 0.2]) if per_channel else torch.tensor([0.1])
    zeros = torch.tensor([3, 5] if per_channel else [3], dtype=torch.int32)
    got = torch_npu.npu_quantize(x.npu(), scales.npu(), zeros.npu(), dtype, 0 if per_channel else 1).cpu()
    want = (x.double() / scales.double()[:, None]).round() + zeros[:, None]
    torch.testing.assert_close(got.to(torch.int64), want.clamp(lowest, highest).to(torch.int64))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floors_are_those_of_the_quotient_in_float(dtype: torch.dtype) -> None:
    """As CANN's kernels compute them; torch's CPU takes the floor of the exact quotient, in steps of 16 bits."""
    generator = torch.Generator().manual_seed(2)
    x, y = (torch.randn(4096, generator=generator).mul(scale).to(dtype) for scale in (100, 1))
    quotient = x.float() / y.float()
    assert torch.equal(torch.floor_divide(x.npu(), y.npu()).cpu(), quotient.floor().to(dtype))
    assert torch.equal(torch.div(x.npu(), y.npu(), rounding_mode="trunc").cpu(), quotient.trunc().to(dtype))
    assert torch.equal(torch.floor_divide(x.npu(), 3).cpu(), (x.float() / 3).floor().to(dtype))
