"""atc's options, before a model is read: their codes are those of CANN's pages."""

from __future__ import annotations

import pytest

from ophook_npu.sim.atc import model, options, precision
from ophook_npu.sim.atc.errors import AtcError


def test_options_are_written_in_each_way_of_gflags() -> None:
    given = options.read(["--model=net.onnx", "--output", "net", "-framework=5", "-external_weight", "0"])
    assert given == {"model": "net.onnx", "output": "net", "framework": "5", "external_weight": "0"}


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        (["net.onnx"], "E10001", "'net.onnx' is no option"),
        (["--modle=net.onnx"], "E10001", "unknown command line flag 'modle'"),
        (["--model"], "E10004", "Value for --model is empty"),
        (["--external_weight=1"], "E10055", "weights in files of their own"),
    ],
)
def test_options_that_are_not_there(given: list[str], code: str, says: str) -> None:
    with pytest.raises(AtcError, match=says) as error:
        options.read(given)
    assert error.value.code == code


def test_no_option_stands_twice() -> None:
    assert not options.USED & options.WITHOUT_EFFECT and not (options.USED | options.WITHOUT_EFFECT) & set(
        options.REFUSED
    )


def test_shapes() -> None:
    shapes = model.input_shapes("a:1,3,-1,10~20;number:;torch::name:[2~-1]")
    assert {name: shape.sizes for name, shape in shapes.items()} == {
        "a": [1, 3, -1, -1], "number": [], "torch::name": [-1],
    }  # fmt: skip
    assert shapes["a"].ranges == [(1, 1), (3, 3), (0, -1), (10, 20)] and shapes["torch::name"].ranges == [(2, -1)]
    assert shapes["a"].ranged and not shapes["number"].ranged
    for wrong, code in (("1,2", "E10002"), ("a:1,x", "E10011"), ("a:1,-2", "E10011")):
        with pytest.raises(AtcError) as error:
            model.input_shapes(wrong)
        assert error.value.code == code


@pytest.mark.parametrize(
    ("shapes", "given", "sizes"),
    [
        ("a:-1,3;b:-1,4;c:2", {"dynamic_batch_size": "1,8"}, [[1, 1], [8, 8]]),
        ("a:1,3,-1,-1;b:1,1,-1,-1", {"dynamic_image_size": "4,6;8,8"}, [[4, 6, 4, 6], [8, 8, 8, 8]]),
        ("a:1,-1,-1,3", {"dynamic_image_size": "4,6;8,8", "input_format": "NHWC"}, [[4, 6], [8, 8]]),
        ("a:1,-1;b:-1", {"dynamic_dims": "2,3;4,5"}, [[2, 3], [4, 5]]),
    ],
)
def test_gears(shapes: str, given: dict[str, str], sizes: list[list[int]]) -> None:
    found = model.gears(given, model.input_shapes(shapes))
    assert found is not None and found.sizes == sizes
    assert all("\n" not in value for _, value in found.text(model.input_shapes(shapes)))


@pytest.mark.parametrize(
    ("shapes", "given", "code"),
    [
        ("a:-1,3", {"dynamic_batch_size": "4"}, "E10035"),
        ("a:-1,3", {"dynamic_batch_size": ",".join(map(str, range(1, 102)))}, "E10036"),
        ("a:-1,3", {"dynamic_batch_size": "4,4"}, "E10039"),
        ("a:-1,3", {"dynamic_batch_size": "4,0"}, "E10038"),
        ("a:-1,3", {"dynamic_batch_size": "4,x"}, "E10020"),
        ("a:3,-1", {"dynamic_batch_size": "1,2"}, "E10018"),
        ("a:2,3", {"dynamic_batch_size": "1,2"}, "E10040"),
        ("a:1,3,-1,4", {"dynamic_image_size": "1,2;3,4"}, "E10019"),
        ("a:1,3,-1,-1", {"dynamic_image_size": "1,2;3"}, "E10020"),
        ("a:1,3,-1,-1", {"dynamic_image_size": "1,2;3,4", "input_format": "ND"}, "E10001"),
        ("a:-1,-1", {"dynamic_dims": "1,2;3"}, "E10037"),
        ("a:-1,-1", {"dynamic_dims": "1,2;3,4", "dynamic_batch_size": "1,2"}, "E10056"),
    ],
)
def test_gears_that_are_refused(shapes: str, given: dict[str, str], code: str) -> None:
    with pytest.raises(AtcError) as error:
        model.gears(given, model.input_shapes(shapes))
    assert error.value.code == code


def test_precision_modes() -> None:
    assert precision.chosen({}) == precision.chosen({"precision_mode": "force_fp16"}) == "all"
    assert precision.chosen({"precision_mode": "allow_fp32_to_fp16"}) == "cube"
    assert precision.chosen({"precision_mode_v2": "origin"}) == "keep"
    for given, code in (
        ({"precision_mode": "fast"}, "E10001"),
        ({"precision_mode": "force_fp16", "precision_mode_v2": "fp16"}, "E10056"),
        ({"precision_mode_v2": "mixed_bfloat16"}, "E10055"),
    ):
        with pytest.raises(AtcError) as error:
            precision.chosen(given)
        assert error.value.code == code
