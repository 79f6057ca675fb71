"""AIPP: images in front of offline models, with the formulas of the pages in NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import acl
import numpy as np
import pytest
from offline import KEPT, Loaded, converted, loaded
from onnx import TensorProto, helper

from ophook_npu.sim.atc.errors import AtcError

RANDOM = np.random.default_rng(0)
FORMATS = {"YUV420SP_U8": 1, "XRGB8888_U8": 2, "RGB888_U8": 3, "YUV400_U8": 4}
# Of CSC_config.md: matrices, and what is taken off YUV or added to what is made of RGB.
NARROW_TO_BGR = [298, 516, 0, 298, -100, -208, 298, 0, 409], [16, 128, 128]
WIDE_TO_RGB = [256, 0, 359, 256, -88, -183, 256, 454, 0], [0, 128, 128]
NARROW_TO_YUV = [66, 129, 25, -38, -74, 112, 112, -94, -18], [16, 128, 128]
WIDE_TO_YUV = [77, 150, 29, -43, -85, 128, 128, -107, -21], [0, 128, 128]
TO_GRAY = [76, 150, 30, 0, 0, 0, 0, 0, 0], [0, 0, 0]


def network(*shapes: tuple[Any, ...], of: int = TensorProto.FLOAT) -> Any:
    """A model whose outputs are its inputs: x0, x1, …"""
    names = range(len(shapes))
    nodes = [helper.make_node("Identity", [f"x{i}"], [f"y{i}"], name=f"id{i}") for i in names]
    sides = [[helper.make_tensor_value_info(f"{end}{i}", of, list(shapes[i])) for i in names] for end in "xy"]
    return helper.make_model(helper.make_graph(nodes, "net", *sides), opset_imports=[helper.make_opsetid("", 17)])


def written(folder: Path, *operators: str) -> str:
    """The option with a configuration."""
    path = folder / "aipp.cfg"
    path.write_text("".join(f"aipp_op {{\n{one}\n}}\n" for one in operators))
    return f"--insert_op_conf={path}"


def static(of: str, more: str = "", matrix: Any = None, **values: Any) -> str:
    lines = [f"aipp_mode: static input_format: {of} {more}", *(f"{name}: {value}" for name, value in values.items())]
    if matrix:
        side = "input" if of == "YUV420SP_U8" else "output"
        lines += ["csc_switch: true", *(f"matrix_r{i // 3}c{i % 3}: {one}" for i, one in enumerate(matrix[0]))]
        lines += [f"{side}_bias_{i}: {one}" for i, one in enumerate(matrix[1])]
    return "\n".join(lines)


def bytes_of(of: str, height: int, width: int, batch: int = 1) -> Any:
    """Images as they lie: (n, h, w, c), of YUV420SP (n, h * 3/2, w, 1)."""
    sizes = {"YUV420SP_U8": (height * 3 // 2, width, 1), "YUV400_U8": (height, width, 1),
             "RGB888_U8": (height, width, 3), "XRGB8888_U8": (height, width, 4)}  # fmt: skip
    return RANDOM.integers(0, 256, (batch, *sizes[of]), np.uint8)


def wanted(
    image: Any, of: str, matrix: Any = None, swap: bool = False, alpha_first: bool = False,
    crop: tuple[int, int, int, int] | None = None, pads: tuple[int, int, int, int] = (0, 0, 0, 0),
    padding: float = 0, mean: Any = (0, 0, 0), least: Any = (0, 0, 0), factor: Any = (1, 1, 1),
) -> Any:  # fmt: skip
    """(3, h, w) of one image. ``crop``: left, top, width, height; ``pads``: top, bottom, left, right."""
    if of == "YUV420SP_U8":
        height, width = image.shape[0] * 2 // 3, image.shape[1]
        colors = image[height:].reshape(height // 2, width // 2, 2).repeat(2, 0).repeat(2, 1)
        pixels = np.dstack([image[:height], colors[..., ::-1] if swap else colors]).astype(np.int64)
    elif of == "YUV400_U8":
        pixels = np.dstack([image, np.zeros((*image.shape[:2], 2))]).astype(np.int64)
    else:
        pixels = image[..., 1:] if alpha_first else image[..., :3]
        pixels = (pixels[..., ::-1] if swap else pixels).astype(np.int64)
    if crop:
        left, top, width, height = crop
        pixels = pixels[top : top + height, left : left + width]
    if matrix:
        yuv = of == "YUV420SP_U8"
        table, bias = np.array(matrix[0]).reshape(3, 3), np.array(matrix[1])
        pixels = (((pixels - bias if yuv else pixels) @ table.T) + 128) >> 8  # to the nearest, as the device's kernel
        pixels = np.clip(pixels if yuv else pixels + bias, 0, 255)
    half = [np.array(values, np.float16) for values in (least, factor)]
    normal = ((pixels - np.array(mean)).astype(np.float16) - half[0]) * half[1]
    top, bottom, left, right = pads
    filled = np.pad(normal, ((top, bottom), (left, right), (0, 0)), constant_values=np.float16(padding))
    return filled.transpose(2, 0, 1).astype(np.float32)


def check(model: Loaded, images: Any, of: str, channels: int = 3, **how: Any) -> None:
    got = model.run(images)[0]
    for one, image in zip(got, images, strict=True):
        assert np.array_equal(one, wanted(image, of, **how)[:channels])


@pytest.mark.parametrize("of", FORMATS)
def test_formats(tmp_path: Path, of: str) -> None:
    """Every format with normalization: what the model says of its input, and what it computes."""
    channels = 1 if of == "YUV400_U8" else 3
    stored = {"YUV420SP_U8": [2, 9, 8, 1], "XRGB8888_U8": [2, 6, 8, 4], "RGB888_U8": [2, 6, 8, 3],
              "YUV400_U8": [2, 6, 8, 1]}[of]  # fmt: skip
    config = static(of, mean_chn_0=104, mean_chn_1=117, min_chn_1=0.5, var_reci_chn_0=0.00392157, var_reci_chn_2=2.5)
    with loaded(converted(network((2, channels, 6, 8)), tmp_path, KEPT, written(tmp_path, config))) as model:
        seen = [2, 6, 8, 3] if of == "YUV420SP_U8" else stored
        assert model.inputs() == [("x0", seen, int(np.prod(stored)))]
        assert acl.mdl.get_input_dims_v2(model.about, 0)[0]["dims"] == stored
        assert acl.mdl.get_input_format(model.about, 0) == 1 and acl.mdl.get_input_data_type(model.about, 0) == 4
        assert acl.mdl.get_aipp_type(model.number, 0) == (1, 0xFFFFFFFF, 0)
        check(model, bytes_of(of, 6, 8, 2), of, channels,
              mean=(104, 117, 0), least=(0, 0.5, 0), factor=(0.00392157, 1, 2.5))  # fmt: skip


@pytest.mark.parametrize(
    ("of", "matrix", "channels"),
    [
        ("YUV420SP_U8", NARROW_TO_BGR, 3), ("YUV420SP_U8", WIDE_TO_RGB, 3), ("RGB888_U8", NARROW_TO_YUV, 3),
        ("RGB888_U8", WIDE_TO_YUV, 3), ("XRGB8888_U8", NARROW_TO_YUV, 3), ("RGB888_U8", TO_GRAY, 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("swap", [False, True])
def test_colors(tmp_path: Path, of: str, matrix: Any, channels: int, swap: bool) -> None:
    switches = f"rbuv_swap_switch: {str(swap).lower()}" + (" ax_swap_switch: true" if of == "XRGB8888_U8" else "")
    option = written(tmp_path, static(of, switches, matrix))
    with loaded(converted(network((1, channels, 16, 16)), tmp_path, KEPT, option)) as model:
        alpha_first = of == "XRGB8888_U8"
        check(model, bytes_of(of, 16, 16), of, channels, matrix=matrix, swap=swap, alpha_first=alpha_first)


def test_conversion_has_defaults(tmp_path: Path) -> None:
    """csc_switch alone: to BGR of what is YUV420SP, to YUV of the others, both BT-601 narrow."""
    for of, matrix in (("YUV420SP_U8", NARROW_TO_BGR), ("RGB888_U8", NARROW_TO_YUV)):
        option = written(tmp_path, static(of, csc_switch="true"))
        with loaded(converted(network((1, 3, 8, 8)), tmp_path, KEPT, option)) as model:
            check(model, bytes_of(of, 8, 8), of, matrix=matrix)
            info = acl.mdl.get_first_aipp_info(model.number, 0)[0]
            assert [info[f"matrixR0C{i}"] for i in range(3)] == matrix[0][:3] and info["inputBias0"] == 16


def test_crop_and_padding(tmp_path: Path) -> None:
    """The example of crop_padding_config.md, smaller."""
    config = static(
        "YUV420SP_U8", "crop: true padding: true", WIDE_TO_RGB, src_image_size_w=32, src_image_size_h=24,
        load_start_pos_w=10, load_start_pos_h=4, crop_size_w=5, crop_size_h=7, left_padding_size=2,
        right_padding_size=1, top_padding_size=3, bottom_padding_size=4, padding_value=-1.5, mean_chn_1=9,
    )  # fmt: skip
    how: dict[str, Any] = {
        "matrix": WIDE_TO_RGB, "crop": (10, 4, 5, 7), "pads": (3, 4, 2, 1), "padding": -1.5, "mean": (0, 9, 0),
    }  # fmt: skip
    with loaded(converted(network((2, 3, 14, 8)), tmp_path, KEPT, written(tmp_path, config))) as model:
        assert model.inputs() == [("x0", [2, 24, 32, 3], 2 * 24 * 32 * 3 // 2)]
        check(model, bytes_of("YUV420SP_U8", 24, 32, 2), "YUV420SP_U8", **how)
        info, code = acl.mdl.get_first_aipp_info(model.number, 0)
        assert code == 0
        said = {
            "inputFormat": 1, "srcImageSizeW": 32, "srcImageSizeH": 24, "cropSwitch": 1, "loadStartPosW": 10,
            "loadStartPosH": 4, "cropSizeW": 5, "cropSizeH": 7, "resizeSwitch": 0, "paddingSwitch": 1,
            "leftPaddingSize": 2, "rightPaddingSize": 1, "topPaddingSize": 3, "bottomPaddingSize": 4, "cscSwitch": 1,
            "rbuvSwapSwitch": 0, "axSwapSwitch": 0, "matrixR0C2": 359, "matrixR1C1": -88, "inputBias1": 128,
            "meanChn1": 9, "varReciChn2": 1.0, "srcFormat": 0, "srcDatatype": 0, "srcDimNum": 4, "shapeCount": 1,
            "aippExtend": 0,
        }  # fmt: skip
        assert {name: info[name] for name in said} == said
        assert info["outDims"] == [{
            "srcDims": {"name": "x0", "dimCount": 4, "dims": [2, 3, 14, 8]}, "srcSize": 2 * 3 * 14 * 8 * 4,
            "aippOutdims": {"name": "features", "dimCount": 5, "dims": [2, 1, 14, 8, 16]},
            "aippOutSize": 2 * 14 * 8 * 16 * 2,
        }]  # fmt: skip
        assert acl.mdl.get_first_aipp_info(model.number, 1) == (None, 100000)
    # Without sizes, as large as the network's input is cut out.
    config = static("RGB888_U8", "crop: true", src_image_size_w=9, src_image_size_h=11, load_start_pos_w=3)
    with loaded(converted(network((1, 3, 4, 6)), tmp_path, KEPT, written(tmp_path, config))) as model:
        check(model, bytes_of("RGB888_U8", 11, 9), "RGB888_U8", crop=(3, 0, 6, 4))


def test_two_inputs(tmp_path: Path) -> None:
    first = static("YUV420SP_U8", matrix=NARROW_TO_BGR, related_input_rank=1, mean_chn_0=104)
    second = static("RGB888_U8", "rbuv_swap_switch: true", related_input_rank=0)
    model_of = network((1, 3, 4, 6), (1, 3, 8, 8), (1, 3, 2, 2))
    with loaded(converted(model_of, tmp_path, KEPT, written(tmp_path, first, second))) as model:
        images = bytes_of("RGB888_U8", 4, 6), bytes_of("YUV420SP_U8", 8, 8)
        rest = np.ones((1, 3, 2, 2), np.float32)
        got = model.run(*images, rest)
        assert np.array_equal(got[0][0], wanted(images[0][0], "RGB888_U8", swap=True))
        assert np.array_equal(got[1][0], wanted(images[1][0], "YUV420SP_U8", matrix=NARROW_TO_BGR, mean=(104, 0, 0)))
        assert np.array_equal(got[2], rest)
        assert [acl.mdl.get_aipp_type(model.number, i)[0] for i in range(3)] == [1, 1, 0]
        assert acl.mdl.get_aipp_type(model.number, 3)[2] == 100000
        assert acl.mdl.get_first_aipp_info(model.number, 2) == (None, 145015)


def test_types_and_layouts(tmp_path: Path) -> None:
    """What the network reads: float16 as it is made, uint8 unchanged, and channels last."""
    images = bytes_of("RGB888_U8", 4, 6)
    option = written(tmp_path, static("RGB888_U8", mean_chn_0=7, var_reci_chn_0=0.1))
    for of, number in ((TensorProto.FLOAT16, 1), (TensorProto.UINT8, 4)):
        with loaded(converted(network((1, 3, 4, 6), of=of), tmp_path, KEPT, option)) as model:
            got = model.run(images)[0]
            assert acl.mdl.get_output_data_type(model.about, 0) == number
            how: Mapping[str, Any] = {"mean": (7, 0, 0), "factor": (0.1, 1, 1)} if number == 1 else {}
            assert np.array_equal(got[0].astype(np.float32), wanted(images[0], "RGB888_U8", **how))
            assert acl.mdl.get_first_aipp_info(model.number, 0)[0]["srcDatatype"] == number
    last = converted(network((1, 4, 6, 3)), tmp_path, option, "--input_format=NHWC")
    with loaded(last) as model:
        got = model.run(images)[0][0].transpose(2, 0, 1)
        assert np.array_equal(got, wanted(images[0], "RGB888_U8", mean=(7, 0, 0), factor=(0.1, 1, 1)))


def test_batches_and_image_sizes_in_gears(tmp_path: Path) -> None:
    option = written(tmp_path, static("YUV420SP_U8", matrix=NARROW_TO_BGR))
    path = converted(network(("n", 3, 4, 6)), tmp_path, KEPT, option, "--input_shape=x0:-1,3,4,6",
                     "--dynamic_batch_size=1,3")  # fmt: skip
    images = bytes_of("YUV420SP_U8", 4, 6, 3)
    with loaded(path) as model:
        assert model.inputs() == [("x0", [-1, 4, 6, 3], 108), ("ascend_mbatch_shape_data", [1], 4)]
        assert acl.mdl.get_input_dims_v2(model.about, 0)[0]["dims"] == [-1, 6, 6, 1]
        gears = acl.mdl.get_first_aipp_info(model.number, 0)[0]["outDims"]
        assert [one["srcDims"]["dims"] for one in gears] == [[1, 3, 4, 6], [3, 3, 4, 6]]
        with model.datasets([images, 4], [3 * 3 * 24 * 4]) as (read, output):
            for batch in (1, 3):
                assert acl.mdl.set_dynamic_batch_size(model.number, read, 1, batch) == 0
                assert acl.mdl.execute(model.number, read, output) == 0
                got = model.read(output).reshape(3, 3, 4, 6)[:batch]
                for one, image in zip(got, images, strict=False):
                    assert np.array_equal(one, wanted(image, "YUV420SP_U8", matrix=NARROW_TO_BGR))
    path = converted(network((1, 3, "h", "w")), tmp_path, KEPT, option, "--input_shape=x0:1,3,-1,-1",
                     "--dynamic_image_size=4,6;8,8")  # fmt: skip
    with loaded(path) as model:
        assert model.inputs()[0] == ("x0", [1, -1, -1, 3], 96)
        assert acl.mdl.get_dynamic_hw(model.about, -1)[0]["hw"] == [[4, 6], [8, 8]]
        with model.datasets([images[:1], 8], [3 * 64 * 4]) as (read, output):
            assert acl.mdl.set_dynamic_hw_size(model.number, read, 1, 6, 6) == 145013
            assert acl.mdl.set_dynamic_hw_size(model.number, read, 1, 4, 6) == 0
            assert acl.mdl.execute(model.number, read, output) == 0
            got = model.read(output)[: 3 * 24].reshape(3, 4, 6)
            assert np.array_equal(got, wanted(images[0], "YUV420SP_U8", matrix=NARROW_TO_BGR))


# ---- dynamic ----
@contextmanager
def parameters(of: str, height: int, width: int, batch: int = 1) -> Iterator[int]:
    made = acl.mdl.create_aipp(batch)
    assert acl.mdl.set_aipp_input_format(made, FORMATS[of]) == 0
    assert acl.mdl.set_aipp_src_image_size(made, width, height) == 0
    yield made
    assert acl.mdl.destroy_aipp(made) == 0


def dynamic(folder: Path, *options: str, size: int = 2000, shape: Any = (2, 3, 6, 8)) -> str:
    config = f"aipp_mode: dynamic max_src_image_size: {size}"
    return converted(network(shape), folder, KEPT, written(folder, config), *options)


def room(images: Any, size: int = 2000) -> Any:
    out = np.zeros(size, np.uint8)
    out[: images.size] = images.reshape(-1)
    return out


def test_a_run_says_the_parameters(tmp_path: Path) -> None:
    """Two images with parameters of their own, in two formats one after the other."""
    with loaded(dynamic(tmp_path)) as model:
        size = acl.mdl.get_aipp_data_size(2)[0]
        assert size == 64 + 2 * 96
        assert model.inputs() == [("x0", [2, -1, -1, -1], 2000), ("ascend_dynamic_aipp_data", [size], size)]
        assert [acl.mdl.get_aipp_type(model.number, i) for i in (0, 1)] == [(2, 1, 0), (3, 0xFFFFFFFF, 0)]
        assert acl.mdl.get_first_aipp_info(model.number, 1) == (None, 145015)
        info = acl.mdl.get_first_aipp_info(model.number, 0)[0]
        assert info["outDims"][0]["srcDims"]["dims"] == [2, 3, 6, 8] and info["srcFormat"] == info["srcDatatype"] == 0
        images = bytes_of("YUV420SP_U8", 12, 16, 2)
        with model.datasets([room(images), size], [2 * 3 * 48 * 4]) as (read, output):
            with parameters("YUV420SP_U8", 12, 16, 2) as made:
                matrix = NARROW_TO_BGR
                assert acl.mdl.set_aipp_csc_params(made, 1, *matrix[0], 0, 0, 0, *matrix[1]) == 0
                assert acl.mdl.set_aipp_rbuv_swap_switch(made, 1) == 0
                for i, left in enumerate((2, 6)):
                    assert acl.mdl.set_aipp_crop_params(made, 1, left, 4, 5, 3, i) == 0
                    assert acl.mdl.set_aipp_padding_params(made, 1, 1, 2, 0, 3, i) == 0
                    assert acl.mdl.set_aipp_dtc_pixel_mean(made, 10 * i, 1, 2, 0, i) == 0
                assert acl.mdl.set_aipp_dtc_pixel_min(made, 0.25, 0, 0, 0, 1) == 0
                assert acl.mdl.set_aipp_pixel_var_reci(made, 1, 0.00392157, -3.3, 1, 1) == 0
                assert acl.mdl.set_input_aipp(model.number, read, 1, made) == 0, acl.get_recent_err_msg()
            assert acl.mdl.execute(model.number, read, output) == 0, acl.get_recent_err_msg()
            got = model.read(output).reshape(2, 3, 6, 8)
            both: dict[str, Any] = {"matrix": matrix, "swap": True, "pads": (1, 2, 0, 3)}
            assert np.array_equal(got[0], wanted(images[0], "YUV420SP_U8", crop=(2, 4, 5, 3), mean=(0, 1, 2), **both))
            assert np.array_equal(
                got[1],
                wanted(images[1], "YUV420SP_U8", crop=(6, 4, 5, 3), mean=(10, 1, 2), least=(0.25, 0, 0),
                       factor=(1, 0.00392157, -3.3), **both),
            )  # fmt: skip
        images = bytes_of("XRGB8888_U8", 6, 8, 2)
        with model.datasets([room(images), size], [2 * 3 * 48 * 4]) as (read, output):
            with parameters("XRGB8888_U8", 6, 8, 2) as made:
                assert acl.mdl.set_aipp_ax_swap_switch(made, 1) == 0
                assert acl.mdl.set_aipp_by_input_index(model.number, read, 0, made) == 0
            assert acl.mdl.execute(model.number, read, output) == 0
            for one, image in zip(model.read(output).reshape(2, 3, 6, 8), images, strict=True):
                assert np.array_equal(one, wanted(image, "XRGB8888_U8", alpha_first=True))


def test_dynamic_parameters_with_gears(tmp_path: Path) -> None:
    """The parameters are those of the largest gear, and so are images where their size is a gear's."""
    batches = dynamic(tmp_path, "--input_shape=x0:-1,3,6,8", "--dynamic_batch_size=1,2", shape=("n", 3, 6, 8))
    images = bytes_of("RGB888_U8", 6, 8, 2)
    with loaded(batches) as model:
        assert [one[:2] for one in model.inputs()] == [
            ("x0", [-1, -1, -1, -1]), ("ascend_dynamic_aipp_data", [256]), ("ascend_mbatch_shape_data", [1]),
        ]  # fmt: skip
        with model.datasets([room(images), 256, 4], [2 * 3 * 48 * 4]) as (read, output):
            with parameters("RGB888_U8", 6, 8) as made:
                assert acl.mdl.set_input_aipp(model.number, read, 1, made) == 100000
                assert "the network reads 2 of 6 by 8" in acl.get_recent_err_msg()
            with parameters("RGB888_U8", 6, 8, 2) as made:
                assert acl.mdl.set_aipp_dtc_pixel_mean(made, 5, 0, 0, 0, 1) == 0
                assert acl.mdl.set_input_aipp(model.number, read, 1, made) == 0
            for batch in (2, 1):
                assert acl.mdl.set_dynamic_batch_size(model.number, read, 2, batch) == 0
                assert acl.mdl.execute(model.number, read, output) == 0
                got = model.read(output).reshape(2, 3, 6, 8)[:batch]
                for one, image, mean in zip(got, images, (0, 5), strict=False):
                    assert np.array_equal(one, wanted(image, "RGB888_U8", mean=(mean, 0, 0)))
    sizes = dynamic(tmp_path, "--input_shape=x0:1,3,-1,-1", "--dynamic_image_size=2,4;6,8", shape=(1, 3, "h", "w"))
    with loaded(sizes) as model, model.datasets([room(images), 160, 8], [3 * 48 * 4]) as (read, output):
        with parameters("RGB888_U8", 2, 4) as made:
            assert acl.mdl.set_input_aipp(model.number, read, 1, made) == 100000
        with parameters("RGB888_U8", 6, 8) as made:
            assert acl.mdl.set_input_aipp(model.number, read, 1, made) == 0
        assert acl.mdl.set_dynamic_hw_size(model.number, read, 2, 6, 8) == 0
        assert acl.mdl.execute(model.number, read, output) == 0
        assert np.array_equal(model.read(output).reshape(3, 6, 8), wanted(images[0], "RGB888_U8"))


