"""Run by test_hccl.py in each rank: functional collectives in graphs of torchair, against eager mode."""

import functools
import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
import torch_npu
import torchair

RANK = int(os.environ["RANK"])
RANKS = int(os.environ["WORLD_SIZE"])
NPU = torch.device("npu", RANK)


def everything(x: torch.Tensor) -> list[torch.Tensor]:
    world = dist.group.WORLD
    return [
        collectives.all_reduce(x * 2, "sum", world) + 1,
        collectives.all_reduce(x, "max", world),
        collectives.all_gather_tensor(x + 1, 0, world),
        collectives.reduce_scatter_tensor(x.repeat(RANKS), "sum", 0, world),
        collectives.broadcast(x + 3, 1, world),
        collectives.all_to_all_single(x, None, None, world),
    ]


def uneven(x: torch.Tensor) -> torch.Tensor:  # rank r gets r + 1 elements of everyone
    sizes = [rank + 1 for rank in range(RANKS)]
    return collectives.all_to_all_single(x, [RANK + 1] * RANKS, sizes, dist.group.WORLD) * 2


def to_the_next(x: torch.Tensor) -> torch.Tensor:
    """Two messages, which other ranks wait for: nothing of it may happen while the graph is compiled."""
    given = torch.empty_like(x)
    if RANK == 0:
        dist.send(x * 2, 1)
    else:
        dist.recv(given, 0)
    return given + 1 if RANK else x


SIZES = [2 + rank for rank in range(RANKS)]


def all_of_different_sizes(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty(sum(SIZES), 3, device=NPU)
    torch_npu.distributed.all_gather_into_tensor_uneven(out, x, SIZES)
    return out + 1


def sums_of_different_sizes(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty(SIZES[RANK], 3, device=NPU)
    torch_npu.distributed.reduce_scatter_tensor_uneven(out, x, SIZES)
    return out + 1


def in_pieces(x: torch.Tensor) -> torch.Tensor:
    """By broadcasts of each rank, of memory that is known before the graph runs."""
    outs = [torch.empty(size, 3, device=NPU) for size in SIZES]
    dist.all_gather(outs, x)
    return torch.cat(outs)


def between_products(group: str, x: torch.Tensor, w: torch.Tensor, wide: torch.Tensor) -> list[torch.Tensor]:
    return [
        torch_npu.npu_mm_all_reduce_base(x, w, group),
        *torch_npu.npu_all_gather_base_mm(x, w, group, RANKS),
        torch_npu.npu_mm_reduce_scatter_base(x, w, group, RANKS),
        *torch_npu.npu_all_to_all_matmul(x, wide, group, RANKS),
    ]


def to_experts(group: str, x: torch.Tensor, ids: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    where = {"group_ep": group, "ep_world_size": RANKS, "ep_rank_id": RANK, "moe_expert_num": 2 * RANKS}
    rows, _, sources, _, ends, *_ = torch_npu.npu_moe_distribute_dispatch_v2(x, ids, **where)
    return torch_npu.npu_moe_distribute_combine_v2(rows * 2, ids, sources, ends, weights, **where)


def equal(name: str, function: Callable[..., Any], *given: torch.Tensor) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=torchair.get_npu_backend(), dynamic=False, fullgraph=True)
    torch.testing.assert_close(compiled(*given), function(*given))
    print(f"rank {RANK}: {name} passed", flush=True)


def main() -> None:
    torch.npu.set_device(RANK)
    dist.init_process_group("hccl", device_id=NPU)
    for dynamic in (False, True):
        torch._dynamo.reset()
        compiled = torch.compile(everything, backend=torchair.get_npu_backend(), dynamic=dynamic, fullgraph=True)
        for size in (RANKS * 2, RANKS * 3):
            x = torch.arange(size, dtype=torch.float32, device=NPU) + 10 * RANK
            for got, want in zip(compiled(x), everything(x), strict=True):
                torch.testing.assert_close(got.cpu(), want.cpu(), rtol=0, atol=0)
        print(f"rank {RANK}: dynamic={dynamic} passed", flush=True)
    x = torch.arange(RANKS * (RANKS + 1) // 2, dtype=torch.float32, device=NPU) + 10 * RANK
    compiled = torch.compile(uneven, backend=torchair.get_npu_backend(), dynamic=False, fullgraph=True)
    torch.testing.assert_close(compiled(x).cpu(), uneven(x).cpu(), rtol=0, atol=0)
    print(f"rank {RANK}: uneven passed", flush=True)
    torchair.patch_for_hcom()
    group = dist.group.WORLD._get_backend(NPU).get_hccl_comm_name(RANK)
    torch.manual_seed(RANK)
    equal("messages", to_the_next, torch.randn(4, 3, device=NPU))
    equal("gathered", all_of_different_sizes, torch.randn(SIZES[RANK], 3, device=NPU))
    equal("scattered", sums_of_different_sizes, torch.randn(sum(SIZES), 3, device=NPU))
    equal("in pieces", in_pieces, torch.randn(SIZES[RANK], 3, device=NPU))
    half = {"dtype": torch.float16, "device": NPU}
    x, w, wide = torch.randn(16, 256, **half), torch.randn(256, 32, **half), torch.randn(256 * RANKS, 32, **half)
    equal("products", functools.partial(between_products, group), x, w, wide)
    ids = torch.stack([torch.randperm(2 * RANKS)[:2] for _ in range(8)]).int().npu()
    weights = torch.rand(8, 2, device=NPU)
    equal("experts", functools.partial(to_experts, group), torch.randn(8, 1024, **half), ids, weights)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
