"""`ophook-npu demo`: the files that it writes and what it refuses. tests/sim/test_wheel.py runs all of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu import demo
from ophook_npu.errors import OphookError
from ophook_npu.kernel.project import Project


def test_its_files_are_the_operator_and_its_programs_and_are_kept(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "swap.py").write_text("print('changed')\n")
    written = {path.relative_to(tmp_path / "mine").as_posix() for path in demo.write(tmp_path / "mine")}
    assert {"README.md", "swap.py", "test_ops_custom.py", "add_custom/op_kernel/add_custom.cpp"} <= written
    assert all((tmp_path / "mine" / name).is_file() for name in written)
    assert (tmp_path / "mine" / "swap.py").read_text() == "print('changed')\n"
    assert list(Project(tmp_path / "mine" / "add_custom").prototypes) == ["AddCustom"]
    told = (tmp_path / "mine" / "README.md").read_text()
    assert [name for name in written if name.endswith(".py") and f"`{name}`" not in told] == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OphookError, match=r"Not a directory; next: name another folder"):
        demo.write(tmp_path / "file" / "below")


@pytest.mark.parametrize("arguments", [["--device", "gpu"], ["--device", "sim", "--soc", "Ascend910B9"]])
def test_wrong_use_writes_nothing(tmp_path: Path, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "ophook_npu", "demo", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and arguments[-1] in done.stderr and list(tmp_path.iterdir()) == []
