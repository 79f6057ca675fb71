"""Causal convolutions: against sums in float64, token by token."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from interfaces import Refused, aclnn
from values import close, gradients, real

BF16 = torch.bfloat16


def masked(x: torch.Tensor, weight: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    rows = []
    for s in range(x.shape[0]):
        row = sum(weight[k] * x[s - 2 + k] for k in range(3) if s - 2 + k >= 0)
        rows.append(row if mask is None else row * mask[:, s, None])
    return torch.stack(rows)


@pytest.mark.parametrize("with_mask", [True, False])
@pytest.mark.parametrize("dtype", [torch.float16, BF16], ids=str)
def test_of_whole_sequences(dtype: torch.dtype, with_mask: bool) -> None:
    x, weight, grad = real(6, 2, 16, dtype=dtype), real(3, 16, seed=1, dtype=dtype), real(6, 2, 16, seed=2, dtype=dtype)
    mask = real(2, 6, seed=3) > -0.3 if with_mask else None
    got = torch_npu.npu_masked_causal_conv1d(x.npu(), weight.npu(), mask=None if mask is None else mask.npu())
    close(got.cpu(), masked(x.double(), weight.double(), mask), 2e-2)
    backs = torch_npu.npu_masked_causal_conv1d_backward(
        grad.npu(), x.npu(), weight.npu(), mask=None if mask is None else mask.npu()
    )
    for back, want in zip(backs, gradients(lambda x, w: masked(x, w, mask), x, weight, grad=grad), strict=True):
        assert back.dtype == dtype
        close(back.cpu(), want, 2e-2)
    with pytest.raises(Refused, match="561002"):
        aclnn("aclnnMaskedCausalConv1d", x, weight[:2], mask, torch.zeros_like(x))
    with pytest.raises(Refused, match="561002"):
        aclnn("aclnnMaskedCausalConv1d", x, weight, torch.ones(6, 2, dtype=torch.bool), torch.zeros_like(x))


def token_by_token(before: list[torch.Tensor], now: torch.Tensor, weight: torch.Tensor) -> list[torch.Tensor]:
    """`before`: at least the two tokens that came before."""
    seen = [*before, *now]
    return [sum(weight[k] * seen[len(before) + t - 2 + k] for k in range(3)) for t in range(len(now))]


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("residual", [0, 1])
def test_sequences_with_what_came_before(residual: int, inplace: bool) -> None:
    """The first is new, the second continues, the third has a line that is left out, the fourth is one token."""
    lengths, dim, starts = [5, 3, 2, 1], 16, ints(0, 5, 8, 10, 11)
    x, weight, states = real(11, dim, dtype=BF16), real(3, dim, seed=1, dtype=BF16), real(6, 2, dim, seed=2, dtype=BF16)
    lines, computed = ints(3, 0, 5, 1), ints(0, 4, 9, 1)
    on_npu, kept = x.npu(), states.npu()
    options = {
        "query_start_loc": starts.npu(), "cache_indices": lines.npu(), "num_computed_tokens": computed.npu(),
        "residual_connection": residual, "pad_slot_id": 5, "conv_mode": "pangu", "max_query_len": 9,
    }  # fmt: skip
    if inplace:
        torch_npu.npu_fused_causal_conv1d_v2(on_npu, weight.npu(), kept, **options)
        got = on_npu.cpu()
    else:
        got = torch_npu.npu_fused_causal_conv1d(on_npu, weight.npu(), kept, **options).cpu()
        assert torch.equal(on_npu.cpu(), x)
    want = states.clone()
    for item, length in enumerate(lengths):
        if item == 2:
            if inplace:
                assert torch.equal(got[8:10], x[8:10])
            continue
        start, line = int(starts[item]), int(lines[item])
        now = x[start : start + length]
        before = [torch.zeros(dim, dtype=BF16)] * 2 if item == 0 else list(states[line])
        rows = token_by_token([one.double() for one in before], now.double(), weight.double())
        rows = [torch.zeros(dim) if t < 2 - int(computed[item]) else row for t, row in enumerate(rows)]
        close(got[start : start + length], torch.stack(rows) + residual * now.double(), 2e-2)
        want[line] = torch.stack([*before, *now])[-2:]
    assert torch.equal(kept.cpu(), want)


def test_guessed_tokens() -> None:
    """Of the tokens that were guessed in the last call so many were accepted: the others are forgotten."""
    dim, accepted = 16, [1, 3]
    x, weight = real(2, 3, dim, dtype=BF16), real(3, dim, seed=1, dtype=BF16)
    states = real(2, 4, dim, seed=2, dtype=BF16)
    kept = states.npu()
    got = torch_npu.npu_fused_causal_conv1d(x.npu(), weight.npu(), kept, num_accepted_tokens=ints(*accepted).npu())
    for item, count in enumerate(accepted):
        before = list(states[item, : count + 1])
        want = token_by_token([one.double() for one in before], x[item].double(), weight.double())
        close(got[item].cpu(), torch.stack(want), 2e-2)
        assert torch.equal(kept[item].cpu(), torch.stack([*before, *x[item]])[-4:])


def test_prefixes_that_are_kept() -> None:
    """Blocks of four tokens. Six were computed: the sequence goes on in its second block, fills it and the third."""
    dim, block = 16, 4
    x, weight, states = real(7, dim, dtype=BF16), real(3, dim, seed=1, dtype=BF16), real(8, 2, dim, seed=2, dtype=BF16)
    lines, kept = ints(6, 2, 7, 4)[None], states.npu()
    got = torch_npu.npu_fused_causal_conv1d(
        x.npu(), weight.npu(), kept, query_start_loc=ints(0, 7).npu(), cache_indices=lines.npu(),
        num_computed_tokens=ints(6).npu(), block_idx_first_scheduled_token=ints(1).npu(),
        block_idx_last_scheduled_token=ints(3).npu(), initial_state_idx=ints(1).npu(), block_size=block,
    )  # fmt: skip
    before = list(states[2])
    close(got.cpu(), torch.stack(token_by_token([a.double() for a in before], x.double(), weight.double())), 2e-2)
    want = states.clone()
    want[2], want[7] = x[0:2], x[4:6]  # what comes before the tokens 8 and 12, which begin the next blocks
    want[4] = x[5:7]
    assert torch.equal(kept.cpu(), want)


def test_what_does_not_fit_is_refused() -> None:
    dim = 16
    x, weight, states = real(4, dim, dtype=BF16), real(3, dim, seed=1, dtype=BF16), real(3, 2, dim, seed=2, dtype=BF16)

    def call(x=x, weight=weight, starts=None, lines=None, accepted=None, computed=None, last=None, mode=0) -> None:
        out = torch.zeros_like(x)
        aclnn(
            "aclnnFusedCausalConv1d", x, weight, states.clone(), starts, lines, None, None, accepted, computed, None,
            last, None, 0, -1, 0, -1, 0, 128, mode, out,
        )  # fmt: skip

    call(starts=ints(0, 1, 4))
    for arguments, message in (
        ({}, "need queryStartLoc"),
        ({"starts": ints(0, 4), "weight": weight[:2]}, "561002"),
        ({"starts": ints(0, 4), "mode": 1}, "convMode 1 needs numComputedTokens"),
        ({"starts": ints(0, 4), "mode": 2}, "convMode 2; allowed: 0, 1"),
        ({"starts": ints(0, 4), "lines": ints(0)[None]}, "cacheIndices of blocks need"),
        ({"starts": ints(0, 4), "last": ints(0)}, "needs cacheIndices of blocks"),
        ({"starts": ints(0, 4), "computed": ints(0, 1)}, "for 1 sequences"),
        ({"starts": ints(0, 4), "x": x.float()}, "561002"),
        ({"starts": ints(0, 9)}, "507"),
        ({"starts": ints(0, 4), "lines": ints(3)}, "507"),
        ({"starts": ints(0, 4), "accepted": ints(3)}, "507"),
    ):
        with pytest.raises(Refused, match=message):
            call(**arguments)
