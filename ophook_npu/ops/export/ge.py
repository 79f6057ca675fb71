"""The prototype of a declared operator in Ascend's graph engine: REG_OP, and its shape and dtype inference."""

from __future__ import annotations

from typing import Any

import torch

from ophook_npu.ops._ge import attribute_type
from ophook_npu.ops.declare import Operator, default_of
from ophook_npu.ops.rules import Broadcast, Divided, Reduced, Rule, Same

DATA_TYPES = {
    torch.float16: "DT_FLOAT16", torch.float32: "DT_FLOAT", torch.bfloat16: "DT_BF16", torch.float64: "DT_DOUBLE",
    torch.int8: "DT_INT8", torch.uint8: "DT_UINT8", torch.int16: "DT_INT16", torch.int32: "DT_INT32",
    torch.int64: "DT_INT64", torch.bool: "DT_BOOL",
}  # fmt: skip
_INPUT_MACROS = {"Tensor": "INPUT", "Optional[Tensor]": "OPTIONAL_INPUT", "List[Tensor]": "DYNAMIC_INPUT"}
_ATTRIBUTE_NAMES = {"Str": "String", "DataType": "Type"}

_HEADER = """\
// The GE prototype of {type}, as an operator project's build generates it from the OpDef in ../op_host. Here for those
// who build graphs without that build; the names {names} are what torchair.ge.custom_op must use.
// Made by `ophook-npu op export {qualname}` from the operator's declaration.
#ifndef {guard}
#define {guard}

#include "graph/operator_reg.h"

namespace ge {{

{reg_op}

}} // namespace ge

#endif // {guard}
"""

_INFERENCE = """\
// {type}'s REG_OP prototype with its shape and dtype inference, as its operator project registers them.
// Made by `ophook-npu op export {qualname}` from the operator's declaration.
#include <algorithm>

#include "graph/operator_reg.h"

namespace ge {{

{reg_op}

IMPLEMT_COMMON_INFERFUNC({type}Infer) {{
{body}  return GRAPH_SUCCESS;
}}
COMMON_INFER_FUNC_REG({type}, {type}Infer);

}}  // namespace ge
"""


def outputs(op: Operator) -> list[str]:
    """The prototype's outputs: the results, or the arguments written to under their own names."""
    return list(op.mutated) if op.mutated else list(op.outputs)


def dtypes_of(op: Operator, name: str) -> tuple[torch.dtype, ...] | None:
    """What a tensor argument or a result may be; None where the declaration does not restrict it."""
    if name in op.outputs:
        rule = op.outputs[name]
        assert rule is not None
        if rule.dtype is not None:
            return (rule.dtype,)
        name = rule.of[0]
    return next((tuple(allowed) for group, allowed in op.dtypes.items() if name in group.split()), None)


def reg_op(op: Operator) -> str:
    lines = [f"REG_OP({op.ge})"]
    for name in op.tensors:
        kind = str(op.argument(name).real_type)
        lines.append(f"    .{_INPUT_MACROS[kind]}({name}, {_tensor_type(op, name)})")
    lines += [f"    .OUTPUT({name}, {_tensor_type(op, name)})" for name in outputs(op)]
    for attribute in op.ge_attributes:
        kind = attribute_type(op, attribute)
        kind = _ATTRIBUTE_NAMES.get(kind, kind)
        given = default(op, attribute)
        if given is None:
            lines.append(f"    .REQUIRED_ATTR({attribute}, {kind})")
        else:
            lines.append(f"    .ATTR({attribute}, {kind}, {given})")
    return "\n".join([*lines, f"    .OP_END_FACTORY_REG({op.ge});"])


def header(op: Operator) -> str:
    """The prototype alone."""
    guard = f"{file_stem(op).upper()}_PROTO_H"
    names = ", ".join([*op.tensors, *(n for n in outputs(op) if n not in op.tensors)])
    return _HEADER.format(type=op.ge, names=names, qualname=op.qualname, guard=guard, reg_op=reg_op(op))


def inference(op: Operator) -> str:
    """The prototype with inference, a source of libcust_opsproto.so."""
    return _INFERENCE.format(type=op.ge, qualname=op.qualname, reg_op=reg_op(op), body=_infer_body(op))


def file_stem(op: Operator) -> str:
    """``add_custom`` for AddCustom."""
    assert op.ge is not None
    return stem_of(op.ge)


def stem_of(type: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(type))


