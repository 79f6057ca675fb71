"""Run by test_hccl.py in each rank: torch's symmetric memory on `npu`."""

import os

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric
import torch_npu  # noqa: F401

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
NPU = torch.device("npu", RANK)
NEXT = (RANK + 1) % RANKS


def settled() -> None:
    torch.npu.synchronize()
    dist.barrier()
    torch.npu.synchronize()


def made(count: int, value: float) -> torch.Tensor:
    tensor = symmetric.empty(count, dtype=torch.float32, device=NPU)
    tensor.fill_(value)
    settled()
    return tensor


def peers() -> None:
    """Each reads what the next has, by operators and by copies, and writes into it."""
    tensor = made(1000, RANK)
    handle = symmetric.rendezvous(tensor, dist.group.WORLD)
    assert (handle.rank, handle.world_size) == (RANK, RANKS)
    theirs = handle.get_buffer(NEXT, (1000,), torch.float32)
    assert theirs.cpu().eq(NEXT).all()
    assert (theirs + tensor).eq(NEXT + RANK).all()
    settled()
    theirs.fill_(10 + RANK)
    settled()
    assert tensor.eq(10 + (RANK - 1) % RANKS).all()


def messages() -> None:
    tensor = made(64, RANK)
    symmetric.rendezvous(tensor, dist.group.WORLD)
    settled()
    if RANK == 0:
        torch.ops.symm_mem.nvshmem_put(tensor, 1)
    settled()
    assert tensor.eq(0 if RANK == 1 else RANK).all()
    if RANK == 0:
        torch.ops.symm_mem.nvshmem_get(tensor, RANKS - 1)
    settled()
    assert tensor.eq([RANKS - 1, 0, RANK][min(RANK, 2)]).all()


def room() -> None:
    """What was freed is given again, at the same place, and more than there is is refused."""
    first, second = made(300, 0), made(300, 0)
    place = first.data_ptr()
    del first
    assert made(300, 1).data_ptr() == place
    assert second.eq(0).all()
    try:
        symmetric.empty(1 << 20, dtype=torch.float32, device=NPU)
    except RuntimeError as error:
        assert "shmem_malloc return nullptr" in str(error)
    else:
        raise AssertionError("more than there is")


torch.npu.set_device(NPU)
dist.init_process_group("hccl", rank=RANK, world_size=RANKS)
symmetric.enable_symm_mem_for_group(dist.group.WORLD.group_name)
for part in (peers, messages, room):
    part()
    print(f"rank {RANK}: {part.__name__} passed", flush=True)
dist.destroy_process_group()
