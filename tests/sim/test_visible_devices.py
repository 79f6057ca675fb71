"""ASCEND_RT_VISIBLE_DEVICES: what a process sees of the machine's devices, and how it and others count them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu import sim

ROOT = sim.active() or Path()

ASKED = f"""
import ctypes, json
acl, hal = (ctypes.CDLL("{ROOT}/lib64/lib" + name + ".so") for name in ("ascendcl", "ascend_hal"))
acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
number = ctypes.c_int32(-1)
found = {{"count": [acl.aclrtGetDeviceCount(ctypes.byref(number)), number.value]}}
found["why"] = (acl.aclGetRecentErrMsg() or b"").decode()
hal.drvGetDevNum(ctypes.byref(number))
found["installed"] = number.value
for name in ("PhyDevIdByUser", "LogicDevIdByUser", "UserDevIdByPhy", "UserDevIdByLogic", "PhyDevIdByLogic"):
    function = getattr(acl, f"aclrtGet{{name}}DevId")
    found[name] = [number.value if function(user, ctypes.byref(number)) == 0 else None for user in range(4)]
found["set"] = [acl.aclrtSetDevice(user) for user in range(3)]
found["refused"] = (acl.aclGetRecentErrMsg() or b"").decode()
print(json.dumps(found))
"""


def seen(value: str | None) -> dict[str, list[int | None]]:
    """What a process finds out on a machine with three devices."""
    environ = {name: text for name, text in os.environ.items() if name != "ASCEND_RT_VISIBLE_DEVICES"}
    environ |= {"OPHOOK_SIM_DEVICES": "3"} | ({} if value is None else {"ASCEND_RT_VISIBLE_DEVICES": value})
    result = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, env=environ, timeout=60)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("value", "devices"),
    [
        (None, [0, 1, 2]),
        ("1", [1]),
        ("0,2", [0, 2]),
        ("1,2,", [1, 2]),
        ("1, 2", [1]),  # up to what is no number of a device
        ("1,,2", [1]),
        ("0,7,2", [0]),
        ("1,-1,2", [1]),
        ("0,1,2,0", [0, 1, 2]),  # CANN reads as many as there are devices
    ],
)
def test_a_process_counts_what_it_sees_from_0(value: str | None, devices: list[int]) -> None:
    found = seen(value)
    assert found["count"] == [0, len(devices)] and found["installed"] == 3
    users: list[int | None] = [*devices, None, None, None, None][:4]  # type: ignore[list-item]
    assert found["PhyDevIdByUser"] == found["LogicDevIdByUser"] == users
    back = [devices.index(each) if each in devices else None for each in range(4)]
    assert found["UserDevIdByPhy"] == found["UserDevIdByLogic"] == back
    assert found["PhyDevIdByLogic"] == [0, 1, 2, None]
    assert found["set"] == [0 if user < len(devices) else 107001 for user in range(3)]
    if value == "1":
        assert "no device 2; ASCEND_RT_VISIBLE_DEVICES leaves 1 of 3 (0 to 0)" in str(found["refused"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2,1", "configured in ascending order"),
        ("1,1", "Cannot be duplicated"),
        ("", "[0, 3)"),
        (",0", "[0, 3)"),
        ("3", "[0, 3)"),
        ("99999999999999999999", "[0, 3)"),
        ("-1,1", "[0, 3)"),
    ],
)
def test_a_wrong_list_leaves_no_device(value: str, expected: str) -> None:
    found = seen(value)
    assert found["count"][0] == 207004 and found["set"] == [107001] * 3 and found["installed"] == 3
    why = f"EE2002: Value {value} for environment variable ASCEND_RT_VISIBLE_DEVICES is invalid. Expected value: "
    assert why + expected in str(found["why"]) and why + expected in str(found["refused"])


RANK = """
import os, subprocess, sys, torch, torch.distributed, torch_npu
assert torch.npu.device_count() == 1
torch.distributed.init_process_group("hccl", init_method="file://" + sys.argv[1], rank=int(sys.argv[2]), world_size=2)
value = torch.full((4,), 1.0 + int(sys.argv[2]), device="npu:0")
torch.distributed.all_reduce(value)
assert value.tolist() == [3.0] * 4, value
torch.distributed.barrier()
print(os.getpid(), subprocess.run(["npu-smi", "info"], capture_output=True, text=True).stdout, flush=True)
torch.distributed.barrier()
"""


def test_each_rank_may_see_a_device_of_its_own(tmp_path: Path) -> None:
    """As Ray starts workers: each has one device, its number 0."""
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, str(tmp_path / "store"), str(rank)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ
            | {"OPHOOK_SIM_DEVICES": "3", "ASCEND_RT_VISIBLE_DEVICES": str(rank + 1)}
            | {"OPHOOK_SIM_LEDGER": str(tmp_path / "ledger"), "OPHOOK_SIM_MEMORY": str(1 << 30)},
        )
        for rank in range(2)
    ]
    printed = [process.communicate(timeout=120)[0] for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0]
    for text in printed:
        running = dict(re.findall(r"^\| (\d) +0 +\| (\d+) ", text, re.M))
        assert {device: int(process) for device, process in running.items()} == {
            "1": ranks[0].pid,
            "2": ranks[1].pid,
        }, text
