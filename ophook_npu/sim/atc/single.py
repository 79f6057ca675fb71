"""``atc --singleop``: a JSON file of operators, and an `.om` file for each of them.

What the file may say, and what it is refused with, is as CANN's own reader has it: where its pages differ, as with the
data types ``fp16`` and ``half``, that decides. Whether an operator can be compiled the simulator is asked.
"""

from __future__ import annotations

import ctypes
import json
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ophook_npu.plural import counted
from ophook_npu.sim import active, build
from ophook_npu.sim.atc.errors import AtcError
from ophook_npu.sim.atc.om import FileKind, packed

_NAME = 128  # characters of a file's name, without its suffix
_UNDEFINED, _RESERVED = 28, 40  # GE's numbers of no data type and no format, as names of files have them; ACL's are -1
_UNKNOWN, _UNKNOWN_RANK = -1, -2

# GE's names and numbers, and how Python packs a constant of the type; nothing where CANN takes none.
_TYPES: dict[str, tuple[int, str]] = {
    "bool": (12, ""), "int8": (2, "b"), "uint8": (4, "B"), "int16": (6, "h"), "uint16": (7, "H"), "int32": (3, "i"),
    "uint32": (8, "I"), "int64": (9, "q"), "uint64": (10, "Q"), "float16": (1, "e"), "float": (0, "f"),
    "float32": (0, "f"), "double": (11, "d"), "complex32": (33, ""), "complex64": (16, ""), "complex128": (17, ""),
    "uint1": (30, ""), "bfloat16": (27, ""), "int4": (29, ""), "hifloat8": (34, ""), "float8_e5m2": (35, ""),
    "float8_e4m3fn": (36, ""),
}  # fmt: skip
_FORMATS = {
    "nchw": 0, "nhwc": 1, "nd": 2, "nc1hwc0": 3, "fractal_z": 4, "nc1c0hwpad": 5, "nhwc1c0": 6, "fsr_nchw": 7,
    "fractal_deconv": 8, "c1hwnc0": 9, "fractal_deconv_transpose": 10, "fractal_deconv_sp_stride_trans": 11,
    "nc1hwc0_c04": 12, "fractal_z_c04": 13, "chwn": 14, "deconv_sp_stride8_trans": 15, "hwcn": 16, "nc1khkwhwc0": 17,
    "bn_weight": 18, "filter_hwck": 19, "lookup_lookups": 20, "lookup_keys": 21, "lookup_value": 22,
    "lookup_output": 23, "lookup_hits": 24, "md": 26, "ndhwc": 27, "fractal_nz": 29, "ncdhw": 30, "dhwcn": 31,
    "ndc1hwc0": 32, "fractal_z_3d": 33, "cn": 34, "nc": 35, "dhwnc": 36, "fractal_z_3d_transpose": 37,
    "fractal_zn_lstm": 38, "fractal_z_g": 39,
}  # fmt: skip
_TYPE_NAMES = {**{name.upper(): number for name, (number, _) in _TYPES.items()}, "UNDEFINED": _UNDEFINED}
# attribute types: the kind in the .om file, what an element of the value has to be, how deep lists are
_KINDS = {
    "bool": ("bool", bool, 0), "int": ("int", int, 0), "float": ("float", float, 0), "string": ("string", str, 0),
    "data_type": ("dtype", int, 0), "list_bool": ("bools", bool, 1), "list_int": ("ints", int, 1),
    "list_float": ("floats", float, 1), "list_string": ("strings", str, 1), "list_list_int": ("lists", int, 2),
}  # fmt: skip


@dataclass(frozen=True)
class DescribedTensor:
    """One of `input_desc` or `output_desc`; sizes that are not known are -1, of an unknown rank there is one, -2."""

    dtype: int
    format: int
    dims: tuple[int, ...]
    ranges: tuple[tuple[int, int], ...] = ()
    origin: tuple[int, tuple[int, ...]] | None = None
    constant: bytes | None = None
    dynamic_input: str = ""

    def text(self) -> str:
        """The value of a line ``input=`` or ``output=`` of the file, as `csrc/acl/operator_file.h` has it."""
        dtype, format = (-1, -1) if self.dtype == _UNDEFINED else (self.dtype, self.format)
        told = [str(dtype), str(format), _listed(self.dims)]
        if self.ranges:
            told.append("ranges:" + ",".join(f"{low}:{high}" for low, high in self.ranges))
        if self.constant is not None:
            told.append(f"const:{self.constant.hex()}")
        if self.dynamic_input:
            told.append(f"dynamic:{_word(self.dynamic_input)}")
        if self.origin is not None:
            told.append(f"origin:{self.origin[0]}:{_listed(self.origin[1])}")
        return " ".join(told)


