"""ONNX models as GE graphs: ``graph_of``.

Names are those of CANN's parser: a Data node has the name of the model's input, an operator's last node that of the
ONNX node, or its type and a number where the node has none; what is made on the way there has it in front. NetOutput
has an attribute ``_output_names``, a list of ``node:port:output``, whose last part is the name in the model.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ophook_npu.sim.atc.errors import AtcError
from ophook_npu.sim.atc.ge_graph import DATA_TYPES, OF_NUMPY, Graph, Tensor
from ophook_npu.sim.atc.onnx_constants import Constants, small, value_of, with_inferred_shapes
from ophook_npu.sim.atc.onnx_node import Array, Convert, Inferred, Node, shown

if TYPE_CHECKING:
    import onnx

# The opsets that CANN's plugins are registered for.
OPSETS = range(8, 19)


def graph_of(
    model: onnx.ModelProto,
    *,
    input_shapes: Mapping[str, Sequence[int]] = {},
    name: str = "",
    opsets: Container[int] = OPSETS,
) -> Any:
    """The ``GraphDef`` of a model.

    input_shapes: a shape for an input by its name, of as many dimensions; -1 is one that is not known
    name: of the graph, instead of the model's
    opsets: those that are taken; CANN takes 8 to 18, and what stands in another one is refused as CANN refuses it

    Raises AtcError: the first thing that is not converted, with CANN's code.
    """
    if not model.HasField("graph") or not (model.graph.node or model.graph.output):
        raise AtcError("E16004", "ONNX model has no graph.")
    return _Conversion(model, input_shapes, opsets).graph_def(name or model.graph.name or "graph")


class _Conversion:
    def __init__(self, model: Any, input_shapes: Mapping[str, Sequence[int]], opsets: Container[int]) -> None:
        self.opsets = opsets
        self.versions = {one.domain or "ai.onnx": one.version for one in model.opset_import}
        if not self.versions:
            raise AtcError("E16005", "The model has 0 --domain_version fields, but only one is allowed.")
        self._check(model.graph.node)
        self.initializers = {one.name: one for one in model.graph.initializer}
        self.places = {name: place for place, name in enumerate(sorted(self.initializers))}
        self.model = _with_shapes(model, input_shapes, self.initializers)
        self.graph = Graph()
        self.values: dict[str, Inferred] = {}
        self.tensors: dict[str, Tensor] = {}
        self.constants = Constants(self.versions.get("ai.onnx", 0), self.initializers, self.values)

    def _check(self, nodes: Sequence[Any]) -> None:
        for called, node in _named(nodes):
            self._converter(node)
            branches = [one.g.node for one in node.attribute if one.HasField("g")]
            for branch in branches:
                self._check(branch)
            version = self.versions.get(node.domain or "ai.onnx", 0)
            if not branches and _schema(node, version) is not None:
                _check(node, called, version)

    def _converter(self, proto: Any) -> Convert | None:
        """What converts the node, None of those of which no operator comes."""
        from ophook_npu.sim.atc import onnx_operators

        domain = proto.domain or "ai.onnx"
        if domain == "ai.onnx" and proto.op_type in ("Constant", "If"):
            return None
        if domain not in self.versions:
            raise AtcError("E19999", f"The opset of domain[{domain}] has no responding version.")
        version = self.versions[domain]
        return onnx_operators.converter(proto, version, self.opsets, known=_schema(proto, version) is not None)

    def graph_def(self, name: str) -> Any:
        graph = self.model.graph
        if not graph.output:
            raise AtcError("E16001", "The model has no output node.")
        for info in [*graph.value_info, *graph.output, *graph.input]:
            self.values[info.name] = value_of(info)
        self._inputs()
        for called, node in _named(graph.node):
            self._convert(node, called)
        return self.graph.message(name, [self._output(one.name) for one in graph.output])

    def _inputs(self) -> None:
        inputs = [one for one in self.model.graph.input if one.name not in self.initializers]
        if not inputs:
            raise AtcError("E16001", "The model has no input node.")
        for index, one in enumerate(inputs):
            value = self.values[one.name]
            if value.dtype not in DATA_TYPES:
                raise AtcError(
                    "E13014",
                    f"Value {_kind(one)} of parameter data type for Op {one.name} is invalid. "
                    "Reason: GE graphs hold tensors of numbers.",
                )
            self.tensors[one.name] = self.graph.data(one.name, value.dtype, value.shape, index)

    def _output(self, name: str) -> tuple[Tensor, str]:
        tensor = self._tensor(name)
        assert tensor is not None
        return tensor, f"{tensor.made.name}:{tensor.port}:{name}"

    def _tensor(self, name: str) -> Tensor | None:
        """The tensor that has this name in the model, None of the empty name."""
        if not name:
            return None
        if name not in self.tensors:
            if name not in self.initializers:
                raise AtcError("E19999", f"The value '{name}' is read, and no node of the model writes it.")
            place = self.places.setdefault(name, len(self.places))
            self.tensors[name] = self._const(f"{name}_Initializer_{place}", self.constants.of(name), name)
        return self.tensors[name]

    def _const(self, called: str, value: Array | None, name: str) -> Tensor:
        if value is None or value.dtype.kind in "OUS" or (value.dtype.name not in OF_NUMPY):
            kind = "text" if value is None or value.dtype.kind in "OUS" else value.dtype.name
            raise AtcError(
                "E13014",
                f"Value {kind} of parameter data type for Op {name} is invalid. "
                "Reason: GE graphs hold tensors of numbers.",
            )
        return self.graph.const(called, value)

    def _convert(self, proto: Any, called: str) -> None:
        self.constants.add(proto)
        convert = self._converter(proto)
        if convert is None and proto.op_type == "If":
            self._branch(proto, called)
            return
        if convert is None:
            self.tensors[proto.output[0]] = self._const(called, self.constants.of(proto.output[0]), called)
            return
        version = self.versions[proto.domain or "ai.onnx"]
        schema = _schema(proto, version)
        inputs = [self._tensor(one) for one in proto.input]
        if schema is not None:
            self._complete(proto, inputs)
        outputs = [self.values.setdefault(one, Inferred()) for one in proto.output]
        node = Node(proto, called, version, self.graph, inputs, outputs, schema, self.constants.of)
        results = _converted(convert, node)
        _all_asked(node)
        self._name(node, [results] if isinstance(results, Tensor) else list(results))

    def _branch(self, proto: Any, called: str) -> None:
        """The branch of an If whose condition is known; the engine has no If."""
        branches = {one.name: one.g for one in proto.attribute if one.HasField("g")}
        if len(proto.input) != 1 or {*branches} != {"then_branch", "else_branch"}:
            raise AtcError(
                "E14001",
                f"Argument for Op {called} with optype If is invalid. Reason: it has a condition and two branches.",
            )
        condition = self.constants.of(proto.input[0])
        if condition is None or condition.size != 1:
            raise AtcError(
                "E10501",
                f"IR for Op {called} with optype If is not registered.",
                todo="CANN converts If; the simulated engine has none, and takes one whose condition is a constant",
            )
        branch = branches["then_branch" if bool(condition) else "else_branch"]
        if len(branch.output) != len(proto.output):
            raise AtcError(
                "E14001",
                f"Argument for Op {called} with optype If is invalid. Reason: its branches have other outputs than it.",
            )
        self.initializers.update({one.name: one for one in branch.initializer})
        for info in [*branch.value_info, *branch.output]:
            self.values[info.name] = value_of(info)
        for node in branch.node:
            self._convert(node, f"{called}/{node.name or node.op_type}")
        for output, inner in zip(proto.output, branch.output, strict=True):
            tensor = self._tensor(inner.name)
            if tensor is not None:
                self.tensors[output] = tensor
            self.constants.same(output, inner.name)

    def _complete(self, proto: Any, inputs: Sequence[Tensor | None]) -> None:
        """Infers for this node again what is not known of its outputs: the values of its inputs may be known by now."""
        for name in proto.output:
            known = self.values.get(name, Inferred())
            if name and (known.dtype is None or known.shape is None or -1 in known.shape):
                break
        else:
            return
        for name, value in self.constants.inferred(proto, inputs).items():
            known = self.values.setdefault(name, Inferred())
            known.dtype = known.dtype or value.dtype
            if known.shape is None or (value.shape is not None and known.shape.count(-1) > value.shape.count(-1)):
                known.shape = value.shape
        target = {"Reshape": 1, "ConstantOfShape": 0}.get(proto.op_type)
        known = self.values.setdefault(proto.output[0], Inferred())
        if target is not None and known.shape is None and len(inputs) > target:
            by = inputs[target]  # as many dimensions as it has numbers
            if by is not None and by.shape and by.shape[0] >= 0:
                known.shape = (-1,) * by.shape[0]

    def _name(self, node: Node, results: list[Tensor]) -> None:
        missing = [i for i, name in enumerate(node.proto.output) if name and i >= len(results)]
        if missing:
            node.refuse(f"its output '{node.proto.output[missing[0]]}' is not converted")
        if not any(one.made in node.made for one in results):  # one that does nothing is still a node of the graph
            results[0] = node.add("Identity", results[0])
        last = next(one.made for one in results if one.made in node.made)
        self.graph.names.discard(last.name)
        last.name = self.graph.unique(node.name)
        for output, tensor, value in zip(node.proto.output, results, node.outputs, strict=False):
            # A tensor that others know by another name keeps what is known of it.
            dtype, shape = value.dtype or tensor.dtype, value.shape if value.shape is not None else tensor.shape
            self.tensors[output] = Tensor(tensor.made, tensor.port, dtype, shape)


def _named(nodes: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Each node with its name; those that have none are counted."""
    unnamed = 0
    for node in nodes:
        if node.name:
            yield node.name, node
        else:
            yield f"{node.op_type}_{unnamed}", node
            unnamed += 1


