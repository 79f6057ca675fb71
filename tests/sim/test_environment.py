"""CANN's environment variables: its log, and who is told of what does nothing here."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu import sim

SOURCES = Path(sim.__file__).parent.parent
SCRIPTS = SOURCES.parent / "scripts"
LINE = re.compile(
    r"\[(INFO|WARNING|ERROR)\] (RUNTIME|APP)\(\d+,python[\d.]*\):\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{3}\.\d{3} "
    r"\[([^]]+)\](.*)"
)
PROGRAM = f"""
import ctypes, sys
acl = ctypes.CDLL("{sim.active() or Path()}/lib64/libascendcl.so")
assert acl.aclInit(None) == 0 and acl.aclrtSetDevice(0) == 0
assert acl.aclrtSetDevice(7) == 107001
acl.aclAppLog(1, b"main", b"src/a.cpp", 12, b"half %d", 50)
for _ in range(int(sys.argv[1])):
    acl.aclAppLog(3, b"main", b"src/a.cpp", 13, b"%s", b"x" * 2000)
"""


def run(lines: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND_")}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(lines)], capture_output=True, text=True, env=clean | environment, timeout=60
    )
    assert result.returncode == 0, result.stderr
    return result


def test_errors_go_to_the_folder_that_is_told(tmp_path: Path) -> None:
    for variables, folder in (
        ({"ASCEND_WORK_PATH": str(tmp_path / "work")}, tmp_path / "work" / "log"),
        ({"ASCEND_WORK_PATH": "/", "ASCEND_PROCESS_LOG_PATH": str(tmp_path / "own")}, tmp_path / "own"),
    ):
        assert run(**variables).stdout == ""
        (file,) = (folder / "debug" / "plog").iterdir()
        assert re.fullmatch(r"plog-\d+_\d{17}\.log", file.name)
        found = [LINE.fullmatch(line) for line in file.read_text().splitlines()]
        assert [one and one.groups() for one in found] == [
            ("ERROR", "RUNTIME", "simulated Ascend", "aclrtSetDevice: no device 7; this machine simulates 1 (0 to 0)")
        ]


@pytest.mark.parametrize(
    ("variables", "kinds"),
    [
        ({}, {"ERROR RUNTIME"}),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "1"}, {"ERROR RUNTIME", "INFO APP"}),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "4"}, set()),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "5"}, {"ERROR RUNTIME"}),  # not allowed: as if it were not set
        ({"ASCEND_MODULE_LOG_LEVEL": "APP=1:RUNTIME=4"}, {"INFO APP"}),
        ({"ASCEND_MODULE_LOG_LEVEL": "APP=1: RUNTIME=4"}, {"ERROR RUNTIME"}),
    ],
)
def test_levels_choose_what_is_printed(variables: dict[str, str], kinds: set[str], tmp_path: Path) -> None:
    printed = run(ASCEND_LOG_PRINT_TO_STDOUT="1", ASCEND_PROCESS_LOG_PATH=str(tmp_path / "none"), **variables).stdout
    found = [LINE.fullmatch(line) for line in printed.splitlines()]
    assert {f"{one[1]} {one[2]}" for one in found if one} == kinds and None not in found
    assert ("INFO APP" in kinds) == ("[a.cpp:12]main half 50" in printed) and not (tmp_path / "none").exists()


def test_tasks_are_told_of_at_the_level_of_information(tmp_path: Path) -> None:
    program = "import torch, torch_npu; print((torch.ones(4).npu() + 1).sum().item())"
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=os.environ | {"ASCEND_PROCESS_LOG_PATH": str(tmp_path), "ASCEND_GLOBAL_LOG_LEVEL": "1"},
        timeout=120,
    )
    assert result.stdout == "8.0\n", result.stderr
    (file,) = (tmp_path / "debug" / "plog").iterdir()
    told = re.findall(r"task (\w+) on stream \d+ of device 0$", file.read_text(), re.M)
    assert [name for name in told if name.startswith("aclnn")][-2:] == ["aclnnAdds", "aclnnReduceSum"], told


def test_files_of_20_megabytes_of_which_few_stay(tmp_path: Path) -> None:
    run(11000, ASCEND_PROCESS_LOG_PATH=str(tmp_path), ASCEND_HOST_LOG_FILE_NUM="1")
    (file,) = (tmp_path / "debug" / "plog").iterdir()
    assert 0 < file.stat().st_size < 4 << 20


def test_a_folder_that_cannot_be_written_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "debug").write_text("a file")
    told = run(5, ASCEND_PROCESS_LOG_PATH=str(tmp_path)).stderr
    assert told.count("the log: ") == 1 and f"{tmp_path}/debug/plog" in told and "Not a directory" in told


def test_who_sets_what_does_nothing_here_is_told() -> None:
    told = run(DUMP_GE_GRAPH="2", NPU_COLLECT_PATH="", PROFILING_MODE="false", TE_PARALLEL_COMPILER="8").stderr
    assert [line for line in told.splitlines() if "simulated Ascend" in line] == [
        "[WARNING] [simulated Ascend] DUMP_GE_GRAPH=2: no graphs are written; torchair's config.debug.graph_dump "
        "writes the graph that torchair made (docs/environment.md)"
    ]


def test_the_page_has_the_variables_of_the_sources_and_those_are_read() -> None:
    done = subprocess.run([sys.executable, str(SCRIPTS / "environment.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(SCRIPTS))
    try:
        variables = runpy.run_path(str(SCRIPTS / "environment.py"))["variables"]()
    finally:
        sys.path.remove(str(SCRIPTS))
    sources = [path for form in ("*.cpp", "*.h", "*.py") for path in SOURCES.rglob(form)]
    texts = "\n".join(path.read_text() for path in sources)
    unread = [name for name, state, *_ in variables if state == "read" and f'"{name}"' not in texts]
    wrong = [name for name, state, *_ in variables if state != "read" and f'getenv("{name}")' in texts]
    assert not unread and not wrong and len(variables) > 40, (unread, wrong)
