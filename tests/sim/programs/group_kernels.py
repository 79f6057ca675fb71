"""Run by test_group_kernels.py in each rank: calls aclnnGroupDemo of the package in GROUP_PACKAGE, with the group
of all ranks. ONLY says what is checked.
"""

import ctypes
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL_V, ALL_TO_ALL, BATCH_WRITE = 2, 6, 7, 8, 10, 18
OF_950 = 20  # HCCL_CMD_HALF_ALLTOALLV
opapi, acl = ctypes.CDLL("libopapi.so"), ctypes.CDLL("libascendcl.so")
acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
opapi.aclCreateTensor.restype = ctypes.c_void_p
package = ctypes.CDLL(str(Path(os.environ["GROUP_PACKAGE"], "op_api", "lib", "libcust_opapi.so")))
ONLY = os.environ["ONLY"]
DTYPES, ND = {torch.float32: 0, torch.float16: 1}, 2


def described(tensor: torch.Tensor) -> ctypes.c_void_p:
    shape = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
    steps = (ctypes.c_int64 * tensor.dim())(*tensor.stride())
    data = ctypes.c_void_p(tensor.data_ptr())
    rank = ctypes.c_uint64(tensor.dim())
    made = opapi.aclCreateTensor(shape, rank, DTYPES[tensor.dtype], steps, ctypes.c_int64(0), ND, shape, rank, data)
    return ctypes.c_void_p(made)


def as_argument(value: object) -> object:
    match value:
        case torch.Tensor():
            return described(value)
        case str():
            return value.encode()
        case _:
            return ctypes.c_int64(value)


def invoke(operator: str, *values: object) -> str:
    """What went wrong, or nothing."""
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    torch.npu.synchronize()
    first = getattr(package, f"aclnn{operator}GetWorkspaceSize")
    code = first(*map(as_argument, values), ctypes.byref(size), ctypes.byref(executor))
    if code == 0:
        room = torch.empty(max(1, size.value), dtype=torch.uint8, device="npu")
        stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)
        second = getattr(package, f"aclnn{operator}")
        code = second(ctypes.c_void_p(room.data_ptr()), size, executor, stream) or acl.aclrtSynchronizeStream(stream)
    return f"{code}: {(acl.aclGetRecentErrMsg() or b'').decode()}" if code else ""


def call(group: str, x: torch.Tensor, y: torch.Tensor, mode: int, command: int, length: int, tiles: int = 1,
         blocks: int = 2, setting: int = 0) -> str:  # fmt: skip
    return invoke("GroupDemo", x, group, mode, length, tiles, blocks, command, y.numel(), setting, y)


