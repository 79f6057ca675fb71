"""Two ranks train together; what the report is to find stands after the line. Each rank checks its own report."""

import contextlib
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from ophook_npu import observe


def train():
    dist.init_process_group("hccl")
    rank = dist.get_rank()
    torch.npu.set_device(rank)
    net = nn.parallel.DistributedDataParallel(nn.Linear(8, 4).npu(), device_ids=[rank])
    for _ in range(2):
        net(torch.ones(2, 8, device="npu")).sum().backward()
    counts = torch.ones(4, dtype=torch.int64, device="npu")
    dist.all_reduce(counts)  # find: reduces c10d::allreduce_
    dist.all_gather_into_tensor(torch.empty(8, dtype=torch.int64, device="npu"), counts)
    dist.broadcast(counts, 0)
    wide = torch.ones(4, dtype=torch.float64, device="npu")
    with contextlib.suppress(RuntimeError):
        dist.all_reduce(wide)  # find: refused_here c10d::allreduce_
    dist.destroy_process_group()


def check(result):
    lines = Path(__file__).read_text().splitlines()
    marks = [(i + 1, *line.partition("# find: ")[2].split()) for i, line in enumerate(lines) if "# find: " in line]
    wanted = {mark for mark in marks if len(mark) == 3}
    found = {(one.key.where.line, one.key.code, one.key.operator) for one in result.of("collective")}
    assert found == wanted, found
    used = {name: (count, size) for name, count, size in result.collectives}
    assert used["c10d::_allgather_base_"] == (1, 32 + 64), used
    # DDP reduces one bucket of 8 × 4 + 4 numbers in each backward; what was refused moved nothing.
    assert used["c10d::allreduce_"] == (4, 2 * 36 * 4 + 32), used
    (reduces,) = [one for one in result.of("collective") if one.key.code == "reduces"]
    assert reduces.key.products == ("Ascend950",) and reduces.count == 1
    assert result.stops and "Collectives: c10d::" in result.text()


port = observe.Port(graph=False)
with port:
    train()
check(port.result())
port.remove()
if os.environ["RANK"] == "0":
    print("found")
