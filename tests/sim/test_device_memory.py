"""Device memory is not the host's: what the simulator says of addresses that a device could not use. Each gives an
error that names the pointer, the allocation and what made it; the process lives, and the next call works.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from interfaces import HOST, libraries

NULL, INVALID, PARAM_INVALID, EXCEPTION, NOT_SUPPORTED = 161001, 161002, 107000, 507015, 207000
TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3
FLOAT, ND, BYTES = 0, 2, 64
PAGE, MIB = 4096, 1 << 20  # of a device's memory; allocations begin with a page
FLOAT32, SUM = 4, 0  # of HCCL
Pointer, Size = ctypes.c_void_p, ctypes.c_uint64


class Client:
    """aclnnAdd(x, y, 1, out) of tensors of 16 floats, as a C++ client calls it."""

    def __init__(self) -> None:
        self.opapi, self.acl = libraries()
        self.blocks: list[Pointer] = []
        self.x, self.y, self.out = (self.block(BYTES) for _ in range(3))
        host = (ctypes.c_float * 16)(*range(16))
        for block in (self.x, self.y):
            assert self.copy(block, host, TO_DEVICE) == 0
        self.host = host
        self.executor, self.size = Pointer(), Size()

    def block(self, size: int) -> Pointer:
        made = Pointer()
        assert self.acl.aclrtMalloc(ctypes.byref(made), Size(size), 0) == 0
        self.blocks.append(made)
        return made

    def last(self, size: int) -> Pointer:
        """An address with so many bytes left in the pages of its allocation."""
        return Pointer((self.block(BYTES).value or 0) + PAGE - size)

    def free(self, block: Pointer) -> None:
        assert self.acl.aclrtFree(block) == 0
        self.blocks.remove(block)

    def copy(self, to: Any, of: Any, kind: int, size: int = BYTES) -> int:
        return self.acl.aclrtMemcpy(to, Size(size), of, Size(size), kind)

    def made(self, name: str, *arguments: Any) -> Pointer:
        function = getattr(self.opapi, name)
        function.restype = Pointer
        return Pointer(function(*arguments))

    def tensor(self, data: Any, *sizes: int, strides: tuple[int, ...] | None = None) -> Pointer:
        values, rank = (ctypes.c_int64 * len(sizes))(*sizes), Size(len(sizes))
        steps = (ctypes.c_int64 * len(strides))(*strides) if strides else None
        elements = (ctypes.c_int64 * 1)(16)
        return self.made("aclCreateTensor", values, rank, FLOAT, steps, ctypes.c_int64(0), ND, elements, Size(1), data)

    def first(self, function: str, *arguments: Any) -> int:
        ends = (ctypes.byref(self.size), ctypes.byref(self.executor))
        return getattr(self.opapi, f"{function}GetWorkspaceSize")(*arguments, *ends)

    def add(self, x: Any, y: Any = None, out: Any = None) -> int:
        alpha = self.made("aclCreateScalar", ctypes.byref(ctypes.c_float(1)), FLOAT)
        tensors = [self.tensor(data, 16) for data in (x, y or self.y, out or self.out)]
        code = self.first("aclnnAdd", *tensors[:2], alpha, tensors[2])
        self.opapi.aclDestroyScalar(alpha)
        for tensor in tensors:
            self.opapi.aclDestroyTensor(tensor)
        return code

    def second(self, function: str, workspace: Any = None, size: int = 0) -> int:
        return getattr(self.opapi, function)(workspace, Size(size), self.executor, None)

    def synchronize(self) -> int:
        return self.acl.aclrtSynchronizeStream(None)

    def said(self) -> str:
        return (self.acl.aclGetRecentErrMsg() or b"").decode()

    def works(self) -> bool:
        assert self.add(self.x) == self.second("aclnnAdd") == self.synchronize() == 0
        found = (ctypes.c_float * 16)()
        assert self.copy(found, self.out, TO_HOST) == 0
        return list(found) == [2.0 * value for value in range(16)]


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client()
    yield client
    assert client.works()
    for block in client.blocks:
        assert client.acl.aclrtFree(block) == 0


def freed(client: Client) -> Pointer:
    block = client.block(BYTES)
    client.free(block)
    return block


# How much of an allocation can be filled: by function, size and policy (0: large pages for more than 1 MiB, 1: large
# ones, 2: small ones).
SIZES = """
import bisect, ctypes, json
acl, size, found = ctypes.CDLL("libascendcl.so"), ctypes.c_size_t, []
assert acl.aclInit(None) == acl.aclrtSetDevice(0) == 0
calls = [(name, asked, 0) for name in ("aclrtMalloc", "aclrtMallocCached", "aclrtMallocWithCfg", "aclrtMallocAlign32")
         for asked in (1, 33, 4096)] + [("aclrtMalloc", 1 << 20, 0), ("aclrtMalloc", (1 << 20) + 1, 0),
                                        ("aclrtMalloc", (1 << 20) + 1, 2), ("aclrtMalloc", 64, 1)]
