"""The file of --insert_op_conf: AIPP, which makes the network's input of an image, by input of the model.

It is protocol buffers' text format, read as ATC reads it; the fields are those of hicann/ge,
graph_metadef/proto/insert_op.proto, their limits those of docs/zh/user_guides/atc_tools/AIPP/config_file_template.md.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ophook_npu.sim.atc.errors import AtcError

FORMATS = {"YUV420SP_U8": 1, "XRGB8888_U8": 2, "RGB888_U8": 3, "YUV400_U8": 4}
# Those that the .proto has, and no product.
_OTHER_FORMATS = ("NC1HWC0DI_FP16", "NC1HWC0DI_S8", "ARGB8888_U8", "YUYV_U8", "YUV422SP_U8", "AYUV444_U8", "RAW10",
                  "RAW12", "RAW16", "RAW24", "RGB16", "RGB20", "RGB24", "RGB8_IR", "RGB16_IR", "RGB24_IR")  # fmt: skip
_STATIC, _DYNAMIC = 1, 2
_MATRIX = tuple(f"matrix_r{row}c{column}" for row in range(3) for column in range(3))
_TO_BGR = (298, 516, 0, 298, -100, -208, 298, 0, 409)  # what csc_switch alone does to YUV420SP_U8
_TO_YUV = (66, 129, 25, -38, -74, 112, 112, -94, -18)  # and to the others
_BIASES = {f"{side}_bias_{i}": 128 if i else 16 for side in ("output", "input") for i in range(3)}
_PADDINGS = tuple(f"{side}_padding_size" for side in ("left", "right", "top", "bottom"))
_CHANNELS = range(4)

# By field: its type, and what it may be.
_HALF = (-65504, 65504)
_FIELDS: dict[str, tuple[str, tuple[float, float] | None]] = {
    "aipp_mode": ("AippMode", None),
    "related_input_rank": ("uint32", None),
    "related_input_name": ("string", None),
    "max_src_image_size": ("uint32", None),
    "support_rotation": ("bool", None),
    "input_format": ("InputFormat", None),
    "src_image_size_w": ("int32", (2, 4096)),  # or 0
    "src_image_size_h": ("int32", (1, 4096)),
    "crop": ("bool", None),
    "load_start_pos_w": ("int32", (0, 4095)),
    "load_start_pos_h": ("int32", (0, 4095)),
    "crop_size_w": ("int32", (0, 4096)),
    "crop_size_h": ("int32", (0, 4096)),
    "resize": ("bool", None),
    "resize_output_w": ("int32", None),
    "resize_output_h": ("int32", None),
    "padding": ("bool", None),
    **dict.fromkeys(_PADDINGS, ("int32", (0, 32))),
    "padding_value": ("float", _HALF),
    "cpadding_value": ("float", None),
    "single_line_mode": ("bool", None),
    "csc_switch": ("bool", None),
    "rbuv_swap_switch": ("bool", None),
    "ax_swap_switch": ("bool", None),
    **dict.fromkeys(_MATRIX, ("int32", (-32677, 32676))),
    **dict.fromkeys(_BIASES, ("int32", (0, 255))),
    **{f"mean_chn_{i}": ("int32", (0, 255)) for i in _CHANNELS},
    **{f"min_chn_{i}": ("float", (0, 255)) for i in _CHANNELS},
    **{f"var_reci_chn_{i}": ("float", _HALF) for i in _CHANNELS},
    "input_edge_idx": ("uint32", None),  # which ATC reads, and nothing follows from it
    "raw_rgbir_to_f16_n": ("uint32", None),
}
# Lists in the .proto, so that one may be left out; ATC refuses a second value.
_ONCE = (*_MATRIX, *_BIASES, *(f"var_reci_chn_{i}" for i in _CHANNELS))
_RESERVED = ("support_rotation", "resize", "single_line_mode", "cpadding_value")  # which the pages call reserved
_ZERO_WITHOUT = {
    "crop": ("load_start_pos_w", "load_start_pos_h", "crop_size_w", "crop_size_h"),
    "resize": ("resize_output_w", "resize_output_h"),
    "padding": _PADDINGS,
}  # fmt: skip


@dataclass(frozen=True)
class Aipp:
    """One ``aipp_op``: the number of its input, and the attributes of the operator that carries it out."""

    rank: int
    values: Mapping[str, Any]

    @property
    def dynamic(self) -> bool:
        """Whether its parameters are an input of the model."""
        return bool(self.values["aipp_mode"] == _DYNAMIC)

    @property
    def format(self) -> str:
        """Of the images, of static AIPP."""
        return next(name for name, number in FORMATS.items() if number == self.values["input_format"])


def refused(reason: str, todo: str = "") -> AtcError:
    """What ATC says of a configuration."""
    return AtcError("E10052", f"AIPP configuration is invalid. Reason: {reason}.", todo=todo)


def read(path: Path) -> list[Aipp]:
    """What the file says, with its defaults.

    Raises:
        AtcError: E13000 for a file that is not there, E13005 for one that is no such text, E10052 for what it may not
            say, E10055 for what is not simulated.
    """
    if not path.is_file():
        raise AtcError("E13000", f"Path {path} is empty. Reason: there is no such file.",
                       todo="give --insert_op_conf the path of a configuration")  # fmt: skip
    try:
        return parse(path.read_text("utf-8", "replace"))  # a comment may be in any encoding
    except AtcError as error:
        raise AtcError(error.code, f"{path}: {error.text}", todo=error.todo) from error


def parse(text: str) -> list[Aipp]:
    """The same of the file's text."""
    from google.protobuf import text_format

    try:
        operators = text_format.Parse(text, _message()()).aipp_op
    except text_format.ParseError as error:
        raise AtcError("E13005", f"Failed to parse file: {error}.") from error
    if not operators:
        raise refused("there is no aipp_op in it", "write aipp_op { … }")
    found = [_checked(one) for one in operators]
    ranks = [one.rank for one in found]
    if len(set(ranks)) < len(ranks):
        raise refused(f"two aipp_op have related_input_rank {max(ranks, key=ranks.count)}", "give each its own input")
    if len({one.dynamic for one in found}) > 1:
        raise refused("aipp_mode is static in one aipp_op and dynamic in another", "use one of them")
    return found


