"""Operators of detection models that torch_npu runs by type, against their definitions in torch on the CPU."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from torch.nn import functional as F


def roi_align(
    features: torch.Tensor, roi: torch.Tensor, scale: float, cells: int, samples: int, end: int
) -> torch.Tensor:
    """Bilinear samples by grid_sample, for one region that lies within the image."""
    low, high = roi[1:3] * scale, (roi[3:5] + end) * scale
    steps = (torch.arange(cells * samples) + 0.5) / (cells * samples)
    x, y = (low[i] + steps * (high[i] - low[i]) for i in (0, 1))
    height, width = features.shape[2:]
    grid = torch.stack(torch.meshgrid(2 * y / (height - 1) - 1, 2 * x / (width - 1) - 1, indexing="ij")[::-1], -1)
    image = features[int(roi[0])][None]
    return F.avg_pool2d(F.grid_sample(image, grid[None], align_corners=True), samples)


@pytest.mark.parametrize("end_mode", [0, 1])
def test_roi_align_and_its_gradient(end_mode: int) -> None:
    torch.manual_seed(0)
    features = torch.randn(2, 3, 8, 9).requires_grad_()
    rois = torch.tensor([[0, 2.0, 3.0, 20.0, 18.0], [1, 5.0, 1.0, 13.0, 25.0]])
    expected = torch.cat([roi_align(features, roi, 0.25, 3, 2, end_mode) for roi in rois])
    got = torch_npu.npu_roi_align(features.detach().npu(), rois.npu(), 0.25, 3, 3, 2, end_mode)
    torch.testing.assert_close(got.cpu(), expected.detach(), rtol=1e-4, atol=1e-5)

    grad = torch.randn_like(expected)
    expected.backward(grad)
    back = torch_npu.npu_roi_alignbk(grad.npu(), rois.npu(), features.shape, 3, 3, 0.25, 2, end_mode)
    torch.testing.assert_close(back.cpu(), features.grad, rtol=1e-4, atol=1e-5)


def test_suppression_keeps_the_best_of_boxes_that_overlap() -> None:
    boxes = torch.tensor(
        [[0, 0, 10, 10, 0.9], [1, 0, 10, 10, 0.8], [0, 0, 4, 4, 0.7], [20, 20, 30, 30, 0.6], [20, 20, 30, 29, 0.5]]
    )
    kept_boxes, index, mask = torch_npu.npu_nms_with_mask(boxes.npu(), 0.5)
    assert mask.cpu().tolist() == [1, 0, 1, 1, 0]
    assert index.cpu().tolist() == [0, 1, 2, 3, 4]
    torch.testing.assert_close(kept_boxes.cpu(), boxes)


def test_rotated_boxes_decode_to_what_they_were_encoded_from() -> None:
    torch.manual_seed(0)
    low = torch.rand(2, 2, 2, 4) * 20
    angle = torch.rand(2, 2, 1, 4) * 160 - 80
    anchors, truths = torch.cat([low, low + 5 + torch.rand(2, 2, 2, 4) * 20, angle], 2).unbind(0)
    weight = torch.ones(5).npu()
    deltas = torch_npu.npu_rotated_box_encode(anchors.npu(), truths.npu(), weight)
    tangent = torch.tan(torch.deg2rad(truths[:, 4])) - torch.tan(torch.deg2rad(anchors[:, 4]))
    torch.testing.assert_close(deltas.cpu()[:, 4], tangent, rtol=1e-4, atol=1e-4)
    got = torch_npu.npu_rotated_box_decode(anchors.npu(), deltas, weight)
    torch.testing.assert_close(got.cpu(), truths, rtol=1e-4, atol=1e-3)


def test_yolo_targets() -> None:
    anchors, truths = torch.tensor([[0.0, 0.0, 4.0, 2.0]]), torch.tensor([[1.0, 1.0, 3.0, 5.0]])
    got = torch_npu.npu_yolo_boxes_encode(
        anchors.npu(), truths.npu(), torch.tensor([8], dtype=torch.int32).npu(), False
    )
    expected = torch.tensor(
        [[0.5, 0.5 + 2 / 8, torch.log(torch.tensor(0.5)).item(), torch.log(torch.tensor(2.0)).item()]]
    )
    torch.testing.assert_close(got.cpu(), expected)
