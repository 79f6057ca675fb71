"""Run by test_hccl.py in each rank: every collective against what it must give, on `npu` over HCCL."""

import os
import resource

import torch
import torch.distributed as dist
import torch_npu

RANK = int(os.environ["RANK"])
RANKS = int(os.environ["WORLD_SIZE"])
NPU = torch.device("npu", RANK)
# By their names of torch 2.13 and before.
REDUCE_SCATTER = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)
ALL_GATHER = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
DTYPES = [torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32]


def of_rank(rank: int, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(rank)
    return torch.randint(1, 4, shape, generator=generator).to(dtype)


def equal(got: torch.Tensor, want: torch.Tensor) -> None:
    torch.testing.assert_close(got.cpu(), want, rtol=0, atol=0)


def reductions() -> None:
    reference = {
        dist.ReduceOp.SUM: lambda x: x.sum(0),
        dist.ReduceOp.PRODUCT: lambda x: x.prod(0),
        dist.ReduceOp.MAX: lambda x: x.amax(0),
        dist.ReduceOp.MIN: lambda x: x.amin(0),
    }
    for dtype in DTYPES:
        whole = torch.stack([of_rank(rank, RANKS * 2, 5, dtype=dtype) for rank in range(RANKS)])
        for op, reduce in reference.items():
            want = reduce(whole).to(dtype)
            got = whole[RANK].npu()
            dist.all_reduce(got, op)
            equal(got, want)
            part = torch.empty(2, 5, dtype=dtype, device=NPU)
            REDUCE_SCATTER(part, whole[RANK].npu(), op)
            equal(part, want[RANK * 2 : RANK * 2 + 2])
            got = whole[RANK].npu()
            dist.reduce(got, 1, op)
            if RANK == 1:
                equal(got, want)
    for count in (0, 1, RANKS - 1, 1000003):  # fewer elements than ranks; more than goes in one turn
        numbers = torch.arange(count, dtype=torch.float32)
        got = (numbers + RANK).npu()
        dist.all_reduce(got)
        equal(got, RANKS * numbers + sum(range(RANKS)))
        part = torch.empty(count, device=NPU)
        REDUCE_SCATTER(part, (numbers.repeat(RANKS) + RANK).npu())
        equal(part, RANKS * numbers + sum(range(RANKS)))
    large = torch.ones(16 << 20, device=NPU)
    torch.npu.synchronize()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    dist.all_reduce(large)
    torch.npu.synchronize()
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert more < 32 << 10, f"{more} KB more than before for an all_reduce of 65536 KB"
    flags = torch.tensor([RANK == 0, False, True]).npu()
    dist.all_reduce(flags, dist.ReduceOp.MAX)
    equal(flags, torch.tensor([True, False, True]))


def movements() -> None:
    whole = [of_rank(rank, 3, 4) for rank in range(RANKS)]
    mine = whole[RANK].npu()
    got = [torch.empty(3, 4, device=NPU) for _ in range(RANKS)]
    dist.all_gather(got, mine)
    for one, want in zip(got, whole, strict=True):
        equal(one, want)
    together = torch.empty(3 * RANKS, 4, device=NPU)
    ALL_GATHER(together, mine)
    equal(together, torch.cat(whole))
    copy = mine.clone()
    dist.broadcast(copy, 1)
    equal(copy, whole[1])
    dist.scatter(copy, [one.npu() for one in whole] if RANK == 0 else None, 0)
    equal(copy, whole[RANK])

    numbers = torch.arange(RANKS, dtype=torch.float32) + 10 * RANK
    got_numbers = torch.empty(RANKS, device=NPU)
    dist.all_to_all_single(got_numbers, numbers.npu())
    equal(got_numbers, torch.arange(RANKS) * 10.0 + RANK)
    sizes = [rank + 1 for rank in range(RANKS)]  # rank r gets r + 1 rows of everyone
    out = torch.empty((RANK + 1) * RANKS, device=NPU)
    dist.all_to_all_single(out, torch.full((sum(sizes),), float(RANK), device=NPU), [RANK + 1] * RANKS, sizes)
    equal(out, torch.arange(RANKS, dtype=torch.float32).repeat_interleave(RANK + 1))

    objects = [None] * RANKS
    dist.all_gather_object(objects, {"rank": RANK})
    assert objects == [{"rank": rank} for rank in range(RANKS)]
    dist.barrier(device_ids=[RANK])


def messages() -> None:
    following, previous = (RANK + 1) % RANKS, (RANK - 1) % RANKS
    got = torch.zeros(300000, device=NPU)
    if RANK == 0:
        dist.send(torch.full((300000,), 7.0, device=NPU), 1)
    elif RANK == 1:
        dist.recv(got, 0)
        equal(got, torch.full((300000,), 7.0))
    got = torch.zeros(3, device=NPU)
    ring = [
        dist.P2POp(dist.isend, torch.full((3,), float(RANK), device=NPU), following),
        dist.P2POp(dist.irecv, got, previous),
    ]
    for work in dist.batch_isend_irecv(ring):
        work.wait()
    equal(got, torch.full((3,), float(previous)))


def grouped_sends() -> None:
    """torch_npu's other implementation of these two: sends and receives between HcclGroupStart and HcclGroupEnd."""
    before = torch_npu.npu.are_compatible_impl_enabled()
    torch_npu.npu.use_compatible_impl(True)
    try:
        got = [torch.empty(2, device=NPU) for _ in range(RANKS)]
        dist.all_to_all(got, [torch.full((2,), float(10 * RANK + rank), device=NPU) for rank in range(RANKS)])
        for rank, one in enumerate(got):
            equal(one, torch.full((2,), 10.0 * rank + RANK))
        gathered = [torch.empty(2, device=NPU) for _ in range(RANKS)] if RANK == 0 else None
        dist.gather(torch.full((2,), float(RANK), device=NPU), gathered, 0)
        for rank, one in enumerate(gathered or []):
            equal(one, torch.full((2,), float(rank)))
    finally:
        torch_npu.npu.use_compatible_impl(before)


def groups() -> None:
    pair = dist.new_group([0, 1])
    if RANK < 2:
        got = torch.ones(1, device=NPU)
        dist.all_reduce(got, group=pair)
        equal(got, torch.full((1,), 2.0))
    with dist._coalescing_manager(device=NPU):
        first, second = torch.ones(3, device=NPU), torch.ones(2, device=NPU)
        dist.all_reduce(first)
        dist.all_reduce(second)
    equal(first, torch.full((3,), float(RANKS)))
    equal(second, torch.full((2,), float(RANKS)))


def captured() -> None:
    value = torch.ones(2, device=NPU)
    dist.all_reduce(value)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        total = value * 2
        dist.all_reduce(total)
    for number in (1.0, 5.0):
        value.fill_(number)
        graph.replay()
        torch.npu.synchronize()
        equal(total, torch.full((2,), number * 2 * RANKS))


def main() -> None:
    torch.npu.set_device(RANK)
    dist.init_process_group("hccl", device_id=NPU)
    for part in (reductions, movements, messages, grouped_sends, groups, captured):
        part()
        print(f"rank {RANK}: {part.__name__} passed", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
