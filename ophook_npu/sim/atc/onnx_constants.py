"""The values of a model that are known while it is converted: constants, and what is computed of nothing else.

Shapes are computed of shapes by chains of small nodes, whose end is an attribute of a GE operator. The nodes stay in
the graph; here they are only looked through, with the reference implementation of ONNX.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ophook_npu.sim.atc.ge_graph import Tensor
from ophook_npu.sim.atc.onnx_node import Array, Inferred

_log = logging.getLogger(__name__)

# The most numbers that a value may have to be computed here.
_MOST = 4096

# What only moves numbers: weights go through it on their way to a recurrent layer, which takes constants.
_MOVES = {"Concat", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"}
_MOST_MOVED = 1 << 26

# What another run would compute anew.
_RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}


def small(shape: Sequence[int] | None) -> bool:
    """Whether what has this shape is looked at here."""
    return shape is not None and -1 not in shape and int(np.prod(shape)) <= _MOST


class Constants:
    def __init__(self, opset: int, initializers: Mapping[str, Any], values: Mapping[str, Inferred]) -> None:
        self._opset = opset
        self._initializers = initializers
        self._values = values
        self._writers: dict[str, Any] = {}
        self._known: dict[str, Array | None] = {}

    def add(self, proto: Any) -> None:
        """A node that the model has."""
        for name in proto.output:
            self._writers[name] = proto

    def same(self, name: str, other: str) -> None:
        """Another name of a value."""
        self._known[name] = self.of(other)

    def of(self, name: str) -> Array | None:
        """The value of that name, None where it is not known."""
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> Array | None:
        import onnx

        if name in self._initializers:
            return np.asarray(onnx.numpy_helper.to_array(self._initializers[name]))
        proto = self._writers.get(name)
        if proto is None or proto.domain not in ("", "ai.onnx") or proto.op_type in _RANDOM:
            return None
        if proto.op_type == "Constant":
            return _constant(proto)
        of = self._values.get(proto.input[0]) if proto.input else None
        if proto.op_type in ("Shape", "Size") and of and of.shape is not None and -1 not in of.shape:
            return self._computed(proto, name, [np.broadcast_to(np.float32(0), of.shape)])
        inputs = [self.of(one) if one else None for one in proto.input]
        most = _MOST_MOVED if proto.op_type in _MOVES else _MOST
        if not inputs or any(
            one is None or one.size > most for one, told in zip(inputs, proto.input, strict=True) if told
        ):
            return None
        shape = self._values[name].shape if name in self._values else None
        if shape is not None and -1 not in shape and int(np.prod(shape)) > most:
            return None
        return self._computed(proto, name, inputs)

    def inferred(self, proto: Any, inputs: Sequence[Tensor | None]) -> dict[str, Inferred]:
        """What ONNX infers of the outputs of a node by itself, with constants for inputs whose value is known."""
        import onnx

        given: list[Any] = []
        values: list[Any] = []
        for name, tensor in zip(proto.input, inputs, strict=True):
            if tensor is None or name in {one.name for one in given}:
                continue
            if tensor.dtype is None:
                return {}
            shape = None if tensor.shape is None else [None if size < 0 else size for size in tensor.shape]
            given.append(onnx.helper.make_tensor_value_info(name, tensor.dtype, shape))
            value = self.of(name) if small(tensor.shape) else None
            if value is not None:
                values.append(onnx.numpy_helper.from_array(value, name))
        outputs = [onnx.helper.make_empty_tensor_value_info(one) for one in proto.output if one]
        model = onnx.helper.make_model(
            onnx.helper.make_graph([proto], "one", given, outputs, values),
            opset_imports=[onnx.helper.make_opsetid("", self._opset)],
        )
        return {one.name: value_of(one) for one in with_inferred_shapes(model).graph.output}

    def _computed(self, proto: Any, name: str, inputs: list[Any]) -> Array | None:
        import onnx
        from onnx.reference import ReferenceEvaluator

        if any(one.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for one in proto.attribute):
            return None
        names = [one for one in proto.input if one]
        graph = onnx.helper.make_graph(
            [proto], "one",
            [onnx.helper.make_empty_tensor_value_info(one) for one in dict.fromkeys(names)],
            [onnx.helper.make_empty_tensor_value_info(name)],
        )  # fmt: skip
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", self._opset)])
        fed: Any = dict(zip(names, [one for one in inputs if one is not None], strict=True))
        try:
            found: Any = ReferenceEvaluator(model).run(None, fed)
            return np.asarray(found[0])
        except Exception as error:  # NumPy's and its own, which are not documented: the value is not known
            _log.debug("ONNX's reference does not compute %s: %s", proto.op_type, error)
            return None


def with_inferred_shapes(model: Any) -> Any:
    """A copy of the model with what ONNX infers of its values; the model, where ONNX refuses it."""
    import onnx

    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=True)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, RuntimeError, IndexError, ValueError):
        return model  # what cannot be inferred is not known; the engine infers for itself


def value_of(info: Any) -> Inferred:
    """What a ``ValueInfoProto`` tells."""
    tensor = info.type.tensor_type
    if not info.type.HasField("tensor_type"):
        return Inferred()
    shape = None
    if tensor.HasField("shape"):
        shape = tuple(one.dim_value if one.HasField("dim_value") else -1 for one in tensor.shape.dim)
    return Inferred(tensor.elem_type or None, shape)


def _constant(proto: Any) -> Array | None:
    import onnx

    for one in proto.attribute:
        value = onnx.helper.get_attribute_value(one)
        if one.name == "value":
            return np.asarray(onnx.numpy_helper.to_array(value))
        if one.name in ("value_int", "value_ints"):
            return np.asarray(value, dtype=np.int64)
        if one.name in ("value_float", "value_floats"):
            return np.asarray(value, dtype=np.float32)
    return None
