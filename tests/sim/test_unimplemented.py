"""What the simulator does not do fails and names itself."""

import ctypes
import re
from pathlib import Path

import pytest

from ophook_npu import sim
from ophook_npu.sim.build import CSRC

NAMES = re.findall(r"^UNIMPLEMENTED\((\w+)\)", (CSRC / "acl" / "unimplemented.cpp").read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def libascendcl() -> ctypes.CDLL:
    library = ctypes.CDLL(str(Path(sim.build()) / "lib64" / "libascendcl.so"))
    library.aclGetRecentErrMsg.restype = ctypes.c_char_p
    return library


def test_there_are_some() -> None:
    assert len(NAMES) > 10


@pytest.mark.parametrize("name", NAMES)
def test_symbol_fails_by_name(libascendcl: ctypes.CDLL, name: str) -> None:
    assert getattr(libascendcl, name)(0, 0, 0, 0) == 200001
    assert f"[simulated Ascend] {name} is not implemented" in libascendcl.aclGetRecentErrMsg().decode()
    assert libascendcl.aclGetRecentErrMsg() is None  # read once


def test_copy_beyond_an_allocation_is_refused(libascendcl: ctypes.CDLL) -> None:
    import torch

    torch.npu.init()
    assert libascendcl.aclrtSetDevice(0) == 0
    block = ctypes.c_void_p()
    assert libascendcl.aclrtMalloc(ctypes.byref(block), ctypes.c_size_t(1000), 0) == 0
    host = ctypes.create_string_buffer(4096)
    size = ctypes.c_size_t
    assert libascendcl.aclrtMemcpy(block, size(4096), host, size(4096), 1) == 107000
    assert b"has 1024 bytes of device memory left, the copy needs 4096" in libascendcl.aclGetRecentErrMsg()
    assert libascendcl.aclrtMemcpy(host, size(4096), host, size(8), 1) == 107000
    assert b"is not device memory" in libascendcl.aclGetRecentErrMsg()
    assert libascendcl.aclrtFree(block) == 0
    assert libascendcl.aclrtFree(block) == 107000
    assert b"was freed before" in libascendcl.aclGetRecentErrMsg()
