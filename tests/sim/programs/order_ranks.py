"""For test_order.py: faults of collectives, each with its twin in order; prints the races of both on this rank, and the
fault's name."""

import os

import torch
import torch.distributed as dist

from ophook_npu import sim

RANK = int(os.environ["RANK"])
Stream, main, on = torch.npu.Stream, torch.npu.current_stream, torch.npu.stream


def ones(size: int = 64) -> torch.Tensor:
    x = torch.ones(size, device="npu")
    torch.npu.synchronize()
    return x


def meanwhile(start, act):
    """`act` on what `start` gives, before its work is waited for; the twin waits first."""

    def fault(ordered: bool) -> None:
        work, tensor = start()
        if ordered:
            work.wait()
        act(tensor)
        work.wait()

    return fault


def reduced():
    x = ones()
    return dist.all_reduce(x, async_op=True), x


def gathered():
    out = ones(128)
    return dist.all_gather_into_tensor(out, ones(), async_op=True), out


def scattered():
    x = ones(128)
    return dist.reduce_scatter_tensor(ones(), x, async_op=True), x


def sent_to_all():
    x = ones()
    return dist.broadcast(x, 0, async_op=True), x


def sent():
    x = ones()
    return dist.isend(x, 1) if RANK == 0 else dist.irecv(x, 0), x


def exchanged():
    out = ones(128)
    return dist.all_to_all_single(out, ones(128), async_op=True), out


def input_of_another_stream(ordered: bool) -> None:
    x, side = ones(), torch.npu.Stream()
    with torch.npu.stream(side):
        x.mul_(3)
    if ordered:
        torch.npu.current_stream().wait_stream(side)
    dist.all_reduce(x)


def result_read_early(ordered: bool) -> None:
    x, here = ones(), torch.empty(64).pin_memory()
    dist.all_reduce(x)
    here.copy_(x, non_blocking=True)
    if ordered:
        torch.npu.synchronize()
    here.sum()


def two_groups(ordered: bool) -> None:
    groups = GROUPS if ordered or RANK == 0 else GROUPS[::-1]
    tensors = [ones() for _ in groups]
    works = [dist.all_reduce(x, group=group, async_op=True) for x, group in zip(tensors, groups, strict=True)]
    for work in works:
        work.wait()


def list_gathered(ordered: bool) -> None:
    parts, x = [ones(), ones()], ones()
    work = dist.all_gather(parts, x, async_op=True)
    if ordered:
        work.wait()
    parts[1 - RANK] + 1
    work.wait()


def messages_of_a_batch(ordered: bool) -> None:
    out, x = ones(), ones()
    other = 1 - RANK
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, out, other)])
    if ordered:
        for work in works:
            work.wait()
    out + 1
    for work in works:
        work.wait()


def sum_on_a_side_stream(ordered: bool) -> None:
    """A collective that is not asynchronous makes the current stream wait, and no other."""
    x, side = ones(), Stream()
    with on(side):
        dist.all_reduce(x)
    if ordered:
        main().wait_stream(side)
    x + 1


def waited_for_on_another_stream(ordered: bool) -> None:
    x, side = ones(), Stream()
    work = dist.all_reduce(x, async_op=True)
    with on(main() if ordered else side):
        work.wait()
    x + 1


def functional_sum(ordered: bool) -> None:
    x = torch.ops._c10d_functional.all_reduce(ones(), "sum", dist.group.WORLD.group_name)
    if ordered:
        x = torch.ops._c10d_functional.wait_tensor(x)
    x + 1
    torch.ops._c10d_functional.wait_tensor(x)


def coalesced_sums(ordered: bool) -> None:
    tensors = [ones(), ones()]
    with dist._coalescing_manager(device=torch.device("npu", RANK), async_ops=True) as manager:
        for x in tensors:
            dist.all_reduce(x)
    if ordered:
        manager.wait()
    tensors[1].mul_(2)
    manager.wait()


