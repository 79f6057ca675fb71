"""Pictures: ``acl.media.dvpp_…`` over libacl_dvpp. Functions of video (``vdec_…``, ``venc_…``) are absent by name."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from typing import Any

from acl._library import DOUBLE, INT32, POINTER, SIZE, UINT32, UINT64, Out, absent, array, bind, value

_library = ctypes.CDLL("libacl_dvpp.so")
_BYTE, _SHORT = ctypes.c_uint8, ctypes.c_uint16

# Functions that return an error code, by what follows "acldvpp": what each takes, and writes.
_CODES: dict[str, tuple[type[Any] | Out, ...]] = {
    "Malloc": (Out(POINTER), SIZE),
    "CreateChannel": (POINTER,),
    "SetChannelDescMode": (POINTER, UINT32),
    "SetRoiConfig": (POINTER, UINT32, UINT32, UINT32, UINT32),
    "SetBorderConfigValue": (POINTER, UINT32, DOUBLE),
    "GetLutMapData": (POINTER, UINT32, Out(POINTER), Out(UINT32)),
    "GetHistData": (POINTER, UINT32, Out(POINTER), Out(_SHORT)),
    "ClearHist": (POINTER,),
    "VpcResizeAsync": (POINTER,) * 5,
    "VpcCropAsync": (POINTER,) * 5,
    "VpcCropResizeAsync": (POINTER,) * 6,
    "VpcCropAndPasteAsync": (POINTER,) * 6,
    "VpcCropResizePasteAsync": (POINTER,) * 7,
    "VpcConvertColorAsync": (POINTER,) * 4,
    "VpcMakeBorderAsync": (POINTER,) * 5,
    "VpcEqualizeHistAsync": (POINTER,) * 5,
    "VpcCalcHistAsync": (POINTER,) * 5,
    "VpcPyrDownAsync": (POINTER,) * 5,
    "JpegGetImageInfo": (POINTER, UINT32, Out(UINT32), Out(UINT32), Out(INT32)),
    "JpegGetImageInfoV2": (POINTER, UINT32, Out(UINT32), Out(UINT32), Out(INT32), Out(INT32)),
    "JpegPredictDecSize": (POINTER, UINT32, INT32, Out(UINT32)),
    "JpegPredictEncSize": (POINTER, POINTER, Out(UINT32)),
    "JpegDecodeAsync": (POINTER, POINTER, UINT32, POINTER, POINTER),
    "JpegEncodeAsync": (POINTER,) * 6,
    "PngGetImageInfo": (POINTER, UINT32, Out(UINT32), Out(UINT32), Out(INT32)),
    "PngPredictDecSize": (POINTER, UINT32, INT32, Out(UINT32)),
    "PngDecodeAsync": (POINTER, POINTER, UINT32, POINTER, POINTER),
}
_CODES |= {
    f"Destroy{what}": (POINTER,)
    for what in (
        *("Channel", "ChannelDesc", "PicDesc", "BatchPicDesc", "RoiConfig", "ResizeConfig", "JpegeConfig"),
        *("BorderConfig", "LutMap", "Hist", "StreamDesc"),
    )
}
_CODES["Free"] = (POINTER,)

# Functions that return a value: its type, and what each takes.
_VALUES: dict[str, tuple[type[Any], ...]] = {
    "CreateBatchPicDesc": (POINTER, UINT32),
    "CreateRoiConfig": (POINTER, UINT32, UINT32, UINT32, UINT32),
    "GetPicDesc": (POINTER, POINTER, UINT32),
    "GetChannelDescChannelId": (UINT64, POINTER),
    "GetBorderConfigValue": (DOUBLE, POINTER, UINT32),
    "GetLutMapDims": (UINT32, POINTER),
    "GetHistDims": (UINT32, POINTER),
    "GetHistRetCode": (UINT32, POINTER),
}
_VALUES |= {
    f"Create{what}": (POINTER,)
    for what in (
        *("ChannelDesc", "PicDesc", "ResizeConfig", "JpegeConfig", "BorderConfig", "LutMap", "Hist", "StreamDesc"),
    )
}

# Members that have a function to set them, and but for those of regions one to get them.
_MEMBERS = {
    "PicDesc": {"Data": POINTER, "Format": INT32}
    | dict.fromkeys(("Size", "Width", "Height", "WidthStride", "HeightStride", "RetCode"), UINT32),
    "StreamDesc": {"Data": POINTER, "Size": UINT32, "Format": INT32, "Timestamp": UINT64, "RetCode": UINT32}
    | {"Eos": _BYTE},
    "BorderConfig": {"BorderType": INT32} | dict.fromkeys(("Top", "Bottom", "Left", "Right"), UINT32),
    "RoiConfig": dict.fromkeys(("Left", "Right", "Top", "Bottom"), UINT32),
    "ResizeConfig": {"Interpolation": UINT32},
    "JpegeConfig": {"Level": UINT32},
}
for _what, _members in _MEMBERS.items():
    for _member, _kind in _members.items():
        _CODES[f"Set{_what}{_member}"] = (POINTER, _kind)
        if _what != "RoiConfig":
            _VALUES[f"Get{_what}{_member}"] = (_kind, POINTER)


def _named(function: str) -> str:
    return "dvpp_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", function).lower()


for _function, _parameters in _CODES.items():
    globals()[_named(_function)] = bind(f"acldvpp{_function}", *_parameters, library=_library)
for _function, (_kind, *_takes) in _VALUES.items():
    globals()[_named(_function)] = value(f"acldvpp{_function}", _kind, *_takes, library=_library)

_set_param = bind("acldvppSetChannelDescParam", POINTER, INT32, SIZE, POINTER, library=_library)
_get_param = bind("acldvppGetChannelDescParam", POINTER, INT32, SIZE, Out(SIZE), POINTER, library=_library)
_PARAM_KINDS = {2: UINT64, 5: INT32}  # the others have uint32_t


def dvpp_set_channel_desc_param(desc: int, param_type: int, param: int) -> tuple[int, int]:
    """Set a channel's parameter to a value; gives the description, and the error code."""
    kind = _PARAM_KINDS.get(param_type, UINT32)
    return desc, _set_param(desc, param_type, ctypes.sizeof(kind), ctypes.byref(kind(param)))


