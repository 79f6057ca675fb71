"""Run by test_hccl.py in each rank: data, fully sharded and tensor parallel training against one CPU."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

RANK = int(os.environ["RANK"])
RANKS = int(os.environ["WORLD_SIZE"])
NPU = torch.device("npu", RANK)


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))


def data(step: int, rank: int) -> torch.Tensor:
    return torch.randn(5, 6, generator=torch.Generator().manual_seed(100 * step + rank))


def fully_sharded() -> nn.Module:
    model = network().npu()
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    return fully_shard(model)


KINDS = {
    "DDP": lambda: DistributedDataParallel(network().npu(), device_ids=[RANK]),
    "FSDP": lambda: FullyShardedDataParallel(network().npu(), device_id=RANK, use_orig_params=True),
    "fully_shard": fully_sharded,
}


def losses_on_one_cpu(steps: int) -> list[list[float]]:
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    out = []
    for step in range(steps):
        losses = [model(data(step, rank)).square().mean() for rank in range(RANKS)]
        optimizer.zero_grad()
        (sum(losses) / RANKS).backward()
        optimizer.step()
        out.append([loss.item() for loss in losses])
    return out


def main() -> None:
    torch.npu.set_device(RANK)
    dist.init_process_group("hccl", device_id=NPU)
    want = losses_on_one_cpu(4)
    for name, make in KINDS.items():
        model = make()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
        for step, losses in enumerate(want):
            loss = model(data(step, RANK).npu()).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            torch.testing.assert_close(loss.item(), losses[RANK], rtol=1e-4, atol=1e-6)
        print(f"rank {RANK}: {name} passed", flush=True)

    x = data(0, 0)
    split = parallelize_module(
        network().npu(), init_device_mesh("npu", (RANKS,)), {"0": ColwiseParallel(), "2": RowwiseParallel()}
    )
    torch.testing.assert_close(split(x.npu()).cpu(), network()(x), rtol=1e-5, atol=1e-6)
    print(f"rank {RANK}: tensor parallel passed", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
