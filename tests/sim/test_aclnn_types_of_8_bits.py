"""HIFLOAT8, FLOAT8 and FLOAT4 in functions that have whole numbers as well, on an Ascend950: what the pages define for
those is computed for these."""

from collections.abc import Iterator

import pytest
import torch
from interfaces import HiFloat8, Pairs, Refused, Tiles, aclnn, rules_of
from test_aclnn_hifloat8 import to_codes, to_float
from test_aclnn_weights import Weight
from values import close, real

E5M2, E4M3, E8M0 = torch.float8_e5m2, torch.float8_e4m3fn, torch.float8_e8m0fnu
LARGEST = {None: 32768, E5M2: 57344, E4M3: 448}  # None: HIFLOAT8, which torch has not
# Half a step of the largest numbers, over which numbers of a row are spread; HIFLOAT8 has one bit of fraction there.
OFF = {None: 0.26, E5M2: 0.13, E4M3: 0.07}
CODES = {None: 34, E5M2: 35, E4M3: 36}
Held = torch.Tensor | HiFloat8


@pytest.fixture(autouse=True)
def on_ascend950() -> Iterator[None]:
    with rules_of("Ascend950"):
        yield


def held(values: torch.Tensor, dtype: torch.dtype | None) -> Held:
    return HiFloat8(to_codes(values.float())) if dtype is None else values.to(dtype)


def empty(dtype: torch.dtype | None, *shape: int) -> Held:
    return HiFloat8(torch.zeros(shape, dtype=torch.uint8)) if dtype is None else torch.zeros(shape).to(dtype)


def numbers(of: Held) -> torch.Tensor:
    return to_float(of.data) if isinstance(of, HiFloat8) else of.float()


def steps(*shape: int, seed: int = 0) -> torch.Tensor:
    """Numbers that each of the types holds."""
    return torch.randint(-8, 9, shape, generator=torch.Generator().manual_seed(seed)).float()


@pytest.mark.parametrize("dtype", LARGEST)
def test_quantize(dtype: torch.dtype | None) -> None:
    x, scale, zero, out = real(3, 8) * 9, torch.tensor([0.7]), torch.tensor([1.25]), empty(dtype, 3, 8)
    aclnn("aclnnQuantize", x, scale, zero, CODES[dtype], 0, out)
    assert torch.equal(numbers(out), numbers(held(x / scale + zero, dtype)))


@pytest.mark.parametrize("dtype", LARGEST)
def test_a_norm_that_ends_in_small_numbers(dtype: torch.dtype | None) -> None:
    x, scale, shift = real(2, 3, 16).half(), real(2, 16, seed=1).half(), real(2, 16, seed=2).half()
    out, factor = empty(dtype, 2, 3, 16), torch.zeros(2, 3)
    aclnn("aclnnAdaLayerNormQuant", x, scale, shift, None, None, None, 1e-5, "dynamic", out, factor, None)
    want = torch.layer_norm(x.double(), (16,)) * (1 + scale.double()[:, None]) + shift.double()[:, None]
    close(factor, want.abs().amax(-1) / LARGEST[dtype], 1e-4)
    torch.testing.assert_close(numbers(out).double() * factor[..., None], want, rtol=OFF[dtype], atol=1e-2)


@pytest.mark.parametrize("dtype", [None, E4M3])
@pytest.mark.parametrize("turned", [False, True])
def test_a_product_with_such_a_weight(dtype: torch.dtype | None, turned: bool) -> None:
    x, weight, scale, bias = real(4, 64).half(), steps(64, 8), real(8, seed=1).half(), real(8, seed=2).half()
    lies = held(weight.T.contiguous() if turned else weight, dtype)
    given = (HiFloat8(lies.data.T) if isinstance(lies, HiFloat8) else lies.T) if turned else lies
    want = x.double() @ (weight.half() * scale).double() + bias.double()
    for name, last in (("V2", ()), ("V3", (0,))):
        out = torch.zeros(4, 8).half()
        aclnn(f"aclnnWeightQuantBatchMatmul{name}", x, given, scale, None, None, None, bias, 0, *last, out)
        close(out, want, 5e-2)


@pytest.mark.parametrize("form", ["pairs", "words"])
def test_a_product_with_a_weight_of_float4(form: str) -> None:
    """With a power of two for each 32 numbers along k; eight numbers may come in an element of FLOAT."""
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    codes = torch.randint(0, 16, (64, 16), generator=torch.Generator().manual_seed(3))
    weight = table[codes & 7] * torch.where(codes > 7, -1, 1)
    packed = (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8)
    powers = torch.randint(-3, 3, (2, 16), generator=torch.Generator().manual_seed(4))
    x, out = real(4, 64).bfloat16(), torch.zeros(4, 16).bfloat16()
    given = Pairs(packed, 40) if form == "pairs" else packed.view(torch.float32)
    scale = (powers + 127).to(torch.uint8).view(E8M0)
    aclnn("aclnnWeightQuantBatchMatmulV2", x, given, scale, None, None, None, None, 32, out)
    close(out, x.double() @ (weight * 2.0 ** powers.repeat_interleave(32, 0)).double(), 0.5)