@functools.cache
def _message() -> Any:
    """The message of the whole file."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="ophook_insert_op.proto", package="ophook", syntax="proto3")
    whole = file.message_type.add(name="InsertNewOps")
    repeated, singular = 3, 1
    whole.field.add(name="aipp_op", number=1, type=11, type_name=".ophook.AippOpParams", label=repeated)
    made = file.message_type.add(name="AippOpParams")
    for name, values in (
        ("InputFormat", ("UNDEFINED", *FORMATS, *_OTHER_FORMATS)), ("AippMode", ("undefined", "static", "dynamic"))
    ):  # fmt: skip
        kind = made.enum_type.add(name=name)
        for number, value in enumerate(values):
            kind.value.add(name=value, number=number)
    numbers = {"float": 2, "int32": 5, "bool": 8, "string": 9, "uint32": 13}
    for number, (name, (of, _)) in enumerate(_FIELDS.items(), 1):
        field = made.field.add(name=name, number=number, label=repeated if _is_list(name) else singular)
        field.type = numbers.get(of, 14)
        if of not in numbers:
            field.type_name = f".ophook.AippOpParams.{of}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("ophook.InsertNewOps"))


def _is_list(name: str) -> bool:
    return name in _ONCE or name == "input_edge_idx"


def _checked(given: Any) -> Aipp:
    for name in _ONCE:
        if len(getattr(given, name)) > 1:
            raise refused(f"{name} stands more than once")
    if given.related_input_name:
        raise refused(
            f"related_input_name is {given.related_input_name!r}: it names inputs of Caffe models",
            "write related_input_rank",
        )
    if given.aipp_mode not in (_STATIC, _DYNAMIC):
        raise refused("aipp_mode is not set", "write static or dynamic")
    if given.support_rotation:
        raise _unsimulated("support_rotation")
    common = {"aipp_mode": given.aipp_mode, "related_input_rank": given.related_input_rank}
    if given.aipp_mode == _DYNAMIC:
        if not given.max_src_image_size:
            raise refused("max_src_image_size is not set, dynamic AIPP needs it")
        return Aipp(given.related_input_rank, {**common, "max_src_image_size": given.max_src_image_size})
    values = {name: _value(given, name) for name in _FIELDS if name not in common and name != "input_edge_idx"}
    del values["related_input_name"], values["max_src_image_size"], values["support_rotation"]
    _check_static(values, given)
    for switch, names in _ZERO_WITHOUT.items():
        if not values[switch]:
            values.update(dict.fromkeys(names, 0))
    if values["csc_switch"]:
        matrix = _TO_BGR if values["input_format"] == FORMATS["YUV420SP_U8"] else _TO_YUV
        for name, otherwise in {**dict(zip(_MATRIX, matrix, strict=True)), **_BIASES}.items():
            values[name] = getattr(given, name)[0] if getattr(given, name) else otherwise
    del values["raw_rgbir_to_f16_n"]
    return Aipp(given.related_input_rank, {**common, **values})


def _value(given: Any, name: str) -> Any:
    value = getattr(given, name)
    if not _is_list(name):
        return value
    return value[0] if value else 1.0 if name.startswith("var") else 0


def _unsimulated(name: str) -> AtcError:
    return AtcError("E10055", f"AIPP: {name}: the pages reserve it; the simulator does not have it.",
                    todo="leave it out")  # fmt: skip


def _check_static(values: Mapping[str, Any], given: Any) -> None:
    if not values["input_format"]:
        raise refused("input_format is not set", f"write one of {', '.join(FORMATS)}")
    if values["input_format"] not in FORMATS.values():
        name = ("UNDEFINED", *FORMATS, *_OTHER_FORMATS)[values["input_format"]]
        raise refused(f"input_format is {name}, which no product supports", f"use one of {', '.join(FORMATS)}")
    for name in _RESERVED:
        if values.get(name):
            raise _unsimulated(name)
    if values["raw_rgbir_to_f16_n"] not in (0, 8):  # 8 is the template's, for images that are not simulated
        raise _unsimulated("raw_rgbir_to_f16_n")
    for name, (_, limits) in _FIELDS.items():
        zero = name.startswith("src_image_size") and values[name] == 0
        if limits and not zero and not limits[0] <= values[name] <= limits[1]:
            raise refused(
                f"{name} is {values[name]}; allowed: {limits[0]} to {limits[1]}"
                + (", or 0" if name.startswith("src_image_size") else "")
            )
    yuv = values["input_format"] == FORMATS["YUV420SP_U8"]
    for name in ("src_image_size_w", "src_image_size_h", "load_start_pos_w", "load_start_pos_h"):
        if yuv and values[name] % 2:
            raise refused(f"{name} is {values[name]}; of YUV420SP_U8 it has to be even")
    if values["csc_switch"] and values["input_format"] == FORMATS["YUV400_U8"]:
        raise refused("csc_switch is true; YUV400_U8 has no colors")
    if values["ax_swap_switch"] and values["input_format"] != FORMATS["XRGB8888_U8"]:
        raise refused("ax_swap_switch is true; XRGB8888_U8 alone has a fourth channel")
    sizes = (values["src_image_size_w"], values["src_image_size_h"])
    if (values["crop"] or values["padding"]) and 0 in sizes:
        raise refused("src_image_size_w and src_image_size_h have to be set where crop or padding is true")
    if values["crop"] and values["padding"] and 0 in (values["crop_size_w"], values["crop_size_h"]):
        raise refused("crop_size_w and crop_size_h have to be set where crop and padding are true")
