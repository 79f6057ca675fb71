"""An all_reduce of two ranks by HCCL and by gloo, in turns in the same two processes.

    ophook-npu run --device sim --devices 2 -- benchmarks/collectives.py

Prints a line of JSON for each size, as through_torch_npu.py does: the costs on rank 0.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
import torch_npu  # noqa: F401
from alternating import Cost

SIZES = {"1 KB": 1 << 10, "1 MB": 1 << 20, "64 MB": 1 << 26, "256 MB": 1 << 28}


def took(call: Callable[[], object], count: int) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        call()
    torch.npu.synchronize()
    return Cost((time.perf_counter() - wall) / count * 1e6, (time.process_time() - cpu) / count * 1e6)


def rank(number: int, port: int) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    torch.npu.set_device(number)
    dist.init_process_group("cpu:gloo,npu:hccl", rank=number, world_size=2)
    for name, size in SIZES.items():
        here = torch.ones(size // 4)
        there = here.npu()
        calls: dict[str, Any] = {"hccl": there, "gloo": here}
        count = max(1, (1 << 22) // size)
        found: dict[str, list[Cost]] = {each: [] for each in calls}
        for turn in range(11):
            for each, tensor in calls.items():
                dist.barrier()
                cost = took(lambda tensor=tensor: dist.all_reduce(tensor), min(count, 200))
                if turn:
                    found[each].append(cost)
        if number == 0:
            costs = {
                each: {"wall": median(one.wall for one in them), "cpu": median(one.cpu for one in them)}
                for each, them in found.items()
            }
            print(json.dumps([f"all_reduce {name}", costs]), flush=True)
    dist.destroy_process_group()


def main() -> None:
    multiprocessing.spawn(rank, args=(29577,), nprocs=2)


if __name__ == "__main__":
    main()
