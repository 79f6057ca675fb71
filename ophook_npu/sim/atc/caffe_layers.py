"""Caffe's layers as ONNX operators, by type; what a layer computes and its defaults are those of Caffe's caffe.proto.

Layers that are not Caffe's own are those of CANN's page of extended operators (hicann/ge,
docs/zh/user_guides/atc_tools/custom_network_modify_caffe/extended_operator_rules.md), without post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ophook_npu.plural import counted
from ophook_npu.sim.atc import caffe_shapes as shapes
from ophook_npu.sim.atc import caffe_windows as windows
from ophook_npu.sim.atc.caffe_network import CaffeLayer, CaffeNetwork, ConvertLayer, Fields, Sizes, names


# ---- one value in, one of the same shape out -------------------------------------------------------------------------
def _same(of: str, **fixed: Any) -> ConvertLayer:
    def convert(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
        net.add(layer, of, layer.bottoms[0], tops=layer.tops, **fixed)
        return [net.shape(layer)]

    return convert


def _copies(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    for i, top in enumerate(layer.tops):
        made = layer if i == 0 else CaffeLayer(f"{layer.name}_{i}", layer.type, [], [], layer.said)
        net.add(made, "Identity", layer.bottoms[0], tops=[top])
    return [net.shape(layer)] * len(layer.tops)


def _relu(layer: CaffeLayer, net: CaffeNetwork) -> Sequence[Sizes]:
    slope = layer.said.message("relu_param").one("negative_slope", 0)
    return _same("LeakyRelu", alpha=float(slope))(layer, net) if slope else _same("Relu")(layer, net)


def _relu6(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    net.add(layer, "Clip", layer.bottoms[0], net.const(layer, 0), net.const(layer, 6), tops=layer.tops)
    return [net.shape(layer)]


def _elu(layer: CaffeLayer, net: CaffeNetwork) -> Sequence[Sizes]:
    return _same("Elu", alpha=float(layer.said.message("elu_param").one("alpha", 1)))(layer, net)


def _prelu(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    shape, slope = net.shape(layer), layer.blob(0).reshape(-1)
    layer.said.message("prelu_param").one("channel_shared")
    slopes = net.const(layer, slope.reshape(-1, *[1] * (len(shape) - 2)))
    net.add(layer, "PRelu", layer.bottoms[0], slopes, tops=layer.tops)
    return [shape]


def _linear(layer: CaffeLayer, net: CaffeNetwork, said: Fields) -> str:
    """scale * x + shift; x itself where that is the same."""
    value = layer.bottoms[0]
    for of, name, neutral in (("Mul", "scale", 1), ("Add", "shift", 0)):
        if (number := said.one(name, neutral)) != neutral:
            value = net.add(layer, of, value, net.const(layer, number))
    return value


def _power(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said = layer.said.message("power_param")
    value, power = _linear(layer, net, said), said.one("power", 1)
    if power == 1:
        net.add(layer, "Identity", value, tops=layer.tops)
    else:
        net.add(layer, "Pow", value, net.const(layer, power), tops=layer.tops)
    return [net.shape(layer)]


def _base(layer: CaffeLayer, said: Fields) -> float:
    base = said.one("base", -1)
    if base != -1 and base <= 0:
        layer.refuse(f"base {base}; allowed: above 0, or -1 for e")
    return 1.0 if base == -1 else math.log(base)


def _exp(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said = layer.said.message("exp_param")
    value, base = _linear(layer, net, said), _base(layer, said)
    if base != 1:
        value = net.add(layer, "Mul", value, net.const(layer, base))
    net.add(layer, "Exp", value, tops=layer.tops)
    return [net.shape(layer)]


def _log(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said = layer.said.message("log_param")
    value, base = _linear(layer, net, said), _base(layer, said)
    if base == 1:
        net.add(layer, "Log", value, tops=layer.tops)
    else:
        net.add(layer, "Div", net.add(layer, "Log", value), net.const(layer, base), tops=layer.tops)
    return [net.shape(layer)]


def _threshold(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    limit = net.const(layer, layer.said.message("threshold_param").one("threshold", 0))
    net.add(layer, "Cast", net.add(layer, "Greater", layer.bottoms[0], limit), tops=layer.tops, to=1)
    return [net.shape(layer)]


# ---- numbers for each channel ----------------------------------------------------------------------------------------
def _batch_norm(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("batch_norm_param"), net.shape(layer)
    if said.one("use_global_stats", True) is False:
        layer.refuse("use_global_stats: false is for training")
    factor = float(layer.blob(2).reshape(-1)[0])
    mean, var = (layer.blob(i).reshape(-1) * (1 / factor if factor else 0) for i in (0, 1))
    told = [net.const(layer, one) for one in (np.ones_like(mean), np.zeros_like(mean), mean, var)]
    net.add(layer, "BatchNormalization", layer.bottoms[0], *told, tops=layer.tops, epsilon=float(said.one("eps", 1e-5)))
    return [shape]


def _broadcast(layer: CaffeLayer, net: CaffeNetwork, said: Fields) -> str:
    """The second operand of Scale and Bias: a blob, or a bottom, whose dimensions begin at an axis of the first."""
    rank = len(net.shape(layer))
    axis = layer.axis(said.one("axis", 1), rank)
    if len(layer.bottoms) > 1:
        said.one("num_axes")
        behind = rank - axis - len(net.shape(layer, 1))
        if behind <= 0:
            return layer.bottoms[1]
        axes = net.const(layer, range(rank - axis - behind, rank - axis), "int64")
        return net.add(layer, "Unsqueeze", layer.bottoms[1], axes)
    count = said.one("num_axes", 1)
    shape = layer.blob(0).shape
    if count == 0:
        shape = ()
    elif len(shape) > (rank - axis if count < 0 else count):  # as older files have it, of four dimensions
        shape = tuple(size for size in shape if size != 1) or (1,)
    behind = max(rank - axis - len(shape), 0) if count else 0
    return net.const(layer, layer.blob(0).reshape((*shape, *[1] * behind)))


def _scale(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said = layer.said.message("scale_param")
    factor = _broadcast(layer, net, said)
    if not said.one("bias_term", False):
        net.add(layer, "Mul", layer.bottoms[0], factor, tops=layer.tops)
        return [net.shape(layer)]
    bias = layer.blob(len(layer.bottoms) == 1)
    shape = net.shapes.get(factor)
    product = net.add(layer, "Mul", layer.bottoms[0], factor)
    if shape is None:
        layer.refuse("bias_term goes with weights of its own, not with a second bottom")
    net.add(layer, "Add", product, net.const(layer, bias.reshape([size or 1 for size in shape])), tops=layer.tops)
    return [net.shape(layer)]


def _bias(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    net.add(layer, "Add", layer.bottoms[0], _broadcast(layer, net, layer.said.message("bias_param")), tops=layer.tops)
    return [net.shape(layer)]


def _mvn(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("mvn_param"), net.shape(layer)
    axes = list(range(1 if said.one("across_channels", False) else 2, len(shape)))
    centred = net.add(
        layer, "Sub", layer.bottoms[0], net.add(layer, "ReduceMean", layer.bottoms[0], axes=axes, keepdims=1)
    )
    eps = said.one("eps", 1e-9)
    if not said.one("normalize_variance", True):
        net.add(layer, "Identity", centred, tops=layer.tops)
        return [shape]
    spread = net.add(layer, "ReduceMean", net.add(layer, "Mul", centred, centred), axes=axes, keepdims=1)
    root = net.add(layer, "Add", net.add(layer, "Sqrt", spread), net.const(layer, eps))
    net.add(layer, "Div", centred, root, tops=layer.tops)
    return [shape]


def _normalize(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("norm_param"), net.shape(layer)
    axes = list(range(1, len(shape))) if said.one("across_spatial", True) else [1]
    said.one("channel_shared", True)
    squares = net.add(layer, "Mul", layer.bottoms[0], layer.bottoms[0])
    sums = net.add(layer, "ReduceSum", squares, net.const(layer, axes, "int64"), keepdims=1)
    root = net.add(layer, "Sqrt", net.add(layer, "Add", sums, net.const(layer, said.one("eps", 1e-10))))
    scale = net.const(layer, layer.blob(0).reshape(-1, *[1] * (len(shape) - 2)))
    net.add(layer, "Mul", net.add(layer, "Div", layer.bottoms[0], root), scale, tops=layer.tops)
    return [shape]


# ---- products and sums -----------------------------------------------------------------------------------------------
def _inner_product(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("inner_product_param"), net.shape(layer)
    outputs, axis = int(said.one("num_output", 0)), layer.axis(said.one("axis", 1), len(shape))
    weight = layer.blob(0)
    weight = weight.reshape(-1, outputs) if said.one("transpose", False) else weight.reshape(outputs, -1).T
    bias = net.const(layer, layer.blob(1).reshape(outputs)) if said.one("bias_term", True) else ""
    rows = net.add(layer, "Reshape", layer.bottoms[0], net.const(layer, [*[0] * axis, -1], "int64"))
    if axis == 1:
        net.add(layer, "Gemm", rows, net.const(layer, weight), *([bias] if bias else []), tops=layer.tops)
    elif bias:
        net.add(layer, "Add", net.add(layer, "MatMul", rows, net.const(layer, weight)), bias, tops=layer.tops)
    else:
        net.add(layer, "MatMul", rows, net.const(layer, weight), tops=layer.tops)
    return [(*shape[:axis], outputs)]


def _batched_product(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, operands, sizes = layer.said.message("batch_matmul_param"), [], []
    for i, name in enumerate(("adj_x1", "adj_x2")):
        shape, value = net.shape(layer, i), layer.bottoms[i]
        if said.one(name, False):
            order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
            value, shape = net.add(layer, "Transpose", value, perm=order), tuple(shape[one] for one in order)
        operands.append(value)
        sizes.append(shape)
    net.add(layer, "MatMul", *operands, tops=layer.tops)
    return [(*sizes[0][:-1], sizes[1][-1])]


def _eltwise(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, values = layer.said.message("eltwise_param"), list(layer.bottoms)
    told = said.one("operation", "SUM")
    of = {"PROD": "Mul", "SUM": "Add", "MAX": "Max", 0: "Mul", 1: "Add", 2: "Max"}.get(told)
    factors = said.many("coeff")
    if of is None or len(values) < 2 or (factors and (of != "Add" or len(factors) != len(values))):
        layer.refuse(f"operation {told} with {counted(len(values), 'bottom')} and {counted(len(factors), 'factor')}")
    for i, factor in enumerate(factors):
        if factor != 1:
            values[i] = net.add(layer, "Mul", values[i], net.const(layer, factor))
    while len(values) > 2:
        values[:2] = [net.add(layer, of, *values[:2])]
    net.add(layer, of, *values, tops=layer.tops)
    return [net.shape(layer)]


def _reduction(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("reduction_param"), net.shape(layer)
    axis = layer.axis(said.one("axis", 0), len(shape))
    told = said.one("operation", "SUM")
    of = {1: "SUM", 2: "ASUM", 3: "SUMSQ", 4: "MEAN"}.get(told, told)
    if of not in (known := ("SUM", "ASUM", "SUMSQ", "MEAN")):
        layer.refuse(f"operation {told}; allowed: {', '.join(known)}")
    value, axes = layer.bottoms[0], list(range(axis, len(shape)))
    if of == "ASUM":
        value = net.add(layer, "Abs", value)
    elif of == "SUMSQ":
        value = net.add(layer, "Mul", value, value)
    if of == "MEAN":
        value = net.add(layer, "ReduceMean", value, axes=axes, keepdims=0)
    else:
        value = net.add(layer, "ReduceSum", value, net.const(layer, axes, "int64"), keepdims=0)
    net.add(layer, "Mul", value, net.const(layer, said.one("coeff", 1)), tops=layer.tops)
    return [shape[:axis]]


def _arg_max(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("argmax_param"), net.shape(layer)
    count, values, axis = int(said.one("top_k", 1)), said.one("out_max_val", False), said.one("axis")
    source, at = layer.bottoms[0], 1 if axis is None else layer.axis(axis, len(shape))
    if axis is None:
        source = net.add(layer, "Reshape", source, net.const(layer, [0, -1], "int64"))
    best, places = (net.unique(f"{layer.name}/{name}") for name in ("values", "places"))
    net.add(layer, "TopK", source, net.const(layer, [count], "int64"), tops=[best, places], axis=at)
    net.nodes[-1].name = net.unique(f"{layer.name}/TopK")
    if axis is not None:
        if values:
            net.add(layer, "Identity", best, tops=layer.tops)
        else:
            net.add(layer, "Cast", places, tops=layer.tops, to=1)
        return [(*shape[:at], count, *shape[at + 1 :])]
    parts = [net.add(layer, "Cast", places, to=1), *([best] if values else [])]
    rows = [net.add(layer, "Unsqueeze", one, net.const(layer, [1], "int64")) for one in parts]
    net.add(layer, "Concat", *rows, tops=layer.tops, axis=1)
    return [(shape[0], len(parts), count)]


def _embed(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("embed_param"), net.shape(layer)
    outputs, rows = int(said.one("num_output", 0)), int(said.one("input_dim", 0))
    places = net.add(layer, "Cast", layer.bottoms[0], to=7)
    table = net.const(layer, layer.blob(0).reshape(rows, outputs))
    if said.one("bias_term", True):
        bias = net.const(layer, layer.blob(1).reshape(outputs))
        net.add(layer, "Add", net.add(layer, "Gather", table, places), bias, tops=layer.tops)
    else:
        net.add(layer, "Gather", table, places, tops=layer.tops)
    return [(*shape, outputs)]


LAYERS: dict[str, ConvertLayer] = {
    "AbsVal": _same("Abs"),
    "ArgMax": _arg_max,
    "BNLL": _same("Softplus"),
    "BatchNorm": _batch_norm,
    "BatchedMatMul": _batched_product,
    "Bias": _bias,
    "Concat": shapes.concat,
    "Convolution": windows.convolution,
    "ConvolutionDepthwise": partial(windows.convolution, depthwise=True),
    "Crop": shapes.crop,
    "Deconvolution": partial(windows.convolution, of="ConvTranspose"),
    "Dropout": _same("Identity"),
    "ELU": _elu,
    "Eltwise": _eltwise,
    "Embed": _embed,
    "Exp": _exp,
    "Flatten": shapes.flatten,
    "InnerProduct": _inner_product,
    "Interp": windows.interp,
    "LRN": windows.lrn,
    "Log": _log,
    "MVN": _mvn,
    "Normalize": _normalize,
    "PReLU": _prelu,
    "Permute": shapes.permute,
    "Pooling": windows.pooling,
    "Power": _power,
    "PriorBox": windows.prior_box,
    "ROIAlign": windows.roi_align,
    "ReLU": _relu,
    "ReLU6": _relu6,
    "Reduction": _reduction,
    "Reorg": windows.reorg,
    "Reshape": shapes.reshape,
    "Reverse": shapes.reverse,
    "Scale": _scale,
    "ShuffleChannel": shapes.shuffle_channel,
    "Sigmoid": _same("Sigmoid"),
    "Silence": lambda layer, net: [],
    "Slice": shapes.slice,
    "Softmax": shapes.softmax,
    "Split": _copies,
    "TanH": _same("Tanh"),
    "Threshold": _threshold,
    "Tile": shapes.tile,
    "Upsample": windows.upsample,
}
# CANN has plugins for these too.
NOT_YET = names(
    """
    BatchReindex CondTake Filter FreespaceExtract FSRDetectionOutput LSTM MatrixInverse PSROIPooling Postprocess
    Proposal Python RNN ROIPooling Region SPP SSDDetectionOutput SpatialTransform SpatialTransformer WarpPerspective
    Yolo YoloV2DetectionOutput YoloV3DetectionOutput YoloV3DetectionOutputV2
    """
)
