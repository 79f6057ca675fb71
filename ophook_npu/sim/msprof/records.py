"""What libmsprofiler recorded (csrc/msprof/recorder.h), read, with times of the wall clock and CANN's names."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ABSENT = "N/A"
NO_MODEL = 0xFFFFFFFF
# Bits of aclprofCreateConfig's dataTypeConfig (acl_prof.h).
_TASK_TIME = 0x0002 | 0x2000 | 0x4000 | 0x8000
_OTHER, _OPERATOR, _COMMUNICATION = range(3)

_TYPES = {
    "aclrtMemcpyAsync": "MEMCPY_ASYNC",
    "MemcpyH2D": "MEMCPY_ASYNC",
    "MemcpyD2D": "MEMCPY_ASYNC",
    "aclrtMemsetAsync": "MEMSET_ASYNC",
    "event record": "EVENT_RECORD",
    "event wait": "EVENT_WAIT",
    "event reset": "EVENT_RESET",
    "aclrtLaunchHostFunc": "CALLBACK",
    "aclrtLaunchCallback": "CALLBACK",
    "aclrtValueWrite": "WRITE_VALUE",
    "aclrtValueWait": "WAIT_VALUE",
}
_COLLECTIVES = {"HcclRecv": "receive", "HcclAlltoAll": "alltoall", "HcclAlltoAllV": "alltoallv"}
_DTYPES = {
    0: "FLOAT", 1: "FLOAT16", 2: "INT8", 3: "INT32", 4: "UINT8", 6: "INT16", 7: "UINT16", 8: "UINT32", 9: "INT64",
    10: "UINT64", 11: "DOUBLE", 12: "BOOL", 16: "COMPLEX64", 17: "COMPLEX128", 27: "DT_BF16", 29: "INT4",
    33: "COMPLEX32", 34: "HIFLOAT8", 35: "FLOAT8_E5M2", 36: "FLOAT8_E4M3FN",
}  # fmt: skip


class Unreadable(Exception):
    """A recording that cannot be read, and why."""


@dataclass
class Task:
    """One task of a stream. Times are nanoseconds of the wall clock."""

    device: int
    stream: int
    number: int
    model: int
    connection: int
    launched: int
    thread: int
    begin: int
    end: int
    name: str
    type: str
    core: str
    group: str = ""
    shapes: tuple[str, str] = (ABSENT, ABSENT)
    dtypes: tuple[str, str] = (ABSENT, ABSENT)

    @property
    def computes(self) -> bool:
        return self.core == "AI_CORE"

    @property
    def communicates(self) -> bool:
        return self.core == "COMMUNICATION"


@dataclass
class ApiCall:
    """One call of the host."""

    level: str
    name: str
    connection: int
    thread: int
    begin: int
    end: int


@dataclass
class Recording:
    folder: Path
    pid: int
    soc: str
    detailed: bool
    """Types, shapes and data types were asked for: from Level1 on."""
    begin: int
    end: int
    devices: list[int] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    calls: list[ApiCall] = field(default_factory=list)


def read(folder: Path) -> Recording:
    """Everything below a folder ``PROF_…``. Raises Unreadable."""
    sample = _json(folder / "host" / "sample.json")
    start = _json(folder / "host" / "start_info")
    ahead = int(start["collectionTimeBegin"]) * 1000 - int(start["clockMonotonicRaw"])
    end_info = folder / "host" / "end_info"
    recording = Recording(
        folder,
        pid=int(sample["pid"]),
        soc=str(sample["soc"]),
        detailed=bool(int(sample["dataTypeConfig"]) & _TASK_TIME),
        begin=int(start["collectionTimeBegin"]) * 1000,
        end=int(_json(end_info)["collectionTimeEnd"]) * 1000 if end_info.exists() else 0,
    )
    for own in sorted(folder.glob("device_*")):
        device = int(own.name.rpartition("_")[2])
        recording.devices.append(device)
        recording.tasks += [_task(device, line, ahead) for line in _lines(own / "data" / "tasks.jsonl")]
    recording.tasks.sort(key=lambda task: (task.device, task.begin))
    _name_collectives(recording.tasks)
    for line in _lines(folder / "host" / "data" / "calls.jsonl"):
        times = line["begin"] + ahead, line["end"] + ahead
        recording.calls.append(ApiCall(line["level"], line["name"], line["connection"], line["thread"], *times))
    recording.calls.sort(key=lambda call: call.begin)
    return recording


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path}: {error}") from error
    if not isinstance(found, dict):
        raise Unreadable(f"{path}: not what libmsprofiler writes")
    return found


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        text = path.read_text()
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path}: {error}") from error
    whole, _, _ = text.rpartition("\n")  # the process may have ended within a line
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            yield json.loads(line)
        except ValueError as error:
            raise Unreadable(f"{path}, line {number}: {error}") from error


def _task(device: int, line: dict[str, Any], ahead: int) -> Task:
    name, kind = line["name"], line["kind"]
    type_ = line.get("type") or name
    core = {_OPERATOR: "AI_CORE", _COMMUNICATION: "COMMUNICATION"}.get(kind) or _TYPES.get(name, "OTHER")
    told = Task(
        device,
        line["stream"],
        line["task"],
        line["model"],
        line["connection"],
        line["launched"] + ahead if line["connection"] else 0,
        line["thread"],
        line["begin"] + ahead,
        line["end"] + ahead,
        name=name if kind == _OPERATOR else core,
        type=type_[5:] if type_.startswith("aclnn") else type_,
        core=core,
    )
    if kind == _OPERATOR:
        told.name = line.get("node") or type_
        sides = line.get("in", []), line.get("out", [])
        told.shapes = _shapes(sides[0]), _shapes(sides[1])
        told.dtypes = _dtypes(sides[0]), _dtypes(sides[1])
    elif kind == _COMMUNICATION:
        plain = name[4:]
        told.type = f"hcom_{_COLLECTIVES.get(name, plain[0].lower() + plain[1:])}_"
        told.group = line.get("node", "")
    else:
        told.type = core
    return told


def _shapes(tensors: list[list[int]]) -> str:
    return '"' + ";".join(",".join(map(str, tensor[1:])) for tensor in tensors) + '"' if tensors else ABSENT


def _dtypes(tensors: list[list[int]]) -> str:
    return ";".join(_DTYPES.get(tensor[0], str(tensor[0])) for tensor in tensors) if tensors else ABSENT


def _name_collectives(tasks: list[Task]) -> None:
    """As HCCL names them: the kind, three digits of the group, and which call of the group it is."""
    calls: Counter[str] = Counter()
    for task in tasks:
        if task.communicates:
            task.name = f"{task.type}_{zlib.crc32(task.group.encode()) % 1000:03d}_{calls[task.group]}_1"
            calls[task.group] += 1
