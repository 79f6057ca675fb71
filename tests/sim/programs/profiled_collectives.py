"""Collectives of each rank, in msprof's table (libmsprofiler records it below the folder PROFILE) and torch's trace."""

import csv
import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

dist.init_process_group("hccl")
rank = dist.get_rank()
torch.npu.set_device(rank)
x = torch.ones(1024).npu()
dist.all_reduce(x)  # the communicator is made here
torch.npu.synchronize()

prof = ctypes.CDLL("libmsprofiler.so")
prof.aclprofCreateConfig.restype = ctypes.c_void_p
folder = os.path.join(os.environ["PROFILE"], str(rank)).encode()
config = ctypes.c_void_p(prof.aclprofCreateConfig((ctypes.c_uint32 * 1)(rank), 1, 0xFF, None, ctypes.c_uint64(3)))
assert prof.aclprofInit(folder, ctypes.c_size_t(len(folder))) == prof.aclprofStart(config) == 0
dist.all_reduce(x)
dist.all_gather([torch.empty_like(x) for _ in range(2)], x)
torch.npu.synchronize()
assert prof.aclprofStop(config) == prof.aclprofFinalize() == 0

subprocess.run(["msprof", "--export=on", b"--output=" + folder], check=True, timeout=120, stdout=subprocess.DEVNULL)
(table,) = Path(os.fsdecode(folder)).glob("PROF_*/mindstudio_profiler_output/op_summary_*.csv")
with table.open(newline="") as file:
    rows = [row for row in csv.DictReader(file) if row["Task Type"] == "COMMUNICATION"]
assert all(float(row["Task Duration(us)"]) > 0 and row["Device_id"] == str(rank) for row in rows), rows
names = [row["Op Name"] for row in rows]

with torch.profiler.profile() as made:
    dist.all_reduce(x)
    torch.npu.synchronize()
trace = Path(os.fsdecode(folder), "trace.json")
made.export_chrome_trace(str(trace))
told = [one for one in json.loads(trace.read_text())["traceEvents"] if "commName" in one.get("args", {})]
assert all(one["dur"] > 0 and one["args"]["commName"] for one in told), told
sys.stdout.write(" ".join(["collectives", *names, *(one["name"] for one in told)]) + "\n")
dist.destroy_process_group()
