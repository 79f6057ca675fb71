"""How long the simulator takes to build, against one C++ extension of torch_npu: AddCustom, one file.

    python benchmarks/build_time.py [--jobs N]

Both from an empty cache, one after the other, in one run. The ratio of the wall times is what a user waits; on a busy
machine it says little. The CPU time says more there: the extension is one run of a compiler, the
simulator many, so on N idle cores the wait is the simulator's CPU time / N against the extension's.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

from rich.console import Console
from rich.table import Table

from ophook_npu import toolchain
from ophook_npu.npu import autoload

EXTENSION = "from ophook_npu.ops.extension import build; build()"
SIMULATOR = "from ophook_npu.sim import build; build()"


def measured(program: str, jobs: int) -> tuple[float, float]:
    """Seconds that pass, and CPU seconds of the compilers."""
    with tempfile.TemporaryDirectory() as cache:
        environ = {**os.environ, "OPHOOK_NPU_CACHE": cache, "MAX_JOBS": str(jobs), autoload.VARIABLE: "0"}
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", program], env=environ, check=True)
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the builds of the simulator and of one extension.")
    parser.add_argument("--jobs", type=int, default=toolchain.jobs(), help="compilers at once (default: %(default)s)")
    jobs = parser.parse_args().jobs
    extension, simulator = measured(EXTENSION, jobs), measured(SIMULATOR, jobs)
    table = Table(f"{jobs} at once, load {os.getloadavg()[0]:.1f}", "wall, s", "CPU, s", f"CPU / {jobs}, s")
    table.add_row("AddCustom as an extension, one file", f"{extension[0]:.1f}", f"{extension[1]:.1f}", "")
    table.add_row("the simulator", f"{simulator[0]:.1f}", f"{simulator[1]:.1f}", f"{simulator[1] / jobs:.1f}")
    idle = simulator[1] / jobs / extension[1]
    table.add_row("ratio", f"{simulator[0] / extension[0]:.1f}", f"{simulator[1] / extension[1]:.1f}", f"{idle:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
