"""Run each operator also in a reference, on the same inputs, and say which results differ by more than they may."""

from __future__ import annotations

import dataclasses
import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary
from typing_extensions import Unpack

from ophook_npu.errors import OphookError
from ophook_npu.hooks import Call
from ophook_npu.hooks._handler import substitutions
from ophook_npu.observe._comparison import HEAD, Comparison, line
from ophook_npu.observe._course import Course, Point
from ophook_npu.observe._describe import columns, is_real, tensors, user_stack
from ophook_npu.observe._numbers import TOLERANCES, cosine, dense, error, ulp
from ophook_npu.observe._observer import EVERYTHING, Filters, Observer
from ophook_npu.observe._operators import (
    WITHOUT_VALUES,
    draws,
    leaves_memory_unwritten,
    leaves_out,
    overwritten,
    uncompared,
    written,
)
from ophook_npu.observe._rows import RowFile, check_path, open_rows
from ophook_npu.observe.references import UNASKED, Unmatched, Unspecified, matched, reference_of
from ophook_npu.plural import counted

_WIDE = {torch.float32: torch.float64, torch.float16: torch.float64, torch.bfloat16: torch.float64}
_WIDE |= {torch.complex64: torch.complex128, torch.complex32: torch.complex128}


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
        to: a file for a row for each compared result: Parquet if it ends in ``.parquet`` (needs pyarrow), else JSON
            lines.

    Memory does not grow with the run: rows go to the file; of the results, the failures (``keep``), the worst of each
    operator and some hundred along the run stay.

    Operators that only an NPU has a kernel for are compared with formulas; docs/observing.md lists them. Arguments that
    an operator overwrites and does not return count as its last results.

    Not compared, but counted in :attr:`skipped` by reason: random operators (their numbers are taken as they came),
    views (they move no numbers), memory nobody has written, what the reference cannot run, and single results that
    nobody documents or asked for.
    """

    NAME = "compare"
    COMPUTES = True

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
        **filters: Unpack[Filters],
    ) -> None:
        if isinstance(reference, str) and reference != "float64":
            try:
                torch.device(reference)
            except RuntimeError as error:
                allowed = "'float64', a device such as 'cpu', or a function (op, args, kwargs) -> result"
                raise OphookError("compare", f"unknown reference {reference!r}", allowed=allowed) from error
        self.failures: list[Comparison] = []
        self.first_drifted: Comparison | None = None
        self.failed = self.compared = self.drifted = 0
        self.skipped: Counter[str] = Counter()
        self.worst: dict[str, Comparison] = {}
        self._course = Course()
        self._running = threading.local()
        self._reference = reference
        # The operators of the device that the reference runs on begin so; a function is asked for every operator.
        device = "cpu" if reference == "float64" else reference
        self._there = f"{torch.device(device).type}::" if isinstance(device, str) else None
        self._implementations = dict(implementations or {})
        self._tolerances = {**TOLERANCES, **(tolerances or {})}
        self._shadows: WeakIdKeyDictionary | None = WeakIdKeyDictionary() if drift else None
        self._keep = keep
        self._to = None if to is None else check_path(to, "compare")
        self._file: RowFile | None = None
        super().__init__(target, **filters)

    @property
    def first(self) -> Comparison | None:
        """The first result out of tolerance: where the divergence begins."""
        return self.failures[0] if self.failures else None

    @property
    def follows_drift(self) -> bool:
        """Whether accumulated error is followed too."""
        return self._shadows is not None

    @property
    def course(self) -> list[Point]:
        """The largest relative error of each stretch of the run, in order: some hundred stretches."""
        return list(self._course.points)

    def __enter__(self) -> Compare:
        if self._to is not None:
            self._file = open_rows(self._to, Comparison)
        substitutions.append(self._substituted)
        super().__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        substitutions.remove(self._substituted)
        super().__exit__(*exc)
        if self._file is not None:
            self.put(self._file.close)
            self._file = None

    def _substituted(self, op: Any) -> None:
        """A hook replaces a call: one that the program put over this observer, unless it is under a running call."""
        if not getattr(self._running, "call", None) and (not self.hook.ops or op in self.hook.ops):
            self._skip(
                f"a hook of the program replaced {getattr(op, '_name', op)}, so its result "
                "is not seen here; with via='impl_override' it is"
            )

    def before(self, call: Call) -> None:
        self._running.call = call
        reason = uncompared(call)
        if self._shadows is not None and written(call.op):
            for tensor in filter(is_real, tensors(*call.args, *call.kwargs.values())):
                self._shadow(tensor)  # afterwards the value it began with is gone
        # Only what the operator overwrites has to be copied before it runs.
        if reason is not None or written(call.op):
            call.state = (reason, None if reason is not None else self._inputs(call, self._copy))
        else:
            call.state = (None, None)

    def after(self, call: Call) -> None:
        self._running.call = None
        reason, inputs = call.state
        drifted = self._drift(call)
        if reason is not None:
            self.skipped[reason] += 1
            return
        try:
            args, kwargs = inputs or self._inputs(call, self._copy)
            expected = self._run(call, args, kwargs)
            pairs = list(matched(call.op, call.result, expected))
            if written(call.op):
                pairs += matched(call.op, *overwritten(call, args, kwargs))
        except Unmatched as problem:
            self._skip(f"the reference of {call.name} {problem}")
            return
        except Exception as problem:
            text = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            if isinstance(problem, NotImplementedError) and self._formula(call) is None:
                text = "no kernel there; implementations= takes one"
            self._skip(f"the reference cannot run {call.name}: {text}")
            return
        # Let go of the copies before the results are read: with them, memory of this size goes back and forth.
        del args, kwargs, expected
        call.state = inputs = None
        unasked = leaves_out(call)
        for index, (given, wanted) in enumerate(pairs):
            if index in unasked:
                self._skip(f"result of {call.name}: {UNASKED}")
            elif not is_real(given):  # a copy to the meta device
                self.skipped[WITHOUT_VALUES] += 1
            elif isinstance(wanted, Unspecified):
                self._skip(f"result of {call.name}: {wanted.reason}")
                if wanted.value is not None:
                    self._record(call, index, wanted.known_part(given), wanted.value, None)
            else:
                self._record(call, index, given, wanted, drifted.get(id(given)))

    def clear(self) -> None:
        super().clear()
        self.failures.clear()
        self.skipped.clear()
        self.worst.clear()
        self._course = Course()
        self.first_drifted = None
        self.failed = self.compared = self.drifted = 0
        if self._shadows is not None:
            self._shadows = WeakIdKeyDictionary()

    def to_json(self) -> dict[str, Any]:
        return {
            "how": self.how,
            "calls": self.seen,
            "compared": self.compared,
            "failed": self.failed,
            "drifted": self.drifted,
            "first": _data(self.first),
            "first_drifted": _data(self.first_drifted),
            "skipped": dict(self.skipped),
            "failures": [dataclasses.asdict(row) for row in self.failures],
            "worst": {name: dataclasses.asdict(row) for name, row in self.worst.items()},
        }

    def report(self, top: int = 20) -> str:
        compared = f"{counted(self.compared, 'result')} of {counted(self.seen, 'call')} compared"
        head = f"{compared}, {self.failed} out of tolerance"
        parts = [text for text in (self.verdict(),) if text]
        right = frozenset({0, 5, 6, 7, 8, 9})
        if self.failures:
            parts.append(columns([HEAD, *(line(row) for row in self.failures[:top])], right))
        rows = sorted(self.worst.values(), key=lambda row: -row.max_rel)[:top]
        if rows:
            parts.append("largest error of each operator:\n" + columns([HEAD, *map(line, rows)], right))
        parts.append(
            "\n".join([f"{head}. {self.how}", *(f"not compared: {n} x {r}" for r, n in self.skipped.most_common())])
        )
        return "\n\n".join(parts)

    def verdict(self) -> str:
        """The first divergence in words, and with ``drift`` where inherited error first is too much; else nothing."""
        lines = []
        if self.first is not None:
            lines.append(f"first divergence: {self.first}")
        drifted = self.first_drifted
        if drifted is not None:
            assert drifted.drift is not None and drifted.inherited is not None
            lines.append(
                f"accumulated error is out of tolerance in {self.drifted} results, first in call {drifted.number}: "
                f"{drifted.op}: {drifted.drift:.3g}, of which its own {drifted.max_abs:.3g}, "
                f"inherited {drifted.inherited:.3g}"
            )
        return "\n".join(lines)

    def html(self, path: str | Path, title: str = "Comparison") -> None:
        """Writes the report as one self-contained file."""
        from ophook_npu.observe.pages.comparison import compare_page

        Path(path).write_text(compare_page(title, self), encoding="utf-8")

    def _skip(self, reason: str) -> None:
        # Messages may name shapes: in a long run there are as many as there are shapes.
        known = reason in self.skipped or len(self.skipped) < _REASONS
        self.skipped[reason if known else "the reference cannot run it, for still other reasons"] += 1

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
        formula = self._formula(call)
        if formula is not None:
            return formula(*args, **kwargs)
        if callable(self._reference):
            return self._reference(call.op, args, kwargs)
        return call.op(*args, **kwargs)

    def _formula(self, call: Call) -> Callable[..., Any] | None:
        """What stands for the operator in the reference; ``None`` for the operator itself."""
        if self._implementations:
            own = self._implementations.get(call.name) or self._implementations.get(call.name.split(".")[0])
            if own is not None:
                return own
        # A reference on an NPU has the operator itself.
        if self._there is None or call.name.startswith(self._there):
            return None
        return reference_of(call.name)

    def _drift(self, call: Call) -> dict[int, torch.Tensor]:
        """What this call computes had every call before it been the reference's, by the id of the call's own tensors.

        It is kept for the calls to come.
        """
        shadows = self._shadows
        if shadows is None or any(not is_real(t) for t in tensors(*call.args, *call.kwargs.values(), call.result)):
            return {}
        args, kwargs = self._inputs(call, self._shadow)
        here, there = overwritten(call, args, kwargs)
        wanted: dict[int, torch.Tensor] = {}
        if not draws(call) and not leaves_memory_unwritten(call.op):
            try:
                pairs = [*matched(call.op, call.result, self._run(call, args, kwargs)), *matched(call.op, here, there)]
                wanted = {id(a): b for a, b in pairs if isinstance(b, torch.Tensor)}
            except Exception:
                # What the reference cannot run starts afresh from the real result; the comparison itself counts it as
                # skipped.
                wanted = {}
        for tensor in tensors(call.result, here):
            shadows[tensor] = wanted[id(tensor)] if id(tensor) in wanted else self._copy(tensor)
        return wanted

    def _shadow(self, tensor: torch.Tensor) -> torch.Tensor:
        """What the tensor would be had every call been the reference's."""
        assert self._shadows is not None
        if tensor not in self._shadows:
            self._shadows[tensor] = self._copy(tensor)
        shadow: torch.Tensor = self._shadows[tensor]
        return shadow

    def _record(
        self, call: Call, index: int, given: torch.Tensor, wanted: torch.Tensor, drifted: torch.Tensor | None
    ) -> None:
        self.compared += 1
        off, size, ok = self._judge(given, wanted)
        relative = off / size if size else off
        drift, drift_ok = None, None
        if drifted is not None and (given.is_floating_point() or given.is_complex()):
            drift, _, drift_ok = self._judge(given, drifted)
        worst = self.worst.get(call.name)
        self._course.add(Point(self.seen, call.name, relative, ok))
        # What is neither wrong, nor the worst so far, nor written to a file needs no more figures.
        is_first_drifted = drift_ok is False and self.first_drifted is None
        self.drifted += drift_ok is False
        if ok and worst is not None and relative <= worst.max_rel and self._file is None and not is_first_drifted:
            return
        row = Comparison(
            self.seen, call.name, call.phase, call.module_path, index, tuple(given.shape),
            str(given.dtype).removeprefix("torch."), off, relative, 1.0, 0.0, ok, drift, drift_ok, call.node,
        )  # fmt: skip
        if given.shape == wanted.shape and given.numel():
            a, b = dense(given).to(wanted.device), dense(wanted)
            if given.is_floating_point() or given.is_complex():
                row.cosine, row.ulp = cosine(a, b), ulp(a, b)
            else:
                row.ulp = float((a != b.to(a.dtype)).sum())
        if worst is None or not relative <= worst.max_rel:
            self.worst[row.op] = row
        if is_first_drifted:
            self.first_drifted = row
        if not ok:
            self.failed += 1
            if len(self.failures) < self._keep:
                row.stack = [(f.filename, f.lineno or 0, f.name) for f in user_stack(call)]
                self.failures.append(row)
        if self._file is not None:
            file, data = self._file, _data(row)
            self.put(lambda: file.write(data))

    def _judge(self, given: torch.Tensor, wanted: torch.Tensor) -> tuple[float, float, bool]:
        """The largest error, the reference's largest magnitude, and whether the error is within tolerance."""
        if given.shape != wanted.shape:
            return math.inf, 0.0, False
        if given.numel() == 0:
            return 0.0, 0.0, True
        a, b = dense(given).to(wanted.device), dense(wanted)
        if not (given.is_floating_point() or given.is_complex()):
            wrong = not torch.equal(a, b.to(a.dtype))
            return float(wrong), 0.0, not wrong
        off, size = error(a, b)
        atol, rtol = self._tolerances.get(given.dtype, (0.0, 0.0))
        return off, size, off <= atol + rtol * size


_REASONS = 200


def _data(row: Comparison | None) -> Any:
    return None if row is None else dataclasses.asdict(row)
