"""libacl_rtc: Ascend C that is compiled while a program runs, then loaded and launched."""

from __future__ import annotations

import ctypes

import pytest
import torch

SOURCE = """
#include "kernel_operator.h"
#include "amount.h"
namespace Mine {
template <typename T>
__global__ __vector__ void raise(GM_ADDR x, GM_ADDR z) {
  AscendC::LocalTensor<T> t(AscendC::TPosition::VECCALC, 0, 64);
  AscendC::GlobalTensor<T> from, to;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x), 64);
  to.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(z), 64);
  AscendC::DataCopy(t, from, 64);
  AscendC::PipeBarrier<PIPE_ALL>();
  AscendC::Adds(t, t, T(AMOUNT), 64);
  AscendC::PipeBarrier<PIPE_ALL>();
  AscendC::DataCopy(to, t, 64);
}
}  // namespace Mine
"""
NAME = b"Mine::raise<float>"
ARCHITECTURE = b"--npu-arch=dav-2201"


class Program:
    def __init__(self, source: str = SOURCE, header: str = "#define AMOUNT 3\n") -> None:
        self.rtc = ctypes.CDLL("libacl_rtc.so")
        self.handle = ctypes.c_void_p()
        texts, names = (ctypes.c_char_p * 1)(header.encode()), (ctypes.c_char_p * 1)(b"amount.h")
        assert self.rtc.aclrtcCreateProg(ctypes.byref(self.handle), source.encode(), b"raise", 1, texts, names) == 0

    def compile(self, *options: bytes) -> int:
        status: int = self.rtc.aclrtcCompileProg(self.handle, len(options), (ctypes.c_char_p * len(options))(*options))
        return status

    def name(self, expression: bytes = NAME) -> tuple[int, bytes | None]:
        name = ctypes.c_char_p()
        return self.rtc.aclrtcGetLoweredName(self.handle, expression, ctypes.byref(name)), name.value

    def log(self) -> str:
        size = ctypes.c_size_t()
        assert self.rtc.aclrtcGetCompileLogSize(self.handle, ctypes.byref(size)) == 0
        text = ctypes.create_string_buffer(size.value)
        assert self.rtc.aclrtcGetCompileLog(self.handle, text) == 0
        return text.value.decode()


def test_a_template_is_compiled_loaded_and_launched() -> None:
    program, acl = Program(), ctypes.CDLL("libascendcl.so")
    x, z = torch.arange(64.0).npu(), torch.zeros(64).npu()
    torch.npu.synchronize()
    assert program.rtc.aclrtcAddNameExpr(program.handle, NAME) == 0
    assert program.name()[0] == 176006  # before the compilation
    assert program.compile(ARCHITECTURE) == 0, program.log()
    assert program.rtc.aclrtcAddNameExpr(program.handle, b"another") == 176005
    assert program.name(b"another")[0] == 176007
    size = ctypes.c_size_t()
    assert program.rtc.aclrtcGetBinDataSize(program.handle, ctypes.byref(size)) == 0
    data = ctypes.create_string_buffer(size.value)
    assert program.rtc.aclrtcGetBinData(program.handle, data) == 0
    status, name = program.name()
    binary, function = ctypes.c_void_p(), ctypes.c_void_p()
    assert (status, acl.aclrtBinaryLoadFromData(data, size, None, ctypes.byref(binary))) == (0, 0)
    assert acl.aclrtBinaryGetFunction(binary, name, ctypes.byref(function)) == 0
    places = [ctypes.c_void_p(each.data_ptr()) for each in (x, z)]
    arguments = (ctypes.c_void_p * 2)(*(ctypes.addressof(place) for place in places))
    stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)
    assert acl.aclrtLaunchKernelWithArgsArray(function, 1, stream, None, arguments) == 0
    torch.npu.synchronize()
    assert torch.equal(z.cpu(), torch.arange(64.0) + 3)
    assert acl.aclrtBinaryUnLoad(binary) == 0
    assert program.rtc.aclrtcDestroyProg(ctypes.byref(program.handle)) == 0
    assert program.compile(ARCHITECTURE) == 176000  # destroyed


@pytest.mark.parametrize(
    ("header", "options", "code", "says"),
    [
        ("", [ARCHITECTURE], 176003, "AMOUNT"),
        ("#define AMOUNT 3\n", [b"--npu-arch=dav-1"], 176002, "dav-1"),
        ("#define AMOUNT 3\n", [ARCHITECTURE, b"-no-such-option"], 176002, "no-such-option"),
    ],
)
def test_what_does_not_compile_has_its_code_and_a_log(header: str, options: list[bytes], code: int, says: str) -> None:
    program = Program(header=header)
    assert program.rtc.aclrtcAddNameExpr(program.handle, NAME) == 0
    assert program.compile(*options) == code
    assert says in program.log()
    assert program.rtc.aclrtcGetBinDataSize(program.handle, ctypes.byref(ctypes.c_size_t())) == 176003


def test_a_header_stays_in_its_folder() -> None:
    rtc, handle = ctypes.CDLL("libacl_rtc.so"), ctypes.c_void_p()
    texts, names = (ctypes.c_char_p * 1)(b""), (ctypes.c_char_p * 1)(b"../out.h")
    assert rtc.aclrtcCreateProg(ctypes.byref(handle), b"", b"x", 1, texts, names) == 176001
