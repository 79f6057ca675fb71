"""Judge what upstream's code generation wrote. It exits 0 after tracebacks and drops entries without a word."""

from __future__ import annotations

import re
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.patch.finding import TreeCheck
from ophook_npu.patch.layout import Layout
from ophook_npu.patch.spec import PatchOperator, same_signature
from ophook_npu.plural import counted

# What the generators print when they fail, although gencode.sh goes on.
_COMPLAINTS = (
    "Traceback (most recent call last)",
    "multiple definitions",
    "duplicate operator",
    "No such file or directory",
)
_ATEN = Path("torch_npu") / "csrc" / "aten"


def check_generated(
    torch_npu: Path, layout: Layout, operator: PatchOperator, *, log: str | None = None, autograd: bool = False
) -> list[TreeCheck]:
    """Findings about one operator in a torch_npu tree whose generate_code.sh has run; ``log`` is what that printed.

    Raises OphookError where the code was never generated.
    """
    schema = torch_npu / _ATEN / "CustomRegisterSchema.cpp"
    if not schema.is_file():
        raise OphookError(
            "patch check",
            f"{schema} is missing: the code was not generated",
            todo="bash generate_code.sh PYTHON VERSION",
        )
    findings = [] if log is None else [_complaints(log)]
    text = schema.read_text(encoding="utf-8")
    base = operator.name.split(".")[0]
    defined = [found for found in re.findall(r'm\.def\("([^"]*)"', text) if found.split("(")[0] == operator.name]
    findings.append(
        TreeCheck(
            "schema",
            len(defined) == 1 and same_signature(defined[0], operator.signature),
            f"{len(defined)} m.def of {operator.name} in {schema.name}" + (f": {defined[0]}" if defined else ""),
            "the entry was dropped: look at its version key" if not defined else "",
        )
    )
    implemented = any(
        re.search(rf'm\.impl\("{re.escape(operator.name)}"', (torch_npu / _ATEN / name).read_text(encoding="utf-8"))
        for name in ("RegisterNPU.cpp", "CustomRegisterSchema.cpp")
        if (torch_npu / _ATEN / name).is_file()
    )
    findings.append(TreeCheck("PrivateUse1 kernel", implemented, f'm.impl("{operator.name}", …)'))
    interface = layout.root / "op_plugin" / "OpApiInterface.h"
    declared = interface.is_file() and re.search(rf"\b{base}(_out)?\(", interface.read_text(encoding="utf-8"))
    findings.append(TreeCheck("declaration", bool(declared), f"op_api::{base} in {interface.name}"))
    # Without impl_ns, the old layout generates all but this, and only the final link of hours of building would notice.
    sources = (path.read_text(encoding="utf-8") for path in (layout.root / "op_plugin").glob("OpInterface*.cpp"))
    called = any(re.search(rf"\bop_api::{base}(_out)?\(", source) for source in sources)
    findings.append(TreeCheck("call", called, f"op_api::{base} from OpInterface*.cpp"))
    if not layout.per_version:
        findings.append(_structured(layout, operator, base))
    for kernel in operator.kernels:
        target = layout.kernels / kernel.name
        there = target.is_file() and target.read_bytes() == kernel.read_bytes()
        findings.append(TreeCheck("kernel", there, layout.relative(target), "" if there else "run patch apply"))
    if autograd:
        variable = "".join(p.read_text(encoding="utf-8") for p in (torch_npu / _ATEN).glob("VariableType*.cpp"))
        findings.append(
            TreeCheck(
                "autograd", f'm.impl("{operator.name}"' in variable, f'm.impl("{operator.name}", …) in VariableType'
            )
        )
    return findings


def _complaints(log: str) -> TreeCheck:
    lines = [line for line in log.splitlines() if any(complaint in line for complaint in _COMPLAINTS)]
    if not lines:
        return TreeCheck("log", True, "no traceback and no complaint")
    last = [line for line in log.splitlines() if re.match(r"^\w*(Error|Exception)\b", line)]
    return TreeCheck("log", False, (last or lines)[-1].strip(), "upstream went on after this; read the whole log")


def _structured(layout: Layout, operator: PatchOperator, base: str) -> TreeCheck:
    """One failing entry switches off every structured kernel, so they must be there even for a hand-written one."""
    files = [
        path
        for path in layout.kernels.glob("StructKernelNpuOpApi*.cpp")
        if re.search(r"\bnamespace op_api\b", path.read_text(encoding="utf-8"))
    ]
    if "gen_opapi" not in operator.entry:
        return TreeCheck("structured kernels", bool(files), counted(len(files), "file"))
    mine = any(re.search(rf"\b{base}(_out)?\(", path.read_text(encoding="utf-8")) for path in files)
    return TreeCheck("structured kernel", mine, f"op_api::{base} in {counted(len(files), 'file')}")
