"""The tables that CANN documents as ``*.csv``. What a simulated device does not have is N/A."""

from __future__ import annotations

import statistics
from collections import defaultdict

from .records import ABSENT, Recording, Task
from .timeline import duration, microseconds

SummaryTable = tuple[list[str], list[list[object]]]


def tables(recording: Recording) -> dict[str, SummaryTable]:
    """Name of a file, without the time in it -> header and rows. Those without rows are not there."""
    found = {
        "op_summary": _operators(recording),
        "task_time": _tasks(recording),
        "op_statistic": _statistic(recording, [task for task in recording.tasks if task.computes], core=True),
        "communication_statistic": _statistic(recording, [task for task in recording.tasks if task.communicates]),
        "api_statistic": _calls(recording),
    }
    return {name: table for name, table in found.items() if table[1]}


def _operators(recording: Recording) -> SummaryTable:
    header = ["Device_id", "Model ID", "Task ID", "Stream ID", "Op Name", "OP Type", "OP State", "Task Type"]
    header += ["Task Start Time(us)", "Task Duration(us)", "Task Wait Time(us)", "Block Num", "Mix Block Num"]
    header += ["HF32 Eligible", "Input Shapes", "Input Data Types", "Input Formats"]
    header += ["Output Shapes", "Output Data Types", "Output Formats", "Context ID"]
    rows: list[list[object]] = []
    before: dict[int, int] = {}
    for task in recording.tasks:
        if not (task.computes or task.communicates):
            continue
        known = recording.detailed or task.communicates
        place = [ABSENT, ABSENT] if task.communicates else [task.number, task.stream]
        waited = max(0, task.begin - before.get(task.device, task.begin))
        before[task.device] = max(task.end, before.get(task.device, 0))
        times = [microseconds(task.begin) + "\t", duration(task.begin, task.end), waited / 1000]
        row = [task.device, task.model, *place, task.name, task.type if known else ABSENT, ABSENT]
        row += [task.core if known else ABSENT, *times, ABSENT, ABSENT, ABSENT]
        rows.append([*row, *_tensors(recording, task, 0), *_tensors(recording, task, 1), ABSENT])
    return header, rows


def _tensors(recording: Recording, task: Task, side: int) -> list[str]:
    return [task.shapes[side], task.dtypes[side], ABSENT] if recording.detailed else [ABSENT, ABSENT, ABSENT]


def _tasks(recording: Recording) -> SummaryTable:
    header = ["Device_id", "kernel_name", "kernel_type", "stream_id", "task_id", "task_time(us)", "task_start(us)"]
    rows: list[list[object]] = []
    for task in recording.tasks:
        kernel = ("KERNEL_AICORE", task.name) if task.computes else (task.core, ABSENT)
        times = [duration(task.begin, task.end), microseconds(task.begin) + "\t", microseconds(task.end) + "\t"]
        rows.append([task.device, kernel[1], kernel[0], task.stream, task.number, *times])
    return [*header, "task_stop(us)"], rows


def _statistic(recording: Recording, tasks: list[Task], core: bool = False) -> SummaryTable:
    header = ["Device_id", "OP Type", *(["Core Type"] if core else []), "Count", "Total Time(us)", "Min Time(us)"]
    times: dict[tuple[int, str], list[float]] = defaultdict(list)
    if recording.detailed or not core:
        for task in tasks:
            times[task.device, task.type].append(duration(task.begin, task.end))
    total = sum(map(sum, times.values())) or 1
    rows: list[list[object]] = []
    for (device, type_), each in sorted(times.items(), key=lambda item: -sum(item[1])):
        name: list[object] = [device, type_, *(["AI_CORE"] if core else [])]
        rows.append([*name, len(each), *_spread(each), round(100 * sum(each) / total, 3)])
    return [*header, "Avg Time(us)", "Max Time(us)", "Ratio(%)"], rows


def _calls(recording: Recording) -> SummaryTable:
    header = ["Device_id", "Level", "API Name", "Time(us)", "Count", "Avg(us)", "Min(us)", "Max(us)", "Variance"]
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    for call in recording.calls:
        times[call.level, call.name].append(duration(call.begin, call.end))
    rows: list[list[object]] = []
    for (level, name), each in sorted(times.items(), key=lambda item: -sum(item[1])):
        total, least, average, most = _spread(each)
        variance = round(statistics.pvariance(each), 3)
        rows.append(["host", level, name, total, len(each), average, least, most, variance])
    return header, rows


def _spread(times: list[float]) -> list[float]:
    """Sum, least, average, most."""
    return [round(value, 3) for value in (sum(times), min(times), sum(times) / len(times), max(times))]
