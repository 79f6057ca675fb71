"""The ONNX operators that CANN converts, by name.

The names and the GE types are those of the plugins in CANN's repositories ops-math, ops-nn and ops-cv; they are registered
for opsets 8 to 18. A name that no plugin has is refused as CANN refuses it; what the simulated graph engine has no operator
for is refused with the type that it lacks.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from ophook_npu.sim.atc import (
    onnx_custom,
    onnx_elementwise,
    onnx_index,
    onnx_layers,
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
    "Bernoulli": "StatelessBernoulliV2",
    "ConcatFromSequence": "ConcatFromSequence",
    "MaxRoiPool": "ROIPooling",
    "Multinomial": "Multinomial",
    "RandomNormal": "RandomStandardNormal",
    "RandomNormalLike": "RandomStandardNormal",
    "RandomUniform": "RandomUniform",
    "RandomUniformLike": "RandomUniform",
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
_LAST_OPSET = {"ReduceL1": 17, "ReduceL2": 17}
_FIRST_OPSET = {"Mish": 18}


def converter(proto: Any, version: int, opsets: Container[int], *, known: bool) -> Convert:
    """What converts the node, of this version of its domain; ``known``: ONNX has the operator in that version."""
    domain = proto.domain or "ai.onnx"
    found = CUSTOM.get((domain, proto.op_type)) or (
        OPERATORS.get(proto.op_type) if domain == "ai.onnx" and known else None
    )
    last, first = _LAST_OPSET.get(proto.op_type, version), _FIRST_OPSET.get(proto.op_type, version)
    if found is None or (domain == "ai.onnx" and version not in opsets) or not first <= version <= last:
        raise AtcError(
            "E16002",
            f"No ONNX parser is registered for optype {domain}::{version}::{proto.op_type}.",
            todo="CANN has parsers for opsets 8 to 18"
            if found and version not in opsets
            else "replace the operator, or write a plugin for it and run the model on a device",
        )
    return found
