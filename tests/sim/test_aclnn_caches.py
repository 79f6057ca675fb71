"""Caches of keys and values: filled, read back, and what is rotated and normalized on the way: against the formula."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from interfaces import Refused, aclnn
from values import close, real, steps_close, whole

BF16 = torch.bfloat16


def normalized(x: torch.Tensor, gamma: torch.Tensor, eps: float) -> torch.Tensor:
    x = x.double()
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * gamma.double()


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return x * cos.double() + torch.cat([-second, first], -1) * sin.double()


def neighbours_apart(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x[..., ::2], x[..., 1::2]], -1)


def test_scatter_pa_cache() -> None:
    key, slots = real(4, 2, 8), torch.tensor([5, 0, -1, 14], dtype=torch.int32)  # -1: of no token, left out
    cache = torch.full((4, 4, 2, 8), 9.0)
    on_npu = cache.npu()
    torch_npu.npu_scatter_pa_cache(key.npu(), slots.npu(), key_cache=on_npu)
    aclnn("aclnnScatterPaCache", key, cache, slots, None, None, None, "Norm")
    want = torch.full((16, 2, 8), 9.0)
    want[[5, 0, 14]] = key[[0, 1, 3]]
    for got in (cache, on_npu.cpu()):
        assert torch.equal(got.reshape(16, 2, 8), want)
    for mode, lengths, message in (
        ("PA_NZ", None, "parts, rows, width"),
        ("Norm", slots, "a compressed cache is not simulated"),
    ):
        with pytest.raises(Refused, match=message):
            aclnn("aclnnScatterPaCache", key, cache, slots, lengths, None, None, mode)


def test_filling_of_pages() -> None:
    key, value = torch.randn(4, 2, 4).half(), torch.randn(4, 2, 6).half()
    caches = torch.zeros(5, 2, 2, 4).half(), torch.zeros(5, 2, 2, 6).half()
    moved = [each.npu() for each in caches]
    slots = torch.tensor([7, 0, 4, -1], dtype=torch.int32)  # the last pads the batch of a graph
    torch_npu.npu_scatter_pa_kv_cache(key.npu(), value.npu(), *moved, slots.npu(), cache_mode="Norm")
    for cache, rows, got in zip(caches, (key, value), moved, strict=True):
        for row, slot in enumerate(slots.tolist()[:3]):
            cache[slot // 2, slot % 2] = rows[row]
        assert torch.equal(got.cpu(), cache)


@pytest.mark.parametrize("sizes", [(4, 2, 16), (2, 2, 2, 16)], ids=["parts", "heads and parts"])
def test_filling_of_pages_in_tiles(sizes: tuple[int, ...]) -> None:
    """Rows of 2 heads of 32 numbers, in parts of 16."""
    key, slots = torch.randn(3, 2, 32).half(), torch.tensor([5, 0, 3], dtype=torch.int32)
    moved = [torch.zeros(3, *sizes).half().npu() for _ in range(2)]
    torch_npu.npu_scatter_pa_kv_cache(key.npu(), -key.npu(), *moved, slots.npu())
    want = torch.zeros(3, 4, 2, 16).half()
    for row, slot in zip(key, slots.tolist(), strict=True):
        want[slot // 2, :, slot % 2] = row.view(4, 16)
    assert torch.equal(moved[0].cpu().view(want.shape), want)
    assert torch.equal(moved[1].cpu().view(want.shape), -want)


def test_filling_of_pages_with_heads_before_rows() -> None:
    key, cache = torch.randn(3, 2, 4).half(), torch.zeros(3, 2, 2, 4).half()
    moved, slots = [cache.npu(), cache.npu()], torch.tensor([5, 0, 3], dtype=torch.int32)
    rows = key.npu()

    def scatter(mode: str, strides: list[int]) -> None:
        given = rows, moved[0], slots.npu(), rows, moved[1], None, None, None, "Norm", mode, strides, [0, 0]
        aclnn("aclnnScatterPaKvCache", *given)

    scatter("NHSD", [1, 1])
    for row, slot in zip(key, slots.tolist(), strict=True):
        cache[slot // 2, :, slot % 2] = row
    assert torch.equal(moved[0].cpu(), cache) and torch.equal(moved[1].cpu(), cache)
    for mode, strides, words in (("Alibi", [1, 1], "scatter_mode 'Alibi' is not"), ("Nct", [8, 8], "strides")):
        with pytest.raises(Refused, match=words):
            scatter(mode, strides)


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("offsets", [None, [0, 5, 4]])
@pytest.mark.parametrize("mode", ["Norm", "PA_NZ"])
def test_gather_pa_kv_cache(mode: str, offsets: list[int] | None, running: bool) -> None:
    size, heads, depths, lengths = 4, 2, (16, 8), [6, 3, 5]
    table = torch.tensor([[2, 0, 7], [5, 1, 3], [6, -1, 4]], dtype=torch.int32)
    rows = [real(8, size, heads, depth, seed=depth, dtype=BF16) for depth in depths]
    given = torch.tensor([0, *torch.tensor(lengths).cumsum(0)] if running else lengths, dtype=torch.int32)
    wants = []
    for store in rows:
        want = torch.zeros(15, heads, store.shape[-1])
        place = 0
        for item, length in enumerate(lengths):
            first = offsets[item] // size if offsets else 0
            for token in range(length):
                page = table[item, first + token // size]
                if page >= 0:
                    want[place] = store[page, token % size].float()
                place += 1
        want[14] = 7  # beyond the last sequence
        wants.append(want)
    caches = rows
    if mode == "PA_NZ":
        caches = [
            store.reshape(8, size, -1, 16).transpose(1, 2).contiguous().clone() for store in rows
        ]  # (pages, parts of a row, rows, 16)
    outs = [torch.full_like(want, 7, dtype=BF16) for want in wants]
    start = None if offsets is None else torch.tensor(offsets, dtype=torch.int32)
    aclnn("aclnnGatherPaKvCache", *caches, table, given, *outs, start, mode, running)
    for got, want in zip(outs, wants, strict=True):
        assert torch.equal(got.float(), want)
    if mode == "Norm":
        on_npu = [torch.full_like(want, 7, dtype=BF16).npu() for want in wants]
        torch_npu.npu_gather_pa_kv_cache(
            *(cache.npu() for cache in caches), table.npu(), given.npu(), *on_npu,
            seq_offset=None if start is None else start.npu(), is_seq_lens_cumsum=running,
        )  # fmt: skip
        assert all(torch.equal(got.cpu().float(), want) for got, want in zip(on_npu, wants, strict=True))
        with pytest.raises(Refused, match="lengths of 3 sequences expected"):
            aclnn("aclnnGatherPaKvCache", *caches, table, given, *outs, start, mode, not running)


@pytest.mark.parametrize("quantized", [False, True])
def test_a_key_whole_with_its_values(quantized: bool) -> None:
    sequences, tokens, size = 2, 5, 4
    kv, gamma = real(sequences, 1, tokens, 192, dtype=BF16), real(192, seed=1, dtype=BF16)
    cos, sin = (real(sequences, 1, tokens, 64, seed=seed, dtype=BF16) for seed in (2, 3))
    value = real(sequences, 1, tokens, 128, seed=4, dtype=BF16)
    scales = (real(192, seed=5) * 20, real(128, seed=6) * 20) if quantized else (None, None)
    dtype = torch.int8 if quantized else BF16
    caches = [torch.full((6, size, 1, width), 9, dtype=dtype) for width in (192, 128)]
    index = torch.tensor([3, 0, 8, 4, 5, 11, 12, -1, 16, 10])
    on_npu = [cache.npu() for cache in caches]
    given = {"k_rope_scale": scales[0].npu(), "c_kv_scale": scales[1].npu()} if quantized else {}
    _, _, key_kept, value_kept = torch_npu.npu_kv_rmsnorm_rope_cache(
        kv.npu(), gamma.npu(), cos.npu(), sin.npu(), index.npu(), *on_npu, v=value.npu(), epsilon=1e-5,
        cache_mode="PA_BNSD", is_output_kv=True, **given,
    )  # fmt: skip
    key = normalized(kv, gamma, 1e-5)
    key = torch.cat([turned(neighbours_apart(key[..., :64]), cos, sin), key[..., 64:]], -1)
    close(key_kept.cpu(), key, 2e-2)
    close(value_kept.cpu(), value)
    for cache, want, scale in zip(on_npu, (key, value.double()), scales, strict=True):
        got = cache.cpu().reshape(-1, want.shape[-1])
        for row, one in zip(index.tolist(), want.reshape(-1, want.shape[-1]), strict=True):
            if row >= 0 and quantized:
                steps_close(got[row], one * scale.double())
            elif row >= 0:
                close(got[row], one, 2e-2)
        assert (got[[row for row in range(24) if row not in index.tolist()]] == 9).all()


@pytest.mark.parametrize("quantized", [False, True])
def test_qkv_rms_norm_rope_cache(quantized: bool) -> None:
    sequences, tokens, heads, depth, size = 2, 3, [4, 2, 1], 128, 4
    dtype, side = (torch.int8, 32) if quantized else (torch.float16, 16)
    total = sequences * tokens
    qkv = real(total, sum(heads) * depth, dtype=torch.float16)
    gammas = [real(depth, seed=seed, dtype=torch.float16) for seed in (1, 2)]
    cos, sin = (real(total, depth, seed=seed, dtype=torch.float16) for seed in (3, 4))
    index = torch.tensor([3, 0, -1, 9, 5, 11])
    out = torch.zeros(total, heads[0] * depth, dtype=torch.float16).npu()
    caches = [torch.full((3, count * depth // side, size, side), 9, dtype=dtype).npu() for count in heads[1:]]
    scales = [real(count, depth, seed=6 + count).abs() / 20 + 0.02 for count in heads[1:]]
    offsets = [real(count, depth, seed=16 + count) for count in heads[1:]]
    given = {}
    if quantized:
        for name, scale, offset in zip("kv", scales, offsets, strict=True):
            given |= {f"{name}_scale": scale.npu(), f"{name}_offset": offset.npu()}
    kept = torch_npu.npu_qkv_rms_norm_rope_cache(
        qkv.npu(), *(gamma.npu() for gamma in gammas), cos.npu(), sin.npu(), index.npu(), out, *caches,
        [sequences, tokens, sum(heads), depth], heads, epsilon=1e-6, cache_mode="PA_NZ", is_output_qkv=True, **given,
    )  # fmt: skip
    parts = qkv.reshape(total, -1, depth).split(heads, 1)
    angles = cos.unsqueeze(1), sin.unsqueeze(1)
    wants = [turned(normalized(part, gamma, 1e-6), *angles) for part, gamma in zip(parts, gammas, strict=False)]
    wants.append(parts[2].double())
    close(out.cpu(), wants[0].flatten(1), 1e-2)
    for got, want in zip(kept, wants, strict=True):
        close(got.cpu(), want.flatten(1), 1e-2)
    for cache, want, scale, offset in zip(caches, wants[1:], scales, offsets, strict=True):
        rows = cache.cpu().transpose(1, 2).reshape(3 * size, *want.shape[1:])
        for row, one in zip(index.tolist(), want, strict=True):
            if row >= 0 and quantized:
                steps_close(rows[row], one / scale.double() + offset.double())
            elif row >= 0:
                close(rows[row], one, 1e-2)
        assert (rows[[row for row in range(12) if row not in index.tolist()]] == 9).all()
    with pytest.raises(RuntimeError, match="cache_mode 'Norm'; allowed: PA_NZ"):
        torch_npu.npu_qkv_rms_norm_rope_cache(
            qkv.npu(), *(gamma.npu() for gamma in gammas), cos.npu(), sin.npu(), index.npu(), out, *caches,
            [sequences, tokens, sum(heads), depth], heads, cache_mode="Norm", **given,
        )  # fmt: skip


# ---- a product of integers -------------------------------------------------------------------------------------------
class Whole:
    """Query, key and value of one product, and what makes numbers of it."""

    def __init__(self, rows: tuple[int, ...], heads: int, dtype: torch.dtype, *, early: bool = False) -> None:
        self.rows, self.depth, self.heads, self.count = rows, 64, heads, torch.Size(rows).numel()
        self.sizes = [2 * heads * 64, heads * 64, heads * 64]
        width = sum(self.sizes)
        self.x = whole(*rows, width, low=-3000, high=3000, dtype=torch.int32)
        self.weight_scale, self.row_scale = real(width, seed=1) / 500, real(self.count, seed=2).abs()
        self.bias = whole(width, seed=3, dtype=torch.int32) if early else real(width, seed=3, dtype=dtype)
        angles = (*rows, 1, 64) if len(rows) == 2 else (*rows, 64)
        self.cos, self.sin = (real(*angles, seed=seed, dtype=dtype) for seed in (4, 5))
        self.scales = [real(heads, 64, seed=seed).abs() * 20 + 1 for seed in (6, 7)]
        self.offsets = [real(heads, 64, seed=8) * 5, None]
        self.early = early

    def parts(self, x: torch.Tensor) -> list[torch.Tensor]:
        query, key, value = (
            part.reshape(*self.rows, -1, self.depth) for part in x.reshape(*self.rows, -1).split(self.sizes, -1)
        )
        angles = [one.double().reshape(*self.rows, 1, self.depth) for one in (self.cos, self.sin)]
        return [turned(query, *angles), turned(key, *angles), value]

    def numbers(self) -> torch.Tensor:
        x = self.x.double().reshape(self.count, -1)
        scale = self.weight_scale.double() * self.row_scale[:, None].double()
        return (x + self.bias.double()) * scale if self.early else x * scale + self.bias.double()


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("pages", [True, False])
@pytest.mark.parametrize(("rows", "heads"), [((3, 2), 1), ((3,), 2)])
def test_rope_of_a_product_into_quantized_caches(rows: tuple[int, ...], heads: int, pages: bool, early: bool) -> None:
    of = Whole(rows, heads, torch.float16, early=early)
    each = of.count // 3
    index = ([4, 0, 17, 9, 2, 11] if pages else [0, 4, 3])[: of.count if pages else 3]
    caches = [torch.full((4, 6, heads, 64), 9, dtype=torch.int8).npu() for _ in range(2)]
    query, key, value, *_ = torch_npu.npu_dequant_rope_quant_kvcache(
        of.x.npu(), of.cos.npu(), of.sin.npu(), *caches, torch.tensor(index, dtype=torch.int32).npu(),
        of.scales[0].npu(), of.scales[1].npu(), of.sizes, offset_k=of.offsets[0].npu(), kv_output=True,
        weight_scale=of.weight_scale.npu(), activation_scale=of.row_scale.npu(), bias=of.bias.npu(),
        cache_mode="page" if pages else "contiguous",
    )  # fmt: skip
    wants = of.parts(of.numbers())
    for got, want in zip((query, key, value), wants, strict=True):
        assert got.dtype == torch.float16
        close(got.cpu(), want, 2e-2)
    places = index if pages else [item * 6 + first + token for item, first in enumerate(index) for token in range(each)]
    for cache, want, scale, offset in zip(caches, wants[1:], of.scales, of.offsets, strict=True):
        kept = cache.cpu().reshape(24, heads, 64)
        steps = want.reshape(-1, heads, 64) * scale.double() + (0 if offset is None else offset.double())
        steps_close(kept[places], steps)
        assert (kept[[row for row in range(24) if row not in places]] == 9).all()


def test_rope_into_quantized_caches() -> None:
    of = Whole((2, 3), 1, BF16)
    x = real(2, 3, 256, dtype=BF16)
    caches = [torch.zeros(2, 5, 1, 64, dtype=torch.int8) for _ in range(2)]
    index = torch.tensor([2, 0], dtype=torch.int32)
    query, *_ = torch_npu.npu_rope_quant_kvcache(
        x.npu(), of.cos.npu(), of.sin.npu(), *(cache.npu() for cache in caches), index.npu(),
        of.scales[0][0].npu(), of.scales[1][0].npu(), of.sizes,
    )  # fmt: skip
    wants = of.parts(x.double())
    close(query.cpu(), wants[0], 2e-2)
    out, empty = torch.zeros(2, 3, 2, 64, dtype=BF16), torch.zeros(0, dtype=BF16)

    def call(x=x, index=index, weight_scale=None, sizes=of.sizes, modes=("static", "BSND", "contiguous")) -> None:
        quant, layout, cache = modes
        aclnn(
            "aclnnDequantRopeQuantKvcache", x, of.cos, of.sin, *caches, index, *of.scales, None, None, weight_scale,
            None, None, sizes, quant, layout, False, cache, out, empty, empty,
        )  # fmt: skip

    call()
    close(out, wants[0], 2e-2)
    for cache, want, scale in zip(caches, wants[1:], of.scales, strict=True):
        for item, first in enumerate(index.tolist()):
            steps_close(cache[item, first : first + 3], want[item] * scale.double())
    for wrong, message in [
        ({"modes": ("dynamic", "BSND", "page")}, "quantMode 'dynamic'; allowed: static"),
        ({"modes": ("static", "BNSD", "page")}, "layout 'BNSD'"),
        ({"modes": ("static", "BSND", "PA")}, "cacheMode 'PA'; allowed: contiguous, page"),
        ({"sizes": [64, 64, 128]}, "sizeSplits"),
        ({"index": torch.tensor([3, 0], dtype=torch.int32)}, "507"),
        ({"index": torch.tensor([0, -1], dtype=torch.int32)}, "507"),
        ({"x": of.x}, "needs weightScale"),
    ]:
        with pytest.raises(Refused, match=message):
            call(**wrong)


# ---- rotation --------------------------------------------------------------------------------------------------------
def by_table(positions, x, table, sections, depth: int, *, halves: bool, in_turn: bool) -> torch.Tensor:
    rows = table.double()[positions]
    cos, sin = rows.chunk(2, -1)
    if positions.dim() == 2 and in_turn:
        owner = torch.zeros(cos.shape[-1], dtype=torch.long)
        for other in (1, 2):
            owner[other : 3 * sections[1] : 3] = other
        cos, sin = (half.gather(0, owner.expand(1, *half.shape[1:]))[0] for half in (cos, sin))
    elif positions.dim() == 2:
        owner = torch.arange(len(sections)).repeat_interleave(torch.tensor(sections))
        cos, sin = (half.gather(0, owner.expand(1, *half.shape[1:]))[0] for half in (cos, sin))
    heads = x.double().reshape(len(x), -1, depth)
    own, rest = heads.split([2 * cos.shape[-1], depth - 2 * cos.shape[-1]], -1)
    a, b = own.chunk(2, -1) if halves else (own[..., ::2], own[..., 1::2])
    left, right = a * cos[:, None] - b * sin[:, None], b * cos[:, None] + a * sin[:, None]
    both = torch.cat([left, right], -1) if halves else torch.stack([left, right], -1).flatten(-2)
    return torch.cat([both, rest], -1).reshape(x.shape)


@pytest.mark.parametrize("halves", [True, False])
@pytest.mark.parametrize(
    ("sections", "in_turn"), [([0, 0, 0], 0), ([0, 0, 0], 1), ([11, 11, 10], 0), ([8, 12, 12], 1), ([16] * 4, 0)]
)
def test_rotation_by_a_table(sections: list[int], in_turn: int, halves: bool) -> None:
    rotated = 2 * sum(sections) or 32
    tokens, depth = 6, rotated + 16
    positions = torch.randint(0, 20, (len(sections), tokens), generator=torch.Generator().manual_seed(0))
    positions = positions if any(sections) else positions[0].clone()
    query, key, table = real(tokens, 2 * depth, seed=1), real(tokens, depth, seed=2), real(20, rotated, seed=3)
    outs = [torch.zeros_like(query), torch.zeros_like(key)]
    aclnn(
        "aclnnRopeWithSinCosCacheV2", positions, query, key, table, sections, depth, halves, in_turn, *outs
    )  # fmt: skip
    for got, x in zip(outs, (query, key), strict=True):
        close(got, by_table(positions, x, table, sections, depth, halves=halves, in_turn=bool(in_turn)), 1e-5)


def test_mrope_in_turn_through_torch_npu() -> None:
    tokens, depth, sections = 6, 80, [11, 11, 10]
    positions = torch.randint(0, 20, (3, tokens), generator=torch.Generator().manual_seed(0))
    query, key, table = real(tokens, 2 * depth, seed=1), real(tokens, depth, seed=2), real(20, 64, seed=3)
    got = torch_npu.npu_mrope(
        positions.npu(), query.npu(), key.npu(), table.npu(), depth, mrope_section=sections, rotary_mode="half",
        cache_mode="interleave",
    )  # fmt: skip
    for mine, x in zip(got, (query, key), strict=True):
        close(mine.cpu(), by_table(positions, x, table, sections, depth, halves=True, in_turn=True), 1e-5)


@pytest.mark.parametrize("version", ["", "V2"])
def test_the_limits_of_a_rotation_by_a_table(version: str) -> None:
    tokens, depth = 4, 48
    table, key = real(20, 32, seed=3), real(tokens, depth, seed=2)
    flat = torch.zeros(tokens, dtype=torch.int64)
    three = torch.zeros(3, tokens, dtype=torch.int64)

    def call(positions=flat, query=key, table=table, sections=(0, 0, 0), depth=depth, in_turn=0):
        outs = [torch.zeros_like(query), torch.zeros_like(key)]
        more = [in_turn] if version else []
        aclnn(
            f"aclnnRopeWithSinCosCache{version}", positions, query, key, table, list(sections), depth, True, *more,
            *outs,
        )  # fmt: skip

    call()
    wrong = [
        ({"positions": torch.zeros(2, tokens, dtype=torch.int64)}, "positions"),
        ({"positions": torch.zeros(tokens)}, "positions"),
        ({"query": real(tokens - 1, depth)}, "expected, got"),
        ({"query": real(tokens, depth + 1)}, "expected, got"),
        ({"table": real(20, 64)}, "or less"),
        ({"table": real(20, 24)}, "rotary_dim 24; a multiple of 16 is allowed"),
        ({"table": real(20, 32, dtype=BF16)}, "BFLOAT16"),
        ({"positions": three, "sections": (6, 5, 4)}, "add up to 16"),
        ({"positions": three, "sections": (8, 8)}, "add up to 16"),
        ({"positions": three, "sections": (6, 5, 5)}, "mropeSection \\[6, 5, 5\\]; allowed"),
        ({"depth": 0}, "headSize is 0; .* allows at most -1, at least 1 "),
    ]
    if version:
        wrong.append(({"in_turn": 2}, "cacheMode is 2; .* allows 0, 1 "))
        four = torch.zeros(4, tokens, dtype=torch.int64)
        wrong.append(({"positions": four, "sections": (4, 4, 4, 4), "in_turn": 1}, "with cacheMode 0"))
    for arguments, message in wrong:
        with pytest.raises(Refused, match=message):
            call(**arguments)


def test_rotation_by_a_matrix() -> None:
    x, cos, sin = real(2, 3, 4, 16), real(1, 3, 1, 16, seed=1), real(1, 3, 1, 16, seed=2)
    matrix, out = real(16, 16, seed=3), torch.zeros(2, 3, 4, 16)
    aclnn("aclnnRotaryPositionEmbeddingV2", x, cos, sin, 0, matrix, out)
    want = x.double() * cos.double() + x.double() @ matrix.double() * sin.double()
    close(out, want)
    close(torch_npu.npu_rotary_mul(x.npu(), cos.npu(), sin.npu(), "half", matrix.npu()).cpu(), want)
    aclnn("aclnnRotaryPositionEmbeddingV2", x, cos, sin, 1, None, out)
    swapped = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    close(out, x.double() * cos.double() + swapped.double() * sin.double())
    with pytest.raises(Refused, match="expected"):
        aclnn("aclnnRotaryPositionEmbeddingV2", x, cos, sin, 0, real(8, 8), out)
    with pytest.raises(Refused, match=r"mode 4; allowed: 0 \(half\)"):
        aclnn("aclnnRotaryPositionEmbeddingV2", x, cos, sin, 4, None, out)
    odd = [tensor[..., :5].contiguous() for tensor in (x, cos, sin, out)]
    with pytest.raises(Refused, match="no multiple of 2"):
        aclnn("aclnnRotaryPositionEmbeddingV2", *odd[:3], 1, None, odd[3])


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_what_turns(mode: int) -> None:
    def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        if mode == 1:
            return x * cos + torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2) * sin
        x = torch.cat([x[..., ::2], x[..., 1::2]], -1) if mode == 3 else x
        parts = x.chunk(4 if mode == 2 else 2, -1)
        pairs = [part for at in range(0, len(parts), 2) for part in (-parts[at + 1], parts[at])]
        return x * cos + torch.cat(pairs, -1) * sin

    x, cos, sin = real(2, 3, 4, 16), real(1, 3, 1, 16, seed=1), real(1, 3, 1, 16, seed=2)
    grad, out = real(2, 3, 4, 16, seed=3), torch.zeros(2, 3, 4, 16)
    grads = [torch.zeros_like(one) for one in (x, cos, sin)]
    want, vjp = torch.func.vjp(turned, x.double(), cos.double(), sin.double())
    aclnn("aclnnRotaryPositionEmbedding", x, cos, sin, mode, out)
    aclnn("aclnnRotaryPositionEmbeddingGrad", grad, cos, sin, x, mode, *grads)
    close(out, want)
    for got, wanted in zip(grads, vjp(grad.double()), strict=True):
        close(got, wanted, 1e-4)
