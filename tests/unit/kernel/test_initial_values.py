"""An output that begins with a value: InitValue, where the tiling function asks for it by SetNeedAtomic."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from ophook_npu.errors import OphookError
from ophook_npu.kernel import load, package
from ophook_npu.kernel.project import Project

PROJECT = Path(__file__).parent / "accumulate"
FLAGS = [True, False]


def test_an_output_begins_with_the_value_of_its_type() -> None:
    kernel = load(PROJECT)
    x = np.arange(16)
    np.testing.assert_array_equal(kernel(x.astype(np.float32), atomic=True, flags=FLAGS), x + 2)
    np.testing.assert_array_equal(kernel(x.astype(np.int32), atomic=True, flags=FLAGS), x + (7 << 16) + 7)
    assert not kernel.findings


def test_it_does_not_where_nobody_asked() -> None:
    kernel = load(PROJECT)
    kernel(np.ones(16, np.float32), atomic=False, flags=FLAGS)
    assert [finding.kind for finding in kernel.findings] == ["uninitialized"], kernel.findings
    with pytest.raises(OphookError, match="refuses the call"):
        kernel(np.ones(16, np.float32), atomic=True, flags=[True])


def test_what_a_package_does_not_have_is_named(tmp_path: Path) -> None:
    with pytest.raises(OphookError, match="Accumulate has the attribute flags of type ListBool; allowed: Int, Float"):
        package.compile_parts(Project(PROJECT))
    shutil.copytree(PROJECT, tmp_path / "project")
    source = tmp_path / "project" / "op_host" / "accumulate.cc"
    source.write_text(source.read_text().replace(".ListBool()", ".ListInt()"))
    with pytest.raises(OphookError, match=r"begins its output y with other values than 0; allowed: InitValue\(0\)"):
        package.compile_parts(Project(tmp_path / "project"))
