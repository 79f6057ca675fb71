"""Run by test_hccl.py in each rank: the collectives of torch_npu's backend lccl, and training over them."""

import os

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from torch import nn

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
NPU = torch.device("npu", RANK)
SUM = sum(range(1, RANKS + 1))


def own(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.full((4,), RANK + 1, dtype=dtype, device=NPU)


def collectives() -> None:
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int8):
        x = own(dtype)
        dist.all_reduce(x)
        assert x.tolist() == [SUM] * 4
    largest = own()
    dist.all_reduce(largest, dist.ReduceOp.MAX, async_op=True).wait()
    assert largest.tolist() == [RANKS] * 4
    gathered = [torch.zeros(4, device=NPU) for _ in range(RANKS)]
    dist.all_gather(gathered, own())
    assert [one.tolist() for one in gathered] == [[rank + 1] * 4 for rank in range(RANKS)]
    last = own()
    dist.broadcast(last, RANKS - 1)
    assert last.tolist() == [RANKS] * 4
    part = torch.zeros(4, device=NPU)
    dist.reduce_scatter(part, [own() * rank for rank in range(RANKS)])
    assert part.tolist() == [SUM * RANK] * 4


def groups() -> None:
    """A second group finds its own ranks, too."""
    again = dist.new_group(list(range(RANKS)), backend="lccl")
    x = own()
    dist.all_reduce(x, group=again)
    dist.all_reduce(x)
    assert x.tolist() == [SUM * RANKS] * 4


def training() -> None:
    torch.manual_seed(RANK)  # DistributedDataParallel gives all ranks the weights of the first
    model = nn.parallel.DistributedDataParallel(nn.Linear(4, 2).to(NPU), device_ids=[RANK])
    model(own().reshape(1, 4)).sum().backward()
    torch.testing.assert_close(model.module.weight.grad.cpu(), torch.full((2, 4), SUM / RANKS))


torch.npu.set_device(NPU)
dist.init_process_group("lccl", rank=RANK, world_size=RANKS)
for part in (collectives, groups, training):
    part()
    print(f"rank {RANK}: {part.__name__} passed", flush=True)
dist.destroy_process_group()