GROUPS_OF_32 = 1 << 32 | 1 << 16 | 32


def float4(*shape: int, seed: int) -> tuple[Pairs, torch.Tensor]:
    codes = torch.randint(0, 16, shape, generator=torch.Generator().manual_seed(seed))
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])[codes & 7] * torch.where(codes > 7, -1, 1)
    return Pairs((codes[..., ::2] | codes[..., 1::2] << 4).to(torch.uint8), 40), values


def factors(*shape: int, seed: int) -> torch.Tensor:
    powers = torch.randint(-3, 3, (*shape, 2), generator=torch.Generator().manual_seed(seed))
    return (powers + 127).to(torch.uint8).view(E8M0)


def by_factors(rows: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return rows.double() * scale.double().flatten(-2).repeat_interleave(32, -1)[..., : rows.size(-1)]


@pytest.mark.torch_npu("2.8", "torch 2.7 has no FLOAT4")
@pytest.mark.parametrize("form", ["4 by 4", "8 by 8", "8 by 4"])
def test_a_product_with_powers_of_two_for_each_32_numbers(form: str) -> None:
    (x, left), (weight, right) = float4(2, 4, 96, seed=1), float4(2, 16, 96, seed=2)
    rows, columns = factors(2, 4, 2, seed=3), factors(2, 16, 2, seed=4)
    bias, out = real(2, 1, 16, seed=5), torch.zeros(2, 4, 16)
    if form == "8 by 4":  # of two dimensions, and the bias has the result's type
        left, right, rows, columns, weight = left[0], right[0], rows[0], columns[0], Pairs(weight.data[0], 40)
        bias, out = bias[0].bfloat16(), out[0].bfloat16()
    given = (x if form == "4 by 4" else left.to(E4M3), right.to(E5M2) if form == "8 by 8" else weight)
    want = by_factors(left, rows) @ by_factors(right, columns).mT + bias.double()

    def product(rows: object, columns: object, bias: object, turned: bool = True, group: int = GROUPS_OF_32) -> None:
        absent = (None, None, None, None)
        aclnn("aclnnQuantMatmulV5", *given, rows, columns, *absent, bias, False, turned, group, out)

    product(rows, columns, bias)
    close(out, want, 0.5 if form == "8 by 4" else 1e-3)
    for wrong, message in [
        ((rows[..., :1, :], columns, bias), "x1Scale .* is expected"),
        ((rows, columns.transpose(-3, -2), bias), "x2Scale .* is expected"),
        ((rows, columns, bias.half()), "bias"),
        ((rows, columns, bias, True, 32 << 16), "groupSize"),
        ((rows, columns, bias, True, 0), "groupSize"),
        ((rows, columns, bias, False), ""),
    ]:
        with pytest.raises(Refused, match=f"161002: .*{message}"):
            product(*wrong)


@pytest.mark.torch_npu("2.8", "torch 2.7 has no FLOAT4")
@pytest.mark.parametrize("turned", [False, True])
def test_matrices_of_float4_that_lie_the_other_way(turned: bool) -> None:
    """A (k, m) and (k, n), whose scales lie so as well; a scale of one block may lie either way."""
    (x, left), (weight, right) = float4(64, 4, seed=1), float4(64, 16, seed=2)
    rows, columns, out = factors(1, 4, seed=3), factors(1, 16, seed=4), torch.zeros(4, 16)
    given = [each.transpose(0, 1) if turned else each for each in (rows, columns)]
    absent = (None,) * 5
    aclnn("aclnnQuantMatmulV5", x, weight, *given, *absent, True, False, GROUPS_OF_32, out)
    close(out, by_factors(left.T, rows.transpose(0, 1)) @ by_factors(right.T, columns.transpose(0, 1)).T, 1e-3)


@pytest.mark.parametrize("dtype", LARGEST)
@pytest.mark.parametrize("mode", ["PA", "PA_NZ"])
def test_caches_of_latent_attention(dtype: torch.dtype | None, mode: str) -> None:
    bf16 = torch.bfloat16
    kv, gamma = real(1, 1, 2, 576).to(bf16), real(512, seed=1).to(bf16)
    cos, sin = (real(1, 1, 2, 64, seed=seed).to(bf16) for seed in (2, 3))
    rope_cache, cache = empty(dtype, 1, 32, 1, 64), empty(dtype, 1, 32, 1, 512)
    factors = torch.tensor([3.0]), torch.rand(512) + 1
    rope, normal = torch.zeros(1, 1, 2, 64).to(bf16), torch.zeros(1, 1, 2, 512).to(bf16)
    aclnn(
        "aclnnKvRmsNormRopeCache", kv, gamma, cos, sin, torch.tensor([5, 0]), rope_cache, cache, *factors, None, None,
        1e-5, mode, True, rope, normal,
    )  # fmt: skip
    for got, want, factor in zip((rope_cache, cache), (rope, normal), factors, strict=True):
        rows = numbers(got).reshape(32, -1)
        if mode == "PA_NZ":
            rows = numbers(got).reshape(-1, 32, 32).transpose(0, 1).reshape(32, -1)
        torch.testing.assert_close(rows[[5, 0]], want[0, 0].float() * factor, rtol=0.13, atol=1e-2)
        assert not rows[[1, 31]].any()


@pytest.mark.parametrize("dtype", [None, E4M3])
def test_the_keys_that_are_chosen(dtype: torch.dtype | None) -> None:
    query, key = steps(1, 4, 8, 128), steps(1, 16, 1, 128, seed=1)
    weights, scales = real(1, 4, 8, seed=2).half(), (real(1, 4, 8, seed=3).abs(), real(1, 16, 1, seed=4).abs())
    chosen = []
    for given in ((query.to(torch.int8), key.to(torch.int8)), (held(query, dtype), held(key, dtype))):
        out = torch.zeros(1, 4, 1, 6, dtype=torch.int32)
        most = 2**63 - 1
        aclnn(
            "aclnnQuantLightningIndexer", *given, weights, *scales, None, None, None, 0, 0, "BSND", "BSND", 6, 3, most,
            most, out,
        )  # fmt: skip
        chosen.append(out)
    assert torch.equal(*chosen) and chosen[0].ge(0).any()


def test_a_weight_of_float8_in_tiles() -> None:
    values = real(20, 40).to(E4M3)
    weight = Weight(values)
    assert weight.arrange() == 0
    padded = torch.zeros(32, 64)
    padded[:20, :40] = values.float()
    tiles = padded.unflatten(-1, (-1, 32)).unflatten(-3, (-1, 16)).movedim(-2, -4)
    assert torch.equal(weight.lies(E4M3).float(), tiles.flatten())
    weight.close()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", [None, E4M3])
def test_products_of_experts_that_are_combined(dtype: torch.dtype | None, bias: bool) -> None:
    x, weight, scale, row_scale = steps(6, 32), steps(2, 32, 64, seed=1), real(2, 1, 64).abs(), real(6, seed=2).abs()
    logit, rows = real(6, seed=3), torch.tensor([2, 0, 1, 1, 0, 2])
    added = real(2, 64, seed=4).bfloat16() if bias else None
    out = torch.zeros(3, 64)
    aclnn(
        "aclnnGroupedMatmulFinalizeRoutingWeightNzV2", held(x, dtype), Tiles(held(weight, dtype)), scale, added, None,
        None, None, row_scale, torch.tensor([2, 4]), None, logit, rows, 0, 1.0, 0, False, False, 1, None, out,
    )  # fmt: skip
    want = torch.zeros(3, 64, dtype=torch.float64)
    for row, expert in enumerate([0, 0, 1, 1, 1, 1]):
        value = (x[row].double() @ weight[expert].double()) * scale[expert, 0] * row_scale[row]
        want[rows[row]] += logit[row] * (value + (added[expert].double() if bias else 0))
    close(out, want, 1e-2)


def test_products_of_experts_with_a_weight_of_float4_that_lies_turned() -> None:
    table, e, n, k = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6]), 2, 32, 64
    codes = torch.randint(0, 16, (e, n, k), generator=torch.Generator().manual_seed(3))
    weight = table[codes & 7] * torch.where(codes > 7, -1, 1)
    packed = Pairs((codes[..., ::2] | codes[..., 1::2] << 4).to(torch.uint8), 40)
    x, logit, rows, out = steps(6, k), real(6, seed=3), torch.tensor([2, 0, 1, 1, 0, 2]), torch.zeros(3, n)
    drawn = torch.Generator().manual_seed(5)
    powers, row_powers = (torch.randint(-3, 3, sizes, generator=drawn) for sizes in ((e, n, 1, 2), (6, 1, 2)))
    scale, row_scale = ((power + 127).to(torch.uint8).view(E8M0) for power in (powers, row_powers))
    aclnn(
        "aclnnGroupedMatmulFinalizeRoutingWeightNzV2", x.to(E4M3), Tiles(packed), scale, None, None, None, None,
        row_scale, torch.tensor([2, 4]), None, logit, rows, 0, 1.0, 0, False, True, 1, None, out,
    )  # fmt: skip
    weight = weight * 2.0 ** powers.flatten(2).repeat_interleave(32, 2)
    x = x * 2.0 ** row_powers.flatten(1).repeat_interleave(32, 1)
    want = torch.zeros(3, n, dtype=torch.float64)
    for row, expert in enumerate([0, 0, 1, 1, 1, 1]):
        want[rows[row]] += logit[row] * (x[row].double() @ weight[expert].double().T)
    close(out, want, 1e-2)


