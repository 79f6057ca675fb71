"""Kernels that fit a core and kernels that do not, programs of a grid that race and programs that do not; each case is
run under its own name: `triton_kernels.py CASE...`. A case prints its name when its results were right.
"""

import sys
import types

import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl
import triton.language.extra.cann.extension as al

sys.modules["triton.experimental.gluon"] = types.ModuleType("triton.experimental.gluon")  # as vllm-ascend does


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask)
    b = tl.load(y + offsets, mask=mask)
    tl.store(out + offsets, a + b, mask=mask)


@triton.jit
def add_in_tiles(x, y, out, n, BLOCK: tl.constexpr, TILE: tl.constexpr):
    for begin in range(0, BLOCK, TILE):
        offsets = tl.program_id(0) * BLOCK + begin + tl.arange(0, TILE)
        mask = offsets < n
        a = tl.load(x + offsets, mask=mask)
        b = tl.load(y + offsets, mask=mask)
        tl.store(out + offsets, a + b, mask=mask)


@triton.jit
def add_blocks(x, y, out, M, N, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    a = tl.load(tl.make_block_ptr(x, (M, N), (N, 1), (first, 0), (BLOCK, BLOCK), (1, 0)), boundary_check=(0, 1))
    b = tl.load(tl.make_block_ptr(y, (M, N), (N, 1), (first, 0), (BLOCK, BLOCK), (1, 0)), boundary_check=(0, 1))
    to = tl.make_block_ptr(out, (M, N), (N, 1), (first, 0), (BLOCK, BLOCK), (1, 0))
    tl.store(to, a + b, boundary_check=(0, 1))


@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TILE: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, TILE)
    total = tl.zeros((M, N), dtype=tl.float32)
    for begin in range(0, K, TILE):
        left = tl.load(a + m[:, None] * K + (k + begin.to(tl.int32))[None, :])  # a counter is a scalar
        right = tl.load(b + (k + begin)[:, None] * N + n[None, :])
        total += tl.dot(left, right)
    tl.store(out + m[:, None] * N + n[None, :], total.to(tl.float16))


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + column, mask=column < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + column, powers / tl.sum(powers, 0), mask=column < columns)


@triton.jit
def overlapping(out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, 2 * BLOCK)
    tl.store(out + offsets, offsets * 0 + tl.program_id(0))


@triton.jit
def overlapping_equally(out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, 2 * BLOCK)
    tl.store(out + offsets, offsets)


@triton.jit
def shift(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets + 1, mask=offsets < n - 1, other=0)
    tl.store(x + offsets, values, mask=offsets < n)


@triton.jit
def of_16_bits(x, y, out, whole, eight, products, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.where(a > b, a * b, -a) + tl.sqrt(tl.abs(b)))
    tl.store(eight + i, (a * 100).cast(tl.int8, overflow_mode="saturate"))
    tl.store(whole + i, (a.to(tl.int32) + 3).to(tl.bfloat16).to(tl.int32))
    square = tl.load(x + i[:, None] + i[None, :] * 0)
    tl.store(products + i[:, None] * N + i[None, :], tl.dot(square, tl.trans(square)))


@triton.jit
def turned(x, out, HALF: tl.constexpr):
    both = tl.arange(0, 2 * HALF)
    values = tl.load(x + both)
    first = al.extract_slice(values, offsets=(0,), sizes=(HALF,), strides=(1,))
    second = tl.extract_slice(values, (HALF,), (HALF,), (1,))
    values = tl.insert_slice(values, second, (0,), (HALF,), (1,))
    values = al.insert_slice(values, first * al.get_element(values, (0,)), (HALF,), (HALF,), (1,))
    tl.store(out + both, values)


