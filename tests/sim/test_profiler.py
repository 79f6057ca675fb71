"""torch_npu.profiler on the simulated devices: what is recorded, the files that msprof makes of it, what is refused.

examples/clients/profiled.py is a user's whole program; here are its parts, in one process.
"""

from __future__ import annotations

import csv
import ctypes
import json
import os
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

INVALID_PARAM, REPEATED, INVALID_FILE = 100000, 100002, 100003
ALREADY_RUN, NOT_RUN, UNSUPPORTED, UNIMPLEMENTED = 100042, 100043, 200007, 200001
ACL_API, TASK_TIME, AICORE_METRICS, TASK_TIME_L0, NO_METRICS = 0x1, 0x2, 0x4, 0x800, 0xFF
LEVEL0, LEVEL1 = TASK_TIME_L0 | ACL_API, TASK_TIME | ACL_API


@pytest.fixture(scope="module")
def acl() -> ctypes.CDLL:
    torch.ones(1).npu()
    library = ctypes.CDLL("libmsprofiler.so")
    library.aclprofCreateConfig.restype = ctypes.c_void_p
    library.aclGetRecentErrMsg = ctypes.CDLL("libascendcl.so").aclGetRecentErrMsg
    library.aclGetRecentErrMsg.restype = ctypes.c_char_p
    return library


def text(acl: ctypes.CDLL) -> str:
    return (acl.aclGetRecentErrMsg() or b"").decode()


def configuration(acl: ctypes.CDLL, data: int = LEVEL1) -> ctypes.c_void_p:
    devices = (ctypes.c_uint32 * 1)(0)
    return ctypes.c_void_p(acl.aclprofCreateConfig(devices, 1, NO_METRICS, None, ctypes.c_uint64(data)))


def init(acl: ctypes.CDLL, path: Path) -> int:
    told = os.fsencode(path)
    return int(acl.aclprofInit(told, ctypes.c_size_t(len(told))))


@contextmanager
def recorded(acl: ctypes.CDLL, path: Path, data: int = LEVEL1) -> Iterator[None]:
    """Profiles what is within. The recording is below ``path``."""
    config = configuration(acl, data)
    assert init(acl, path) == 0 and acl.aclprofStart(config) == 0, text(acl)
    try:
        yield
        torch.npu.synchronize()
    finally:
        codes = acl.aclprofStop(config), acl.aclprofDestroyConfig(config), acl.aclprofFinalize()
    assert codes == (0, 0, 0)


def msprof(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["msprof", *arguments], capture_output=True, text=True, timeout=120)


def export(path: Path, *more: str) -> Path:
    """The folder PROF_…, after `msprof --export=on`."""
    done = msprof("--export=on", f"--output={path}", *more)
    assert done.returncode == 0, done.stderr
    (found,) = path.glob("PROF_*")
    return found


def timeline(prof: Path) -> list[dict[str, Any]]:
    (found,) = (prof / "mindstudio_profiler_output").glob("msprof_*.json")
    return list(json.loads(found.read_text()))


def table(prof: Path, name: str) -> list[dict[str, str]]:
    (found,) = (prof / "mindstudio_profiler_output").glob(f"{name}_*.csv")
    with found.open(newline="") as file:
        return list(csv.DictReader(file))


