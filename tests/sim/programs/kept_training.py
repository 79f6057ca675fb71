"""A small training on each rank that keeps a checkpoint after each step, with what a project has for that, and goes on
from it: `torchrun … kept_training.py fsdp2|accelerate|deepspeed FOLDER [VARIABLE=VALUE]...`. Each rank prints its
losses. KILLED_IN_CHECKPOINT=RANK:STEP kills a rank while the others write the checkpoint.
"""

import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

HOW, FOLDER = sys.argv[1], Path(sys.argv[2])
os.environ.update(one.split("=", 1) for one in sys.argv[3:])
RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
STEPS = int(os.environ.get("STEPS", "4"))
DEVICE = torch.device("npu", int(os.environ["LOCAL_RANK"]))
torch.npu.set_device(DEVICE)


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4))


def last():
    """The newest checkpoint that is whole, and its step."""
    whole = [int(path.name.removeprefix("step")) for path in FOLDER.glob("step*") if path.suffix != ".new"]
    return max(whole, default=0)


def place(step):
    return FOLDER / f"step{step}"


def keep(step, write):
    """All ranks write into another folder first, so that what is interrupted is never read."""
    new = place(step).with_suffix(".new")
    killed = os.environ.get("KILLED_IN_CHECKPOINT"), os.environ.get("TORCHELASTIC_RESTART_COUNT")
    if killed == (f"{RANK}:{step}", "0"):  # as soon as the other rank has begun to write it
        while not new.exists():
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGKILL)
    write(new)
    dist.barrier()
    if RANK == 0:
        new.rename(place(step))
    dist.barrier()


class Fsdp2:
    def __init__(self):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        dist.init_process_group("cpu:gloo,npu:hccl")
        self.model = net().to(DEVICE)
        for layer in (self.model[0], self.model[2], self.model):
            fully_shard(layer, mesh=init_device_mesh("npu", (RANKS,)))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)

    def state(self):
        from torch.distributed.checkpoint.state_dict import get_state_dict

        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def load(self, path):
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint.state_dict import set_state_dict

        state = self.state()
        dcp.load(state, checkpoint_id=path)
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])

    def save(self, path):
        import torch.distributed.checkpoint as dcp

        dcp.save(self.state(), checkpoint_id=path)

    def step(self, x):
        loss = self.model(x).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss


class Accelerate:
    def __init__(self):
        from accelerate import Accelerator

        self.accelerator = Accelerator()
        model = net()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)

    def load(self, path):
        self.accelerator.load_state(str(path))

    def save(self, path):
        self.accelerator.save_state(str(path))

    def step(self, x):
        loss = self.model(x).square().mean()
        self.accelerator.backward(loss)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss


class DeepSpeed:
    def __init__(self):
        import deepspeed

        deepspeed.init_distributed("hccl")
        model = net()
        settings = {
            "train_micro_batch_size_per_gpu": 8,
            "optimizer": {"type": "AdamW", "params": {"lr": 0.01, "torch_adam": True}},
            "zero_optimization": {"stage": 1},
            "zero_allow_untested_optimizer": True,
        }
        self.engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)

    def load(self, path):
        self.engine.load_checkpoint(str(path))

    def save(self, path):
        self.engine.save_checkpoint(str(path))

    def step(self, x):
        loss = self.engine(x).square().mean()
        self.engine.backward(loss)
        self.engine.step()
        return loss


def train():
    project = {"fsdp2": Fsdp2, "accelerate": Accelerate, "deepspeed": DeepSpeed}[HOW]()
    first = last()
    if first:
        project.load(place(first))
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    print(f"rank {RANK} begins with step {first}, restart {restart}", flush=True)
    for step in range(first, STEPS):
        x = torch.randn(8, 16, generator=torch.Generator().manual_seed(100 * step + RANK)).to(DEVICE)
        loss = project.step(x)
        print(f"rank {RANK} step {step} loss {loss.item():.6f}", flush=True)
        keep(step + 1, project.save)
    torch.npu.synchronize()
    dist.destroy_process_group()
    print(f"rank {RANK} ended", flush=True)


train()
