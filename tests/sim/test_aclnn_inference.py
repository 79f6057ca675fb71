"""Attention of inference in every layout and with pages of keys; the choice of the next token."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest
import torch
import torch_npu
from conftest import PROGRAMS
from interfaces import HiFloat8, Pairs, Refused, aclnn, libraries, rules_of

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


def pages(items: list[torch.Tensor], rows: int, kind: str) -> tuple[torch.Tensor, torch.Tensor]:
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
    if kind == "by row":
        cache = cache.transpose(1, 2).flatten(2)
    if kind == "by head and part":
        cache = cache.unflatten(-1, (-1, 4)).transpose(2, 3).contiguous()
    return cache, table


def wanted(query, key, value, sparse_mode: int) -> list:
    results = []
    for q, k, v in zip(query, key, value, strict=True):
        rows, columns = q.shape[1], k.shape[1]
        hidden = torch.ones(rows, columns, dtype=torch.bool).triu(1 + columns - rows) if sparse_mode == 3 else None
        results.append(attention(q.double(), k.double(), v.double(), hidden))
    return results


def ends(lengths: list[int]) -> list[int]:
    return torch.tensor(lengths).cumsum(0).tolist()


FORMS = [(HEADS, 3, DEPTH), (KEY_HEADS, 5, DEPTH), (KEY_HEADS, 5, DEPTH + 8)]  # of a query, a key and a value
SETTINGS = {"num_heads": HEADS, "num_key_value_heads": KEY_HEADS, "scale": SCALE, "softmax_lse_flag": True}


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "BNSD_BSND", "BNSD_NBSD", "BSH_NBSD", "BSND_NBSD"])
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
        got = (out[:, i] if "NBSD" in layout else out[i]).cpu().double()
        if layout in ("BSND", "BSH", "BNSD_BSND"):
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


@pytest.mark.parametrize("layout", ["TND", "NTD_TND", "TND_NTD"])
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
    got = out.transpose(0, 1) if layout == "TND_NTD" else out
    torch.testing.assert_close(got.cpu().double(), want, rtol=close, atol=close)
    want = torch.cat([result for _, result in results], 1).transpose(0, 1)
    torch.testing.assert_close(log_sum.cpu().double(), want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", ["by row", "by head", "by head and part"])
@pytest.mark.parametrize("layout", ["TND", "BSND", "BSH"])
def test_pages(kind: str, layout: str) -> None:
    torch.manual_seed(0)
    query, key, value = sequences(QUERIES, HEADS), sequences(KEYS, KEY_HEADS), sequences(KEYS, KEY_HEADS)
    rows = 3
    state = torch.random.get_rng_state()
    cache, table = pages(key, rows, kind)
    torch.random.set_rng_state(state)  # the values lie in the same pages
    values, _ = pages(value, rows, kind)
    flat = torch.cat(query, 1).transpose(0, 1) if layout == "TND" else padded(query, "BSND")
    flat = flat.flatten(2) if layout == "BSH" else flat
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
    out = out.unflatten(2, (HEADS, DEPTH)) if layout == "BSH" else out
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


def test_one_sequence_without_a_batch() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(heads, length, depth).half() for heads, length, depth in FORMS)
    out, log_sum = torch_npu.npu_fused_infer_attention_score(
        query.npu(), key.npu(), value.npu(), input_layout="NSD", **SETTINGS
    )
    want, want_log = attention(query.double(), key.double(), value.double(), None)
    torch.testing.assert_close(out.cpu().double(), want, rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(log_sum.cpu().double(), want_log.unsqueeze(0), rtol=1e-3, atol=1e-3)


# ---- numbers of 4 and 8 bits -----------------------------------------------------------------------------------------
def words(numbers: torch.Tensor) -> torch.Tensor:
    """Eight numbers of 4 bits in each int32, the first in the lowest bits."""
    parts = numbers.long().bitwise_and(15).unflatten(-1, (-1, 8))
    return (parts << torch.arange(0, 32, 4)).sum(-1).to(torch.int32)


def fused(version: str, **given: object) -> None:
    """The C function; what is not given is absent, or the default of its kind."""
    told = libraries()[0][f"aclnnFusedInferAttentionScore{version}Parameters"]
    told.restype = ctypes.c_char_p
    names = [item.strip() for item in told().decode().strip("()").split(",")]
    zeros = {"int64_t": 0, "bool": False, "double": 1.0, "Text": "BNSD"}
    values = [given.pop(name, zeros.get(kind)) for kind, name in zip(names[::2], names[1::2], strict=True)]
    assert not given, f"no parameters: {[*given]}"
    aclnn(f"aclnnFusedInferAttentionScore{version}", *values)


# By depth and head, by token, by head, and by head and token, each for two sequences.
SCALES = {
    0: ((1, KEY_HEADS, 1, DEPTH), lambda x: x),
    1: ((2, 5), lambda x: x[:, None, :, None]),
    2: ((KEY_HEADS,), lambda x: x[None, :, None, None]),
    3: ((2, KEY_HEADS, 5), lambda x: x[..., None]),
}


@pytest.mark.parametrize("layout", ["BNSD", "BSH"])
@pytest.mark.parametrize("mode", SCALES)
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("shifted", [False, True], ids=["scales alone", "with offsets"])
def test_keys_of_fewer_bits(layout: str, mode: int, bits: int, shifted: bool) -> None:
    torch.manual_seed(0)
    query = torch.randn(2, HEADS, 1, DEPTH).half()
    top = 2 ** (bits - 1)
    key, value = (torch.randint(-top, top, (2, KEY_HEADS, 5, DEPTH)) for _ in range(2))
    shape, spread = SCALES[mode]
    kind = torch.float32 if mode in (1, 3) else torch.float16
    scales = [(torch.rand(shape) + 0.5).div(top).to(kind) for _ in range(2)]
    offsets = [torch.randint(-3, 4, shape).to(kind) if shifted else None for _ in range(2)]
    real = [
        (each + (0 if offset is None else spread(offset.double()))) * spread(scale.double())
        for each, scale, offset in zip((key, value), scales, offsets, strict=True)
    ]

    def laid(x: torch.Tensor) -> torch.Tensor:
        return x if layout == "BNSD" else x.transpose(1, 2).flatten(2)

    kept = [words(laid(each)) if bits == 4 else laid(each).to(torch.int8) for each in (key, value)]
    out = torch_npu.npu_fused_infer_attention_score(
        laid(query).contiguous().npu(),
        *(each.contiguous().npu() for each in kept),
        key_antiquant_scale=scales[0].npu(),
        value_antiquant_scale=scales[1].npu(),
        key_antiquant_offset=None if offsets[0] is None else offsets[0].npu(),
        value_antiquant_offset=None if offsets[1] is None else offsets[1].npu(),
        key_antiquant_mode=mode,
        value_antiquant_mode=mode,
        input_layout=layout,
        num_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        scale=SCALE,
    )[0]
    got = out.cpu().double().reshape(2, 1, HEADS, DEPTH).transpose(1, 2) if layout == "BSH" else out.cpu().double()
    for i in range(2):
        want, _ = attention(query[i].double(), real[0][i], real[1][i], None)
        torch.testing.assert_close(got[i], want, rtol=1e-2, atol=1e-2)


def test_one_scale_for_keys_and_values_and_keys_by_depth_with_values_by_token() -> None:
    torch.manual_seed(0)
    query = torch.randn(2, HEADS, 1, DEPTH).half()
    key, value = (torch.randint(-99, 99, (2, KEY_HEADS, 5, DEPTH)).to(torch.int8) for _ in range(2))
    out = torch.zeros_like(query)
    common = {"query": query, "keys": [key], "values": [value], "heads": HEADS, "key_heads": KEY_HEADS, "scale": SCALE}

    def compared(of_key: torch.Tensor, of_value: torch.Tensor) -> None:
        for i in range(2):
            want, _ = attention(query[i].double(), (key * of_key)[i].double(), (value * of_value)[i].double(), None)
            torch.testing.assert_close(out[i].double(), want, rtol=1e-2, atol=1e-2)

    both = torch.tensor([0.02, 0.03]).half()
    fused("V2", **common, both=both, out=out)
    compared(both[0].float(), both[1].float())
    of_key, of_value = torch.rand(1, KEY_HEADS, 1, DEPTH).div(50).half(), torch.rand(1, 2, 5).div(50)
    # those of each for itself come first
    fused("V3", **common, both=both, key_scale=of_key, value_scale=of_value, value_mode=1, out=out)
    compared(of_key.float(), of_value[0, :, None, :, None])


SEQUENCES = {"heads": HEADS, "key_heads": KEY_HEADS, "scale": SCALE, "layout": "TND"}


def one_behind_the_other(items: list[torch.Tensor]) -> torch.Tensor:
    return torch.cat(items, 1).transpose(0, 1).contiguous()


def fused_sequences(query: list[torch.Tensor], key: list, value: list, **given: object) -> None:
    """Compares each sequence with attention over the keys and values as they are meant."""
    first, out = 0, torch.zeros_like(one_behind_the_other(query))
    with rules_of("Ascend950"):
        fused("V5", query=one_behind_the_other(query), query_lengths=ends(QUERIES), out=out, **SEQUENCES, **given)
    for q, k, v in zip(query, key, value, strict=True):
        want, _ = attention(q.double(), k.double(), v.double(), None)
        got = out[first : first + q.shape[1]].transpose(0, 1).double()
        torch.testing.assert_close(got, want, rtol=1e-2, atol=1e-2)
        first += q.shape[1]


def test_keys_of_hifloat8() -> None:
    torch.manual_seed(0)
    query = [x.half() for x in sequences(QUERIES, HEADS)]
    scales = [torch.rand(1, KEY_HEADS, DEPTH).half() + 0.5 for _ in range(2)]
    kept, meant = [], []
    for scale in scales:
        numbers = [x.mul(4).round().div(4).clamp(-3, 3) for x in sequences(KEYS, KEY_HEADS)]  # HIFLOAT8 has them
        codes = torch.zeros(sum(KEYS), KEY_HEADS, DEPTH, dtype=torch.uint8)
        with rules_of("Ascend950"):
            aclnn("aclnnCast", one_behind_the_other(numbers), 34, HiFloat8(codes))
        kept.append(HiFloat8(codes))
        meant.append([x * scale.transpose(0, 1).float() for x in numbers])
    given = {"keys": [kept[0]], "values": [kept[1]], "key_lengths": ends(KEYS)}
    fused_sequences(query, *meant, **given, key_scale=scales[0], value_scale=scales[1])
    for wrong, message in (
        ({"key_mode": 1, "value_mode": 1}, "antiquant mode 1 for HIFLOAT8"),
        ({"key_offset": scales[0], "value_offset": scales[1]}, "an offset of floating-point keys is not simulated"),
    ):
        with pytest.raises(Refused, match=message):
            fused_sequences(query, *meant, **given, key_scale=scales[0], value_scale=scales[1], **wrong)


@pytest.mark.parametrize("mode", [4, 5], ids=["by token", "by head and token"])
def test_scales_that_lie_in_pages(mode: int) -> None:
    torch.manual_seed(0)
    query, heads = [x.half() for x in sequences(QUERIES, HEADS)], KEY_HEADS if mode == 5 else 1
    cases = []
    for _ in range(2):
        numbers, scales = sequences(KEYS, KEY_HEADS), [torch.rand(heads, length, 1) + 0.5 for length in KEYS]
        numbers = [x.to(torch.float8_e4m3fn).float() for x in numbers]
        torch.manual_seed(1)  # keys, values and their scales lie in the same pages
        cache, table = pages(numbers, 4, "by head and row")
        torch.manual_seed(1)
        scale, _ = pages(scales, 4, "by head and row")
        scale = (scale if mode == 5 else scale.squeeze(1)).squeeze(-1).contiguous()
        cases.append((cache.to(torch.float8_e4m3fn), scale, [x * s for x, s in zip(numbers, scales, strict=True)]))
    (key, key_scale, keys), (value, value_scale, values) = cases
    fused_sequences(
        query, keys, values, keys=[key], values=[value], pages=table, key_lengths=KEYS, block_size=4,
        key_scale=key_scale, value_scale=value_scale, key_mode=mode, value_mode=mode,
    )  # fmt: skip


def test_keys_of_float4_with_a_scale_for_each_group() -> None:
    torch.manual_seed(0)
    depth, numbers = 64, torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    query = torch.randn(2, HEADS, 3, depth).half()
    kept, scales, meant = [], [], []
    for _ in range(2):
        codes = torch.randint(0, 16, (2, KEY_HEADS, 5, depth))
        kept.append(Pairs((codes[..., 0::2] + 16 * codes[..., 1::2]).to(torch.uint8), 40))
        scales.append(torch.tensor([0.25, 0.5, 1])[torch.randint(0, 3, (1, 2, KEY_HEADS, 5, depth // 32))])
        signed = numbers[codes % 8] * torch.where(codes < 8, 1, -1)
        meant.append(signed * scales[-1][0].repeat_interleave(32, -1))
    out, (key_scale, value_scale) = torch.zeros_like(query), (x.to(torch.float8_e8m0fnu) for x in scales)
    with rules_of("Ascend950"):
        fused(
            "V5", query=query, keys=[kept[0]], values=[kept[1]], heads=HEADS, key_heads=KEY_HEADS, scale=SCALE / 10,
            key_scale=key_scale, value_scale=value_scale, key_mode=6, value_mode=6, out=out,
        )  # fmt: skip
    for i in range(2):
        want, _ = attention(query[i].double() / 10, meant[0][i].double(), meant[1][i].double(), None)
        torch.testing.assert_close(out[i].double(), want, rtol=1e-2, atol=1e-2)


def test_queries_keys_and_values_of_float8_with_scales_by_token() -> None:
    torch.manual_seed(0)
    depth, small = 128, torch.float8_e4m3fn
    query, key, value = (
        [x.to(small) for x in sequences(lengths, heads, depth)]
        for lengths, heads in ((QUERIES, HEADS), (KEYS, KEY_HEADS), (KEYS, KEY_HEADS))
    )
    query_scale, value_scale = torch.rand(HEADS, sum(QUERIES)) + 0.5, torch.rand(KEY_HEADS) + 0.5
    key_scales, factor = [torch.rand(KEY_HEADS, length, 1) + 0.5 for length in KEYS], 200.0
    stored = []
    for items in (key, value, key_scales):
        torch.manual_seed(1)  # all lie in the same pages
        stored.append(pages([x.float() for x in items], 128, "by head and row"))
    given = {
        "query": torch.cat(query, 1), "keys": [stored[0][0].to(small)], "values": [stored[1][0].to(small)],
        "query_lengths": ends(QUERIES), "key_lengths": KEYS, "pages": stored[0][1], "block_size": 128, "heads": HEADS,
        "key_heads": KEY_HEADS, "layout": "NTD_TND", "scale": SCALE / 10, "query_scale": query_scale,
        "key_scale": stored[2][0].squeeze(-1).contiguous(), "value_scale": value_scale, "query_mode": 3, "key_mode": 3,
        "value_mode": 2, "of_weights": torch.tensor([factor]),
        "out": torch.zeros(sum(QUERIES), HEADS, depth, dtype=torch.bfloat16),
    }  # fmt: skip
    with rules_of("Ascend950"):
        fused("V5", **given)
    parts = zip(query, query_scale.split(QUERIES, 1), key, key_scales, value, given["out"].split(QUERIES), strict=True)
    for q, of_q, k, of_k, v, got in parts:
        repeated = [x.double().repeat_interleave(HEADS // KEY_HEADS, 0) for x in (k.float() * of_k, v, value_scale)]
        scores = SCALE / 10 * (q.double() * of_q.unsqueeze(-1)) @ repeated[0].transpose(1, 2)
        weights = scores.softmax(-1).mul(factor).to(small).double() / factor
        want = weights @ repeated[1] * repeated[2].reshape(-1, 1, 1)
        torch.testing.assert_close(got.transpose(0, 1).double(), want, rtol=1e-2, atol=1e-2)
    for wrong, message in (
        ({"layout": "TND"}, "in layout TND"),
        ({"key_mode": 1}, "keyAntiquantMode 1"),
        ({"of_weights": None}, "161001"),
        ({"query_scale": query_scale.T.contiguous()}, "dequantScaleQuery has shape"),
        ({"query_rope": given["query"].half()}, "dequantScaleQuery with queryRope"),
        ({"of_product": torch.ones(1)}, "another scale or an offset with dequantScaleQuery"),
    ):
        with rules_of("Ascend950"), pytest.raises(Refused, match=message):
            fused("V5", **(given | wrong))


def test_queries_keys_and_values_of_8_bits() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randint(-20, 20, (2, *form)).to(torch.int8) for form in FORMS)
    of_scores, of_weights, of_product = 0.003, 100.0, 0.02
    out = torch.zeros(2, HEADS, 3, FORMS[2][2]).half()
    scales = {
        name: torch.tensor([number])
        for name, number in (("of_scores", of_scores), ("of_weights", of_weights), ("of_product", of_product))
    }
    common = {"keys": [key], "values": [value], "heads": HEADS, "key_heads": KEY_HEADS, "scale": SCALE}
    fused("V4", query=query, **common, **scales, out=out)
    repeated = [each.double().repeat_interleave(HEADS // KEY_HEADS, 1) for each in (key, value)]
    weights = (query.double() @ repeated[0].transpose(-1, -2) * of_scores * SCALE).softmax(-1)
    want = (weights * of_weights).round().clamp(-128, 127) @ repeated[1] * of_product
    torch.testing.assert_close(out.double(), want, rtol=1e-2, atol=0.5)  # half of a step of the weights, either way
    small = torch.zeros(out.shape, dtype=torch.int8)
    last = torch.rand(HEADS, FORMS[2][2]) + 0.5
    fused("V4", query=query, **common, **scales, of_result=last, result_offset=torch.full_like(last, 3), out=small)
    steps = (want * last[:, None].double() + 3).clamp(-128, 127)
    assert (small.double() - steps).abs().max() <= 1.5

    for given, message in [
        ({"of_scores": scales["of_scores"]}, "deqScale1, quantScale1 and deqScale2 go together"),
        ({}, "a query of int8 needs deqScale1, quantScale1 and deqScale2"),
        ({**scales, "rope_scale": torch.ones(1)}, "keyRopeAntiquantScale and dequantScaleQuery is not simulated"),
        ({**scales, "of_result": last}, "quantScale2 goes with a result of 8 bits"),
        ({**scales, "result_offset": last}, "quantOffset2 needs quantScale2"),
        ({**scales, "out": small}, "quantScale2 goes with a result of 8 bits"),
    ]:
        with pytest.raises(Refused, match=message):
            fused("V4", **{"query": query, **common, "out": out, **given})


@pytest.mark.parametrize("by_channel", [False, True], ids=["one scale", "a scale for each column"])
def test_a_result_of_8_bits(by_channel: bool) -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, *form).half() for form in FORMS)
    scale = torch.rand(HEADS, FORMS[2][2]) * 40 if by_channel else torch.tensor([30.0])
    out = torch_npu.npu_fused_infer_attention_score(
        query.npu(), key.npu(), value.npu(), quant_scale2=scale.npu(), input_layout="BNSD", **SETTINGS
    )[0].cpu()
    want, _ = attention(query[0].double(), key[0].double(), value[0].double(), None)
    assert out.dtype == torch.int8
    assert (out[0].double() - (want * (scale[:, None] if by_channel else 30)).clamp(-128, 127)).abs().max() <= 0.6


def test_a_result_of_small_floats() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, *form).half() for form in FORMS)
    out, scale = torch.zeros(1, HEADS, 3, FORMS[2][2]).to(torch.float8_e4m3fn), 400.0  # some leave its range
    given = {"query": query, "keys": [key], "values": [value], "heads": HEADS, "key_heads": KEY_HEADS, "scale": SCALE}
    fused("V5", **given, of_result=torch.tensor([scale]), out=out)
    want, _ = attention(query[0].double(), key[0].double(), value[0].double(), None)
    top = torch.finfo(out.dtype).max
    torch.testing.assert_close(out[0].double(), (want * scale).clamp(-top, top), rtol=0.55 / 8, atol=0.1)
    with pytest.raises(Refused, match="attentionOut has data type FLOAT8_E5M2"):
        fused("V5", **given, of_result=torch.tensor([scale]), out=out.to(torch.float8_e5m2))


def test_a_result_of_hifloat8() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, *form).half() for form in FORMS)
    codes, values = torch.zeros(1, HEADS, 3, FORMS[2][2], dtype=torch.uint8), torch.zeros(1, HEADS, 3, FORMS[2][2])
    given = {"query": query, "keys": [key], "values": [value], "heads": HEADS, "key_heads": KEY_HEADS, "scale": SCALE}
    with rules_of("Ascend950"):
        fused("V5", **given, of_result=torch.tensor([30.0]), out=HiFloat8(codes))
        aclnn("aclnnCast", HiFloat8(codes), 0, values)
    want, _ = attention(query[0].double(), key[0].double(), value[0].double(), None)
    torch.testing.assert_close(values[0].double(), want * 30, rtol=0.14, atol=1e-3)  # half of a step up to 2^7


def test_what_does_not_fit_is_refused() -> None:
    query, key = torch.zeros(1, HEADS, 1, DEPTH).half(), torch.zeros(1, KEY_HEADS, 5, DEPTH, dtype=torch.int8)
    ones = torch.ones(KEY_HEADS * DEPTH).half()
    common = {"heads": HEADS, "key_heads": KEY_HEADS, "out": torch.zeros_like(query)}
    deep = key.half().repeat(1, 1, 1, 2)
    small = {"keys": [key], "values": [key], "key_scale": ones}
    for given, message in [
        ({"keys": [deep], "values": [deep]}, "a query of depth 8 and a key of depth 16"),
        (small, "scale and offset of key and value go together"),
        ({**small, "value_scale": ones, "key_mode": 7}, "antiquant mode 7 is not simulated"),
        ({**small, "value_scale": ones, "key_mode": 6}, "FLOAT4_E2M1 and antiquant mode 6 go together"),
        ({**small, "value_scale": ones, "key_mode": 5, "value_mode": 5}, "antiquant mode 5 needs block_table"),
        ({"keys": [deep], "values": [key]}, "dtypes differ: Half and Char"),
        ({"keys": [deep], "values": [deep], "layout": "NBSD"}, "layout NBSD is not simulated"),
        ({"keys": [deep], "values": [deep], "layout": "TND_BSND"}, "layout TND_BSND is not simulated"),
    ]:
        with pytest.raises(Refused, match=message):
            fused("V4", query=query, **common, **given)


def test_rotation_of_neighbours() -> None:
    torch.manual_seed(0)
    x, angle = torch.randn(2, 3, 5, 64), torch.rand(2, 1, 5, 32)
    both = torch.cat([angle, angle], -1)
    got = torch_npu.npu_interleave_rope(x.bfloat16().npu(), both.cos().bfloat16().npu(), both.sin().bfloat16().npu())
    turned = torch.view_as_complex(x.reshape(2, 3, 5, 32, 2)) * torch.polar(torch.ones_like(angle), angle)
    want = torch.cat([turned.real, turned.imag], -1)
    torch.testing.assert_close(got.cpu().float(), want, rtol=3e-2, atol=3e-2)
    x, cos = x.half().npu(), both.cos().half().npu()
    for sizes in ((5, 64), (2, 3, 5, 64)):  # two dimensions, and an angle for each head
        with pytest.raises(RuntimeError, match="561002"):
            torch_npu.npu_interleave_rope(x, torch.ones(sizes).half().npu(), cos)


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
