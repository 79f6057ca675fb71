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
    assert found.text().startswith("nothing failed" if rank is None else f"first: rank {rank}\nwhat: {kind}")


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


def test_flight_recorders_tell_who_never_came(tmp_path: Path) -> None:
    def dump(calls: int) -> dict:
        return {
            "entries": [
                {"collective_seq_id": i, "profiling_name": "hccl:all_reduce", "state": "started"} for i in range(calls)
            ]
        }

    (tmp_path / "trace_rank0").write_bytes(pickle.dumps(dump(7)))
    (tmp_path / "trace_rank1").write_text(json.dumps(dump(5)))
    found = diagnose(tmp_path)
    assert (found.rank, found.at, found.evidence) == (1, "hccl:all_reduce", "its last call is 4, others are in 6")


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