def real(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def check(name: str, x: list[torch.Tensor], want: torch.Tensor, *how: int, **more: int) -> None:
    want = want.flatten()
    y = torch.full_like(want, 7).npu()
    problem = call(GROUP, x[RANK].npu(), y, *how, **more)
    assert not problem, f"{name}: {problem}"
    torch.testing.assert_close(y.cpu(), want, msg=lambda text: f"{name}, rank {RANK}: {text}")


def collectives() -> None:
    whole = [real(1000, seed=rank) for rank in range(RANKS)]
    total = sum(whole)
    check("AllReduce", whole, total, 0, ALL_REDUCE, 1000)
    tiled = [real(2 * 40 + 3, seed=rank) for rank in range(RANKS)]
    check("AllGather in tiles", tiled, torch.cat(tiled), 1, ALL_GATHER, 40, tiles=2)
    parts = [real(RANKS, 3 * 16, seed=rank) for rank in range(RANKS)]
    most = torch.stack(parts).amax(0)[RANK]
    check("ReduceScatter in tiles", parts, most, 2, REDUCE_SCATTER, 16, tiles=3)
    turned = torch.stack([parts[rank][RANK] for rank in range(RANKS)])
    check("AlltoAll in tiles", parts, turned, 3, ALL_TO_ALL, 16, tiles=3)
    small = [real(64, seed=rank) for rank in range(RANKS)]
    check("compute, AllReduce, compute", small, 4 * sum(small), 7, ALL_REDUCE, 64, blocks=3)
    least = torch.stack(small).amin(0).repeat(RANKS)
    check("AllReduce, AllGather", small, least, 8, ALL_REDUCE, 64)
    for _ in range(3):  # a window keeps what was written, and each rank takes its own flag down
        check("windows", small, small[RANK - 1], 5, ALL_REDUCE, 64)
        dist.barrier(OTHER)  # before another one raises it again
    large = [real(200_000, seed=rank) for rank in range(RANKS)]
    check("a large AllReduce", large, sum(large), 0, ALL_REDUCE, 200_000, blocks=1)


def products() -> None:
    """Gathered in rounds and multiplied on cube cores while the next round is under way."""
    x = [real(32, 64, seed=rank).half() for rank in range(RANKS)]
    weight = real(64, 48, seed=RANKS).half()
    product = torch.empty(32 * RANKS, 48).npu()
    gathered = torch.empty(32 * RANKS, 64, dtype=torch.float16).npu()
    problem = invoke("GatherProductDemo", x[RANK].npu(), weight.npu(), GROUP, RANKS, 2, product, gathered)
    assert not problem, problem
    rows = torch.cat(x)
    assert torch.equal(gathered.cpu(), rows)
    torch.testing.assert_close(product.cpu().double(), rows.double() @ weight.double(), rtol=1e-4, atol=1e-3)


def of_a3() -> None:
    count = [[source + 1 + to for to in range(RANKS)] for source in range(RANKS)]
    x = [real(sum(count[rank]), seed=rank) for rank in range(RANKS)]
    pieces = [x[source].split(count[source])[RANK] for source in range(RANKS)]
    check("AlltoAllV", x, torch.cat(pieces), 4, ALL_TO_ALL_V, 1)
    small = [real(64, seed=rank) for rank in range(RANKS)]
    for _ in range(2):
        check("BatchWrite", small, small[RANK - 1], 6, BATCH_WRITE, 64, setting=2)
        dist.barrier(OTHER)
    second = dist.new_group(list(range(RANKS)))
    dist.barrier(second)  # makes its communicator
    name = second._get_backend(torch.device("npu")).get_hccl_comm_name(RANK)
    blocks = [real(RANKS, 16, seed=rank) for rank in range(RANKS)]
    exchanged, gathered = torch.empty(RANKS, 16).npu(), torch.empty(RANKS * RANKS * 16).npu()
    problem = invoke("TwoGroupsDemo", blocks[RANK].npu(), GROUP, name, 16, exchanged, gathered)
    assert not problem, problem
    turned = torch.stack(blocks).transpose(0, 1)
    assert torch.equal(exchanged.cpu(), turned[RANK]) and torch.equal(gathered.cpu(), turned.flatten())


def refused() -> None:
    x, y = torch.ones(8).npu(), torch.zeros(8).npu()
    problem = call("nobody", x, y, 0, ALL_REDUCE, 8)
    assert "there is no group 'nobody' in this process" in problem, problem
    problem = call("", x, y, 0, ALL_REDUCE, 8)
    assert "the name of group 0 is null or empty" in problem, problem
    problem = call(GROUP, x, y, 0, ALL_REDUCE, 8, setting=4)
    assert "the tiling is of group 'another', the context of group" in problem, problem
    problem = call(GROUP, x, y, 4, OF_950, 1)
    assert "161002" in problem and "the tiling function of GroupDemo refuses the call" in problem, problem
    problem = call(GROUP, x, y, 6, BATCH_WRITE, 8)
    assert "on an Atlas A2 it writes between servers only" in problem, problem
    own = torch.full((8 * RANKS,), 3.0).npu()
    problem = call(GROUP, x, own, 9, ALL_GATHER, 8, setting=1)
    assert not problem, problem
    kept = own.cpu().reshape(RANKS, 8)
    assert kept[RANK].eq(0).all() and kept.sum() == 8 * (RANKS - 1), kept  # InitValue, and SetSkipLocalRankCopy


def late() -> None:
    """Rank 1 does not come; rank 0 hears of it."""
    x, y = torch.ones(8).npu(), torch.zeros(8).npu()
    assert not call(GROUP, x, y, 0, ALL_REDUCE, 8)
    if RANK == 0:
        problem = call(GROUP, x, y, 0, ALL_REDUCE, 8)
        print(problem)


def looks() -> None:
    """Nobody raises the flag that it looks at."""
    x, y = torch.ones(8).npu(), torch.zeros(8).npu()
    print(call(GROUP, x, y, int(os.environ["MODE"]), ALL_REDUCE, 8, blocks=1))


torch.npu.set_device(RANK)
dist.init_process_group("hccl")
OTHER = dist.new_group(backend="gloo")
GROUP = dist.group.WORLD._get_backend(torch.device("npu")).get_hccl_comm_name(RANK)
globals()[ONLY]()
dist.barrier(OTHER)
print(f"rank {RANK} is done", flush=True)  # all of it: os._exit writes nothing more
os._exit(0) if ONLY in ("late", "looks") else dist.destroy_process_group()