def default(op: Operator, attribute: str) -> str | None:
    """The attribute's default in C++; None where the schema has none."""
    a = op.argument(op.ge_attributes[attribute])
    value = default_of(a)
    if not a.has_default_value() or value is None:
        return None
    return DATA_TYPES[value] if isinstance(value, torch.dtype) else literal(value)


def literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(literal(item) for item in value) + "}"
    return repr(value)


def _tensor_type(op: Operator, name: str) -> str:
    allowed = dtypes_of(op, name)
    if allowed is None:
        return "TensorType::ALL()"
    return f"TensorType({{{', '.join(DATA_TYPES[d] for d in allowed)}}})"


def _infer_body(op: Operator) -> str:
    plain = [name for name in op.tensors if str(op.argument(name).real_type) == "Tensor"]
    lines = [f'TensorDesc {name} = op.GetInputDescByName("{name}");' for name in plain]
    for group, allowed in op.dtypes.items():
        names = [name for name in group.split() if name in plain]
        if not names:
            continue
        choices = ", ".join(DATA_TYPES[d] for d in allowed)
        lead = names[0]
        lines += [
            f"const DataType {lead}_types[] = {{{choices}}};",
            f"if (std::count(std::begin({lead}_types), std::end({lead}_types), {lead}.GetDataType()) == 0) {{",
            "  return GRAPH_FAILED;",
            "}",
        ]
        lines += [f"if ({name}.GetDataType() != {lead}.GetDataType()) return GRAPH_FAILED;" for name in names[1:]]
    for name, rule in op.outputs.items():
        assert rule is not None
        lines += _output(op, name, rule)
    for name in op.mutated:
        lines.append(f'if (op.UpdateOutputDesc("{name}", {name}) != GRAPH_SUCCESS) return GRAPH_FAILED;')
    return "".join(f"  {line}\n" for line in lines)


def _output(op: Operator, name: str, rule: Rule) -> list[str]:
    first = rule.of[0]
    lines = [f"std::vector<int64_t> {name}_dims = {first}.GetShape().GetDims();"]
    match rule:
        case Same():
            pass
        case Broadcast():
            for other in rule.of[1:]:
                lines += [
                    f"if (BroadCastInfer([&] {{ return {name}_dims; }}, "
                    f"[&] {{ return {other}.GetShape().GetDims(); }},",
                    f"                   [&](const std::vector<int64_t>& dims) {{ {name}_dims = dims; }}) "
                    "!= GRAPH_SUCCESS) {",
                    "  return GRAPH_FAILED;",
                    "}",
                ]
        case Reduced() | Divided():
            lines += _along(op, name, rule)
    dtype = DATA_TYPES[rule.dtype] if rule.dtype is not None else f"{first}.GetDataType()"
    lines += [
        f'TensorDesc {name} = op.GetOutputDescByName("{name}");',
        f"{name}.SetShape(Shape({name}_dims));",
        f"{name}.SetDataType({dtype});",
        f'if (op.UpdateOutputDesc("{name}", {name}) != GRAPH_SUCCESS) return GRAPH_FAILED;',
    ]
    return lines


def _along(op: Operator, name: str, rule: Reduced | Divided) -> list[str]:
    if isinstance(rule.dim, str):
        attribute = next(key for key, argument in op.ge_attributes.items() if argument == rule.dim)
        lines = [
            f"int64_t {name}_dim = 0;",
            f'if (op.GetAttr("{attribute}", {name}_dim) != GRAPH_SUCCESS) return GRAPH_FAILED;',
        ]
    else:
        lines = [f"int64_t {name}_dim = {rule.dim};"]
    lines += [
        f"if ({name}_dims != UNKNOWN_RANK) {{",
        f"  const int64_t rank = static_cast<int64_t>({name}_dims.size());",
        f"  if ({name}_dim < -rank || {name}_dim >= rank) return GRAPH_FAILED;",
        f"  int64_t& extent = {name}_dims[static_cast<size_t>({name}_dim < 0 ? {name}_dim + rank : {name}_dim)];",
    ]
    if isinstance(rule, Reduced):
        lines.append("  extent = 1;")
    else:
        lines += [
            "  if (extent >= 0) {",  # an unknown extent stays unknown
            f"    if (extent % {rule.by} != 0) return GRAPH_FAILED;",
            f"    extent /= {rule.by};",
            "  }",
        ]
    return [*lines, "}"]
