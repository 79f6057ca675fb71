"""Tokens in the order of their experts and back, against the formula with index_select; gradients by autograd."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from interfaces import Refused, aclnn, rules_of

TOLERANCE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def permuted(tokens: torch.Tensor, experts: torch.Tensor, kept: int) -> tuple[torch.Tensor, torch.Tensor]:
    order = experts.flatten().argsort(stable=True)
    return tokens[order[:kept] // (experts.shape[1] if experts.dim() == 2 else 1)], order.argsort()


def unpermuted(rows: torch.Tensor, places: torch.Tensor, probs: torch.Tensor | None) -> torch.Tensor:
    dropped = rows.new_zeros(max(0, places.numel() - rows.shape[0]), rows.shape[1])
    each = torch.cat([rows, dropped])[places]
    if probs is None:
        return each
    return (each * probs.reshape(-1, 1)).reshape(*probs.shape, -1).sum(1)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("topk", [0, 1, 3])
@pytest.mark.parametrize("dropped", [0, 4])
def test_there_and_back(dtype: torch.dtype, topk: int, dropped: int) -> None:
    torch.manual_seed(0)
    count, width = 10, 6
    experts = torch.randint(0, 4, (count, topk) if topk else (count,))
    kept = experts.numel() - dropped
    tokens = torch.randn(count, width).to(dtype).float().requires_grad_()
    probs = torch.rand(count, topk).to(dtype).float().requires_grad_() if topk else None
    want, places = permuted(tokens, experts, kept)

    on_npu = tokens.detach().to(dtype).npu().requires_grad_()
    probs_npu = probs.detach().to(dtype).npu().requires_grad_() if topk else None
    got, places_npu = torch_npu.npu_moe_token_permute(on_npu, experts.npu(), num_out_tokens=kept)
    assert places_npu.dtype == torch.int32 and torch.equal(places_npu.cpu().long(), places)
    torch.testing.assert_close(got.cpu().float(), want, rtol=0, atol=0)

    back = torch_npu.npu_moe_token_unpermute(got, places_npu, probs=probs_npu)
    want_back = unpermuted(want, places, probs)
    close = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    torch.testing.assert_close(back.cpu().float(), want_back, **close)

    weight = torch.randn(want_back.shape).to(dtype)
    back.backward(weight.npu())
    want_back.backward(weight.float())
    torch.testing.assert_close(on_npu.grad.cpu().float(), tokens.grad, **close)
    if probs is not None:
        torch.testing.assert_close(probs_npu.grad.cpu().float(), probs.grad, **close)


def test_padded_mode_is_refused_by_name() -> None:
    tokens, experts = torch.randn(4, 3).npu(), torch.zeros(2, 2, dtype=torch.long).npu()
    with pytest.raises(RuntimeError, match=r"aclnnMoeTokenPermute: padded_mode is not simulated"):
        torch_npu.npu_moe_token_permute(tokens, experts, padded_mode=True)


def by_map(tokens: torch.Tensor, routing: torch.Tensor, probs: torch.Tensor, capacity: int):
    """Rows and their probabilities, expert by expert, and the token of each; a capacity fills up with other tokens."""
    rows, shares, owners = [], [], []
    for expert in range(routing.shape[1]):
        members = routing[:, expert].nonzero().flatten().tolist()
        if capacity:
            others = [token for token in range(len(tokens)) if token not in members]
            members = (members + others)[:capacity]
        owners += members
        rows += [tokens[token] for token in members]
        shares += [probs[token, expert] for token in members]
    return torch.stack(rows), torch.stack(shares), owners


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("capacity", [0, 2])
@pytest.mark.parametrize("weighted", [True, False])
def test_by_routing_map(dtype: torch.dtype, capacity: int, weighted: bool) -> None:
    torch.manual_seed(0)
    routing = torch.tensor([[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 0]], dtype=torch.bool)
    tokens = torch.randn(4, 6).to(dtype).float().requires_grad_()
    probs = torch.rand(4, 3).to(dtype).float().requires_grad_()
    there, probs_there = (each.detach().to(dtype).npu().requires_grad_() for each in (tokens, probs))
    padded = {"drop_and_pad": bool(capacity)}
    rows, shares, places = torch_npu.npu_moe_token_permute_with_routing_map(
        there, routing.npu(), probs=probs_there if weighted else None, num_out_tokens=3 * capacity or 8, **padded
    )
    want, want_shares, owners = by_map(tokens, routing, probs, capacity)
    torch.testing.assert_close(rows.cpu().float(), want, rtol=0, atol=0)
    order = owners if capacity else sorted(range(8), key=lambda row: owners[row])
    assert places.tolist() == order

    back = torch_npu.npu_moe_token_unpermute_with_routing_map(
        rows, places, [4, 6], probs=probs_there if weighted else None, routing_map=routing.npu(), **padded
    )
    weights = want_shares.unsqueeze(1) if weighted else torch.ones(len(owners), 1)
    want_back = torch.zeros(4, 6).index_add(0, torch.tensor(owners), want * weights)
    close = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    torch.testing.assert_close(back.cpu().float(), want_back, **close)

    upstream, to_shares = torch.randn(4, 6).to(dtype), torch.randn(len(owners)).to(dtype)
    loss, want_loss = (back * upstream.npu()).sum(), (want_back * upstream.float()).sum()
    if weighted:
        torch.testing.assert_close(shares.cpu().float(), want_shares, rtol=0, atol=0)
        loss, want_loss = loss + (shares * to_shares.npu()).sum(), want_loss + (want_shares * to_shares.float()).sum()
    loss.backward()
    want_loss.backward()
    close = {"rtol": 3 * TOLERANCE[dtype], "atol": 3 * TOLERANCE[dtype]}
    torch.testing.assert_close(there.grad.cpu().float(), tokens.grad, **close)
    if weighted:
        torch.testing.assert_close(probs_there.grad.cpu().float(), probs.grad, **close)


def test_tokens_of_several_experts_without_probabilities_on_an_ascend950() -> None:
    rows, places, out = torch.randn(6, 5), torch.tensor([3, 0, 5, 1, 2, 4], dtype=torch.int32), torch.zeros(2, 5)
    with rules_of("Ascend950"):
        aclnn("aclnnMoeTokenUnpermute", rows, places, None, False, None, out)
        torch.testing.assert_close(out, rows[places.long()].reshape(2, 3, 5).sum(1))
        back, probs = torch.zeros(6, 5), torch.zeros(6)
        aclnn("aclnnMoeTokenUnpermuteGrad", rows, out, places, None, False, None, back, probs)
        torch.testing.assert_close(back[places.long()], out.repeat_interleave(3, 0))
        tokens, experts = torch.randn(2, 5), torch.zeros(2, 3, dtype=torch.int32)
        for call, message in [
            ((tokens, experts, 6, False, torch.zeros(6, 5), None), "161001"),
            ((tokens, experts, 6, True, torch.zeros(6, 5), places), "161002: .*paddedMode is 1; .* allows 0 "),
            ((tokens, experts, 6, False, torch.zeros(6, 5).half(), places), "161002: .*data type FLOAT16"),
        ]:
            with pytest.raises(Refused, match=message):
                aclnn("aclnnMoeTokenPermute", *call)


@pytest.mark.parametrize(("restore", "probs", "refused"), [(None, True, ""), (None, False, "161001")])
def test_the_number_of_tokens_comes_from_the_probabilities(restore: None, probs: bool, refused: str) -> None:
    rows, places, maps = torch.randn(4, 6), torch.tensor([0, 1, 2, 3], dtype=torch.int32), torch.ones(2, 2).bool()
    outs = torch.zeros(2, 6), torch.zeros(4, dtype=torch.int32), torch.zeros(4, dtype=torch.int32), torch.zeros(4)
    given = torch.ones(2, 2) if probs else None
    call = "aclnnMoeTokenUnpermuteWithRoutingMap", rows, places, maps, given, False, restore, *outs
    if refused:
        with pytest.raises(Refused, match=refused):
            aclnn(*call)
        return
    aclnn(*call)
    torch.testing.assert_close(outs[0], rows[::2] + rows[1::2])
