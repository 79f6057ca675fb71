"""Caffe networks that ``atc`` refuses, and the names of what it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from caffe_files import Blobs, files, inputs, layer

from ophook_npu.sim.atc import options
from ophook_npu.sim.atc.__main__ import convert
from ophook_npu.sim.atc.caffe import net_of_weights, onnx_of
from ophook_npu.sim.atc.caffe_layers import LAYERS, NOT_YET
from ophook_npu.sim.atc.errors import AtcError

X = inputs(x=[2, 4, 6, 6])


def onnx(folder: Path, text: str, blobs: Blobs | None = None, **shapes: list[int]) -> Any:
    return onnx_of(*files(folder, text, blobs or {}), shapes)[0]


def refused(folder: Path, text: str, blobs: Blobs | None = None) -> str:
    with pytest.raises(AtcError) as caught:
        onnx(folder, text, blobs)
    return str(caught.value)


def test_names_of_values_nodes_and_outputs(tmp_path: Path) -> None:
    net = (
        X
        + layer("ReLU", "", "x", name="one/a")
        + layer("Sigmoid", "", "y", name="two")
        + layer("TanH", "", "x", name="two", tops=["z"])
    )
    model, names = onnx_of(*files(tmp_path, net, {}), {})
    assert names == ["two:0:y", "two_same_1:0:z"]
    assert [(node.op_type, node.name, *node.input, *node.output) for node in model.graph.node] == [
        ("Relu", "one/a", "x", "y_one/a_0"), ("Sigmoid", "two", "y_one/a_0", "y"), ("Tanh", "two_same_1", "x", "z"),
    ]  # fmt: skip
    assert [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim] == [2, 4, 6, 6]


@pytest.mark.parametrize(
    ("head", "shape"),
    [
        ('input: "x" input_dim: 1 input_dim: 3 input_dim: 5 input_dim: 7 ', [1, 3, 5, 7]),
        ('input: "x" input_shape { dim: 1 dim: 3 }', [1, 3]),
        ('input: "x"', [8, 2]),
        ('layer { name: "x" type: "Input" top: "x" }', [8, 2]),
        ('layer { name: "x" type: "DummyData" top: "x" dummy_data_param { shape { dim: 4 } data_filler { } } }', [4]),
    ],
)
def test_shapes_of_inputs(head: str, shape: list[int], tmp_path: Path) -> None:
    told = {} if "dim" in head else {"x": shape}
    model = onnx(tmp_path, head.replace("data_filler { }", "") + layer("ReLU", "", "x"), **told)
    assert [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim] == shape


def test_comments_in_any_encoding(tmp_path: Path) -> None:
    model, weights = files(tmp_path, X + layer("ReLU", "", "x"), {})
    model.write_bytes(model.read_bytes() + "# 网络".encode("gbk"))
    assert len(onnx_of(model, weights, {})[0].graph.node) == 1


def test_text_as_protobuf_takes_it(tmp_path: Path) -> None:
    net = (
        X
        + """
      # a comment
      layer < name: 'p' type: "Pooling", bottom: "x"; top: "y"
        pooling_param { pool: AVE kernel_size: 0x2 stride: 2, engine: CAFFE } >
    """
    )
    assert [node.op_type for node in onnx(tmp_path, net).graph.node] == ["AveragePool"]


CONVOLUTION = layer("Convolution", "convolution_param { num_output: 2 kernel_size: 3 }", "x")
WEIGHT, BIAS = np.zeros((2, 4, 3, 3), np.float32), np.zeros(2, np.float32)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("layer {", "E11032: Failed to parse message model. The error field is "),
        ('layers { name: "a" }', 'contains "layers" structures, which have been deprecated in Caffe'),
        ('name: "empty"', "E11022: Invalid prototxt file."),
        ('input: "x" input_dim: 1 input_shape { dim: 1 } layer { name: "a" }', "E11001: input_dim and input_shape are"),
        (
            'input: "x" input_dim: 1 layer { name: "a" }',
            "E11003: The number of input_dim fields in the model is 1, which is not",
        ),
        (
            'input: "x" input: "y" input_shape { dim: 1 } layer { name: "a" }',
            "E11004: The number of input shapes is 1, which",
        ),
        (
            'input: "x"' + layer("ReLU", "", "x"),
            "E11005: The shape of input x is not defined in the model. Next: give --input_shape='x:…'.",
        ),
        (layer("ReLU", "", "x"), "E11012: Unknown bottom blob x at layer l. The bottom blob is indexed 0."),
        (inputs(x=[2, 0]), "E11027: Op x with optype Input in the Caffe model has an input node with shape size 0."),
        (X + layer("ReLU", "", "x", name="a&b"), "E11018: Op name a&b contains invalid characters."),
        (X + layer("ReLU", "", "x", tops=[]), "E11037: Op l has zero outputs."),
        (layer("Input", "", tops=["a", "b"]), "E11035: The top size of data node l is not 1 but 2."),
        (X + X, "E11036: Data nodes have duplicate top blobs x."),
        (X + layer("DetectionOutput", "", "x"), "E11008: Op type DetectionOutput is unsupported."),
        (X + layer("Axpy", "", "x"), "E11009: No Caffe parser is registered for Op l with optype Axpy."),
        (
            X + layer("ROIPooling", "", "x"),
            "E10055: Op l with optype ROIPooling: CANN converts it, the simulated atc does not yet.",
        ),
        (X + CONVOLUTION, "E11029: Op l exists in the model file but is not found in weight file."),
        (
            X + layer("ReLU", "relu_param { negative_slop: 1 }", "x"),
            "The error field is relu_param.negative_slop. Reason: ",
        ),
        (
            X + layer("ReLU", "sigmoid_param { }", "x"),
            "E11032: Failed to parse message l. The error field is sigmoid_param.",
        ),
        (
            X + layer("Pooling", "pooling_param { pool: STOCHASTIC kernel_size: 2 }", "x"),
            "pool STOCHASTIC; allowed: MAX, AVE",
        ),
        (
            X + layer("Pooling", "pooling_param { kernel_size: 2 pad: 2 }", "x"),
            "a padding of [2, 2] for a kernel of [2, 2]",
        ),
        (X + layer("Pooling", "", "x"), "kernel_size is missing"),
        (
            X + layer("Pooling", "pooling_param { kernel_size: 2 }", "x", tops=["y", "mask"]),
            "the mask of a pooling layer",
        ),
        (X + layer("Slice", "slice_param { slice_point: 5 }", "x", tops=["a", "b"]), "4 are cut at [5] into 2"),
        (X + layer("Softmax", "softmax_param { axis: 4 }", "x"), "axis 4 for 4 dimensions"),
        (X + layer("Sigmoid", "", "x", tops=["a", "b"]), "it has 2 tops; allowed: 1"),
        (X + layer("Sigmoid", ""), "Op l with optype Sigmoid is invalid. Reason: it has no bottom."),
        (X + layer("Eltwise", "", "x"), "operation SUM with 1 bottom and 0 factors"),
        (X + layer("Reshape", "reshape_param { shape { dim: [1, 1, 1, 1, 0] } }", "x"), "for 4 dimensions"),
        (X + layer("Crop", "crop_param { offset: 1 }", "x", "x"), "it crops to [7, 7] of (2, 4, 6, 6)"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path, text)


def test_weights_that_do_not_fit(tmp_path: Path) -> None:
    net = X + CONVOLUTION
    assert "cannot reshape array of size 8" in refused(tmp_path, net, {"l": [WEIGHT[:, :, 0, 0], BIAS]})
    assert "it has 1 blob in the file of weights" in refused(tmp_path, net, {"l": [WEIGHT]})
    assert onnx(tmp_path, net, {"l": [WEIGHT, BIAS]}).graph.node[0].op_type == "Conv"


def test_files_of_weights(tmp_path: Path) -> None:
    model, weights = files(tmp_path, X + CONVOLUTION, {"l": [WEIGHT, BIAS]})
    net = net_of_weights()()
    net.ParseFromString(weights.read_bytes())
    old, bias = net.layer[0].blobs
    old.ClearField("shape")  # as Caffe wrote it before there were shapes
    old.num, old.channels, old.height, old.width = WEIGHT.shape
    weights.write_bytes(net.SerializeToString())
    assert onnx_of(model, weights, {})[0].graph.initializer[0].dims == [*WEIGHT.shape]
    for change, said in [
        (lambda: bias.data.append(0), "E11033: Failed to convert the weight file. Blob l of size 3 is invalid."),
        (lambda: setattr(bias, "int8_data", b"1"), "E10055: Op l has quantized weights"),
        (lambda: net.ClearField("layer"), "E11024: Invalid Caffe weight file."),
        (lambda: net.layers.add(), 'E11023: Weight file contains "layers" structures'),
    ]:
        change()
        weights.write_bytes(net.SerializeToString())
        with pytest.raises(AtcError, match=said):
            onnx_of(model, weights, {})
    for data, said in (
        (b"\xff" * 9, "E11032: Failed to parse message weight"),
        (None, "E13000: The path .* is invalid"),
    ):
        weights.unlink() if data is None else weights.write_bytes(data)
        with pytest.raises(AtcError, match=said):
            onnx_of(model, weights, {})


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"framework": "0"}, "E10004: Value for --weight is empty."),
        ({"framework": "5", "weight": "w"}, "E10055: --weight is for models of Caffe."),
        ({"framework": "3"}, "E10055: --framework=3: models of TensorFlow are not simulated."),
    ],
)
def test_options(told: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = files(tmp_path, X + layer("ReLU", "", "x"), {})
    monkeypatch.setenv("OPHOOK_SIM_SOC", "Ascend910B4")
    given = {"model": str(model), "output": str(tmp_path / "net"), "soc_version": "Ascend910B4", **told}
    with pytest.raises(AtcError, match=said):
        convert(options.read([f"--{name}={value}" for name, value in given.items()]))
    assert not [*tmp_path.glob("*.om")]


def test_no_type_is_in_both_lists() -> None:
    assert not LAYERS.keys() & NOT_YET
