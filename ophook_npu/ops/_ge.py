"""torchair's converter of a declared operator: its node in Ascend's graph engine."""

from __future__ import annotations

from typing import Any

import torch

from ophook_npu.errors import OphookError
from ophook_npu.ops.declare import ATTRIBUTE_TYPES, Operator

_PYTHON = {
    "Int": (int,), "Float": (float, int), "Bool": (bool,), "Str": (str,), "DataType": (torch.dtype,),
    "ListInt": (int,), "ListFloat": (float, int), "ListBool": (bool,),
}  # fmt: skip


def register_converter(op: Operator, torchair: Any) -> None:
    """Tell torchair how ``op`` becomes a GE node. Shapes may be dynamic: they come from the prototype's inference.

    Raises:
        OphookError: the declaration names no GE type.
    """
    if op.ge is None:
        raise OphookError(op.qualname, "it has no GE operator type", allowed="ge='SomeType' in its declaration")

    def convert(*args: Any, meta_outputs: Any = None, **kwargs: Any) -> Any:
        values = op.bind(args, kwargs)
        # A result is written in place where GE's output has the input's name.
        outputs = list(op.mutated) if op.mutated else list(op.outputs)
        node = torchair.ge.custom_op(
            op.ge,
            inputs={name: values[name] for name in op.tensors},
            outputs=outputs,
            attrs={attribute: _attribute(op, torchair, attribute, values) for attribute in op.ge_attributes},
        )
        if op.mutated:
            from torchair.ge._ge_graph import dont_prune_me

            dont_prune_me(node)  # nothing reads it when it is called for its effect only
        return node

    torchair.register_fx_node_ge_converter(op.packet.default)(convert)


def attribute_type(op: Operator, attribute: str) -> str:
    return ATTRIBUTE_TYPES[str(op.argument(op.ge_attributes[attribute]).real_type)]


def _attribute(op: Operator, torchair: Any, attribute: str, values: dict[str, Any]) -> Any:
    kind, value = attribute_type(op, attribute), values[op.ge_attributes[attribute]]
    items = value if kind.startswith("List") and isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(item, _PYTHON[kind]) for item in items):
        raise RuntimeError(
            f"[{op.name}] GE attribute {attribute} is {type(value).__name__} {value!r}; allowed: {kind}, known when the "  # noqa: E501
            "graph is compiled; next: pass a constant, or compile with dynamic=False"
        )
    if kind == "DataType":
        from torchair.ge._ge_graph import torch_type_to_ge_type

        value = torch_type_to_ge_type(value)
    return getattr(torchair.ge.attr, kind)(value)
