"""Formulas of torch_npu's attention without a backward: sequences of any length, keys in pages, rotary parts apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch

from ophook_npu.observe.references.arguments import wide
from ophook_npu.observe.references.attention import Mask, Scores, attend, join
from ophook_npu.observe.references.results import Unspecified

Tensor = torch.Tensor
_RUNNING = ("TND", "NTD")  # sequences one after the other


@dataclasses.dataclass(frozen=True)
class Keys:
    """Where the keys and values are.

    Attributes:
        key, value: in the layout of the query, or pages ``(pages, rows, heads * depth)``, ``(pages, heads, rows,
            depth)``. pages: (batch, …), which pages each sequence has. heads: how many heads they have.
        lengths: of each sequence; in layouts of one after the other without pages their running sum.
    """

    key: Tensor
    value: Tensor
    heads: int
    lengths: Sequence[int] | None = None
    pages: Tensor | None = None
    rope: Tensor | None = None


def _items(x: Tensor, layout: str, heads: int) -> list[Tensor]:
    """(heads, length, depth) of each batch, or of all sequences together."""
    x = wide(x)
    if layout in _RUNNING:
        return [x.transpose(0, 1) if layout == "TND" else x]
    if layout == "BSH":
        x = x.unflatten(-1, (heads, -1))
    if layout not in ("BNSD", "BSND", "BSH"):
        raise NotImplementedError(f"no formula for layout {layout}")
    return list(x if layout == "BNSD" else x.transpose(1, 2))


def _paged(cache: Tensor, pages: Tensor, heads: int) -> list[Tensor]:
    rows = [wide(cache[own.long()]) for own in pages.clamp_min(0)]
    if cache.dim() == 3:
        return [own.flatten(0, 1).unflatten(-1, (heads, -1)).transpose(0, 1) for own in rows]
    return [own.transpose(0, 1).flatten(1, 2) for own in rows]


def _places(lengths: Sequence[int] | None, running: bool, batch: int, whole: int) -> list[tuple[int, slice]]:
    """Of each sequence, the item and the rows where it is."""
    if lengths is None:
        return [(b, slice(0, whole)) for b in range(batch)]
    if running:
        return [(0, slice(start, end)) for start, end in zip([0, *lengths], lengths, strict=False)]
    each = list(lengths) * batch if len(lengths) == 1 else list(lengths)[:batch]
    return [(b, slice(0, n)) for b, n in enumerate(each)]


def infer(
    query: Tensor, keys: Keys, heads: int, layout: str, how: Scores, mask: Mask,
    lengths: Sequence[int] | None = None, query_rope: Tensor | None = None,
) -> tuple[Tensor | Unspecified, Tensor | Unspecified]:  # fmt: skip
    """Result, and the logarithm of the sum of exponentials: (B, N, S, 1), or (T, N, 1) of sequences in a row.

    ``layout``: of the query, or of the query and the result: ``BNSD_BSND``.
    """
    into, _, back = layout.partition("_")
    running = into in _RUNNING
    if running and (lengths is None or keys.lengths is None):
        raise NotImplementedError(f"no formula for layout {layout} without actual_seq_lengths")
    queries = _items(query, into, heads)
    if query_rope is not None and keys.rope is not None:
        queries = [torch.cat(both, -1) for both in zip(queries, _items(query_rope, into, heads), strict=True)]

    def found(x: Tensor) -> list[Tensor]:
        return _items(x, into, keys.heads) if keys.pages is None else _paged(x, keys.pages, keys.heads)

    own_keys, values = found(keys.key), found(keys.value)
    if query_rope is not None and keys.rope is not None:
        own_keys = [torch.cat(both, -1) for both in zip(own_keys, found(keys.rope), strict=True)]
    q_places = _places(lengths, running, len(queries), queries[0].shape[1])
    k_places = _places(keys.lengths, running and keys.pages is None, len(q_places), own_keys[0].shape[1])
    out = [q.new_zeros(*q.shape[:2], values[0].shape[-1]) for q in queries]
    lse = [q.new_zeros(*q.shape[:2], 1) for q in queries]
    known = [torch.zeros(*q.shape[:2], 1, dtype=torch.bool) for q in queries]
    for b, ((item, rows), (key_item, key_rows)) in enumerate(zip(q_places, k_places, strict=True)):
        count, seen = rows.stop - rows.start, key_rows.stop - key_rows.start
        if not count or not seen:
            continue
        q, k, v = queries[item][:, rows], own_keys[key_item][:, key_rows], values[key_item][:, key_rows]
        hidden = mask.hidden(count, seen, slice(b, b + 1))
        part, largest, total = attend(q[None], k[None], v[None], how, hidden)
        out[item][:, rows], lse[item][:, rows] = part[0], (largest + total.log())[0]
        sure = mask.defined(hidden)
        known[item][:, rows] = True if sure is None else sure.expand(1, heads, count, 1)[0]
    result = _together(out, back or into).to(query.dtype)
    sums = _together(lse, "TND" if running else "BNSD")
    if all(bool(k.all()) for k in known):
        return result, sums
    certain = _together([k.expand_as(o) for k, o in zip(known, out, strict=True)], back or into)
    reason = "a query beyond its sequence, or that sees no key, has none that is documented"
    return (
        Unspecified(reason, result, certain),
        Unspecified(reason, sums, _together(known, "TND" if running else "BNSD")),
    )


def _together(items: list[Tensor], layout: str) -> Tensor:
    if layout in _RUNNING:
        return items[0].transpose(0, 1) if layout == "TND" else items[0]
    if layout not in ("BNSD", "BSND", "BSH"):
        raise NotImplementedError(f"no formula for a result in layout {layout}")
    return join(torch.stack(items), layout)
