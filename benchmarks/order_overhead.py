"""What the check of order costs: a training step with it, over the same step without, and memory in a long run.

    ophook-npu run -- benchmarks/order_overhead.py [--rounds 30] [--model pinned] [--json FILE]
    ophook-npu run --check-order -- benchmarks/order_overhead.py --memory 10000 [--model pinned]

Of `port_models.py`'s small models with AdamW, of a smaller perceptron on one stream, and of that one with batches from
pinned memory by a stream of its own ("pinned"; the host writes the memory anew after each step). With and without take
turns in one process; the CPU time of all its threads is measured, and the medians of the steps are compared. Operators
compute on one thread, as threads that wait count as busy, and torch_npu launches from Python's thread, as the
check needs it. The bars are 1.3, and 2 for "pinned".

The other figure is the memory of a checked process after a tenth of the steps, and at their end. Asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from statistics import median

os.environ |= {"TASK_QUEUE_ENABLE": "0", "OMP_NUM_THREADS": "1"}  # before torch is there

import torch
from port_models import MODELS
from port_overhead import step_of
from rich.console import Console
from rich.table import Table

from ophook_npu.sim import check_order

PLAIN = ("perceptron", "pinned")


def perceptron(pinned: bool) -> Callable[[], None]:
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).npu()
    optimizer = torch.optim.AdamW(model.parameters())
    here, batch = torch.randn(64, 256).pin_memory(), torch.randn(64, 256).npu()
    side, main = torch.npu.Stream(), torch.npu.current_stream()

    def step() -> None:
        x = batch
        if pinned:
            with torch.npu.stream(side):
                x = here.to("npu", non_blocking=True)
            main.wait_stream(side)
            x.record_stream(main)
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        torch.npu.synchronize()
        here.fill_(1)

    return step


def program(name: str) -> Callable[[], None]:
    return perceptron(name == "pinned") if name in PLAIN else step_of(name)


def costs(name: str, rounds: int, steps: int = 5) -> tuple[float, float]:
    """CPU milliseconds of a step without the check and with it."""
    step = program(name)
    found: tuple[list[float], list[float]] = ([], [])
    for turn in range(2 * rounds):
        checked = turn % 2
        with check_order() if checked else nullcontext() as races:
            for number in range(steps + 2):  # the first two of a turn are not counted
                began = time.process_time()
                step()
                if number > 1:
                    found[checked].append((time.process_time() - began) * 1e3)
        if races is not None and races.races:
            raise SystemExit(f"{name}: {races.races}")
    return median(found[0]), median(found[1])


def memory(name: str, steps: int) -> tuple[int, int]:
    """MiB of a process after a tenth of the steps, and at the end."""
    step, sizes = program(name), []
    for count in (steps // 10, steps - steps // 10):
        for _ in range(count):
            step()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        sizes.append(pages * os.sysconf("SC_PAGE_SIZE") >> 20)
    return sizes[0], sizes[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--model", action="append", choices=[*PLAIN, *MODELS], help="these only")
    parser.add_argument("--memory", type=int, default=0, metavar="STEPS")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.memory:
        for name in given.model or PLAIN:
            early, late = memory(name, given.memory)
            print(f"{name}: {early} MiB after {given.memory // 10} steps, {late} after {given.memory}")
        return
    table = Table("step", "unchecked, ms", "checked, ms", "ratio")
    ratios: dict[str, float] = {}
    for name in given.model or [*PLAIN, *MODELS]:
        off, on = costs(name, given.rounds)
        ratios[name] = round(on / off, 3)
        table.add_row(name, f"{off:.2f}", f"{on:.2f}", f"{on / off:.2f}")
    Console().print(table)
    if given.json:
        given.json.write_text(json.dumps(ratios, indent=1) + "\n")


if __name__ == "__main__":
    main()
