"""A graph and the options of a conversion become a model: shapes, gears, outputs, data types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ophook_npu.plural import counted
from ophook_npu.sim.atc.errors import AtcError
from ophook_npu.sim.atc.messages import messages

_GEARS = (2, 100)  # as many as ATC takes
_RANGE = re.compile(r"(\d+)~(\d+|-1)")
_FORMATS = ("NCHW", "NHWC", "ND", "NCDHW", "NDHWC")
_TYPES = {
    "FP32": "FLOAT", "FP16": "FLOAT16", "DOUBLE": "DOUBLE", **{name: name for name in (
        "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT64", "INT64")},
}  # fmt: skip


@dataclass
class Shape:
    """The shape of an input as --input_shape says it; a size of -1 has a range, or is a gear's."""

    sizes: list[int]
    ranges: list[tuple[int, int]]

    @property
    def ranged(self) -> bool:
        """Whether a range is written."""
        return any(size < 0 and limits != (0, -1) for size, limits in zip(self.sizes, self.ranges, strict=True))


def input_shapes(text: str) -> dict[str, Shape]:
    """What ``--input_shape="data:1,3,-1,10~20;info:"`` says, by input.

    Raises:
        AtcError: E10002, E10011.
    """
    found = {}
    for part in filter(None, text.split(";")):
        name, colon, dims = part.rpartition(":")
        if not colon or not name:
            raise AtcError(
                "E10002", f"Value {text} for parameter --input_shape is invalid.", todo='write "input1:1,3,224,224"'
            )
        shape = Shape([], [])
        for one in filter(None, (dim.strip() for dim in dims.strip("[] ").split(","))):
            limits = _RANGE.fullmatch(one)
            if not limits and not re.fullmatch(r"-1|\d+", one):
                raise AtcError(
                    "E10011",
                    f"Value {part} for parameter --input_shape is invalid. Shape values must be positive integers. "
                    f"The error value in the shape is {one}.",
                )
            size = -1 if limits else int(one)
            shape.sizes.append(size)
            shape.ranges.append((int(limits[1]), int(limits[2])) if limits else (0, -1) if size < 0 else (size, size))
        found[name.strip()] = shape
    return found


@dataclass
class Gears:
    """The sizes that the dimensions of size -1 may have, all together in each gear."""

    kind: str  # batch, image or dims
    sizes: list[list[int]] = field(default_factory=list)  # by gear, of each -1 in order

    def text(self, shapes: Mapping[str, Shape]) -> list[tuple[str, str]]:
        """The lines of the .om file."""
        dims = (f"{name}:{','.join(map(str, shape.sizes))}" for name, shape in shapes.items() if -1 in shape.sizes)
        gears = ";".join(",".join(map(str, sizes)) for sizes in self.sizes)
        return [
            ("gears", self.kind),
            ("ge.inputShape", ";".join(dims)),
            ("ge.dynamicDims", gears),
            ("ge.dynamicNodeType", "1"),
        ]


def gears(options: Mapping[str, str], shapes: Mapping[str, Shape]) -> Gears | None:
    """What --dynamic_batch_size, --dynamic_image_size or --dynamic_dims asks for.

    Raises:
        AtcError: E10009, E10018, E10019, E10020, E10035 to E10040, E10056.
    """
    given = [name for name in ("dynamic_batch_size", "dynamic_image_size", "dynamic_dims") if options.get(name)]
    if not given:
        return None
    if len(given) > 1:
        raise AtcError("E10056", f"Cannot configure both parameters --{given[0]} and --{given[1]} simultaneously.")
    option = given[0]
    unknown = {name: [i for i, size in enumerate(shape.sizes) if size < 0] for name, shape in shapes.items()}
    if not any(unknown.values()):
        raise AtcError("E10040", f"--{option} needs an --input_shape with -1 where the sizes are set.")
    between = "," if option == "dynamic_batch_size" else ";"
    rows = [_numbers(option, row) for row in options[option].split(between)]
    if not _GEARS[0] <= len(rows) <= _GEARS[1]:
        code, what = (
            ("E10035", "less than the minimum 2") if len(rows) < _GEARS[0] else ("E10036", "more than the maximum 100")
        )
        raise AtcError(
            code,
            "--dynamic_batch_size, --dynamic_image_size, or --dynamic_dims has "
            f"{counted(len(rows), 'profile')}, which is {what}.",
        )
    if len({tuple(row) for row in rows}) < len(rows):
        raise AtcError(
            "E10039",
            "The --dynamic_batch_size, --dynamic_image_size, or --dynamic_dims argument has duplicate profiles.",
        )
    return {"dynamic_batch_size": _batches, "dynamic_image_size": _images, "dynamic_dims": _dims}[option](
        rows, unknown, shapes, options
    )


def _numbers(option: str, text: str) -> list[int]:
    numbers = []
    for one in text.split(","):
        if not re.fullmatch(r"\s*\d+\s*", one):
            raise AtcError("E10020", f"Value {text!r} for parameter --{option} is invalid: {one!r} is no number.")
        numbers.append(int(one))
        if not numbers[-1]:
            raise AtcError("E10038", "Dimension size 0 is invalid. The value must be greater than 0.")
    return numbers


_Unknown = Mapping[str, list[int]]
_Shapes = Mapping[str, Shape]


