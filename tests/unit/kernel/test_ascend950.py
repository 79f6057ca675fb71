"""Kernels of operator projects for Ascend 950: what they have besides those of an Atlas A2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ophook_npu.kernel import Entry, Report
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.socs import find
from ophook_npu.kernel.source import INPUT, OUTPUT, Argument

SOURCE = Path(__file__).with_name("ascend950.cpp")
SOC = find("Ascend950PR_9589")


def run(name: str, given: np.ndarray | None, shape: tuple[int, ...], dtype: str = "float32", cores: int = 1):
    inputs = [] if given is None else [Argument("x", Block.of(given, "x"), INPUT)]
    out = Block(shape, {"float32": 0, "int32": 3, "uint32": 8}[dtype])
    entry = Entry(SOURCE, name=name, macros={"__CCE_AICORE__": "310"})
    report = entry.run([*inputs, Argument("y", out, OUTPUT)], cores, soc=SOC)
    return out.array(like_torch=False), report


def clean(report: Report) -> bool:
    return not report.errors


def test_functions_of_threads() -> None:
    x = np.arange(128, dtype=np.float32)
    y, report = run("reversed", x, (128,), cores=2)
    assert clean(report) and np.array_equal(y, x.reshape(2, 64)[:, ::-1].reshape(-1))


def test_threads_that_do_not_wait_for_each_other_are_told() -> None:
    _, report = run("not_awaited", np.zeros(64, np.float32), (64,))
    found = next(one for one in report.findings if one.kind == "missing_sync_threads")
    assert "kept[" in SOURCE.read_text().splitlines()[found.line - 1]


@pytest.mark.parametrize("by", [1, 2, 3, 7, 10, 641, 2**31, 2**32 - 1])
def test_divisions_as_products(by: int) -> None:
    x = np.random.default_rng(by).integers(0, 2**32, 64, dtype=np.uint32)
    x[:4] = by, 0, 2**32 - 1, by - 1
    y, report = run("divided", x, (64,), "uint32")
    assert clean(report) and np.array_equal(y, x // np.uint32(by))


def test_older_names_of_functions_of_threads() -> None:
    x = np.array([0, 1, 6, 2**31] * 16, dtype=np.uint32)
    y, report = run("first_bits", x, (64,), "uint32")
    assert clean(report) and y[:4].tolist() == [1, 1 + 100 + 33, 1 + 200 + 34, 1 + 3200 + 64]


def test_older_names_of_vector_functions() -> None:
    x = np.linspace(-2, 2, 64, dtype=np.float32) + np.float32(0.125)
    y, report = run("chosen", x, (64,))
    assert clean(report)
    np.testing.assert_allclose(y, np.where((x > 0) & (x < 1), x, x.sum()), rtol=1e-5)


def test_packed_copies_in_a_loop() -> None:
    x = np.arange(16, dtype=np.float32)
    y, report = run("packed", x, (16,))
    assert clean(report)
    assert y.tolist() == [0, 1, 2, 4, 5, 6, 7, 7, 8, 9, 10, 12, 13, 14, 7, 7]


def test_registers_of_eight_bits_of_floating_point() -> None:
    x = np.random.default_rng(4).standard_normal(64).astype(np.float32) * np.float32(2.0) ** np.linspace(-20, 16, 64)
    x[:8] = [500, -1e6, np.inf, -np.inf, np.nan, 0, 464, 0.001953125 / 2]
    x = x.astype(np.float32)
    y, report = run("of_eight_bits", x, (320,))
    assert clean(report), report.errors
    given = torch.from_numpy(x)
    for part, dtype, saturated in zip(
        y[:256].reshape(4, 64), [torch.float8_e4m3fn] * 2 + [torch.float8_e5m2] * 2, [True, False] * 2, strict=True
    ):
        most = torch.finfo(dtype).max
        kept = given.nan_to_num(0.0, most, -most).clamp(-most, most)
        expected = kept.to(dtype).float().numpy()
        if not saturated:  # too large is infinite, or no number where there is no infinity
            beyond = np.abs(x) > (464 if dtype == torch.float8_e4m3fn else 61440)
            expected = np.where(beyond, np.copysign(np.inf, x) if most > 448 else np.nan, expected)
            expected[np.isnan(x)] = np.nan
        np.testing.assert_array_equal(part, expected)
    exponents = np.frexp(x[8:])[1] - 1
    np.testing.assert_array_equal(y[256 + 8 :], np.ldexp(np.float32(1), exponents))
    np.testing.assert_array_equal(y[256:261], [256, 2.0**19, 2.0**127, 2.0**127, np.nan])


def test_the_control_register() -> None:
    y, report = run("controlled", None, (6,), "int32")
    assert clean(report) and y.tolist() == [1, 0, 0, 1, 1, 0]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("saturated", "whole numbers that saturate"),
        ("without_page", "bits 1 to 2 of the control register have no page"),
    ],
)
def test_what_the_control_register_does_not_do_here_is_refused(name: str, why: str) -> None:
    _, report = run(name, None, (6,), "int32")
    assert any(why in one.what for one in report.errors), report.findings


def test_locks_between_pipes() -> None:
    x = np.arange(128, dtype=np.float32)
    y, report = run("locked", x, (128,))
    assert clean(report) and np.array_equal(y, x)
    _, report = run("not_locked", x, (128,))
    assert {one.kind for one in report.errors} == {"missing_sync"}, report.errors
    _, report = run("not_given", None, (6,), "int32")
    assert any("AllocMutexID did not give mutex 3" in one.what for one in report.errors), report.findings


def test_atomic_operations_of_scalars_and_limits() -> None:
    y, report = run("counted", None, (6,), "uint32", cores=3)
    assert clean(report) and y.tolist() == [11, 20, 8, 127, 0x7F800000, 0x0400]


def test_the_first_element_of_a_tensor_is_copied() -> None:
    x = np.arange(64, dtype=np.float32)
    y, report = run("first_copied", x, (64,))
    assert clean(report) and np.array_equal(y, np.full(64, 8, np.float32))


def test_conversions_to_whole_numbers_saturate_unless_the_control_register_leaves_it_to_them() -> None:
    x = np.array([65537, -40000, 7.5, -np.inf] * 16, dtype=np.float32)
    y, report = run("cut_or_kept", x, (128,), "int32")
    assert clean(report), report.errors
    assert y[:4].tolist() == [32767, -32768, 7, -32768] and y[64:68].tolist() == [1, 25536, 7, -32768]


def test_types_and_strides_of_950_alone() -> None:
    x = np.arange(64, dtype=np.float32)
    whole = np.array([5, -7, 2**40, -(2**40)])
    x.view(np.int64)[8:12] = x.view(np.int64)[16:20] = whole
    y, report = run("of_950_alone", x, (64,))
    assert clean(report), [str(finding) for finding in report.errors]
    assert np.array_equal(y[:8], x[:8]) and np.array_equal(y[8:16].view(np.uint32), ~x[:8].view(np.uint32))
    assert y.view(np.int64)[8:12].tolist() == [10, 0, 2**41, 0]
    assert np.array_equal(y.view(np.int64)[16:20], 3 * whole)
