"""Attention to chosen keys, the gated delta rule, caches of latent attention: against the formula in float64."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from values import close, real, steps_close

BF16 = torch.bfloat16


def chosen_keys(query, key, weights, count: int, causal: bool) -> list[list[int]]:
    """query (queries, heads, depth), key (keys, depth): best first, as many as each query may see."""
    score = torch.einsum("qhd,kd->qhk", query.double(), key.double()).relu()
    score = (score * weights.double().unsqueeze(-1)).sum(1)
    best = []
    for number, row in enumerate(score):
        seen = len(key) - len(query) + number + 1 if causal else len(key)
        best.append(row[:seen].argsort(descending=True)[:count].tolist())
    return best


def paged(sequences: list[torch.Tensor], size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pages (number, size, 1, depth) in another order than the sequences have them, and which are whose."""
    most = max(-(-len(one) // size) for one in sequences)
    order = torch.randperm(len(sequences) * most, generator=torch.Generator().manual_seed(3)).reshape(-1, most)
    pages = torch.zeros(order.numel(), size, 1, sequences[0].shape[-1], dtype=sequences[0].dtype)
    for mine, one in zip(order, sequences, strict=True):
        for row, value in enumerate(one):
            pages[mine[row // size], row % size, 0] = value
    return pages, order.int()


@pytest.mark.parametrize("mode", [0, 3])
@pytest.mark.parametrize("layout", ["BSND", "TND"])
def test_lightning_indexer(layout: str, mode: int) -> None:
    lengths, keys, heads, depth, count = [3, 5], [40, 21], 4, 16, 16
    queries = [real(length, heads, depth, seed=item, dtype=BF16) for item, length in enumerate(lengths)]
    all_keys = [real(length, depth, seed=10 + item, dtype=BF16) for item, length in enumerate(keys)]
    weights = [real(length, heads, seed=20 + item, dtype=BF16) for item, length in enumerate(lengths)]
    pages, order = paged(all_keys, 16)
    if layout == "TND":
        given, ends, factors = torch.cat(queries), torch.tensor(lengths).cumsum(0), torch.cat(weights)
    else:
        given, factors = torch.zeros(2, 5, heads, depth, dtype=BF16), torch.zeros(2, 5, heads, dtype=BF16)
        ends = torch.tensor(lengths)
        for item, length in enumerate(lengths):
            given[item, :length], factors[item, :length] = queries[item], weights[item]
    got, _ = torch_npu.npu_lightning_indexer(
        given.npu(), pages.npu(), factors.npu(), actual_seq_lengths_query=ends.int().npu(),
        actual_seq_lengths_key=torch.tensor(keys).int().npu(), block_table=order.npu(), layout_query=layout,
        layout_key="PA_BSND", sparse_count=count, sparse_mode=mode,
    )  # fmt: skip
    got = got.cpu()
    for item, length in enumerate(lengths):
        start = sum(lengths[:item])
        mine = got[start : start + length] if layout == "TND" else got[item, :length]
        want = chosen_keys(queries[item], all_keys[item], weights[item], count, mode == 3)
        for row, best in zip(mine[:, 0].tolist(), want, strict=True):
            assert row == best + [-1] * (count - len(best))


def test_what_the_indexer_does_not_do_is_named() -> None:
    query, key, weights = (real(*shape, dtype=BF16).npu() for shape in ((1, 2, 4, 16), (1, 8, 1, 16), (1, 2, 4)))
    for options, message in (
        ({"return_value": True}, "return_value is not simulated"),
        ({"sparse_mode": 1}, "sparse_mode 1; allowed: 0, 3"),
        ({"sparse_count": 2049}, "sparse_count 2049"),
        ({"layout_key": "PA_BSND"}, "PA_BSND needs the lengths of the keys"),
    ):
        with pytest.raises(RuntimeError, match=message):
            torch_npu.npu_lightning_indexer(query, key, weights, **options)


@pytest.mark.parametrize("layout_kv", ["BSND", "PA_BSND", "TND"])
@pytest.mark.parametrize(("mode", "block"), [(0, 1), (3, 1), (3, 4)])
def test_sparse_flash_attention(layout_kv: str, mode: int, block: int) -> None:
    queries, keys, heads, depth, rope, scale = [3, 2], [30, 17], 4, 32, 8, 0.3
    layout = "TND" if layout_kv == "TND" else "BSND"
    blocks = [-(-length // block) for length in keys]
    chosen = torch.full((2, 3, 1, 6), -1, dtype=torch.int32)
    for item in range(2):
        for row in range(queries[item]):
            generator = torch.Generator().manual_seed(item * 10 + row)
            some = torch.randperm(blocks[item], generator=generator)[: 5 - row].int()
            chosen[item, row, 0, : len(some)] = some
            chosen[item, row, 0, len(some)] = 0  # in sight of every query; one that comes twice counts twice
    query, query_rope = real(2, 3, heads, depth, dtype=BF16), real(2, 3, heads, rope, seed=1, dtype=BF16)
    key, key_rope = real(2, 30, 1, depth, seed=2, dtype=BF16), real(2, 30, 1, rope, seed=3, dtype=BF16)

    def of_all(x: torch.Tensor, lengths: list[int]) -> torch.Tensor:
        return torch.cat([x[item, :length] for item, length in enumerate(lengths)]) if layout == "TND" else x

    options = {"actual_seq_lengths_kv": torch.tensor(keys).int().npu()}
    if layout_kv == "PA_BSND":
        cache, order = paged([key[item, :length, 0] for item, length in enumerate(keys)], 16)
        rope_cache, _ = paged([key_rope[item, :length, 0] for item, length in enumerate(keys)], 16)
        options["block_table"] = order.npu()
    else:
        cache, rope_cache = of_all(key, keys), of_all(key_rope, keys)
    if layout == "TND":
        options["actual_seq_lengths_kv"] = torch.tensor(keys).cumsum(0).int().npu()
    ends = torch.tensor(queries).cumsum(0) if layout == "TND" else torch.tensor(queries)
    got, largest, total = torch_npu.npu_sparse_flash_attention(
        of_all(query, queries).npu(), cache.npu(), cache.npu(), of_all(chosen, queries).npu(), scale,
        query_rope=of_all(query_rope, queries).npu(), key_rope=rope_cache.npu(), sparse_block_size=block,
        actual_seq_lengths_query=ends.int().npu(), layout_query=layout, layout_kv=layout_kv, sparse_mode=mode,
        attention_mode=2, return_softmax_lse=layout_kv != "PA_BSND", **options,
    )  # fmt: skip
    for item in range(2):
        for row in range(queries[item]):
            seen = keys[item] - queries[item] + row + 1 if mode == 3 else keys[item]
            picked = [one * block + i for one in chosen[item, row, 0].tolist() if one >= 0 for i in range(block)]
            picked = [one for one in picked if one < min(seen, keys[item])]
            both = torch.cat([query[item, row], query_rope[item, row]], -1).double()
            k = torch.cat([key[item, :, 0], key_rope[item, :, 0]], -1).double()[picked]
            score = both @ k.t() * scale
            place = row + sum(queries[:item])
            mine = got[place] if layout == "TND" else got[item, row]
            close(mine.cpu(), score.softmax(-1) @ key[item, picked, 0].double(), 1e-2)
            if layout_kv != "PA_BSND":
                peak = largest[0, place] if layout == "TND" else largest[item, 0, row]
                whole = total[0, place] if layout == "TND" else total[item, 0, row]
                close(peak.cpu(), score.amax(-1))
                close(whole.cpu(), (score - score.amax(-1, keepdim=True)).exp().sum(-1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, BF16], ids=str)
def test_attention_update(dtype: torch.dtype) -> None:
    log_sums = [real(6, seed=item) * 3 for item in range(3)]
    parts = [real(6, 16, seed=10 + item, dtype=dtype) for item in range(3)]
    weights = torch.stack(log_sums).double().softmax(0)
    want = sum(weight[:, None] * part.double() for weight, part in zip(weights, parts, strict=True))
    for kind in (0, 1):
        out, log_sum = torch_npu.npu_attention_update([x.npu() for x in log_sums], [x.npu() for x in parts], kind)
        assert out.dtype == dtype
        close(out.cpu(), want, 1e-5 if dtype == torch.float32 else 1e-2)
    close(log_sum.cpu(), torch.stack(log_sums).double().logsumexp(0), 1e-5)
    with pytest.raises(RuntimeError, match="head_dim 12; allowed: multiples of 8 up to 512"):
        torch_npu.npu_attention_update([log_sums[0].npu()], [parts[0][:, :12].contiguous().npu()], 0)


def delta_rule(query, key, value, beta, gate, gate_of_keys, scale, states, first, last):
    """One token after the other; first(sequence) and last(token) say which rows of the states."""
    out = torch.zeros(value.shape, dtype=torch.float64)
    each = value.shape[1] // key.shape[1]
    token = 0
    for item, length in enumerate(first[1]):
        state = states[first[0][item]].clone()
        for _ in range(length):
            k, q = (x[token].double().repeat_interleave(each, 0) for x in (key, query))
            state = state * gate[token].double().exp()[:, None, None] * gate_of_keys[token].double().exp()[:, None, :]
            missing = value[token].double() - torch.einsum("hvk,hk->hv", state, k)
            state = state + torch.einsum("hv,hk->hvk", missing * beta[token].double()[:, None], k)
            out[token] = torch.einsum("hvk,hk->hv", state, q) * scale
            states[last[token]] = state
            token += 1
    return out


def tokens_of_delta_rule(total: int):
    query, key = (torch.nn.functional.normalize(real(total, 2, 16, seed=seed), dim=-1).to(BF16) for seed in (0, 1))
    gate, keys = -real(total, 4, seed=4).abs(), -real(total, 4, 16, seed=5).abs() * 0.1
    return query, key, real(total, 4, 8, seed=2, dtype=BF16), real(total, 4, seed=3).sigmoid().to(BF16), gate, keys


@pytest.mark.parametrize("with_keys", [False, True])
@pytest.mark.parametrize("accepted", [None, [1, 2, 3]])
def test_recurrent_gated_delta_rule(accepted: list[int] | None, with_keys: bool) -> None:
    lengths, places = [2, 2, 3], [4, 0, 6, 2, 1, 5, 3]
    query, key, value, beta, gate, keys = tokens_of_delta_rule(7)
    state = real(8, 4, 8, 16, seed=6, dtype=BF16)
    want_state = state.double()
    begin = [places[sum(lengths[:i]) + (accepted[i] if accepted else 1) - 1] for i in range(3)]
    gates = keys if with_keys else torch.zeros_like(keys)
    want = delta_rule(query, key, value, beta, gate, gates, 0.25, want_state, (begin, lengths), places)
    on_npu = state.npu()
    got = torch_npu.npu_recurrent_gated_delta_rule(
        query.npu(), key.npu(), value.npu(), on_npu, beta=beta.npu(), scale=0.25,
        actual_seq_lengths=torch.tensor(lengths).int().npu(), ssm_state_indices=torch.tensor(places).int().npu(),
        g=gate.npu(), gk=keys.npu() if with_keys else None,
        num_accepted_tokens=torch.tensor(accepted).int().npu() if accepted else None,
    )  # fmt: skip
    close(got.cpu(), want, 2e-2)
    close(on_npu.cpu(), want_state, 2e-2)


def test_chunk_gated_delta_rule() -> None:
    lengths = [5, 2]
    query, key, value, beta, gate, keys = tokens_of_delta_rule(7)
    state = real(2, 4, 8, 16, seed=6, dtype=BF16)
    want_state = state.double()
    last = [0] * 5 + [1] * 2
    want = delta_rule(query, key, value, beta, gate, torch.zeros_like(keys), 0.25, want_state, ([0, 1], lengths), last)
    given = state.npu()
    got, after = torch_npu.npu_chunk_gated_delta_rule(
        query.npu(), key.npu(), value.npu(), beta=beta.npu(), initial_state=given, scale=0.25,
        actual_seq_lengths=torch.tensor(lengths).int().npu(), g=gate.npu(),
    )  # fmt: skip
    close(got.cpu(), want, 2e-2)
    close(after.cpu(), want_state, 2e-2)
    assert torch.equal(given.cpu(), state)


@pytest.mark.parametrize(
    ("scale_sizes", "angles"),
    [((None, None), 5), (((64,), (512,)), 5), (((1,), (1, 512)), 1), ((None, (512,)), 1)],
    ids=["as it is", "quantized", "with one angle", "one cache quantized"],
)
@pytest.mark.parametrize("mode", ["Norm", "PA_BNSD", "PA_NZ", "PA_BLK_BNSD", "PA_BLK_NZ"])
def test_kv_rms_norm_rope_cache(mode: str, scale_sizes: tuple[tuple[int, ...] | None, ...], angles: int) -> None:
    sequences, tokens, size = 2, 5, 4
    kv, gamma = real(sequences, 1, tokens, 576, dtype=BF16), real(512, seed=1, dtype=BF16)
    cos, sin = (real(sequences, 1, angles, 64, seed=seed, dtype=BF16) for seed in (2, 3))
    scales = [real(*sizes, seed=4) * 20 if sizes else None for sizes in scale_sizes]
    shape = (sequences, 1, 9) if mode == "Norm" else (6, size, 1)
    caches = [
        torch.full((*shape, width), 9, dtype=BF16 if scale is None else torch.int8)
        for width, scale in zip((64, 512), scales, strict=True)
    ]
    if mode == "Norm":
        index = torch.tensor([[3, 0, 8, 4, 5], [1, 2, 7, 6, 0]])
        rows = [int(i) + 9 * item for item in range(2) for i in index[item]]
    elif "BLK" in mode:
        index = torch.tensor([8, 0, 20, 12])  # where a page begins, for each page of a sequence
        rows = [8, 9, 10, 11, 0, 20, 21, 22, 23, 12]
    else:
        index = torch.tensor([3, 0, 8, 4, 5, 11, 12, -1, 16, 10])
        rows = index.tolist()
    on_npu = [cache.npu() for cache in caches]
    names = zip(("k_rope_scale", "c_kv_scale"), scales, strict=True)
    given = {name: scale.npu() for name, scale in names if scale is not None}
    _, _, rope, normal = torch_npu.npu_kv_rmsnorm_rope_cache(
        kv.npu(), gamma.npu(), cos.npu(), sin.npu(), index.npu(), *on_npu, epsilon=1e-5, cache_mode=mode,
        is_output_kv=True, **given,
    )  # fmt: skip
    first, second = kv.double().split([512, 64], -1)
    want_normal = first / (first.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gamma.double()
    turned = torch.cat([second[..., ::2], second[..., 1::2]], -1)
    back = torch.cat([-turned[..., 32:], turned[..., :32]], -1)
    want_rope = turned * cos.double() + back * sin.double()
    close(normal.cpu(), want_normal, 2e-2)
    close(rope.cpu(), want_rope, 2e-2)
    for cache, want, scale in zip(on_npu, (want_rope, want_normal), scales, strict=True):
        got, side = cache.cpu(), 16 if scale is None else 32
        if "NZ" in mode:
            got = got.reshape(6, -1, size, side).transpose(1, 2)
        got = got.reshape(-1, want.shape[-1])
        for row, value in zip(rows, want.reshape(-1, want.shape[-1]), strict=True):
            if row >= 0 and scale is not None:
                steps_close(got[row], value * scale.double().flatten())
            elif row >= 0:
                close(got[row], value, 2e-2)
        untouched = [row for row in range(len(got)) if row not in rows]
        assert (got[untouched] == 9).all()


@pytest.mark.parametrize("mode", ["half", "interleave"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, BF16], ids=str)
@pytest.mark.parametrize("sections", [None, [8, 12, 12]])
def test_mrope(sections: list[int] | None, dtype: torch.dtype, mode: str) -> None:
    tokens, depth, angles = 6, 80, 32
    positions = torch.randint(0, 20, (3, tokens), generator=torch.Generator().manual_seed(0))
    positions = positions if sections else positions[0]
    query, key = real(tokens, 2 * depth, seed=1, dtype=dtype), real(tokens, depth, seed=2, dtype=dtype)
    table = real(20, 2 * angles, seed=3, dtype=dtype)
    got = torch_npu.npu_mrope(
        positions.npu(), query.npu(), key.npu(), table.npu(), depth, mrope_section=sections, rotary_mode=mode
    )
    rows = table.double()[positions]
    if sections:
        parts = [list(half.split(sections, -1)) for half in (rows[..., :angles], rows[..., angles:])]
        cos, sin = (torch.cat([part[i][i] for i in range(3)], -1) for part in parts)
    else:
        cos, sin = rows[:, :angles], rows[:, angles:]
    for mine, x in zip(got, (query, key), strict=True):
        heads = x.double().reshape(tokens, -1, depth)
        turned, rest = heads[..., : 2 * angles], heads[..., 2 * angles :]
        a, b = turned.chunk(2, -1) if mode == "half" else (turned[..., ::2], turned[..., 1::2])
        left, right = a * cos[:, None] - b * sin[:, None], b * cos[:, None] + a * sin[:, None]
        both = torch.cat([left, right], -1) if mode == "half" else torch.stack([left, right], -1).flatten(-2)
        close(mine.cpu(), torch.cat([both, rest], -1).reshape(x.shape), 1e-5 if dtype == torch.float32 else 2e-2)
