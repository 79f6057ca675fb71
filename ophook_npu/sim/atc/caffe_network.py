"""A Caffe network while it is read: its layers, and the ONNX graph that is made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from ophook_npu.plural import counted
from ophook_npu.sim.atc.errors import AtcError
from ophook_npu.sim.atc.ge_graph import unused

Array = np.ndarray[Any, Any]
Sizes = tuple[int | None, ...]


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Fields:
    """A message of the prototxt: each field with all its values; which were read is kept."""

    def __init__(self, values: dict[str, list[Any]]) -> None:
        self.values = values
        self.read: set[str] = set()

    def many(self, name: str) -> list[Any]:
        self.read.add(name)
        return self.values.get(name, [])

    def one(self, name: str, default: Any = None) -> Any:
        found = self.many(name)
        return found[-1] if found else default

    def messages(self, name: str) -> list[Fields]:
        return [one for one in self.many(name) if isinstance(one, Fields)]

    def message(self, name: str) -> Fields:
        found = self.messages(name)
        return found[-1] if found else Fields({})

    def __contains__(self, name: str) -> bool:
        return name in self.values


@dataclass
class CaffeLayer:
    """A layer of the network: its names are unique, ``tops`` are those of the values that it makes."""

    name: str
    type: str
    bottoms: list[str]
    tops: list[str]
    said: Fields
    blobs: list[Array] = field(default_factory=list)

    def refuse(self, why: str) -> NoReturn:
        raise AtcError("E14001", f"Argument for Op {self.name} with optype {self.type} is invalid. Reason: {why}.")

    def axis(self, axis: int, rank: int) -> int:
        """One of `rank` dimensions, counted from the first."""
        if not -rank <= axis < rank:
            self.refuse(f"axis {axis} for {counted(rank, 'dimension')}")
        return axis % rank

    def known(self, size: int | None, what: str) -> int:
        if size is None:
            self.refuse(f"{what} has to be known; give it in the model or in --input_shape")
        return size

    def blob(self, index: int) -> Array:
        if not self.blobs:
            raise AtcError("E11029", f"Op {self.name} exists in the model file but is not found in weight file.")
        if index >= len(self.blobs):
            self.refuse(f"it has {counted(len(self.blobs), 'blob')} in the file of weights")
        return self.blobs[index]

    def pair(self, said: Fields, name: str, default: int | None, stem: str = "") -> list[int]:
        """A size for each of both dimensions: repeated, as one number, or as ``_h`` and ``_w``."""
        both = [said.one(f"{stem or name}_{side}") for side in "hw"]
        told = said.many(name)
        if any(one is not None for one in both):
            return [int(one if one is not None else default or 0) for one in both]
        if not told and default is None:
            self.refuse(f"{name} is missing")
        told = told or [default]
        if len(told) not in (1, 2):
            self.refuse(f"{name} has {counted(len(told), 'number')}; allowed: 1 or 2")
        return [int(one) for one in (told * 2)[:2]]


class CaffeNetwork:
    """The ONNX graph while it is built, and what is known of its values' shapes: None where a dimension is not."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.shapes: dict[str, Sizes] = {}
        self._names: set[str] = set()

    def unique(self, stem: str) -> str:
        name = unused(self._names, stem)
        self._names.add(name)
        return name

    def shape(self, layer: CaffeLayer, bottom: int = 0) -> Sizes:
        if bottom >= len(layer.bottoms):
            layer.refuse(f"it takes {counted(bottom + 1, 'bottom')}, and has {len(layer.bottoms)}")
        return self.shapes[layer.bottoms[bottom]]

    def images(self, layer: CaffeLayer) -> Sizes:
        shape = self.shape(layer)
        if len(shape) != 4:
            layer.refuse(f"it takes images of four dimensions, not {len(shape)}")
        return shape

    def const(self, layer: CaffeLayer, value: Any, kind: str = "float32") -> str:
        import onnx

        name = self.unique(f"{layer.name}/const")
        array = np.ascontiguousarray(np.asarray(value, kind))
        self.initializers.append(onnx.numpy_helper.from_array(array, name))
        self.shapes[name] = array.shape
        return name

    def add(
        self, layer: CaffeLayer, of: str, *inputs: str, tops: Sequence[str] = (), domain: str = "", **told: Any
    ) -> str:
        """A node; it has the layer's name where it writes the layer's tops. Gives its first output."""
        import onnx

        outputs = list(tops) or [self.unique(f"{layer.name}/{of}:0")]
        name = layer.name if tops else self.unique(f"{layer.name}/{of}")
        self.nodes.append(onnx.helper.make_node(of, list(inputs), outputs, name=name, domain=domain, **told))
        return outputs[0]


# Writes the layer's tops and gives their shapes.
ConvertLayer = Callable[[CaffeLayer, CaffeNetwork], Sequence[Sizes]]
