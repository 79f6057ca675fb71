"""AIPP in a graph: what an input of the model becomes where --insert_op_conf names it.

The input is then an image, uint8 and NHWC, and an operator Aipp makes of it what the network reads, as float16. With
dynamic AIPP, its parameters are one more input of the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ophook_npu.sim.atc.aipp import FORMATS, Aipp, refused
from ophook_npu.sim.atc.errors import AtcError
from ophook_npu.sim.atc.ge_graph import add_cast, unused, write_attribute
from ophook_npu.sim.atc.messages import messages
from ophook_npu.sim.atc.model import Gears, Shape

PARAMETERS = "ascend_dynamic_aipp_data"  # ACL_DYNAMIC_AIPP_NAME
_COMMON, _OF_IMAGE = 64, 96  # bytes of parameters, for all images and for each
_CHANNELS = {"YUV420SP_U8": 1, "XRGB8888_U8": 4, "RGB888_U8": 3, "YUV400_U8": 1}
_FLOAT, _HALF, _UINT8 = 0, 1, 4  # ge::DataType
# After padding: Atlas inference products, and the others.
_WIDEST = {"Ascend310P": 1080}
_WIDEST_OTHERWISE = 4096


@dataclass
class _Input:
    """An input of the network: sizes of -1 are those of gears, `most` has the largest of them."""

    op: Any
    layout: str
    sizes: list[int]
    most: list[int]

    def __getitem__(self, axis: str) -> int:
        return self.sizes[self.layout.index(axis)]

    def largest(self, axis: str) -> int:
        return self.most[self.layout.index(axis)]


@dataclass
class Placed:
    """What the rest of the conversion has to know: the shapes of the inputs and the gears as they are now."""

    shapes: dict[str, Shape]
    gears: Gears | None
    lines: list[tuple[str, str]] = field(default_factory=list)  # of the .om file


def insert(
    graph: Any, given: Sequence[Aipp], shapes: Mapping[str, Shape], gears: Gears | None, soc: str,
    half_inputs: Sequence[str] = (),
) -> Placed:  # fmt: skip
    """Put each into the graph.

    Raises:
        AtcError: E10001, E10034, E10052; E10055 for what is not simulated.
    """
    inputs = sorted((op for op in graph.op if op.type in ("Data", "RefData")), key=lambda op: op.attr["index"].i)
    placed = Placed(dict(shapes), gears)
    for aipp in given:
        if aipp.rank >= len(inputs):
            raise refused(f"there is no input for related_input_rank {aipp.rank}; the model has {len(inputs)}")
        if inputs[aipp.rank].name in half_inputs:
            raise AtcError(
                "E10034",
                f"Nodes (for example, {inputs[aipp.rank].name}) connected to AIPP must not be of type FP16.",
                todo="leave the node out of --input_fp16_nodes",
            )
        _place(graph, _input(inputs[aipp.rank], shapes, gears, aipp), aipp, placed, soc)
    return placed


def _input(op: Any, shapes: Mapping[str, Shape], gears: Gears | None, aipp: Aipp) -> _Input:
    desc = op.output_desc[0]
    sizes = list(desc.shape.dim)
    if desc.layout not in ("NCHW", "NHWC") or len(sizes) != 4:
        raise AtcError(
            "E10001",
            f"Value {desc.layout} {sizes} for parameter {op.name} is invalid. Reason: AIPP needs NCHW or NHWC, and "
            "four dimensions.",
            todo="give --input_format",
        )
    kind = messages().DataType
    if desc.dtype not in (kind.DT_FLOAT, kind.DT_FLOAT16, kind.DT_UINT8):
        raise AtcError("E10055", f"AIPP: {op.name} is neither FLOAT nor FLOAT16 nor UINT8; the simulator does not have "
                       "it.")  # fmt: skip
    found = _Input(op, desc.layout, sizes, list(sizes))
    if -1 in sizes:
        if gears is None and aipp.dynamic:
            raise AtcError("E10055", f"AIPP: the shape of input {op.name} is not known; the simulator does not have "
                           "that.", todo="use sizes, or gears of them")  # fmt: skip
        if gears is None:
            raise refused(f"the shape of input {op.name} is not known", "AIPP needs sizes, or gears of them")
        start = sum(shape.sizes.count(-1) for shape in _before(shapes, op.name))
        rows = [row[start : start + sizes.count(-1)] for row in gears.sizes]
        largest = iter(max(rows, key=math.prod))
        found.most = [next(largest) if size < 0 else size for size in sizes]
    if gears and gears.kind == "image" and -1 in sizes and not aipp.dynamic:
        if aipp.values["crop"] or aipp.values["padding"]:
            raise refused("When --dynamic_image_size is set, crop and padding cannot be set to 'true'")
        if aipp.values["src_image_size_w"] or aipp.values["src_image_size_h"]:
            raise refused("When --dynamic_image_size is set, src_image_size_w and src_image_size_h must be set to '0'")
    if found["C"] not in (1, 3):
        raise AtcError("E10055", f"AIPP: {op.name} has {found['C']} channels; the simulator has AIPP for 1 and 3.")
    return found


def _before(shapes: Mapping[str, Shape], name: str) -> list[Shape]:
    names = list(shapes)
    return [shapes[one] for one in names[: names.index(name)]] if name in shapes else []


def _place(graph: Any, network: _Input, aipp: Aipp, placed: Placed, soc: str) -> None:
    op, kind = network.op, messages().DataType
    of = op.output_desc[0].dtype
    number = {kind.DT_FLOAT: _FLOAT, kind.DT_FLOAT16: _HALF, kind.DT_UINT8: _UINT8}[of]
    dims = _dynamic_dims(network, aipp) if aipp.dynamic else _static_dims(network, aipp, soc)
    made = graph.op.add(name=unused({op.name for op in graph.op}, f"{op.name}_0_aipp"), type="Aipp")
    for name, value in aipp.values.items():
        write_attribute(made.attr[name], value)
    made.attr["layout"].s = network.layout.encode()
    made.attr["dst_type"].i = _UINT8 if number == _UINT8 else _HALF
    made.attr["src_type"].i = number
    write_attribute(made.attr["network"], [network[axis] for axis in "CHW"])
    made.output_desc.add(name="features", layout=network.layout)
    result = f"{made.name}:0"
    if of == kind.DT_FLOAT:  # Aipp writes float16, and the network reads what it was made for
        name = unused({op.name for op in graph.op}, f"{op.name}_0_aipp_cast")
        result = add_cast(graph, name, result, kind.DT_FLOAT16, of)
    for reader in graph.op:
        for i, key in enumerate(reader.input):
            if key == f"{op.name}:0":
                reader.input[i] = result
    made.input.append(f"{op.name}:0")
    made.input_desc.add(name="images", dtype=kind.DT_UINT8)
    if aipp.dynamic:
        made.input.append(f"{_parameters(graph, network, made.name)}:0")
        made.input_desc.add(name="params", dtype=kind.DT_UINT8)
    for desc in (*op.output_desc, *op.input_desc):
        desc.dtype, desc.layout = kind.DT_UINT8, "NHWC"
        del desc.shape.dim[:]
        desc.shape.dim.extend(dims)
    if -1 in dims:
        _set_gears(network, aipp, dims, placed)


def _static_dims(network: _Input, aipp: Aipp, soc: str) -> list[int]:
    """(n, h, w, c) of the images, as they lie: with a height of 3/2 where two planes are one behind the other."""
    values = aipp.values
    source = [values[f"src_image_size_{axis.lower()}"] or network[axis] for axis in "HW"]
    yuv = aipp.format == "YUV420SP_U8"
    for axis, size in zip("HW", source, strict=True):
        low = axis.lower()
        least = 2 if axis == "W" else 1
        if size > 0 and not least <= size <= 4096:
            raise refused(f"input {network.op.name} has a size of {size} in {axis}; allowed: {least} to 4096")
        if yuv and size % 2 and size > 0:
            raise refused(f"input {network.op.name} has a size of {size} in {axis}; of YUV420SP_U8 it has to be even")
        made = size
        if values["crop"]:
            made = values[f"crop_size_{low}"] or network[axis]
            if values[f"load_start_pos_{low}"] + made > size:
                raise refused(
                    f"load_start_pos_{low} + crop_size_{low} is {values[f'load_start_pos_{low}'] + made}, more than "
                    f"src_image_size_{low}, {size}"
                )
        sides = ("top", "bottom") if axis == "H" else ("left", "right")
        made += sum(values[f"{side}_padding_size"] for side in sides)
        if made != network[axis]:
            raise refused(
                f"AIPP makes images with a size of {made} in {axis} for input {network.op.name}, which has "
                f"{network[axis]}",
                "let crop and padding make the sizes of --input_shape",
            )
        widest = next((limit for name, limit in _WIDEST.items() if soc.startswith(name)), _WIDEST_OTHERWISE)
        if values["padding"] and axis == "W" and made > widest:
            raise refused(f"the width with padding is {made}; allowed: {widest} on {soc}")
    if values["input_format"] == FORMATS["YUV400_U8"] and network["C"] != 1:
        raise AtcError("E10055", f"AIPP: YUV400_U8 for input {network.op.name} with {network['C']} channels: the pages "
                       "do not say what the others are.", todo="use a network with one channel")  # fmt: skip
    whole = network.op.output_desc[0].dtype == messages().DataType.DT_UINT8
    if whole and not 0 <= values["padding_value"] <= 255:
        raise refused(f"padding_value is {values['padding_value']}; allowed for uint8: 0 to 255")
    height = source[0] * 3 // 2 if yuv and source[0] > 0 else source[0]
    return [network["N"], height, source[1], _CHANNELS[aipp.format]]


def _dynamic_dims(network: _Input, aipp: Aipp) -> list[int]:
    """The network's sizes, and so many bytes for each of its pixels that the largest images fit."""
    pixels = network.largest("N") * network.largest("H") * network.largest("W")
    return [network["N"], network["H"], network["W"], -(-aipp.values["max_src_image_size"] // pixels)]


def _parameters(graph: Any, network: _Input, reader: str) -> str:
    """The input with the parameters; gives its name."""
    names = {op.name for op in graph.op}
    name = PARAMETERS if PARAMETERS not in names else f"{PARAMETERS}_{reader}"
    made = messages().OpDef(name=name, type="Data")
    made.attr["index"].i = sum(op.type in ("Data", "RefData") for op in graph.op)
    for port, desc in (("x", made.input_desc.add()), ("y", made.output_desc.add())):
        desc.name, desc.layout, desc.dtype = port, "ND", messages().DataType.DT_UINT8
        desc.shape.dim.append(_COMMON + _OF_IMAGE * network.largest("N"))
    graph.op.append(made)
    return name


def _set_gears(network: _Input, aipp: Aipp, dims: list[int], placed: Placed) -> None:
    """The gears say sizes of the images, where these have others than the network's input."""
    gears, name = placed.gears, network.op.name
    if gears is None:
        return
    start = sum(shape.sizes.count(-1) for shape in _before(placed.shapes, name))
    placed.shapes[name] = Shape(dims, [(size, size) if size >= 0 else (0, -1) for size in dims])
    if network["H"] < 0 and not aipp.dynamic and aipp.format == "YUV420SP_U8":
        place = start + (network["N"] < 0)
        odd = [row for row in gears.sizes if row[place] % 2 or row[place + 1] % 2]
        if odd:
            raise refused(f"a gear of --dynamic_image_size is {odd[0]}; of YUV420SP_U8 the sizes have to be even")
        if not placed.lines:
            placed.lines.append(("gears.told", ",".join(str(size) for row in gears.sizes for size in row)))
        rows = [[size * 3 // 2 if i == place else size for i, size in enumerate(row)] for row in gears.sizes]
        placed.gears = Gears(gears.kind, rows)
