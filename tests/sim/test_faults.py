"""Faults on demand: each is made where it was ordered, is told of as torch_npu documents, and leaves what it should."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).parent / "programs"
Cases = dict[str, dict[str, Any]]

# What is told of a case, and what else it has to say.
TOLD: dict[str, tuple[str, dict[str, Any]]] = {
    "at_the_call": (r"call aclnnAdd failed, error code is 161002", {"before": "", "next": True}),
    "at_the_synchronization": (r"error code is 507015(.|\n)*The aicore execution is abnormal", {}),
    "by_chance": (r"\[\d", {"same": True, "next": True}),
    "out_of_memory": (r"^OutOfMemoryError: NPU out of memory. Tried to allocate", {"next": True}),
    "a_copy": (r"aclrtMemcpy, error code is 507013", {}),
    "no_more_streams": (r"error code is 207008(.|\n)*Stream resources are insufficient", {"next": True}),
    "a_wrong_bit": (r"", {"wrong": 1, "next": True}),
    "slow": (r"", {"next": True}),
    "lost": (r"error code is 507010", {}),
    "uncorrectable_kept": (r"UCE ERROR, error code is 507053", {"stopped": 0, "memory": 3, "next": True}),
    "uncorrectable_temporary": (r"UCE ERROR", {"stopped": 0, "memory": 2, "after": "", "next": True}),
    "ecc": (r"HBM MULTI BIT ECC ERROR.*time is \d+", {"stopped": 0, "memory": 3, "next": True}),
    "suspected": (r"SUSPECT MEM ERROR, error code is 507055", {"stopped": 0, "memory": 0, "after": "", "next": True}),
    "hangs_until_stopped": (r"FORCE STOP, error code is 107022", {"next": True}),
    "hangs_until_its_limit": (r"error code is 507014", {}),
    "stress": (r"", {"good": 0, "bad": 2, "next": True}),
    "another_driver": (r"24\.1\.0", {"next": True}),
    "silent_check": (r"error code is 507015(.|\n)*aclnnSilentCheck: accuracy sensitivity feature", {"steps": 102}),
    "feature_detection": (r"feature detection detects abnormal results!", {"next": True}),
    "disk_full": (r"", {"made": {"disk@2+=full": 2}, "whole": 1, "next": True}),
    "killed": (r"", {"status": -9}),
}


@pytest.fixture(scope="module")
def cases(programs: Any) -> Iterator[tuple[Cases, str]]:
    done = programs.run((str(PROGRAMS / "faults.py"),), (), {}, 280)
    assert done.returncode == 0, done.stdout + done.stderr
    yield {one["case"]: one for one in map(json.loads, done.stdout.splitlines())}, done.stderr


def test_every_fault_ends_as_documented(cases: tuple[Cases, str]) -> None:
    found, _ = cases
    assert found.keys() == TOLD.keys()
    for name, (told, more) in TOLD.items():
        one = found[name]
        assert one["status"] == more.get("status", 0), one
        assert re.search(told, one.get("told", "")), one
        assert {key: one.get(key) for key in more} == more, one
    assert "unsafe data in the input tensor" in found["uncorrectable_kept"]["after"]
    assert "507010" in found["lost"]["later"]
    assert found["slow"]["made"] == {"aclnnM*=slow:50": 3}
    assert "FORCE STOP" in found["hangs_until_stopped"]["between"]


def test_the_log_says_that_a_fault_was_made(cases: tuple[Cases, str]) -> None:
    log = cases[1]
    for order in (
        "aclnnAdd@2=161002 (aclnnAddGetWorkspaceSize, 2;",
        "malloc@p=0.3,seed=7=oom (malloc, ",
        "aclnnAdd@2=kill",
    ):
        assert f"fault made: {order}" in log, log


PROGRAM = """
import sys, torch, torch_npu
x = torch.ones(4).npu()
torch.npu.synchronize()
for i in range(3):
    y = x + x
try:
    torch.npu.synchronize()
except RuntimeError as error:
    sys.exit(str(error))
"""


def run(*options: str, program: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", *options, "--", "-c", program]
    plain = {key: value for key, value in os.environ.items() if key != "TORCH_DEVICE_BACKEND_AUTOLOAD"}
    return subprocess.run(command, capture_output=True, text=True, timeout=200, env=plain)


def test_a_program_that_nobody_edited(tmp_path: Path) -> None:
    orders = tmp_path / "orders.toml"
    orders.write_text('seed = 3\nfaults = ["aclnnAdd@3=507015", "aclnnAddd@p=0.5=hang"]\n')
    log = tmp_path / "made.jsonl"
    done = run("--fault", str(orders), "--fault-log", str(log))
    assert done.returncode == 1 and "507015" in done.stderr, done.stderr
    made = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(one["fault"], one["at"], one["count"], one["device"]) for one in made] == [
        ("aclnnAdd@3=507015", "aclnnAdd", 3, 0)
    ]
    assert "fault not made: aclnnAddd@p=0.5=hang: aclnnAddd never came" in done.stderr


STEPS = """
import torch, torch_npu
weight = torch.ones(4, device="npu", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.5)
for step in range(1, 5):
    optimizer.zero_grad()
    (weight * 2).sum().backward()
    optimizer.step()
    print(step, weight.sum().item(), flush=True)
"""


def test_a_fault_in_a_step_of_the_optimizer() -> None:
    done = run("--fault", "aclnnMuls@step=3,1=flip:31", program=STEPS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "0.0", "2", "-4.0", "3", "-8.0", "4", "-12.0"], done.stdout + done.stderr
    assert "fault made: aclnnMuls@step=3,1=flip:31 (aclnnMuls, 1;" in done.stderr, done.stderr
    from ophook_npu.sim import fault

    with fault("aclnnAdd@step=2=507015") as told:
        pass
    assert told.made == {"aclnnAdd@step=2=507015": 0}


def test_the_fixture(npu_fault: Callable[..., Any]) -> None:
    import torch

    x = torch.ones(4).npu()
    npu_fault("aclnnMul@1=flip:31")
    y = (x * x).cpu().tolist()
    assert y == [-1, 1, 1, 1]  # the sign of the first float32
    assert (x * x).cpu().tolist() == [1, 1, 1, 1]
