"""pyACL over the simulated Ascend: ``acl.init``, ``acl.rt``, ``acl.util``, ``acl.op``, ``acl.blas``, ``acl.mdl``,
``acl.media``.

As in CANN's: handles and addresses are int; what a C function writes is returned before its error code, ``(value,
ret)``; a function that writes nothing returns ``ret`` alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from acl import blas, mdl, media, op, rt, util
from acl._library import FLOAT, HALF, INT32, INT64, POINTER, SIZE, TEXT, UINT32, Out, absent, array, bind, value

__all__ = ["blas", "finalize", "init", "mdl", "media", "op", "rt", "util"]

_init = bind("aclInit", TEXT)
finalize = bind("aclFinalize")


def init(config_path: str | None = None) -> int:
    """Start ACL, with a configuration file or without; gives the error code."""
    code: int = _init(config_path or None)
    return code


_soc_name = value("aclrtGetSocName", TEXT)
_message = value("aclGetRecentErrMsg", TEXT)


def get_soc_name() -> str | None:
    """The device's name, "Ascend910B4"."""
    found = _soc_name()
    return found.decode() if found else None


def get_recent_err_msg() -> str | None:
    """Why the last call of this thread failed; None if none did since it was asked."""
    found = _message()
    return found.decode() if found else None


_log = value("aclAppLog", None, INT32, TEXT, TEXT, UINT32, TEXT, TEXT)


def app_log(log_level: int, message: str) -> None:
    """Write a line of the program's own into CANN's log: 0 debug, 1 information, 2 warning, 3 error."""
    caller = sys._getframe(1)
    _log(log_level, caller.f_code.co_name, caller.f_code.co_filename, caller.f_lineno, "%s", message)


# ---- data types ----
data_type_size = value("aclDataTypeSize", SIZE, INT32)
float16_to_float = value("aclFloat16ToFloat", FLOAT, HALF)
float_to_float16 = value("aclFloatToFloat16", HALF, FLOAT)

# ---- data buffers ----
create_data_buffer = value("aclCreateDataBuffer", POINTER, POINTER, SIZE)
destroy_data_buffer = bind("aclDestroyDataBuffer", POINTER)
update_data_buffer = bind("aclUpdateDataBuffer", POINTER, POINTER, SIZE)
get_data_buffer_addr = value("aclGetDataBufferAddr", POINTER, POINTER)
get_data_buffer_size = value("aclGetDataBufferSizeV2", SIZE, POINTER)
get_data_buffer_size_v2 = get_data_buffer_size

# ---- descriptions of tensors ----
_create_desc = value("aclCreateTensorDesc", POINTER, INT32, INT32, POINTER, INT32)
_set_shape = bind("aclSetTensorShape", POINTER, INT32, POINTER)
_set_origin_shape = bind("aclSetTensorOriginShape", POINTER, INT32, POINTER)
_set_shape_range = bind("aclSetTensorShapeRange", POINTER, SIZE, POINTER)
_dim_range = bind("aclGetTensorDescDimRange", POINTER, SIZE, SIZE, POINTER)
_desc_name = value("aclGetTensorDescName", TEXT, POINTER)
destroy_tensor_desc = value("aclDestroyTensorDesc", None, POINTER)
set_tensor_desc_name = value("aclSetTensorDescName", None, POINTER, TEXT)
set_tensor_format = bind("aclSetTensorFormat", POINTER, INT32)
get_tensor_desc_type = value("aclGetTensorDescType", INT32, POINTER)
get_tensor_desc_format = value("aclGetTensorDescFormat", INT32, POINTER)
get_tensor_desc_num_dims = value("aclGetTensorDescNumDims", SIZE, POINTER)
set_tensor_storage_format = bind("aclSetTensorStorageFormat", POINTER, INT32)
set_tensor_origin_format = bind("aclSetTensorOriginFormat", POINTER, INT32)
set_tensor_dynamic_input = bind("aclSetTensorDynamicInput", POINTER, TEXT)
set_tensor_const = bind("aclSetTensorConst", POINTER, POINTER, SIZE)
set_tensor_place_ment = bind("aclSetTensorPlaceMent", POINTER, INT32)
get_tensor_desc_size = value("aclGetTensorDescSize", SIZE, POINTER)
get_tensor_desc_element_count = value("aclGetTensorDescElementCount", SIZE, POINTER)
get_tensor_desc_dim = value("aclGetTensorDescDim", INT64, POINTER, SIZE)
get_tensor_desc_by_index = value("aclGetTensorDescByIndex", POINTER, POINTER, SIZE)
get_tensor_desc_address = value("aclGetTensorDescAddress", POINTER, POINTER)
get_tensor_desc_dim_v2 = bind("aclGetTensorDescDimV2", POINTER, SIZE, Out(INT64))


def create_tensor_desc(data_type: int, dims: Sequence[int], format: int) -> int:
    """A description of a tensor; ``destroy_tensor_desc`` ends it."""
    found: int = _create_desc(data_type, len(dims), array(INT64, dims), format)
    return found


def set_tensor_shape(desc: int, dims: Sequence[int]) -> int:
    """Give a description another shape; gives the error code."""
    code: int = _set_shape(desc, len(dims), array(INT64, dims))
    return code


set_tensor_storage_shape = set_tensor_shape


def set_tensor_origin_shape(desc: int, dims: Sequence[int]) -> int:
    """Give what a tensor in a private format stands for another shape; gives the error code."""
    code: int = _set_origin_shape(desc, len(dims), array(INT64, dims))
    return code


def set_tensor_shape_range(desc: int, dims_range: Sequence[Sequence[int]]) -> int:
    """Give each dimension a range, ``[least, most]``, where -1 is no most; gives the error code."""
    code: int = _set_shape_range(desc, len(dims_range), array(INT64, [end for one in dims_range for end in one]))
    return code


def get_tensor_desc_dim_range(desc: int, index: int, dim_range_num: int) -> tuple[list[int], int]:
    """The range of a dimension, and the error code."""
    room = array(INT64, [0] * max(dim_range_num, 2))
    code: int = _dim_range(desc, index, dim_range_num, room)
    return list(room)[:dim_range_num], code


def get_tensor_desc_name(desc: int) -> str:
    """The name of a description; "" of one that has none."""
    return (_desc_name(desc) or b"").decode()


def __getattr__(name: str) -> Any:
    absent("acl", name)
