"""Formulas of torch_npu's operators for mixtures of experts: the choice, tokens there and back, products by group.

Arguments are those of the operators' schemas; results have the dtype of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ophook_npu.observe.references.arguments import refuse, wide
from ophook_npu.observe.references.results import Unspecified

Tensor = torch.Tensor


# ---- tokens in the order of their experts, and back ------------------------------------------------------------------
def _token_permute(
    tokens: Tensor, indices: Tensor, num_out_tokens: int | None = None, padded_mode: bool = False
) -> tuple[Tensor, Tensor]:
    refuse(padded_mode=padded_mode or None)
    order = indices.flatten().argsort(stable=True)
    choices = 1 if indices.dim() == 1 else indices.shape[-1]
    kept = order[:num_out_tokens] if num_out_tokens else order
    return tokens[kept // choices], order.argsort().to(torch.int32)


def _in_order(permuted: Tensor, sorted_indices: Tensor) -> Tensor:
    """Row i is the permuted row of choice i, or zero if it was dropped."""
    rows = sorted_indices.long()
    kept = rows < permuted.shape[0]
    return permuted[rows.masked_fill(~kept, 0)] * kept.unsqueeze(1)


def _token_permute_grad_v2(
    grad_permuted_tokens: Tensor, sorted_indices: Tensor, tokens_size_0: int, tokens_dtype: torch.dtype,
    num_topK: int, padded_mode: bool = False,
) -> Tensor:  # fmt: skip
    refuse(padded_mode=padded_mode or None)
    each = _in_order(wide(grad_permuted_tokens), sorted_indices)
    return each.reshape(tokens_size_0, num_topK, -1).sum(1).to(grad_permuted_tokens.dtype)


def _token_unpermute(
    permuted_tokens: Tensor, sorted_indices: Tensor, probs: Tensor | None = None, padded_mode: bool = False,
    restore_shape: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    refuse(padded_mode=padded_mode or None)
    each = _in_order(wide(permuted_tokens), sorted_indices)
    if probs is None:
        return each.to(permuted_tokens.dtype)
    each = each.reshape(probs.shape[0], -1, each.shape[-1]) * wide(probs).reshape(probs.shape[0], -1, 1)
    return each.sum(1).to(permuted_tokens.dtype)


def _token_unpermute_with_copy(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
    return _token_unpermute(*args, **kwargs), Unspecified("what is kept for the backward is not documented")


def _token_unpermute_grad_v2(
    grad_unpermuted_tokens: Tensor, sorted_indices: Tensor, permuted_tokens_size_0: int,
    permuted_tokens_dtype: torch.dtype, probs: Tensor | None = None, padded_mode: bool = False,
    restore_shape: Sequence[int] | None = None, permuted_tokens: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    refuse(padded_mode=padded_mode or None)
    to = wide(grad_unpermuted_tokens)
    choices = 1 if probs is None else probs.numel() // probs.shape[0]
    each = to.repeat_interleave(choices, 0)
    to_probs = None
    if probs is not None:
        if permuted_tokens is not None and permuted_tokens.numel():
            products = _in_order(wide(permuted_tokens), sorted_indices) * each
            to_probs = products.sum(1).reshape(probs.shape).to(probs.dtype)
        each = each * wide(probs).reshape(-1, 1)
    rows = sorted_indices.long()
    kept = rows < permuted_tokens_size_0
    result = to.new_zeros(permuted_tokens_size_0, to.shape[-1])
    return result.index_copy(0, rows[kept], each[kept]).to(permuted_tokens_dtype), to_probs


# ---- the choice, and products by group -------------------------------------------------------------------------------
def _gating_top_k_softmax(x: Tensor, finished: Tensor | None = None, k: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    probability = wide(x).softmax(-1)
    chosen = probability.argsort(dim=-1, descending=True, stable=True)[..., :k]
    rows = chosen.numel() // k
    places = torch.arange(rows * k, dtype=torch.int32).reshape(k, rows).T.reshape(chosen.shape)
    best = probability.gather(-1, chosen).to(x.dtype)
    if finished is not None:
        # What is finished goes to an expert that there is not.
        chosen = chosen.masked_fill(finished.bool().unsqueeze(-1), x.shape[-1])
    return best, chosen.int(), places


# Rows of the groups of one matrix: how many up to each, or in each.
_UP_TO, _EACH = 0, 1


def _grouped_matmul(
    x: Sequence[Tensor], weight: Sequence[Tensor], *, bias: Sequence[Tensor] | None = None, group_list: Any = None,
    split_item: int | None = 0, group_type: int | None = None, group_list_type: int | None = 0,
    act_type: int | None = 0, tuning_config: Any = None, **others: Any,
) -> list[Tensor]:  # fmt: skip
    refuse(act_type=act_type or None, **{name: value or None for name, value in others.items()})
    if not all(t.is_floating_point() for t in (*x, *weight)):
        raise NotImplementedError("no formula for argument x or weight in integers")
    if group_type not in (None, -1, 0):
        raise NotImplementedError(f"no formula for group_type {group_type}")
    matrices = [m for w in weight for m in (w if w.dim() == 3 else [w])]
    parts = list(x)
    if len(x) == 1 and len(matrices) > 1:
        if group_list is None or group_list_type not in (_UP_TO, _EACH):
            raise NotImplementedError(f"no formula for group_list_type {group_list_type}, or without a group_list")
        counts = torch.as_tensor(group_list).diff(prepend=torch.zeros(1, dtype=torch.int64))
        counts = torch.as_tensor(group_list) if group_list_type == _EACH else counts
        if int(counts.sum()) != x[0].shape[0]:
            raise NotImplementedError("group_list leaves out rows of x, whose results are not documented")
        parts = list(x[0].split(counts.tolist()))
    offsets: list[Tensor | None] = list(bias) if bias else [None] * len(matrices)
    if len(offsets) != len(matrices):
        offsets = [row for b in offsets if b is not None for row in b]
    results = [
        (wide(part) @ wide(matrix) if b is None else wide(part) @ wide(matrix) + wide(b)).to(part.dtype)
        for part, matrix, b in zip(parts, matrices, offsets, strict=True)
    ]
    return [torch.cat(results)] if split_item in (2, 3) else results


EXPERTS: Mapping[str, Callable[..., Any]] = {
    "npu_moe_token_permute": _token_permute,
    "npu_moe_token_permute_grad_v2": _token_permute_grad_v2,
    "npu_moe_token_unpermute": _token_unpermute,
    "_npu_moe_token_unpermute": _token_unpermute_with_copy,
    "npu_moe_token_unpermute_grad_v2": _token_unpermute_grad_v2,
    "npu_moe_gating_top_k_softmax": _gating_top_k_softmax,
    "npu_grouped_matmul": _grouped_matmul,
    "npu_grouped_matmul.List": _grouped_matmul,
}
