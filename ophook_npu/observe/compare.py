"""Run each operator also in a reference, on the same inputs, and say which results differ by more than they may."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from ophook_npu.errors import OphookError
from ophook_npu.hooks import Call
from ophook_npu.observe._describe import columns, is_real, tensors, user_stack
from ophook_npu.observe._observer import EVERYTHING, Observer
from ophook_npu.observe.validate import _leaves_memory_unwritten, _written

# dtype of the result -> (atol, rtol): an error may be atol + rtol * the largest magnitude in the reference's result.
# Measured against the largest element, since a sum's small elements carry the rounding of its large terms.
TOLERANCES: dict[torch.dtype, tuple[float, float]] = {
    torch.float64: (1e-10, 1e-9),
    torch.float32: (1e-5, 1e-4),
    torch.float16: (1e-3, 4e-3),
    torch.bfloat16: (1e-2, 2e-2),
    torch.complex128: (1e-10, 1e-9),
    torch.complex64: (1e-5, 1e-4),
}
_WIDE = {torch.float32: torch.float64, torch.float16: torch.float64, torch.bfloat16: torch.float64}
_WIDE |= {torch.complex64: torch.complex128, torch.complex32: torch.complex128}


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
    stack: list[tuple[str, int, str]] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        where = f" in {self.module or '(root)'}" if self.module is not None else ""
        place = f", from {os.path.basename(self.stack[-1][0])}:{self.stack[-1][1]}" if self.stack else ""
        return f"call {self.number}: {self.op} ({self.phase}{where}) is off by {self.max_abs:.3g}{place}"


class Compare(Observer):
    """Compares each call with a reference that gets the same inputs; so an error is the operator's own.

    Args:
        target, modules, phase, every, via, on_miss: see :class:`Observer`.
        reference: ``"float64"``: the same operator on the CPU in float64 (complex128) · a device such as ``"cpu"``:
            the same operator there in the same dtype · a function ``(op, args, kwargs) -> result``, which must not
            change its arguments.
        implementations: operator name -> function with the operator's arguments, instead of the operator in the
            reference.
        tolerances: dtype -> (atol, rtol), over :data:`TOLERANCES`.
        drift: also keep a reference copy of every live tensor and follow how errors accumulate; costs the reference
            twice and its copies as long as the tensors live.
        keep: how many results out of tolerance to keep; later ones only count.
        to: a file for one JSON line for each compared result.

    Not compared, but counted in :attr:`skipped` by reason: random operators (their numbers are taken as they came),
    views (they move no numbers), memory nobody has written, and what the reference cannot run.
    """

    NAME = "compare"

    def __init__(
        self,
        target: Any = EVERYTHING,
        *,
        reference: str | Callable[..., Any] = "float64",
        implementations: Mapping[str, Callable[..., Any]] | None = None,
        tolerances: Mapping[torch.dtype, tuple[float, float]] | None = None,
        drift: bool = False,
        keep: int = 1000,
        to: str | Path | None = None,
        **filters: Any,
    ) -> None:
        if isinstance(reference, str) and reference != "float64":
            try:
                torch.device(reference)
            except RuntimeError as error:
                allowed = "'float64', a device such as 'cpu', or a function (op, args, kwargs) -> result"
                raise OphookError("compare", f"unknown reference {reference!r}", allowed=allowed) from error
        self.failures: list[Comparison] = []
        self.failed = self.compared = 0
        self.skipped: Counter[str] = Counter()
        self.worst: dict[str, Comparison] = {}
        self._counts: Counter[str] = Counter()
        self._reference = reference
        self._implementations = dict(implementations or {})
        self._tolerances = {**TOLERANCES, **(tolerances or {})}
        self._shadows: WeakIdKeyDictionary | None = WeakIdKeyDictionary() if drift else None
        self._keep = keep
        self._to = None if to is None else Path(to)
        self._file: IO[str] | None = None
        super().__init__(target, **filters)

    @property
    def first(self) -> Comparison | None:
        """The first result out of tolerance: where the divergence begins."""
        return self.failures[0] if self.failures else None

    def __enter__(self) -> Compare:
        if self._to is not None:
            self._file = self._to.open("a", encoding="utf-8")
        super().__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        if self._file is not None:
            self._file.close()
            self._file = None

    def before(self, call: Call) -> None:
        reason = _uncompared(call)
        # Only what the operator overwrites has to be copied before it runs.
        if reason is not None or _written(call.op):
            call.state = (reason, None if reason is not None else self._inputs(call, self._copy))
        else:
            call.state = (None, None)

    def after(self, call: Call) -> None:
        reason, inputs = call.state
        drifted = self._drift(call)
        if reason is not None:
            self.skipped[reason] += 1
            return
        try:
            expected = self._run(call, *(inputs or self._inputs(call, self._copy)))
        except Exception as error:
            text = str(error).splitlines()[0] if str(error) else type(error).__name__
            self.skipped[f"the reference cannot run {call.name}: {text}"] += 1
            return
        given, wanted = list(tensors(call.result)), list(tensors(expected))
        if len(given) != len(wanted):
            self.skipped[f"the reference of {call.name} returns {len(wanted)} tensors, not {len(given)}"] += 1
            return
        for index, (a, b) in enumerate(zip(given, wanted, strict=True)):
            self._record(call, index, a, b, drifted[index] if index < len(drifted) else None)

    def clear(self) -> None:
        super().clear()
        self.failures.clear()
        self.skipped.clear()
        self.worst.clear()
        self._counts.clear()
        self.failed = self.compared = 0
        if self._shadows is not None:
            self._shadows = WeakIdKeyDictionary()

    def to_json(self) -> dict[str, Any]:
        return {
            "how": self.how,
            "calls": self.seen,
            "compared": self.compared,
            "failed": self.failed,
            "skipped": dict(self.skipped),
            "failures": [dataclasses.asdict(row) for row in self.failures],
            "worst": {name: dataclasses.asdict(row) for name, row in self.worst.items()},
        }

    def report(self, top: int = 20) -> str:
        head = f"{self.compared} results of {self.seen} calls compared, {self.failed} out of tolerance"
        parts = []
        if self.first is not None:
            parts.append(f"first divergence: {self.first}")
            parts.append(columns([_HEAD, *(_line(row) for row in self.failures[:top])], frozenset({0, 5, 6, 7, 8})))
        rows = sorted(self.worst.values(), key=lambda row: -row.max_rel)[:top]
        if rows:
            parts.append(
                "largest error of each operator:\n" + columns([_HEAD, *map(_line, rows)], frozenset({0, 5, 6, 7, 8}))
            )
        parts.append(
            "\n".join([f"{head}. {self.how}", *(f"not compared: {n} x {r}" for r, n in self.skipped.most_common())])
        )
        return "\n\n".join(parts)

    def html(self, path: str | Path, title: str = "Comparison") -> None:
        """Writes the report as one self-contained file."""
        from ophook_npu.observe import _html

        cards = [("calls", str(self.seen)), ("compared", str(self.compared)), ("out of tolerance", str(self.failed))]
        rows = sorted(self.worst.values(), key=lambda row: -row.max_rel)
        bad = {index for index, row in enumerate(rows) if not row.ok}
        chart = [(row.op, max(0.0, 17 + math.log10(row.max_rel))) for row in rows[:20] if row.max_rel > 0]
        skipped = [[reason, str(count)] for reason, count in self.skipped.most_common()]
        parts = [
            f"<p>First divergence: {_html.escape(self.first)}</p>" if self.first else "",
            _html.table("Out of tolerance", _HEAD, [_line(row) for row in self.failures]) if self.failures else "",
            _html.bars("Largest relative error by operator", chart, "decades over 1e-17"),
            _html.table("Worst result of each operator", _HEAD, [_line(row) for row in rows], bad),
            _html.table("Not compared", ["reason", "calls"], skipped) if skipped else "",
        ]
        Path(path).write_text(_html.page(title, cards, parts, self.how), encoding="utf-8")

    def _inputs(self, call: Call, convert: Callable[[torch.Tensor], torch.Tensor]) -> tuple[Any, Any]:
        known: dict[int, torch.Tensor] = {}  # an argument given twice stays one tensor

        def one(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                if id(value) not in known:
                    known[id(value)] = convert(value)
                return known[id(value)]
            if isinstance(value, (list, tuple)):
                return type(value)(map(one, value)) if type(value) in (list, tuple) else [one(v) for v in value]
            if isinstance(value, torch.dtype) and self._reference == "float64":
                return _WIDE.get(value, value)
            if isinstance(value, torch.device) and isinstance(self._reference, str):
                return torch.device("cpu" if self._reference == "float64" else self._reference)
            return value

        return tuple(map(one, call.args)), {name: one(value) for name, value in call.kwargs.items()}

    def _copy(self, tensor: torch.Tensor) -> torch.Tensor:
        if not isinstance(self._reference, str):
            return tensor.detach().clone()
        if self._reference == "float64":
            return tensor.detach().to("cpu", _WIDE.get(tensor.dtype, tensor.dtype), copy=True)
        return tensor.detach().to(self._reference, copy=True)

    def _run(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        own = self._implementations.get(call.name) or self._implementations.get(call.name.split(".")[0])
        if own is not None:
            return own(*args, **kwargs)
        if callable(self._reference):
            return self._reference(call.op, args, kwargs)
        return call.op(*args, **kwargs)

    def _drift(self, call: Call) -> list[torch.Tensor]:
        """The results of this call had every call before it been the reference's; kept for the calls to come."""
        shadows = self._shadows
        if shadows is None or any(not is_real(t) for t in tensors(*call.args, *call.kwargs.values(), call.result)):
            return []

        def shadow(tensor: torch.Tensor) -> torch.Tensor:
            if tensor not in shadows:
                shadows[tensor] = self._copy(tensor)
            return shadows[tensor]

        results = list(tensors(call.result))
        if _is_random(call.op) or _leaves_memory_unwritten(call.op):
            for tensor in results:
                shadows[tensor] = self._copy(tensor)
            return []
        try:
            wanted = list(tensors(self._run(call, *self._inputs(call, shadow))))
        except Exception:
            # What the reference cannot run starts afresh from the real result; the comparison itself counts it as
            # skipped.
            wanted = []
        if len(wanted) != len(results):
            wanted = [self._copy(tensor) for tensor in results]
        for tensor, reference in zip(results, wanted, strict=True):
            shadows[tensor] = reference
        return wanted

    def _record(self, call: Call, index: int, given: torch.Tensor, wanted: torch.Tensor, drifted: Any) -> None:
        self.compared += 1
        error, size, ok = self._judge(given, wanted)
        relative = error / size if size else error
        worst = self.worst.get(call.name)
        # What is neither wrong, nor the worst so far, nor written to a file needs no more figures.
        if ok and worst is not None and relative <= worst.max_rel and self._file is None:
            return
        row = Comparison(
            self.seen, call.name, call.phase, call.module_path, index, tuple(given.shape),
            str(given.dtype).removeprefix("torch."), error, relative, 1.0, 0.0, ok,
        )  # fmt: skip
        if given.shape == wanted.shape and given.numel():
            a, b = _dense(given).to(wanted.device), _dense(wanted)
            if given.is_floating_point() or given.is_complex():
                row.cosine, row.ulp = _cosine(a, b), _ulp(a, b)
                if drifted is not None:
                    row.drift = _error(a.to(drifted.device), _dense(drifted))[0]
            else:
                row.ulp = float((a != b.to(a.dtype)).sum())
        if worst is None or not relative <= worst.max_rel:
            self.worst[row.op] = row
        if not ok:
            self.failed += 1
            if len(self.failures) < self._keep:
                row.stack = [(f.filename, f.lineno or 0, f.name) for f in user_stack(call)]
                self.failures.append(row)
        if self._file is not None:
            self._file.write(json.dumps(dataclasses.asdict(row)) + "\n")

    def _judge(self, given: torch.Tensor, wanted: torch.Tensor) -> tuple[float, float, bool]:
        """The largest error, the reference's largest magnitude, and whether the error is within tolerance."""
        if given.shape != wanted.shape:
            return math.inf, 0.0, False
        if given.numel() == 0:
            return 0.0, 0.0, True
        a, b = _dense(given).to(wanted.device), _dense(wanted)
        if not (given.is_floating_point() or given.is_complex()):
            wrong = not torch.equal(a, b.to(a.dtype))
            return float(wrong), 0.0, not wrong
        error, size = _error(a, b)
        atol, rtol = self._tolerances.get(given.dtype, (0.0, 0.0))
        return error, size, error <= atol + rtol * size


