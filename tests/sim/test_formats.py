"""Private formats of device memory: what lies where, there and back, and operators that get tensors in them."""

from __future__ import annotations

import ctypes

import pytest
import torch
import torch_npu
from ascend950 import on_ascend950
from values import close, real, whole

ND, NCHW, NC1HWC0, FRACTAL_Z, FRACTAL_NZ = 2, 0, 3, 4, 29


@pytest.fixture(autouse=True)
def private_formats():
    """torch_npu makes them only where this is set."""
    before = torch_npu._C._npu_getOption("ALLOW_INTERNAL_FORMAT")
    torch.npu.config.allow_internal_format = True
    yield
    torch.npu.config.allow_internal_format = before == b"enable"


def memory(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of a tensor on npu as they lie."""
    acl = ctypes.CDLL("libascendcl.so")
    torch.npu.synchronize()
    out = torch.zeros(torch_npu.get_storage_size(tensor), dtype=tensor.dtype)
    size = ctypes.c_size_t(out.numel() * out.element_size())
    to_host = 2
    assert (
        acl.aclrtMemcpy(ctypes.c_void_p(out.data_ptr()), size, ctypes.c_void_p(tensor.data_ptr()), size, to_host) == 0
    )
    return out


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8], ids=str)
@pytest.mark.parametrize("shape", [(33, 50), (2, 3, 16, 20)])
def test_fractal_nz(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    x = whole(*shape).to(dtype)
    y = torch_npu.npu_format_cast(x.npu(), FRACTAL_NZ)
    assert torch_npu.get_npu_format(y) == FRACTAL_NZ and y.shape == x.shape
    lies, rows, columns = memory(y), -(-shape[-2] // 16), 32 if dtype == torch.int8 else 16
    tiles = lies.reshape(*shape[:-2], -1, rows, 16, columns)
    matrix = tiles.movedim(-4, -2).flatten(-2).flatten(-3, -2)
    assert torch.equal(matrix[..., : shape[-2], : shape[-1]], x)
    assert not matrix[..., shape[-2] :, :].any() and not matrix[..., shape[-1] :].any()
    assert torch.equal(y.cpu(), x)
    back = torch_npu.npu_format_cast(y, ND)
    assert torch_npu.get_npu_format(back) in (ND, NCHW) and torch.equal(back.cpu(), x)


def test_formats_of_images() -> None:
    x = real(2, 20, 3, 4).half()
    y = torch_npu.npu_format_cast(x.npu(), NC1HWC0)
    assert torch_npu.get_npu_format(y) == NC1HWC0 and torch.equal(y.cpu(), x)
    lies = memory(y).reshape(2, 2, 3, 4, 16).permute(0, 1, 4, 2, 3).flatten(1, 2)
    assert torch.equal(lies[:, :20], x) and not lies[:, 20:].any()
    w = real(8, 20, 3, 2).half()
    y = torch_npu.npu_format_cast(w.npu(), FRACTAL_Z)
    assert torch_npu.get_npu_format(y) == FRACTAL_Z and torch.equal(y.cpu(), w)
    lies = memory(y).reshape(2, 3, 2, 16, 16).permute(3, 0, 4, 1, 2).flatten(1, 2)
    assert torch.equal(lies[:8, :20], w) and not lies[8:].any() and not lies[:, 20:].any()
    assert torch_npu.get_npu_format(torch_npu.npu_format_cast(y, NCHW)) == NCHW


def test_operators_take_and_give_them() -> None:
    x, weight = real(5, 33).half(), real(33, 50, seed=1).half()
    blocks = torch_npu.npu_format_cast(weight.npu(), FRACTAL_NZ)
    close((x.npu() @ blocks).cpu(), x.double() @ weight.double(), 1e-2)
    more = blocks + 1
    assert torch_npu.get_npu_format(more) == FRACTAL_NZ
    close(more.cpu(), weight + 1, 0)
    assert torch.equal(blocks.t().contiguous().cpu(), weight.t())
    assert torch.equal(blocks.clone().cpu(), weight)
    image, filters = real(2, 20, 5, 4).half(), real(8, 20, 3, 3, seed=1).half()
    got = torch.nn.functional.conv2d(
        torch_npu.npu_format_cast(image.npu(), NC1HWC0), torch_npu.npu_format_cast(filters.npu(), FRACTAL_Z)
    )
    close(got.cpu(), torch.nn.functional.conv2d(image.double(), filters.double()), 2e-2)


def test_what_is_not_simulated_is_named(run_sim) -> None:
    """In a process of its own: torch_npu's task queue takes nothing more after it."""
    code = "import torch, torch_npu; torch.npu.config.allow_internal_format = True\n"
    code += "torch_npu.npu_format_cast(torch.ones(1, 20, 2, 3, 4).half().npu(), 32).cpu()"
    done = run_sim(code)
    assert done.returncode != 0
    assert "has the private format 32, which is not simulated; allowed: 3 (NC1HWC0), 4 (FRACTAL_Z)" in done.stderr


class Caster:
    """aclnnNpuFormatCast, which torch_npu calls on an Ascend950 only."""

    def __init__(self) -> None:
        self.library, self.runtime = ctypes.CDLL("libopapi.so"), ctypes.CDLL("libascendcl.so")
        self.library.aclCreateTensor.restype = ctypes.c_void_p
        self.runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p

    def tensor(self, memory: torch.Tensor, sizes: list[int], form: int, storage: list[int], dtype: int = 1):
        lists = [(ctypes.c_int64 * len(each))(*each) for each in (sizes, storage)]
        data = ctypes.c_void_p(memory.data_ptr())
        ranks = [ctypes.c_uint64(len(each)) for each in (sizes, storage)]
        made = self.library.aclCreateTensor(
            lists[0], ranks[0], dtype, None, ctypes.c_int64(0), form, lists[1], ranks[1], data
        )
        return ctypes.c_void_p(made)

    def sizes(self, tensor: ctypes.c_void_p, form: int, block_type: int = -1) -> tuple[int, list[int], int]:
        sizes, rank, actual = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64(), ctypes.c_int()
        code = self.library.aclnnNpuFormatCastCalculateSizeAndFormat(
            tensor, form, block_type, ctypes.byref(sizes), ctypes.byref(rank), ctypes.byref(actual)
        )
        return code, sizes[: rank.value] if not code else [], actual.value

    def cast(self, source: ctypes.c_void_p, target: ctypes.c_void_p) -> int:
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        code = self.library.aclnnNpuFormatCastGetWorkspaceSize(
            source, target, ctypes.byref(size), ctypes.byref(executor)
        )
        workspace = torch.empty(max(size.value, 1), dtype=torch.uint8, device="npu")
        code = code or self.library.aclnnNpuFormatCast(ctypes.c_void_p(workspace.data_ptr()), size, executor, None)
        return code or self.runtime.aclrtSynchronizeStream(None)

    def message(self) -> str:
        return (self.runtime.aclGetRecentErrMsg() or b"").decode()


def test_the_function_that_casts() -> None:
    caster, x = Caster(), real(33, 50).half()
    on_npu, blocks, back = x.npu(), torch.full((64 * 48,), 7.0).half().npu(), torch.zeros(33, 50).half().npu()
    torch.npu.synchronize()
    plain = caster.tensor(on_npu, [33, 50], ND, [33, 50])
    assert caster.sizes(plain, FRACTAL_NZ) == (0, [4, 3, 16, 16], FRACTAL_NZ)
    tiled = caster.tensor(blocks, [33, 50], FRACTAL_NZ, [4, 3, 16, 16])
    assert caster.cast(plain, tiled) == 0, caster.message()
    assert torch.equal(blocks.cpu(), memory(torch_npu.npu_format_cast(on_npu, FRACTAL_NZ)))
    assert caster.cast(tiled, caster.tensor(back, [33, 50], ND, [33, 50])) == 0, caster.message()
    assert torch.equal(back.cpu(), x)
    assert caster.sizes(plain, NC1HWC0)[0] == 161002 and "format 3 is not simulated" in caster.message()
    assert caster.sizes(plain, FRACTAL_NZ, 2)[0] == 161002 and "additionalDtype 2" in caster.message()
    wrong = caster.tensor(blocks, [33, 50], FRACTAL_NZ, [3, 3, 16, 16])
    assert caster.cast(plain, wrong) == 161002 and "dstTensor lies as" in caster.message()


def test_casts_on_ascend950(run_sim) -> None:
    """There torch_npu casts by the function alone, and its page has ND and tiles, whose width another type gives."""
    code = """
import torch, torch_npu
for dtype in (torch.float16, torch.bfloat16, torch.int8, torch.float8_e4m3fn, torch.float32, torch.int32):
    for shape in ((33, 50), (2, 5, 40)):
        x = torch.arange(1, 1 + torch.Size(shape).numel()).reshape(shape).remainder(100).to(dtype)
        y = torch_npu.npu_format_cast(x.npu(), 29)
        back = torch_npu.npu_format_cast(y, 2)
        assert torch.equal(y.cpu().float(), x.float()) and torch.equal(back.cpu().float(), x.float()), dtype
        assert torch_npu.get_npu_format(back) == 2
        print(int(torch_npu.get_npu_format(y)))
weight = torch.arange(32.0 * 48).reshape(32, 48).half() / 1000
x = torch.ones(4, 32).half()
assert torch.equal((x.npu() @ torch_npu.npu_format_cast(weight.npu(), 29)).cpu(), (x.npu() @ weight.npu()).cpu())
torch_npu.npu_format_cast(torch.ones(1, 20, 3, 4).half().npu(), 3)
"""
    done = run_sim(code, "--soc", "Ascend950PR_9589")
    assert done.stdout.split() == ["29"] * 8 + ["50"] * 4, done.stderr
    assert "dstFormat is 3; Ascend950 allows 2 (ND), 29 (FRACTAL_NZ)" in done.stderr


@on_ascend950
def test_casts_of_4_bits_there() -> None:
    """Two numbers lie in a byte: tiles are 64 numbers wide, or 32 for products with 8 bits."""
    torch.npu.config.allow_internal_format = True
    caster, data = Caster(), whole(20, 48, low=0, high=256, dtype=torch.uint8)
    on_npu = data.npu()
    for dtype, additional, width, form in ((40, 40, 64, 29), (41, 41, 64, 29), (40, 36, 32, 51)):
        plain, tiles = caster.tensor(on_npu, [20, 96], ND, [20, 96], dtype), [-(-96 // width), 2, 16, width]
        assert caster.sizes(plain, FRACTAL_NZ, additional) == (0, tiles, form), caster.message()
        blocks, back = torch.full((tiles[0] * 2, 16, width // 2), 7, dtype=torch.uint8).npu(), torch.zeros_like(on_npu)
        tiled = caster.tensor(blocks, [20, 96], form, tiles, dtype)
        assert caster.cast(plain, tiled) == 0, caster.message()
        matrix = blocks.cpu().reshape(*tiles[:3], width // 2).movedim(-4, -2).flatten(-2).flatten(-3, -2)
        assert torch.equal(matrix[:20, :48], data) and not matrix[20:].any() and not matrix[:, 48:].any()
        assert caster.cast(tiled, caster.tensor(back, [20, 96], ND, [20, 96], dtype)) == 0, caster.message()
        assert torch.equal(back.cpu(), data)
    y = torch_npu.npu_format_cast(
        on_npu, FRACTAL_NZ, customize_dtype=torch.float8_e4m3fn, input_dtype=torch_npu.float4_e2m1fn_x2
    )
    assert torch_npu.get_npu_format(y) == 50, "torch_npu tells it in bytes"
    assert torch.equal(memory(y), blocks.cpu().flatten())
    y = torch_npu.npu_format_cast(on_npu, FRACTAL_NZ)
    assert torch_npu.get_npu_format(y) == FRACTAL_NZ and torch.equal(y.cpu(), data)
    assert caster.sizes(plain, FRACTAL_NZ, 2)[0] == 161002 and "no tiles for these two" in caster.message()


def test_the_function_that_casts_between_plain_formats() -> None:
    """A line of NCL (n, c, l) and a volume of NCDHW lie as ND does; in tiles they lie as their last two dimensions."""
    ncl, ncdhw, caster = 47, 30, Caster()
    volume = ncdhw, [1, 2, 3, 4, 20], [1, 2, 3, 2, 1, 16, 16]
    for form, shape, tiles in ((ncl, [2, 20, 5], [2, 1, 2, 16, 16]), volume):
        x = real(*shape).half()
        on_npu, plain, blocks, back = x.npu(), *(torch.zeros(size).half().npu() for size in (shape, tiles, shape))
        torch.npu.synchronize()
        source, other = caster.tensor(on_npu, shape, form, shape), caster.tensor(plain, shape, ND, shape)
        assert caster.sizes(source, ND) == (0, shape, ND) and caster.sizes(other, form) == (0, shape, form)
        assert caster.sizes(source, FRACTAL_NZ) == (0, tiles, FRACTAL_NZ)
        assert caster.cast(source, other) == 0, caster.message()
        assert torch.equal(plain.cpu(), x)
        tiled = caster.tensor(blocks, shape, FRACTAL_NZ, tiles)
        assert caster.cast(source, tiled) == 0, caster.message()
        whole_tiles = blocks.cpu().movedim(-4, -2).flatten(-2).flatten(-3, -2)
        assert torch.equal(whole_tiles[..., : shape[-2], : shape[-1]], x)
        assert caster.cast(tiled, caster.tensor(back, shape, form, shape)) == 0, caster.message()
        assert torch.equal(back.cpu(), x)
        wrong = caster.tensor(plain, shape[::-1], form, shape[::-1])
        assert caster.cast(source, wrong) == 161002, "another shape"
