"""Attention of inference in every layout and with pages of keys; what fills the pages; the choice of the next token."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch_npu
from conftest import PROGRAMS

HEADS, KEY_HEADS, DEPTH, SCALE = 4, 2, 8, 0.3
QUERIES, KEYS = [3, 1, 4], [5, 7, 4]  # of three sequences
CAUSAL = torch.ones(2048, 2048, dtype=torch.bool).triu(1)


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, hidden: torch.Tensor | None):
    """Of (heads, length, depth) in float64; also the logarithm of each row's sum."""
    key, value = (each.repeat_interleave(HEADS // KEY_HEADS, 0) for each in (key, value))
    scores = SCALE * query @ key.transpose(1, 2)
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    return scores.softmax(-1) @ value, scores.logsumexp(-1, keepdim=True)


def sequences(lengths: list[int], heads: int, depth: int = DEPTH) -> list[torch.Tensor]:
    return [torch.randn(heads, length, depth) for length in lengths]


def padded(items: list[torch.Tensor], layout: str) -> torch.Tensor:
    """(heads, length, depth) each, in a layout of batches."""
    longest = max(item.shape[1] for item in items)
    whole = torch.stack([torch.nn.functional.pad(item, (0, 0, 0, longest - item.shape[1])) for item in items])
    if layout == "BNSD":
        return whole
    whole = whole.transpose(1, 2).contiguous()
    return whole if layout == "BSND" else whole.flatten(2)


def pages(items: list[torch.Tensor], rows: int, by_head: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The keys in shuffled pages, and which pages each sequence has."""
    table, store = torch.zeros(len(items), 4, dtype=torch.int32), {}
    free = iter(torch.randperm(16).tolist())
    for i, item in enumerate(items):
        for page, part in enumerate(item.split(rows, 1)):
            table[i, page] = place = next(free)
            store[place] = torch.nn.functional.pad(part, (0, 0, 0, rows - part.shape[1]))
    cache = torch.randn(16, items[0].shape[0], rows, items[0].shape[2])
    for place, part in store.items():
        cache[place] = part
    return (cache if by_head else cache.transpose(1, 2).flatten(2)), table


def wanted(query, key, value, sparse_mode: int) -> list:
    results = []
    for q, k, v in zip(query, key, value, strict=True):
        rows, columns = q.shape[1], k.shape[1]
        hidden = torch.ones(rows, columns, dtype=torch.bool).triu(1 + columns - rows) if sparse_mode == 3 else None
        results.append(attention(q.double(), k.double(), v.double(), hidden))
    return results


def ends(lengths: list[int]) -> list[int]:
    return torch.tensor(lengths).cumsum(0).tolist()


SETTINGS = {"num_heads": HEADS, "num_key_value_heads": KEY_HEADS, "scale": SCALE, "softmax_lse_flag": True}


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "BNSD_BSND"])
@pytest.mark.parametrize("sparse_mode", [0, 3])
def test_padded(layout: str, sparse_mode: int) -> None:
    torch.manual_seed(0)
    query, key, value = sequences(QUERIES, HEADS), sequences(KEYS, KEY_HEADS), sequences(KEYS, KEY_HEADS)
    out, log_sum = torch_npu.npu_fused_infer_attention_score(
        *(padded(each, layout.split("_")[0]).half().npu() for each in (query, key, value)),
        atten_mask=CAUSAL.npu() if sparse_mode else None,
        actual_seq_lengths=QUERIES,
        actual_seq_lengths_kv=KEYS,
        input_layout=layout,
        sparse_mode=sparse_mode,
        **SETTINGS,
    )
    rounded = ([item.half() for item in each] for each in (query, key, value))
    for i, (want, want_log) in enumerate(wanted(*rounded, sparse_mode)):
        got = out[i].cpu().double()
        if layout != "BNSD":
            got = got.reshape(got.shape[0], HEADS, DEPTH).transpose(0, 1)
        torch.testing.assert_close(got[:, : QUERIES[i]], want, rtol=1e-2, atol=1e-2)
        got_log = log_sum[i, :, : QUERIES[i]].cpu().double()
        torch.testing.assert_close(got_log, want_log, rtol=1e-3, atol=1e-3)


def test_a_band_that_leaves_nothing_out_is_none() -> None:
    """Without a mask, sparse mode 0 ignores pre_tokens and next_tokens, as CANN documents; projects pass 65535."""
    torch.manual_seed(0)
    whole = torch.randn(1, 2, 6, DEPTH).half().npu()
    mask = torch.ones(6, 6, dtype=torch.bool).triu(1)

    def attend(**more: object) -> torch.Tensor:
        heads = {"num_heads": 2, "input_layout": "BNSD", "scale": SCALE}
        return torch_npu.npu_fused_infer_attention_score(whole, whole, whole, **heads, **more)[0].cpu()

    scores = whole.cpu().double() @ whole.cpu().double().transpose(-1, -2) * SCALE
    for pre, after in ((65535, 65535), (0, 0)):
        want = scores.softmax(-1) @ whole.cpu().double()
        close = {"rtol": 1e-2, "atol": 1e-2}
        torch.testing.assert_close(attend(pre_tokens=pre, next_tokens=after).double(), want, **close)
    want = scores.masked_fill(mask, -torch.inf).softmax(-1) @ whole.cpu().double()
    got = attend(pre_tokens=65535, next_tokens=65535, atten_mask=mask.npu())
    torch.testing.assert_close(got.double(), want, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("layout", ["TND", "NTD_TND"])
@pytest.mark.parametrize("sparse_mode", [0, 3])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_one_behind_the_other(layout: str, sparse_mode: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    query, key, value = sequences(QUERIES, HEADS), sequences(KEYS, KEY_HEADS), sequences(KEYS, KEY_HEADS)
    joined = [torch.cat(each, 1) for each in (query, key, value)]
    joined = joined if layout[0] == "N" else [each.transpose(0, 1) for each in joined]
    out, log_sum = torch_npu.npu_fused_infer_attention_score(
        *(each.contiguous().to(dtype).npu() for each in joined),
        atten_mask=CAUSAL.npu() if sparse_mode else None,
        actual_seq_lengths=ends(QUERIES),
        actual_seq_lengths_kv=ends(KEYS),
        input_layout=layout,
        sparse_mode=sparse_mode,
        **SETTINGS,
    )
    rounded = ([item.to(dtype) for item in each] for each in (query, key, value))
    results = wanted(*rounded, sparse_mode)
    want = torch.cat([result for result, _ in results], 1).transpose(0, 1)
    close = 1e-2 if dtype == torch.float16 else 3e-2
    torch.testing.assert_close(out.cpu().double(), want, rtol=close, atol=close)
    want = torch.cat([result for _, result in results], 1).transpose(0, 1)
    torch.testing.assert_close(log_sum.cpu().double(), want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("by_head", [True, False])
@pytest.mark.parametrize("layout", ["TND", "BSND"])
def test_pages(by_head: bool, layout: str) -> None:
    torch.manual_seed(0)
    query, key, value = sequences(QUERIES, HEADS), sequences(KEYS, KEY_HEADS), sequences(KEYS, KEY_HEADS)
    rows = 3
    state = torch.random.get_rng_state()
    cache, table = pages(key, rows, by_head)
    torch.random.set_rng_state(state)  # the values lie in the same pages
    values, _ = pages(value, rows, by_head)
    flat = torch.cat(query, 1).transpose(0, 1) if layout == "TND" else padded(query, layout)
    out, _ = torch_npu.npu_fused_infer_attention_score(
        flat.contiguous().half().npu(),
        cache.half().npu(),
        values.half().npu(),
        atten_mask=CAUSAL.npu(),
        block_table=table.npu(),
        block_size=rows,
        actual_seq_lengths=ends(QUERIES) if layout == "TND" else QUERIES,
        actual_seq_lengths_kv=KEYS,
        input_layout=layout,
        sparse_mode=3,
        **SETTINGS,
    )
    rounded = ([item.half() for item in each] for each in (query, key, value))
    for i, (want, _) in enumerate(wanted(*rounded, 3)):
        first = sum(QUERIES[:i])
        got = out[first : first + QUERIES[i]] if layout == "TND" else out[i, : QUERIES[i]]
        torch.testing.assert_close(got.transpose(0, 1).cpu().double(), want, rtol=1e-2, atol=1e-2)


def test_one_token_with_a_mask_and_a_rotary_part() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, heads, length, DEPTH).half() for heads, length in ((4, 1), (2, 6), (2, 6)))
    query_rope, key_rope = torch.randn(2, 4, 1, 4).half(), torch.randn(2, 2, 6, 4).half()
    hidden = torch.rand(2, 1, 1, 6) > 0.6
    moved = [each.npu() for each in (query, key, value)]
    settings = {"num_heads": 4, "num_key_value_heads": 2, "scale": SCALE, "input_layout": "BNSD"}
    out, _ = torch_npu.npu_fused_infer_attention_score(
        *moved, atten_mask=hidden.npu(), query_rope=query_rope.npu(), key_rope=key_rope.npu(), **settings
    )
    newer, _ = torch_npu.npu_fused_infer_attention_score_v2(
        *moved,
        atten_mask=hidden.npu(),
        query_rope=query_rope.npu(),
        key_rope=key_rope.npu(),
        num_query_heads=4,
        num_key_value_heads=2,
        softmax_scale=SCALE,
        input_layout="BNSD",
    )
    for i in range(2):
        whole = torch.cat([query, query_rope], -1)[i].double(), torch.cat([key, key_rope], -1)[i].double()
        want, _ = attention(*whole, value[i].double(), hidden[i])
        torch.testing.assert_close(out[i].cpu().double(), want, rtol=1e-2, atol=1e-2)
    assert torch.equal(out.cpu(), newer.cpu())


def test_filling_of_pages() -> None:
    key, value = torch.randn(3, 2, 4).half(), torch.randn(3, 2, 6).half()
    caches = torch.zeros(5, 2, 2, 4).half(), torch.zeros(5, 2, 2, 6).half()
    moved = [each.npu() for each in caches]
    slots = torch.tensor([7, 0, 4], dtype=torch.int32)
    torch_npu.npu_scatter_pa_kv_cache(key.npu(), value.npu(), *moved, slots.npu(), cache_mode="Norm")
    for cache, rows, got in zip(caches, (key, value), moved, strict=True):
        for row, slot in enumerate(slots.tolist()):
            cache[slot // 2, slot % 2] = rows[row]
        assert torch.equal(got.cpu(), cache)


def test_rotation_of_neighbours() -> None:
    torch.manual_seed(0)
    x, angle = torch.randn(2, 3, 5, 64), torch.rand(2, 1, 5, 32)
    both = torch.cat([angle, angle], -1)
    got = torch_npu.npu_interleave_rope(x.bfloat16().npu(), both.cos().bfloat16().npu(), both.sin().bfloat16().npu())
    turned = torch.view_as_complex(x.reshape(2, 3, 5, 32, 2)) * torch.polar(torch.ones_like(angle), angle)
    want = torch.cat([turned.real, turned.imag], -1)
    torch.testing.assert_close(got.cpu().float(), want, rtol=3e-2, atol=3e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("given", ["k", "p", "kp"])
def test_likely_tokens(dtype: torch.dtype, given: str) -> None:
    torch.manual_seed(0)
    logits = torch.randn(3, 20).mul(2).to(dtype)
    k, p = torch.tensor([1, 5, 20], dtype=torch.int32), torch.tensor([0.5, 0.9, 0.0]).to(dtype)
    got = torch_npu.npu_top_k_top_p(
        logits.npu(), p.npu() if "p" in given else None, k.npu() if "k" in given else None
    ).cpu()
    for row in range(3):
        order = logits[row].float().argsort(descending=True, stable=True).tolist()
        kept = order[: int(k[row])] if "k" in given else order
        if "p" in given:
            share = logits[row].float()[kept].softmax(0).tolist()
            kept = [place for i, place in enumerate(kept) if i == 0 or sum(share[i:]) > 1 - float(p[row])]
        want = torch.full((20,), float("-inf")).to(dtype)
        want[kept] = logits[row, kept]
        assert torch.equal(got[row], want)


def test_captured_attention_gets_the_lengths_of_each_replay(run_sim: Callable) -> None:
    """In a process of its own: a replay that nobody lets go on waits for ever."""
    result = run_sim((PROGRAMS / "attention_updates.py").read_text(), timeout=120)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "[7, 200] True True",
        "[130, 8] True True",
        "[simulated Ascend] aclnnFusedInferAttentionScoreV3: softmaxLse has dtype Half; allowed: Float",
    ]