def _uncompared(call: Call) -> str | None:
    op = call.op
    if not hasattr(op, "_schema"):
        return "not an operator"
    if _is_random(op):
        return "random"
    if _leaves_memory_unwritten(op):
        return "memory that nobody has written yet"
    if op.is_view or _only_moves(op):
        return "view"
    if not all(map(is_real, tensors(*call.args, *call.kwargs.values()))):
        return "tensors without values (fake, meta or a subclass)"
    return None


@functools.cache
def _is_random(op: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(op, "tags", ())


@functools.cache
def _only_moves(op: Any) -> bool:
    returns = op._schema.returns
    return bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return tensor if tensor.layout == torch.strided else tensor.to_dense()


def _error(a: torch.Tensor, b: torch.Tensor) -> tuple[float, float]:
    """The largest error, and the reference's largest finite magnitude. Equal infinities or NaNs are no error."""
    wide = torch.complex128 if b.is_complex() else torch.float64
    x, y = a.to(wide), b.to(wide)
    largest, size = (x - y).abs().max().item(), y.abs().max().item()
    if math.isfinite(largest) and math.isfinite(size):
        return largest, size
    # The reference may be finite where the dtype cannot be: what rounds to infinity is right to be infinite.
    same = (x == y) | (x.isnan() & y.isnan()) | (x == b.to(a.dtype).to(wide))
    error = torch.where(same, torch.zeros((), dtype=wide), x - y).abs()
    finite = y.abs()[torch.isfinite(y)]
    size = float(finite.max()) if finite.numel() else 0.0
    largest = float(error.max())
    return (math.inf if math.isnan(largest) else largest), size


def _cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    wide = torch.complex128 if b.is_complex() else torch.float64
    x, y = a.to(wide).flatten(), b.to(wide).flatten()
    product = float(x.norm() * y.norm())
    if not math.isfinite(product):
        return math.nan
    return float((x * y.conj()).sum().real) / product if product else 1.0


_INTEGERS = {
    torch.float64: torch.int64,
    torch.float32: torch.int32,
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
}


def _ulp(a: torch.Tensor, b: torch.Tensor) -> float:
    integer = _INTEGERS.get(a.dtype)
    if integer is None:
        return math.nan

    def ordered(tensor: torch.Tensor) -> torch.Tensor:
        # Floats as integers in the order of their values: negative ones count down from zero.
        bits = tensor.contiguous().view(integer).to(torch.int64)
        return torch.where(bits < 0, torch.iinfo(integer).min - bits, bits)

    rounded = b.to(a.dtype)
    finite = torch.isfinite(a) & torch.isfinite(rounded)
    return float((ordered(a) - ordered(rounded)).abs()[finite].max()) if bool(finite.any()) else 0.0


_HEAD = ["call", "operator", "phase", "module", "result", "max abs", "max rel", "ulp", "cosine", "drift"]


def _line(row: Comparison) -> list[str]:
    result = f"{row.dtype}[{', '.join(map(str, row.shape))}]" + (f" #{row.output}" if row.output else "")
    module = "-" if row.module is None else row.module or "(root)"
    numbers = [f"{row.max_abs:.3g}", f"{row.max_rel:.3g}", f"{row.ulp:.0f}", f"{row.cosine:.9f}"]
    return [
        str(row.number),
        row.op,
        row.phase,
        module,
        result,
        *numbers,
        "" if row.drift is None else f"{row.drift:.3g}",
    ]
