"""Every example runs, and prints what its README says; figures may differ, words may not."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[3]
AREAS = ("01_*", "02_*", "03_*", "04_*", "05_*", "06_*", "07_*", "applications")
SCRIPTS = sorted(script for area in AREAS for script in (ROOT / "examples").glob(f"{area}/*.py"))


def without_figures(text: str) -> list[str]:
    """Measured numbers (times, differences) are masked; counts and shapes are not told from them, so they go too."""
    return [re.sub(r"\d+(\.\d+)?(e[+-]\d+)?", "#", line).rstrip() for line in text.strip().splitlines()]


def test_all_seven_are_there():
    assert [area.name[:2] for area in sorted((ROOT / "examples").glob("0[1-7]_*"))] == [f"0{i}" for i in range(1, 8)]
    assert len(SCRIPTS) >= 18


def run_here(script: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """In this process: importing torch takes longer than most examples."""
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(script), run_name="__main__")
    return capsys.readouterr().out


def run_alone(script: Path) -> str:
    """In a process of its own: a PrivateUse1 device cannot be unregistered."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TORCH_DEVICE_BACKEND")}
    command = [sys.executable, "-m", "ophook_npu", "run", "--device", "cpu", "--", str(script)]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env={**environ, "PYTHONWARNINGS": "ignore"}
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda s: f"{s.parent.name}/{s.name}")
def test_example(script: Path, capsys: pytest.CaptureFixture[str]):
    name = script.relative_to(ROOT).as_posix()
    output = run_alone(script) if script.parent.name.startswith("05") else run_here(script, capsys)
    readme = (script.parent / "README.md").read_text(encoding="utf-8")
    block = re.search(rf"```\n\$ python {re.escape(name)}\n(.*?)\n```", readme, re.DOTALL)
    assert block, f"{name} has no output in its README"
    assert without_figures(output) == without_figures(block.group(1))
