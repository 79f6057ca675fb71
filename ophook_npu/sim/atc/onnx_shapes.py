"""The same elements in another shape or order; tensors of shapes and of ranges; joining, splitting, padding."""

from __future__ import annotations

import numpy as np

from ophook_npu.sim.atc.ge_graph import FLOAT, FLOATING, INT32, INT64, Tensor, ge_type
from ophook_npu.sim.atc.onnx_elementwise import plain
from ophook_npu.sim.atc.onnx_node import Array, Convert, Node, like

_INT64 = ge_type(INT64)
# What CANN's operator makes; others are cast.
_OF_EYE = {1, 2, 3, 5, 6, 7, 9, 10, 16}


def shape_of(node: Node, x: Tensor) -> Tensor:
    rank = None if x.shape is None else (len(x.shape),)
    return like(node.add("Shape", x, dtype=_INT64), INT64, rank)


def shape(node: Node) -> Tensor:
    whole = shape_of(node, node.input(0))
    start, end = (node.attribute("start", 0), node.attribute("end")) if node.opset >= 15 else (0, None)
    if not start and end is None:
        return whole
    stop = np.iinfo(np.int64).max if end is None else end
    return node.add("StridedSliceV2", whole, node.const([start]), node.const([stop]), node.const([0]), node.const([1]))


def reshape(node: Node) -> Tensor:
    """A 0 stands for the input's dimension, which GE's Reshape does not know."""
    x, target = node.input(0), node.input(1)
    known = node.value(1)
    zeros = node.opset < 14 or not node.attribute("allowzero")
    if known is None:
        return node.add("Reshape", x, _zeros_replaced(node, x, target, None) if zeros else target)
    sizes = [int(one) for one in known]
    if zeros and 0 in sizes:
        if x.shape is not None:
            sizes = [x.shape[i] if one == 0 and i < len(x.shape) else one for i, one in enumerate(sizes)]
        if x.shape is None or sizes.count(-1) > 1:
            return node.add("Reshape", x, _zeros_replaced(node, x, target, known))
    return node.add("Reshape", x, node.const(sizes))


def _zeros_replaced(node: Node, x: Tensor, target: Tensor, known: Array | None) -> Tensor:
    count = len(known) if known is not None else target.shape[0] if target.shape else -1
    if x.shape is None or count < 1 or not x.shape:
        return target
    places = node.const([min(i, len(x.shape) - 1) for i in range(count)])
    own = node.add("GatherV2", shape_of(node, x), places, node.const([0]))
    return node.add("SelectV2", node.add("Equal", target, node.const([0])), own, target)


def flatten(node: Node) -> Tensor:
    """Two dimensions: those in front of an axis, and the others."""
    x = node.input(0)
    rank = node.rank(x)
    axis = node.attribute("axis")
    axis = axis + rank if axis < 0 else axis
    if axis in (0, rank):
        return node.add("Reshape", x, node.const([1, -1] if axis == 0 else [-1, 1]))
    front = node.add("FlattenV2", x, axis=0, end_axis=axis - 1) if axis > 1 else x
    return node.add("FlattenV2", front, axis=1, end_axis=-1)


def squeeze(node: Node) -> Tensor:
    axes = node.integers("axes", 1, 13)
    return node.add("Squeeze", node.input(0), axis=axes or [])


def unsqueeze(node: Node) -> Tensor:
    axes = node.integers("axes", 1, 13)
    if axes is None:
        node.refuse("it has no axes")
    x = node.input(0)
    if len(set(axes)) == 1 or x.shape is None:
        return node.add("Unsqueeze", x, axes=axes)
    rank = len(x.shape) + len(axes)
    return node.add("Unsqueeze", x, axes=sorted(one % rank for one in axes))


def transpose(node: Node) -> Tensor:
    x = node.input(0)
    order = node.attribute("perm")
    return node.add("Transpose", x, node.const(order if order else list(reversed(range(node.rank(x))))))


def concat(node: Node) -> Tensor:
    inputs = [node.input(i) for i in range(len(node.inputs))]
    return node.add("ConcatD", inputs, concat_dim=node.attribute("axis", 1), N=len(inputs))


