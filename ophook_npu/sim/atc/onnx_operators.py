"""The ONNX operators that CANN converts, by name.

The names and the GE types are those of the plugins in CANN's repositories ops-math, ops-nn and ops-cv; they are
registered for opsets 8 to 18. A name that no plugin has is refused as CANN refuses it; what the simulated graph engine
has no operator for is refused with the type that it lacks.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from ophook_npu.sim.atc import (
    onnx_custom,
    onnx_elementwise,
    onnx_index,
    onnx_layers,
    onnx_random,
    onnx_recurrent,
    onnx_reduce,
    onnx_resize,
    onnx_shapes,
    onnx_windows,
)
from ophook_npu.sim.atc.errors import AtcError
from ophook_npu.sim.atc.onnx_node import Convert, Node


def lacking(of: str) -> Convert:
    def convert(node: Node) -> Any:
        node.lacks(of)

    return convert


# Converted by CANN to an operator that the simulated engine does not have.
_LACKING = {
    "ConcatFromSequence": "ConcatFromSequence",
    "MaxRoiPool": "ROIPooling",
    "SequenceAt": "SequenceAt",
    "SequenceConstruct": "SequenceConstruct",
    "SequenceEmpty": "SequenceEmpty",
    "SequenceErase": "SequenceErase",
    "SequenceInsert": "SequenceInsert",
    "SequenceLength": "SequenceLength",
    "SplitToSequence": "SplitToSequence",
}

OPERATORS: dict[str, Convert] = {
    **onnx_elementwise.OPERATORS,
    **onnx_index.OPERATORS,
    **onnx_layers.OPERATORS,
    **onnx_random.OPERATORS,
    **onnx_recurrent.OPERATORS,
    **onnx_reduce.OPERATORS,
    **onnx_resize.OPERATORS,
    **onnx_shapes.OPERATORS,
    **onnx_windows.OPERATORS,
    **{name: lacking(of) for name, of in _LACKING.items()},
}
# By domain and name: those that are no operators of ONNX.
CUSTOM: dict[tuple[str, str], Convert] = {**onnx_custom.OPERATORS}

# Fewer opsets than the others have.
_OPSETS = {"Mish": range(18, 19), "ReduceL1": range(8, 18), "ReduceL2": range(8, 18)}


def converter(proto: Any, version: int, opsets: Container[int], *, known: bool) -> Convert:
    """What converts the node, of this version of its domain; ``known``: ONNX has the operator in that version."""
    domain = proto.domain or "ai.onnx"
    found = CUSTOM.get((domain, proto.op_type)) or (
        OPERATORS.get(proto.op_type) if domain == "ai.onnx" and known else None
    )
    of_it = _OPSETS.get(proto.op_type, opsets)
    if found is None or (domain == "ai.onnx" and version not in of_it):
        raise AtcError(
            "E16002",
            f"No ONNX parser is registered for optype {domain}::{version}::{proto.op_type}.",
            todo="replace the operator; no plugin of CANN has it" if found is None else _other_opset(of_it),
        )
    return found


def _other_opset(opsets: Container[int]) -> str:
    named = [one for one in range(1, 100) if one in opsets]
    return f"export the model with an opset from {named[0]} to {named[-1]}, which CANN has the operator's plugin for"
