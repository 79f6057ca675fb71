"""Triton's kernels in its interpreter, held to what a core of an Ascend has and to what the programs of a grid may do.

Triton is not in the environment that the other tests run in: `scripts/setup_venv.sh DIR dev` puts it into a folder of
its own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "triton_kernels.py"
VERDICTS = Path(__file__).parents[2] / "scripts" / "triton_verdicts.py"
TRITON = Path(sys.prefix) / "triton"
# What is told of a case, in order of the program; a case that is not here has to be told nothing.
TOLD = {
    "add too large": r"add .*would overflow UB: needs 524,288 of 196,608 bytes .*262,144 of line \d+: a = tl.load",
    "tiles too large": r"add_in_tiles .*would overflow UB: needs 262,144 of 196,608",
    "blocks too large": r"add_blocks .*would overflow UB: needs 524,288 of 196,608 .*262,144 of line \d+: a = tl.load",
    "tiles": r"add_in_tiles .*needs 131,072 of 196,608 bytes of UB .*, and 262,144 with the multi-buffering of loads",
    "product too large": r"product .*would overflow L0C: the sum of tl.dot needs 262,144 of 131,072 .*total \+= tl.dot",
    "softmax too large": r"softmax .*would overflow UB: needs 262,144 of 196,608 .*values = tl.load",
    "overlapping": r"overlapping .*: program 0 writes what program 1 writes, too, with nothing to order them: tl.store",
    "shift": r"shift .*: program 1 writes what program 0 reads, with nothing .*; line \d+: values = tl.load\(x \+ off",
    "count plainly": r"count_plainly .*: program \d writes what program \d (writes|reads)",
}
pytestmark = pytest.mark.slow

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(run_python: Run) -> Run:
    assert (TRITON / "triton").is_dir(), f"no Triton in {TRITON}; next: scripts/setup_venv.sh .venv dev"
    searched = os.environ.get("PYTHONPATH", "")
    return lambda *arguments, **more: run_python(str(PROGRAM), *arguments, PYTHONPATH=f"{searched}:{TRITON}", **more)


def test_what_a_core_does_not_have_and_what_races_is_told(run: Run) -> None:
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    told = {head: text for head, _, text in (part.partition("\n") for part in done.stderr.split("== ")[1:])}
    assert set(TOLD) <= set(told) and len(told) == 23
    for name, text in told.items():
        lines = [line for line in text.splitlines() if line.startswith("[simulated Ascend]")]
        assert len(lines) == (name in TOLD), (name, lines)
        if lines:
            assert re.search(TOLD[name], lines[0]), lines[0]
    assert "a grid of 256x256x1 is 65536 blocks, and the runtime takes 65535" in done.stdout


def test_each_can_be_an_exception_or_nothing(run: Run) -> None:
    done = run("again", "autotune", "count plainly", OPHOOK_SIM_TRITON="error")
    assert done.stdout.splitlines()[:2] == ["again", "autotune"]  # a tuner passes by what does not fit
    assert "count plainly" not in done.stdout.splitlines() and done.returncode == 1
    assert "InterpreterError: triton kernel count_plainly" in done.stderr
    done = run("add too large", OPHOOK_SIM_TRITON="off")
    assert done.returncode == 0 and "simulated Ascend" not in done.stderr, done.stderr
    environment = {**os.environ, "TRITON_INTERPRET": "0", "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{TRITON}"}
    done = subprocess.run(
        [sys.executable, PROGRAM, "add"], capture_output=True, text=True, env=environment, timeout=200
    )
    assert "triton-ascend's compiler is not simulated" in done.stderr, done.stderr


def test_what_is_told_agrees_with_what_is_public() -> None:
    command = [sys.executable, str(VERDICTS), "--triton", str(TRITON)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^36 of 40 agree", done.stdout, re.M), done.stdout
