"""Single operators that torch_npu runs by type name: activations, layouts, masks, boxes."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch_npu
from torch.nn import functional as F

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(3, 4, generator=GENERATOR)
G = torch.randn(3, 4, generator=GENERATOR)


def packed_signs(x: torch.Tensor) -> torch.Tensor:
    bits = F.pad(x.ge(0).int(), (0, -len(x) % 8)).reshape(-1, 8)
    return (bits * 2 ** torch.arange(8)).sum(1).to(torch.uint8)[None]


def unpacked_signs(x: torch.Tensor) -> torch.Tensor:
    return F.pad(x.ge(0) * 2.0 - 1, (0, -len(x) % 8), value=-1.0).reshape(2, -1)


def mish_grad(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    leaf = x.clone().requires_grad_()
    F.mish(leaf).backward(grad)
    return leaf.grad


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: torch_npu.npu_sort_v2(X.npu(), 1, True), X.sort(1, descending=True).values),
        (lambda: torch_npu.npu_sort_v2(X.npu(), 0, False), X.sort(0).values),
        (
            lambda: torch_npu.npu_one_hot(torch.tensor([0, 2, 1]).npu(), depth=4, on_value=2, off_value=-1),
            F.one_hot(torch.tensor([0, 2, 1]), 4) * 3.0 - 1,
        ),
        (lambda: torch_npu.npu_pad(X.npu(), (1, 2, 0, 3)), F.pad(X, (0, 3, 1, 2))),
        (
            lambda: torch_npu.npu_confusion_transpose(X.npu(), (1, 0, 2), (2, 2, 3), False),
            X.reshape(2, 2, 3).permute(1, 0, 2),
        ),
        (lambda: torch_npu.npu_confusion_transpose(X.npu(), (1, 0), (2, 6), True), X.t().reshape(2, 6)),
        (lambda: torch_npu.npu_sign_bits_pack(X.reshape(-1).npu(), 1), packed_signs(X.reshape(-1))),
        (
            lambda: torch_npu.npu_sign_bits_unpack(packed_signs(X.reshape(-1))[0].npu(), 2, torch.float32),
            unpacked_signs(X.reshape(-1)),
        ),
        (lambda: torch.ops.aten.mish_backward(G.npu(), X.npu()), mish_grad(G, X)),
    ],
    ids=[
        "sort",
        "sort rows",
        "one hot",
        "pad",
        "reshape, transpose",
        "transpose, reshape",
        "pack signs",
        "unpack signs",
        "mish backward",
    ],
)
def test_by_type(call: Callable[[], torch.Tensor], expected: torch.Tensor) -> None:
    torch.testing.assert_close(call().cpu(), expected)


# In a process of its own: what a process ran before may leave the compile mode without effect.
COMPILED = """
import torch, torch_npu
from torch.nn import functional as F
torch.npu.set_compile_mode(jit_compile=True)
x, g = torch.randn(3, 4), torch.randn(3, 4)

def backward(function, device):
    leaf = x.clone().to(device).requires_grad_()
    out = function(leaf)
    out.backward(g.to(device))
    return out.detach().cpu(), leaf.grad.cpu()

for function in (F.hardshrink, F.hardsigmoid, F.hardtanh):
    torch.testing.assert_close(backward(function, "npu"), backward(function, "cpu"))
    print(function.__name__)
