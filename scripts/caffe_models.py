#!/usr/bin/env python3
"""Convert Caffe networks with atc, run them on the simulated Ascend, and compare with OpenCV's reader of Caffe.

usage: ophook-npu run --device sim -- scripts/caffe_models.py NET.prototxt…

Needs the package opencv-python-headless, version 4. The weights are NET.caffemodel beside the file where there is one;
otherwise they are drawn with a seed, in the size that keeps numbers as large as they come. Each network is converted as
it is (--precision_mode_v2=origin) and in float16, which is atc's default. The table has the largest difference of any
output, relative to that output's largest number where that is above 1; a text is why there is none. Exit status 1: a
network differs by more than --most (1e-4) in its own types.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from onnx_models import MODES, by_mode, table

from ophook_npu.sim.atc import caffe, caffe_layers
from ophook_npu.sim.atc.caffe_network import CaffeLayer, CaffeNetwork, Fields

Blobs = list[Any]


def drawn(layer: CaffeLayer, net: CaffeNetwork, chance: Any) -> Blobs:
    """Weights for a layer."""
    shape = net.shape(layer) if layer.bottoms else ()
    channels = shape[1] if len(shape) > 1 else 1

    def said(name: str) -> Fields:
        return Fields(layer.said.message(name).values)  # what is read here the conversion has not read

    def weights(sizes: tuple[int, ...], terms: int, outputs: int, bias: bool) -> Blobs:
        return [chance.standard_normal(sizes) * (2 / terms) ** 0.5, *([chance.standard_normal(outputs) / 10] * bias)]

    if layer.type in ("Convolution", "ConvolutionDepthwise", "Deconvolution"):
        told = said("convolution_param")
        outputs = told.one("num_output")
        group = outputs if layer.type == "ConvolutionDepthwise" else told.one("group", 1)
        back = layer.type == "Deconvolution"
        sizes = (channels, outputs // group) if back else (outputs, channels // group)
        kernel = layer.pair(told, "kernel_size", None, "kernel")
        terms = channels // group * kernel[0] * kernel[1]
        return weights((*sizes, *kernel), terms, outputs, told.one("bias_term", True))
    if layer.type == "InnerProduct":
        told = said("inner_product_param")
        terms, outputs = int(np.prod(shape[told.one("axis", 1) :])), told.one("num_output")
        return weights((outputs, terms), terms, outputs, told.one("bias_term", True))
    if layer.type == "BatchNorm":
        return [chance.standard_normal(channels) / 5, chance.random(channels) * 2 + 1, np.array([2.0])]
    one = {"PReLU": ("prelu_param", False), "Normalize": ("norm_param", True), "Bias": ("bias_param", False)}
    if layer.type in one:
        name, shared = one[layer.type]
        return [chance.random(1 if said(name).one("channel_shared", shared) else channels)]
    if layer.type == "Scale" and len(layer.bottoms) == 1:
        bias = said("scale_param").one("bias_term", False)
        return [chance.random(channels) + 0.5, *([chance.standard_normal(channels) / 10] * bias)]
    return []


def draw(path: Path, weights: Path) -> None:
    """Write a file of weights for a network."""
    file, chance, converters = caffe.net_of_weights()(), np.random.default_rng(0), dict(caffe_layers.LAYERS)
    file.layer.add(name="a file has one layer")
    weights.write_bytes(file.SerializeToString())

    def before(convert: Callable[..., Any]) -> Callable[..., Any]:
        def converted(layer: CaffeLayer, net: CaffeNetwork) -> Any:
            layer.blobs = [np.asarray(one, np.float32) for one in drawn(layer, net, chance)]
            written = file.layer.add(name=layer.name, type=layer.type)
            for one in layer.blobs:
                blob = written.blobs.add()
                blob.shape.dim.extend(one.shape)
                blob.data.extend(one.reshape(-1).tolist())
            return convert(layer, net)

        return converted

    try:
        caffe_layers.LAYERS.update({name: before(convert) for name, convert in converters.items()})
        caffe.onnx_of(path, weights, {})
    finally:
        caffe_layers.LAYERS.update(converters)
    weights.write_bytes(file.SerializeToString())


def results(path: Path, folder: Path) -> Iterator[tuple[str, float | str]]:
    """The shapes of the inputs, and by mode the difference or why there is none."""
    import cv2

    from ophook_npu.sim.atc.errors import AtcError

    weights = path.with_suffix(".caffemodel")
    try:
        if not weights.exists():
            weights = folder / "drawn.caffemodel"
            draw(path, weights)
        model, names = caffe.onnx_of(path, weights, {})
    except AtcError as error:
        yield MODES[0], f"atc: {error}"
        return
    chance, given = np.random.default_rng(1), {}
    for one in model.graph.input:
        shape = [dim.dim_value for dim in one.type.tensor_type.shape.dim]
        given[one.name] = chance.standard_normal(shape).astype(np.float32)
    yield "shapes", " ".join(str(list(array.shape)) for array in given.values())
    try:
        net = cv2.dnn.readNetFromCaffe(str(path), str(weights))
        net.enableWinograd(False)
        tops = {layer.one("name"): layer.one("top") for layer in caffe.read_text(path).many("layer")}
        for name, array in given.items():
            net.setInput(array, tops.get(name, name))
        wanted = [np.asarray(one) for one in net.forward([name.split(":")[0] for name in names])]
    except cv2.error as error:
        yield MODES[0], f"OpenCV: {str(error).splitlines()[0][-80:]}"
        return
    yield from by_mode(folder, list(given.values()), wanted, "--framework=0", f"--model={path}", f"--weight={weights}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="+", type=Path, metavar="NET.prototxt")
    parser.add_argument("--most", type=float, default=1e-4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return int(table("network", given.networks, lambda path: results(path, Path(folder)), given.most) > 0)


if __name__ == "__main__":
    sys.exit(main())
