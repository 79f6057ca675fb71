"""Run by test_hccl.py in each rank: products of matrices and experts over several devices, against float64."""

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch_npu

sys.path.insert(0, str(Path(__file__).parents[1]))
from interfaces import Refused, aclnn, libraries, rules_of

RANK = int(os.environ["RANK"])
RANKS = int(os.environ["WORLD_SIZE"])
ROWS, INNER, COLUMNS = 3 * RANKS, 256, 8 * RANKS
TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 4e-2}


def real(*shape: int, seed: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def whole(*shape: int, seed: int, low: int = -8, high: int = 8) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(torch.int8)


def near(got: torch.Tensor, want: torch.Tensor) -> None:
    close = TOLERANCE.get(got.dtype, 1e-5)
    torch.testing.assert_close(got.cpu().double(), want, rtol=close, atol=close * INNER**0.5)


def refused(call, message: str) -> None:
    try:
        call()
        torch.npu.synchronize()
    except RuntimeError as error:
        assert message in str(error), error
    else:
        raise AssertionError(f"not refused: {message}")


def products(group: str) -> None:
    for dtype in TOLERANCE:
        x = [real(ROWS, INNER, seed=rank, dtype=dtype) for rank in range(RANKS)]
        w = [real(INNER, COLUMNS, seed=10 + rank, dtype=dtype) for rank in range(RANKS)]
        bias = [real(COLUMNS, seed=20 + rank, dtype=dtype) for rank in range(RANKS)]
        rest = [real(ROWS, COLUMNS, seed=30 + rank, dtype=dtype) for rank in range(RANKS)]
        own = (x[RANK].npu(), w[RANK].npu())
        part = [x[rank].double() @ w[rank].double() for rank in range(RANKS)]
        near(torch_npu.npu_mm_all_reduce_base(*own, group), sum(part))
        near(torch_npu.npu_mm_all_reduce_base(*own, group, comm_mode="ai_cpu"), sum(part))
        with_both = sum(part) + sum(each.double() for each in bias) + sum(each.double() for each in rest)
        got = torch_npu.npu_mm_all_reduce_base(*own, group, bias=bias[RANK].npu(), x3=rest[RANK].npu())
        near(got, with_both)
        batch = torch_npu.npu_mm_all_reduce_base(own[0].reshape(3, -1, INNER), own[1], group)
        near(batch.reshape(ROWS, -1), sum(part))
        share = slice(RANK * ROWS // RANKS, (RANK + 1) * ROWS // RANKS)
        near(torch_npu.npu_mm_reduce_scatter_base(*own, group, RANKS), sum(part)[share])
        turned = w[RANK].t().contiguous().npu().t()
        near(torch_npu.npu_mm_reduce_scatter_base(own[0], turned, group, RANKS), sum(part)[share])
        got, gathered = torch_npu.npu_all_gather_base_mm(*own, group, RANKS)
        assert torch.equal(gathered.cpu(), torch.cat(x))
        near(got, torch.cat(x).double() @ w[RANK].double())


def quantized_products(group: str) -> None:
    x = [whole(ROWS, INNER, seed=rank) for rank in range(RANKS)]
    w = [whole(INNER, COLUMNS, seed=10 + rank) for rank in range(RANKS)]
    scale = [real(COLUMNS, seed=20 + rank).abs().to(torch.bfloat16) * 0.1 for rank in range(RANKS)]
    row_scale = [real(ROWS, seed=30 + rank, dtype=torch.float32).abs() for rank in range(RANKS)]
    own = (x[RANK].npu(), w[RANK].npu())
    part = [x[rank].double() @ w[rank].double() * scale[rank].double() for rank in range(RANKS)]
    near(torch_npu.npu_mm_all_reduce_base(*own, group, dequant_scale=scale[RANK].npu()), sum(part))
    scaled = [part[rank] * row_scale[rank].double()[:, None] for rank in range(RANKS)]
    scales = {"dequant_scale": scale[RANK].npu(), "pertoken_scale": row_scale[RANK].npu()}
    near(torch_npu.npu_mm_all_reduce_base(*own, group, **scales), sum(scaled))
    near(torch_npu.npu_mm_all_reduce_base(*own, group, **scales, comm_mode="ai_cpu"), sum(scaled))
    encoded = torch_npu.npu_trans_quant_param(scale[RANK].float().npu())
    got = torch_npu.npu_mm_all_reduce_base(*own, group, dequant_scale=encoded)
    assert got.dtype == torch.float16
    near(got, sum(part))

    # Sent in 8 bits: rounded once to the first scale, and the sum of that once to the second.
    first, second = (torch.full((COLUMNS,), value, dtype=torch.bfloat16) for value in (0.5, 0.75))
    got = torch_npu.npu_mm_all_reduce_base(
        *own, group, **scales, comm_quant_scale_1=first.npu(), comm_quant_scale_2=second.npu()
    )
    rounded = [(each / 0.5).round().clamp(-128, 127) for each in scaled]
    want = (sum(rounded) * (0.5 / 0.75)).round().clamp(-128, 127) * 0.75
    # bfloat16 before it is sent moves what lies between two steps by one: of each device, and of the sum.
    assert (got.cpu().double() - want).abs().max() <= 0.5 * (RANKS + 1) + 0.75
    assert (got.cpu().double() - want).abs().mean() < 0.2
    assert torch.equal(got.cpu(), (got.cpu().double() / 0.75).round().mul(0.75).to(got.dtype))

    w8 = whole(INNER, COLUMNS, seed=40 + RANK)
    antiquant, offset = real(COLUMNS, seed=50).abs(), real(COLUMNS, seed=51)
    floats = [real(ROWS, INNER, seed=60 + rank) for rank in range(RANKS)]
    weights = [(whole(INNER, COLUMNS, seed=40 + rank).double() + offset.double()) * antiquant.double()
               for rank in range(RANKS)]  # fmt: skip
    want = sum(floats[rank].double() @ weights[rank] for rank in range(RANKS))
    for mode in (None, "ccu"):
        got = torch_npu.npu_mm_all_reduce_base(
            floats[RANK].npu(), w8.npu(), group, antiquant_scale=antiquant.npu(), antiquant_offset=offset.npu(),
            comm_mode=mode,
        )  # fmt: skip
        torch.testing.assert_close(got.cpu().double(), want, rtol=1e-2, atol=0.5)

    near_scales = {
        "x1_scale": row_scale[RANK].reshape(-1, 1).npu(),
        "x2_scale": scale[RANK].float().reshape(1, -1).npu(),
    }
    share = slice(RANK * ROWS // RANKS, (RANK + 1) * ROWS // RANKS)
    near(torch_npu.npu_mm_reduce_scatter_base(*own, group, RANKS, comm_mode="aiv", **near_scales), sum(scaled)[share])
    got, gathered = torch_npu.npu_all_gather_base_mm(*own, group, RANKS, comm_mode="aiv", **near_scales)
    assert torch.equal(gathered.cpu(), torch.cat(x))
    want = torch.cat(x).double() @ w[RANK].double() * scale[RANK].double() * torch.cat(row_scale).double()[:, None]
    near(got, want)


def normed_products(group: str) -> None:
    """The sum of the products, a residual, and the norm of both; in place the residual is the sum."""
    gamma, eps = real(COLUMNS, seed=60), 1e-5
    residual = real(1, ROWS, COLUMNS, seed=61)
    halves = [(real(ROWS, INNER, seed=rank) / 16, real(INNER, COLUMNS, seed=10 + rank)) for rank in range(RANKS)]
    steps = [(whole(ROWS, INNER, seed=rank), whole(INNER, COLUMNS, seed=10 + rank)) for rank in range(RANKS)]
    scale = torch.full((COLUMNS,), 1 / 256)
    encoded = scale.view(torch.int32).to(torch.int64)
    weight_scale = scale.half()
    for kind, factors, behind, group_size in (
        ("", halves, (), ()),
        ("Quant", steps, (encoded,), ()),
        ("WeightQuant", [(x, w) for (x, _), (_, w) in zip(halves, steps, strict=True)], (weight_scale, None), (0,)),
    ):
        factor = 1 if not kind else 1 / 256
        exact = sum(x.double() @ w.double() for x, w in factors) * factor + residual[0].double()
        norm = exact / (exact.pow(2).mean(-1, keepdim=True) + eps).sqrt() * gamma.double()
        for place in ("", "Inplace"):
            total, normal = residual.clone(), torch.empty_like(residual)
            out = (torch.empty_like(residual),) if not place else ()
            given = (*factors[RANK], None, *behind, total, gamma, eps, group, "sum", 0, 1, *group_size)
            aclnn(f"aclnn{place}{kind}MatmulAllReduceAddRmsNorm", *given, *out, normal)
            near((out[0] if out else total)[0], exact)
            near(normal[0], norm)
    try:
        outs = torch.empty_like(residual), torch.empty_like(residual)
        wrong = gamma[1:].clone()
        aclnn("aclnnMatmulAllReduceAddRmsNorm", *halves[RANK], None, residual, wrong, eps, group, "sum", 0, 1, *outs)
    except Refused as error:
        assert "161002" in str(error)
    else:
        raise AssertionError("a gamma of another size is taken")


def mistakes(group: str) -> None:
    x, w = real(ROWS, INNER, seed=0).npu(), real(INNER, COLUMNS, seed=1).npu()
    refused(lambda: torch_npu.npu_mm_all_reduce_base(x, w, "nowhere"), "there is no group 'nowhere'")
    refused(lambda: torch_npu.npu_mm_all_reduce_base(x, w, group, reduce_op="max"), "reduceOp 'max'; allowed: sum")
    refused(lambda: torch_npu.npu_all_gather_base_mm(x, w, group, RANKS, gather_index=1), "gatherIndex 1")
    short = (x[:, :128], w[:128])
    refused(lambda: torch_npu.npu_mm_reduce_scatter_base(*short, group, RANKS), "k of 128; allowed: 256 to 65534")
    refused(lambda: torch_npu.npu_mm_all_reduce_base(x, w, group, comm_mode="wire"), "commMode 'wire'; allowed")


def routing(tokens: int, k: int, experts: int, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(100 + rank)
    ids = torch.stack([torch.randperm(experts, generator=generator)[:k] for _ in range(tokens)]).int()
    return ids, torch.rand(tokens, k, generator=generator)


def with_norm(combined: torch.Tensor, given: tuple, weights: torch.Tensor, where: dict) -> None:
    """The same, added to a residual, and the root mean square's norm of the sum."""
    rest, gamma = (real(*sizes, seed=60 + RANK, dtype=torch.bfloat16) for sizes in ((len(combined), 1, 1024), (1024,)))
    got, rstd, total = torch_npu.npu_moe_distribute_combine_add_rms_norm(
        *given, rest.npu(), gamma.npu(), expand_scales=weights, norm_eps=1e-3, **where
    )
    want = combined.double()[:, None] + rest.double()
    root = (want.square().mean(-1, keepdim=True) + 1e-3).rsqrt()
    torch.testing.assert_close(total.cpu().double(), want, rtol=2e-2, atol=2e-2)
    torch.testing.assert_close(rstd.cpu().double(), root, rtol=2e-2, atol=2e-2)
    torch.testing.assert_close(got.cpu().double(), want * root * gamma.double(), rtol=3e-2, atol=3e-2)


def experts_there_and_back(group: str, *, second: bool, quantized: bool = False, shared: int = 0, masked: bool = False):
    """Each expert multiplies its rows by its number and one; the shared one by 100."""
    width, tokens, k, experts = 1024, 5, 2, 2 * (RANKS - shared)
    here = 1 if shared > RANK else 2
    x = [real(tokens, width, seed=rank, dtype=torch.bfloat16) for rank in range(RANKS)]
    routed = [routing(tokens, k, experts, rank) for rank in range(RANKS)]
    active = [torch.arange(tokens) < (3 if masked else tokens) for rank in range(RANKS)]
    smooth = real(experts + bool(shared), width, seed=5, dtype=torch.float32).abs() + 0.5
    where = {
        "group_ep": group, "ep_world_size": RANKS, "ep_rank_id": RANK, "moe_expert_num": experts,
        "shared_expert_num": 1, "shared_expert_rank_num": shared,
    }  # fmt: skip
    mask = {"x_active_mask": active[RANK].npu()} if masked else {}
    there = torch_npu.npu_moe_distribute_dispatch_v2 if second else torch_npu.npu_moe_distribute_dispatch
    rows, row_scale, sources, counts, ends, _tp_ends, weights = there(
        x[RANK].npu(), routed[RANK][0].npu(), expert_token_nums_type=1, quant_mode=2 if quantized else 0,
        scales=smooth.npu() if quantized else None, **where, **mask,
    )  # fmt: skip

    mine, numbers = [], []  # the rows that this device must get, and the experts' numbers
    for local in range(here):
        number = -1 if shared > RANK else (RANK - shared) * 2 + local
        numbers.append(0)
        for rank in range(RANKS):
            for token in range(tokens):
                chosen = rank % max(shared, 1) == RANK if number < 0 else number in routed[rank][0][token].tolist()
                if chosen and active[rank][token]:
                    mine.append((x[rank][token], number))
                    numbers[-1] += 1
    assert counts.tolist() == numbers, (counts, numbers)
    want = torch.stack([row.double() for row, _ in mine])
    got = rows.cpu()[: len(mine)]
    if quantized:
        smoothed = want * smooth[[number + bool(shared) for _, number in mine]].double()
        scale = smoothed.abs().amax(1) / 127
        torch.testing.assert_close(row_scale.cpu()[: len(mine)].double(), scale, rtol=1e-5, atol=0)
        assert (got.double() - smoothed / scale[:, None]).abs().max() <= 0.5 + 1e-3
        return
    assert torch.equal(got.double(), want)

    factor = torch.tensor([100 if number < 0 else number + 1 for _, number in mine]).to(torch.bfloat16)
    results = torch.zeros_like(rows)
    results[: len(mine)] = (got * factor[:, None]).npu()
    back = torch_npu.npu_moe_distribute_combine_v2 if second else torch_npu.npu_moe_distribute_combine
    given = (results, routed[RANK][0].npu(), sources, ends, routed[RANK][1].npu())
    out = back(*given, expand_scales=weights, **where, **mask).cpu()
    if second and not shared:
        with_norm(out, given, weights, where | mask)
    ids, shares = routed[RANK]
    product = (x[RANK][:, None] * (ids + 1)[..., None].to(torch.bfloat16)).double() * shares.double()[..., None]
    want = (product.sum(1) + (x[RANK] * 100).double() * bool(shared)) * active[RANK][:, None]
    torch.testing.assert_close(out.double(), want, rtol=1e-2, atol=1e-2)


def experts(group: str) -> None:
    experts_there_and_back(group, second=False)
    experts_there_and_back(group, second=True)
    experts_there_and_back(group, second=False, quantized=True)
    experts_there_and_back(group, second=True, quantized=True)
    experts_there_and_back(group, second=True, masked=True)
    x, ids = real(4, 64, seed=0).npu(), torch.zeros(4, 1, dtype=torch.int32).npu()
    call = torch_npu.npu_moe_distribute_dispatch_v2
    refused(lambda: call(x, ids, group, RANKS, RANK, 2 * RANKS, tp_world_size=2), "tpWorldSize 2 is not simulated")
    refused(lambda: call(x, ids, group, RANKS, RANK, 2 * RANKS + 1), f"moeExpertNum {2 * RANKS + 1} on")
    refused(lambda: call(x, ids, group, RANKS + 1, RANK, 2 * RANKS + 2), f"epWorldSize {RANKS + 1}")


def barrier(group: str) -> None:
    """What the first device did before it, the others see behind it."""
    x, store = torch.ones(3).npu(), dist.distributed_c10d._get_default_store()
    if RANK == 0:
        time.sleep(0.2)
        store.set("came", "yes")
    torch_npu._npu_distribute_barrier(x, group, RANKS)
    torch.npu.synchronize()
    assert store.check(["came"])
    assert torch.equal(x.cpu(), torch.ones(3))
    refused(lambda: torch_npu._npu_distribute_barrier(x, group, RANKS + 1), f"worldSize {RANKS + 1} for a group of")
    patience = torch.ones(1, dtype=torch.int32).npu()
    refused(lambda: torch_npu._npu_distribute_barrier(x, group, RANKS, time_out=patience), "timeOut")


def shared_expert(group: str) -> None:
    experts_there_and_back(group, second=True, shared=1)
    experts_there_and_back(group, second=True, shared=1, quantized=True)
    experts_there_and_back(group, second=False, shared=1)


def rows_and_columns(group: str) -> None:
    x = [real(ROWS, INNER, seed=rank) for rank in range(RANKS)]
    w = real(INNER * RANKS, COLUMNS, seed=10 + RANK)
    got, rows = torch_npu.npu_all_to_all_matmul(x[RANK].npu(), w.npu(), group, RANKS)
    share = slice(RANK * ROWS // RANKS, (RANK + 1) * ROWS // RANKS)
    own = torch.cat([each[share] for each in x], 1)
    assert torch.equal(rows.cpu(), own)
    near(got, own.double() @ w.double())
    w = [real(INNER, COLUMNS, seed=10 + rank) for rank in range(RANKS)]
    bias = real(COLUMNS, seed=20)
    got = torch_npu.npu_matmul_all_to_all(x[RANK].npu(), w[RANK].npu(), group, RANKS, bias=bias.npu())
    columns = slice(RANK * COLUMNS // RANKS, (RANK + 1) * COLUMNS // RANKS)
    want = torch.cat([(x[rank].double() @ w[rank].double() + bias.double())[:, columns] for rank in range(RANKS)])
    near(got, want)
    near(torch_npu.npu_matmul_all_to_all(x[RANK].npu(), w[RANK].npu(), group, RANKS, bias.npu(), comm_mode="ccu"), want)
    w = real(INNER * RANKS, COLUMNS, seed=10 + RANK)
    got, rows = torch_npu.npu_all_to_all_matmul(x[RANK].npu(), w.npu(), group, RANKS, comm_mode="ai_cpu")
    assert torch.equal(rows.cpu(), own)
    near(got, own.double() @ w.double())


def _of_float8(group: str) -> None:
    e4m3 = torch.float8_e4m3fn
    x = [real(ROWS, INNER, seed=rank) for rank in range(RANKS)]
    w, scale = real(INNER * RANKS, COLUMNS, seed=10 + RANK).to(e4m3), real(COLUMNS, seed=20, dtype=torch.float32)
    share = slice(RANK * ROWS // RANKS, (RANK + 1) * ROWS // RANKS)
    own, bias = torch.cat([each[share] for each in x], 1), real(COLUMNS, seed=30, dtype=torch.float32)
    factor = own.float().abs().amax(1, keepdim=True) / 448
    want = ((own.float() / factor).to(e4m3).double() @ w.double() + bias.double()) * factor.double() * scale.double()
    out, rows = torch.empty(len(own), COLUMNS), torch.empty_like(own)
    for name, engine in (("", ()), ("V2", ("ai_cpu",))):
        rest = ([-2, -1], 7, 2, 0, -1, 36, 0, False, False, out, rows)
        given = (x[RANK], w, bias, None, scale, None, None, None, group, *engine)
        aclnn(f"aclnnAlltoAllQuantMatmul{name}", *given, *rest)
        assert torch.equal(rows, own)
        torch.testing.assert_close(out.double(), want, rtol=1e-3, atol=1e-2)
    try:
        aclnn("aclnnAlltoAllQuantMatmul", *given[:9], [-2, -1], 6, 2, 0, -1, 36, 0, False, False, out, rows)
    except Refused as error:
        assert "x1QuantMode 6 is not simulated" in str(error)
    else:
        raise AssertionError("x1QuantMode 6 is not refused")

    x = [real(ROWS, INNER, seed=rank).to(e4m3) for rank in range(RANKS)]
    w = [real(INNER, COLUMNS, seed=40 + rank).to(e4m3) for rank in range(RANKS)]
    row_scale = [real(ROWS, seed=50 + rank, dtype=torch.float32) for rank in range(RANKS)]
    columns = slice(RANK * COLUMNS // RANKS, (RANK + 1) * COLUMNS // RANKS)
    part = [(x[rank].double() @ w[rank].double() + bias.double()) * row_scale[rank].double()[:, None] * scale.double()
            for rank in range(RANKS)]  # fmt: skip
    out = torch.empty(ROWS * RANKS, COLUMNS // RANKS)
    for name, engine in (("", ()), ("V2", ("ccu",))):
        given = (x[RANK], w[RANK], bias, row_scale[RANK], scale, None, None, None, [-1, -2], group, *engine)
        aclnn(f"aclnnQuantMatmulAlltoAll{name}", *given, 3, 2, 0, -1, 0, False, False, out)
        torch.testing.assert_close(out.double(), torch.cat([each[:, columns] for each in part]), rtol=1e-3, atol=1e-2)


def quantized_rows_and_columns(group: str) -> None:
    """FLOAT8: rows quantized when they came, and columns of a product by two scales."""
    with rules_of("Ascend950"):
        _of_float8(group)


def grouped_products(group: str) -> None:
    """Rows by device and expert; as many as 1 + (from + to + expert) % 3."""
    each = 2

    def rows(source: int, to: int, expert: int) -> torch.Tensor:
        return real(1 + (source + to + expert) % 3, INNER, seed=source * 100 + to * 10 + expert)

    def counts(pairs) -> list[int]:
        return [len(rows(source, to, expert)) for source, to in pairs for expert in range(each)]

    sent, received = counts((RANK, to) for to in range(RANKS)), counts((source, RANK) for source in range(RANKS))
    w = real(each, INNER, 8, seed=7)
    x = torch.cat([rows(RANK, to, expert) for to in range(RANKS) for expert in range(each)])
    shared, shared_w = real(4, INNER, seed=1), real(8, INNER, seed=2)
    got, shared_got, permuted = torch_npu.npu_alltoallv_gmm(
        x.npu(), w.npu(), group, RANKS, sent, received, mm_x=shared.npu(), mm_weight=shared_w.npu(),
        trans_mm_weight=True, permute_out_flag=True,
    )  # fmt: skip
    came = [torch.cat([rows(source, RANK, expert) for source in range(RANKS)]) for expert in range(each)]
    assert torch.equal(permuted.cpu(), torch.cat(came))
    try:  # in the first phase, of all ranks: the graph engine asks it for the shape
        narrow = torch.empty(sum(received), INNER - 1, dtype=x.dtype).npu()
        given = x.npu(), w.npu(), None, None, None, None, group, RANKS, sent, received, False, False, True
        aclnn("aclnnAlltoAllvGroupedMatMul", *given, torch.empty_like(got), None, narrow)
    except Refused as refused:
        assert f"expected [{sum(received)}, {INNER}]" in str(refused), refused
    else:
        raise AssertionError("rows of another size were taken")
    near(got, torch.cat([came[expert].double() @ w[expert].double() for expert in range(each)]))
    near(shared_got, shared.double() @ shared_w.double().t())

    turned = w.transpose(1, 2).contiguous()
    back, _ = torch_npu.npu_gmm_alltoallv(permuted, turned.npu(), group, RANKS, received, sent, trans_gmm_weight=True)
    want = [rows(RANK, to, expert).double() @ w[expert].double() for to in range(RANKS) for expert in range(each)]
    near(back, torch.cat(want))

    got, _, permuted = torch_npu.npu_alltoallv_gmm(
        x.npu(), w.npu(), group, RANKS, sent, received, permute_out_flag=True, comm_mode="ccu"
    )
    near(got, torch.cat([came[expert].double() @ w[expert].double() for expert in range(each)]))
    back, _ = torch_npu.npu_gmm_alltoallv(permuted, w.npu(), group, RANKS, received, sent, comm_mode="ai_cpu")
    near(back, torch.cat(want))


def powers(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(124, 130, shape, generator=generator).to(torch.uint8).view(torch.float8_e8m0fnu)


def in_full(pairs: torch.Tensor) -> torch.Tensor:
    """A factor for each number along k, from (…, k / 64, n, 2) to (…, k, n)."""
    both = 2 ** (pairs.view(torch.uint8).double() - 127)
    return both.transpose(-1, -2).flatten(-3, -2).repeat_interleave(32, -2)


def scaled_experts(group: str) -> None:
    """FLOAT8 with a scale for each 32 numbers, there and back, and a shared expert's product."""
    each, inner, columns, e4m3 = 2, 128, 8, torch.float8_e4m3fn

    def rows(source: int, to: int, expert: int) -> tuple[torch.Tensor, torch.Tensor]:
        count, seed = 1 + (source + to + expert) % 3, source * 100 + to * 10 + expert
        return real(count, inner, seed=seed).to(e4m3), powers(count, inner // 64, 2, seed=seed)

    def full(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return x.double() * in_full(scale.view(torch.uint8).transpose(0, 1)).t()

    def all_of(pairs) -> tuple[torch.Tensor, torch.Tensor]:
        both = [rows(*pair) for pair in pairs]
        x, scale = (torch.cat([one[i].view(torch.uint8) for one in both]) for i in (0, 1))
        return x.view(e4m3), scale.view(torch.float8_e8m0fnu)

    def counts(pairs) -> list[int]:
        return [len(rows(*pair)[0]) for pair in pairs]

    mine = [(RANK, to, expert) for to in range(RANKS) for expert in range(each)]
    theirs = [(source, RANK, expert) for source in range(RANKS) for expert in range(each)]
    by_expert = [(source, RANK, expert) for expert in range(each) for source in range(RANKS)]
    sent, received = counts(mine), counts(theirs)
    w, w_scale = real(each, inner, columns, seed=7).to(e4m3), powers(each, inner // 64, columns, 2, seed=8)
    weights = w.double() * in_full(w_scale)
    (x, x_scale), (came, came_scale) = all_of(mine), all_of(by_expert)
    shared, shared_scale = real(3, inner, seed=9).to(e4m3), powers(3, inner // 64, 2, seed=10)
    products = torch.cat([full(*rows(*pair)) @ weights[pair[2]] for pair in by_expert])
    shared_want = full(shared, shared_scale) @ weights[0]
    half, permuted = torch.bfloat16, torch.empty_like(came)
    out, shared_out = torch.empty(sum(received), columns, dtype=half), torch.empty(3, columns, dtype=half)
    beside = (shared, w[0].clone(), shared_scale, w_scale[0].clone())
    for name, engine in (("", ()), ("V2", ("ai_cpu",))):
        aclnn(
            f"aclnnAlltoAllvQuantGroupedMatMul{name}",
            x, w, x_scale, w_scale, None, None, *beside, 6, 6, 6, 6, group, *engine, RANKS, sent, received,
            False, False, 0, True, out, shared_out, permuted,
        )  # fmt: skip
        assert torch.equal(permuted.view(torch.uint8), came.view(torch.uint8))
        near(out, products)
        near(shared_out, shared_want)
    back = torch.empty(sum(sent), columns, dtype=half)
    want = torch.cat([full(*rows(*pair)) @ weights[pair[2]] for pair in mine])
    for name, engine in (("", ()), ("V2", ("ccu",))):
        aclnn(
            f"aclnnQuantGroupedMatMulAlltoAllv{name}",
            came, w, came_scale, w_scale, None, None, *beside, None, 6, 6, 6, 6, 0, -1, 0, group, *engine, RANKS,
            received, sent, False, False, back, shared_out,
        )  # fmt: skip
        near(back, want)
        near(shared_out, shared_want)


if __name__ == "__main__":
    libraries()[1].aclrtSetDevice(RANK)  # its own way is to device 0
    torch.npu.set_device(RANK)
    dist.init_process_group("hccl")
    name = dist.distributed_c10d._get_default_group()._get_backend(torch.device("npu")).get_hccl_comm_name(RANK)
    if os.environ["OPHOOK_SIM_SOC"].startswith("Ascend910B"):
        parts = [products, quantized_products, normed_products, mistakes, experts, barrier]
    elif RANKS == 8:
        parts = [grouped_products]
    else:
        parts = [rows_and_columns, quantized_rows_and_columns, scaled_experts, shared_expert]
    for part in parts:
        part(name)
        print(f"rank {RANK}: {part.__name__} passed", flush=True)
    dist.barrier()  # the store is in rank 0's process, and another rank may still ask it
    dist.destroy_process_group()