def split(node: Node) -> list[Tensor]:
    x, axis, parts = node.input(0), node.attribute("axis"), len(node.proto.output)
    sizes = node.integers("split", 1, 13)
    told = node.attribute("num_outputs") if node.opset >= 18 else None
    if told is not None and told != parts:
        node.refuse_attribute("num_outputs", told, f"the node has {parts} outputs")
    length = x.shape[axis] if x.shape is not None else -1
    if sizes is None and length > 0 and length % parts:  # the last one is smaller
        each = -(-length // parts)
        sizes = [each] * (parts - 1) + [length - each * (parts - 1)]
    if sizes is None:
        return node.add_all("SplitD", x, split_dim=axis, num_split=parts, parts=parts)
    return node.add_all("SplitV", x, node.const(sizes), node.const([axis]), num_split=parts, parts=parts)


def constant_of_shape(node: Node) -> Tensor:
    import onnx

    given = node.attribute("value")
    value = np.zeros(1, np.float32) if given is None else onnx.numpy_helper.to_array(given)
    return node.add("Fill", node.input(0), node.graph.const(f"{node.name}/Const", value.reshape(())))


def eye(node: Node) -> Tensor:
    x = node.input(0)
    rows, columns = node.sizes(x)
    dtype, k = node.attribute("dtype") or node.dtype(x), node.attribute("k")
    if k:
        return node.cast(node.const(np.eye(rows, columns, k), 1), dtype)
    own = dtype if dtype in _OF_EYE else FLOAT
    ones = like(node.add("Eye", num_rows=rows, num_columns=columns, dtype=ge_type(own)), own, (rows, columns))
    return node.cast(ones, dtype)


def triangle(node: Node) -> Tensor:
    k = node.value(1)
    if node.given(1) is not None and k is None:
        node.constant(1)
    return node.add("Triu" if node.attribute("upper") else "Tril", node.input(0), diagonal=0 if k is None else int(k))


def pad(node: Node) -> Tensor:
    x = node.input(0)
    modes = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "circular"}
    mode = node.attribute("mode")
    if mode not in modes:
        node.refuse_attribute("mode", mode, f"it is one of {', '.join(modes)}")
    if node.opset < 11:
        pads, value = node.const(node.attribute("pads")), node.const(node.attribute("value"), node.dtype(x))
    else:
        pads, filled = node.input(1), node.given(2)
        value = filled if filled is not None else node.const(0, node.dtype(x))
        if node.given(3) is not None:
            pads = node.const(_of_all_axes(node, x))
    return node.add(
        "PadV3", x, pads, value if mode == "constant" else None, mode=modes[mode], paddings_contiguous=False
    )


def _of_all_axes(node: Node, x: Tensor) -> list[int]:
    rank, axes, given = node.rank(x), node.constant(3), node.constant(1)
    pads = [0] * 2 * rank
    for i, axis in enumerate(axes):
        pads[int(axis) % rank], pads[int(axis) % rank + rank] = int(given[i]), int(given[i + len(axes)])
    return pads


def depth_to_space(node: Node) -> Tensor:
    block, mode = node.attribute("blocksize"), node.attribute("mode", "DCR")
    return node.add("DepthToSpace", node.input(0), block_size=block, mode=mode, data_format="NCHW")


def space_to_depth(node: Node) -> Tensor:
    return node.add("SpaceToDepth", node.input(0), block_size=node.attribute("blocksize"), data_format="NCHW")


def arange(node: Node) -> Tensor:
    start = node.input(0)
    if start.dtype not in (INT32, INT64) and start.dtype not in FLOATING:
        numbers = [node.cast(node.input(i), INT32) for i in range(3)]
        return node.cast(node.add("Range", *numbers), start.dtype)
    return node.add("Range", start, node.input(1), node.input(2))


def compress(node: Node) -> Tensor:
    x, axis = node.input(0), node.attribute("axis")
    places = node.add("NonZero", node.input(1), transpose=False, dtype=node.type_attribute(INT64))
    line = node.add("Reshape", places, node.const([-1]))
    if axis is None:
        x, axis = node.add("Reshape", x, node.const([-1])), 0
    return node.add("GatherV2", x, line, node.const([axis]))


OPERATORS: dict[str, Convert] = {
    "Compress": compress,
    "Concat": concat,
    "ConstantOfShape": constant_of_shape,
    "DepthToSpace": depth_to_space,
    "Expand": plain("Expand"),
    "EyeLike": eye,
    "Flatten": flatten,
    "Pad": pad,
    "Range": arange,
    "Reshape": reshape,
    "Shape": shape,
    "Size": lambda node: node.add("Size", node.input(0), dtype=_INT64),
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": plain("Tile"),
    "Transpose": transpose,
    "Trilu": triangle,
    "Unsqueeze": unsqueeze,
}
