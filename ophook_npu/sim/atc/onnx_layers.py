"""Products, normalization over batches and rows, and a loss."""

from __future__ import annotations

import string

import numpy as np

from ophook_npu.plural import counted
from ophook_npu.sim.atc.ge_graph import FLOAT, INT32, INT64, Tensor, ge_type
from ophook_npu.sim.atc.onnx_node import Convert, Node


def gemm(node: Node) -> Tensor:
    alpha, beta, c = node.attribute("alpha"), node.attribute("beta"), node.given(2)
    told = {"transpose_x1": bool(node.attribute("transA")), "transpose_x2": bool(node.attribute("transB"))}
    line = c is not None and c.shape is not None and len(c.shape) == 1 and -1 not in c.shape and c.shape[0] > 1
    if alpha == beta == 1 and line:
        return node.add("MatMulV2", node.input(0), node.input(1), c, **told)
    y = node.add("MatMulV2", node.input(0), node.input(1), None, **told)
    y = y if alpha == 1 else node.add("Muls", y, value=alpha)
    if c is None or beta == 0:
        return y
    return node.add("Add", y, c if beta == 1 else node.add("Muls", c, value=beta))


def product(node: Node) -> Tensor:
    """A line is a matrix of one row or column, which the result does not have."""
    a, b = node.input(0), node.input(1)
    gone = []
    if b.shape is not None and len(b.shape) == 1:
        b = node.add("Unsqueeze", b, axes=[-1])
        gone.append(-1)
    if a.shape is not None and len(a.shape) == 1:
        a = node.add("Unsqueeze", a, axes=[0])
        gone.append(-2 if not gone else -1)
    y = node.add("BatchMatMulV2", a, b, None)
    for axis in gone:
        y = node.add("Squeeze", y, axis=[axis])
    return y


def batch_normal(node: Node) -> Tensor:
    if node.opset >= 14 and node.attribute("training_mode"):
        node.refuse_attribute("training_mode", 1, "a model that is converted does not learn")
    if len([one for one in node.proto.output if one]) > 1:
        node.refuse("it has outputs of training")
    node.asked |= {"momentum", "is_test"}
    if node.has("spatial"):
        node.only("spatial", 1, "statistics are of channels")
    return node.add("BNInfer", *(node.input(i) for i in range(5)), epsilon=node.attribute("epsilon"))


def instance_normal(node: Node) -> Tensor:
    """Each channel is a group of its own."""
    x = node.input(0)
    channels = x.shape[1] if x.shape else -1
    if channels < 0:
        channels = node.sizes(node.input(1), "its scale")[0]
    told = {"num_groups": channels, "data_format": "NCHW", "eps": node.attribute("epsilon"), "is_training": True}
    return node.add("GroupNormV2", x, node.input(1), node.input(2), **told)


def layer_normal(node: Node) -> list[Tensor]:
    x, scale, bias = node.input(0), node.input(1), node.given(2)
    axis, rank = node.attribute("axis"), node.rank(x)
    node.attribute("stash_type")
    assert x.shape is not None
    count = rank - axis % rank
    weights = []
    for weight, otherwise in ((scale, 1), (bias, 0)):
        if weight is not None and weight.shape is not None and len(weight.shape) == count:
            weights.append(weight)
        else:
            fill = node.const(otherwise, x.dtype) if weight is None else weight
            weights.append(node.add("BroadcastTo", fill, _normalized_shape(node, x, axis % rank)))
    y, mean, rstd = node.add_all(
        "LayerNormV3", x, *weights,
        begin_norm_axis=axis % rank, begin_params_axis=axis % rank, epsilon=node.attribute("epsilon"),
    )  # fmt: skip
    return [y, *(node.cast(one, FLOAT) for one in (mean, rstd))] if node.wants(1) or node.wants(2) else [y]


def _normalized_shape(node: Node, x: Tensor, axis: int) -> Tensor:
    assert x.shape is not None
    if -1 not in x.shape[axis:]:
        return node.const(x.shape[axis:])
    whole = node.add("Shape", x, dtype=ge_type(INT64))
    places = node.const(list(range(axis, len(x.shape))))
    return node.add("GatherV2", whole, places, node.const([0]))


def einsum(node: Node) -> Tensor:
    inputs = [node.input(i) for i in range(len(node.inputs))]
    equation = node.attribute("equation").replace(" ", "")
    return node.add("Einsum", inputs, equation=_all_letters(node, equation, inputs), N=len(inputs))


def _all_letters(node: Node, equation: str, inputs: list[Tensor]) -> str:
    """With a result, and with letters for three dots, neither of which GE's operator knows otherwise."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(inputs):
        node.refuse_attribute(
            "equation", equation, f"it has {counted(len(terms), 'term')} for {counted(len(inputs), 'input')}"
        )
    if not arrow:
        once = sorted({one for one in left if one.isalpha() and left.count(one) == 1})
        right = ("..." if "..." in left else "") + "".join(once)
    free = [one for one in string.ascii_letters if one not in equation]
    dots = max([node.rank(x) - len(term) + 3 for term, x in zip(terms, inputs, strict=True) if "..." in term] or [0])
    if dots > len(free):
        node.refuse_attribute("equation", equation, "it has more dimensions than letters")
    for i, x in enumerate(inputs):
        if "..." in terms[i]:
            own = node.rank(x) - len(terms[i]) + 3
            terms[i] = terms[i].replace("...", "".join(free[dots - own : dots]))
    return ",".join(terms) + "->" + right.replace("...", "".join(free[:dots]))


def cross_entropy(node: Node) -> list[Tensor]:
    """Of classes along dimension 1: they are brought to the end, and the others are one."""
    scores, labels, weight = node.input(0), node.input(1), node.given(2)
    ignored = node.attribute("ignore_index")
    reduction = node.attribute("reduction")
    rank, classes = node.rank(scores), node.rank(scores) and scores.shape and scores.shape[1]
    if not classes or classes < 0:
        node.refuse("the number of its classes is not known")
    logs = node.add("LogSoftmaxV2", scores, axes=[1])
    rows = logs
    if rank > 2:
        order = [0, *range(2, rank), 1]
        rows = node.add("Reshape", node.add("Transpose", logs, node.const(order)), node.const([-1, classes]))
    line = node.cast(labels, INT32)
    line = node.add("Reshape", line, node.const([-1])) if rank > 2 else line
    if weight is None:
        weight = node.const(np.ones(classes), scores.dtype)
    told = {"reduction": reduction, "ignore_index": -100 if ignored is None else ignored}
    loss = node.add("NLLLoss", rows, line, weight, **told)
    if reduction == "none" and rank > 2:
        loss = node.add("Reshape", loss, node.add("Shape", labels, dtype=ge_type(INT64)))
    return [loss, logs]


def lrn(node: Node) -> Tensor:
    size = node.attribute("size")
    return node.add(
        "LRN", node.input(0),
        depth_radius=(size - 1) // 2, bias=node.attribute("bias"), alpha=node.attribute("alpha") / size,
        beta=node.attribute("beta"), norm_region="ACROSS_CHANNELS",
    )  # fmt: skip


OPERATORS: dict[str, Convert] = {
    "BatchNormalization": batch_normal,
    "Einsum": einsum,
    "Gemm": gemm,
    "InstanceNormalization": instance_normal,
    "LRN": lrn,
    "LayerNormalization": layer_normal,
    "MatMul": product,
    "SoftmaxCrossEntropyLoss": cross_entropy,
}
