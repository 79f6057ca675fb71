"""Operators of one element, or of several in one place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ophook_npu.sim.atc.ge_graph import BOOL, DATA_TYPES, FLOATING, INT32, NUMPY, Tensor, ge_type
from ophook_npu.sim.atc.onnx_node import Convert, Node


def plain(of: str, **attributes: str) -> Convert:
    """A GE operator with the same inputs, and with attributes by their names in ONNX."""

    def convert(node: Node) -> Tensor:
        given = [one for one in node.inputs if one is not None]
        return node.add(of, *given, **{ge: node.attribute(onnx) for ge, onnx in attributes.items()})

    return convert


def chain(of: str) -> Convert:
    """Of any number of inputs, two by two."""

    def convert(node: Node) -> Tensor:
        result = node.input(0)
        for i in range(1, len(node.inputs)):
            result = node.add(of, result, node.input(i))
        return result

    return convert


def total(node: Node) -> Tensor:
    inputs = [node.input(i) for i in range(len(node.inputs))]
    return inputs[0] if len(inputs) == 1 else node.add("AccumulateNV2", inputs, N=len(inputs))


def mean(node: Node) -> Tensor:
    return node.add("Muls", total(node), value=1.0 / len(node.inputs))


def power(node: Node) -> Tensor:
    """The exponent is taken in the type of the base, or both in that of a floating exponent, as far as types differ."""
    base, exponent = node.input(0), node.input(1)
    if base.dtype == exponent.dtype:
        return node.add("Pow", base, exponent)
    if exponent.dtype in FLOATING and base.dtype not in FLOATING:
        return node.cast(node.add("Pow", node.cast(base, exponent.dtype), exponent), base.dtype)
    return node.add("Pow", base, node.cast(exponent, base.dtype))


def modulo(node: Node) -> Tensor:
    """With fmod the sign is the dividend's, without it the divisor's."""
    return node.add("Mod" if node.attribute("fmod") else "FloorMod", node.input(0), node.input(1))


def exclusive_or(node: Node) -> Tensor:
    a, b = node.cast(node.input(0), INT32), node.cast(node.input(1), INT32)
    return node.cast(node.add("BitwiseXor", a, b), BOOL)


def shift(node: Node) -> Tensor:
    direction = node.attribute("direction")
    if direction not in ("LEFT", "RIGHT"):
        node.refuse_attribute("direction", direction, "it is LEFT or RIGHT")
    return node.add(f"{direction.capitalize()}Shift", node.input(0), node.input(1))


def cast(node: Node) -> Tensor:
    to = node.attribute("to")
    if to not in DATA_TYPES:
        node.refuse_attribute("to", to, "the engine has no such data type")
    node.asked |= {"saturate", "round_mode"}  # of types of 8 bits, which are refused
    return node.add("Cast", node.input(0), dst_type=ge_type(to))


def cast_like(node: Node) -> Tensor:
    node.asked |= {"saturate", "round_mode"}
    return node.add("Cast", node.input(0), dst_type=ge_type(node.dtype(node.input(1))))


def clip(node: Node) -> Tensor:
    x = node.input(0)
    dtype = node.dtype(x)
    info: Any = np.finfo if dtype in FLOATING else np.iinfo
    of = info(NUMPY.get(dtype, "float32"))

    def bound(name: str, index: int, otherwise: float) -> Tensor:
        if node.opset < 11:
            return node.const(node.attribute(name, otherwise), dtype)
        return node.given(index) or node.const(otherwise, dtype)

    return node.add("ClipByValue", x, bound("min", 1, of.min), bound("max", 2, of.max))


def selu(node: Node) -> Tensor:
    alpha, gamma = node.attribute("alpha"), node.attribute("gamma")
    if abs(alpha - 1.67326319) < 1e-6 and abs(gamma - 1.05070102) < 1e-6:
        return node.add("Selu", node.input(0))
    return node.add("Elu", node.input(0), alpha=alpha, scale=gamma)


def is_infinite(node: Node) -> Tensor:
    x = node.input(0)
    found = node.add("IsInf", x)
    for sign, of in (("negative", "Greater"), ("positive", "Less")):
        if not node.attribute(f"detect_{sign}"):
            found = node.add("LogicalAnd", found, node.add(of, x, node.const(0, node.dtype(x))))
    return found


def where(node: Node) -> Tensor:
    return node.add("SelectV2", node.input(0), node.input(1), node.input(2))


def prelu(node: Node) -> Tensor:
    """One slope, or one for each channel; ONNX broadcasts slopes from the last dimension on."""
    x, slope = node.input(0), node.input(1)
    rank = node.rank(x)
    if node.opset < 7:  # a slope for each channel
        return node.add("PRelu", x, slope)
    if slope.shape is None or slope.shape in ((), (1,)):
        return node.add("PRelu", x, slope if slope.shape != () else node.add("Reshape", slope, node.const([1])))
    others = [size for i, size in enumerate(slope.shape) if len(slope.shape) - i != rank - 1]
    if len(slope.shape) >= rank - 1 >= 1 and all(one == 1 for one in others):
        return node.add("PRelu", x, node.add("Reshape", slope, node.const([-1])))
    zero = node.const(0, node.dtype(x))
    return node.add("SelectV2", node.add("Less", x, zero), node.add("Mul", x, slope), x)


def dropout(node: Node) -> list[Tensor]:
    """Of inference: what comes in goes out."""
    x = node.input(0)
    training = node.value(2) if node.opset >= 12 else None
    if node.given(2) is not None and (training is None or bool(training)):
        node.refuse("its training_mode has to be false, a model that is converted does not learn")
    node.asked |= {"ratio", "seed", "is_test"}
    outputs = [node.add("Identity", x)]
    if node.wants(1):
        kept = node.const(True, BOOL) if node.opset >= 10 else node.const(1, node.dtype(x))
        outputs.append(node.add("Fill", node.add("Shape", x, dtype=ge_type(INT32)), kept))
    return outputs


_SAME = """
    Abs Acos Acosh Add Asin Asinh Atan Atanh BitwiseAnd BitwiseOr BitwiseXor Ceil Cos Cosh Equal Erf Exp Floor Greater
    HardSwish Identity Less Log Mish Mul Neg Reciprocal Relu Round Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Tan
    Tanh
