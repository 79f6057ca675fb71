"""Run by test_hccl_attacks.py in each rank: collectives in groups whose last rank comes late, so that
those who are no ranks find the others waiting.
"""

import os
import time

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

RANK = int(os.environ["RANK"])
RANKS = int(os.environ["WORLD_SIZE"])
NPU = torch.device("npu", RANK)

torch.npu.set_device(NPU)
dist.init_process_group("hccl")
for turn in range(int(os.environ.get("TURNS", "3"))):
    group = dist.new_group(list(range(RANKS)))
    if RANK == RANKS - 1:
        time.sleep(3)
    x = torch.full((1000,), float(RANK + 1), device=NPU)
    for _ in range(20):
        y = x.clone()
        dist.all_reduce(y, group=group)
        assert (y.cpu() == RANKS * (RANKS + 1) / 2).all()
    os.write(1, f"rank {RANK}: turn {turn} passed\n".encode())
dist.destroy_process_group()
