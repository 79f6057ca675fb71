"""One result against its reference: the row of :class:`~ophook_npu.observe.Compare`."""

from __future__ import annotations

import dataclasses
import os


@dataclasses.dataclass
class Comparison:
    """One result against the reference's.

    Attributes:
        number: which call it was, from 1. op, phase, module: of the call. output: which of its results.
        shape, dtype: of the result.
        max_abs, max_rel: the largest error, and the largest relative to the reference's largest magnitude.
        cosine: of the angle between both as vectors; 1 is the same direction.
        ulp: the largest distance in representable numbers of the dtype; for integers and booleans, how many elements
            differ.
        ok: within tolerance.
        drift: with ``drift=True``, ``max_abs`` against a reference that was fed reference results since the start;
            what it exceeds ``max_abs`` by was inherited from earlier calls.
        drift_ok: that is within tolerance too; ``None`` without drift.
        node: in a compiled graph, the node: ``graph 0: mm_1``.
        stack: ``(file, line, function)`` of the user's frames, for results out of tolerance.
    """

    number: int
    op: str
    phase: str
    module: str | None
    output: int
    shape: tuple[int, ...]
    dtype: str
    max_abs: float
    max_rel: float
    cosine: float
    ulp: float
    ok: bool
    drift: float | None = None
    drift_ok: bool | None = None
    node: str | None = None
    stack: list[tuple[str, int, str]] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        where = f" in {self.module or '(root)'}" if self.module is not None else ""
        place = f", from {os.path.basename(self.stack[-1][0])}:{self.stack[-1][1]}" if self.stack else ""
        node = f", {self.node}" if self.node is not None else ""
        return f"call {self.number}: {self.op} ({self.phase}{where}{node}) is off by {self.max_abs:.3g}{place}"

    @property
    def inherited(self) -> float | None:
        """The part of :attr:`drift` that this call did not add; ``None`` without drift."""
        return None if self.drift is None else max(0.0, self.drift - self.max_abs)


HEAD = ["call", "operator", "phase", "module", "result", "max abs", "max rel", "ulp", "cosine", "drift"]


def line(row: Comparison) -> list[str]:
    """A row as text, for the columns of :data:`HEAD`."""
    result = f"{row.dtype}[{', '.join(map(str, row.shape))}]" + (f" #{row.output}" if row.output else "")
    module = row.node or ("-" if row.module is None else row.module or "(root)")
    numbers = [
        f"{row.max_abs:.3g}",
        f"{row.max_rel:.3g}",
        f"{row.ulp:.0f}" if row.ulp < 1e6 else f"{row.ulp:.1e}",
        f"{row.cosine:.7f}",
    ]
    drift = "" if row.drift is None else f"{row.drift:.3g}"
    return [str(row.number), row.op, row.phase, module, result, *numbers, drift]
