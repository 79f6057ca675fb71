"""C++ of an operator's host side that who declares it in another language starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Operand:
    name: str
    kind: str
    """required, optional or dynamic"""
    types: Sequence[str]
    """``DT_…``, one for each choice of data types"""
    formats: Sequence[str]


def definition(
    type: str,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    attributes: Sequence[tuple[str, str, str | None]],
    socs: Sequence[str],
    contiguous: str = "",
) -> str:
    """The OpDef.

    Args:
        attributes: name, type as OpDef names it (``Int``, ``ListFloat``), default in C++; without one it is required.
        contiguous: why inputs are made contiguous, for a comment; without it they are not.
    """

    def operand(side: str, one: Operand, end: str) -> str:
        types = ", ".join(f"ge::{name}" for name in one.types)
        formats = ", ".join(f"ge::FORMAT_{name}" for name in one.formats)
        text = (
            f'        this->{side}("{one.name}")\n            .ParamType({one.kind.upper()})\n'
            f"            .DataType({{{types}}})\n            .Format({{{formats}}})\n"
            f"            .UnknownShapeFormat({{{formats}}})"
        )
        return text + end

    body = f"        // {contiguous}\n" if contiguous else ""
    of_inputs = "\n            .AutoContiguous();\n" if contiguous else ";\n"
    body += "".join(operand("Input", one, of_inputs) for one in inputs)
    body += "".join(operand("Output", one, ";\n") for one in outputs)
    for name, kind, given in attributes:
        required = "REQUIRED" if given is None else "OPTIONAL"
        body += f'        this->Attr("{name}").AttrType({required}).{kind}({given or ""});\n'
    configs = "".join(f'\n            .AddConfig("{soc}")' for soc in socs)
    return (
        f"namespace ops {{\n\nclass {type} : public OpDef {{\npublic:\n"
        f"    explicit {type}(const char* name) : OpDef(name)\n    {{\n{body}"
        "        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);\n"
        f"        this->AICore()\n            .SetTiling(optiling::TilingFunc){configs};\n    }}\n}};\n\n"
        f"OP_ADD({type});\n\n}} // namespace ops\n"
    )


def tiling_header(type: str, stem: str, field: str = "uint64_t, elements") -> str:
    guard = f"{stem.upper()}_TILING_H"
    return (
        "// What host tiling tells the kernel. Add the fields that your kernel needs.\n"
        f"#ifndef {guard}\n#define {guard}\n\n"
        '#include "register/tilingdata_base.h"\n\nnamespace optiling {\n'
        f"BEGIN_TILING_DATA_DEF({type}TilingData)\n    TILING_DATA_FIELD_DEF({field});\n"
        "END_TILING_DATA_DEF;\n\n"
        f"REGISTER_TILING_DATA_CLASS({type}, {type}TilingData)\n}} // namespace optiling\n\n#endif // {guard}\n"
    )