def dvpp_get_channel_desc_param(desc: int, param_type: int) -> tuple[int, int, int]:
    """The bytes of a channel's parameter, its value, and the error code."""
    found = _PARAM_KINDS.get(param_type, UINT32)()
    size, code = _get_param(desc, param_type, ctypes.sizeof(found), ctypes.byref(found))
    return size, found.value, code


def _batch(name: str, *more: str) -> Any:
    """The C function of this name over batches; arrays of handles are those of ``more`` that are "list"."""
    takes = (POINTER, POINTER, POINTER, UINT32, POINTER, POINTER, *(POINTER for _ in more), POINTER)
    function = bind(name, *takes, library=_library)

    def call(channel: int, source: int, counts: Sequence[int], result: int, crops: Sequence[int], given: Any) -> int:
        passed = [array(POINTER, one) if kind == "list" else one for kind, one in zip(more, given, strict=False)]
        stream = given[-1]
        code: int = function(
            *(channel, source, array(UINT32, counts), len(counts), result, array(POINTER, crops), *passed, stream)
        )
        return code

    return call


_crop = _batch("acldvppVpcBatchCropAsync")
_crop_resize = _batch("acldvppVpcBatchCropResizeAsync", "handle")
_crop_paste = _batch("acldvppVpcBatchCropAndPasteAsync", "list")
_crop_resize_paste = _batch("acldvppVpcBatchCropResizePasteAsync", "list", "handle")
_crop_resize_border = _batch("acldvppVpcBatchCropResizeMakeBorderAsync", "list", "handle")


def dvpp_vpc_batch_crop_async(
    channel: int, source: int, roi_nums: Sequence[int], result: int, crops: Sequence[int], stream: int
) -> tuple[int, int]:
    """Cut ``roi_nums[i]`` regions out of each picture of a batch; gives the batch of results, and the error code."""
    return result, _crop(channel, source, roi_nums, result, crops, (stream,))


def dvpp_vpc_batch_crop_and_paste_async(
    channel: int, source: int, roi_nums: Sequence[int], result: int, crops: Sequence[int], pastes: Sequence[int],
    stream: int,
) -> tuple[int, int]:  # fmt: skip
    """The same, each into a region of its result."""
    return result, _crop_paste(channel, source, roi_nums, result, crops, (pastes, stream))


def dvpp_vpc_batch_crop_resize_async(*given: Any) -> int:
    """As `dvpp_vpc_batch_crop_async` with a resize configuration before the stream; gives the error code alone."""
    return int(_crop_resize(*given[:5], given[5:]))


def dvpp_vpc_batch_crop_resize_paste_async(*given: Any) -> int:
    """The same with the regions to paste into before the resize configuration."""
    return int(_crop_resize_paste(*given[:5], given[5:]))


def dvpp_vpc_batch_crop_resize_make_border_async(*given: Any) -> int:
    """The same with a border for each result instead of regions."""
    return int(_crop_resize_border(*given[:5], given[5:]))


def __getattr__(name: str) -> Any:
    absent("acl.media", name)
