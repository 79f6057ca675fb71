"""`pytest --npu-device sim`, as another project calls it: in a process that knows nothing of the simulator yet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
import torch

def test_npu():
    assert torch.npu.device_count() == {devices}
    assert (torch.ones(2).npu() + 1).cpu().tolist() == [2, 2]
"""


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ASCEND", "OPHOOK_SIM", "PYTEST")) and name != "LD_LIBRARY_PATH"
    }
    environment["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # what a suite for the CPU sets; the option overrides it
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("devices", [1, 2])
def test_the_option_brings_npu(tmp_path: Path, devices: int) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE.format(devices=devices))
    done = run(tmp_path, "--npu-device", "sim", "--npu-devices", str(devices), "--npu-soc", "Ascend910B1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "npu: simulated Ascend910B1" in done.stdout and "1 passed" in done.stdout


def test_a_first_build_announces_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "c++"  # a whole build would take minutes
    compiles = '*" -c "* | *" c++-header "*'  # also the headers that all share: they take as long as ten files
    compiler.write_text(f'#!/bin/sh\ncase " $* " in {compiles}) echo "error: no" >&2; exit 1 ;; esac\nexec g++ "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("OPHOOK_NPU_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", str(compiler))
    done = run(tmp_path, "--npu-device", "sim")
    assert done.returncode == 4 and "building the simulated Ascend" in done.stderr, done.stderr
    assert "[compile]" in done.stderr and "does not compile" in done.stderr


def test_without_the_option_nothing_happens(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(
        "import sys\n\ndef test_nothing():\n    assert 'torch' not in sys.modules and 'torch_npu' not in sys.modules\n"
    )
    done = run(tmp_path)
    assert done.returncode == 0 and "1 passed" in done.stdout and "npu:" not in done.stdout, done.stdout


def test_a_wrong_request_is_refused_by_name(tmp_path: Path) -> None:
    done = run(tmp_path, "--npu-device", "sim", "--npu-soc", "Ascend999")
    assert done.returncode == 4 and "Ascend999" in done.stderr and "Ascend910B4" in done.stderr, done.stderr
    done = run(tmp_path, "--npu-device", "npu")
    assert done.returncode == 4 and "CANN" in done.stderr, done.stderr
