"""What a formula gives, next to what the operator gave."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import torch

from ophook_npu.observe._operators import is_computed
from ophook_npu.plural import counted


@dataclasses.dataclass(frozen=True)
class Unspecified:
    """In the place of a result that cannot be compared, or not everywhere, and why.

    Attributes:
        value: what it must be where ``known`` is true (broadcastable); ``None`` if nowhere.
    """

    reason: str
    value: torch.Tensor | None = None
    known: torch.Tensor | None = None

    def known_part(self, given: torch.Tensor) -> torch.Tensor:
        """``given`` with the right value wherever it may be any."""
        assert self.value is not None and self.known is not None
        if given.shape != self.value.shape:
            return given
        return torch.where(self.known.to(given.device), given, self.value.to(given))


UNASKED = "nobody asked for it"


class Unmatched(Exception):
    """A reference returns something else than the operator."""


def matched(op: Any, given: Any, wanted: Any) -> Iterator[tuple[torch.Tensor, torch.Tensor | Unspecified]]:
    """The computed tensors among the results of an operator, each with the reference's result in the same place.

    An empty tensor is the same as none: kernels return the one or the other for results that nobody asked for.

    Raises:
        Unmatched: if there are more or fewer of them, or a tensor stands against none.
    """
    if isinstance(given, torch.Tensor) and isinstance(wanted, torch.Tensor):  # as most operators
        if is_computed(op, given):
            yield given, wanted
        return
    results, references = list(_flat(given)), list(_flat(wanted))
    if len(results) != len(references):
        # A function may leave out what is not a tensor.
        results = [r for r in results if isinstance(r, torch.Tensor)]
        references = [r for r in references if isinstance(r, (torch.Tensor, Unspecified))]
        if len(results) != len(references):
            raise Unmatched(f"returns {counted(len(references), 'tensor')}, not {len(results)}")
    for a, b in zip(results, references, strict=True):
        if isinstance(a, torch.Tensor) and not is_computed(op, a):
            continue
        if isinstance(a, torch.Tensor) and isinstance(b, (torch.Tensor, Unspecified)):
            yield a, b
        elif isinstance(a, torch.Tensor) and a.numel():
            yield a, Unspecified(UNASKED)
        elif isinstance(b, torch.Tensor) and b.numel():
            raise Unmatched("returns a tensor where the operator returns none")


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item)
    else:
        yield value
