"""Kernels that are templates: which instance a tiling key means. The host side registered them (ASCENDC_TPL_*)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ophook_npu.errors import OphookError
from ophook_npu.kernel import build, native
from ophook_npu.kernel.memory import DTYPES
from ophook_npu.kernel.project import Project, Prototype
from ophook_npu.plural import counted

_KERNEL = (
    r"template\s*<([^{{}};]*?)>\s*(?:inline\s+)?(?:(?:__global__|__aicore__|__vector__)\s+)+void\s+{name}\s*\(([^)]*)\)"
)

_DECLARES = re.compile(r"^\s*ASCENDC_TPL_ARGS_DECL\s*\(", re.MULTILINE)
_INCLUDES = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def declared(project: Project, prototype: Prototype) -> dict[str, Any]:
    """What ASCENDC_TPL_* declare for the operator. CANN reads the kernel alone, so where the host side includes no such
    header, because its tiling adds the key up itself, it is the header that the kernel includes.
    """
    ask = prototype.type.encode()
    templates: dict[str, Any] = json.loads(project.tiling.ascendc_templates(ask))
    header = None if templates else _declaring(project.kernel_source(prototype), project.roots)
    if header is None:
        return templates
    keys = build.host([build.written("ophook_tiling_keys.cpp", f'#include "{header}"\n')], project.roots)
    found: dict[str, Any] = json.loads(native.host(str(keys)).ascendc_templates(ask))
    return found


def _declaring(source: Path, roots: Sequence[Path]) -> Path | None:
    seen, waiting = {source}, [source]
    for file in waiting:
        for name in _INCLUDES.findall(file.read_text(errors="replace")):
            places = ((root / str(name)).resolve() for root in (file.parent, *roots))
            header = next((one for one in places if one.is_file()), None)
            if header and header not in seen:
                if _DECLARES.search(header.read_text(errors="replace")):
                    return header
                seen.add(header)
                waiting.append(header)
    return None


def dispatch(source: Path, prototype: Prototype, templates: dict[str, Any], choice: dict[str, int]) -> tuple[str, str]:
    """C++ that calls the kernel's template for the run's tiling key, and the cores that it runs on; "" and "" for a
    kernel that is no template.

    Raises:
        OphookError: the kernel is a template and nothing declares its keys, or another number of arguments.
    """
    found = re.search(_KERNEL.format(name=prototype.function), source.read_text(errors="replace"))
    if not found:
        return "", ""
    if not templates:
        raise OphookError(
            "kernel",
            f"{source.name}: {prototype.function} is a template, and nothing declares tiling keys for it",
            allowed="a header with ASCENDC_TPL_ARGS_DECL and ASCENDC_TPL_SEL that the kernel includes",
        )  # fmt: skip
    if templates["error"]:
        raise OphookError("kernel", templates["error"], allowed="see ASCENDC_TPL_ARGS_DECL and ASCENDC_TPL_SEL")
    parameters, arguments = _split(found.group(1)), templates["arguments"]
    if len(parameters) != len(arguments):
        raise OphookError(
            "kernel", f"{source.name}: {prototype.function} has {counted(len(parameters), 'template parameter')}",
            allowed=f"{len(arguments)}, which ASCENDC_TPL_ARGS_DECL names: {', '.join(a['name'] for a in arguments)}",
        )  # fmt: skip
    keys = [key for key in templates["keys"] if _fits(key["values"], arguments, prototype, choice)]
    cores = sorted({key["cores"] for key in templates["keys"] if key["cores"]})
    if len(cores) > 1:
        raise OphookError(
            "kernel", f"{prototype.type} runs on {' and '.join(cores)}", allowed="one of them for all keys"
        )
    declared = ", ".join(f"uint8_t* ophook_{i}" for i, _ in enumerate(_split(found.group(2))))
    given = ", ".join(f"ophook_{i}" for i, _ in enumerate(_split(found.group(2))))
    cases = "".join(
        f"    case {key['key']}ull: return {prototype.function}<{_instance(key['values'], parameters)}>({given});\n"
        for key in keys
    )
    return (
        f'extern "C" __global__ __aicore__ void {prototype.function}({declared}) {{\n'
        f"  switch (::ophook::rt::tiling_key()) {{\n{cases}"
        '    default: ::ophook::rt::assertion("the tiling key is one of ASCENDC_TPL_SEL", ::ophook::rt::At::here());\n'
        "  }\n}\n",
        cores[0] if cores else "",
    )


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _instance(values: list[int], parameters: list[str]) -> str:
    out = []
    for value, parameter in zip(values, parameters, strict=True):
        if re.match(r"(?:typename|class)\b", parameter):
            out.append(DTYPES[value][1] if value in DTYPES else f"ophook_type_{value}")
        else:
            out.append(("true" if value else "false") if re.match(r"bool\b", parameter) else str(value))
    return ", ".join(out)


def _fits(values: list[int], arguments: list[Any], prototype: Prototype, choice: dict[str, int]) -> bool:
    """Whether the key's data types are those of this choice, for arguments that are bound to an input or output."""
    for value, argument in zip(values, arguments, strict=True):
        if argument["bound"] is None or argument["kind"] not in ("dtype", "datatype"):
            continue
        side, index = argument["bound"]
        parameters = prototype.inputs if side == "input" else prototype.outputs
        if index < len(parameters) and choice.get(parameters[index].name, value) != value:
            return False
    return True
