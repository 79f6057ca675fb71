"""A tiny model over replicas, stages of a pipeline, experts and parts of matrices: MESH is "DP PP EP TP". Run by
test_repeated_ranks.py and scripts/many_ranks.py. All replicas train on the same batches, so one repeats another.

MISTAKE, a rank, calls another collective than the others in step 1.
"""

import os

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from torch import nn
from torch.distributed._functional_collectives import all_to_all_single_autograd
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

RANK = int(os.environ["RANK"])
DEVICE = torch.device("npu", int(os.environ["LOCAL_RANK"]))
SIZES = tuple(map(int, os.environ["MESH"].split()))
STEPS = int(os.environ.get("STEPS", "3"))
MISTAKE = int(os.environ.get("MISTAKE", "-1"))
WIDTH, TOKENS = 16, 8


class Stage(nn.Module):
    def __init__(self, mesh, stage: int, expert: int) -> None:
        super().__init__()
        torch.manual_seed(stage)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH, bias=False), nn.Linear(2 * WIDTH, WIDTH, bias=False)
        torch.manual_seed(100 + 10 * stage + expert)
        self.expert = nn.Linear(WIDTH, WIDTH, bias=False)
        self.experts = mesh["ep"]
        self.to(DEVICE)
        parts = {"up": ColwiseParallel(), "down": RowwiseParallel()}
        if mesh["tp"].size() > 1:
            parallelize_module(self, mesh["tp"], parts)

    def forward(self, x):
        x = x + self.down(nn.functional.gelu(self.up(x)))
        if self.experts.size() == 1:
            return x + self.expert(x)
        each = [TOKENS // self.experts.size()] * self.experts.size()
        mine = all_to_all_single_autograd(x, each, each, self.experts.get_group())
        return x + all_to_all_single_autograd(self.expert(mine), each, each, self.experts.get_group())


def batch(step: int, expert: int) -> torch.Tensor:
    return torch.randn(TOKENS, WIDTH, generator=torch.Generator().manual_seed(100 * step + expert)).to(DEVICE)


def step_of(model, mesh, number: int):
    """The loss, on ranks of the last stage."""
    pipe = mesh["pp"].get_group()
    stage, stages = mesh.get_local_rank("pp"), mesh["pp"].size()
    ranks = dist.get_process_group_ranks(pipe)
    if stage == 0:
        x = batch(number, mesh.get_local_rank("ep"))
    else:
        x = torch.empty(TOKENS, WIDTH, device=DEVICE).requires_grad_()
        dist.recv(x.data, ranks[stage - 1], group=pipe)
    out = model(x)
    if stage == stages - 1:
        loss = out.square().mean()
        loss.backward()
    else:
        loss, gradient = None, torch.empty_like(out)
        dist.send(out.detach(), ranks[stage + 1], group=pipe)
        dist.recv(gradient, ranks[stage + 1], group=pipe)
        out.backward(gradient)
    if stage:
        dist.send(x.grad, ranks[stage - 1], group=pipe)
    return loss


def main() -> None:
    torch.npu.set_device(DEVICE)
    dist.init_process_group("hccl")
    mesh = init_device_mesh("npu", SIZES, mesh_dim_names=("dp", "pp", "ep", "tp"))
    model = Stage(mesh, mesh.get_local_rank("pp"), mesh.get_local_rank("ep"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, foreach=False)
    replicas = mesh["dp"].get_group()
    for number in range(STEPS):
        loss = step_of(model, mesh, number)
        for parameter in model.parameters():
            gradient = parameter.grad.to_local() if hasattr(parameter.grad, "to_local") else parameter.grad
            dist.all_reduce(gradient, group=replicas)
            gradient /= mesh["dp"].size()
        optimizer.step()
        optimizer.zero_grad()
        total = torch.zeros(1, device=DEVICE) if loss is None else loss.detach().reshape(1)
        if number == 1 and RANK == MISTAKE:
            dist.broadcast(total, 0)
        else:
            dist.all_reduce(total)
        torch.npu.synchronize()
        shown = "" if loss is None else f" loss {loss.item().hex()}"
        os.write(
            1, f"rank {RANK} step {number} all {total.item().hex()}{shown}\n".encode()
        )  # whole, beside others' lines
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
