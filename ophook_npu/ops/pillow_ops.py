"""Pillow's crop and paste as operators: ``mylib::crop(Tensor pic, int[] box) -> Tensor`` and
``mylib::paste(Tensor im1, Tensor im2, int[] coord) -> Tensor``.

pic, im1, im2: (C, H, W), any dtype; box: left, upper, right, lower, inside the picture; coord: left, upper.
crop returns (C, lower - upper, right - left); paste returns im1 with im2 in it, both leave their arguments as they are.
Each is the other's gradient: crop's is 1 inside the box and 0 outside.

Pillow knows few pixel formats, and all of them round a float to 8 bits or to fp32. So a picture is handed to it as
bytes, itemsize of them for a pixel: every dtype survives unchanged, double and gradients below 1 / 255 included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ophook_npu.errors import OphookError
from ophook_npu.ops.declare import Operator


def _planes(pic: torch.Tensor) -> list[Any]:
    """One 8-bit image for each channel, as wide as its bytes.

    Raises:
        OphookError: Pillow is not installed. The declarations do without it: commands look through all of them.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise OphookError("mylib::crop", "Pillow is not installed", todo="pip install Pillow") from error
    dense = pic.detach().contiguous()
    channels, height, width = dense.shape
    data = dense.view(torch.uint8) if dense.numel() else dense.new_empty((channels, height, 0), dtype=torch.uint8)
    pixels = data.reshape(channels, height, width * dense.element_size()).numpy()
    return [Image.fromarray(np.ascontiguousarray(plane)) for plane in pixels]


def _tensor(planes: list[Any], like: torch.Tensor) -> torch.Tensor:
    data = torch.from_numpy(np.stack([np.array(plane) for plane in planes]))
    return data.view(like.dtype)


def _check(name: str, pic: torch.Tensor, box: Sequence[int]) -> None:
    if pic.dim() != 3:
        raise RuntimeError(f"[{name}] the picture has shape {list(pic.shape)}; allowed: (channels, height, width)")
    if len(box) != 4 or not (0 <= box[0] <= box[2] <= pic.shape[2] and 0 <= box[1] <= box[3] <= pic.shape[1]):
        raise RuntimeError(
            f"[{name}] the box is {list(box)}; allowed: left, upper, right, lower inside "
            f"{pic.shape[2]} x {pic.shape[1]}"
        )


def crop_cpu(pic: torch.Tensor, box: Sequence[int]) -> torch.Tensor:
    _check("crop", pic, box)
    x0, y0, x1, y1 = box
    if 0 in (pic.shape[0], x1 - x0, y1 - y0):
        return pic.new_empty(pic.shape[0], y1 - y0, x1 - x0)
    size = pic.element_size()
    return _tensor([plane.crop((x0 * size, y0, x1 * size, y1)) for plane in _planes(pic)], pic)


def crop_fake(pic: torch.Tensor, box: Sequence[int]) -> torch.Tensor:
    _check("crop", pic, box)
    x0, y0, x1, y1 = box
    return pic.new_empty(pic.shape[0], y1 - y0, x1 - x0)


def paste_cpu(im1: torch.Tensor, im2: torch.Tensor, coord: Sequence[int]) -> torch.Tensor:
    _check_paste(im1, im2, coord)
    if 0 in im2.shape:
        return im1.clone(memory_format=torch.contiguous_format)
    size = im1.element_size()
    planes = _planes(im1)
    for plane, part in zip(planes, _planes(im2), strict=True):
        plane.paste(part, (coord[0] * size, coord[1]))
    return _tensor(planes, im1)


def _check_paste(im1: torch.Tensor, im2: torch.Tensor, coord: Sequence[int]) -> None:
    if im1.dtype != im2.dtype:
        raise RuntimeError(f"[paste] im1 has dtype {im1.dtype}, im2 has dtype {im2.dtype}; allowed: one dtype for both")
    if im2.dim() != 3 or len(coord) != 2 or im1.shape[:1] != im2.shape[:1]:
        raise RuntimeError(
            f"[paste] im1 has shape {list(im1.shape)}, im2 has shape {list(im2.shape)}, coord is {list(coord)}; "
            "allowed: (channels, height, width) with equal channels, and left, upper"
        )
    _check("paste", im1, [*coord, coord[0] + im2.shape[2], coord[1] + im2.shape[1]])


def paste_fake(im1: torch.Tensor, im2: torch.Tensor, coord: Sequence[int]) -> torch.Tensor:
    _check_paste(im1, im2, coord)
    return im1.new_empty(im1.shape)


def crop_context(ctx: Any, inputs: Any, output: Any) -> None:
    pic, box = inputs
    ctx.coord, ctx.shape = box[:2], pic.shape


def crop_backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
    return PASTE.packet(grad.new_zeros(ctx.shape), grad, ctx.coord), None


def paste_context(ctx: Any, inputs: Any, output: Any) -> None:
    _, im2, coord = inputs
    ctx.shape, ctx.box = im2.shape, [*coord, coord[0] + im2.shape[2], coord[1] + im2.shape[1]]


def paste_backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
    needs_im1, needs_im2, _ = ctx.needs_input_grad
    grad_im1 = PASTE.packet(grad, grad.new_zeros(ctx.shape), ctx.box[:2]) if needs_im1 else None
    return grad_im1, CROP.packet(grad, ctx.box) if needs_im2 else None, None


def crop_examples() -> list[tuple[Any, ...]]:
    return [
        (torch.randn(3, 64, 64), [0, 0, 10, 10]),
        (torch.randn(3, 91, 91, requires_grad=True), [10, 0, 20, 10]),
        (torch.randn(3, 60, 60, dtype=torch.double), [3, 4, 32, 20]),
        (torch.randn(2, 12, 16, requires_grad=True, dtype=torch.double), [3, 4, 9, 11]),
        (torch.arange(60, dtype=torch.uint8).reshape(1, 6, 10), [9, 0, 10, 6]),
        (torch.randn(1, 4, 5), [2, 2, 2, 4]),
    ]


def paste_examples() -> list[tuple[Any, ...]]:
    return [
        (torch.randn(3, 8, 9), torch.randn(3, 2, 4), [1, 2]),
        (
            torch.randn(2, 6, 7, dtype=torch.double, requires_grad=True),
            torch.randn(2, 3, 3, dtype=torch.double, requires_grad=True),
            [4, 3],
        ),
        (torch.randn(1, 4, 5).half(), torch.randn(1, 4, 5).half(), [0, 0]),
    ]


CROP: Operator = Operator(
    schema="mylib::crop(Tensor pic, int[] box) -> Tensor",
    summary="the part of a picture inside a box",
    cpu=crop_cpu,
    outputs={"part": None},
    fake=crop_fake,
    setup_context=crop_context,
    backward=crop_backward,
    examples=crop_examples,
    needs=lambda: [PASTE],
)
PASTE: Operator = Operator(
    schema="mylib::paste(Tensor im1, Tensor im2, int[] coord) -> Tensor",
    summary="a picture with another one in it",
    cpu=paste_cpu,
    outputs={"picture": None},
    fake=paste_fake,
    setup_context=paste_context,
    backward=paste_backward,
    examples=paste_examples,
    needs=lambda: [CROP],
)
