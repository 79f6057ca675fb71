"""Operators of detection models that torch_npu runs by type, against their definitions in torch on the CPU."""

from __future__ import annotations

import itertools

import acl
import pytest
import torch
import torch_npu
from torch.nn import functional as F


def roi_align(
    features: torch.Tensor, roi: torch.Tensor, scale: float, cells: int, samples: int, end: int
) -> torch.Tensor:
    """Bilinear samples by grid_sample, for one region that lies within the image."""
    low, high = roi[1:3] * scale, (roi[3:5] + (end == 1)) * scale
    if end > 1:  # a pixel's number is at its centre
        low, high = low - 0.5, high - 0.5
    steps = (torch.arange(cells * samples) + 0.5) / (cells * samples)
    x, y = (low[i] + steps * (high[i] - low[i]) for i in (0, 1))
    height, width = features.shape[2:]
    grid = torch.stack(torch.meshgrid(2 * y / (height - 1) - 1, 2 * x / (width - 1) - 1, indexing="ij")[::-1], -1)
    image = features[int(roi[0])][None]
    return F.avg_pool2d(F.grid_sample(image, grid[None], align_corners=True), samples)


@pytest.mark.parametrize("end_mode", [0, 1, 2, 3])
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


# ---- gradients of generalized overlaps: pairs of centre and size -----------------------------------------------
def generalized(p: torch.Tensor, q: torch.Tensor, distance: bool) -> torch.Tensor:
    near, far = ([box[:2] + side * box[2:] / 2 for box in (p, q)] for side in (-1, 1))
    common = (torch.minimum(*far) - torch.maximum(*near)).clamp_min(0).prod(0)
    both = p[2:].prod(0) + q[2:].prod(0) - common
    across = torch.maximum(*far) - torch.minimum(*near)
    if distance:
        return common / both - (p[:2] - q[:2]).square().sum(0) / across.square().sum(0)
    return common / both - (across.prod(0) - both) / across.prod(0)


