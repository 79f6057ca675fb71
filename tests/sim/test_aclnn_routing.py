"""Experts of tokens: the choice, the rows in the order of the experts, their results together; row by row in Python."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from interfaces import Pairs, Refused, aclnn, rules_of

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def first(values: list[float], count: int) -> list[int]:
    """The places of the largest; of equal ones the first comes first."""
    return sorted(range(len(values)), key=lambda place: -values[place])[:count]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("norm", ["softmax", "sigmoid"])
@pytest.mark.parametrize(("kept", "groups", "mode"), [(1, 1, 0), (2, 4, 0), (2, 4, 1)])
@pytest.mark.parametrize("biased", [True, False])
def test_gating(dtype: torch.dtype, norm: str, kept: int, groups: int, mode: int, biased: bool) -> None:
    torch.manual_seed(0)
    x, bias, k = torch.randn(5, 12).to(dtype), torch.randn(12).to(dtype), 4
    x[1] = 0  # ties: the first experts of the first groups
    bias[6:] = bias[:6]
    got, experts, norms = torch_npu.npu_moe_gating_top_k(
        x.npu(),
        k,
        bias=bias.npu() if biased else None,
        k_group=kept,
        group_count=groups,
        group_select_mode=mode,
        norm_type=int(norm == "sigmoid"),
        out_flag=True,
        routed_scaling_factor=2.5,
    )
    weights = x.float().sigmoid() if norm == "sigmoid" else x.float().softmax(-1)
    torch.testing.assert_close(norms.cpu(), weights, rtol=1e-6, atol=1e-6)
    size = 12 // groups
    for row in range(5):
        rank = (weights[row] + bias.float() if biased else weights[row]).tolist()
        parts = [sorted(rank[group * size : (group + 1) * size], reverse=True) for group in range(groups)]
        best = first([part[0] if mode == 0 else part[0] + part[1] for part in parts], kept)
        allowed = [value if place // size in best else float("-inf") for place, value in enumerate(rank)]
        chosen = first(allowed, k)
        assert experts[row].tolist() == chosen
        value = weights[row][chosen]
        value = 2.5 * (value / value.sum() if norm == "sigmoid" else value)
        torch.testing.assert_close(got[row].cpu().float(), value, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(5, 8), (2, 3, 8)], ids=str)
def test_gating_by_softmax(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x, done, k = torch.randn(shape).to(dtype), torch.rand(shape[:-1]) > 0.5, 3
    x.reshape(-1, 8)[0] = 1  # ties
    rows = x.reshape(-1, 8).float()
    chosen = torch.tensor([first(row, k) for row in rows.tolist()])
    want_experts = torch.where(done.reshape(-1, 1), 8, chosen).reshape(*shape[:-1], k)
    close = {"rtol": 1e-2, "atol": 1e-3} if dtype != torch.float32 else {"rtol": 1e-5, "atol": 1e-6}

    got, experts, places = torch_npu.npu_moe_gating_top_k_softmax(x.npu(), done.npu(), k)
    value = rows.softmax(-1).gather(1, chosen).reshape(got.shape)
    torch.testing.assert_close(got.cpu(), value.to(dtype), **close)
    assert torch.equal(experts.cpu().long(), want_experts)
    assert places.cpu().reshape(-1, k).t().flatten().tolist() == list(range(len(rows) * k))

    got, experts, everything = torch_npu.npu_moe_gating_top_k_softmax_v2(
        x.npu(), k=k, finished=done.npu(), output_softmax=True
    )
    torch.testing.assert_close(got.cpu(), value.to(dtype), **close)
    torch.testing.assert_close(everything.cpu(), x.float().softmax(-1), rtol=1e-5, atol=1e-6)
    got, experts, nothing = torch_npu.npu_moe_gating_top_k_softmax_v2(x.npu(), k=k, renorm=1)
    value = rows.gather(1, chosen).softmax(-1).reshape(got.shape)
    torch.testing.assert_close(got.cpu(), value.to(dtype), **close)
    assert experts.cpu().reshape(-1, k).tolist() == chosen.tolist() and nothing.numel() == 0


def test_ends_of_experts() -> None:
    got = torch_npu.npu_moe_compute_expert_tokens(torch.tensor([0, 0, 2, 2, 2, 5], dtype=torch.int32).npu(), 5)
    assert got.tolist() == [2, 2, 5, 5, 5] and got.dtype == torch.int32


@pytest.mark.parametrize("active", [2, 4, 9])
def test_first_form(active: int) -> None:
    torch.manual_seed(0)
    x, experts = torch.randn(4, 6), torch.tensor([[2, 0], [0, 1], [2, 2], [1, 0]], dtype=torch.int32)
    places = torch.arange(8, dtype=torch.int32).reshape(2, 4).t().contiguous()
    rows, to, sorted_experts = torch_npu.npu_moe_init_routing(x.npu(), places.npu(), experts.npu(), active)
    order = [choice for expert in range(3) for choice in range(8) if experts.flatten()[choice] == expert]
    assert sorted_experts.tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    from_place = [int(places.flatten()[choice]) for choice in order]
    assert torch.equal(rows.cpu(), x[[place % 4 for place in from_place[: min(active, 4) * 2]]])
    assert [to.tolist()[place] for place in from_place] == list(range(8))


EXPERTS = [[5, 0, 2], [2, 2, 7], [0, 5, 2], [3, 2, 0]]  # of four tokens; 1, 4 and 6 have none


INT4, FLOAT4 = 29, 40  # codes of numbers of 4 bits


def ordered(low: int, high: int) -> list[int]:
    """The choices of experts in a range, by expert."""
    flat = [expert for row in EXPERTS for expert in row]
    return [choice for expert in range(low, high) for choice in range(12) if flat[choice] == expert]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mode", [-1, 0, 1], ids=["as it is", "static", "dynamic"])
@pytest.mark.parametrize("part", [[0, 8], [2, 6]], ids=["all experts", "some experts"])
def test_rows_by_expert(dtype: torch.dtype, mode: int, part: list[int]) -> None:
    torch.manual_seed(0)
    x, experts = torch.randn(4, 8).to(dtype), torch.tensor(EXPERTS, dtype=torch.int32)
    scale = [torch.rand(4), torch.tensor([20.0]), torch.rand(part[1] - part[0], 8) + 0.5][mode + 1]
    offset = torch.tensor([3.0]).npu() if mode == 0 else None
    order, flat = ordered(*part), experts.flatten().tolist()
    counts = [flat.count(expert) for expert in range(*part)]
    for by_row, kind in ((0, 0), (1, 1), (0, 2)):
        rows, places, tokens, factors = torch_npu.npu_moe_init_routing_v2(
            x.npu(),
            experts.npu(),
            scale=scale.npu(),
            offset=offset,
            active_num=12,
            expert_num=8,
            drop_pad_mode=0,
            expert_tokens_num_type=kind,
            expert_tokens_num_flag=True,
            quant_mode=mode,
            active_expert_range=part,
            row_idx_type=by_row,
        )
        rows, places, tokens, factors = (each.cpu() for each in (rows, places, tokens, factors))
        if by_row:
            assert places[: len(order)].tolist() == order
        else:
            assert places.tolist() == [order.index(choice) if choice in order else -1 for choice in range(12)]
        if kind == 2:
            pairs = [[expert, flat.count(expert)] for expert in range(*part) if expert in flat]
            assert tokens.tolist() == pairs + [[0, 0]] * (8 - len(pairs))
        else:
            assert tokens.tolist() == (torch.tensor(counts).cumsum(0).tolist() if kind == 0 else counts)
        value = x[[choice // 3 for choice in order]].float()
        if mode == -1:
            assert torch.equal(rows[: len(order)].float(), value)
            assert torch.equal(factors[: len(order)], scale[[choice // 3 for choice in order]])
            continue
        value = value * scale[[flat[choice] - part[0] for choice in order]] if mode else value * scale + 3
        if mode:
            factor = value.abs().amax(-1) / 127
            torch.testing.assert_close(factors[: len(order)], factor, rtol=1e-5, atol=0)
            value = value / factor.unsqueeze(-1)
        assert (rows[: len(order)] - value.clamp(-128, 127)).abs().max() <= 0.5 + 1e-3


def test_rows_of_4_bits() -> None:
    torch.manual_seed(0)
    experts, order = torch.tensor(EXPERTS, dtype=torch.int32), ordered(0, 8)
    scale, rows, factors = torch.rand(1, 8) + 0.5, torch.zeros(12, 4, dtype=torch.uint8), torch.zeros(12)
    places, counts = torch.zeros(12, dtype=torch.int32), torch.zeros(8, dtype=torch.int64)
    outs = Pairs(rows, INT4), places, counts, factors
    tail = (0, -1, 8, 0, 1, True, 13, [0, 8], 0)
    for x, smooth in ((torch.randn(4, 8), scale), (torch.randn(4, 8).bfloat16(), None)):
        with rules_of("Ascend950"):
            aclnn("aclnnMoeInitRoutingV3", x, experts, smooth, None, *tail, *outs)
        value = x[[choice // 3 for choice in order]].double() * (1 if smooth is None else smooth.double())
        torch.testing.assert_close(factors.double(), value.abs().amax(-1) / 7, rtol=1e-5, atol=0)
        numbers = torch.stack([rows & 15, rows >> 4], -1).flatten(1).to(torch.int8)
        numbers = torch.where(numbers > 7, numbers - 16, numbers)
        assert (numbers - value / factors.double()[:, None]).abs().max() <= 0.5 + 1e-3
    for x, offset, pad, message in [
        (torch.randn(4, 8).half(), None, 0, "x"),
        (torch.randn(4, 8), torch.zeros(1), 0, "offset is not simulated"),
        (torch.randn(4, 8), None, 1, "drop_pad_mode"),
    ]:
        with pytest.raises(Refused, match=message), rules_of("Ascend950"):
            aclnn("aclnnMoeInitRoutingV3", x, experts, None, offset, 0, 2, 8, pad, *tail[4:], *outs)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, "pairs"], ids=str)
def test_rows_and_scales_of_8_bits_are_only_moved(dtype: torch.dtype | str) -> None:
    torch.manual_seed(0)
    experts, order = torch.tensor(EXPERTS, dtype=torch.int32), ordered(2, 6)
    raw, scale = (torch.randint(0, 256, shape, dtype=torch.uint8) for shape in ((4, 8), (4, 1, 2)))
    rows, factors = torch.zeros(12, 8, dtype=torch.uint8), torch.zeros(12, 1, 2, dtype=torch.uint8)
    x, out = ((Pairs(each, FLOAT4) if dtype == "pairs" else each.view(dtype)) for each in (raw, rows))
    places, counts = torch.zeros(12, dtype=torch.int32), torch.zeros(4, dtype=torch.int64)
    with rules_of("Ascend950"):
        aclnn(
            "aclnnMoeInitRoutingV3", x, experts, scale.view(torch.float8_e8m0fnu), None, 0, -1, 8, 0, 1, True, -1,
            [2, 6], 0, out, places, counts, factors.view(torch.float8_e8m0fnu),
        )  # fmt: skip
    from_tokens = [choice // 3 for choice in order]
    assert torch.equal(rows[: len(order)], raw[from_tokens]) and torch.equal(factors[: len(order)], scale[from_tokens])


@pytest.mark.parametrize("mode", [-1, 1], ids=["as it is", "dynamic"])
def test_capacity(mode: int) -> None:
    torch.manual_seed(0)
    x, experts = torch.randn(4, 8), torch.tensor(EXPERTS, dtype=torch.int32)
    flat = experts.flatten().tolist()
    rows, places, tokens, factors = torch_npu.npu_moe_init_routing_v2(
        x.npu(),
        experts.npu(),
        active_num=12,
        expert_capacity=2,
        expert_num=8,
        drop_pad_mode=1,
        expert_tokens_num_type=1,
        expert_tokens_num_flag=True,
        quant_mode=mode,
        active_expert_range=[0, 8],
        row_idx_type=0,
    )
    want, to = torch.zeros(8, 2, 8), []
    for choice, expert in enumerate(flat):
        before = flat[:choice].count(expert)
        to.append(expert * 2 + before if before < 2 else -1)
        if before < 2:
            want[expert, before] = x[choice // 3]
    assert places.tolist() == to and to.count(-1) == 4
    assert tokens.tolist() == [flat.count(expert) for expert in range(8)]
    if mode == -1:
        assert torch.equal(rows.cpu(), want)
    else:
        factor = want.abs().amax(-1) / 127
        torch.testing.assert_close(factors.cpu().reshape(8, 2), factor, rtol=1e-5, atol=0)
        assert (rows.cpu() - want / factor.clamp_min(1e-9).unsqueeze(-1)).abs().max() <= 0.5 + 1e-3


@pytest.mark.parametrize("active", [0, 5])
def test_quantized_rows_of_the_earlier_form(active: int) -> None:
    torch.manual_seed(0)
    x, experts = torch.randn(4, 8).half(), torch.tensor(EXPERTS, dtype=torch.int32)
    rows, places, ends, before, factors = torch_npu.npu_moe_init_routing_quant(
        x.npu(), experts.npu(), active_num=active, expert_num=8, expert_tokens_num_mode=1, quant_mode=1
    )
    order = ordered(0, 8)
    count = active or 12
    value = x[[choice // 3 for choice in order[:count]]].float()
    factor = value.abs().amax(-1) / 127
    assert rows.shape == (count, 8) and before is None
    torch.testing.assert_close(factors.cpu(), factor, rtol=1e-5, atol=0)
    assert (rows.cpu() - value / factor.unsqueeze(-1)).abs().max() <= 0.5 + 1e-3
    assert [places.tolist()[choice] for choice in order] == list(range(12))
    assert ends.tolist() == [sum(expert <= last for row in EXPERTS for expert in row) for last in range(8)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("full", [True, False])
def test_results_together(dtype: torch.dtype, mode: int, full: bool) -> None:
    torch.manual_seed(0)
    tokens, k, width = 5, 3, 6
    rows = torch.randn(tokens * k, width).to(dtype)
    if mode % 2:
        rows = rows.reshape(3, tokens, width)  # experts with a capacity
    places = torch.randperm(tokens * k).int()
    if mode % 2:
        places[[1, 7]] = -1  # dropped
    scales, experts = torch.rand(tokens, k).to(dtype), torch.randint(0, 4, (tokens, k)).int()
    bias, skips = torch.randn(4, width).to(dtype), torch.randn(2, tokens, width).to(dtype)
    extra = [skips[0], skips[1], bias] if full else [None, None, None]
    got = torch_npu.npu_moe_finalize_routing(
        rows.npu(),
        *(each if each is None else each.npu() for each in extra),
        scales.npu(),
        places.npu(),
        experts.npu(),
        mode,
    )
    flat = rows.reshape(-1, width).double()
    for token in range(tokens):
        want = skips[:, token].double().sum(0) if full else torch.zeros(width).double()
        for choice in range(k):
            place = int(places[token * k + choice if mode >= 2 else choice * tokens + token])
            value = flat[place] if place >= 0 else torch.zeros(width).double()
            value = value + (bias[experts[token, choice]].double() if full else 0)
            want = want + scales[token, choice].double() * value
        close = 1e-5 if dtype == torch.float32 else 2e-2
        torch.testing.assert_close(got[token].cpu().double(), want, rtol=close, atol=close)


@pytest.mark.parametrize("mode", [0, 2])
def test_results_together_without_scales(mode: int) -> None:
    tokens, k, width = 5, 3, 8
    torch.manual_seed(mode)
    rows, places = torch.randn(tokens * k, width), torch.randperm(tokens * k).int()
    place = places.reshape(tokens, k) if mode else places.reshape(k, tokens).t()
    want = rows.double()[place.long()].sum(1)
    got = torch_npu.npu_moe_finalize_routing(rows.npu(), None, None, None, None, places.npu(), None, mode, k)
    torch.testing.assert_close(got.cpu().double(), want, rtol=1e-5, atol=1e-5)
    out, nothing = torch.empty(tokens, width), [None] * 4
    aclnn(
        "aclnnMoeFinalizeRoutingV4",
        rows, places, None, None, None, None, None, *nothing, mode, [], [], [], k, out,
    )  # fmt: skip
    torch.testing.assert_close(out.double(), want, rtol=1e-5, atol=1e-5)
    for special, ranges, message in [
        ([rows, None, None, None], [[], [], []], "a tensor behind expertIdx"),
        (nothing, [[0, 1], [], []], "the size of a range of experts"),
    ]:
        with pytest.raises(Refused, match=message):
            aclnn(
                "aclnnMoeFinalizeRoutingV4",
                rows, places, None, None, None, None, None, *special, mode, *ranges, k, out,
            )  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("norm", ["softmax", "sigmoid"])
def test_gating_by_a_table(dtype: torch.dtype, norm: str) -> None:
    torch.manual_seed(0)
    x, table = torch.randn(5, 12).to(dtype), torch.stack([torch.randperm(12)[:3] for _ in range(7)]).int()
    numbers = torch.tensor([6, 0, 3, 3, 1])
    weights = x.double().sigmoid() if norm == "sigmoid" else x.double().softmax(-1)
    chosen = table[numbers].long()
    want = weights.gather(1, chosen)
    want = 2.5 * (want / want.sum(1, keepdim=True) if norm == "sigmoid" else want)
    close, kind = 1e-5 if dtype == torch.float32 else 1e-2, int(norm == "sigmoid")
    got, experts, norms = torch_npu.npu_moe_gating_top_k(
        x.npu(), 3, input_ids=numbers.npu(), tid2eid=table.npu(), norm_type=kind, out_flag=True,
        routed_scaling_factor=2.5,
    )  # fmt: skip
    assert torch.equal(experts.cpu().long(), chosen)
    torch.testing.assert_close(got.cpu().double(), want, rtol=close, atol=close)
    torch.testing.assert_close(norms.cpu().double(), weights, rtol=1e-5, atol=1e-5)
    outs = torch.empty(5, 3, dtype=dtype), torch.empty(5, 3, dtype=torch.int32), torch.empty(5, 12)
    rest = (3, 1, 1, 0, 0, kind, True, 2.5, 1e-20, *outs)
    aclnn("aclnnMoeGatingTopKV2", x, None, numbers, table, *rest)
    torch.testing.assert_close(outs[0].double(), want, rtol=close, atol=close)
    aclnn("aclnnMoeGatingTopKV2", x, None, None, None, *rest)  # without them as before
    assert torch.equal(outs[1].long(), weights.topk(3).indices)
    for given, message in [
        ((numbers, None), "go together"),
        ((numbers, table[:, :2].contiguous()), "tid2eid .numbers, 3. expected"),
        ((numbers + 1, table), "inputIds beyond 7 rows"),
        ((numbers, table + 6), "others than 12 experts"),
    ]:
        with pytest.raises(Refused, match=message):
            aclnn("aclnnMoeGatingTopKV2", x, None, *given, *rest)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("mode", [0, 1])
def test_copies_of_experts(dtype: torch.dtype, mode: int) -> None:
    torch.manual_seed(mode)
    ranks, rank, tokens, k, experts = 8, 5, 6, 3, 10
    copies = torch.randint(1, 5, (experts, 1))
    table = torch.cat([copies, torch.randint(0, 40, (experts, 4))], 1).int()
    ids = torch.randint(0, experts, (tokens, k)).to(dtype)
    scales, threshold = torch.rand(tokens, k).sort(1, descending=True).values, torch.rand(k) * 0.6
    active = torch.arange(tokens) < 4
    want = torch.empty(tokens, k, dtype=dtype)
    kept = torch.zeros(tokens, k, dtype=torch.bool)
    for token in range(tokens):
        for choice in range(k):
            row = table[ids[token, choice]].tolist()
            turn = rank // -(-ranks // row[0]) if mode == 0 else token % row[0]
            want[token, choice] = row[1 + turn]
            kept[token, choice] = active[token] and scales[token, choice] >= threshold[choice] * scales[token].sum()
    got, got_kept = torch_npu.npu_moe_update_expert(
        ids.npu(), table.npu(), expert_scales=scales.npu(), pruning_threshold=threshold.npu(),
        active_mask=active.npu(), local_rank_id=rank, world_size=ranks, balance_mode=mode,
    )  # fmt: skip
    assert torch.equal(got.cpu(), want) and torch.equal(got_kept.cpu(), kept)
    out, mask = torch.empty_like(ids), torch.empty(tokens, k, dtype=torch.bool)
    aclnn("aclnnMoeUpdateExpert", ids, table, None, None, None, rank, ranks, mode, out, mask)
    assert torch.equal(out, want)
    for arguments, message in [
        ((ids, table, None, None, None, rank, ranks, 2, out, mask), "balanceMode 2"),
        ((ids, table, scales, None, None, rank, ranks, mode, out, mask), "go together"),
        ((ids, table, None, None, active, rank, ranks, mode, out, mask), "activeMask needs"),
        ((ids + 10, table, None, None, None, rank, ranks, mode, out, mask), "expertIds beyond 10 experts"),
        ((ids, table + 5, None, None, None, rank, ranks, mode, out, mask), "number of copies"),
        ((ids, table, None, None, None, 8, 8, 0, out, mask), "localRankId 8 of worldSize 8"),
    ]:
        with pytest.raises(Refused, match=message):
            aclnn("aclnnMoeUpdateExpert", *arguments)


@pytest.mark.parametrize("dtype", [*DTYPES, torch.int8, torch.float8_e5m2], ids=str)
def test_from_ranks_to_experts(dtype: torch.dtype) -> None:
    counts = torch.tensor([[2, 0, 1], [1, 3, 0]])
    tokens = torch.arange(14.0).reshape(7, 2).to(dtype)
    rows, scales, places, totals = torch_npu.npu_moe_re_routing(
        tokens.npu(), counts.npu(), per_token_scales=torch.arange(7.0).npu()
    )
    want = [0, 1, 3, 4, 5, 6, 2]  # rank 0 sent rows 0, 1 and 2, rank 1 the others
    assert places.tolist() == want and totals.tolist() == [3, 3, 1]
    assert torch.equal(rows.cpu().float(), tokens.float()[want]) and scales.tolist() == want


# ---- small fused steps -----------------------------------------------------------------------------------------------
@pytest.mark.torch_npu("2.13", "it has no npu_ring_attention_update")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", ["SBH", "TND"])
def test_attention_in_two_parts(dtype: torch.dtype, layout: str) -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, length, 16).double() for length in (4, 6, 6))  # batch, heads, sequence
    if layout == "TND":
        query, key, value = query[:1], key[:1], value[:1]

    def attend(part: slice) -> list[torch.Tensor]:
        scores = query @ key[:, :, part].transpose(2, 3)
        top = scores.amax(-1)
        total = (scores - top.unsqueeze(-1)).exp().sum(-1)
        out = scores.softmax(-1) @ value[:, :, part]
        if layout == "SBH":
            return [out.permute(2, 0, 1, 3).flatten(2), top, total]
        return [out[0].transpose(0, 1), top[0].t(), total[0].t()]

    def on_device(part: slice) -> list[torch.Tensor]:
        out, *rest = attend(part)
        return [out.to(dtype).npu(), *(each.float().unsqueeze(-1).repeat_interleave(8, -1).npu() for each in rest)]

    length = torch.tensor([4]).npu() if layout == "TND" else None
    got = torch_npu.npu_ring_attention_update(
        *on_device(slice(0, 2)),
        *on_device(slice(2, 6)),
        actual_seq_qlen=length,
        input_layout=layout,
        input_softmax_layout=layout,
    )
    out, *rest = attend(slice(0, 6))
    close = 1e-5 if dtype == torch.float32 else 1e-2
    torch.testing.assert_close(got[0].cpu().double(), out, rtol=close, atol=close)
    for result, want in zip(got[1:], rest, strict=True):
        torch.testing.assert_close(result.cpu().double(), want.unsqueeze(-1).expand(result.shape), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_attention_to_selected_blocks(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    size, count, group = 4, 2, 3  # keys of a block, blocks of a token, heads of a key head
    query, key, value = (torch.randn(n, heads, 8).to(dtype) for n, heads in ((5, 2 * group), (28, 2), (28, 2)))
    chosen = torch.stack([torch.randperm(3)[:count] for _ in range(10)]).reshape(5, 2, count).int()
    ends, key_ends = [2, 5], [12, 28]
    out, top, total = torch_npu.npu_nsa_select_attention(
        query.npu(),
        key.npu(),
        value.npu(),
        chosen.npu(),
        0.5,
        2 * group,
        size,
        count,
        actual_seq_qlen=ends,
        actual_seq_kvlen=key_ends,
    )
    for token in range(5):
        first = 0 if token < 2 else 12
        for head in range(2 * group):
            rows = [first + int(block) * size + i for block in chosen[token, head // group] for i in range(size)]
            scores = 0.5 * key[rows, head // group].double() @ query[token, head].double()
            want = scores.softmax(0) @ value[rows, head // group].double()
            torch.testing.assert_close(out[token, head].cpu().double(), want, rtol=2e-2, atol=2e-2)
            torch.testing.assert_close(top[token, head].cpu().double(), scores.max().expand(8), rtol=1e-4, atol=1e-4)
            want = (scores - scores.max()).exp().sum().expand(8)
            torch.testing.assert_close(total[token, head].cpu().double(), want, rtol=1e-4, atol=1e-4)


def test_softmax_with_position_bias() -> None:
    torch.manual_seed(0)
    scores, mask, bias = torch.randn(2, 3, 4, 5, 5), torch.randn(1, 3, 1, 5, 5), torch.randn(1, 1, 4, 5, 5)
    want = (scores * 0.5 + mask + bias).softmax(-1)
    got = torch_npu.npu_masked_softmax_with_rel_pos_bias(scores.npu(), mask.npu(), bias.npu(), 0.5)
    torch.testing.assert_close(got.cpu(), want, rtol=1e-5, atol=1e-6)
    got = torch_npu.npu_masked_softmax_with_rel_pos_bias(scores.npu(), None, bias.npu())
    torch.testing.assert_close(got.cpu(), (scores + bias).softmax(-1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1.7])
def test_group_norm_with_swish_and_its_gradients(scale: float) -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(2, 6, 3, 5), torch.rand(6) + 0.5, torch.randn(6)]
    there, here = ([each.to(to).requires_grad_() for each in inputs] for to in ("npu", "cpu"))
    got, *_ = torch_npu.npu_group_norm_swish(there[0], 3, there[1], there[2], swish_scale=scale)
    norm = torch.nn.functional.group_norm(here[0], 3, here[1], here[2])
    want = norm * torch.sigmoid(scale * norm)
    weight = torch.randn(want.shape)
    got.backward(weight.npu())
    want.backward(weight)
    for moved, kept in ((got, want), *((a.grad, b.grad) for a, b in zip(there, here, strict=True))):
        torch.testing.assert_close(moved.detach().cpu(), kept.detach(), rtol=1e-4, atol=1e-4)


def test_rows_by_sparse_index() -> None:
    table, places = torch.randn(5, 3), torch.tensor([[4, 0], [4, 2]])
    there = table.npu().requires_grad_()
    got = torch_npu.npu_gather_sparse_index(there, places.npu())
    assert torch.equal(got.detach().cpu(), table[places])
    torch_npu.npu_gather_sparse_index(there, places.flatten().npu()).sum().backward()
    assert there.grad.sum(1).tolist() == [3, 0, 3, 0, 6]
