"""Convolutional networks in torchair's graphs."""

from __future__ import annotations

import copy

import pytest
import torch
from interfaces import graph
from torch import nn

MODULES = {
    "conv": (lambda: nn.Conv2d(3, 8, 3, stride=2, padding=1), (2, 3, 9, 9)),
    "groups": (lambda: nn.Conv2d(4, 8, 3, groups=2, bias=False, dilation=2), (2, 4, 9, 9)),
    "conv1d": (lambda: nn.Conv1d(3, 4, 3), (2, 3, 9)),
    "conv3d": (lambda: nn.Conv3d(2, 4, 2), (1, 2, 5, 5, 5)),
    "average": (lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True), (1, 2, 8, 6)),
    "average without padding": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), (1, 2, 7, 7)),
    "maximum": (lambda: nn.MaxPool2d(3, 2, 1), (2, 3, 9, 8)),
    "maximum with dilation": (lambda: nn.MaxPool2d(2, 3, dilation=2, ceil_mode=True), (2, 3, 9, 8)),
    "group norm": (lambda: nn.GroupNorm(2, 4), (2, 4, 5, 5)),
    "transposed": (lambda: nn.ConvTranspose2d(3, 4, 2, stride=2), (1, 3, 5, 4)),
    "upsampling": (lambda: nn.Upsample(scale_factor=2), (1, 3, 5, 4)),
    "reflection": (lambda: nn.ReflectionPad2d((1, 2, 0, 1)), (1, 3, 5, 4)),
    "prelu": (lambda: nn.PReLU(3), (2, 3, 5, 4)),
    "block": (
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(2)),
        (2, 3, 9, 9),
    ),
}


def compiled(module: nn.Module, x: torch.Tensor, dynamic: bool) -> torch.Tensor:
    import torchair

    torch._dynamo.reset()
    on_npu = copy.deepcopy(module).npu()
    return torch.compile(on_npu, backend=torchair.get_npu_backend(), dynamic=dynamic, fullgraph=True)(x.npu()).cpu()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", MODULES)
def test_inference(name: str, dynamic: bool) -> None:
    make, shape = MODULES[name]
    torch.manual_seed(0)
    module, x = make().eval(), torch.randn(shape)
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.uniform_(-1, 1)
            layer.running_var.uniform_(0.5, 2)
    with torch.no_grad():
        torch.testing.assert_close(compiled(module, x, dynamic), module(x), rtol=1e-5, atol=1e-5)


# torchair's BatchNorm in training hands over its results in a wrong order: tests/sim/test_ge_models.py
TRAINED = [
    "conv",
    "average",
    "average without padding",
    "maximum",
    "maximum with dilation",
    "group norm",
    "upsampling",
    "prelu",
    "block",
]


@pytest.mark.parametrize("name", TRAINED)
def test_gradients(name: str) -> None:
    import torchair

    make, shape = MODULES[name]
    torch.manual_seed(0)
    module = make().eval()
    on_npu = copy.deepcopy(module).npu()
    x = torch.randn(shape, requires_grad=True)
    y = x.detach().npu().requires_grad_()
    torch._dynamo.reset()
    graph = torch.compile(on_npu, backend=torchair.get_npu_backend(), fullgraph=True, dynamic=False)
    weight = torch.randn(module(x).shape, generator=torch.Generator().manual_seed(1))
    (module(x) * weight).sum().backward()
    (graph(y) * weight.npu()).sum().backward()
    torch.testing.assert_close(y.grad.cpu(), x.grad, rtol=1e-4, atol=1e-5)
    for one, other in zip(module.parameters(), on_npu.parameters(), strict=True):
        torch.testing.assert_close(other.grad.cpu(), one.grad, rtol=1e-4, atol=1e-4)


def test_pooling_of_volumes() -> None:
    """torchair's converter asks for the indices, too."""
    x = torch.randn(1, 2, 4, 6, 4)
    with torch.no_grad():
        assert torch.equal(compiled(nn.MaxPool3d(2), x, False), nn.MaxPool3d(2)(x))


def test_products_of_whole_numbers() -> None:
    """By the node: torchair hands over the number of another data type than the one it is asked for."""
    draw = torch.Generator().manual_seed(0)
    x, weight = (torch.randint(-9, 9, size, generator=draw, dtype=torch.int8) for size in ((2, 4, 8, 8), (6, 4, 3, 3)))
    scale, bias = torch.rand(6, generator=draw), torch.arange(6, dtype=torch.int32)
    (got,) = graph(
        "QuantConv2D", x, weight, scale, bias, dtype=torch.float16, strides=[1, 1, 2, 1], pads=[1, 1, 0, 0],
        dilations=[1, 1, 1, 1], data_format="NCHW",
    )  # fmt: skip
    want = nn.functional.conv2d(x.double(), weight.double(), bias.double(), (2, 1), (1, 0)) * scale.view(6, 1, 1)
    torch.testing.assert_close(got.double(), want, rtol=2e-3, atol=1e-2)
