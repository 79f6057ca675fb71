"""Ascend Transformer Boost's operations with C functions of their own: latent and ring attention, loads from pages,
the choice of experts. References are in float64, from the formulas that ATB documents.
"""

from __future__ import annotations

import pytest
import torch
import torch_npu
from test_atb import HEADS, KEY_HEADS, SCALE, Paged, attend, behind, close

LATENT, ROPE, HEADS_8 = 512, 64, 8
LENGTHS = [20, 9]


class Latent:
    """Queries and cached keys of two sequences; the values are the keys without their rope."""

    def __init__(self, dtype: torch.dtype, tokens: int = 2) -> None:
        self.nope, self.rope = (torch.randn(tokens, HEADS_8, n).to(dtype) / 8 for n in (LATENT, ROPE))
        self.keys, self.key_rope = (torch.randn(6, 16, 1, n).to(dtype) / 4 for n in (LATENT, ROPE))
        self.table = torch.tensor([[0, 1], [4, 2]], dtype=torch.int32)

    def caches(self, tiles: bool) -> list[torch.Tensor]:
        caches = self.keys, self.key_rope
        return [x.reshape(6, 16, -1, 16).transpose(1, 2).contiguous() if tiles else x for x in caches]

    def call(self, *more, tiles: bool = False, lengths: list[int] = LENGTHS, **options):
        tensors = [x.npu() for x in (self.nope, self.rope, *self.caches(tiles), self.table)]
        if tiles:
            options["cache_mode"] = "nzcache"
        return torch_npu.atb.npu_multi_head_latent_attention(*tensors, lengths, HEADS_8, 0.1, 1, *more, **options)

    def wanted(self, token: int, sequence: int, added: torch.Tensor | float = 0.0):
        whole = torch.cat([self.keys, self.key_rope], -1)[self.table[sequence].long()].flatten(0, 1)
        key = whole[: LENGTHS[sequence], 0].double()
        scores = torch.cat([self.nope, self.rope], -1)[token].double() @ key.T * 0.1 + added
        return scores.softmax(-1) @ key[:, :LATENT], scores.logsumexp(-1, keepdim=True)


