"""Formulas of torch_npu's rotary position embedding.

Arguments are those of the operators' schemas; results have the dtype of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from ophook_npu.observe.references.arguments import wide

Tensor = torch.Tensor


# ---- rotary position embedding: x cos + rotated(x) sin ---------------------------------------------------------------
def _rotated(x: Tensor, mode: str) -> Tensor:
    if mode == "half":
        first, second = x.chunk(2, -1)
        return torch.cat((-second, first), -1)
    if mode == "interleave":
        return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    raise NotImplementedError(f"no formula for rotary_mode {mode}")


def _rotary(input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half", rotate: Tensor | None = None) -> Tensor:
    x = wide(input)
    turned = _rotated(x, rotary_mode) if rotate is None else x @ wide(rotate)
    return (x * wide(r1) + turned * wide(r2)).to(input.dtype)


def _rotary_backward(
    grad: Tensor, input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half"
) -> tuple[Tensor, ...]:
    to, x = wide(grad), wide(input)
    # A quarter turn back is three quarter turns on: the transpose of the rotation is its negative.
    to_input = to * wide(r1) - _rotated(to * wide(r2), rotary_mode)
    to_cos, to_sin = (to * x).sum_to_size(r1.shape), (to * _rotated(x, rotary_mode)).sum_to_size(r2.shape)
    return to_input.to(input.dtype), to_cos.to(r1.dtype), to_sin.to(r2.dtype)


def _apply_rotary(
    query: Tensor, key: Tensor, cos: Tensor, sin: Tensor, layout: str = "BSND", rotary_mode: str = "half"
) -> tuple[Tensor, Tensor]:
    if cos.shape[-1] != query.shape[-1]:
        raise NotImplementedError("no formula for argument cos narrower than query")
    results = [_rotary(x, cos, sin, rotary_mode) for x in (query, key)]
    return query.copy_(results[0]), key.copy_(results[1])


ROTARY: Mapping[str, Callable[..., Any]] = {
    "npu_rotary_mul": _rotary,
    "npu_rotary_mul_backward": _rotary_backward,
    "npu_apply_rotary_pos_emb": _apply_rotary,
}
