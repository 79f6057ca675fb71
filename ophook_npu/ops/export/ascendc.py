"""What an Ascend C operator project starts from: msopgen's JSON, and the host side's skeleton.

The skeleton is complete in what the declaration says: prototype, dtypes, attributes, shape and dtype inference. Tiling
and the kernel are the author's: the skeleton refuses to be built without them.
"""

from __future__ import annotations

import torch

from ophook_npu.kernel import host_text
from ophook_npu.kernel.host_text import Operand, definition
from ophook_npu.ops._ge import attribute_type
from ophook_npu.ops.declare import Operator
from ophook_npu.ops.export.ge import DATA_TYPES, default, file_stem, outputs
from ophook_npu.ops.rules import Broadcast, Divided, Reduced, Rule, Same

_JSON_TYPES = {
    torch.float16: "fp16", torch.float32: "float", torch.bfloat16: "bf16", torch.float64: "double", torch.int8: "int8",
    torch.uint8: "uint8", torch.int16: "int16", torch.int32: "int32", torch.int64: "int64", torch.bool: "bool",
}  # fmt: skip
_JSON_ATTRIBUTES = {
    "Int": "int", "Float": "float", "Bool": "bool", "Str": "string", "ListInt": "list_int", "ListFloat": "list_float",
    "ListBool": "list_bool", "DataType": "int",
}  # fmt: skip
# a data type as an attribute of msopgen's, which are numbers
_GE_NUMBERS = {
    "DT_FLOAT": 0, "DT_FLOAT16": 1, "DT_INT8": 2, "DT_INT32": 3, "DT_UINT8": 4, "DT_INT16": 6, "DT_INT64": 9,
    "DT_DOUBLE": 11, "DT_BOOL": 12, "DT_BF16": 27,
}  # fmt: skip
_PARAM = {"Tensor": "required", "Optional[Tensor]": "optional", "List[Tensor]": "dynamic"}
_ANY = tuple(_JSON_TYPES)
SOCS = ("ascend910b", "ascend910_93")


def combinations(op: Operator) -> dict[str, list[torch.dtype]]:
    """For each tensor its dtype in every combination that the operator takes: columns of one table."""
    rows: list[dict[str, torch.dtype]] = [{}]
    grouped = {name for group in op.dtypes for name in group.split()}
    groups = [(group.split(), tuple(allowed)) for group, allowed in op.dtypes.items()]
    groups += [([name], _ANY) for name in op.tensors if name not in grouped]
    for names, allowed in groups:
        rows = [row | dict.fromkeys(names, dtype) for row in rows for dtype in allowed]
    table: dict[str, list[torch.dtype]] = {name: [row[name] for row in rows] for name in op.tensors}
    for name in outputs(op):
        rule = op.outputs.get(name)
        if rule is not None:
            table[name] = [rule.dtype or row[rule.of[0]] for row in rows]
    return table


def msopgen(op: Operator) -> str:
    """The JSON that ``msopgen gen -i`` reads."""
    table = combinations(op)

    def tensor(name: str, kind: str) -> str:
        types = ", ".join(f'"{_JSON_TYPES[d]}"' for d in table[name])
        formats = ", ".join('"ND"' for _ in table[name])
        return (
            f'      {{\n        "name": "{name}",\n        "param_type": "{kind}",\n'
            f'        "format": [{formats}],\n        "type": [{types}]\n      }}'
        )

    inputs = ",\n".join(tensor(name, _PARAM[str(op.argument(name).real_type)]) for name in op.tensors)
    results = ",\n".join(tensor(name, "required") for name in outputs(op))
    text = (
        f'[\n  {{\n    "op": "{op.ge}",\n    "language": "cpp",\n    "input_desc": [\n{inputs}\n    ],\n'
        f'    "output_desc": [\n{results}\n    ]'
    )
    attributes = ",\n".join(_attribute(op, name) for name in op.ge_attributes)
    if attributes:
        text += f',\n    "attr": [\n{attributes}\n    ]'
    return text + "\n  }\n]\n"


