"""What the simulated Ascend costs a call: an AddCustom of 8x2048 fp16, in our libraries and through all of torch_npu.

    python benchmarks/eager_overhead.py

First figure: CPU time of aclnnAddCustom in the simulator's libraries (all threads) beyond at::add_out on the same
memory, with the tensors made and destroyed as torch_npu does, with the checks of kernels and without. Second: wall time
of torch.ops.npu.npu_add_custom on npu against torch.add on the CPU in one process, alternating; and of a + b where
aclnnAdd does nothing, which is what torch_npu itself takes. Medians.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ophook_npu import sim, toolchain
from ophook_npu.npu.installed import require
from ophook_npu.sim.build import CSRC, VENDOR

THROUGH_TORCH_NPU = """
import json, statistics, sys, time, torch, torch_npu
from ophook_npu import ops
op = torch.add if "alone" in sys.argv else ops.npu_add_custom
x, y = torch.randn(8, 2048).half(), torch.randn(8, 2048).half()
a, b = x.npu(), y.npu()
def per_call(call, synchronize=lambda: None, n=1000):
    start = time.perf_counter()
    for _ in range(n): call()
    synchronize()
    return (time.perf_counter() - start) / n * 1e6
npu, native, cpu = [], [], []
for _ in range(21):
    npu.append(per_call(lambda: op(a, b), torch.npu.synchronize))
    native.append(per_call(lambda: a + b, torch.npu.synchronize))
    cpu.append(per_call(lambda: x + y))
print(json.dumps([statistics.median(v) for v in (npu, native, cpu)]))
"""

# torch_npu looks for a function in libraries of custom operators first.
NOTHING = """
extern "C" int aclnnAddGetWorkspaceSize(const void*, const void*, const void*, void*, unsigned long* size,
                                        void** made) {
  *size = 0, *made = size;
  return 0;
}
extern "C" int aclnnAdd(void*, unsigned long, void*, void*) { return 0; }
"""


def in_our_libraries(root: Path) -> tuple[float, float, float, float]:
    """µs a call: aclnnAddCustom, at::add_out, both phases of aclnnAdd on the thread that calls them, and aclnnAddCustom
    without checks.
    """
    torch, torch_npu = require()
    include = torch_npu.path / "include" / "third_party" / "acl" / "inc"
    lib, torch_lib = root / "lib64", torch.path / "lib"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "bench"
        subprocess.run(
            [
                *toolchain.compiler(), "-std=c++20", "-O2", str(Path(__file__).with_suffix(".cpp")), f"-I{CSRC}",
                f"-isystem{include}", f"-isystem{torch.path / 'include'}", "-o", str(program),
                f"-L{lib}", f"-L{torch_lib}", "-l:libopapi.so", "-l:libascendcl.so", "-l:libophook_sim_core.so",
                "-ltorch_cpu", "-lc10", "-ldl", f"-Wl,-rpath,{lib}", f"-Wl,-rpath,{torch_lib}",
            ],
            check=True,
        )  # fmt: skip
        vendor = root / "opp" / "vendors" / VENDOR / "op_api" / "lib" / "libcust_opapi.so"
        environ = {**os.environ, "LD_LIBRARY_PATH": f"{lib}:{torch_lib}", "OMP_NUM_THREADS": "1"}
        found = []
        for checks in ("1", "0"):
            environ["OPHOOK_KERNEL_CHECKS"] = checks
            result = subprocess.run([program, vendor], env=environ, capture_output=True, text=True, check=True)
            found.append([float(each) for each in result.stdout.split()])
    (simulated, plain, add), (unchecked, *_) = found
    return simulated, plain, add, unchecked


def through_torch_npu(*arguments: str, **environ: str) -> tuple[float, float, float]:
    """µs a call: npu_add_custom, a + b on npu, torch.add on the CPU."""
    command = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", "--", "-c", THROUGH_TORCH_NPU, *arguments]
    every = {**os.environ, **environ}
    npu, native, cpu = json.loads(subprocess.run(command, env=every, capture_output=True, text=True, check=True).stdout)
    return npu, native, cpu


def torch_npu_alone() -> tuple[float, float]:
    """µs of a + b whose aclnnAdd does nothing, and of torch.add on the CPU."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "nothing.cpp", Path(folder) / "op_api" / "lib" / "libcust_opapi.so"
        source.write_text(NOTHING)
        library.parent.mkdir(parents=True)
        subprocess.run([*toolchain.compiler(), "-O2", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
        _, alone, cpu = through_torch_npu("alone", ASCEND_CUSTOM_OPP_PATH=folder)
        return alone, cpu


def main() -> None:
    root = sim.build()
    simulated, plain, add, unchecked = in_our_libraries(root)
    npu, native, cpu = through_torch_npu()
    alone, cpu_then = torch_npu_alone()
    table = Table("8x2048 fp16", "µs a call", "ratio", "beyond ATen's add, µs")
    table.add_row("at::add_out", f"{plain:.2f}", "1.00", "")
    table.add_row(
        "aclnnAddCustom, our libraries", f"{simulated:.2f}", f"{simulated / plain:.2f}", f"{simulated - plain:.2f}"
    )
    table.add_row(
        "the same, without checks", f"{unchecked:.2f}", f"{unchecked / plain:.2f}", f"{unchecked - plain:.2f}"
    )
    table.add_row("aclnnAdd, both phases, on the calling thread", f"{add:.2f}", "", "")
    table.add_row("torch.add on the CPU", f"{cpu:.2f}", "1.00", "")
    table.add_row("a + b on npu, through torch_npu", f"{native:.2f}", f"{native / cpu:.2f}", f"{native - cpu:.2f}")
    table.add_row(
        "the same, aclnnAdd does nothing", f"{alone:.2f}", f"{alone / cpu_then:.2f}", f"{alone - cpu_then:.2f}"
    )
    table.add_row("npu_add_custom on npu, through torch_npu", f"{npu:.2f}", f"{npu / cpu:.2f}", f"{npu - cpu:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