for name, asked, policy in calls:
    made = ctypes.c_void_p()
    assert getattr(acl, name)(ctypes.byref(made), size(asked), policy, None) == 0
    fails = lambda more: acl.aclrtMemset(made, size(asked + more), 0, size(asked + more)) != 0
    found.append(asked + bisect.bisect(range(3 << 20), 0, key=fails) - 1)
    assert acl.aclrtFree(made) == 0
print(json.dumps(found))
"""
ASKED = [*(1, 33, 4096) * 4, MIB, MIB + 1, MIB + 1, 64]
ALIGNED = range(9, 12)  # those of aclrtMallocAlign32


# ---- what an operator is given ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "make, said",
    [
        (lambda client: HOST, ["is memory of the host, or none"]),
        (lambda client: None, ["null, where 64 bytes of device memory are needed"]),
        (lambda client: Pointer(8), ["0x8 is memory of the host, or none"]),
        (
            freed,
            [
                "lies 0 bytes into allocation ",
                "64 bytes (96 with those that CANN adds, 4096 with its pages) at ",
                "on device 0, made by aclrtMalloc for ",
                "was freed",
            ],
        ),
        (
            lambda client: client.last(63),
            [
                "lies 4033 bytes into allocation ",
                "64 bytes (96 with those that CANN adds, 4096 with its pages) at ",
                "made by aclrtMalloc",
                "64 bytes from there leave it after 63",
            ],
        ),
    ],
)
@pytest.mark.parametrize("parameter", ["self", "other", "out"])
def test_what_a_kernel_cannot_reach_fails_when_it_runs(
    client: Client, make: Callable[[Client], Any], said: list[str], parameter: str
) -> None:
    wrong = make(client)
    given = {"self": client.x, "other": client.y, "out": client.out} | {parameter: wrong}
    if wrong is None and parameter != "self":
        given[parameter] = Pointer(0)
    tensors = [client.tensor(data, 16) for data in given.values()]
    alpha = client.made("aclCreateScalar", ctypes.byref(ctypes.c_float(1)), FLOAT)
    assert client.first("aclnnAdd", *tensors[:2], alpha, tensors[2]) == 0  # addresses may be set later
    assert client.second("aclnnAdd") == 0
    assert client.synchronize() == EXCEPTION
    message = client.said()
    assert f"aclnnAdd: {parameter} (64 bytes) is not in device memory as a whole: " in message
    for part in said:
        assert part in message


@pytest.mark.parametrize(
    "soc, added", [("Ascend910B4", 32), ("Ascend910_9392", 32), ("Ascend950PR_9589", 0), ("Ascend310P3", 32)]
)
def test_what_a_device_lets_pass_is_told_once_for_each_allocation(run_sim, soc: str, added: int) -> None:
    """An allocation has the size that its function is documented to give it, and a device checks whole pages."""
    done = run_sim(SIZES, "--soc", soc)
    assert done.returncode == 0, done.stderr
    taken = [(asked + 31) // 32 * 32 + added * (i not in ALIGNED) for i, asked in enumerate(ASKED)]
    units = [PAGE] * 13 + [2 * MIB, PAGE, 2 * MIB]
    pages = [(size + unit - 1) // unit * unit for size, unit in zip(taken, units, strict=True)]
    assert json.loads(done.stdout) == pages
    wanted = [both for both in zip(taken, pages, strict=True) if both[0] != both[1]]
    told = re.findall(
        r"WARNING.* beyond the end .*\((\d+) with those that CANN adds, (\d+) with its pages", done.stderr
    )
    assert [tuple(map(int, both)) for both in told] == wanted


def test_an_operator_reads_and_writes_the_rest_of_a_page(client: Client, capfd: pytest.CaptureFixture[str]) -> None:
    x, out = client.block(BYTES // 2), client.block(BYTES // 2)  # with the 32 bytes that CANN adds, all that is needed
    assert client.copy(x, client.host, TO_DEVICE) == 0
    assert client.add(x, out=out) == client.second("aclnnAdd") == client.synchronize() == 0
    assert not capfd.readouterr().err
    short = client.block(BYTES // 2)
    part = Pointer((short.value or 0) + BYTES // 4)
    assert client.copy(part, client.host, TO_DEVICE) == 0
    assert "16 bytes beyond the end of allocation " in (told := capfd.readouterr().err)
    assert "32 bytes (64 with those that CANN adds, 4096 with its pages) at " in told
    assert client.add(part) == client.second("aclnnAdd") == client.synchronize() == 0
    assert client.copy(client.host, client.out, TO_HOST) == 0
    assert list(client.host) == [2.0 * value for value in range(16)]
    client.host[:] = list(range(16))
    assert not capfd.readouterr().err  # once for each allocation


def test_strict_memory_holds_to_what_was_asked_for(run_sim) -> None:
    done = run_sim(SIZES, OPHOOK_SIM_STRICT_MEMORY="1")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ASKED
    assert "WARNING" not in done.stderr


def test_a_member_of_a_list_is_named(client: Client) -> None:
    members = [client.tensor(client.x, 16), client.tensor(ctypes.cast(client.host, Pointer), 16)]
    tensors = client.made("aclCreateTensorList", (Pointer * 2)(*members), Size(2))
    out = client.tensor(client.block(2 * BYTES), 32)
    assert client.first("aclnnCat", tensors, ctypes.c_int64(0), out) == client.second("aclnnCat") == 0
    assert client.synchronize() == EXCEPTION
    assert "aclnnCat: tensors[1] (64 bytes)" in client.said()


def test_no_elements_need_no_memory(client: Client) -> None:
    x, out = (client.tensor(None, 0, 4) for _ in range(2))
    assert client.first("aclnnRelu", x, out) == client.second("aclnnRelu") == client.synchronize() == 0


def test_part_of_an_allocation_is_memory(client: Client) -> None:
    whole = client.block(4 * BYTES)
    part = Pointer((whole.value or 0) + 3 * BYTES)
    assert client.copy(part, client.host, TO_DEVICE) == 0
    assert client.add(part) == client.second("aclnnAdd") == client.synchronize() == 0


def test_memory_that_is_freed_before_a_queued_task_runs(client: Client) -> None:
    door = threading.Event()

    @ctypes.CFUNCTYPE(None, Pointer)
    def wait(_: Any) -> None:
        door.wait(60)

    block, other = client.block(BYTES), client.block(BYTES)
    assert client.acl.aclrtLaunchHostFunc(None, wait, None) == 0
    assert client.add(block) == client.second("aclnnAdd") == 0
    size = Size(BYTES)
    assert client.acl.aclrtMemcpyAsync(client.out, size, other, size, ON_DEVICE, None) == 0
    client.free(block)
    client.free(other)
    door.set()
    assert client.synchronize() == EXCEPTION
    message = client.said()
    assert "aclnnAdd: self (64 bytes)" in message
    assert "which was freed" in message


# ---- copies ----------------------------------------------------------------------------------------------------------
def test_copies_stay_in_their_allocations_and_on_their_sides(client: Client) -> None:
    host, beyond = ctypes.cast(client.host, Pointer), client.last(BYTES - 4)
    gone = freed(client)
    for to, of, kind, said in [
        (beyond, host, TO_DEVICE, "destination (64 bytes) has to be device memory: "),
        (host, beyond, TO_HOST, "source (64 bytes) has to be device memory: "),
        (beyond, client.x, ON_DEVICE, "64 bytes from there leave it after 60"),
        (gone, host, TO_DEVICE, "which was freed"),
        (host, gone, TO_HOST, "which was freed"),
    ]:
        assert client.copy(to, of, kind) == PARAM_INVALID
        assert said in client.said()
        size = Size(BYTES)
        assert client.acl.aclrtMemcpyAsync(to, size, of, size, kind, None) == PARAM_INVALID
        assert said in client.said()
    variable = ctypes.create_string_buffer(b"x" * BYTES)
    size = Size(BYTES)
    assert client.acl.aclrtMemcpyAsync(HOST, size, client.x, size, TO_DEVICE, None) == PARAM_INVALID
    assert "is memory of the host, or none" in client.said()
    assert client.acl.aclrtMemset(variable, Size(BYTES), ord("o"), Size(BYTES - 1)) == 0
    assert variable.value == b"o" * (BYTES - 1) + b"x"
    for pointer in (Pointer(64), beyond, gone):  # the first: nothing is there, and it is no signal
        assert client.acl.aclrtMemset(pointer, Size(BYTES), 0, Size(BYTES)) == PARAM_INVALID
    for pointer in (host, beyond, gone):
        assert client.acl.aclrtMemsetAsync(pointer, Size(BYTES), 0, Size(BYTES), None) == PARAM_INVALID
        assert "memory (64 bytes) has to be device memory: " in client.said()


def test_the_hosts_memory_at_addresses_that_a_device_had(client: Client) -> None:
    """An address that was given back is the host's again once it has mapped memory there."""
    libc, page = ctypes.CDLL(None, use_errno=True), 4096
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, Size, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    there = Pointer()
    assert client.acl.aclrtMalloc(ctypes.byref(there), Size(page), 0) == 0 == client.acl.aclrtFree(there)
    assert client.copy(there, client.x, ON_DEVICE) == PARAM_INVALID
    private, anonymous, fixed = 2, 32, 16
    assert libc.mmap(there.value, page, 3, private | anonymous | fixed, -1, 0) == there.value
    assert client.copy(there, client.x, ON_DEVICE) == 0
    assert ctypes.string_at(there, BYTES) == bytes(client.host)