@triton.jit
def of_libdevice(x, y, rounded, angle, unknown, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    libdevice = triton.language.extra.cann.libdevice
    tl.store(rounded + i, libdevice.round(a))
    tl.store(angle + i, libdevice.atan2(a, b) + libdevice.relu(b))
    tl.store(unknown + i, libdevice.isnan(libdevice.log1p(a)).to(tl.int32))


@triton.jit
def first_of_the_largest(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    largest = tl.max(a, axis=0)
    there = largest > 0.0  # of scalars, and then beside a block
    place = tl.min(tl.where((a == largest) & there, i.to(tl.float32), 1.0e9), axis=0)
    tl.store(out, place)


@triton.jit
def plus_one(x):
    return x + 1


@triton.jit
def padded(x, whole, out, kept, n, N: tl.constexpr):
    i = tl.arange(0, N)
    for _ in range(1200):  # a load that each call wrapped again would be too deep
        n = plus_one(n)
    tl.store(out + i, tl.load(x + i, mask=i < n, care_padding=False))
    tl.store(whole + i, tl.load(whole + i, mask=i < n, care_padding=False))
    tl.store(kept + i, tl.load(x + i, mask=i < n, other=2, care_padding=False))


@triton.jit
def count(x, total, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + offsets, mask=offsets < n, other=0), 0))


