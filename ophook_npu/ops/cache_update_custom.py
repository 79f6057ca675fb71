"""``npu::npu_cache_update_custom(Tensor(a!) cache, Tensor index, Tensor updates) -> ()``: cache[index[i]] = updates[i].

cache: (N, …); index: (K,), int32 or int64, each in 0 … N - 1, and no number twice; updates: (K, …), cache's dtype.
Written in place: nothing is returned.
"""

from __future__ import annotations

from typing import Any

import torch

from ophook_npu.ops.declare import Operator

DTYPES = (torch.float16, torch.float32, torch.bfloat16, torch.int32)


def cpu(cache: torch.Tensor, index: torch.Tensor, updates: torch.Tensor) -> None:
    if index.numel() and not (int(index.min()) >= 0 and int(index.max()) < cache.shape[0]):
        raise IndexError(
            f"[npu_cache_update_custom] index reaches from {int(index.min())} to {int(index.max())}; "
            f"allowed: 0 to {cache.shape[0] - 1}"
        )
    cache.index_copy_(0, index.long(), updates)


def examples() -> list[tuple[Any, ...]]:
    return [
        (torch.zeros(8, 4), torch.tensor([1, 5, 2]), torch.randn(3, 4)),
        (torch.zeros(3, 6).t(), torch.tensor([0], dtype=torch.int32), torch.randn(1, 3)),
        (torch.zeros(4, 2, 3).half(), torch.tensor([3, 0]), torch.randn(2, 2, 3).half()),
        (torch.zeros(5, dtype=torch.int32), torch.tensor([4]), torch.tensor([7], dtype=torch.int32)),
        (torch.zeros(4, 2), torch.tensor([], dtype=torch.int64), torch.zeros(0, 2)),
    ]


OPERATOR = Operator(
    schema="npu::npu_cache_update_custom(Tensor(a!) cache, Tensor index, Tensor updates) -> ()",
    summary="cache[index[i]] = updates[i], in place",
    cpu=cpu,
    dtypes={"cache updates": DTYPES, "index": (torch.int32, torch.int64)},
    shapes={"cache": "n ...", "index": "k", "updates": "k ..."},
    ge="CacheUpdateCustom",
    examples=examples,
)
