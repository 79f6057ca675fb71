"""The operator's own Ascend C kernel, run core by core on the CPU with its checks, against the CPU implementation."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from typing import Any

import torch

from ophook_npu.kernel.cases import Case, describe
from ophook_npu.kernel.check import Checked, run_case
from ophook_npu.kernel.operator import load
from ophook_npu.kernel.project import Prototype
from ophook_npu.ops.check.outcome import Failure, NotHere
from ophook_npu.ops.declare import Operator
from ophook_npu.plural import counted
from ophook_npu.soc import CSRC


def project_of(op: Operator) -> Path | None:
    """The operator project with its kernel: the package's own, or ``ascendc`` next to the file that declares it."""
    from ophook_npu.ops.export.ge import file_stem

    if op.ge is None:
        return None
    source = inspect.getsourcefile(op.cpu)
    folders = [CSRC / "vendor"] if op.cpu.__module__.startswith("ophook_npu.ops.") else []
    folders += [Path(source).resolve().parent / "ascendc"] if source else []
    return next((f for f in folders if (f / "op_kernel" / f"{file_stem(op)}.cpp").is_file()), None)


def kernel(op: Operator) -> str:
    """The kernel gives what the CPU implementation gives, for every example, without a finding."""
    project = project_of(op)
    if project is None:
        raise NotHere("no Ascend C kernel: no ascendc/op_kernel next to the declaration")
    loaded = load(project, op.ge)
    outcomes = [run_case(loaded, case) for case in declared_cases(op)]
    checked = Checked(loaded.prototype.type, outcomes)
    reasons = [f.short() for f in checked.findings if f.severity == "error"]
    reasons += [f"{o.label}: {o.reason}" for o in outcomes if o.reason]
    if reasons:
        raise Failure("; ".join(reasons[:3]))
    cores = max((o.report.block_dim for o in outcomes), default=0)
    return f"{counted(len(outcomes), 'example')}, up to {counted(cores, 'core')}"


def shipped_cases(prototype: Prototype) -> list[Case]:
    """The examples of the operator that ships here under this GE type, in every data type, against its CPU kernel."""
    from ophook_npu.ops import declaration, shipped

    return [case for op in map(declaration, shipped()) if op.ge == prototype.type for case in declared_cases(op)]


def declared_cases(op: Operator) -> list[Case]:
    """The operator's examples as a kernel takes them: tensors, then attributes by their GE names; with what its CPU
    implementation gives, computed here: a child of this process must not start torch's threads.

    Raises:
        NotHere: an example has what a kernel cannot be given from here.
    """
    found = []
    for number, example in enumerate(op.examples()):
        values = dict(zip((a.name for a in op.arguments), example, strict=False))
        tensors = tuple(values.get(name) for name in op.tensors)
        attributes = {ge: values[name] for ge, name in op.ge_attributes.items() if name in values}
        if any(isinstance(v, list | tuple) for v in tensors) or any(
            isinstance(v, torch.dtype) for v in attributes.values()
        ):
            raise NotHere("lists of tensors and data types as attributes are not given to kernels")
        expected = functools.partial(_given, _expected(op, values))
        label = f"{op.name} example {number}: {describe([v for v in example if v is not None])}"
        found.append(Case(label, tensors, attributes, expected))
    return found


def _given(value: Any) -> Any:
    return value


def _expected(op: Operator, values: dict[str, Any]) -> Any:
    own = {n: v.detach().clone() if isinstance(v, torch.Tensor) else v for n, v in values.items()}
    keywords = {a.name for a in op.arguments if a.kwarg_only}
    result = op.cpu(
        *(v for n, v in own.items() if n not in keywords), **{n: v for n, v in own.items() if n in keywords}
    )
    # What works in place returns nothing: its result is what it wrote to.
    return tuple(own[name] for name in op.mutated) if result is None else result
