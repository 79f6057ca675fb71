"""Formulas of the fused attention operators of torch_npu, as its documentation states them.

Everything is computed over (batch, heads, sequence, depth), at least in float32.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ophook_npu.observe._references import Unspecified

Tensor = torch.Tensor
_ALL = 2147483647
_BLIND = "a query that sees no key has none that is documented"
_REPEATS = 8  # the device stores each maximum and sum of the softmax that many times


def wide(tensor: Tensor) -> Tensor:
    """In float32 if it has fewer bits."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def refuse(**arguments: Any) -> None:
    """Raises NotImplementedError for the first argument that is given: these formulas do not cover it."""
    for name, value in arguments.items():
        if value is not None and not (isinstance(value, Tensor) and value.numel() == 0):
            raise NotImplementedError(f"no formula for argument {name}")


# ---- layouts ---------------------------------------------------------------------------------------------------------
def _split(tensor: Tensor, layout: str, depth: int) -> Tensor:
    if layout == "BNSD":
        return wide(tensor)
    if layout == "BSND":
        return wide(tensor).transpose(1, 2)
    heads: Tensor = wide(tensor).unflatten(-1, (-1, depth))
    return heads.transpose(1, 2) if layout == "BSH" else heads.permute(1, 2, 0, 3)


def join(tensor: Tensor, layout: str) -> Tensor:
    if layout == "BNSD":
        return tensor
    if layout == "BSND":
        return tensor.transpose(1, 2)
    return tensor.transpose(1, 2).flatten(2) if layout == "BSH" else tensor.permute(2, 0, 1, 3).flatten(2)


