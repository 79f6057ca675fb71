"""Faults of ranks and links, and whether the logs are enough to name what failed first."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ophook_npu.sim.fault import VARIABLE, lines

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "sim" / "programs"
SCORE = ROOT / "scripts" / "fault_score.py"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    "others",
    [("kill:1", "down:0", "drop:1", "double:2"), pytest.param(("hang:0",), marks=pytest.mark.slow)],
    ids=["at once", "after a time"],
)
def test_what_failed_first_is_named(run_python: Run, others: tuple[str, ...]) -> None:
    done = run_python(str(SCORE), "507015:1", *others, options=("--devices", "2"), timeout=400)
    told = done.stdout.splitlines()
    assert told[-1].startswith(f"{len(told) - 1} of {len(told) - 1} right"), done.stdout + done.stderr
    assert len(told) == len(others) + 2
    assert re.search(r"rank 1: aicore exception 507015 aclnnGeluBackward .*faulty_training.py:\d+ ", told[0])


@pytest.mark.skipif(os.getuid() != 0, reason="it mounts file systems")
def test_a_hard_end_is_survived(run_python: Run) -> None:
    done = run_python(str(ROOT / "scripts" / "hard_ends.py"), "shm", options=("--devices", "2"), timeout=200)
    if "OSError: [Errno 1]" in done.stderr:
        pytest.skip("this container may not mount")
    assert done.stdout.splitlines()[-1].startswith("shm: 2 of 2"), done.stdout + done.stderr


@pytest.mark.torch_npu("2.13", "the page lists the variables of this one")
def test_the_page_lists_the_variables_that_are_read() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / "hccl_variables.py"), "--check"], text=True,
                          capture_output=True, timeout=100)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_sharded_checkpoints_go_on_after_a_kill_while_one_is_written(run_python: Run, tmp_path: Path) -> None:
    """FSDP2 and torch.distributed.checkpoint; the other projects are in restart_table.py."""

    def losses(folder: str, *settings: str) -> dict[str, str]:
        (tmp_path / folder).mkdir(exist_ok=True)
        program = (str(PROGRAMS / "ranks.py"), str(PROGRAMS / "kept_training.py"), "2", "fsdp2", str(tmp_path / folder))
        done = run_python(*program, "STEPS=3", *settings, options=("--devices", "2"), OMP_NUM_THREADS="1", timeout=100)
        assert (done.returncode == 0) != ("TORCHELASTIC_RESTART_COUNT=0" in settings), done.stdout + done.stderr
        return dict(re.findall(r"(rank \d step \d) loss ([\d.]+)", done.stdout))

    undisturbed = losses("one")
    losses("two", "KILLED_IN_CHECKPOINT=1:2", "TORCHELASTIC_RESTART_COUNT=0")
    after = losses("two", "TORCHELASTIC_RESTART_COUNT=1")
    assert sorted(after) == ["rank 0 step 1", "rank 0 step 2", "rank 1 step 1", "rank 1 step 2"]
    assert {at: float(loss) for at, loss in after.items()} == pytest.approx(
        {at: float(undisturbed[at]) for at in after}, rel=1e-3
    )


@pytest.mark.slow
def test_a_restarted_training_goes_on_from_its_checkpoint(run_python: Run) -> None:
    done = run_python(str(ROOT / "scripts" / "restart_table.py"), "kill", timeout=300)
    assert done.stdout.splitlines()[-1] == "1 of 1 end as undisturbed", done.stdout + done.stderr
    assert re.search("1 restarts, from step [1-3], ended True", done.stdout)


def test_a_communicator_is_resumed(run_python: Run) -> None:
    """After a link was down, and after it was suspended."""
    program = (str(PROGRAMS / "ranks.py"), str(PROGRAMS / "resumed_collectives.py"), "2")
    faults = {VARIABLE: lines(["link@rank0-1:3=down"]), "HCCL_EXEC_TIMEOUT": "20"}
    done = run_python(*program, options=("--devices", "2"), timeout=100, **faults)
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in (0, 1):
        assert f"rank {rank} resumed in step 2" in done.stdout and f"rank {rank} resumed after it was" in done.stdout
