"""Caffe's layers over images: windows, sizes, and boxes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ophook_npu.plural import counted
from ophook_npu.sim.atc.caffe_network import CaffeLayer, CaffeNetwork, Sizes


def convolution(layer: CaffeLayer, net: CaffeNetwork, of: str = "Conv", depthwise: bool = False) -> list[Sizes]:
    said, shape = layer.said.message("convolution_param"), net.images(layer)
    outputs, group = int(said.one("num_output", 0)), int(said.one("group", 1))
    if outputs < 1 or said.one("axis", 1) != 1:
        layer.refuse("num_output is above 0, and axis 1")
    group = outputs if depthwise else group
    kernel, pad = layer.pair(said, "kernel_size", None, "kernel"), layer.pair(said, "pad", 0)
    stride, dilation = layer.pair(said, "stride", 1), layer.pair(said, "dilation", 1)
    channels = layer.known(shape[1], "the number of channels")
    back = of == "ConvTranspose"
    weight = layer.blob(0).reshape(*((channels, outputs // group) if back else (outputs, channels // group)), *kernel)
    inputs = [layer.bottoms[0], net.const(layer, weight)]
    if said.one("bias_term", True):
        inputs.append(net.const(layer, layer.blob(1).reshape(outputs)))
    net.add(
        layer, of, *inputs, tops=layer.tops, group=group, kernel_shape=kernel, strides=stride, pads=[*pad, *pad],
        dilations=dilation,
    )  # fmt: skip
    sizes = []
    for size, k, p, s, d in zip(shape[2:], kernel, pad, stride, dilation, strict=True):
        reach = d * (k - 1) + 1
        sizes.append(
            None if size is None else s * (size - 1) + reach - 2 * p if back else (size + 2 * p - reach) // s + 1
        )
    return [(shape[0], outputs, *sizes)]


def pooling(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("pooling_param"), net.images(layer)
    kind = {0: "MAX", 1: "AVE"}.get(said.one("pool", "MAX"), said.one("pool", "MAX"))
    if kind not in ("MAX", "AVE"):
        layer.refuse(f"pool {kind}; allowed: MAX, AVE")
    if len(layer.tops) > 1:
        layer.refuse("the mask of a pooling layer is not simulated")
    name = "MaxPool" if kind == "MAX" else "AveragePool"
    if said.one("global_pooling", False):
        if {"kernel_size", "kernel_h", "kernel_w"} & said.values.keys():
            layer.refuse("global_pooling goes without a size of the kernel")
        layer.pair(said, "pad", 0), layer.pair(said, "stride", 1)
        net.add(layer, f"Global{name}", layer.bottoms[0], tops=layer.tops)
        return [(*shape[:2], 1, 1)]
    kernel, pad = layer.pair(said, "kernel_size", None, "kernel"), layer.pair(said, "pad", 0)
    stride = layer.pair(said, "stride", 1)
    up = said.one("round_mode", "CEIL") in ("CEIL", 0) and said.one("ceil_mode", True)
    if any(p >= k for p, k in zip(pad, kernel, strict=True)):
        layer.refuse(f"a padding of {pad} for a kernel of {kernel}")
    padding: dict[str, Any] = {} if kind == "MAX" else {"count_include_pad": 1}
    net.add(
        layer, name, layer.bottoms[0], tops=layer.tops, kernel_shape=kernel, strides=stride, pads=[*pad, *pad],
        ceil_mode=int(up), **padding,
    )  # fmt: skip
    sizes: list[int | None] = []
    for size, k, p, s in zip(shape[2:], kernel, pad, stride, strict=True):
        if size is None:
            sizes.append(None)
            continue
        room = size + 2 * p - k
        made = (-(-room // s) if up else room // s) + 1
        if up and (made - 1) * s >= size + p:  # the last window would begin behind the image
            if not any(pad):
                layer.refuse(f"a stride of {s} leaves a window without a number")
            made -= 1
        sizes.append(made)
    return [(*shape[:2], *sizes)]


def lrn(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("lrn_param"), net.shape(layer)
    size, alpha, beta = int(said.one("local_size", 5)), float(said.one("alpha", 1)), float(said.one("beta", 0.75))
    bias = float(said.one("k", 1))
    if size % 2 == 0:
        layer.refuse(f"local_size {size}; allowed: an odd number")
    if said.one("norm_region", "ACROSS_CHANNELS") in ("ACROSS_CHANNELS", 0):
        net.add(layer, "LRN", layer.bottoms[0], tops=layer.tops, size=size, alpha=alpha, beta=beta, bias=bias)
        return [shape]
    around = net.add(
        layer, "AveragePool", net.add(layer, "Mul", layer.bottoms[0], layer.bottoms[0]), kernel_shape=[size, size],
        pads=[size // 2] * 4, strides=[1, 1], count_include_pad=1,
    )  # fmt: skip
    sums = net.add(layer, "Add", net.add(layer, "Mul", around, net.const(layer, alpha)), net.const(layer, 1))
    net.add(layer, "Div", layer.bottoms[0], net.add(layer, "Pow", sums, net.const(layer, beta)), tops=layer.tops)
    return [shape]


def reorg(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("reorg_param"), net.images(layer)
    stride, channels = int(said.one("stride", 2)), layer.known(shape[1], "the number of channels")
    back = said.one("reverse", False)
    net.add(layer, "DepthToSpace" if back else "SpaceToDepth", layer.bottoms[0], tops=layer.tops, blocksize=stride)
    sides = [None if one is None else one * stride if back else one // stride for one in shape[2:]]
    return [(shape[0], channels // stride**2 if back else channels * stride**2, *sides)]


def upsample(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("upsample_param"), net.images(layer)
    scale, stride = said.one("scale", 1), said.one("stride", 2)
    by = [int(said.one(name, stride)) for name in ("stride_h", "stride_w")]
    if len(layer.bottoms) > 1:
        layer.refuse("upsampling by the mask of a pooling layer is not simulated")
    told = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    larger = ["", net.const(layer, [1, 1, *by])]
    if scale == 1:
        net.add(layer, "Resize", layer.bottoms[0], *larger, tops=layer.tops, **told)
    else:
        value = net.add(layer, "Resize", layer.bottoms[0], *larger, **told)
        net.add(layer, "Mul", value, net.const(layer, scale), tops=layer.tops)
    return [(*shape[:2], *(None if one is None else one * k for one, k in zip(shape[2:], by, strict=True)))]


def interp(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("interp_param"), net.images(layer)
    if said.one("pad_beg", 0) or said.one("pad_end", 0):
        layer.refuse("pad_beg and pad_end are not simulated")
    grow, shrink = said.one("zoom_factor", 1), said.one("shrink_factor", 1)
    if "height" in said:
        sizes = [int(said.one("height")), int(said.one("width", 0))]
    else:
        sizes = []
        for one in shape[2:]:
            size = (layer.known(one, "the size of the image") - 1) // shrink + 1
            sizes.append(size + (size - 1) * (grow - 1))
    told = ["", "", net.const(layer, [layer.known(one, "its shape") for one in shape[:2]] + sizes, "int64")]
    how = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    net.add(layer, "Resize", layer.bottoms[0], *told, tops=layer.tops, **how)
    return [(*shape[:2], *sizes)]


def roi_align(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    said, shape = layer.said.message("roi_align_param"), net.images(layer)
    height, width = (int(said.one(name, 0)) for name in ("pooled_h", "pooled_w"))
    told = {
        "pooled_height": height, "pooled_width": width, "spatial_scale": float(said.one("spatial_scale", 1)),
        "sample_num": int(said.one("sampling_ratio", -1)), "roi_end_mode": int(said.one("roi_end_mode", 0)),
    }  # fmt: skip
    net.add(layer, "NPURoiAlign", *layer.bottoms[:2], tops=layer.tops, domain="npu", **told)
    return [(net.shape(layer, 1)[0], shape[1], height, width)]


def prior_box(layer: CaffeLayer, net: CaffeNetwork) -> list[Sizes]:
    """The boxes that SSD begins with: they follow from shapes alone."""
    said = layer.said.message("prior_box_param")
    height, width = (layer.known(one, "the size of the map") for one in net.images(layer)[2:])
    image = [layer.known(one, "the size of the image") for one in net.shape(layer, 1)[2:]]
    image = [
        int(said.one(name, said.one("img_size", size))) for name, size in zip(("img_h", "img_w"), image, strict=True)
    ]
    steps = [said.one(name, said.one("step", whole / size)) for name, whole, size in zip(
        ("step_h", "step_w"), image, (height, width), strict=True)]  # fmt: skip
    least, most = said.many("min_size"), said.many("max_size")
    if not least or (most and len(most) != len(least)):
        layer.refuse(f"min_size {least} and max_size {most}")
    ratios, flip = [1.0], said.one("flip", True)
    for ratio in said.many("aspect_ratio"):
        if all(abs(ratio - one) >= 1e-6 for one in ratios):
            ratios += [ratio, 1 / ratio] if flip else [ratio]
    sizes = []
    for i, small in enumerate(least):
        sizes.append((small, small))
        if most:
            sizes.append((math.sqrt(small * most[i]),) * 2)
        sizes += [(small * math.sqrt(ratio), small / math.sqrt(ratio)) for ratio in ratios[1:]]
    offset = said.one("offset", 0.5)
    y, x = ((np.arange(size) + offset) * step for size, step in zip((height, width), steps, strict=True))
    centres = np.stack(np.broadcast_arrays(x[None, :, None], y[:, None, None]), -1).reshape(height, width, 1, 2)
    half = np.array(sizes) / 2
    boxes = np.concatenate([centres - half, centres + half], -1) / [image[1], image[0], image[1], image[0]]
    if said.one("clip", False):
        boxes = boxes.clip(0, 1)
    told = said.many("variance") or [0.1]
    if len(told) not in (1, 4):
        layer.refuse(f"{counted(len(told), 'variance')}; allowed: 1 or 4")
    variances = np.broadcast_to(np.array(told if len(told) == 4 else told * 4), boxes.shape)
    value = np.stack([boxes.reshape(-1), variances.reshape(-1)])[None]
    net.add(layer, "Identity", net.const(layer, value), tops=layer.tops)
    return [value.shape]