@dataclass(frozen=True)
class SingleOperator:
    """One of the file's operators; `attributes`: name, kind and value as the `.om` file has them."""

    type: str
    name: str
    inputs: tuple[DescribedTensor, ...]
    outputs: tuple[DescribedTensor, ...]
    attributes: tuple[tuple[str, str, str], ...] = ()
    generalized: bool = False

    def lines(self) -> list[tuple[str, str]]:
        """The text of its `.om` file."""
        lines = [("type", _word(self.type))]
        lines += [("input", one.text()) for one in self.inputs]
        lines += [("output", one.text()) for one in self.outputs]
        lines += [("attribute", f"{_word(name)} {kind} {value}") for name, kind, value in self.attributes]
        return lines + [("generalized", "1")] * self.generalized

    def file_name(self, index: int) -> str:
        """The name of its `.om` file: its own, or what it is, with GE's numbers of data types and formats."""
        name = self.name[:_NAME]
        if not re.fullmatch(r"[a-zA-Z0-9._-]+", name) or name in (".", ".."):
            parts: list[object] = [index, self.type]
            for one in (*self.inputs, *self.outputs):
                parts += [one.dtype, one.format, *one.dims]
            name = "_".join(map(str, parts))[:_NAME]
        return f"{name}.om"


def write_models(file: Path, folder: Path, soc: str) -> list[Path]:
    """Write an `.om` file into ``folder`` for each operator in ``file``.

    As CANN's converter, it goes on behind an operator that cannot be compiled, and fails in the end.

    Raises:
        AtcError: the file, or an operator in it, is refused.
    """
    told = operators(file)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AtcError("E13004", f"--output={folder} cannot be made: {error.strerror}") from error
    written: list[Path] = []
    failed: AtcError | None = None
    for index, one in enumerate(told):
        path = folder / one.file_name(index)
        try:
            path.write_bytes(packed(FileKind.OPERATOR, [("soc", soc), *one.lines()]))
        except OSError as error:
            raise AtcError("E13004", f"{path} cannot be written: {error.strerror}") from error
        try:
            _check(one, path)
        except AtcError as error:
            path.unlink()
            failed = failed or error
            continue
        written.append(path)
    if failed:
        raise failed
    return written


def operators(file: Path) -> list[SingleOperator]:
    """What the file says, checked as far as the file alone decides.

    Raises:
        AtcError: E10023 to E10030, E10032, E13006, E13014.
    """
    document = _document(file)
    found: list[SingleOperator] = []
    generalized = False
    for one in document:
        try:
            if not isinstance(one, dict):
                raise AtcError("E10026", f"{file}: {json.dumps(one)} is no operator; allowed: an object with 'op'")
            if "compile_flag" in one and _of(one["compile_flag"], int, "compile_flag") == 1:
                generalized = True  # an entry of its own, for those behind it
                continue
            found.append(_operator(one, generalized))
        except _Wrong as error:
            raise AtcError("E10032", f"{file}, operator {len(found)}: {error}") from error
    return found


class _Wrong(Exception):
    """A value that is missing, or of another JSON type than it has to be."""


def _document(file: Path) -> list[Any]:
    if not file.exists():
        raise AtcError("E10023", f"--singleop={file}: there is no such file")
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AtcError("E10024", f"--singleop={file} cannot be read: {error}") from error
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AtcError("E10025", f"--singleop={file} is no JSON: {error}") from error
    document = list(document.values()) if isinstance(document, dict) else document
    if not isinstance(document, list):
        raise AtcError("E10026", f'{file} is no list of operators; allowed: [{{"op": …, "input_desc": […]}}, …]')
    return document