def test_tasks_calls_and_flows(acl: ctypes.CDLL, tmp_path: Path) -> None:
    a, b = torch.randn(8, 16).npu(), torch.randn(16, 4).half().npu()
    torch.npu.synchronize()
    before = time.time_ns()
    with recorded(acl, tmp_path):
        for _ in range(3):
            torch.relu(a)
        torch.mm(a.half(), b)
        event = torch.npu.Event()
        event.record()
    after = time.time_ns()
    prof = export(tmp_path)

    summary = table(prof, "op_summary")
    assert len(summary) == 5 and Counter(row["OP Type"] for row in summary)["Relu"] == 3
    product = summary[-1]
    assert product["Input Shapes"].strip('"') == "8,16;16,4" and product["Output Shapes"].strip('"') == "8,4"
    assert product["Input Data Types"] == "FLOAT16;FLOAT16" and product["Task Type"] == "AI_CORE"
    assert "aicore_time(us)" not in product and product["Block Num"] == "N/A"  # nothing counts these
    times = [(float(row["Task Start Time(us)"]) * 1000, float(row["Task Duration(us)"])) for row in summary]
    assert all(before - 1e6 <= begin <= after + 1e6 and duration > 0 for begin, duration in times)
    assert sum(duration for _, duration in times) * 1000 <= after - before
    assert {row["kernel_type"] for row in table(prof, "task_time")} == {"KERNEL_AICORE", "EVENT_RECORD"}
    relu = next(row for row in table(prof, "op_statistic") if row["OP Type"] == "Relu")
    assert relu["Count"] == "3" and float(relu["Min Time(us)"]) <= float(relu["Avg Time(us)"])
    calls = {(row["Level"], row["API Name"]): int(row["Count"]) for row in table(prof, "api_statistic")}
    assert calls["acl", "aclnnRelu"] == 3 and calls["node", "launch"] == 6

    events = timeline(prof)
    whole = {(e["pid"], e["tid"], e["ts"]): e for e in events if e["ph"] == "X"}
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert len(starts) == len(ends) == 6 and starts.keys() == ends.keys()
    for name, end in ends.items():
        task, launch = whole[end["pid"], end["tid"], end["ts"]], starts[name]
        assert launch["cat"] == "HostToDevice" and float(launch["ts"]) <= float(task["ts"])
        assert whole[launch["pid"], launch["tid"], launch["ts"]]["name"] == "Node@launch"
    rows = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert rows == {"CANN", "Ascend Hardware", "Overlap Analysis"}
    labels = {e["args"]["labels"] for e in events if e["name"] == "process_labels"}
    assert labels == {"CPU", "NPU 0"}


def test_captured_graphs_and_streams(acl: ctypes.CDLL, tmp_path: Path) -> None:
    a = torch.randn(4, 4).npu()
    graph, other = torch.npu.NPUGraph(), torch.npu.Stream()
    with torch.npu.graph(graph):
        torch.relu(a)
    torch.npu.synchronize()
    with recorded(acl, tmp_path):
        graph.replay()
        graph.replay()
        with torch.npu.stream(other):
            torch.sigmoid(a)
    prof = export(tmp_path)
    summary = table(prof, "op_summary")
    relus = [row for row in summary if row["Op Name"] == "aclnnRelu"]
    (sigmoid,) = [row for row in summary if row["Op Name"] == "aclnnSigmoid"]
    assert len(relus) == 2 and len({row["Model ID"] for row in relus}) == 1
    assert relus[0]["Model ID"] != sigmoid["Model ID"] == str(0xFFFFFFFF)
    assert relus[0]["Stream ID"] != sigmoid["Stream ID"]


def test_collectives_have_one_name_on_all_ranks(launch: Callable[..., Any], tmp_path: Path) -> None:
    done = launch("profiled_collectives.py", 2, PROFILE=str(tmp_path))
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("collectives ")]
    assert done.returncode == 0 and len(lines) == 2 and lines[0] == lines[1], done.stdout + done.stderr
    _, reduce, gather, in_trace = lines[0]
    assert reduce.startswith("hcom_allReduce__") and gather.startswith("hcom_allGather__"), lines
    assert in_trace == "HcclAllReduce"


def test_nodes_of_a_graph(acl: ctypes.CDLL, tmp_path: Path) -> None:
    import torchair

    torch._dynamo.reset()
    program = torch.compile(lambda x: torch.relu(x @ x), backend=torchair.get_npu_backend())
    a = torch.randn(4, 4).npu()
    program(a)
    torch.npu.synchronize()
    with recorded(acl, tmp_path):
        program(a)
    rows = table(export(tmp_path), "op_summary")
    assert [row["OP Type"] for row in rows] == ["MatMul", "Relu"] and len({row["Op Name"] for row in rows}) == 2


