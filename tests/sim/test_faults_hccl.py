"""Faults of ranks and links: the logs are enough to name what failed first, and torchrun takes a killed rank up."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCORE = ROOT / "scripts" / "fault_score.py"
TRAINING = Path(__file__).parent / "programs" / "faulty_training.py"
Run = Callable[..., subprocess.CompletedProcess[str]]


def test_what_failed_first_is_named(run_python: Run) -> None:
    kinds = ("507015:1", "kill:1", "hang:0", "down:0", "drop:1", "double:2")
    done = run_python(str(SCORE), *kinds, options=("--devices", "2"), timeout=400)
    told = done.stdout.splitlines()
    assert told[-1].startswith("6 of 6 right"), done.stdout + done.stderr
    assert re.search(r"rank 1: aicore exception 507015 aclnnGeluBackward .*faulty_training.py:\d+ ", told[0])


def losses(text: str) -> dict[tuple[str, str], str]:
    return {(rank, step): loss for rank, step, loss in re.findall(r"rank (\d) step (\d+) loss ([\d.]+)", text)}


@pytest.mark.slow
def test_torchrun_takes_up_a_training_whose_rank_was_killed(tmp_path: Path, launch: Run) -> None:
    undisturbed = launch("faulty_training.py", 2)
    assert undisturbed.returncode == 0, undisturbed.stdout + undisturbed.stderr
    command = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", "--devices", "2"]
    command += [
        "--after-failure",
        "poison",
        "--fault",
        "HcclAllReduce@rank1:8=kill",
        "--",
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
    ]
    command += ["--max-restarts", "1", str(TRAINING), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("fault made: HcclAllReduce@rank1:8=kill") == 1
    assert losses(done.stdout).items() >= losses(undisturbed.stdout).items()
    assert done.stdout.count("rank 0 ended") == 1
