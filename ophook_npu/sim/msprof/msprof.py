"""The command line of msprof: the part of CANN's that makes files of a recording."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
import time
from datetime import datetime
from pathlib import Path

from . import database, records, summary, timeline

OUTPUT = "mindstudio_profiler_output"
HELP = """usage: msprof --export=on --output=DIR [--type=text|db]     timeline and tables of a recording
       msprof --analyze=on --output=DIR [--type=text|db]    of a recording with collectives: refused, see below
       msprof --help

DIR is a folder PROF_…, as aclprofStart makes it (torch_npu.profiler does), or one that has such folders in it.
  --type=text   msprof_*.json and *.csv in DIR/mindstudio_profiler_output (the default)
  --type=db     DIR/msprof_*.db

This is the msprof of the simulated Ascend (ophook-npu). Names and times are of tasks that its streams ran. It records
no program by itself (--application), and has no counters: no AI core metrics, caches, links or bandwidth.
"""


class Refused(Exception):
    """What msprof does not do, and why."""


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0, or 1 with a line on stderr."""
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except (Refused, records.Unreadable, OSError, KeyError, TypeError, ValueError) as problem:
        what = problem if isinstance(problem, (Refused, records.Unreadable, OSError)) else repr(problem)
        print(f"msprof (simulated Ascend): {what}", file=sys.stderr)
        return 1


def _run(arguments: list[str]) -> int:
    if not arguments or arguments in (["--help"], ["-h"]):
        print(HELP, end="")
        return 0
    options = _options(arguments)
    kind = options.pop("type", "text")
    output = options.pop("output", None)
    if output is None or not options or kind not in ("text", "db"):
        raise Refused("`msprof --help` lists what is simulated")
    for folder in _recordings(Path(output)):
        recording = records.read(folder)
        if "export" in options:
            (_text if kind == "text" else _database)(recording)
        if "analyze" in options:
            _analyze(recording)
    return 0


def _options(arguments: list[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name not in ("--export", "--analyze", "--output", "--type"):
            raise Refused(f"{name} is not simulated; `msprof --help` lists what is")
        if not equals:
            value = rest.pop(0) if rest else ""
        options[name[2:]] = value
    for name in ("export", "analyze"):
        if options.get(name, "on") != "on":
            raise Refused(f"--{name}={options[name]}: only on is simulated")
    return options


def _recordings(folder: Path) -> list[Path]:
    if (folder / "host" / "sample.json").is_file():
        return [folder]
    found = sorted(path.parent.parent for path in folder.glob("PROF_*/host/sample.json"))
    if not found:
        raise Refused(f"{folder}: there is no recording of libmsprofiler")
    return found


def _text(recording: records.Recording) -> None:
    """All of it appears at once, under its name: torch_npu reads as soon as there is a table."""
    now = datetime.now().strftime("%Y%m%d%H%M%S")
    output = recording.folder / OUTPUT
    making = recording.folder / f".{OUTPUT}-{os.getpid()}"
    making.mkdir()
    try:
        (making / f"msprof_{now}.json").write_text(json.dumps(timeline.events(recording)))
        tables = summary.tables(recording)
        # Who waits for a table must not wait for ever.
        for name, (header, rows) in (tables or {"op_summary": (["Device_id"], [])}).items():
            with (making / f"{name}_{now}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(header)
                writer.writerows(rows)
        shutil.rmtree(output, ignore_errors=True)
        making.rename(output)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    _told(recording, output)


def _database(recording: records.Recording) -> None:
    path = recording.folder / f"msprof_{datetime.now():%Y%m%d%H%M%S}.db"
    making = path.with_suffix(f".{os.getpid()}")
    try:
        database.write(recording, making)
        making.rename(path)
    finally:
        making.unlink(missing_ok=True)
    _told(recording, path)


def _told(recording: records.Recording, where: Path) -> None:
    # torch_npu looks for the files every 0.1 s while this program runs, and gives up when it has ended.
    time.sleep(1)
    print(f"{where}: tasks: {len(recording.tasks)}, calls: {len(recording.calls)}")
    if not recording.tasks:
        print(f"msprof (simulated Ascend): {recording.folder}: no task ran while it was recorded", file=sys.stderr)


def _analyze(recording: records.Recording) -> None:
    if any(task.communicates for task in recording.tasks):
        raise Refused(
            "--analyze: which links a collective took, and how long it waited, is not recorded: no communication.json"
        )


if __name__ == "__main__":
    sys.exit(main())
