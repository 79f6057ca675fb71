"""Run by test_hccl.py in each rank: functional collectives in graphs of torchair, against eager mode."""

import os

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
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
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
