"""Convolutional networks in torchair's graphs."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

MODULES = {
    "conv": (lambda: nn.Conv2d(3, 8, 3, stride=2, padding=1), (2, 3, 9, 9)),
    "groups": (lambda: nn.Conv2d(4, 8, 3, groups=2, bias=False, dilation=2), (2, 4, 9, 9)),
    "conv1d": (lambda: nn.Conv1d(3, 4, 3), (2, 3, 9)),
    "conv3d": (lambda: nn.Conv3d(2, 4, 2), (1, 2, 5, 5, 5)),
    "average": (lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True), (1, 2, 8, 6)),
    "average without padding": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), (1, 2, 7, 7)),
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


def test_what_is_missing_is_named() -> None:
    with torch.no_grad(), pytest.raises(RuntimeError, match=r"MaxPoolWithArgmaxV1.*the simulator has no operator"):
        compiled(nn.MaxPool2d(2), torch.randn(1, 2, 4, 4), False)
