"""Attention to chosen keys in training: gradients, the loss by which the choice learns; masks of blocks; Floyd's."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from interfaces import Refused, aclnn
from values import close, gradients, real, whole

BF16, HALF = torch.bfloat16, torch.float16
ALL = 2**63 - 1


def in_sight(queries: int, keys: int, row: int) -> int:
    return keys - queries + row + 1


# ---- sinks, and caches of whole numbers ------------------------------------------------------------------------------
def test_sinks_of_sparse_attention() -> None:
    queries, keys, heads, depth, rope, scale = 3, 20, 4, 32, 8, 0.3
    query, query_rope = real(1, queries, heads, depth, dtype=BF16), real(1, queries, heads, rope, seed=1, dtype=BF16)
    key, key_rope = real(1, keys, 1, depth, seed=2, dtype=BF16), real(1, keys, 1, rope, seed=3, dtype=BF16)
    sinks = real(heads, seed=4)
    chosen = torch.tensor([[[[0, 5, -1]], [[7, 2, 1]], [[19, 3, -1]]]], dtype=torch.int32)

    def call(sinks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return torch_npu.npu_sparse_flash_attention(
            query.npu(), key.npu(), key.npu(), chosen.npu(), scale, query_rope=query_rope.npu(),
            key_rope=key_rope.npu(), sparse_block_size=1, layout_query="BSND", layout_kv="BSND", sparse_mode=3,
            attention_mode=2, return_softmax_lse=True, sinks=sinks.npu(),
        )  # fmt: skip

    got, largest, total = call(sinks)
    for row in range(queries):
        picked = [one for one in chosen[0, row, 0].tolist() if 0 <= one < in_sight(queries, keys, row)]
        both = torch.cat([query[0, row], query_rope[0, row]], -1).double()
        k = torch.cat([key[0, :, 0], key_rope[0, :, 0]], -1).double()[picked]
        score = torch.cat([both @ k.t() * scale, sinks.double()[:, None]], 1)
        close(got[0, row].cpu(), score.softmax(-1)[:, :-1] @ key[0, picked, 0].double(), 1e-2)
        close(largest[0, 0, row].cpu(), score.amax(-1))
        close(total[0, 0, row].cpu(), (score - score.amax(-1, keepdim=True)).exp().sum(-1))
    for wrong, message in ((sinks[:3], r"shape \[3\].*expected \(4\)"), (sinks.half(), "sinks")):
        with pytest.raises(RuntimeError, match=message):
            call(wrong)


def test_keys_of_bytes() -> None:
    queries, keys, heads, scale = 2, 24, 4, 0.04
    query = real(1, queries, heads, 576, dtype=BF16)
    numbers, rope = whole(1, keys, 1, 512, low=-90, high=90), real(1, keys, 1, 64, seed=2, dtype=BF16)
    scales = real(1, keys, 1, 4, seed=3).abs() / 50
    packed = torch.cat([numbers, rope.view(torch.int8), scales.view(torch.int8)], -1)
    chosen = torch.tensor([[[[0, 5, -1, -1]], [[17, 2, 23, 9]]]], dtype=torch.int32)

    def call(tile: int = 128) -> torch.Tensor:
        return torch_npu.npu_kv_quant_sparse_flash_attention(
            query.npu(), packed.npu(), packed.npu(), chosen.npu(), scale, 2, 2, sparse_block_size=1,
            layout_query="BSND", layout_kv="BSND", sparse_mode=3, attention_mode=2, quant_scale_repo_mode=1,
            tile_size=tile, rope_head_dim=64,
        )  # fmt: skip

    got = call().cpu()
    value = (numbers.double().unflatten(-1, (4, 128)) * scales.double().unsqueeze(-1)).flatten(-2).to(BF16).double()
    key = torch.cat([value, rope.double()], -1)[0, :, 0]
    for row in range(queries):
        picked = [one for one in chosen[0, row, 0].tolist() if 0 <= one < in_sight(queries, keys, row)]
        score = query[0, row].double() @ key[picked].t() * scale
        close(got[0, row], score.softmax(-1) @ value[0, picked, 0], 2e-2)
    with pytest.raises(RuntimeError, match="tile_size 64"):
        call(64)


@pytest.mark.parametrize("mode", [0, 3])
def test_the_choice_by_whole_numbers(mode: int) -> None:
    queries, keys, heads, count = 4, 40, 4, 8
    query, key = whole(1, queries, heads, 128), whole(1, keys, 1, 128, seed=1)
    query_scale, key_scale = real(1, queries, heads, seed=2).abs().half(), real(1, keys, 1, seed=3).abs().half()
    weights = real(1, queries, heads, seed=4, dtype=HALF)
    got = torch_npu.npu_quant_lightning_indexer(
        query.npu(), key.npu(), weights.npu(), query_scale.npu(), key_scale.npu(), 0, 0, sparse_count=count,
        sparse_mode=mode,
    ).cpu()  # fmt: skip
    product = torch.einsum("qhd,kd->qhk", query[0].double(), key[0, :, 0].double())
    product = product * query_scale[0].double()[..., None] * key_scale[0, :, 0].double()
    score = (product.relu() * weights[0].double()[..., None]).sum(1)
    for row in range(queries):
        seen = in_sight(queries, keys, row) if mode == 3 else keys
        order = score[row, :seen].sort(stable=True, descending=True)[1]  # equal ones: 0 of a key that no head likes
        assert got[0, row, 0].tolist() == order[:count].tolist()
    with pytest.raises(RuntimeError, match="query_quant_mode"):
        torch_npu.npu_quant_lightning_indexer(
            query.npu(), key.npu(), weights.npu(), query_scale.npu(), key_scale.npu(), 1, 0, sparse_count=count
        )


# ---- gradients -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", ["BSND", "TND"])
def test_the_gradient_of_sparse_attention(layout: str) -> None:
    lengths, keys, heads, depth, rope, scale = [3, 2], [9, 6], 4, 16, 8, 0.3
    q, q_rope, grad = (real(5, heads, size, seed=n, dtype=BF16) for n, size in enumerate((depth, rope, depth)))
    k, k_rope, v = (real(15, 1, size, seed=5 + n, dtype=BF16) for n, size in enumerate((depth, rope, depth)))
    chosen = torch.tensor([[0, 3, -1], [7, 1, 4], [8, 0, -1], [4, 2, 0], [5, -1, -1]], dtype=torch.int32)[:, None]
    ends, key_ends = [3, 5], [9, 15]
    if layout == "BSND":  # one sequence of all
        lengths, keys, ends, key_ends = [5], [15], [5], [15]

    def formula(q, q_rope, k, k_rope, v):
        rows = []
        for token in range(5):
            item = next(i for i, end in enumerate(ends) if token < end)
            row, first = token - (ends[item] - lengths[item]), key_ends[item] - keys[item]
            seen = in_sight(lengths[item], keys[item], row)
            picked = [first + one for one in chosen[token, 0].tolist() if 0 <= one < seen]
            score = torch.cat([q[token], q_rope[token]], -1) @ torch.cat([k, k_rope], -1)[picked, 0].t() * scale
            rows.append(score.softmax(-1) @ v[picked, 0])
        return torch.stack(rows)

    def shaped(x: torch.Tensor) -> torch.Tensor:
        return (x if layout == "TND" else x.unsqueeze(0)).npu()

    more = {}
    if layout == "TND":
        more = {"actual_seq_lengths_query": torch.tensor(ends).int().npu(),
                "actual_seq_lengths_kv": torch.tensor(key_ends).int().npu()}  # fmt: skip
    out, largest, total = torch_npu.npu_sparse_flash_attention(
        shaped(q), shaped(k), shaped(v), shaped(chosen), scale, query_rope=shaped(q_rope), key_rope=shaped(k_rope),
        sparse_block_size=1, layout_query=layout, layout_kv=layout, sparse_mode=3, attention_mode=2,
        return_softmax_lse=True, **more,
    )  # fmt: skip
    names = {"actual_seq_lengths_query": "actual_seq_qlen", "actual_seq_lengths_kv": "actual_seq_kvlen"}
    got = torch.ops.npu.npu_sparse_flash_attention_grad(
        shaped(q), shaped(k), shaped(v), shaped(chosen), shaped(grad), out, largest, total, scale, 1,
        query_rope=shaped(q_rope), key_rope=shaped(k_rope), layout=layout, sparse_mode=3, attention_mode=2,
        **{names[name]: value for name, value in more.items()},
    )  # fmt: skip
    to_q, to_q_rope, to_k, to_k_rope, to_v = gradients(formula, q, q_rope, k, k_rope, v, grad=grad)
    for one, want in zip(got, (to_q, to_k, to_v, to_q_rope, to_k_rope), strict=True):
        close(one.cpu(), want, 5e-2)


@pytest.mark.parametrize("layout", ["BSND", "TND"])
def test_the_gradient_of_the_indexer(layout: str) -> None:
    queries, keys, heads, depth, count = 5, 12, 4, 16, 4
    q, k = real(queries, heads, depth, dtype=BF16), real(keys, 1, depth, seed=1, dtype=BF16)
    weights, grad = real(queries, heads, seed=2, dtype=BF16), real(queries, 1, count, seed=3, dtype=BF16)
    chosen = torch.full((queries, 1, count), -1, dtype=torch.int32)
    for row in range(queries):
        some = torch.randperm(in_sight(queries, keys, row), generator=torch.Generator().manual_seed(row))
        chosen[row, 0, : 4 - row % 2] = some[: 4 - row % 2].int()

    def formula(q, k, weights):
        rows = []
        for row in range(queries):
            score = ((q[row] @ k[:, 0].t()).relu() * weights[row][:, None]).sum(0)
            kept = chosen[row, 0] >= 0
            rows.append(torch.where(kept, score[chosen[row, 0].clamp_min(0).long()], torch.zeros((), dtype=q.dtype)))
        return torch.stack(rows).unsqueeze(1)

    lengths = {}
    if layout == "TND":
        lengths = {"actual_seq_lengths_query": torch.tensor([queries]).int().npu(),
                   "actual_seq_lengths_key": torch.tensor([keys]).int().npu()}  # fmt: skip
    shaped = [(x if layout == "TND" else x.unsqueeze(0)).npu() for x in (q, k, grad, chosen, weights)]
    got = torch.ops.npu.npu_lightning_indexer_grad(*shaped, layout=layout, sparse_mode=3, **lengths)
    for one, want in zip(got, gradients(formula, q, k, weights, grad=grad), strict=True):
        close(one.cpu(), want, 5e-2)


class Learning:
    """Queries and keys of an attention and of its indexer, of one sequence, and the loss as a formula."""

    queries, keys, heads, index_heads, depth, rope, scale = 6, 10, 4, 2, 16, 8, 0.25

    def __init__(self) -> None:
        self.q, self.k = real(6, 4, 16, dtype=BF16), real(10, 1, 16, seed=1, dtype=BF16)
        self.q_rope, self.k_rope = real(6, 4, 8, seed=2, dtype=BF16), real(10, 1, 8, seed=3, dtype=BF16)
        self.index = (
            (real(6, 2, 16, seed=4) / 2).to(BF16), (real(10, 1, 16, seed=5) / 2).to(BF16),
            real(6, 2, seed=6, dtype=BF16),
        )  # fmt: skip

    def hidden(self, chosen: torch.Tensor | None) -> torch.Tensor:
        late = torch.ones(6, 10, dtype=torch.bool).triu(5)
        if chosen is None:
            return late
        kept = torch.zeros(6, 11, dtype=torch.bool)
        for row in range(6):
            kept[row, chosen[row, 0].long()] = True  # -1: the last column
        return late | ~kept[:, :10]

    def attention(self, chosen: torch.Tensor | None) -> torch.Tensor:
        q, k = torch.cat([self.q, self.q_rope], -1).double(), torch.cat([self.k, self.k_rope], -1).double()
        score = torch.einsum("qhd,kd->hqk", q, k[:, 0]) * self.scale
        return score.masked_fill(self.hidden(chosen), -torch.inf)

    def scores(self, q, k, weights, chosen) -> torch.Tensor:
        product = torch.einsum("qhd,kd->qhk", q, k[:, 0]).relu()
        return (product * weights[..., None]).sum(1).masked_fill(self.hidden(chosen), -torch.inf)

    def loss(self, q, k, weights, chosen=None) -> torch.Tensor:
        target = self.attention(chosen).softmax(-1).mean(0)
        guess = self.scores(q, k, weights, chosen).softmax(-1)
        return torch.where(target > 0, target * ((target + 1e-300).log() - (guess + 1e-300).log()), 0 * target).sum()

    def statistics(self, chosen=None) -> list[torch.Tensor]:
        score = self.attention(chosen)
        top = score.amax(-1)
        return [x.t().float()[None] for x in (top, (score - top[..., None]).exp().sum(-1))]  # (1, queries, heads)

    def check(self, got: list[torch.Tensor], chosen=None) -> None:
        one = torch.ones((), dtype=torch.float64)
        wants = gradients(lambda *x: self.loss(*x, chosen), *self.index, grad=one)
        for mine, want in zip(got[:3], wants, strict=True):
            close(mine.cpu(), want, 3e-2)
        close(got[3].cpu(), self.loss(*(x.double() for x in self.index), chosen), 1e-2)


@pytest.mark.parametrize("layout", ["BSND", "TND"])
def test_the_loss_over_all_keys(layout: str) -> None:
    case = Learning()
    lengths = {"actual_seq_qlen": [6], "actual_seq_klen": [10]} if layout == "TND" else {}

    def shaped(x: torch.Tensor) -> torch.Tensor:
        return (x if layout == "TND" else x.unsqueeze(0)).npu()

    index = [shaped(x) for x in case.index]
    largest, total = torch_npu.npu_dense_lightning_indexer_softmax_lse(*index, layout=layout, **lengths)
    score = case.scores(*(x.double() for x in case.index), None)
    close(largest.cpu().flatten(), score.amax(-1), 1e-2)
    close(total.cpu().flatten(), (score - score.amax(-1, keepdim=True)).exp().sum(-1), 1e-2)
    got = torch_npu.npu_dense_lightning_indexer_grad_kl_loss(
        shaped(case.q), shaped(case.k), *index, *(shaped(x) for x in case.statistics()), largest, total, case.scale,
        query_rope=shaped(case.q_rope), key_rope=shaped(case.k_rope), layout=layout, pre_tokens=65536,
        next_tokens=65536, **lengths,
    )  # fmt: skip
    case.check(got)  # a band wider than any sequence is none
    with pytest.raises(RuntimeError, match="sparse_mode 0; allowed: 3"):
        torch_npu.npu_dense_lightning_indexer_softmax_lse(*index, layout=layout, sparse_mode=0, **lengths)


@pytest.mark.parametrize("layout", ["BSND", "TND"])
def test_the_loss_over_chosen_keys(layout: str) -> None:
    case = Learning()
    chosen = torch.tensor(
        [[0, 3, -1], [4, 1, 2], [5, 0, -1], [2, 6, 3], [8, 1, 0], [9, 7, 4]], dtype=torch.int32
    )[:, None]  # fmt: skip
    lengths = {"actual_seq_qlen": [6], "actual_seq_klen": [10]} if layout == "TND" else {}

    def shaped(x: torch.Tensor) -> torch.Tensor:
        return (x if layout == "TND" else x.unsqueeze(0)).npu()

    got = torch_npu.npu_sparse_lightning_indexer_grad_kl_loss(
        shaped(case.q), shaped(case.k), *(shaped(x) for x in case.index), shaped(chosen),
        *(shaped(x) for x in case.statistics(chosen)), case.scale, query_rope=shaped(case.q_rope),
        key_rope=shaped(case.k_rope), layout=layout, **lengths,
    )  # fmt: skip
    case.check(got, chosen)


# ---- masks of blocks -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", ["BNSD", "TND"])
def test_a_mask_of_blocks(layout: str) -> None:
    heads, key_heads, depth, scale, lengths, keys, block = 4, 2, 16, 0.25, [40, 25], [300, 140], [16, 128]
    if layout == "BNSD":
        lengths, keys = [40, 40], [300, 300]
    q, grad = ([real(heads, n, depth, seed=s + n, dtype=HALF) for n in lengths] for s in (0, 9))
    k, v = ([real(key_heads, n, depth, seed=s + i, dtype=HALF) for i, n in enumerate(keys)] for s in (3, 6))
    mask = (torch.rand(2, heads, 3, 3, generator=torch.Generator().manual_seed(1)) > 0.4).to(torch.int8)
    mask[:, :, :, 0] = 1

    def score(item: int, q, k):
        seen = mask[item].repeat_interleave(block[0], 1).repeat_interleave(block[1], 2)[:, : q.shape[1], : k.shape[1]]
        product = q @ k.repeat_interleave(heads // key_heads, 0).transpose(1, 2) * scale
        return product.masked_fill(seen == 0, -torch.inf)

    def formula(item: int):
        return lambda q, k, v: score(item, q, k).softmax(-1) @ v.repeat_interleave(heads // key_heads, 0)

    def joined(parts: list[torch.Tensor]) -> torch.Tensor:
        return (torch.stack(parts) if layout == "BNSD" else torch.cat(parts, 1).transpose(0, 1)).contiguous()

    wants = [gradients(formula(item), q[item], k[item], v[item], grad=grad[item]) for item in range(2)]
    both = [lengths, keys] if layout == "TND" else [None, None]
    leaves = [joined(x) for x in (q, k, v)]
    out = torch.zeros_like(leaves[0])
    log_sum = torch.zeros(*out.shape[:-1], 1)
    aclnn(
        "aclnnBlockSparseAttention", *leaves, mask, None, block, *both, None, layout, layout, key_heads, 0, scale, 0, 0,
        2**31 - 1, 2**31 - 1, 1, out, log_sum,
    )  # fmt: skip
    close(out, joined([formula(i)(q[i].double(), k[i].double(), v[i].double()) for i in range(2)]), 1e-2)
    logs = [score(i, q[i].double(), k[i].double()).logsumexp(-1, keepdim=True) for i in range(2)]
    close(log_sum, joined(logs), 1e-2)
    got = [torch.zeros_like(x) for x in leaves]
    aclnn(
        "aclnnBlockSparseAttentionGrad", joined(grad), *leaves, out, log_sum, mask.bool(), None, block, *both,
        layout, layout, key_heads, 0, scale, 2**31 - 1, 2**31 - 1, *got,
    )  # fmt: skip
    for i, mine in enumerate(got):
        close(mine, joined([want[i] for want in wants]), 2e-2)
    for shape, precision, message in [
        ([16, 64], 0, "blockShapeY 64; allowed: multiples of 128"),
        ([16, 128, 1], 0, "two numbers are expected"),
        ([16, 128], 2, "innerPrecise is 2; .* allows 0, 1, 4 "),
    ]:
        with pytest.raises(Refused, match=message):
            aclnn(
                "aclnnBlockSparseAttention", *leaves, mask, None, shape, *both, None, layout, layout, key_heads, 0,
                scale, precision, 0, 2**31 - 1, 2**31 - 1, 0, out, None,
            )  # fmt: skip


# ---- Floyd's ---------------------------------------------------------------------------------------------------------
def test_floyd_attention() -> None:
    b, h, i, k, j, d, scale = 1, 2, 16, 128, 128, 32, 0.2
    query, grad = real(b, h, i, k, d, dtype=HALF), real(b, h, i, k, d, seed=1, dtype=HALF)
    first = [real(b, h, i, j, d, seed=2 + n, dtype=HALF) for n in range(2)]
    second = [real(b, h, j, k, d, seed=4 + n, dtype=HALF) for n in range(2)]
    mask = torch.rand(b, 1, i, 1, j, generator=torch.Generator().manual_seed(0)) < 0.3

    def scores(query, first_key, second_key):
        score = torch.einsum("bhikd,bhijd->bhikj", query, first_key) + torch.einsum(
            "bhikd,bhjkd->bhikj", query, second_key
        )
        return (score * scale).masked_fill(mask, -torch.inf)

    def formula(query, first_key, first_value, second_key, second_value):
        weight = scores(query, first_key, second_key).softmax(-1)
        return torch.einsum("bhikj,bhijd->bhikd", weight, first_value) + torch.einsum(
            "bhikj,bhjkd->bhikd", weight, second_value
        )

    inputs = [query, *first, *second]
    leaves = [x.npu().requires_grad_() for x in inputs]
    top, total, out = torch_npu.npu_fused_floyd_attention(*leaves, atten_mask=mask.npu(), scale_value=scale)
    close(out.cpu(), formula(*(x.double() for x in inputs)), 1e-2)
    score = scores(query.double(), first[0].double(), second[0].double())
    close(top.cpu()[..., 0], score.amax(-1), 1e-2)
    close(total.cpu()[..., 7], (score - score.amax(-1, keepdim=True)).exp().sum(-1), 1e-2)
    out.backward(grad.npu())
    for leaf, want in zip(leaves, gradients(formula, *inputs, grad=grad), strict=True):
        close(leaf.grad.cpu(), want, 3e-2)
    with pytest.raises(RuntimeError, match="expected"):
        torch_npu.npu_fused_floyd_attention(
            leaves[0], leaves[1], leaves[2], leaves[3][:, :, :64], leaves[4][:, :, :64], scale_value=scale
        )
