"""Write a few figures of every call of a run, to compare two whole runs with :func:`ophook_npu.observe.align`."""

from __future__ import annotations

import contextlib
import json
import math
import threading
from pathlib import Path
from typing import IO, Any

import torch
from typing_extensions import Unpack

from ophook_npu.hooks import Call
from ophook_npu.observe import _figures
from ophook_npu.observe._describe import is_real, tensors
from ophook_npu.observe._observer import EVERYTHING, Filters, Observer
from ophook_npu.observe._operators import computed, draws, leaves_memory_unwritten, only_moves
from ophook_npu.observe._rows import check_path
from ophook_npu.plural import counted

DigestRow = dict[str, Any]


class Digest(Observer):
    """Writes a few figures of each result: shape, dtype, norm, mean and a weighted sum that depends on the order.

    Args:
        to: a file for one JSON line for each call, written anew; or ``None`` to keep the rows in :attr:`rows`, at most
            ``keep`` of them.
        inputs: also figures of the arguments, so that the alignment of two runs can tell operators that make an error
            from those that pass one on.
        exact: also a checksum of the bits, so that runs are compared bit for bit: for runs that should be the same.
        target, modules, phase, every, via, on_miss: see :class:`Observer`.

    Views and memory nobody has written are left out: they say nothing about arithmetic, and differ between backends.
    """

    NAME = "digest"
    COMPUTES = True

    def __init__(
        self,
        target: Any = EVERYTHING,
        *,
        to: str | Path | None = None,
        keep: int = 100_000,
        inputs: bool = False,
        exact: bool = False,
        **filters: Unpack[Filters],
    ) -> None:
        self.rows: list[DigestRow] = []
        self.dropped = 0
        self.to = None if to is None else check_path(to, "digest")
        self._keep = keep
        self._inputs = inputs
        self._exact = exact
        self._file: IO[str] | None = None
        self._written = False
        super().__init__(target, **filters)

    def __enter__(self) -> Digest:
        if self.to is not None:
            self._file = self.to.open("a" if self._written else "w", encoding="utf-8")
            self._written = True
        super().__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        if self._file is not None:
            self.put(self._file.flush)
            with contextlib.suppress(OSError):  # of what could not be written
                self._file.close()
            self._file = None

    def before(self, call: Call) -> None:
        # Before the call: an in-place operator overwrites its arguments.
        if self._inputs and not _says_nothing(call.op):
            given = tensors(*call.args, *call.kwargs.values())
            call.state = [self._figures(t) for t in given if is_real(t)]

    def after(self, call: Call) -> None:
        if _says_nothing(call.op):
            return
        results = [self._figures(t) for t in computed(call.op, call.result) if is_real(t)]
        if not results:
            return
        row: DigestRow = {
            "n": self.seen,
            "op": call.name,
            "phase": call.phase,
            "module": call.module_path,
            "random": draws(call),
            "results": results,
        }
        if call.node is not None:
            row["node"] = call.node
        if self._inputs:
            row["inputs"] = call.state
        if self._file is not None:
            file = self._file
            self.put(lambda: file.write(json.dumps(row) + "\n"))
        elif len(self.rows) < self._keep:
            self.rows.append(row)
        else:
            self.dropped += 1

    def clear(self) -> None:
        super().clear()
        self.rows.clear()
        self.dropped = 0

    def report(self) -> str:
        kept = "" if self.to is None else f", written to {self.to}" + (", incompletely" if self.unwritten else "")
        lost = f", {counted(self.dropped, 'row')} dropped beyond keep={self._keep}; give a file" if self.dropped else ""
        return f"{counted(self.seen, 'call')} seen{kept}{lost}. {self.how}"

    def to_json(self) -> Any:
        return self.rows

    def _figures(self, tensor: torch.Tensor) -> DigestRow:
        figures: DigestRow = {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}
        if tensor.numel() == 0:
            return figures | {"norm": 0.0, "mean": 0.0, "weighted": 0.0}
        values = tensor.int_repr() if tensor.is_quantized else tensor.detach()
        values = (values if values.layout == torch.strided else values.to_dense()).cpu()
        values = torch.view_as_real(values.resolve_conj()) if values.is_complex() else values
        figures |= _sums(values.reshape(-1))
        if self._exact:
            figures["bits"] = _checksum(values)
        return figures


# A period of 17 notices permuted elements, which norm and mean do not. Sixteen periods to a row: rows of whole vectors.
_WEIGHTS = torch.arange(17, dtype=torch.float64, device="cpu").repeat(16)
_ROW = _WEIGHTS.numel()
_BLOCK = 512 * _ROW  # as float64 half of a common second-level cache


class _Scratch(threading.local):
    def __init__(self) -> None:
        with torch.inference_mode(False):
            self.block = torch.empty(_BLOCK, dtype=torch.float64, device="cpu")


_scratch = _Scratch()


def _sums(flat: torch.Tensor) -> DigestRow:
    squares, total, weighted = _figures.sums(flat) or _sums_by_blocks(flat)
    return {"norm": math.sqrt(squares), "mean": total / flat.numel(), "weighted": weighted}


def _sums_by_blocks(flat: torch.Tensor) -> list[float]:
    """In float64 and block by block: making a float64 copy of a large result costs more than summing it up."""
    squares = total = weighted = 0.0
    scratch = _scratch.block
    for part in (flat,) if flat.numel() <= _BLOCK else flat.split(_BLOCK):
        count = part.numel()
        block = scratch[:count].copy_(part)
        squares += block.dot(block).item()
        if left := -count % _ROW:
            scratch[count : count + left].zero_()
            block = scratch[: count + left]
        columns = block.view(-1, _ROW).sum(0)  # all that sum and weighted sum need, in one pass
        total += columns.sum().item()
        weighted += columns.dot(_WEIGHTS).item()
    return [squares, total, weighted]


def _says_nothing(op: Any) -> bool:
    return hasattr(op, "_schema") and (op.is_view or only_moves(op) or leaves_memory_unwritten(op))


def _checksum(values: torch.Tensor) -> int:
    # Integer arithmetic, which wraps: the same on every machine and in every order, unlike a sum of floats.
    flat = values.resolve_neg().contiguous().flatten()
    if flat.stride(0) != 1:  # a single element counts as contiguous, whatever its stride
        flat = flat.clone(memory_format=torch.contiguous_format)
    bits = flat.view(torch.uint8) if flat.dtype != torch.bool else flat.to(torch.uint8)
    places = torch.arange(bits.numel(), dtype=torch.int64)
    return int(((bits.to(torch.int64) + 1) * (places * 2654435761 + 1)).sum())
