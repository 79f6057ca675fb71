"""Run by test_repeated_ranks.py in ranks 0 and 1 of four: what the other two would give or get."""

import os

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

RANK, DEVICE = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
SCATTER = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)


def said(name: str, call) -> None:
    try:
        call()
        torch.npu.synchronize()
    except RuntimeError as error:
        os.write(1, f"rank {RANK}: {name} {' '.join(str(error).split())}\n".encode())


torch.npu.set_device(DEVICE)
dist.init_process_group("hccl")
pair = dist.new_group([0, 2]), dist.new_group([1, 3])
odd = dist.new_group([0, 3]), dist.new_group([1, 2])
own = torch.full((1,), float(RANK)).npu()
gathered = [torch.empty(1).npu() for _ in range(4)]
dist.all_gather(gathered, own)
os.write(1, f"rank {RANK}: gather {[one.item() for one in gathered]}\n".encode())
said("scatter", lambda: SCATTER(torch.empty(1).npu(), torch.ones(4).npu()))
said("all_to_all", lambda: dist.all_to_all_single(torch.empty(4).npu(), torch.ones(4).npu()))
dist.send(own, RANK + 2, group=pair[RANK])  # nobody reads it
torch.npu.synchronize()
said("group", lambda: dist.all_reduce(own, group=odd[RANK]))
said("receive", lambda: dist.recv(own, RANK + 2, group=pair[RANK]))
os._exit(0)
