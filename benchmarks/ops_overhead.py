"""What a declared operator costs a call, next to torch's own ways, and what importing the package costs.

    python benchmarks/ops_overhead.py                          CPU: next to torch.library.custom_op, and the import
    ophook-npu run -- benchmarks/ops_overhead.py --device npu  NPU or simulator: the C++ kernel next to aten::add

Medians of alternating rounds, in µs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table

from ophook_npu import ops


def medians(
    calls: dict[str, Callable[[], object]], wait: Callable[[], None], rounds: int = 41, n: int = 500
) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(n):
                call()
            wait()
            taken[name].append((time.perf_counter() - start) / n * 1e6)
    return {name: statistics.median(times) for name, times in taken.items()}


@torch.library.custom_op("mylib::benchmark_add", mutates_args=())
def plain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.add(x, y).contiguous()


def import_ms(statement: str) -> float:
    code = f"import time; import torch; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    environ = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    runs = [
        subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
        for _ in range(5)
    ]
    return statistics.median(float(run.stdout) for run in runs) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    torch.set_num_threads(1)
    add = ops.npu_add_custom
    x, y = torch.randn(64).to(device), torch.randn(64).to(device)
    leaf = torch.randn(64).to(device).requires_grad_()
    calls: dict[str, Callable[[], object]] = {"aten::add": lambda: torch.add(x, y), "npu_add_custom": lambda: add(x, y)}
    base = "aten::add"
    if device == "cpu":
        calls["torch.library.custom_op"] = lambda: plain(x, y)
        base = "torch.library.custom_op"
    else:
        calls["aten::add, recording a gradient"] = lambda: torch.add(leaf, y)
        calls["npu_add_custom, recording a gradient"] = lambda: add(leaf, y)
    found = medians(calls, torch.npu.synchronize if device == "npu" else lambda: None)
    table = Table(f"64 elements on {device}", "µs a call", f"compared with {base}")
    for name, took in found.items():
        beside = found[name.replace("npu_add_custom", base)]
        table.add_row(name, f"{took:.2f}", f"{took / beside:.2f}")
    console = Console()
    console.print(table)
    if device == "cpu":
        console.print(f"import ophook_npu, after torch: {import_ms('import ophook_npu'):.1f} ms", highlight=False)


if __name__ == "__main__":
    main()
