"""pyACL over the simulated Ascend: ``acl.init``, ``acl.rt``, ``acl.util``, ``acl.op``, ``acl.mdl``.

As in CANN's: handles and addresses are int; what a C function writes is returned before its error code, ``(value,
ret)``; a function that writes nothing returns ``ret`` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acl import mdl, op, rt, util
from acl._library import FLOAT, HALF, INT32, INT64, POINTER, SIZE, TEXT, Out, absent, array, bind, value

__all__ = ["finalize", "init", "mdl", "op", "rt", "util"]

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
destroy_tensor_desc = value("aclDestroyTensorDesc", None, POINTER)
set_tensor_desc_name = value("aclSetTensorDescName", None, POINTER, TEXT)
set_tensor_format = bind("aclSetTensorFormat", POINTER, INT32)
get_tensor_desc_type = value("aclGetTensorDescType", INT32, POINTER)
get_tensor_desc_format = value("aclGetTensorDescFormat", INT32, POINTER)
get_tensor_desc_num_dims = value("aclGetTensorDescNumDims", SIZE, POINTER)
get_tensor_desc_dim_v2 = bind("aclGetTensorDescDimV2", POINTER, SIZE, Out(INT64))


def create_tensor_desc(data_type: int, dims: Sequence[int], format: int) -> int:
    """A description of a tensor; ``destroy_tensor_desc`` ends it."""
    found: int = _create_desc(data_type, len(dims), array(INT64, dims), format)
    return found


def set_tensor_shape(desc: int, dims: Sequence[int]) -> int:
    """Give a description another shape; gives the error code."""
    code: int = _set_shape(desc, len(dims), array(INT64, dims))
    return code


def __getattr__(name: str) -> Any:
    absent("acl", name)
