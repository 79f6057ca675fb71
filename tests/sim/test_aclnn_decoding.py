"""Functions that choose and place the next tokens, sample between points, or hold numbers of 4 and 8 bits: each against
its documented formula, written out here in float64.
"""

from __future__ import annotations

import contextlib
import ctypes
import math

import pytest
import torch
from interfaces import Refused, aclnn, libraries, rules_of
from torch.nn import functional
from values import close, gradients, real, unpacked, whole


# ---- the next token --------------------------------------------------------------------------------------------------
def left_of(row: torch.Tensor, k: int, p: float, least: float, *, most: int = 1024, normalize: bool = True):
    """Places in descending order and their probabilities, as the page and op-plugin's test say it."""
    places, values = torch.arange(row.numel()), row.double()
    by_k = 1 <= k <= min(-(-most // 8) * 8, 1024, row.numel())
    if by_k or p < 1 or least >= 1:
        places = torch.sort(values, descending=True, stable=True).indices
    if by_k:
        places = places[:k]
    probability = torch.softmax(values[places], 0) if normalize else values[places]
    if p <= 0:
        places, probability = places[:1], torch.ones(1).double() if normalize else probability[:1]
    elif p < 1:
        kept = probability.cumsum(0) - probability < p
        places, probability = places[kept], probability[kept]
    if least >= 1:
        places, probability = places[:1], probability[:1]
    elif least > 0:
        kept = probability >= probability.max() * least
        places, probability = places[kept], probability[kept]
    return places, probability


K = [1, 3, 2000, 0, 5, 40, 7, 7]
P = [1.0, 0.5, 0.25, 0.75, 1.0, 1.0, 0.0, 0.5]


@pytest.mark.parametrize("by_q", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_top_k_top_p_sample(dtype: torch.dtype, by_q: bool) -> None:
    logits = torch.stack([torch.randperm(40, generator=torch.Generator().manual_seed(i)) for i in range(8)]).to(dtype)
    logits = logits / 4
    k, p = torch.tensor(K, dtype=torch.int32), torch.tensor(P).to(dtype)
    q = real(8, 40, seed=3).abs() + 0.1 if by_q else None
    token, left = torch.zeros(8, dtype=torch.int64), torch.zeros(8, 40)
    aclnn("aclnnTopKTopPSample", logits, k, p, q, 1e-8, True, 32, token, left)
    for i in range(8):
        places, probability = left_of(logits[i].float(), K[i], P[i], -1)
        want = torch.full((40,), -math.inf)
        want[places] = logits[i].float()[places]
        assert torch.equal(left[i], want)
        weights = probability / (q[i, : len(places)] + 1e-8) if q is not None else probability
        assert token[i] == places[weights.argmax()]


@pytest.mark.parametrize("candidates", [False, True])
@pytest.mark.parametrize("normalize", [False, True])
def test_top_k_top_p_sample_v2(normalize: bool, candidates: bool) -> None:
    logits = real(8, 40) if normalize else torch.softmax(real(8, 40) * 2, -1)
    k, p = torch.tensor(K, dtype=torch.int32), torch.tensor(P)
    least = torch.tensor([-1.0, 0.4, 0.0, 0.9, 1.0, 0.3, 0.5, 2.0])
    token, left = torch.full((8,), 77), torch.full((8, 40), 7.0)
    index, probability = torch.full((8, 40), 77), torch.full((8, 40), 7.0)
    outs = (token, left, index, probability)
    aclnn("aclnnTopKTopPSampleV2", logits, k, p, None, least, 1e-8, True, 32, 16, normalize, candidates, *outs)
    for i in range(8):
        places, wanted = left_of(logits[i], K[i], P[i], least[i].item(), most=16, normalize=normalize)
        if not candidates:
            assert token[i] == places[wanted.argmax()]
            assert set(left[i].gt(0 if not normalize else -math.inf).nonzero().flatten().tolist()) == set(
                places.tolist()
            )
            continue
        assert index[i, : len(places)].tolist() == places.tolist()
        close(probability[i, : len(places)], wanted, 1e-5)
        assert not index[i, len(places) :].any() and not probability[i, len(places) :].any()
    assert (token if candidates else index).eq(77).all(), "what is not asked for is not written"


def test_what_sampling_refuses() -> None:
    logits, k, p = real(2, 40).half(), torch.ones(2, dtype=torch.int32), torch.ones(2).half()
    token, left = torch.zeros(2, dtype=torch.int64), torch.zeros(2, 40)
    for given in [(logits, k[:1], p), (logits, k, p.float()), (logits[0], k, p)]:
        with pytest.raises(Refused, match="161002"):
            aclnn("aclnnTopKTopPSample", *given, None, 1e-8, True, 32, token, left)


# ---- vLLM's step -----------------------------------------------------------------------------------------------------
def test_a_step() -> None:
    sequences, queries, block = 6, 4, 8
    tokens, positions, slots = (torch.full((sequences,), 9) for _ in range(3))
    lengths, sampled = whole(sequences, low=5, high=30, dtype=torch.int64), whole(queries, 1, seed=1).long()
    pages = whole(sequences, 5, seed=2, low=5, high=50, dtype=torch.int64)
    before = lengths.clone()
    aclnn("aclnnAdvanceStep", tokens, sampled, positions, lengths, slots, pages, sequences, queries, block)
    assert tokens[:4].tolist() == sampled.flatten().tolist() and positions[:4].tolist() == before[:4].tolist()
    assert lengths.tolist() == [*(before[:4] + 1).tolist(), *before[4:].tolist()]
    page = [pages.flatten()[length // block].item() for length in before[:4]]
    want = [(page[i] + pages.stride(0) * i) * block + before[i].item() % block for i in range(4)]
    assert slots.tolist() == [*want, -1, 9] and tokens[4:].tolist() == [0, 9] and positions[4:].tolist() == [0, 9]
    with pytest.raises(Refused, match="numSeqs is above numQueries"):
        aclnn("aclnnAdvanceStep", tokens, sampled, positions, lengths, slots, pages, sequences, 6, block)


def test_a_step_with_guessed_tokens() -> None:
    sequences, guesses, block = 4, 3, 8
    count = sequences * (1 + guesses)
    tokens, lengths, slots = (torch.zeros(count, dtype=torch.int64) for _ in range(3))
    positions = whole(count, low=5, high=30, dtype=torch.int64)
    sampled = torch.tensor([[4, -1, -1, -1], [5, 6, -1, -1], [7, 8, 9, 10], [11, 12, 13, -1]])
    guessed, accepted = whole(sequences, guesses, seed=3, low=20, high=40).long(), torch.tensor([0, 1, 3, 2])
    pages = whole(sequences, 10, seed=2, low=5, high=50, dtype=torch.int64)
    at = positions.view(4, 4) + accepted[:, None] + 1
    given = (tokens, sampled, positions, lengths, slots, pages, guessed, accepted)
    aclnn("aclnnAdvanceStepV2", *given, sequences, sequences, block)
    assert torch.equal(positions, at.flatten()) and torch.equal(lengths, at.flatten() + 1)
    assert torch.equal(tokens.view(4, 4), torch.cat([torch.tensor([[4], [6], [10], [13]]), guessed], 1))
    want = [[pages[i, at[i, j] // block] * block + at[i, j] % block for j in range(4)] for i in range(4)]
    assert slots.view(4, 4).tolist() == torch.tensor(want).tolist()


# ---- between the points of a plane -----------------------------------------------------------------------------------
def bilinear(plane: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """(…, height, width) at the points; beyond the plane lie zeros."""
    height, width = plane.shape[-2:]
    left, top = x.floor(), y.floor()
    total = torch.zeros(*plane.shape[:-2], *x.shape, dtype=plane.dtype)
    for over in (0, 1):
        for down in (0, 1):
            column, row = left + over, top + down
            inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
            share = (1 - (x - column).abs()) * (1 - (y - row).abs()) * inside
            total = total + plane[..., row.clamp(0, height - 1).long(), column.clamp(0, width - 1).long()] * share
    return total


def deformed(x: torch.Tensor, offset: torch.Tensor, rows: int, columns: int, groups: int) -> torch.Tensor:
    """Of stride (2, 1), padding (1, 0, 2, 1) and dilation (1, 2)."""
    batches, channels = x.shape[:2]
    height, width = offset.shape[-2:]
    shift = offset.reshape(batches, 3, groups, rows, columns, height, width)
    i, j = torch.meshgrid(torch.arange(height).double(), torch.arange(width).double(), indexing="ij")
    out = torch.zeros(batches, channels, height, rows, width, columns, dtype=x.dtype)
    for n in range(batches):
        for group in range(groups):
            of = slice(group * channels // groups, (group + 1) * channels // groups)
            for row in range(rows):
                for column in range(columns):
                    over, down, mask = shift[n, :, group, row, column]
                    at = bilinear(x[n, of], j + column * 2 - 2 + over, i * 2 + row - 1 + down)
                    out[n, of, :, row, :, column] = at * mask
    return out.reshape(batches, channels, height * rows, width * columns)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-4), (torch.float16, 2e-2)])
def test_deformable_convolution(dtype: torch.dtype, tolerance: float) -> None:
    x, weight, bias = real(2, 4, 5, 6, dtype=dtype), real(6, 2, 3, 2, seed=1, dtype=dtype), real(6, seed=2, dtype=dtype)
    height, width = (5 + 1 + 0 - 3) // 2 + 1, (6 + 2 + 1 - 3) // 1 + 1
    offset = real(2, 3 * 2 * 3 * 2, height, width, seed=3, dtype=dtype)
    out = torch.zeros(2, 6, height, width, dtype=dtype)
    samples = torch.zeros(2, 4, height * 3, width * 2, dtype=dtype)
    how = ([3, 2], [1, 1, 2, 1], [1, 0, 2, 1], [1, 1, 1, 2], 2, 2, True)
    aclnn("aclnnDeformableConv2d", x, weight, offset, bias, *how, out, samples)
    between = deformed(x.double(), offset.double(), 3, 2, 2)
    close(samples, between, tolerance)
    want = functional.conv2d(between, weight.double(), bias.double(), stride=(3, 2), groups=2)
    torch.testing.assert_close(out.double(), want, rtol=tolerance, atol=tolerance * want.abs().max().item())
    aclnn("aclnnDeformableConv2d", x, weight, offset, None, *how, out, None)
    close(out - want.to(dtype) + bias[:, None, None], torch.zeros_like(out), tolerance * want.abs().max().item())
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnDeformableConv2d", x, weight, offset[:, 1:], bias, *how, out, samples)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-4), (torch.float16, 2e-2)])
def test_gradients_of_deformable_convolution(dtype: torch.dtype, tolerance: float) -> None:
    """Against torch's gradients of bilinear sampling, which moves with the offsets."""
    x, weight = real(2, 4, 5, 6, dtype=dtype), real(6, 2, 3, 2, seed=1, dtype=dtype)
    height, width = (5 + 1 + 0 - 3) // 2 + 1, (6 + 2 + 1 - 3) // 1 + 1
    offset = (real(2, 3 * 2 * 3 * 2, height, width, seed=3) * 0.7).to(dtype)
    grad = real(2, 6, height, width, seed=4, dtype=dtype)
    leaves = [one.double().requires_grad_() for one in (x, weight, offset)]
    between = deformed(leaves[0], leaves[2], 3, 2, 2)
    functional.conv2d(between, leaves[1], stride=(3, 2), groups=2).backward(grad.double())
    outs = [torch.zeros_like(one) for one in (x, weight, offset)] + [torch.zeros(6, dtype=dtype)]
    how = ([3, 2], [1, 1, 2, 1], [1, 0, 2, 1], [1, 1, 1, 2], 2, 2)
    samples = between.detach().to(dtype)
    aclnn("aclnnDeformableConv2dBackward", x, grad, samples, weight, offset, *how, True, *outs)
    for got, want in zip(outs, [*(leaf.grad for leaf in leaves), grad.double().sum((0, 2, 3))], strict=True):
        torch.testing.assert_close(got.double(), want, rtol=tolerance, atol=tolerance * want.abs().max().item())
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnDeformableConv2dBackward", x, grad, samples, weight, offset, *how, False, *outs)
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnDeformableConv2dBackward", x, grad, samples[:, :3], weight, offset, *how, True, *outs)


SHAPES, STARTS = torch.tensor([[3, 4], [2, 2]]), torch.tensor([0, 12])


def attended(value: torch.Tensor, where: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    levels = []
    for level, ((height, width), start) in enumerate(zip(SHAPES.tolist(), STARTS.tolist(), strict=True)):
        plane = value[:, start : start + height * width].permute(0, 2, 3, 1).unflatten(-1, (height, width))
        x, y = where[:, :, :, level, :, 0] * width - 0.5, where[:, :, :, level, :, 1] * height - 0.5
        sampled = torch.stack(
            [
                torch.stack([bilinear(plane[n, head], x[n, :, head], y[n, :, head]) for head in range(2)])
                for n in range(2)
            ]
        )  # (n, heads, channels, queries, points)
        levels.append((sampled * weight[:, :, :, level].permute(0, 2, 1, 3)[:, :, None]).sum(-1))
    return sum(levels).permute(0, 3, 1, 2).flatten(2)


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_deformable_attention(kind: torch.dtype) -> None:
    value, weight = real(2, 16, 2, 3), real(2, 32, 2, 2, 4, seed=1)
    where = torch.rand(2, 32, 2, 2, 4, 2, generator=torch.Generator().manual_seed(2)) * 1.4 - 0.2
    shapes, starts, out = SHAPES.to(kind), STARTS.to(kind), torch.zeros(2, 32, 6)
    aclnn("aclnnMultiScaleDeformableAttnFunction", value, shapes, starts, where, weight, out)
    close(out, attended(value.double(), where.double(), weight.double()))
    grad, slopes = real(2, 32, 6, seed=3), [torch.zeros_like(one) for one in (value, where, weight)]
    aclnn("aclnnMultiScaleDeformableAttentionGrad", value, shapes, starts, where, weight, grad, *slopes)
    for got, want in zip(slopes, gradients(attended, value, where, weight, grad=grad), strict=True):
        close(got, want, 1e-3)
    with pytest.raises(Refused, match="asks for key 15 of 15"):
        aclnn("aclnnMultiScaleDeformableAttnFunction", value[:, :15], shapes, starts, where, weight, out)


# ---- numbers of 4 and 8 bits -----------------------------------------------------------------------------------------
def test_a_step_of_adamw_with_moments_of_8_bits() -> None:
    count, step = 300, 3
    rate, beta1, beta2, decay, eps, scale = 0.01, 0.9, 0.99, 0.1, 1e-6, 0.5
    parameter, grad = real(count), real(count, seed=1)
    signed, plain = torch.linspace(-1, 1, 256), torch.linspace(0, 1, 256) ** 2
    m, v = (whole(count, seed=seed, low=0, high=256, dtype=torch.uint8) for seed in (2, 3))
    most_m, most_v = torch.tensor([0.3, 0.2]), torch.tensor([0.05, 0.1])
    blocks = torch.arange(count) // 256
    slope = grad.double() * scale
    average = signed.double()[m.long()] * most_m[blocks] * beta1 + (1 - beta1) * slope
    square = plain.double()[v.long()] * most_v[blocks] * beta2 + (1 - beta2) * slope**2
    want = parameter.double() * (1 - rate * decay) - rate * (average / (1 - beta1**step)) / (
        (square / (1 - beta2**step)).sqrt() + eps
    )
    given = (parameter, grad, m, v, signed, plain, most_m, most_v, torch.tensor([step]))
    aclnn("aclnnApplyAdamWQuant", *given, rate, beta1, beta2, decay, eps, scale, None, 256)
    close(parameter, want, 1e-5)
    for index, levels, most, exact in ((m, signed, most_m, average), (v, plain, most_v, square)):
        wanted = torch.stack([exact[:256].abs().max(), exact[256:].abs().max()])
        close(most, wanted, 1e-5)
        relative = exact / wanted[blocks]
        nearest = (levels.double() - relative[:, None]).abs().amin(1)
        close((levels.double()[index.long()] - relative).abs(), nearest, 1e-5)


def test_rounding_by_mode() -> None:
    x = torch.tensor([-2.5, -1.5, -0.5, -0.49999997, 0.49999997, 0.5, 1.5, 2.5, 3.2, -3.7, 0.0])
    ways = {0: torch.round, 1: torch.round, 2: torch.floor, 3: torch.ceil, 5: torch.trunc, 9: torch.round}
    for mode, way in ways.items():
        out = torch.zeros_like(x)
        aclnn("aclnnForeachRoundOffNumber", [x], torch.tensor([mode], dtype=torch.int8), [out])
        assert torch.equal(out, way(x)), mode
    for mode, want in {
        4: [-3.0, -2.0, -1.0, 0.0, 0.0, 1.0, 2.0, 3.0, 3.0, -4.0, 0.0],
        6: [-3.0, -1.0, -1.0, 0.0, 0.0, 1.0, 1.0, 3.0, 3.0, -4.0, 0.0],
    }.items():
        out = torch.zeros_like(x)
        aclnn("aclnnForeachRoundOffNumber", [x], torch.tensor([mode], dtype=torch.int8), [out])
        assert out.tolist() == want, mode


@pytest.mark.parametrize("bias_type", [None, torch.int32, torch.float32])
@pytest.mark.parametrize("dims", [2, 3])
def test_quantized_convolution(dims: int, bias_type: torch.dtype | None) -> None:
    x, weight = whole(2, 4, *[6] * dims), whole(6, 2, *[3] * dims, seed=1)
    scale, bias = real(6, seed=2).abs() / 16, whole(6, seed=3).to(bias_type) if bias_type else None
    out = torch.zeros(2, 6, *[4] * dims).bfloat16()
    how = ([1] * dims, [0] * dims, [1] * dims, False, None, 2, 0, None)
    newer = dims == 2 or bias_type == torch.int32  # what an Ascend910B does not take
    with rules_of("Ascend950") if newer else contextlib.nullcontext():
        aclnn("aclnnQuantConvolution", x, weight, bias, scale, None, *how, out)
    convolve = functional.conv2d if dims == 2 else functional.conv3d
    whole_bias = bias.double() if bias_type == torch.int32 else None
    want = convolve(x.double(), weight.double(), whole_bias, groups=2) * scale.double().view(-1, *[1] * dims)
    if bias_type == torch.float32:
        want = want + bias.double().view(-1, *[1] * dims)
    close(out, want, 1e-2)
    if dims == 2:
        encoded, half = torch.zeros(6, dtype=torch.int64), torch.zeros_like(out).half()
        aclnn("aclnnTransQuantParamV2", scale, None, encoded)
        with pytest.raises(Refused, match="scale has data type INT64; Ascend910B allows FLOAT"):
            aclnn("aclnnQuantConvolution", x, weight, None, encoded, None, *how, half)
        with rules_of("Ascend950"):
            aclnn("aclnnQuantConvolution", x, weight, bias, encoded, None, *how, half)
        close(half, want, 2e-2)


def test_a_product_with_scales_of_blocks() -> None:
    x, weight, bias = whole(5, 512), whole(256, 512, seed=1), real(256, seed=2)
    rows, blocks, out = real(5, 4, seed=3).abs(), real(2, 4, seed=4).abs(), torch.zeros(5, 256).bfloat16()
    columns = blocks.double().repeat_interleave(128, 0).repeat_interleave(128, 1)
    want = (x.double() * rows.double().repeat_interleave(128, 1)) @ (weight.double() * columns).T + bias.double()
    absent = (None, None, None, None)
    group = 1 << 32 | 128 << 16 | 128
    aclnn("aclnnQuantMatmulV5", x, weight, rows, blocks, *absent, bias, False, True, group, out)
    torch.testing.assert_close(out.double(), want, rtol=1e-2, atol=want.abs().max().item() * 1e-2)
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnQuantMatmulV5", x, weight, rows, blocks[:1], *absent, bias, False, True, group, out)


@pytest.mark.parametrize("rows", [4, 80])
def test_the_first_form_of_weight_quantization(rows: int) -> None:
    x, weight, bias = real(rows, 16).half(), whole(16, 8, seed=1), real(8, seed=2)
    deq_offset, offset = whole(8, seed=3).int(), real(8, seed=4).half()
    deq_scale, scale = torch.zeros(8, dtype=torch.int64), real(8, seed=5).abs().half()
    aclnn("aclnnTransQuantParamV2", scale.float(), None, deq_scale)
    unit, out = torch.eye(32, dtype=torch.int8), torch.zeros(rows, 8).half()
    given = (unit, deq_offset, deq_scale.view(torch.uint64), offset, scale, bias)
    aclnn("aclnnWeightQuantBatchMatmul", x, weight, *given, False, False, 1.0, 0.0, out)
    want = x.double() @ ((weight.double() + (deq_offset if rows <= 64 else offset).double()) * scale.double()) + bias
    torch.testing.assert_close(out.double(), want, rtol=1e-2, atol=want.abs().max().item() * 1e-2)


class Int4:
    """A tensor of INT4 in device memory, in ND or in FRACTAL_NZ."""

    INT4, ND, FRACTAL_NZ = 29, 2, 29

    def __init__(self, *sizes: int, tiles: bool = False) -> None:
        self.opapi, self.acl = libraries()
        storage = [-(-sizes[1] // 64), -(-sizes[0] // 16), 16, 64] if tiles else list(sizes)
        self.bytes, self.memory = math.prod(storage) // 2, ctypes.c_void_p()
        assert self.acl.aclrtMalloc(ctypes.byref(self.memory), ctypes.c_size_t(self.bytes), 0) == 0
        steps = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
        held = [(ctypes.c_int64 * len(each))(*each) for each in (sizes, steps, storage)]
        self.opapi.aclCreateTensor.restype = ctypes.c_void_p
        self.handle = ctypes.c_void_p(
            self.opapi.aclCreateTensor(
                held[0], ctypes.c_uint64(len(sizes)), self.INT4, held[1], ctypes.c_int64(0),
                self.FRACTAL_NZ if tiles else self.ND, held[2], ctypes.c_uint64(len(storage)), self.memory,
            )
        )  # fmt: skip

    def words(self) -> torch.Tensor:
        held, size = torch.zeros(self.bytes // 4, dtype=torch.int32), ctypes.c_size_t(self.bytes)
        assert self.acl.aclrtMemcpy(ctypes.c_void_p(held.data_ptr()), size, self.memory, size, 2) == 0
        return held

    def close(self) -> None:
        assert self.opapi.aclDestroyTensor(self.handle) == 0 and self.acl.aclrtFree(self.memory) == 0


def test_numbers_of_4_bits() -> None:
    numbers = whole(40, 64, low=-8, high=8, dtype=torch.int32)
    packed, wanted = torch.zeros(40, 8, dtype=torch.int32), Int4(40, 64)
    aclnn("aclnnConvertWeightToINT4Pack", numbers, packed)
    aclnn("aclnnConvertWeightToINT4Pack", numbers, wanted.handle)
    assert torch.equal(unpacked(packed), numbers.long()) and torch.equal(wanted.words(), packed.flatten())
    x, scale, out = real(5, 40).half(), real(64, seed=1).half(), torch.zeros(5, 64).half()
    for weight in (packed, wanted.handle):
        aclnn("aclnnWeightQuantBatchMatmulV2", x, weight, scale, *[None] * 4, 0, out)
        want = x.double() @ (numbers.double() * scale.double())
        torch.testing.assert_close(out.double(), want, rtol=1e-2, atol=want.abs().max().item() * 1e-2)
    steps, columns, left = whole(5, 40, low=-8, high=8, dtype=torch.int32), real(64).abs(), Int4(5, 40)
    aclnn("aclnnConvertWeightToINT4Pack", steps, left.handle)
    encoded, out = torch.zeros(64, dtype=torch.int64), torch.zeros(5, 64).half()
    aclnn("aclnnTransQuantParamV2", columns, None, encoded)
    aclnn("aclnnQuantMatmulV3", left.handle, wanted.handle, encoded, None, None, False, False, out)
    close(out, (steps.double() @ numbers.double()) * (encoded & 0xFFFFFFFF).int().view(torch.float32), 1e-2)
    left.close()
    wanted.close()


@pytest.mark.parametrize("columns", [1, 3])
def test_a_transposed_weight_of_4_bits(columns: int) -> None:
    """As llama.cpp gives it, where one column may be all."""
    numbers, packed = whole(columns, 64, low=-8, high=8, dtype=torch.int32), torch.zeros(columns, 8, dtype=torch.int32)
    aclnn("aclnnConvertWeightToINT4Pack", numbers, packed)
    x, scale, out = real(5, 64).half(), real(columns, 2, seed=1).half(), torch.zeros(5, columns).half()
    aclnn("aclnnWeightQuantBatchMatmulV2", x, packed.T, scale.T, *[None] * 4, 32, out)
    want = x.double() @ (numbers.double() * scale.double().repeat_interleave(32, 1)).T
    torch.testing.assert_close(out.double(), want, rtol=1e-2, atol=want.abs().max().item() * 1e-2)


def test_numbers_of_4_bits_in_tiles() -> None:
    numbers, tiled = whole(17, 72, low=-8, high=8, dtype=torch.int32), Int4(17, 72, tiles=True)
    aclnn("aclnnConvertWeightToINT4Pack", numbers, tiled.handle)
    padded = functional.pad(numbers, (0, 128 - 72, 0, 32 - 17))
    lies = padded.unflatten(1, (2, 64)).unflatten(0, (2, 16)).permute(2, 0, 1, 3).flatten()
    assert torch.equal(unpacked(tiled.words()), lies.long())
    x, scale, out = real(5, 17).half(), real(72, seed=1).half(), torch.zeros(5, 72).half()
    aclnn("aclnnWeightQuantBatchMatmulV2", x, tiled.handle, scale, *[None] * 4, 0, out)
    want = x.double() @ (numbers.double() * scale.double())
    torch.testing.assert_close(out.double(), want, rtol=1e-2, atol=want.abs().max().item() * 1e-2)
    tiled.close()


@pytest.mark.parametrize("dtype, tolerance", [(torch.float16, 5e-3), (torch.float32, 1e-4)])
def test_qr_of_half_numbers(dtype: torch.dtype, tolerance: float) -> None:
    x = real(5, 3, dtype=dtype)
    q, r = torch.zeros(5, 3, dtype=dtype), torch.zeros(3, 3, dtype=dtype)
    aclnn("aclnnLinalgQr", x, 0, q, r)
    close(q.double() @ r.double(), x, tolerance)
    close(q.double().T @ q.double(), torch.eye(3), tolerance)
    assert not r.tril(-1).any()


def test_a_row_of_4_bits_that_ends_within_a_byte_is_refused_by_name() -> None:
    odd = Int4(3, 5)
    with pytest.raises(Refused, match=r"a tensor of INT4 \[3, 5\].* is not simulated"):
        aclnn("aclnnConvertWeightToINT4Pack", whole(3, 5, dtype=torch.int32), odd.handle)
    odd.close()