def test_addresses_decide_what_is_copied_where_the_kind_says_otherwise(client: Client) -> None:
    """aclrtMemcpy's page: the kind is reserved. The asynchronous call corrects it for memory that ACL gave out."""
    told, size = ctypes.create_string_buffer(BYTES), Size(BYTES)
    for kind in (0, TO_DEVICE, TO_HOST, ON_DEVICE, 4):
        assert client.copy(client.out, client.x, kind) == client.copy(told, client.out, kind) == 0
        assert told.raw == bytes(client.host)
        assert client.copy(client.out, told, kind) == client.copy(told, client.host, kind) == 0
    for kind in (0, TO_DEVICE, TO_HOST, ON_DEVICE, 4):
        assert client.acl.aclrtMemcpyAsync(client.out, size, client.y, size, kind, None) == 0
    pinned = Pointer()
    assert client.acl.aclrtMallocHost(ctypes.byref(pinned), size) == 0
    assert client.acl.aclrtMemcpyAsync(pinned, size, client.x, size, TO_DEVICE, None) == client.synchronize() == 0
    assert ctypes.string_at(pinned, BYTES) == bytes(client.host)
    assert client.acl.aclrtMemcpyAsync(pinned, size, client.host, size, 0, None) == NOT_SUPPORTED
    assert client.acl.aclrtFreeHost(pinned) == 0
    assert client.copy(Pointer(64), client.host, TO_DEVICE) == PARAM_INVALID  # nothing is there, and it is no signal
    assert "not all of them can be read or written" in client.said()


