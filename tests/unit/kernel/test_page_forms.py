"""Forms of functions that pages have beside the usual one, against numpy."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ophook_npu.kernel import Entry, Report
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.source import INPUT, OUTPUT, WORKSPACE, Argument

SOURCE = Path(__file__).parent / "page_forms.cpp"
RANDOM = np.random.default_rng(3)


def run(name: str, x: np.ndarray, size: int, dtype: int = 0, **macros: str) -> tuple[np.ndarray, Report]:
    result = Block((size,), dtype)
    result.array(False)[:] = 0
    arguments = [Argument("x", Block.of(x, name), INPUT), Argument("z", result, OUTPUT)]
    if name == "ways_out":
        arguments.append(Argument("workspace", Block((128,), 0), WORKSPACE))
    report = Entry(SOURCE, name=name, macros=macros).run(arguments, 1)
    return result.array(False), report


def clean(report: Report) -> None:
    assert not report.findings, [str(f) for f in report.findings]


def nz(x: np.ndarray) -> np.ndarray:
    return x.reshape(x.shape[0], -1, 16).transpose(1, 0, 2)


def test_softmax_in_fractals() -> None:
    x = RANDOM.standard_normal((16, 32)).astype(np.float32)
    z, report = run("softmax_nz", nz(x).ravel(), 1280)
    clean(report)
    powers = np.exp(x.astype(np.float64) - x[:, :20].max(1, keepdims=True))
    total = powers[:, :20].sum(1, keepdims=True)
    expected = powers / total  # what does not count is computed as well
    for got in (z[:512], z[512:1024]):
        np.testing.assert_allclose(got.reshape(2, 16, 16), nz(expected), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(z[1024:1152].reshape(16, 8), total.repeat(8, 1), rtol=1e-5)
    np.testing.assert_array_equal(z[1152:].reshape(16, 8), x[:, :20].max(1, keepdims=True).repeat(8, 1))


def test_softmax_of_half_by_sums_in_float() -> None:
    x = RANDOM.standard_normal((8, 64)).astype(np.float16)
    z, report = run("softmax_of_half", x, 512, dtype=1)
    clean(report)
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(z.reshape(8, 64), powers / powers.sum(1, keepdims=True), rtol=2e-3, atol=1e-6)


def test_configurations_that_a_class_template_has() -> None:
    x = RANDOM.standard_normal((2, 64)).astype(np.float32)
    z, report = run("configured_in_a_class", x.ravel(), 256)
    clean(report)
    np.testing.assert_allclose(z[:128].reshape(2, 64), x.cumsum(1), rtol=1e-4, atol=1e-5)
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(z[128:].reshape(2, 64), powers / powers.sum(1, keepdims=True), rtol=1e-5)


def test_copies_pass_through_a_queue_of_veccalc_in_order() -> None:
    x = np.arange(256, dtype=np.float32)
    z, report = run("copied_through", x, 256)
    clean(report)
    np.testing.assert_array_equal(z, x)


def test_ways_out_of_local_memory() -> None:
    x = np.arange(576, dtype=np.float32)
    z, report = run("ways_out", x, 1024)
    assert {f.kind for f in report.findings} <= {"unwritten"}, [str(f) for f in report.findings]
    for matrix in range(2):
        for row in range(2):
            first = 256 * matrix + 16 * row
            expected = [*range(first, first + 16), *range(first + 32, first + 48)]
            assert z[100 * matrix + 40 * row :][:32].tolist() == expected
    assert z[512:528].tolist() == [*range(8), *range(16, 24)]
    _, report = run("no_spill", x[:16], 16)
    assert any("InitSpmBuffer comes before" in f.what for f in report.findings), [str(f) for f in report.findings]


def test_interpolation_is_what_the_page_computes() -> None:
    x, factors = np.arange(1, 513), np.arange(2, 34)
    z, report = run("interpolated", np.concatenate([x, factors]).astype(np.float16), 512, dtype=1)
    clean(report)
    blocks = x.reshape(4, 8, 16).astype(np.float16)
    for each, got in ((False, z[:256]), (True, z[256:])):
        by = factors.reshape(4, 8, 1) if each else factors[:4].reshape(4, 1, 1)
        products = (blocks.astype(np.float32) * by).astype(np.float16).astype(np.float32)
        expected = (products[::2] + products[1::2]).astype(np.float16).reshape(2, 128)
        if each:
            expected[:, 64:] = 0  # lanes that the mask leaves out
        assert np.array_equal(got.reshape(2, 128), expected)


def test_quantization_without_what_may_be_left_out() -> None:
    whole, scales = np.arange(-8, 8, dtype=np.int32), (np.arange(16) / 4).astype(np.float32)
    small = np.arange(-32, 32, dtype=np.int8)
    z, report = run("quantized", np.concatenate([whole.view(np.float32), scales, small.view(np.float32)]), 144)
    clean(report)
    assert np.array_equal(z[:64].reshape(4, 16), np.tile(whole * scales, (4, 1)))
    wide = (z[64:128].view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    assert np.array_equal(wide, np.concatenate([small * 2.0, small * 0.5]))
    assert np.array_equal(z[128:], np.where(np.arange(16) % 2, scales * 2, 0))


def test_addresses_may_lie_in_local_memory() -> None:
    x = RANDOM.standard_normal((16, 16)).astype(np.float16)
    z, report = run("by_addresses", x, 272, dtype=1)
    clean(report)
    assert np.array_equal(z[:256].reshape(16, 16), x.T) and not z[256:].any()


def test_the_same_by_c() -> None:
    whole = RANDOM.integers(-100, 100, 64).astype(np.int16)
    rows = RANDOM.standard_normal((16, 16)).astype(np.float16)
    z, report = run("by_c", np.concatenate([whole.view(np.float16), rows.ravel()]), 576, dtype=1)
    clean(report)
    blocks, lanes = whole.reshape(4, 16).astype(np.float64), np.arange(16)
    upper = np.clip(np.rint(blocks * 0.5) + 1, -128, 127)
    lower = np.clip(np.rint(blocks * lanes / 4) + lanes, -128, 127)
    assert np.array_equal(z[:64].view(np.int8).reshape(4, 2, 16), np.stack([lower, upper], 1))
    for first in (64, 320):  # the second time a step behind the addresses, which a single repeat adds
        assert np.array_equal(z[first : first + 256].reshape(16, 16), rows.T)


@pytest.mark.parametrize("stamped", [False, True])
def test_a_kernel_tells_where_it_is(stamped: bool) -> None:
    x = np.arange(16, dtype=np.float32)
    z, report = run("tells", x, 16, **({"ASCENDC_TIME_STAMP_ON": "1"} if stamped else {}))
    clean(report)
    assert np.array_equal(z, x) and re.search(r"\b8\b.*\b15\b", report.output)
    stamp = re.search(r"descId is 65577, rsv is 0, timeStamp is (\d+), pcPtr is \d+, entry is (\d+)\.", report.output)
    assert bool(stamp) is stamped and (not stamp or int(stamp[1]) >= int(stamp[2]))


def test_tensors_that_a_tensor_trait_describes() -> None:
    x = RANDOM.standard_normal(128).astype(np.float32)
    z, report = run("described", x, 256)
    clean(report)
    first = x[:64] + np.float32(2)
    np.testing.assert_array_equal(z[:64], first)
    np.testing.assert_array_equal(z[64:128], x[64:] * np.float32(3))
    np.testing.assert_array_equal(z[128:192], np.maximum(first.astype(np.float16), 1))
    assert z[192:200].tolist() == [20, 200, 1, 0, 1, 1, 256, z[64]]
