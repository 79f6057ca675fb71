"""Importing the package acts on nothing."""

import subprocess
import sys

import pytest

CHECK = """
import sys, threading, os
before = (set(os.environ.items()), threading.active_count(), list(sys.meta_path))
import {module}
heavy = sorted(set(sys.modules) & {{"torch", "torch_npu", "torchair"}})
after = (set(os.environ.items()), threading.active_count(), list(sys.meta_path))
assert not heavy, heavy
assert before[:2] == after[:2], "environment or threads changed"
added = [finder for finder in after[2] if finder not in before[2]]
assert not any("ophook" in repr(finder) for finder in added), added
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


@pytest.mark.parametrize(
    "module",
    ["ophook_npu", "ophook_npu.npu", "ophook_npu.ops", "ophook_npu.sim", "ophook_npu.cli", "ophook_npu.doctor"],
)
def test_import_is_inert(module: str) -> None:
    result = run(CHECK.format(module=module))
    assert result.returncode == 0, result.stderr


def test_the_check_can_fail() -> None:
    assert "torch" in run(CHECK.format(module="torch")).stderr


def test_unknown_public_name_lists_what_is_there() -> None:
    import ophook_npu

    with pytest.raises(AttributeError, match=r"no attribute 'hooooks'; it has .*sim"):
        _ = ophook_npu.hooooks
