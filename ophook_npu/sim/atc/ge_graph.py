"""A graph of GE operators while it is built, and its message."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ophook_npu.sim.atc.engine import ports
from ophook_npu.sim.atc.messages import messages

# ONNX's number of a data type: that of ge::DataType, and its name in ge.proto, which numbers them in its own way.
DATA_TYPES = {
    1: (0, "FLOAT"), 2: (4, "UINT8"), 3: (2, "INT8"), 4: (7, "UINT16"), 5: (6, "INT16"), 6: (3, "INT32"),
    7: (9, "INT64"), 9: (12, "BOOL"), 10: (1, "FLOAT16"), 11: (11, "DOUBLE"), 12: (8, "UINT32"), 13: (10, "UINT64"),
    14: (16, "COMPLEX64"), 15: (17, "COMPLEX128"), 16: (27, "BF16"),
}  # fmt: skip
FLOAT, UINT8, INT8, INT32, INT64, BOOL, FLOAT16, DOUBLE = 1, 2, 3, 6, 7, 9, 10, 11
FLOATING = (FLOAT, FLOAT16, DOUBLE, 16)
# By the name that numpy, and ml_dtypes, have for it.
OF_NUMPY = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16,
}  # fmt: skip
# Of numpy itself, for arithmetic over constants.
NUMPY = {number: name for name, number in OF_NUMPY.items() if name != "bfloat16"}


def ge_type(dtype: int) -> int:
    """The number that ``dst_type`` and ``dtype`` of GE's operators take."""
    return DATA_TYPES[dtype][0]


def from_proto(dtype: int) -> int:
    """ge::DataType's number of ge.proto's."""
    name = messages().DataType.Name(dtype).removeprefix("DT_")
    return next(number for number, known in DATA_TYPES.values() if known == name)


def unused(names: Container[str], stem: str) -> str:
    """The name, or with a number behind it where it is taken."""
    count, name = 0, stem
    while name in names:
        count += 1
        name = f"{stem}_{count}"
    return name


class TypeAttribute(int):
    """An attribute of the kind Type, where a plain number would be one of the kind Int."""


@dataclass(eq=False)
class GeNode:
    """A node of the graph."""

    type: str
    name: str
    inputs: list[tuple[str, Tensor]]
    outputs: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Tensor:
    """An output of a node; what is known of it: ONNX's data type, the shape, with -1 where a dimension is not known,
    and the value of a constant."""

    made: GeNode
    port: int = 0
    dtype: int | None = None
    shape: tuple[int, ...] | None = None
    value: np.ndarray[Any, Any] | None = None


class Graph:
    """Nodes in the order in which they are made: every one reads what stands before it."""

    def __init__(self) -> None:
        self.nodes: list[GeNode] = []
        self.names: set[str] = set()

    def unique(self, name: str) -> str:
        """The name, or with a number behind it where a node has it."""
        one = unused(self.names, name)
        self.names.add(one)
        return one

    def data(self, name: str, dtype: int, shape: tuple[int, ...] | None, index: int) -> Tensor:
        made = GeNode("Data", self.unique(name), [], ["y"], {"index": index, "dtype": dtype, "shape": shape})
        self.nodes.append(made)
        return Tensor(made, 0, dtype, shape)

    def const(self, name: str, value: np.ndarray[Any, Any]) -> Tensor:
        made = GeNode("Const", self.unique(name), [], ["y"], {"value": value})
        self.nodes.append(made)
        return Tensor(made, 0, OF_NUMPY[value.dtype.name], value.shape, value)

    def node(
        self,
        name: str,
        of: str,
        inputs: Sequence[Tensor | Sequence[Tensor] | None],
        parts: int,
        attributes: dict[str, Any],
    ) -> GeNode:
        """Inputs are those of the prototype in its order, None where one is not fed, a list where one is dynamic;
        ``parts``: of a dynamic output."""
        takes, gives = ports(of)
        fed: list[tuple[str, Tensor]] = []
        for port, given in zip(takes, inputs, strict=False):
            if isinstance(given, Tensor):
                fed.append((port, given))
            elif given is not None:
                fed += [(f"{port.rstrip('*')}{i}", one) for i, one in enumerate(given)]
        outputs = [one for out in gives for one in ([f"{out[:-1]}{i}" for i in range(parts)] if "*" in out else [out])]
        made = GeNode(of, self.unique(name), fed, outputs, attributes)
        self.nodes.append(made)
        return made

    def message(self, name: str, outputs: Sequence[tuple[Tensor, str]]) -> Any:
        """The ``GraphDef``; of the outputs the tensor, and the name that ``_output_names`` of NetOutput has for it."""
        graph = messages().GraphDef(name=name)
        read = {id(one.made) for made in self.nodes for _, one in made.inputs} | {id(one.made) for one, _ in outputs}
        for made in self.nodes:
            if made.type != "Const" or id(made) in read:  # some have become an attribute
                _write(graph.op.add(), made)
        last = GeNode(
            "NetOutput", self.unique("Node_Output"), [(f"x{i}", one) for i, (one, _) in enumerate(outputs)], []
        )
        last.attributes["_output_names"] = [told for _, told in outputs]
        _write(graph.op.add(), last)
        return graph


