"""Memory of the host that is registered for a device: aclrtHostRegister, aclrtHostRegisterV2 and who gets to it."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import pytest
import torch
import torch_npu
from interfaces import libraries

OK, PARAM_INVALID, NO_CONTEXT, EXCEPTION, DRIVER = 0, 107000, 107002, 507015, 507899
MAPPED, PINNED, READONLY = 0x2, 0x10000000, 0x8
HOST_TO_HOST, TO_DEVICE, TO_HOST, ON_DEVICE = range(4)
FLOAT, ND = 0, 2
PAGE = 4096
VA_FLAG = 3
Pointer, Size = ctypes.c_void_p, ctypes.c_uint64


class Attribute(ctypes.Structure):
    _fields_ = [("attr", ctypes.c_int), ("value", ctypes.c_uint32 * 2)]


class Settings(ctypes.Structure):
    _fields_ = [("attrs", ctypes.POINTER(Attribute)), ("count", ctypes.c_size_t)]


@pytest.fixture(scope="module")
def libs() -> Any:
    torch.npu.set_device(0)
    return libraries()


@pytest.fixture
def acl(libs: Any) -> Any:
    return libs[1]


@pytest.fixture
def pinned(acl: Any) -> Iterator[int]:
    made = Pointer()
    assert acl.aclrtMallocHost(ctypes.byref(made), Size(2 * PAGE)) == OK
    yield made.value or 0
    assert acl.aclrtFreeHost(made) == OK


@pytest.fixture
def mapped() -> Iterator[int]:
    """Pages of the program's own."""
    with mmap.mmap(-1, 2 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        held = ctypes.c_char.from_buffer(memory)
        yield ctypes.addressof(held)
        del held


def register(acl: Any, host: int, size: int = 2 * PAGE, flag: int = MAPPED) -> int:
    return acl.aclrtHostRegisterV2(Pointer(host), Size(size), ctypes.c_uint32(flag))


def device_address(acl: Any, host: int) -> int:
    found = Pointer()
    assert acl.aclrtHostGetDevicePointer(Pointer(host), ctypes.byref(found), 0) == OK
    return found.value or 0


def said(acl: Any) -> str:
    acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
    return (acl.aclGetRecentErrMsg() or b"").decode()


def doubled(libs: Any, at: int) -> int:
    """Runs aclnnInplaceMuls(16 floats at this address, 2); the status of the stream."""
    opapi, acl = libs
    dims, strides = (ctypes.c_int64 * 1)(16), (ctypes.c_int64 * 1)(1)
    opapi.aclCreateTensor.restype = opapi.aclCreateScalar.restype = Pointer
    x = Pointer(opapi.aclCreateTensor(dims, Size(1), FLOAT, strides, ctypes.c_int64(0), ND, dims, Size(1), Pointer(at)))
    two = Pointer(opapi.aclCreateScalar(ctypes.byref(ctypes.c_float(2)), FLOAT))
    size, executor = Size(), Pointer()
    assert opapi.aclnnInplaceMulsGetWorkspaceSize(x, two, ctypes.byref(size), ctypes.byref(executor)) == OK
    stream = Pointer(torch.npu.current_stream().npu_stream)
    assert opapi.aclnnInplaceMuls(None, Size(0), executor, stream) == OK
    opapi.aclDestroyTensor(x)
    opapi.aclDestroyScalar(two)
    return acl.aclrtSynchronizeStream(stream)


def floats(at: int) -> Any:
    return (ctypes.c_float * 16).from_address(at)


def test_a_kernel_gets_to_pinned_memory_by_the_devices_address_alone(libs: Any, pinned: int) -> None:
    acl = libs[1]
    floats(pinned)[:] = list(range(16))
    at = Pointer()
    assert acl.aclrtHostRegister(Pointer(pinned), Size(2 * PAGE), 0, ctypes.byref(at)) == OK
    assert at.value not in (None, pinned)
    assert device_address(acl, pinned) == at.value
    assert doubled(libs, at.value or 0) == OK
    assert list(floats(pinned)) == [2.0 * n for n in range(16)]
    assert doubled(libs, pinned) == EXCEPTION
    assert f"{pinned:#x} lies 0 bytes into allocation" in said(acl)
    assert acl.aclrtHostUnregister(Pointer(pinned)) == OK
    assert doubled(libs, at.value or 0) == EXCEPTION
    assert list(floats(pinned)) == [2.0 * n for n in range(16)]


@pytest.mark.parametrize("flag", [MAPPED, MAPPED | PINNED])
def test_a_kernel_gets_to_pages_of_the_programs_own(libs: Any, mapped: int, flag: int) -> None:
    acl = libs[1]
    floats(mapped)[:] = [1.5] * 16
    assert doubled(libs, mapped) == EXCEPTION
    assert register(acl, mapped, flag=flag) == OK
    assert doubled(libs, device_address(acl, mapped)) == OK
    assert list(floats(mapped)) == [3.0] * 16
    assert acl.aclrtHostUnregister(Pointer(mapped)) == OK


def test_shared_memory_of_several_processes_has_an_address_of_its_own(libs: Any) -> None:
    shared = shared_memory.SharedMemory(create=True, size=2 * PAGE)
    held = ctypes.c_char.from_buffer(shared.buf)
    host = ctypes.addressof(held)
    try:
        assert register(libs[1], host, flag=MAPPED | PINNED) == OK
        at = device_address(libs[1], host)
        floats(host)[:] = [4.0] * 16
        assert at != host and doubled(libs, at) == OK
        assert list(floats(host)) == [8.0] * 16
        assert libs[1].aclrtHostUnregister(Pointer(host)) == OK
    finally:
        del held
        shared.close()
        shared.unlink()


def test_a_range_ends_where_it_was_registered(libs: Any, pinned: int) -> None:
    acl = libs[1]
    assert register(acl, pinned, size=64) == OK
    at = device_address(acl, pinned)
    assert doubled(libs, at) == OK
    assert doubled(libs, at + 4) == EXCEPTION
    assert "4 bytes into the device's address of 64 bytes of the host" in said(acl)
    assert acl.aclrtHostUnregister(Pointer(pinned)) == OK


def test_a_range_over_two_blocks_ends_no_process(libs: Any) -> None:
    """The pages of each are memory of their own."""
    acl = libs[1]
    with mmap.mmap(-1, 4 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        host = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = Pointer
        libc.mmap.argtypes = [Pointer, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        shared = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | 0x10  # MAP_FIXED
        for at in (host, host + 2 * PAGE):
            assert libc.mmap(at, 2 * PAGE, mmap.PROT_READ | mmap.PROT_WRITE, shared, -1, 0) == at
        assert register(acl, host, size=4 * PAGE) == OK
        at = device_address(acl, host) + 2 * PAGE
        floats(host + 2 * PAGE)[:] = [1.0] * 16
        assert doubled(libs, at) == OK
        assert list(floats(host + 2 * PAGE)) == [2.0] * 16
        assert acl.aclrtHostUnregister(Pointer(host)) == OK


def test_memory_given_back_while_it_is_registered_ends_no_process(libs: Any) -> None:
    acl = libs[1]
    memory = mmap.mmap(-1, PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    host = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert register(acl, host, size=PAGE) == OK
    memory.close()
    assert doubled(libs, host) == EXCEPTION
    assert acl.aclrtHostUnregister(Pointer(host)) == OK


def test_copies_do_not_take_the_devices_address(acl: Any, pinned: int) -> None:
    assert register(acl, pinned) == OK
    at, block = device_address(acl, pinned), Pointer()
    assert acl.aclrtMalloc(ctypes.byref(block), Size(64), 0) == OK
    for to, source, kind in (
        (block, Pointer(at), ON_DEVICE),
        (Pointer(at), block, ON_DEVICE),
        (block, Pointer(at), TO_DEVICE),
        (Pointer(at), block, TO_HOST),
    ):
        assert acl.aclrtMemcpy(to, Size(64), source, Size(64), kind) == PARAM_INVALID
        assert "the device's address of 8192 bytes of the host" in said(acl)
    assert acl.aclrtMemcpy(block, Size(64), Pointer(pinned), Size(64), TO_DEVICE) == OK
    assert acl.aclrtFree(block) == acl.aclrtHostUnregister(Pointer(pinned)) == OK


def test_memory_of_one_address_can_be_copied_too(libs: Any) -> None:
    acl, host, block = libs[1], Pointer(), Pointer()
    settings = Settings(ctypes.pointer(Attribute(VA_FLAG, (1, 0))), 1)
    assert acl.aclrtMallocHostWithCfg(ctypes.byref(host), Size(PAGE), ctypes.byref(settings)) == OK
    address = host.value or 0
    assert acl.aclrtMalloc(ctypes.byref(block), Size(64), 0) == OK
    assert doubled(libs, address) == EXCEPTION  # not registered yet
    assert register(acl, address, size=PAGE) == OK
    assert device_address(acl, address) == address
    floats(address)[:] = [1.0] * 16
    assert doubled(libs, address) == OK
    for kind in (ON_DEVICE, TO_DEVICE):
        assert acl.aclrtMemcpy(block, Size(64), host, Size(64), kind) == OK
    back = (ctypes.c_float * 16)()
    assert acl.aclrtMemcpy(back, Size(64), block, Size(64), TO_HOST) == OK
    assert list(back) == [2.0] * 16
    assert acl.aclrtHostUnregister(host) == acl.aclrtFree(block) == acl.aclrtFreeHost(host) == OK


def test_pinned_memory_may_begin_anywhere(acl: Any) -> None:
    """As in Ascend/pytorch's own test, which pins a small tensor; only memory that a device sees has to be pages."""
    held = torch.ones(64)
    start = held.data_ptr() + 64 if held.data_ptr() % PAGE == 0 else held.data_ptr()
    assert start % PAGE and register(acl, start, 80, PINNED) == OK
    assert acl.aclrtHostUnregister(Pointer(start)) == OK


def test_what_cannot_be_registered(acl: Any, pinned: int, mapped: int, tmp_path: Path) -> None:
    block = Pointer()
    assert acl.aclrtMalloc(ctypes.byref(block), Size(PAGE), 0) == OK
    for host, size, flag, words in (
        (0, PAGE, MAPPED, "null pointer"),
        (pinned, 0, MAPPED, "size 0"),
        (pinned + 64, 64, MAPPED, "not a multiple of 4096"),
        (pinned, PAGE, 0, "allowed: ACL_HOST_REG_MAPPED, ACL_HOST_REG_PINNED or both"),
        (pinned, PAGE, MAPPED | READONLY, "flag 0xa"),
        (pinned, PAGE, PINNED, "is pinned already"),
        (block.value or 0, PAGE, MAPPED, "allowed: memory of the host"),
    ):
        assert register(acl, host, size, flag) == PARAM_INVALID
        assert words in said(acl)
    assert acl.aclrtFree(block) == OK
    for size in (1 << 40, 2**64 - 1):
        assert register(acl, mapped, size=size) == DRIVER
    file = tmp_path / "weights"
    file.write_bytes(bytes(PAGE))
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), PAGE) as memory:
        held = ctypes.c_char.from_buffer(memory)
        assert register(acl, ctypes.addressof(held), size=PAGE) == DRIVER
        del held
    assert f"the file {file} is mapped there" in said(acl)


def test_registering_twice_and_taking_back(acl: Any, pinned: int, mapped: int) -> None:
    assert register(acl, pinned) == OK
    assert register(acl, pinned + PAGE, size=PAGE) == PARAM_INVALID
    assert "is registered already" in said(acl)
    assert acl.aclrtHostUnregister(Pointer(pinned + PAGE)) == PARAM_INVALID
    assert acl.aclrtHostUnregister(Pointer(pinned)) == OK
    assert acl.aclrtHostUnregister(Pointer(pinned)) == PARAM_INVALID
    found = Pointer()
    assert acl.aclrtHostGetDevicePointer(Pointer(pinned), ctypes.byref(found), 0) == PARAM_INVALID
    assert register(acl, mapped, flag=PINNED) == OK
    assert acl.aclrtHostGetDevicePointer(Pointer(mapped), ctypes.byref(found), 0) == PARAM_INVALID
    assert "ACL_HOST_REG_MAPPED" in said(acl)
    assert register(acl, mapped, size=PAGE, flag=PINNED) == PARAM_INVALID
    assert acl.aclrtHostUnregister(Pointer(mapped)) == OK
    assert register(acl, pinned) == OK  # and no test after this one is disturbed
    assert acl.aclrtHostUnregister(Pointer(pinned)) == OK


def test_a_swapped_tensor_lies_on_the_host_and_is_computed_with() -> None:
    """torch_npu registers it for the device, and copies nothing there."""
    before = torch.npu.mem_get_info()[0]
    x = torch_npu.empty_with_swapped_memory([1024, 1024], dtype=torch.float32, device=torch.device("npu:0"))
    assert torch.npu.mem_get_info()[0] == before
    x.fill_(3.0)
    x.add_(1.0)
    assert (x * torch.full((1024, 1024), 2.0, device="npu:0")).cpu().eq(8).all()
    with pytest.raises(RuntimeError, match=r"has to be device memory: .* of the host"):
        x.cpu()


def test_a_thread_without_a_device_has_no_host_memory(run_sim: Any) -> None:
    done = run_sim(
        "import ctypes\nacl = ctypes.CDLL('libascendcl.so')\nacl.aclInit(None)\np = ctypes.c_void_p()\n"
        "print(acl.aclrtMallocHost(ctypes.byref(p), ctypes.c_size_t(4096)))\n"
        "print(acl.aclrtHostRegisterV2(p, ctypes.c_uint64(4096), ctypes.c_uint32(2)))\n"
    )
    assert done.stdout.split() == [str(NO_CONTEXT)] * 2, done.stdout + done.stderr[-2000:]
