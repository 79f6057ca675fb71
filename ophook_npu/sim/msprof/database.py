"""``msprof_*.db``: the same in the tables that CANN documents. Times are nanoseconds."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from .records import ABSENT, NO_MODEL, Recording

_LEVELS = {"acl": 20000, "node": 10000}
_TABLES = {
    "STRING_IDS": "id INTEGER, value TEXT",
    "SESSION_TIME_INFO": "startTimeNs INTEGER, endTimeNs INTEGER",
    "NPU_INFO": "id INTEGER, name TEXT",
    "ENUM_API_TYPE": "id INTEGER, name TEXT",
    "TASK": "startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, "
    "globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER",
    "COMPUTE_TASK_INFO": "name INTEGER, globalTaskId INTEGER, blockNum INTEGER, mixBlockNum INTEGER, "
    "taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER, "
    "outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER, attrInfo INTEGER, opState INTEGER, "
    "hf32Eligible INTEGER",
    "COMMUNICATION_OP": "opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER, "
    "opId INTEGER, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER, count NUMERIC, opType INTEGER, "
    "deviceId INTEGER",
    "CANN_API": "startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER, name INTEGER",
}


class _Strings:
    """Each text once, by a number."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.known.setdefault(text, len(self.known))


def write(recording: Recording, path: Path) -> None:
    """All tables; those that nothing was recorded for are empty, but COMMUNICATION_OP, which is then not there."""
    string = _Strings()
    rows: dict[str, list[Sequence[object]]] = {name: [] for name in _TABLES}
    rows["SESSION_TIME_INFO"] = [(recording.begin, recording.end or None)]
    rows["NPU_INFO"] = [(device, recording.soc) for device in recording.devices]
    rows["ENUM_API_TYPE"] = [(number, name) for name, number in _LEVELS.items()]
    absent = string(ABSENT)
    for number, task in enumerate(recording.tasks):
        connection = task.connection or NO_MODEL
        times = task.begin, task.end, task.device, connection, number, recording.pid
        rows["TASK"].append((*times, string(task.core), NO_MODEL, task.stream, task.number, task.model))
        if task.computes:
            known = [task.core, task.type] if recording.detailed else [ABSENT, ABSENT]
            sides = [
                (task.dtypes[side], task.shapes[side]) if recording.detailed else (ABSENT, ABSENT) for side in (0, 1)
            ]
            tensors = [string(text) for dtypes, shapes in sides for text in (ABSENT, dtypes, shapes)]
            about = string(task.name), number, None, None, *(string(text) for text in known)
            rows["COMPUTE_TASK_INFO"].append((*about, *tensors, absent, absent, absent))
        if task.communicates:
            about = string(task.name), task.begin, task.end, connection, string(task.group), number
            rows["COMMUNICATION_OP"].append((*about, None, None, None, absent, None, string(task.type), task.device))
    for call in recording.calls:
        thread = recording.pid << 32 | call.thread
        connection = call.connection or NO_MODEL
        rows["CANN_API"].append((call.begin, call.end, _LEVELS[call.level], thread, connection, string(call.name)))
    rows["STRING_IDS"] = [(number, text) for text, number in string.known.items()]
    if not rows["COMMUNICATION_OP"]:
        del rows["COMMUNICATION_OP"]
    connection_to = sqlite3.connect(path)
    try:
        for name, all_rows in rows.items():
            connection_to.execute(f"CREATE TABLE {name} ({_TABLES[name]})")
            places = ",".join("?" * (_TABLES[name].count(",") + 1))
            connection_to.executemany(f"INSERT INTO {name} VALUES ({places})", all_rows)
        connection_to.commit()
    finally:
        connection_to.close()
