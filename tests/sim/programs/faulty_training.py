"""A small training on each rank that keeps a checkpoint and goes on from it: `torchrun … faulty_training.py [FOLDER]`.

Each rank prints its losses. The checkpoint is written to another file first, so that an interrupted one is never read.
"""

import os
import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from torch.nn.parallel import DistributedDataParallel

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
STEPS = int(os.environ.get("STEPS", "6"))
DEVICE = torch.device("npu", int(os.environ["LOCAL_RANK"]))
torch.npu.set_device(DEVICE)


def take_up(path, model, optimizer):
    """The step to begin with."""
    step = 0
    if path is not None and path.exists():
        kept = torch.load(path, map_location="cpu")
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        step = kept["step"]
    print(
        f"rank {RANK} begins with step {step}, restart {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", flush=True
    )
    return step


def keep(path, step, model, optimizer):
    if path is None or RANK:
        return
    new = path.with_suffix(".new")
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, new)
    new.replace(path)


def forward(model, x):
    return model(x)


def backward(loss):
    loss.backward()


def update(optimizer):
    optimizer.step()
    optimizer.zero_grad()


def meet(loss):
    total = loss.detach().clone()
    dist.all_reduce(total)
    return total.item() / RANKS


def train():
    dist.init_process_group("hccl", timeout=timedelta(seconds=int(os.environ.get("PATIENCE", "600"))))
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4)).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    path = Path(sys.argv[1]) / "kept.pt" if len(sys.argv) > 1 else None
    first = take_up(path, model, optimizer)
    parallel = DistributedDataParallel(model, device_ids=[DEVICE.index])
    for step in range(first, STEPS):
        x = torch.randn(8, 16, generator=torch.Generator().manual_seed(100 * step + RANK)).to(DEVICE)
        loss = forward(parallel, x).square().mean()
        backward(loss)
        update(optimizer)
        print(f"rank {RANK} step {step} loss {meet(loss):.6f}", flush=True)
        keep(path, step + 1, model, optimizer)
    torch.npu.synchronize()
    dist.destroy_process_group()
    print(f"rank {RANK} ended", flush=True)


train()
