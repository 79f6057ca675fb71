"""CCE intrinsics against numpy: kernels without a tensor, whose addresses are numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ophook_npu.kernel import Entry, Report
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.source import INPUT, OUTPUT, Argument

SOURCE = Path(__file__).parent / "cce.cpp"
RANDOM = np.random.default_rng(5)
X, Y = (RANDOM.standard_normal(512).astype(np.float32) for _ in range(2))


def run(name: str, x: np.ndarray = X, y: np.ndarray = Y, size: int = 512) -> tuple[np.ndarray, Report]:
    z = Block((size,), 0)
    z.array(False)[:] = 0
    arguments = [
        Argument("x", Block.of(x, name), INPUT), Argument("y", Block.of(y, name), INPUT), Argument("z", z, OUTPUT),
    ]  # fmt: skip
    source = SOURCE.with_name("cce_cube.cpp") if name.startswith(("product", "factors", "shifted", "early")) else SOURCE
    report = Entry(source, name=name).run(arguments, 1)
    return z.array(False), report


def clean(name: str, **given: np.ndarray | int) -> np.ndarray:
    z, report = run(name, **given)
    assert not report.findings, [str(f) for f in report.findings]
    return z


def test_arithmetic_under_masks() -> None:
    expected = (X + Y) * 2 + X * Y + 0.5 * X
    expected[:64:2] = -1
    expected[64:164] += 1000
    np.testing.assert_allclose(clean("arithmetic"), expected, rtol=1e-5, atol=1e-4)


def test_reductions() -> None:
    z, _ = run("reductions")  # writes between them what nobody computed
    rows = X.reshape(8, 64)
    np.testing.assert_allclose(z[:64], X.reshape(64, 8).sum(1), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(z[64:80:2], rows.max(1))
    np.testing.assert_array_equal(z[65:80:2].view(np.uint32), rows.argmax(1))
    np.testing.assert_allclose(z[128:136], rows.sum(1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(z[192:448], X.reshape(256, 2).sum(1), rtol=1e-5, atol=1e-6)


def test_places_alone_are_whole_numbers_of_32_bits() -> None:
    x = RANDOM.standard_normal(1024).astype(np.float16)
    z = clean("places_of_halves", x=x, size=8)
    np.testing.assert_array_equal(z.view(np.uint32), x.reshape(8, 128).argmin(1))


def test_gathers() -> None:
    z = clean("gathers", size=320)
    np.testing.assert_array_equal(z[:128], X[:256:2])
    np.testing.assert_array_equal(z[128:256], X[1:256:2])
    np.testing.assert_array_equal(z[256:], X[::-1][:64])


def test_selections_by_the_register_and_by_bits() -> None:
    z = clean("selections", size=192)
    a, b = X[:64], Y[:64]
    np.testing.assert_array_equal(z[:64], np.maximum(a, b))
    np.testing.assert_array_equal(z[64:128], np.where(a < 0, a, 7))
    np.testing.assert_array_equal(z[128:], np.where(a < 0, a, b))


def test_conversions() -> None:
    x = X * 10
    z = clean("conversions", x=x)
    np.testing.assert_array_equal(z[:256], x[:256].astype(np.float16).astype(np.float32))
    np.testing.assert_array_equal(z[256:], np.floor(x[:256]))


def test_rows_with_gaps() -> None:
    x = np.arange(19, dtype=np.float32)
    z, report = run("rows", x=x, size=17)
    assert [f.kind for f in report.findings] == ["unwritten"]  # between the rows
    for row in range(3):
        np.testing.assert_array_equal(z[6 * row : 6 * row + 5], x[7 * row : 7 * row + 5])


def test_what_the_scalar_unit_writes_is_known() -> None:
    z = clean("numbers", size=64).view(np.int32)
    np.testing.assert_array_equal(z, [i + 192 if i % 3 else -1 for i in range(64)])


def test_a_sum_of_all_repeats_in_a_register() -> None:
    np.testing.assert_allclose(clean("a_sum_in_a_register", size=64), X.sum(dtype=np.float64), rtol=1e-4)


def test_what_is_not_simulated_says_so() -> None:
    _, report = run("bits_of_the_control_register")
    assert any("of the control register only bits 46, 47, 48, 56 and 59" in f.what for f in report.findings)


def test_product_on_a_cube_core() -> None:
    a, b = (RANDOM.standard_normal((m, n)).astype(np.float16) for m, n in ((16, 32), (32, 16)))
    z = clean("product", x=a, y=b, size=256)
    np.testing.assert_allclose(z.reshape(16, 16), a.astype(np.float32) @ b.astype(np.float32), rtol=1e-3, atol=1e-3)


def test_an_iteration_reads_before_it_writes() -> None:
    z = clean("over_what_is_read", size=320)
    halves = X[:256].astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(z[:256], halves)
    np.testing.assert_array_equal(z[256:], halves[:8].repeat(8))


def test_rows_that_the_mask_counts() -> None:
    z = clean("rows_by_the_counter", size=150)
    np.testing.assert_array_equal(z, np.concatenate([X[128 * row : 128 * row + 100 : 2] for row in range(3)]))


def test_conversions_that_cut_what_overflows() -> None:
    x = np.resize(np.array([1.5, -70000, 40000, -3], np.float32), 512)
    z = clean("conversions_that_cut", x=x, size=64).view(np.int16)
    np.testing.assert_array_equal(z[:4], [2, -32768, 32767, -3])
    np.testing.assert_array_equal(z[64:68], np.array([2, -70000, 40000, -3]).astype(np.int16))


def test_two_lists_become_one() -> None:
    pairs = np.zeros((256, 2), np.float32)
    pairs[:, 0], pairs[:, 1] = X[:256], np.arange(256, dtype=np.uint32).view(np.float32)
    for first in (0, 32):
        pairs[first : first + 32] = pairs[first : first + 32][np.argsort(-pairs[first : first + 32, 0])]
    z = clean("lists", x=pairs.ravel(), size=128).reshape(64, 2)
    expected = pairs[:64][np.argsort(-pairs[:64, 0])]
    np.testing.assert_array_equal(z.view(np.uint32), expected.view(np.uint32))


def test_factors_of_columns_and_parameters_in_registers() -> None:
    a = RANDOM.integers(-4, 5, (16, 16)).astype(np.float16)
    factors = np.zeros(16, np.uint64)
    factors[:] = np.where(np.arange(16) % 2, 0.5, 2).astype(np.float32).view(np.uint32)
    factors |= np.uint64(1) << np.uint64(46)  # the result has a sign
    z = clean("factors", x=a, y=factors.view(np.float32), size=64).view(np.int8).reshape(16, 16)
    sums = a.astype(np.float32).sum(1, keepdims=True)
    np.testing.assert_array_equal(z, np.clip(np.rint(sums * np.where(np.arange(16) % 2, 0.5, 2)), -128, 127))


def test_atomic_copies_have_the_type_that_was_set() -> None:
    x = np.arange(-256, 256, dtype=np.int32)
    np.testing.assert_array_equal(clean("atomic_copy", x=x.view(np.float32)).view(np.int32), 2 * x)


def test_a_product_is_shifted_on_its_way() -> None:
    a, b = (RANDOM.integers(-128, 128, (16, 32)).astype(np.int8) for _ in range(2))
    z = clean("shifted", x=a.view(np.float32), y=b.view(np.float32), size=128).view(np.int16).reshape(16, 16)
    np.testing.assert_array_equal(z, np.clip((a.astype(np.int32) @ b.T.astype(np.int32)) >> 2, -32768, 32767))


def test_halves_saturate_where_a_kernel_says_so() -> None:
    x = np.zeros(512, np.float32)
    x[:4] = 300, -70000, np.nan, 2
    z = clean("floats_that_saturate", x=x, size=128).view(np.float16).reshape(4, 64)
    with np.errstate(over="ignore"):
        halves = x[:64].astype(np.float16)
        squares = halves * halves
    np.testing.assert_array_equal(z[0], squares)
    assert z[1, :4].tolist() == [300, -65504, 0, 2]
    assert z[2, :4].tolist() == [65504, 65504, 0, 4]
    np.testing.assert_array_equal(z[3], [*[7] * 16, *squares[16:]])


def test_stores_of_the_scalar_unit_that_add() -> None:
    z, report = run("stores_that_add", size=2)
    assert not report.errors, [str(f) for f in report.findings]
    assert z[:1].view(np.int32)[0] == 15 and z[1] == 2.5
    _, report = run("stores_of_another_type", size=8)
    assert any("the type that stores add was set to none" in f.what for f in report.errors)


def test_flags_that_are_told_before_the_work() -> None:
    a, b = (RANDOM.standard_normal((m, n)).astype(np.float16) for m, n in ((16, 32), (32, 16)))
    z = clean("early_flags", x=a, y=b, size=256)
    np.testing.assert_allclose(z.reshape(16, 16), a.astype(np.float32) @ b.astype(np.float32), rtol=1e-3, atol=1e-3)
    for name, kind in (("early_flag_of_nothing", "wait_without_set"), ("early_flag_elsewhere", "parameter")):
        _, report = run(name, x=a, y=b, size=256)
        assert kind in {f.kind for f in report.errors}, [str(f) for f in report.findings]


def test_products_of_four_bits() -> None:
    a, b = (RANDOM.integers(-8, 8, (16, 64)) for _ in range(2))
    packed = [((v[:, ::2] & 15) | (v[:, 1::2] & 15) << 4).astype(np.uint8).view(np.float32) for v in (a, b)]
    z = clean("early_fours", x=packed[0], y=packed[1], size=256).view(np.int32).reshape(16, 16)
    np.testing.assert_array_equal(z, a @ b.T)
