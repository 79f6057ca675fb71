"""What the rules of `csrc/rules` cost a first phase: the same calls with rules and without, alternating in one process.

    python benchmarks/rules_overhead.py

CPU time of aclnnAddGetWorkspaceSize (four parameters) and aclnnLayerNormGetWorkspaceSize (eight) through ctypes, which
costs the same on both sides. Medians of 41 rounds; the ratio says what share of the call the rules are.
"""

from __future__ import annotations

import json
import subprocess
import sys

from rich.console import Console
from rich.table import Table

PROGRAM = """
import ctypes, json, statistics, time
import torch, torch_npu
api = ctypes.CDLL("libopapi.so")
for name in ("aclCreateTensor", "aclCreateScalar", "aclCreateIntArray"):
    getattr(api, name).restype = ctypes.c_void_p
memory = torch.zeros(4096, device="npu:0")

def tensor(*sizes):
    values, rank = (ctypes.c_int64 * len(sizes))(*sizes), ctypes.c_uint64(len(sizes))
    data = ctypes.c_void_p(memory.data_ptr())
    return ctypes.c_void_p(api.aclCreateTensor(values, rank, 0, None, ctypes.c_int64(0), 2, values, rank, data))

one, x, rows, weight = ctypes.c_float(1), tensor(8, 8), tensor(8, 1), tensor(8)
alpha = ctypes.c_void_p(api.aclCreateScalar(ctypes.byref(one), 0))
shape = ctypes.c_void_p(api.aclCreateIntArray((ctypes.c_int64 * 1)(8), ctypes.c_uint64(1)))
size, executor = ctypes.c_uint64(), ctypes.c_void_p()
ends = (ctypes.byref(size), ctypes.byref(executor))
calls = {
    "aclnnAdd": (api.aclnnAddGetWorkspaceSize, (x, x, alpha, x, *ends)),
    "aclnnLayerNorm": (
        api.aclnnLayerNormGetWorkspaceSize, (x, shape, weight, weight, ctypes.c_double(1e-5), x, rows, rows, *ends)
    ),
}

def per_call(function, arguments, n=2000):
    start = time.process_time()
    for _ in range(n):
        if function(*arguments): raise SystemExit("the call was refused")
        api.aclDestroyAclOpExecutor(executor)
    return (time.process_time() - start) / n * 1e6

found = {}
for name, (function, arguments) in calls.items():
    times = {0: [], 1: []}
    for _ in range(41):
        for on in (0, 1):
            api.ophook_enforce_rules(on)
            times[on].append(per_call(function, arguments))
    found[name] = [statistics.median(times[0]), statistics.median(times[1])]
print(json.dumps(found))
"""


def main() -> None:
    command = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", "--", "-c", PROGRAM]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    table = Table("first phase", "rules off, µs", "rules on, µs", "ratio", "added, µs")
    for name, (off, on) in found.items():
        table.add_row(name, f"{off:.2f}", f"{on:.2f}", f"{on / off:.2f}", f"{on - off:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
