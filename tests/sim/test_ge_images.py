"""Sampling by a grid, gradients of paddings, complex numbers and copies into views, in torchair's graphs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch_npu
import torchair
from interfaces import Refused, graph
from torch.nn import functional as F
from values import close, real

BACKEND = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())


def same(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=BACKEND, fullgraph=True, dynamic=False)
    with torch.no_grad():
        torch.testing.assert_close(compiled(*(tensor.npu() for tensor in inputs)).cpu(), function(*inputs))


@pytest.mark.parametrize("sizes", [(9, 4), (3, 5), (1, 12)])
@pytest.mark.parametrize("told", ["align_corners", "half_pixel_centers"])
def test_the_nearest_pixel(told: str, sizes: tuple[int, int]) -> None:
    """By the places of the corners, halves away from zero; or by the middles of pixels."""

    def pixels(old: int, new: int) -> list[int]:
        if told == "half_pixel_centers":
            return [(2 * i + 1) * old // (2 * new) for i in range(new)]
        return [(2 * i * (old - 1) + new - 1) // (2 * (new - 1)) for i in range(new)] if new > 1 else [0]

    x = real(2, 3, 5, 7)
    x[0, 0, 0, 0] = float("inf")
    rows, columns = pixels(5, sizes[0]), pixels(7, sizes[1])
    (got,) = graph("ResizeNearestNeighborV2", x, torch.tensor(sizes, dtype=torch.int32), **{told: True})
    assert torch.equal(got, x[:, :, rows][..., columns])
    expected = torch.zeros(2, 3, 5, 7)
    grad = real(2, 3, *sizes)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            expected[:, :, row, column] += grad[:, :, i, j]
    (got,) = graph("ResizeNearestNeighborV2Grad", grad, torch.tensor([5, 7], dtype=torch.int32), **{told: True})
    close(got, expected)


def test_corners_and_middles_are_not_told_together() -> None:
    with pytest.raises(Refused, match="half_pixel_centers"):
        graph("ResizeNearestNeighborV2", real(1, 1, 2, 2), torch.tensor([4, 4], dtype=torch.int32),
              align_corners=True, half_pixel_centers=True)  # fmt: skip


def test_tiles_along_an_axis() -> None:
    x = real(2, 3, 2)
    assert torch.equal(graph("TileWithAxis", x, tiles=2)[0], torch.cat([x, x], 1))
    assert torch.equal(graph("TileWithAxis", x, axis=-1, tiles=3)[0], torch.cat([x, x, x], 2))
    with pytest.raises(Refused, match="tiles=1; allowed: above 1"):
        graph("TileWithAxis", x, tiles=1)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_sampling_by_a_grid(mode: str, padding: str) -> None:
    def planes(x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(x, grid, mode, padding, align_corners=True)

    same(planes, real(2, 3, 5, 6), real(2, 4, 3, 2, seed=1))
    if mode != "bicubic":
        same(planes, real(2, 3, 4, 5, 6), real(2, 4, 3, 2, 3, seed=1))


def test_what_sampling_does_not_do_is_named() -> None:
    for attributes, message in (
        ({"interpolation_mode": "bicubic"}, "interpolation_mode='bicubic'; allowed: bilinear, nearest"),
        ({"padding_mode": "circular"}, "padding_mode='circular'; allowed: zeros, border, reflection"),
        ({"data_format": "NDHWC"}, "data_format"),
    ):
        with pytest.raises(Refused, match=message):
            graph("GridSampler3D", real(1, 2, 3, 4, 5), real(1, 2, 2, 2, 3), **attributes)
    with pytest.raises(Refused, match=r"expected \(1, h, w, 2\) as in \(n, c, _, _\), \(n, h, w, 2\)"):
        graph("GridSampler2D", real(1, 2, 3, 4), real(1, 2, 2, 3))


@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("mode", ["reflect", "edge", "constant", "symmetric", "circular"])
def test_gradients_of_paddings(mode: str, contiguous: bool) -> None:
    sizes, pads = (2, 4, 5), [0, 0, 1, 2, 3, 0]
    grad = real(2, 7, 8)

    def padded(x: torch.Tensor) -> torch.Tensor:
        if mode == "symmetric":
            x = torch.cat([x[:, :1], x, x[:, 2:].flip(1)], 1)
            return torch.cat([x[:, :, :3].flip(2), x], 2)
        names = {"edge": "replicate"}
        return F.pad(x[None], [3, 0, 1, 2], names.get(mode, mode))[0]

    x = torch.zeros(sizes, dtype=torch.float64, requires_grad=True)
    padded(x).backward(grad.double())
    paddings = torch.tensor(pads if contiguous else pads[::2] + pads[1::2])
    (got,) = graph("PadV3Grad", grad, paddings, mode=mode, paddings_contiguous=contiguous)
    close(got, x.grad)


def test_paddings_that_do_not_fit_are_refused() -> None:
    for pads, mode, message in (
        ([0, 0, 3, 1], "reflect", "too large for mode reflect"),
        ([0, 0, 1, 1], "wrap", "mode wrap; allowed: constant, reflect"),
        ([0, 0, 1], "edge", "it has 3 paddings"),
        ([0, 0, -1, 1], "edge", "paddings"),
    ):
        with pytest.raises(Refused, match=message):
            graph("PadV3Grad", real(2, 6), torch.tensor(pads), mode=mode)


def test_gradients_of_paddings_in_graphs() -> None:
    same(lambda g, x: torch.ops.aten.reflection_pad2d_backward(g, x, [1, 2, 0, 1]), real(2, 3, 5, 8), real(2, 3, 4, 5))
    same(lambda g, x: torch.ops.aten.replication_pad1d_backward(g, x, [1, 2]), real(2, 3, 8), real(2, 3, 5))


def test_complex_numbers() -> None:
    same(lambda x: torch.view_as_real(torch.view_as_complex(x)), real(4, 3, 2))
    z = torch.complex(real(3, 4), real(3, 4, seed=1))
    for of, want in (("Real", z.real), ("Imag", z.imag)):
        assert torch.equal(graph(of, z)[0], want)
        assert torch.equal(graph(of, z, Tout=torch.float64)[0], want.double())
    assert torch.equal(graph("Complex", z.real.contiguous(), z.imag.contiguous())[0], z)
    with pytest.raises(Refused, match="makes no complex numbers of"):
        graph("Complex", torch.ones(3, dtype=torch.int32), torch.ones(3, dtype=torch.int32))


def test_copies_into_views() -> None:
    same(lambda x, y: torch.as_strided_scatter(x, y, [2, 3], [5, 2], 1), real(3, 6), real(2, 3, seed=1))
    x, y = real(20), real(4, 3, seed=1)

    def numbers(*values: int) -> torch.Tensor:
        return torch.tensor(values)

    views = numbers(3, 2), numbers(2, 7), numbers(3), y, numbers(3, 2), numbers(1, 3), numbers(1)
    (got,) = graph("ViewCopy", x, *views)
    want = x.clone()
    for i in range(3):
        for j in range(2):
            want[3 + 2 * i + 7 * j] = y.flatten()[1 + i + 3 * j]
    assert torch.equal(got, want)
    with pytest.raises(Refused, match="leaves a tensor of shape"):
        graph("ViewCopy", x, numbers(3, 2), numbers(9, 7), numbers(3), *views[3:])
    with pytest.raises(Refused, match="for one of sizes"):
        graph("ViewCopy", x, numbers(2, 3), *views[1:])


def test_rounding_of_lists() -> None:
    x = [real(3, 5) * 3, real(4, seed=1) * 3]
    for mode, rounded in ((2, torch.floor), (3, torch.ceil)):
        got = graph("ForeachRoundOffNumber", x, torch.tensor([mode], dtype=torch.int8))
        assert all(torch.equal(a, rounded(b)) for a, b in zip(got, x, strict=True))
    same(lambda a, b: torch.stack(torch._foreach_floor([a, b])), x[0], x[0] * 2)


@pytest.mark.parametrize("mode", ["round", "floor", "ceil", "trunc"])
def test_quantization_by_a_scale_of_each_column(mode: str) -> None:
    x, scale, offset = real(4, 6) * 20, real(6, seed=1).abs() + 0.5, real(6, seed=2)
    (got,) = graph("AscendQuantV2", x, scale, offset, round_mode=mode)
    exact = x.double() * scale.double() + offset.double()
    assert torch.equal(got, getattr(torch, mode)(exact).clamp(-128, 127).to(torch.int8))
    with pytest.raises(Refused, match="dst_type"):
        graph("AscendQuantV2", x, scale, offset, dst_type=29)
    with pytest.raises(Refused, match="5 scales for a dimension of size 6"):
        graph("AscendQuantV2", x, scale[:5].contiguous(), None)
    if mode == "round":
        same_quantized = torch_npu.npu_quantize
        torch._dynamo.reset()
        compiled = torch.compile(
            lambda x, s, o: same_quantized(x, s, o, torch.qint8, -1, False), backend=BACKEND, fullgraph=True
        )
        assert torch.equal(compiled(x.npu(), scale.npu(), offset.npu()).cpu(), got)


def test_transposed_convolution_over_volumes() -> None:
    x, weight, bias = real(2, 4, 3, 4, 3), real(4, 3, 2, 3, 3, seed=1), real(6, seed=2)
    settings = {"stride": (1, 2, 1), "padding": (0, 1, 1), "output_padding": (0, 1, 0), "groups": 2}
    (got,) = graph(
        "Conv3DTranspose", torch.tensor([2, 6, 4, 8, 3]), x, weight, bias, strides=[1, 1, 1, 2, 1], groups=2,
        pads=[0, 0, 1, 1, 1, 1], output_padding=[0, 0, 0, 1, 0], data_format="NCDHW",
    )  # fmt: skip
    close(got, F.conv_transpose3d(x.double(), weight.double(), bias.double(), **settings))
    with pytest.raises(Refused, match="offset_w is not simulated"):
        graph(
            "Conv3DTranspose", torch.tensor([2, 3, 4, 6, 5]), x, weight, bias, torch.ones(3, dtype=torch.int8),
            strides=[1] * 5, pads=[0] * 6, data_format="NCDHW",
        )  # fmt: skip
    module = torch.nn.ConvTranspose3d(3, 4, 2, stride=2).half()
    torch._dynamo.reset()
    compiled = torch.compile(module.npu(), backend=BACKEND, fullgraph=True)
    y = real(1, 3, 3, 4, 2).half()
    with torch.no_grad():
        close(compiled(y.npu()).cpu(), module.cpu().double()(y.double()), 1e-2)
