"""Run by hosts.py in each rank: collectives of the communicator that a rank table makes."""

import os

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

RANK = int(os.environ["RANK"])
RANKS = int(os.environ["WORLD_SIZE"])

torch.npu.set_device(RANK)
dist.init_process_group("hccl")
for _ in range(3):
    x = torch.full((300000,), float(RANK + 1)).npu()
    dist.all_reduce(x)
    assert (x.cpu() == RANKS * (RANKS + 1) / 2).all()
print(f"rank {RANK} passed", flush=True)
dist.destroy_process_group()