def test_level0_names_and_times_alone(acl: ctypes.CDLL, tmp_path: Path) -> None:
    a = torch.randn(4).npu()
    with recorded(acl, tmp_path, LEVEL0):
        torch.relu(a)
    (row,) = table(export(tmp_path), "op_summary")
    assert row["Op Name"] == "aclnnRelu" and row["OP Type"] == row["Input Shapes"] == row["Task Type"] == "N/A"


def test_what_was_not_asked_for_is_not_recorded(acl: ctypes.CDLL, tmp_path: Path) -> None:
    a = torch.randn(4).npu()
    with recorded(acl, tmp_path, AICORE_METRICS):
        torch.relu(a)
    torch.relu(a)  # after it
    done = msprof("--export=on", f"--output={tmp_path}")
    assert done.returncode == 0 and "no task ran while it was recorded" in done.stderr


def test_database(acl: ctypes.CDLL, tmp_path: Path) -> None:
    a = torch.randn(4).npu()
    with recorded(acl, tmp_path):
        torch.relu(a)
    (path,) = export(tmp_path, "--type=db").glob("msprof_*.db")
    database = sqlite3.connect(path)
    query = """SELECT name.value, TASK.endNs - TASK.startNs, CANN_API.type FROM COMPUTE_TASK_INFO AS info
        JOIN TASK ON TASK.globalTaskId = info.globalTaskId JOIN STRING_IDS AS name ON name.id = info.name
        JOIN CANN_API ON CANN_API.connectionId = TASK.connectionId"""
    ((name, duration, level),) = database.execute(query).fetchall()
    database.close()
    assert name == "aclnnRelu" and duration > 0 and level == 10000


def test_codes(acl: ctypes.CDLL, tmp_path: Path) -> None:
    config = configuration(acl)
    assert acl.aclprofStart(config) == NOT_RUN and "aclprofInit" in text(acl)
    assert acl.aclprofStop(config) == acl.aclprofFinalize() == NOT_RUN
    assert acl.aclprofInit(None, ctypes.c_size_t(0)) == acl.aclprofInit(b"/tmp", ctypes.c_size_t(3)) == INVALID_PARAM
    taken = tmp_path / "file"
    taken.write_text("")
    assert init(acl, taken) == INVALID_FILE and str(taken) in text(acl)
    assert init(acl, taken / "below") == INVALID_FILE
    assert init(acl, Path("/proc/profile")) == INVALID_FILE
    assert init(acl, tmp_path / "made" / "here") == 0
    try:
        assert init(acl, tmp_path) == REPEATED
        for function in (acl.aclprofStart, acl.aclprofStop, acl.aclprofWarmup, acl.aclprofDestroyConfig):
            assert function(None) == INVALID_PARAM and function(ctypes.c_void_p(64)) == INVALID_PARAM
        assert acl.aclprofStop(config) == NOT_RUN
        assert acl.aclprofWarmup(config) == acl.aclprofStart(config) == 0
        assert acl.aclprofStart(config) == ALREADY_RUN and "device 0" in text(acl)
        assert acl.aclprofStop(config) == 0 and acl.aclprofStop(config) == NOT_RUN
    finally:
        assert acl.aclprofFinalize() == 0
    assert acl.aclprofDestroyConfig(config) == 0 and acl.aclprofDestroyConfig(config) == INVALID_PARAM


def test_configurations_that_are_none(acl: ctypes.CDLL) -> None:
    def made(*devices: int, count: int | None = None, events: int | None = None) -> object:
        listed = (ctypes.c_uint32 * len(devices))(*devices) if devices else None
        number = len(devices) if count is None else count
        return acl.aclprofCreateConfig(listed, number, NO_METRICS, ctypes.c_void_p(events), ctypes.c_uint64(LEVEL1))

    assert made() is None and made(count=1) is None and "null" in text(acl)
    assert made(99) is None and "no such device" in text(acl)
    assert made(0, 0) is None and "twice" in text(acl)
    assert made(0, events=64) is None and "aicoreEvents" in text(acl)


