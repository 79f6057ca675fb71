"""Reductions, places of extremes, running sums, and softmax."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ophook_npu.sim.atc.ge_graph import FLOATING, INT32, INT64, Tensor, ge_type
from ophook_npu.sim.atc.onnx_node import Convert, Node, like

# x, axes, whether the dimensions stay
Reduce = Callable[[Node, Tensor, Tensor, bool], Tensor]


def over(of: str) -> Reduce:
    return lambda node, x, axes, keep: node.add(of, x, axes, keep_dims=keep)


def mean(node: Node, x: Tensor, axes: Tensor, keep: bool) -> Tensor:
    return node.add("ReduceMean", x, axes, keep_dims=keep)


def log_sum(node: Node, x: Tensor, axes: Tensor, keep: bool) -> Tensor:
    return node.add("Log", node.add("ReduceSum", x, axes, keep_dims=keep))


def sum_square(node: Node, x: Tensor, axes: Tensor, keep: bool) -> Tensor:
    return node.add("ReduceSum", node.add("Square", x), axes, keep_dims=keep)


def norm(p: float) -> Reduce:
    def convert(node: Node, x: Tensor, axes: Tensor, keep: bool) -> Tensor:
        if axes.value is None or x.dtype not in FLOATING:  # LpNormV2 has its axes as an attribute
            sums = node.add("ReduceSum", node.add("Abs" if p == 1 else "Square", x), axes, keep_dims=keep)
            return sums if p == 1 else node.cast(node.add("Sqrt", _floating(node, like(sums, x.dtype, None))), x.dtype)
        return node.add("LpNormV2", x, p=p, axes=[int(one) for one in axes.value], keepdim=keep)

    return convert


def _floating(node: Node, x: Tensor) -> Tensor:
    return x if x.dtype in FLOATING else node.cast(x, 1)


def reduced(reduce: Reduce, since: int) -> Convert:
    """The axes are an attribute before the opset ``since`` and an input from then on; none are all of them."""

    def convert(node: Node) -> Tensor:
        x, keep = node.input(0), bool(node.attribute("keepdims", 1))
        idle = bool(node.attribute("noop_with_empty_axes", 0))
        axes = None
        if node.opset < since:
            given = node.attribute("axes")
            axes = None if given is None else node.const(given)
        elif (asked := node.given(1)) is not None:
            known = node.value(1)
            empty = known.size == 0 if known is not None else asked.shape is not None and 0 in asked.shape
            axes = None if empty else node.const(known.astype(np.int64)) if known is not None else asked
        if axes is None and idle:
            return _of_each(node, reduce, x)
        if axes is None:
            axes = node.const(list(range(node.rank(x))))
        if x.shape == ():  # a number is what any reduction makes of a vector of it
            x = like(node.add("Reshape", x, node.const([1])), x.dtype, (1,))
            return reduce(node, x, node.const([0]), False)
        return reduce(node, x, axes, keep)

    return convert


def _of_each(node: Node, reduce: Reduce, x: Tensor) -> Tensor:
    """No axes, and none are none: each number by itself, in a dimension of its own."""
    longer = like(node.add("Unsqueeze", x, axes=[-1]), x.dtype, None)
    return reduce(node, longer, node.const([-1]), False)


def place(of: str) -> Convert:
    def convert(node: Node) -> Tensor:
        x, axis = node.input(0), node.attribute("axis")
        if node.opset >= 12 and node.attribute("select_last_index"):
            node.refuse_attribute("select_last_index", 1, "CANN takes 0")
        result = node.add(of, x, node.const(axis, INT32), dtype=node.type_attribute(INT64))
        return node.add("Unsqueeze", result, axes=[axis % node.rank(x)]) if node.attribute("keepdims") else result

    return convert


def top(node: Node) -> list[Tensor]:
    x, axis, largest = node.input(0), node.attribute("axis"), True
    k = node.const([node.attribute("k")]) if node.opset < 10 else node.input(1)
    ordered = True
    if node.opset >= 11:
        largest, ordered = bool(node.attribute("largest")), bool(node.attribute("sorted"))
    values, indices = node.add_all("TopK", x, k, sorted=ordered, dim=axis, largest=largest)
    return [values, node.cast(indices, INT64)]


def running_sum(node: Node) -> Tensor:
    told = {"exclusive": bool(node.attribute("exclusive")), "reverse": bool(node.attribute("reverse"))}
    return node.add("Cumsum", node.input(0), node.input(1), **told)


def along(of: str, attribute: str, many: bool = True) -> Convert:
    """Softmax and the like: along one axis from opset 13 on, along all dimensions from an axis on before it."""

    def convert(node: Node) -> Tensor:
        x, axis = node.input(0), node.attribute("axis")
        rank = node.rank(x)

        def run(of_x: Tensor, at: int) -> Tensor:
            return node.add(of, of_x, **{attribute: [at] if many else at})

        if node.opset >= 13 or axis in (-1, rank - 1):
            return run(x, axis)
        start = axis % rank
        rows = node.add("FlattenV2", x, axis=start, end_axis=rank - 1)
        return node.add("Reshape", run(rows, -1), node.add("Shape", x, dtype=ge_type(INT64)))

    return convert


def lp_normalization(node: Node) -> Tensor:
    x = node.input(0)
    norm_of = node.add("LpNormV2", x, p=float(node.attribute("p")), axes=[node.attribute("axis")], keepdim=True)
    if node.opset >= 22:  # from there on zeros stay zeros
        norm_of = node.add("Maximum", norm_of, node.const(np.finfo(np.float32).tiny, node.dtype(x)))
    return node.add("RealDiv", x, norm_of)


def mean_variance(node: Node) -> Tensor:
    x, axes = node.input(0), node.const(node.attribute("axes", [0, 2, 3]))
    centred = node.add("Sub", x, node.add("ReduceMean", x, axes, keep_dims=True))
    variance = node.add("ReduceMean", node.add("Square", centred), axes, keep_dims=True)
    return node.add("RealDiv", centred, node.add("Adds", node.add("Sqrt", variance), value=1e-9))


def global_pool(reduce: Reduce) -> Convert:
    def convert(node: Node) -> Tensor:
        x = node.input(0)
        return reduce(node, x, node.const(list(range(2, node.rank(x)))), True)

    return convert


OPERATORS: dict[str, Convert] = {
    "ArgMax": place("ArgMaxV2"),
    "ArgMin": place("ArgMin"),
    "CumSum": running_sum,
    "GlobalLpPool": lambda node: global_pool(norm(float(node.attribute("p"))))(node),
    "GlobalMaxPool": global_pool(over("ReduceMax")),
    "Hardmax": along("HardMax", "axis", many=False),
    "LogSoftmax": along("LogSoftmaxV2", "axes"),
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance,
    "ReduceL1": reduced(norm(1.0), 18),
    "ReduceL2": reduced(norm(2.0), 18),
    "ReduceLogSum": reduced(log_sum, 18),
    "ReduceLogSumExp": reduced(over("ReduceLogSumExp"), 18),
    "ReduceMax": reduced(over("ReduceMax"), 18),
    "ReduceMean": reduced(mean, 18),
    "ReduceMin": reduced(over("ReduceMin"), 18),
    "ReduceProd": reduced(over("ReduceProd"), 18),
    "ReduceSum": reduced(over("ReduceSum"), 13),
    "ReduceSumSquare": reduced(sum_square, 18),
    "Softmax": along("SoftmaxV2", "axes"),
    "TopK": top,
}
