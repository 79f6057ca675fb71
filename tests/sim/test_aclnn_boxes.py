"""Overlaps of boxes and pooling of regions, called directly: torch_npu calls the overlaps on an Ascend950 only."""

from __future__ import annotations

import math

import pytest
import torch
from interfaces import Refused, aclnn, rules_of
from values import close, real


def corners(count: int, seed: int) -> torch.Tensor:
    low = real(count, 2, seed=seed)
    return torch.cat([low, low + 0.1 + real(count, 2, seed=seed + 1).abs()], 1)


def overlap(box: list[float], truth: list[float], eps: float, of_truth: bool) -> float:
    wide, high = (max(min(box[i + 2], truth[i + 2]) - max(box[i], truth[i]) + eps, 0) for i in (0, 1))
    common = wide * high
    area, other = ((of[2] - of[0] + eps) * (of[3] - of[1] + eps) for of in (box, truth))
    return common / (other if of_truth else area + other - common)


@pytest.mark.parametrize("mode", ["iou", "iof"])
def test_overlaps(mode: str) -> None:
    boxes, truths = corners(6, 0), corners(4, 10)
    out = torch.zeros(6, 4)
    aclnn("aclnnIou", boxes, truths, mode, 0.25, False, out)
    rows = [[overlap(one, other, 0.25, mode == "iof") for other in truths.tolist()] for one in boxes.tolist()]
    close(out, torch.tensor(rows))
    assert out.count_nonzero() > 3
    pairs = torch.zeros(4, 1)
    aclnn("aclnnIou", boxes[:4], truths, mode, 0.25, True, pairs)
    close(pairs, torch.tensor(rows)[:4].diagonal())
    for arguments, message in (
        ((boxes, truths, "giou", 0.25, False, out), "mode giou; allowed: iou, iof"),
        ((boxes, truths, mode, -1.0, False, out), "eps is -1; .* allows at least 0 "),
        ((boxes, truths, mode, 0.25, True, out), r"shape \[4, 4\] .*expected \(6, 4\)"),
        ((boxes.t().contiguous(), truths, mode, 0.25, False, out), r"shape \[4, 6\] has 6 in dimension 1; .* allows 4"),
    ):
        with pytest.raises(Refused, match=message):
            aclnn("aclnnIou", *arguments)


@pytest.mark.parametrize("centred", [False, True])
def test_overlaps_with_distance_and_aspect(centred: bool) -> None:
    count = 1024
    box, truth = corners(count, 0).t().contiguous(), corners(count, 10).t().contiguous()
    out, aspect = torch.zeros(1, count), torch.zeros(1, count)

    def given(of: torch.Tensor) -> torch.Tensor:
        return torch.cat([(of[:2] + of[2:]) / 2, of[2:] - of[:2]]) if centred else of

    with rules_of("Ascend950"):
        aclnn("aclnnCIoU", given(box), given(truth), centred, False, "iou", out, aspect)
        for arguments, message in (
            ((box, truth, centred, True, "iou", out, aspect), "isCross is 1; .* allows 0 "),
            ((box, truth, centred, False, "iof", out, aspect), "mode iof is not simulated"),
            ((box[:, :9], truth[:, :9], centred, False, "iou", out[:, :9], aspect[:, :9]), "a multiple of 1024"),
        ):
            with pytest.raises(Refused, match=message):
                aclnn("aclnnCIoU", *arguments)
    for i in range(0, count, 41):
        p, q = box[:, i].tolist(), truth[:, i].tolist()
        iou = overlap(p, q, 0, False)
        apart = (p[0] + p[2] - q[0] - q[2]) ** 2 / 4 + (p[1] + p[3] - q[1] - q[3]) ** 2 / 4
        across = (max(p[2], q[2]) - min(p[0], q[0])) ** 2 + (max(p[3], q[3]) - min(p[1], q[1])) ** 2
        turn = math.atan((q[2] - q[0]) / (q[3] - q[1])) - math.atan((p[2] - p[0]) / (p[3] - p[1]))
        v = 4 / math.pi**2 * turn**2
        close(out[0, i], torch.tensor(iou - apart / across - v * v / (1 - iou + v)))
        close(aspect[0, i], torch.tensor(turn))


def test_regions_that_do_not_fit_are_refused() -> None:
    features, rois, out = real(2, 3, 8, 9), torch.tensor([[0, 1.0, 1.0, 5.0, 6.0]]), torch.zeros(1, 3, 2, 4)
    aclnn("aclnnROIAlign", features, rois, 1.0, 2, 4, 2, 0, out)
    x, y = ([start + size * (i + 0.5) for i in range(n)] for start, size, n in ((1, 0.5, 8), (1, 1.25, 4)))
    image = features[0].double()
    for c in range(3):
        at = [[float(bilinear(image[c], b, a)) for a in x] for b in y]
        close(out[0, c], torch.tensor(at).unfold(0, 2, 2).unfold(1, 2, 2).mean((-1, -2)))
    for arguments, message in (
        ((features, rois[:, :4], 1.0, 2, 4, 2, 0, out), r"shape \[\d+, 4\].*expected \(n, 5\)"),
        ((features, rois, 1.0, 2, 4, 2, 4, out), "roi_end_mode 4 is not simulated"),
        ((features, rois, 1.0, 4, 2, 2, 0, out), "161002"),
    ):
        with pytest.raises(Refused, match=message):
            aclnn("aclnnROIAlign", *arguments)
    with pytest.raises(Refused, match="161002"):
        aclnn("aclnnROIAlignBackward", out, rois, [2, 3, 8, 9], 2, 4, 1.0, 2, 0, torch.zeros_like(features))


def bilinear(image: torch.Tensor, row: float, column: float) -> torch.Tensor:
    i, j = math.floor(row), math.floor(column)
    down, over = row - i, column - j
    upper = image[i, j] * (1 - over) + image[i, j + 1] * over
    lower = image[i + 1, j] * (1 - over) + image[i + 1, j + 1] * over
    return upper * (1 - down) + lower * down