def _heads(query: Tensor, key: Tensor, value: Tensor, layout: str, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    if layout not in ("BNSD", "BSND", "BSH", "SBH"):
        raise NotImplementedError(f"no formula for layout {layout}")
    if layout in ("BNSD", "BSND"):
        return _split(query, layout, 0), _split(key, layout, 0), _split(value, layout, 0)
    depth = query.shape[-1] // heads
    key_heads = key.shape[-1] // depth
    return (
        _split(query, layout, depth),
        _split(key, layout, depth),
        _split(value, layout, value.shape[-1] // key_heads),
    )


# ---- which keys a query does not see ---------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class Mask:
    """What hides keys from queries.

    Attributes:
        given: true where a key is hidden; in modes 2, 3, 4, 6, 7, 8 only a sign that the mode counts.
        mode: sparse_mode. before, after: in bands, how many keys a query sees to either side.
        prefix: of each batch, how many keys every query sees. zeros: a query without keys gives zeros, for sure.
    """

    given: Tensor | None
    mode: int = 0
    before: int = _ALL
    after: int = _ALL
    prefix: Sequence[int] = ()
    zeros: bool = False

    def hidden(self, queries: int, keys: int, batch: slice | None = None, mode: int | None = None) -> Tensor | None:
        """True where a key is hidden, broadcastable to (batch, heads, queries, keys). ``batch``: of which ones."""
        if self.given is None or self.given.numel() == 0:
            return None
        mode = self.mode if mode is None else mode
        row, column = torch.arange(queries).unsqueeze(1), torch.arange(keys)
        corner = keys - queries  # all but mode 2 count from the lower right corner
        if mode in (0, 1, 5):
            given = self.given.to("cpu", torch.bool)[..., :queries, :keys]
            if given.dim() > 2 and given.shape[0] > 1 and batch is not None:
                given = given[batch]
            return given.unsqueeze(1) if given.dim() == 3 else given
        if mode == 2:
            return column > row
        if mode == 3:
            return column > row + corner
        if mode == 4:
            return (column > row + corner + self.after) | (column < row + corner - self.before)
        if mode == 6:
            prefix = torch.tensor(list(self.prefix)[batch or slice(None)]).reshape(-1, 1, 1, 1)
            return (column > row + corner) & (column >= prefix)
        raise NotImplementedError(f"no formula for sparse_mode {mode}")

    def defined(self, hidden: Tensor | None) -> Tensor | None:
        """(…, queries, 1): false for those whose result nobody documents; ``None`` if all are documented."""
        # Where the mode tells that a query sees nothing, the device gives zeros of its own accord.
        if hidden is None or self.zeros or self.mode not in (0, 1, 5):
            return None
        blind = hidden.all(-1, True)
        return ~blind if bool(blind.any()) else None

    def all_defined(self, hidden: Tensor | None) -> Tensor | None:
        """``hidden``, refused if there is such a query."""
        if self.defined(hidden) is not None:
            raise NotImplementedError("atten_mask hides all keys of a query, which only inner_precise=2 defines")
        return hidden

    def of_sequence(self, index: int, count: int, queries: int, keys: int) -> Tensor | None:
        """The same for sequence ``index`` of ``count`` that lie one after the other."""
        band = {7: count - 1, 8: 0}.get(self.mode)  # where a long sequence was cut off, it is a band
        mode = self.mode if band is None else 4 if index == band else {7: 3, 8: 2}[self.mode]
        return self.all_defined(self.hidden(queries, keys, slice(index, index + 1), mode))


# ---- one block of attention ------------------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class Scores:
    """softmax(mask(scale * q k^T + bias)): how the scores come about, over (batch, heads, queries, keys).

    Attributes:
        scale: of the products. pse: added to the products, or to the scaled products if ``pse_after``.
        sink: (heads,), the score of one more key without a value.
    """

    scale: float
    pse: Tensor | None = None
    pse_after: bool = False
    sink: Tensor | None = None

    def scores(self, query: Tensor, key: Tensor, hidden: Tensor | None) -> Tensor:
        scores = query @ _for_heads(key, query).mT
        if self.pse is not None and not self.pse_after:
            scores = scores + wide(self.pse)
        scores = scores * self.scale
        if self.pse is not None and self.pse_after:
            scores = scores + wide(self.pse)
        return scores if hidden is None else scores.masked_fill(hidden.to(scores.device), -torch.inf)

    def sinks(self, like: Tensor) -> Tensor | None:
        return None if self.sink is None else self.sink.to(like.dtype).reshape(1, -1, 1, 1)

    def statistics(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        """The maximum and the sum of the exponentials of each row; a row without keys has minus infinity and zero."""
        sinks = self.sinks(scores)
        largest = scores.amax(-1, True)
        if sinks is not None:
            largest = largest.maximum(sinks)
        weights = (scores - largest.clamp_min(torch.finfo(scores.dtype).min)).exp()
        total = weights.sum(-1, True)
        return largest, total if sinks is None else total + (sinks - largest).exp()


def _for_heads(tensor: Tensor, query: Tensor) -> Tensor:
    """Groups of queries share a key head."""
    return tensor.repeat_interleave(query.shape[1] // tensor.shape[1], 1)


def _for_own_heads(gradient: Tensor, heads: int) -> Tensor:
    groups: Tensor = gradient.unflatten(1, (heads, -1))
    return groups.sum(2)


def _probabilities(scores: Tensor, largest: Tensor, total: Tensor) -> Tensor:
    # A row without keys has a probability of zero everywhere.
    weights = (scores - largest.clamp_min(torch.finfo(scores.dtype).min)).exp()
    return torch.where(scores == -torch.inf, 0.0, weights / total.clamp_min(torch.finfo(scores.dtype).tiny))


def attend(
    query: Tensor, key: Tensor, value: Tensor, how: Scores, hidden: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """(B, N, Sq, D), (B, Nkv, Skv, D), (B, Nkv, Skv, Dv) -> (B, N, Sq, Dv) and the statistics (B, N, Sq, 1)."""
    scores = how.scores(query, key, hidden)
    largest, total = how.statistics(scores)
    return _probabilities(scores, largest, total) @ _for_heads(value, query), largest, total


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
    p = _probabilities(scores, largest, total)
    to_p = gradient @ _for_heads(value, query).mT
    common = (gradient * out).sum(-1, True) if out is not None else (to_p * p).sum(-1, True)
    to_scores = p * (to_p - common)
    sinks = how.sinks(scores)
    to_sink = None
    if sinks is not None:
        to_sink = -(_probabilities(sinks.expand_as(largest), largest, total) * common).sum((0, 2, 3))
    to_product = to_scores * how.scale
    return (
        to_product @ _for_heads(key, query),
        _for_own_heads(to_product.mT @ query, key.shape[1]),
        _for_own_heads(p.mT @ gradient, key.shape[1]),
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
        q, k, v = _heads(query, key, value, layout, heads)
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
        q, k, v = _heads(query, key, value, layout, heads)
        depth = v.shape[-1]
        to = _split(gradient, layout, depth)
        forward = [t[..., :1] if t is not None and t.numel() else None for t in (largest, total)]
        forward.append(None if out is None else _split(out, layout, depth))
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
