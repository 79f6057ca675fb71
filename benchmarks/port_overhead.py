"""What the porting report costs: a training step on the simulated device with it, over the same step without.

    ophook-npu run -- benchmarks/port_overhead.py [--rounds 7] [--model llama]

Both take turns in one process; CPU time of all its threads is measured, and the fastest round of each compared: what
else runs on the machine can only add. The bar is 2. Prints; asserts nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from port_models import MODELS

from ophook_npu import observe


def step_of(name: str) -> Callable[[], None]:
    model, inputs = MODELS[name]()
    model = model.to("npu").train()
    batch = {key: value.to("npu") for key, value in inputs.items()}
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        result: Any = model(**batch)
        getattr(result, "loss", result).backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.npu.synchronize()

    return step


def seconds(step: Callable[[], None], steps: int) -> float:
    start = time.process_time()
    for _ in range(steps):
        step()
    return (time.process_time() - start) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--model", default="llama", choices=MODELS)
    given = parser.parse_args()
    step = step_of(given.model)
    port = observe.Port(graph=False)
    step()
    with port:
        step()
    without, under = [], []
    for _ in range(given.rounds):
        without.append(seconds(step, given.steps))
        with port:
            under.append(seconds(step, given.steps))
    print(f"{given.model}: {1e3 * min(without):.1f} ms a step without, {1e3 * min(under):.1f} ms with the report")
    print(f"ratio {min(under) / min(without):.2f} (the bar is 2)")


if __name__ == "__main__":
    main()
