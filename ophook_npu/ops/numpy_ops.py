"""NumPy behind operators: ``mylib::numpy_sin(Tensor input, Tensor(a!) output) -> ()`` writes into its second
argument, and
``mylib::numpy_matmul(Tensor x, Tensor y) -> Tensor`` multiplies matrices.

numpy_sin: input and output of one shape and dtype, fp32 or fp64.
numpy_matmul: x (M, K), y (K, N), fp32 or fp64, one dtype; returns (M, N).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ophook_npu.ops.declare import Operator

DTYPES = (torch.float32, torch.float64)


def sin_cpu(input: torch.Tensor, output: torch.Tensor) -> None:
    np.sin(input.detach().numpy(), out=output.detach().numpy())


def matmul_cpu(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(x.detach().numpy() @ y.detach().numpy()))


def matmul_fake(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.new_empty(x.shape[0], y.shape[1])


def matmul_context(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


def matmul_backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
    x, y = ctx.saved_tensors
    # Through the operator itself, so that it stays one node in the backward graph too, and has a second derivative.
    grad_x = MATMUL.packet(grad, y.t()) if ctx.needs_input_grad[0] else None
    return grad_x, MATMUL.packet(x.t(), grad) if ctx.needs_input_grad[1] else None


def sin_examples() -> list[tuple[Any, ...]]:
    return [
        (torch.randn(3), torch.empty(3)),
        (torch.randn(4, 5).t(), torch.empty(5, 4)),
        (torch.randn(2, 2).double(), torch.empty(2, 2).double()),
        (torch.tensor(0.5), torch.empty(())),
    ]


def matmul_examples() -> list[tuple[Any, ...]]:
    return [
        (torch.randn(3, 4), torch.randn(4, 5)),
        (torch.randn(2, 3).double().requires_grad_(), torch.randn(3, 4).double().requires_grad_()),
        (torch.randn(4, 3).t(), torch.randn(6, 4).t()),
        (torch.randn(0, 4), torch.randn(4, 5)),
    ]


SIN = Operator(
    schema="mylib::numpy_sin(Tensor input, Tensor(a!) output) -> ()",
    summary="output = sin(input), by NumPy",
    cpu=sin_cpu,
    dtypes={"input output": DTYPES},
    shapes={"input": "...", "output": "..."},
    examples=sin_examples,
)
MATMUL = Operator(
    schema="mylib::numpy_matmul(Tensor x, Tensor y) -> Tensor",
    summary="the product of two matrices, by NumPy",
    cpu=matmul_cpu,
    outputs={"product": None},
    fake=matmul_fake,
    dtypes={"x y": DTYPES},
    shapes={"x": "m k", "y": "k n"},
    setup_context=matmul_context,
    backward=matmul_backward,
    examples=matmul_examples,
)
