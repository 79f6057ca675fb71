"""Operators that draw numbers, by the GE operators that draw them: other numbers in each run, unless a seed is told."""

from __future__ import annotations

from collections.abc import Container

from ophook_npu.sim.atc.ge_graph import DOUBLE, FLOAT, FLOAT16, INT32, INT64, NUMPY, Tensor
from ophook_npu.sim.atc.onnx_node import Convert, Node
from ophook_npu.sim.atc.onnx_shapes import shape_of


def _dtype(node: Node, otherwise: int | None, taken: Container[int]) -> int:
    """That of the result: the attribute's, or else ``otherwise``."""
    dtype = node.attribute("dtype") or otherwise
    if dtype is None:
        node.refuse("the data type of its result is not known")
    if dtype not in taken:
        names = [name for number, name in NUMPY.items() if number in taken]
        node.refuse_attribute("dtype", dtype, f"CANN draws {', '.join(names)}")
    return int(dtype)


def _seeds(node: Node) -> dict[str, int]:
    """ONNX's seed is a real number, of which CANN takes the whole part, for both of GE's."""
    seed = int(node.attribute("seed") or 0)
    return {"seed": seed, "seed2": seed}


def _drawn(node: Node, of: str, shape: Tensor, dtype: int, width: float, start: float) -> Tensor:
    numbers = node.add(of, shape, dtype=node.type_attribute(dtype), **_seeds(node))
    return node.add("Adds", node.add("Muls", numbers, value=width), value=start)


def _width(node: Node) -> float:
    return float(node.attribute("high") - node.attribute("low"))


def normal(node: Node) -> Tensor:
    shape = node.attribute("shape")
    if not shape:
        node.refuse_attribute("shape", shape, "it has no dimension")
    dtype = _dtype(node, FLOAT, (FLOAT, FLOAT16, DOUBLE))
    scale, mean = node.attribute("scale"), node.attribute("mean")
    return _drawn(node, "RandomStandardNormal", node.const(shape), dtype, scale, mean)


def uniform(node: Node) -> Tensor:
    shape, dtype = node.const(node.attribute("shape")), _dtype(node, FLOAT, (FLOAT, FLOAT16, INT32))
    if dtype != INT32:
        return _drawn(node, "RandomUniform", shape, dtype, _width(node), node.attribute("low"))
    bounds = [node.const(int(node.attribute(name)), INT32) for name in ("low", "high")]
    return node.add("RandomUniformInt", shape, *bounds, **_seeds(node))


def normal_like(node: Node) -> Tensor:
    x = node.input(0)
    dtype = _dtype(node, x.dtype, (FLOAT, FLOAT16, DOUBLE))
    scale, mean = node.attribute("scale"), node.attribute("mean")
    return _drawn(node, "RandomStandardNormal", shape_of(node, x), dtype, scale, mean)


def uniform_like(node: Node) -> Tensor:
    x = node.input(0)
    dtype = _dtype(node, x.dtype, (FLOAT, FLOAT16, DOUBLE))
    return _drawn(node, "RandomUniform", shape_of(node, x), dtype, _width(node), node.attribute("low"))


def chances(node: Node) -> Tensor:
    """GE's operator chooses a seed itself where it is told -1."""
    x, seed = node.input(0), node.attribute("seed")
    told = {"dtype": node.type_attribute(node.attribute("dtype") or node.dtype(x))}
    number = node.const(-1 if seed is None else int(seed), INT64)
    return node.add("StatelessBernoulliV2", x, number, node.const(0, INT64), **told)


def classes(node: Node) -> Tensor:
    """CANN draws one int32 for each row, whatever the node asks for, and by no seed."""
    node.only("sample_size", 1, "CANN draws one")
    node.only("dtype", INT32, "CANN draws int32")
    node.asked.add("seed")
    return node.add("Multinomial", node.input(0), node.const(1, INT32), dtype=node.type_attribute(INT32))


OPERATORS: dict[str, Convert] = {
    "Bernoulli": chances,
    "Multinomial": classes,
    "RandomNormal": normal,
    "RandomNormalLike": normal_like,
    "RandomUniform": uniform,
    "RandomUniformLike": uniform_like,
}
