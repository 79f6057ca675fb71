"""What observing costs: µs on an 8-element add, next to a bare dispatch mode, and ratios on a training step.

    python benchmarks/observe_overhead.py [--rounds 15] [--layers 16] [--width 256] [--tokens 512] [--json FILE]
        [--plot FILE]

The step is forward and backward of a toy Llama. What Compare costs by itself is what its step takes less its
reference's own work: every compared operator once more in float64 on the CPU, with the copies that takes.

The candidates take turns, round by round, in one process of one thread. Its CPU time is measured, and the medians of
the rounds are compared.
"""

from __future__ import annotations

import argparse
import gc
import io
import json
import os
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from statistics import median
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from ophook_npu import observe
from ophook_npu.hooks import Call
from ophook_npu.observe._operators import uncompared, written

Context = Callable[[], AbstractContextManager[Any]]


class Bare(TorchDispatchMode):
    """The least a dispatch mode can do."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **kwargs) if kwargs else func(*args)


class Reference(TorchDispatchMode):
    """What Compare's reference costs by itself: the operators it compares once more in float64, with the copies."""

    def __init__(self) -> None:
        super().__init__()
        self.compare = observe.Compare()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        call = Call(func, args, kwargs or {})
        compared = uncompared(call) is None
        copies = self.compare._inputs(call, self.compare._copy) if compared and written(func) else None
        result = func(*args, **call.kwargs)
        if compared:
            self.compare._run(call, *(copies or self.compare._inputs(call, self.compare._copy)))
        return result


def digest() -> AbstractContextManager[Any]:
    return observe.Digest(to=os.devnull)


def debug_mode() -> AbstractContextManager[Any]:
    from torch.utils._debug_mode import DebugMode

    return DebugMode()


OPERATOR: dict[str, Context] = {
    "nothing": nullcontext,
    "bare mode": Bare,
    "Log to nowhere": lambda: observe.Log(to=None),
    "Log to memory": lambda: observe.Log(to=io.StringIO()),
    "Stats": observe.Stats,
    "Stats by module": lambda: observe.Stats(by_module=True),
    "Profile": observe.Profile,
    "Stats in C++": lambda: observe.Stats(via="record_function"),
    "Profile in C++": lambda: observe.Profile(via="record_function"),
    "Trace": lambda: observe.Trace(depth=4),
    "Validate": lambda: observe.Validate(mode="record"),
    "Compare": observe.Compare,
    "torch DebugMode": debug_mode,
}
STEP: dict[str, Context] = {
    "nothing": nullcontext,
    "bare mode": Bare,
    "Stats": observe.Stats,
    "Profile": observe.Profile,
    "Stats in C++": lambda: observe.Stats(via="record_function"),
    "Profile in C++": lambda: observe.Profile(via="record_function"),
    "Digest": digest,
    "Validate": lambda: observe.Validate(mode="record"),
    "Compare": observe.Compare,
    "its reference alone": Reference,
}


class Block(nn.Module):
    """A decoder layer in the manner of Llama: RMSNorm, attention, gated MLP."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        y = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


def training_step(layers: int, width: int, tokens: int) -> Callable[[], None]:
    torch.manual_seed(0)
    model = nn.Sequential(*(Block(width, width // 32) for _ in range(layers)))
    data = torch.randn(2, tokens // 2, width)

    def step() -> None:
        model.zero_grad()
        model(data).square().mean().backward()

    return step


def measure(candidates: dict[str, Context], work: Callable[[], None], rounds: int) -> dict[str, float]:
    """CPU seconds of ``work`` in the median round under each candidate. Contexts are made anew each round."""
    gc.collect()
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for number in range(rounds + 1):
        for name, make in candidates.items():
            with make():
                work()  # fills caches of the context
                gc.collect()  # what making the context left behind is not the work's
                start = time.process_time()
                work()
                took = time.process_time() - start
            if number:
                times[name].append(took)
    return {name: median(values) for name, values in times.items()}


def bars(operator: dict[str, float], step: dict[str, float]) -> list[tuple[str, float, float]]:
    """What is compared, the ratio, and what it may be at most."""
    bare, alone = operator["bare mode"], operator["nothing"]
    rows = [
        (f"{name} / bare mode, an add", operator[name] / bare, 1.25) for name in ("Log to nowhere", "Stats", "Profile")
    ]
    rows += [(f"{name} / unobserved add", operator[name] / alone, 1.5) for name in ("Stats in C++", "Profile in C++")]
    rows.append(("Compare less its reference / step", compare_alone(step) / step["nothing"], 4.0))
    rows += [(f"{name} / step", step[name] / step["nothing"], 2.0) for name in ("Stats", "Digest")]
    return rows


Costs = dict[str, float]


def costs(
    rounds: int, layers: int = 16, width: int = 256, tokens: int = 512, names: Collection[str] = ()
) -> tuple[Costs, Costs]:
    """µs of an add and seconds of a step under each candidate, or under those of ``names``."""
    torch.set_num_threads(1)
    x = torch.ones(8)
    calls = 300  # short enough that some rounds are not disturbed

    def adds() -> None:
        for _ in range(calls):
            torch.add(x, x)

    def chosen(candidates: dict[str, Context]) -> dict[str, Context]:
        return {name: make for name, make in candidates.items() if not names or name in names}

    operator = {name: t / calls * 1e6 for name, t in measure(chosen(OPERATOR), adds, rounds * 3).items()}
    return operator, measure(chosen(STEP), training_step(layers, width, tokens), max(3, rounds // 3))


def compare_alone(step: Costs) -> float:
    """What a step under Compare takes less what the reference takes, which was measured under a mode of its own."""
    return step["Compare"] - (step["its reference alone"] - step["bare mode"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=512, help="in a batch of two sequences")
    parser.add_argument("--json")
    parser.add_argument("--plot")
    options = parser.parse_args()
    operator, step = costs(options.rounds, options.layers, options.width, options.tokens)
    print(f"{'8-element add':20} {'µs':>8} {'x bare op':>10} {'x bare mode':>12}")
    for name, t in operator.items():
        print(f"{name:20} {t:8.2f} {t / operator['nothing']:10.2f} {t / operator['bare mode']:12.2f}")
    print(f"\n{f'step, {options.layers} layers':20} {'ms':>8} {'x step':>10}")
    for name, t in step.items():
        print(f"{name:20} {t * 1e3:8.1f} {t / step['nothing']:10.2f}")
    print("\nbars")
    for text, ratio, bar in bars(operator, step):
        print(f"  {ratio:5.2f}x (at most {bar:.2f}x: {'met' if ratio <= bar else 'missed'})  {text}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "operator_us": operator, "step_s": step}, file, indent=1)
    if options.plot:
        plot(operator, step, options.plot)


def plot(operator: dict[str, float], step: dict[str, float], path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4))
    axes[0].barh(list(operator), list(operator.values()))
    axes[0].set_xlabel("µs, 8-element add")
    axes[0].set_xscale("log")
    axes[1].barh(list(step), [value / step["nothing"] for value in step.values()])
    axes[1].set_xlabel("training step, ratio to unobserved")
    for axis in axes:
        axis.invert_yaxis()
    figure.tight_layout()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