def test_a_copy_of_pageable_memory_waits_for_its_stream(client: Client) -> None:
    """CANN makes it a synchronization and a copy by the host, so the memory may be used when the call returns."""
    size, began = Size(BYTES), time.monotonic()

    @ctypes.CFUNCTYPE(None, Pointer)
    def late(_: Any) -> None:
        time.sleep(0.5)

    assert client.acl.aclrtLaunchHostFunc(None, late, None) == 0
    assert client.acl.aclrtMemcpyAsync(client.out, size, client.x, size, ON_DEVICE, None) == 0
    told = ctypes.create_string_buffer(BYTES)
    assert client.acl.aclrtMemcpyAsync(told, size, client.out, size, TO_HOST, None) == 0
    assert told.raw == bytes(client.host) and time.monotonic() - began > 0.4


# ---- collectives -----------------------------------------------------------------------------------------------------
def test_a_collective_of_memory_that_was_freed_before_it_runs(client: Client) -> None:
    """A rank alone: what its buffers are is asked at the call, and again when the stream comes to it."""
    hccl, root, comm = ctypes.CDLL("libhccl.so"), ctypes.create_string_buffer(4108), Pointer()
    assert hccl.HcclGetRootInfo(root) == 0
    assert hccl.HcclCommInitRootInfo(1, root, 0, ctypes.byref(comm)) == 0

    def reduce(send: Any, receive: Any) -> int:
        return hccl.HcclAllReduce(send, receive, Size(16), FLOAT32, SUM, comm, None)

    short, gone = client.last(BYTES - 4), freed(client)
    for wrong, said in [
        (HOST, "is memory of the host, or none"),
        (short, "64 bytes from there leave it after 60"),
        (gone, "which was freed"),
    ]:
        for name, buffers in (("sendBuf", (wrong, client.out)), ("recvBuf", (client.x, wrong))):
            assert reduce(*buffers) != 0
            message = client.said()
            assert f"HcclAllReduce: {name} (64 bytes) has to be device memory: " in message
            assert said in message

    door = threading.Event()

    @ctypes.CFUNCTYPE(None, Pointer)
    def wait(_: Any) -> None:
        door.wait(60)

    for name in ("sendBuf", "recvBuf"):
        door.clear()
        block = client.block(BYTES)
        buffers = (block, client.out) if name == "sendBuf" else (client.x, block)
        assert client.acl.aclrtLaunchHostFunc(None, wait, None) == 0
        assert reduce(*buffers) == 0
        client.free(block)
        door.set()
        assert client.synchronize() == EXCEPTION
        message = client.said()
        assert f"HcclAllReduce: {name} (64 bytes) is not in device memory as a whole: " in message
        assert "which was freed" in message
    assert reduce(client.x, client.out) == client.synchronize() == 0
    assert hccl.HcclCommDestroy(comm) == 0


