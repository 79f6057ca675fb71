"""``msprof_*.json``: calls of the host, tasks on their streams, communication, and how they overlap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .records import Recording, Task

Event = dict[str, Any]
Interval = tuple[int, int]
_HOST = 31  # where a device's number is in an identifier of a process
# Identifier of a process's row -> its name and what labels it.
_CANN, _HARDWARE, _COMMUNICATION, _OVERLAP = 7, 13, 14, 20
_NAMES = {
    _CANN: "CANN",
    _HARDWARE: "Ascend Hardware",
    _COMMUNICATION: "Communication",
    _OVERLAP: "Overlap Analysis",
}


def microseconds(ns: int) -> str:
    """Nanoseconds as microseconds with all digits, which a float of today's time has not."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def duration(begin: int, end: int) -> float:
    return (end - begin) / 1000


def events(recording: Recording) -> list[Event]:
    """Everything, in the Trace Event Format."""
    found = _host(recording)
    for device in recording.devices:
        tasks = [task for task in recording.tasks if task.device == device]
        found += _hardware(recording, device, tasks)
        found += _overlap(recording, device, tasks)
    return found


def _row(recording: Recording, row: int, device: int) -> int:
    return recording.pid << 10 | row << 5 | device


def _process(recording: Recording, row: int, device: int, threads: dict[int, str]) -> list[Event]:
    pid = _row(recording, row, device)
    label = "CPU" if device == _HOST else f"NPU {device}"

    def about(name: str, tid: int, key: str, value: object) -> Event:
        return {"name": name, "ph": "M", "pid": pid, "tid": tid, "args": {key: value}}

    found = [
        about("process_name", 0, "name", _NAMES[row]),
        about("process_labels", 0, "labels", label),
        about("process_sort_index", 0, "sort_index", row),
    ]
    for tid, name in threads.items():
        found += [about("thread_name", tid, "name", name), about("thread_sort_index", tid, "sort_index", tid)]
    return found


def _host(recording: Recording) -> list[Event]:
    pid = _row(recording, _CANN, _HOST)
    layer = {"acl": "AscendCL", "node": "Node"}
    found = _process(recording, _CANN, _HOST, {call.thread: f"Thread {call.thread}" for call in recording.calls})
    for call in recording.calls:
        args = {"Thread Id": call.thread, "level": call.level, "id": call.name, "connection_id": call.connection}
        found.append(
            {
                "name": f"{layer[call.level]}@{call.name}",
                "ph": "X",
                "pid": pid,
                "tid": call.thread,
                "ts": microseconds(call.begin),
                "dur": duration(call.begin, call.end),
                "args": args,
            }
        )
    return found


def _hardware(recording: Recording, device: int, tasks: list[Task]) -> list[Event]:
    streams = {task.stream: f"Stream {task.stream}" for task in tasks}
    groups = {group: n for n, group in enumerate(sorted({task.group for task in tasks if task.communicates}))}
    found = _process(recording, _HARDWARE, device, streams)
    if groups:
        rows = {n: f"Group {group} Communication" for group, n in groups.items()}
        found += _process(recording, _COMMUNICATION, device, rows)
    for task in tasks:
        args = {
            "Model Id": task.model,
            "Task Type": task.core,
            "Stream Id": task.stream,
            "Task Id": task.number,
            "connection_id": task.connection,
        }
        event: Event = {
            "name": task.name,
            "ph": "X",
            "pid": _row(recording, _HARDWARE, device),
            "tid": task.stream,
            "ts": microseconds(task.begin),
            "dur": duration(task.begin, task.end),
            "args": args,
        }
        found.append(event)
        if task.communicates:
            event = {**event, "pid": _row(recording, _COMMUNICATION, device), "tid": groups[task.group]}
            event["args"] = {"connection_id": task.connection, "model id": task.model}
            found.append(event)
        if task.connection:
            found += _flow(recording, task, event)
    return found


def _flow(recording: Recording, task: Task, to: Event) -> list[Event]:
    flow: Event = {"name": "HostToDevice", "cat": "HostToDevice"}
    flow["id"] = f"{task.connection}-{task.device}-{task.stream}-{task.number}"
    start = {"pid": _row(recording, _CANN, _HOST), "tid": task.thread, "ts": microseconds(task.launched)}
    end = {"pid": to["pid"], "tid": to["tid"], "ts": to["ts"]}
    return [{**flow, "ph": "s", **start}, {**flow, "ph": "f", "bp": "e", **end}]


def _overlap(recording: Recording, device: int, tasks: list[Task]) -> list[Event]:
    computing = merged((task.begin, task.end) for task in tasks if task.computes)
    communication = merged((task.begin, task.end) for task in tasks if task.communicates)
    busy = merged([*computing, *communication])
    if not busy:
        return []
    rows = {"Computing": computing, "Free": without([(busy[0][0], busy[-1][1])], busy)}
    if communication:
        rows["Communication"] = communication
        rows["Communication(Not Overlapped)"] = without(communication, computing)
    found = _process(recording, _OVERLAP, device, dict(enumerate(rows)))
    for tid, (name, spans) in enumerate(rows.items()):
        for begin, end in spans:
            place = {"pid": _row(recording, _OVERLAP, device), "tid": tid}
            times = {"ts": microseconds(begin), "dur": duration(begin, end)}
            found.append({"name": name, "ph": "X", **place, **times, "args": {"Analysis Type": name}})
    return found


def merged(spans: Iterable[Interval]) -> list[Interval]:
    """The spans in order, those that touch as one."""
    found: list[Interval] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found


def without(spans: list[Interval], taken: list[Interval]) -> list[Interval]:
    """What is in ``spans`` and not in ``taken``; both are merged."""
    found: list[Interval] = []
    first = 0  # of those taken that may still matter
    for begin, end in spans:
        while first < len(taken) and taken[first][1] <= begin:
            first += 1
        at = first
        while at < len(taken) and taken[at][0] < end:
            off, on = taken[at]
            if begin < off:
                found.append((begin, off))
            begin, at = on, at + 1
        if begin < end:
            found.append((begin, end))
    return found
