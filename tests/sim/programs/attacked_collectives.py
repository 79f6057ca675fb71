"""Run by test_hccl_attacks.py in each rank: collectives in groups whose last rank comes late, so that
those who are no ranks find the others waiting. It comes when each of them has reached one socket more: each has a file
in the folder ATTACKERS, with one byte for each socket.
"""

import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

RANK = int(os.environ["RANK"])
RANKS = int(os.environ["WORLD_SIZE"])
NPU = torch.device("npu", RANK)
ATTACKERS = sorted(Path(os.environ["ATTACKERS"]).iterdir())


def reached() -> list[int]:
    return [file.stat().st_size for file in ATTACKERS]


def wait_for_attackers(before: list[int]) -> None:
    until = time.monotonic() + 120
    while not all(map(int.__gt__, now := reached(), before)):
        assert time.monotonic() < until, list(zip([file.name for file in ATTACKERS], before, now, strict=True))
        time.sleep(0.05)


assert ATTACKERS

torch.npu.set_device(NPU)
dist.init_process_group("hccl")
for turn in range(int(os.environ.get("TURNS", "3"))):
    before = reached()
    group = dist.new_group(list(range(RANKS)))
    if RANK == RANKS - 1:
        wait_for_attackers(before)
    x = torch.full((1000,), float(RANK + 1), device=NPU)
    for _ in range(20):
        y = x.clone()
        dist.all_reduce(y, group=group)
        assert (y.cpu() == RANKS * (RANKS + 1) / 2).all()
    os.write(1, f"rank {RANK}: turn {turn} passed\n".encode())
dist.destroy_process_group()
