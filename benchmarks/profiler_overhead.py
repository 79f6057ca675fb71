"""What libmsprofiler costs an operator: the same calls while nothing is profiled and while Level1 is, in one process.

    python benchmarks/profiler_overhead.py

CPU time of all threads of `torch.add` on npu, through torch_npu. Medians of 21 alternating rounds. What the simulator's
core does for an observer that is not there is in both.
"""

from __future__ import annotations

import json
import subprocess
import sys

from rich.console import Console
from rich.table import Table

PROGRAM = """
import ctypes, json, statistics, tempfile, time
import torch, torch_npu
prof = ctypes.CDLL("libmsprofiler.so")
prof.aclprofCreateConfig.restype = ctypes.c_void_p
x = torch.randn(8, 2048).half().npu()

def per_call(n=1000):
    torch.npu.synchronize()
    start = time.process_time()
    for _ in range(n):
        x + x
    torch.npu.synchronize()
    return (time.process_time() - start) / n * 1e6

with tempfile.TemporaryDirectory() as folder:
    path = folder.encode()
    assert prof.aclprofInit(path, ctypes.c_size_t(len(path))) == 0
    config = ctypes.c_void_p(prof.aclprofCreateConfig((ctypes.c_uint32 * 1)(0), 1, 0xFF, None, ctypes.c_uint64(3)))
    off, on = [], []
    for _ in range(21):
        off.append(per_call())
        assert prof.aclprofStart(config) == 0
        on.append(per_call())
        assert prof.aclprofStop(config) == 0
    assert prof.aclprofFinalize() == 0
print(json.dumps([statistics.median(off), statistics.median(on)]))
"""


def main() -> None:
    command = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", "--", "-c", PROGRAM]
    off, on = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    table = Table("8x2048 fp16", "not profiled, µs", "Level1, µs", "added, µs")
    table.add_row("torch.add on npu", f"{off:.1f}", f"{on:.1f}", f"{on - off:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