# ---- graphs ----------------------------------------------------------------------------------------------------------
GRAPHS = """
import ctypes, torch, torch_npu, torchair
from ctypes import POINTER, c_int, c_int64, c_uint8, c_uint16, c_uint64, c_void_p

class DLTensor(ctypes.Structure):  # of DLPack: a tensor of any address, which torch does not look at
    _fields_ = [
        ("data", c_void_p), ("device", c_int), ("index", c_int), ("rank", c_int), ("kind", c_uint8), ("bits", c_uint8),
        ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("offset", c_uint64),
        ("manager", c_void_p), ("deleter", c_void_p),
    ]

capsule, held = ctypes.pythonapi.PyCapsule_New, []
capsule.restype, capsule.argtypes = ctypes.py_object, [c_void_p, ctypes.c_char_p, c_void_p]

def tensor(address):
    shape, strides = (c_int64 * 1)(16), (c_int64 * 1)(1)
    made = DLTensor(address, 12, 0, 1, 2, 32, 1, shape, strides, 0, None, None)
    held.extend((shape, strides, made))
    return torch.from_dlpack(capsule(ctypes.addressof(made), b"dltensor", None))

right = torch.arange(16.0).npu()
acl = ctypes.CDLL("libascendcl.so")

def block(size, free=False):
    made = c_void_p()
    assert acl.aclrtMalloc(ctypes.byref(made), ctypes.c_size_t(size), 0) == 0
    assert not free or acl.aclrtFree(made) == 0
    return made.value

host = (ctypes.c_float * 16)()
wrong = [ctypes.addressof(host), block(64) + 4096 - 60, block(64, free=True)]  # the second: 60 bytes of its page
backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
for dynamic in (False, True):
    torch._dynamo.reset()
    square = torch.compile(lambda x: x * x, backend=backend, dynamic=dynamic)
    assert torch.equal(square(tensor(right.data_ptr())).cpu(), torch.arange(16.0) ** 2)
    for address in wrong:
        square(tensor(address))
        try:
            torch.npu.synchronize()
        except RuntimeError as error:
            print(*(line for line in str(error).splitlines() if "simulated" in line), flush=True)
    assert torch.equal(square(right).cpu(), torch.arange(16.0) ** 2)
print("done")
"""


