"""Compare two whole runs, such as eager and compiled or CPU and NPU, even if their operators differ."""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
from pathlib import Path
from typing import IO, Any

import torch

from ophook_npu.errors import OphookError
from ophook_npu.hooks import Call
from ophook_npu.observe._describe import is_real, tensors
from ophook_npu.observe._numbers import TOLERANCES
from ophook_npu.observe._observer import EVERYTHING, Observer
from ophook_npu.observe._operators import is_random, leaves_memory_unwritten, only_moves

Row = dict[str, Any]


class Digest(Observer):
    """Writes a few figures of each result: shape, dtype, norm, mean and a weighted sum that depends on the order.

    Args:
        to: a file for one JSON line for each call; or ``None`` to keep the rows in :attr:`rows`, at most ``keep`` of
            them.
        target, modules, phase, every, via, on_miss: see :class:`Observer`.

    Views and memory nobody has written are left out: they say nothing about arithmetic, and differ between backends.
    """

    NAME = "digest"

    def __init__(
        self, target: Any = EVERYTHING, *, to: str | Path | None = None, keep: int = 100_000, **filters: Any
    ) -> None:
        self.rows: list[Row] = []
        self._to = None if to is None else Path(to)
        self._keep = keep
        self._file: IO[str] | None = None
        super().__init__(target, **filters)

    def __enter__(self) -> Digest:
        if self._to is not None:
            self._file = self._to.open("a", encoding="utf-8")
        super().__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        if self._file is not None:
            self._file.close()
            self._file = None

    def after(self, call: Call) -> None:
        op = call.op
        if hasattr(op, "_schema") and (op.is_view or only_moves(op) or leaves_memory_unwritten(op)):
            return
        results = [_figures(t) for t in tensors(call.result) if is_real(t)]
        if not results:
            return
        row: Row = {
            "n": self.seen,
            "op": call.name,
            "phase": call.phase,
            "module": call.module_path,
            "random": is_random(op),
            "results": results,
        }
        if self._file is not None:
            self._file.write(json.dumps(row) + "\n")
        elif len(self.rows) < self._keep:
            self.rows.append(row)

    def clear(self) -> None:
        super().clear()
        self.rows.clear()

    def report(self) -> str:
        return f"{self.seen} calls seen. {self.how}"

    def to_json(self) -> Any:
        return self.rows


@dataclasses.dataclass
class Alignment:
    """Two runs, side by side.

    Attributes:
        pairs: how many calls of one correspond to a call of the other.
        first: the first pair whose figures differ by more than they may, as (row of a, row of b); ``None`` if all
            agree.
        differing: how many pairs differ.
        only_a, only_b: calls that only one run made.
    """

    pairs: int
    first: tuple[Row, Row] | None
    differing: int
    only_a: list[Row]
    only_b: list[Row]

    def __str__(self) -> str:
        lines = [f"{self.pairs} calls correspond, {len(self.only_a)} are only in a, {len(self.only_b)} only in b"]
        if self.first is None:
            lines.append("all that correspond agree")
        else:
            a, b = self.first
            where = f" in module {a['module']}" if a["module"] is not None else ""
            lines.append(f"first divergence: {a['op']} ({a['phase']}{where}), call {a['n']} of a and {b['n']} of b")
            lines += [f"  a {_show(x)}\n  b {_show(y)}" for x, y in zip(a["results"], b["results"], strict=False)]
            lines.append(f"{self.differing} pairs differ from there on")
        return "\n".join(lines)


def align(a: Any, b: Any, tolerance: float | None = None) -> Alignment:
    """Finds where two runs first differ.

    Args:
        a, b: :class:`Digest` observers, their rows, or the files they wrote.
        tolerance: relative, for the figures; by default that of :data:`TOLERANCES` for the coarser dtype of both.

    Calls correspond if their operators (without overload, in-place or not) and result shapes do, in the same order;
    between them either run may make calls of its own. Random operators correspond, but their numbers are not compared.
    """
    left, right = _rows(a), _rows(b)
    matcher = difflib.SequenceMatcher(None, list(map(_key, left)), list(map(_key, right)), autojunk=False)
    pairs = [(left[m.a + i], right[m.b + i]) for m in matcher.get_matching_blocks() for i in range(m.size)]
    paired_a, paired_b = {id(x) for x, _ in pairs}, {id(y) for _, y in pairs}
    wrong = [pair for pair in pairs if not pair[0]["random"] and _differ(*pair, tolerance)]
    return Alignment(
        len(pairs),
        wrong[0] if wrong else None,
        len(wrong),
        [row for row in left if id(row) not in paired_a],
        [row for row in right if id(row) not in paired_b],
    )


def _figures(tensor: torch.Tensor) -> Row:
    figures: Row = {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}
    if tensor.numel() == 0:
        return figures | {"norm": 0.0, "mean": 0.0, "weighted": 0.0}
    values = tensor.detach()
    values = (values if values.layout == torch.strided else values.to_dense()).cpu()
    values = torch.view_as_real(values.resolve_conj()) if values.is_complex() else values
    flat = values.double().flatten()
    # A period of 17 notices permuted elements, which norm and mean do not.
    weights = torch.arange(flat.numel(), dtype=torch.float64).remainder(17)
    norm = flat.norm()
    return figures | {"norm": norm.item(), "mean": flat.mean().item(), "weighted": (flat @ weights).item()}


def _rows(given: Any) -> list[Row]:
    if isinstance(given, Digest):
        given = given._to if given._to is not None else given.rows
    if isinstance(given, (str, Path)):
        path = Path(given)
        if not path.is_file():
            raise OphookError("align", f"no such file: {path}", todo="write one with Digest(to=…)")
        return [json.loads(line) for line in path.read_text().splitlines()]
    return list(given)


def _key(row: Row) -> Any:
    name = row["op"].split(".")[0].rstrip("_")
    return (name, row["phase"], tuple(tuple(result["shape"]) for result in row["results"]))


def _differ(a: Row, b: Row, tolerance: float | None) -> bool:
    for x, y in zip(a["results"], b["results"], strict=True):
        rtol = tolerance if tolerance is not None else max(_rtol(x["dtype"]), _rtol(y["dtype"]))
        count = max(1, math.prod(x["shape"]))
        norm = max(abs(x["norm"]), abs(y["norm"]))
        # Bounds of mean and weighted sum over vectors of this norm (Cauchy-Schwarz), so that all are on one scale.
        scales = {"norm": norm, "mean": norm / math.sqrt(count), "weighted": norm * 16 * math.sqrt(count)}
        for name, scale in scales.items():
            p, q = x[name], y[name]
            if p == q or (math.isnan(p) and math.isnan(q)):
                continue
            if not abs(p - q) <= rtol * scale + 1e-12:
                return True
    return False


def _rtol(dtype: str) -> float:
    return TOLERANCES.get(getattr(torch, dtype), (0.0, 0.0))[1]


def _show(result: Row) -> str:
    figures = ", ".join(f"{name} {result[name]:.9g}" for name in ("norm", "mean", "weighted"))
    return f"{result['dtype']}{result['shape']}: {figures}"
