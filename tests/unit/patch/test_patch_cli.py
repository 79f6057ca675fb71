"""``ophook-npu patch …`` as a user types it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import op_plugin_trees as trees
import pytest

REPOSITORY = Path(__file__).resolve().parents[3]


def run(*arguments: object, cwd: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ophook_npu", "patch", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "200"}
    environment.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)  # as in a user's shell
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return trees.current(tmp_path / "op plugin 目录")


def test_a_whole_life(root: Path) -> None:
    """With this repository's own op_plugin_patch, which is the default."""
    before = trees.snapshot(root)
    tree = ("--op-plugin", root, "--torch-version", "2.13.0")
    assert run("status", *tree).stdout == "npu_add_custom: not\n"
    assert run("check", *tree).stdout == "npu_add_custom: can be applied\n"
    dry = run("apply", *tree, "--dry-run")
    assert "npu_add_custom: would be applied" in dry.stdout and "+++ b/op_plugin/config" in dry.stdout
    assert trees.snapshot(root) == before
    assert run("apply", *tree, "--autograd").stdout == "npu_add_custom: applied\n"
    assert run("apply", *tree, "--autograd").stdout == "npu_add_custom: already applied\n"
    assert run("status", *tree).stdout == "npu_add_custom: patched\n  for torch v2.13\n"
    assert (root / "op_plugin/ops/opapi/AddCustomKernelNpuApi.cpp").is_file()
    assert run("revert", "--op-plugin", root).stdout == "npu_add_custom: restored byte for byte\n"
    assert run("revert", "--op-plugin", root).stdout == "nothing is applied\n"
    assert trees.snapshot(root) == before


def test_operators_by_folder_and_by_name(root: Path, tmp_path: Path) -> None:
    a, b = trees.operator(tmp_path / "a b", "npu_a"), trees.operator(tmp_path / "b", "npu_b")
    done = run("apply", "--op-plugin", root, "--op", a, "--op", b, "--torch-version", "2.13")
    assert done.stdout == "npu_a: applied\nnpu_b: applied\n"
    assert run("revert", "--op-plugin", root, "--op", a).stdout.startswith("npu_a: restored")
    assert run("revert", "--op-plugin", root, "--op", "npu_b").stdout.startswith("npu_b: restored")
    assert run("revert", "--op-plugin", root, "--op", "npu_b").stdout.startswith("npu_b: not applied")


def test_refusals_exit_2_and_say_what_to_do(root: Path, tmp_path: Path) -> None:
    done = run("apply", "--op-plugin", root, "--torch-version", "2.99")
    assert done.returncode == 2
    assert "torch v2.99 is not in all_version" in done.stderr
    assert "allowed: v2.1, v2.12, v2.13" in done.stderr
    assert run("apply", "--op-plugin", root, "--op", tmp_path / "none").returncode == 2
    assert run("check", "--op-plugin", root, "--torch-version", "2.99").returncode == 2
    assert (
        "--generated needs --torch-npu-dir"
        in run("check", "--op-plugin", root, "--generated", "--torch-version", "2.13").stderr
    )


def test_check_of_a_tree_that_cannot_be_built(root: Path, tmp_path: Path) -> None:
    tree = tmp_path / "pytorch"
    (tree / "ci").mkdir(parents=True)
    for name in ("generate_code.sh", "setup.py", "ci/build.sh"):
        (tree / name).write_text("")
    done = run("check", "--op-plugin", root, "--torch-version", "2.13", "--torch-npu-dir", tree)
    assert done.returncode == 1
    assert "ci/build.sh has no SUPPORTED_PY_VERSION" in done.stdout


def test_nothing_heavy_is_imported() -> None:
    code = "import ophook_npu.patch, sys; print(sorted({'torch', 'torch_npu', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