def test_what_a_graphs_operators_cannot_reach_is_named(run_sim) -> None:
    done = run_sim(GRAPHS)
    assert done.stdout.endswith("done\n"), done.stdout + done.stderr
    said = ["is memory of the host, or none", "64 bytes from there leave it after 60", "which was freed"]
    for line, wanted in zip(done.stdout.splitlines()[:-1], 2 * said, strict=True):
        assert re.search(
            r"graph \w+, node \w+ \(Mul\): input 'x1' \(64 bytes\) is not in device memory as a whole: ", line
        )
        assert wanted in line


@pytest.mark.parametrize("kind", [TO_DEVICE, TO_HOST])
def test_a_copy_of_what_the_program_has_not_fails_before_it_begins(client: Client, kind: int) -> None:
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    assert ctypes.CDLL(None).munmap(Pointer(begin + mmap.PAGESIZE), Size(mmap.PAGESIZE)) == 0
    for before, wanted in ((BYTES, 0), (BYTES - 4, PARAM_INVALID)):
        host = Pointer(begin + mmap.PAGESIZE - before)
        sides = (client.out, host) if kind == TO_DEVICE else (host, client.out)
        assert client.copy(*sides, kind) == wanted
    assert re.search("64 bytes at 0x.* reaches where the program has no memory", client.said())


# ---- the workspace ---------------------------------------------------------------------------------------------------
def test_a_workspace_is_asked_for_and_has_to_be_brought(client: Client) -> None:
    def matmul() -> None:
        tensors = [client.tensor(data, 4, 4) for data in (client.x, client.y, client.out)]
        assert client.first("aclnnMatmul", *tensors, ctypes.c_int8(1)) == 0

    matmul()
    wanted = client.size.value
    assert wanted >= 16 << 20
    workspace = client.block(wanted)
    assert client.second("aclnnMatmul", None, wanted) == NULL
    assert f"workspace is null; its first phase asked for {wanted} bytes" in client.said()
    matmul()
    assert client.second("aclnnMatmul", workspace, wanted - 1) == INVALID
    assert f"has {wanted - 1} bytes; its first phase asked for {wanted}" in client.said()
    matmul()
    assert client.second("aclnnMatmul", ctypes.cast(client.host, Pointer), wanted) == 0
    assert client.synchronize() == EXCEPTION
    assert "aclnnMatmul: workspace" in client.said()
    matmul()
    assert client.second("aclnnMatmul", workspace, wanted) == client.synchronize() == 0


def test_what_is_not_contiguous_is_copied_into_the_workspace(client: Client) -> None:
    x, out = client.tensor(client.x, 4, 4, strides=(1, 4)), client.tensor(client.out, 4, 4)
    assert client.first("aclnnRelu", x, out) == 0
    assert client.size.value == 512
    assert client.second("aclnnRelu", client.block(512), 512) == client.synchronize() == 0
    assert client.first("aclnnRelu", client.tensor(client.x, 4, 4), out) == 0
    assert client.size.value == 0
    assert client.second("aclnnRelu") == client.synchronize() == 0


