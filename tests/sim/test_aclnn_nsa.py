"""Native sparse attention: compression, attention to what was compressed, attention to chosen blocks: by formula."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from interfaces import Refused, aclnn
from values import close, gradients, real

HALF = torch.float16
SIZE, STRIDE, BLOCK = 32, 16, 64


def windows(length: int) -> list[slice]:
    return [slice(first, first + SIZE) for first in range(0, length - SIZE + 1, STRIDE)]


def compress(x: torch.Tensor, weight: torch.Tensor, ends: list[int]) -> torch.Tensor:
    rows = []
    for first, end in zip([0, *ends[:-1]], ends, strict=True):
        rows += [(x[first:end][window] * weight[:, :, None]).sum(0) for window in windows(end - first)]
    return torch.stack(rows)


def test_compress_and_its_gradient() -> None:
    ends = [80, 100, 167]  # the second is too short for a window
    x, weight = real(167, 2, 16, dtype=HALF), real(SIZE, 2, seed=1, dtype=HALF)
    want = compress(x.double(), weight.double(), ends)
    close(torch_npu.npu_nsa_compress(x.npu(), weight.npu(), SIZE, STRIDE, actual_seq_len=ends).cpu(), want, 2e-2)
    out = torch.zeros(want.shape, dtype=HALF)
    aclnn("aclnnNsaCompress", x, weight, ends, "TND", SIZE, STRIDE, 0, out)
    close(out, want, 2e-2)
    grad = real(*want.shape, seed=2, dtype=HALF)
    wants = gradients(lambda x, weight: compress(x, weight, ends), x, weight, grad=grad)
    got = torch_npu.npu_nsa_compress_grad(grad.npu(), x.npu(), weight.npu(), SIZE, STRIDE, actual_seq_len=[0, *ends])
    for one, expected in zip(got, wants, strict=True):
        close(one.cpu(), expected, 3e-2)
    for layout, size, kind, message in (
        ("BSND", SIZE, 0, "layout 'BSND'; allowed: TND"),
        ("TND", 24, 0, "compressBlockSize 24"),
        ("TND", SIZE, 1, "actSeqLenType"),
    ):
        with pytest.raises(Refused, match=message):
            aclnn("aclnnNsaCompress", x, weight, ends, layout, size, STRIDE, kind, out)


def test_compress_with_cache() -> None:
    lengths, size = [64, 40, 112, 16], 64  # the second ends within a window, the last before its first
    pages, weight = real(8, size, 2, 16, dtype=HALF), real(SIZE, 2, seed=1, dtype=HALF)
    table = torch.tensor([[3, 0], [1, 0], [6, 2], [5, 0]], dtype=torch.int32)
    slots = torch.tensor([4, 1, 0, 2], dtype=torch.int32)
    sequences = [pages[row.long()].flatten(0, 1)[:length] for row, length in zip(table, lengths, strict=True)]
    want = torch.full((9, 2, 16), 5.0, dtype=torch.float64)
    for item in (0, 2):
        want[slots[item]] = (sequences[item][-SIZE:].double() * weight.double()[:, :, None]).sum(0)
    cache = torch.full((9, 2, 16), 5.0, dtype=HALF).npu()
    torch_npu.npu_nsa_compress_infer(
        pages.npu(), weight.npu(), slots.npu(), SIZE, STRIDE, size, block_table=table.npu(), actual_seq_len=lengths,
        cache=cache,
    )  # fmt: skip
    close(cache.cpu(), want, 2e-2)
    packed = torch.full((9, 2, 16), 5.0, dtype=HALF)
    aclnn(
        "aclnnNsaCompressWithCache", torch.cat(sequences), weight, slots, lengths, None, "TND", SIZE, STRIDE, 1, size,
        packed,
    )  # fmt: skip
    close(packed, want, 2e-2)


def block_weights(probability: torch.Tensor, blocks: int) -> torch.Tensor:
    """(..., compressed keys): what each block of keys has of the windows, by the strides that both cover."""
    total = torch.zeros(*probability.shape[:-1], blocks, dtype=torch.float64)
    for j in range(1, blocks + 1):  # the page counts from 1
        for m in range(BLOCK // STRIDE):
            for n in range(SIZE // STRIDE):
                at = BLOCK // STRIDE * j - m - n
                if 0 <= at < probability.shape[-1]:
                    total[..., j - 1] += probability[..., at]
    return total


def test_compressed_attention() -> None:
    heads, key_heads, count, scale = 4, 2, 3, 0.3
    queries, keys = [5, 4], [22, 17]
    blocks = [-(-key // (BLOCK // STRIDE)) for key in keys]
    ends, key_ends, block_ends = ([sum(x[: i + 1]) for i in range(2)] for x in (queries, keys, blocks))
    q, k, v = (real(sum(n), h, 16, seed=s, dtype=HALF) for s, (n, h) in enumerate(
        ((queries, heads), (keys, key_heads), (keys, key_heads))))  # fmt: skip
    mask = torch.ones(5, 22, dtype=torch.bool).triu(8)
    always = torch.eye(5, max(blocks), dtype=torch.bool)
    always[:, 0] = True
    out, top, total, chosen = torch_npu_compress_attention(
        q, k, v, scale, heads, count, always, mask, ends, key_ends, block_ends
    )
    for item in range(2):
        rows = slice(ends[item] - queries[item], ends[item])
        of_keys = slice(key_ends[item] - keys[item], key_ends[item])
        own, key, value = (
            x.double().transpose(0, 1) for x in (q[rows], k[of_keys].repeat_interleave(2, 1),
                                                 v[of_keys].repeat_interleave(2, 1)))  # fmt: skip
        score = (own @ key.transpose(1, 2) * scale).masked_fill(mask[: queries[item], : keys[item]], -torch.inf)
        close(out[rows], (score.softmax(-1) @ value).transpose(0, 1), 1e-2)
        statistics = slice(rows.start * heads, rows.stop * heads)
        close(top.reshape(-1, 8)[statistics][:, 0], score.amax(-1).flatten(), 1e-2)
        close(total.reshape(-1, 8)[statistics][:, 7], (score - score.amax(-1, True)).exp().sum(-1).flatten(), 1e-2)
        weights = block_weights(score.softmax(-1), blocks[item]).reshape(key_heads, 2, queries[item], -1).sum(1)
        weights = weights.masked_fill(always[: queries[item], : blocks[item]], torch.inf)
        want = weights.sort(stable=True, dim=-1, descending=True)[1][..., :count].transpose(0, 1)
        assert torch.equal(chosen[rows].long(), want)
    with pytest.raises(RuntimeError, match="selectBlockCount 0"):
        torch_npu_compress_attention(q, k, v, scale, heads, 0, always, mask, ends, key_ends, block_ends)


def torch_npu_compress_attention(q, k, v, scale, heads, count, always, mask, ends, key_ends, block_ends):
    out, chosen, top, total = torch_npu.npu_nsa_compress_attention(
        q.npu(), k.npu(), v.npu(), scale, heads, SIZE, STRIDE, BLOCK, count, topk_mask=always.npu(),
        atten_mask=mask.npu(), actual_seq_qlen=ends, actual_cmp_seq_kvlen=key_ends, actual_sel_seq_kvlen=block_ends,
    )  # fmt: skip
    return out.cpu(), top.cpu(), total.cpu(), chosen.cpu()


def paged(sequences: list[torch.Tensor], size: int) -> tuple[torch.Tensor, torch.Tensor]:
    most = max(-(-len(one) // size) for one in sequences)
    table = torch.randperm(len(sequences) * most, generator=torch.Generator().manual_seed(3)).reshape(-1, most)
    pages = torch.zeros(table.numel(), size, *sequences[0].shape[1:], dtype=sequences[0].dtype)
    for mine, one in zip(table, sequences, strict=True):
        for page, part in zip(mine, one.split(size), strict=False):
            pages[page, : len(part)] = part
    return pages.flatten(2), table.int()


def test_compressed_attention_of_one_token() -> None:
    heads, key_heads, depth, count, scale, lengths = 4, 2, 16, 5, 0.3, [50, 37]
    q = real(2, heads, depth, dtype=HALF)
    keys = [real(length, key_heads, depth, seed=5 + i, dtype=HALF) for i, length in enumerate(lengths)]
    values = [real(length, key_heads, depth, seed=9 + i, dtype=HALF) for i, length in enumerate(lengths)]
    (key, table), (value, _) = paged(keys, 16), paged(values, 16)
    out, chosen = torch_npu.npu_nsa_compress_attention_infer(
        q.npu(), key.npu(), value.npu(), scale, heads, key_heads, BLOCK, count, 16, SIZE, STRIDE, layout="TND",
        block_table=table.npu(), actual_seq_qlen=[1, 1], actual_cmp_seq_kvlen=lengths,
        actual_sel_seq_kvlen=[(length - 1) * STRIDE + SIZE for length in lengths],
    )  # fmt: skip
    for item, length in enumerate(lengths):
        k, v = (x.double().repeat_interleave(2, 1).permute(1, 0, 2) for x in (keys[item], values[item]))
        probability = (q[item].double().unsqueeze(1) @ k.transpose(1, 2) * scale).softmax(-1)
        close(out[item].cpu(), (probability @ v)[:, 0], 1e-2)
        blocks = -(-((length - 1) * STRIDE + SIZE) // BLOCK)
        weights = block_weights(probability[:, 0], blocks).reshape(key_heads, 2, -1).sum(1)
        middle = weights[:, 1:-2].sort(stable=True, dim=-1, descending=True)[1][:, : count - 3] + 1
        for head in range(key_heads):
            assert chosen[item, head].tolist() == [0, blocks - 2, blocks - 1, *middle[head].tolist()]
    with pytest.raises(RuntimeError, match="queries of 2 tokens are not simulated"):
        torch_npu.npu_nsa_compress_attention_infer(
            q[:1].unsqueeze(0).expand(1, 2, -1, -1).contiguous().npu(), key.npu(), value.npu(), scale, heads,
            key_heads, BLOCK, count, 16, SIZE, STRIDE, layout="BSND", block_table=table[:1].npu(),
            actual_cmp_seq_kvlen=[50],
        )  # fmt: skip


def test_selected_attention_of_one_token() -> None:
    heads, key_heads, block, scale, lengths = 4, 2, 16, 0.2, [70, 50]
    q = real(2, 1, heads, 192, dtype=HALF)
    keys = [real(length, key_heads, 192, seed=5 + i, dtype=HALF) for i, length in enumerate(lengths)]
    values = [real(length, key_heads, 128, seed=9 + i, dtype=HALF) for i, length in enumerate(lengths)]
    (key, table), (value, _) = paged(keys, 64), paged(values, 64)
    chosen = torch.tensor([[[0, 4, 2], [1, -1, -1]], [[3, 0, 1], [2, 1, -1]]], dtype=torch.int32)
    out = torch_npu.npu_nsa_select_attention_infer(
        q.npu(), key.unflatten(2, (key_heads, -1)).npu(), value.unflatten(2, (key_heads, -1)).npu(), chosen.npu(),
        scale, heads, key_heads, block, 3, 64, layout="BSND",
        block_table=table.npu(), actual_seq_kvlen=lengths,
    )  # fmt: skip
    for item in range(2):
        for head in range(heads):
            picked = [
                row for one in chosen[item, head // 2].tolist() if one >= 0
                for row in range(one * block, min(one * block + block, lengths[item]))
            ]  # fmt: skip
            k, v = (x[item][picked, head // 2].double() for x in (keys, values))
            want = (q[item, 0, head].double() @ k.t() * scale).softmax(-1) @ v
            close(out[item, 0, head].cpu(), want, 1e-2)


@pytest.mark.parametrize("causal", [False, True])
def test_the_gradient_of_selected_attention(causal: bool) -> None:
    """With a mask a query sees no key behind its own place, whatever it holds."""
    heads, key_heads, block, count, scale, ends, key_ends = 4, 2, 4, 2, 0.2, [3, 5], [8, 20]
    q, grad = real(5, heads, 16, dtype=HALF), real(5, heads, 8, seed=1, dtype=HALF)
    k, v = real(20, key_heads, 16, seed=2, dtype=HALF), real(20, key_heads, 8, seed=3, dtype=HALF)
    chosen = torch.tensor([[[0, 1], [1, 0]]] * 3 + [[[2, 0], [0, 2]]] * 2, dtype=torch.int32)

    def formula(q, k, v):
        rows = []
        for token in range(5):
            first = 0 if token < 3 else 8
            for head in range(heads):
                picked = [first + one * block + i for one in chosen[token, head // 2].tolist() for i in range(block)]
                score = q[token, head] @ k[picked, head // 2].t() * scale
                if causal:
                    score = score.masked_fill(torch.tensor(picked) - first > token - (0 if token < 3 else 3), -1e30)
                rows.append(score.softmax(-1) @ v[picked, head // 2])
        return torch.stack(rows).reshape(5, heads, 8)

    leaves = [x.npu().requires_grad_() for x in (q, k, v)]
    mask = torch.ones(64, 64, dtype=torch.bool).triu(1) if causal else None
    out = torch_npu.npu_nsa_select_attention(
        *leaves, chosen.npu(), scale, heads, block, count, actual_seq_qlen=ends, actual_seq_kvlen=key_ends,
        atten_mask=mask.npu() if causal else None,
    )[0]  # fmt: skip
    close(out.cpu(), formula(*(x.double() for x in (q, k, v))), 1e-2)
    out.backward(grad.npu())
    for leaf, want in zip(leaves, gradients(formula, q, k, v, grad=grad), strict=True):
        close(leaf.grad.cpu(), want, 2e-2)