def _of(value: Any, kind: type, what: str) -> Any:
    # As CANN's reader: numbers become the kind that is asked for, truth values too, texts do not.
    if kind in (int, float) and isinstance(value, int | float):
        return kind(value)
    if isinstance(value, kind):
        return value
    raise _Wrong(f"{what} is {json.dumps(value)}, it has to be {_JSON[kind]}")


_JSON: dict[type, str] = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list",
                          dict: "an object"}  # fmt: skip


def _at(of: dict[str, Any], key: str, kind: type, what: str) -> Any:
    if key not in of:
        raise _Wrong(f"{what} has no '{key}'")
    return _of(of[key], kind, f"'{key}' of {what}")


def _numbers(of: dict[str, Any], key: str, what: str) -> tuple[int, ...]:
    return tuple(_of(one, int, f"'{key}' of {what}") for one in _at(of, key, list, what))


def _operator(told: dict[str, Any], generalized: bool) -> SingleOperator:
    type_ = _of(told.get("op", ""), str, "'op'")
    name = _of(told.get("name", ""), str, "'name'")
    sides = {}
    for side, key in (("input", "input_desc"), ("output", "output_desc")):
        given = _of(told.get(key, []), list, f"'{key}'")
        sides[side] = [_of(one, dict, f"{side} {index}") for index, one in enumerate(given)]
    attributes = [_of(one, dict, f"attribute {i}") for i, one in enumerate(_of(told.get("attr", []), list, "'attr'"))]
    if not type_:
        raise AtcError("E10026", "an operator in the file of --singleop has no type ('op')")
    where = name or type_
    inputs, outputs = ([_tensor(one, type_, where, side, i) for i, one in enumerate(sides[side])] for side in sides)
    return SingleOperator(type_, name, tuple(inputs), tuple(outputs),
                    tuple(_attribute(one, type_) for one in attributes), generalized)  # fmt: skip


def _tensor(told: dict[str, Any], type_: str, where: str, side: str, index: int) -> DescribedTensor:
    what = f"{side} {index} of {type_}"
    dims = _numbers(told, "shape", what)
    dtype_name, format_name = (_at(told, key, str, what).lower() for key in ("type", "format"))
    dtype, pack = _TYPES.get(dtype_name, (_UNDEFINED, ""))
    format = _FORMATS.get(format_name, _RESERVED)
    origin_name = _of(told.get("origin_format", format_name), str, f"'origin_format' of {what}").lower()
    absent = side == "input" and dtype == _UNDEFINED and format == _RESERVED
    if (dtype == _UNDEFINED) != (format == _RESERVED) or (side == "output" and dtype == _UNDEFINED):
        wrong = "type" if dtype == _UNDEFINED else "format"
        allowed = "an optional input that is absent has UNDEFINED and RESERVED" if side == "input" else "see the page"
        raise AtcError("E10027", f"'{wrong}' of {what} is '{told[wrong]}'; {allowed}")
    if absent and (dtype_name not in ("undefined", "reserved") or format_name not in ("reserved", "undefined")):
        raise AtcError("E10027", f"'type' and 'format' of {what} are '{told['type']}' and '{told['format']}'; allowed: "
                                 f"{', '.join(_TYPES)}; {', '.join(_FORMATS)}")  # fmt: skip
    if origin_name not in _FORMATS and not (absent and origin_name in ("reserved", "undefined")):
        raise AtcError("E10027", f"'origin_format' of {what} is '{origin_name}'; allowed: {', '.join(_FORMATS)}")
    origin = None
    if "origin_format" in told or told.get("origin_shape"):
        origin = (_FORMATS[origin_name], _numbers(told, "origin_shape", what) if told.get("origin_shape") else dims)
        origin = None if origin == (format, dims) else origin
    return DescribedTensor(dtype, format, dims, _ranges(told, dims, where, what), origin, _constant(told, pack, what),
                  _of(told.get("dynamic_input", ""), str, f"'dynamic_input' of {what}"))  # fmt: skip


