"""Programs of many ranks of which few run: those that run have the values that all of them would have."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from torch.distributed import TCPStore

from ophook_npu.sim import repeated

PROGRAMS = Path(__file__).parent / "programs"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_repeated(run_python: Run, tmp_path: Path):
    def run(program: str, ranks: int, real: str, **environment: str) -> subprocess.CompletedProcess[str]:
        numbers = repeated.real_ranks(real, ranks)
        store = TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
        common = repeated.variables(os.environ, tmp_path, ranks, numbers, store.port) | environment
        return run_python(
            str(PROGRAMS / "repeated.py"), program, options=("--devices", str(len(numbers))), timeout=200,
            COMMON=json.dumps(common),
        )  # fmt: skip

    return run


def losses(done: subprocess.CompletedProcess[str]) -> dict[tuple[str, str], str]:
    """To the bit."""
    assert done.returncode == 0, done.stdout + done.stderr
    return {(rank, step): rest for rank, step, rest in re.findall(r"rank (\d+) step (\d+) (.*)", done.stdout)}


def test_ranks_that_run_have_the_losses_of_a_run_of_all(run_repeated: Run) -> None:
    whole = losses(run_repeated("repeated_training.py", 4, "0-3", MESH="2 1 1 2", STEPS="2"))
    few = losses(run_repeated("repeated_training.py", 4, "0-1", MESH="2 1 1 2", STEPS="2"))
    assert len(few) == 4 and few == {at: loss for at, loss in whole.items() if at[0] in "01"}


def test_a_mismatch_in_512_ranks_names_both(run_repeated: Run) -> None:
    done = run_repeated("repeated_training.py", 512, "0-1", MESH="256 1 1 2", MISTAKE="1", STEPS="2")
    assert done.returncode
    assert re.search(r"rank [01] is in Hccl\w+ .*, rank [01] in Hccl\w+", done.stderr), done.stderr
    assert "2 of 512 ranks run, each of the others gives what one of them gives" in done.stderr


def test_what_does_not_follow_is_refused_by_name(run_repeated: Run) -> None:
    done = run_repeated("not_following.py", 4, "0-1", TASK_QUEUE_ENABLE="0")
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(2):
        assert f"rank {rank}: gather [0.0, 1.0, 0.0, 1.0]" in done.stdout
        for part in ("scatter", "all_to_all"):
            assert re.search(rf"rank {rank}: {part} .*does not follow from those that do", done.stdout), done.stdout
        assert re.search(rf"rank {rank}: receive .*rank {rank + 2} does not run", done.stdout), done.stdout
        assert re.search(rf"rank {rank}: group .*is not in this group", done.stdout), done.stdout


def test_the_command_starts_the_ranks_that_run_and_one_that_fails_ends_them(tmp_path: Path) -> None:
    code = """import os, sys, time
e = os.environ
print(e["RANK"], e["WORLD_SIZE"], e["LOCAL_RANK"], file=open(sys.argv[1] + "/" + e["RANK"], "w"), flush=True)
while e["RANK"] != "8" or sum(one.stat().st_size > 0 for one in os.scandir(sys.argv[1])) < 3:
    time.sleep(0.05)
exit(7)"""
    command = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", "--ranks", "512", "--real", "0,1,8"]
    done = subprocess.run([*command, "--", "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=200)
    told = sorted(one.read_text().strip() for one in tmp_path.iterdir())
    assert told == ["0 512 0", "1 512 1", "8 512 2"], done.stderr
    assert done.returncode == 7
