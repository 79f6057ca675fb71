"""Faults of ranks and links, and whether the logs are enough to name what failed first."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCORE = ROOT / "scripts" / "fault_score.py"
Run = Callable[..., subprocess.CompletedProcess[str]]


def test_what_failed_first_is_named(run_python: Run) -> None:
    kinds = ("507015:1", "kill:1", "hang:0", "down:0", "drop:1", "double:2")
    done = run_python(str(SCORE), *kinds, options=("--devices", "2"), timeout=400)
    told = done.stdout.splitlines()
    assert told[-1].startswith("6 of 6 right"), done.stdout + done.stderr
    assert re.search(r"rank 1: aicore exception 507015 aclnnGeluBackward .*faulty_training.py:\d+ ", told[0])


def test_a_restarted_training_goes_on_from_its_checkpoint(run_python: Run) -> None:
    done = run_python(str(ROOT / "scripts" / "restart_table.py"), "kill", timeout=300)
    assert done.stdout.splitlines()[-1] == "1 of 1 end as undisturbed", done.stdout + done.stderr
    assert re.search("1 restarts, from step [1-3], ended True", done.stdout)