def net() -> torch.nn.parallel.DistributedDataParallel:
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).npu()
    return torch.nn.parallel.DistributedDataParallel(layers, device_ids=[RANK], gradient_as_bucket_view=True)


def hook_that_scales_early(ordered: bool) -> None:
    model, x = net(), ones().expand(4, 64)

    def hook(_, bucket):
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        if not ordered:
            bucket.buffer().div_(2)
        return work.get_future().then(lambda done: done.value()[0].div_(2) if ordered else done.value()[0])

    model.register_comm_hook(None, hook)
    model(x).sum().backward()


def gradients_clipped_on_a_side_stream(ordered: bool) -> None:
    model, x, side = net(), ones().expand(4, 64), Stream()
    model(x).sum().backward()
    if ordered:
        side.wait_stream(main())
    with on(side):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    main().wait_stream(side)


def bucket_read_by_a_hook_of_a_parameter(ordered: bool) -> None:
    """A gradient that is a view of a bucket is read on a stream of its own while the bucket is reduced."""
    model, x, side, kept = net(), ones().expand(4, 64), Stream(), []
    model(x).sum().backward()

    def look(p):
        side.wait_stream(main())
        with on(side):
            kept.append(p.grad.norm())
        if ordered:
            main().wait_stream(side)

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(look)
    model(x).sum().backward()
    torch.npu.synchronize()


def shards_gathered_early(ordered: bool) -> None:
    """A shard is stepped on one stream and gathered on another."""
    whole, shard, side = ones(128), ones(), Stream()
    with on(side):
        shard.add_(1)
    if ordered:
        main().wait_stream(side)
    dist.all_gather_into_tensor(whole, shard)


def result_of_a_side_stream_read_early(ordered: bool) -> None:
    x, here = ones(), torch.empty(64).pin_memory()
    side = Stream()
    with on(side):
        dist.all_reduce(x)
        here.copy_(x, non_blocking=True)
    if ordered:
        side.synchronize()
    here.sum()


def scattered_list(ordered: bool) -> None:
    out, parts = ones(), [ones(), ones()]
    work = dist.scatter(out, parts if RANK == 0 else None, 0, async_op=True)
    if ordered:
        work.wait()
    out.mul_(2)
    work.wait()


FAULTS = {
    "a sum scaled early": meanwhile(reduced, lambda x: x.mul_(2)),
    "parts read early": meanwhile(gathered, lambda x: x.sum()),
    "an input overwritten": meanwhile(scattered, lambda x: x.zero_()),
    "a broadcast changed early": meanwhile(sent_to_all, lambda x: x.add_(1)),
    "a message changed early": meanwhile(sent, lambda x: x.add_(1)),
    "exchanged parts read early": meanwhile(exchanged, lambda x: x.sum()),
    "an input of another stream": input_of_another_stream,
    "a result read early": result_read_early,
    "two groups in two orders": two_groups,
} | {function.__name__.replace("_", " "): function for function in (
    list_gathered, messages_of_a_batch, sum_on_a_side_stream, waited_for_on_another_stream, functional_sum,
    coalesced_sums, hook_that_scales_early, gradients_clipped_on_a_side_stream, bucket_read_by_a_hook_of_a_parameter,
    shards_gathered_early, result_of_a_side_stream_read_early, scattered_list,
)}  # fmt: skip


if __name__ == "__main__":
    torch.npu.set_device(RANK)
    dist.init_process_group("hccl")
    GROUPS = [dist.new_group([0, 1]) for _ in range(2)]
    for group in (None, *GROUPS):
        dist.all_reduce(ones(), group=group)
    for name, fault in FAULTS.items():
        counts = []
        for ordered in (False, True):
            dist.barrier()
            torch.npu.synchronize()
            with sim.check_order() as found:
                fault(ordered)
                torch.npu.synchronize()
            counts.append(len(found.races))
        os.write(1, f"{counts[0]} {counts[1]} {name}\n".encode())  # whole lines: two ranks print
    dist.destroy_process_group()
