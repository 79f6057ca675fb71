"""The file of --insert_op_conf: its fields, their defaults and limits, and ATC's codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ophook_npu.sim.atc import aipp
from ophook_npu.sim.atc.errors import AtcError

RGB = "aipp_mode: static input_format: RGB888_U8"
YUV = "aipp_mode: static input_format: YUV420SP_U8"


def operator(text: str) -> aipp.Aipp:
    return aipp.parse(f"aipp_op {{ {text} }}")[0]


def test_every_field_of_the_template() -> None:
    """Comments, both kinds of separators, and colons with and without spaces, as the pages write them."""
    found = aipp.parse(
        """
        # 说明
        aipp_op {
            aipp_mode : static  # the mode
            related_input_rank: 1
            input_format: YUV420SP_U8;
            src_image_size_w : 320, src_image_size_h : 240
            crop: true load_start_pos_w: 10 load_start_pos_h: 20 crop_size_w: 50 crop_size_h: 60
            resize: false resize_output_w: 7
            padding: true left_padding_size: 20 right_padding_size: 15 top_padding_size: 20 bottom_padding_size: 15
            padding_value: 0.5 cpadding_value: 0.0
            csc_switch: true rbuv_swap_switch: true ax_swap_switch: false single_line_mode: false
            matrix_r0c0: 256 matrix_r0c2: -359 input_bias_0: 0
            mean_chn_0: 104 min_chn_1: 0.5 var_reci_chn_2: -0.25 raw_rgbir_to_f16_n: 8 input_edge_idx: [0, 1]
        }
        aipp_op: < aipp_mode: static input_format: RGB888_U8 >
        """
    )
    first, second = found
    assert (first.rank, first.dynamic, first.format) == (1, False, "YUV420SP_U8")
    said = {
        "src_image_size_w": 320, "load_start_pos_h": 20, "crop_size_w": 50, "right_padding_size": 15,
        "padding_value": 0.5, "csc_switch": True, "rbuv_swap_switch": True, "matrix_r0c0": 256, "matrix_r0c1": 516,
        "matrix_r0c2": -359, "matrix_r2c2": 409, "input_bias_0": 0, "input_bias_1": 128, "output_bias_0": 16,
        "mean_chn_0": 104, "mean_chn_1": 0, "min_chn_1": 0.5, "var_reci_chn_1": 1.0, "var_reci_chn_2": -0.25,
        "resize_output_w": 0,
    }  # fmt: skip
    assert {name: first.values[name] for name in said} == said
    assert (second.rank, second.values["matrix_r0c0"], second.values["input_bias_1"]) == (0, 0, 0)


def test_what_a_switch_turns_off_is_zero() -> None:
    values = operator(f"{RGB} load_start_pos_w: 3 crop_size_h: 4 left_padding_size: 5").values
    assert [values[name] for name in ("load_start_pos_w", "crop_size_h", "left_padding_size")] == [0, 0, 0]


def test_dynamic() -> None:
    found = operator("aipp_mode: dynamic related_input_rank: 2 max_src_image_size: 752640 csc_switch: true")
    assert found.dynamic and found.rank == 2
    assert found.values == {"aipp_mode": 2, "related_input_rank": 2, "max_src_image_size": 752640}


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", "E10052", "there is no aipp_op"),
        ("aipp_op { aipp_mode: static", "E13005", "Failed to parse"),
        ("aipp_op { aipp_mode: moving }", "E13005", "moving"),
        (f"aipp_op {{ {RGB} colour: 1 }}", "E13005", "colour"),
        (f"aipp_op {{ {RGB} crop: true crop: false }}", "E13005", "crop"),
        (f"aipp_op {{ {RGB} mean_chn_0: 1.5 }}", "E13005", "1.5"),
        (f"aipp_op {{ {RGB} matrix_r0c0: 1 matrix_r0c0: 2 }}", "E10052", "matrix_r0c0 stands more than once"),
        ("aipp_op { input_format: RGB888_U8 }", "E10052", "aipp_mode is not set"),
        ("aipp_op { aipp_mode: static }", "E10052", "input_format is not set"),
        ("aipp_op { aipp_mode: dynamic }", "E10052", "max_src_image_size is not set"),
        ("aipp_op { aipp_mode: static input_format: YUYV_U8 }", "E10052", "YUYV_U8, which no product supports"),
        (f"aipp_op {{ {RGB} }} aipp_op {{ {RGB} }}", "E10052", "two aipp_op have related_input_rank 0"),
        (f"aipp_op {{ {RGB} }} aipp_op {{ aipp_mode: dynamic max_src_image_size: 1 related_input_rank: 1 }}", "E10052",
         "static in one aipp_op and dynamic in another"),
        (f'aipp_op {{ {RGB} related_input_name: "data" }}', "E10052", "Caffe"),
        (f"aipp_op {{ {RGB} resize: true }}", "E10055", "resize"),
        (f"aipp_op {{ {RGB} single_line_mode: true }}", "E10055", "single_line_mode"),
        (f"aipp_op {{ {RGB} cpadding_value: 1 }}", "E10055", "cpadding_value"),
        (f"aipp_op {{ {RGB} support_rotation: true }}", "E10055", "support_rotation"),
        (f"aipp_op {{ {RGB} raw_rgbir_to_f16_n: 3 }}", "E10055", "raw_rgbir_to_f16_n"),
        (f"aipp_op {{ {RGB} src_image_size_w: 1 }}", "E10052", "2 to 4096, or 0"),
        (f"aipp_op {{ {RGB} src_image_size_h: 4097 }}", "E10052", "1 to 4096, or 0"),
        (f"aipp_op {{ {RGB} load_start_pos_w: -1 }}", "E10052", "0 to 4095"),
        (f"aipp_op {{ {RGB} top_padding_size: 33 }}", "E10052", "0 to 32"),
        (f"aipp_op {{ {RGB} matrix_r1c1: 32677 }}", "E10052", "-32677 to 32676"),
        (f"aipp_op {{ {RGB} output_bias_2: 256 }}", "E10052", "0 to 255"),
        (f"aipp_op {{ {RGB} mean_chn_3: 256 }}", "E10052", "0 to 255"),
        (f"aipp_op {{ {RGB} var_reci_chn_0: 65505 }}", "E10052", "-65504 to 65504"),
        (f"aipp_op {{ {RGB} ax_swap_switch: true }}", "E10052", "XRGB8888_U8 alone"),
        ("aipp_op { aipp_mode: static input_format: YUV400_U8 csc_switch: true }", "E10052", "has no colors"),
        (f"aipp_op {{ {YUV} src_image_size_w: 5 }}", "E10052", "has to be even"),
        (f"aipp_op {{ {YUV} crop: true load_start_pos_h: 3 }}", "E10052", "has to be even"),
        (f"aipp_op {{ {RGB} crop: true }}", "E10052", "have to be set where crop or padding is true"),
        (f"aipp_op {{ {RGB} crop: true padding: true src_image_size_w: 8 src_image_size_h: 8 }}", "E10052",
         "crop_size_w and crop_size_h have to be set"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, code: str, says: str) -> None:
    with pytest.raises(AtcError, match=says) as error:
        aipp.parse(text)
    assert error.value.code == code


def test_files(tmp_path: Path) -> None:
    with pytest.raises(AtcError, match="E13000"):
        aipp.read(tmp_path / "nowhere.cfg")
    path = tmp_path / "aipp.cfg"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(AtcError, match=r"E13005: .*aipp\.cfg: Failed to parse file"):
        aipp.read(path)
    path.write_bytes(f"aipp_op {{ {RGB} }} # ".encode() + "模式".encode("gbk"))  # the parser skips comments unread
    assert len(aipp.read(path)) == 1
    path.write_text("aipp_op { aipp_mode: dynamic }")
    with pytest.raises(AtcError, match=r"E10052: .*aipp\.cfg: AIPP configuration is invalid"):
        aipp.read(path)
