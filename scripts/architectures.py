#!/usr/bin/env python3
"""Train a small model of every architecture that a library publishes on the simulated Ascend, and compare with the CPU.

usage: scripts/architectures.py LIBRARY… [--way training] [--only NAME …] [--every N] [--again] [--jobs N] [--into PAGE]

LIBRARY is timm, torchvision or transformers. scripts/architectures/makers.py makes the models by rules: the smallest of
each family, or one whose sizes are made small, with random weights and no dropout. --way says what is done with each:
  training   a forward and a backward pass in float32; what it gives and all gradients are compared with the CPU's
  bfloat16   the same in bfloat16, compared with the CPU's float32
  graph      a forward pass as a graph of torchair, compared with eager mode on the device
A model is equal if each of its tensors is as close as the worker's numbers say. Of the others,
scripts/architectures.txt has the reasons that somebody found; what is not there is open.

The libraries are installed beside torch and torch_npu in an environment of their own, in WORK, as scripts/clients.sh
does; each model runs in a process that goes on to the next. WORK keeps what became of each, which does not run again
without --again. --into puts the table between the marks of a page. Exit status: 1 if one is open.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent / "clients"))
import env
import marked
from device_tests_report import reasons

from ophook_npu import sim
from ophook_npu.sim import variables

HERE = Path(__file__).resolve().parent
PACKAGES = {
    "timm": ["timm==1.0.31", "torchvision==0.28.0"],
    "torchvision": ["torchvision==0.28.0"],
    "transformers": ["transformers==5.24.0", "torchvision==0.28.0"],
}
WAYS = ("training", "bfloat16", "graph")  # as the worker has them
WORKER, REASONS = HERE / "architectures" / "worker.py", HERE / "architectures.txt"
Result = dict[str, Any]


class Worker:
    """A process that runs one model after the other."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log.open("a"), text=True, env=environment
        )
        self.answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        if self.answers.get(timeout=300) != "ready\n":
            raise RuntimeError(f"{' '.join(command)} does not begin: {log}")

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put("")

    def ask(self, name: str, seconds: int) -> Result | None:
        """None where the process has ended, by itself or because this took too long."""
        assert self.process.stdin
        try:
            print(name, file=self.process.stdin, flush=True)
            answer = self.answers.get(timeout=seconds)
        except (queue.Empty, BrokenPipeError):
            answer = ""
        if not answer:
            self.process.kill()
        return json.loads(answer) if answer else None


def names_of(command: list[str], environment: dict[str, str]) -> list[str]:
    done = subprocess.run([*command, "--names"], stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def results(
    names: list[str], command: list[str], environment: dict[str, str], log: Path, jobs: int, seconds: int
) -> Iterator[Result]:
    todo: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[Result] = queue.SimpleQueue()
    for name in [*names, *[None] * jobs]:
        todo.put(name)

    def work() -> None:
        worker = None
        while name := todo.get():
            worker = worker or Worker(command, environment, log)
            result = worker.ask(name, seconds)
            done.put(result or {"name": name, "state": "ends", "said": f"status {worker.process.wait()}"})
            # Behind an error torch_npu's queue drops what comes, and says nothing.
            if not result or result["state"] == "stops":
                worker.process.kill()
                worker = None
        if worker:
            worker.process.kill()

    for _ in range(jobs):
        threading.Thread(target=work, daemon=True).start()
    for _ in names:
        yield done.get(timeout=seconds + 400)


def reason(result: Result) -> tuple[str, str]:
    said = f"{result['name']} {result['state']} {result.get('said') or result.get('where', '')}"
    return next(((of, why) for of, pattern, why in reasons(REASONS) if re.search(pattern, said)), ("open", said[:200]))


def table(found: dict[str, dict[str, list[Result]]]) -> str:
    """The rows of libraries and ways, then why models stop or differ."""
    lines = ["| library | way | tried | made | equal | others |", "|---|---|---:|---:|---:|---:|"]
    why: dict[tuple[str, str], list[str]] = {}
    for library, ways in found.items():
        for way, of in ways.items():
            made = [one for one in of if one["state"] != "not made"]
            others = [one for one in made if one["state"] != "equal"]
            count = len(made) - len(others)
            lines.append(f"| {library} | {way} | {len(of)} | {len(made)} | {count} | {len(others)} |")
            for one in others:
                why.setdefault(reason(one), []).append(f"`{one['name']}`" + (f" ({way})" if way != WAYS[0] else ""))
    lines += ["", "| | why | models |", "|---|---|---|"]
    lines += [f"| {of} | {text} | {', '.join(names)} |" for (of, text), names in sorted(why.items())]
    return "\n".join(lines)


def read(log: Path) -> dict[str, Result]:
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    return {one["name"]: one for one in map(json.loads, lines)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", choices=sorted(PACKAGES), metavar="LIBRARY")
    parser.add_argument("--way", choices=WAYS, action="append")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each n-th architecture")
    parser.add_argument("--again", action="store_true", help="run what has a result in WORK, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=int, default=300, help="seconds for a model")
    parser.add_argument("--work", type=Path, default=HERE.parent / "build" / "architectures")
    parser.add_argument(
        "--venv", type=Path, default=Path(sys.prefix), help="what has torch, torch_npu and this package"
    )
    parser.add_argument("--into", type=Path, metavar="PAGE")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    chosen = variables.environment(sim.build(), memory=16 << 30)
    found: dict[str, dict[str, list[Result]]] = {}
    for library in options.libraries:
        venv = env.make(library, PACKAGES[library], [], options.venv, options.work, options.work / f"{library}.pip.log")
        environment = env.environ(venv, options.work, None)
        variables.apply(environment, chosen)
        environment["OMP_NUM_THREADS"] = "1"
        command = [str(venv / "bin" / "python"), str(WORKER), library]
        names = options.only or names_of(command, environment)[:: options.every]
        for way in options.way or WAYS:
            log = options.work / f"{library}.{way}.jsonl"
            before = read(log)
            todo = [name for name in names if options.again or name not in before]
            stderr = log.with_suffix(".log")
            for one in results(todo, [*command, way], environment, stderr, options.jobs, options.limit):
                before[one["name"]] = one
                print(f"{library} {way} {one['name']}: {one['state']} {one.get('said', '')[:200]}", flush=True)
                with log.open("a") as lines:
                    lines.write(json.dumps(one) + "\n")
            found.setdefault(library, {})[way] = [before[name] for name in names]
    text = table(found)
    print(text)
    if options.into:
        marked.replace(options.into, "<!-- architectures -->", "<!-- end -->", text)
    return int("| open |" in text)


if __name__ == "__main__":
    sys.exit(main())
