"""What failed first, by logs as ranks leave them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.observe.diagnose import diagnose

DEVICE = """Traceback (most recent call last):
  File "/home/me/train.py", line 12, in step
    loss.item()
  File "/x/site-packages/torch/tensor.py", line 3, in item
RuntimeError: npuSynchronizeDevice NPU function error: AclrtSynchronizeDeviceWithTimeout, error code is 507015
[ERROR] 2026-11-24-22:30:50 (PID:11, Device:1, RankID:1) ERR00100 PTA call acl api failed
[simulated Ascend] aclnnMm: aicore exception, error code 507015
"""
GONE = "[simulated Ascend] HcclAllReduce (sum) of float32, call 10: rank 1 is gone\n"
WAITS = "[simulated Ascend] HcclAllReduce (sum) of float32, call 4: after 6 s still waiting for rank {}\n"
LATE = "RuntimeError: npuSynchronizeDevice NPU function error: AclrtSynchronizeDevice, error code is 507048\n"
HEARD = (
    "[simulated Ascend] rank {} failed: HcclAllReduce (sum) of float32, call 4: after 6 s still waiting for rank {}\n"
)
AHEAD = "rank 1 is in HcclAllReduce (sum) of float32, call 4, rank 0 in HcclAllReduce (sum) of float32, call {}\n"
OUT = "torch.OutOfMemoryError: NPU out of memory. Tried to allocate 2.00 GiB\n"
WATCHDOG = "[rank0]:[E1] [Rank0] checkHcclComms found HcclComms vector 0 got ERROR via HcclGetCommAsyncError :\n"

STACKS = """pid: 5
thread 14024835:
  File "<string>", line 14, in <module>
thread <_MainThread(MainThread, started 14026772)>:
  File "/home/me/train.py", line 40, in <module>
    load()
  File "/home/me/train.py", line 30, in load
    time.sleep(100)
