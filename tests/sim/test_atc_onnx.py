"""ONNX models that are converted compute what ONNX says: operators by its reference, models as PyTorch does.

All of ONNX's own tests: scripts/onnx_backend.py.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import offline
import onnx
import pytest
import torch
from onnx import helper
from onnx.reference import ReferenceEvaluator

from ophook_npu.sim.atc.onnx_graph import graph_of

CHANCE = np.random.default_rng(7)


class Constant:
    """An input that is a value of the model."""

    def __init__(self, value: Any, dtype: Any = np.int64) -> None:
        self.value = np.asarray(value, dtype)


def real(*shape: int) -> Any:
    return CHANCE.standard_normal(shape).astype(np.float32)


def positive(*shape: int) -> Any:
    return np.abs(real(*shape)) + np.float32(0.5)


def whole(*shape: int, below: int = 4) -> Any:
    return CHANCE.integers(0, below, shape)


def floats(*values: Any) -> Constant:
    return Constant(values[0] if len(values) == 1 else values, np.float32)


# An operator, its opset, its inputs, how many outputs it has, its attributes.
CASES: list[tuple[str, int, list[Any], int, dict[str, Any]]] = [
    ("Softmax", 13, [real(2, 3, 4)], 1, {"axis": 1}),
    ("Softmax", 11, [real(2, 3, 4)], 1, {"axis": 1}),
    ("Hardmax", 13, [real(2, 3, 4)], 1, {}),
    ("Elu", 13, [real(3, 4)], 1, {"alpha": 0.3}),
    ("Selu", 13, [real(3, 4)], 1, {"alpha": 2.0, "gamma": 3.0}),
    ("Shrink", 9, [real(3, 4)], 1, {"lambd": 0.3, "bias": 0.1}),
    ("ThresholdedRelu", 10, [real(3, 4)], 1, {"alpha": 0.2}),
    ("PRelu", 16, [real(2, 3, 4), real(3, 1)], 1, {}),
    ("PRelu", 16, [real(2, 3, 4), real(2, 3, 4)], 1, {}),
    ("Clip", 13, [real(3, 4), floats(-0.3)], 1, {}),
    ("Clip", 9, [real(3, 4)], 1, {"max": 0.5}),
    ("Mod", 13, [whole(6, below=9) - 4, np.asarray([3, -3, 2, -2, 5, 7])], 1, {}),
    ("Pow", 15, [positive(3, 4), np.asarray([2, 0, -1, 3])], 1, {}),
    ("Max", 13, [real(3, 4), real(4), real(3, 1)], 1, {}),
    ("Mean", 13, [real(3, 4), real(3, 4)], 1, {}),
    ("IsInf", 10, [np.asarray([np.inf, -np.inf, 1.0, np.nan], np.float32)], 1, {"detect_negative": 0}),
    ("BitShift", 11, [np.asarray([16, 4, 1], np.uint8), np.asarray([1, 2, 3], np.uint8)], 1, {"direction": "LEFT"}),
    ("Xor", 8, [whole(6, below=2) == 1, whole(6, below=2) == 1], 1, {}),
    ("Cast", 13, [real(3, 4)], 1, {"to": 6}),
    ("ReduceSum", 13, [real(2, 3, 4), Constant([0, -1])], 1, {"keepdims": 0}),
    ("ReduceSum", 13, [real(2, 3)], 1, {"noop_with_empty_axes": 1}),
    ("ReduceL2", 13, [real(2, 3, 4)], 1, {"axes": [1]}),
    ("ReduceLogSumExp", 18, [real(2, 3, 4), Constant([2])], 1, {}),
    ("ReduceSumSquare", 11, [real(2, 3, 4)], 1, {}),
    ("ArgMax", 13, [real(2, 3, 4)], 1, {"axis": 1, "keepdims": 0}),
    ("TopK", 11, [real(3, 6), Constant([2])], 2, {"largest": 0}),
    ("CumSum", 14, [real(3, 4), Constant(1)], 1, {"exclusive": 1, "reverse": 1}),
    ("LpNormalization", 8, [real(3, 4)], 1, {"axis": 0, "p": 1}),
    ("MeanVarianceNormalization", 13, [real(2, 3, 4, 4)], 1, {}),
    ("Reshape", 14, [real(2, 3, 4), Constant([0, -1, 2])], 1, {}),
    ("Flatten", 13, [real(2, 3, 4)], 1, {"axis": 2}),
    ("Squeeze", 13, [real(2, 1, 3, 1), Constant([1])], 1, {}),
    ("Unsqueeze", 11, [real(2, 3)], 1, {"axes": [0, 3]}),
    ("Split", 13, [real(2, 7), Constant([2, 5])], 2, {"axis": 1}),
    ("Split", 18, [real(2, 7)], 3, {"axis": 1, "num_outputs": 3}),
    ("Expand", 13, [real(3, 1), np.asarray([2, 1, 4])], 1, {}),
    ("Pad", 18, [real(2, 3), Constant([1, 2]), floats(0.5), Constant([1])], 1, {}),
    ("Pad", 13, [real(2, 5), Constant([0, 2, 0, 1])], 1, {"mode": "reflect"}),
    ("Slice", 13, [real(4, 6), Constant([3, 1]), Constant([-9, 5]), Constant([0, 1]), Constant([-1, 2])], 1, {}),
    ("Gather", 13, [real(4, 6), np.asarray([[1, -1], [0, 3]])], 1, {"axis": 0}),
    ("GatherElements", 13, [real(2, 4), np.asarray([[0, -1], [2, 1]])], 1, {"axis": 1}),
    ("GatherND", 13, [real(3, 4, 2), np.asarray([[0, -1], [2, 1]])], 1, {}),
    ("ScatterElements", 18, [real(3, 4), np.asarray([[0, -1]]), real(1, 2)], 1, {"axis": 1, "reduction": "add"}),
    ("ScatterND", 18, [real(4, 3), np.asarray([[1], [3], [1]]), real(3, 3)], 1, {"reduction": "max"}),
    ("OneHot", 11, [np.asarray([0, -1, 2]), Constant(3), floats(0.5, 2.0)], 1, {"axis": 0}),
    ("NonZero", 13, [np.asarray([[1, 0, 2], [0, 0, 3]], np.float32)], 1, {}),
    ("Compress", 11, [real(3, 4), np.asarray([True, False, True])], 1, {"axis": 0}),
    ("Unique", 11, [np.asarray([2.0, 1.0, 1.0, 3.0], np.float32)], 4, {}),
    ("Trilu", 14, [real(4, 5), Constant(1)], 1, {"upper": 0}),
    ("EyeLike", 9, [real(3, 4)], 1, {"k": 1}),
    ("Range", 11, [Constant(1), Constant(9), Constant(3)], 1, {}),
    ("DepthToSpace", 13, [real(2, 8, 2, 3)], 1, {"blocksize": 2, "mode": "CRD"}),
    ("SpaceToDepth", 13, [real(2, 2, 4, 6)], 1, {"blocksize": 2}),
    ("ReverseSequence", 10, [real(4, 3), np.asarray([1, 4, 2])], 1, {"time_axis": 0, "batch_axis": 1}),
    ("Einsum", 12, [real(2, 3, 4), real(2, 4, 5)], 1, {"equation": "...ij,...jk"}),
    ("Gemm", 13, [real(3, 4), real(5, 3), real(5)], 1, {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}),
    ("MatMul", 13, [real(4), real(2, 4, 3)], 1, {}),
    ("Det", 11, [real(2, 3, 3)], 1, {}),
    ("Conv", 11, [real(1, 4, 7, 6), real(6, 2, 3, 3), real(6)], 1,
     {"group": 2, "pads": [1, 0, 2, 1], "strides": [2, 1]}),
    ("Conv", 11, [real(1, 2, 8), real(3, 2, 3)], 1, {"auto_pad": "SAME_UPPER", "strides": [2]}),
    ("Conv", 11, [real(1, 2, 4, 5, 4), real(3, 2, 2, 2, 2)], 1, {}),
    ("ConvTranspose", 11, [real(1, 2, 3, 4), real(2, 3, 3, 3)], 1, {"strides": [2, 2], "pads": [1, 0, 1, 2]}),
    ("MaxPool", 12, [real(1, 2, 6, 7)], 1, {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    ("MaxPool", 12, [real(1, 2, 6, 7)], 2, {"kernel_shape": [2, 2]}),
    ("AveragePool", 11, [real(1, 2, 6, 7)], 1, {"kernel_shape": [3, 3], "pads": [1, 1, 0, 0]}),
    ("LpPool", 11, [real(1, 2, 6, 6)], 1, {"kernel_shape": [2, 2], "p": 3}),
    ("GlobalAveragePool", 8, [real(2, 3, 4, 5)], 1, {}),
    ("LRN", 13, [real(2, 5, 3, 3)], 1, {"size": 3}),
    ("BatchNormalization", 15, [real(2, 3, 4), real(3), real(3), real(3), positive(3)], 1, {}),
    ("InstanceNormalization", 8, [real(2, 3, 4, 4), real(3), real(3)], 1, {}),
    ("LayerNormalization", 17, [real(2, 3, 4), real(4)], 3, {}),
    ("GridSample", 16, [real(1, 2, 4, 5), np.tanh(real(1, 3, 2, 2))], 1, {"mode": "nearest"}),
    ("Resize", 13, [real(1, 2, 4, 4), floats([]), floats(1, 1, 2, 3)], 1, {"mode": "linear"}),
    ("Resize", 13, [real(1, 2, 4, 4), floats([]), floats([]), Constant([1, 2, 3, 7])], 1, {"mode": "cubic"}),
    ("Resize", 11, [real(1, 2, 4, 4), floats([]), floats(1, 1, 2, 2)], 1,
     {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
    ("NonMaxSuppression", 11, [np.sort(positive(1, 6, 4), -1), positive(1, 2, 6), Constant([3]), floats([0.3])], 1, {}),
    ("SoftmaxCrossEntropyLoss", 13, [real(3, 5, 2), whole(3, 2, below=5), positive(5)], 2, {"ignore_index": 1}),
    ("GRU", 14, [real(5, 2, 3), *map(floats, (real(1, 12, 3), real(1, 12, 4), real(1, 24)))], 2, {"hidden_size": 4}),
    ("LSTM", 14, [real(5, 2, 3), *map(floats, (real(1, 16, 3), real(1, 16, 4), real(1, 32)))], 3, {"hidden_size": 4}),
]  # fmt: skip


def _largest_with_places(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y, places = torch.nn.functional.max_pool2d(x, 2, 1, return_indices=True)
    return y, places + 42 * torch.arange(2).view(1, 2, 1, 1)


# Where the reference of onnx 1.23 is not what the specification says.
OTHERWISE = {
    ("Softmax", 11): lambda x: [torch.softmax(x.flatten(1), 1).view_as(x)],  # along all axes from the first on
    ("LpNormalization", 8): lambda x: [x / x.abs().sum(0)],  # of absolute values
    ("LRN", 13): lambda x: [torch.nn.functional.local_response_norm(x, 3)],  # in the middle of the channels
    ("MaxPool", 12): lambda x: _largest_with_places(x),  # places in the whole tensor
}


@pytest.mark.numbers
@pytest.mark.parametrize(
    ("of", "opset", "inputs", "outputs", "attributes"), CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)]
)
def test_an_operator(of: str, opset: int, inputs: list[Any], outputs: int, attributes: dict[str, Any]) -> None:
    names, results = [f"i{i}" for i in range(len(inputs))], [f"o{i}" for i in range(outputs)]
    fed = {name: one for name, one in zip(names, inputs, strict=True) if not isinstance(one, Constant)}
    constants = {name: one.value for name, one in zip(names, inputs, strict=True) if isinstance(one, Constant)}
    if not fed:  # a model has an input
        fed = {name: constants.pop(name) for name in names}
    graph = helper.make_graph(
        [helper.make_node(of, names, results, **attributes)],
        of,
        [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in fed.items()],
        [helper.make_empty_tensor_value_info(name) for name in results],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    wanted: Sequence[Any] = ReferenceEvaluator(model).run(None, fed)
    if (of, opset) in OTHERWISE and (outputs == 2 or of != "MaxPool"):
        wanted = [one.numpy() for one in OTHERWISE[of, opset](torch.from_numpy(inputs[0]))]
    found = offline.graph_run(graph_of(model), *fed.values())
    for got, want in zip(found, wanted, strict=True):
        torch.testing.assert_close(
            torch.from_numpy(got), torch.from_numpy(np.array(want)), rtol=1e-4, atol=1e-5, equal_nan=True
        )


# ---- what is drawn ---------------------------------------------------------------------------------------------------
def drawn(of: str, *inputs: Any, **attributes: Any) -> Any:
    """What a node of this operator draws, and the same once more in a run of its own."""
    fed = inputs or (np.zeros(1, np.float32),)  # a model has an input
    names = [f"i{i}" for i in range(len(fed))]
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(one.dtype), one.shape)
        for name, one in zip(names, fed, strict=True)
    ]
    nodes = [helper.make_node(of, names if inputs else [], ["y"], **attributes)]
    nodes += [] if inputs else [helper.make_node("Identity", names, ["unused"])]
    results = [helper.make_empty_tensor_value_info(name) for name in ("y", "unused")[: len(nodes)]]
    graph = helper.make_graph(nodes, of, infos, results)
    made = graph_of(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    return tuple(offline.graph_run(made, *fed)[0] for _ in range(2))


SIZES = {"shape": [40, 50]}


@pytest.mark.numbers
@pytest.mark.parametrize(
    ("of", "attributes", "mean", "deviation"),
    [
        ("RandomNormal", {"mean": 3.0, "scale": 0.5}, 3, 0.5),
        ("RandomUniform", {"low": -2.0, "high": 4.0}, 1, 6 / 12**0.5),
        ("RandomNormalLike", {"mean": 3.0, "scale": 0.5}, 3, 0.5),
        ("RandomUniformLike", {"low": -2.0, "high": 4.0}, 1, 6 / 12**0.5),
    ],
)
def test_numbers_that_are_drawn(of: str, attributes: dict[str, float], mean: float, deviation: float) -> None:
    inputs = [np.zeros((40, 50), np.float16)] if of.endswith("Like") else []
    told = attributes if inputs else {**attributes, **SIZES}
    one, another = drawn(of, *inputs, **told)
    assert one.shape == (40, 50) and one.dtype == (np.float16 if inputs else np.float32) and (one != another).any()
    assert abs(one.astype(float).mean() - mean) < 0.2 and abs(one.astype(float).std() - deviation) < 0.2
    assert of.startswith("RandomNormal") or (one.min() >= -2 and one.max() <= 4)
    half, again = drawn(of, *inputs, seed=5.0, dtype=onnx.TensorProto.FLOAT16, **told)
    assert half.dtype == np.float16 and (half == again).all()


@pytest.mark.numbers
def test_chances_and_classes() -> None:
    chances = np.repeat(np.asarray([[0], [1], [0.5]], np.float32), 900, 1)
    one, another = drawn("Bernoulli", chances)
    assert one.dtype == np.float32 and not one[0].any() and one[1].all() and (one[2] != another[2]).any()
    one, again = drawn("Bernoulli", chances, seed=3.0, dtype=onnx.TensorProto.BOOL)
    assert one.dtype == np.bool_ and (one == again).all() and 0.4 < one[2].mean() < 0.6
    one, _ = drawn("Multinomial", np.log(np.asarray([[1e-9, 1, 1e-9]] * 5, np.float32)))
    assert one.dtype == np.int32 and one.tolist() == [[1]] * 5


# ---- models ----------------------------------------------------------------------------------------------------------
class Convolutions(torch.nn.Module):
    """A residual block, upsampled and pooled."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, 2, 1, bias=False),
            torch.nn.BatchNorm2d(8),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(3, 2, 1),
        )
        self.deep = torch.nn.Conv2d(8, 8, 3, 1, 1, groups=8)
        self.up = torch.nn.ConvTranspose2d(8, 4, 4, 2, 1)
        self.last = torch.nn.Linear(4, 5)

    def forward(self, x: torch.Tensor) -> Any:
        x = self.stem(x)
        x = self.up(x + torch.nn.functional.silu(self.deep(x)))
        x = torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return self.last(x.mean((2, 3))).softmax(-1)


