"""Run by test_hccl.py in two ranks: each mistake, in a group of its own, is named on both."""

import os
import time

import torch
import torch.distributed as dist

RANK = int(os.environ["RANK"])
NPU = torch.device("npu", RANK)


def attempt(name: str, call) -> None:
    group = dist.new_group([0, 1])
    try:
        call(group)
        torch.npu.synchronize()
    except RuntimeError as error:
        reason = [line for line in str(error).splitlines() if "simulated Ascend" in line]
        said = reason[0] if reason else str(error)
    else:
        said = "no error"
    os.write(1, f"rank {RANK}: {name}: {said}\n".encode())  # at once: two ranks often speak at the same moment


def ready(group) -> torch.Tensor:
    x = torch.ones(4, device=NPU)
    dist.all_reduce(x, group=group)
    torch.npu.synchronize()
    return x


def another_collective(group) -> None:
    x = ready(group)
    dist.all_reduce(x, group=group) if RANK == 0 else dist.broadcast(x, 0, group=group)


def another_reduction(group) -> None:
    dist.all_reduce(ready(group), dist.ReduceOp.SUM if RANK == 0 else dist.ReduceOp.MAX, group=group)


def another_size(group) -> None:
    ready(group)
    dist.all_reduce(torch.ones((1 << 20) + RANK, device=NPU), group=group)  # the same for its first turns


def another_dtype(group) -> None:
    ready(group)
    dist.all_reduce(torch.ones(4, device=NPU, dtype=torch.float32 if RANK == 0 else torch.int32), group=group)


def both_send(group) -> None:
    x = ready(group)
    dist.send(x, 1 - RANK, group=group)
    dist.recv(x, 1 - RANK, group=group)


def too_late(group) -> None:
    x = ready(group)
    if RANK == 1:
        time.sleep(float(os.environ["HCCL_EXEC_TIMEOUT"]) + 1)
    dist.all_reduce(x, group=group)


def absent(group) -> None:
    if RANK == 0:
        ready(group)


def gone(group) -> None:
    x = ready(group)
    if RANK == 1:
        os._exit(0)
    dist.all_reduce(x, group=group)


def main() -> None:
    torch.npu.set_device(RANK)
    dist.init_process_group("hccl", device_id=NPU)
    mistakes = (another_collective, another_reduction, another_size, another_dtype, both_send, too_late, absent, gone)
    only = os.environ.get("ONLY", "").split()
    for mistake in mistakes:
        if only and mistake.__name__ not in only:
            continue
        attempt(mistake.__name__, mistake)
    os._exit(0)


if __name__ == "__main__":
    main()