"""
OPERATORS: dict[str, Convert] = {
    **{name: plain(name) for name in _SAME.split()},
    "And": plain("LogicalAnd"),
    "BitShift": shift,
    "BitwiseNot": plain("Invert"),
    "Cast": cast,
    "CastLike": cast_like,
    "Celu": plain("CeluV2", alpha="alpha"),
    "Clip": clip,
    "Det": plain("MatrixDeterminant"),
    "Div": plain("RealDiv"),
    "Dropout": dropout,
    "Elu": plain("Elu", alpha="alpha"),
    "GreaterOrEqual": plain("GreaterEqual"),
    "HardSigmoid": plain("HardSigmoid", alpha="alpha", beta="beta"),
    "IsInf": is_infinite,
    "IsNaN": plain("IsNan"),
    "LeakyRelu": plain("LeakyRelu", negative_slope="alpha"),
    "LessOrEqual": plain("LessEqual"),
    "Max": chain("Maximum"),
    "Mean": mean,
    "Min": chain("Minimum"),
    "Mod": modulo,
    "Not": plain("LogicalNot"),
    "Or": plain("LogicalOr"),
    "PRelu": prelu,
    "Pow": power,
    "Selu": selu,
    "Shrink": plain("Shrink", lambd="lambd", bias="bias"),
    "Sum": total,
    "ThresholdedRelu": lambda node: node.add(
        "ThresholdV2D", node.input(0), threshold=node.attribute("alpha"), value=0.0
    ),
    "Where": where,
    "Xor": exclusive_or,
}