# ---- strict memory ---------------------------------------------------------------------------------------------------
STRICT = """
import ctypes, torch, torch_npu
torch.manual_seed(0)

def train(device):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU("tanh"), torch.nn.Linear(16, 1))
    x, y = torch.randn(32, 8).to(device), torch.randn(32, 1).to(device)
    model = model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(3):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()

assert abs(train("npu:0") - train("cpu")) < 1e-5
fresh = torch.empty(3 << 20, device="npu:0")
assert fresh.cpu().isnan().all()
pinned = torch.arange(16.0).pin_memory()
x = pinned.to("npu:0", non_blocking=True) + 1
torch.npu.synchronize()
print("sum", x.sum().item(), flush=True)
memory = torch.empty(3 << 20, device="npu:0")
ACCESS
print("went on", flush=True)
"""


@pytest.mark.parametrize(
    "access, said",
    [
        ("ctypes.string_at(x.data_ptr(), 4)", "the host read device memory in thread "),
        ("ctypes.memset(memory.data_ptr(), 0, 4)", "the host wrote device memory in thread "),
        (
            "at = memory.data_ptr(); del memory, fresh; torch.npu.empty_cache(); ctypes.string_at(at, 4)",
            "which was freed; copy it with aclrtMemcpy",
        ),
    ],
)
def test_strict_memory_reports_what_the_host_reads_and_writes_itself(run_sim, access: str, said: str) -> None:
    done = run_sim(STRICT.replace("ACCESS", access), OPHOOK_SIM_STRICT_MEMORY="1")
    assert "sum 136.0" in done.stdout, done.stderr
    assert "went on" not in done.stdout
    assert done.returncode != 0
    assert "[simulated Ascend] strict memory: " in done.stderr
    assert said in done.stderr
    assert " bytes into allocation " in done.stderr
    assert "made by aclrtMalloc" in done.stderr and " for libtorch_npu.so" in done.stderr


def test_the_option_of_run(tmp_path: Path) -> None:
    """Through the command line, as a user starts it; what it names is the allocation, and its end is the program's."""
    program = tmp_path / "program.py"
    program.write_text(
        """
import ctypes, sys
acl, block = ctypes.CDLL("libascendcl.so"), ctypes.c_void_p()
assert acl.aclInit(None) == acl.aclrtSetDevice(0) == 0
assert acl.aclrtMalloc(ctypes.byref(block), ctypes.c_size_t(4096), 0) == 0
print("made", flush=True)
ctypes.memmove(ctypes.create_string_buffer(4), block.value + 8, 4)
print("went on", flush=True)
"""
    )
    start = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim"]
    for option, code in (("--strict-memory", -signal.SIGSEGV), ("--sync", 0)):
        done = subprocess.run([*start, option, "--", str(program)], capture_output=True, text=True, timeout=200)
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stdout.splitlines() == ["made"] + ["went on"] * (not code)
        said = re.search(
            r"strict memory: the host read device memory in thread \S+: 0x\w+ lies 8 bytes into allocation 1, "
            r"4096 bytes at 0x\w+ on device 0, made by aclrtMalloc.*; copy it with aclrtMemcpy",
            done.stderr,
        )
        assert (said is not None) == bool(code), done.stderr
    done = subprocess.run(
        [*start, "--strict-memory", "--device", "cpu", "--", str(program)], capture_output=True, text=True, timeout=200
    )
    assert done.returncode not in (0, -signal.SIGSEGV)
    assert "strict memory is" in done.stderr


def test_without_strict_memory_a_stray_access_is_not_noticed(run_sim) -> None:
    program = STRICT.replace("assert fresh.cpu().isnan().all()", "").replace(
        "ACCESS", "ctypes.string_at(x.data_ptr(), 4)"
    )
    done = run_sim(program)
    assert "went on" in done.stdout, done.stderr
    assert done.returncode == 0
