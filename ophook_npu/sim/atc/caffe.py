"""Caffe networks: ``onnx_of`` reads a prototxt and a caffemodel, and gives the ONNX model that computes the same.

Names stay those of the layers, and the names of outputs those of CANN's parser, ``layer:index:top``. Layers for
training (``include { phase: TRAIN }``) are left out; an in-place layer makes a value of its own; layers whose
parameters have the same names share the weights. What a layer says and its conversion does not read is refused.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ophook_npu.plural import counted
from ophook_npu.sim.atc.caffe_network import Array, CaffeLayer, CaffeNetwork, Fields, names
from ophook_npu.sim.atc.errors import AtcError

OPSET = 13


# ---- the files -------------------------------------------------------------------------------------------------------
def read_text(path: Path) -> Fields:
    """A prototxt.

    Raises:
        AtcError: E11021, E11022, E11032 or E13000.
    """
    from google.protobuf import text_format

    try:
        # A comment may be in any encoding.
        tokens = text_format.Tokenizer(path.read_text(encoding="utf-8", errors="replace").splitlines())
        net = _message(tokens, "")
    except OSError as error:
        raise AtcError("E13000", f"The path {path} is invalid: {error.strerror}.") from None
    except text_format.ParseError as error:
        raise AtcError(
            "E11032", f"Failed to parse message model. The error field is {path}. Reason: {error}."
        ) from None
    if "layers" in net and "layer" not in net:
        raise AtcError("E11021", f'Model file {path} contains "layers" structures, which have been deprecated in Caffe '
                       "and unsupported by ATC.", todo="convert it with Caffe's upgrade_net_proto_text")  # fmt: skip
    if "layer" not in net:
        raise AtcError("E11022", "Invalid prototxt file.", todo=f"{path} has no layer")
    return net


def _message(tokens: Any, end: str) -> Fields:
    values: dict[str, list[Any]] = {}
    while not (tokens.TryConsume(end) if end else tokens.AtEnd()):
        name = tokens.ConsumeIdentifier()
        colon = tokens.TryConsume(":")
        found = values.setdefault(name, [])
        if tokens.TryConsume("["):
            while not tokens.TryConsume("]"):
                found.append(_value(tokens, colon))
                tokens.TryConsume(",")
        else:
            found.append(_value(tokens, colon))
        tokens.TryConsume(";") or tokens.TryConsume(",")
    return Fields(values)


def _value(tokens: Any, colon: bool) -> Any:
    for begin, end in ("{}", "<>"):
        if tokens.TryConsume(begin):
            return _message(tokens, end)
    from google.protobuf.text_format import ParseError

    if not colon:
        tokens.Consume(":")
    for consume in (tokens.ConsumeInteger, tokens.ConsumeFloat, tokens.ConsumeString):
        try:
            return consume()
        except ParseError:
            pass
    word = tokens.ConsumeIdentifier()
    return {"true": True, "false": False}.get(word, word)


# Of caffe.proto what a file of weights is read for: field, number, kind; numbers are repeated and packed.
_WEIGHTS = {
    "Shape": {"dim": (1, "INT64", True)},
    "Blob": {
        "num": (1, "INT32", False), "channels": (2, "INT32", False), "height": (3, "INT32", False),
        "width": (4, "INT32", False), "data": (5, "FLOAT", True), "shape": (7, "Shape", False),
        "double_data": (8, "DOUBLE", True), "int8_data": (10, "BYTES", False),
    },
    "Layer": {"name": (1, "STRING", False), "type": (2, "STRING", False), "blobs": (7, "Blob", True)},
    "Layers": {},
    "Net": {"layer": (100, "Layer", True), "layers": (2, "Layers", True)},
}  # fmt: skip


@functools.cache
def net_of_weights() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    of = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="ophook_caffe_weights.proto", package="ophook.caffe")
    for name, fields in _WEIGHTS.items():
        made = file.message_type.add(name=name)
        for called, (number, kind, repeated) in fields.items():
            one = made.field.add(name=called, number=number, label=of.LABEL_REPEATED if repeated else of.LABEL_OPTIONAL)
            if kind in _WEIGHTS:
                one.type, one.type_name = of.TYPE_MESSAGE, f".ophook.caffe.{kind}"
            else:
                one.type = of.Type.Value(f"TYPE_{kind}")
                one.options.packed = repeated
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("ophook.caffe.Net"))


def read_weights(path: Path) -> dict[str, list[Array]]:
    """The blobs of a caffemodel, by layer; a name that comes again is ``name_same_1`` and so on.

    Raises:
        AtcError: E11023, E11024, E11032, E11033 or E13000.
    """
    from google.protobuf.message import DecodeError

    net = net_of_weights()()
    try:
        net.ParseFromString(path.read_bytes())
    except OSError as error:
        raise AtcError("E13000", f"The path {path} is invalid: {error.strerror}.") from None
    except DecodeError as error:
        raise AtcError(
            "E11032", f"Failed to parse message weight. The error field is {path}. Reason: {error}."
        ) from None
    if net.layers and not net.layer:
        raise AtcError("E11023", 'Weight file contains "layers" structures, which have been deprecated in Caffe and '
                       "unsupported by ATC.", todo="convert it with Caffe's upgrade_net_proto_binary")  # fmt: skip
    if not net.layer:
        raise AtcError("E11024", "Invalid Caffe weight file.", todo=f"{path} has no layer")
    distinct = _Distinct()
    return {distinct.of(layer.name): [_blob(layer.name, one) for one in layer.blobs] for layer in net.layer}


def _blob(name: str, blob: Any) -> Array:
    if blob.int8_data:
        raise AtcError("E10055", f"Op {name} has quantized weights: they are not simulated.")
    values = np.array(blob.data if blob.data or not blob.double_data else blob.double_data, np.float32)
    dims = tuple(blob.shape.dim)
    if not blob.HasField("shape"):  # as older files have it, of four dimensions
        dims = (blob.num, blob.channels, blob.height, blob.width)
    if int(np.prod(dims)) != values.size:
        raise AtcError("E11033", f"Failed to convert the weight file. Blob {name} of size {values.size} is invalid. "
                       f"Reason: It does not match shape size {int(np.prod(dims))}.")  # fmt: skip
    return values.reshape(dims)


class _Distinct:
    """CANN's names for layers whose name comes again."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def of(self, name: str) -> str:
        self.seen[name] += 1
        return name if self.seen[name] == 1 else f"{name}_same_{self.seen[name] - 1}"


