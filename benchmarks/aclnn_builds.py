"""What a change of the simulator costs an eager aclnn call: two builds of it in one process, alternating.

    python benchmarks/aclnn_builds.py BEFORE AFTER     # folders that `ophook-npu sim build` printed

CPU time of all threads for aclnnAdd of 64 floats with its tensors made and destroyed, and for the first phase alone.
Medians of 101 rounds of 1000 calls. Both use the runtime of AFTER.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ophook_npu import toolchain
from ophook_npu.npu.installed import require


def main() -> None:
    before, after = (Path(root) / "lib64" for root in sys.argv[1:3])
    torch, torch_npu = require()
    include = torch_npu.path / "include" / "third_party" / "acl" / "inc"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "bench"
        subprocess.run(
            [
                *toolchain.compiler(), "-std=c++20", "-O2", str(Path(__file__).with_suffix(".cpp")),
                f"-isystem{include}", "-o", str(program), f"-L{after}", "-l:libascendcl.so",
                "-l:libophook_sim_core.so", "-ldl", f"-Wl,-rpath,{after}",
            ],
            check=True,
        )  # fmt: skip
        environ = {**os.environ, "LD_LIBRARY_PATH": f"{after}:{torch.path / 'lib'}", "OMP_NUM_THREADS": "1"}
        command = [program, before / "libopapi.so", after / "libopapi.so"]
        told = subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout
    table = Table("aclnnAdd of 64 floats", "before, µs", "after, µs", "ratio")
    times = list(map(float, told.split()))
    for name, one, other in (("both phases", *times[:2]), ("first phase", *times[2:])):
        table.add_row(name, f"{one:.3f}", f"{other:.3f}", f"{other / one:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
