"""Parts of a tensor by index: slices, gathering and scattering, boxes."""

from __future__ import annotations

import numpy as np

from ophook_npu.plural import counted
from ophook_npu.sim.atc.ge_graph import FLOAT, INT32, INT64, Tensor
from ophook_npu.sim.atc.onnx_node import Convert, Node, like


def cut(node: Node) -> Tensor:
    x = node.input(0)
    if node.opset < 10:
        starts, ends, axes = (node.attribute(name) for name in ("starts", "ends", "axes"))
        axes = list(range(len(starts))) if axes is None else axes
        parts = [node.const(starts), node.const(ends), node.const(axes), node.const([1] * len(axes))]
        return node.add("StridedSliceV2", x, *parts)
    starts, ends, axes, steps = node.input(1), node.input(2), node.given(3), node.given(4)
    if axes is None and steps is not None:  # CANN's operator reads its inputs in this order
        axes = node.const(list(range(node.sizes(starts, "its input starts")[0])))
    return node.add("StridedSliceV2", x, starts, ends, axes, steps)


def gather(node: Node) -> Tensor:
    return node.add("GatherV2", node.input(0), node.input(1), node.const([node.attribute("axis")]))


def _not_negative(node: Node, x: Tensor, indices: Tensor, index: int, axis: int) -> Tensor:
    """Indices that count from the end are made to count from the beginning, where the operator does not do so."""
    known = node.value(index)
    if known is not None and (known >= 0).all():
        return indices
    if x.shape is None or x.shape[axis] < 0:
        return indices
    dtype = node.dtype(indices)
    behind = node.add("Add", indices, node.const(x.shape[axis], dtype))
    return node.add("SelectV2", node.add("Less", indices, node.const(0, dtype)), behind, indices)


def gather_elements(node: Node) -> Tensor:
    x, axis = node.input(0), node.attribute("axis")
    return node.add("GatherElements", x, _not_negative(node, x, node.input(1), 1, axis), dim=axis)


def gather_nd(node: Node) -> Tensor:
    if node.opset >= 12:
        node.only("batch_dims", 0, "CANN takes 0")
    return node.add("GatherNd", node.input(0), node.input(1), negative_index_support=True)


def scatter_elements(node: Node) -> Tensor:
    reduction = node.attribute("reduction", "none") if node.opset >= 16 else "none"
    if reduction not in ("none", "add"):
        node.refuse_attribute("reduction", reduction, "the simulated ScatterElements takes none and add")
    axis = node.attribute("axis")
    return node.add("ScatterElements", *(node.input(i) for i in range(3)), axis=axis, reduction=reduction)


def scatter_nd(node: Node) -> Tensor:
    """The slices are put into a copy of the data."""
    reduction = node.attribute("reduction", "none") if node.opset >= 16 else "none"
    kinds = {"none": "ScatterNdUpdate", "add": "ScatterNdAdd", "max": "ScatterNdMax", "min": "ScatterNdMin"}
    if reduction not in kinds:
        node.refuse_attribute("reduction", reduction, "CANN takes none, add, max and min")
    x, indices = node.input(0), node.input(1)
    known = node.value(1)
    if known is None or (known < 0).any():
        indices = _rows_not_negative(node, x, indices)
    return node.add(kinds[reduction], node.add("TensorMove", x), indices, node.input(2))


def _rows_not_negative(node: Node, x: Tensor, indices: Tensor) -> Tensor:
    if x.shape is None or indices.shape is None or indices.shape[-1] < 0 or -1 in x.shape[: indices.shape[-1]]:
        return indices
    sizes = node.const(x.shape[: indices.shape[-1]], node.dtype(indices))
    negative = node.add("Less", indices, node.const(0, node.dtype(indices)))
    return node.add("SelectV2", negative, node.add("Add", indices, sizes), indices)


def one_hot(node: Node) -> Tensor:
    indices, depth, values = node.input(0), node.input(1), node.input(2)
    known = node.value(1)
    count = int(np.asarray(known).reshape(-1)[0]) if known is not None else None
    places = indices if indices.dtype in (INT32, INT64) else like(node.cast(indices, INT64), INT64, indices.shape)
    depth = node.const(count) if count is not None else node.cast(depth, INT64)
    dtype = node.dtype(places)
    of = node.const(count, dtype) if count is not None else node.cast(like(depth, INT64, None), dtype)
    behind = node.add("Add", places, of)
    places = node.add("SelectV2", node.add("Less", places, node.const(0, dtype)), behind, places)
    off, on = (node.add("GatherV2", values, node.const([i]), node.const([0])) for i in (0, 1))
    return node.add("OneHot", places, depth, on, off, axis=node.attribute("axis"))


