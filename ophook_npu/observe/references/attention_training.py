"""Formulas of torch_npu's fused attention for training, forward and backward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ophook_npu.observe.references.arguments import wide
from ophook_npu.observe.references.attention import (
    Mask,
    Scores,
    attend,
    for_heads,
    in_heads,
    join,
    probabilities,
    split_heads,
)
from ophook_npu.observe.references.results import Unspecified

Tensor = torch.Tensor
_BLIND = "a query that sees no key has none that is documented"
_REPEATS = 8  # the device stores each maximum and sum of the softmax that many times


def for_own_heads(gradient: Tensor, heads: int) -> Tensor:
    groups: Tensor = gradient.unflatten(1, (heads, -1))
    return groups.sum(2)


def attend_backward(
    gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, how: Scores, hidden: Tensor | None,
    forward: Sequence[Tensor | None],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:  # fmt: skip
    """Gradients of query, key, value, pse (over all heads and batches) and sink.

    From the maximum, the sum and the result of the forward where they are given: an error there is then not blamed on
    the backward.
    """
    largest, total, out = forward
    scores = how.scores(query, key, hidden)
    if largest is None or total is None:
        largest, total = how.statistics(scores)
    p = probabilities(scores, largest, total)
    to_p = gradient @ for_heads(value, query).mT
    common = (gradient * out).sum(-1, True) if out is not None else (to_p * p).sum(-1, True)
    to_scores = p * (to_p - common)
    sinks = how.sinks(scores)
    to_sink = None
    if sinks is not None:
        to_sink = -(probabilities(sinks.expand_as(largest), largest, total) * common).sum((0, 2, 3))
    to_product = to_scores * how.scale
    return (
        to_product @ for_heads(key, query),
        for_own_heads(to_product.mT @ query, key.shape[1]),
        for_own_heads(p.mT @ gradient, key.shape[1]),
        to_scores if how.pse_after else to_product,
        to_sink,
    )


# ---- sequences of different lengths, one after the other: layout TND -------------------------------------------------
def sequences(query_ends: Any, key_ends: Any, queries: int, keys: int) -> Iterator[tuple[slice, slice]]:
    """The rows of each sequence. Lengths arrive as their running sum."""
    ends = [list(e.tolist() if isinstance(e, Tensor) else e) for e in (query_ends, key_ends)]
    if ends[0][-1] != queries or ends[1][-1] != keys:
        raise NotImplementedError("actual_seq_qlen and actual_seq_kvlen do not cover all rows")
    start = [0, 0]
    for query_end, key_end in zip(*ends, strict=True):
        if query_end > start[0] and key_end == start[1]:
            raise NotImplementedError("actual_seq_kvlen has a sequence without keys")
        yield slice(start[0], query_end), slice(start[1], key_end)
        start = [query_end, key_end]


def _block(tensor: Tensor, rows: slice) -> Tensor:
    return wide(tensor[rows]).transpose(0, 1).unsqueeze(0)


def _rows(tensor: Tensor) -> Tensor:
    return tensor.squeeze(0).transpose(0, 1)


def _statistics_of(tensor: Tensor | None, rows: slice, by_rows: bool) -> Tensor | None:
    """(T, N, 8), or in its memory (N, S, 8) of one sequence after the other, -> (1, N, S, 1)."""
    if tensor is None or tensor.numel() == 0:
        return None
    block = tensor[rows]
    if by_rows:
        return block[..., :1].transpose(0, 1).unsqueeze(0)
    return block.reshape(tensor.shape[1], -1, _REPEATS)[..., :1].unsqueeze(0)


# ---- training --------------------------------------------------------------------------------------------------------
def fusion(
    query: Tensor, key: Tensor, value: Tensor, heads: int, layout: str, how: Scores, mask: Mask,
    query_ends: Any, key_ends: Any, softmax_layout: str,
) -> tuple[Any, ...]:  # fmt: skip
    """Result, maximum and sum, and the fourth result, which is reserved."""
    unused = query.new_empty(0)
    if layout != "TND":
        q, k, v = in_heads(query, key, value, layout, heads)
        hidden = mask.hidden(q.shape[2], k.shape[2])
        out, largest, total = attend(q, k, v, how, hidden)
        result: Tensor | Unspecified = join(out, layout).to(query.dtype)
        known = mask.defined(hidden)
        if known is not None and isinstance(result, Tensor):
            result = Unspecified(_BLIND, result, join(known.expand_as(out), layout))
        return result, *_statistics(how, largest, total), unused
    parts = list(sequences(query_ends, key_ends, query.shape[0], key.shape[0]))
    results, statistics = [], []
    for index, (q_rows, k_rows) in enumerate(parts):
        q, k, v = _block(query, q_rows), _block(key, k_rows), _block(value, k_rows)
        if q.shape[2] == 0:
            continue
        out, *both = attend(q, k, v, how, mask.of_sequence(index, len(parts), q.shape[2], k.shape[2]))
        results.append(_rows(out))
        statistics.append([_rows(t) if softmax_layout == "TND" else t.squeeze(0) for t in both])
    shape = (query.shape[0], query.shape[1], 1)
    largest, total = (torch.cat([t.reshape(-1) for t in both]).reshape(shape) for both in zip(*statistics, strict=True))
    return torch.cat(results).to(query.dtype), *_statistics(how, largest, total), unused


def _statistics(how: Scores, largest: Tensor, total: Tensor) -> tuple[Tensor | Unspecified, ...]:
    if how.sink is not None:
        both = Unspecified("softmax_max and softmax_sum with a sink are not documented")
        return both, both
    shape = (*largest.shape[:-1], _REPEATS)
    blind = total == 0
    if bool(blind.any()):
        return tuple(Unspecified(_BLIND, t.masked_fill(blind, 0).expand(shape), ~blind) for t in (largest, total))
    return largest.expand(shape), total.expand(shape)


def fusion_backward(
    query: Tensor, key: Tensor, value: Tensor, gradient: Tensor, heads: int, layout: str, how: Scores, mask: Mask,
    query_ends: Any, key_ends: Any, softmax_layout: str,
    largest: Tensor | None, total: Tensor | None, out: Tensor | None,
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of query, key, value, pse and sink."""
    if how.sink is not None:
        largest = total = None  # what they are with a sink is not documented
    if layout != "TND":
        q, k, v = in_heads(query, key, value, layout, heads)
        depth = v.shape[-1]
        to = split_heads(gradient, layout, depth)
        forward = [t[..., :1] if t is not None and t.numel() else None for t in (largest, total)]
        forward.append(None if out is None else split_heads(out, layout, depth))
        hidden = mask.all_defined(mask.hidden(q.shape[2], k.shape[2]))
        *three, to_scores, to_sink = attend_backward(to, q, k, v, how, hidden, forward)
        joined = [join(t, layout).to(query.dtype) for t in three if t is not None]
        to_pse = None if how.pse is None else to_scores.sum_to_size(how.pse.shape).to(how.pse.dtype)
        return *joined, to_pse, to_sink
    parts = list(sequences(query_ends, key_ends, query.shape[0], key.shape[0]))
    grads: list[list[Tensor]] = [[], [], []]
    sinks: list[Tensor] = []
    by_rows = softmax_layout == "TND"
    for index, (q_rows, k_rows) in enumerate(parts):
        if q_rows.start == q_rows.stop:
            grads[1].append(torch.zeros_like(wide(key[k_rows])))
            grads[2].append(torch.zeros_like(wide(value[k_rows])))
            continue
        q, k, v = _block(query, q_rows), _block(key, k_rows), _block(value, k_rows)
        hidden = mask.of_sequence(index, len(parts), q.shape[2], k.shape[2])
        forward = [_statistics_of(t, q_rows, by_rows) for t in (largest, total)]
        forward.append(None if out is None else _block(out, q_rows))
        *three, _, to_sink = attend_backward(_block(gradient, q_rows), q, k, v, how, hidden, forward)
        for gathered, part in zip(grads, three, strict=True):
            assert part is not None
            gathered.append(_rows(part))
        if to_sink is not None:
            sinks.append(to_sink)
    return *(torch.cat(g).to(query.dtype) for g in grads), None, torch.stack(sinks).sum(0) if sinks else None
