"""What the pages of the advanced functions say, statement by statement, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ophook_npu.kernel import Entry, Report
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.source import INPUT, OUTPUT, Argument

SOURCE = Path(__file__).parent / "advanced_pages.cpp"
RANDOM = np.random.default_rng(7)


def run(name: str, x: np.ndarray, size: int, dtype: int = 0) -> tuple[np.ndarray, Report]:
    result = Block((size,), dtype)
    result.array(False)[:] = 0
    arguments = [Argument("x", Block.of(x, name), INPUT), Argument("z", result, OUTPUT)]
    report = Entry(SOURCE, name=name).run(arguments, 1)
    return result.array(False), report


def told(report: Report) -> list[str]:
    return [f"{f.kind}: {f.what}" for f in report.findings]


def test_top_k_of_rows_of_32() -> None:
    x = RANDOM.standard_normal((4, 32)).astype(np.float32)
    indices = RANDOM.permutation(128).astype(np.int32).reshape(4, 32)
    z, report = run("top_of_small_rows", np.concatenate([x.ravel(), indices.ravel().view(np.float32)]), 16)
    order = np.argsort(-x, axis=1)[:, :2]
    assert np.array_equal(z[:8].reshape(4, 2), np.take_along_axis(x, order, 1))
    assert np.array_equal(z[8:].view(np.int32).reshape(4, 2), np.take_along_axis(indices, order, 1))
    assert told(report) == [
        "parameter: k is 2, inner 64, n 64; k is 1 to n, inner 32 with TOPK_NSMALL",
        "parameter: isHasfinish is for TOPK_NORMAL",
    ]


def test_a_gate_of_bfloat16() -> None:
    x = RANDOM.standard_normal(64).astype(np.float32)
    bits = (x.view(np.uint32) >> 16).astype(np.uint16)
    z, report = run("gated", bits.view(np.float16), 32, dtype=1)
    assert not told(report)
    wide = (bits.astype(np.uint32) << 16).view(np.float32)
    found = (z.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_allclose(found, wide[:32] * np.maximum(wide[32:], 0), rtol=1 / 256)


def in_pairs(values: np.ndarray) -> np.floating:
    """The sum of neighbours, then of the sums' neighbours."""
    while len(values) > 1:
        values = np.append(values, np.zeros(len(values) % 2, values.dtype))
        values = values[::2] + values[1::2]
    return values[0]


def test_a_mean_is_a_sum_in_its_accumulating_type() -> None:
    x = np.zeros((2, 48), np.float16)
    x[0, :40], x[1, :40] = RANDOM.standard_normal(40), 4096  # the second sum is more than a half can be
    with np.errstate(over="ignore"):
        sums = np.array([in_pairs(np.append(row[:40], np.zeros(24, np.float16))) for row in x])
    z, report = run("means", x, 32, dtype=1)
    assert not told(report)
    assert z[:2].tolist() == (sums / np.float16(40)).tolist() and np.isinf(z[1])
    assert z[16:18].tolist() == x[:, :40].astype(np.float32).mean(1).astype(np.float16).tolist()


def test_halves_of_bytes_become_numbers() -> None:
    numbers = RANDOM.integers(-8, 8, 128)
    halves = ((numbers[::2] & 15) | (numbers[1::2] & 15) << 4).astype(np.uint8).view(np.float16)
    scales, offsets = RANDOM.integers(1, 5, 32) / 4, RANDOM.integers(-4, 5, 32)
    z, report = run(
        "halves_of_bytes", np.concatenate([halves, scales.astype(np.float16), offsets.astype(np.float16)]), 256, dtype=1
    )
    assert np.array_equal(z[:128].reshape(4, 32), (numbers.reshape(4, 32) + offsets) * scales)
    by_group = [values[:4].reshape(2, 2).repeat(32, 1) for values in (offsets, scales)]
    assert np.array_equal(z[128:].reshape(2, 64), (numbers.reshape(2, 64) + by_group[0]) * by_group[1])
    assert len(told(report)) == 1 and "takes whole blocks" in told(report)[0]


def test_the_rest_of_a_row_of_sums() -> None:
    x = RANDOM.integers(-100, 100, (2, 8)).astype(np.int32)
    z, report = run("rows_in_part", x.ravel().view(np.float32), 16)
    assert np.array_equal(z.reshape(2, 8), x * [2, 2, 2, 2, 2, 2, 1, 1])
    assert len(told(report)) == 1 and "offsetCount is scaleCount" in told(report)[0]


def test_a_source_in_its_destinations_place() -> None:
    x = RANDOM.standard_normal(64).astype(np.float32) * 3
    z, report = run("in_their_place", x, 64)
    gelu = x / (1 + np.exp(-1.5957691216 * (x + 0.044715 * x**3)))
    rounded = np.tanh(np.rint(gelu))
    np.testing.assert_allclose(z, (rounded / (1 + np.exp(-rounded))) ** 2, rtol=1e-5, atol=1e-7)
    assert told(report) == ["in_place: source and destination overlap"] * 3  # of Tanh, Swish and Power
    assert {f.severity for f in report.findings} == {"note"}


def test_what_a_row_has_beyond_its_used_elements_is_computed_too() -> None:
    x = RANDOM.standard_normal((2, 16)).astype(np.float32)
    z, report = run("rows_with_a_rest", x, 64)
    assert not told(report)
    powers = np.exp(x - x[:, :12].max(1, keepdims=True))
    np.testing.assert_allclose(z[:32].reshape(2, 16), powers / powers[:, :12].sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(z[32:].reshape(2, 16), powers, rtol=1e-5)


def test_a_row_that_comes_in_pieces() -> None:
    x, mean, spread = RANDOM.standard_normal((3, 16)).astype(np.float32)
    z, report = run("a_piece_of_a_row", np.concatenate([x, mean, spread]), 64)
    assert not told(report)
    for first, before in ((0, (mean, spread)), (32, (z[:16], z[16:32]))):
        middle = before[0] + (x - before[0]) * np.float32(0.5)
        np.testing.assert_allclose(z[first : first + 12], middle[:12], rtol=1e-6)
        np.testing.assert_allclose(
            z[first + 16 : first + 28], (before[1] + (x - before[0]) * (x - middle))[:12], rtol=1e-5
        )
    assert np.array_equal(z[12:16], mean[12:]) and np.array_equal(z[28:32], spread[12:])
    assert (z[44:48] == 7).all() and (z[60:] == 7).all()  # not in place, so nobody's


EXCLUDED = [
    "inner takes whole blocks", "more than 0", "rnLength is 1", "1 to abLength", "the sum of headCountLength",
    "goes with a tailCount", "up to 2040 elements",
]  # fmt: skip


@pytest.mark.parametrize(("which", "why"), [*enumerate(EXCLUDED)])
def test_what_the_pages_exclude(which: int, why: str) -> None:
    _, report = run("excluded", np.full(64, which, np.float32), 64)
    assert len(report.findings) >= 1 and why in report.findings[0].what, told(report)


def test_faster_gelu_v2_is_no_sigmoid() -> None:
    x = np.linspace(-10, 10, 64, dtype=np.float32)
    z, report = run("two_parabolas", x, 64)
    assert not told(report)
    curve = -0.1444 * (np.minimum(np.abs(0.7071 * x), 1.769) - 1.769) ** 2 + 0.5
    np.testing.assert_allclose(z, x * (np.sign(x) * curve + 0.5), rtol=1e-5, atol=1e-6)
    assert not z[x < -2.6].any()
