"""Caffe networks through ``atc``: each layer against torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import acl
import numpy as np
import offline
import pytest
import torch
from caffe_files import files, inputs, layer
from torch.nn import functional as F

from ophook_npu.sim.atc.__main__ import convert
from ophook_npu.sim.atc.caffe import onnx_of
from ophook_npu.sim.atc.caffe_layers import LAYERS
from ophook_npu.sim.atc.onnx_graph import graph_of
from ophook_npu.sim.atc.options import read

CHANCE = np.random.default_rng(5)
IMAGE = (2, 4, 7, 9)


def real(*shape: int) -> Any:
    return CHANCE.standard_normal(shape).astype(np.float32)


def positive(*shape: int) -> Any:
    return CHANCE.random(shape).astype(np.float32) + 0.5


def run(folder: Path, text: str, blobs: Any, *given: Any) -> list[torch.Tensor]:
    model, _ = onnx_of(*files(folder, text, blobs), {})
    return [torch.from_numpy(one) for one in offline.graph_run(graph_of(model), *given)]


W, B, FOUR = real(6, 2, 3, 3), real(6), real(4)
SCALE, SHIFT = positive(4), real(4)
TABLE, ROWS = real(5, 3), real(3, 63)


def along(values: Any) -> torch.Tensor:
    """One number for each channel of an image."""
    return torch.from_numpy(values).view(-1, 1, 1)


def best(x: torch.Tensor, count: int) -> torch.Tensor:
    values, places = x.flatten(1).topk(count)
    return torch.stack([places.float(), values], 1)


def mvn(x: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean((2, 3), keepdim=True)
    return centred / (centred.square().mean((2, 3), keepdim=True).sqrt() + 1e-9)


def unit(x: torch.Tensor, *dims: int) -> torch.Tensor:
    return x / (x.square().sum(dims, keepdim=True) + 1e-10).sqrt()


def around(x: torch.Tensor) -> torch.Tensor:
    return x / (1 + 0.5 * F.avg_pool2d(x * x, 3, 1, 1)) ** 0.75


def reorganized(x: torch.Tensor) -> torch.Tensor:
    n, c, h, w = x.shape
    return x.view(n, c, h // 2, 2, w // 2, 2).permute(0, 3, 5, 1, 2, 4).reshape(n, 4 * c, h // 2, w // 2)


def blended(x: torch.Tensor) -> torch.Tensor:
    return F.interpolate(x, size=(13, 17), mode="bilinear", align_corners=True)


# Type, what the layer says, its blobs, the shapes of its bottoms, and what torch computes.
Case = tuple[str, str, list[Any], list[Sequence[int]], Callable[..., Any]]
CASES: list[Case] = [
    ("AbsVal", "", [], [IMAGE], torch.abs),
    ("ArgMax", "argmax_param { top_k: 3 out_max_val: true }", [], [IMAGE], lambda x: best(x, 3)),
    ("ArgMax", "argmax_param { axis: 1 }", [], [IMAGE], lambda x: x.argmax(1, keepdim=True).float()),
    ("ArgMax", "argmax_param { axis: 1 out_max_val: true }", [], [IMAGE], lambda x: x.amax(1, keepdim=True)),
    ("BNLL", "", [], [IMAGE], F.softplus),
    (
        "BatchNorm", "batch_norm_param { eps: 0.01 }", [2 * SHIFT, 2 * SCALE, np.float32([2])], [IMAGE],
        lambda x: (x - along(SHIFT)) / (along(SCALE) + 0.01).sqrt(),
    ),
    ("BatchedMatMul", "batch_matmul_param { adj_x2: true }", [], [(2, 3, 5), (2, 4, 5)], lambda x, y: x @ y.mT),
    ("Bias", "", [FOUR], [IMAGE], lambda x: x + along(FOUR)),
    ("Bias", "bias_param { axis: 0 }", [], [IMAGE, (2, 4)], lambda x, y: x + y[..., None, None]),
    ("Concat", "concat_param { axis: 2 }", [], [IMAGE, (2, 4, 3, 9)], lambda x, y: torch.cat([x, y], 2)),
    ("Concat", "concat_param { concat_dim: 1 }", [], [IMAGE, IMAGE], lambda x, y: torch.cat([x, y], 1)),
    (
        "Convolution", "convolution_param { num_output: 6 group: 2 kernel_size: 3 stride: [2, 1] pad_h: 2 pad_w: 1 }",
        [W, B], [IMAGE], lambda x: F.conv2d(x, torch.from_numpy(W), torch.from_numpy(B), (2, 1), (2, 1), 1, 2),
    ),
    (
        "Convolution",
        "convolution_param { num_output: 6 bias_term: false kernel_h: 3 kernel_w: 3 group: 2 dilation: 2 }",
        [W], [IMAGE], lambda x: F.conv2d(x, torch.from_numpy(W), None, 1, 0, 2, 2),
    ),
    (
        "ConvolutionDepthwise", "convolution_param { num_output: 4 bias_term: false kernel_size: 3 }",
        [W[:4, :1]], [IMAGE], lambda x: F.conv2d(x, torch.from_numpy(W[:4, :1]), None, groups=4),
    ),
    ("Crop", "crop_param { axis: 2 offset: [1, 3] }", [], [IMAGE, (2, 4, 5, 6)], lambda x, y: x[:, :, 1:6, 3:9]),
    ("Crop", "crop_param { axis: -1 offset: 2 }", [], [IMAGE, (2, 4, 7, 5)], lambda x, y: x[..., 2:7]),
    (
        "Deconvolution",
        "convolution_param { num_output: 4 kernel_size: 3 stride: 2 pad: 1 group: 2 bias_term: false }",
        [W[:4]], [IMAGE], lambda x: F.conv_transpose2d(x, torch.from_numpy(W[:4]), None, 2, 1, 0, 2),
    ),
    ("Dropout", "dropout_param { dropout_ratio: 0.4 }", [], [IMAGE], lambda x: x),
    ("ELU", "elu_param { alpha: 0.5 }", [], [IMAGE], lambda x: F.elu(x, 0.5)),
    ("Eltwise", "", [], [IMAGE] * 3, lambda x, y, z: x + y + z),
    ("Eltwise", "eltwise_param { operation: SUM coeff: [1, -2] }", [], [IMAGE] * 2, lambda x, y: x - 2 * y),
    ("Eltwise", "eltwise_param { operation: PROD }", [], [IMAGE] * 2, torch.mul),
    ("Eltwise", "eltwise_param { operation: MAX }", [], [IMAGE] * 2, torch.maximum),
    ("Exp", "exp_param { base: 2 scale: 0.5 shift: 1 }", [], [IMAGE], lambda x: 2 ** (0.5 * x + 1)),
    ("Exp", "", [], [IMAGE], torch.exp),
    ("Flatten", "flatten_param { axis: 1 end_axis: 2 }", [], [IMAGE], lambda x: x.flatten(1, 2)),
    ("Flatten", "", [], [IMAGE], lambda x: x.flatten(1)),
    (
        "InnerProduct", "inner_product_param { num_output: 3 axis: 2 bias_term: false }", [ROWS], [IMAGE],
        lambda x: x.flatten(2) @ torch.from_numpy(ROWS.T),
    ),
    (
        "InnerProduct", "inner_product_param { num_output: 3 transpose: true }", [ROWS.T.copy(), B[:3]], [(2, 7, 9)],
        lambda x: x.flatten(1) @ torch.from_numpy(ROWS.T) + torch.from_numpy(B[:3]),
    ),
    ("Interp", "interp_param { height: 13 width: 17 }", [], [IMAGE], blended),
    ("Interp", "interp_param { zoom_factor: 2 }", [], [IMAGE], blended),
    (
        "LRN", "lrn_param { local_size: 3 alpha: 0.1 k: 2 }", [], [IMAGE],
        lambda x: F.local_response_norm(x, 3, 0.1, 0.75, 2),
    ),
    ("LRN", "lrn_param { local_size: 3 alpha: 0.5 norm_region: WITHIN_CHANNEL }", [], [IMAGE], around),
    ("Log", "log_param { base: 10 scale: 2 shift: 30 }", [], [IMAGE], lambda x: (2 * x + 30).log10()),
    ("MVN", "", [], [IMAGE], mvn),
    (
        "MVN", "mvn_param { across_channels: true normalize_variance: false }", [], [IMAGE],
        lambda x: x - x.mean((1, 2, 3), keepdim=True),
    ),
    (
        "Normalize", "norm_param { across_spatial: false channel_shared: false }", [SCALE], [IMAGE],
        lambda x: unit(x, 1) * along(SCALE),
    ),
    ("Normalize", "", [np.float32([20])], [IMAGE], lambda x: 20 * unit(x, 1, 2, 3)),
    ("PReLU", "", [FOUR], [IMAGE], lambda x: F.prelu(x, torch.from_numpy(FOUR))),
    (
        "PReLU", "prelu_param { channel_shared: true }", [FOUR[:1]], [IMAGE],
        lambda x: F.prelu(x, torch.from_numpy(FOUR[:1])),
    ),
    ("Permute", "permute_param { order: 0 order: 2 order: 3 }", [], [IMAGE], lambda x: x.permute(0, 2, 3, 1)),
    (
        "Pooling", "pooling_param { pool: MAX kernel_size: 3 stride: 2 pad: 1 }", [], [(2, 4, 8, 9)],
        lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    ),
    (
        "Pooling", "pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }", [], [(2, 4, 8, 9)],
        lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
    ),
    (
        "Pooling", "pooling_param { pool: AVE kernel_size: 2 stride: 2 }", [], [IMAGE],
        lambda x: F.avg_pool2d(x, 2, ceil_mode=True),
    ),
    (
        "Pooling", "pooling_param { kernel_h: 2 kernel_w: 3 stride_h: 2 stride_w: 3 round_mode: FLOOR }", [], [IMAGE],
        lambda x: F.max_pool2d(x, (2, 3)),
    ),
    (
        "Pooling", "pooling_param { pool: AVE global_pooling: true }", [], [IMAGE],
        lambda x: x.mean((2, 3), keepdim=True),
    ),
    ("Power", "power_param { power: 2 scale: 0.5 shift: 3 }", [], [IMAGE], lambda x: (0.5 * x + 3) ** 2),
    ("ReLU", "relu_param { negative_slope: 0.2 }", [], [IMAGE], lambda x: F.leaky_relu(x, 0.2)),
    ("ReLU6", "", [], [IMAGE], lambda x: F.relu6(x)),
    ("Reduction", "reduction_param { axis: 1 coeff: 3 }", [], [IMAGE], lambda x: 3 * x.sum((1, 2, 3))),
    ("Reduction", "reduction_param { operation: MEAN axis: -1 }", [], [IMAGE], lambda x: x.mean(-1)),
    ("Reduction", "reduction_param { operation: ASUM axis: 2 }", [], [IMAGE], lambda x: x.abs().sum((2, 3))),
    ("Reduction", "reduction_param { operation: SUMSQ axis: 2 }", [], [IMAGE], lambda x: x.square().sum((2, 3))),
    ("Reorg", "reorg_param { stride: 2 }", [], [(2, 3, 4, 6)], reorganized),
    ("Reshape", "reshape_param { shape { dim: [0, -1, 3] } }", [], [IMAGE], lambda x: x.reshape(2, -1, 3)),
    (
        "Reshape", "reshape_param { shape { dim: [2, -1] } axis: 1 num_axes: 1 }", [], [IMAGE],
        lambda x: x.reshape(2, 2, 2, 7, 9),
    ),
    ("Reverse", "reverse_param { axis: [1, -1] }", [], [IMAGE], lambda x: x.flip(1, 3)),
    (
        "Scale", "scale_param { bias_term: true }", [SCALE, SHIFT], [IMAGE],
        lambda x: x * along(SCALE) + along(SHIFT),
    ),
    ("Scale", "scale_param { axis: 0 }", [], [IMAGE, (2, 4)], lambda x, y: x * y[..., None, None]),
    ("Scale", "scale_param { num_axes: 0 }", [np.float32(2.5).reshape(())], [IMAGE], lambda x: 2.5 * x),
    ("ShuffleChannel", "shuffle_channel_param { group: 2 }", [], [IMAGE], lambda x: F.channel_shuffle(x, 2)),
    ("Sigmoid", "", [], [IMAGE], torch.sigmoid),
    ("Softmax", "", [], [IMAGE], lambda x: x.softmax(1)),
    ("Softmax", "softmax_param { axis: -1 }", [], [IMAGE], lambda x: x.softmax(-1)),
    ("TanH", "", [], [IMAGE], torch.tanh),
    ("Threshold", "threshold_param { threshold: 0.3 }", [], [IMAGE], lambda x: (x > 0.3).float()),
    ("Tile", "tile_param { axis: 2 tiles: 3 }", [], [IMAGE], lambda x: x.tile(1, 1, 3, 1)),
    (
        "Upsample", "upsample_param { scale: 0.5 stride: 3 }", [], [IMAGE],
        lambda x: 0.5 * F.interpolate(x, scale_factor=3),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("of", "text", "blobs", "shapes", "computed"), CASES)
def test_layers(of: str, text: str, blobs: Any, shapes: Any, computed: Any, tmp_path: Path) -> None:
    given = {f"x{i}": real(*shape) for i, shape in enumerate(shapes)}
    net = inputs(**{name: array.shape for name, array in given.items()}) + layer(of, text, *given)
    (found,) = run(tmp_path, net, {"l": blobs} if blobs else {}, *given.values())
    wanted = computed(*map(torch.from_numpy, given.values()))
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


OTHERWISE = {"Embed", "PriorBox", "ROIAlign", "Silence", "Slice", "Split"}  # below


def test_each_layer_has_a_case() -> None:
    assert {case[0] for case in CASES} | OTHERWISE == set(LAYERS)


def test_layers_of_several_tops(tmp_path: Path) -> None:
    x = real(*IMAGE)
    net = inputs(x=IMAGE) + layer("Slice", "slice_param { axis: 3 slice_point: [2, 5] }", "x", tops=["a", "b", "c"])
    net += layer("Split", "", "b", name="s", tops=["d", "e"]) + layer("Silence", "", "a", name="quiet", tops=[])
    third, fourth, fifth = run(tmp_path, net, {}, x)
    assert [one.shape[3] for one in (third, fourth, fifth)] == [4, 3, 3]
    assert torch.equal(third, torch.from_numpy(x[..., 5:])) and torch.equal(fourth, torch.from_numpy(x[..., 2:5]))
    assert torch.equal(fourth, fifth)


def test_embedding(tmp_path: Path) -> None:
    said = layer("Embed", "embed_param { num_output: 3 input_dim: 5 }", "x")
    (found,) = run(tmp_path, inputs(x=[4]) + said, {"l": [TABLE, B[:3]]}, np.float32([4, 0, 2, 4]))
    assert torch.equal(found, torch.from_numpy(TABLE[[4, 0, 2, 4]] + B[:3]))


def test_regions(tmp_path: Path) -> None:
    said = "roi_align_param { pooled_h: 2 pooled_w: 2 spatial_scale: 0.5 sampling_ratio: 2 }"
    x, rois = torch.arange(2.0 * 8 * 8).view(2, 1, 8, 8), torch.tensor([[1.0, 2, 2, 10, 10]])
    net = inputs(x=x.shape, r=rois.shape) + layer("ROIAlign", said, "x", "r")
    (found,) = run(tmp_path, net, {}, x.numpy(), rois.numpy())
    # Boxes of four by four, from (1, 1); the mean of a plane is what it has in the middle.
    wanted = x[1, 0, 0, 0] + torch.tensor([[18.0, 20], [34, 36]])
    torch.testing.assert_close(found, wanted.view(1, 1, 2, 2))


def test_first_boxes(tmp_path: Path) -> None:
    said = "prior_box_param { min_size: 4 max_size: 9 aspect_ratio: 4 variance: [0.1, 0.1, 0.2, 0.2] clip: true }"
    net = inputs(x=[1, 3, 2, 1], image=[1, 3, 20, 10]) + layer("PriorBox", said, "x", "image")
    (found,) = run(tmp_path, net, {}, real(1, 3, 2, 1), real(1, 3, 20, 10))
    sizes = [(4, 4), (6, 6), (8, 2), (2, 8)]  # of the small square, between both, wide and high
    wanted = [
        [(5 - w / 2) / 10, (y - h / 2) / 20, (5 + w / 2) / 10, (y + h / 2) / 20] for y in (5, 15) for w, h in sizes
    ]
    torch.testing.assert_close(found[0, 0].view(8, 4), torch.tensor(wanted).clip(0, 1))
    assert found.shape == (1, 2, 32) and torch.equal(found[0, 1].view(8, 4)[3], torch.tensor([0.1, 0.1, 0.2, 0.2]))


def test_from_files_to_results(tmp_path: Path) -> None:
    """As a program has it: an image in gears of batches, in float16, layers in place and weights that are shared."""
    net = 'name: "two" input: "data" input_dim: 1 input_dim: 3 input_dim: 8 input_dim: 8\n'
    for side in ("left", "right"):
        said = 'param { name: "w" } param { name: "b" } convolution_param { num_output: 4 kernel_size: 3 pad: 1 }'
        net += layer("Convolution", said, "data", name=side, tops=[side])
        net += layer("ReLU", "", side, name=f"{side}_relu", tops=[side])
    net += layer("Eltwise", "eltwise_param { operation: PROD }", "left", "right", name="both", tops=["both"])
    net += layer("SoftmaxWithLoss", "include { phase: TRAIN }", "both", name="loss", tops=["loss"])
    weight, bias = real(4, 3, 3, 3) / math.sqrt(27), real(4) / 9
    model, weights = files(tmp_path, net, {"left": [weight, bias], "elsewhere": [bias]})
    options = ["--framework=0", f"--model={model}", f"--weight={weights}", f"--output={tmp_path / 'net'}"]
    (om,) = convert(
        read([*options, "--soc_version=Ascend910B4", "--dynamic_batch_size=1,2", "--input_shape=data:-1,3,8,8"])
    )
    x = real(2, 3, 8, 8)
    with offline.loaded(str(om)) as loaded:
        assert [name for name, _, _ in loaded.outputs()] == ["both:0:both"]
        assert [name for name, _, _ in loaded.inputs()] == ["data", "ascend_mbatch_shape_data"]
        with loaded.datasets([x, 8]) as (given, made):
            assert acl.mdl.set_dynamic_batch_size(loaded.number, given, 1, 2) == 0
            assert acl.mdl.execute(loaded.number, given, made) == 0
            found = torch.from_numpy(loaded.read(made).astype(np.float32)).view(2, 4, 8, 8)
    wanted = F.conv2d(torch.from_numpy(x), torch.from_numpy(weight), torch.from_numpy(bias), padding=1).relu().square()
    torch.testing.assert_close(found, wanted, rtol=1e-2, atol=1e-2)
