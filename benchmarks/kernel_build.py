"""How long it takes to build AddCustom's own kernel into a package, against the one-file extension that calls it.

    python benchmarks/kernel_build.py [--check]

`--check` measures something else: `ophook-npu kernel check` of the project after an edit of its kernel. The rest:
the extension from an empty cache; the package of a copy of the project whose operator has another name, so that
nothing of it is cached, with the simulator and its runtime built before. CPU time of the compilers and of what starts
them: on a busy machine the clock says little.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ophook_npu.npu import autoload

PROJECT = Path(__file__).parents[1] / "op_plugin_patch" / "ascendc"
EXTENSION = "from ophook_npu.ops.extension import build; build()"
PACKAGE = """
import sys
from pathlib import Path
from ophook_npu.sim.packages import build
build(*map(Path, sys.argv[1:]))
"""
CHECK = """
import sys
from ophook_npu.cli import main
sys.argv[1:1] = ["kernel", "check"]
main()
"""
NOTHING = "from ophook_npu.sim import packages"


def measured(program: str, *arguments: str, **environ: str) -> float:
    """CPU seconds of a process and all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", program, *arguments]
    subprocess.run(
        command, env={**os.environ, **environ, autoload.VARIABLE: "0"}, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def renamed(folder: Path) -> Path:
    """A copy of the project whose operator is AddMeasured."""
    for source in [*PROJECT.glob("op_host/*"), *PROJECT.glob("op_kernel/*")]:
        place = folder / source.parent.name / source.name.replace("add_custom", "add_measured")
        place.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text().replace("AddCustom", "AddMeasured").replace("add_custom", "add_measured")
        place.write_text(text.replace("ADD_CUSTOM", "ADD_MEASURED"))
    return folder


def after_an_edit(rounds: int = 3) -> dict[str, float]:
    """Seconds of `ophook-npu kernel check` when the kernel's source is another one than before: the least of some."""
    costs: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        project = renamed(Path(name))
        kernel = project / "op_kernel" / "add_measured.cpp"
        for number in range(rounds + 1):
            start = time.perf_counter()
            cpu = measured(CHECK, str(project))
            took = {"cpu": cpu, "wall": time.perf_counter() - start}
            kernel.write_text(f"{kernel.read_text()}\nstatic_assert({os.getpid()} != -{number + 1});\n")
            if number:
                costs = {clock: min(costs.get(clock, value), value) for clock, value in took.items()}
    return costs


def main() -> None:
    if sys.argv[1:] == ["--check"]:
        costs = after_an_edit()
        print(f"kernel check after an edit: {costs['cpu']:.2f} s of CPU, {costs['wall']:.2f} s by the wall")
        return
    subprocess.run([sys.executable, "-m", "ophook_npu", "sim", "build"], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as name:
        extension = measured(EXTENSION, OPHOOK_NPU_CACHE=f"{name}/cache")
        project = renamed(Path(name) / "project")
        package = measured(PACKAGE, str(project), f"{name}/package")
        idle = measured(NOTHING)
    table = Table(f"load {os.getloadavg()[0]:.1f}", "CPU, s")
    table.add_row("AddCustom as an extension, one file", f"{extension:.1f}")
    table.add_row("AddCustom's kernel, host side and package, 4 data types", f"{package:.1f}")
    table.add_row("of both, Python's start", f"{idle:.1f}")
    table.add_row("ratio", f"{package / extension:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
