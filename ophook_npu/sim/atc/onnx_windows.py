"""Convolutions and pooling: windows over lines, planes and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ophook_npu.plural import counted
from ophook_npu.sim.atc.ge_graph import FLOATING, NUMPY, Tensor
from ophook_npu.sim.atc.onnx_node import Array, Convert, Node, like


@dataclass
class Windows:
    """Of each dimension of space: the window's size, steps, gaps, and what is padded in front and behind."""

    kernel: list[int]
    stride: list[int]
    dilation: list[int]
    front: list[int]
    behind: list[int]
    ceil: bool = False

    def reach(self, axis: int) -> int:
        return (self.kernel[axis] - 1) * self.dilation[axis] + 1

    def count(self, axis: int, size: int) -> int:
        """How many windows there are; with ``ceil`` the last may hang over, but none begins behind the input."""
        room = size + self.front[axis] + self.behind[axis] - self.reach(axis)
        step = self.stride[axis]
        count = (room + (step - 1 if self.ceil else 0)) // step + 1
        return count - (self.ceil and (count - 1) * step >= size + self.front[axis])


def windows_of(node: Node, x: Tensor, kernel: Sequence[int]) -> Windows:
    axes = len(kernel)
    if axes not in (1, 2, 3):
        node.refuse(f"its windows are of {counted(axes, 'dimension')}, CANN takes 1, 2 and 3")
    stride = list(node.attribute("strides") or [1] * axes)
    dilation = list(node.attribute("dilations") or [1] * axes)
    pads = list(node.attribute("pads") or [0] * 2 * axes)
    auto = node.attribute("auto_pad", "NOTSET")
    found = Windows(list(kernel), stride, dilation, pads[:axes], pads[axes:])
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        sizes = node.sizes(x, "what it pads to the same size")[2:]
        for i, size in enumerate(sizes):
            missing = max((-(-size // stride[i]) - 1) * stride[i] + found.reach(i) - size, 0)
            less = missing // 2
            found.front[i], found.behind[i] = (less, missing - less) if auto == "SAME_UPPER" else (missing - less, less)
    elif auto == "VALID":
        found.front, found.behind = [0] * axes, [0] * axes
    elif auto != "NOTSET":
        node.refuse_attribute("auto_pad", auto, "it is one of NOTSET, SAME_UPPER, SAME_LOWER, VALID")
    return found


def _padded(node: Node, x: Tensor, front: Sequence[int], behind: Sequence[int], value: float) -> Tensor:
    pads = node.const([0, 0, *front, 0, 0, *behind])
    return node.add("PadV3", x, pads, node.const(value, x.dtype), mode="constant", paddings_contiguous=False)


def _plane(node: Node, tensor: Tensor, axes: int) -> Tensor:
    """A line is a plane of one row."""
    return tensor if axes > 1 else like(node.add("Unsqueeze", tensor, axes=[2]), tensor.dtype, None)


def _line(node: Node, tensor: Tensor, axes: int) -> Tensor:
    return tensor if axes > 1 else node.add("Squeeze", tensor, axis=[2])


def _of_plane(values: Sequence[int], neutral: int) -> list[int]:
    return [neutral, *values] if len(values) == 1 else list(values)


def _both_sides(window: Windows) -> list[int]:
    return [one for pad in _of_plane(window.front, 0) for one in (pad, pad)]


def convolution(node: Node) -> Tensor:
    x, weight = node.input(0), node.input(1)
    kernel = node.attribute("kernel_shape") or list(node.sizes(weight, "its filter")[2:])
    window, axes = windows_of(node, x, kernel), len(kernel)
    if window.front != window.behind:  # the engine's operator pads both sides alike
        x = like(_padded(node, x, window.front, window.behind, 0), x.dtype, None)
        window.front = [0] * axes
    volume = axes == 3
    y = node.add(
        "Conv3D" if volume else "Conv2D", _plane(node, x, axes), _plane(node, weight, axes), node.given(2),
        strides=[1, 1, *_of_plane(window.stride, 1)], pads=_both_sides(window),
        dilations=[1, 1, *_of_plane(window.dilation, 1)], groups=node.attribute("group"),
        data_format="NCDHW" if volume else "NCHW",
    )  # fmt: skip
    return _line(node, y, axes)


def transposed_convolution(node: Node) -> Tensor:
    x, weight = node.input(0), node.input(1)
    kernel = node.attribute("kernel_shape") or list(node.sizes(weight, "its filter")[2:])
    axes = len(kernel)
    window = Windows(
        list(kernel), list(node.attribute("strides") or [1] * axes), list(node.attribute("dilations") or [1] * axes),
        [0] * axes, [0] * axes,
    )  # fmt: skip
    if axes not in (1, 2, 3):
        node.refuse(f"its windows are of {counted(axes, 'dimension')}, CANN takes 1, 2 and 3")
    if x.shape is None or len(x.shape) != axes + 2 or -1 in x.shape[2:]:
        node.sizes(x)
    assert x.shape is not None
    sizes = x.shape
    more = list(node.attribute("output_padding") or [0] * axes)
    groups = node.attribute("group")
    channels = node.sizes(weight, "its filter")[1] * groups
    whole = [(sizes[i + 2] - 1) * window.stride[i] + window.reach(i) + more[i] for i in range(axes)]
    out = _pads_of_transposed(node, window, whole, sizes[2:], more)
    # Both sides are padded alike, by what the lesser has; the rest is cut off behind.
    alike = [max(0, min(front, behind)) for front, behind in zip(window.front, window.behind, strict=True)]
    if any(one < 0 for one in (*window.front, *window.behind)):
        node.refuse_attribute("output_shape", out, "it is larger than the convolution gives")
    given = [size - 2 * pad for size, pad in zip(whole, alike, strict=True)]
    volume = axes == 3
    y = node.add(
        "Conv3DTranspose" if volume else "Conv2DTranspose",
        _with_batch(node, x, [channels, *_of_plane(given, 1)]),
        _plane(node, x, axes), _plane(node, weight, axes), node.given(2),
        strides=[1, 1, *_of_plane(window.stride, 1)],
        pads=[one for pad in _of_plane(alike, 0) for one in (pad, pad)],
        dilations=[1, 1, *_of_plane(window.dilation, 1)], groups=groups,
        output_padding=[0, 0, *_of_plane(more, 0)], data_format="NCDHW" if volume else "NCHW",
    )  # fmt: skip
    y = _line(node, y, axes)
    starts = [front - pad for front, pad in zip(window.front, alike, strict=True)]
    if given == out:
        return y
    ends = [start + size for start, size in zip(starts, out, strict=True)]
    places = node.const(list(range(2, 2 + axes)))
    return node.add("StridedSliceV2", y, node.const(starts), node.const(ends), places, node.const([1] * axes))


def _with_batch(node: Node, x: Tensor, rest: Sequence[int]) -> Tensor:
    """The shape of as many images as x has."""
    if x.shape and x.shape[0] >= 0:
        return node.const([x.shape[0], *rest])
    batch = node.add("GatherV2", node.add("Shape", x, dtype=9), node.const([0]), node.const([0]))
    return node.add("ConcatD", [batch, node.const(rest)], concat_dim=0, N=2)


def _pads_of_transposed(
    node: Node, window: Windows, whole: list[int], sizes: Sequence[int], more: list[int]
) -> list[int]:
    """Fills in what is cut off in front and behind, and gives the sizes of the result."""
    axes = len(whole)
    auto, given = node.attribute("auto_pad"), node.attribute("output_shape")
    asked: list[int] | None = None
    if given is not None:
        asked = list(given)[-axes:]
    elif auto in ("SAME_UPPER", "SAME_LOWER"):
        asked = [size * step for size, step in zip(sizes, window.stride, strict=True)]
    if asked is None:
        pads = [0] * 2 * axes if auto == "VALID" else list(node.attribute("pads") or [0] * 2 * axes)
        window.front, window.behind = pads[:axes], pads[axes:]
        return [size - front - behind for size, front, behind in zip(whole, window.front, window.behind, strict=True)]
    node.attribute("pads")
    for i in range(axes):
        if asked[i] > whole[i]:  # more is added behind
            more[i], whole[i] = more[i] + asked[i] - whole[i], asked[i]
        total = whole[i] - asked[i]
        less, greater = total // 2, total - total // 2
        window.front[i], window.behind[i] = (less, greater) if auto == "SAME_UPPER" else (greater, less)
    return asked


# ---- pooling ---------------------------------------------------------------------------------------------------------
def _fits(window: Windows) -> bool:
    """Whether GE's operator pads as the model asks: alike, and by half a window at most."""
    halves = all(2 * pad <= window.reach(i) for i, pad in enumerate(window.front))
    return window.front == window.behind and halves


def _exact(node: Node, x: Tensor, window: Windows, value: float) -> tuple[Tensor, list[int]]:
    """x padded so that the windows end with it, and how many there are."""
    sizes = node.sizes(x)[2:]
    counts = [window.count(i, size) for i, size in enumerate(sizes)]
    behind = [
        (count - 1) * window.stride[i] + window.reach(i) - sizes[i] - window.front[i] for i, count in enumerate(counts)
    ]
    return like(_padded(node, x, window.front, behind, value), x.dtype, None), counts


def _pooled(node: Node, x: Tensor, window: Windows, of: str, **more: object) -> Tensor:
    """AvgPoolV2 and AvgPool3D, MaxPoolV3 and MaxPool3D."""
    axes = len(window.kernel)
    y = node.add(
        of, _plane(node, x, axes),
        ksize=[1, 1, *_of_plane(window.kernel, 1)], strides=[1, 1, *_of_plane(window.stride, 1)],
        pads=_both_sides(window), data_format="NCDHW" if axes == 3 else "NCHW", **more,
    )  # fmt: skip
    return _line(node, y, axes)


def average_pool(node: Node) -> Tensor:
    x = node.input(0)
    window = windows_of(node, x, node.attribute("kernel_shape"))
    window.ceil = bool(node.attribute("ceil_mode", 0))
    counted = bool(node.attribute("count_include_pad"))
    if any(one != 1 for one in window.dilation):
        node.refuse_attribute("dilations", window.dilation, "CANN's averages have none")
    if _fits(window):
        return _averaged(node, x, window, counted)
    padded, counts = _exact(node, x, window, 0)
    factors = _factors(window, node.sizes(x)[2:], counts, counted)
    window.front = window.behind = [0] * len(counts)
    window.ceil = False
    return node.add("Mul", _averaged(node, padded, window, True), node.const(factors, x.dtype))


def _averaged(node: Node, x: Tensor, window: Windows, counted: bool) -> Tensor:
    if len(window.kernel) == 3:
        return _pooled(node, x, window, "AvgPool3D", ceil_mode=window.ceil, count_include_pad=counted)
    return _pooled(node, x, window, "AvgPoolV2", ceil_mode=window.ceil, exclusive=not counted)


def _factors(window: Windows, sizes: Sequence[int], counts: Sequence[int], counted: bool) -> Array:
    """What a mean over whole windows is multiplied by to be one over what counts of each."""
    factor = np.ones([1, 1] + [1] * len(counts))
    for i, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        first, last = (-window.front[i], size + window.behind[i]) if counted else (0, size)
        starts = np.arange(count) * window.stride[i] - window.front[i]
        inside = np.minimum(starts + window.kernel[i], last) - np.maximum(starts, first)
        shape = [1] * factor.ndim
        shape[i + 2] = count
        factor = factor * (window.kernel[i] / inside).reshape(shape)
    return factor


def lp_pool(node: Node) -> Tensor:
    """The p-th root of the sum of p-th powers, which is a mean times the size of the windows."""
    x, p = node.input(0), float(node.attribute("p"))
    window = windows_of(node, x, node.attribute("kernel_shape"))
    window.ceil = bool(node.attribute("ceil_mode", 0))
    if any(one != 1 for one in window.dilation):
        node.refuse_attribute("dilations", window.dilation, "CANN's averages have none")
    powers = like(node.add("Pow", node.add("Abs", x), node.const(p, x.dtype)), x.dtype, x.shape)
    if not _fits(window) or window.ceil:
        powers, counts = _exact(node, powers, window, 0)
        window.front = window.behind = [0] * len(counts)
        window.ceil = False
    sums = node.add("Muls", _averaged(node, powers, window, True), value=float(np.prod(window.kernel)))
    return node.add("Pow", sums, node.const(1 / p, x.dtype))


def max_pool(node: Node) -> Tensor | list[Tensor]:
    x = node.input(0)
    window = windows_of(node, x, node.attribute("kernel_shape"))
    window.ceil = bool(node.attribute("ceil_mode", 0))
    if node.wants(1):
        return _max_pool_with_places(node, x, window)
    node.attribute("storage_order", 0)
    axes = len(window.kernel)
    if not _fits(window):
        dtype = node.dtype(x)
        least = -np.inf if dtype in FLOATING else np.iinfo(NUMPY[dtype]).min
        x, _ = _exact(node, x, window, least)
        window.front = window.behind = [0] * axes
        window.ceil = False
    if axes == 3:
        dilation = [1, 1, *window.dilation]
        told = {"padding": "CALCULATED", "dilation": dilation, "ceil_mode": int(window.ceil)}
        return _pooled(node, x, window, "MaxPool3D", **told)
    if any(one != 1 for one in window.dilation):
        return _line(node, _maxima(node, x, window)[0], axes)
    return _pooled(node, x, window, "MaxPoolV3", padding_mode="CALCULATED", ceil_mode=window.ceil)


def _maxima(node: Node, x: Tensor, window: Windows) -> list[Tensor]:
    def of(values: Sequence[int], neutral: int) -> list[int]:
        return [1, *_of_plane(values, neutral), 1]

    return node.add_all(
        "MaxPoolWithArgmaxV3", _plane(node, x, len(window.kernel)),
        ksize=of(window.kernel, 1), strides=of(window.stride, 1), pads=of(window.front, 0),
        dilation=of(window.dilation, 1), ceil_mode=window.ceil, dtype=9,
    )  # fmt: skip


def _max_pool_with_places(node: Node, x: Tensor, window: Windows) -> list[Tensor]:
    """GE's places count in each plane, ONNX's over the whole input."""
    axes, sizes = len(window.kernel), node.sizes(x)
    if axes == 3 or not _fits(window):
        node.refuse("places of maxima of volumes, or with paddings that differ, are not converted")
    y, places = (_line(node, one, axes) for one in _maxima(node, x, window))
    if node.attribute("storage_order", 0):  # columns one behind the other
        if axes != 2:
            node.refuse_attribute("storage_order", 1, "it is of planes")
        width, height = node.const(sizes[3]), node.const(sizes[2])
        column = node.add("Mul", node.add("FloorMod", places, width), height)
        places = node.add("Add", column, node.add("FloorDiv", places, width))
    planes = np.arange(sizes[0] * sizes[1]).reshape(sizes[0], sizes[1], *[1] * axes) * int(np.prod(sizes[2:]))
    return [y, node.add("Add", places, node.const(planes))]


def max_unpool(node: Node) -> Tensor:
    """The values are put to their places in a tensor of zeros."""
    x, places = node.input(0), node.input(1)
    sizes, kernel = node.sizes(x), node.attribute("kernel_shape")
    axes = len(kernel)
    stride = node.attribute("strides") or [1] * axes
    pads = node.attribute("pads") or [0] * 2 * axes
    whole = [
        (size - 1) * step + window - pads[i] - pads[i + axes]
        for i, (size, step, window) in enumerate(zip(sizes[2:], stride, kernel, strict=True))
    ]
    shape = [*sizes[:2], *whole]
    zeros = node.const(np.zeros(int(np.prod(shape))), x.dtype)
    line = node.const([-1])
    put = node.add(
        "ScatterElements", zeros, node.add("Reshape", places, line), node.add("Reshape", x, line), axis=0
    )  # fmt: skip
    y = like(node.add("Reshape", put, node.const(shape)), x.dtype, tuple(shape))
    if node.given(2) is None:
        return y
    more = [int(asked) - size for asked, size in zip(node.constant(2), shape, strict=True)]
    return _padded(node, y, [0] * axes, more[2:], 0) if any(more) else y


OPERATORS: dict[str, Convert] = {
    "AveragePool": average_pool,
    "Conv": convolution,
    "ConvTranspose": transposed_convolution,
    "GlobalAveragePool": lambda node: node.add("GlobalAveragePool", node.input(0)),
    "LpPool": lp_pool,
    "MaxPool": max_pool,
    "MaxUnpool": max_unpool,
}