# ---- the network -----------------------------------------------------------------------------------------------------
def onnx_of(model: Path, weights: Path, input_shapes: Mapping[str, Sequence[int]]) -> tuple[Any, list[str]]:
    """The ONNX model of a network, and its outputs as CANN names them.

    input_shapes: a shape for an input by its name; -1 is a dimension that is not known

    Raises:
        AtcError: the first thing that is not converted, with CANN's code.
    """
    import onnx

    from ophook_npu.sim.atc.caffe_layers import LAYERS

    net = read_text(model)
    blobs = read_weights(weights)
    layers = [*_inputs(net), *_layers(net)]
    _share(layers, blobs)
    _name_values(layers)
    network = CaffeNetwork()
    inputs = []
    for layer in layers:
        if layer.type in ("Input", "DummyData"):
            inputs += _data(layer, network, input_shapes)
            continue
        convert = LAYERS.get(layer.type)
        if convert is None:
            _refuse_type(layer)
        if not layer.bottoms:
            layer.refuse("it has no bottom")
        layer.blobs = blobs.get(layer.name, [])
        for i, bottom in enumerate(layer.bottoms):
            if bottom not in network.shapes:
                raise AtcError("E11012", f"Unknown bottom blob {bottom} at layer {layer.name}. The bottom blob is "
                               f"indexed {i}.")  # fmt: skip
        try:
            made = list(convert(layer, network))
        except (ArithmeticError, IndexError, TypeError, ValueError) as error:
            layer.refuse(f"its shapes or parameters do not fit: {error}")
        if len(made) != len(layer.tops):
            layer.refuse(f"it has {counted(len(layer.tops), 'top')}; allowed: {len(made)}")
        network.shapes.update(zip(layer.tops, made, strict=True))
        _all_read(layer)
    if not inputs:
        raise AtcError("E11005", "The model has no input.", todo="give it an Input layer")
    read = {bottom for layer in layers for bottom in layer.bottoms}
    outputs = [(layer, i) for layer in layers for i, top in enumerate(layer.tops) if top not in read]
    told = [f"{layer.name}:{i}:{layer.said.many('top')[i]}" for layer, i in outputs]
    graph = onnx.helper.make_graph(
        network.nodes, net.one("name", "") or "caffe", inputs,
        [onnx.helper.make_tensor_value_info(layer.tops[i], onnx.TensorProto.FLOAT, None) for layer, i in outputs],
        network.initializers,
    )  # fmt: skip
    return onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid("npu", 1)]
    ), told


def _inputs(net: Fields) -> list[CaffeLayer]:
    """The layers of inputs that stand beside the layers."""
    called, dims, shapes = net.many("input"), net.many("input_dim"), net.messages("input_shape")
    if called and dims and shapes:
        raise AtcError("E11001", "input_dim and input_shape are mutually exclusive in NetParameter for Caffe model "
                       "conversion.")  # fmt: skip
    if dims and len(dims) != 4 * len(called):
        raise AtcError("E11003", f"The number of input_dim fields in the model is {len(dims)}, which is not 4x the "
                       f"input count {len(called)}.")  # fmt: skip
    if shapes and len(shapes) != len(called):
        raise AtcError("E11004", f"The number of input shapes is {len(shapes)}, which does not match the number of "
                       f"inputs {len(called)}.")  # fmt: skip
    found = []
    for i, name in enumerate(called):
        shape = shapes[i].many("dim") if shapes else dims[4 * i : 4 * i + 4]
        parameter = Fields({"shape": [Fields({"dim": shape})]})
        found.append(CaffeLayer(name, "Input", [], [name], Fields({"input_param": [parameter], "top": [name]})))
    return found