class Block(torch.nn.Module):
    """Of a transformer, with shapes that are computed."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = torch.nn.LayerNorm(16), torch.nn.Linear(16, 48), torch.nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> Any:
        batch, length, size = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, 4, 4).permute(2, 0, 3, 1, 4)
        seen = torch.tril(torch.ones(length, length)) > 0
        scores = (q @ k.transpose(-1, -2) / 2).masked_fill(~seen, -1e9).softmax(-1)
        return x + torch.nn.functional.gelu(self.out((scores @ v).transpose(1, 2).reshape(batch, length, size)))


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(6, 7, 2, batch_first=True, bidirectional=True)
        self.gru = torch.nn.GRU(14, 5, batch_first=True)

    def forward(self, x: torch.Tensor) -> Any:
        return self.gru(self.lstm(x)[0])


MODELS = {
    "convolutions": (Convolutions, (2, 3, 32, 32), {0: "n"}, 11),
    "block": (Block, (2, 5, 16), {0: "n", 1: "t"}, 17),
    "recurrent": (Recurrent, (2, 5, 6), None, 13),
}


@pytest.mark.numbers
@pytest.mark.parametrize("name", MODELS)
def test_a_model(name: str) -> None:
    """With the dimensions that are left open, and with those that it is given when it is converted."""
    torch.manual_seed(0)
    made, shape, free, opset = MODELS[name]
    model, x, file = made().eval(), torch.randn(shape), io.BytesIO()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's, of itself
        result = model(x)
        axes = {"x": free} if free else None
        torch.onnx.export(
            model, (x,), file, input_names=["x"], dynamic_axes=axes, opset_version=opset, dynamo=False
        )  # fmt: skip
    wanted = [result] if isinstance(result, torch.Tensor) else [*result]
    exported = onnx.load_from_string(file.getvalue())
    for shapes in ({}, {"x": shape}):
        graph = graph_of(exported, input_shapes=shapes)
        found = [torch.from_numpy(one) for one in offline.graph_run(graph, x.numpy())]
        torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-5)