def test_a_product_whose_halves_are_gated() -> None:
    x, weight, scale, row_scale = steps(5, 32), steps(2, 32, 64, seed=1), real(2, 64).abs(), real(5, seed=2).abs()
    out, factor = empty(None, 5, 32), torch.zeros(5)
    aclnn(
        "aclnnGroupedMatmulSwigluQuantV2", held(x, None), [held(weight, None)], [scale], None, None, row_scale, None,
        torch.tensor([2, 5]), 0, 0, 0, 0, None, out, factor,
    )  # fmt: skip
    products = torch.stack([x[row].double() @ weight[int(row > 1)].double() * scale[int(row > 1)] for row in range(5)])
    left, right = (products * row_scale[:, None]).chunk(2, 1)
    want = left * left.sigmoid() * right
    close(factor, want.abs().amax(1) / 32768, 1e-3)
    torch.testing.assert_close(numbers(out).double() * factor[:, None], want, rtol=OFF[None], atol=1e-2)


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize(("dtype", "mode"), [(None, 5), (E4M3, 4), (E4M3, 3)], ids=["hifloat8", "float8", "mxfp8"])
def test_what_goes_before_latent_attention(dtype: torch.dtype | None, mode: int, cached: bool) -> None:
    """Against the same numbers in BFLOAT16, which hold them, as all scales are powers of two."""
    tokens, width, rank, key_rank, heads, depth, rope, bf16 = 5, 64, 64, 32, 2, 16, 8, torch.bfloat16
    sizes = ((tokens, width), (width, rank), (rank, heads * (depth + rope)), (width, key_rank + rope))
    plain = [steps(*size, seed=seed) for seed, size in enumerate(sizes)]
    powers, factors = [], []
    for place, (rows, columns) in enumerate(sizes):
        along, across = (columns, rows) if place == 0 else (rows, columns)
        drawn = torch.Generator().manual_seed(place)
        power = torch.randint(-5, -2, (across, along // 32 if mode == 3 else 1), generator=drawn)
        one = 2.0 ** (power if place == 0 else power.T)
        powers.append((power + 127).to(torch.uint8).view(E8M0) if mode == 3 else one)
        spread = 2.0 ** power.repeat_interleave(32 if mode == 3 else along, 1)
        factors.append(spread if place == 0 else spread.T)
    absorbed, gamma, key_gamma = real(heads, depth, key_rank).to(bf16), real(rank).to(bf16), real(key_rank).to(bf16)
    angles = [real(tokens, rope, seed=seed).to(bf16) for seed in (7, 8)]
    index, found = torch.tensor([3, 0, 9, 5, 7]), []
    for quantized in (False, True):
        small = dtype if quantized and cached else bf16
        given = [held(x, dtype) if quantized else (x * f).to(bf16) for x, f in zip(plain, factors, strict=True)]
        caches = [empty(small, 3, 4, 1, key_rank), empty(bf16, 3, 4, 1, rope)]
        query, query_rope = empty(small, tokens, heads, key_rank), empty(bf16, tokens, heads, rope)
        scale = torch.zeros(tokens, heads, 1) if quantized and cached else None
        key_scale = torch.tensor([4.0]) if quantized and cached else None
        both = int(quantized and cached)
        aclnn(
            "aclnnMlaPrologV3WeightNz", *given[:3], absorbed, given[3], gamma, key_gamma, *angles, *caches, index,
            *(powers if quantized else [None] * 4), key_scale, None, None, None, None, 1e-5, 1e-5, "PA_BSND",
            mode if quantized else 0, both, both, 0, 0, 128, 1.0, 1.0, query, query_rope, scale, None, None,
        )  # fmt: skip
        found.append((numbers(query), scale, numbers(caches[0]), numbers(caches[1])))
    (want, _, key, key_rope), (got, scale, got_key, got_rope) = found
    got = got * scale if cached else got
    # The numbers in between are rounded too; in blocks the largest of them saturate.
    assert (got - want).abs().max() < (3 if mode == 3 else 1.5) * OFF[dtype] * want.abs().max()
    torch.testing.assert_close(got_key / (4 if cached else 1), key, rtol=0.13 if cached else 1e-2, atol=1e-2)
    torch.testing.assert_close(got_rope, key_rope, rtol=1e-2, atol=1e-2)