def nonzero(node: Node) -> Tensor:
    """A row for each dimension."""
    return node.add("NonZero", node.input(0), transpose=True, dtype=node.type_attribute(INT64))


def unique(node: Node) -> list[Tensor]:
    node.only("sorted", 1, "the simulated operator sorts")
    x, axis = node.input(0), node.attribute("axis")
    if axis is None:
        x, axis = node.add("Reshape", x, node.const([-1])), 0
    values, first, counts, inverse = node.add_all(
        "UniqueWithCountsExt2", x, node.const([axis]), out_idx=node.type_attribute(INT64)
    )
    return [values, first, inverse, counts]


def reverse_sequence(node: Node) -> Tensor:
    axes = {"seq_dim": node.attribute("time_axis"), "batch_dim": node.attribute("batch_axis")}
    return node.add("ReverseSequence", node.input(0), node.input(1), **axes)


def roi_align(node: Node) -> Tensor:
    if node.attribute("mode") != "avg":
        node.refuse_attribute("mode", node.attribute("mode"), "CANN takes avg")
    half = node.opset >= 16 and node.attribute("coordinate_transformation_mode") == "half_pixel"
    places = node.cast(node.input(2), FLOAT)
    rois = node.add(
        "ConcatD", [node.add("Unsqueeze", places, axes=[1]), node.cast(node.input(1), FLOAT)], concat_dim=1, N=2
    )
    return node.add(
        "ROIAlign", node.input(0), rois,
        spatial_scale=float(node.attribute("spatial_scale")),
        pooled_height=node.attribute("output_height"),
        pooled_width=node.attribute("output_width"),
        sample_num=node.attribute("sampling_ratio"),
        roi_end_mode=2 if half else 0,
    )  # fmt: skip


def non_max_suppression(node: Node) -> Tensor:
    boxes, scores = node.input(0), node.input(1)
    most = node.given(2)
    chosen = node.add(
        "NonMaxSuppressionV6", boxes, scores,
        node.const(0, INT32) if most is None else node.cast(most, INT32), node.given(3), node.given(4),
        center_point_box=node.attribute("center_point_box"),
    )  # fmt: skip
    return node.add("Cast", chosen, dst_type=9)


def columns_to_image(node: Node) -> Tensor:
    x, image, block = node.input(0), node.constant(1), node.constant(2)
    if len(image) != 2:
        node.refuse(f"its image has {counted(len(image), 'dimension')}, CANN takes 2")
    pads = node.attribute("pads", [0, 0, 0, 0])
    if pads[:2] != pads[2:]:
        node.refuse_attribute("pads", pads, "CANN's Col2im pads both sides alike")
    batch, rows, places = node.sizes(x)
    count = int(block[0] * block[1])
    columns = node.add("Reshape", x, node.const([batch, rows // count, count, places]))
    return node.add(
        "Col2im", columns, node.const(image.astype(np.int32), INT32),
        kernel_size=[int(one) for one in block], dilation=node.attribute("dilations", [1, 1]), padding=pads[:2],
        stride=node.attribute("strides", [1, 1]),
    )  # fmt: skip


def grid_sample(node: Node) -> Tensor:
    modes = {
        "bilinear": "bilinear",
        "linear": "bilinear",
        "nearest": "nearest",
        "bicubic": "bicubic",
        "cubic": "bicubic",
    }
    x = node.input(0)
    told = {
        "interpolation_mode": modes.get(node.attribute("mode"), node.attribute("mode")),
        "padding_mode": node.attribute("padding_mode"),
        "align_corners": bool(node.attribute("align_corners")),
    }
    return node.add("GridSampler3D" if node.rank(x) == 5 else "GridSampler2D", x, node.input(1), **told)


OPERATORS: dict[str, Convert] = {
    "Col2Im": columns_to_image,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "GridSample": grid_sample,
    "NonMaxSuppression": non_max_suppression,
    "NonZero": nonzero,
    "OneHot": one_hot,
    "ReverseSequence": reverse_sequence,
    "RoiAlign": roi_align,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "Slice": cut,
    "Unique": unique,
}
