"""Image processing of AscendCL (acl/ops/acl_dvpp.h, libacl_dvpp), through pyACL and as C++ programs include it."""

from __future__ import annotations

import ctypes
import io
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import acl
import numpy
import pytest
from acl import media
from PIL import Image

from ophook_npu import sim, toolchain
from ophook_npu.sim.build import CSRC
from ophook_npu.sim.operators import refusals

YUV_400, NV12, NV21, RGB, BGR, RGBA, UNKNOWN = 0, 1, 2, 12, 13, 16, 10000
INVALID, UNSUPPORTED_JPEG, NOT_SIMULATED, NO_CODEC, FAILED = 100000, 148052, 200001, 200006, 507018
VPC, JPEGD = 1, 2
RANDOM = numpy.random.default_rng(7)
Pixels = numpy.ndarray[Any, numpy.dtype[numpy.uint8]]


def _copy(to: int, source: int, size: int, kind: int) -> None:
    assert acl.rt.memcpy(to, size, source, size, kind) == 0, acl.get_recent_err_msg()


class Picture:
    """A description with memory of its own; ``more`` overrides what the rows of ``pixels`` say."""

    def __init__(self, pixels: Pixels, format: int, width: int, height: int, **more: int) -> None:
        self.rows = numpy.ascontiguousarray(pixels)
        self.data, code = media.dvpp_malloc(self.rows.nbytes)
        assert code == 0 and self.data % 128 == 0
        _copy(self.data, acl.util.numpy_to_ptr(self.rows), self.rows.nbytes, 1)
        self.desc = media.dvpp_create_pic_desc()
        stride = self.rows.shape[1]
        self.set(data=self.data, size=self.rows.nbytes, format=format, width=width, height=height, width_stride=stride)
        self.set(**({"height_stride": height} | more))

    def set(self, **members: int) -> None:
        for name, value in members.items():
            assert getattr(media, f"dvpp_set_pic_desc_{name}")(self.desc, value) == 0
            assert getattr(media, f"dvpp_get_pic_desc_{name}")(self.desc) == value

    def read(self) -> Pixels:
        found = numpy.empty_like(self.rows)
        _copy(acl.util.numpy_to_ptr(found), self.data, found.nbytes, 2)
        return found


def grey(width: int, height: int) -> Pixels:
    return RANDOM.integers(0, 256, (height, width), dtype=numpy.uint8)


def picture(format: int, width: int, height: int, fill: int | None = None, **more: int) -> Picture:
    """Of random bytes, or of one value."""
    unit = {RGB: 3, BGR: 3, RGBA: 4}.get(format, 1)
    rows = height * 3 // 2 if format in (NV12, NV21) else height
    pixels = grey(width * unit, rows) if fill is None else numpy.full((rows, width * unit), fill, numpy.uint8)
    return Picture(pixels, format, width, height, **more)


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    assert acl.init() == 0 and acl.rt.set_device(0) == 0
    yield
    acl.get_recent_err_msg()


@pytest.fixture(scope="module")
def channel() -> int:
    acl.init(), acl.rt.set_device(0)
    found: int = media.dvpp_create_channel_desc()
    assert media.dvpp_create_channel(found) == 0
    return found


@pytest.fixture(scope="module")
def stream() -> int:
    acl.init(), acl.rt.set_device(0)
    found: int = acl.rt.create_stream()[0]
    return found


def settings(interpolation: int = 0) -> int:
    found: int = media.dvpp_create_resize_config()
    assert media.dvpp_set_resize_config_interpolation(found, interpolation) == 0
    return found


def done(code: int, stream: int) -> None:
    assert code == 0, acl.get_recent_err_msg()
    assert acl.rt.synchronize_stream(stream) == 0, acl.get_recent_err_msg()


def bilinear(plane: Pixels, width: int, height: int) -> Any:
    def places(size: int, to: int) -> tuple[Any, Any, Any]:
        at = numpy.clip((numpy.arange(to) + 0.5) * size / to - 0.5, 0, size - 1)
        first = at.astype(int)
        return first, numpy.minimum(first + 1, size - 1), at - first

    (top, bottom, down), (left, right, across) = places(plane.shape[0], height), places(plane.shape[1], width)
    value = plane.astype(float)
    value = value[top] * (1 - down)[:, None] + value[bottom] * down[:, None]
    return value[:, left] * (1 - across) + value[:, right] * across


