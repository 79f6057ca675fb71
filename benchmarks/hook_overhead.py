"""What each mechanism costs: µs and ratio on a hooked operator, on one that is not hooked, and on a transformer step.

    python benchmarks/hook_overhead.py [--rounds 100] [--json FILE] [--plot FILE]

Everything is compared in one process: the candidates take turns, round by round, and the median of each is told. Next
to each stands a hand-written minimal version of the same mechanism.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from statistics import median
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

import ophook_npu

A = torch.randn(16, 16)
B = torch.randn(16, 16)
Context = Callable[[], AbstractContextManager[Any]]


class CountingMode(TorchDispatchMode):
    """The least a counting dispatch mode can be."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[Any] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.counts[func] += 1
        return func(*args, **(kwargs or {}))


class FunctionMode(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Override:
    """The least an override of mm can be: one kernel, registered and destroyed."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __enter__(self) -> Override:
        self.library = torch.library.Library("aten", "IMPL")
        self.library.impl("mm", self.function, "CPU")
        return self

    def __exit__(self, *exc: object) -> None:
        self.library._destroy()


def debug_mode() -> AbstractContextManager[Any]:
    from torch.utils._debug_mode import DebugMode  # torch >= 2.10

    return DebugMode()


def nothing(call: Any) -> None:
    pass


def add_instead(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.add(a, b)


def once(function: Callable[[], Any], seconds: float) -> float:
    """µs for each call, over about ``seconds``."""
    start = time.perf_counter()
    function()
    estimate = max(time.perf_counter() - start, 1e-7)
    count = max(1, int(seconds / estimate))
    start = time.perf_counter()
    for _ in range(count):
        function()
    return (time.perf_counter() - start) / count * 1e6


Times = dict[str, float]
"""For each candidate its µs."""


def compare(candidates: dict[str, tuple[Context, Callable[[], Any]]], rounds: int, seconds: float = 0.004) -> Times:
    """The candidates take turns, forwards and backwards."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for number in range(rounds):
        names = list(candidates)
        for name in names if number % 2 == 0 else reversed(names):
            context, function = candidates[name]
            with context():
                function()
                times[name].append(once(function, seconds))
    return {name: median(values) for name, values in times.items()}


def ratio(times: Times, candidate: str, reference: str) -> float:
    return times[candidate] / times[reference]


def hooked(**arguments: Any) -> Context:
    target = arguments.pop("target", "aten::mm")
    h = ophook_npu.hook(target, **arguments)
    return lambda: h


def operators(rounds: int) -> dict[str, Times]:
    mm, relu = (lambda: torch.mm(A, B)), (lambda: torch.relu(A))
    observe = {
        "none": nullcontext,
        "hand-written counting mode": CountingMode,
        "dispatch_mode": hooked(target="aten", before=nothing, via="dispatch_mode"),
        "dispatch_mode, mm only": hooked(before=nothing, via="dispatch_mode"),
        "impl_override, mm only": hooked(before=nothing, via="impl_override"),
        "custom_op, mm only": hooked(before=nothing, via="custom_op"),
        "empty TorchFunctionMode": FunctionMode,
        "flop_counter": lambda: FlopCounterMode(display=False),
        "DebugMode": debug_mode,
    }
    replace = {
        "hand-written override": lambda: Override(add_instead),
        "impl_override": hooked(replace=add_instead, via="impl_override", check="off"),
        "impl_override, checked": hooked(replace=add_instead, via="impl_override"),
        "dispatch_mode": hooked(replace=add_instead, via="dispatch_mode", check="off"),
        "custom_op": hooked(replace=add_instead, via="custom_op", check="off"),
    }
    return {
        "observed mm": compare({n: (c, mm) for n, c in observe.items()}, rounds),
        "relu, not hooked": compare({n: (c, relu) for n, c in observe.items()}, rounds),
        "replaced mm": compare({n: (c, mm) for n, c in replace.items()}, rounds),
    }


def step(rounds: int) -> dict[str, Times]:
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    x = torch.randn(8, 32, 64)

    def train() -> None:
        model(x).sum().backward()
        model.zero_grad()

    observe = {
        "none": nullcontext,
        "hand-written counting mode": CountingMode,
        "dispatch_mode": hooked(target="aten", before=nothing, via="dispatch_mode"),
        "impl_override, mm only": hooked(before=nothing, via="impl_override"),
        "module_hook, all Linear": hooked(target=torch.nn.Linear, before=nothing, via="module_hook"),
        "flop_counter": lambda: FlopCounterMode(display=False),
        "DebugMode": debug_mode,
    }
    return {"transformer step": compare({n: (c, train) for n, c in observe.items()}, rounds // 3, 0.03)}


class Written(torch.nn.Module):
    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w + 1


class ByHand(torch.nn.Module):
    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, (256,), w, 1e-6) + 1


def rms_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w


def compiled(rounds: int) -> dict[str, Times]:
    x, w = torch.randn(256, 256), torch.rand(256)
    written, by_hand = torch.compile(Written()), torch.compile(ByHand())
    rewrite = hooked(
        target=rms_norm, replace=lambda a, b: torch.nn.functional.rms_norm(a, (256,), b, 1e-6), via="pattern_rewrite"
    )
    return {
        "compiled": compare(
            {
                "as written": (nullcontext, lambda: written(x, w)),
                "written with the replacement": (nullcontext, lambda: by_hand(x, w)),
                "pattern_rewrite": (rewrite, lambda: written(x, w)),
            },
            rounds,
            0.01,
        )
    }


BARS = [
    ("observing, dispatch_mode / hand-written", "observed mm", "dispatch_mode", "hand-written counting mode", 1.15),
    ("not hooked, under impl_override / none", "relu, not hooked", "impl_override, mm only", "none", 1.02),
    ("replaced under impl_override / hand-written", "replaced mm", "impl_override", "hand-written override", 1.15),
    ("compiled rewrite / written by hand", "compiled", "pattern_rewrite", "written with the replacement", 1.02),
]  # fmt: skip


COLOURS = {"none": "0.75", "as written": "0.75", "hand-written": "tab:orange", "written with": "tab:orange"}


def plot(results: dict[str, Times], path: str) -> None:
    """One panel for each table; grey: no hook, orange: written by hand, green: another tool, blue: this package."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(results), 1, figsize=(8, 10), height_ratios=[len(times) + 1.5 for times in results.values()]
    )
    for axis, (title, times) in zip(axes, results.items(), strict=True):
        names, base = list(times), next(iter(times))
        bars = axis.barh(names, list(times.values()), color=[_colour(name) for name in names])
        axis.bar_label(bars, [f" {ratio(times, name, base):.2f}×" for name in names], fontsize=8)
        axis.invert_yaxis()
        axis.set_title(f"{title}, µs", fontsize=10, loc="left")
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(x=0.1)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _colour(name: str) -> str:
    if name in ("flop_counter", "DebugMode", "empty TorchFunctionMode"):
        return "tab:green"
    return next((colour for start, colour in COLOURS.items() if name.startswith(start)), "tab:blue")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--plot", metavar="FILE", help="needs matplotlib: pip install matplotlib")
    options = parser.parse_args()
    torch.set_num_threads(1)
    results = {**operators(options.rounds), **step(options.rounds), **compiled(options.rounds)}
    for title, times in results.items():
        base = next(iter(times))
        print(f"\n{title}")
        for name, microseconds in times.items():
            print(f"  {name:32} {microseconds:10.2f} µs {ratio(times, name, base):6.2f}x")
    print("\nbars")
    for text, table, candidate, reference, bar in BARS:
        found = ratio(results[table], candidate, reference)
        print(f"  {found:6.3f}x (at most {bar:.2f}x: {'met' if found <= bar else 'missed'})  {text}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "microseconds": results}, file, indent=1)
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
