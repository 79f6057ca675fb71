"""What the simulator does not do fails and names itself."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest
from interfaces import HOST

from ophook_npu import sim
from ophook_npu.sim.build import CSRC
from ophook_npu.sim.operators import refusals

REFUSALS = CSRC / "acl" / "refused"
NAMES = [name for _, _, name in refusals(REFUSALS / "unimplemented.cpp")]
REFUSED = [(macro.removeprefix("REFUSED"), name) for macro, _, name in refusals(REFUSALS / "refused.inc")]
ANSWERS = {"": (ctypes.c_int, 200001), "_ELSEWHERE": (ctypes.c_int, 207000),
           "_POINTER": (ctypes.c_void_p, None), "_NUMBER": (ctypes.c_ulong, 0),
           "_UNDEFINED": (ctypes.c_int, -1)}  # fmt: skip


@pytest.fixture(scope="module")
def libascendcl() -> ctypes.CDLL:
    library = ctypes.CDLL(str(Path(sim.build()) / "lib64" / "libascendcl.so"))
    library.aclGetRecentErrMsg.restype = ctypes.c_char_p
    library.aclInit(None)  # what a product has not is known only then
    return library


def test_there_are_some() -> None:
    assert len(NAMES) > 5 and len(REFUSED) > 100


def test_functions_of_the_headers_that_are_not_simulated_fail_by_name(libascendcl: ctypes.CDLL) -> None:
    """Whatever they return says so: no code of success, no handle."""
    import torch

    torch.npu.init()  # the product is known from then on
    for kind, name in REFUSED:
        function = getattr(libascendcl, name)
        if kind != "_NOTHING":
            function.restype, expected = ANSWERS[kind]
            assert function(0, 0, 0, 0) == expected, name
        else:
            function()
        reason = " is not implemented" if kind != "_ELSEWHERE" else ": Ascend910B4 does not have it"
        assert f"[simulated Ascend] {name}{reason}" in libascendcl.aclGetRecentErrMsg().decode()


@pytest.mark.parametrize("name", NAMES)
def test_symbol_fails_by_name(libascendcl: ctypes.CDLL, name: str) -> None:
    assert getattr(libascendcl, name)(0, 0, 0, 0) == 200001
    assert f"[simulated Ascend] {name} is not implemented" in libascendcl.aclGetRecentErrMsg().decode()
    assert libascendcl.aclGetRecentErrMsg() is None  # read once


def test_what_torch_npu_ignores_is_said_aloud_once() -> None:
    """Static kernels and the profiler's record_op_args call it and look at no code."""
    program = "import torch_npu; torch_npu.npu.init(); [torch_npu._C._aclop_start_dump(to) for to in 'ab']"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0
    assert result.stderr.count("[simulated Ascend] aclopStartDumpArgs is not implemented: no parameters") == 1


def test_copy_beyond_an_allocation_is_refused(libascendcl: ctypes.CDLL) -> None:
    import torch

    torch.npu.init()
    assert libascendcl.aclrtSetDevice(0) == 0
    block = ctypes.c_void_p()
    assert libascendcl.aclrtMalloc(ctypes.byref(block), ctypes.c_size_t(1000), 0) == 0
    host = ctypes.create_string_buffer(8192)
    size = ctypes.c_size_t
    assert libascendcl.aclrtMemcpy(block, size(4097), host, size(4097), 1) == 107000
    told = libascendcl.aclGetRecentErrMsg()
    assert b"destination (4097 bytes) has to be device memory" in told
    assert b"1000 bytes (1056 with those that CANN adds, 4096 with its pages)" in told
    assert b"4097 bytes from there leave it after 4096" in told
    assert libascendcl.aclrtMemcpyAsync(HOST, size(8), host, size(8), 1, None) == 107000
    assert b"is memory of the host, or none" in libascendcl.aclGetRecentErrMsg()
    assert libascendcl.aclrtFree(block) == 0
    assert libascendcl.aclrtFree(block) == 107000
    assert b"was freed before" in libascendcl.aclGetRecentErrMsg()


def test_a_copy_may_span_mapped_handles_but_no_hole(libascendcl: ctypes.CDLL) -> None:
    import torch

    torch.npu.init()
    assert libascendcl.aclrtSetDevice(0) == 0
    part, size, zero = 2 << 20, ctypes.c_size_t, ctypes.c_uint64(0)
    start = ctypes.c_void_p()
    assert libascendcl.aclrtReserveMemAddress(ctypes.byref(start), size(4 * part), size(0), None, zero) == 0
    # handle type, allocation type, memory attribute, location (id, type), reserve
    on_device = (ctypes.c_uint32 * 16)(0, 0, 0, 0, 1)
    handles = []
    for place in (0, 1, 3):
        handle = ctypes.c_void_p()
        assert libascendcl.aclrtMallocPhysical(ctypes.byref(handle), size(part), on_device, zero) == 0
        address = ctypes.c_void_p(start.value + place * part)
        assert libascendcl.aclrtMapMem(address, size(part), size(0), handle, zero) == 0
        handles.append((address, handle))

    def copy(to: object, source: object, count: int, kind: int) -> int:
        code = libascendcl.aclrtMemcpy(to, size(count), source, size(count), kind)
        return code or libascendcl.aclrtMemcpyAsync(to, size(count), source, size(count), kind, None)

    there, back = ctypes.create_string_buffer(b"x" * 2 * part, 2 * part), ctypes.create_string_buffer(2 * part)
    assert copy(start, there, 2 * part, 1) == 0
    assert libascendcl.aclrtSynchronizeDevice() == 0
    assert copy(back, start, 2 * part, 2) == 0
    assert libascendcl.aclrtSynchronizeDevice() == 0
    assert back.raw == there.raw

    assert copy(start, ctypes.create_string_buffer(4 * part), 4 * part, 1) == 107000
    told = libascendcl.aclGetRecentErrMsg().decode()
    assert f"destination ({4 * part} bytes) has to be device memory: {start.value:#x} lies 0 bytes into" in told
    assert f"{4 * part} bytes from there leave it after {2 * part}" in told
    for address, handle in handles:
        assert libascendcl.aclrtUnmapMem(address) == 0
        assert libascendcl.aclrtFreePhysical(handle) == 0
    assert libascendcl.aclrtReleaseMemAddress(start) == 0