def _batches(rows: list[list[int]], unknown: _Unknown, shapes: _Shapes, options: Mapping[str, str]) -> Gears:
    for name, places in unknown.items():
        if places not in ([], [0]):
            raise AtcError(
                "E10018",
                f"Value {shapes[name].sizes} for shape {name} is invalid. When --dynamic_batch_size is included, only "
                "batch size N can be -1 in --input_shape.",
            )
    return Gears("batch", [row * sum(map(len, unknown.values())) for row in rows])


def _images(rows: list[list[int]], unknown: _Unknown, shapes: _Shapes, options: Mapping[str, str]) -> Gears:
    layout = options.get("input_format", "NCHW")
    if layout not in ("NCHW", "NHWC"):
        raise AtcError(
            "E10001",
            f"Value {layout} for parameter --input_format is invalid. Reason: --dynamic_image_size takes NCHW or NHWC.",
            todo="use --dynamic_dims",
        )
    allowed = [layout.index("H"), layout.index("W")]
    for places in unknown.values():
        if places not in ([], allowed):
            raise AtcError(
                "E10019",
                "When --dynamic_image_size is included, only the height and width axes can be -1 in --input_shape.",
            )
    if any(len(row) != len(allowed) for row in rows):
        raise AtcError(
            "E10020", f"Value {options['dynamic_image_size']} for parameter --dynamic_image_size is invalid."
        )
    return Gears("image", [row * sum(bool(places) for places in unknown.values()) for row in rows])


def _dims(rows: list[list[int]], unknown: _Unknown, shapes: _Shapes, options: Mapping[str, str]) -> Gears:
    count = sum(map(len, unknown.values()))
    for row in rows:
        if len(row) != count:
            raise AtcError(
                "E10037",
                "The profiles configured in --dynamic_batch_size, --dynamic_image_size, or --dynamic_dims have "
                f"inconsistent dimension counts. A profile has {counted(len(row), 'dimension')} while --input_shape "
                f"has {count} of size -1.",
            )
    return Gears("dims", rows)


def set_inputs(graph: Any, shapes: Mapping[str, Shape], layout: str) -> None:
    """Give the Data nodes of a GraphDef these shapes, and this format where they have four dimensions.

    Raises:
        AtcError: E10016 for an input that the model does not have, E10014 for a shape of another rank.
    """
    if layout not in _FORMATS:
        raise AtcError("E10001", f"Value {layout} for parameter --input_format is invalid. Reason: it is no format.",
                       todo=f"use one of {', '.join(_FORMATS)}")  # fmt: skip
    data = {op.name: op for op in graph.op if op.type in ("Data", "RefData")}
    for name, shape in shapes.items():
        if name not in data:
            raise AtcError(
                "E10016",
                f"Op name {name} specified in --input_shape is not found in the model. It has: {', '.join(data)}.",
            )
        declared = data[name].output_desc[0].shape
        if len(declared.dim) != len(shape.sizes) and list(declared.dim) != [-2]:
            raise AtcError("E10014", f"Value {shape.sizes} for parameter --input_shape is invalid: {name} has "
                           f"{counted(len(declared.dim), 'dimension')}.")  # fmt: skip
        del declared.dim[:]
        declared.dim.extend(shape.sizes)
    for op in data.values():
        if len(op.output_desc[0].shape.dim) == len(layout):
            op.output_desc[0].layout = layout


def net_output(graph: Any) -> Any:
    """The node that the outputs of the graph go to."""
    return next(op for op in graph.op if op.type == "NetOutput")


def choose_outputs(graph: Any, text: str, names: Sequence[str]) -> list[str]:
    """Make what --out_nodes names the outputs of the graph; gives their names for the .om file.

    ``names`` are those of the present outputs, ``node:port:output``.

    Raises:
        AtcError: E10016.
    """
    output = net_output(graph)
    if not text:
        return list(names)
    sources = dict(zip((name.split(":", 2)[-1] for name in names), zip(output.input, names, strict=True), strict=True))
    nodes = {op.name: op for op in graph.op}
    wanted = []
    for one in filter(None, text.split(";")):
        node, _, port = one.rpartition(":")
        if one in sources:
            wanted.append(sources[one])
        elif node in nodes and port.isdigit() and int(port) < len(nodes[node].output_desc):
            wanted.append((one, one))
        else:
            raise AtcError(
                "E10016",
                f"Op name {one} specified in --out_nodes is not found in the model. Confirm whether this node name "
                "exists, or whether the node is not split with the specified delimiter ';'.",
            )
    del output.input[:], output.input_desc[:]
    for i, (source, _) in enumerate(wanted):
        output.input.append(source)
        output.input_desc.add(name=f"input{i}")
    return [name for _, name in wanted]


def output_types(text: str, names: Sequence[str]) -> dict[int, int]:
    """The data type that --output_type asks for, by output; ge.proto's numbers.

    Raises:
        AtcError: E10001.
    """
    if not text:
        return {}
    found = {}
    for one in filter(None, text.split(";")):
        node, _, kind = one.rpartition(":")
        where = [i for i, name in enumerate(names) if not node or f"{name}:".startswith(f"{node}:")]
        if kind not in _TYPES or not where:
            raise AtcError(
                "E10001",
                f"Value {one} for parameter --output_type is invalid. Reason: "
                + (f"no output is {node}." if kind in _TYPES else f"it has to be one of {', '.join(_TYPES)}."),
            )
        found.update(dict.fromkeys(where, messages().DataType.Value(f"DT_{_TYPES[kind]}")))
    return found
