"""An output that begins with a value: InitValue, where the tiling function asks for it by SetNeedAtomic."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from ophook_npu.errors import OphookError
from ophook_npu.kernel import load, package
from ophook_npu.kernel.project import Project

PROJECT = Path(__file__).parent / "accumulate"
GIVEN = {"flags": [True, False], "lists": [[], [4, 5, 6]]}


def test_an_output_begins_with_the_value_of_its_type() -> None:
    kernel = load(PROJECT)
    x = np.arange(16)
    np.testing.assert_array_equal(kernel(x.astype(np.float32), atomic=True, **GIVEN), x + 2)
    np.testing.assert_array_equal(kernel(x.astype(np.int32), atomic=True, **GIVEN), x + (7 << 16) + 7)
    assert not kernel.findings


def test_it_does_not_where_nobody_asked() -> None:
    kernel = load(PROJECT)
    kernel(np.ones(16, np.float32), atomic=False, **GIVEN)
    assert [finding.kind for finding in kernel.findings] == ["uninitialized"], kernel.findings
    with pytest.raises(OphookError, match="refuses the call"):
        kernel(np.ones(16, np.float32), atomic=True, flags=[True], lists=GIVEN["lists"])


def test_values_that_the_page_does_not_have_are_refused(tmp_path: Path) -> None:
    shutil.copytree(PROJECT, tmp_path / "project")
    source = tmp_path / "project" / "op_host" / "accumulate.cc"
    text = source.read_text()
    given = re.search(r"\.InitValue\(\{.*?\}\)", text, re.DOTALL)
    assert given
    for value, told in (
        ("5", "takes 0; ScalarVar has other values"),
        ("{{ScalarType::INT16, 1}, {ScalarType::INT16, 1}, {ScalarType::INT16, 1}}", "another number"),
    ):
        source.write_text(text.replace(given[0], f".InitValue({value})"))
        with pytest.raises(OphookError, match=told):
            load(tmp_path / "project")


def test_what_a_package_does_not_have_is_named() -> None:
    with pytest.raises(OphookError, match="has the attribute lists of type ListListInt; allowed: Int, Float"):
        package.compile_parts(Project(PROJECT))


def test_a_call_whose_outputs_are_empty_launches_nothing_unless_asked_to(tmp_path: Path) -> None:
    nothing = np.zeros((0,), np.float32)
    asked = load(PROJECT)
    asked(nothing, atomic=True, **GIVEN)
    assert asked.report.block_dim == 1
    shutil.copytree(PROJECT, tmp_path / "project")
    source = tmp_path / "project" / "op_host" / "accumulate.cc"
    source.write_text(source.read_text().replace("OutputTensors(true)", "OutputTensors(false)"))
    other = load(tmp_path / "project")
    other(np.ones(16, np.float32), atomic=True, **GIVEN)
    assert other.report.block_dim == 1
    assert other(nothing, atomic=True, **GIVEN).shape == (0,) and other.report.block_dim == 0