torch.testing.assert_close(backward(F.hardswish, "npu"), backward(F.hardswish, "cpu"))
"""


def test_activations_in_the_compile_mode_that_takes_the_operators_by_type(run_sim) -> None:
    done = run_sim(COMPILED)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "hardshrink\nhardsigmoid\nhardtanh\n"


def test_masked_fill_range() -> None:
    x = torch.zeros(4, 2, 10)
    start, end = torch.tensor([[0, 2, 4]], dtype=torch.int32), torch.tensor([[3, 5, 7]], dtype=torch.int32)
    got = torch_npu.npu_masked_fill_range(x.npu(), start.npu(), end.npu(), torch.tensor([1.0]).npu(), 2)
    expected = x.clone()
    for row, (low, high) in enumerate([(0, 3), (2, 5), (4, 7)]):
        expected[row, :, low:high] = 1
    torch.testing.assert_close(got.cpu(), expected)


def test_filling_a_scalar_by_type() -> None:
    torch.npu.set_compile_mode(jit_compile=True)
    try:
        got = torch.tensor(1.0).npu().fill_(3.0).cpu()
    finally:
        torch.npu.set_compile_mode(jit_compile=False)
    torch.testing.assert_close(got, torch.tensor(3.0))


def test_dropout_with_a_byte_mask_keeps_and_scales_and_goes_back_through_its_mask() -> None:
    x = torch.ones(100, 100).npu().requires_grad_()
    out = torch_npu.dropout_with_byte_mask(x, p=0.25, train=True)
    out.sum().backward()
    kept = out.detach().cpu() != 0
    assert 0.7 < kept.float().mean() < 0.8
    torch.testing.assert_close(out.detach().cpu(), kept / 0.75)
    torch.testing.assert_close(x.grad.cpu(), kept / 0.75)


# ---- boxes -----------------------------------------------------------------------------------------------------------
def boxes(n: int, seed: int) -> torch.Tensor:
    """(n, 4) corners with a positive area."""
    at = torch.rand(n, 4, generator=torch.Generator().manual_seed(seed)) * 10
    return torch.cat([at[:, :2], at[:, :2] + at[:, 2:] + 0.5], 1)


def overlap(p: torch.Tensor, q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    low, high = torch.maximum(p[:, :2], q[:, :2]), torch.minimum(p[:, 2:], q[:, 2:])
    common = (high - low).clamp_min(0).prod(1)
    area = (p[:, 2:] - p[:, :2]).prod(1)
    union = area + (q[:, 2:] - q[:, :2]).prod(1) - common
    hull = torch.maximum(p[:, 2:], q[:, 2:]) - torch.minimum(p[:, :2], q[:, :2])
    return common, union, hull, area


@pytest.mark.parametrize("mode", [0, 1], ids=["iou", "iof"])
def test_iou_of_every_pair(mode: int) -> None:
    p, q = boxes(5, 1), boxes(3, 2)
    got = torch_npu.npu_iou(p.npu(), q.npu(), mode).cpu()
    common, union, _, area = overlap(q.repeat_interleave(5, 0), p.repeat(3, 1))
    expected = (common / (area if mode else union)).reshape(3, 5)
    torch.testing.assert_close(got, expected, rtol=3e-2, atol=3e-3)  # float16, and boxes that grow by 0.01


def test_generalized_distance_and_complete_iou() -> None:
    p, q = boxes(6, 1), boxes(6, 2)
    common, union, hull, _ = overlap(p, q)
    iou = common / union
    centre = lambda b: (b[:, :2] + b[:, 2:]) / 2  # noqa: E731
    size = lambda b: b[:, 2:] - b[:, :2]  # noqa: E731
    far = (centre(p) - centre(q)).square().sum(1) / hull.square().sum(1)
    angle = lambda b: torch.atan(size(b)[:, 0] / size(b)[:, 1])  # noqa: E731
    v = 4 / math.pi**2 * (angle(q) - angle(p)).square()
    as_centres = [torch.cat([centre(b), size(b)], 1).t().contiguous().npu() for b in (p, q)]
    giou = torch_npu.npu_giou(*as_centres, True, False, 0).cpu().reshape(-1)
    diou = torch_npu.npu_diou(*as_centres, True, False, 0).cpu().reshape(-1)
    ciou = torch_npu.npu_ciou(*as_centres, True, False, 0, False).cpu().reshape(-1)
    torch.testing.assert_close(giou, iou - (hull.prod(1) - union) / hull.prod(1), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(diou, iou - far, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(ciou, iou - far - v * v / (1 - iou + v), rtol=1e-4, atol=1e-4)


def test_boxes_decode_to_what_they_were_encoded_from() -> None:
    anchors, truths = boxes(6, 1), boxes(6, 2)
    stds = (0.1, 0.1, 0.2, 0.2)
    deltas = torch_npu.npu_bounding_box_encode(anchors.npu(), truths.npu(), 0, 0, 0, 0, *stds)
    got = torch_npu.npu_bounding_box_decode(anchors.npu(), deltas, 0, 0, 0, 0, *stds, (100, 100), 0.001)
    torch.testing.assert_close(got.cpu(), truths, rtol=1e-2, atol=3e-2)  # deltas are normalized in float16