@pytest.mark.parametrize("tiles", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_latent_attention(dtype, tiles):
    latent = Latent(dtype)
    close(latent.call(tiles=tiles), torch.stack([latent.wanted(i, i)[0] for i in range(2)]))


def test_latent_attention_gives_its_sums():
    latent = Latent(torch.float16)
    got, sums = latent.call(True, calc_type="calc_type_ring")
    close(got, torch.stack([latent.wanted(i, i)[0] for i in range(2)]))
    close(sums, torch.stack([latent.wanted(i, i)[1] for i in range(2)]))


def test_latent_attention_of_several_queries():
    latent = Latent(torch.float16, tokens=3)
    mask = torch.zeros(3, 20)
    mask[0, 19] = -1e4
    got = latent.call(mask=mask.half().npu(), qseqlen=[2, 1], mask_type="mask_type_spec", calc_type="calc_type_spec")
    wanted = [latent.wanted(0, 0, mask[0]), latent.wanted(1, 0), latent.wanted(2, 1)]
    close(got, torch.stack([each[0] for each in wanted]))


def test_latent_attention_in_a_captured_graph():
    latent = Latent(torch.float16)
    tensors = [x.npu() for x in (latent.nope, latent.rope, latent.keys, latent.key_rope, latent.table)]
    out = torch.zeros(2, HEADS_8, LATENT).half().npu()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        torch_npu.atb.npu_multi_head_latent_attention(*tensors, LENGTHS, HEADS_8, 0.1, 1, output=out)
    assert not out.any()
    latent.nope = latent.nope * 0.5
    tensors[0].copy_(latent.nope)
    graph.replay()
    close(out, torch.stack([latent.wanted(i, i)[0] for i in range(2)]))


def test_ring_attention():
    heads, key_heads, lengths = 4, 2, torch.tensor([[3, 4], [4, 5]], dtype=torch.int32)
    query, key, value = (
        torch.randn(7, heads, 24).half(),
        torch.randn(9, key_heads, 24).half(),
        torch.randn(9, 2, 16).half(),
    )
    mask = torch.ones(512, 512).triu(1).half()

    def wanted(triangle: bool):
        out, sums = [], []
        for own, k, v in zip(query.split([3, 4]), key.split([4, 5]), value.split([4, 5]), strict=True):
            q, k, v = (x.double().transpose(0, 1) for x in (own, k, v))
            scores = 0.2 * q @ k.repeat_interleave(2, 0).transpose(1, 2)
            if triangle:  # from the first key on
                scores = scores + torch.full(scores.shape[1:], float("-inf")).triu(1)
            out.append((scores.softmax(-1) @ v.repeat_interleave(2, 0)).transpose(0, 1))
            sums.append(scores.logsumexp(-1))
        return torch.cat(out), torch.cat(sums, 1)

    parts = (query[..., :16], query[..., 16:], key[..., :16], key[..., 16:], value, mask)
    on_npu = [x.contiguous().npu() for x in parts]
    call = lambda **options: torch_npu.atb.npu_ring_mla(  # noqa: E731
        *on_npu, lengths, heads, key_heads, qk_scale=0.2, **options
    )
    for got, want in zip(call(mask_type="mask_type_triu"), wanted(True), strict=True):
        close(got, want)
    before, before_sum = torch.randn(7, heads, 16).half(), torch.randn(heads, 7)
    got = call(pre_out=before.npu(), prev_lse=before_sum.npu(), calc_type="calc_type_default")
    out, sums = wanted(False)
    both = torch.logaddexp(sums, before_sum.double())
    share = lambda part: (part - both).exp().T[..., None]  # noqa: E731
    close(got[0], out * share(sums) + before.double() * share(before_sum.double()))
    close(got[1], both)


def test_load_from_pages():
    pages = Paged([7, 0, 12], torch.float16)
    caches = [pages.keys.npu(), pages.values.npu()]
    wanted = [torch.cat([pages.sequence(i)[which] for i in range(3)]) for which in range(2)]
    loaded = torch_npu.atb.npu_paged_cache_load(*caches, pages.table.npu(), pages.lengths.npu())
    for got, want in zip(loaded, wanted, strict=True):
        assert torch.equal(got.cpu(), want)
    running = torch.tensor([0, 3, 8], dtype=torch.int32).npu()
    starts = torch.tensor([4, 0], dtype=torch.int32).npu()  # the second page, then the first
    loaded = torch_npu.atb.npu_paged_cache_load(*caches, pages.table[:2].npu(), running, seq_starts=starts, cumsum=True)
    own = pages.keys[pages.table.long()].flatten(1, 2)
    assert torch.equal(loaded[0].cpu(), torch.cat([own[0, 4:7], own[1, :5]]))


@pytest.mark.parametrize("mapped", [False, True])
def test_choice_of_experts(mapped):
    x, added = torch.randn(5, 64).half(), torch.rand(64).half()
    copies, table = torch.randint(0, 4, (64,), dtype=torch.int32), torch.randint(0, 99, (64, 4), dtype=torch.int32)
    options = (
        {"mapping_num": copies.npu(), "mapping_table": table.npu(), "enable_expert_mapping": True} if mapped else {}
    )
    weights, experts = torch_npu.atb.npu_fused_add_topk_div(
        x.npu(), added.npu(), activation_type="activation_sigmoid", group_num=8, group_topk=4, n=2, k=6, scale=2.0,
        **options,
    )  # fmt: skip
    own = x.double().sigmoid()
    groups = (own + added.double()).reshape(5, 8, 8)
    worst = groups.topk(2, -1).values.sum(-1).topk(4, -1, largest=False).indices
    groups[torch.arange(5)[:, None], worst] = 0
    chosen = groups.flatten(1).topk(6, -1).indices
    close(weights, own.gather(1, chosen) / own.gather(1, chosen).sum(-1, True) * 2)
    if mapped:
        turn = torch.arange(5)[:, None] % copies.long().clamp_min(1)[chosen]
        chosen = table.long()[chosen, turn]
    assert torch.equal(experts.cpu().long(), chosen)


@pytest.mark.parametrize("kind", ["mask_type_causal_mask", "mask_type_norm_compress", "mask_type_alibi_compress"])
def test_attention_over_a_cached_prefix(kind):
    pages, queries = Paged([7, 5], torch.bfloat16), [3, 2]
    pages.values = torch.randn_like(pages.keys)
    query = torch.randn(5, HEADS, 16).bfloat16()
    slopes = torch.tensor([-0.5, -0.25, -0.125, -0.0625])
    given = {}
    if kind == "mask_type_norm_compress":
        given = {"mask": torch.ones(128, 128).triu(1).bfloat16().npu()}
    elif kind == "mask_type_alibi_compress":
        distance = torch.arange(256)[:, None] - torch.arange(256)
        given = {"mask": (distance + torch.full((256, 256), 6e4).triu(1)).bfloat16().npu(), "slopes": slopes.npu()}
    got = torch_npu.atb.npu_self_attention_prefix_encoder(
        query.npu(), pages.keys.npu(), pages.values.npu(), pages.table.npu(), queries, pages.lengths.tolist(), HEADS,
        SCALE, KEY_HEADS, mask_type=kind, **given,
    )  # fmt: skip
    for part, index, keys in ((slice(0, 3), 0, 7), (slice(3, 5), 1, 5)):
        count = part.stop - part.start
        added = behind(count, keys)
        if "slopes" in given:
            distance = torch.arange(keys - count, keys)[:, None] - torch.arange(keys)
            added = added + slopes.double()[:, None, None] * distance.clamp_min(0)
        close(got[part], attend(query[part], *pages.sequence(index), added))


def test_paged_attention_of_int8():
    heads, depth = 4, 16
    query = torch.randint(-4, 5, (2, heads, depth), dtype=torch.int8)
    keys, values = (torch.randint(-4, 5, (4, 4, 1, depth), dtype=torch.int8) for _ in range(2))
    table, lengths = torch.tensor([[2, 0], [1, 3]], dtype=torch.int32), torch.tensor([5, 8], dtype=torch.int32)
    key_factor, value_factor = torch.rand(heads) / 8, torch.rand(heads) / 4
    out = torch.empty(2, heads, depth).bfloat16().npu()
    torch_npu._npu_paged_attention_quant(
        query.npu(), keys.npu(), values.npu(), 1, heads, SCALE, table.npu(), lengths, 3, 27, key_factor.npu(),
        value_factor.npu(), out,
    )  # fmt: skip
    for i in range(2):
        k, v = (cache[table[i].long()].flatten(0, 1)[: lengths[i], 0].double() for cache in (keys, values))
        scores = query[i].double() @ k.T * key_factor.double()[:, None] * SCALE
        weight = (scores - scores.amax(-1, True)).exp()
        wanted = (weight * 127).round() @ v * value_factor.double()[:, None] / 127 / weight.sum(-1, True)
        close(out[i], wanted)
