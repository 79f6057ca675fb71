"""A node of an ONNX model while it is converted: what it asks for, and where its GE operators go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ophook_npu.sim.atc.errors import AtcError
from ophook_npu.sim.atc.ge_graph import FLOAT, NUMPY, GeNode, Graph, Tensor, TypeAttribute, ge_type

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Given: TypeAlias = "Tensor | Sequence[Tensor] | None"


@dataclass
class Inferred:
    """What is known of a value of the model: its data type and shape, with -1 where a dimension is not known."""

    dtype: int | None = None
    shape: tuple[int, ...] | None = None


@dataclass
class Node:
    """A node, its inputs as tensors of the graph, and what shape inference tells of its outputs.

    Attributes that the node does not have come with the defaults of its schema, which is that of the model's opset.
    """

    proto: Any
    name: str
    opset: int
    graph: Graph
    inputs: list[Tensor | None]
    outputs: list[Inferred]
    schema: Any
    value_of: Callable[[str], Array | None]
    made: list[GeNode] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)

    # ---- what it has -------------------------------------------------------------------------------------------------
    def given(self, index: int) -> Tensor | None:
        """An input that may be absent."""
        return self.inputs[index] if index < len(self.inputs) else None

    def input(self, index: int) -> Tensor:
        found = self.given(index)
        return found if found is not None else self.refuse(f"its input {self.port(index)} is not fed")

    def port(self, index: int) -> str:
        ports = self.schema.inputs if self.schema else []
        return f"'{ports[min(index, len(ports) - 1)].name}'" if ports else str(index)

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value, texts as ``str``; ``default`` where neither the node nor its schema has one."""
        import onnx

        self.asked.add(name)
        for one in self.proto.attribute:
            if one.name == name:
                return _plain(onnx.helper.get_attribute_value(one))
        if self.schema and name in self.schema.attributes:
            known = self.schema.attributes[name].default_value
            if known.type:
                return _plain(onnx.helper.get_attribute_value(known))
        return default

    def has(self, name: str) -> bool:
        return any(one.name == name for one in self.proto.attribute)

    def only(self, name: str, taken: Any, why: str) -> None:
        """Refuses another value of an attribute."""
        value = self.attribute(name, taken)
        if value != taken:
            self.refuse_attribute(name, value, why)

    def constant(self, index: int) -> Array:
        """The value of an input, which has to be known while the model is converted."""
        found = self.value(index)
        if found is None:
            self.refuse(f"its input {self.port(index)} has to be a constant, '{self.proto.input[index]}' is none")
        return found

    def value(self, index: int) -> Array | None:
        """The same, None where it is not known."""
        return self.value_of(self.proto.input[index]) if self.given(index) is not None else None

    def integers(self, name: str, index: int, since: int) -> list[int] | None:
        """Whole numbers that are an attribute before the opset ``since`` and an input from then on."""
        if self.opset < since:
            found = self.attribute(name)
            return None if found is None else list(found)
        return None if self.given(index) is None else [int(one) for one in self.constant(index).flatten()]

    def rank(self, tensor: Tensor) -> int:
        if tensor.shape is None:
            self.refuse("the number of dimensions of its input is not known")
        return len(tensor.shape)

    def sizes(self, tensor: Tensor, what: str = "its input") -> tuple[int, ...]:
        """The shape, every dimension of which has to be known."""
        if tensor.shape is None or -1 in tensor.shape:
            self.refuse(f"the shape of {what} has to be known, it is {shown(tensor.shape)}")
        return tensor.shape

    def dtype(self, tensor: Tensor) -> int:
        return self.refuse("the data type of its input is not known") if tensor.dtype is None else tensor.dtype

    def wants(self, output: int) -> bool:
        return output < len(self.proto.output) and bool(self.proto.output[output])

    # ---- what it becomes ---------------------------------------------------------------------------------------------
    def add(self, of: str, *inputs: Given, **attributes: Any) -> Tensor:
        """A GE operator's first output."""
        return self.add_all(of, *inputs, **attributes)[0]

    def add_all(self, of: str, *inputs: Given, parts: int = 0, **attributes: Any) -> list[Tensor]:
        made = self.graph.node(f"{self.name}/{of}", of, inputs, parts, attributes)
        self.made.append(made)
        return [Tensor(made, port) for port in range(len(made.outputs))]

    def const(self, value: Any, dtype: int | None = None) -> Tensor:
        """A constant: of one of ONNX's data types, or of whole numbers, which are int64."""
        if dtype is not None and dtype not in NUMPY:  # numpy itself does not compute in it
            return self.cast(self.const(value, FLOAT), dtype)
        array = np.asarray(value, dtype=np.int64 if dtype is None else NUMPY[dtype])
        return self.graph.const(f"{self.name}/Const", array)

    def cast(self, tensor: Tensor, dtype: int | None) -> Tensor:
        """In another data type, where it has another one."""
        if dtype is None or tensor.dtype == dtype:
            return tensor
        return like(self.add("Cast", tensor, dst_type=ge_type(dtype)), dtype, tensor.shape)

    def type_attribute(self, dtype: int) -> TypeAttribute:
        return TypeAttribute(ge_type(dtype))

    # ---- refusals ----------------------------------------------------------------------------------------------------
    def refuse(self, why: str) -> NoReturn:
        raise AtcError(
            "E14001", f"Argument for Op {self.name} with optype {self.proto.op_type} is invalid. Reason: {why}."
        )

    def refuse_attribute(self, name: str, value: Any, why: str) -> NoReturn:
        raise AtcError("E13014", f"Value {value} of parameter {name} for Op {self.name} is invalid. Reason: {why}.")

    def lacks(self, of: str) -> NoReturn:
        """CANN converts it to an operator that the simulated graph engine does not have."""
        raise AtcError(
            "E10501",
            f"IR for Op {self.name} with optype {of} is not registered.",
            todo=f"CANN converts {self.proto.op_type}; the simulated graph engine has no {of}",
        )


def like(tensor: Tensor, dtype: int | None, shape: tuple[int, ...] | None) -> Tensor:
    """The same tensor, of which this is known."""
    tensor.dtype, tensor.shape = dtype, shape
    return tensor


def shown(shape: tuple[int, ...] | None) -> str:
    return "unknown" if shape is None else str(["?" if one < 0 else one for one in shape]).replace("'", "")


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


# What makes an operator's outputs of its node.
Convert: TypeAlias = "Callable[[Node], Tensor | Sequence[Tensor]]"
