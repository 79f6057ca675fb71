"""Tokens in the order of their experts and back, against the formula with index_select; gradients by autograd."""

from __future__ import annotations

import pytest
import torch
import torch_npu

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
