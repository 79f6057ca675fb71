"""``ophook-npu kernel check``: every case in a process of its own, findings merged, results compared."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ophook_npu.errors import OphookError
from ophook_npu.kernel import build, isolated
from ophook_npu.kernel.cases import Case, Declared, cases, flat, unknown
from ophook_npu.kernel.findings import KernelReport, Mistake
from ophook_npu.kernel.memory import is_tensor
from ophook_npu.kernel.operator import Kernel, load
from ophook_npu.kernel.project import Project
from ophook_npu.kernel.socs import find
from ophook_npu.plural import counted
from ophook_npu.sarif import Annotation

# How far a result may be from the reference, by the data type of the result: (relative, absolute).
_CLOSE = {"float32": (1e-4, 1e-5), "float16": (2e-3, 1e-3), "bfloat16": (1.6e-2, 1e-2), "float64": (1e-7, 1e-9)}
# A sum that cancels is off by its terms' rounding, in the reference as in the kernel: this share of the elements may be
# off by the absolute bound times the root mean square of the reference. The share is that of the vendor's examples.
_CANCELLED = 1e-4


_LEVELS = {"error": "error", "strict": "warning", "note": "note"}


@dataclass
class CaseResult:
    """One case: what was found, how far off the result is, or why there is none."""

    label: str
    status: str  # pass, fail or error
    reason: str = ""
    report: KernelReport = field(default_factory=KernelReport)
    where: str = ""  # of an error instead of a result: "crash", "timeout", or who refused


@dataclass
class Checked:
    operator: str
    outcomes: list[CaseResult]

    @property
    def findings(self) -> list[Mistake]:
        """Each once, the most severe first, with the number of times over all cases."""
        merged: dict[tuple[str, str, int, str], Mistake] = {}
        for outcome in self.outcomes:
            for f in outcome.report.findings:
                key = (f.kind, f.file, f.line, f.call)
                old = merged.get(key)
                sums = {name: getattr(old, name) + getattr(f, name) for name in ("count", "followed")} if old else {}
                merged[key] = replace(old, **sums) if old else f
        order = {"error": 0, "strict": 1, "note": 2}
        return sorted(merged.values(), key=lambda f: (order[f.severity], f.file, f.line, f.kind))

    @property
    def failed(self) -> bool:
        return any(o.status != "pass" for o in self.outcomes) or any(f.severity != "note" for f in self.findings)


def check(
    path: Path,
    operator: str | None = None,
    inputs: Sequence[Path] = (),
    *,
    declared: Declared,
    timeout: float = 60,
    include: Sequence[Path] = (),
    **settings: Any,
) -> list[Checked]:
    """Check every operator of a project, or the one named. Without ``inputs``, the project's own inputs.py is taken.

    Raises:
        OphookError: the SoC is not known, the project does not compile, or the inputs cannot be read.
    """
    find(settings.get("soc"))
    types = [operator] if operator else sorted(Project(path, include).prototypes)
    kernels = [load(path, name, include=include, **settings) for name in types]
    inputs = inputs or own_inputs(path)
    with ThreadPoolExecutor() as pool:  # toolchain.run holds it back
        # Without inputs every choice of data types is run; who knows them may have much to load meanwhile.
        entries = [] if inputs else [entry for kernel in kernels for entry in kernel.entries()]
        built = [pool.submit(entry.prepare) for entry in entries]
        todo = [cases(kernel.prototype, inputs, declared) for kernel in kernels]
        for one in built:
            one.result()
    return [_check(kernel, some, timeout) for kernel, some in zip(kernels, todo, strict=True)]


def for_review(results: Sequence[Checked]) -> list[Annotation]:
    """What was found, for a code review; a case that failed without a finding has no line."""
    found = []
    for result in results:
        for one in result.findings:
            level, often = _LEVELS[one.severity], f" ({one.count} times)" if one.count > 1 else ""
            text = f"{result.operator}: {one.call}: {one.what}{often}"
            found.append(Annotation(one.kind, level, text, one.todo, one.file, one.line))
        for outcome in result.outcomes:
            if outcome.status != "pass" and outcome.reason:
                text = f"{result.operator} {outcome.label}: {outcome.reason}"
                found.append(Annotation(f"case_{outcome.status}", "error", text))
    return found


def debug(path: str, operator: str, inputs: Sequence[str] = (), declared: Declared = unknown) -> None:
    """The first case, in this process, with a kernel compiled for a debugger; prints what was found."""
    kernel = load(path, operator, debug=True)
    case = cases(kernel.prototype, [Path(each) for each in inputs], declared)[0]
    kernel(*(_own(value) for value in case.inputs), **case.attributes)
    print(*kernel.findings, f"{case.label}: {counted(len(kernel.findings), 'finding')}", sep="\n")


def own_inputs(path: Path) -> list[Path]:
    """inputs.py of a project, if there is one."""
    return [file for file in (path / "inputs.py",) if file.is_file()]


def _check(kernel: Kernel, todo: Sequence[Case], timeout: float) -> Checked:
    done = [run_case(kernel, case, timeout) for case in todo]
    left = [CaseResult(what, "error", "kernels have no such type here") for what in kernel.prototype.without_type()]
    return Checked(kernel.prototype.type, done + left)


def run_case(kernel: Kernel, case: Case, timeout: float = 60) -> CaseResult:
    """One case in a process of its own; ``timeout`` in seconds.

    Raises:
        OphookError: the kernel does not compile.
    """
    try:
        kernel.needed(*case.inputs).prepare()  # a child's build would be lost
        watch = kernel.needed(*case.inputs).tell_crashes
        report, difference = isolated.call(lambda: _run(kernel, case), timeout, watch, build.place)
    except OphookError as error:
        if error.where == "kernel":  # it does not compile: so with every case
            raise
        status = "fail" if error.where in ("crash", "timeout") else "error"
        reason = f"{error.what}" + (f"; allowed: {error.allowed}" if error.allowed else "")
        return CaseResult(case.label, status, reason, where=error.where)
    status = "fail" if difference or report.errors else "pass"
    return CaseResult(case.label, status, difference, report)


def _run(kernel: Kernel, case: Case) -> tuple[KernelReport, str]:
    inputs = tuple(_own(value) for value in case.inputs)
    result = kernel(*inputs, **case.attributes)
    if isinstance(result, tuple) and not result:
        result = kernel.written(inputs)
    if case.expected is None:
        return kernel.report, ""
    wanted = flat(case.expected())
    got = flat(result)[: None if kernel.prototype.outputs else len(wanted)]  # no output: the first inputs, as changed
    differences = [compare(g, w) for g, w in zip(got, wanted, strict=True)]
    return kernel.report, "; ".join(
        f"output {i}: {text}" if len(differences) > 1 else text for i, text in enumerate(differences) if text
    )


def _own(value: Any) -> Any:
    if isinstance(value, list | tuple) and any(hasattr(one, "shape") for one in value):
        return [_own(one) for one in value]
    if is_tensor(value):
        return value.detach().clone()
    return value.copy() if isinstance(value, np.ndarray) else value


def compare(got: Any, wanted: Any) -> str:
    """ "" where they agree as well as the type allows, else what differs."""
    name = str(got.dtype).removeprefix("torch.")
    if tuple(got.shape) != tuple(wanted.shape):
        return f"the shape is {list(got.shape)}, the reference has {list(wanted.shape)}"
    a, b = (_numbers(value) for value in (got, wanted))
    relative, absolute = _CLOSE.get(name, (0.0, 0.0))
    with np.errstate(invalid="ignore"):
        off = np.abs(a - b)
        same = (a == b) | (np.isnan(a) & np.isnan(b)) | (off <= absolute + relative * np.abs(b))
    wrong = int(a.size - np.count_nonzero(same))
    if not wrong:
        return ""
    if absolute and wrong <= _CANCELLED * a.size:
        size = float(np.sqrt(np.mean(np.square(b[np.isfinite(b)]))))
        if np.all(off[~same] <= absolute * size):
            return ""
    at = np.unravel_index(int(np.argmin(same)), a.shape) if a.shape else ()
    where = [int(i) for i in at]
    allowed = absolute + relative * abs(b[at]) if absolute else 0
    near = f" (they may differ by {allowed:.2g})" if np.isfinite(allowed) and allowed else ""
    return f"{wrong} of {a.size} elements differ from the CPU's, first at {where}: {a[at]} and {b[at]}{near}"


def _numbers(value: Any) -> Any:
    if is_tensor(value):
        value = value.detach().cpu()
        return value.double().numpy() if value.is_floating_point() else _numbers(value.numpy())
    array = np.asarray(value)
    return (
        array.astype(np.float64)
        if array.dtype.kind == "f"
        else array.astype(np.uint8)
        if array.dtype.kind == "b"
        else array
    )
