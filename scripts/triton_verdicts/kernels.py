"""Programs with the block shapes and data types of kernels about which a verdict is public, written for this table.

Each case names where the verdict stands, what was compiled, and what the compiler or the runtime said: ``compiles`` or
``refused``. ``triton_verdicts.py`` runs the cases and compares.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl


@dataclasses.dataclass(frozen=True)
class Case:
    source: str  # below github.com, or a page of triton-ascend's documentation
    what: str
    public: str
    said: str
    launch: Callable[[], object]
    soc: str = "Ascend910B3"


CASES: list[Case] = []


def case(source: str, what: str, public: str, said: str = "", soc: str = "Ascend910B3") -> Callable[[Any], Any]:
    def add(launch: Callable[[], object]) -> Callable[[], object]:
        CASES.append(Case(source, what, public, said, launch, soc))
        return launch

    return add


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype, device="npu")


@triton.jit
def doubled_in_blocks(x, out, n, BLOCK: tl.constexpr):
    for begin in range(tl.program_id(0) * BLOCK, n, BLOCK):
        places = begin + tl.arange(0, BLOCK)
        values = tl.load(x + places, mask=places < n, other=0.0)
        tl.store(out + places, values * 2.0, mask=places < n)


@case(
    "triton-lang/triton-ascend/issues/302",
    "48,000 float32 at a time",
    "refused",
    "UB: 384,000 bytes, with a second buffer",
)
def rows_of_48000() -> None:
    doubled_in_blocks[(1,)](zeros(96_000), zeros(96_000), 96_000, BLOCK=48_000)


@triton.jit
def fill_where(x, chosen, out, value, n, BLOCK: tl.constexpr, PART: tl.constexpr):
    for part in range(BLOCK // PART):
        places = tl.program_id(0) * BLOCK + part * PART + tl.arange(0, PART)
        inside = places < n
        fill = tl.load(chosen + places, mask=inside, other=0).to(tl.int1)
        kept = tl.load(x + places, mask=(~fill) & inside, other=0)
        tl.store(out + places, kept, mask=(~fill) & inside)
        tl.store(out + places, value, mask=fill & inside)


def filled(part: int) -> None:
    n = 32_768
    fill_where[(1,)](zeros(n), zeros(n, dtype=torch.int32), zeros(n), 1.0, n, BLOCK=n, PART=part)


MIGRATION = "docs/en/migration_guide/migrate_from_gpu.md"


@case(MIGRATION, "masked_fill, 32,768 at a time, mask of int32", "refused", "UB overflow")
def filled_whole() -> None:
    filled(32_768)


@case(MIGRATION, "the same in parts of 1,024", "compiles")
def filled_in_parts() -> None:
    filled(1_024)


@triton.jit
def constant(out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + places, 0.0, mask=places < n)


@case(MIGRATION, "zeros, 2^30 numbers in blocks of 2,048", "refused", "coreDim 524,288")
def grid_of_524288() -> None:
    constant[(524_288,)](zeros(1), 1, BLOCK=2_048)


@case("triton-lang/triton-ascend/issues/16", "a grid of 8,192 x 8", "refused", "grid must be below 65,536")
def grid_of_65536() -> None:
    constant[(8_192, 8)](zeros(1), 1, BLOCK=16)


@case("vllm-project/vllm-ascend/pull/10138", "bincount, a grid of 48 x 1,568", "refused", "coreDim above 65,535")
def grid_of_48_by_1568() -> None:
    constant[(48, 1_568)](zeros(1), 1, BLOCK=256)


@triton.jit
def one_column_then_flip(x, y, out, BLOCK: tl.constexpr, FLIP: tl.constexpr):
    i = tl.arange(0, BLOCK)
    places = i[:, None] * BLOCK + i[None, :]
    values = tl.load(x + places)
    others = tl.load(y + places)
    column = tl.sum(tl.where(i[None, :] == 1, others, 0.0), 1)
    mixed = tl.where(i[None, :] == 0, column[:, None], values)
    bent = tl.sin(mixed) / tl.cos(mixed)
    if FLIP:
        bent = tl.flip(bent, 1)
    tl.store(out + places, tl.sin(bent) / tl.cos(bent))


def flipped(block: int, flip: bool) -> None:
    square = [zeros(block, block) for _ in range(3)]
    one_column_then_flip[(1,)](*square, BLOCK=block, FLIP=flip)


FLIPS = "triton-lang/triton-ascend/issues/1638"


@case(FLIPS, "tl.flip of 64 x 64 float32 between two tangents", "refused", "UB overflow")
def flip_64() -> None:
    flipped(64, True)


@case(FLIPS, "the same without tl.flip", "compiles")
def no_flip_64() -> None:
    flipped(64, False)


@case(FLIPS, "the same of 32 x 32", "compiles")
def flip_32() -> None:
    flipped(32, True)


@triton.jit
def chain(x, y, out, BLOCK: tl.constexpr, SHAPES: tl.constexpr, POWERS: tl.constexpr, SPREAD: tl.constexpr):
    i = tl.arange(0, BLOCK)
    places = i[:, None] * BLOCK + i[None, :]
    values = tl.load(x + places)
    others = tl.load(y + places)
    if SHAPES:
        row = tl.reshape(tl.ravel(values), (1, BLOCK * BLOCK))
        column = tl.reshape(tl.permute(row, (1, 0)), (BLOCK * BLOCK, 1))
        if POWERS:
            column = tl.sqrt(tl.exp2(column))
        one = tl.sum(tl.sum(column, 1), 0)
    else:
        if POWERS:
            values = tl.sqrt(tl.exp2(values))
        one = tl.sum(tl.sum(values, 1), 0)
    if SPREAD:
        spread = tl.broadcast_to(one, (BLOCK, BLOCK))
        tl.store(out + i, tl.sum(tl.where(others > 0.0, spread, others), 1))
    else:
        tl.store(out, one)


def chained(shapes: bool = True, powers: bool = True, spread: bool = True) -> None:
    chain[(1,)](zeros(64, 64), zeros(64, 64), zeros(64), BLOCK=64, SHAPES=shapes, POWERS=powers, SPREAD=spread)


CHAINS = "triton-lang/triton-ascend/issues/1640"


@case(CHAINS, "64 x 64 float32 as 1 x 4,096 and 4,096 x 1, reduced, spread, chosen", "refused", "UB overflow")
def whole_chain() -> None:
    chained()


@case(CHAINS, "the same without exp2 and sqrt", "refused", "UB overflow")
def chain_without_powers() -> None:
    chained(powers=False)


@case(CHAINS, "the same without the chain of shapes", "compiles")
def chain_without_shapes() -> None:
    chained(shapes=False)


@case(CHAINS, "the same without the spread and the choice", "compiles")
def chain_without_spread() -> None:
    chained(spread=False)


@triton.jit
def running_softmax(x, out, n: tl.constexpr, BLOCK: tl.constexpr, UNROLLED: tl.constexpr):
    most = -float("inf")
    total = 0.0
    if UNROLLED:
        for begin in tl.static_range(0, n, BLOCK):
            places = begin + tl.arange(0, BLOCK)
            values = tl.load(x + places, mask=places < n, other=-float("inf")).to(tl.float32)
            more = tl.maximum(most, tl.max(values, 0))
            total = total * tl.exp(most - more) + tl.sum(tl.exp(values - more), 0)
            most = more
    else:
        for begin in tl.range(0, n, BLOCK):
            places = begin + tl.arange(0, BLOCK)
            values = tl.load(x + places, mask=places < n, other=-float("inf")).to(tl.float32)
            more = tl.maximum(most, tl.max(values, 0))
            total = total * tl.exp(most - more) + tl.sum(tl.exp(values - more), 0)
            most = more
    tl.store(out, most + tl.log(total))


def softmax_over(unrolled: bool) -> None:
    n = 151_936
    running_softmax[(1,)](zeros(n, dtype=torch.bfloat16), zeros(1), n, BLOCK=8_192, UNROLLED=unrolled)


VOCABULARY = "triton-lang/triton-ascend/issues/2246"


@case(VOCABULARY, "softmax of 151,936 bfloat16 in 8,192, unrolled", "refused", "UB: 541,696 bytes", "Ascend950PR_9589")
def unrolled_on_950() -> None:
    softmax_over(True)


@case(VOCABULARY, "the same with tl.range", "compiles", "", "Ascend950PR_9589")
def looped_on_950() -> None:
    softmax_over(False)


@case(VOCABULARY, "the same unrolled on Atlas A3", "compiles", "", "Ascend910_9391")
def unrolled_on_a3() -> None:
    softmax_over(True)


@triton.jit
def move_states(source, target, heads, H: tl.constexpr, V: tl.constexpr, K: tl.constexpr, PART: tl.constexpr):
    h, v, k = tl.arange(0, H), tl.arange(0, PART), tl.arange(0, K)
    for head in range(0, heads, H):
        for begin in range(0, V, PART):
            places = (head + h)[:, None, None] * V * K + (begin + v)[None, :, None] * K + k[None, None, :]
            inside = (head + h)[:, None, None] < heads
            tl.store(target + places, tl.load(source + places, mask=inside, other=0), mask=inside)


def moved(part: int, heads: int = 2) -> None:
    move_states[(1,)](zeros(4, 128, 128), zeros(4, 128, 128), 4, H=heads, V=128, K=128, PART=part)


@case("sgl-project/sglang/issues/25330", "states of 2 x 128 x 128 float32 moved", "refused", "UB: 262,144 bytes")
def states_at_once() -> None:
    moved(128)


@case("sgl-project/sgl-kernel-npu/pull/477", "the same in parts of 32 rows", "compiles")
def states_in_parts() -> None:
    moved(32)


@triton.jit
def recovered(target, draft, q, out, n, BLOCK: tl.constexpr):
    best = -1.0
    found = 0
    for begin in range(0, n, BLOCK):
        places = begin + tl.arange(0, BLOCK)
        inside = places < n
        d = tl.load(draft + places, mask=inside, other=0.0)
        t = tl.load(target + places, mask=inside, other=0.0)
        p = tl.maximum(t - d, 0.0)
        weight = tl.load(q + places, mask=inside, other=1.0)
        ratio = p / weight
        most = tl.max(ratio, 0)
        if most > best:
            best = most
            found = begin + tl.argmax(ratio, 0)
    tl.store(out, found)


def tokens_recovered(block: int) -> None:
    n = 129_280
    recovered[(1,)](zeros(n), zeros(n), torch.ones(n, device="npu"), zeros(1, dtype=torch.int32), n, BLOCK=block)


SAMPLER = "vllm-project/vllm-ascend/pull/4673"


@case(SAMPLER, "the sampler's 131,072 float32 at once", "refused", "UB overflow")
def vocabulary_at_once() -> None:
    tokens_recovered(131_072)


@case(SAMPLER, "the same in parts of 4,096", "compiles")
def vocabulary_in_parts() -> None:
    tokens_recovered(4_096)


@triton.jit
def packed_mask(logits, out, count, n, apart, BLOCK: tl.constexpr):
    total = 0
    for begin in range(0, n, BLOCK):
        places = begin + tl.arange(0, BLOCK)
        values = tl.load(logits + places * apart, mask=places < n, other=-float("inf"))
        keep = (values > -float("inf")).to(tl.int32)
        total += tl.sum(keep, 0)
        bits = tl.reshape(keep, (BLOCK // 8, 8)) << tl.arange(0, 8)[None, :]
        tl.store(out + begin // 8 + tl.arange(0, BLOCK // 8), tl.sum(bits, 1))
    tl.store(count, total)


def masks_packed(block: int, apart: int) -> None:
    n = 16_384
    out = zeros(n // 8, dtype=torch.int32)
    packed_mask[(1,)](zeros(n * apart), out, zeros(1, dtype=torch.int32), n, apart, BLOCK=block)


PACKING = "vllm-project/vllm-ascend/pull/17193"


@case(PACKING, "8,192 float32, every second in memory, packed into bits", "refused", "UB: 1,572,928 bytes")
def apart_8192() -> None:
    masks_packed(8_192, 2)


@case(PACKING, "4,096 float32 side by side", "compiles")
def together_4096() -> None:
    masks_packed(4_096, 1)


@triton.jit
def rotate(x, cos, sin, heads, HALF: tl.constexpr, TILE: tl.constexpr):
    column = tl.arange(0, HALF)
    c = tl.load(cos + column).to(tl.float32)
    s = tl.load(sin + column).to(tl.float32)
    for head in range(0, heads, TILE):
        row = head + tl.arange(0, TILE)
        places = row[:, None] * 2 * HALF + column[None, :]
        inside = (row < heads)[:, None]
        first = tl.load(x + places, mask=inside, other=0).to(tl.float32)
        second = tl.load(x + places + HALF, mask=inside, other=0).to(tl.float32)
        tl.store(x + places, first * c[None, :] - second * s[None, :], mask=inside)
        tl.store(x + places + HALF, second * c[None, :] + first * s[None, :], mask=inside)


def rotated(tile: int, half: int = 256) -> None:
    bf16 = torch.bfloat16
    parts = [zeros(n, dtype=bf16) for n in (64 * 2 * half, half, half)]
    rotate[(1,)](*parts, 64, HALF=half, TILE=tile)


ROPE = "vllm-project/vllm-ascend/commit/2329564c4b1e61087047982fa1152a2e990dd47d"


@case(ROPE, "rotary embedding, 64 heads of 512 bfloat16", "refused", "UB: 197,632 bytes")
def rope_64() -> None:
    rotated(64)


@case(ROPE, "the same, 16 heads at a time", "compiles")
def rope_16() -> None:
    rotated(16)


@case(ROPE, "64 heads of 128", "compiles")
def rope_of_128() -> None:
    rotated(64, 64)


@triton.jit
def log_of_powers(x, out, n, BLOCK: tl.constexpr, NAN: tl.constexpr):
    most = -float("inf")
    for begin in range(0, n, BLOCK):
        places = begin + tl.arange(0, BLOCK)
        values = tl.load(x + places, mask=places < n, other=-float("inf"))
        if NAN:
            most = tl.max(tl.maximum(values, most, propagate_nan=tl.PropagateNan.ALL), 0)
        else:
            most = tl.max(tl.maximum(values, most), 0)
    total = 0.0
    for begin in range(0, n, BLOCK):
        places = begin + tl.arange(0, BLOCK)
        values = tl.load(x + places, mask=places < n, other=-float("inf"))
        total += tl.sum(tl.exp(values - most), 0)
    tl.store(out, most + tl.log(total))


LOGPROB = "vllm-project/vllm-ascend/pull/9193"


@case(LOGPROB, "tl.maximum of 12,944 float32, NaN passed by", "refused", "UB overflow, with a newer compiler")
def nan_passed_by() -> None:
    log_of_powers[(1,)](zeros(25_888), zeros(1), 25_888, BLOCK=12_944, NAN=False)


@case(LOGPROB, "the same, NaN handed on", "compiles")
def nan_handed_on() -> None:
    log_of_powers[(1,)](zeros(25_888), zeros(1), 25_888, BLOCK=12_944, NAN=True)


@triton.jit
def sum_and_gate(x, bias, rows, n, BLOCK: tl.constexpr):
    for row in range(rows):
        for begin in range(0, n, BLOCK):
            places = begin + tl.arange(0, BLOCK)[None, :]
            value = tl.load(x + row * n + places, places < n).to(tl.float32)
            value += tl.load(bias + places, places < n).to(tl.float32)
            tl.store(x + row * n + places, value * tl.sigmoid(value), places < n)


@case("Ascend/pytorch/issues/102", "addmm and silu by Inductor, 16,384 bfloat16 at a time", "refused", "UB overflow")
def addmm_silu() -> None:
    bf16 = torch.bfloat16
    sum_and_gate[(1,)](zeros(2, 32_768, dtype=bf16), zeros(32_768, dtype=bf16), 2, 32_768, BLOCK=16_384)


@triton.jit
def entropy(hidden, weight, out, width, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    logits = tl.zeros((M, N), dtype=tl.float32)
    for begin in range(0, width, K):
        a = tl.load(hidden + m[:, None] * width + (begin + k)[None, :])
        b = tl.load(weight + n[:, None] * width + (begin + k)[None, :])
        logits = tl.dot(a, b.trans(), logits)
    most = tl.max(logits, 1)
    powers = tl.exp(logits - most[:, None])
    total = tl.sum(powers, 1)
    weighted = tl.sum(powers * logits, 1)
    tl.store(out + m, most + tl.log(total) - weighted / total)


@case(
    "verl-project/verl/issues/7950",
    "linear, entropy: M 128, N 256, K 32, bfloat16",
    "refused",
    "UB: 1,072,160 bytes",
)
def entropy_of_linear() -> None:
    bf16 = torch.bfloat16
    entropy[(1,)](zeros(128, 64, dtype=bf16), zeros(256, 64, dtype=bf16), zeros(128), 64, M=128, N=256, K=32)


@triton.jit
def softmax_of_rows(x, out, columns, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    for row in range(2):
        values = tl.load(x + row * columns + column, mask=column < columns, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, 0))
        tl.store(out + row * columns + column, powers / tl.sum(powers, 0), mask=column < columns)


@case("docs/en/examples/02_fused_softmax_example.md", "rows of 781 float32 in 1,024", "compiles")
def tutorial_softmax() -> None:
    softmax_of_rows[(1,)](zeros(2, 781), zeros(2, 781), 781, BLOCK=1_024)


@triton.jit
def attention(q, k, v, out, length, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    queries = tl.load(q + m[:, None] * D + d[None, :])
    most = tl.zeros([M], dtype=tl.float32) - float("inf")
    total = tl.zeros([M], dtype=tl.float32)
    sums = tl.zeros([M, D], dtype=tl.float32)
    for begin in range(0, length, N):
        keys = tl.load(k + (begin + n)[:, None] * D + d[None, :])
        scores = tl.dot(queries, tl.trans(keys)) * 0.5
        more = tl.maximum(most, tl.max(scores, 1))
        powers = tl.exp(scores - more[:, None])
        values = tl.load(v + (begin + n)[:, None] * D + d[None, :])
        again = tl.exp(most - more)
        total = total * again + tl.sum(powers, 1)
        sums = sums * again[:, None]
        sums = tl.dot(powers.to(values.dtype), values, sums)
        most = more
    tl.store(out + m[:, None] * D + d[None, :], (sums / total[:, None]).to(tl.float16))


def attended(d: int, m: int, n: int) -> None:
    half = torch.float16
    tensors = [zeros(rows, d, dtype=half) for rows in (m, 2 * n, 2 * n, m)]
    attention[(1,)](*tensors, 2 * n, D=d, M=m, N=n)


FLASH = "docs/en/examples/04_fused_attention_example.md"


@case(FLASH, "attention: heads of 64, M 128, N 128, float16", "compiles")
def attention_64() -> None:
    attended(64, 128, 128)


@case(FLASH, "attention: heads of 128, M 64, N 128, float16", "compiles")
def attention_128() -> None:
    attended(128, 64, 128)


@case(FLASH, "attention: heads of 128, M 32, N 128, float16", "compiles")
def attention_128_in_32() -> None:
    attended(128, 32, 128)


@case(FLASH, "attention: heads of 64, M 32, N 64, float16", "compiles")
def attention_64_in_32() -> None:
    attended(64, 32, 64)


@case(FLASH, "attention: heads of 64, M 64, N 128, float16", "compiles")
def attention_64_in_64() -> None:
    attended(64, 64, 128)


@triton.jit
def normalized(x, weight, bias, out, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for begin in range(0, n, BLOCK):
        places = begin + tl.arange(0, BLOCK)
        total += tl.load(x + places, mask=places < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / n
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for begin in range(0, n, BLOCK):
        places = begin + tl.arange(0, BLOCK)
        apart = tl.where(places < n, tl.load(x + places, mask=places < n, other=0.0).to(tl.float32) - mean, 0.0)
        squares += apart * apart
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / n + 1e-5)
    for begin in range(0, n, BLOCK):
        places = begin + tl.arange(0, BLOCK)
        inside = places < n
        value = (tl.load(x + places, mask=inside, other=0.0).to(tl.float32) - mean) * scale
        shift = tl.load(bias + places, mask=inside)
        tl.store(out + places, value * tl.load(weight + places, mask=inside) + shift, mask=inside)


@case("docs/en/examples/03_layer_norm_example.md", "layer norm in blocks of 1,024 float16", "compiles")
def tutorial_layer_norm() -> None:
    half = torch.float16
    normalized[(1,)](*(zeros(2_048, dtype=half) for _ in range(4)), 2_048, BLOCK=1_024)


@triton.jit
def gates(a, a_log, bias, out, heads, batches, H: tl.constexpr, B: tl.constexpr):
    head = tl.arange(0, H)
    batch = tl.arange(0, B)
    inside = (batch < batches)[:, None] & (head < heads)[None, :]
    places = batch[:, None] * heads + head[None, :]
    x = tl.load(a + places, mask=inside).to(tl.float32) + tl.load(bias + head).to(tl.float32)[None, :]
    soft = tl.where(x <= 20.0, tl.log(1 + tl.exp(x)), x)
    tl.store(out + places, -tl.exp(tl.load(a_log + head).to(tl.float32))[None, :] * soft, mask=inside)


@case(
    "vllm-project/vllm-ascend/commit/080b9a6864f0f8579fd2fee2f026aa1fc4c75bfb",
    "gates of 1,024 x 8, from float16 to float32",
    "compiles",
)
def gating() -> None:
    half = torch.float16
    gates[(1,)](zeros(1_024, 8, dtype=half), zeros(8), zeros(8, dtype=half), zeros(1_024, 8), 8, 1_024, H=8, B=1_024)


@case("fla-org/flash-linear-attention/pull/973", "token shift, a grid above 65,535", "refused", "limit of a 2-D grid")
def grid_of_token_shift() -> None:
    constant[(64, 2_048)](zeros(1), 1, BLOCK=16)


@case("DeepLink-org/DLCompiler/pull/88", "a grid of 13,824,000", "refused", "coreDim 13,824,000")
def grid_of_13824000() -> None:
    constant[(13_824_000,)](zeros(1), 1, BLOCK=16)


@case("vllm-project/vllm-ascend/pull/10138", "bincount, the same blocks in a grid of 48", "compiles")
def grid_of_48() -> None:
    constant[(48,)](zeros(1), 1, BLOCK=256)
