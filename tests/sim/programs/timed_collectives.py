"""Run by scripts/hosts.py in each rank: how long an all_reduce takes, the median of many."""

import os
import statistics
import time

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

RANK = int(os.environ["RANK"])
DEVICE = torch.device("npu", int(os.environ["LOCAL_RANK"]))

torch.npu.set_device(DEVICE)
dist.init_process_group("hccl")
for size in (1 << 10, 1 << 16, 1 << 22, 1 << 24):
    x = torch.ones(size // 4, device=DEVICE)
    taken = []
    for _ in range(60 if size <= 1 << 20 else 15):
        begin = time.perf_counter()
        dist.all_reduce(x)
        torch.npu.synchronize()
        taken.append(time.perf_counter() - begin)
    print(f"rank {RANK} bytes {size} seconds {statistics.median(taken[3:]):.6f}", flush=True)
dist.destroy_process_group()
