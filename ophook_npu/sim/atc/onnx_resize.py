"""Images resized, along any of their dimensions.

Where GE's operator computes just what the model asks for, it is used; the others are a gathering of rows, or a product
with a matrix that holds what each row of the result takes of the rows of the input.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ophook_npu.sim.atc.ge_graph import FLOAT, FLOATING, INT32, Tensor
from ophook_npu.sim.atc.onnx_node import Array, Convert, Node, like

# A place in the result, the scale, both sizes: the place in the input.
_PLACES: dict[str, Callable[[Array, float, int, int], Array]] = {
    "half_pixel": lambda at, scale, size, out: (at + 0.5) / scale - 0.5,
    "half_pixel_symmetric": lambda at, scale, size, out: (
        size / 2 * (1 - out / (scale * size)) + (at + 0.5) / scale - 0.5
    ),
    "pytorch_half_pixel": lambda at, scale, size, out: (at + 0.5) / scale - 0.5 if out > 1 else np.zeros(out),
    "align_corners": lambda at, scale, size, out: at * (size - 1) / (scale * size - 1) if out > 1 else np.zeros(out),
    "asymmetric": lambda at, scale, size, out: at / scale,
    "tf_half_pixel_for_nn": lambda at, scale, size, out: (at + 0.5) / scale,
}
_ROUNDED: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


@dataclass
class Resizing:
    """Of one dimension."""

    axis: int
    size: int
    out: int
    scale: float

    def places(self, how: str) -> Array:
        return _PLACES[how](np.arange(self.out, dtype=np.float64), self.scale, self.size, self.out)


def _nearest(one: Resizing, how: str, rounded: str) -> Array:
    return np.clip(_ROUNDED[rounded](one.places(how)), 0, one.size - 1).astype(np.int64)


def _linear(one: Resizing, how: str) -> Array:
    places = np.clip(one.places(how), 0, one.size - 1)
    first = np.minimum(np.floor(places).astype(int), max(one.size - 2, 0))
    rest = places - first
    matrix = np.zeros((one.out, one.size))
    rows = np.arange(one.out)
    matrix[rows, first] += 1 - rest
    matrix[rows, np.minimum(first + 1, one.size - 1)] += rest
    return matrix


def _cubic(one: Resizing, how: str, a: float, exclude: bool) -> Array:
    places = one.places(how)
    first = np.floor(places).astype(int)
    matrix = np.zeros((one.out, one.size))
    for row, (start, rest) in enumerate(zip(first, places - first, strict=True)):
        weights = []
        for distance in (rest + 1, rest, 1 - rest, 2 - rest):
            if distance <= 1:
                weights.append(((a + 2) * distance - (a + 3)) * distance * distance + 1)
            else:
                weights.append(((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a)
        taken = [start - 1 + i for i in range(4)]
        if exclude:
            weights = [w if 0 <= at < one.size else 0 for w, at in zip(weights, taken, strict=True)]
            weights = [w / sum(weights) for w in weights]
        for weight, at in zip(weights, taken, strict=True):
            matrix[row, min(max(at, 0), one.size - 1)] += weight
    return matrix


def _resizings(node: Node, x: Tensor) -> list[Resizing]:
    """Of the dimensions that change."""
    shape = node.sizes(x)
    scales_at, sizes_at = (1, 3) if node.opset < 11 else (2, 3)
    axes = node.attribute("axes") if node.opset >= 18 else None
    axes = list(range(len(shape))) if axes is None else [one % len(shape) for one in axes]
    scales = None if node.proto.op_type == "Upsample" and node.opset < 9 else node.value(scales_at)
    if node.proto.op_type == "Upsample" and node.opset < 9:
        scales = np.asarray(node.attribute("scales"))
    elif node.given(scales_at) is not None and scales is None and not _empty(node.given(scales_at)):
        node.constant(scales_at)
    if scales is not None and scales.size:
        found = [
            Resizing(a, shape[a], math.floor(shape[a] * float(s)), float(s)) for a, s in zip(axes, scales, strict=True)
        ]
    else:
        sizes = [int(one) for one in node.constant(sizes_at)]
        sizes = _of_policy(node, [shape[a] for a in axes], sizes)
        found = [Resizing(a, shape[a], out, out / shape[a]) for a, out in zip(axes, sizes, strict=True)]
    return [one for one in found if one.out != one.size or one.scale != 1]


def _empty(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.shape is not None and 0 in tensor.shape


def _of_policy(node: Node, before: list[int], sizes: list[int]) -> list[int]:
    policy = node.attribute("keep_aspect_ratio_policy", "stretch") if node.opset >= 18 else "stretch"
    if policy == "stretch":
        return sizes
    ratios = [out / size for out, size in zip(sizes, before, strict=True)]
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    return [math.floor(ratio * size + 0.5) for size in before]


def resize(node: Node) -> Tensor:
    x = node.input(0)
    mode = node.attribute("mode")
    older = node.opset < 11
    how = "asymmetric" if older else node.attribute("coordinate_transformation_mode")
    rounded = "floor" if older else node.attribute("nearest_mode")
    if how not in _PLACES:
        node.refuse_attribute("coordinate_transformation_mode", how, f"it is one of {', '.join(_PLACES)}")
    if not older:
        node.attribute("extrapolation_value")
    if node.opset >= 18:
        node.only("antialias", 0, "CANN's Resize has none")
    if x.shape is None or -1 in x.shape:
        return _of_unknown_sizes(node, x, mode, how, rounded)
    changed = _resizings(node, x)
    if mode == "nearest":
        return _by_nearest(node, x, changed, how, rounded)
    if mode == "linear":
        matrices = [_linear(one, how) for one in changed]
        found = _bilinear(node, x, changed, matrices)
        if found is not None:
            return found
    elif mode == "cubic":
        exclude = bool(node.attribute("exclude_outside"))
        matrices = [_cubic(one, how, node.attribute("cubic_coeff_a"), exclude) for one in changed]
    else:
        node.refuse_attribute("mode", mode, "it is one of nearest, linear, cubic")
    result = x if x.dtype in FLOATING else node.cast(x, FLOAT)
    for one, matrix in zip(changed, matrices, strict=True):
        result = _product(node, result, one.axis, matrix, node.rank(x))
    return node.cast(like(result, result.dtype, None), x.dtype) if changed else result


def _of_unknown_sizes(node: Node, x: Tensor, mode: str, how: str, rounded: str) -> Tensor:
    """Images, by the operators that take the size of a plane as an input."""
    if x.shape is None or len(x.shape) != 4 or (node.opset >= 18 and node.attribute("axes") is not None):
        node.sizes(x)
        node.refuse("sizes that are not known are resized of images (n, c, h, w)")
    nearest = mode == "nearest" and how == "asymmetric" and rounded == "floor"
    linear = mode == "linear" and how in ("half_pixel", "pytorch_half_pixel", "align_corners")
    if not nearest and not linear:
        node.refuse(
            f"with sizes that are not known, mode {mode} by {how} is not converted; nearest by asymmetric and floor "
            "is, linear by half_pixel or align_corners"
        )
    if linear:
        node.asked |= {"nearest_mode", "cubic_coeff_a", "exclude_outside"}
    size = _plane_size(node, x)
    if nearest:
        return node.add("ResizeNearestNeighborV2", x, size)
    corners = how == "align_corners"
    return node.add("ResizeBilinearV2", x, size, align_corners=corners, half_pixel_centers=not corners)


def _plane_size(node: Node, x: Tensor) -> Tensor:
    """Height and width of the result, as int32."""
    start, end, axis, step = (node.const([one]) for one in (2, 4, 0, 1))
    sizes = node.given(3) if node.opset >= 11 else None
    if sizes is not None and not _empty(sizes):
        return node.cast(node.add("StridedSliceV2", sizes, start, end, axis, step), INT32)
    at = 1 if node.opset < 11 else 2
    if (node.constant(at) % 1 != 0).any():
        node.refuse(f"the scales {node.constant(at).tolist()} of sizes that are not known have to be whole")
    scales = node.add("StridedSliceV2", node.input(at), start, end, axis, step)
    own = node.add("StridedSliceV2", node.add("Shape", x, dtype=9), start, end, axis, step)
    return node.cast(node.add("Floor", node.add("Mul", node.cast(own, FLOAT), scales)), INT32)


def _of_images(x: Tensor, changed: list[Resizing]) -> bool:
    return x.shape is not None and len(x.shape) == 4 and all(one.axis >= 2 for one in changed)


def _size(node: Node, x: Tensor, changed: list[Resizing]) -> Tensor:
    out = {one.axis: one.out for one in changed}
    assert x.shape is not None
    return node.const([out.get(axis, x.shape[axis]) for axis in (2, 3)], INT32)


def _by_nearest(node: Node, x: Tensor, changed: list[Resizing], how: str, rounded: str) -> Tensor:
    rows = [_nearest(one, how, rounded) for one in changed]
    floors = [np.arange(one.out) * one.size // one.out for one in changed]
    same = all(np.array_equal(a, b) for a, b in zip(rows, floors, strict=True))
    if same and changed and _of_images(x, changed) and x.dtype in FLOATING:
        return node.add("ResizeNearestNeighborV2", x, _size(node, x, changed))
    for one, places in zip(changed, rows, strict=True):
        x = node.add("GatherV2", x, node.const(places), node.const([one.axis]))
    return x


def _bilinear(node: Node, x: Tensor, changed: list[Resizing], matrices: list[Array]) -> Tensor | None:
    if not changed or not _of_images(x, changed) or x.dtype not in FLOATING:
        return None
    for how in ("half_pixel", "align_corners"):
        own = [_linear(Resizing(one.axis, one.size, one.out, one.out / one.size), how) for one in changed]
        if all(np.allclose(a, b, atol=1e-6) for a, b in zip(own, matrices, strict=True)):
            told = {"align_corners": how == "align_corners", "half_pixel_centers": how == "half_pixel"}
            return node.add("ResizeBilinearV2", x, _size(node, x, changed), **told)
    return None


def _product(node: Node, x: Tensor, axis: int, matrix: Array, rank: int) -> Tensor:
    """The axis is brought to the end, and back."""
    dtype = x.dtype
    order = [i for i in range(rank) if i != axis] + [axis]
    moved = x if axis == rank - 1 else node.add("Transpose", x, node.const(order))
    y = node.add("BatchMatMulV2", moved, node.const(matrix.T, dtype), None)
    back = y if axis == rank - 1 else node.add("Transpose", y, node.const([order.index(i) for i in range(rank)]))
    return like(back, dtype, None)


OPERATORS: dict[str, Convert] = {"Resize": resize, "Upsample": resize}
