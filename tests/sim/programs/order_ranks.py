"""For test_order.py: faults of collectives, each with its twin in order; prints the races of both on this rank, and the
fault's name."""

import os

import torch
import torch.distributed as dist

from ophook_npu import sim

RANK = int(os.environ["RANK"])


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
}

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
