"""What the formulas of torch_npu's fused attention operators share, as its documentation states them.

Everything is computed over (batch, heads, sequence, depth), at least in float32.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch

from ophook_npu.observe.references.arguments import wide

Tensor = torch.Tensor
ALL = 2147483647


# ---- layouts ---------------------------------------------------------------------------------------------------------
def split_heads(tensor: Tensor, layout: str, depth: int) -> Tensor:
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


def in_heads(query: Tensor, key: Tensor, value: Tensor, layout: str, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    if layout not in ("BNSD", "BSND", "BSH", "SBH"):
        raise NotImplementedError(f"no formula for layout {layout}")
    if layout in ("BNSD", "BSND"):
        return split_heads(query, layout, 0), split_heads(key, layout, 0), split_heads(value, layout, 0)
    depth = query.shape[-1] // heads
    key_heads = key.shape[-1] // depth
    return (
        split_heads(query, layout, depth),
        split_heads(key, layout, depth),
        split_heads(value, layout, value.shape[-1] // key_heads),
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
    before: int = ALL
    after: int = ALL
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
        scores = query @ for_heads(key, query).mT
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


def for_heads(tensor: Tensor, query: Tensor) -> Tensor:
    """Groups of queries share a key head."""
    return tensor.repeat_interleave(query.shape[1] // tensor.shape[1], 1)


def probabilities(scores: Tensor, largest: Tensor, total: Tensor) -> Tensor:
    # A row without keys has a probability of zero everywhere.
    weights = (scores - largest.clamp_min(torch.finfo(scores.dtype).min)).exp()
    return torch.where(scores == -torch.inf, 0.0, weights / total.clamp_min(torch.finfo(scores.dtype).tiny))


def attend(
    query: Tensor, key: Tensor, value: Tensor, how: Scores, hidden: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """(B, N, Sq, D), (B, Nkv, Skv, D), (B, Nkv, Skv, Dv) -> (B, N, Sq, Dv) and the statistics (B, N, Sq, 1)."""
    scores = how.scores(query, key, hidden)
    largest, total = how.statistics(scores)
    return probabilities(scores, largest, total) @ for_heads(value, query), largest, total