@triton.jit
def count_plainly(x, total, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(total, tl.load(total) + tl.sum(tl.load(x + offsets, mask=offsets < n, other=0), 0))


@triton.autotune(configs=[triton.Config({"BLOCK": 65536}), triton.Config({"BLOCK": 1024})], key=["n"])
@triton.jit
def tuned(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


def added(kernel, **blocks):
    x, y = torch.arange(70000.0), torch.ones(70000)
    out = torch.empty(70000, device="npu")
    kernel[(triton.cdiv(70000, blocks["BLOCK"]),)](x.npu(), y.npu(), out, 70000, **blocks)
    return torch.equal(out.cpu(), x + y)


def multiplied(size):
    a, b = torch.full((size, 128), 0.5).half(), torch.full((128, size), 2.0).half()
    out = torch.empty(size, size, dtype=torch.half, device="npu")
    product[(1,)](a.npu(), b.npu(), out, size, size, 128, 32)
    return torch.equal(out.cpu(), torch.full((size, size), 128.0).half())


def normalized(columns, block):
    x = torch.randn(4, columns)
    out = torch.empty(4, columns, device="npu")
    softmax[(4,)](x.npu(), out, columns, BLOCK=block)
    return torch.allclose(out.cpu(), x.softmax(1))


def written(kernel):
    out = torch.empty(9 * 64, dtype=torch.int32, device="npu")
    kernel[(8,)](out, BLOCK=64)
    return True


def shifted():
    x = torch.arange(512.0, device="npu")
    shift[(8,)](x, 512, BLOCK=64)
    return True


def bits_are_numbers():
    x, y = (torch.randn(32).mul(9).to(torch.bfloat16) for _ in range(2))
    out, whole = torch.empty_like(x, device="npu"), torch.empty(32, dtype=torch.int32, device="npu")
    eight, products = torch.empty(32, dtype=torch.int8, device="npu"), torch.empty(32, 32, device="npu")
    of_16_bits[(1,)](x.npu(), y.npu(), out, whole, eight, products, N=32)
    square = x[:, None].expand(32, 32).float()
    return (
        torch.equal(out.cpu(), torch.where(x > y, x * y, -x) + y.float().abs().sqrt().to(torch.bfloat16))
        and torch.equal(whole.cpu(), (x.int() + 3).to(torch.bfloat16).int())
        and torch.equal(eight.cpu(), (x * 100).float().clamp(-128, 127).to(torch.int8))
        and torch.allclose(products.cpu(), square @ square.T)
    )


def truth_is_no_number():
    out = torch.empty(1, device="npu")
    places = []
    for x in (torch.tensor([1.0, 3.0, 2.0, 3.0]), torch.zeros(4)):
        first_of_the_largest[(1,)](x.npu(), out, N=4)
        places.append(out.item())
    return places == [1.0, 1e9]


def as_libdevice_says():
    results = []
    for dtype, near in ((torch.float32, 1e-5), (torch.bfloat16, 1.6e-2)):  # one rounding more or less
        x, y = torch.tensor([-2.5, 2.5, 0.5, -0.3] * 8, dtype=dtype), torch.randn(32).to(dtype)
        rounded, angle = (torch.empty_like(x, device="npu") for _ in range(2))
        unknown = torch.empty(32, dtype=torch.int32, device="npu")
        of_libdevice[(1,)](x.npu(), y.npu(), rounded, angle, unknown, N=32)
        wanted = torch.atan2(x.float(), y.float()).to(dtype) + y.relu()
        results += [
            torch.equal(rounded.cpu(), torch.tensor([-3.0, 3.0, 1.0, 0.0] * 8).to(dtype)),
            torch.allclose(angle.cpu(), wanted, near, near),
            torch.equal(unknown.cpu(), (x < -1).int()),
        ]
    try:
        _ = triton.language.extra.cann.libdevice.lgamma
    except AttributeError as error:
        return all(results) and "of it are simulated: acos" in str(error)
    return False


def halves_turned():
    x, out = torch.arange(1.0, 97.0, device="npu"), torch.empty(96, device="npu")
    turned[(1,)](x, out, HALF=48)
    return torch.equal(out.cpu(), torch.cat([torch.arange(49.0, 97.0), torch.arange(1.0, 49.0) * 49]))


def what_a_mask_leaves_out_is_anything():
    x, whole = torch.ones(32, device="npu"), torch.ones(32, dtype=torch.int32, device="npu")
    out, kept = torch.empty(32, device="npu"), torch.empty(32, device="npu")
    padded[(1,)](x, whole, out, kept, 24 - 1200, N=32)
    of_numbers = out.isnan().sum().item() == 8 and whole.eq(1).sum().item() == 24
    return of_numbers and kept.sum().item() == 24 + 2 * 8


def counted(kernel):
    x, total = torch.ones(512, device="npu"), torch.zeros(1, device="npu")
    kernel[(8,)](x, total, 512, BLOCK=64)
    return total.item() == 512  # the interpreter runs one program after another


def chosen():
    for n in (70000, 60000):  # each is tuned for itself
        out, x = torch.empty(n, device="npu"), torch.ones(n, device="npu")
        tuned[lambda blocks, n=n: (triton.cdiv(n, blocks["BLOCK"]),)](x, x, out, n)
        if tuned.best_config.kwargs["BLOCK"] != 1024 or not out.eq(2).all().item():
            return False
    return True


def raised_again():
    x = torch.ones(70000, device="npu")
    for _ in range(2):
        try:
            add[(2,)](x, x, torch.empty_like(x), 70000, BLOCK=65536)
        except triton.runtime.errors.OutOfResources:
            continue
        return False
    return True


def asked_for():
    driver = triton.runtime.driver.active
    cores = driver.utils.get_device_properties(driver.get_current_device())
    found = torch.npu.get_device_properties(0)
    return cores == {"num_aicore": found.cube_core_num, "num_vectorcore": found.vector_core_num}


def too_many():
    x = torch.ones(8, device="npu")
    try:
        add[(256, 256)](x, x, x, 8, BLOCK=1)
    except RuntimeError as error:
        print(error)
        return True
    return False


def added_in_blocks(block):
    x, y = torch.randn(100, 60).npu(), torch.randn(100, 60).npu()
    out = torch.empty_like(x)
    add_blocks[(triton.cdiv(100, block),)](x, y, out, 100, 60, BLOCK=block)
    return torch.equal(out, x + y)


CASES = {
    "add": lambda: added(add, BLOCK=1024),
    "add too large": lambda: added(add, BLOCK=65536),
    "tiles": lambda: added(add_in_tiles, BLOCK=65536, TILE=16384),
    "tiles too large": lambda: added(add_in_tiles, BLOCK=65536, TILE=32768),
    "blocks": lambda: added_in_blocks(64),
    "blocks too large": lambda: added_in_blocks(256),
    "product": lambda: multiplied(64),
    "product too large": lambda: multiplied(256),
    "softmax": lambda: normalized(1000, 1024),
    "softmax too large": lambda: normalized(60000, 65536),
    "overlapping": lambda: written(overlapping),
    "overlapping equally": lambda: written(overlapping_equally),
    "shift": shifted,
    "slices": halves_turned,
    "bfloat16": bits_are_numbers,
    "truth": truth_is_no_number,
    "libdevice": as_libdevice_says,
    "padding": what_a_mask_leaves_out_is_anything,
    "count": lambda: counted(count),
    "count plainly": lambda: counted(count_plainly),
    "driver": asked_for,
    "grid": too_many,
    "autotune": chosen,
}

ERRORS = {"again": raised_again}  # with OPHOOK_SIM_TRITON=error

for name in sys.argv[1:] or CASES:
    print(f"== {name}", file=sys.stderr, flush=True)
    assert (CASES | ERRORS)[name](), name
    print(name, flush=True)
