"""What the porting report costs: a training step on the simulated device with it, over the same step without.

    ophook-npu run -- benchmarks/port_overhead.py [--rounds 7] [--model llama] [--width 256]

Both take turns in one process; CPU time of all its threads is measured, and the fastest step of each compared: what
else runs on the machine can only add. Operators compute on one thread, as threads that wait for others count as busy.
The first step of a turn is not measured. The bar is 2. Prints; asserts nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import port_models
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


def seconds(step: Callable[[], None], steps: int) -> list[float]:
    step()
    took = []
    for _ in range(steps):
        start = time.process_time()
        step()
        took.append(time.process_time() - start)
    return took


def cost(name: str, rounds: int = 12, steps: int = 3) -> tuple[float, float]:
    """CPU seconds of a step without the report and with it: the fastest of each."""
    step = step_of(name)
    port = observe.Port(graph=False)
    step()
    with port:
        for _ in range(3):  # of the first two steps the allocator's history is kept
            step()
    without, under = [], []
    for _ in range(rounds):
        without += seconds(step, steps)
        with port:
            under += seconds(step, steps)
    port.remove()
    return min(without), min(under)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--model", default="llama", choices=MODELS)
    parser.add_argument("--width", type=int, help="instead of the models' own")
    given = parser.parse_args()
    port_models.WIDTH = given.width or port_models.WIDTH
    without, under = cost(given.model, given.rounds, given.steps)
    print(f"{given.model}: {1e3 * without:.1f} ms a step without, {1e3 * under:.1f} ms with the report")
    print(f"ratio {under / without:.2f} (the bar is 2)")


if __name__ == "__main__":
    main()
