"""Caffe's layers that move numbers: parts, orders, shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ophook_npu.plural import counted
from ophook_npu.sim.atc.caffe_network import CaffeLayer, CaffeNetwork, Sizes


def softmax(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    axis = layer.axis(layer.said.message("softmax_param").one("axis", 1), len(net.shape(layer)))
    net.add(layer, "Softmax", layer.bottoms[0], tops=layer.tops, axis=axis)
    return [net.shape(layer)]


def concat(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shapes = layer.said.message("concat_param"), [net.shapes[one] for one in layer.bottoms]
    axis = layer.axis(said.one("axis", said.one("concat_dim", 1)), len(net.shape(layer)))
    net.add(layer, "Concat", *layer.bottoms, tops=layer.tops, axis=axis)
    sizes = [shape[axis] for shape in shapes]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    return [(*shapes[0][:axis], total, *shapes[0][axis + 1 :])]


def slice(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("slice_param"), net.shape(layer)
    axis = layer.axis(said.one("axis", said.one("slice_dim", 1)), len(shape))
    points, size = [int(one) for one in said.many("slice_point")], layer.known(shape[axis], "what is cut")
    count = len(layer.tops)
    ends = [*points, size] if points else [size // count * (i + 1) for i in range(count)]
    sizes = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
    if len(sizes) != count or min(sizes) < 1 or ends[-1] != size:
        layer.refuse(f"{size} are cut at {points} into {count}")
    net.add(layer, "Split", layer.bottoms[0], net.const(layer, sizes, "int64"), tops=layer.tops, axis=axis)
    return [(*shape[:axis], one, *shape[axis + 1 :]) for one in sizes]


def _reshaped(layer: CaffeLayer, net: CaffeNetwork, wanted: Sequence[int], made: Sizes) -> list[Sizes]:
    net.add(layer, "Reshape", layer.bottoms[0], net.const(layer, wanted, "int64"), tops=layer.tops)
    return [made]


def flatten(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("flatten_param"), net.shape(layer)
    first, last = (layer.axis(said.one(*told), len(shape)) for told in (("axis", 1), ("end_axis", -1)))
    behind = [layer.known(size, "a dimension behind end_axis") for size in shape[last + 1 :]]
    inner = shape[first : last + 1]
    total = None if None in inner else math.prod(size for size in inner if size is not None)
    return _reshaped(layer, net, [*[0] * first, -1, *behind], (*shape[:first], total, *behind))


def reshape(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("reshape_param"), net.shape(layer)
    wanted = [int(one) for one in said.message("shape").many("dim")]
    axis, count = int(said.one("axis", 0)), int(said.one("num_axes", -1))
    first = axis if axis >= 0 else len(shape) + 1 + axis
    last = len(shape) if count == -1 else first + count
    if not 0 <= first <= last <= len(shape) or any(one == 0 and first + i >= last for i, one in enumerate(wanted)):
        layer.refuse(f"axis {axis} and num_axes {count} with {wanted} for {counted(len(shape), 'dimension')}")
    behind = [layer.known(size, "a dimension behind num_axes") for size in shape[last:]]
    inner = [shape[first + i] if one == 0 else one for i, one in enumerate(wanted)]
    made: Sizes = (*shape[:first], *inner, *behind)
    if -1 in inner:
        rest = [size for size in made if size != -1]
        if None in shape or None in rest:
            made = tuple(None if size == -1 else size for size in made)
        else:
            total = math.prod(size for size in shape if size is not None)
            left = total // max(math.prod(size for size in rest if size is not None), 1)
            made = tuple(left if size == -1 else size for size in made)
    return _reshaped(layer, net, [*[0] * first, *wanted, *behind], made)


def permute(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    shape = net.shape(layer)
    order = [int(one) for one in layer.said.message("permute_param").many("order")]
    order += [one for one in range(len(shape)) if one not in order]
    net.add(layer, "Transpose", layer.bottoms[0], tops=layer.tops, perm=order)
    return [tuple(shape[one] for one in order)]


def tile(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("tile_param"), net.shape(layer)
    axis, tiles = layer.axis(said.one("axis", 1), len(shape)), int(said.one("tiles", 0))
    repeats = [tiles if i == axis else 1 for i in range(len(shape))]
    net.add(layer, "Tile", layer.bottoms[0], net.const(layer, repeats, "int64"), tops=layer.tops)
    return [tuple(None if one is None else one * by for one, by in zip(shape, repeats, strict=True))]


def crop(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape, like = layer.said.message("crop_param"), net.shape(layer), net.shape(layer, 1)
    axis, offsets = layer.axis(said.one("axis", 2), len(shape)), [int(one) for one in said.many("offset")] or [0]
    axes = list(range(axis, len(shape)))
    begins = (offsets * len(axes))[: len(axes)] if len(offsets) == 1 else offsets
    sizes = [layer.known(like[i], "what is cropped to") for i in axes]
    if len(begins) != len(axes):
        layer.refuse(f"{counted(len(begins), 'offset')} for {counted(len(axes), 'dimension')}")
    ends = [begin + size for begin, size in zip(begins, sizes, strict=True)]
    if any(shape[i] is not None and (shape[i] or 0) < end for i, end in zip(axes, ends, strict=True)):
        layer.refuse(f"it crops to {ends} of {shape}")
    told = [net.const(layer, one, "int64") for one in (begins, ends, axes)]
    net.add(layer, "Slice", layer.bottoms[0], *told, tops=layer.tops)
    return [(*shape[:axis], *sizes)]


def reverse(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    shape = net.shape(layer)
    axes = [layer.axis(int(one), len(shape)) for one in layer.said.message("reverse_param").many("axis")]
    told = [[-1] * len(axes), [-(1 << 31)] * len(axes), axes, [-1] * len(axes)]
    net.add(layer, "Slice", layer.bottoms[0], *(net.const(layer, one, "int64") for one in told), tops=layer.tops)
    return [shape]


def shuffle_channel(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    shape, group = net.shape(layer), int(layer.said.message("shuffle_channel_param").one("group", 1))
    channels = layer.known(shape[1], "the number of channels")
    apart = net.add(layer, "Reshape", layer.bottoms[0], net.const(layer, [0, group, channels // group, -1], "int64"))
    mixed = net.add(layer, "Transpose", apart, perm=[0, 2, 1, 3])
    net.add(layer, "Reshape", mixed, net.add(layer, "Shape", layer.bottoms[0]), tops=layer.tops)
    return [shape]