@pytest.mark.parametrize("name", ["npu_giou", "npu_diou"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_gradients_of_generalized_overlaps(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    boxes, truths = (torch.cat([torch.rand(2, 9) * 3, torch.rand(2, 9) * 3 + 0.5]).to(dtype) for _ in range(2))
    truths[:, 0] = boxes[:, 0]  # edges that are equal
    truths[0, 1] = boxes[0, 1] + 10  # boxes that share nothing
    weight = torch.randn(9, dtype=dtype)
    expected = [one.float().clone().requires_grad_() for one in (boxes, truths)]
    (generalized(*expected, name == "npu_diou") * weight).sum().backward()
    got = [boxes.npu().requires_grad_(), truths.npu().requires_grad_()]
    (getattr(torch_npu, name)(*got, True, False).flatten() * weight.npu()).sum().backward()
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(
            one.grad.cpu().float(), other.grad, rtol=1e-3, atol=2e-3 if dtype.itemsize == 2 else 1e-5
        )


# ---- boxes that are turned ---------------------------------------------------------------------------------------
def inside(box: list[float], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    turn = torch.deg2rad(torch.tensor(box[4]))
    right, down = x - box[0], y - box[1]
    along, over = right * turn.cos() + down * turn.sin(), down * turn.cos() - right * turn.sin()
    return (along.abs() <= box[2] / 2) & (over.abs() <= box[3] / 2)


def test_what_turned_boxes_share() -> None:
    """Counted on a grid; the first pair is an octagon, and the second would share nothing turned the other way."""
    boxes = torch.tensor([[0, 0, 2, 2, 0.0], [0, 0, 6, 1, 30], [1, 1, 3, 2, -75], [4, 4, 0, 2, 10]])
    others = torch.tensor([[0, 0, 2, 2, 45.0], [2.2, 1.3, 0.5, 0.5, 0], [1, 0.5, 4, 1, 160]])
    steps = torch.linspace(-4, 4, 801)
    y, x = torch.meshgrid(steps, steps, indexing="ij")
    expected = torch.tensor(
        [[(inside(a, x, y) & inside(b, x, y)).sum() * 1e-4 for b in others.tolist()] for a in boxes.tolist()]
    )
    got = torch_npu.npu_rotated_overlaps(boxes[None].npu(), others[None].npu(), False).cpu()[0]
    torch.testing.assert_close(got, expected, rtol=0.02, atol=0.02)
    torch.testing.assert_close(got[0, 0], torch.tensor(8 * (2**0.5 - 1)))
    assert got[1, 1] > 0.2
    areas = boxes[:, 2:4].prod(1)[:, None] + others[:, 2:4].prod(1) - got
    relative = torch_npu.npu_rotated_iou(boxes[None].npu(), others[None].npu(), False, 0, True, 0.0, 0.0).cpu()[0]
    torch.testing.assert_close(relative, got / areas)


def test_turned_boxes_that_overlap_a_better_one_are_left_out() -> None:
    boxes = torch.tensor([[0, 0, 4, 2, 0.0], [0, 0, 4, 2, 90], [0, 0, 4, 2, 10], [9, 9, 4, 2, 0], [9, 9, 2, 4, 95]])
    scores = torch.tensor([0.3, 0.9, 0.8, 0.5, 0.6])
    places, count = torch_npu.npu_nms_rotated(boxes.npu(), scores.npu(), 0.5)
    assert (places.cpu().tolist(), count.cpu().tolist()) == ([1, 2, 4], [3])
    places, _ = torch_npu.npu_nms_rotated(boxes.half().npu(), scores.half().npu(), 0.2, scores_threshold=0.55)
    assert places.cpu().tolist() == [1, 4]
    assert torch_npu.npu_nms_rotated(boxes.npu(), scores.npu(), 0.5, 0, 2)[0].cpu().tolist() == [1, 2]
    corners = torch.cat([boxes[:, :2] - boxes[:, 2:4] / 2, boxes[:, :2] + boxes[:, 2:4] / 2, -boxes[:, 4:]], 1)
    assert torch_npu.npu_nms_rotated(corners.npu(), scores.npu(), 0.5, mode=1)[0].cpu().tolist() == [1, 2, 4]


# ---- pooling where each cell has channels of its own -----------------------------------------------------------
def position_sensitive(x: torch.Tensor, roi: list[float], scale: float, groups: int, outputs: int) -> torch.Tensor:
    image, *edges = roi
    x1, y1, x2, y2 = (round(edge + more) * scale for edge, more in zip(edges, (0, 0, 1, 1), strict=True))
    rows = []
    for i in range(groups):
        for j in range(groups):
            (top, bottom), (left, right) = (
                (int(low + cell * (high - low) / groups), -int(-(low + (cell + 1) * (high - low) / groups) // 1))
                for cell, low, high in ((i, y1, y2), (j, x1, x2))
            )
            part = x[int(image), i * groups + j :: groups * groups, top:bottom, left:right].flatten(1)
            rows.append(part.mean(1) if part.numel() else torch.zeros(outputs))
    return torch.stack(rows, 1).reshape(outputs, groups, groups)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_position_sensitive_pooling_and_its_gradient(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3 * 4, 9, 7).to(dtype)
    rois = torch.tensor([[[0, 2.0, 4, 20, 30], [0, 0, 0, 3, 3]], [[1, 8, 9, 24, 13], [1, 30, 40, 60, 60]]])
    expected = x.float().clone().requires_grad_()
    pooled = torch.stack([position_sensitive(expected, roi, 0.25, 2, 3) for roi in rois.flatten(0, 1).tolist()])
    weight = torch.randn(pooled.shape).to(dtype)
    (pooled * weight).sum().backward()
    given = x.npu().requires_grad_()
    got = torch_npu.npu_ps_roi_pooling(given, rois.transpose(1, 2).to(dtype).npu(), 0.25, 2, 3)
    (got * weight.npu()).sum().backward()
    assert got.shape == (4, 3, 2, 2) and not got[3].any()
    tolerance = 2e-3 if dtype.itemsize == 2 else 1e-5
    torch.testing.assert_close(got.detach().cpu().float(), pooled.detach(), rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(given.grad.cpu().float(), expected.grad, rtol=tolerance, atol=tolerance)


# ---- suppression by scores -------------------------------------------------------------------------------------
def overlap(a: torch.Tensor, b: torch.Tensor) -> float:
    common = (torch.minimum(a[2:], b[2:]) - torch.maximum(a[:2], b[:2])).clamp_min(0).prod()
    return float(common / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - common))


def chosen(boxes: torch.Tensor, scores: torch.Tensor, least: float, most: float, count: int) -> list[int]:
    kept: list[int] = []
    for place in scores.argsort(descending=True).tolist():
        if scores[place] > least and all(overlap(boxes[place], boxes[one]) <= most for one in kept):
            kept.append(place)
    return kept[:count]


def boxes_and_scores(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    low = torch.rand(*shape, 2) * 10
    return torch.cat([low, low + 2 + torch.rand(*shape, 2) * 6], -1), torch.rand(*shape)


@pytest.mark.parametrize("count", [5, 40])
def test_suppression_with_scores(count: int) -> None:
    boxes, scores = boxes_and_scores(40)
    expected = chosen(boxes, scores, 0.2, 0.3, count)
    turned = torch.cat([boxes[:20], boxes[20:, [2, 3, 0, 1]]])  # any two opposite corners
    limits = torch.tensor(0.3).npu(), torch.tensor(0.2).npu()
    places, valid = torch_npu.npu_nms_v4(turned.npu(), scores.npu(), count, *limits, pad_to_max_output_size=True)
    assert (places.shape, int(valid)) == ((count,), len(expected))
    assert places.cpu().tolist() == expected + [0] * (count - len(expected))


@pytest.mark.parametrize("own", [False, True])
def test_suppression_of_each_class(own: bool) -> None:
    boxes, scores = boxes_and_scores(2, 12, 3)
    if not own:
        boxes = boxes[:, :, :1]
    found = torch_npu.npu_batch_nms(boxes.npu(), scores.npu(), 0.3, 0.4, 3, 7)
    last = torch_npu.npu_batch_nms(
        boxes.permute(0, 2, 3, 1).contiguous().npu(), scores.npu(), 0.3, 0.4, 3, 7, transpose_box=True
    )
    for batch in range(2):
        kept = [
            (float(scores[batch, place, of]), of, boxes[batch, place, of if own else 0])
            for of in range(3)
            for place in chosen(boxes[batch, :, of if own else 0], scores[batch, :, of], 0.3, 0.4, 3)
        ]
        kept = sorted(kept, key=lambda one: -one[0])[:7]
        for result in (found, last):
            got, got_scores, classes, counts = (one[batch].cpu() for one in result)
            assert int(counts) == len(kept)
            assert classes.tolist() == [of for _, of, _ in kept] + [0] * (7 - len(kept))
            torch.testing.assert_close(got_scores[: len(kept)], torch.tensor([score for score, _, _ in kept]))
            torch.testing.assert_close(got[: len(kept)], torch.stack([box for _, _, box in kept]))


# ---- anchors -----------------------------------------------------------------------------------------------------
def test_anchors_of_the_cells_in_which_boxes_lie() -> None:
    boxes = torch.tensor([[0.0, 0, 2, 2], [10, 4, 14, 6], [90, 90, 99, 99], [-9, -9, -7, -7]])
    got = torch_npu.npu_anchor_response_flags(boxes.npu(), [3, 5], [4, 2], 2).cpu().reshape(3, 5, 2)
    expected = torch.zeros(3, 5, 2, dtype=torch.uint8)
    for row, column in ((0, 0), (2, 3), (2, 4)):  # of the first and the last, what lies outside, the edge's
        expected[row, column] = 1
    assert torch.equal(got, expected)


@pytest.mark.parametrize("all_best", [True, False])
def test_truths_are_assigned_to_anchors(all_best: bool) -> None:
    overlaps = torch.tensor([[0.6, 0.1, 0.3, 0.9, 0.2], [0.2, 0.4, 0.4, 0.1, 0.4], [0.0, 0.05, 0.0, 0.0, 0.05]])
    flags = torch.tensor([1, 1, 1, 0, 1], dtype=torch.uint8)
    most, best = overlaps.max(0)
    of_truth = overlaps.max(1)[0]
    anchors = torch.tensor([3, 1, 1], dtype=torch.int32)
    got = torch_npu.npu_grid_assign_positive(
        torch.full((5,), -1.0).npu(), overlaps.npu(), flags.npu(), most.npu(), best.int().npu(), of_truth.npu(),
        anchors.npu(), 3, 0.5, 0.1, all_best,
    )  # fmt: skip
    # the first overlaps by more than 0.5; the best of the first truth does not answer, the third truth's is too small
    assert got.cpu().tolist() == [1, 2, 2, -1, 2] if all_best else [1, 2, -1, -1, -1]


# ---- what mmcv calls by type, by pyACL; the references are mmcv's loops -----------------------------------------
def by_type(name: str, inputs: list[torch.Tensor], outs: list[torch.Tensor], **attributes: float) -> list[torch.Tensor]:
    types = {torch.float32: 0, torch.int32: 3}
    attr, ins, made = acl.op.create_attr(), [one.contiguous().npu() for one in inputs], [one.npu() for one in outs]
    for key, value in attributes.items():
        kind = acl.op.set_attr_float if isinstance(value, float) else acl.op.set_attr_int
        assert kind(attr, key, value) == 0
    described, buffers = [], []
    for group in (ins, made):
        described.append([acl.create_tensor_desc(types[one.dtype], list(one.shape), 2) for one in group])
        buffers.append([acl.create_data_buffer(one.data_ptr(), one.nbytes) for one in group])
    torch.npu.synchronize()
    given = (name, described[0], buffers[0], described[1], buffers[1], attr)
    assert acl.op.compile_and_execute(*given, 0, 0, None, 0) == 0, acl.get_recent_err_msg()
    assert acl.rt.synchronize_device() == 0
    return [one.cpu() for one in made]


def test_balls_take_the_first_points_within_them() -> None:
    torch.manual_seed(0)
    points, centres = torch.randn(2, 9, 3), torch.randn(2, 5, 3)
    centres[0, 0], centres[1, 1] = points[0, 4], 100
    expected = torch.zeros(2, 5, 4, dtype=torch.int32)
    for b, m in itertools.product(range(2), range(5)):
        off = [(centres[b, m] - point).square().sum().item() for point in points[b]]
        found = [i for i, far in enumerate(off) if far == 0 or 0.04 <= far < 2.25]
        expected[b, m] = torch.tensor((found + found[:1] * 4)[:4] or [0] * 4)
    assert expected[0, 0, 0] <= 4 and (expected.diff() == 0).any() and (expected.diff() > 0).any()
    got = by_type(
        "BallQuery", [points.transpose(1, 2), centres.transpose(0, 1)], [torch.zeros(5, 2, 4, dtype=torch.int32)],
        min_radius=0.2, max_radius=1.5, sample_num=4,
    )[0]  # fmt: skip
    assert torch.equal(got.transpose(0, 1), expected)


def test_features_between_three_points_and_the_nearest_of_others() -> None:
    torch.manual_seed(0)
    features, places, weights = torch.randn(2, 5, 4), torch.randint(5, (2, 7, 3)), torch.rand(2, 7, 3)
    expected = sum(
        features.gather(1, places[..., k : k + 1].expand(-1, -1, 4)) * weights[..., k : k + 1] for k in range(3)
    )
    got = by_type("ThreeInterpolate", [features, places.int(), weights], [torch.zeros(2, 7, 4)])[0]
    torch.testing.assert_close(got, expected)

    points, others = torch.randn(3, 6, 2), torch.randn(3, 4, 2)
    far = torch.cdist(points, others).square()
    outs = [torch.zeros(3, 6), torch.zeros(3, 4), torch.zeros(3, 6).int(), torch.zeros(3, 4).int()]
    got = by_type("ChamferDistance", [points.permute(2, 0, 1), others.permute(2, 0, 1)], outs)
    for axis, (least, place) in enumerate(((got[0], got[2]), (got[1], got[3]))):
        expected = far.min(2 - axis)
        torch.testing.assert_close(least, expected.values, rtol=1e-4, atol=1e-4)
        assert torch.equal(place.long(), expected.indices)


def test_points_in_polygons() -> None:
    square, slanted = [0.0, 0.0, 4.0, 0.0, 4.0, 4.0, 0.0, 4.0], [2.0, 0.0, 4.0, 2.0, 2.0, 4.0, 0.0, 2.0]
    points = torch.tensor([[2.0, 2.0], [0.5, 0.5], [5.0, 2.0], [0.0, 0.0], [4.0, 2.0], [-1.0, 3.0]])
    got = by_type("PointsInPolygons", [points, torch.tensor([square, slanted]).t()], [torch.zeros(6, 2)])[0]
    assert got.tolist() == [[1, 1], [1, 0], [0, 0], [0, 0], [0, 0], [0, 0]]


@pytest.mark.parametrize("psa_type", [0, 1])
def test_masks_of_spatial_attention_and_their_gradient(psa_type: int) -> None:
    torch.manual_seed(0)
    height, width, rows, columns = 4, 5, 3, 7
    x, y = torch.randn(2, rows * columns, height, width), torch.zeros(2, height, width, height, width)
    for h, w, i, j in itertools.product(*map(range, (height, width, rows, columns))):
        to_h, to_w = h + i - 1, w + j - 3
        if 0 <= to_h < height and 0 <= to_w < width:
            place = (h, w, to_h, to_w) if psa_type else (to_h, to_w, h, w)
            y[(slice(None), *place)] = x[:, i * columns + j, h, w]
    y = y.reshape(2, height * width, height, width)
    sizes = {"psa_type": psa_type, "num": 2, "h_feature": height, "w_feature": width, "h_mask": rows}
    sizes |= {"w_mask": columns, "half_h_mask": 1, "half_w_mask": 3}
    assert torch.equal(by_type("PSAMask", [x], [torch.zeros_like(y)], **sizes)[0], y)
    back = by_type("PSAMaskGrad", [y], [torch.zeros_like(x)], **sizes)[0]
    assert torch.equal(back, torch.where(back == 0, 0, x)) and (back != 0).sum() == (y != 0).sum()


def test_filters_of_turned_features_and_leaky_relu_with_a_bias() -> None:
    torch.manual_seed(0)
    x, turns = torch.randn(2, 3, 1, 3, 3), 4
    places = torch.stack([torch.randperm(9) + 1 for _ in range(turns)], 1).reshape(1, 3, 3, turns).int()
    expected = torch.zeros(2, turns, 3, 9)
    for entry, turn in itertools.product(range(9), range(turns)):
        expected[:, turn, :, places.reshape(9, turns)[entry, turn] - 1] = x.reshape(2, 3, 9)[..., entry]
    y = by_type("ActiveRotatedFilter", [x, places], [torch.zeros(8, 3, 3, 3)])[0]
    assert torch.equal(y, expected.reshape(8, 3, 3, 3))
    back = by_type("ActiveRotatedFilterGrad", [y, places], [torch.zeros_like(x)])[0]
    torch.testing.assert_close(back, x * turns)

    x, bias = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    y = F.leaky_relu(x + bias, 0.1) * 1.5
    how = {"negative_slope": 0.1, "scale": 1.5}
    torch.testing.assert_close(by_type("FusedBiasLeakyRelu", [x, bias], [torch.zeros_like(x)], **how)[0], y)
    got = by_type("FusedBiasLeakyReluGrad", [bias, y], [torch.zeros_like(x)], **how)[0]
    torch.testing.assert_close(got, bias * torch.where(y > 0, 1.5, 0.15))