def test_what_parameters_may_be() -> None:
    assert acl.mdl.create_aipp(0) == 0 and acl.mdl.get_aipp_data_size(0)[1] == 100000
    assert acl.mdl.destroy_aipp(0) == acl.mdl.set_aipp_input_format(0, 1) == 100000
    with parameters("RGB888_U8", 6, 8, 2) as made:
        assert acl.mdl.set_aipp_input_format(made, 15) == 100000
        assert acl.mdl.set_aipp_src_image_size(made, 1, 6) == acl.mdl.set_aipp_src_image_size(made, 8, 4097) == 100000
        assert acl.mdl.set_aipp_csc_params(made, 2, *[0] * 15) == 100000
        assert acl.mdl.set_aipp_csc_params(made, 1, 32677, *[0] * 14) == 100000
        assert acl.mdl.set_aipp_csc_params(made, 0, 32677, *[0] * 14) == 0  # nothing is read where it is off
        assert acl.mdl.set_aipp_crop_params(made, 1, 0, 4096, 1, 1, 0) == 100000
        assert acl.mdl.set_aipp_crop_params(made, 1, 0, 0, 0, 1, 0) == 100000
        assert acl.mdl.set_aipp_padding_params(made, 1, 0, 33, 0, 0, 0) == 100000
        assert acl.mdl.set_aipp_scf_params(made, 1, 15, 16, 16, 16, 0) == 100000
        assert acl.mdl.set_aipp_dtc_pixel_mean(made, 0, 256, 0, 0, 0) == 100000
        assert acl.mdl.set_aipp_dtc_pixel_min(made, -1, 0, 0, 0, 0) == 100000
        assert acl.mdl.set_aipp_pixel_var_reci(made, 1, 1, 1, 70000, 0) == 100000
        assert acl.mdl.set_aipp_rbuv_swap_switch(made, 2) == acl.mdl.set_aipp_ax_swap_switch(made, -1) == 100000
        assert acl.mdl.set_aipp_dtc_pixel_mean(made, 0, 0, 0, 0, 2) == 100000  # there are two images
        assert "below 2" in acl.get_recent_err_msg()


