"""Operators by the name of their type."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from acl._library import (
    BYTE,
    FLOAT,
    INT32,
    INT64,
    POINTER,
    SIZE,
    TEXT,
    UINT64,
    Out,
    absent,
    array,
    bind,
    value,
)

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
_list_data_type = bind("aclopSetAttrListDataType", POINTER, TEXT, INT32, POINTER)
_list_string = bind("aclopSetAttrListString", POINTER, TEXT, INT32, POINTER)
_list_list_int = bind("aclopSetAttrListListInt", POINTER, TEXT, INT32, POINTER, POINTER)

# An operator as the functions have it: its type, its inputs, its outputs and its attributes; descriptions, or these
# and their buffers.
_DESCRIBED = (TEXT, INT32, POINTER, INT32, POINTER, POINTER)
_GIVEN = (TEXT, INT32, POINTER, POINTER, INT32, POINTER, POINTER, POINTER)
_compile = bind("aclopCompile", *_DESCRIBED, INT32, INT32, TEXT, library=_compiler)
_infer_shape = bind("aclopInferShape", TEXT, INT32, POINTER, POINTER, INT32, POINTER, POINTER)
_create_handle = bind("aclopCreateHandle", *_DESCRIBED, Out(POINTER))
_execute_with_handle = bind("aclopExecWithHandle", POINTER, INT32, POINTER, INT32, POINTER, POINTER)

set_model_dir = bind("aclopSetModelDir", TEXT)
load = bind("aclopLoad", POINTER, SIZE)
set_max_op_queue_num = bind("aclopSetMaxOpQueueNum", UINT64)
set_compile_flag = bind("aclopSetCompileFlag", INT32, library=_compiler)
destroy_handle = value("aclopDestroyHandle", None, POINTER)
cast = bind("aclopCast", POINTER, POINTER, POINTER, POINTER, BYTE, POINTER)
create_handle_for_cast = bind("aclopCreateHandleForCast", POINTER, POINTER, BYTE, Out(POINTER))


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


def set_attr_list_data_type(attr: int, name: str, values: Sequence[int]) -> int:
    """Set an attribute to data types; gives the error code."""
    code: int = _list_data_type(attr, name, len(values), array(INT32, values))
    return code


def set_attr_list_string(attr: int, name: str, values: Sequence[str]) -> int:
    """Set an attribute to texts; gives the error code."""
    code: int = _list_string(attr, name, len(values), array(TEXT, values))
    return code


def set_attr_list_list_int(attr: int, name: str, values: Sequence[Sequence[int]]) -> int:
    """Set an attribute to lists of integers; gives the error code."""
    lists = [array(INT64, one) for one in values]
    addresses = array(POINTER, [ctypes.addressof(one) for one in lists])
    code: int = _list_list_int(attr, name, len(lists), array(INT32, [len(one) for one in values]), addresses)
    return code


def _described(inputs: Sequence[int], outputs: Sequence[int]) -> tuple[Any, ...]:
    return len(inputs), array(POINTER, inputs), len(outputs), array(POINTER, outputs)


def _given(
    input_desc: Sequence[int], inputs: Sequence[int], output_desc: Sequence[int], outputs: Sequence[int]
) -> tuple[Any, ...]:
    read = (len(input_desc), array(POINTER, input_desc), array(POINTER, inputs))
    return *read, len(output_desc), array(POINTER, output_desc), array(POINTER, outputs)


def compile(
    op_type: str,
    input_desc: Sequence[int],
    output_desc: Sequence[int],
    attr: int,
    engine_type: int,
    compile_flag: int,
    op_path: str | None,
) -> int:
    """Compile an operator, which is found by what describes it here; gives the error code."""
    described = _described(input_desc, output_desc)
    code: int = _compile(op_type, *described, attr, engine_type, compile_flag, op_path or None)
    return code


def _running(name: str) -> Callable[..., int]:
    function: Callable[..., int] = bind(name, *_GIVEN, POINTER)

    def run(
        op_type: str,
        input_desc: Sequence[int],
        inputs: Sequence[int],
        output_desc: Sequence[int],
        outputs: Sequence[int],
        attr: int,
        stream: int,
    ) -> int:
        """Run an operator that was loaded or compiled; gives the error code."""
        return function(op_type, *_given(input_desc, inputs, output_desc, outputs), attr, stream)

    return run


execute = _running("aclopExecute")
# It gives the descriptions of outputs the sizes that only running tells, too.
execute_v2 = _running("aclopExecuteV2")


def create_handle(op_type: str, input_desc: Sequence[int], output_desc: Sequence[int], op_attr: int) -> tuple[int, int]:
    """A handle of an operator that was loaded or compiled, and the error code; ``destroy_handle`` ends it."""
    found: tuple[int, int] = _create_handle(op_type, *_described(input_desc, output_desc), op_attr)
    return found


def execute_with_handle(handle: int, inputs: Sequence[int], outputs: Sequence[int], stream: int) -> int:
    """Run the operator of a handle; gives the error code."""
    code: int = _execute_with_handle(handle, *_described(inputs, outputs), stream)
    return code


def infer_shape(
    op_type: str,
    in_desc_list: Sequence[int],
    in_list: Sequence[int],
    num_outputs: int,
    out_desc_list: Sequence[int],
    attr: int,
) -> int:
    """Give descriptions of outputs the shapes that follow from the inputs; gives the error code."""
    read = (len(in_list), array(POINTER, in_desc_list), array(POINTER, in_list))
    code: int = _infer_shape(op_type, *read, num_outputs, array(POINTER, out_desc_list), attr)
    return code


def _compiling(name: str) -> Callable[..., int]:
    function: Callable[..., int] = bind(name, *_GIVEN, INT32, INT32, TEXT, POINTER, library=_compiler)

    def run(
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
        given = _given(input_desc, inputs, output_desc, outputs)
        return function(op_type, *given, attr, engine_type, compile_flag, op_path or None, stream)

    return run


compile_and_execute = _compiling("aclopCompileAndExecute")
compile_and_execute_v2 = _compiling("aclopCompileAndExecuteV2")  # as execute_v2


def __getattr__(name: str) -> Any:
    absent("acl.op", name)