"""
UNTIL = "; device 1 answers so until it is reset (OPHOOK_SIM_AFTER_FAILURE)"
DOWN = "[simulated Ascend] HcclBroadcast of int32 from rank 0, call 7: the link to rank 1 is down" + UNTIL + "\n"
LATER = "NPU function error: call aclnnForeachMulScalarV2 failed, error code is 507015\n"
DRIVER = "[simulated Ascend] aclnnGelu: driver error, error code 507899\n"
COPY = "[simulated Ascend] aclrtMemcpyAsync: system DMA error, error code 507013\n"
SYNC = "RuntimeError: ACL stream synchronize failed, error code:507015\n"
INNER = (
    "RuntimeError: The Inner error is reported as above. The process exits for this inner error, and the current "
    "working operator name is HcclBroadcast.\n"
)
TIMEOUT = (
    "[rank{0}]:[E1126 06:32:18.6 ProcessGroupHCCL.cpp:975] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkHCCL(SeqNum=10, OpType=ALLREDUCE, NumelIn=676, NumelOut=676, Timeout(ms)=3000) ran for 3021 milliseconds\n"
)


@pytest.mark.parametrize(
    ("logs", "rank", "kind", "at"),
    [
        (("", DEVICE), 1, "aicore exception", "aclnnMm"),
        ((GONE, DEVICE), 1, "aicore exception", "aclnnMm"),
        ((DEVICE + GONE, DEVICE), 1, "aicore exception", "aclnnMm"),
        ((GONE, "step 1\n"), 1, "the process was killed", "HcclAllReduce"),
        ((WATCHDOG, "step 1\n"), 1, "the process was killed", ""),
        ((WAITS.format(1), "step 1\n"), 1, "no answer: it hangs or is stopped", "HcclAllReduce"),
        ((LATE + WAITS.format(1), "step 1\n"), 1, "no answer: it hangs or is stopped", "HcclAllReduce"),
        ((HEARD.format(1, 0), WAITS.format(0)), 0, "a message was lost", "HcclAllReduce"),
        (("", AHEAD.format(5)), 0, "a message was lost", "HcclAllReduce"),
        (("", AHEAD.format(3)), 0, "a message came twice", "HcclAllReduce"),
        ((GONE, OUT), 1, "out of memory", ""),
        (("", AHEAD.format(5).replace("\n", UNTIL + "\n")), 0, "a message was lost", "HcclAllReduce"),
        ((DOWN, SYNC), 0, "the link is down", "HcclBroadcast"),
        ((LATER + HEARD.format(1, 0), AHEAD.format(3)), 0, "a message came twice", "HcclAllReduce"),
        ((INNER + DRIVER, ""), 0, "driver error", "aclnnGelu"),
        ((SYNC, COPY), 1, "DMA error", "aclrtMemcpyAsync"),
        ((SYNC, INNER), 1, "HcclBroadcast was refused", "HcclBroadcast"),
        ((TIMEOUT.format(0), "step 1\n"), 1, "no answer: it hangs or is stopped", "ALLREDUCE"),
        (
            (TIMEOUT.format(0), TIMEOUT.format(1)),
            None,
            "a collective timed out, which every rank had launched",
            "ALLREDUCE",
        ),
        (("step 1\n", "step 1\n"), None, "", ""),
    ],
)
def test_the_first_is_named(tmp_path: Path, logs: tuple[str, str], rank: int | None, kind: str, at: str) -> None:
    for number, text in enumerate(logs):
        (tmp_path / f"rank{number}.log").write_text(text)
    found = diagnose(tmp_path)
    assert (found.rank, found.kind, found.at) == (rank, kind, at)
    if kind == "aicore exception":
        assert (found.code, found.line) == ("507015", "/home/me/train.py:12 step")
    first = f"first: rank {rank}" if rank is not None else "first: these files do not say which rank"
    assert found.text().startswith(f"{first}\nwhat: {kind}" if kind else "nothing failed")


def test_what_was_ordered_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "rank0.log").write_text("[simulated Ascend] fault made: aclnnMm=507015, error code is 507015\n")
    assert diagnose(tmp_path).rank is None


def test_torchruns_folders_and_its_own_words(tmp_path: Path) -> None:
    for rank in (0, 1):
        (tmp_path / "attempt_0" / str(rank)).mkdir(parents=True)
        (tmp_path / "attempt_0" / str(rank) / "stderr.log").write_text("")
    (tmp_path / "torchrun.txt").write_text("  rank      : 1 (local_rank: 1)\n  exitcode  : -9 (pid: 5) (SIGKILL)\n")
    found = diagnose(tmp_path)
    assert (found.rank, found.kind) == (1, "the process was killed (signal 9)")


@pytest.mark.parametrize("name", ["hccl:all_reduce", ""])  # torch_npu leaves it empty
def test_flight_recorders_tell_who_never_came(tmp_path: Path, name: str) -> None:
    frames = [
        {"name": "all_reduce", "filename": "/x/site-packages/torch/distributed/distributed_c10d.py", "line": 1},
        {"name": "step", "filename": "/home/me/train.py", "line": 12},
    ]

    def dump(calls: int) -> dict:
        return {
            "entries": [
                {"collective_seq_id": i, "profiling_name": name, "frames": frames, "state": "started"}
                for i in range(calls)
            ]
        }

    (tmp_path / "trace_rank0").write_bytes(pickle.dumps(dump(7)))
    (tmp_path / "trace_rank1").write_text(json.dumps(dump(5)))
    found = diagnose(tmp_path)
    assert (found.rank, found.at, found.evidence) == (1, name or "all_reduce", "its last call is 4, others are in 6")
    assert found.line == "/home/me/train.py:12 step"
    # With the stacks that torch_npu writes next to a dump, the line where the rank stays.
    (tmp_path / "trace_rank1_py_traceback").write_text(STACKS)
    assert diagnose(tmp_path).line == "/home/me/train.py:30 load"


class Attack:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


def test_a_dump_is_data_and_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "attacked"
    (tmp_path / "trace_rank0").write_bytes(pickle.dumps({"entries": [Attack(mark)]}))
    with pytest.raises(OphookError, match="no rank's log"):
        diagnose(tmp_path)
    assert not mark.exists()


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(OphookError, match="no such folder"):
        diagnose(tmp_path / "none")
