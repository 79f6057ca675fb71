"""Tensors of torch's sparse layout: values of one place become one."""

from __future__ import annotations

import pytest
import torch
import torch_npu  # noqa: F401
from interfaces import Refused, aclnn
from values import close, real


@pytest.mark.parametrize("tail", [(), (3,)], ids=["numbers", "rows"])
def test_coalescing(tail: tuple[int, ...]) -> None:
    places, values = torch.tensor([2, 0, 1, 0, 2]), real(5, *tail)
    coordinates = torch.tensor([[1, 1], [0, 2], [0, 3], [0, 2], [1, 1]], dtype=torch.int32)
    indices, sums = torch.zeros(3, 2, dtype=torch.int32), torch.zeros(3, *tail)
    aclnn("aclnnCoalesceSparse", torch.arange(3).int(), places.int(), coordinates, values, indices, sums)
    assert indices.tolist() == [[0, 2], [0, 3], [1, 1]]
    close(sums, torch.stack([values[1] + values[3], values[2], values[0] + values[4]]))
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnCoalesceSparse", torch.arange(3).int(), places.int()[:4], coordinates, values, indices, sums)
    with pytest.raises(Refused, match="become"):
        aclnn("aclnnCoalesceSparse", torch.arange(3).int(), places.int(), coordinates, values, indices[:2], sums)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_torch_coalesces(dtype: torch.dtype) -> None:
    indices, values = torch.tensor([[0, 2, 1, 2, 0], [1, 0, 3, 0, 1]]), real(5, 4, dtype=dtype)
    want = torch.sparse_coo_tensor(indices, values, (3, 4, 4)).coalesce()
    got = torch.sparse_coo_tensor(indices.npu(), values.npu(), (3, 4, 4)).coalesce()
    assert got.is_coalesced() and torch.equal(got.indices().cpu(), want.indices())
    close(got.values().cpu(), want.values(), 1e-2 if dtype == torch.float16 else 1e-5)