def _kind(info: Any) -> str:
    import onnx

    if info.type.HasField("tensor_type"):
        return str(onnx.TensorProto.DataType.Name(info.type.tensor_type.elem_type))
    return (info.type.WhichOneof("value") or "none").removesuffix("_type")


def _schema(proto: Any, version: int) -> Any:
    import onnx

    try:
        return onnx.defs.get_schema(proto.op_type, version, "" if proto.domain == "ai.onnx" else proto.domain)
    except onnx.defs.SchemaError:
        return None


def _check(proto: Any, called: str, version: int) -> None:
    """Refuses a node that is not as its schema says: ONNX's own inference may not survive it."""
    import onnx

    context = onnx.checker.C.CheckerContext()
    context.ir_version = onnx.IR_VERSION
    context.opset_imports = {"": version}
    try:
        onnx.checker.check_node(proto, context)
    except onnx.checker.ValidationError as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise AtcError(
            "E14001", f"Argument for Op {called} with optype {proto.op_type} is invalid. Reason: {why}."
        ) from None


def _converted(convert: Convert, node: Node) -> Tensor | Sequence[Tensor]:
    try:
        return convert(node)
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
        node.refuse(f"its shapes, or the values of its constants and attributes, do not fit: {error}")


def _all_asked(node: Node) -> None:
    """Refuses an attribute that its conversion does not read and that is not the default: it would be lost unseen."""
    import onnx

    known = node.schema.attributes if node.schema else {}
    for one in node.proto.attribute:
        if one.name in node.asked:
            continue
        default = known[one.name].default_value if one.name in known else None
        given = onnx.helper.get_attribute_value(one)
        if default is None or not default.type or onnx.helper.get_attribute_value(default) != given:
            node.refuse_attribute(one.name, node.attribute(one.name), "the conversion does not take it")