def test_what_a_model_takes_for_parameters(tmp_path: Path) -> None:
    with loaded(dynamic(tmp_path)) as model, model.datasets([2000, 256]) as (read, output):
        number = model.number

        def refused(index: int = 1) -> str:
            assert acl.mdl.set_input_aipp(number, read, index, made) == 100000
            return str(acl.get_recent_err_msg())

        assert acl.mdl.execute(number, read, output) != 0 and "image format 0" in acl.get_recent_err_msg()
        made = acl.mdl.create_aipp(2)
        assert "0 by 0" in refused()
        assert acl.mdl.set_aipp_src_image_size(made, 8, 6) == 0
        assert "none was set" in refused()
        for other in (0, 7):
            refused(other)
        assert acl.mdl.set_input_aipp(99, read, 1, made) == 145003
        assert acl.mdl.set_aipp_by_input_index(number, read, 1, made) == 500001
        assert acl.mdl.set_aipp_by_input_index(number, read, 7, made) == 100000
        assert acl.mdl.set_aipp_input_format(made, 7) == 0 and "format is 7" in refused()
        assert acl.mdl.set_aipp_input_format(made, 4) == acl.mdl.set_aipp_csc_params(made, 1, *[0] * 15) == 0
        assert "no colors" in refused()
        assert acl.mdl.set_aipp_input_format(made, 1) == 0
        assert acl.mdl.set_aipp_src_image_size(made, 9, 6) == 0 and "2 images become 6 by 9" in refused()
        assert acl.mdl.set_aipp_src_image_size(made, 40, 40) == 0 and "max_src_image_size, 2000" in refused()
        assert acl.mdl.set_aipp_src_image_size(made, 10, 8) == 0
        for i, left in enumerate((2, 1)):
            assert acl.mdl.set_aipp_crop_params(made, 1, left, 2, 8, 6, i) == 0
        assert "have to be even" in refused()
        assert acl.mdl.set_aipp_crop_params(made, 1, 4, 2, 8, 6, 1) == 0 and "cut out of 10 by 8" in refused()
        assert acl.mdl.set_aipp_crop_params(made, 1, 0, 0, 8, 5, 1) == 0 and "the first one 8 by 6" in refused()
        assert acl.mdl.set_aipp_crop_params(made, 1, 0, 0, 8, 6, 1) == 0
        assert acl.mdl.set_aipp_scf_params(made, 1, 16, 16, 16, 16, 1) == 0 and "is scaled" in refused()
        assert acl.mdl.set_aipp_scf_params(made, 0, 0, 0, 0, 0, 1) == 0
        assert acl.mdl.set_input_aipp(number, read, 1, made) == 0
        with model.datasets([2000, 200]) as (small, _):
            assert acl.mdl.set_input_aipp(number, small, 1, made) == 145012
        acl.mdl.destroy_aipp(made)