def _layers(net: Fields) -> list[CaffeLayer]:
    distinct, found = _Distinct(), []
    for one in net.messages("layer"):
        if any(rule.one("phase") in ("TRAIN", 0) for rule in one.messages("include")):
            continue
        name = one.one("name", "")
        if not re.fullmatch(r"[A-Za-z0-9./_-]+", name):
            raise AtcError("E11018", f"Op name {name} contains invalid characters.")
        layer = CaffeLayer(distinct.of(name), one.one("type", ""), list(one.many("bottom")), list(one.many("top")), one)
        if not layer.tops and layer.type != "Silence":
            raise AtcError("E11037", f"Op {name} has zero outputs.")
        found.append(layer)
    return found


def _share(layers: Sequence[CaffeLayer], blobs: dict[str, list[Array]]) -> None:
    """Layers whose parameters have the same names have the blobs of the one that stands in the file."""
    known: dict[tuple[str, ...], list[str]] = {}
    for layer in layers:
        if shared := tuple(param.one("name") for param in layer.said.messages("param") if "name" in param):
            known.setdefault(shared, []).append(layer.name)
    for together in known.values():
        there = next((blobs[name] for name in together if blobs.get(name)), None)
        if there is not None:
            blobs.update((name, there) for name in together if not blobs.get(name))


def _name_values(layers: Sequence[CaffeLayer]) -> None:
    """Gives each value a name of its own: of several that a network calls alike the last has it."""
    left = Counter(top for layer in layers for top in layer.tops)
    now: dict[str, str] = {}
    for layer in layers:
        layer.bottoms = [now.get(one, one) for one in layer.bottoms]
        for i, top in enumerate(layer.tops):
            left[top] -= 1
            now[top] = layer.tops[i] = f"{top}_{layer.name}_{i}" if left[top] else top


def _data(layer: CaffeLayer, network: CaffeNetwork, input_shapes: Mapping[str, Sequence[int]]) -> list[Any]:
    import onnx

    if len(layer.tops) != 1:
        raise AtcError("E11035", f"The top size of data node {layer.name} is not 1 but {len(layer.tops)}.")
    if layer.tops[0] in network.shapes:
        raise AtcError("E11036", f"Data nodes have duplicate top blobs {layer.tops[0]}.")
    parameter = layer.said.message("input_param" if layer.type == "Input" else "dummy_data_param")
    dims = list(input_shapes.get(layer.name, parameter.message("shape").many("dim")))
    if not dims:
        raise AtcError("E11005", f"The shape of input {layer.name} is not defined in the model.",
                       todo=f"give --input_shape='{layer.name}:…'")  # fmt: skip
    if any(size == 0 for size in dims):
        raise AtcError("E11027", f"Op {layer.name} with optype {layer.type} in the Caffe model has an input node with "
                       "shape size 0.")  # fmt: skip
    network.shapes[layer.name] = tuple(size if size >= 0 else None for size in dims)
    if layer.tops[0] != layer.name:
        network.shapes[layer.tops[0]] = network.shapes[layer.name]
        network.add(layer, "Identity", layer.name, tops=layer.tops)
    told = [size if size >= 0 else None for size in dims]
    return [onnx.helper.make_tensor_value_info(layer.name, onnx.TensorProto.FLOAT, told)]


def _refuse_type(layer: CaffeLayer) -> NoReturn:
    if layer.type == "DetectionOutput":
        raise AtcError("E11008", "Op type DetectionOutput is unsupported.",
                       todo="name it FSRDetectionOutput or SSDDetectionOutput")  # fmt: skip
    from ophook_npu.sim.atc.caffe_layers import NOT_YET

    if layer.type in NOT_YET:
        raise AtcError("E10055", f"Op {layer.name} with optype {layer.type}: CANN converts it, the simulated atc does "
                       "not yet.")  # fmt: skip
    raise AtcError("E11009", f"No Caffe parser is registered for Op {layer.name} with optype {layer.type}.",
                   todo="replace the layer; CANN has no plugin for it")  # fmt: skip


# What only training, or the way of computing, asks for.
_IDLE = names(
    """
    bias_filler blobs bottom dropout_param engine exclude filler force_nd_im2col include loss_param loss_weight
    moving_average_fraction name param phase propagate_down scale_filler slope_filler stable_prod_grad top
    transform_param type weight_filler
    """
)


def _all_read(layer: CaffeLayer) -> None:
    for name, values in layer.said.values.items():
        if name in _IDLE:
            continue
        if name not in layer.said.read:
            why = "the layer's conversion does not take it"
            raise AtcError("E11032", f"Failed to parse message {layer.name}. The error field is {name}. Reason: {why}.")
        for value in values:
            lost = sorted(value.values.keys() - value.read - _IDLE) if isinstance(value, Fields) else []
            if lost:
                raise AtcError("E11032", f"Failed to parse message {layer.name}. The error field is {name}.{lost[0]}. "
                               "Reason: the layer's conversion does not take it.")  # fmt: skip
