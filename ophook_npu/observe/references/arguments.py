"""What formulas do with arguments."""

from __future__ import annotations

from typing import Any

import torch

Tensor = torch.Tensor


def wide(tensor: Tensor) -> Tensor:
    """In float32 if it has fewer bits."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def refuse(**arguments: Any) -> None:
    """Raises NotImplementedError for the first argument that is given: these formulas do not cover it."""
    for name, value in arguments.items():
        if value is not None and not (isinstance(value, Tensor) and value.numel() == 0):
            raise NotImplementedError(f"no formula for argument {name}")
