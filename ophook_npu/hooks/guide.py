"""Which mechanism to use for an operator and a set of needs, and why not the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ophook_npu.errors import OphookError
from ophook_npu.hooks import _choose
from ophook_npu.hooks._hook import Hook, plan


@dataclass(frozen=True)
class Advice:
    via: str
    summary: str
    notes: list[str]
    rejected: dict[str, str]
    example: str


def advise(op: str, needs: Iterable[str] = (), *, replace: bool = False) -> Advice:
    """The mechanism ``auto`` takes, asked of the mechanisms themselves.

    Raises:
        OphookError: unknown operator or need, or no mechanism that meets all of them.
    """
    wanted = list(needs)
    what: dict[str, Any] = {"replace": lambda *args, **kwargs: None} if replace else {"before": lambda call: None}
    chosen = Hook(*plan(op, needs=wanted, **what))
    rejected = {}
    for name in _choose.MECHANISMS:
        if name == chosen.via or "op" not in _choose.mechanism(name).KINDS:
            continue
        try:
            plan(op, needs=wanted, via=name, **what)
        except OphookError as error:
            rejected[name] = error.what.removeprefix(f"via={name!r}: ")
    notes = chosen.why.split(". ")[1:]
    chosen.remove()
    arguments = f", needs={{{', '.join(map(repr, wanted))}}}" if wanted else ""
    verb = "replace=my_function" if replace else "before=print"
    example = f'with ophook_npu.hook("{op}", {verb}{arguments}) as h:\n    model(x)\nprint(h.hits, h.misses)'
    return Advice(chosen.via, _choose.mechanism(chosen.via).SUMMARY, notes, rejected, example)
