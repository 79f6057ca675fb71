"""The C headers of aclnn functions, ``aclnnop/aclnn_*.h``: written from data when a simulator is laid out.

A prototype's types are those of the simulator's own row where it has the function (`exported`), else those of the
published page (`rules`). Functions are in the header that is named as they are, aclnnAddRelu in aclnn_add_relu.h,
except where ``csrc/rules/headers.txt`` says another: ``scripts/aclnn_headers.py`` writes it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.sim import rules

EXCEPTIONS = rules.FOLDER / "headers.txt"

# A row's kind of parameter (csrc/opapi/aclnn.h) -> its C type; numbers and bool stand for themselves.
_KINDS = {
    "In": "const aclTensor*",
    "Out": "aclTensor*",
    "Ref": "aclTensor*",
    "Resized": "aclTensor*",
    "Num": "const aclScalar*",
    "MaybeNum": "const aclScalar*",
    "Ints": "const aclIntArray*",
    "Floats": "const aclFloatArray*",
    "Bools": "const aclBoolArray*",
    "List": "const aclTensorList*",
    "Nums": "const aclScalarList*",
    "Dtype": "aclDataType",
    "Text": "const char*",
    "Cube": "int8_t",
}
_NUMBERS = ("bool", "int", "int8_t", "int32_t", "int64_t", "uint64_t", "float", "double", "aclDataType")
_RESERVED = {"and", "auto", "bool", "const", "default", "double", "float", "int", "long", "not", "or", "short", "this"}

# Functions without two phases, by their headers.
_PLAIN = {
    "aclnn_trans_matmul_weight.h": (
        "aclnnStatus aclnnCalculateMatmulWeightSize(const aclIntArray* tensorShape, uint64_t* weightTensorSize);",
        "aclnnStatus aclnnCalculateMatmulWeightSizeV2(const aclIntArray* tensorShape, aclDataType dataType, "
        "uint64_t* weightTensorSize);",
    ),
    "aclnn_trans_quant_param.h": (
        "aclnnStatus aclnnTransQuantParam(const float* scaleArray, uint64_t scaleSize, const float* offsetArray, "
        "uint64_t offsetSize, uint64_t** quantParam, uint64_t* quantParamSize);",
    ),
}

Parameters = tuple[tuple[str, str], ...]
"""C type and name of each parameter, in order."""


def header_of(function: str) -> str:
    """The header that a function is in if nothing else is known: aclnnAddRelu → ``aclnn_add_relu.h``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", re.sub(r"^acl(nn)?", "", function))
    return f"{'aclnn' if function.startswith('aclnn') else 'acl'}_{words.lower()}.h"


def exceptions() -> dict[str, str]:
    """Function -> header, for those that are in another than `header_of` says."""
    lines = (line.split() for line in EXCEPTIONS.read_text().splitlines() if line and not line.startswith("#"))
    return {function: header for header, *functions in lines for function in functions}


def documented() -> dict[str, Parameters]:
    """The parameters of every documented function."""
    return {
        name: tuple((_documented_type(one), _name(one.name)) for one in function.parameters)
        for name, function in rules.table().items()
    }


def _documented_type(parameter: rules.Parameter) -> str:
    kind = parameter.kind
    if kind in _NUMBERS:
        return kind
    # What is written is not const, but for lists, whose tensors are what is written.
    written = kind == "aclTensor*" and parameter.direction != "in"
    return kind if written else f"const {kind}"


def _name(name: str) -> str:
    return f"{name}_" if name in _RESERVED else name


def of_row(text: str) -> Parameters:
    """The parameters that a row tells of itself, ``(In, self, int64_t, dim, Out, out)``.

    Raises:
        OphookError: a kind that no C type is known for.
    """
    words = [word.strip() for word in text.strip().removeprefix("(").removesuffix(")").split(",")]
    pairs = list(zip(words[::2], words[1::2], strict=True))
    if unknown := [kind for kind, _ in pairs if kind not in _KINDS and kind not in _NUMBERS]:
        raise OphookError("headers", f"no C type is known for {unknown[0]} in {text}", allowed=", ".join(_KINDS))
    return tuple((_KINDS.get(kind, kind), _name(name)) for kind, name in pairs)


def functions(rows: Mapping[str, str]) -> dict[str, Parameters]:
    """Every function that a header declares: the documented ones, and those of ``rows`` (name -> what it tells)."""
    found = documented()
    for name, text in rows.items():
        own, page = of_row(text), found.get(name, ())
        # The row decides what is passed, the page what it is called.
        names = [name for _, name in (page if len(page) == len(own) else own)]
        found[name] = tuple((kind, called) for (kind, _), called in zip(own, names, strict=True))
    return found


def write(include: Path, rows: Mapping[str, str]) -> None:
    """Write ``aclnnop/*.h`` into an include folder, and ``aclnnop/level2``, from which older programs include them."""
    folder = include / "aclnnop"
    (folder / "level2").mkdir(parents=True)
    elsewhere = exceptions()
    by_header: dict[str, dict[str, Parameters]] = defaultdict(dict)
    for name, parameters in sorted(functions(rows).items()):
        by_header[elsewhere.get(name, header_of(name))][name] = parameters
    for header in by_header.keys() | _PLAIN.keys():
        (folder / header).write_text(text(header, by_header[header]))
        (folder / "level2" / header).write_text(f'#include "../{header}"\n')


def text(header: str, declared: Mapping[str, Parameters]) -> str:
    """One header with both phases of its functions."""
    guard = f"OPHOOK_{header.upper().replace('.', '_')}_"
    lines = [
        f"// {', '.join(declared)}: as the simulated Ascend has them. Written when it was laid out; edits are lost.",
        *(f"#ifndef {guard}", f"#define {guard}", '#include "aclnn/aclnn_base.h"'),
        *("#ifdef __cplusplus", 'extern "C" {', "#endif"),
    ]
    for name, parameters in declared.items():
        lines += ["", *_two_phases(name, parameters)]
    lines += _PLAIN.get(header, ())
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "#endif"]
    return "\n".join(lines) + "\n"


def _two_phases(name: str, parameters: Parameters) -> Iterable[str]:
    first = [*parameters, ("uint64_t*", "workspaceSize"), ("aclOpExecutor**", "executor")]
    second = "void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream"
    yield f"aclnnStatus {name}GetWorkspaceSize({', '.join(f'{kind} {called}' for kind, called in first)});"
    yield f"aclnnStatus {name}({second});"
