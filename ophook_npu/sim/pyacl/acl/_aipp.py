"""AIPP, the preprocessing of images in front of an offline model: what ``acl.mdl`` has of it."""

from __future__ import annotations

import ctypes
from typing import Any

from acl._dims import MOST, Dims
from acl._library import BYTE, FLOAT, INT32, POINTER, SIZE, UINT32, UINT64, Out, bind, runtime, value

_INT8, _INT16 = ctypes.c_int8, ctypes.c_int16


class _OutDims(ctypes.Structure):
    _fields_ = [("srcDims", Dims), ("srcSize", SIZE), ("aippOutdims", Dims), ("aippOutSize", SIZE)]

    def told(self) -> dict[str, Any]:
        return {
            "srcDims": self.srcDims.told(), "srcSize": self.srcSize,
            "aippOutdims": self.aippOutdims.told(), "aippOutSize": self.aippOutSize,
        }  # fmt: skip


def _fields(kind: type[Any], names: str) -> list[tuple[str, type[Any]]]:
    return [(name, kind) for name in names.split()]


class _Info(ctypes.Structure):
    _fields_ = [
        *_fields(INT32, "inputFormat srcImageSizeW srcImageSizeH"),
        *_fields(_INT8, "cropSwitch"),
        *_fields(INT32, "loadStartPosW loadStartPosH cropSizeW cropSizeH"),
        *_fields(_INT8, "resizeSwitch"),
        *_fields(INT32, "resizeOutputW resizeOutputH"),
        *_fields(_INT8, "paddingSwitch"),
        *_fields(INT32, "leftPaddingSize rightPaddingSize topPaddingSize bottomPaddingSize"),
        *_fields(_INT8, "cscSwitch rbuvSwapSwitch axSwapSwitch singleLineMode"),
        *_fields(INT32, "matrixR0C0 matrixR0C1 matrixR0C2 matrixR1C0 matrixR1C1 matrixR1C2"),
        *_fields(INT32, "matrixR2C0 matrixR2C1 matrixR2C2 outputBias0 outputBias1 outputBias2"),
        *_fields(INT32, "inputBias0 inputBias1 inputBias2 meanChn0 meanChn1 meanChn2 meanChn3"),
        *_fields(FLOAT, "minChn0 minChn1 minChn2 minChn3 varReciChn0 varReciChn1 varReciChn2 varReciChn3"),
        *_fields(INT32, "srcFormat srcDatatype"),
        *_fields(SIZE, "srcDimNum shapeCount"),
        ("outDims", _OutDims * MOST),
        ("aippExtend", POINTER),
    ]

    def told(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name, *_ in self._fields_}
        gears = [one.told() for one in self.outDims[: self.shapeCount]]
        return {**found, "outDims": gears, "aippExtend": self.aippExtend or 0}


create_aipp = value("aclmdlCreateAIPP", POINTER, UINT64)
destroy_aipp = bind("aclmdlDestroyAIPP", POINTER)
get_aipp_data_size = bind("aclmdlGetAippDataSize", UINT64, Out(SIZE))
get_aipp_type = bind("aclmdlGetAippType", UINT32, SIZE, Out(INT32), Out(SIZE))
set_aipp_input_format = bind("aclmdlSetAIPPInputFormat", POINTER, INT32)
set_aipp_csc_params = bind("aclmdlSetAIPPCscParams", POINTER, _INT8, *[_INT16] * 9, *[BYTE] * 6)
set_aipp_rbuv_swap_switch = bind("aclmdlSetAIPPRbuvSwapSwitch", POINTER, _INT8)
set_aipp_ax_swap_switch = bind("aclmdlSetAIPPAxSwapSwitch", POINTER, _INT8)
set_aipp_src_image_size = bind("aclmdlSetAIPPSrcImageSize", POINTER, INT32, INT32)
set_aipp_scf_params = bind("aclmdlSetAIPPScfParams", POINTER, _INT8, *[INT32] * 4, UINT64)
set_aipp_crop_params = bind("aclmdlSetAIPPCropParams", POINTER, _INT8, *[INT32] * 4, UINT64)
set_aipp_padding_params = bind("aclmdlSetAIPPPaddingParams", POINTER, _INT8, *[INT32] * 4, UINT64)
set_aipp_dtc_pixel_mean = bind("aclmdlSetAIPPDtcPixelMean", POINTER, *[_INT16] * 4, UINT64)
set_aipp_dtc_pixel_min = bind("aclmdlSetAIPPDtcPixelMin", POINTER, *[FLOAT] * 4, UINT64)
set_aipp_pixel_var_reci = bind("aclmdlSetAIPPPixelVarReci", POINTER, *[FLOAT] * 4, UINT64)
set_input_aipp = bind("aclmdlSetInputAIPP", UINT32, POINTER, SIZE, POINTER)
set_aipp_by_input_index = bind("aclmdlSetAIPPByInputIndex", UINT32, POINTER, SIZE, POINTER)

_first_info = runtime.aclmdlGetFirstAippInfo
_first_info.restype, _first_info.argtypes = ctypes.c_int, [UINT32, SIZE, POINTER]


def get_first_aipp_info(model_id: int, index: int) -> tuple[dict[str, Any] | None, int]:
    """The AIPP in front of an input, None where there is none, and the error code."""
    info = _Info()
    code: int = _first_info(model_id, index, ctypes.byref(info))
    return (None if code else info.told()), code
