"""Processes of the same machine that are no ranks: the ranks turn them away and finish right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
Launch = Callable[..., subprocess.CompletedProcess[str]]

KINDS = ["silent", "garbage", "guess", "mirror", "crowd"]
NOBODY = 65534


def attacker(folder: Path, kind: str, *user: str) -> subprocess.Popen[str]:
    started = subprocess.Popen(
        [sys.executable, str(PROGRAMS / "attack_hccl.py"), kind, str(folder / kind), *user],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert started.stdout is not None and started.stdout.readline() == "ready\n"
    return started


def ended(started: subprocess.Popen[str]) -> dict[str, int]:
    said, _ = started.communicate("", timeout=60)
    return json.loads(said)


@pytest.mark.parametrize(("program", "turns"), [("attacked_collectives.py", 3), ("hosts.py", 2)])
def test_ranks_finish_right_whoever_else_comes(launch: Launch, tmp_path: Path, program: str, turns: int) -> None:
    started = {kind: attacker(tmp_path, kind) for kind in KINDS}
    if os.geteuid() == 0 and program != "hosts.py":  # over a network, nobody knows whose a process is
        started["stranger"] = attacker(tmp_path, "stranger", str(NOBODY))
    try:
        done = launch(program, 2, ON_HOSTS="attacked_collectives.py", TURNS=str(turns), ATTACKERS=str(tmp_path))
        found = {kind: ended(process) for kind, process in started.items()}
    finally:
        for process in started.values():
            process.kill()
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(2):
        for turn in range(turns):
            assert f"rank {rank}: turn {turn} passed" in done.stdout
    for kind, result in found.items():
        assert result["reached"] > 0, f"{kind} found no socket: nothing was tested"
        # At most the answer to a greeting, which proves the rank and tells nothing; to another user not even that.
        assert result["most"] <= (0 if kind == "stranger" else 32), (kind, result)
    assert "turned away process" in done.stderr and "which is no rank" in done.stderr
    if program == "hosts.py":
        assert "the root turned away 127.0.0.1 port" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_another_user_is_named(launch: Launch, tmp_path: Path) -> None:
    stranger = attacker(tmp_path, "stranger", str(NOBODY))
    try:
        done = launch("attacked_collectives.py", 2, ATTACKERS=str(tmp_path))
        assert ended(stranger)["most"] == 0
    finally:
        stranger.kill()
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"of user {NOBODY}, which is no rank: it is another user's" in done.stderr