def _attribute(op: Operator, attribute: str) -> str:
    kind, given = _JSON_ATTRIBUTES[attribute_type(op, attribute)], default(op, attribute)
    optional = "optional" if given is not None else "required"
    lines = [f'"name": "{attribute}"', f'"param_type": "{optional}"', f'"type": "{kind}"']
    if given is not None:
        value = str(_GE_NUMBERS.get(given, given.strip('"')))
        lines.append(f'"default_value": "{value}"')
    return "      {\n" + ",\n".join(f"        {line}" for line in lines) + "\n      }"


def op_def(op: Operator) -> str:
    """The class that declares the operator to CANN, with everything that the declaration says of it."""
    table = combinations(op)

    def operand(name: str, kind: str) -> Operand:
        return Operand(name, kind, [DATA_TYPES[d] for d in table[name]], ["ND" for _ in table[name]])

    def attribute(name: str) -> tuple[str, str, str | None]:
        kind = {"Str": "String", "DataType": "Int"}.get(attribute_type(op, name), attribute_type(op, name))
        given = default(op, name)
        return name, kind, f"ge::{given}" if given in _GE_NUMBERS else given

    return definition(
        str(op.ge),
        [operand(name, _PARAM[str(op.argument(name).real_type)]) for name in op.tensors],
        [operand(name, "required") for name in outputs(op)],
        [attribute(name) for name in op.ge_attributes],
        SOCS,
        f"AutoContiguous: {op.aclnn_name} makes strided and expanded inputs dense before the kernel sees them.",
    )


def op_host(op: Operator, tiling: str | None = None) -> str:
    """``op_host/<name>.cpp``; without ``tiling``, the function in C++, it refuses to be built."""
    stem = file_stem(op)
    what = "tiling" if tiling else "and the place for tiling. Never compiled where it was\n// made (no CANN)"
    yours = "" if tiling else "; tiling is yours"
    platform = '#include "tiling/platform/platform_ascendc.h"\n' if tiling else ""
    skeleton = (
        "static ge::graphStatus TilingFunc(gert::TilingContext* context)\n{\n"
        "    // How the work is cut into blocks is what the declaration cannot say.\n"
        f'#error "{op.ge}: write the tiling: set {op.ge}TilingData, the number of blocks and the workspace size"\n'
        "    return ge::GRAPH_FAILED;\n}\n"
    )
    return (
        f"// Host side of {op.ge}: prototype, shape and dtype inference, {what}. "
        f"Made by `ophook-npu op {'new' if tiling else f'export {op.qualname}'}` from the operator's "
        f"declaration{yours}.\n\n"
        f'#include "{stem}_tiling.h"\n\n#include <algorithm>\n\n#include "register/op_def_registry.h"\n{platform}\n'
        f"namespace optiling {{\n\n{tiling or skeleton}\n}} // namespace optiling\n\n"
        f"namespace ge {{\n\n{_infer_shape(op)}\n{_infer_dtype(op)}\n}} // namespace ge\n\n{op_def(op)}"
    )


def tiling_header(op: Operator) -> str:
    return host_text.tiling_header(str(op.ge), file_stem(op))


def _unknown_rank(op: Operator) -> list[str]:
    """A result whose shape is computed from a shape of unknown rank (-2) has unknown rank."""
    rules = [rule for rule in op.outputs.values() if rule is not None and not isinstance(rule, Same)]
    lines = []
    for source in sorted({op.tensors.index(name) for rule in rules for name in rule.of}):
        shape = f"context->GetInputShape({source})"
        lines += [
            f"if ({shape}->GetDimNum() == 1 && {shape}->GetDim(0) == -2) {{",
            *(f"    *context->GetOutputShape({i}) = *{shape};" for i in range(len(op.outputs))),
            "    return GRAPH_SUCCESS;",
            "}",
        ]
    return lines


