"""Rows of all.py that run on npu and on the CPU in one process, one thread: names of groups are the arguments.

    ophook-npu run --device sim -- benchmarks/through_torch_npu.py operators attention models

Prints a line of JSON for each row: its name, then the costs of the candidates.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict

import torch
import torch_npu
from alternating import alternate
from torch import nn

from ophook_npu import ops

functional = nn.functional
ROUNDS = 30


def row(name: str, calls: dict[str, Callable[[], object]], rounds: int = ROUNDS, seconds: float = 0.02) -> None:
    found = alternate(calls, torch.npu.synchronize, rounds, seconds)
    print(json.dumps([name, {key: asdict(cost) for key, cost in found.items()}]), flush=True)


def both(function: Callable[..., object], *tensors: torch.Tensor) -> dict[str, Callable[[], object]]:
    there = [tensor.npu() for tensor in tensors]
    return {"npu": lambda: function(*there), "cpu": lambda: function(*tensors)}


def with_gradient(name: str, function: Callable[..., torch.Tensor], *tensors: torch.Tensor) -> None:
    """The row of the forward, and one of both."""
    row(name, both(function, *tensors))
    grad = torch.randn_like(function(*tensors))

    def step(upstream: torch.Tensor, *leaves: torch.Tensor) -> None:
        torch.autograd.grad(function(*leaves), leaves, upstream)

    there = [tensor.npu().requires_grad_() for tensor in tensors]
    here = [tensor.clone().requires_grad_() for tensor in tensors]
    away = grad.npu()
    row(f"{name}, with gradient", {"npu": lambda: step(away, *there), "cpu": lambda: step(grad, *here)})


def add() -> None:
    x, y = torch.randn(8, 2048).half(), torch.randn(8, 2048).half()
    row("a + b", both(torch.add, x, y))
    a, b = x.npu(), y.npu()
    row("npu_add_custom", {"npu": lambda: ops.npu_add_custom(a, b), "cpu": lambda: torch.add(x, y)})


def operators() -> None:
    x, weight, bias = torch.randn(64, 128, 256), torch.rand(256), torch.randn(256)
    for dtype in (torch.float16, torch.float32):
        with_gradient(
            f"layer_norm {dtype}".replace("torch.", ""),
            lambda x, w, b: functional.layer_norm(x, (256,), w, b),
            *(each.to(dtype) for each in (x, weight, bias)),
        )
    with_gradient("softmax float16", lambda x: functional.softmax(x, -1), x.half())
    with_gradient("gelu float32", functional.gelu, x)
    with_gradient("gelu bfloat16", functional.gelu, x.bfloat16())


def attention() -> None:
    q, k, v = (torch.randn(1, 8, 1024, 64) for _ in range(3))
    there = [each.half().npu() for each in (q, k, v)]
    row(
        "npu_fusion_attention",
        {
            "npu": lambda: torch_npu.npu_fusion_attention(*there, 8, "BNSD", scale=0.125)[0],
            "cpu": lambda: functional.scaled_dot_product_attention(q, k, v),
        },
        seconds=0.05,
    )


def products() -> None:
    a, b = torch.randn(512, 512), torch.randn(512, 512)
    small = a.bfloat16(), b.bfloat16()
    row("mm bfloat16", {**both(torch.mm, *small), "cpu float32": lambda: torch.mm(a, b)})
    x, w = torch.randn(8, 32, 56, 56), torch.randn(64, 32, 3, 3)
    for dtype in (torch.float32, torch.bfloat16):
        row(
            f"conv2d {dtype}".replace("torch.", ""),
            both(lambda x, w: functional.conv2d(x, w, padding=1), x.to(dtype), w.to(dtype)),
        )


def training(model: nn.Module, data: torch.Tensor) -> Callable[[], None]:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()

    return step


def models() -> None:
    made: dict[str, tuple[Callable[[], nn.Module], torch.Tensor]] = {
        "step of an MLP": (
            lambda: nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 256)),
            torch.randn(64, 256),
        ),
        "step of a convolutional net": (
            lambda: nn.Sequential(
                nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU()
            ),
            torch.randn(16, 3, 32, 32),
        ),
        "step of a transformer": (
            lambda: nn.Sequential(
                *(nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True) for _ in range(2))
            ),
            torch.randn(8, 64, 128),
        ),
    }
    for name, (make, data) in made.items():
        steps = {}
        for device in ("npu", "cpu"):
            torch.manual_seed(0)
            steps[device] = training(make().to(device), data.to(device))
        row(name, steps, seconds=0.06)


GROUPS = {each.__name__: each for each in (add, operators, attention, products, models)}


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    for name in sys.argv[1:] or GROUPS:
        GROUPS[name]()


if __name__ == "__main__":
    main()
