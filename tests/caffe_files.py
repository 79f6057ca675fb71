"""Files of Caffe networks for the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ophook_npu.sim.atc.caffe import net_of_weights

Blobs = Mapping[str, Sequence[np.ndarray[Any, Any]]]


def files(folder: Path, text: str, blobs: Blobs) -> tuple[Path, Path]:
    """A prototxt and a caffemodel."""
    net = net_of_weights()()
    for name, arrays in (blobs or {"none": []}).items():
        layer = net.layer.add(name=name)
        for array in arrays:
            blob = layer.blobs.add()
            blob.shape.SetInParent()
            blob.shape.dim.extend(array.shape)
            blob.data.extend(array.reshape(-1).tolist())
    model, weights = folder / "net.prototxt", folder / "net.caffemodel"
    model.write_text(text)
    weights.write_bytes(net.SerializeToString())
    return model, weights


def layer(of: str, text: str, *bottoms: str, name: str = "l", tops: Sequence[str] = ("y",)) -> str:
    wires = "".join(f' bottom: "{one}"' for one in bottoms) + "".join(f' top: "{one}"' for one in tops)
    return f'layer {{ name: "{name}" type: "{of}"{wires} {text} }}\n'


def inputs(**shapes: Sequence[int]) -> str:
    return "".join(
        layer("Input", f"input_param {{ shape {{ dim: {list(shape)} }} }}", name=name, tops=[name])
        for name, shape in shapes.items()
    )
