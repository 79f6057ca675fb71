"""How long the simulator takes to build, and how long after a change.

    python benchmarks/build_time.py [--jobs N]
    python benchmarks/build_time.py --loop

The first build, against one C++ extension of torch_npu: AddCustom, one file. Both from an empty cache, one after the
other, in one run. The ratio of the wall times is what a user waits; on a busy machine it says little. The CPU time says
more there: the extension is one run of a compiler, the simulator many, so on N idle cores the wait is the simulator's
CPU time / N against the extension's.

``--loop``: the developer build of a copy of the sources, over the usual cache, after each change of a kind. CPU time of
`ophook-npu sim build` with all that it starts, and how many files were compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

import ophook_npu
from ophook_npu import toolchain
from ophook_npu.npu import autoload

EXTENSION = "from ophook_npu.ops.extension import build; build()"
SIMULATOR = "from ophook_npu.sim import build; build()"
DEVELOPER = "from ophook_npu import sim; from ophook_npu.sim import developer; import json; "
CHANGES = {
    "a kernel, for the first time in a day: ATen's headers are precompiled": ("kernels/norm.cpp",),
    "a kernel": ("kernels/norm.cpp",),
    "a row": ("opapi/rows/norm.cpp",),
    "a kernel's header, of the median kind, and its operator": ("kernels/pooling.h", "kernels/pooling.cpp"),
    "a kernel's header that 9 others need, and its operator": ("kernels/norm.h", "kernels/norm.cpp"),
    "a line of rules": ("rules/by_hand.rules",),
    "nothing": (),
}


def measured(program: str, jobs: int) -> tuple[float, float]:
    """Seconds that pass, and CPU seconds of the compilers."""
    with tempfile.TemporaryDirectory() as cache:
        environ = {**os.environ, "OPHOOK_NPU_CACHE": cache, "MAX_JOBS": str(jobs), autoload.VARIABLE: "0"}
        start, before = time.perf_counter(), spent()
        subprocess.run([sys.executable, "-c", program], env=environ, check=True)
        return time.perf_counter() - start, spent() - before


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def loop() -> Table:
    table = Table("changed", "compiled, files", "CPU, s")
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "ophook_npu"
        shutil.copytree(Path(ophook_npu.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
        (Path(folder) / ".git").mkdir()
        environ = {**os.environ, "PYTHONPATH": folder, autoload.VARIABLE: "0"}

        def run(program: str) -> tuple[str, float]:
            before = spent()
            command = [sys.executable, "-c", DEVELOPER + program]
            done = subprocess.run(command, env=environ, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
            return done.stdout, spent() - before

        run("developer.begin([]); sim.build()")
        try:
            for what, names in CHANGES.items():
                for name in names:
                    with (package / "csrc" / name).open("a") as file:
                        file.write("# changed\n" if name.endswith(".rules") else "// changed\n")
                said, seconds = run("print(json.dumps(sim.info(sim.build())))")
                compiled = json.loads(said)["compiled"] if names else 0
                table.add_row(what, str(compiled), f"{seconds:.1f}")
        finally:
            run("developer.end()")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the builds of the simulator and of one extension.")
    parser.add_argument("--jobs", type=int, default=toolchain.jobs(), help="compilers at once (default: %(default)s)")
    parser.add_argument("--loop", action="store_true", help="after a change, not the first build")
    chosen = parser.parse_args()
    if chosen.loop:
        Console().print(loop())
        return
    jobs = chosen.jobs
    extension, simulator = measured(EXTENSION, jobs), measured(SIMULATOR, jobs)
    table = Table(f"{jobs} at once, load {os.getloadavg()[0]:.1f}", "wall, s", "CPU, s", f"CPU / {jobs}, s")
    table.add_row("AddCustom as an extension, one file", f"{extension[0]:.1f}", f"{extension[1]:.1f}", "")
    table.add_row("the simulator", f"{simulator[0]:.1f}", f"{simulator[1]:.1f}", f"{simulator[1] / jobs:.1f}")
    idle = simulator[1] / jobs / extension[1]
    table.add_row("ratio", f"{simulator[0] / extension[0]:.1f}", f"{simulator[1] / extension[1]:.1f}", f"{idle:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