def _describe(desc: Any, name: str, dtype: int | None, shape: tuple[int, ...] | None) -> None:
    desc.name, desc.layout = name, "ND"
    if dtype in DATA_TYPES:
        desc.dtype = messages().DataType.Value(f"DT_{DATA_TYPES[dtype][1]}")
    desc.shape.dim.extend([-2] if shape is None else shape)


def _write(op: Any, made: GeNode) -> None:
    op.name, op.type = made.name, made.type
    for port, tensor in made.inputs:
        op.input.append(f"{tensor.made.name}:{tensor.port}")
        _describe(op.input_desc.add(), port, tensor.dtype, tensor.shape)
    if made.type in ("Data", "Const"):
        _write_source(op, made)
        return
    for out in made.outputs:
        _describe(op.output_desc.add(), out, None, None)
    for key, value in made.attributes.items():
        write_attribute(op.attr[key], value)


def _write_source(op: Any, made: GeNode) -> None:
    if made.type == "Data":
        op.attr["index"].i = made.attributes["index"]
        _describe(op.output_desc.add(), "y", made.attributes["dtype"], made.attributes["shape"])
        _describe(op.input_desc.add(), "x", made.attributes["dtype"], made.attributes["shape"])
        return
    value = made.attributes["value"]
    tensor = op.attr["value"].t
    tensor.data = np.ascontiguousarray(value).tobytes()
    _describe(tensor.desc, "", OF_NUMPY[value.dtype.name], value.shape)
    op.output_desc.add().CopyFrom(tensor.desc)
    op.output_desc[0].name = "y"


def add_cast(graph: Any, name: str, source: str, of: int, to: int) -> str:
    """Add a Cast of an output to a GraphDef, between ge.proto's data types; gives the name of what it writes."""
    op = graph.op.add(name=name, type="Cast")
    op.input.append(source)
    op.input_desc.add(name="x", dtype=of)
    op.output_desc.add(name="y", dtype=to)
    op.attr["dst_type"].i = from_proto(to)
    return f"{name}:0"


def write_attribute(attribute: Any, value: Any) -> None:
    """Write a value into an ``AttrDef``, by what it is in Python."""
    if isinstance(value, bool):
        attribute.b = value
    elif isinstance(value, TypeAttribute):
        attribute.dt = value
    elif isinstance(value, (int, np.integer)):
        attribute.i = int(value)
    elif isinstance(value, float):
        attribute.f = value
    elif isinstance(value, str):
        attribute.s = value.encode()
    else:
        values = list(value)
        kinds = messages().AttrDef.ListValue.ListValueType
        if any(isinstance(one, float) for one in values):
            attribute.list.val_type = kinds.Value("VT_LIST_FLOAT")
            attribute.list.f.extend(values)
        elif any(isinstance(one, str) for one in values):
            attribute.list.val_type = kinds.Value("VT_LIST_STRING")
            attribute.list.s.extend(one.encode() for one in values)
        else:
            attribute.list.val_type = kinds.Value("VT_LIST_INT")
            attribute.list.i.extend(int(one) for one in values)
