"""Run AddCustom in eager mode and in compiled graphs, anew each time: what each mode found goes to LOGS/MODE.json, what
it printed to LOGS/MODE.log.

usage: ophook-npu run -- -m ophook_npu.demo.modes sim|npu LOGS [SCRIPTS]
SCRIPTS: a folder with programs of these names

On the simulator the programs are forks of one process, as many at once as there are cores: importing torch, torch_npu
and torchair takes as long as what they do with them. On an Ascend host each is started anew, one after the other:
nobody has tried what CANN's libraries do in a fork.
"""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from pathlib import Path

from ophook_npu import collector
from ophook_npu.demo.forked import run_to_the_end

SCRIPTS = Path(__file__).resolve().parent / "scripts"
GRAPHS = "test_ops_custom_register_in_graph.py"
PROGRAMS = {  # the longest first
    "torchair": [GRAPHS, "--mode", "torchair"],
    "eager": ["test_ops_custom.py"],
    "npugraph_ex": [GRAPHS, "--mode", "npugraph_ex"],
}


def start(arguments: list[str], mode: str, place: str, logs: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    with (logs / f"{mode}.log").open("w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    arguments = [*arguments, "--json", str(logs / f"{mode}.json")]
    if place == "npu":
        os.execv(sys.executable, [sys.executable, *arguments])
    run_to_the_end(arguments)


def main(place: str, folder: str, scripts: str = str(SCRIPTS)) -> int:
    logs, at_once = Path(folder), 1
    programs = {mode: [str(Path(scripts, file)), *options] for mode, (file, *options) in PROGRAMS.items()}
    if place == "sim":
        at_once = min(len(os.sched_getaffinity(0)), len(PROGRAMS))
        os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0)) // at_once))
        with collector.not_in_forks():
            for module in ("torch", "torch_npu", "torchair", "ophook_npu.ops"):
                importlib.import_module(module)
    todo = list(programs)
    running: dict[int, str] = {}
    failed: dict[str, int] = {}
    while todo or running:
        if todo and len(running) < at_once:
            mode = todo.pop(0)
            running[start(programs[mode], mode, place, logs)] = mode
            continue
        pid, status = os.wait()
        if pid not in running:
            continue  # a child of whoever called this
        mode = running.pop(pid)
        if status:
            failed[mode] = os.waitstatus_to_exitcode(status)
    for mode in sorted(programs, key=lambda mode: mode in failed):  # what a reader of the end looks for comes last
        print((logs / f"{mode}.log").read_text(errors="replace"), end="")
    for mode, code in failed.items():
        print(f"{mode} ended with {code}; alone: ophook-npu run -- {shlex.join(programs[mode])}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
