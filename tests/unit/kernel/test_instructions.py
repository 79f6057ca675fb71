"""Reductions, comparisons, moves and conversions against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ophook_npu.kernel import Entry
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.source import INPUT, OUTPUT, Argument

X = (np.random.default_rng(3).standard_normal(256) * 3).astype(np.float32)


@pytest.fixture(scope="module")
def z() -> np.ndarray:
    result = Block((2048,), 0)
    arguments = [Argument("x", Block.of(X, "x"), INPUT), Argument("z", result, OUTPUT)]
    report = Entry(Path(__file__).parent / "instructions.cpp").run(arguments, 1)
    assert not report.findings, [str(f) for f in report.findings]
    return result.array(False)


def test_reductions(z: np.ndarray) -> None:
    assert np.isclose(z[0], X.sum(), rtol=1e-4, atol=1e-3)
    assert z[8] == X.max() and z[9:10].view(np.uint32)[0] == X.argmax()
    assert z[16] == X.min()
    assert np.allclose(z[32:36], X.reshape(4, 64).sum(1), rtol=1e-4, atol=1e-3)
    assert np.allclose(z[64:96], X.reshape(32, 8).sum(1), rtol=1e-4, atol=1e-3)


def test_compare_and_select(z: np.ndarray) -> None:
    assert np.array_equal(z[128:384], np.maximum(X, 0))


def test_moves(z: np.ndarray) -> None:
    assert np.array_equal(z[384:640], X[::-1])
    assert np.array_equal(z[640:768], X[::2])
    assert np.array_equal(z[768:832], np.repeat(X[:8], 8))


def test_mask_and_strides(z: np.ndarray) -> None:
    wanted = np.zeros((4, 8, 8), np.float32)
    wanted[:, ::2] = 2 * X.reshape(4, 8, 8)[:, ::2]
    assert np.array_equal(z[1024:1280], wanted.reshape(-1))


def test_conversions(z: np.ndarray) -> None:
    nearest = X.astype(np.float16)
    down = np.where(nearest.astype(np.float32) > X, np.nextafter(nearest, np.float16(-np.inf)), nearest)
    assert np.array_equal(z[1280:1536], down.astype(np.float32))
    assert np.array_equal(z[1536:1792], np.trunc(X + np.copysign(np.float32(0.5), X)))


def test_exp(z: np.ndarray) -> None:
    assert np.allclose(z[1792:], np.exp(X), rtol=1e-5)