def _ranges(told: dict[str, Any], dims: Sequence[int], where: str, what: str) -> tuple[tuple[int, int], ...]:
    """A range for each dimension, where a size is not known: the file has one for each of those only."""
    given = [_of(one, list, f"'shape_range' of {what}") for one in _of(told.get("shape_range", []), list, what)]

    def refuse(why: str) -> AtcError:
        return AtcError("E13014", f"{where}: {what}: {why}")

    if _UNKNOWN_RANK in dims:
        if tuple(dims) != (_UNKNOWN_RANK,):
            raise refuse(f"'shape' is {list(dims)}; a shape of unknown rank is [-2]")
        if given:
            raise refuse("a shape of unknown rank has no 'shape_range'")
        return ()
    unknown = sum(size < 0 for size in dims)
    if len(given) != unknown:
        raise refuse(
            f"'shape_range' has {counted(len(given), 'range')} for {counted(unknown, 'unknown size')} in 'shape'"
        )
    for one in given:
        if len(one) != 2:
            raise refuse(f"a range is {one}; allowed: [lowest, highest], where -1 is no highest")
    ranges = iter([tuple(_of(end, int, f"'shape_range' of {what}") for end in one) for one in given])
    return tuple((size, size) if size >= 0 else next(ranges) for size in dims) if unknown else ()


def _constant(told: dict[str, Any], pack: str, what: str) -> bytes | None:
    if not _of(told.get("is_const", False), bool, f"'is_const' of {what}"):
        return None
    values = told.get("const_value")
    if not isinstance(values, list):
        return b""
    if not pack:
        raise AtcError("E13006", f"{what}: constants of type '{told['type']}'; allowed: "
                                 f"{', '.join(name for name, (_, pack) in _TYPES.items() if pack)}")  # fmt: skip
    numbers = [_of(one, float if pack in "efd" else int, f"'const_value' of {what}") for one in values]
    try:
        return struct.pack(f"<{len(numbers)}{pack}", *numbers)
    except (struct.error, OverflowError) as error:
        raise _Wrong(f"'const_value' of {what}: {error}") from error


def _attribute(told: dict[str, Any], type_: str) -> tuple[str, str, str]:
    name = _at(told, "name", str, f"an attribute of {type_}")
    what = f"attribute '{name}' of {type_}"
    kind_name = _at(told, "type", str, what)
    if not name:
        raise AtcError("E10029", f"an attribute of {type_} has no name")
    if kind_name not in _KINDS:
        # CANN notes E13006 and goes on without a value, with which E10030 ends it.
        raise AtcError("E10030", f"{what} has type '{kind_name}'; allowed: {', '.join(_KINDS)}")
    kind, element, depth = _KINDS[kind_name]
    value = told.get("value", _Wrong)
    if value is _Wrong:
        raise _Wrong(f"{what} has no 'value'")
    if kind == "dtype" and isinstance(value, str):
        number = _TYPE_NAMES.get(value.removeprefix("DT_"), _UNDEFINED) if value.startswith("DT_") else _UNDEFINED
        return name, kind, str({"DT_BF16": 27}.get(value, number))

    def written(given: Any, depth: int) -> str:
        if depth == 0:
            return _scalar(_of(given, element, what))
        parts = [written(one, depth - 1) for one in _of(given, list, what)]
        if depth == 2:
            return "|".join("" if part == "-" else part for part in parts) if parts else "-"
        return ",".join(parts) or "-"

    return name, kind, written(value, depth)


def _scalar(value: bool | int | float | str) -> str:
    if isinstance(value, str):
        return _word(value)
    if isinstance(value, float):
        return repr(value)
    return str(int(value))


def _listed(sizes: Sequence[int]) -> str:
    return ",".join(map(str, sizes)) or "-"


def _word(text: str) -> str:
    def shown() -> Iterator[str]:
        for byte in text.encode():
            character = chr(byte)
            yield character if byte < 128 and (character.isalnum() or character in "_./") else f"%{byte:02x}"

    return "".join(shown()) or "%"


def _check(one: SingleOperator, path: Path) -> None:
    library = ctypes.CDLL(str((active() or build()) / "lib64" / "libascendcl.so"))
    library.aclGetRecentErrMsg.restype = ctypes.c_char_p
    library.ophook_check_operator.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    data = path.read_bytes()
    code = library.ophook_check_operator(data, len(data))
    if code == 0:
        return
    why = (library.aclGetRecentErrMsg() or b"").decode().removeprefix("[simulated Ascend] ")
    where = f"{one.name or one.type}, of type {one.type}: {why}"
    raise AtcError("EZ3003" if code == _NOT_SUPPORTED else "E13014", where)


_NOT_SUPPORTED = 200001
