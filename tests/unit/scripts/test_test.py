"""scripts/test.sh over a virtual environment that only tells what it is asked to run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    folder = tmp_path / "scripts"
    folder.mkdir()
    for name in ("test.sh", "lib.sh"):
        (folder / name).write_text((ROOT / "scripts" / name).read_text())
    (folder / "setup_venv.sh").write_text("")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("python", "ophook-npu"):
        program = tmp_path / ".venv" / "bin" / name
        program.write_text(f'#!/bin/sh\necho "{name} $*"\n')
        program.chmod(0o755)
    return folder / "test.sh"


def told(script: Path, *options: str) -> list[str]:
    done = subprocess.run(["bash", str(script), *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_slow_tests_are_left_out_unless_asked_for(script: Path) -> None:
    unit, sim = told(script)
    assert unit.startswith("python -m pytest ") and unit.endswith(" -m not slow tests/unit")
    assert sim.startswith("ophook-npu run --device sim -- -m pytest ") and sim.endswith(" -m not slow tests/sim")
    assert not any("slow" in line for line in told(script, "--all"))


def test_measuring_takes_whole_files(script: Path) -> None:
    (line,) = told(script, "unit", "--weigh")
    assert "slow" not in line and line.endswith(" tests/unit --weigh")


def test_an_expression_of_the_callers_comes_last(script: Path) -> None:
    (line,) = told(script, "sim", "-m", "numbers")
    assert line.endswith(" -m not slow tests/sim -m numbers")


def test_a_worker_that_hung_is_told_of_at_the_end(script: Path) -> None:
    frames = "".join(f'  File "deep.py", line {line} in call\\n' for line in range(9))
    stacks = f"Timeout (0:10:00)!\\nThread 0x7f (most recent call first):\\n{frames}"
    python = script.parents[1] / ".venv" / "bin" / "python"
    python.write_text(f"#!/bin/sh\nprintf '{stacks}' >&2\necho 1 failed\nexit 1\n")
    done = subprocess.run(["bash", str(script), "unit"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    _, _, end = done.stdout.partition("1 failed\n\nwhere the worker was, the innermost calls of each thread:\n")
    told = end.splitlines()
    assert told[:2] == ["Timeout (0:10:00)!", "Thread 0x7f (most recent call first):"]
    assert told[2].endswith("line 0 in call") and len(told) == 8
