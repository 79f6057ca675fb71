"""A function of a later version gives what the earlier one gives, where the pages say no other difference."""

from __future__ import annotations

import torch
from interfaces import aclnn
from torch import Tensor

FAR = 1 << 30
QUERY, KEY, VALUE, GRAD = (torch.randn(5, 2, 16, generator=torch.Generator().manual_seed(n)).half() for n in range(4))
ENDS = [2, 5]


def forward(version: str, *more: object) -> list[Tensor]:
    top, total = (torch.zeros(5, 2, 8) for _ in range(2))
    out = torch.zeros_like(QUERY)
    starts = (None, None) if version else ()
    aclnn(
        f"aclnnFlashAttentionVarLenScore{version}", QUERY, KEY, VALUE, *[None] * 5, ENDS, ENDS, *starts, 0.25, 1.0, FAR,
        FAR, 2, "TND", 0, 0, *more, top, total, None, out,
    )  # fmt: skip
    return [top, total, out]


def backward(version: str, *more: object) -> list[Tensor]:
    top, total, out = forward("")
    gradients = [torch.zeros_like(QUERY) for _ in range(3)]
    starts = (None, None) if version else ()
    aclnn(
        f"aclnnFlashAttentionUnpaddingScoreGrad{version}", QUERY, KEY, VALUE, GRAD, *[None] * 4, top, total, None, out,
        None, ENDS, ENDS, *starts, 0.25, 1.0, FAR, FAR, 2, "TND", 0, 0, *more, *gradients, None,
    )  # fmt: skip
    return gradients


def inference(version: int) -> list[Tensor]:
    q, k, v = (one.unsqueeze(0).flatten(2) for one in (QUERY, KEY, VALUE))
    out, log_sum = torch.zeros_like(q), torch.zeros(1, 2, 5, 1)
    rotary = [None, None, None] if version == 3 else []
    aclnn(
        f"aclnnFusedInferAttentionScoreV{version}", q, [k], [v], None, None, [5], [5], *[None] * 14 + [None] * 2, None,
        *rotary, 2, 0.25, FAR, FAR, "BSH", 0, 0, 0, 0, 0, True, 0, 0, out, log_sum,
    )  # fmt: skip
    return [out, log_sum]


def same(one: list[Tensor], other: list[Tensor]) -> None:
    assert all(torch.equal(a, b) and a.abs().sum() > 0 for a, b in zip(one, other, strict=True))


def test_attention_of_sequences() -> None:
    same(forward(""), forward("V2", 1))
    same(backward(""), backward("V2", 1))


def test_inference_attention() -> None:
    same(inference(3), inference(2))


def test_dynamic_quantization() -> None:
    x, kept = torch.randn(4, 16, generator=torch.Generator().manual_seed(4)).half(), []
    for name, more in (("V2", ()), ("V3", (False, "pertoken")), ("V4", (False, "pertoken", 0.0))):
        out, scale, offset = torch.zeros(4, 16, dtype=torch.int8), torch.zeros(4), torch.zeros(4)
        aclnn(f"aclnnDynamicQuant{name}", x, None, None, 2, *more, out, scale, offset)
        kept.append([out, scale, offset])
    same(kept[0], kept[1])
    same(kept[0], kept[2])