RGB = "aipp_mode: static input_format: RGB888_U8"
SIZES = "src_image_size_w: 10 src_image_size_h: 12"


@pytest.mark.parametrize(
    ("config", "options", "code", "says"),
    [
        (f"{RGB} related_input_rank: 1", (), "E10052", "the model has 1"),
        (f"{RGB} {SIZES}", (), "E10052", "images with a size of 12 in H"),
        (f"{RGB} {SIZES} crop: true load_start_pos_w: 5", (), "E10052", "more than src_image_size_w, 10"),
        (f"{RGB} {SIZES} crop: true crop_size_w: 7 crop_size_h: 6", (), "E10052", "a size of 7 in W"),
        (RGB, ("--input_fp16_nodes=x0",), "E10034", "must not be of type FP16"),
        (RGB, ("--input_format=ND",), "E10001", "NCHW or NHWC"),
        (RGB, ("--input_shape=x0:1,3,1~6,8",), "E10052", "is not known"),
        (RGB, ("--input_shape=x0:-1,3,6,8", "--dynamic_dims=1;2"), "E10001", "does not support AIPP"),
        (f"{RGB} {SIZES} crop: true", ("--input_shape=x0:1,3,-1,-1", "--dynamic_image_size=6,8;8,8"), "E10052",
         "crop and padding"),
        (f"{RGB} {SIZES}", ("--input_shape=x0:1,3,-1,-1", "--dynamic_image_size=6,8;8,8"), "E10052",
         "src_image_size_w and src_image_size_h"),
        ("aipp_mode: static input_format: YUV400_U8", (), "E10055", "3 channels"),
        (f"{RGB} colour: 1", (), "E13005", "colour"),
    ],
)  # fmt: skip
def test_what_atc_refuses(tmp_path: Path, config: str, options: tuple[str, ...], code: str, says: str) -> None:
    with pytest.raises(AtcError, match=says) as error:
        converted(network((1, 3, "h", "w") if options and "shape" in options[0] else (1, 3, 6, 8)), tmp_path, KEPT,
                  written(tmp_path, config), *options)  # fmt: skip
    assert error.value.code == code and not list(tmp_path.glob("*.om"))
