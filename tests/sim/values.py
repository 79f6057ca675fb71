"""Inputs of operators from fixed seeds, and how close to a formula in float64 their results have to be."""

from __future__ import annotations

import torch


def real(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def whole(*shape: int, seed: int = 0, low: int = -20, high: int = 20, dtype: torch.dtype = torch.int8) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def gradients(function, *inputs: torch.Tensor, grad: torch.Tensor) -> list[torch.Tensor]:
    """In float64, by torch's autograd."""
    leaves = [one.double().requires_grad_() for one in inputs]
    function(*leaves).backward(grad.double())
    return [leaf.grad if leaf.grad is not None else torch.zeros_like(leaf) for leaf in leaves]


def close(got: torch.Tensor, want: torch.Tensor, tolerance: float = 1e-4) -> None:
    torch.testing.assert_close(got.double(), want.double().reshape(got.shape), rtol=tolerance, atol=tolerance)


def steps_close(got: torch.Tensor, want: torch.Tensor, low: int = -128, high: int = 127) -> None:
    """Rounded numbers: one step apart only where the formula lies between two."""
    off = (got.double() - want.double().clamp(low, high).reshape(got.shape)).abs()
    assert off.max() <= 0.5 + 1e-3, off.max()


def unpacked(words: torch.Tensor) -> torch.Tensor:
    """Numbers of 4 bits, the first in the lowest."""
    nibbles = (words.long().unsqueeze(-1) >> torch.arange(0, 32, 4)) & 15
    return ((nibbles ^ 8) - 8).flatten(-2)


def situ(x: torch.Tensor, *, linear: float, left: bool) -> torch.Tensor:
    gate, up = x.chunk(2, -1) if left else x.chunk(2, -1)[::-1]
    up = linear * torch.tanh(up / linear) if linear > 0 else up
    return 1.5 * torch.tanh(gate / 1.5) * torch.sigmoid(gate) * up