def test_a_step_begins_once_and_ends_once(acl: ctypes.CDLL) -> None:
    acl.aclprofCreateStepInfo.restype = ctypes.c_void_p
    step, (begin, end) = ctypes.c_void_p(acl.aclprofCreateStepInfo()), (0, 1)
    codes = [acl.aclprofGetStepTimestamp(step, tag, None) for tag in (end, begin, begin, end, end, begin)]
    assert codes == [INVALID_PARAM, 0, INVALID_PARAM, 0, INVALID_PARAM, 0]
    acl.aclprofDestroyStepInfo(step)
    assert acl.aclprofGetStepTimestamp(step, begin, None) == INVALID_PARAM and "aclprofCreateStepInfo" in text(acl)


def test_what_is_not_simulated_is_named(acl: ctypes.CDLL) -> None:
    assert acl.aclprofSetConfig(8, b"cpu", ctypes.c_size_t(3)) == UNSUPPORTED and "ACL_PROF_HOST_SYS (cpu)" in text(acl)
    assert acl.aclprofSetConfig(0, b"", ctypes.c_size_t(0)) == acl.aclprofSetConfig(8, None, ctypes.c_size_t(0))
    assert acl.aclprofMarkEx(b"x", ctypes.c_size_t(1), None) == UNIMPLEMENTED and "aclprofMarkEx" in text(acl)


def test_the_command_line(tmp_path: Path) -> None:
    assert "--type" in msprof("--help").stdout
    for arguments, told in (
        (["--export=on", f"--output={tmp_path}"], "no recording"),
        (["--application=python"], "--application is not simulated"),
        (["--export=off", f"--output={tmp_path}"], "--export=off"),
        (["--export=on"], "--help"),
    ):
        done = msprof(*arguments)
        assert done.returncode == 1 and told in done.stderr and not done.stdout


def test_a_broken_recording_is_an_error(acl: ctypes.CDLL, tmp_path: Path) -> None:
    with recorded(acl, tmp_path):
        torch.relu(torch.randn(4).npu())
    (prof,) = tmp_path.glob("PROF_*")
    tasks = prof / "device_0" / "data" / "tasks.jsonl"
    whole = tasks.read_text()
    tasks.write_text(whole + '{"kind": 1, "na')  # the process was ended here
    assert msprof("--export=on", f"--output={prof}").returncode == 0
    tasks.write_text("nonsense\n" + whole)
    done = msprof("--export=on", f"--output={prof}")
    assert done.returncode == 1 and f"{tasks}, line 1" in done.stderr


def test_export_and_analysis_by_torch_npu(run_sim: Callable[..., Any], tmp_path: Path) -> None:
    """A database alone, in a process of its own: torch_npu forks for it, and keeps what it was told last."""
    done = run_sim(f"""
import torch, torch_npu
P = torch_npu.profiler
x = torch.randn(8).npu()
config = P._ExperimentalConfig(profiler_level=P.ProfilerLevel.Level2, export_type=P.ExportType.Db)
handler = P.tensorboard_trace_handler({str(tmp_path)!r})
with P.profile(activities=[P.ProfilerActivity.CPU, P.ProfilerActivity.NPU], experimental_config=config,
               on_trace_ready=handler, record_shapes=True, with_stack=True, profile_memory=True) as profiler:
    torch.relu(x)
    profiler.step()
""")
    found = list(tmp_path.rglob("ascend_pytorch_profiler.db"))
    assert len(found) == 1, done.stdout + done.stderr
    database = sqlite3.connect(found[0])
    names = {name for (name,) in database.execute("SELECT value FROM STRING_IDS")}
    tasks = database.execute("SELECT count(*) FROM TASK").fetchone()
    database.close()
    assert {"aclnnRelu", "aten::relu"} <= names and tasks == (1,), done.stdout + done.stderr
    assert "no AI core counters" in done.stderr and "details of AI CPU operators" in done.stderr
