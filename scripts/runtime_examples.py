#!/usr/bin/env python3
"""Run the example programs of CANN's runtime repository over the simulated Ascend, by their own run scripts.

usage: scripts/runtime_examples.py TREE [--match WORD] [--jobs 2] [--devices N] [--logs DIR]

TREE is a checkout of the repository; its folder `example` is copied and nothing of it is kept. Each `run.sh` runs in a
shell after `eval "$(ophook-npu env)"`, as the repository's page says; a pair of `run_server.sh` and `run_client.sh`
counts as one program: each has a folder of its own, as on two machines, and the client begins when the server listens.
The table has a line for each: whether it ended with 0, in how many
seconds, and what it said last where it did not. --logs keeps all that they printed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_HERE = Path(__file__).resolve().parent.parent
_SAYS_WHY = re.compile(
    r"\[simulated Ascend\] (.*)|undefined reference to `(\w+)|((?:fatal )?error: .*|CMake Error.*|.*\[ERROR\].*)"
)
_DEVICES = 2  # some of them need two; a program that is for one uses the first
# What a person types, and the product of an interface that only one product has.
_TYPED = {"run_server.sh": "\n", "run_client.sh": "127.0.0.1\n\n"}
_PORT = 8888  # of the one server
_SOCS = {"cross_server": "Ascend910_9392"}


@dataclass(frozen=True)
class Outcome:
    name: str
    status: int
    seconds: float
    why: str


_SECOND = ".second"


def programs(examples: Path, match: str) -> Iterator[tuple[str, list[Path]]]:
    """Name and scripts of each program."""
    for folder in sorted({path.parent for path in examples.rglob("run*.sh")}):
        name = folder.relative_to(examples).as_posix()
        scripts = sorted(folder.glob("run*.sh"), reverse=True)  # a server before its client
        if match in name and not name.endswith(_SECOND):
            yield name, scripts


def environment(devices: int, soc: str = "") -> dict[str, str]:
    """A plain shell's, after the command that users type."""
    tool = Path(sys.executable).parent / "ophook-npu"
    command = f'eval "$({tool} env --devices {devices}{f" --soc {soc}" * bool(soc)})" && env -0'
    printed = subprocess.run(["bash", "-c", command], check=True, capture_output=True).stdout
    pairs = (entry.split("=", 1) for entry in printed.decode().split("\0") if "=" in entry)
    ours = {name: value for name, value in pairs if not name.startswith("BASH_FUNC_")}
    ours["PATH"] = f"{tool.parent}{os.pathsep}{ours['PATH']}"
    return ours | {"ASCEND_SLOG_PRINT_TO_STDOUT": "1", "OMP_NUM_THREADS": "1"}


def why(text: str) -> str:
    found = [next(group for group in one if group) for one in _SAYS_WHY.findall(text)]
    lines = text.strip().splitlines()
    return (found[0] if found else lines[-1] if lines else "")[:200].strip()


def run(name: str, scripts: list[Path], variables: dict[str, str], seconds: int) -> tuple[Outcome, str]:
    begun = time.monotonic()
    with ExitStack() as logs:
        return _run(
            name, scripts, variables, seconds, begun, [logs.enter_context(tempfile.TemporaryFile()) for _ in scripts]
        )


def _run(
    name: str, scripts: list[Path], variables: dict[str, str], seconds: int, begun: float, logs: list[IO[bytes]]
) -> tuple[Outcome, str]:
    running: list[tuple[subprocess.Popen[bytes], IO[bytes]]] = []
    for script, log in zip(scripts, logs, strict=True):
        folder = script.parent
        if running:
            folder = folder.with_name(folder.name + _SECOND)
            shutil.copytree(script.parent, folder, ignore=shutil.ignore_patterns("build", "file", "output*"))
            _listens(running[0][0], begun + seconds)
        process = subprocess.Popen(
            ["bash", script.name],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=variables,
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(_TYPED.get(script.name, "").encode())
        process.stdin.close()
        running.append((process, log))
    status = 0
    for process, _ in running:
        try:
            status = process.wait(max(1.0, seconds - (time.monotonic() - begun))) or status
        except subprocess.TimeoutExpired:
            status = 124
    text = ""
    for process, log in running:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.seek(0)
        text += log.read().decode(errors="replace")
    cause = "" if status == 0 else why(text)
    return Outcome(name, status, time.monotonic() - begun, cause), text


def _listens(server: subprocess.Popen[bytes], until: float) -> None:
    """Returns when the server's port is taken (what it prints is in a pipe), or it has ended, or has had its time."""
    while time.monotonic() < until and server.poll() is None:
        if f":{_PORT:04X} " in Path("/proc/net/udp").read_text():
            return
        time.sleep(0.2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, metavar="TREE")
    parser.add_argument("--match", default="", help="only programs with this in their names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--devices", type=int, default=_DEVICES)
    parser.add_argument("--timeout", type=int, default=300, help="seconds for a program")
    parser.add_argument("--logs", type=Path, help="a folder for what the programs print")
    options = parser.parse_args()

    variables = {soc: environment(options.devices, soc) for soc in ("", *_SOCS.values())}

    def one(program: tuple[str, list[Path]]) -> tuple[Outcome, str]:
        soc = next((soc for word, soc in _SOCS.items() if word in program[0]), "")
        return run(*program, variables[soc], options.timeout)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        examples = Path(folder) / "example"
        shutil.copytree(options.tree / "example", examples)
        shutil.copytree(options.tree / "pkg_inc", Path(folder) / "pkg_inc")  # one of them includes a header of it
        chosen = list(programs(examples, options.match))
        results = pool.map(one, chosen)
        outcomes = []
        for outcome, text in results:
            outcomes.append(outcome)
            print(f"| {outcome.name} | {outcome.status} | {outcome.seconds:.1f} | {outcome.why} |", flush=True)
            if options.logs:
                options.logs.mkdir(parents=True, exist_ok=True)
                (options.logs / f"{outcome.name.replace('/', '.')}.txt").write_text(text)
    passed = sum(outcome.status == 0 for outcome in outcomes)
    print(f"{passed} of {len(outcomes)} programs end with 0")
    return 0 if passed == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