def _without_weights(model: Any) -> Any:
    """A copy in which what is large is not copied: weights are only told by their types and shapes."""
    import onnx

    copy, graph = onnx.ModelProto(ir_version=max(model.ir_version, 4)), model.graph
    copy.opset_import.extend(model.opset_import)
    copy.graph.name = graph.name
    copy.graph.node.extend(graph.node)
    copy.graph.input.extend(graph.input)
    copy.graph.output.extend(graph.output)
    copy.graph.value_info.extend(graph.value_info)
    for one in graph.initializer:
        if small(one.dims):
            copy.graph.initializer.append(one)
        elif all(one.name != other.name for other in graph.input):
            copy.graph.input.append(onnx.helper.make_tensor_value_info(one.name, one.data_type, one.dims))
    return copy


def _with_shapes(model: Any, input_shapes: Mapping[str, Sequence[int]], initializers: Container[str]) -> Any:
    """A copy of the model in which the inputs have these shapes and every value the shape that follows."""

    copy = _without_weights(model)
    inputs = {one.name: one for one in copy.graph.input if one.name not in initializers}
    for name, shape in input_shapes.items():
        if name not in inputs:
            raise AtcError(
                "E10016",
                f"Op name {name} specified in --input_shape is not found in the model. Confirm whether this node name "
                "exists, or whether the node is not split with the specified delimiter ';'.",
                todo=f"the inputs are {', '.join(inputs)}",
            )
        known = value_of(inputs[name]).shape
        if known is not None and len(known) != len(shape):
            raise AtcError(
                "E10049",
                f"Dimension count {len(shape)} configured in --input_shape does not match dimension count {len(known)} "
                "of the node.",
                todo=f"input {name} has the shape {shown(known)}",
            )
        dims = inputs[name].type.tensor_type.shape
        del dims.dim[:]
        for size in shape:
            dims.dim.add(**({"dim_value": int(size)} if size >= 0 else {}))
    if input_shapes:  # what was told of other values followed from other shapes
        del copy.graph.value_info[:]
    return with_inferred_shapes(copy)
