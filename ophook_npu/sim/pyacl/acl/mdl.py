"""Offline models (.om): loaded, described and run."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

from acl._aipp import (  # noqa: F401
    create_aipp,
    destroy_aipp,
    get_aipp_data_size,
    get_aipp_type,
    get_first_aipp_info,
    set_aipp_ax_swap_switch,
    set_aipp_by_input_index,
    set_aipp_crop_params,
    set_aipp_csc_params,
    set_aipp_dtc_pixel_mean,
    set_aipp_dtc_pixel_min,
    set_aipp_input_format,
    set_aipp_padding_params,
    set_aipp_pixel_var_reci,
    set_aipp_rbuv_swap_switch,
    set_aipp_scf_params,
    set_aipp_src_image_size,
    set_input_aipp,
)
from acl._dims import MOST, Dims
from acl._library import INT32, INT64, POINTER, SIZE, TEXT, UINT32, UINT64, Out, absent, bind, runtime, value


class _Range(ctypes.Structure):
    _fields_ = [("rangeCount", SIZE), ("range", (INT64 * 2) * MOST)]

    def told(self) -> dict[str, Any]:
        return {"rangeCount": self.rangeCount, "range": [list(one) for one in self.range[: self.rangeCount]]}


class _Batch(ctypes.Structure):
    _fields_ = [("batchCount", SIZE), ("batch", UINT64 * MOST)]

    def told(self) -> dict[str, Any]:
        return {"batchCount": self.batchCount, "batch": list(self.batch[: self.batchCount])}


class _Size(ctypes.Structure):
    _fields_ = [("hwCount", SIZE), ("hw", (UINT64 * 2) * MOST)]

    def told(self) -> dict[str, Any]:
        return {"hwCount": self.hwCount, "hw": [list(one) for one in self.hw[: self.hwCount]]}


def _telling(name: str, written: type[Any], *parameters: type[Any]) -> Callable[..., tuple[dict[str, Any], int]]:
    """The Python function of one that writes a structure behind these parameters: it gives a dict and the code."""
    function = getattr(runtime, name)
    function.restype, function.argtypes = ctypes.c_int, [*parameters, POINTER]

    def call(*given: Any) -> tuple[dict[str, Any], int]:
        made = written()
        code = function(*given, ctypes.byref(made))
        return made.told(), code

    call.__name__ = call.__qualname__ = name
    return call


# ---- loading ----
load_from_file = bind("aclmdlLoadFromFile", TEXT, Out(UINT32))
load_from_mem = bind("aclmdlLoadFromMem", POINTER, SIZE, Out(UINT32))
load_from_file_with_mem = bind("aclmdlLoadFromFileWithMem", TEXT, Out(UINT32), POINTER, SIZE, POINTER, SIZE)
load_from_mem_with_mem = bind("aclmdlLoadFromMemWithMem", POINTER, SIZE, Out(UINT32), POINTER, SIZE, POINTER, SIZE)
query_size = bind("aclmdlQuerySize", TEXT, Out(SIZE), Out(SIZE))
query_size_from_mem = bind("aclmdlQuerySizeFromMem", POINTER, SIZE, Out(SIZE), Out(SIZE))
unload = bind("aclmdlUnload", UINT32)

# ---- running ----
execute = bind("aclmdlExecute", UINT32, POINTER, POINTER)
execute_async = bind("aclmdlExecuteAsync", UINT32, POINTER, POINTER, POINTER)
set_dynamic_batch_size = bind("aclmdlSetDynamicBatchSize", UINT32, POINTER, SIZE, UINT64)
set_dynamic_hw_size = bind("aclmdlSetDynamicHWSize", UINT32, POINTER, SIZE, UINT64, UINT64)
_set_dims = bind("aclmdlSetInputDynamicDims", UINT32, POINTER, SIZE, POINTER)

# ---- datasets ----
create_dataset = value("aclmdlCreateDataset", POINTER)
destroy_dataset = bind("aclmdlDestroyDataset", POINTER)
get_dataset_num_buffers = value("aclmdlGetDatasetNumBuffers", SIZE, POINTER)
get_dataset_buffer = value("aclmdlGetDatasetBuffer", POINTER, POINTER, SIZE)
get_dataset_tensor_desc = value("aclmdlGetDatasetTensorDesc", POINTER, POINTER, SIZE)
_add_buffer = bind("aclmdlAddDatasetBuffer", POINTER, POINTER)
_set_desc = bind("aclmdlSetDatasetTensorDesc", POINTER, POINTER, SIZE)

# ---- descriptions ----
create_desc = value("aclmdlCreateDesc", POINTER)
destroy_desc = bind("aclmdlDestroyDesc", POINTER)
get_desc = bind("aclmdlGetDesc", POINTER, UINT32)
get_desc_from_file = bind("aclmdlGetDescFromFile", POINTER, TEXT)
get_desc_from_mem = bind("aclmdlGetDescFromMem", POINTER, POINTER, SIZE)
get_num_inputs = value("aclmdlGetNumInputs", SIZE, POINTER)
get_num_outputs = value("aclmdlGetNumOutputs", SIZE, POINTER)
get_input_size_by_index = value("aclmdlGetInputSizeByIndex", SIZE, POINTER, SIZE)
get_output_size_by_index = value("aclmdlGetOutputSizeByIndex", SIZE, POINTER, SIZE)
get_input_format = value("aclmdlGetInputFormat", INT32, POINTER, SIZE)
get_output_format = value("aclmdlGetOutputFormat", INT32, POINTER, SIZE)
get_input_data_type = value("aclmdlGetInputDataType", INT32, POINTER, SIZE)
get_output_data_type = value("aclmdlGetOutputDataType", INT32, POINTER, SIZE)
get_input_index_by_name = bind("aclmdlGetInputIndexByName", POINTER, TEXT, Out(SIZE))
get_output_index_by_name = bind("aclmdlGetOutputIndexByName", POINTER, TEXT, Out(SIZE))
get_input_dynamic_gear_count = bind("aclmdlGetInputDynamicGearCount", POINTER, SIZE, Out(SIZE))
get_input_dims = _telling("aclmdlGetInputDims", Dims, POINTER, SIZE)
get_input_dims_v2 = _telling("aclmdlGetInputDimsV2", Dims, POINTER, SIZE)
get_input_dims_range = _telling("aclmdlGetInputDimsRange", _Range, POINTER, SIZE)
get_output_dims = _telling("aclmdlGetOutputDims", Dims, POINTER, SIZE)
get_cur_output_dims = _telling("aclmdlGetCurOutputDims", Dims, POINTER, SIZE)
get_dynamic_batch = _telling("aclmdlGetDynamicBatch", _Batch, POINTER)
get_dynamic_hw = _telling("aclmdlGetDynamicHW", _Size, POINTER, SIZE)
_input_name = value("aclmdlGetInputNameByIndex", TEXT, POINTER, SIZE)
_output_name = value("aclmdlGetOutputNameByIndex", TEXT, POINTER, SIZE)
_real_name = value("aclmdlGetTensorRealName", TEXT, POINTER, TEXT)
_dynamic_dims = bind("aclmdlGetInputDynamicDims", POINTER, SIZE, POINTER, SIZE)


def add_dataset_buffer(dataset: int, buffer: int) -> tuple[int, int]:
    """Put a data buffer behind the others of a dataset; gives the dataset and the error code."""
    return dataset, _add_buffer(dataset, buffer)


def set_dataset_tensor_desc(dataset: int, desc: int, index: int) -> tuple[int, int]:
    """Say the shape of a tensor whose shape is dynamic; gives the dataset and the error code."""
    return dataset, _set_desc(dataset, desc, index)


def set_input_dynamic_dims(model_id: int, dataset: int, index: int, dims: Mapping[str, Any]) -> int:
    """Choose a gear by the sizes of all inputs, ``{"dimCount": 3, "dims": [1, 3, 8]}``; gives the error code."""
    given = Dims()
    given.dimCount = dims["dimCount"]
    given.dims[: len(dims["dims"])] = dims["dims"]
    code: int = _set_dims(model_id, dataset, index, ctypes.addressof(given))
    return code


def get_input_dynamic_dims(desc: int, index: int, gear_count: int) -> tuple[list[dict[str, Any]], int]:
    """The sizes of all inputs in each gear, and the error code."""
    gears = (Dims * max(gear_count, 1))()
    code: int = _dynamic_dims(desc, index, ctypes.addressof(gears), gear_count)
    return [one.told() for one in gears[:gear_count]], code


def get_input_name_by_index(desc: int, index: int) -> str:
    """The name of an input."""
    return (_input_name(desc, index) or b"").decode()


def get_output_name_by_index(desc: int, index: int) -> str:
    """The name of an output: node, port and the name that the model gives it."""
    return (_output_name(desc, index) or b"").decode()


def get_tensor_real_name(desc: int, name: str) -> str | None:
    """The name that stands in the model, of one that was too long for a description; None where there is none."""
    found = _real_name(desc, name)
    return found.decode() if found else None


def __getattr__(name: str) -> Any:
    absent("acl.mdl", name)
