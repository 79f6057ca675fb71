"""Layers and others that torch_npu runs by type, against their definitions in torch on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch_npu
from torch.nn import functional as F


# ---- deformable convolution --------------------------------------------------------------------------------------
def samples(x: torch.Tensor, offset: torch.Tensor, kernel: int, stride: int, pad: int, groups: int) -> torch.Tensor:
    """A plane for each place of the kernel by grid_sample; offsets are all x, all y, all masks."""
    (batch, channels, height, width), (rows, columns) = x.shape, offset.shape[2:]
    shift_x, shift_y, mask = offset.unflatten(1, (3, groups, kernel, kernel)).unbind(1)
    out = x.new_zeros(batch, channels, rows, kernel, columns, kernel)
    for group in range(groups):
        own = slice(group * channels // groups, (group + 1) * channels // groups)
        for i in range(kernel):
            for j in range(kernel):
                down = torch.arange(rows)[:, None] * stride + i - pad + shift_y[:, group, i, j]
                over = torch.arange(columns) * stride + j - pad + shift_x[:, group, i, j]
                grid = torch.stack([2 * over / (width - 1) - 1, 2 * down / (height - 1) - 1], -1)
                taken = F.grid_sample(x[:, own], grid, align_corners=True) * mask[:, group, i, j, None].transpose(1, 1)
                out[:, own, :, i, :, j] = taken
    return out.reshape(batch, channels, rows * kernel, columns * kernel)


def test_deformable_convolution_and_its_gradients() -> None:
    torch.manual_seed(0)
    x, weight, bias = torch.randn(2, 4, 6, 7), torch.randn(3, 4, 3, 3), torch.randn(3)
    offset = torch.randn(2, 3 * 2 * 9, 3, 4) * 2
    inputs = [x.requires_grad_(), weight.requires_grad_(), offset.requires_grad_(), bias.requires_grad_()]
    taken = samples(x, offset, 3, 2, 1, 2)
    expected = F.conv2d(taken, weight, bias, stride=3)
    grad = torch.randn(expected.shape)
    expected.backward(grad)

    on_device = [one.detach().npu() for one in inputs]
    how = {"kernel_size": [3, 3], "stride": [1, 1, 2, 2], "padding": [1, 1, 1, 1], "deformable_groups": 2}
    got, got_samples = torch_npu.npu_deformable_conv2d(*on_device, **how)
    torch.testing.assert_close(got_samples.cpu(), taken.detach(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(got.cpu(), expected.detach(), rtol=1e-4, atol=1e-4)
    back = torch_npu.npu_deformable_conv2dbk(on_device[0], grad.npu(), got_samples, on_device[1], on_device[2], **how)
    for one, other in zip(back, inputs, strict=True):
        torch.testing.assert_close(one.cpu(), other.grad, rtol=1e-3, atol=1e-3)


# ---- attention with its projections ----------------------------------------------------------------------------
@pytest.mark.parametrize("drop", [0.0, 0.5])
def test_multi_head_attention_and_its_gradients(drop: float) -> None:
    torch.manual_seed(0)
    batch, heads, size, targets, sources = 2, 16, 16, 16, 32
    width = heads * size

    def half(*shape: int) -> torch.Tensor:
        return (torch.randn(shape) / 8).half()

    given = [half(batch * targets, width), half(batch * sources, width), half(batch * sources, width)]
    given += [half(width, width) for _ in range(3)]
    mask, grad = half(batch, heads, targets, sources), half(batch * targets, width)
    out = [half(width, width), *(half(width) for _ in range(4))]
    bits = torch.randint(0, 256, (batch * heads * targets * sources // 8,), dtype=torch.uint8)
    kept = torch.from_numpy(np.unpackbits(bits.numpy(), bitorder="little")).view(batch, heads, targets, sources)

    wide = [one.float().requires_grad_() for one in given + out]
    query, key, value = (
        F.linear(x, w, b).view(batch, -1, heads, size).transpose(1, 2)
        for x, w, b in zip(wide[:3], wide[3:6], wide[7:10], strict=True)
    )
    probability = torch.softmax(query @ key.transpose(2, 3) / size**0.5 + mask.float(), -1)
    context = ((probability * kept / 0.5 if drop else probability) @ value).transpose(1, 2).reshape(-1, width)
    expected = F.linear(context, wide[6], wide[10])
    expected.backward(grad.float())

    device = [one.npu().requires_grad_() for one in given + out]
    results = torch_npu.npu_multi_head_attention(
        *device[:6], mask.npu(), *device[6:], bits.npu(), heads, size, sources, targets, drop, True
    )
    assert [one.dtype for one in results] == [torch.float16, torch.uint8, *[torch.float16] * 3, torch.float32,
                                              torch.float16, torch.float16]  # fmt: skip
    left = bits if drop else torch.full_like(bits, 255)
    for got, other in zip(results, (expected, left, query / size**0.5, key, value, probability), strict=False):
        torch.testing.assert_close(got.detach().cpu().float(), other.detach().float(), rtol=1e-2, atol=1e-2)
    results[0].backward(grad.npu())
    for got, other in zip(device, wide, strict=True):
        torch.testing.assert_close(got.grad.cpu().float(), other.grad, rtol=2e-2, atol=2e-2)


def test_multi_head_attention_draws_a_mask_where_none_is_given() -> None:
    x, weight, mask = torch.rand(16, 256).half().npu(), torch.eye(256).half().npu(), torch.zeros(1, 16, 16, 16).half()
    _, bits, *_, dropped, _ = torch_npu.npu_multi_head_attention(
        *[x] * 3, *[weight] * 3, mask.npu(), weight, *[None] * 5, 16, 16, 16, 16, 0.25, True
    )
    kept = np.unpackbits(bits.cpu().numpy(), bitorder="little").reshape(1, 16, 16, 16)
    assert 0.6 < kept.mean() < 0.9
    np.testing.assert_array_equal(dropped.cpu().numpy() != 0, kept != 0)


# ---- others ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("with_offset", [False, True])
def test_calibration_finds_the_scale_that_loses_least(with_offset: bool) -> None:
    random = np.random.default_rng(0)
    data = (random.normal(size=(4, 5, 6)) + 0.3).astype(np.float32)
    counts, _ = np.histogram(data, 64)
    steps = np.cumsum(counts)
    low, high = data.min(), data.max()
    start, end = (low + (steps / data.size < part).sum() / 64 * (high - low) for part in (0.07, 0.95))
    losses = {}
    for factor in 0.7 + 0.05 * np.arange(13):
        if with_offset:
            scale = (max(end, 0) * factor - min(start, 0)) / 255
            offset = -(np.round(min(start, 0) / scale) + 128)
        else:
            scale, offset = max(abs(start), abs(end)) * factor / 127, 0.0
        whole = np.clip(np.round(data / scale) + offset, -128, 127)
        losses[float(((whole - offset) * scale - data).__pow__(2).sum())] = scale, offset
    expected = losses[min(losses)]
    got = torch_npu.npu_ifmr(
        torch.from_numpy(data).npu(), torch.tensor([low]).npu(), torch.tensor([high]).npu(),
        torch.from_numpy(steps.astype(np.int32)).npu(), 0.93, 0.95, 0.7, 1.3, 0.05, with_offset,
    )  # fmt: skip
    np.testing.assert_allclose([one.item() for one in got], expected, rtol=1e-5)


def test_blocks_of_channels_are_added() -> None:
    a, b = torch.randn(2, 40, 3, 4), torch.randn(2, 21, 3, 4)
    padded = [F.pad(one, (0, 0, 0, 0, 0, 48 - one.shape[1])) for one in (a, b)]
    got = torch_npu.npu_stride_add(a.npu(), b.npu(), 1, 0, 2).cpu()
    torch.testing.assert_close(got, padded[0][:, 16:48] + padded[1][:, :32])


def test_places_of_a_mask_are_drawn() -> None:
    mask = torch.zeros(4, 6, dtype=torch.bool)
    mask.view(-1)[::3] = True
    there = {tuple(place) for place in mask.nonzero().tolist()}
    places, valid = (one.cpu() for one in torch_npu.npu_random_choice_with_mask(mask.npu(), 11, 3, 4))
    assert valid.tolist() == [True] * 8 + [False] * 3
    assert {tuple(place) for place in places[:8].tolist()} == there and not places[8:].any()
    again = torch_npu.npu_random_choice_with_mask(mask.npu(), 5, 3, 4)[0].cpu()
    assert torch.equal(again, places[:5])
    others = [torch_npu.npu_random_choice_with_mask(mask.npu(), 8, *seeds)[0].cpu() for seeds in ((5, 0), (0, 0))]
    assert not all(torch.equal(other, places[:8]) for other in others)
    # op-plugin's test_random_choice_with_mask.py, on a device
    first = torch.tensor([True, False, True, False])
    assert torch_npu.npu_random_choice_with_mask(first.npu(), 2, 1, 0)[0].cpu().tolist() == [[0], [2]]


def test_no_overflow_is_told_where_numbers_are_infinite() -> None:
    status = torch_npu.npu_alloc_float_status(torch.zeros(8).npu())
    assert status.cpu().tolist() == [0.0] * 8
    torch_npu.npu_clear_float_status(status)
    big = torch.tensor([40000.0], dtype=torch.float16).npu()
    assert torch.isinf(big + big).all()
    told = torch_npu.npu_get_float_status(status)
    assert (told.dtype, told.cpu().tolist()) == (torch.int32, [0] * 8)


REFUSED = """
import torch, torch_npu
def said(call):
    try:
        call()
        torch.npu.synchronize()
    except RuntimeError as error:
        print([line for line in str(error).splitlines() if "[simulated Ascend]" in line][0].split("Ascend] ")[1])
