"""How many elements a second AddCustom's kernel adds on one thread, with all checks and without.

    python benchmarks/kernel_speed.py

The time is the processor's for the kernel's run over all cores, which is the clock's where nothing else runs: without
building, copying in and inference.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from ophook_npu import kernel
from ophook_npu.kernel.source import Entry
from ophook_npu.npu import autoload

PROJECT = Path(__file__).parents[1] / "op_plugin_patch" / "ascendc"
ELEMENTS = 1 << 24


def measure(checks: bool, dtype: str) -> float:
    """Elements a second, the median of five runs."""
    import torch

    add = kernel.load(PROJECT, checks=checks)
    x = torch.randint(-9, 9, (ELEMENTS,)).to(getattr(torch, dtype))
    seconds: list[float] = []
    run = Entry.run

    def timed(self: Entry, *arguments: object, **options: object) -> kernel.Report:
        self.address()
        begin = time.process_time()
        report = run(self, *arguments, **options)  # type: ignore[arg-type]
        seconds.append(time.process_time() - begin)
        return report

    Entry.run = timed  # type: ignore[method-assign, assignment]
    try:
        for _ in range(5):
            add(x, x)
    finally:
        Entry.run = run  # type: ignore[method-assign]
    return ELEMENTS / statistics.median(seconds)


def main() -> None:
    autoload.settle()  # plain `import torch` fails where torch_npu is installed and CANN is not
    print("| dtype | with all checks, M elements/s | without | share |\n|---|---|---|---|")
    for dtype in ("float32", "float16"):
        checked, free = measure(True, dtype), measure(False, dtype)
        print(f"| {dtype} | {checked / 1e6:.0f} | {free / 1e6:.0f} | {checked / free:.2f} |")


if __name__ == "__main__":
    main()
