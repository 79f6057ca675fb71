"""Processors whose cores have a cube and a vector unit: Ascend310P and Ascend310B."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ophook_npu.kernel import socs
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.source import INPUT, OUTPUT, Argument, Entry, Settings

SOURCE = Path(__file__).with_name("both_units.cpp")
SIDE, CORES = 32, 2


def product(soc: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """What was found, the result, and what it should be."""
    random = np.random.default_rng(0)
    x, y = (random.integers(-4, 5, (CORES, SIDE, SIDE)).astype(np.float16) for _ in range(2))
    z = Block((CORES, SIDE, SIDE), 0)
    arguments = [
        Argument("x", Block.of(x, "x"), INPUT), Argument("y", Block.of(y, "y"), INPUT), Argument("z", z, OUTPUT),
    ]  # fmt: skip
    report = Entry(SOURCE, name="product").run(arguments, CORES, settings=Settings(soc=soc))
    want = np.maximum(x.astype(np.float32) @ y.astype(np.float32), 0)
    return [f"{f.kind} {f.call}" for f in report.findings], z.view.view(np.float32).reshape(want.shape), want


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend310B1"])
def test_a_product_goes_from_l0c_to_ub(soc: str) -> None:
    findings, got, want = product(soc)
    assert not findings
    assert (want > 0).any() and (want == 0).any()
    np.testing.assert_array_equal(got, want)  # whole numbers, exact in any order


def test_cores_of_one_unit_have_no_such_route() -> None:
    findings, _, _ = product("Ascend910B4")
    assert "position DataCopy" in findings


def test_the_sizes_are_the_processors() -> None:
    small, large = socs.find("Ascend310B4"), socs.find("Ascend310P3")
    assert (small.ub, small.cube_cores, small.both_units, small.npu_arch) == (248 << 10, 1, True, 3002)
    assert (large.ub, large.both_units, large.npu_arch) == (256 << 10, True, 2002)
    assert socs.any_of("ascend310b") == "Ascend310B1" and socs.any_of("ascend310p") == "Ascend310P1"
    assert socs.any_of("ascend910b") == "Ascend910B1" and socs.any_of("ascend310") is None