box, scores = torch.rand(1, 2, 5).npu(), torch.zeros(2).npu()
said(lambda: torch_npu.npu_rotated_overlaps(box, box, True))
said(lambda: torch_npu.npu_rotated_iou(box, box, False, 1))
said(lambda: torch_npu.npu_rotated_iou(box, box, False, 0, True, 0.0, 0.5))
said(lambda: torch_npu.npu_nms_rotated(box[0], scores, 0.5, 0, -1, 2))
said(lambda: torch_npu.npu_batch_nms(torch.rand(1, 3, 1, 4).npu(), torch.rand(1, 3, 2).npu(), 0.1, 0.5, 3, 3, True))
said(lambda: torch_npu.npu_stride_add(torch.rand(1, 20, 2).npu(), torch.rand(1, 20, 2).npu(), 1, 1, 2))
said(lambda: torch_npu.npu_nms_rotated(box[0], scores, 0.5))
"""


def test_what_no_source_tells_is_refused_by_name(run_sim) -> None:
    result = run_sim(REFUSED, TASK_QUEUE_ENABLE="0", OPHOOK_SIM_AFTER_FAILURE="continue")
    assert result.stdout.splitlines() == [
        "aclop operator RotatedOverlaps: trans=1 is not simulated",
        "aclop operator RotatedIou: mode='iof' is not simulated",
        "aclop operator RotatedIou: value=0.5 is not simulated",
        "aclop operator RotatedNMS: mode=2 is not simulated",
        "aclop operator BatchMultiClassNonMaxSuppression: change_coordinate_frame needs a clip_window",
        "aclop operator StrideAdd: 2 blocks of 16 channels from block 1 on are more than float32[1, 20, 2]",
        "aclop operator RotatedNMS: no source tells whether a box stays whose score is the least, 0",
    ], result.stdout + result.stderr
