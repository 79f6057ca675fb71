"""scripts/setup_venv.sh asks pip what it would take before it downloads gigabytes that cannot be used."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

# A Python whose venv is a copy of itself, and whose pip finds one torch and writes down what it is told to install.
PYTHON = """#!/bin/sh
here=$(dirname "$0")
case "$*" in
    "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cp "$here/found.json" "$3/bin" ;;
    *--report*) while [ "$1" != --report ]; do shift; done; cp "$here/found.json" "$2" ;;
    "-m pip install "*) echo "$*" >>"$here/installed" ;;
esac
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    path = tmp_path / "base" / "python3"
    path.parent.mkdir()
    path.write_text(PYTHON)
    path.chmod(0o755)
    return path


def set_up(python: Path, venv: Path, *needs: str) -> subprocess.CompletedProcess[str]:
    about = {"install": [{"metadata": {"name": "torch", "requires_dist": ["filelock", *needs]}}]}
    (python.parent / "found.json").write_text(json.dumps(about))
    environ = {**os.environ, "PYTHON": str(python)}
    script = ROOT / "scripts" / "setup_venv.sh"
    return subprocess.run(["bash", str(script), str(venv)], capture_output=True, text=True, timeout=60, env=environ)


def test_a_torch_with_cuda_is_not_downloaded(python: Path, tmp_path: Path) -> None:
    done = set_up(python, tmp_path / "venv", "nvidia-cudnn-cu13==9.20.0.48")
    assert done.returncode == 1 and "only as a build with CUDA" in done.stderr
    assert "next: set PIP_EXTRA_INDEX_URL to PyTorch's index of CPU builds" in done.stderr
    assert not (tmp_path / "venv" / "bin" / "installed").exists()
    assert not (tmp_path / "venv" / "ophook-complete").exists()


def test_a_torch_for_the_cpu_is_installed_first(python: Path, tmp_path: Path) -> None:
    done = set_up(python, tmp_path / "venv", "sympy")
    assert done.returncode == 0, done.stderr
    first, second = (tmp_path / "venv" / "bin" / "installed").read_text().splitlines()
    assert first == "-m pip install torch==2.13.0" and second.endswith("[npu,test]")
