"""Operators by the name of their type."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from acl._library import BYTE, FLOAT, INT32, INT64, POINTER, TEXT, absent, array, bind, value

_compiler = ctypes.CDLL("libacl_op_compiler.so")

create_attr = value("aclopCreateAttr", POINTER)
destroy_attr = value("aclopDestroyAttr", None, POINTER)
set_attr_bool = bind("aclopSetAttrBool", POINTER, TEXT, BYTE)
set_attr_int = bind("aclopSetAttrInt", POINTER, TEXT, INT64)
set_attr_float = bind("aclopSetAttrFloat", POINTER, TEXT, FLOAT)
set_attr_string = bind("aclopSetAttrString", POINTER, TEXT, TEXT)
set_attr_data_type = bind("aclopSetAttrDataType", POINTER, TEXT, INT32)
_list_bool = bind("aclopSetAttrListBool", POINTER, TEXT, INT32, POINTER)
_list_int = bind("aclopSetAttrListInt", POINTER, TEXT, INT32, POINTER)
_list_float = bind("aclopSetAttrListFloat", POINTER, TEXT, INT32, POINTER)
_execute = bind(
    "aclopCompileAndExecute",
    TEXT, INT32, POINTER, POINTER, INT32, POINTER, POINTER, POINTER, INT32, INT32, TEXT, POINTER,
    library=_compiler,
)  # fmt: skip


def set_attr_list_bool(attr: int, name: str, values: Sequence[bool]) -> int:
    """Set an attribute to truth values; gives the error code."""
    code: int = _list_bool(attr, name, len(values), array(BYTE, values))
    return code


def set_attr_list_int(attr: int, name: str, values: Sequence[int]) -> int:
    """Set an attribute to integers; gives the error code."""
    code: int = _list_int(attr, name, len(values), array(INT64, values))
    return code


def set_attr_list_float(attr: int, name: str, values: Sequence[float]) -> int:
    """Set an attribute to floats; gives the error code."""
    code: int = _list_float(attr, name, len(values), array(FLOAT, values))
    return code


def compile_and_execute(
    op_type: str,
    input_desc: Sequence[int],
    inputs: Sequence[int],
    output_desc: Sequence[int],
    outputs: Sequence[int],
    attr: int,
    engine_type: int,
    compile_flag: int,
    op_path: str | None,
    stream: int,
) -> int:
    """Run an operator on a stream. ``inputs`` and ``outputs`` are data buffers; gives the error code."""
    given = (len(inputs), array(POINTER, input_desc), array(POINTER, inputs))
    made = (len(outputs), array(POINTER, output_desc), array(POINTER, outputs))
    code: int = _execute(op_type, *given, *made, attr, engine_type, compile_flag, op_path or None, stream)
    return code


def __getattr__(name: str) -> Any:
    absent("acl.op", name)