def planes(rows: Pixels, width: int, height: int) -> tuple[Pixels, Pixels, Pixels]:
    shared = rows[height:, :width].reshape(height // 2, width // 2, 2)
    return rows[:height, :width], shared[..., 0], shared[..., 1]


# ---- VPC ----


def test_a_picture_is_resized_plane_by_plane(channel: int, stream: int) -> None:
    source, result = picture(NV12, 64, 48), picture(NV21, 100, 30, fill=0)
    done(media.dvpp_vpc_resize_async(channel, source.desc, result.desc, settings(1), stream), stream)
    assert media.dvpp_get_pic_desc_ret_code(result.desc) == 0
    y, u, v = planes(source.rows, 64, 48)
    for found, plane in zip(planes(result.read(), 100, 30), (y, v, u), strict=True):  # NV21: V is first
        expected = bilinear(plane, found.shape[1], found.shape[0])
        assert abs(found - expected).max() <= 0.51

    done(media.dvpp_vpc_resize_async(channel, source.desc, result.desc, settings(2), stream), stream)
    columns, rows = numpy.arange(100) * 64 // 100, numpy.arange(30) * 48 // 30
    assert (result.read()[:30] == y[rows][:, columns]).all()


def test_a_region_is_cut_out_and_pasted_and_what_lies_around_it_stays(channel: int, stream: int) -> None:
    source, result, canvas = picture(RGB, 40, 20), picture(BGR, 16, 8, fill=0), picture(RGBA, 64, 32, fill=9)
    crop, paste = media.dvpp_create_roi_config(3, 18, 5, 12), media.dvpp_create_roi_config(16, 31, 7, 14)
    done(media.dvpp_vpc_crop_async(channel, source.desc, result.desc, crop, stream), stream)
    expected = source.rows.reshape(20, 40, 3)[5:13, 3:19]
    assert (result.read().reshape(8, 16, 3)[..., ::-1] == expected).all()
    done(media.dvpp_vpc_crop_and_paste_async(channel, source.desc, canvas.desc, crop, paste, stream), stream)
    found = canvas.read().reshape(32, 64, 4)
    assert (found[7:15, 16:32, :3] == expected).all() and (found[7:15, 16:32, 3] == 0).all()
    found[7:15, 16:32] = 9
    assert (found == 9).all()

    assert media.dvpp_set_roi_config(paste, 0, 63, 0, 31) == 0
    size = settings(2)
    done(media.dvpp_vpc_crop_resize_paste_async(channel, source.desc, canvas.desc, crop, paste, size, stream), stream)
    assert (canvas.read().reshape(32, 64, 4)[::4, ::4, :3] == expected).all()
    done(media.dvpp_vpc_crop_resize_async(channel, source.desc, result.desc, crop, size, stream), stream)
    assert (result.read().reshape(8, 16, 3)[..., ::-1] == expected).all()


def test_rows_may_be_longer_than_the_picture(channel: int, stream: int) -> None:
    source = Picture(grey(48, 36), NV12, 32, 20, height_stride=24)
    result = Picture(grey(40, 36), NV12, 32, 20, height_stride=24)
    before = result.rows.copy()
    done(media.dvpp_vpc_resize_async(channel, source.desc, result.desc, settings(), stream), stream)
    found = result.read()
    assert (found[:20, :32] == source.rows[:20, :32]).all() and (found[24:34, :32] == source.rows[24:34, :32]).all()
    found[:20, :32] = before[:20, :32]
    found[24:34, :32] = before[24:34, :32]
    assert (found == before).all()


FORMATS = {  # components of a pixel, and how its bytes are made of Y, U and V that are the same everywhere
    0: lambda y, u, v, w, h: [[y] * w] * h,
    2: lambda y, u, v, w, h: [[y] * w] * h + [[v, u] * (w // 2)] * (h // 2),
    3: lambda y, u, v, w, h: [[y] * w] * h + [[u, v] * (w // 2)] * h,
    6: lambda y, u, v, w, h: [[y] * w] * h + [[v, u] * (w // 2)] * (2 * h),
    7: lambda y, u, v, w, h: [[y, u, y, v] * (w // 2)] * h,
    8: lambda y, u, v, w, h: [[u, y, v, y] * (w // 2)] * h,
    9: lambda y, u, v, w, h: [[y, v, y, u] * (w // 2)] * h,
    10: lambda y, u, v, w, h: [[v, y, u, y] * (w // 2)] * h,
    11: lambda y, u, v, w, h: [[y, u, v] * w] * h,
    1000: lambda y, u, v, w, h: [[y] * w] * h + [[u, v] * (w // 2)] * h,
}


@pytest.mark.parametrize("format", FORMATS)
def test_each_format_of_yuv_is_converted_to_nv12_and_back(channel: int, stream: int, format: int) -> None:
    there = numpy.array(FORMATS[format](50, 90, 200, 16, 8), numpy.uint8)
    source, result = Picture(there, format, 16, 8), picture(NV12, 16, 8, fill=0)
    back = Picture(numpy.zeros_like(there), format, 16, 8)
    done(media.dvpp_vpc_convert_color_async(channel, source.desc, result.desc, stream), stream)
    y, u, v = planes(result.read(), 16, 8)
    assert (y == 50).all() and (u == (90 if format else 128)).all() and (v == (200 if format else 128)).all()
    done(media.dvpp_vpc_convert_color_async(channel, result.desc, back.desc, stream), stream)
    assert (back.read() == there).all()


@pytest.mark.parametrize("matrix, red, blue, low, range", [
    (0, 0.299, 0.114, 0, 255), (1, 0.299, 0.114, 16, 219), (3, 0.2126, 0.0722, 16, 219), (4, 0.2627, 0.0593, 0, 255),
])  # fmt: skip
def test_colours_follow_the_channels_matrix(
    stream: int, matrix: int, red: float, blue: float, low: int, range: int
) -> None:
    channel = media.dvpp_create_channel_desc()
    assert media.dvpp_set_channel_desc_param(channel, 0, matrix) == (channel, 0)
    assert media.dvpp_get_channel_desc_param(channel, 0) == (4, matrix, 0)
    assert media.dvpp_create_channel(channel) == 0
    source = Picture(numpy.tile(RANDOM.integers(0, 256, (8, 12), dtype=numpy.uint8), (1, 4)), RGB, 16, 8)
    result, back = Picture(numpy.zeros((24, 16), numpy.uint8), 5, 16, 8), picture(RGB, 16, 8, fill=0)
    done(media.dvpp_vpc_convert_color_async(channel, source.desc, result.desc, stream), stream)
    r, g, b = numpy.moveaxis(source.rows.reshape(8, 16, 3).astype(float), 2, 0)
    luma = red * r + (1 - red - blue) * g + blue * b
    found = result.read()
    chroma = 255 if range == 255 else 224
    shared = found[8:].reshape(8, 16, 2)
    assert abs(found[:8] - (low + luma * range / 255)).max() <= 0.51
    for at, (part, share) in enumerate(((b, blue), (r, red))):
        expected = (part - luma) / (2 * (1 - share)) * chroma / 255 + 128
        assert abs(shared[..., at] - expected.clip(0, 255)).max() <= 0.51
    done(media.dvpp_vpc_convert_color_async(channel, result.desc, back.desc, stream), stream)
    assert abs(back.read().astype(int) - source.rows).max() <= 3
    assert media.dvpp_destroy_channel(channel) == media.dvpp_destroy_channel_desc(channel) == 0


def test_a_batch_gives_each_source_its_regions(channel: int, stream: int) -> None:
    sources, results = media.dvpp_create_batch_pic_desc(2), media.dvpp_create_batch_pic_desc(3)

    def fill(batch: int, one: Picture, index: int) -> None:
        desc = media.dvpp_get_pic_desc(batch, index)
        for name in ("data", "size", "format", "width", "height", "width_stride", "height_stride"):
            value = getattr(media, f"dvpp_get_pic_desc_{name}")(one.desc)
            assert getattr(media, f"dvpp_set_pic_desc_{name}")(desc, value) == 0

    inputs, outputs = [picture(NV12, 32, 16) for _ in range(2)], [picture(NV12, 16, 8, fill=0) for _ in range(3)]
    for index, one in enumerate(inputs):
        fill(sources, one, index)
    for index, one in enumerate(outputs):
        fill(results, one, index)
    crops = [media.dvpp_create_roi_config(left, left + 15, 4, 11) for left in (0, 8, 16)]
    code = media.dvpp_vpc_batch_crop_async(channel, sources, [1, 2], results, crops, stream)
    assert code[0] == results
    done(code[1], stream)
    for one, source, left in zip(outputs, (inputs[0], inputs[1], inputs[1]), (0, 8, 16), strict=True):
        assert (one.read()[:8] == source.rows[4:12, left : left + 16]).all()

    border, size = media.dvpp_create_border_config(), settings(2)
    for name, value in {"left": 4, "right": 2, "top": 0, "bottom": 2, "border_type": 0}.items():
        assert getattr(media, f"dvpp_set_border_config_{name}")(border, value) == 0
    for index, value in enumerate((20, 30, 40)):
        assert media.dvpp_set_border_config_value(border, index, value) == 0
    code = media.dvpp_vpc_batch_crop_resize_make_border_async(
        channel, sources, [1, 2], results, crops, [border] * 3, size, stream
    )
    done(code, stream)
    y, u, v = planes(outputs[2].read(), 16, 8)
    assert (y[:6, 4:14] == inputs[1].rows[4:12][numpy.arange(6) * 8 // 6][:, 16 + numpy.arange(10) * 16 // 10]).all()
    assert (y[:, :4] == 20).all() and (u[:, :2] == 30).all() and (v[3:] == 40).all()

    refused = media.dvpp_vpc_batch_crop_async(channel, sources, [1, 1], results, crops, stream)[1]
    assert refused == INVALID and "2 regions, 2 input and 3 output pictures" in acl.get_recent_err_msg()
    pasted = media.dvpp_vpc_batch_crop_and_paste_async(channel, sources, [1, 2], results, crops, crops, stream)[1]
    assert pasted == INVALID and "the region to paste goes from 0 to 15 and from 4 to 11" in acl.get_recent_err_msg()
    assert media.dvpp_destroy_pic_desc(media.dvpp_get_pic_desc(sources, 0)) == INVALID
    assert media.dvpp_destroy_batch_pic_desc(sources) == media.dvpp_destroy_batch_pic_desc(results) == 0
    assert media.dvpp_get_pic_desc(sources, 0) == 0


@pytest.mark.parametrize("border, mode", list(enumerate(("constant", "edge", "symmetric", "reflect"))))
def test_borders_are_numpys(channel: int, stream: int, border: int, mode: Any) -> None:
    source, result = picture(YUV_400, 20, 10), picture(YUV_400, 33, 19, fill=0)
    config = media.dvpp_create_border_config()
    for name, value in {"left": 6, "right": 7, "top": 5, "bottom": 4, "border_type": border}.items():
        assert getattr(media, f"dvpp_set_border_config_{name}")(config, value) == 0
    assert media.dvpp_set_border_config_value(config, 0, 77.0) == 0
    assert media.dvpp_get_border_config_value(config, 0) == 77.0
    done(media.dvpp_vpc_make_border_async(channel, source.desc, result.desc, config, stream), stream)
    more = {"constant_values": 77} if mode == "constant" else {}
    assert (result.read() == numpy.pad(source.rows, ((5, 4), (6, 7)), mode=mode, **more)).all()


def test_values_are_counted_and_mapped(channel: int, stream: int) -> None:
    source, result = picture(RGB, 32, 16), picture(RGB, 32, 16, fill=0)
    counts = media.dvpp_create_hist()
    done(media.dvpp_vpc_calc_hist_async(channel, source.desc, counts, 0, stream), stream)
    assert media.dvpp_get_hist_dims(counts) == 3 and media.dvpp_get_hist_ret_code(counts) == 0
    for part in range(3):
        data, length, code = media.dvpp_get_hist_data(counts, part)
        found = numpy.ctypeslib.as_array((ctypes.c_uint32 * length).from_address(data))
        assert code == 0
        assert (found == numpy.bincount(source.rows.reshape(-1, 3)[:, part], minlength=256)).all()
    assert media.dvpp_get_hist_data(counts, 3)[2] == INVALID

    table = media.dvpp_create_lut_map()
    assert media.dvpp_get_lut_map_dims(table) == 3
    for part in range(3):
        data, length, code = media.dvpp_get_lut_map_data(table, part)
        assert (length, code) == (256, 0)
        values = numpy.ctypeslib.as_array((ctypes.c_uint8 * 256).from_address(data))
        values[:] = (numpy.arange(256) * (part + 1)).astype(numpy.uint8)
    done(media.dvpp_vpc_equalize_hist_async(channel, source.desc, result.desc, table, stream), stream)
    expected = source.rows.reshape(16, 32, 3) * numpy.array([1, 2, 3], numpy.uint8)
    assert (result.read().reshape(16, 32, 3) == expected).all()


# ---- what is refused ----

REFUSALS = {
    "size": ({"width": 8}, INVALID, "the input picture is 8 wide and 16 high; allowed: 10 by 6 to 8192 by 8192"),
    "odd": ({"width": 31}, INVALID, "PIXEL_FORMAT_YUV_SEMIPLANAR_420 needs multiples of 2 and 2"),
    "stride": ({"width_stride": 30}, INVALID, "widthStride 30 of the input picture; allowed for"),
    "rows": ({"height_stride": 17}, INVALID, "heightStride 17 of the input picture; allowed for"),
    "room": ({"size": 767}, INVALID, "has 767 bytes (acldvppSetPicDescSize); PIXEL_FORMAT_YUV_SEMIPLANAR_420 with"),
    "memory": ({"data": 0}, INVALID, "the input picture has no memory (acldvppSetPicDescData)"),
    "format": ({"format": 20}, NOT_SIMULATED, "is not implemented by the simulator with a input picture of format 20"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_a_description_that_no_device_takes_is_refused(channel: int, stream: int, what: str) -> None:
    wrong, code, message = REFUSALS[what]
    source, result = picture(NV12, 32, 16), picture(NV12, 32, 16)
    source.set(**wrong)
    assert media.dvpp_vpc_resize_async(channel, source.desc, result.desc, settings(), stream) == code
    assert message in acl.get_recent_err_msg()


def test_a_wrong_call_says_what_it_lacks(channel: int, stream: int) -> None:
    def refused(code: int, message: str) -> None:
        told = acl.get_recent_err_msg()
        assert code == INVALID and message in told, (code, told)

    source, result = picture(NV12, 32, 16), picture(NV12, 32, 16)
    other = media.dvpp_create_channel_desc()
    call: Callable[..., int] = media.dvpp_vpc_crop_async
    region = media.dvpp_create_roi_config(0, 32, 0, 15)
    refused(call(other, source.desc, result.desc, region, stream), "the channel has not been created")
    assert media.dvpp_set_channel_desc_mode(other, JPEGD) == media.dvpp_create_channel(other) == 0
    refused(call(other, source.desc, result.desc, region, stream), "the channel's mode is 2; it needs one with 1")
    refused(media.dvpp_set_channel_desc_mode(other, VPC), "the channel has been created")
    refused(call(channel, 0, result.desc, region, stream), "the pointer that acldvppCreatePicDesc gives is null")
    refused(call(channel, region, result.desc, region, stream), "was not made by acldvppCreatePicDesc")
    refused(call(channel, source.desc, result.desc, region, stream), "goes from 0 to 32 and from 0 to 15; its picture")
    refused(media.dvpp_set_resize_config_interpolation(settings(), 6), "interpolation 6; allowed: 0 to 5")
    refused(media.dvpp_set_jpege_config_level(media.dvpp_create_jpege_config(), 101), "level 101; allowed: 0 to 100")
    refused(media.dvpp_malloc(0)[1], "size 0; neither may be 0")
    smaller = picture(NV12, 32, 14)
    refused(media.dvpp_vpc_convert_color_async(channel, source.desc, smaller.desc, stream), "the size has to stay")
    own = media.dvpp_vpc_resize_async(channel, source.desc, result.desc, settings(5), stream)
    assert own == NOT_SIMULATED and "Huawei's own filter" in acl.get_recent_err_msg()


def test_memory_that_was_freed_fails_the_task_and_the_picture_says_so(channel: int, stream: int) -> None:
    source, result = picture(NV12, 32, 16), picture(NV12, 32, 16)
    assert media.dvpp_free(source.data) == 0
    assert media.dvpp_vpc_resize_async(channel, source.desc, result.desc, settings(), stream) == 0
    assert acl.rt.synchronize_stream(stream) == FAILED
    assert "acldvppVpcResizeAsync: the input picture" in acl.get_recent_err_msg()
    assert media.dvpp_get_pic_desc_ret_code(result.desc) == FAILED


def test_descriptions_may_be_destroyed_before_the_task_has_run(channel: int, stream: int) -> None:
    source, result = picture(NV12, 32, 16), picture(NV12, 32, 16, fill=0)
    assert media.dvpp_vpc_resize_async(channel, source.desc, result.desc, settings(), stream) == 0
    assert media.dvpp_destroy_pic_desc(source.desc) == media.dvpp_destroy_pic_desc(result.desc) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert (result.read() == source.rows).all()
    assert media.dvpp_destroy_pic_desc(source.desc) == INVALID


OTHER_PRODUCTS = """
import acl
from acl import media as m
acl.init(), acl.rt.set_device(0)
channel = m.dvpp_create_channel_desc()
print(bool(channel), acl.get_recent_err_msg())
if channel:
    m.dvpp_create_channel(channel)
    made = []
    for _ in range(2):
        made.append(m.dvpp_create_pic_desc())
        parts = dict(data=m.dvpp_malloc(1536)[0], size=1536, format=1, width=20, height=16, width_stride=32)
        for name, value in (parts | {"height_stride": 16}).items():
            getattr(m, f"dvpp_set_pic_desc_{name}")(made[-1], value)
    region = m.dvpp_create_roi_config(8, 17, 0, 15)
    print(m.dvpp_vpc_crop_async(channel, *made, region, 0), m.dvpp_vpc_crop_and_paste_async(channel, *made, region,
          region, 0), acl.get_recent_err_msg())
    m.dvpp_set_pic_desc_width_stride(made[0], 24)
    print(m.dvpp_vpc_crop_async(channel, *made, region, 0), acl.get_recent_err_msg())
"""


def test_ascend310p_asks_for_multiples_of_16_and_ascend950_has_none_of_it(run_sim: Any) -> None:
    older = run_sim(OTHER_PRODUCTS, "--soc", "Ascend310P3", anew=True).stdout
    assert "True None\n0 100000 " in older and "begins at 8; allowed on Ascend310P: multiples of 16" in older
    assert "widthStride 24 of the input picture; allowed for PIXEL_FORMAT_YUV_SEMIPLANAR_420, 20 wide: mult" in older
    newer = run_sim(OTHER_PRODUCTS, "--soc", "Ascend950PR_9589", anew=True).stdout
    assert "False [simulated Ascend] acldvppCreateChannelDesc: Ascend950PR_9589 does not have it" in newer


# ---- JPEG and PNG ----


def smooth(width: int, height: int) -> Image.Image:
    across, down = numpy.arange(width) * 255 // width, numpy.arange(height) * 255 // height
    parts = numpy.broadcast_arrays(across[None], down[:, None], (across[None] + down[:, None]) // 2)
    return Image.fromarray(numpy.stack(parts, -1).astype(numpy.uint8))


def encoded(image: Image.Image, kind: str = "jpeg", **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def info(data: bytes) -> tuple[int, ...]:
    return tuple(media.dvpp_jpeg_get_image_info_v2(acl.util.bytes_to_ptr(data), len(data)))


@pytest.mark.parametrize("subsampling, format, factor", [(0, 0, 6), (1, 1, 4), (2, 2, 3)])
def test_a_jpeg_says_its_size_and_what_it_takes(subsampling: int, format: int, factor: int) -> None:
    data = encoded(smooth(100, 50), subsampling=subsampling)
    assert info(data) == (100, 50, 3, format, 0)
    pointer = acl.util.bytes_to_ptr(data)
    assert media.dvpp_jpeg_get_image_info(pointer, len(data)) == (100, 50, 3, 0)
    assert media.dvpp_jpeg_predict_dec_size(pointer, len(data), NV12) == (128 * 64 * 3 // 2, 0)
    assert media.dvpp_jpeg_predict_dec_size(pointer, len(data), UNKNOWN) == (128 * 64 * factor // 2, 0)
    assert media.dvpp_jpeg_predict_dec_size(pointer, len(data), RGB)[1] == INVALID


def test_what_is_no_jpeg_that_a_chip_decodes_is_refused() -> None:
    assert info(encoded(smooth(32, 32), progressive=True))[-1] == UNSUPPORTED_JPEG
    assert "it is progressive" in acl.get_recent_err_msg()
    assert info(encoded(smooth(32, 32).convert("L"))) == (32, 32, 1, 3, 0)
    whole = encoded(smooth(32, 32))
    for size in (0, 1, 3, 30, whole.index(b"\xff\xc0") + 9):
        assert info(whole[:size])[-1] == INVALID
    for at in range(2, 200):  # nothing of a broken file is read past its end
        info(whole[:at] + b"\xff" * 8), info(whole[:at] + b"\xff\xe1\xff\xffExif\0\0II")
    device, _ = media.dvpp_malloc(64)
    assert media.dvpp_jpeg_get_image_info(device, 64)[-1] == INVALID
    assert "data has to be host memory" in acl.get_recent_err_msg()


def given(data: bytes) -> int:
    device: int = media.dvpp_malloc(len(data))[0]
    _copy(device, acl.util.bytes_to_ptr(data), len(data), 1)
    return device


def _there(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def test_a_jpeg_is_decoded_and_encoded_where_the_machine_has_a_codec(channel: int, stream: int) -> None:
    image = smooth(96, 63)
    data = encoded(image, subsampling=2, quality=95)
    result = Picture(numpy.zeros((96, 128), numpy.uint8), NV12, 0, 0, height_stride=64)
    source = given(data)
    code = media.dvpp_jpeg_decode_async(channel, source, len(data), result.desc, stream)
    if not _there("libturbojpeg.so.0"):
        assert code == NO_CODEC and "apt install libturbojpeg0" in acl.get_recent_err_msg()
        return
    done(code, stream)
    got = [getattr(media, f"dvpp_get_pic_desc_{name}")(result.desc) for name in ("width", "height", "format")]
    assert got == [96, 62, NV12]  # down to an even number
    expected = numpy.asarray(image.convert("YCbCr")).astype(int)
    found = result.read()
    assert abs(found[:62, :96] - expected[:62, :, 0]).max() <= 6
    assert abs(found[64:95, 0:96:2] - expected[:62:2, ::2, 1]).max() <= 6

    settings = media.dvpp_create_jpege_config()
    room, code = media.dvpp_jpeg_predict_enc_size(result.desc, settings)
    assert code == 0
    file, size = media.dvpp_malloc(room)[0], numpy.array([room], numpy.uint32)
    pointer = acl.util.numpy_to_ptr(size)
    done(media.dvpp_jpeg_encode_async(channel, result.desc, file, pointer, settings, stream), stream)
    assert 300 < size[0] < room
    back = numpy.zeros(size[0], numpy.uint8)
    _copy(acl.util.numpy_to_ptr(back), file, back.nbytes, 2)
    again = numpy.asarray(Image.open(io.BytesIO(back.tobytes()))).astype(int)
    assert abs(again - numpy.asarray(image)[:62]).max() <= 14

    # As the camera was held: the 96 by 63 pixels stand on their side.
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = encoded(image, subsampling=2, quality=95, exif=exif)
    result = Picture(numpy.zeros((144, 64), numpy.uint8), NV12, 0, 0, height_stride=96)
    done(media.dvpp_jpeg_decode_async(channel, given(turned), len(turned), result.desc, stream), stream)
    upright = numpy.asarray(image.transpose(Image.Transpose.ROTATE_270).convert("YCbCr")).astype(int)
    assert abs(result.read()[:96, :62] - upright[:96, :62, 0]).max() <= 6

    result.set(width_stride=32 * 2, height_stride=16)
    assert media.dvpp_jpeg_decode_async(channel, source, len(data), result.desc, stream) == 0
    assert acl.rt.synchronize_stream(stream) == FAILED
    assert "96 by 62 as PIXEL_FORMAT_YUV_SEMIPLANAR_420 into strides 64 and 16" in acl.get_recent_err_msg()


def test_a_png_is_decoded_where_the_machine_has_a_codec(channel: int, stream: int) -> None:
    image = smooth(100, 40)
    data = encoded(image, "png")
    pointer = acl.util.bytes_to_ptr(data)
    assert media.dvpp_png_get_image_info(pointer, len(data)) == (100, 40, 3, 0)
    assert media.dvpp_png_predict_dec_size(pointer, len(data), RGB) == (128 * 3 * 48, 0)
    assert media.dvpp_png_predict_dec_size(pointer, len(data), RGBA)[1] == INVALID
    result = Picture(numpy.zeros((48, 384), numpy.uint8), UNKNOWN, 0, 0, height_stride=48)
    code = media.dvpp_png_decode_async(channel, given(data), len(data), result.desc, stream)
    if not _there("libpng16.so.16"):
        assert code == NO_CODEC and "apt install libpng16-16" in acl.get_recent_err_msg()
        return
    done(code, stream)
    assert media.dvpp_get_pic_desc_format(result.desc) == RGB
    assert (result.read()[:40, :300].reshape(40, 100, 3) == numpy.asarray(image)).all()
    image.putalpha(99)
    alpha = encoded(image, "png")
    with_alpha = Picture(numpy.zeros((48, 512), numpy.uint8), RGBA, 0, 0, height_stride=48)
    done(media.dvpp_png_decode_async(channel, given(alpha), len(alpha), with_alpha.desc, stream), stream)
    assert (with_alpha.read()[:40, :400].reshape(40, 100, 4) == numpy.asarray(image)).all()
    palette = encoded(image.convert("P"), "png")
    assert media.dvpp_png_get_image_info(acl.util.bytes_to_ptr(palette), len(palette))[-1] == INVALID


# ---- the header ----


def _declared() -> list[str]:
    """As a compiler sees the header: a row of it is a setter and a getter."""
    root = sim.active()
    assert root is not None
    header = CSRC / "include" / "acl" / "ops" / "acl_dvpp.h"
    command = [*toolchain.compiler(), "-E", "-P", f"-I{root / 'include'}", str(header)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.findall(r"\b(acl(?:dvpp|vdec|venc)\w+)\(", text)


def test_the_header_compiles_and_every_function_of_it_links(tmp_path: Path) -> None:
    root = sim.active()
    assert root is not None
    names = _declared()
    assert len(names) == len(set(names)) > 170
    used = "".join(f"  (void*)&{name},\n" for name in names)
    body = f"#include <acl/ops/acl_dvpp.h>\nvoid* used[] = {{\n{used}}};\nint main() {{ return !used[0]; }}\n"
    for name, standard in (("used.c", "c11"), ("used.cpp", "c++11")):
        (tmp_path / name).write_text(body.replace("main()", "main(void)") if name == "used.c" else body)
        language = "c" if name == "used.c" else "c++"
        command = [*toolchain.compiler(), "-x", language, f"-std={standard}", "-Wall", "-Werror"]
        command += [str(tmp_path / name), f"-I{root / 'include'}", f"-L{root / 'lib64'}", "-lacl_dvpp", "-lascendcl"]
        built = subprocess.run([*command, "-o", str(tmp_path / "used")], capture_output=True, text=True, timeout=60)
        assert built.returncode == 0, built.stderr[-2000:]
    subprocess.run([tmp_path / "used"], check=True)


def test_video_is_refused_by_name() -> None:
    library = ctypes.CDLL("libacl_dvpp.so")
    rows = [(macro, name) for macro, _, name in refusals(CSRC / "dvpp" / "refused" / "refused.inc")]
    assert {name for _, name in rows} - {"acldvppVpcPyrDownAsync"} == {
        name for name in _declared() if re.match("aclv(dec|enc)", name)
    }
    for macro, name in rows:
        of_no_code, on_310p = "_POINTER" in macro or "_NUMBER" in macro, macro.endswith("_ELSEWHERE")
        code = getattr(library, name)()
        assert code == (0 if of_no_code else 207000 if on_310p else NOT_SIMULATED), name
        told = acl.get_recent_err_msg()
        assert f"{name}: Ascend910B4 does not have it" in told if on_310p else f"{name} is not implemented" in told
    with pytest.raises(AttributeError, match=r"acl\.media\.vdec_create_channel_desc is not implemented"):
        media.vdec_create_channel_desc()
