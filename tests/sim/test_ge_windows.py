"""Windows over planes and volumes by the graph engine's older types: paddings SAME and VALID, channels behind, paddings
that differ in front and behind.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from interfaces import Node, Refused, graph
from torch.nn import functional as F
from values import close, real


def same_pads(size: int, window: int, stride: int) -> tuple[int, int]:
    rest = max((-(-size // stride) - 1) * stride + window - size, 0)
    return rest // 2, rest - rest // 2


def pads_of(x: torch.Tensor, windows: tuple[int, ...], strides: tuple[int, ...], padding: str) -> list[int]:
    """As F.pad takes them, of the dimensions from 2 on."""
    out: list[int] = []
    for size, window, stride in zip(x.shape[2:], windows, strides, strict=True):
        out[:0] = same_pads(size, window, stride) if padding == "SAME" else (0, 0)
    return out


POOLS = {4: (F.max_pool2d, F.avg_pool2d), 5: (F.max_pool3d, F.avg_pool3d)}


def pooled(x: torch.Tensor, pads: list[int], windows: tuple[int, ...], strides: tuple[int, ...], mean: bool) -> Any:
    most, average = POOLS[x.dim()]
    if not mean:
        return most(F.pad(x, pads, value=float("-inf")), windows, strides)
    inside = average(F.pad(torch.ones_like(x), pads), windows, strides)
    return average(F.pad(x, pads), windows, strides) / inside


def with_gradient(function: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    leaf = x.clone().requires_grad_()
    y = function(leaf)
    grad = real(*y.shape, seed=3)
    return y.detach(), grad, torch.autograd.grad(y, leaf, grad)[0]


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize(("windows", "strides"), [((3, 2), (2, 2)), ((2, 4), (1, 3)), ((1, 1), (2, 2))])
def test_planes(
    windows: tuple[int, int], strides: tuple[int, int], mean: bool, padding: str, channels_last: bool
) -> None:
    x = real(2, 3, 6, 9)
    how = {"padding": padding, "data_format": "NHWC" if channels_last else "NCHW"}
    order = (1, *windows, 1) if channels_last else (1, 1, *windows)
    steps = (1, *strides, 1) if channels_last else (1, 1, *strides)
    how |= {"ksize": [*order], "strides": [*steps]}

    def lie(one: torch.Tensor) -> torch.Tensor:
        return one.movedim(1, -1).contiguous() if channels_last else one

    y, grad, back = with_gradient(lambda x: pooled(x, pads_of(x, windows, strides, padding), windows, strides, mean), x)
    (got,) = graph("AvgPool" if mean else "MaxPool", lie(x), **how)
    close(got, lie(y))
    of = torch.tensor(lie(x).shape, dtype=torch.int32)
    (got,) = (
        graph("AvgPoolGrad", of, lie(grad), **how) if mean else graph("MaxPoolGrad", lie(x), lie(y), lie(grad), **how)
    )
    close(got, lie(back))
    # the later types of the same
    how["padding_mode"] = how.pop("padding")
    (got,) = graph("AvgPoolV2" if mean else "MaxPoolV3", lie(x), **how)
    close(got, lie(y))
    (got,) = (
        graph("AvgPoolV2Grad", of, lie(grad), **how)
        if mean
        else graph("MaxPoolV3Grad", lie(x), lie(y), lie(grad), **how)
    )
    close(got, lie(back))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_volumes(padding: str) -> None:
    x, windows, strides = real(1, 2, 5, 6, 7), (2, 3, 2), (2, 2, 3)
    how = {"ksize": [1, 1, *windows], "strides": [1, 1, *strides], "data_format": "NCDHW"}
    pads = pads_of(x, windows, strides, padding)
    y, grad, back = with_gradient(lambda x: pooled(x, pads, windows, strides, False), x)
    close(graph("MaxPool3D", x, padding=padding, **how)[0], y)
    close(graph("MaxPool3DGrad", x, y, grad, padding=padding, pads=[0] * 6, **how)[0], back)


def test_averages_with_paddings_that_differ() -> None:
    x, front = real(1, 2, 5, 6), [1, 0, 0, 1]
    how = {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2], "pads": front, "data_format": "NCHW"}
    y, grad, back = with_gradient(lambda x: pooled(x, [0, 1, 1, 0], (2, 2), (2, 2), True), x)
    close(graph("AvgPoolV2", x, **how)[0], y)
    close(graph("AvgPoolV2Grad", torch.tensor(x.shape, dtype=torch.int32), grad, **how)[0], back)
    counted = F.avg_pool2d(F.pad(x, [0, 1, 1, 0]), 2)
    close(graph("AvgPoolV2", x, exclusive=False, **how)[0], counted)
    close(graph("AvgPoolV2", x, divisor_override=3, **how)[0], counted * 4 / 3)
    volume = real(1, 2, 3, 4, 5)
    got = graph("AvgPool3D", volume, ksize=[2], strides=[2], pads=[0, 1, 0, 0, 1, 0], data_format="NCDHW")[0]
    close(got, F.avg_pool3d(F.pad(volume, [1, 0, 0, 0, 0, 1]), 2))


def test_one_window_over_all() -> None:
    x = real(2, 3, 4, 5)
    how = {"ksize": [1, 1, 1, 1], "strides": [1, 1, 1, 1], "global_pooling": True}
    close(graph("AvgPoolV2", x, **how)[0], x.mean((2, 3), keepdim=True))
    close(graph("MaxPoolV3", x, **how)[0], x.amax((2, 3), keepdim=True))


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("steady", [False, True])
@pytest.mark.parametrize("mean", [False, True])
def test_windows_with_borders_that_are_drawn(mean: bool, steady: bool, overlapping: bool) -> None:
    x, of = real(2, 7, 10, 3), "FractionalAvgPool" if mean else "FractionalMaxPool"
    how = {"pooling_ratio": [1.0, 1.5, 1.4, 1.0], "pseudo_random": steady, "overlapping": overlapping, "seed": 3}
    got, *borders = graph(of, x, **how)
    for places, size, count in zip(borders, (7, 10), (4, 7), strict=True):
        assert places[0] == 0 and places[-1] == size and len(places) == count + 1
        assert {*places.diff().tolist()} <= {1, 2}
    assert torch.equal(graph(of, x, **how)[0], got)

    def pool(x: torch.Tensor) -> torch.Tensor:
        rows, columns = ([*zip(one[:-1], one[1:] + overlapping, strict=True)] for one in borders)
        parts = [[x[:, i:j, k:m].flatten(1, 2) for k, m in columns] for i, j in rows]
        return torch.stack(
            [torch.stack([one.mean(1) if mean else one.max(1).values for one in row], 1) for row in parts], 1
        )

    y, grad, back = with_gradient(pool, x)
    close(got, y)
    given = [torch.tensor(x.shape)] if mean else [x, y]
    close(graph(f"{of}Grad", *given, grad, *borders, overlapping=overlapping)[0], back)


def test_borders_that_divide_a_side_are_no_choice() -> None:
    x = torch.arange(1, 17).view(1, 4, 4, 1)
    for of, wanted in (("FractionalMaxPool", [6, 8, 14, 16]), ("FractionalAvgPool", [3, 5, 11, 13])):
        y, rows, columns = graph(of, x, pooling_ratio=[1.0, 1.5, 1.5, 1.0])
        assert y.flatten().tolist() == wanted and rows.tolist() == columns.tolist() == [0, 2, 4]


def test_whole_numbers_have_a_greatest() -> None:
    x = torch.arange(-8, 8, dtype=torch.int32).view(1, 4, 4, 1)
    how = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    assert torch.equal(graph("MaxPool", x, **how)[0].flatten(), torch.tensor([2, 3, 6, 7], dtype=torch.int32))


def test_what_windows_refuse_is_named() -> None:
    x, how = real(1, 2, 4, 4), {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2], "data_format": "NCHW"}
    for of, attributes, message in (
        ("MaxPool", {"padding": "CALCULATED"}, "its padding is 'CALCULATED'; allowed: SAME, VALID"),
        ("MaxPool", {"padding": "SAME", "ksize": [2, 1, 2, 2]}, "ksize=2 1 2 2; allowed: 4 values, 1 for batch"),
        ("AvgPool", {"padding": "SAME", "data_format": "NC1HWC0"}, "data_format='NC1HWC0' is not simulated"),
        ("MaxPoolV3", {"pads": [0, 2, 0, 0]}, "paddings below a window"),
        ("MaxPool", {"padding": "VALID", "ksize": [1, 1, 5, 2]}, "a window of 5 does not fit into a dimension of 4"),
    ):
        with pytest.raises(Refused, match=message):
            graph(of, x, **{**how, **attributes})


# ---- convolutions ---------------------------------------------------------------------------------------------------
CONVOLUTIONS = {2: (F.conv2d, "NCHW"), 3: (F.conv3d, "NCDHW")}


@pytest.mark.parametrize("axes", [2, 3])
def test_convolutions_with_paddings_that_differ(axes: int) -> None:
    of, data_format = CONVOLUTIONS[axes]
    x, w, b = real(2, 4, *(5, 6, 7)[-axes:]), real(6, 2, *(3, 2, 3)[-axes:], seed=1), real(6, seed=2)
    pads = [0, 1, 2, 1, 1, 0][: 2 * axes]
    how = {
        "strides": [1, 1] + [2] * axes, "pads": pads, "dilations": [1] * (axes + 2), "groups": 2,
        "data_format": data_format,
    }  # fmt: skip
    more = [side for i in reversed(range(axes)) for side in pads[2 * i : 2 * i + 2]]
    leaves = [one.clone().requires_grad_() for one in (x, w)]
    y = of(F.pad(leaves[0], more), leaves[1], b, 2, groups=2)
    grad = real(*y.shape, seed=3)
    to_x, to_w = torch.autograd.grad(y, leaves, grad)
    close(graph(f"Conv{axes}D", x, w, b, **how)[0], y.detach())
    shapes = [torch.tensor(one.shape, dtype=torch.int32) for one in (x, w)]
    close(graph(f"Conv{axes}DBackpropInput", shapes[0], w, grad, **how)[0], to_x)
    close(graph(f"Conv{axes}DBackpropFilter", x, shapes[1], grad, **how)[0], to_w)
    by_lists = {**how, "input_size": [*x.shape]}
    close(graph(f"Conv{axes}DBackpropInputD", w, grad, **by_lists)[0], to_x)
    close(graph(f"Conv{axes}DBackpropFilterD", x, grad, **how, filter_size=[*w.shape])[0], to_w)
    # the gradient of the input as a layer of its own, which tells what the strides leave over
    whole = [size + sum(pads[2 * i : 2 * i + 2]) for i, size in enumerate(x.shape[2:])]
    rest = [(size - window) % 2 for size, window in zip(whole, w.shape[2:], strict=True)]
    close(graph(f"Conv{axes}DTranspose", shapes[0], grad, w, output_padding=[0, 0, *rest], **how)[0], to_x)
    close(graph(f"Conv{axes}DTransposeD", grad, w, output_padding=[0, 0, *rest], **by_lists)[0], to_x)


def test_a_convolution_of_each_channel_with_paddings_that_differ() -> None:
    x, w = real(2, 3, 6, 7), real(3, 1, 3, 3, seed=1)
    how = {"strides": [1, 1, 2, 2], "pads": [0, 1, 1, 0], "data_format": "NCHW"}
    leaves = [one.clone().requires_grad_() for one in (x, w)]
    y = F.conv2d(F.pad(leaves[0], [1, 0, 0, 1]), leaves[1], stride=2, groups=3)
    grad = real(*y.shape, seed=3)
    to_x, to_w = torch.autograd.grad(y, leaves, grad)
    lies = w.transpose(0, 1).contiguous()
    close(graph("DepthwiseConv2D", x, lies, **how)[0], y.detach())
    close(graph("DepthwiseConv2DBackpropInput", torch.tensor(x.shape, dtype=torch.int32), lies, grad, **how)[0], to_x)
    to = Node("DepthwiseConv2DBackpropFilter", x, torch.tensor(lies.shape, dtype=torch.int32), grad, **how)
    to.infer()
    to.made[0].dims[:4] = lies.shape  # no rule tells how its filter lies
    close(to.run()[0], to_w.transpose(0, 1))


def test_samples_of_a_deformable_convolution_lie_as_their_images() -> None:
    x, offsets = real(2, 4, 6, 7), real(2, 27, 3, 4, seed=1)
    how = {"pads": [1, 1, 1, 1], "ksize": [3, 3], "strides": [1, 1, 2, 2]}
    behind = {**how, "strides": [1, 2, 2, 1], "data_format": "NHWC"}
    lie = [one.movedim(1, -1).contiguous() for one in (x, offsets)]
    (got,), (want,) = graph("DeformableOffsets", x, offsets, **how), graph("DeformableOffsets", *lie, **behind)
    assert torch.equal(got, want.movedim(-1, 1))
    grad = real(*got.shape, seed=2)
    got, want = (
        graph("DeformableOffsetsGrad", grad, x, offsets, **how),
        graph("DeformableOffsetsGrad", grad.movedim(1, -1).contiguous(), *lie, **behind),
    )
    for one, other in zip(got, want, strict=True):
        assert torch.equal(one, other.movedim(-1, 1))
