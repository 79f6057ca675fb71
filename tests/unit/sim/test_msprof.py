"""msprof of the simulated Ascend, over recordings written here: collectives, overlap, devices, what is refused."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ophook_npu.sim.msprof import msprof, records, timeline

AHEAD = 1_700_000_000_000_000_000  # of the clock of the day, before the other
SCRIPT = Path(msprof.__file__).with_name("msprof.sh")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(msprof.time, "sleep", lambda seconds: None)


def task(kind: int, name: str, begin: int, end: int, **more: object) -> dict[str, object]:
    known = {"kind": kind, "stream": 0, "task": begin, "model": records.NO_MODEL, "connection": begin, "thread": 7}
    return {**known, "launched": begin - 5, "begin": begin, "end": end, "failed": 0, "name": name, **more}


def recording(folder: Path, tasks: dict[int, list[dict[str, object]]], data: int = 3) -> Path:
    prof = folder / "PROF_000001_20260101000000000_ABCDEFGHIJKLMNOP"
    (prof / "host" / "data").mkdir(parents=True)
    sample = {"devices": list(tasks), "dataTypeConfig": data, "aicoreMetrics": 255, "pid": 42, "soc": "Ascend910B4"}
    (prof / "host" / "sample.json").write_text(json.dumps(sample))
    start = {"collectionTimeBegin": str(AHEAD // 1000), "clockMonotonicRaw": "0"}
    (prof / "host" / "start_info").write_text(json.dumps(start))
    every = [each for several in tasks.values() for each in several]
    plain = {"level": "node", "name": "launch", "thread": 7}
    calls = [
        {**plain, "connection": each["connection"], "begin": each["launched"], "end": each["begin"]} for each in every
    ]
    (prof / "host" / "data" / "calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    for device, several in tasks.items():
        own = prof / f"device_{device}" / "data"
        own.mkdir(parents=True)
        (own / "tasks.jsonl").write_text("".join(json.dumps(each) + "\n" for each in several))
    return prof


def table(prof: Path, name: str) -> list[dict[str, str]]:
    (found,) = (prof / msprof.OUTPUT).glob(f"{name}_2*.csv")
    with found.open(newline="") as file:
        return list(csv.DictReader(file))


def events(prof: Path) -> list[dict[str, Any]]:
    (found,) = (prof / msprof.OUTPUT).glob("msprof_*.json")
    return list(json.loads(found.read_text()))


def exported(folder: Path, *more: str) -> None:
    assert msprof.main(["--export=on", f"--output={folder}", *more]) == 0


MIXED = [
    task(1, "aclnnAddmm", 1000, 3000, **{"in": [[1, 8, 16], [27]], "out": [[0, 8]]}),
    task(2, "HcclAllReduce", 2000, 4000, stream=1, node="a group"),
    task(2, "HcclRecv", 5000, 6000, stream=1, node="a group"),
    task(2, "HcclAllReduce", 6500, 6600, stream=1, node="another"),
    task(0, "event record", 6700, 6701),
    task(0, "aclrtMemcpyAsync", 6800, 6900),
]


def test_operators_and_collectives(tmp_path: Path) -> None:
    prof = recording(tmp_path, {0: MIXED})
    exported(prof)
    rows = table(prof, "op_summary")
    assert [row["OP Type"] for row in rows] == ["Addmm", "hcom_allReduce_", "hcom_receive_", "hcom_allReduce_"]
    first, reduce, receive, other = rows
    assert (first["Op Name"], first["Task Type"], first["Task Duration(us)"]) == ("aclnnAddmm", "AI_CORE", "2.0")
    assert first["Input Shapes"] == '"8,16;"' and first["Input Data Types"] == "FLOAT16;DT_BF16"
    assert first["Task Start Time(us)"] == f"{AHEAD // 1000 + 1}.000\t"
    group = reduce["Op Name"].split("_")[3]
    assert reduce["Op Name"] == f"hcom_allReduce__{group}_0_1" and receive["Op Name"] == f"hcom_receive__{group}_1_1"
    assert other["Op Name"].endswith("_0_1") and other["Op Name"] != reduce["Op Name"]
    assert (
        reduce["Task ID"] == "N/A" and reduce["Task Type"] == "COMMUNICATION" and receive["Task Wait Time(us)"] == "1.0"
    )
    kinds = [row["kernel_type"] for row in table(prof, "task_time")]
    assert kinds == ["KERNEL_AICORE", *["COMMUNICATION"] * 3, "EVENT_RECORD", "MEMCPY_ASYNC"]
    statistic = {row["OP Type"]: row for row in table(prof, "communication_statistic")}
    assert statistic["hcom_allReduce_"]["Count"] == "2" and statistic["hcom_allReduce_"]["Max Time(us)"] == "2.0"


def test_what_overlaps(tmp_path: Path) -> None:
    prof = recording(tmp_path, {0: MIXED})
    exported(prof)
    times: dict[str, list[tuple[float, float]]] = {}
    for event in events(prof):
        if "Analysis Type" in event.get("args", {}):
            begin = round((float(event["ts"][-8:]) % 1000) * 1000)
            times.setdefault(event["name"], []).append((begin, round(event["dur"] * 1000)))
    assert times == {
        "Computing": [(1000, 2000)],
        "Communication": [(2000, 2000), (5000, 1000), (6500, 100)],
        "Communication(Not Overlapped)": [(3000, 1000), (5000, 1000), (6500, 100)],
        "Free": [(4000, 1000), (6000, 500)],
    }


def test_intervals() -> None:
    assert timeline.merged([(5, 7), (1, 3), (3, 4), (6, 9)]) == [(1, 4), (5, 9)]
    assert timeline.without([(0, 10)], [(1, 2), (4, 6), (9, 12)]) == [(0, 1), (2, 4), (6, 9)]
    assert timeline.without([(0, 2), (5, 6)], [(0, 2)]) == [(5, 6)]


def test_rows_of_several_devices_and_flows(tmp_path: Path) -> None:
    prof = recording(tmp_path, {0: [task(1, "Add", 10, 20, node="add_1")], 3: MIXED})
    exported(tmp_path)  # the folder above
    found = events(prof)
    names = {event["pid"]: event["args"]["name"] for event in found if event["name"] == "process_name"}
    labels = {event["pid"]: event["args"]["labels"] for event in found if event["name"] == "process_labels"}
    assert sorted((names[pid], label) for pid, label in labels.items()) == [
        ("Ascend Hardware", "NPU 0"),
        ("Ascend Hardware", "NPU 3"),
        ("CANN", "CPU"),
        ("Communication", "NPU 3"),
        ("Overlap Analysis", "NPU 0"),
        ("Overlap Analysis", "NPU 3"),
    ]
    ends = [event for event in found if event["ph"] == "f"]
    assert len({event["id"] for event in ends}) == len(ends) == 1 + len(MIXED)
    assert [names[event["pid"]] for event in ends].count("Communication") == 3
    assert table(prof, "op_summary")[0]["Op Name"] == "add_1"


def test_level0_has_names_and_times(tmp_path: Path) -> None:
    prof = recording(tmp_path, {0: MIXED}, data=0x801)
    exported(prof)
    first, second = table(prof, "op_summary")[:2]
    assert (first["Op Name"], first["OP Type"], first["Input Shapes"]) == ("aclnnAddmm", "N/A", "N/A")
    assert second["OP Type"] == "hcom_allReduce_" and not list((prof / msprof.OUTPUT).glob("op_statistic*"))


def test_the_database(tmp_path: Path) -> None:
    prof = recording(tmp_path, {0: MIXED})
    exported(prof, "--type=db")
    (path,) = prof.glob("msprof_*.db")
    database = sqlite3.connect(path)
    query = "SELECT value, startNs, deviceId FROM COMMUNICATION_OP JOIN STRING_IDS ON id = opType ORDER BY startNs"
    assert database.execute(query).fetchone() == ("hcom_allReduce_", AHEAD + 2000, 0)
    assert database.execute("SELECT count(*), max(endNs) FROM TASK").fetchone() == (6, AHEAD + 6900)
    assert database.execute("SELECT count(*) FROM CANN_API WHERE type = 10000").fetchone() == (6,)
    database.close()


def test_an_analysis_of_collectives_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert msprof.main(["--analyze=on", f"--output={recording(tmp_path / 'a', {0: MIXED})}"]) == 1
    assert "no communication.json" in capsys.readouterr().err
    assert msprof.main(["--analyze=on", "--output", str(recording(tmp_path / "b", {0: MIXED[:1]}))]) == 0


@pytest.mark.parametrize("spoiled", ["host/sample.json", "host/start_info", "device_0/data/tasks.jsonl"])
def test_a_file_that_is_not_ours_is_named(tmp_path: Path, spoiled: str, capsys: pytest.CaptureFixture[str]) -> None:
    prof = recording(tmp_path, {0: MIXED})
    (prof / spoiled).write_text("[]\n")
    assert msprof.main(["--export=on", f"--output={prof}"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("msprof (simulated Ascend): ") and said.count("\n") == 1
    assert not (prof / msprof.OUTPUT).exists()


def test_the_program_runs_where_it_is_laid_out(tmp_path: Path) -> None:
    """As a link on PATH, with the modules next to it as CANN has them, and nothing else of Python's path."""
    modules = tmp_path / "profiler_tool" / "analysis"
    (tmp_path / "bin").mkdir()
    modules.mkdir(parents=True)
    (modules / "msprof").symlink_to(SCRIPT.parent)
    program = tmp_path / "bin" / "msprof"
    program.write_text(SCRIPT.read_text())
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    link = tmp_path / "msprof"
    link.symlink_to(program)
    done = subprocess.run(
        [link, "--help"], capture_output=True, text=True, timeout=60, env={"PATH": os.environ["PATH"]}
    )
    assert done.stdout == msprof.HELP and done.returncode == 0, done.stderr