def _infer_shape(op: Operator) -> str:
    lines = _unknown_rank(op)
    for i, name in enumerate(outputs(op)):
        rule = op.outputs.get(name)
        source = op.tensors.index(rule.of[0] if rule is not None else name)
        lines.append(f"*context->GetOutputShape({i}) = *context->GetInputShape({source});")
        if rule is not None:
            lines += _adjust(op, rule, i)
    body = "".join(f"    {line}\n" for line in lines)
    return f"static graphStatus InferShape(gert::InferShapeContext* context)\n{{\n{body}    return GRAPH_SUCCESS;\n}}\n"


def _adjust(op: Operator, rule: Rule, output: int) -> list[str]:
    shape = f"context->GetOutputShape({output})"
    match rule:
        case Same():
            return []
        case Broadcast():
            lines = []
            for other in rule.of[1:]:
                lines += _broadcast_with(f"context->GetInputShape({op.tensors.index(other)})", shape)
            return lines
        case Reduced() | Divided():
            dim = str(rule.dim)
            if isinstance(rule.dim, str):
                index = list(op.ge_attributes.values()).index(rule.dim)
                dim = f"*context->GetAttrs()->GetInt({index})"
            change = "1" if isinstance(rule, Reduced) else f"extent < 0 ? extent : extent / {rule.by}"
            refuse = [] if isinstance(rule, Reduced) else [f"    if (extent > 0 && extent % {rule.by} != 0) {{",
                                                           "        return GRAPH_FAILED;", "    }"]  # fmt: skip
            return [
                "{",
                f"    const int64_t rank = static_cast<int64_t>({shape}->GetDimNum());",
                f"    const int64_t dim = {dim};",
                "    if (dim < -rank || dim >= rank) {",
                "        return GRAPH_FAILED;",
                "    }",
                "    const size_t at = static_cast<size_t>(dim < 0 ? dim + rank : dim);",
                f"    const int64_t extent = {shape}->GetDim(at);",
                *refuse,
                f"    {shape}->SetDim(at, {change});",
                "}",
            ]
    raise AssertionError(rule)


def _broadcast_with(other: str, shape: str) -> list[str]:
    return [
        "{",
        f"    const gert::Shape one = *{shape};",
        f"    const gert::Shape other = *{other};",
        "    const size_t rank = std::max(one.GetDimNum(), other.GetDimNum());",
        f"    {shape}->SetDimNum(rank);",
        "    for (size_t back = 1; back <= rank; ++back) {",
        "        const int64_t a = back <= one.GetDimNum() ? one.GetDim(one.GetDimNum() - back) : 1;",
        "        const int64_t b = back <= other.GetDimNum() ? other.GetDim(other.GetDimNum() - back) : 1;",
        "        if (a != b && a > 1 && b > 1) {",
        "            return GRAPH_FAILED;",
        "        }",
        "        // An unknown extent (-1) next to b != 1 can only be b or 1.",
        f"        {shape}->SetDim(rank - back, a == 1 || (a < 0 && b != 1) ? b : a);",
        "    }",
        "}",
    ]


def _infer_dtype(op: Operator) -> str:
    lines = []
    for i, name in enumerate(outputs(op)):
        rule = op.outputs.get(name)
        if rule is not None and rule.dtype is not None:
            lines.append(f"context->SetOutputDataType({i}, {DATA_TYPES[rule.dtype]});")
        else:
            source = op.tensors.index(rule.of[0] if rule is not None else name)
            lines.append(f"context->SetOutputDataType({i}, context->GetInputDataType({source}));")
    body = "".join(f"    {line}\n" for line in lines)
    return (
        "static graphStatus InferDataType(gert::InferDataTypeContext* context)\n{\n"
        f"{body}    return GRAPH_SUCCESS;\n}}\n"
    )
